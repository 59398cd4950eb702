//! One queue for all CPUs, first come, first served, and no preemption: a control that knows nothing of priorities.

use super::{Leave, Policy, Requests, Soon, Why, World};
use std::collections::VecDeque;

/// Ready threads of all CPUs in the order in which they came. A thread runs until it waits or ends.
#[derive(Debug, Default)]
pub struct FifoGlobal {
    ready: VecDeque<usize>,
    /// The CPUs whose current thread has not left.
    runs: Vec<Option<usize>>,
}

impl Policy for FifoGlobal {
    fn choose_cpu(&mut self, world: &World<'_>, thread: usize, _waker: Option<usize>) -> usize {
        let allowed = |cpu: &usize| world.may_run(thread, *cpu);
        let cpus = || (0..world.current.len()).filter(allowed);
        let idle = cpus().find(|cpu| world.current[*cpu].is_none());
        idle.or_else(|| cpus().next()).unwrap_or(world.place[thread].cpu)
    }

    fn enqueue(&mut self, world: &World<'_>, _cpu: usize, thread: usize, _why: Why, requests: &mut Requests) {
        self.ready.push_back(thread);
        // The CPU for which it was chosen may take another one first.
        for cpu in 0..world.current.len() {
            if world.current[cpu].is_none() && world.may_run(thread, cpu) {
                requests.choose(cpu, Soon::Now);
            }
        }
    }

    fn leave(&mut self, world: &World<'_>, cpu: usize, _thread: usize, _how: Leave) {
        self.runs.resize(world.current.len(), None);
        self.runs[cpu] = None;
    }

    fn ran(&mut self, _world: &World<'_>, _cpu: usize, _thread: usize, _ns: i64, _requests: &mut Requests) {}

    fn preempts(&mut self, _world: &World<'_>, _cpu: usize, _thread: usize) -> Option<Soon> {
        None
    }

    fn next(&mut self, world: &World<'_>, cpu: usize, requests: &mut Requests) -> Option<usize> {
        self.runs.resize(world.current.len(), None);
        if self.runs[cpu].is_none() {
            let first = self.ready.iter().position(|thread| world.may_run(*thread, cpu))?;
            self.runs[cpu] = self.ready.remove(first);
            if let Some(thread) = self.runs[cpu].filter(|thread| world.place[*thread].cpu != cpu) {
                requests.moved(thread, cpu);
            }
        }
        self.runs[cpu]
    }

    fn tick_ns(&self) -> i64 {
        i64::MAX
    }

    fn tick(&mut self, _world: &World<'_>, _cpu: usize, _requests: &mut Requests) {}
}
