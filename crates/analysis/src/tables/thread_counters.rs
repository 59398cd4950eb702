//! What the events of the CPUs counted while each thread ran.

use crate::by_thread::ByThread;
use crate::counted::{RatioSums, SIBLINGS, Siblings, Sums, core_type, core_types, count_of};
use crate::plausible::{self, MIN_RUNNING_SHARE, accesses};
use crate::{Analysis, Begins, Context, World};
use model::{
    CoreType, CpuStretch, NameId, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Value, ipc_part,
};
use std::collections::{BTreeMap, BTreeSet};

/// The key of a row; the siblings are an index into [`SIBLINGS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: ThreadKey,
    tid: Tid,
    event: NameId,
    core_type: CoreType,
    siblings: usize,
}

pub(crate) struct ThreadCounters {
    start: Ns,
    siblings: Siblings,
    rows: BTreeMap<Key, (Sums, RatioSums)>,
    /// The types of core that have each event.
    events: BTreeMap<NameId, BTreeSet<CoreType>>,
    /// The types of core on which each thread ran.
    ran: ByThread<(Tid, BTreeSet<CoreType>)>,
}

impl ThreadCounters {
    /// Writes the rows of types of core for which a thread has no count of an event.
    fn write_missing(&mut self, world: &World, out: &mut dyn Rows) {
        let types = core_types(world);
        let Self { rows, events, ran, .. } = self;
        let counted: BTreeSet<(ThreadKey, NameId, CoreType)> =
            rows.keys().map(|key| (key.thread, key.event, key.core_type)).collect();
        for (thread, (tid, on)) in ran.iter().filter(|(_, (_, on))| !on.is_empty()) {
            for (event, of) in events.iter() {
                for core_type in &types {
                    if counted.contains(&(thread, *event, *core_type)) {
                        continue;
                    }
                    let state = match (of.contains(core_type), on.contains(core_type)) {
                        (false, _) => "no_event",
                        (true, false) => "not_on_type",
                        (true, true) => "not_counted",
                    };
                    let key = Key { thread, tid: *tid, event: *event, core_type: *core_type, siblings: usize::MAX };
                    write(&key, state, None, None, world, out);
                }
            }
        }
    }
}

/// A count for all of the time, and the half-width of its 95 % interval, if there are enough readings for one.
#[derive(Clone, Copy)]
struct Estimate {
    seen: f64,
    mean: f64,
    half: Option<f64>,
}

impl Estimate {
    fn of((sums, ratio): &(Sums, RatioSums)) -> Option<Self> {
        let seen = sums.count as f64;
        if sums.counted == sums.enabled {
            return Some(Self { seen, mean: seen, half: Some(0.0) });
        }
        let enabled = sums.enabled.0 as f64;
        let rate = ratio.ratio().filter(|_| ratio.share() >= MIN_RUNNING_SHARE)?;
        Some(Self { seen, mean: rate * enabled, half: ratio.half_width().map(|half| half * enabled) })
    }

    /// The ends of the interval. What was seen is certain.
    fn range(&self) -> Option<(f64, f64)> {
        self.half.map(|half| ((self.mean - half).max(self.seen), self.mean + half))
    }
}

impl ThreadCounters {
    /// Returns why a count cannot be right.
    fn doubt(
        &self,
        key: &Key,
        of: &(Sums, RatioSums),
        names: &BTreeMap<&str, NameId>,
        world: &World,
    ) -> Option<String> {
        let name = world.name(key.event)?;
        if ipc_part(name).is_some() {
            return plausible::dead(of.0.count, of.0.counted.0);
        }
        let whole = accesses(name)?;
        let other = Key { event: *names.get(whole.as_str())?, ..*key };
        let range = |of: &(Sums, RatioSums)| Estimate::of(of)?.range();
        let ((misses, _), (_, accesses)) = (range(of)?, range(self.rows.get(&other)?)?);
        plausible::more_misses(misses, accesses, &whole)
    }
}

fn write(
    key: &Key,
    state: &str,
    of: Option<&(Sums, RatioSums)>,
    doubt: Option<&str>,
    world: &World,
    out: &mut dyn Rows,
) {
    let sums = of.map(|(sums, _)| *sums).unwrap_or_default();
    let estimate = of.and_then(Estimate::of);
    let range = estimate.and_then(|estimate| estimate.range());
    out.row(&[
        (key.thread != ThreadKey::UNKNOWN).then_some(key.thread).into(),
        i64::from(key.tid.0).into(),
        world.name(key.event).unwrap_or_default().into(),
        key.core_type.as_str().into(),
        SIBLINGS.get(key.siblings).copied().into(),
        state.into(),
        (sums.counted > Ns::ZERO).then_some(sums.count).into(),
        sums.enabled.into(),
        sums.counted.into(),
        estimate.map(|estimate| estimate.mean).into(),
        range.map(|(low, _)| low).into(),
        range.map(|(_, high)| high).into(),
        Value::from(doubt),
    ]);
}

impl Analysis for ThreadCounters {
    fn new(context: &Context<'_>) -> Self {
        Self {
            start: context.span.start,
            siblings: Siblings::default(),
            rows: BTreeMap::new(),
            events: BTreeMap::new(),
            ran: ByThread::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        if let (ThreadState::Running, Some(cpu)) = (stretch.state, stretch.cpu) {
            let (tid, on) = self.ran.of(stretch.thread);
            *tid = stretch.tid;
            on.insert(core_type(cpu, world));
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        self.siblings.cpu(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, counted)) = count_of(event, begins, self.start) else { return };
        let core_type = core_type(cpu, world);
        self.events.entry(counted.event).or_default().insert(core_type);
        let Some(tid) = event.tid().filter(|tid| *tid != Tid::IDLE) else { return };
        let siblings = self.siblings.between(cpu, event.at - counted.length, event.at, world);
        let key = Key { thread, tid, event: counted.event, core_type, siblings };
        let (sums, ratio) = self.rows.entry(key).or_default();
        sums.add(&counted);
        ratio.add(counted.count, counted.running.0, counted.length, counted.running);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let names: BTreeMap<&str, NameId> =
            self.events.keys().filter_map(|event| Some((world.name(*event)?, *event))).collect();
        for (key, of) in &self.rows {
            let doubt = self.doubt(key, of, &names, world);
            write(key, of.0.state(), Some(of), doubt.as_deref(), world, out);
        }
        self.write_missing(world, out);
    }
}
