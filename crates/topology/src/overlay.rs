//! One description of a machine laid over another: what a trace says, corrected by what the user knows.

use crate::cpulist;
use crate::machine::{Claim, Cpu, Fact, Judged, Machine, Source};
use crate::user::speed;
use model::{CoreType, CpuId};
use std::collections::{BTreeMap, BTreeSet};

/// A fact, what it was, and what it is now: the key by which conflicts are told once for all CPUs alike.
type Conflict = (Fact, String, String);

impl Machine {
    /// Lays `user`'s facts over this machine's. They win; what they displace is kept: of core types as claims against,
    /// of other facts as notes.
    #[must_use]
    pub fn overlay(mut self, user: Self) -> Self {
        let mut conflicts: BTreeMap<Conflict, Vec<CpuId>> = BTreeMap::new();
        let mut cpus: BTreeMap<CpuId, Cpu> = self.cpus.iter().cloned().map(|c| (c.id, c)).collect();
        for new in &user.cpus {
            match cpus.get_mut(&new.id) {
                Some(old) => lay(old, new, &mut conflicts),
                None => drop(cpus.insert(new.id, new.clone())),
            }
        }
        // The facts are merged in a copy: the claims about classes are looked up in both machines as they were.
        let ids: Vec<CpuId> = cpus.keys().copied().collect();
        let mut notes = Vec::new();
        let (class, class_names) = classes(&ids, &self, &user, &mut notes);
        let cpus: Vec<Cpu> = cpus.into_values().collect();
        for ((fact, old, new), of) in conflicts {
            let source = |m: &Self| m.sources.get(&fact).copied().unwrap_or(Source::Assumed).as_str();
            let (was, is) = (source(&self), source(&user));
            let of = cpulist::format(of);
            self.notes.push(format!("{} of CPU {of}: {is} says {new}, {was} said {old}", fact.as_str()));
        }
        for (name, old, new) in
            [("model", &self.model_name, &user.model_name), ("architecture", &self.arch, &user.arch)]
        {
            if let (Some(old), Some(new)) = (old, new)
                && old != new
            {
                self.notes.push(format!("{name}: `{new}` instead of `{old}`"));
            }
        }
        self.notes.append(&mut notes);
        self.sources.extend(&user.sources);
        self.notes.extend(user.notes);
        self.unknown.extend(user.unknown);
        Self {
            model_name: user.model_name.or(self.model_name),
            arch: user.arch.or(self.arch),
            cpus,
            class,
            class_names,
            ..self
        }
    }
}

fn lay(old: &mut Cpu, new: &Cpu, conflicts: &mut BTreeMap<Conflict, Vec<CpuId>>) {
    old.online &= new.online;
    if !new.idle_states.is_empty() {
        old.idle_states.clone_from(&new.idle_states);
    }
    for fact in Fact::ALL {
        if !new.knows(fact) {
            continue;
        }
        let (was, is) = (shown(old, fact), shown(new, fact));
        if old.knows(fact) && was != is {
            conflicts.entry((fact, was, is)).or_default().push(old.id);
        }
        match fact {
            Fact::Package => old.package = new.package,
            Fact::Die => old.die = new.die,
            Fact::Cluster => old.cluster = new.cluster,
            Fact::Core => old.core = new.core,
            Fact::Siblings => old.siblings.clone_from(&new.siblings),
            Fact::L2 => old.l2.clone_from(&new.l2),
            Fact::L3 => old.l3.clone_from(&new.l3),
            Fact::Node => old.node = new.node,
            Fact::Capacity => old.capacity = new.capacity,
            Fact::HighestPerf => old.highest_perf = new.highest_perf,
            Fact::MaxKhz => old.max_khz = new.max_khz,
            Fact::VendorType => old.vendor_type.clone_from(&new.vendor_type),
        }
    }
}

fn shown(cpu: &Cpu, fact: Fact) -> String {
    let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    let list = |l: &[CpuId]| cpulist::format(l.iter().copied());
    match fact {
        Fact::Package => number(cpu.package),
        Fact::Die => number(cpu.die),
        Fact::Cluster => number(cpu.cluster),
        Fact::Core => number(cpu.core),
        Fact::Siblings => list(&cpu.siblings),
        Fact::L2 => list(&cpu.l2),
        Fact::L3 => list(&cpu.l3),
        Fact::Node => number(cpu.node),
        Fact::Capacity => number(cpu.capacity),
        Fact::HighestPerf => number(cpu.highest_perf),
        Fact::MaxKhz => number(cpu.max_khz),
        Fact::VendorType => cpu.vendor_type.clone().unwrap_or_default(),
    }
}

/// A class by what two machines' numberings have in common: how fast its name is, the name, and its place among classes of
/// that name (a machine may have two middle ones).
type Named = (u32, CoreType, usize);

fn named(machine: &Machine, class: u32) -> Named {
    let before = machine.class_names.iter().take(class as usize);
    let name = machine.class_names.get(class as usize).copied().unwrap_or(CoreType::Uniform);
    (speed(name), name, before.filter(|n| **n == name).count())
}

/// What a machine's sources say of a CPU's class, best first; nothing where it is only assumed.
fn claims(machine: &Machine, id: CpuId) -> Vec<Claim<Named>> {
    let at = machine.cpus.binary_search_by_key(&id, |c| c.id).ok();
    let Some(judged) = at.and_then(|at| machine.class.get(at)) else { return Vec::new() };
    let all = std::iter::once(&judged.best).chain(&judged.against).filter(|c| c.source != Source::Assumed);
    all.map(|c| Claim { value: named(machine, c.value), source: c.source }).collect()
}

fn classes(
    ids: &[CpuId],
    base: &Machine,
    user: &Machine,
    notes: &mut Vec<String>,
) -> (Vec<Judged<u32>>, Vec<CoreType>) {
    // "All alike" said of a part of the machine names no class of the whole.
    let partial = user.class_names.len() < 2 && ids.iter().any(|id| user.cpu(*id).is_none());
    let of = |id: &CpuId| {
        let mut all = if partial { Vec::new() } else { claims(user, *id) };
        all.extend(claims(base, *id));
        all
    };
    let said: Vec<Vec<Claim<Named>>> = ids.iter().map(of).collect();
    let classes: Vec<Named> =
        said.iter().filter_map(|c| c.first()).map(|c| c.value).collect::<BTreeSet<_>>().into_iter().collect();
    let number = |name: &Named| (0_u32..).zip(&classes).find(|(_, n)| *n == name).map(|(i, _)| i);
    let mut displaced: BTreeMap<(Source, CoreType), Vec<CpuId>> = BTreeMap::new();
    let mut class = Vec::with_capacity(ids.len());
    for (id, said) in ids.iter().zip(&said) {
        let mut numbered = Vec::new();
        for claim in said {
            match number(&claim.value) {
                Some(value) => numbered.push(Claim { value, source: claim.source }),
                None => displaced.entry((claim.source, claim.value.1)).or_default().push(*id),
            }
        }
        let mut numbered = numbered.into_iter();
        let best = numbered.next().unwrap_or(Claim { value: 0, source: Source::Assumed });
        let against = numbered.filter(|c| c.value != best.value).collect();
        class.push(Judged { best, against });
    }
    for ((source, name), of) in displaced {
        let (source, name, of) = (source.as_str(), name.as_str(), cpulist::format(of));
        notes.push(format!("{source} said {name} of CPU {of}, a type that is not kept"));
    }
    match classes.as_slice() {
        [] | [_] => (class, vec![CoreType::Uniform]),
        several => (class, several.iter().map(|(_, name, _)| *name).collect()),
    }
}
