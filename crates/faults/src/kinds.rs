//! The kinds of injected faults. A new one needs a line in [`KINDS`] and its changes in `app`.

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
}

/// A fault, the rule that should find it, the threads that it delays, and the machines that can show it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The fault.
    pub fault: Fault,
    /// The rule's id.
    pub rule: &'static str,
    /// The prefix of the names of the threads that it delays.
    pub threads: &'static str,
    /// The machines that can show it.
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
