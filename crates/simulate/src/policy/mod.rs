//! Scheduling policies: which thread runs where, and when another one does.
//!
//! A policy keeps its own queues. The engine reports what happens to threads, and requests the next thread of a CPU; the policy requests
//! reschedules and moves in [`Requests`].

mod eevdf;
mod fifo_global;

pub use eevdf::{Eevdf, Features, Preemption, Settings, weight_of};
pub use fifo_global::FifoGlobal;

use crate::machine::Machine;
use crate::program::Thread;

/// What a policy sees.
pub struct World<'a> {
    /// The time, ns since the begin.
    pub now: i64,
    /// The machine.
    pub machine: &'a Machine,
    /// The siblings of each CPU.
    pub siblings: Vec<Vec<usize>>,
    /// The threads.
    pub threads: &'a [Thread],
    /// What each CPU runs.
    pub current: Vec<Option<usize>>,
    /// The CPU on which each thread is or was last, and since when it is on or off it.
    pub place: Vec<Place>,
}

/// Where a thread is or was last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The CPU; before its first run, that of the thread that started it.
    pub cpu: usize,
    /// When it was last switched in or out.
    pub since: i64,
}

impl World<'_> {
    /// Whether a thread may run on a CPU.
    #[must_use]
    pub fn may_run(&self, thread: usize, cpu: usize) -> bool {
        self.threads[thread].affinity.as_ref().is_none_or(|cpus| cpus.has(cpu))
    }

    /// Whether the siblings of a CPU are idle.
    #[must_use]
    pub fn core_is_idle(&self, cpu: usize) -> bool {
        self.siblings[cpu].iter().all(|other| self.current[*other].is_none())
    }
}

/// Why a thread is put into a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is new.
    New,
    /// It was woken.
    Woken,
    /// It was taken from another CPU.
    Moved,
}

/// Why a current thread leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// It waits.
    Waits,
    /// It is moved to another CPU.
    Moves,
    /// It ends.
    Ends,
}

/// How soon a CPU should choose again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Soon {
    /// At its next tick.
    AtTick,
    /// Now.
    Now,
}

/// What a policy requests of the engine.
#[derive(Debug, Default)]
pub struct Requests {
    /// CPUs that should choose again.
    pub(crate) choose: Vec<(usize, Soon)>,
    /// Ready threads that the policy moved to the queue of another CPU.
    pub(crate) moved: Vec<(usize, usize)>,
    /// CPUs whose current thread should continue on another one: from, to.
    pub(crate) push: Vec<(usize, usize)>,
    /// Times at which [`Policy::timer`] is called, with their key.
    pub(crate) timers: Vec<(i64, usize)>,
}

impl Requests {
    /// A CPU should choose again.
    pub fn choose(&mut self, cpu: usize, soon: Soon) {
        self.choose.push((cpu, soon));
    }

    /// A ready thread is in the queue of this CPU from now on.
    pub fn moved(&mut self, thread: usize, cpu: usize) {
        self.moved.push((thread, cpu));
    }

    /// The current thread of a CPU should continue on another one.
    pub fn push(&mut self, from: usize, to: usize) {
        self.push.push((from, to));
    }

    /// [`Policy::timer`] should be called.
    pub fn timer(&mut self, at: i64, key: usize) {
        self.timers.push((at, key));
    }
}

/// A scheduling policy.
pub trait Policy {
    /// Returns the CPU for a thread that is new or woken. `waker`: the CPU on which that happens.
    fn choose_cpu(&mut self, world: &World<'_>, thread: usize, waker: Option<usize>) -> usize;

    /// A thread is ready on a CPU from now on.
    fn enqueue(&mut self, world: &World<'_>, cpu: usize, thread: usize, why: Why, requests: &mut Requests);

    /// The current thread of a CPU is no longer ready.
    fn leave(&mut self, world: &World<'_>, cpu: usize, thread: usize, how: Leave);

    /// The current thread of a CPU has run for this time since the last call.
    fn ran(&mut self, world: &World<'_>, cpu: usize, thread: usize, ns: i64, requests: &mut Requests);

    /// Whether a thread that was put into the queue of a busy CPU takes the place of its current thread, and when.
    fn preempts(&mut self, world: &World<'_>, cpu: usize, thread: usize) -> Option<Soon>;

    /// Returns which thread runs on a CPU from now on. Its current thread is one of those to choose from if it has not left. If there is none,
    /// the policy may take one from another CPU.
    fn next(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) -> Option<usize>;

    /// The time between two ticks of a busy CPU, ns.
    fn tick_ns(&self) -> i64;

    /// A tick of a busy CPU.
    fn tick(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests);

    /// Called once at the begin.
    fn begin(&mut self, _world: &World<'_>, _requests: &mut Requests) {}

    /// A time that the policy requested.
    fn timer(&mut self, _world: &World<'_>, _key: usize, _requests: &mut Requests) {}
}
