//! The kinds of fault that are injected. A further one is a line in [`KINDS`] and what it changes in `app`.

use crate::machines::Kind as Make;

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// The program's main thread may use slow cores only, while faster ones idle.
    PinnedToSlow,
    /// The scheduler keeps the main thread on slow cores.
    PlacedOnSlow,
    /// The main thread is woken beside a busy sibling.
    BusySibling,
    /// Workers may use the same one CPU only.
    PinnedToOne,
    /// Threads with work in hand weigh as much as the main thread.
    SamePriority,
    /// Nice threads keep their CPU while the main thread is ready.
    LowRuns,
    /// Workers' shares are fixed and unlike.
    StaticPartition,
    /// One piece more than workers.
    LargeChunks,
    /// Pieces are made under one lock.
    Convoy,
    /// A nice thread holds a lock that the main thread needs, and that lends no priority.
    Inversion,
    /// Workers spin at the end of a frame, more than there are CPUs.
    SpinningBarrier,
    /// The program's group may run a part of each 100 ms only.
    Throttled,
}

/// A fault, the rule that names it, whom it holds up, and the machines that can show it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Which.
    pub fault: Fault,
    /// The rule's id.
    pub rule: &'static str,
    /// Whom it holds up: the threads whose names begin so.
    pub threads: &'static str,
    /// On which machines.
    pub on: &'static [Make],
}

const ANY: &[Make] = &[Make::Uniform, Make::Hybrid, Make::BigLittle];
const UNLIKE: &[Make] = &[Make::Hybrid, Make::BigLittle];

/// All of them, in the order of the confusion matrix.
pub const KINDS: &[Kind] = &[
    Kind { fault: Fault::PinnedToSlow, rule: "pinned-away-from-idle-faster-core", threads: "main", on: UNLIKE },
    Kind { fault: Fault::PlacedOnSlow, rule: "critical-thread-on-efficient-core", threads: "main", on: UNLIKE },
    Kind { fault: Fault::BusySibling, rule: "woke-on-busy-sibling", threads: "main", on: &[Make::Hybrid] },
    Kind { fault: Fault::PinnedToOne, rule: "pinned-to-one-cpu", threads: "worker", on: ANY },
    Kind { fault: Fault::SamePriority, rule: "critical-thread-same-priority-as-workers", threads: "main", on: ANY },
    Kind { fault: Fault::LowRuns, rule: "low-priority-ran-while-high-was-ready", threads: "main", on: ANY },
    Kind { fault: Fault::StaticPartition, rule: "static-partition-barrier-tail", threads: "worker", on: ANY },
    Kind { fault: Fault::LargeChunks, rule: "chunks-too-large", threads: "worker", on: ANY },
    Kind { fault: Fault::Convoy, rule: "lock-convoy", threads: "worker", on: ANY },
    Kind { fault: Fault::Inversion, rule: "priority-inversion", threads: "main", on: ANY },
    Kind { fault: Fault::SpinningBarrier, rule: "busy-wait-at-barrier", threads: "worker", on: ANY },
    Kind { fault: Fault::Throttled, rule: "throttled-by-quota", threads: "worker", on: ANY },
];
