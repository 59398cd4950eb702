//! What every CPU and core does at one instant, kept for all analyses.

use crate::Context;
use crate::allowed::{CpuSet, Permissions, SetId};
use crate::blocked_by::{ReasonId, Reasons};
use crate::clocks::Bits;
use crate::parking::Parking;
use crate::throttled::Throttled;
use model::{CoreType, CpuId, CpuState, CpuStretch, NameId, Ns, Power, Prio, ThreadKey, ThreadState, ThreadStretch};
use topology::cpulist;

/// What a CPU does.
#[derive(Clone, Debug)]
pub struct CpuNow {
    /// Which.
    pub cpu: CpuId,
    /// Its core's place in [`World::cores`].
    pub core: usize,
    /// Class of its core, 0 = slowest.
    pub class: u32,
    /// Type of its core; uniform where the machine does not list it.
    pub core_type: CoreType,
    /// Whether the source tells what it ran.
    pub followed: bool,
    /// What it does; unknown until its first stretch.
    pub state: CpuState,
    /// Busy: the thread.
    pub thread: ThreadKey,
    /// Who was told to run here last, and its dynamic priority; a thread's stretch and its CPU's begin at one instant, in
    /// any order.
    runner: (ThreadKey, Prio),
    /// Since when; not before the span's begin.
    pub since: Ns,
    /// The number of its idle state, while it is in one.
    pub idle_state: Option<u32>,
    /// Its frequency, kHz, where told.
    pub khz: Option<u32>,
    /// Whether it is parked, where told.
    pub parked: Option<bool>,
}

/// What a physical core does: the sum over its CPUs.
#[derive(Clone, Debug, Default)]
pub struct CoreNow {
    /// Its CPUs, as places in [`World::cpus`], by number.
    pub cpus: Vec<usize>,
    /// How many of them run a thread.
    pub busy: usize,
    /// Of how many nobody can say.
    pub unknown: usize,
}

/// All CPUs at one instant.
#[derive(Clone, Debug)]
pub struct World {
    /// The instant.
    pub now: Ns,
    /// By number: those that the machine lists or the source follows.
    pub cpus: Vec<CpuNow>,
    /// By the number of their first CPU. A CPU whose siblings nobody told is a core of its own.
    pub cores: Vec<CoreNow>,
    /// All names told; the first is [`NameId`] 1.
    names: Vec<Box<str>>,
    /// Place of a CPU number in `cpus`; `usize::MAX`: none.
    places: Vec<usize>,
    pub(crate) parking: Parking,
    pub(crate) permissions: Permissions,
    pub(crate) throttled: Throttled,
    pub(crate) reasons: Reasons,
    /// What a frame may take, where it was said.
    pub(crate) budget: Option<Ns>,
}

impl World {
    /// All CPUs, before anything is known of them.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let mut ids: Vec<CpuId> = machine.cpus.iter().filter(|c| c.online).map(|c| c.id).collect();
        ids.extend_from_slice(context.followed);
        ids.sort_unstable();
        ids.dedup();
        let most = ids.last().map_or(0, |c| c.0 as usize + 1);
        let mut places = vec![usize::MAX; most];
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
            budget: None,
        }
    }

    /// The place of a CPU in [`Self::cpus`].
    #[must_use]
    #[inline]
    pub fn place(&self, cpu: CpuId) -> Option<usize> {
        self.places.get(cpu.0 as usize).copied().filter(|p| *p != usize::MAX)
    }

    /// What a CPU does.
    #[must_use]
    #[inline]
    pub fn of(&self, cpu: CpuId) -> Option<&CpuNow> {
        self.place(cpu).map(|p| &self.cpus[p])
    }

    /// A CPU's core.
    #[must_use]
    pub fn core(&self, cpu: CpuId) -> Option<&CoreNow> {
        self.of(cpu).map(|c| &self.cores[c.core])
    }

    /// A name, where it was told.
    #[must_use]
    pub fn name(&self, id: NameId) -> Option<&str> {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map(|n| &**n)
    }

    /// The set of CPUs on which a thread is allowed.
    #[must_use]
    #[inline]
    pub fn allowed(&self, thread: ThreadKey) -> SetId {
        self.permissions.of(thread)
    }

    /// The CPUs and cores of a set.
    pub(crate) fn set(&self, set: SetId) -> &CpuSet {
        self.permissions.set(set)
    }

    /// The set that a name tells as a CPU list. One without any of these CPUs tells nothing: where else could its thread be?
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

    /// What threads of this number wait for, in words.
    #[must_use]
    pub fn reason(&self, id: ReasonId) -> Option<&str> {
        self.reasons.word(id)
    }

    pub(crate) fn told(&mut self, names: Vec<Box<str>>) {
        self.names = names;
    }

    pub(crate) fn thread(&mut self, stretch: &ThreadStretch) {
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
            Power::Interrupt(_) | Power::Interrupted(_) => {}
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
    /// Dynamic priority of the thread that runs here, where there is one and somebody told.
    #[must_use]
    pub fn prio(&self) -> Option<i16> {
        if self.state == CpuState::Busy && self.runner.0 == self.thread { self.runner.1.get() } else { None }
    }
}
