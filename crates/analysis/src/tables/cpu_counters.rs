//! What the events of each CPU counted.

use crate::counted::{Sums, core_type, count_of};
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, NameId, Ns, Rows, ThreadKey, Tid, TimelineEvent};
use std::collections::{BTreeMap, BTreeSet};

/// Counts while threads ran, in the idle task, and while it is unknown which thread ran.
#[derive(Default)]
struct Parts {
    all: Sums,
    threads: i64,
    idle: i64,
    unknown: i64,
}

pub(crate) struct CpuCounters {
    start: Ns,
    rows: BTreeMap<(CpuId, NameId), Parts>,
}

impl Analysis for CpuCounters {
    fn new(context: &Context<'_>) -> Self {
        Self { start: context.span.start, rows: BTreeMap::new() }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, _: &World) {
        let Some((cpu, counted)) = count_of(event, begins, self.start) else { return };
        let row = self.rows.entry((cpu, counted.event)).or_default();
        row.all.add(&counted);
        let part = match event.tid() {
            Some(Tid::IDLE) => &mut row.idle,
            Some(_) => &mut row.threads,
            None => &mut row.unknown,
        };
        *part = part.saturating_add(counted.count);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let events: BTreeSet<NameId> = self.rows.keys().map(|(_, event)| *event).collect();
        let cpus: BTreeSet<CpuId> =
            world.cpus.iter().map(|cpu| cpu.cpu).chain(self.rows.keys().map(|(cpu, _)| *cpu)).collect();
        for (cpu, event) in cpus.iter().flat_map(|cpu| events.iter().map(move |event| (*cpu, *event))) {
            let row = self.rows.get(&(cpu, event));
            let seen = row.filter(|row| row.all.counted > Ns::ZERO);
            let all = row.map(|row| row.all).unwrap_or_default();
            out.row(&[
                i64::from(cpu.0).into(),
                core_type(cpu, world).as_str().into(),
                world.name(event).unwrap_or_default().into(),
                row.map_or("no_event", |row| row.all.state()).into(),
                seen.map(|row| row.all.count).into(),
                seen.map(|row| row.threads).into(),
                seen.map(|row| row.idle).into(),
                seen.map(|row| row.unknown).into(),
                all.enabled.into(),
                all.counted.into(),
            ]);
        }
    }
}
