//! What threads do: a list of operations for each, and the objects that they wait for.

use crate::machine::Cpus;

/// An operation of a thread. Times and work are in ns; work is the time that the fastest core needs for it with no busy sibling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Computes.
    Run(i64),
    /// Sleeps for this time from when it is executed.
    SleepFor(i64),
    /// Sleeps until this time since the begin; not at all if it has passed.
    SleepUntil(i64),
    /// Sleeps until this time after the end of its last sleep of this kind, also if that has passed; the first time, as [`Self::SleepFor`]: a timer with a
    /// period.
    SleepNext(i64),
    /// Waits for something outside of the program, which takes this time from when it is executed.
    Io(i64),
    /// Waits until the semaphore has been posted, and takes one.
    Wait(usize),
    /// The same, but computes until then.
    Spin(usize),
    /// Adds to the semaphore.
    Post(usize, u32),
    /// Takes the lock; waits while another thread has it.
    Lock(usize),
    /// Gives it back.
    Unlock(usize),
    /// Waits until as many threads as the barrier has parties are here.
    Barrier(usize),
    /// Starts a thread whose [`Thread::starts`] is `None`.
    Start(usize),
    /// Waits until a thread has ended.
    Join(usize),
    /// Says that it is here.
    Mark(usize),
}

/// What threads wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// Counts posts, with this many at the begin. Threads take them in the order in which they came.
    Semaphore(u32),
    /// Free at the begin. A thread that is woken because the lock is free tries to take it when it runs, as with glibc's mutex: another one may
    /// have taken it before.
    Lock,
    /// Lets threads go on when this many have arrived.
    Barrier(u32),
}

/// The scheduling class of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Class {
    /// `SCHED_OTHER`.
    #[default]
    Other,
    /// `SCHED_BATCH`: does not preempt when it is woken.
    Batch,
    /// `SCHED_IDLE`: weighs almost nothing, and is preempted by the two others.
    Idle,
    /// `SCHED_FIFO` with its priority, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with its priority, 1 to 99.
    RoundRobin(u8),
}

impl Class {
    /// The priority of a real-time thread.
    #[must_use]
    pub fn real_time(self) -> Option<u8> {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
            Self::Other | Self::Batch | Self::Idle => None,
        }
    }
}

/// A thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// What it does, to its end.
    pub ops: Vec<Op>,
    /// Its class.
    pub class: Class,
    /// Its nice value, −20 to 19.
    pub nice: i8,
    /// Its time slice, ns, if it has one of its own (`sched_setattr`).
    pub slice: Option<i64>,
    /// The CPUs on which it may run; none: all.
    pub affinity: Option<Cpus>,
    /// Its group: a place in [`Program::groups`].
    pub group: usize,
    /// When it starts, ns since the begin; `None`: when another one starts it.
    pub starts: Option<i64>,
    /// Its speed on each of [`crate::Machine::types`] of cores, relative to the fastest; empty: as the machine says.
    pub speeds: Vec<f64>,
}

/// A control group or a session (autogroup): its threads share what it gets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Group {
    /// The group that it is in; `None` for the root, which is the first one and no other.
    pub parent: Option<usize>,
    /// Its weight relative to others in its parent; 1024 by default (`cpu.weight` 100).
    pub weight: u32,
    /// The CPU time that it may use in a period, and the period, ns.
    pub quota: Option<(i64, i64)>,
}

impl Group {
    /// The root.
    pub const ROOT: Self = Self { parent: None, weight: 1024, quota: None };
}

/// All threads, their groups and objects.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The threads.
    pub threads: Vec<Thread>,
    /// The groups, each after its parent.
    pub groups: Vec<Group>,
    /// The objects.
    pub objects: Vec<Object>,
}

impl Default for Program {
    fn default() -> Self {
        Self { threads: Vec::new(), groups: vec![Group::ROOT], objects: Vec::new() }
    }
}
