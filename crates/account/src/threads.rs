//! The sums of ended thread instances, in bounded memory.

use crate::instance::{Instance, ThreadPhase};
use crate::rows::{Row, Rows};
use crate::{SpillError, ThreadTotals};
use bytemuck::{Pod, Zeroable};
use model::{CpuId, InferredStretch, MaybeNs, NameId, Ns, Pid, Prio, Reason, ThreadKey, Tid};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of CPUs whose times are in the row of an instance; most instances run on fewer.
const INLINE_CPUS: usize = 4;

/// The sums of all thread instances, in order of their keys. More than some ten thousand are in a temporary file.
pub struct Threads {
    rows: Rows<InstanceRow>,
    /// The times on further CPUs.
    overflow: Rows<OverflowRow>,
    names: Vec<Arc<str>>,
    begun: u64,
    ended: u64,
    missing_wakeups: u64,
    /// The inferred running times by CPU, of threads that have any ([`Self::fill`]).
    inferred: FxHashMap<ThreadKey, Vec<(CpuId, Ns)>>,
}

/// An instance in 240 bytes: its sums, and the state of an archived one.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct InstanceRow {
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
    missing_wakeups: u64,
    /// The place and the begin of the open stretch.
    place: u64,
    since: i64,
    /// The smallest number if not recorded.
    charged: i64,
    inline_times: [i64; INLINE_CPUS],
    /// The place of the first overflow row.
    overflow: u64,
    thread: u32,
    tid: i32,
    instance: u32,
    pid: i32,
    name: u32,
    /// The number of CPUs it ran on.
    ran_on: u32,
    inline_cpus: [u32; INLINE_CPUS],
    last_cpu: u32,
    prio: i16,
    /// The kernel's state letter at its exit.
    state_letter: u8,
    filled: u8,
}

impl Row for InstanceRow {
    fn is_filled(&self) -> bool {
        self.filled != 0
    }
}

/// The running time of a thread on a CPU.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct OverflowRow {
    time: i64,
    cpu: u64,
}

impl Row for OverflowRow {
    fn is_filled(&self) -> bool {
        true
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            rows: Rows::new(),
            overflow: Rows::new(),
            names: Vec::new(),
            begun: 0,
            ended: 0,
            missing_wakeups: 0,
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
    /// Returns the number of thread instances.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ended
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ended == 0
    }

    /// Returns the number of switch-ins without a recorded wakeup.
    #[must_use]
    pub fn missing_wakeups(&self) -> u64 {
        self.missing_wakeups
    }

    /// Passes on the sums of each instance.
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

    /// Returns a copy of all sums, for use with few threads.
    ///
    /// # Errors
    /// As [`Self::each`].
    pub fn all(&self) -> Result<Vec<ThreadTotals>, SpillError> {
        let mut all = Vec::new();
        self.each(|thread| all.push(thread.clone()))?;
        Ok(all)
    }

    /// Returns the key of an instance that begins now.
    pub(crate) fn reserve(&mut self) -> ThreadKey {
        self.rows.reserve();
        self.begun += 1;
        ThreadKey(self.begun as i64)
    }

    /// Replaces unknown time by inferred running time.
    pub(crate) fn fill(&mut self, inferred: &[InferredStretch]) {
        for stretch in inferred.iter().filter(|s| s.thread != ThreadKey::IDLE) {
            let by_cpu = self.inferred.entry(stretch.thread).or_default();
            match by_cpu.iter_mut().find(|(cpu, _)| *cpu == stretch.cpu) {
                Some((_, time)) => *time += stretch.span.len(),
                None => by_cpu.push((stretch.cpu, stretch.span.len())),
            }
        }
    }

    /// Stores an ended instance.
    pub(crate) fn end(&mut self, instance: &Instance) {
        self.ended += 1;
        self.missing_wakeups += instance.totals.missing_wakeups;
        self.store(instance, place_of(instance.totals.thread));
    }

    /// Stores an instance that may be restored ([`Instance::can_be_archived`]).
    pub(crate) fn archive(&mut self, instance: &Instance) {
        self.store(instance, place_of(instance.totals.thread));
    }

    /// Discards an instance, which may be archived.
    pub(crate) fn discard(&mut self, thread: ThreadKey) {
        self.rows.fill(place_of(thread), InstanceRow::zeroed());
    }

    /// Reads an archived instance.
    pub(crate) fn archived(&mut self, thread: ThreadKey) -> Instance {
        let mut row = [InstanceRow::zeroed()];
        let mut instance = Instance::new(thread, Tid::UNKNOWN, 0, Ns::ZERO, 0);
        let read = self.rows.read_at(place_of(thread), &mut row);
        let [row] = row;
        if let Err(error) = read.and_then(|()| self.read(&row, &mut instance.totals)) {
            self.rows.fail(error);
        }
        instance.totals.name = None; // `Instance::name` has the id of the last name
        instance.state_changes = 1; // any number other than 0: runs of its earlier states are decided
        let cpu = Some(CpuId(row.last_cpu));
        (instance.phase, instance.reason, instance.cpu, instance.queue) =
            (ThreadPhase::Exited, Reason::State(row.state_letter), cpu, cpu);
        (instance.place, instance.since, instance.prio, instance.name) =
            (row.place, Ns(row.since), Prio::from_word(row.prio), NameId(row.name));
        instance.charged = MaybeNs::from_word(row.charged).get();
        instance
    }

    /// Sets the names, indexed by [`NameId`].
    pub(crate) fn with_names(self, names: Vec<Arc<str>>) -> Self {
        Self { names, ..self }
    }

    fn store(&mut self, instance: &Instance, at: u64) {
        let t = &instance.totals;
        let (inline, overflow) = t.by_cpu.split_at(t.by_cpu.len().min(INLINE_CPUS));
        let mut row = InstanceRow {
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
            missing_wakeups: t.missing_wakeups,
            place: instance.place,
            since: instance.since.0,
            charged: MaybeNs::from(instance.charged).to_word(),
            inline_times: [0; INLINE_CPUS],
            overflow: 0,
            thread: t.thread.0 as u32,
            tid: t.tid.0,
            instance: t.instance,
            pid: t.pid.0,
            name: instance.name.0,
            ran_on: t.by_cpu.len() as u32,
            inline_cpus: [0; INLINE_CPUS],
            last_cpu: instance.cpu.map_or(0, |cpu| cpu.0),
            prio: instance.prio.to_word(),
            state_letter: if let Reason::State(state) = instance.reason { state } else { 0 },
            filled: 1,
        };
        for (at, (cpu, time)) in inline.iter().enumerate() {
            (row.inline_cpus[at], row.inline_times[at]) = (cpu.0, time.0);
        }
        for (at, (cpu, time)) in overflow.iter().enumerate() {
            let place = self.overflow.reserve();
            self.overflow.fill(place, OverflowRow { time: time.0, cpu: u64::from(cpu.0) });
            if at == 0 {
                row.overflow = place;
            }
        }
        self.rows.fill(at, row);
    }

    fn read(&self, row: &InstanceRow, to: &mut ThreadTotals) -> std::io::Result<()> {
        let mut by_cpu = std::mem::take(&mut to.by_cpu);
        by_cpu.clear();
        let inline = row.inline_cpus.iter().zip(&row.inline_times).take(row.ran_on as usize);
        by_cpu.extend(inline.map(|(cpu, time)| (CpuId(*cpu), Ns(*time))));
        if let Some(count @ 1..) = (row.ran_on as usize).checked_sub(INLINE_CPUS) {
            let mut overflow = vec![OverflowRow::zeroed(); count];
            self.overflow.read_at(row.overflow, &mut overflow)?;
            by_cpu.extend(overflow.iter().map(|overflow| (CpuId(overflow.cpu as u32), Ns(overflow.time))));
        }
        *to = ThreadTotals {
            thread: ThreadKey(i64::from(row.thread)),
            tid: Tid(row.tid),
            instance: row.instance,
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
            missing_wakeups: row.missing_wakeups,
            by_cpu,
            nowhere: Ns(row.nowhere),
            inferred: Ns::ZERO,
        };
        Ok(())
    }
}

/// Builds [`Threads`] from known sums.
#[derive(Default)]
pub struct ThreadsBuilder {
    threads: Threads,
    names: FxHashMap<Arc<str>, NameId>,
}

impl ThreadsBuilder {
    /// Adds the next instance, in order of their keys.
    pub fn push(&mut self, totals: ThreadTotals) {
        let name = totals.name.as_ref().map_or(NameId::NONE, |name| self.name(name));
        let at = self.threads.rows.reserve();
        let instance = Instance::new(totals.thread, totals.tid, totals.instance, totals.begin, 0);
        self.threads.ended += 1;
        self.threads.missing_wakeups += totals.missing_wakeups;
        self.threads.store(&Instance { totals, name, ..instance }, at);
    }

    /// Returns all instances.
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
            names.push("".into()); // the index of `NameId::NONE`
        }
        let new = NameId(names.len() as u32);
        names.push(Arc::clone(name));
        self.names.insert(Arc::clone(name), new);
        new
    }
}

/// Returns the place of a key; keys count from 1.
fn place_of(thread: ThreadKey) -> u64 {
    thread.0 as u64 - 1
}
