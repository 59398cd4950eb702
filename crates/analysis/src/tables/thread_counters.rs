//! What the events of the CPUs counted while each thread ran.

use crate::by_thread::ByThread;
use crate::counted::{MIN_SHARE, RatioSums, SIBLINGS, Siblings, Sums, core_type, core_types, count_of};
use crate::{Analysis, Begins, Context, World};
use model::{CoreType, CpuStretch, NameId, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent, Value};
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
                    write(&key, state, None, world, out);
                }
            }
        }
    }
}

fn write(key: &Key, state: &str, of: Option<&(Sums, RatioSums)>, world: &World, out: &mut dyn Rows) {
    let sums = of.map(|(sums, _)| *sums).unwrap_or_default();
    let estimate = of.and_then(|(sums, ratio)| {
        if sums.counted == sums.enabled {
            return Some((sums.count as f64, Some(0.0)));
        }
        let enabled = sums.enabled.0 as f64;
        let rate = ratio.ratio().filter(|_| ratio.share() >= MIN_SHARE)?;
        Some((rate * enabled, ratio.half_width().map(|half| half * enabled)))
    });
    let half = estimate.and_then(|(mean, half)| Some((mean, half?)));
    // What was seen is certain.
    let low = half.map(|(mean, half)| (mean - half).max(sums.count as f64));
    out.row(&[
        (key.thread != ThreadKey::UNKNOWN).then_some(key.thread.0).into(),
        i64::from(key.tid.0).into(),
        world.name(key.event).unwrap_or_default().into(),
        key.core_type.as_str().into(),
        SIBLINGS.get(key.siblings).copied().into(),
        state.into(),
        (sums.counted > Ns::ZERO).then_some(sums.count).into(),
        sums.enabled.into(),
        sums.counted.into(),
        estimate.map(|(mean, _)| mean).into(),
        low.into(),
        Value::from(half.map(|(mean, half)| mean + half)),
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
        for (key, of) in &self.rows {
            write(key, of.0.state(), Some(of), world, out);
        }
        self.write_missing(world, out);
    }
}
