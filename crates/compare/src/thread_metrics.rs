//! The metrics that are calculated from the values of threads: of the program, and of each role.

use crate::{Metric, Unit, metric};

/// How a metric is calculated from the values of several threads.
#[derive(Clone, Copy, Debug)]
enum From {
    /// The sum.
    Sum,
    /// The largest.
    Largest,
    /// The sum of the first value, divided by the sum of all values of the second.
    Share(&'static str, &'static [&'static str]),
}

/// A metric of threads. Its name and unit are in [`crate::METRICS`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadMetric {
    /// Its id; also that of the value in [`crate::ThreadFacts`], unless it is a share.
    pub(crate) id: &'static str,
    from: From,
}

const fn sum(id: &'static str) -> ThreadMetric {
    ThreadMetric { id, from: From::Sum }
}

const fn share(id: &'static str, part: &'static str, whole: &'static [&'static str]) -> ThreadMetric {
    ThreadMetric { id, from: From::Share(part, whole) }
}

/// All metrics of threads, in the order of the output.
pub(crate) const THREAD_METRICS: [ThreadMetric; 31] = [
    sum("running_ns"),
    sum("ready_ns"),
    sum("queued_behind_process_ns"),
    sum("queued_behind_program_ns"),
    sum("queued_behind_others_ns"),
    sum("no_cpu_free_ns"),
    sum("free_same_type_ns"),
    sum("free_other_type_ns"),
    sum("free_not_allowed_ns"),
    sum("wakeup_latency_ns"),
    sum("throttled_ns"),
    ThreadMetric { id: "max_ready_ns", from: From::Largest },
    sum("blocked_ns"),
    sum("voluntary"),
    sum("involuntary"),
    sum("wakings"),
    sum("migrations"),
    sum("migrations_same_core"),
    sum("migrations_same_l2"),
    sum("migrations_same_l3"),
    sum("migrations_same_type"),
    sum("migrations_to_faster"),
    sum("migrations_to_slower"),
    sum("migrations_other_package"),
    share("performance_share", "running_performance_ns", &["running_ns"]),
    share("middle_share", "running_middle_ns", &["running_ns"]),
    share("efficient_share", "running_efficient_ns", &["running_ns"]),
    share("low_power_share", "running_low_power_ns", &["running_ns"]),
    share("sibling_busy_share", "sibling_busy_ns", &["sibling_busy_ns", "sibling_idle_ns"]),
    // kHz times ns, divided by ns.
    share("running_frequency", "frequency_khz_ns", &["frequency_known_ns"]),
    share("stolen_share", "stolen_ns", &["exec_of_ns"]),
];

impl ThreadMetric {
    /// Its name and unit; of a role, or of the program.
    pub(crate) fn metric(&self, role: Option<&str>) -> Metric {
        metric(self.id, role)
    }

    /// The unit.
    pub(crate) fn unit(&self) -> Unit {
        metric(self.id, None).unit
    }

    /// Whether it is divided by the work of a run, so that runs of different length compare.
    pub(crate) fn is_total(&self) -> bool {
        matches!(self.from, From::Sum)
    }

    /// The metric from the sums of values of some threads; `None` if there is nothing to calculate it from.
    pub(crate) fn value(&self, of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        match self.from {
            From::Sum | From::Largest => of(self.id),
            From::Share(part, whole) => {
                let whole: f64 = whole.iter().filter_map(|id| of(id)).sum();
                (whole > 0.0).then(|| of(part).unwrap_or(0.0) / whole)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_threads_is_declared() {
        for of in &THREAD_METRICS {
            assert!(crate::METRICS.iter().any(|def| def.id == of.id), "{}", of.id);
        }
    }
}
