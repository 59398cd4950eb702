//! How many CPUs of each core were busy at the same time.

use crate::core_times::{CoreClocks, CoreTime};
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, CpuStretch, Ns, Rows, Value};

pub(crate) struct SmtCores {
    clocks: CoreClocks,
    cores: Vec<CoreTime>,
    /// The CPUs whose siblings are recorded.
    with_siblings: Vec<CpuId>,
}

impl Analysis for SmtCores {
    fn new(context: &Context<'_>) -> Self {
        let cores = World::new(context).cores.iter().map(CoreTime::of).collect();
        let with_siblings = context.machine.cpus.iter().filter(|c| !c.siblings.is_empty()).map(|c| c.id).collect();
        Self { clocks: CoreClocks::new(context), cores, with_siblings }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some((core, elapsed)) = self.clocks.elapsed(stretch.cpu, world) {
            self.cores[core].add(core, elapsed, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (core, elapsed) in self.clocks.rest(world) {
            let time = &mut self.cores[core];
            time.add(core, elapsed, world);
            let cpus: Vec<CpuId> = world.cores[core].cpus.iter().map(|c| world.cpus[*c].cpu).collect();
            let [idle, one, many @ ..] = &time.busy[..] else { continue };
            let (first, second) = match time.alone[..] {
                [first, second] => (Some(first), Some(second)),
                _ => (None, None),
            };
            out.row(&[
                i64::from(cpus[0].0).into(),
                topology::cpulist::format(cpus.iter().copied()).into(),
                world.cpus[world.cores[core].cpus[0]].core_type.as_str().into(),
                Value::from(self.with_siblings.binary_search(&cpus[0]).is_ok().then_some(cpus.len() as i64)),
                (*idle).into(),
                (*one).into(),
                many.iter().copied().sum::<Ns>().into(),
                time.unknown.into(),
                time.busy[cpus.len()].into(),
                first.into(),
                second.into(),
            ]);
        }
    }
}
