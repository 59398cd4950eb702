//! How long each CPU was at each frequency, and its state at the time.

use crate::{Analysis, Begins, Context, World};
use model::{CpuState, CpuStretch, Ns, Power, Rows, ThreadKey, TimelineEvent};
use std::collections::BTreeMap;

/// The maximum number of frequencies of a CPU.
const MAX_FREQUENCIES: usize = 512;

pub(crate) struct FrequencyResidency {
    /// Indexed as in [`World::cpus`].
    cpus: Vec<Cpu>,
}

#[derive(Clone, Default)]
struct Cpu {
    since: Ns,
    /// By kHz.
    at: BTreeMap<Option<u32>, Sums>,
}

/// The changes to a frequency, and time by [`CpuState`].
#[derive(Clone, Copy, Default)]
struct Sums {
    changes: i64,
    times: [Ns; 3],
}

impl Cpu {
    fn of(&mut self, khz: Option<u32>) -> &mut Sums {
        let known = self.at.contains_key(&khz) || self.at.len() < MAX_FREQUENCIES;
        self.at.entry(if known { khz } else { None }).or_default()
    }
}

impl FrequencyResidency {
    fn advance(&mut self, place: usize, world: &World) {
        let (now, cpu) = (&world.cpus[place], &mut self.cpus[place]);
        let elapsed = world.now - std::mem::replace(&mut cpu.since, world.now);
        if elapsed > Ns::ZERO {
            let time = &mut cpu.of(now.khz).times[now.state as usize];
            *time += elapsed;
        }
    }
}

impl Analysis for FrequencyResidency {
    fn new(context: &Context<'_>) -> Self {
        let cpu = Cpu { since: context.span.start, ..Cpu::default() };
        Self { cpus: vec![cpu; World::new(context).cpus.len()] }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.advance(place, world);
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, Power::Frequency(khz))) = event.power() else { return };
        let Some(place) = world.place(cpu) else { return };
        self.advance(place, world);
        if begins == Begins::Here && world.cpus[place].khz != Some(khz) {
            self.cpus[place].of(Some(khz)).changes += 1;
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for place in 0..self.cpus.len() {
            self.advance(place, world);
            let now = &world.cpus[place];
            for (khz, sums) in &self.cpus[place].at {
                let time = |state: CpuState| sums.times[state as usize];
                out.row(&[
                    i64::from(now.cpu.0).into(),
                    now.core_type.as_str().into(),
                    khz.map(i64::from).into(),
                    sums.changes.into(),
                    sums.times.iter().copied().sum::<Ns>().into(),
                    time(CpuState::Busy).into(),
                    time(CpuState::Idle).into(),
                    time(CpuState::Unknown).into(),
                ]);
            }
        }
    }
}
