//! How long each CPU was parked, and whether anything ran there at the time.

use crate::{Analysis, Begins, Context, World};
use model::{CpuId, CpuState, CpuStretch, Ns, Power, Rows, ThreadKey, TimelineEvent, Value};
use std::collections::BTreeMap;
use topology::Machine;

pub(crate) struct Parking {
    machine: Machine,
    begin: Ns,
    /// The CPUs of the world, and other recorded ones.
    cpus: BTreeMap<CpuId, Cpu>,
}

#[derive(Clone, Default)]
struct Cpu {
    since: Ns,
    parked: Ns,
    unparked: Ns,
    unknown: Ns,
    /// The time during which it was parked and ran a thread.
    busy: Ns,
    /// Since when it is parked.
    from: Option<Ns>,
    /// How often it was parked.
    periods: i64,
    longest: Ns,
}

impl Cpu {
    /// Adds the time since the last change to the state that lasted until now.
    fn advance(&mut self, parked: Option<bool>, busy: bool, now: Ns) {
        let elapsed = now - std::mem::replace(&mut self.since, now);
        let sum = match parked {
            Some(true) => &mut self.parked,
            Some(false) => &mut self.unparked,
            None => &mut self.unknown,
        };
        *sum += elapsed;
        if parked == Some(true) && busy {
            self.busy += elapsed;
        }
    }

    fn end(&mut self, now: Ns) {
        if let Some(from) = self.from.take() {
            self.longest = self.longest.max(now - from);
        }
    }
}

impl Parking {
    fn advance(&mut self, cpu: CpuId, world: &World) {
        if let Some(of) = self.cpus.get_mut(&cpu) {
            let busy = world.cpu_now(cpu).is_some_and(|now| now.state == CpuState::Busy);
            of.advance(world.parking.of(cpu), busy, world.now);
        }
    }
}

impl Analysis for Parking {
    fn new(context: &Context<'_>) -> Self {
        let begin = context.span.start;
        let cpu = Cpu { since: begin, ..Cpu::default() };
        let cpus = World::new(context).cpus.iter().map(|c| (c.cpu, cpu.clone())).collect();
        Self { machine: context.machine.clone(), begin, cpus }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        self.advance(stretch.cpu, world);
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, world: &World) {
        let Some((of, Power::Parked(parked))) = event.power() else { return };
        if self.cpus.contains_key(&of) || world.parking.has_room() {
            let unheard = Cpu { since: self.begin, ..Cpu::default() };
            self.cpus.entry(of).or_insert(unheard);
        }
        self.advance(of, world);
        let Some(cpu) = self.cpus.get_mut(&of) else { return };
        if !parked {
            cpu.end(world.now);
        } else if cpu.from.is_none() {
            cpu.from = Some(world.now);
            cpu.periods += i64::from(begins == Begins::Here);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let all: Vec<CpuId> = self.cpus.keys().copied().collect();
        let whole = world.now - self.begin;
        for id in all {
            self.advance(id, world);
            let Some(cpu) = self.cpus.get_mut(&id) else { continue };
            cpu.end(world.now);
            let known = cpu.unknown < whole;
            let if_known = |value: Value| if known { value } else { Value::Null };
            let share = |of: Ns| (whole > Ns::ZERO).then(|| of.0 as f64 / whole.0 as f64);
            out.row(&[
                i64::from(id.0).into(),
                self.machine.core_type(id).as_str().into(),
                if_known(cpu.parked.into()),
                if_known(cpu.unparked.into()),
                cpu.unknown.into(),
                if_known(cpu.busy.into()),
                if_known(cpu.periods.into()),
                if_known(cpu.longest.into()),
                if_known(share(cpu.parked).into()),
            ]);
        }
    }
}
