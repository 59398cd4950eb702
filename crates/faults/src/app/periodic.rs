//! A thread that a timer wakes at a steady period, and batch work of another program on all CPUs.
//!
//! ```text
//! main    |work|sleep until due|work|sleep until due|
//! batch   |computes on every CPU, all the time      |
//! ```
//! Without the fault it takes a CPU from the batch work at once. With it, it has the same weight.

use super::{HOGS_NICE, Injected, TEARDOWN, hogs, others, program};
use crate::durations::Durations;
use crate::kinds::Fault;
use crate::machines::Machine;
use crate::program::{FRAME, Habit, Load, Program, Step};
use testkit::Rng;

/// The process of the batch work, and that of the other threads.
const BATCH: usize = 1;
const OTHERS: usize = 2;

/// What its work leaves of a period, ns; a time slice of the batch work is 3 ms.
const LEFT: i64 = 3_400_000;

/// The random part of a load.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Periodic {
    /// The period, ns.
    period: i64,
    /// For each period, the work, ns.
    work: Vec<i64>,
    servers: Vec<Vec<[i64; 2]>>,
    /// The number of threads of the batch work.
    hogs: usize,
}

impl Periodic {
    pub(super) fn new(machine: &Machine, rng: &mut Rng) -> Self {
        let running = Durations::of("web", "running");
        // A time slice of the batch work is most of a period, so a delay leaves nothing of it.
        let period = 4_000_000;
        let work = (0..100 + rng.below(100)).map(|_| period - LEFT + running.draw(rng, LEFT / 10)).collect();
        let servers = others::drawn(machine.cpus(), rng);
        Self { period, work, servers, hogs: machine.cpus() }
    }

    pub(super) fn count(&self) -> usize {
        self.work.len()
    }

    pub(super) fn load(&self, faults: &[Injected]) -> Load {
        let mut steps = vec![Step::Treated(Habit::Taking), Step::Due(self.period)];
        for (frame, work) in self.work.iter().enumerate() {
            for injected in faults.iter().filter(|f| f.is(Fault::DelayedPeriod)) {
                if frame == injected.frames.start {
                    steps.push(Step::Nice(HOGS_NICE));
                } else if frame == injected.frames.end {
                    steps.push(Step::Nice(0));
                }
            }
            steps.extend([Step::Begin(FRAME), Step::Run(*work), Step::End(FRAME), Step::Due(self.period)]);
        }
        steps.extend([Step::Run(TEARDOWN), Step::Over]);
        let mut programs = vec![program("main", 0, steps)];
        programs.extend(hogs(HOGS_NICE, self.hogs).map(|p| Program { process: BATCH, ..p }));
        programs.extend(others::programs(&self.servers).map(|p| Program { process: OTHERS, ..p }));
        Load { programs, gates: Vec::new(), pools: 0 }
    }
}
