//! How many CPUs were parked at the same time, exactly, for each core type and overall.

use crate::{Analysis, Begins, Context, World};
use model::{CoreType, CpuId, Ns, Power, Rows, ThreadKey, TimelineEvent};
use std::collections::BTreeMap;
use topology::Machine;

pub(crate) struct ParkedTogether {
    machine: Machine,
    begin: Ns,
    /// `None`: all types.
    types: BTreeMap<Option<CoreType>, Type>,
}

/// The CPUs of one type, or all of them.
struct Type {
    at: Ns,
    parked: i64,
    unknown: i64,
    durations: BTreeMap<(i64, i64), Ns>,
}

impl Type {
    fn none(at: Ns) -> Self {
        Self { at, parked: 0, unknown: 0, durations: BTreeMap::new() }
    }

    fn advance(&mut self, to: Ns) {
        if to > self.at {
            let sum = self.durations.entry((self.parked, self.unknown)).or_default();
            *sum += to - self.at;
            self.at = to;
        }
    }
}

impl ParkedTogether {
    /// The CPU's type, and all types.
    fn of(&self, cpu: CpuId) -> [Option<CoreType>; 2] {
        [None, Some(self.machine.core_type(cpu))]
    }
}

impl Analysis for ParkedTogether {
    fn new(context: &Context<'_>) -> Self {
        let begin = context.span.start;
        let mut new = Self { machine: context.machine.clone(), begin, types: BTreeMap::new() };
        for cpu in World::new(context).cpus {
            for of in new.of(cpu.cpu) {
                new.types.entry(of).or_insert_with(|| Type::none(begin)).unknown += 1;
            }
        }
        new
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        let Some((cpu, Power::Parked(parked))) = event.power() else { return };
        let before = world.parking.of(cpu);
        // A CPU outside the world is not among the unknown ones, and counts from now on.
        let counted = before.is_some() || world.place(cpu).is_some();
        if !counted && !world.parking.has_room() {
            return;
        }
        for of in self.of(cpu) {
            let of = self.types.entry(of).or_insert_with(|| Type::none(self.begin));
            of.advance(world.now);
            of.parked += i64::from(parked) - i64::from(before == Some(true));
            of.unknown -= i64::from(counted && before.is_none());
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (of, counts) in &mut self.types {
            counts.advance(world.now);
            for ((parked, unknown), duration) in &counts.durations {
                let core_type = of.map(CoreType::as_str);
                out.row(&[core_type.into(), (*parked).into(), (*unknown).into(), (*duration).into()]);
            }
        }
    }
}
