//! How much of the capacity of each core class was used. A second busy sibling adds less than the first.

use crate::core_times::{CoreClocks, CoreTime};
use crate::{Analysis, Begins, Context, World, capacity_used};
use model::{CoreType, CpuStretch, Ns, Rows, Value};
use std::collections::BTreeMap;
use topology::{Costs, Machine};

/// The default throughput of a core with all siblings busy, relative to one busy sibling. Used if it was not measured.
const GAIN: f64 = 1.3;

pub(crate) struct SmtUtilisation {
    /// The measured gains, by core type.
    gains: BTreeMap<CoreType, f64>,
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
    /// The gain, and whether it was measured.
    gain: (f64, bool),
}

impl Class {
    fn new(core_type: CoreType, gain: (f64, bool)) -> Self {
        let (known, unknown) = (Ns::ZERO, Ns::ZERO);
        Self { gain, core_type, cores: 0, cpus: 0, known, unknown, cpu: 0.0, busy: 0.0, used: 0.0 }
    }

    fn add(&mut self, time: &CoreTime) {
        let cpus = time.alone.len();
        self.cores += 1;
        self.cpus += cpus as i64;
        self.known += time.known();
        self.unknown += time.unknown;
        for (busy, ns) in time.busy.iter().enumerate() {
            let ns = ns.0 as f64;
            self.cpu += ns * cpus as f64;
            self.busy += ns * busy as f64;
            self.used += ns * capacity_used(busy, cpus, self.gain.0);
        }
    }

    fn row(&self, class: u32) -> [Value; 12] {
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
            self.gain.0.into(),
            if self.gain.1 { "measured" } else { "assumed" }.into(),
            (self.used.round() as i64).into(),
            of(self.used, known),
            of(known - self.used, known),
        ]
    }
}

/// The measured gains of a machine: of each core type, or else of all.
fn gains(machine: &Machine) -> BTreeMap<CoreType, f64> {
    let of_type = |costs: &Costs, of: CoreType| costs.smt_gain(Some(of)).or_else(|| costs.smt_gain(None));
    let gain = |of: &CoreType| Some((*of, of_type(machine.costs.as_ref()?, *of)?.value));
    machine.class_names.iter().filter_map(gain).collect()
}

/// The gain of a core type, and whether it was measured.
fn gain(gains: &BTreeMap<CoreType, f64>, of: CoreType) -> (f64, bool) {
    gains.get(&of).map_or((GAIN, false), |gain| (*gain, true))
}

impl Analysis for SmtUtilisation {
    fn new(context: &Context<'_>) -> Self {
        let cores = World::new(context).cores.iter().map(CoreTime::of).collect();
        Self { gains: gains(context.machine), clocks: CoreClocks::new(context), cores }
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
            classes
                .entry(first.class)
                .or_insert_with(|| Class::new(first.core_type, gain(&self.gains, first.core_type)))
                .add(time);
        }
        for (class, of) in &classes {
            out.row(&of.row(*class));
        }
    }
}
