//! The slow calculation: every CPU of every core at every instant, looked up in the stretches.

use super::Analysed;
use super::parked::{changes, parked};
use model::{CoreType, CpuId, CpuState, Ns, Span, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// A period in which nothing changes, including affinity.
pub struct Instant {
    pub from: Ns,
    pub ns: i64,
    pub cores: Vec<Core>,
}

/// A core and its CPUs, by number.
#[derive(Clone)]
pub struct Core {
    /// `None` if the machine does not list it.
    pub class: Option<u32>,
    pub core_type: CoreType,
    /// Whether its siblings are recorded.
    pub siblings_known: bool,
    pub cpus: Vec<Cpu>,
}

#[derive(Clone)]
pub struct Cpu {
    pub id: CpuId,
    pub followed: bool,
    pub state: CpuState,
    pub thread: ThreadKey,
    pub parked: bool,
}

impl Core {
    pub fn count(&self, state: CpuState) -> usize {
        self.cpus.iter().filter(|c| c.state == state).count()
    }

    /// The threads that run on it.
    pub fn threads(&self) -> impl Iterator<Item = i64> {
        self.cpus.iter().filter(|c| c.state == CpuState::Busy).map(|c| c.thread.0)
    }
}

pub fn instants(a: &Analysed) -> Vec<Instant> {
    let mut of = BTreeMap::<CpuId, Vec<(Span, CpuState, ThreadKey)>>::new();
    let mut cuts = BTreeSet::from([a.span.start, a.span.end]);
    for s in &a.cpus {
        of.entry(s.cpu).or_default().push((s.span, s.state, s.thread));
        cuts.extend([s.span.start, s.span.end].iter().filter(|t| (a.span.start..a.span.end).contains(t)));
    }
    cuts.extend(changes(a).filter(|t| *t > a.span.start));
    cuts.extend(a.allowed.iter().map(|t| t.at).filter(|t| (a.span.start..a.span.end).contains(t)));
    let cuts: Vec<Ns> = cuts.into_iter().collect();
    let cores = cores(a);
    let at = |from: Ns, cpu: &Cpu| {
        let list = of.get(&cpu.id).map_or(&[][..], Vec::as_slice);
        let last = list.partition_point(|(span, ..)| span.start <= from).checked_sub(1).map(|i| &list[i]);
        let (_, state, thread) =
            last.filter(|s| from < s.0.end).copied().unwrap_or((a.span, CpuState::Unknown, ThreadKey::UNKNOWN));
        Cpu { state, thread, parked: parked(a, cpu.id, from) == Some(true), ..cpu.clone() }
    };
    let instant = |w: &[Ns]| Instant {
        from: w[0],
        ns: (w[1] - w[0]).0,
        cores: cores
            .iter()
            .map(|c| Core { cpus: c.cpus.iter().map(|cpu| at(w[0], cpu)).collect(), ..c.clone() })
            .collect(),
    };
    cuts.windows(2).map(instant).collect()
}

/// All cores, in an unknown state.
pub fn cores(a: &Analysed) -> Vec<Core> {
    let followed: BTreeSet<CpuId> = a.totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
    let mut ids: BTreeSet<CpuId> = a.machine.cpus.iter().filter(|c| c.online).map(|c| c.id).collect();
    ids.extend(&followed);
    let mut cores = BTreeMap::<CpuId, Core>::new();
    for id in &ids {
        let listed = a.machine.cpu(*id);
        let siblings = listed.map_or(&[][..], |c| &c.siblings);
        let first = siblings.iter().copied().find(|s| ids.contains(s)).unwrap_or(*id);
        let core = cores.entry(first).or_insert_with(|| Core {
            class: listed.map(|_| a.machine.core_class(*id)),
            core_type: listed.map_or(CoreType::Uniform, |_| a.machine.core_type(*id)),
            siblings_known: !siblings.is_empty(),
            cpus: Vec::new(),
        });
        let (followed, state, thread) = (followed.contains(id), CpuState::Unknown, ThreadKey::UNKNOWN);
        core.cpus.push(Cpu { id: *id, followed, state, thread, parked: false });
    }
    cores.into_values().collect()
}
