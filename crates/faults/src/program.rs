//! What a simulated thread does: a list of steps, fixed before the simulation begins.

/// A counter that threads wait at and post to. One that begins at 1 is a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate(pub usize);

/// A store of pieces of work that threads take from, whoever comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool(pub usize);

/// What frames are marked as.
pub const FRAME: &str = "frame";

/// CPUs by bits: bit n is CPU n. No machine here has more than 64.
pub type Cpus = u64;

/// How the scheduler treats a thread, apart from its weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Habit {
    /// As any.
    #[default]
    Usual,
    /// As any, but where no CPU idles, woken onto the fastest whose thread it outweighs rather than onto the shortest queue, and of
    /// equal queues onto that of the fastest.
    Taking,
    /// Woken onto the slowest type of core, and left there.
    Efficient,
    /// Woken onto an idle CPU whose sibling is busy, where there is one, and left there.
    Sibling,
    /// Waits until who runs blocks or has had a slice of 12 ms, however much more this one weighs.
    Late,
}

impl Habit {
    /// Whether the scheduler moves it to a CPU that falls idle.
    pub(crate) fn is_moved(self) -> bool {
        matches!(self, Self::Usual | Self::Taking)
    }
}

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Computes for so many ns of a CPU of speed 1 with an idle sibling.
    Run(i64),
    /// Sleeps for ns.
    Sleep(i64),
    /// Adds to a gate's counter, waking who waits.
    Post(Gate, u32),
    /// Takes one from a gate's counter, when there is one.
    Wait(Gate),
    /// Until it next posts to that gate, who waits there lends this thread its weight: a lock with priority inheritance.
    Borrow(Gate),
    /// The same, computing in vain meanwhile.
    Spin(Gate),
    /// Puts pieces of ns into a pool.
    Fill(Pool, Vec<i64>),
    /// Takes pieces from a pool and computes them until it is empty, each in a marked stretch.
    Drain(Pool, &'static str),
    /// Sets the nice value.
    Nice(i8),
    /// Sets the CPUs that it may use.
    Allow(Cpus),
    /// Sets how the scheduler treats it.
    Treated(Habit),
    /// Begins a marked stretch of this name.
    Begin(&'static str),
    /// Ends the marked stretch of this name.
    End(&'static str),
    /// Sets the quota of the group in this and the following steps' time: ns in each period of 100 ms, none for as much as
    /// it wants.
    Quota(Option<i64>),
    /// Ends the simulation.
    Over,
}

/// A thread to be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Nice value at the begin.
    pub nice: i8,
    /// Whether it is in the group that quotas are set for.
    pub in_group: bool,
    /// What it does; behind the last step it begins again, if `again`, or exits.
    pub steps: Vec<Step>,
    /// Whether it goes on for ever.
    pub again: bool,
}

/// All that is to be simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// The threads, by number.
    pub programs: Vec<Program>,
    /// What the gates' counters are at the begin.
    pub gates: Vec<u32>,
    /// How many pools there are.
    pub pools: usize,
}
