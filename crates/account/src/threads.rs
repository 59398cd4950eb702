//! The sums of threads whose lives are over, in bounded memory.

use crate::life::{Doing, Life};
use crate::rows::{Row, Rows};
use crate::{SpillError, ThreadTotals};
use bytemuck::{Pod, Zeroable};
use model::{CpuId, InferredStretch, MaybeNs, NameId, Ns, Pid, Prio, Reason, ThreadKey, Tid};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// CPUs whose times stand in a life's row; most lives see fewer.
const NEAR: usize = 4;

/// What each life of each thread did, in order of their keys. Those beyond some ten thousand lie in a temporary file.
pub struct Threads {
    rows: Rows<LifeRow>,
    /// The times on CPUs that have no room in the rows.
    far: Rows<FarRow>,
    names: Vec<Arc<str>>,
    begun: u64,
    ended: u64,
    unwoken: u64,
    /// What was inferred, by CPU, of each thread of which something was ([`Self::fill`]).
    inferred: FxHashMap<ThreadKey, Vec<(CpuId, Ns)>>,
}

/// A life in 240 bytes: its sums, and what is needed of one that rests.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct LifeRow {
    begin: i64,
    end: i64,
    states: [i64; 5],
    exec: i64,
    exec_of: i64,
    lossy: i64,
    max_ready: i64,
    nowhere: i64,
    involuntary: u64,
    voluntary: u64,
    migrations: u64,
    unwoken: u64,
    /// The row of the open stretch, and since when it lasts.
    place: u64,
    since: i64,
    /// The smallest number: not told.
    charged: i64,
    near_times: [i64; NEAR],
    /// Where the other CPUs' times begin.
    far: u64,
    thread: u32,
    tid: i32,
    life: u32,
    pid: i32,
    name: u32,
    /// How many CPUs it ran on.
    ran_on: u32,
    near_cpus: [u32; NEAR],
    last_cpu: u32,
    prio: i16,
    /// The kernel's, of its exit.
    letter: u8,
    filled: u8,
}

impl Row for LifeRow {
    fn is_filled(&self) -> bool {
        self.filled != 0
    }
}

/// A thread's time on a CPU.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct FarRow {
    time: i64,
    cpu: u64,
}

impl Row for FarRow {
    fn is_filled(&self) -> bool {
        true
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            rows: Rows::new(),
            far: Rows::new(),
            names: Vec::new(),
            begun: 0,
            ended: 0,
            unwoken: 0,
            inferred: FxHashMap::default(),
        }
    }
}

impl std::fmt::Debug for Threads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = f.debug_list();
        self.each(|thread| {
            list.entry(thread);
        })
        .map_err(|_| std::fmt::Error)?;
        list.finish()
    }
}

impl Threads {
    /// How many.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ended
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ended == 0
    }

    /// Switch-ins whose waking was never seen, of all.
    #[must_use]
    pub fn unwoken(&self) -> u64 {
        self.unwoken
    }

    /// Hands on each.
    ///
    /// # Errors
    /// The temporary file could not be written, or cannot be read.
    pub fn each(&self, mut each: impl FnMut(&ThreadTotals)) -> Result<(), SpillError> {
        let mut totals = ThreadTotals::new(ThreadKey::UNKNOWN, Tid::UNKNOWN, 0, Ns::ZERO);
        let read = self.rows.read(|rows| {
            for row in rows {
                self.read(row, &mut totals)?;
                for (cpu, time) in self.inferred.get(&totals.thread).into_iter().flatten() {
                    totals.fill(*cpu, *time);
                }
                each(&totals);
            }
            Ok(())
        });
        read.map_err(SpillError)
    }

    /// A copy of each, where they are few.
    ///
    /// # Errors
    /// As [`Self::each`].
    pub fn all(&self) -> Result<Vec<ThreadTotals>, SpillError> {
        let mut all = Vec::new();
        self.each(|thread| all.push(thread.clone()))?;
        Ok(all)
    }

    /// The key of a life that begins now.
    pub(crate) fn reserve(&mut self) -> ThreadKey {
        self.rows.reserve();
        self.begun += 1;
        ThreadKey(self.begun as i64)
    }

    /// What was inferred stands in place of the unknown time that it fills.
    pub(crate) fn fill(&mut self, inferred: &[InferredStretch]) {
        for stretch in inferred.iter().filter(|s| s.thread != ThreadKey::IDLE) {
            let by_cpu = self.inferred.entry(stretch.thread).or_default();
            match by_cpu.iter_mut().find(|(cpu, _)| *cpu == stretch.cpu) {
                Some((_, time)) => *time = *time + stretch.span.len(),
                None => by_cpu.push((stretch.cpu, stretch.span.len())),
            }
        }
    }

    /// Keeps a life that is over.
    pub(crate) fn end(&mut self, life: &Life) {
        self.ended += 1;
        self.unwoken += life.totals.unwoken;
        self.keep(life, place_of(life.totals.thread));
    }

    /// Keeps a life that may be asked for again ([`Life::can_rest`]).
    pub(crate) fn rest(&mut self, life: &Life) {
        self.keep(life, place_of(life.totals.thread));
    }

    /// Nothing is to be told of a life, which may have rested.
    pub(crate) fn forget(&mut self, thread: ThreadKey) {
        self.rows.fill(place_of(thread), LifeRow::zeroed());
    }

    /// A life that rests.
    pub(crate) fn resting(&mut self, thread: ThreadKey) -> Life {
        let mut row = [LifeRow::zeroed()];
        let mut life = Life::new(thread, Tid::UNKNOWN, 0, Ns::ZERO, 0);
        let read = self.rows.read_at(place_of(thread), &mut row);
        let [row] = row;
        if let Err(error) = read.and_then(|()| self.read(&row, &mut life.totals)) {
            self.rows.fail(error);
        }
        life.totals.name = None; // the last name is told by its number while it is followed
        life.turns = 1; // which one tells nothing any more: what was watched for in those before is decided
        let cpu = Some(CpuId(row.last_cpu));
        (life.doing, life.reason, life.cpu, life.queue) = (Doing::Exited, Reason::State(row.letter), cpu, cpu);
        (life.place, life.since, life.prio, life.name) =
            (row.place, Ns(row.since), Prio::of_word(row.prio), NameId(row.name));
        life.charged = MaybeNs::of_word(row.charged).get();
        life
    }

    /// With the texts that their names are the places of.
    pub(crate) fn named(self, names: Vec<Arc<str>>) -> Self {
        Self { names, ..self }
    }

    fn keep(&mut self, life: &Life, at: u64) {
        let t = &life.totals;
        let (near, far) = t.by_cpu.split_at(t.by_cpu.len().min(NEAR));
        let mut row = LifeRow {
            begin: t.begin.0,
            end: t.end.0,
            states: t.states.map(|time| time.0),
            exec: t.exec.0,
            exec_of: t.exec_of.0,
            lossy: t.lossy.0,
            max_ready: t.max_ready.0,
            nowhere: t.nowhere.0,
            involuntary: t.involuntary,
            voluntary: t.voluntary,
            migrations: t.migrations,
            unwoken: t.unwoken,
            place: life.place,
            since: life.since.0,
            charged: MaybeNs::from(life.charged).to_word(),
            near_times: [0; NEAR],
            far: 0,
            thread: t.thread.0 as u32,
            tid: t.tid.0,
            life: t.life,
            pid: t.pid.0,
            name: life.name.0,
            ran_on: t.by_cpu.len() as u32,
            near_cpus: [0; NEAR],
            last_cpu: life.cpu.map_or(0, |cpu| cpu.0),
            prio: life.prio.to_word(),
            letter: if let Reason::State(letter) = life.reason { letter } else { 0 },
            filled: 1,
        };
        for (at, (cpu, time)) in near.iter().enumerate() {
            (row.near_cpus[at], row.near_times[at]) = (cpu.0, time.0);
        }
        for (at, (cpu, time)) in far.iter().enumerate() {
            let place = self.far.reserve();
            self.far.fill(place, FarRow { time: time.0, cpu: u64::from(cpu.0) });
            if at == 0 {
                row.far = place;
            }
        }
        self.rows.fill(at, row);
    }

    fn read(&self, row: &LifeRow, to: &mut ThreadTotals) -> std::io::Result<()> {
        let mut by_cpu = std::mem::take(&mut to.by_cpu);
        by_cpu.clear();
        let near = row.near_cpus.iter().zip(&row.near_times).take(row.ran_on as usize);
        by_cpu.extend(near.map(|(cpu, time)| (CpuId(*cpu), Ns(*time))));
        if let Some(count @ 1..) = (row.ran_on as usize).checked_sub(NEAR) {
            let mut far = vec![FarRow::zeroed(); count];
            self.far.read_at(row.far, &mut far)?;
            by_cpu.extend(far.iter().map(|far| (CpuId(far.cpu as u32), Ns(far.time))));
        }
        *to = ThreadTotals {
            thread: ThreadKey(i64::from(row.thread)),
            tid: Tid(row.tid),
            life: row.life,
            pid: Pid(row.pid),
            name: self.names.get(row.name as usize).filter(|_| NameId(row.name) != NameId::NONE).cloned(),
            begin: Ns(row.begin),
            end: Ns(row.end),
            states: row.states.map(Ns),
            exec: Ns(row.exec),
            exec_of: Ns(row.exec_of),
            lossy: Ns(row.lossy),
            involuntary: row.involuntary,
            voluntary: row.voluntary,
            max_ready: Ns(row.max_ready),
            migrations: row.migrations,
            unwoken: row.unwoken,
            by_cpu,
            nowhere: Ns(row.nowhere),
            inferred: Ns::ZERO,
        };
        Ok(())
    }
}

/// Takes threads whose sums are known already.
#[derive(Default)]
pub struct Filing {
    threads: Threads,
    names: FxHashMap<Arc<str>, NameId>,
}

impl Filing {
    /// The next one, in order of their keys.
    pub fn push(&mut self, totals: ThreadTotals) {
        let name = totals.name.as_ref().map_or(NameId::NONE, |name| self.name(name));
        let at = self.threads.rows.reserve();
        let life = Life::new(totals.thread, totals.tid, totals.life, totals.begin, 0);
        self.threads.ended += 1;
        self.threads.unwoken += totals.unwoken;
        self.threads.keep(&Life { totals, name, ..life }, at);
    }

    /// All of them.
    #[must_use]
    pub fn finish(self) -> Threads {
        self.threads
    }

    fn name(&mut self, name: &Arc<str>) -> NameId {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let names = &mut self.threads.names;
        if names.is_empty() {
            names.push("".into()); // the place of none
        }
        let new = NameId(names.len() as u32);
        names.push(Arc::clone(name));
        self.names.insert(Arc::clone(name), new);
        new
    }
}

/// Keys count from 1.
fn place_of(thread: ThreadKey) -> u64 {
    thread.0 as u64 - 1
}
