//! The state of every CPU and core at one instant, shared by all analyses.

use crate::Context;
use crate::allowed::{CpuSet, Permissions, SetId};
use crate::blocked_by::{ReasonId, Reasons};
use crate::clocks::Bits;
use crate::folded_chains::FoldedChains;
use crate::functions::Functions;
use crate::numbers::Numbers;
use crate::parking::Parking;
use crate::source_lines::SourceLines;
use crate::thread_groups::ThreadGroups;
use crate::throttled::Throttled;
use model::{CoreType, CpuId, CpuState, CpuStretch, NameId, Ns, Power, Prio, ThreadKey, ThreadState, ThreadStretch};
use std::sync::Arc;
use topology::cpulist;

/// The state of a CPU.
#[derive(Clone, Debug)]
pub struct CpuNow {
    /// The CPU.
    pub cpu: CpuId,
    /// The index of its core in [`World::cores`].
    pub core: usize,
    /// The class of its core, 0 = slowest.
    pub class: u32,
    /// The type of its core; uniform if the machine does not list it.
    pub core_type: CoreType,
    /// Whether the source records what it runs.
    pub followed: bool,
    /// Its state; unknown until its first stretch.
    pub state: CpuState,
    /// The running thread, if busy.
    pub thread: ThreadKey,
    /// The last thread that began to run here, with its dynamic priority. The stretches of a thread and its CPU begin
    /// at the same instant, in any order.
    runner: (ThreadKey, Prio),
    /// When the state began; not before the span's begin.
    pub since: Ns,
    /// The number of its current idle state, if any.
    pub idle_state: Option<u32>,
    /// Its frequency in kHz, if recorded.
    pub khz: Option<u32>,
    /// Whether it is parked, if recorded.
    pub parked: Option<bool>,
    /// Its maximum frequency in kHz, if the machine lists it.
    pub max_khz: Option<u32>,
}

/// The state of a physical core: the sum over its CPUs.
#[derive(Clone, Debug, Default)]
pub struct CoreNow {
    /// Its CPUs by number, as indices into [`World::cpus`].
    pub cpus: Vec<usize>,
    /// The number of CPUs that run a thread.
    pub busy: usize,
    /// The number of CPUs whose state is unknown.
    pub unknown: usize,
}

/// All CPUs at one instant.
#[derive(Clone, Debug)]
pub struct World {
    /// The instant.
    pub now: Ns,
    /// By number: the CPUs that the machine lists or the source follows.
    pub cpus: Vec<CpuNow>,
    /// By the number of their first CPU. A CPU whose siblings were not recorded is a core of its own.
    pub cores: Vec<CoreNow>,
    /// All recorded names; the first is [`NameId`] 1.
    names: Vec<Box<str>>,
    /// The index in `cpus` of each CPU number; `usize::MAX`: none.
    places: Vec<usize>,
    pub(crate) parking: Parking,
    pub(crate) permissions: Permissions,
    pub(crate) throttled: Throttled,
    pub(crate) reasons: Reasons,
    pub(crate) functions: Functions,
    pub(crate) lines: SourceLines,
    /// Empty if no analysis uses it.
    pub(crate) folded: FoldedChains,
    pub(crate) groups: Arc<ThreadGroups>,
    pub(crate) numbers: Numbers,
    /// The frame budget, if there is one.
    pub(crate) budget: Option<Ns>,
}

impl World {
    /// The state before anything is known.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let mut ids: Vec<CpuId> = machine.cpus.iter().filter(|c| c.online).map(|c| c.id).collect();
        ids.extend_from_slice(context.followed);
        ids.sort_unstable();
        ids.dedup();
        let len = ids.last().map_or(0, |c| c.0 as usize + 1);
        let mut places = vec![usize::MAX; len];
        let (mut cpus, mut cores) = (Vec::<CpuNow>::with_capacity(ids.len()), Vec::<CoreNow>::new());
        for (place, cpu) in ids.iter().enumerate() {
            places[cpu.0 as usize] = place;
            let siblings = machine.cpu(*cpu).map_or(&[][..], |c| &c.siblings);
            let known =
                siblings.iter().filter(|s| *s < cpu).find_map(|s| places.get(s.0 as usize).filter(|p| **p < place));
            let core = match known.map(|sibling| cpus[*sibling].core) {
                Some(core) => core,
                None => {
                    cores.push(CoreNow::default());
                    cores.len() - 1
                }
            };
            cores[core].cpus.push(place);
            cores[core].unknown += 1;
            cpus.push(CpuNow {
                cpu: *cpu,
                core,
                class: machine.core_class(*cpu),
                core_type: machine.cpu(*cpu).map_or(CoreType::Uniform, |c| machine.core_type(c.id)),
                followed: context.followed.contains(cpu),
                state: CpuState::Unknown,
                thread: ThreadKey::UNKNOWN,
                runner: (ThreadKey::UNKNOWN, Prio::UNKNOWN),
                since: context.span.start,
                idle_state: None,
                khz: None,
                parked: None,
                max_khz: machine.cpu(*cpu).and_then(|c| c.max_khz),
            });
        }
        let all = CpuSet { cpus: Bits::of(0..cpus.len(), cpus.len()), cores: Bits::of(0..cores.len(), cores.len()) };
        let permissions = Permissions::new(all);
        Self {
            now: context.span.start,
            parking: Parking::new(cpus.len(), context.span.start),
            cpus,
            cores,
            names: Vec::new(),
            places,
            permissions,
            throttled: Throttled::default(),
            reasons: Reasons::default(),
            functions: Functions::default(),
            lines: SourceLines::default(),
            folded: FoldedChains::default(),
            groups: Arc::default(),
            numbers: Numbers::default(),
            budget: None,
        }
    }

    /// Returns the index of a CPU in [`Self::cpus`].
    #[must_use]
    #[inline]
    pub fn place(&self, cpu: CpuId) -> Option<usize> {
        self.places.get(cpu.0 as usize).copied().filter(|p| *p != usize::MAX)
    }

    /// Returns the state of a CPU.
    #[must_use]
    #[inline]
    pub fn cpu_now(&self, cpu: CpuId) -> Option<&CpuNow> {
        self.place(cpu).map(|p| &self.cpus[p])
    }

    /// Returns the core of a CPU.
    #[must_use]
    pub fn core(&self, cpu: CpuId) -> Option<&CoreNow> {
        self.cpu_now(cpu).map(|c| &self.cores[c.core])
    }

    /// Returns a name, if it was recorded.
    #[must_use]
    pub fn name(&self, id: NameId) -> Option<&str> {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map(|n| &**n)
    }

    /// Returns the set of CPUs on which a thread is allowed.
    #[must_use]
    #[inline]
    pub fn allowed(&self, thread: ThreadKey) -> SetId {
        self.permissions.of_thread(thread)
    }

    /// Returns the CPUs and cores of a set.
    pub(crate) fn set(&self, set: SetId) -> &CpuSet {
        self.permissions.set(set)
    }

    /// Returns the set for a name that is a CPU list. A list with none of these CPUs is ignored, since its thread must
    /// run on one of them.
    pub(crate) fn set_of(&mut self, name: NameId) -> SetId {
        let Self { cpus, cores, names, places, permissions, .. } = self;
        let text = (name.0 as usize).checked_sub(1).and_then(|at| names.get(at));
        permissions.named(name, || {
            let listed = cpulist::parse(text?).ok()?;
            let places = listed.iter().filter_map(|c| places.get(c.0 as usize).copied().filter(|p| *p != usize::MAX));
            let set = Bits::of(places, cpus.len());
            let cores = Bits::of((0..cpus.len()).filter(|p| set.has(*p)).map(|p| cpus[p].core), cores.len());
            (!set.is_empty()).then_some(CpuSet { cpus: set, cores })
        })
    }

    /// Returns the text of a reason.
    #[must_use]
    pub fn reason(&self, id: ReasonId) -> Option<&str> {
        self.reasons.word(id)
    }

    pub(crate) fn set_names(&mut self, names: Vec<Box<str>>) {
        self.names = names;
    }

    pub(crate) fn thread(&mut self, stretch: &ThreadStretch) {
        self.numbers.thread(stretch, || self.groups.process(stretch.thread));
        if stretch.state == ThreadState::Running
            && let Some(place) = stretch.cpu.and_then(|c| self.place(c))
        {
            self.cpus[place].runner = (stretch.thread, stretch.prio);
        }
    }

    pub(crate) fn power(&mut self, of: CpuId, to: Power) {
        let place = self.place(of);
        if let Power::Parked(parked) = to {
            self.parking.change(of, place.is_some(), parked, self.now);
        }
        let Some(place) = place else { return };
        let cpu = &mut self.cpus[place];
        match to {
            Power::Awake => cpu.idle_state = None,
            Power::Idle(state) => cpu.idle_state = Some(state),
            Power::Frequency(khz) => cpu.khz = Some(khz),
            Power::Parked(parked) => cpu.parked = Some(parked),
            Power::InterruptBegin(_) | Power::InterruptEnd(_) => {}
        }
    }

    pub(crate) fn cpu(&mut self, stretch: &CpuStretch) {
        let Some(place) = self.place(stretch.cpu) else { return };
        let cpu = &mut self.cpus[place];
        let core = &mut self.cores[cpu.core];
        core.busy += usize::from(stretch.state == CpuState::Busy);
        core.busy -= usize::from(cpu.state == CpuState::Busy);
        core.unknown += usize::from(stretch.state == CpuState::Unknown);
        core.unknown -= usize::from(cpu.state == CpuState::Unknown);
        (cpu.state, cpu.thread, cpu.since) = (stretch.state, stretch.thread, stretch.span.start);
    }
}

impl CpuNow {
    /// Returns the dynamic priority of the running thread, if it is known.
    #[must_use]
    pub fn prio(&self) -> Option<i16> {
        if self.state == CpuState::Busy && self.runner.0 == self.thread { self.runner.1.get() } else { None }
    }
}
