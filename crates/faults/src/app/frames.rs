//! A program that renders frames with its workers.
//!
//! ```text
//! main    |prepare|………waits………|finish|sleep| next frame
//! workers         |piece|piece|
//! ```

use super::{HOGS_NICE, Injected, TEARDOWN, hogs, others, program};
use crate::durations::Durations;
use crate::kinds::Fault;
use crate::machines::Machine;
use crate::program::{FRAME, Gate, Habit, Load, Pool, Program, Step};
use testkit::Rng;

/// The name of the marks of pieces of work.
const PIECE: &str = "piece";
const POOL: Pool = Pool(0);
/// Counts workers that have finished a frame.
const DONE: Gate = Gate(0);
/// A lock.
const LOCK: Gate = Gate(1);
/// The end of a frame, for workers that spin.
const OVER: Gate = Gate(2);
/// The beginning of a frame, for the saver.
const SAVE: Gate = Gate(3);
/// The gate for the first worker's start; each worker has one.
const BEGIN: usize = 4;

/// The random part of a load.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frames {
    machine: Machine,
    workers: usize,
    /// For each frame, the times to prepare, finish and sleep, ns.
    frames: Vec<[i64; 3]>,
    /// For each frame, the pieces of work, ns.
    pieces: Vec<Vec<i64>>,
    /// For each thread outside the program, its alternating times of running and sleeping, ns.
    servers: Vec<Vec<[i64; 2]>>,
    /// The threads that keep all CPUs busy, which some faults need: nice value and number.
    hogs: Option<(i8, usize)>,
    saver: bool,
}

impl Frames {
    /// Draws a load for a machine. Some faults need additional threads, which the load without the fault has too.
    pub(super) fn new(machine: &Machine, fault: Option<Fault>, rng: &mut Rng) -> Self {
        let (video, web) = (Durations::of("video", "running"), Durations::of("web", "running"));
        let pauses = Durations::of("web", "blocked");
        let cpus = machine.cpus();
        let workers = match fault {
            Some(Fault::SpinningBarrier) => cpus + (cpus / 2).max(2),
            _ => (cpus / 2).clamp(2, 8),
        };
        let count = 40 + rng.below(40);
        let serial = |rng: &mut Rng| 1_500_000 + video.draw(rng, 4_000_000);
        let frames = (0..count).map(|_| [serial(rng), serial(rng), 500_000 + pauses.draw(rng, 3_000_000)]).collect();
        let pieces = (0..count).map(|_| (0..workers * 8).map(|_| 200_000 + web.draw(rng, 600_000)).collect()).collect();
        let servers = others::drawn(cpus, rng);
        let hogs = match fault {
            Some(Fault::SamePriority | Fault::LowRuns | Fault::Inversion) => Some((HOGS_NICE, cpus)),
            // One on each fast core: a thread should not be woken on their siblings.
            Some(Fault::BusySibling) => Some((0, machine.fast_cores() / 2)),
            _ => None,
        };
        let saver = fault == Some(Fault::Inversion);
        Self { machine: machine.clone(), workers, frames, pieces, servers, hogs, saver }
    }

    /// The number of frames.
    pub(super) fn count(&self) -> usize {
        self.frames.len()
    }

    /// Returns the load with these faults.
    pub(super) fn load(&self, faults: &[Injected]) -> Load {
        let mut programs = vec![self.main(faults)];
        programs.extend((0..self.workers).map(|w| self.worker(w, faults)));
        if self.saver {
            programs.push(self.saver(faults));
        }
        if let Some((nice, many)) = self.hogs {
            programs.extend(hogs(nice, many));
        }
        programs.extend(others::programs(&self.servers));
        let mut gates = vec![0; BEGIN + self.workers];
        gates[LOCK.0] = 1;
        Load { programs, gates, pools: 1 }
    }

    /// How the scheduler treats the program's threads without a fault. If nice threads keep all CPUs busy, leaving the program's threads
    /// queued behind them on a slow core would be another fault, which is not injected here.
    fn habit(&self) -> Habit {
        if self.hogs.is_some_and(|(nice, _)| nice > 0) { Habit::Taking } else { Habit::Usual }
    }

    fn main(&self, faults: &[Injected]) -> Program {
        let mut steps = vec![Step::Treated(self.habit())];
        for (frame, [prepare, finish, sleep]) in self.frames.iter().enumerate() {
            let has = |fault| faults.iter().any(|f| f.is(fault) && f.frames.contains(&frame));
            for injected in faults.iter().filter(|f| !f.fixed) {
                if frame == injected.frames.start {
                    steps.extend(self.begins(injected.fault));
                } else if frame == injected.frames.end {
                    steps.extend(self.ends(injected.fault));
                }
            }
            steps.push(Step::Begin(FRAME));
            if self.saver {
                steps.push(Step::Post(SAVE, 1));
            }
            steps.push(Step::Run(*prepare));
            if self.saver {
                steps.extend([Step::Wait(LOCK), Step::Run(100_000), Step::Post(LOCK, 1)]);
            }
            if !has(Fault::StaticPartition) && !has(Fault::Convoy) {
                steps.push(Step::Fill(POOL, self.handed(frame, has(Fault::LargeChunks))));
            }
            steps.extend((0..self.workers).map(|w| Step::Post(Gate(BEGIN + w), 1)));
            steps.extend((0..self.workers).map(|_| Step::Wait(DONE)));
            if has(Fault::SpinningBarrier) {
                steps.push(Step::Post(OVER, self.workers as u32));
            }
            steps.extend([Step::Run(*finish), Step::End(FRAME), Step::Sleep(*sleep)]);
        }
        steps.extend([Step::Run(TEARDOWN), Step::Over]);
        Program { in_group: true, ..program("main", 0, steps) }
    }

    /// The pieces of a frame as they are distributed to the workers.
    fn handed(&self, frame: usize, large: bool) -> Vec<i64> {
        let pieces = &self.pieces[frame];
        if large {
            // Each large piece is several of the small ones, so no two are equal.
            let many = self.workers + 1;
            let bound = |n: usize| n * pieces.len() / many;
            (0..many).map(|n| pieces[bound(n)..bound(n + 1)].iter().sum()).collect()
        } else {
            pieces.clone()
        }
    }

    fn begins(&self, fault: Fault) -> Vec<Step> {
        match fault {
            Fault::PinnedToSlow => vec![Step::Allow(self.machine.slow())],
            // A sleep, so that the scheduler places it again.
            Fault::PlacedOnSlow => vec![Step::Treated(Habit::Efficient), Step::Sleep(50_000)],
            Fault::BusySibling => vec![Step::Treated(Habit::Sibling), Step::Sleep(50_000)],
            Fault::LowRuns => vec![Step::Treated(Habit::Late)],
            Fault::SamePriority => vec![Step::Nice(HOGS_NICE)],
            Fault::Throttled => vec![Step::Quota(Some(15_000_000 * self.workers as i64))],
            _ => Vec::new(),
        }
    }

    fn ends(&self, fault: Fault) -> Vec<Step> {
        match fault {
            Fault::PinnedToSlow => vec![Step::Allow(self.machine.all())],
            Fault::PlacedOnSlow | Fault::BusySibling | Fault::LowRuns => vec![Step::Treated(self.habit())],
            Fault::SamePriority => vec![Step::Nice(0)],
            Fault::Throttled => vec![Step::Quota(None)],
            _ => Vec::new(),
        }
    }

    /// The thread that packs in each frame the state that the main thread needs: under the lock (with or without priority
    /// inheritance), or with the lock held only briefly.
    fn saver(&self, faults: &[Injected]) -> Program {
        let mut steps = Vec::new();
        for frame in 0..self.frames.len() {
            let held = faults.iter().find(|f| f.fault == Fault::Inversion && f.frames.contains(&frame));
            let (pack, unlock) = (Step::Run(6_000_000), Step::Post(LOCK, 1));
            steps.extend([Step::Wait(SAVE), Step::Wait(LOCK)]);
            steps.extend(match held {
                Some(held) if held.fixed => vec![Step::Borrow(LOCK), pack, unlock],
                Some(_) => vec![pack, unlock],
                None => vec![unlock, pack],
            });
        }
        program("saver", 15, steps)
    }

    fn worker(&self, number: usize, faults: &[Injected]) -> Program {
        let mut steps = vec![Step::Treated(self.habit())];
        for (frame, pieces) in self.pieces.iter().enumerate() {
            let has = |fault| faults.iter().any(|f| f.is(fault) && f.frames.contains(&frame));
            let pin = faults.iter().find(|f| f.is(Fault::PinnedToOne));
            match pin {
                Some(f) if f.frames.start == frame => steps.push(Step::Allow(1 << (self.machine.cpus() - 1))),
                Some(f) if f.frames.end == frame => steps.push(Step::Allow(self.machine.all())),
                _ => {}
            }
            steps.push(Step::Wait(Gate(BEGIN + number)));
            let own = || pieces.iter().skip(number).step_by(self.workers);
            if has(Fault::StaticPartition) {
                // The first worker's share is twice that of the others.
                let all: i64 = pieces.iter().sum();
                let share = all / (self.workers as i64 + 1);
                let run = Step::Run(if number == 0 { 2 * share } else { share });
                steps.extend([Step::Begin(PIECE), run, Step::End(PIECE)]);
            } else if has(Fault::Convoy) {
                let locked = |ns: &i64| [Step::Wait(LOCK), Step::Run(*ns), Step::Post(LOCK, 1)];
                let piece = |ns| [Step::Begin(PIECE)].into_iter().chain(locked(ns)).chain([Step::End(PIECE)]);
                steps.extend(own().flat_map(piece));
            } else {
                steps.push(Step::Drain(POOL, PIECE));
            }
            steps.push(Step::Post(DONE, 1));
            if has(Fault::SpinningBarrier) {
                steps.push(Step::Spin(OVER));
            }
        }
        Program { in_group: true, ..program(&format!("worker {number}"), 0, steps) }
    }
}
