//! How much of the capacity of each core class was used. A second busy sibling adds less than the first.

use crate::core_times::{CoreClocks, CoreTime};
use crate::{Analysis, Begins, Context, World, capacity_used};
use model::{CoreType, CpuStretch, Ns, Rows, Value};
use std::collections::BTreeMap;

/// The default throughput of a core with all siblings busy, relative to one busy sibling. Used if it was not measured.
const GAIN: f64 = 1.3;

pub(crate) struct SmtUtilisation {
    clocks: CoreClocks,
    cores: Vec<CoreTime>,
}

/// A core class.
struct Class {
    core_type: CoreType,
    cores: i64,
    cpus: i64,
    known: Ns,
    unknown: Ns,
    /// CPU time: in total while the state of the core was known, and the busy part of it.
    cpu: f64,
    busy: f64,
    used: f64,
}

impl Class {
    fn new(core_type: CoreType) -> Self {
        let (known, unknown) = (Ns::ZERO, Ns::ZERO);
        Self { core_type, cores: 0, cpus: 0, known, unknown, cpu: 0.0, busy: 0.0, used: 0.0 }
    }

    fn add(&mut self, time: &CoreTime) {
        let cpus = time.alone.len();
        self.cores += 1;
        self.cpus += cpus as i64;
        self.known = self.known + time.known();
        self.unknown = self.unknown + time.unknown;
        for (busy, ns) in time.busy.iter().enumerate() {
            let ns = ns.0 as f64;
            self.cpu += ns * cpus as f64;
            self.busy += ns * busy as f64;
            self.used += ns * capacity_used(busy, cpus, GAIN);
        }
    }

    fn row(&self, class: u32) -> [Value; 11] {
        let of = |part: f64, whole: f64| Value::from((whole > 0.0).then_some(part / whole));
        let known = self.known.0 as f64;
        [
            i64::from(class).into(),
            self.core_type.as_str().into(),
            self.cores.into(),
            self.cpus.into(),
            self.known.into(),
            self.unknown.into(),
            of(self.busy, self.cpu),
            GAIN.into(),
            (self.used.round() as i64).into(),
            of(self.used, known),
            of(known - self.used, known),
        ]
    }
}

impl Analysis for SmtUtilisation {
    fn new(context: &Context<'_>) -> Self {
        let cores = World::new(context).cores.iter().map(CoreTime::of).collect();
        Self { clocks: CoreClocks::new(context), cores }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some((core, elapsed)) = self.clocks.elapsed(stretch.cpu, world) {
            self.cores[core].add(core, elapsed, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let mut classes = BTreeMap::new();
        for (core, elapsed) in self.clocks.rest(world) {
            let time = &mut self.cores[core];
            time.add(core, elapsed, world);
            let first = &world.cpus[world.cores[core].cpus[0]];
            classes.entry(first.class).or_insert_with(|| Class::new(first.core_type)).add(time);
        }
        for (class, of) in &classes {
            out.row(&of.row(*class));
        }
    }
}
