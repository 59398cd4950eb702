//! The kinds of injected faults. A new one needs a line in [`KINDS`], a shape, and its changes in `app`.

use crate::machines::Kind as Make;

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The program's main thread may use only slow cores, while faster ones are idle.
    PinnedToSlow,
    /// The scheduler keeps the main thread on slow cores.
    PlacedOnSlow,
    /// The main thread is woken on a CPU whose SMT sibling is busy.
    BusySibling,
    /// All workers may use only the same CPU.
    PinnedToOne,
    /// Busy threads have the same weight as the main thread.
    SamePriority,
    /// Nice threads keep their CPU while the main thread is ready.
    LowRuns,
    /// Workers' shares are fixed and unequal.
    StaticPartition,
    /// There is one piece more than there are workers.
    LargeChunks,
    /// All pieces are processed under one lock.
    Convoy,
    /// A nice thread holds a lock that the main thread needs, without priority inheritance.
    Inversion,
    /// Workers spin at the end of a frame, and there are more workers than CPUs.
    SpinningBarrier,
    /// The program's group may run for only a part of each 100 ms.
    Throttled,
    /// Batch work on all CPUs has the same weight as a periodic thread.
    DelayedPeriod,
    /// One thread serves the requests of many clients.
    SerialServer,
}

/// The shape of the load in which a fault is injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A main thread renders frames with its workers.
    Frames,
    /// A thread works at a steady period.
    Periods,
    /// Clients wait for a server.
    Requests,
}

impl Fault {
    /// The shape of its load.
    #[must_use]
    pub fn shape(self) -> Shape {
        match self {
            Self::DelayedPeriod => Shape::Periods,
            Self::SerialServer => Shape::Requests,
            _ => Shape::Frames,
        }
    }

    /// Whether it is in all frames: a program does not change the number of its threads.
    pub(crate) fn is_in_all(self) -> bool {
        self == Self::SerialServer
    }
}

/// A fault, the rule that should find it, the threads that it delays, and the machines that can show it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The fault.
    pub fault: Fault,
    /// The rule's id.
    pub rule: &'static str,
    /// Another rule that finds the same.
    pub or: Option<&'static str>,
    /// The prefix of the names of the threads that it delays.
    pub threads: &'static str,
    /// The machines that can show it.
    pub on: &'static [Make],
}

const ANY: &[Make] = &[Make::Uniform, Make::Hybrid, Make::BigLittle];
const UNLIKE: &[Make] = &[Make::Hybrid, Make::BigLittle];

/// All of them, in the order of the confusion matrix.
pub const KINDS: &[Kind] = &[
    Kind {
        fault: Fault::PinnedToSlow,
        rule: "pinned-away-from-idle-faster-core",
        or: None,
        threads: "main",
        on: UNLIKE,
    },
    Kind {
        fault: Fault::PlacedOnSlow,
        rule: "critical-thread-on-efficient-core",
        or: None,
        threads: "main",
        on: UNLIKE,
    },
    Kind { fault: Fault::BusySibling, rule: "woke-on-busy-sibling", or: None, threads: "main", on: &[Make::Hybrid] },
    Kind { fault: Fault::PinnedToOne, rule: "pinned-to-one-cpu", or: None, threads: "worker", on: ANY },
    Kind {
        fault: Fault::SamePriority,
        rule: "critical-thread-same-priority-as-workers",
        or: None,
        threads: "main",
        on: ANY,
    },
    Kind { fault: Fault::LowRuns, rule: "low-priority-ran-while-high-was-ready", or: None, threads: "main", on: ANY },
    Kind { fault: Fault::StaticPartition, rule: "static-partition-barrier-tail", or: None, threads: "worker", on: ANY },
    Kind { fault: Fault::LargeChunks, rule: "chunks-too-large", or: None, threads: "worker", on: ANY },
    Kind { fault: Fault::Convoy, rule: "lock-convoy", or: None, threads: "worker", on: ANY },
    Kind { fault: Fault::Inversion, rule: "priority-inversion", or: None, threads: "main", on: ANY },
    Kind { fault: Fault::SpinningBarrier, rule: "busy-wait-at-barrier", or: None, threads: "worker", on: ANY },
    Kind { fault: Fault::Throttled, rule: "throttled-by-quota", or: None, threads: "worker", on: ANY },
    Kind {
        fault: Fault::DelayedPeriod,
        rule: "periodic-thread-delayed",
        or: Some("critical-thread-same-priority-as-workers"),
        threads: "main",
        on: ANY,
    },
    Kind { fault: Fault::SerialServer, rule: "single-server", or: Some("too-few-workers"), threads: "client", on: ANY },
];

impl Kind {
    /// Whether a finding of this rule is right.
    #[must_use]
    pub fn is_found_by(&self, rule: &str) -> bool {
        self.rule == rule || self.or == Some(rule)
    }
}
