//! How long each CPU was in each idle state, and how often it left before the state saved energy.

use crate::{Analysis, Begins, Context, World};
use model::{CpuId, CpuState, CpuStretch, Ns, Power, Rows, ThreadKey, TimelineEvent, Value};
use std::collections::BTreeMap;
use topology::Machine;

/// The maximum number of idle states of a CPU; the kernel has at most ten.
const MAX_STATES: usize = 64;

pub(crate) struct IdleResidency {
    machine: Machine,
    /// Indexed as in [`World::cpus`].
    cpus: Vec<Cpu>,
}

#[derive(Clone, Default)]
struct Cpu {
    since: Ns,
    /// When it entered its current state, if that was within the span.
    entered: Option<Ns>,
    /// By state number; `None`: idle, with no recorded state.
    states: BTreeMap<Option<u32>, Sums>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    entries: i64,
    residency: Ns,
    /// The number of stays observed from begin to end.
    whole: i64,
    longest: Ns,
    too_short: i64,
}

impl Cpu {
    fn of(&mut self, state: Option<u32>) -> &mut Sums {
        let known = self.states.contains_key(&state) || self.states.len() < MAX_STATES;
        self.states.entry(if known { state } else { None }).or_default()
    }
}

/// Returns how long a CPU must stay in a state to save energy.
pub(super) fn target(machine: &Machine, cpu: CpuId, state: Option<u32>) -> Option<Ns> {
    let us = machine.cpu(cpu)?.idle_states.get(state? as usize)?.target_residency_us?;
    Some(Ns(i64::from(us) * 1000))
}

impl IdleResidency {
    /// Counts the time since the last change of a CPU.
    fn advance(&mut self, place: usize, world: &World) {
        let (now, cpu) = (&world.cpus[place], &mut self.cpus[place]);
        let elapsed = world.now - std::mem::replace(&mut cpu.since, world.now);
        let counts = match now.state {
            CpuState::Busy => false,
            CpuState::Idle => true,
            CpuState::Unknown => now.idle_state.is_some(),
        };
        if counts && elapsed > Ns::ZERO {
            let sums = cpu.of(now.idle_state);
            sums.residency += elapsed;
        }
    }

    /// Handles a CPU that leaves its idle state.
    fn leave(&mut self, place: usize, world: &World) {
        let now = &world.cpus[place];
        let cpu = &mut self.cpus[place];
        let (Some(entered), Some(state)) = (cpu.entered.take(), now.idle_state) else { return };
        let (stayed, target) = (world.now - entered, target(&self.machine, now.cpu, Some(state)));
        let sums = cpu.of(Some(state));
        sums.whole += 1;
        sums.longest = sums.longest.max(stayed);
        sums.too_short += i64::from(target.is_some_and(|t| stayed < t));
    }
}

impl Analysis for IdleResidency {
    fn new(context: &Context<'_>) -> Self {
        let cpu = Cpu { since: context.span.start, ..Cpu::default() };
        let cpus = vec![cpu; World::new(context).cpus.len()];
        Self { machine: context.machine.clone(), cpus }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.advance(place, world);
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, to @ (Power::Idle(_) | Power::Awake))) = event.power() else { return };
        let Some(place) = world.place(cpu) else { return };
        self.advance(place, world);
        self.leave(place, world);
        if let Power::Idle(state) = to
            && begins == Begins::Here
        {
            let cpu = &mut self.cpus[place];
            cpu.entered = Some(world.now);
            cpu.of(Some(state)).entries += 1;
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for place in 0..self.cpus.len() {
            self.advance(place, world);
            let now = &world.cpus[place];
            let states = self.machine.cpu(now.cpu).map_or(&[][..], |c| &c.idle_states);
            for (state, sums) in &self.cpus[place].states {
                let target = target(&self.machine, now.cpu, *state);
                let whole = |value: Value| if sums.whole > 0 { value } else { Value::Null };
                out.row(&[
                    i64::from(now.cpu.0).into(),
                    now.core_type.as_str().into(),
                    state.map(i64::from).into(),
                    state.and_then(|s| states.get(s as usize)).map(|s| s.name.as_str()).into(),
                    target.into(),
                    Value::from(state.map(|_| sums.entries)),
                    sums.residency.into(),
                    whole(sums.longest.into()),
                    Value::from(target.filter(|_| sums.whole > 0).map(|_| sums.too_short)),
                ]);
            }
        }
    }
}
