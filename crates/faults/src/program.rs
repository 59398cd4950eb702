//! The program of a simulated thread: a list of steps, fixed before the simulation begins.

/// A counter that threads wait at and post to, like a semaphore. With the initial value 1 it is a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate(pub usize);

/// A pool of pieces of work, from which threads take the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool(pub usize);

/// The name of the marks of frames.
pub const FRAME: &str = "frame";

/// A set of CPUs: bit n is CPU n. Simulated machines have at most 64.
pub type Cpus = u64;

/// How the scheduler treats a thread, apart from its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Habit {
    /// Like any thread.
    #[default]
    Usual,
    /// Like any thread, but if no CPU is idle, woken on the fastest CPU whose thread it outweighs rather than on the shortest queue, and
    /// of equal queues on that of the fastest CPU.
    Taking,
    /// Woken on the slowest type of core, and left there.
    Efficient,
    /// Woken on an idle CPU whose sibling is busy, if there is one, and left there.
    Sibling,
    /// Waits until the running thread blocks or has used a slice of 12 ms, even if this thread weighs more.
    Late,
}

impl Habit {
    /// Whether the scheduler moves it to a CPU that becomes idle.
    pub(crate) fn is_moved(self) -> bool {
        matches!(self, Self::Usual | Self::Taking)
    }
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Computes for this time, ns, on a CPU of speed 1 with an idle sibling.
    Run(i64),
    /// Sleeps for this time, ns.
    Sleep(i64),
    /// Sleeps until the next multiple of this period, ns.
    Due(i64),
    /// Adds to a gate's counter, and wakes the threads that wait there.
    Post(Gate, u32),
    /// Decrements a gate's counter; waits until that is possible.
    Wait(Gate),
    /// Until this thread next posts to the gate, threads that wait there lend it their weight: a lock with priority inheritance.
    Borrow(Gate),
    /// Like [`Self::Wait`], but spins.
    Spin(Gate),
    /// Puts pieces of ns into a pool.
    Fill(Pool, Vec<i64>),
    /// Takes pieces from a pool and computes them until the pool is empty, each in a marked stretch.
    Drain(Pool, &'static str),
    /// Sends a request that takes ns to the threads that serve at the first gate, and adds 1 to its counter. The answer adds 1 to that of
    /// the second one.
    Ask(Gate, Gate, i64),
    /// Takes the first request that was sent to a gate, computes and answers it.
    Serve(Gate),
    /// Sets the nice value.
    Nice(i8),
    /// Sets the affinity.
    Allow(Cpus),
    /// Sets how the scheduler treats it.
    Treated(Habit),
    /// Begins a marked stretch of this name.
    Begin(&'static str),
    /// Ends the marked stretch of this name.
    End(&'static str),
    /// Sets the group's quota from now on: ns in each period of 100 ms; `None`: unlimited.
    Quota(Option<i64>),
    /// Ends the simulation.
    Over,
}

/// A thread to simulate.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The initial nice value.
    pub nice: i8,
    /// The number of its process.
    pub process: usize,
    /// Whether it is in the group with the quota.
    pub in_group: bool,
    /// Its steps. After the last one it starts again if `again`, else it exits.
    pub steps: Vec<Step>,
    /// Whether it repeats its steps for ever.
    pub again: bool,
}

/// Everything to simulate.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The threads, by number.
    pub programs: Vec<Program>,
    /// The initial values of the gates' counters.
    pub gates: Vec<u32>,
    /// The number of pools.
    pub pools: usize,
}
