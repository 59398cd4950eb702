//! How often each CPU was woken, and its share of time outside of idle states.

use super::idle_residency::target;
use crate::idle_ends::{By, Ended, IdleEnds};
use crate::{Analysis, Begins, Context, World};
use model::{CoreType, CpuId, CpuState, CpuStretch, Ns, Power, Rows, ThreadKey, ThreadStretch, TimelineEvent, Value};
use topology::Machine;

#[derive(Clone, Default)]
struct Sums {
    known: Ns,
    in_states: Ns,
    has_states: bool,
    periods: i64,
    /// By timer, tick, device, thread, IPI, and all others.
    by: [i64; 6],
    whole: i64,
    too_short: i64,
    too_short_time: Ns,
    /// Since when nothing changed.
    since: Ns,
}

pub(crate) struct CpuWakeups {
    machine: Machine,
    ends: IdleEnds,
    /// Indexed as in [`World::cpus`].
    cpus: Vec<Sums>,
}

impl CpuWakeups {
    /// Counts the time since the last change of a CPU.
    fn advance(&mut self, place: usize, world: &World) {
        let (now, cpu) = (&world.cpus[place], &mut self.cpus[place]);
        let elapsed = world.now - std::mem::replace(&mut cpu.since, world.now);
        if now.state != CpuState::Unknown {
            cpu.known += elapsed;
        }
        if now.state == CpuState::Idle && now.idle_state.is_some() {
            cpu.in_states += elapsed;
        }
    }

    fn take(&mut self, ended: Option<Ended>, world: &World) {
        let Some(ended) = ended.filter(|ended| ended.by != By::Cut) else { return };
        let Some(place) = world.place(ended.cpu) else { return };
        let cpu = &mut self.cpus[place];
        cpu.periods += i64::from(ended.period);
        if ended.state.is_none() {
            return;
        }
        cpu.by[match ended.by {
            By::Timer => 0,
            By::Tick => 1,
            By::Device => 2,
            By::Thread => 3,
            By::Ipi => 4,
            _ => 5,
        }] += 1;
        let Some(stay) = ended.stay else { return };
        cpu.whole += 1;
        if target(&self.machine, ended.cpu, ended.state).is_some_and(|target| stay < target) {
            cpu.too_short += 1;
            cpu.too_short_time += stay;
        }
    }
}

impl Analysis for CpuWakeups {
    fn new(context: &Context<'_>) -> Self {
        let cpu = Sums { since: context.span.start, ..Sums::default() };
        let cpus = vec![cpu; World::new(context).cpus.len()];
        Self { machine: context.machine.clone(), ends: IdleEnds::default(), cpus }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        self.ends.thread(stretch);
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.advance(place, world);
        }
        let ended = self.ends.cpu(stretch, begins, world);
        self.take(ended, world);
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        self.ends.moved(thread, to, world.now);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        if let Some((cpu, Power::Idle(_) | Power::Awake)) = event.power()
            && let Some(place) = world.place(cpu)
        {
            self.advance(place, world);
            self.cpus[place].has_states = true;
        }
        let ended = self.ends.event(event, thread, begins, world);
        self.take(ended, world);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for place in 0..self.cpus.len() {
            self.advance(place, world);
            let (cpu, now) = (&self.cpus[place], &world.cpus[place]);
            let share = |part: Ns| (cpu.known > Ns::ZERO).then(|| part.0 as f64 / cpu.known.0 as f64);
            let c0 = cpu.has_states.then(|| cpu.known - cpu.in_states);
            let wakeups: i64 = cpu.by.iter().sum();
            let per_second = (cpu.known > Ns::ZERO).then(|| wakeups as f64 * 1e9 / cpu.known.0 as f64);
            let states = self.machine.cpu(now.cpu).map_or(&[][..], |cpu| &cpu.idle_states);
            let has_targets = states.iter().any(|state| state.target_residency_us.is_some());
            let targets = |value: Value| if has_targets { value } else { Value::Null };
            let core_type = self.machine.cpu(now.cpu).map_or(CoreType::Uniform, |_| now.core_type);
            let mut row: Vec<Value> = vec![
                i64::from(now.cpu.0).into(),
                core_type.as_str().into(),
                cpu.known.into(),
                c0.into(),
                c0.and_then(share).into(),
                cpu.periods.into(),
                wakeups.into(),
                per_second.into(),
            ];
            row.extend(cpu.by.iter().map(|count| Value::from(*count)));
            row.push(cpu.whole.into());
            row.push(targets(cpu.too_short.into()));
            row.push(targets(cpu.too_short_time.into()));
            out.row(&row);
        }
    }
}
