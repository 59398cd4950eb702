//! The exact run of a loop: from the end of one chunk to the end of the next.
//!
//! A chunk takes `chunk_cost + work / speed` on one core. If its thread is moved, the remaining work goes on at the speed of the other
//! core after `move_cost`. Between two events nothing changes, so times are exact but for the rounding of doubles.

use crate::schedule::Supply;
use crate::{Loop, ModelError, Schedule};

/// What a core did.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Core {
    /// The time with a thread on it, costs included.
    pub busy: f64,
    /// The part of `busy` that got chunks or waited for a moved thread.
    pub cost: f64,
    /// The chunks that began on it.
    pub chunks: usize,
}

/// The run of a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The time from the begin to the end of the last chunk.
    pub makespan: f64,
    /// When the first thread found no more work. The makespan, if there is a single core.
    pub first_done: f64,
    /// Each core, in the order of the speeds.
    pub cores: Vec<Core>,
    /// The work of the largest chunk.
    pub longest_chunk: f64,
    /// How often a thread was moved to another core.
    pub moves: usize,
}

impl Run {
    /// The time from the first thread without work to the end.
    #[must_use]
    pub fn tail(&self) -> f64 {
        self.makespan - self.first_done
    }

    /// The share of the makespan for which a core was busy, 0 to 1; `None` if there is no such core, or no work.
    #[must_use]
    pub fn busy_share(&self, core: usize) -> Option<f64> {
        (self.makespan > 0.0).then_some(self.cores.get(core)?.busy / self.makespan)
    }

    /// The number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.cores.iter().map(|core| core.chunks).sum()
    }

    /// The time that all cores spent on getting chunks and on moves.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.cores.iter().map(|core| core.cost).sum()
    }
}

/// A thread on a core.
#[derive(Clone, Copy)]
struct Thread {
    id: usize,
    /// Until when all fields hold.
    since: f64,
    cost: f64,
    work: f64,
    ends: f64,
}

impl Thread {
    fn new(id: usize, since: f64, cost: f64, work: f64, speed: f64) -> Self {
        Self { id, since, cost, work, ends: since + cost + work / speed }
    }
}

/// Simulates a loop on cores of these speeds, in chunks × cores steps.
///
/// # Errors
/// A speed, the work, a cost or the number of chunks is invalid.
pub fn simulate(speeds: &[f64], of: &Loop, schedule: Schedule) -> Result<Run, ModelError> {
    if speeds.is_empty() || !speeds.iter().all(|speed| speed.is_finite() && *speed > 0.0) {
        return Err(ModelError::Speeds);
    }
    if ![of.work, of.chunk_cost, of.move_cost].iter().all(|x| x.is_finite() && *x >= 0.0) {
        return Err(ModelError::Work);
    }
    let supply = Supply::of(schedule, of.work, speeds.len())?;
    let mut simulation = Simulation {
        speeds,
        of,
        supply,
        on: vec![None; speeds.len()],
        done: None,
        run: Run {
            makespan: 0.0,
            first_done: 0.0,
            cores: vec![Core::default(); speeds.len()],
            longest_chunk: 0.0,
            moves: 0,
        },
    };
    (0..speeds.len()).for_each(|core| simulation.next_chunk(core, core, 0.0));
    simulation.fill_idle(schedule);
    while let Some((core, at)) = simulation.next_end() {
        simulation.end_chunk(core, at, schedule);
    }
    simulation.run.first_done = simulation.done.unwrap_or(simulation.run.makespan);
    Ok(simulation.run)
}

struct Simulation<'a> {
    speeds: &'a [f64],
    of: &'a Loop,
    supply: Supply,
    /// The thread on each core.
    on: Vec<Option<Thread>>,
    /// When the first thread found no more work.
    done: Option<f64>,
    run: Run,
}

impl Simulation<'_> {
    /// The core whose chunk ends next, and when.
    fn next_end(&self) -> Option<(usize, f64)> {
        let ends = self.on.iter().enumerate().filter_map(|(core, thread)| Some((core, thread.as_ref()?.ends)));
        ends.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn next_chunk(&mut self, core: usize, thread: usize, at: f64) {
        match self.supply.next(thread) {
            Some(work) => {
                self.run.longest_chunk = self.run.longest_chunk.max(work);
                self.run.cores[core].chunks += 1;
                self.on[core] = Some(Thread::new(thread, at, self.of.chunk_cost, work, self.speeds[core]));
            }
            None => self.done = Some(self.done.unwrap_or(at)),
        }
    }

    fn end_chunk(&mut self, core: usize, at: f64, schedule: Schedule) {
        let Some(thread) = self.on[core].take() else { return };
        self.account(core, &thread, at);
        self.run.makespan = at;
        self.next_chunk(core, thread.id, at);
        if self.on[core].is_none() && !schedule.is_bound() {
            self.move_to(core, at);
        }
    }

    fn account(&mut self, core: usize, thread: &Thread, at: f64) {
        let known = &mut self.run.cores[core];
        known.busy += at - thread.since;
        known.cost += thread.cost.min(at - thread.since);
    }

    /// Moves threads to fast cores that have none from the begin, as there are fewer chunks than cores.
    fn fill_idle(&mut self, schedule: Schedule) {
        let mut idle: Vec<usize> = (0..self.on.len()).filter(|core| self.on[*core].is_none()).collect();
        idle.sort_by(|a, b| self.speeds[*b].total_cmp(&self.speeds[*a]));
        if !schedule.is_bound() {
            idle.into_iter().for_each(|core| self.move_to(core, 0.0));
        }
    }

    /// Moves the thread of the slowest busy core to a faster core that has become idle. No core that is slower still is busy then, so one
    /// move is enough.
    fn move_to(&mut self, idle: usize, at: f64) {
        let slower = |core: &usize| self.on[*core].is_some() && self.speeds[*core] < self.speeds[idle];
        let left = |core: usize| self.on[core].map_or(0.0, |thread| thread.ends - at);
        // Of cores of one speed, the one with most left.
        let from = (0..self.speeds.len()).filter(slower).min_by(|a, b| {
            self.speeds[*a].total_cmp(&self.speeds[*b]).then(left(*b).total_cmp(&left(*a))).then(a.cmp(b))
        });
        let Some((from, thread)) = from.and_then(|core| Some((core, self.on[core].take()?))) else { return };
        self.account(from, &thread, at);
        let passed = at - thread.since;
        let work = thread.work - (passed - thread.cost).max(0.0) * self.speeds[from];
        let cost = (thread.cost - passed).max(0.0) + self.of.move_cost;
        self.on[idle] = Some(Thread::new(thread.id, at, cost, work.max(0.0), self.speeds[idle]));
        self.run.moves += 1;
    }
}
