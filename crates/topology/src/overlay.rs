//! Merges two descriptions of a machine: a trace's, corrected by the user's.

use crate::cpulist;
use crate::machine::{Claim, Cpu, Fact, Judged, Machine, Source};
use crate::user::speed;
use model::{CoreType, CpuId};
use std::collections::{BTreeMap, BTreeSet};

/// A fact, its old value, and its new value: the key that groups the CPUs with the same conflict.
type Conflict = (Fact, String, String);

impl Machine {
    /// Replaces this machine's facts by those of `user`. The replaced ones are kept: core types as differing claims, other facts as
    /// notes. Costs are those of `user`, if it has any.
    #[must_use]
    pub fn overlay(mut self, user: Self) -> Self {
        let mut conflicts: BTreeMap<Conflict, Vec<CpuId>> = BTreeMap::new();
        let mut cpus: BTreeMap<CpuId, Cpu> = self.cpus.iter().cloned().map(|c| (c.id, c)).collect();
        for new in &user.cpus {
            match cpus.get_mut(&new.id) {
                Some(old) => replace_facts(old, new, &mut conflicts),
                None => drop(cpus.insert(new.id, new.clone())),
            }
        }
        // The facts are merged in a copy, since the claims about classes are looked up in both original machines.
        let ids: Vec<CpuId> = cpus.keys().copied().collect();
        let mut notes = Vec::new();
        let (class, class_names) = classes(&ids, &self, &user, &mut notes);
        let cpus: Vec<Cpu> = cpus.into_values().collect();
        for ((fact, old, new), of) in conflicts {
            let source = |m: &Self| m.sources.get(&fact).copied().unwrap_or(Source::Assumed).as_str();
            let (old_source, new_source) = (source(&self), source(&user));
            let of = cpulist::format(of);
            self.notes
                .push(format!("{} of CPU {of}: {new} ({new_source}), instead of {old} ({old_source})", fact.as_str()));
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
            costs: user.costs.or(self.costs),
            ..self
        }
    }
}

fn replace_facts(old: &mut Cpu, new: &Cpu, conflicts: &mut BTreeMap<Conflict, Vec<CpuId>>) {
    old.online &= new.online;
    if !new.idle_states.is_empty() {
        old.idle_states.clone_from(&new.idle_states);
    }
    for fact in Fact::ALL {
        if !new.has(fact) {
            continue;
        }
        let (old_value, new_value) = (value_text(old, fact), value_text(new, fact));
        if old.has(fact) && old_value != new_value {
            conflicts.entry((fact, old_value, new_value)).or_default().push(old.id);
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

fn value_text(cpu: &Cpu, fact: Fact) -> String {
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

/// A class, independent of a machine's numbering: the rank of its name, the name, and its index among classes of that name (a machine
/// may have two middle ones).
type ClassKey = (u32, CoreType, usize);

fn class_key(machine: &Machine, class: u32) -> ClassKey {
    let before = machine.class_names.iter().take(class as usize);
    let name = machine.class_names.get(class as usize).copied().unwrap_or(CoreType::Uniform);
    (speed(name), name, before.filter(|n| **n == name).count())
}

/// Returns a machine's claims about a CPU's class, best first; none if it is only assumed.
fn claims(machine: &Machine, id: CpuId) -> Vec<Claim<ClassKey>> {
    let at = machine.cpus.binary_search_by_key(&id, |c| c.id).ok();
    let Some(judged) = at.and_then(|at| machine.class.get(at)) else { return Vec::new() };
    let all = std::iter::once(&judged.best).chain(&judged.against).filter(|c| c.source != Source::Assumed);
    all.map(|c| Claim { value: class_key(machine, c.value), source: c.source }).collect()
}

fn classes(
    ids: &[CpuId],
    base: &Machine,
    user: &Machine,
    notes: &mut Vec<String>,
) -> (Vec<Judged<u32>>, Vec<CoreType>) {
    // A uniform type for a part of the machine defines no class of the whole machine.
    let partial = user.class_names.len() < 2 && ids.iter().any(|id| user.cpu(*id).is_none());
    let of = |id: &CpuId| {
        let mut all = if partial { Vec::new() } else { claims(user, *id) };
        all.extend(claims(base, *id));
        all
    };
    let all_claims: Vec<Vec<Claim<ClassKey>>> = ids.iter().map(of).collect();
    let classes: Vec<ClassKey> =
        all_claims.iter().filter_map(|c| c.first()).map(|c| c.value).collect::<BTreeSet<_>>().into_iter().collect();
    let number = |name: &ClassKey| (0_u32..).zip(&classes).find(|(_, n)| *n == name).map(|(i, _)| i);
    let mut displaced: BTreeMap<(Source, CoreType), Vec<CpuId>> = BTreeMap::new();
    let mut class = Vec::with_capacity(ids.len());
    for (id, claims) in ids.iter().zip(&all_claims) {
        let mut numbered = Vec::new();
        for claim in claims {
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
        notes.push(format!("{name} for CPU {of} ({source}) was dropped: the machine no longer has this core type"));
    }
    match classes.as_slice() {
        [] | [_] => (class, vec![CoreType::Uniform]),
        several => (class, several.iter().map(|(_, name, _)| *name).collect()),
    }
}
