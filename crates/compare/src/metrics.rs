//! The names, units and polarity of all metrics of frame logs and printed tables, in one place.

use crate::{Better, Metric, Unit};

/// A declared metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricDef {
    /// Its stable id: what `--fail-on` and scripts use.
    pub id: &'static str,
    /// Its name for users.
    pub title: &'static str,
    /// The unit.
    pub unit: Unit,
    /// Which direction is better for a user. `Neither` for what explains a result rather than being one (instructions, CPI).
    pub better: Better,
}

const fn def(id: &'static str, title: &'static str, unit: Unit, better: Better) -> MetricDef {
    MetricDef { id, title, unit, better }
}

use Better::{Less, More, Neither};
use Unit::{Count, Joule, Khz, Ns, Other, PerSecond, Ratio};

/// All declared metrics, in the order in which they are shown.
pub const METRICS: &[MetricDef] = &[
    // Times of the whole run.
    def("elapsed", "elapsed time", Ns, Less),
    def("cpu_ns", "CPU time", Ns, Less),
    // Frames: see `measure/frames.rs` for the definitions.
    def("fps.average", "average fps", PerSecond, More),
    def("fps.low1", "1 % low fps (99th percentile of frame times)", PerSecond, More),
    def("fps.low01", "0.1 % low fps (99.9th percentile of frame times)", PerSecond, More),
    def("fps.low1_average", "1 % low fps (mean of the slowest 1 % of frames)", PerSecond, More),
    def("fps.low01_average", "0.1 % low fps (mean of the slowest 0.1 % of frames)", PerSecond, More),
    def("fps.low1_integral", "1 % low fps (slowest frames that take 1 % of the time)", PerSecond, More),
    def("fps.low01_integral", "0.1 % low fps (slowest frames that take 0.1 % of the time)", PerSecond, More),
    def("frame.mean", "mean frame time", Ns, Less),
    def("frame.p50", "median frame time", Ns, Less),
    def("frame.p95", "95th percentile of frame times", Ns, Less),
    def("frame.p99", "99th percentile of frame times", Ns, Less),
    def("frame.p999", "99.9th percentile of frame times", Ns, Less),
    def("frame.max", "longest frame", Ns, Less),
    def("frame.stutter", "share of time in frames over 2.5 × the moving average", Ratio, Less),
    def("frame.low_fps", "share of time below 25 fps, without stutter", Ratio, Less),
    def("frame.dropped", "share of frames that were not displayed", Ratio, Less),
    def("frame.gpu_busy", "mean GPU time of a frame", Ns, Less),
    def("frame.gpu_bound", "share of GPU-bound frames", Ratio, Neither),
    def("frame.cpu_bound", "share of CPU-bound frames", Ratio, Neither),
    def("frames", "frames", Count, Neither),
    // Threads.
    def("running_ns", "running time", Ns, Neither),
    def("ready_ns", "ready time", Ns, Less),
    def("ready_share", "ready time / (running + ready time)", Ratio, Less),
    def("queued_behind_process_ns", "ready time queued behind its own process", Ns, Less),
    def("queued_behind_program_ns", "ready time queued behind the program's other processes", Ns, Less),
    def("queued_behind_others_ns", "ready time queued behind other programs", Ns, Less),
    def("no_cpu_free_ns", "ready time while no CPU was free", Ns, Less),
    def("free_same_type_ns", "ready time while another CPU was free", Ns, Less),
    def("free_other_type_ns", "ready time while a CPU of another type was free", Ns, Less),
    def("free_not_allowed_ns", "ready time while only CPUs were free where it may not run", Ns, Less),
    def("wakeup_latency_ns", "wakeup latency", Ns, Less),
    def("throttled_ns", "time throttled by the CPU quota", Ns, Less),
    def("max_ready_ns", "longest ready time", Ns, Less),
    def("blocked_ns", "wait time", Ns, Neither),
    def("max_blocked_ns", "longest wait", Ns, Neither),
    def("switches", "context switches", Count, Neither),
    def("involuntary", "involuntary switches", Count, Less),
    def("involuntary_share", "share of involuntary switches", Ratio, Less),
    def("involuntary_per_s", "involuntary switches per second", PerSecond, Less),
    def("voluntary", "voluntary switches", Count, Neither),
    def("voluntary_per_s", "voluntary switches per second", PerSecond, Neither),
    def("wakings", "wakeups", Count, Neither),
    def("migrations", "migrations", Count, Less),
    def("migrations_same_core", "migrations to an SMT sibling", Count, Less),
    def("migrations_same_l2", "migrations within an L2 cache", Count, Less),
    def("migrations_same_l3", "migrations within an L3 cache", Count, Less),
    def("migrations_same_type", "migrations to a core of the same type", Count, Less),
    def("migrations_to_faster", "migrations to a faster core", Count, Neither),
    def("migrations_to_slower", "migrations to a slower core", Count, Less),
    def("migrations_other_package", "migrations to another package", Count, Less),
    def("performance_share", "share of running time on performance cores", Ratio, Neither),
    def("middle_share", "share of running time on middle cores", Ratio, Neither),
    def("efficient_share", "share of running time on efficient cores", Ratio, Neither),
    def("low_power_share", "share of running time on low-power cores", Ratio, Neither),
    def("sibling_busy_share", "share of running time while the SMT sibling was busy", Ratio, Less),
    def("running_frequency", "mean frequency while running", Khz, More),
    def("stolen_share", "share of running time not charged (hypervisor, interrupts)", Ratio, Less),
    def("threads", "threads", Count, Neither),
    // CPUs.
    def("cpu_busy_share", "share of CPU time in which threads ran", Ratio, Neither),
    def("other_programs_share", "share of CPU time of other programs", Ratio, Less),
    def("steal_share", "share of CPU time that the hypervisor took", Ratio, Less),
    // Counters.
    def("instructions", "instructions", Count, Neither),
    def("cycles", "cycles", Count, Neither),
    def("ref_cycles", "reference cycles", Count, Neither),
    def("ipc", "instructions per cycle", Other, Neither),
    def("cpi", "cycles per instruction", Other, Neither),
    def("frequency", "cycles per second of CPU time", Khz, Neither),
    def("nominal_frequency", "reference cycles per second of CPU time", Khz, Neither),
    def("boost", "cycles / reference cycles", Other, Neither),
    def("running_share", "least share of time for which an event was counted", Ratio, Neither),
    def("context-switches", "context switches", Count, Neither),
    def("context-switches.per_cpu_s", "context switches per second of CPU time", PerSecond, Neither),
    def("cpu-migrations", "migrations between CPUs", Count, Less),
    def("cpu-migrations.per_cpu_s", "migrations per second of CPU time", PerSecond, Less),
    def("page-faults", "page faults", Count, Less),
    def("page-faults.per_cpu_s", "page faults per second of CPU time", PerSecond, Less),
    def("tma_backend_bound", "back-end bound", Ratio, Less),
    def("tma_memory_bound", "memory bound", Ratio, Less),
    def("tma_l3_bound", "L3 bound", Ratio, Less),
    // Idle time and energy.
    def("preempted_ns", "preempted time", Ns, Less),
    def("preempted_clk", "preempted time in reference cycles", Count, Less),
    def("blocked_clk", "wait time in reference cycles", Count, Neither),
    def("idle_ns", "idle time", Ns, Neither),
    def("idle_clk", "idle time in reference cycles", Count, Neither),
    def("idle_wakeups", "wakeups from idle", Count, Less),
    def("idle_per_wakeup_ns", "mean idle period", Ns, More),
    def("idle_per_wakeup_clk", "mean idle period in reference cycles", Count, More),
    def("wakeups_per_wait", "wakeups from idle per voluntary switch", Other, Less),
    def("c3_clk", "C3 residency in reference cycles", Count, Neither),
    def("c6_clk", "C6 residency in reference cycles", Count, Neither),
    def("c7_clk", "C7 residency in reference cycles", Count, Neither),
    def("c_state_clk", "C3, C6 and C7 residency in reference cycles", Count, Neither),
    def("c_state_share", "share of idle time in C3, C6 and C7", Ratio, More),
    def("c6_share", "share of idle time in C6", Ratio, Neither),
    def("energy.package", "package energy", Joule, Less),
    def("energy.core", "core energy", Joule, Less),
    def("energy.gpu", "GPU energy", Joule, Less),
    def("energy.per_giga_instructions", "package energy per 1e9 instructions", Joule, Less),
    def("energy.uncore_share", "share of package energy outside cores", Ratio, Neither),
    def("power.package", "package energy per second", Other, Less),
];

/// Endings of ids that other tools' events get: the words for the title, the unit, and the polarity.
const ENDINGS: &[(&str, &str, Unit, Better)] = &[
    (".share", " / accesses", Ratio, Less),
    (".mpki", " per 1,000 instructions", Other, Less),
    ("-misses", "-misses", Count, Less),
];

/// The metric of an id, of the whole run or of a role. An id that is not declared is an event of another tool, with the name that the
/// tool printed.
#[must_use]
pub fn metric(id: &str, role: Option<&str>) -> Metric {
    let ending = |(end, words, unit, better): &(&str, &str, Unit, Better)| {
        Some((format!("{}{words}", id.strip_suffix(end)?), *unit, *better))
    };
    let (title, unit, better) = match METRICS.iter().find(|def| def.id == id) {
        Some(def) => (def.title.to_owned(), def.unit, def.better),
        None => ENDINGS.iter().find_map(ending).unwrap_or_else(|| (id.to_owned(), Other, Neither)),
    };
    Metric { id: id.to_owned(), role: role.map(str::to_owned), title, unit, better, per: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        for (at, def) in METRICS.iter().enumerate() {
            assert!(METRICS[..at].iter().all(|other| other.id != def.id), "{}", def.id);
        }
    }

    #[test]
    fn events_of_other_tools_keep_their_names() {
        let of = |id| {
            let metric = metric(id, Some("Worker"));
            (metric.title, metric.unit, metric.better)
        };
        assert_eq!(of("LLC-load-misses.share"), ("LLC-load-misses / accesses".to_owned(), Ratio, Less));
        assert_eq!(of("LLC-load-misses"), ("LLC-load-misses".to_owned(), Count, Less));
        assert_eq!(of("branches"), ("branches".to_owned(), Other, Neither));
        assert_eq!(of("frame.p99").1, Ns);
    }
}
