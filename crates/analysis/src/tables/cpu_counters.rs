//! What the events of each CPU counted.

use crate::counted::{Sums, core_type, count_of, max_mhz};
use crate::plausible::{self, NEVER_COUNTED, accesses};
use crate::rates::millions_per_s;
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, IpcPart, NameId, Ns, Rows, ThreadKey, Tid, TimelineEvent, Value, ipc_part};
use std::collections::{BTreeMap, BTreeSet};

/// Counts while threads ran, in the idle task, and while it is unknown which thread ran.
#[derive(Default)]
struct Parts {
    all: Sums,
    threads: i64,
    /// How long it counted while threads ran.
    threads_counted: Ns,
    idle: i64,
    unknown: i64,
}

pub(crate) struct CpuCounters {
    start: Ns,
    rows: BTreeMap<(CpuId, NameId), Parts>,
}

impl CpuCounters {
    /// Returns why the count of an event of a CPU cannot be right, or why it is missing.
    fn doubt(
        &self,
        cpu: CpuId,
        name: &str,
        of: &Parts,
        names: &BTreeMap<&str, NameId>,
        world: &World,
    ) -> Option<String> {
        if of.all.counted == Ns::ZERO {
            return (of.all.enabled > Ns::ZERO).then(|| NEVER_COUNTED.to_owned());
        }
        if let Some(role) = ipc_part(name) {
            let mhz = millions_per_s(of.all.count, of.all.counted.0).filter(|_| role == IpcPart::Cycles);
            let dead = plausible::dead(of.threads, of.threads_counted.0);
            return dead.or_else(|| plausible::above_turbo(mhz, max_mhz(cpu, world)));
        }
        let whole = accesses(name)?;
        let accesses = self.rows.get(&(cpu, *names.get(whole.as_str())?))?;
        // Counts of different parts of the time are not compared.
        let is_whole = |of: &Parts| of.all.counted == of.all.enabled;
        (is_whole(of) && is_whole(accesses) && of.all.enabled == accesses.all.enabled)
            .then(|| plausible::more_misses(of.all.count as f64, accesses.all.count as f64, &whole))?
    }
}

impl Analysis for CpuCounters {
    fn new(context: &Context<'_>) -> Self {
        Self { start: context.span.start, rows: BTreeMap::new() }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, _: &World) {
        // Of a thread whose CPU is not known.
        let Some((cpu, counted)) = count_of(event, begins, self.start).filter(|(cpu, _)| *cpu != CpuId::UNKNOWN) else {
            return;
        };
        let row = self.rows.entry((cpu, counted.event)).or_default();
        row.all.add(&counted);
        if event.tid().is_some_and(|tid| tid != Tid::IDLE) {
            row.threads_counted += counted.running;
        }
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
        let names: BTreeMap<&str, NameId> =
            events.iter().filter_map(|event| Some((world.name(*event)?, *event))).collect();
        for (cpu, event) in cpus.iter().flat_map(|cpu| events.iter().map(move |event| (*cpu, *event))) {
            let row = self.rows.get(&(cpu, event));
            let seen = row.filter(|row| row.all.counted > Ns::ZERO);
            let name = world.name(event).unwrap_or_default();
            let doubt = row.and_then(|row| self.doubt(cpu, name, row, &names, world));
            let all = row.map(|row| row.all).unwrap_or_default();
            out.row(&[
                i64::from(cpu.0).into(),
                core_type(cpu, world).as_str().into(),
                name.into(),
                row.map_or("no_event", |row| row.all.state()).into(),
                seen.map(|row| row.all.count).into(),
                seen.map(|row| row.threads).into(),
                seen.map(|row| row.idle).into(),
                seen.map(|row| row.unknown).into(),
                all.enabled.into(),
                all.counted.into(),
                Value::from(doubt.as_deref()),
            ]);
        }
    }
}
