//! Migrations: from which CPU to which, and what the two have in common.

use crate::Context;
use crate::by_thread::ByThread;
use model::{CpuId, Reason, ThreadState, ThreadStretch};
use topology::{Cpu, Source};

/// What two CPUs have in common, the nearest first; of a machine without equal cores, how their classes differ.
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
    /// How many there are; their order is that of the columns.
    pub(crate) const COUNT: usize = 8;

    /// The word in tables, as the column's name.
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

/// Where a CPU is: each group by its first CPU, `None` where nobody told.
#[derive(Clone, Copy, Default)]
struct Spot {
    core: Option<CpuId>,
    l2: Option<CpuId>,
    l3: Option<CpuId>,
    package: Option<u32>,
    class: Option<u32>,
}

impl Spot {
    fn is_told(self) -> bool {
        self.core.or(self.l2).or(self.l3).is_some() || self.package.or(self.class).is_some()
    }
}

/// The machine, for edges.
pub(crate) struct Edges {
    /// By the number of the CPU.
    spots: Vec<Spot>,
}

impl Edges {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let mut spots = vec![Spot::default(); machine.cpus.last().map_or(0, |c| c.id.0 as usize + 1)];
        for (cpu, class) in machine.cpus.iter().zip(&machine.class) {
            let Cpu { package, siblings, l2, l3, .. } = cpu;
            let first = |group: &[CpuId]| group.first().copied();
            // Class 0 that nobody told is no word that two cores are alike.
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
            () if !a.is_told() || !b.is_told() => Edge::Unknown,
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

/// Where each thread was last.
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

    /// From where to where the thread moves by this stretch, if it does.
    #[inline]
    pub(crate) fn moves(&mut self, stretch: &ThreadStretch) -> Option<(CpuId, CpuId)> {
        let place = self.0.of(stretch.thread);
        let runs = stretch.state == ThreadState::Running;
        let ran = std::mem::replace(&mut place.ran, runs);
        let here = match (stretch.state, stretch.reason) {
            // Nobody saw it come in here.
            (_, Reason::Inferred) => return None,
            // The CPU of a ready stretch is a run queue. It is where the thread left, unless that came with a waking or a
            // move; of a thread that ran, its run tells that better.
            (ThreadState::Ready, reason) if !ran && (reason.left_runnable() || reason == Reason::Snapshot) => {
                stretch.cpu
            }
            // So it is of time that is lost with events.
            (ThreadState::Ready, _) | (_, Reason::Lossy) => None,
            _ => stretch.cpu,
        };
        let before = place.cpu;
        place.cpu = here.or(before);
        // A snapshot shows where it runs, and not that it came there.
        let comes = runs && stretch.reason != Reason::Snapshot;
        before.zip(here).filter(|(from, to)| comes && from != to)
    }
}
