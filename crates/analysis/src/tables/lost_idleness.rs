//! How much idleness threads and ticks cost, because they divided it.
//!
//! ```text
//!   cpu0  A . . T . T . . B      without T: one idle period of seven columns
//!           └─┘   │   └─┘        with a break-even of three columns, all five idle columns are lost
//! ```

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{
    CpuState, CpuStretch, Interrupt, IrqKind, NameId, Ns, Power, Rows, ThreadKey, ThreadStretch, Tid, TimelineEvent,
    Value,
};
use std::collections::BTreeMap;

/// The break-even times: 16 µs, 32 µs, …, 16.384 ms.
const TIMES: usize = 11;

fn break_even(at: usize) -> Ns {
    Ns(16_000 << at)
}

/// Idle periods that something divides, until now.
#[derive(Clone, Copy, Default)]
struct Divided {
    /// From the begin of the first idle period to the end of the last one.
    length: Ns,
    /// How often it was divided.
    ended: i64,
    /// Number and length of the idle periods shorter than each break-even time.
    short: [(i64, Ns); TIMES],
}

impl Divided {
    fn add_idle(&mut self, time: Ns) {
        for (at, (count, sum)) in self.short.iter_mut().enumerate() {
            if time < break_even(at) {
                (*count, *sum) = (*count + 1, *sum + time);
            }
        }
    }
}

/// What a thread, or the ticks, cost.
#[derive(Clone, Copy, Default)]
struct Lost {
    ended: i64,
    short: [(i64, Ns); TIMES],
}

impl Lost {
    /// Adds idle periods that would have been one.
    fn add(&mut self, of: &Divided) {
        self.ended += of.ended;
        for (at, (count, sum)) in self.short.iter_mut().enumerate() {
            if of.length >= break_even(at) {
                (*count, *sum) = (*count + of.short[at].0, *sum + of.short[at].1);
            }
        }
    }
}

/// What a CPU or a package does.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Now {
    Idle,
    /// Only this thread runs.
    Runs(ThreadKey),
    /// Several threads run, or it is unknown what runs.
    #[default]
    Other,
}

/// The idle periods of a CPU or a package since the last run of another thread.
#[derive(Clone, Copy, Default)]
struct Gaps {
    now: Now,
    since: Ns,
    /// The thread whose runs alone divide them.
    of: Option<ThreadKey>,
    divided: Divided,
    /// Its runs since the last idle period.
    runs: i64,
    ran: Ns,
    last_idle: Ns,
}

impl Gaps {
    /// Handles a change at a time; returns what a thread divided, if that is over.
    fn change(&mut self, at: Ns, to: Now) -> Option<(ThreadKey, Divided)> {
        if to == self.now {
            return None;
        }
        let (ended, time) = (std::mem::replace(&mut self.now, to), at - std::mem::replace(&mut self.since, at));
        // Two CPUs of a package that change at the same instant are not idle in between.
        if time <= Ns::ZERO {
            return None;
        }
        match ended {
            Now::Idle => {
                self.divided.length = self.divided.length + self.ran + time;
                self.divided.ended += std::mem::take(&mut self.runs);
                self.divided.add_idle(time);
                (self.ran, self.last_idle) = (Ns::ZERO, time);
                None
            }
            Now::Runs(thread) if self.of == Some(thread) => {
                (self.runs, self.ran) = (self.runs + i64::from(self.ran == Ns::ZERO), self.ran + time);
                None
            }
            Now::Runs(thread) => {
                // The last idle period is also the first one of this thread's, if it came directly before.
                let before = Some(self.last_idle).filter(|idle| *idle > Ns::ZERO && self.ran == Ns::ZERO);
                let over = self.over();
                if let Some(idle) = before {
                    (self.of, self.runs, self.ran, self.last_idle) = (Some(thread), 1, time, idle);
                    self.divided.length = idle;
                    self.divided.add_idle(idle);
                }
                over
            }
            Now::Other => self.over(),
        }
    }

    /// Forgets the idle periods; returns what a thread divided.
    fn over(&mut self) -> Option<(ThreadKey, Divided)> {
        let before = std::mem::replace(self, Self { now: self.now, since: self.since, ..Self::default() });
        before.of.zip(Some(before.divided)).filter(|(_, divided)| divided.ended > 0)
    }
}

/// What ended a stay in an idle state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Tick,
    /// Nothing is known yet.
    Undecided,
    Other,
}

/// The stays of a CPU in idle states, within an idle period, with ticks between them.
#[derive(Clone, Copy, Default)]
struct Stays {
    first: Option<Ns>,
    entered: Option<Ns>,
    ended: Option<(Ns, End)>,
    divided: Divided,
}

impl Stays {
    fn end(&mut self, at: Ns, by: End) {
        if self.entered.is_some() {
            match &mut self.ended {
                Some((_, end)) if *end == End::Undecided => *end = by,
                Some(_) => {}
                none => *none = Some((at, by)),
            }
        }
    }

    /// Handles the entry of an idle state, or the end of the idle period; returns what ticks divided, if that is over.
    fn next(&mut self, at: Ns, is_entry: bool) -> Option<Divided> {
        let mut over = None;
        if let (Some(first), Some(entered)) = (self.first, self.entered) {
            let (end, by) = self.ended.unwrap_or((at, End::Other));
            self.divided.add_idle(end - entered);
            self.divided.length = end - first;
            if is_entry && by == End::Tick {
                self.divided.ended += 1;
            } else {
                over = Some(self.divided).filter(|divided| divided.ended > 0);
                *self = Self::default();
            }
        }
        if is_entry {
            (self.first, self.entered, self.ended) = (self.first.or(Some(at)), Some(at), None);
        }
        over
    }
}

#[derive(Clone, Copy, Default)]
struct Package {
    cpus: usize,
    busy: i64,
    unknown: i64,
    /// The sum of the keys of all running threads: the key of the only one.
    keys: i64,
    gaps: Gaps,
}

impl Package {
    fn count(&mut self, of: Now, by: i64) {
        match of {
            Now::Idle => {}
            Now::Runs(thread) => {
                self.busy += by;
                self.keys = self.keys.wrapping_add(thread.0.wrapping_mul(by));
            }
            Now::Other => self.unknown += by,
        }
    }

    fn now(&self) -> Now {
        match (self.unknown, self.busy) {
            (0, 0) => Now::Idle,
            (0, 1) => Now::Runs(ThreadKey(self.keys)),
            _ => Now::Other,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Cpu {
    package: usize,
    is_seen: bool,
    gaps: Gaps,
    stays: Stays,
}

pub(crate) struct LostIdleness {
    /// Indexed as in [`World::cpus`].
    cpus: Vec<Cpu>,
    packages: Vec<Package>,
    tids: ByThread<Option<Tid>>,
    /// By thread: of CPUs, of packages.
    lost: BTreeMap<ThreadKey, [Lost; 2]>,
    ticks: Lost,
}

impl LostIdleness {
    fn add(&mut self, of: Option<(ThreadKey, Divided)>, scope: usize) {
        if let Some((thread, divided)) = of {
            self.lost.entry(thread).or_default()[scope].add(&divided);
        }
    }
}

/// Whether a timer is the scheduler's tick (`tick_sched_timer`, since Linux 6.8 `tick_nohz_handler`); `None`: its function comes later.
fn is_tick(of: Interrupt, world: &World) -> Option<bool> {
    match of.kind {
        IrqKind::Timer if of.name == NameId::NONE => None,
        IrqKind::Timer => Some(world.name(of.name).is_some_and(|name| name.starts_with("tick_"))),
        IrqKind::Hard | IrqKind::Soft | IrqKind::Ipi => Some(false),
    }
}

impl Analysis for LostIdleness {
    fn new(context: &Context<'_>) -> Self {
        let world = World::new(context);
        let packages: Vec<Option<u32>> =
            world.cpus.iter().map(|cpu| context.machine.cpu(cpu.cpu).and_then(|cpu| cpu.package)).collect();
        let mut known = packages.clone();
        known.sort_unstable();
        known.dedup();
        let place = |package: &Option<u32>| known.iter().position(|of| of == package).unwrap_or(0);
        let cpus: Vec<Cpu> = packages.iter().map(|of| Cpu { package: place(of), ..Cpu::default() }).collect();
        let mut by_package = vec![Package::default(); known.len()];
        cpus.iter().for_each(|cpu| by_package[cpu.package].cpus += 1);
        Self { cpus, packages: by_package, tids: ByThread::new(), lost: BTreeMap::new(), ticks: Lost::default() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        *self.tids.of(stretch.thread) = Some(stretch.tid);
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        let Some(cpu) = world.place(stretch.cpu).and_then(|place| self.cpus.get_mut(place)) else { return };
        let to = match stretch.state {
            CpuState::Busy => Now::Runs(stretch.thread),
            // Its begin must be known.
            CpuState::Idle if begins == Begins::Here => Now::Idle,
            CpuState::Idle | CpuState::Unknown => Now::Other,
        };
        if to != Now::Idle
            && let Some(divided) = cpu.stays.next(world.now, false)
        {
            self.ticks.add(&divided);
        }
        let (before, was_seen) = (cpu.gaps.now, std::mem::replace(&mut cpu.is_seen, true));
        let of_cpu = cpu.gaps.change(world.now, to);
        let package = &mut self.packages[cpu.package];
        if was_seen {
            package.count(before, -1);
        }
        package.count(to, 1);
        let of_package = if package.cpus > 1 { package.gaps.change(world.now, package.now()) } else { None };
        self.add(of_cpu, 0);
        self.add(of_package, 1);
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, to)) = event.power() else { return };
        let Some(cpu) = world.place(cpu).and_then(|place| self.cpus.get_mut(place)) else { return };
        if begins != Begins::Here {
            return;
        }
        let over = match to {
            Power::Idle(_) => cpu.stays.next(world.now, true),
            Power::Awake => {
                cpu.stays.end(world.now, End::Undecided);
                None
            }
            Power::InterruptBegin(of) => {
                cpu.stays.end(
                    world.now,
                    match is_tick(of, world) {
                        None => End::Undecided,
                        Some(true) => End::Tick,
                        Some(false) => End::Other,
                    },
                );
                None
            }
            Power::InterruptEnd(_) | Power::Frequency(_) | Power::Parked(_) => None,
        };
        if let Some(divided) = over {
            self.ticks.add(&divided);
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        // Idle periods until the end are cut, and left out.
        for place in 0..self.cpus.len() {
            let (of, package) = (self.cpus[place].gaps.over(), self.packages[self.cpus[place].package].gaps.over());
            self.add(of, 0);
            self.add(package, 1);
        }
        let mut rows = |scope: &str, thread: Option<(ThreadKey, Option<Tid>)>, lost: &Lost| {
            for (at, (short, ns)) in lost.short.iter().enumerate().filter(|(_, (short, _))| *short > 0) {
                let cause = if thread.is_some() { "thread" } else { "tick" };
                out.row(&[
                    scope.into(),
                    cause.into(),
                    Value::from(thread.map(|(key, _)| key)),
                    Value::from(thread.and_then(|(_, tid)| tid).map(|tid| i64::from(tid.0))),
                    break_even(at).into(),
                    lost.ended.into(),
                    (*short).into(),
                    (*ns).into(),
                ]);
            }
        };
        for (scope, name) in ["cpu", "package"].into_iter().enumerate() {
            for (thread, lost) in &self.lost {
                let tid = self.tids.get(*thread).copied().flatten();
                rows(name, Some((*thread, tid)), &lost[scope]);
            }
            if scope == 0 {
                rows(name, None, &self.ticks);
            }
        }
    }
}
