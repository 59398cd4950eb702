//! The metrics that are sums over threads: of the program, and of each role.

use crate::{Better, Unit};

/// A metric of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadMetric {
    /// Its id; also that of the values in [`crate::ThreadFacts`], unless it is calculated from several.
    pub(crate) id: &'static str,
    /// Its name for users.
    pub(crate) title: &'static str,
    /// The unit.
    pub(crate) unit: Unit,
    /// Which direction is better.
    pub(crate) better: Better,
    /// If it is a ratio of two sums: the value above and the values below the line.
    pub(crate) of: Option<(&'static str, &'static [&'static str])>,
}

const fn time(id: &'static str, title: &'static str, better: Better) -> ThreadMetric {
    ThreadMetric { id, title, unit: Unit::Ns, better, of: None }
}

const fn count(id: &'static str, title: &'static str) -> ThreadMetric {
    ThreadMetric { id, title, unit: Unit::Count, better: Better::Less, of: None }
}

const fn share(id: &'static str, title: &'static str, better: Better, of: (&'static str, &'static [&'static str])) -> ThreadMetric {
    ThreadMetric { id, title, unit: Unit::Ratio, better, of: Some(of) }
}

/// All metrics of threads, in the order of the output.
pub(crate) const THREAD_METRICS: [ThreadMetric; 31] = [
    time("running_ns", "running time", Better::Less),
    time("ready_ns", "ready time", Better::Less),
    time("ready_behind_process_ns", "ready time queued behind its own process", Better::Less),
    time("ready_behind_program_ns", "ready time queued behind the program's other processes", Better::Less),
    time("ready_behind_others_ns", "ready time queued behind other programs", Better::Less),
    time("no_cpu_free_ns", "ready time while no CPU was free", Better::Less),
    time("free_same_type_ns", "ready time while another CPU was free", Better::Less),
    time("free_other_type_ns", "ready time while a CPU of another type was free", Better::Less),
    time("free_not_allowed_ns", "ready time while only CPUs were free where it may not run", Better::Less),
    time("wakeup_latency_ns", "wakeup latency", Better::Less),
    time("throttled_ns", "time throttled by the CPU quota", Better::Less),
    time("max_ready_ns", "longest wait for a CPU", Better::Less),
    time("blocked_ns", "blocked time", Better::Neither),
    count("voluntary", "voluntary switches"),
    count("involuntary", "involuntary switches"),
    count("wakings", "wakeups"),
    count("migrations", "migrations"),
    count("migrations_same_core", "migrations to an SMT sibling"),
    count("migrations_same_l2", "migrations within an L2 cache"),
    count("migrations_same_l3", "migrations within an L3 cache"),
    count("migrations_same_type", "migrations to a core of the same type"),
    count("migrations_to_faster", "migrations to a faster core"),
    count("migrations_to_slower", "migrations to a slower core"),
    count("migrations_other_package", "migrations to another package"),
    share("performance_share", "share of running time on performance cores", Better::More, ("running_performance_ns", &["running_ns"])),
    share("middle_share", "share of running time on middle cores", Better::Neither, ("running_middle_ns", &["running_ns"])),
    share("efficient_share", "share of running time on efficient cores", Better::Neither, ("running_efficient_ns", &["running_ns"])),
    share("low_power_share", "share of running time on low-power cores", Better::Neither, ("running_low_power_ns", &["running_ns"])),
    share("sibling_busy_share", "share of running time while the SMT sibling was busy", Better::Less, ("sibling_busy_ns", &["sibling_busy_ns", "sibling_idle_ns"])),
    ThreadMetric {
        id: "frequency_khz",
        title: "mean frequency while running",
        unit: Unit::Khz,
        better: Better::More,
        of: Some(("frequency_cycles", &["frequency_known_ns"])),
    },
    share("stolen_share", "share of running time that was not charged (hypervisor, interrupts)", Better::Less, ("stolen_ns", &["exec_of_ns"])),
];

impl ThreadMetric {
    /// Whether the values of several threads are not added up: the longest counts.
    pub(crate) fn is_maximum(&self) -> bool {
        self.id == "max_ready_ns"
    }

    /// Whether it is divided by the work of a run, so that runs of different length compare.
    pub(crate) fn is_total(&self) -> bool {
        self.of.is_none() && !self.is_maximum()
    }

    /// The metric from the sums of values of some threads; `None` if there is nothing to calculate it from.
    pub(crate) fn value(&self, sum: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        match self.of {
            None => sum(self.id),
            Some((above, below)) => {
                let below: f64 = below.iter().filter_map(|id| sum(id)).sum();
                // Cycles are counted in millions of Hz times ns.
                let scale = if self.unit == Unit::Khz { 1e6 } else { 1.0 };
                (below > 0.0).then(|| sum(above).unwrap_or(0.0) * scale / below)
            }
        }
    }
}
