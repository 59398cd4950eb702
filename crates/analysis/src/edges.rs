//! Migrations: the source CPU, the target CPU and the topology they share.

use crate::Context;
use crate::by_thread::ByThread;
use model::{CpuId, Reason, ThreadState, ThreadStretch};
use topology::{Cpu, Source};

/// The closest topology level that two CPUs share. On a hybrid machine, how their core classes differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Edge {
    SameCore,
    SameL2,
    SameL3,
    SameType,
    ToFaster,
    ToSlower,
    OtherPackage,
    Unknown,
}

impl Edge {
    /// The number of edges. Their order is that of the columns.
    pub(crate) const COUNT: usize = 8;

    /// Returns the name in tables, which is also the column's name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::SameCore => "same_core",
            Self::SameL2 => "same_l2",
            Self::SameL3 => "same_l3",
            Self::SameType => "same_type",
            Self::ToFaster => "to_faster",
            Self::ToSlower => "to_slower",
            Self::OtherPackage => "other_package",
            Self::Unknown => "unknown",
        }
    }
}

/// The position of a CPU in the topology: each group by its first CPU, `None` if not recorded.
#[derive(Clone, Copy, Default)]
struct Spot {
    core: Option<CpuId>,
    l2: Option<CpuId>,
    l3: Option<CpuId>,
    package: Option<u32>,
    class: Option<u32>,
}

impl Spot {
    fn is_known(self) -> bool {
        self.core.or(self.l2).or(self.l3).is_some() || self.package.or(self.class).is_some()
    }
}

/// The machine's topology, for edges.
pub(crate) struct Edges {
    /// By CPU number.
    spots: Vec<Spot>,
}

impl Edges {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let mut spots = vec![Spot::default(); machine.cpus.last().map_or(0, |c| c.id.0 as usize + 1)];
        for (cpu, class) in machine.cpus.iter().zip(&machine.class) {
            let Cpu { package, siblings, l2, l3, .. } = cpu;
            let first = |group: &[CpuId]| group.first().copied();
            // A class that is 0 because it was not recorded does not mean that two cores are equal.
            let class = Some(class.best.value).filter(|_| class.best.source != Source::Assumed);
            spots[cpu.id.0 as usize] =
                Spot { core: first(siblings), l2: first(l2), l3: first(l3), package: *package, class };
        }
        Self { spots }
    }

    fn spot(&self, cpu: CpuId) -> Spot {
        self.spots.get(cpu.0 as usize).copied().unwrap_or_default()
    }

    pub(crate) fn between(&self, from: CpuId, to: CpuId) -> Edge {
        let (a, b) = (self.spot(from), self.spot(to));
        let same = |a: Option<CpuId>, b: Option<CpuId>| a.is_some() && a == b;
        let differ = |a: Option<u32>, b: Option<u32>| a.zip(b).is_some_and(|(a, b)| a != b);
        match () {
            () if !a.is_known() || !b.is_known() => Edge::Unknown,
            () if same(a.core, b.core) => Edge::SameCore,
            () if differ(a.class, b.class) => {
                if a.class < b.class {
                    Edge::ToFaster
                } else {
                    Edge::ToSlower
                }
            }
            () if same(a.l2, b.l2) => Edge::SameL2,
            () if same(a.l3, b.l3) => Edge::SameL3,
            () if differ(a.package, b.package) => Edge::OtherPackage,
            () => Edge::SameType,
        }
    }
}

/// The last CPU of each thread.
pub(crate) struct Places(ByThread<Place>);

#[derive(Clone, Copy, Default)]
struct Place {
    cpu: Option<CpuId>,
    ran: bool,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self(ByThread::new())
    }

    /// Returns the source and target CPU, if the thread moves with this stretch.
    #[inline]
    pub(crate) fn moves(&mut self, stretch: &ThreadStretch) -> Option<(CpuId, CpuId)> {
        let place = self.0.of(stretch.thread);
        let runs = stretch.state == ThreadState::Running;
        let ran = std::mem::replace(&mut place.ran, runs);
        let here = match (stretch.state, stretch.reason) {
            // The arrival on this CPU was not recorded.
            (_, Reason::Inferred) => return None,
            // The CPU of a ready stretch is a run queue: the CPU that the thread left, unless a wakeup or a move set
            // it. For a thread that ran, the run is more reliable.
            (ThreadState::Ready, reason) if !ran && (reason.left_runnable() || reason == Reason::Snapshot) => {
                stretch.cpu
            }
            // The same is true for time in which events were lost.
            (ThreadState::Ready, _) | (_, Reason::Lossy) => None,
            _ => stretch.cpu,
        };
        let before = place.cpu;
        place.cpu = here.or(before);
        // A snapshot shows the CPU on which a thread runs, but not a migration.
        let comes = runs && stretch.reason != Reason::Snapshot;
        before.zip(here).filter(|(from, to)| comes && from != to)
    }
}
