//! Instructions per cycle, and how fast each thread ran on each type of core.

use crate::by_thread::ByThread;
use crate::counted::{RatioSums, SIBLINGS, Siblings, core_type, count_of, max_mhz};
use crate::plausible;
use crate::rates::{millions_per_s, per, relative_ips};
use crate::{Analysis, Begins, Context, World};
use model::{
    CoreType, Counted, CpuId, CpuStretch, IpcPart, NameId, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid,
    TimelineEvent, Value, ipc_part,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The key of a row; the siblings are an index into [`SIBLINGS`], or [`ALL`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: ThreadKey,
    tid: Tid,
    core_type: CoreType,
    siblings: usize,
}

/// All states of siblings together.
const ALL: usize = SIBLINGS.len();

/// Counts of the same intervals.
#[derive(Clone, Copy, Default)]
struct Pair {
    instructions: i64,
    cycles: i64,
    counted: Ns,
    enabled: Ns,
    ratio: RatioSums,
    /// The highest maximum frequency of the CPUs on which it was counted.
    max_mhz: Option<f64>,
    /// Whether the maximum of one of them is unknown.
    unlimited: bool,
}

pub(crate) struct ThreadIpc {
    start: Ns,
    siblings: Siblings,
    /// What each name counts.
    names: FxHashMap<NameId, Option<IpcPart>>,
    /// The last count of each CPU that waits for the other of its interval, with its end.
    waiting: FxHashMap<CpuId, (Ns, IpcPart, Counted)>,
    rows: BTreeMap<Key, Pair>,
    ran: ByThread<Ns>,
}

impl Pair {
    /// Returns why the counts cannot be right.
    fn doubt(&self, mhz: Option<f64>) -> Option<String> {
        let max = self.max_mhz.filter(|_| !self.unlimited);
        let dead = |count| plausible::dead(count, self.counted.0);
        plausible::above_turbo(mhz, max)
            .or_else(|| dead(self.cycles).map(|why| format!("cycles: {why}")))
            .or_else(|| dead(self.instructions).map(|why| format!("instructions: {why}")))
    }
}

impl Analysis for ThreadIpc {
    fn new(context: &Context<'_>) -> Self {
        Self {
            start: context.span.start,
            siblings: Siblings::default(),
            names: FxHashMap::default(),
            waiting: FxHashMap::default(),
            rows: BTreeMap::new(),
            ran: ByThread::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        if stretch.state == ThreadState::Running {
            let ran = self.ran.of(stretch.thread);
            *ran += stretch.span.len();
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        self.siblings.cpu(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, counted)) = count_of(event, begins, self.start) else { return };
        let Some(tid) = event.tid().filter(|tid| *tid != Tid::IDLE) else { return };
        let named = || world.name(counted.event).and_then(ipc_part);
        let Some(role) = *self.names.entry(counted.event).or_insert_with(named) else { return };
        let other = self.waiting.insert(cpu, (event.at, role, counted));
        let Some((_, _, other)) = other.filter(|(at, of, _)| *at == event.at && *of != role) else { return };
        let (cycles, instructions) = if role == IpcPart::Cycles { (counted, other) } else { (other, counted) };
        // Counts of different parts of the interval make no ratio.
        let both = if cycles.running == instructions.running { cycles.running } else { Ns::ZERO };
        let seen = |count: i64| if both > Ns::ZERO { count } else { 0 };
        let siblings = self.siblings.between(cpu, event.at - counted.length, event.at, world);
        let max_mhz = max_mhz(cpu, world);
        for siblings in [siblings, ALL] {
            let pair = self.rows.entry(Key { thread, tid, core_type: core_type(cpu, world), siblings }).or_default();
            pair.instructions += seen(instructions.count);
            pair.cycles += seen(cycles.count);
            pair.counted += both;
            pair.enabled += counted.length;
            pair.max_mhz = pair.max_mhz.into_iter().chain(max_mhz).reduce(f64::max);
            pair.unlimited |= max_mhz.is_none();
            pair.ratio.add(seen(instructions.count), seen(cycles.count), counted.length, both);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let rate = |pair: &Pair, count| pair.ratio.ratio().and_then(|_| millions_per_s(count, pair.counted.0));
        let mips = |pair: &Pair| rate(pair, pair.instructions);
        let (mut fastest, mut counted) = (BTreeMap::new(), BTreeMap::new());
        for (key, pair) in self.rows.iter().filter(|(key, _)| key.siblings == ALL) {
            let best: &mut f64 = fastest.entry((key.thread, key.tid)).or_default();
            *best = best.max(mips(pair).unwrap_or(0.0));
            let time: &mut Ns = counted.entry((key.thread, key.tid)).or_default();
            *time += pair.counted;
        }
        let has_siblings = world.cores.iter().any(|core| core.cpus.len() > 1);
        for (key, pair) in self.rows.iter().filter(|(key, _)| has_siblings || key.siblings == ALL) {
            let of = (key.thread, key.tid);
            let all = key.siblings == ALL;
            let (ipc, half) = (pair.ratio.ratio(), pair.ratio.half_width());
            let running = self.ran.get(key.thread).filter(|_| all && key.thread != ThreadKey::UNKNOWN);
            let share = |part: Ns, of: Ns| per(part.0 as f64, of.0 as f64);
            let (mips, mhz) = (mips(pair), rate(pair, pair.cycles));
            let relative =
                mips.filter(|_| all).zip(fastest.get(&of)).and_then(|(mips, best)| relative_ips(mips, *best));
            out.row(&[
                (key.thread != ThreadKey::UNKNOWN).then_some(key.thread).into(),
                i64::from(key.tid.0).into(),
                key.core_type.as_str().into(),
                SIBLINGS.get(key.siblings).copied().unwrap_or("all").into(),
                pair.instructions.into(),
                pair.cycles.into(),
                pair.counted.into(),
                pair.enabled.into(),
                ipc.into(),
                ipc.zip(half).map(|(ipc, half)| (ipc - half).max(0.0)).into(),
                ipc.zip(half).map(|(ipc, half)| ipc + half).into(),
                ipc.and_then(|ipc| per(1.0, ipc)).into(),
                mips.into(),
                mhz.into(),
                relative.into(),
                running.zip(counted.get(&of)).and_then(|(running, counted)| share(*counted, *running)).into(),
                Value::from(pair.doubt(mhz).as_deref()),
            ]);
        }
    }
}
