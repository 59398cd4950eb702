//! What kind of task a thread is: the definitions of the classes, with their thresholds. docs/accounting.md has them for users.
//!
//! The four classes and their core types are those of capability 54 (Intel's hybrid guidance): lightly threaded and bursty tasks to the
//! fastest cores, background tasks to the slowest, sustained ones to all.

use model::{CoreType, Ns};

/// A burst of this length or longer is a computation, not the answer to an event: it is as long as six frames at 60 frames a second.
pub(crate) const LONG_BURST: Ns = Ns(100_000_000);
/// A thread with less running time and fewer bursts than both has no class: with 10 bursts, the chance error of their rate is already about a
/// third (1/√10), and 10 ms are a few scheduling periods.
const MIN_RUNNING: Ns = Ns(10_000_000);
const MIN_BURSTS: i64 = 10;
/// Demand (running or ready), as a divisor of the observed time: half of it or more is a computation with pauses.
const MOST: i64 = 2;
/// Awaited bursts, as a divisor of all: if a thread wakes another one in every fourth burst, its delays are passed on often.
const OFTEN: i64 = 4;
/// Demand below a tenth is little: a core that is half as fast still leaves it four fifths of the time without work.
const LITTLE: i64 = 10;

/// A class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TaskClass {
    Light,
    Sustained,
    Bursty,
    Background,
}

/// The figures that a class follows from.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Figures {
    pub running: Ns,
    pub ready: Ns,
    pub blocked: Ns,
    pub bursts: i64,
    pub waking_bursts: i64,
    /// Of these, those that woke a thread of another class than background.
    pub awaited_bursts: i64,
    pub longest: Ns,
    pub long: Ns,
    pub crowded: Ns,
    pub is_low_priority: bool,
}

impl Figures {
    /// Returns the class; `None` if the thread ran too little.
    pub(crate) fn class(&self) -> Option<TaskClass> {
        if self.running < MIN_RUNNING && self.bursts < MIN_BURSTS {
            return None;
        }
        if self.is_low_priority {
            return Some(TaskClass::Background);
        }
        let demand = self.running.0.saturating_add(self.ready.0);
        let observed = demand.saturating_add(self.blocked.0);
        let is = |part: i64, of: i64, divisor: i64| part.saturating_mul(divisor) >= of;
        Some(if is(demand, observed, MOST) || is(self.long.0, self.running.0, MOST) {
            if is(self.crowded.0, self.running.0, MOST) { TaskClass::Sustained } else { TaskClass::Light }
        } else if self.bursts >= MIN_BURSTS && is(self.awaited_bursts, self.bursts, OFTEN)
            || is(demand, observed, LITTLE)
        {
            TaskClass::Bursty
        } else {
            TaskClass::Background
        })
    }
}

impl TaskClass {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Sustained => "sustained",
            Self::Bursty => "bursty",
            Self::Background => "background",
        }
    }

    /// Returns the type of core on which such a task should run, of a machine's types (slowest first); `None` if it has one.
    pub(crate) fn cores(self, types: &[CoreType]) -> Option<&'static str> {
        let (slowest, fastest) = (types.first()?, types.last().filter(|_| types.len() > 1)?);
        Some(match self {
            Self::Light | Self::Bursty => fastest.as_str(),
            Self::Background => slowest.as_str(),
            Self::Sustained => "all",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn of(running: i64, blocked: i64, bursts: i64) -> Figures {
        Figures { running: Ns(running * MS), blocked: Ns(blocked * MS), bursts, ..Figures::default() }
    }

    #[test]
    fn each_threshold_decides() {
        let class = |figures: Figures| figures.class().map(TaskClass::as_str);
        assert_eq!(class(of(9, 1000, 9)), None);
        assert_eq!(class(of(9, 1000, 10)), Some("background"));
        assert_eq!(class(of(10, 1000, 1)), Some("background"));
        // A tenth, and half of the time.
        assert_eq!(class(of(99, 901, 50)), Some("background"));
        assert_eq!(class(of(100, 900, 50)), Some("bursty"));
        assert_eq!(class(of(499, 501, 50)), Some("bursty"));
        assert_eq!(class(of(500, 500, 50)), Some("light"));
        // Ready time is demand, too.
        assert_eq!(class(Figures { ready: Ns(300 * MS), ..of(200, 500, 50) }), Some("light"));
        // Half of its running time in long bursts; half of it crowded; a fourth of the bursts wake a thread.
        assert_eq!(class(Figures { long: Ns(100 * MS), ..of(200, 9800, 50) }), Some("light"));
        assert_eq!(class(Figures { long: Ns(99 * MS), ..of(200, 9800, 50) }), Some("background"));
        assert_eq!(class(Figures { crowded: Ns(250 * MS), ..of(500, 500, 50) }), Some("sustained"));
        assert_eq!(class(Figures { crowded: Ns(249 * MS), ..of(500, 500, 50) }), Some("light"));
        assert_eq!(class(Figures { awaited_bursts: 10, ..of(20, 980, 40) }), Some("bursty"));
        assert_eq!(class(Figures { awaited_bursts: 9, ..of(20, 980, 40) }), Some("background"));
        // Few bursts show no habit.
        assert_eq!(class(Figures { awaited_bursts: 9, ..of(20, 980, 9) }), Some("background"));
        assert_eq!(class(Figures { is_low_priority: true, ..of(900, 100, 50) }), Some("background"));
    }

    #[test]
    fn a_machine_with_one_type_has_no_advice() {
        use CoreType::{Efficient, Middle, Performance, Uniform};
        assert_eq!(TaskClass::Light.cores(&[Uniform]), None);
        assert_eq!(TaskClass::Light.cores(&[]), None);
        let types = [Efficient, Middle, Performance];
        let classes = [TaskClass::Light, TaskClass::Bursty, TaskClass::Background, TaskClass::Sustained];
        assert_eq!(
            classes.map(|class| class.cores(&types)),
            [Some("performance"), Some("performance"), Some("efficient"), Some("all")]
        );
    }
}
