//! Takes running time apart: how much work, on which core type, next to a busy sibling or not, at which frequency.
//!
//! Running time is work divided by speed, and speed a product of three factors: `time = work / (core type × sibling × frequency)`. The change of
//! a product is divided among its factors by their logarithms (logarithmic mean Divisia index, Ang 2004), which leaves no remainder.
//! The work on the path is the work of the threads times the part of it that is on the path: threads that run one after another, because of a
//! lock or too few CPUs, put more of the same work on the path. That part explains at most the change of the work on the path.
//! The part of a factor `x` is `L × ln(x of B / x of A)`, where `L = (B − A) / ln(B / A)` is the logarithmic mean of the times.

use crate::Run;
use std::collections::BTreeMap;

/// The speed of a core of another type relative to the fastest, if the kernel's capacities are unknown: six threads of a game on a hybrid
/// desktop executed 0.32 to 0.87 of the instructions per second on efficient cores, with a median of 0.615.
pub(crate) const SLOWER_CORE: f64 = 0.615;
/// The speed of a thread while its SMT sibling is busy, relative to alone on its core: a core with two busy threads did 1.29 and 1.33 times the
/// work of one with a single thread, in two measurements of a server; half of 1.31.
pub(crate) const BUSY_SIBLING: f64 = 0.655;

/// The speeds by which running time is taken apart, the same for both sides.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Speeds {
    /// Of each core type relative to the fastest; types without one have the default.
    pub(crate) by_type: BTreeMap<&'static str, f64>,
    /// Of a thread while its SMT sibling is busy, relative to alone.
    pub(crate) sibling: f64,
}

impl Speeds {
    /// Those of the runs: kernel capacities or measured costs. Two measurements of one machine differ by chance, so that both sides have
    /// their mean.
    pub(crate) fn of<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Self {
        let by_type = runs.clone().map(|run| &run.core_speeds).find(|of| !of.is_empty());
        Self { by_type: by_type.cloned().unwrap_or_default(), sibling: measured_sibling(runs).unwrap_or(BUSY_SIBLING) }
    }
}

/// The measured speed of a thread while its SMT sibling is busy: the mean over the runs that have one.
pub(crate) fn measured_sibling<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<f64> {
    let all: Vec<f64> = runs.filter_map(|run| run.sibling_speed).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// The running time of one role on one side, by where it ran.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Running {
    /// By core type and whether the sibling was busy: the time, ns, and the sum of kHz × ns.
    pub(crate) places: BTreeMap<(&'static str, bool), (f64, f64)>,
}

/// The factors of a running time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Factors {
    /// The time, ns.
    pub(crate) time: f64,
    /// Work: the time it would take on the fastest core type, alone on the core, at 1 GHz if frequencies are known.
    pub(crate) work: f64,
    /// The mean speed by core type, at most 1.
    pub(crate) core_type: f64,
    /// The mean speed by the sibling, at most 1.
    pub(crate) sibling: f64,
    /// The mean frequency in GHz; 1 if unknown.
    pub(crate) frequency: f64,
    /// Whether the frequency is known for all of the time.
    pub(crate) frequency_known: bool,
    /// The running time of its threads in all, on the path or not, ns; 0 if unknown.
    pub(crate) whole: f64,
}

/// The parts of a change of running time; they sum to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Split {
    pub(crate) work: f64,
    pub(crate) core_type: f64,
    pub(crate) sibling: f64,
    pub(crate) frequency: f64,
    /// By which part of the pool's running time is on the path.
    pub(crate) serial: f64,
}

impl Running {
    /// The factors. `use_frequency`: whether both sides know their frequencies.
    pub(crate) fn factors(&self, speeds: &Speeds, use_frequency: bool) -> Factors {
        let (mut time, mut typed, mut alone, mut work) = (0.0, 0.0, 0.0, 0.0);
        for ((core_type, sibling_busy), (ns, khz_ns)) in &self.places {
            let by_type = speeds.by_type.get(core_type).copied().unwrap_or_else(|| default_speed(core_type));
            let by_sibling = if *sibling_busy { speeds.sibling } else { 1.0 };
            let ghz = if use_frequency && *ns > 0.0 { khz_ns / ns / 1e6 } else { 1.0 };
            time += ns;
            typed += ns * by_type;
            alone += ns * by_type * by_sibling;
            work += ns * by_type * by_sibling * ghz;
        }
        let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 1.0 };
        Factors {
            time,
            work,
            core_type: share(typed, time),
            sibling: share(alone, typed),
            frequency: share(work, alone),
            frequency_known: use_frequency,
            whole: 0.0,
        }
    }

    /// Whether the frequency is known for (nearly) all of the time.
    pub(crate) fn knows_frequency(&self) -> bool {
        self.places.values().all(|(ns, khz_ns)| *ns < 1.0 || *khz_ns > 0.0)
    }

    /// Adds time.
    pub(crate) fn add(&mut self, place: (&'static str, bool), ns: f64, khz_ns: f64) {
        let sum = self.places.entry(place).or_default();
        *sum = (sum.0 + ns, sum.1 + khz_ns);
    }
}

fn default_speed(core_type: &str) -> f64 {
    if matches!(core_type, "efficient" | "low_power") { SLOWER_CORE } else { 1.0 }
}

impl Factors {
    /// The part of the running time that is on the path, at most 1. It is larger if threads run one after another.
    fn on_path(&self) -> f64 {
        if self.whole > self.time { self.time / self.whole } else { 1.0 }
    }
}

impl Split {
    /// Divides the change of a running time among its factors.
    pub(crate) fn of(a: &Factors, b: &Factors) -> Self {
        let change = b.time - a.time;
        if a.time <= 0.0 || b.time <= 0.0 {
            // On the path of one side only: what that side computes more than the other is more work.
            let [with, without] = if a.time > 0.0 { [a.whole, b.whole] } else { [b.whole, a.whole] };
            let is_new = if with > 0.0 { (1.0 - without / with).clamp(0.0, 1.0) } else { 1.0 };
            let work = change * is_new;
            return Self { work, serial: change - work, ..Self::default() };
        }
        let log_mean = if (b.time / a.time - 1.0).abs() < 1e-9 { a.time } else { change / (b.time / a.time).ln() };
        let slower = |of_a: f64, of_b: f64| log_mean * (of_a / of_b).ln();
        let (core_type, sibling, frequency) =
            (slower(a.core_type, b.core_type), slower(a.sibling, b.sibling), slower(a.frequency, b.frequency));
        // The rest, so that the parts sum to the change to the last bit: L × ln(work of B / work of A).
        let work = change - core_type - sibling - frequency;
        let serial = log_mean * (b.on_path() / a.on_path()).ln();
        // Threads that spin while others compute run longer in all, but not on the path: then nothing is serial, and no work on the path is new.
        let serial = if work < 0.0 { serial.clamp(work, 0.0) } else { serial.clamp(0.0, work) };
        Self { work: work - serial, core_type, sibling, frequency, serial }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(places: &[((&'static str, bool), f64, f64)]) -> Running {
        let mut running = Running::default();
        for (place, ns, ghz) in places {
            running.add(*place, *ns, ns * ghz * 1e6);
        }
        running
    }

    fn split(a: &Running, b: &Running) -> Split {
        let none = Speeds::of([].iter());
        Split::of(&a.factors(&none, true), &b.factors(&none, true))
    }

    #[test]
    fn a_third_of_the_frequency_explains_three_times_the_time() {
        let (a, b) = (running(&[(("uniform", false), 1e9, 2.4)]), running(&[(("uniform", false), 3e9, 0.8)]));
        let split = split(&a, &b);
        assert!((split.frequency - 2e9).abs() < 1.0, "{split:?}");
        assert!(split.work.abs() < 1.0 && split.sibling == 0.0 && split.core_type == 0.0);
    }

    #[test]
    fn the_same_work_on_efficient_cores_is_of_the_core_type() {
        let a = running(&[(("performance", false), 0.615e9, 3.0)]);
        let b = running(&[(("efficient", false), 1e9, 3.0)]);
        let split = split(&a, &b);
        assert!((split.core_type - 0.385e9).abs() < 1.0 && split.work.abs() < 1.0, "{split:?}");
    }

    #[test]
    fn a_busy_sibling_and_more_work_are_separated() {
        let a = running(&[(("uniform", false), 1e9, 2.0)]);
        let b = running(&[(("uniform", true), 1.1e9 / BUSY_SIBLING, 2.0)]);
        let split = split(&a, &b);
        assert!((split.work + split.sibling - (1.1e9 / BUSY_SIBLING - 1e9)).abs() < 1.0);
        // Shares by logarithm: ln 1.1 of work to ln(1 / 0.655) of the sibling.
        assert!((split.work / split.sibling - 1.1_f64.ln() / (1.0 / BUSY_SIBLING).ln()).abs() < 1e-6);
    }

    #[test]
    fn a_measured_sibling_replaces_the_assumed_one() {
        let run = |speed| Run { sibling_speed: speed, ..Run::default() };
        let runs = [run(Some(0.8)), run(None), run(Some(0.9))];
        let speeds = Speeds::of(runs.iter());
        assert!((speeds.sibling - 0.85).abs() < 1e-12, "{speeds:?}");
        assert_eq!(Speeds::of(runs[1..2].iter()).sibling, BUSY_SIBLING);
        let of = |sibling_busy| running(&[(("uniform", sibling_busy), 1e9, 1.0)]).factors(&speeds, true);
        assert!((of(true).work / of(false).work - 0.85).abs() < 1e-12);
    }

    #[test]
    fn time_that_only_one_side_has_is_work() {
        let (none, some) = (Running::default(), running(&[(("uniform", false), 5.0, 1.0)]));
        assert_eq!(split(&none, &some), Split { work: 5.0, ..Split::default() });
        assert_eq!(split(&some, &none), Split { work: -5.0, ..Split::default() });
    }
}
