//! The events of a timeline by kind, since the invariants need each kind separately.

use model::{Change, CpuId, Mark, NameId, Ns, Power, SetTo, Subject, Tid, TimelineEvent};

/// A thread was moved to another run queue.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub at: Ns,
    pub tid: Tid,
    pub to: CpuId,
}

/// A CPU's idle state, frequency or parking changed.
#[derive(Clone, Copy, Debug)]
pub struct PowerChange {
    pub at: Ns,
    pub cpu: CpuId,
    pub to: Power,
}

/// A thread is allowed on these CPUs from now on.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    pub at: Ns,
    pub tid: Tid,
    pub cpus: NameId,
}

/// A thread is throttled from now on, or no longer; `None`: for all threads, every change is reported from now on.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    pub at: Ns,
    pub tid: Option<Tid>,
    pub begins: bool,
}

/// The settings of a thread (`None`: of a cgroup) from now on.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub at: Ns,
    pub tid: Option<Tid>,
    pub to: SetTo,
}

/// An event of a mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkEvent {
    pub at: Ns,
    pub mark: Mark,
}

/// Each kind, in order of time.
#[derive(Default)]
pub struct Changes {
    pub moves: Vec<Move>,
    pub power: Vec<PowerChange>,
    pub allowed: Vec<Allowed>,
    pub throttles: Vec<Throttle>,
    pub settings: Vec<Setting>,
    pub marks: Vec<MarkEvent>,
}

impl Changes {
    pub fn of(events: &[TimelineEvent]) -> Self {
        let mut all = Self::default();
        for event in events {
            let (at, tid) = (event.at, event.tid());
            match (event.who, event.what) {
                (Subject::Thread(tid), Change::Queue(to)) => all.moves.push(Move { at, tid, to }),
                (Subject::Cpu(cpu), Change::Power(to)) => all.power.push(PowerChange { at, cpu, to }),
                (Subject::Thread(tid), Change::Affinity(cpus)) => all.allowed.push(Allowed { at, tid, cpus }),
                (_, Change::Throttled(begins)) => all.throttles.push(Throttle { at, tid, begins }),
                (_, Change::Setting(to)) => all.settings.push(Setting { at, tid, to }),
                (_, Change::Mark(mark)) => all.marks.push(MarkEvent { at, mark }),
                _ => {}
            }
        }
        all
    }
}
