//! The simulation's events, as the kernel tells them.

use super::Sim;
use super::threads::Is;
use crate::program::{Cpus, FRAME};
use model::{
    CpuId, Event, Mark, MarkEdge, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid, Wake, WakeKind, What,
};

/// The process of all threads.
pub(crate) const PID: Pid = Pid(1000);

/// The number of a thread of the simulation.
pub(crate) fn tid(thread: usize) -> Tid {
    Tid(PID.0 + thread as i32)
}

fn name_of(thread: usize) -> NameId {
    NameId(thread as u32 + 1)
}

impl Sim<'_> {
    /// Tells of an event, now or the ns after the one before: no two have the same time, so that their order is theirs.
    fn push(&mut self, cpu: usize, current: Tid, what: What) {
        let at = self.out.events.last().map_or(self.now, |e| self.now.max(e.at.0 + 1));
        let offset = self.out.events.len() as u64;
        self.out.events.push(Event { at: Ns(at), offset, cpu: CpuId(cpu as u32), current, what });
    }

    /// Tells of a thread on the CPU where it runs, else was last.
    fn push_of(&mut self, thread: usize, what: What) {
        let cpu = self.runs_at(thread).unwrap_or(self.threads[thread].last);
        let current = self.cpus[cpu].runs.map_or(Tid::IDLE, tid);
        self.push(cpu, current, what);
    }

    fn named(&mut self, text: &str) -> NameId {
        let at = self.out.names.iter().position(|n| **n == *text).unwrap_or_else(|| {
            self.out.names.push(text.into());
            self.out.names.len() - 1
        });
        NameId(at as u32 + 1)
    }

    /// What a recorder tells at its begin: names, priorities, where threads may run, and that throttles are told.
    pub(super) fn tell_all(&mut self) {
        self.out.names = self.threads.iter().map(|t| t.name.as_str().into()).collect();
        self.push(0, Tid::IDLE, What::Throttle { tid: None, begins: false });
        for thread in 0..self.threads.len() {
            self.push(0, Tid::IDLE, What::Name { tid: tid(thread), pid: PID, name: name_of(thread) });
            self.tell_priority(thread, self.threads[thread].nice);
            self.tell_allowed(thread);
        }
        for cpu in 0..self.cpus.len() {
            self.push(cpu, Tid::IDLE, What::Current { tid: Tid::IDLE });
        }
    }

    /// At which nice value a thread goes on, its own or a lent one.
    pub(super) fn tell_priority(&mut self, thread: usize, nice: i8) {
        self.threads[thread].goes_at = nice;
        self.push_of(
            thread,
            What::Priority { tid: tid(thread), prio: self.prio(thread), policy: Some(0), nice: Some(nice) },
        );
    }

    pub(super) fn tell_allowed(&mut self, thread: usize) {
        let cpus = self.named(&list(self.threads[thread].allowed));
        self.push_of(thread, What::Affinity { tid: tid(thread), cpus });
    }

    pub(super) fn tell_throttle(&mut self, thread: usize, begins: bool) {
        self.push_of(thread, What::Throttle { tid: Some(tid(thread)), begins });
    }

    pub(super) fn tell_mark(&mut self, thread: usize, text: &str, edge: MarkEdge) {
        let name = self.named(text);
        match (text, edge, self.out.frames.last_mut()) {
            (FRAME, MarkEdge::Begin, _) => self.out.frames.push((self.now, self.now)),
            (FRAME, _, Some(frame)) => frame.1 = self.now,
            _ => {}
        }
        self.push_of(thread, What::Mark(Mark { tid: tid(thread), pid: PID, track: 0, name, edge }));
    }

    pub(super) fn tell_move(&mut self, thread: usize, from: usize, to: usize) {
        let current = self.cpus[to].runs.map_or(Tid::IDLE, tid);
        let (from, of) = (CpuId(from as u32), CpuId(to as u32));
        self.push(to, current, What::Migrate { tid: tid(thread), from, to: of });
    }

    pub(super) fn tell_wake(&mut self, thread: usize, waker: Option<usize>, to: usize) {
        let on = waker.and_then(|w| self.runs_at(w)).unwrap_or(to);
        let kinds: &[WakeKind] = match self.threads[thread].is {
            Is::New => &[WakeKind::New],
            _ => &[WakeKind::Waking, WakeKind::Wakeup],
        };
        let (current, by) = (self.cpus[on].runs.map_or(Tid::IDLE, tid), waker.map_or(Tid::IDLE, tid));
        for kind in kinds {
            let wake = Wake {
                tid: tid(thread),
                name: name_of(thread),
                kind: *kind,
                target: Some(CpuId(to as u32)),
                waker: by,
                prio: self.prio(thread),
                stamp: Ns(self.now),
            };
            self.push(on, current, What::Wake(wake));
        }
    }

    pub(super) fn tell_switch(&mut self, cpu: usize, prev: Option<usize>, next: Option<usize>, out: SwitchOut) {
        let prio = |thread: Option<usize>| thread.map_or(Prio::new(120), |t| self.prio(t));
        let name = |thread: Option<usize>| thread.map_or(NameId::NONE, name_of);
        let (from, to) = (prev.map_or(Tid::IDLE, tid), next.map_or(Tid::IDLE, tid));
        let out = if prev.is_none() { SwitchOut::Runnable } else { out };
        let letter = match out {
            SwitchOut::Blocked => b'S',
            SwitchOut::Exited => b'X',
            _ => b'R',
        };
        let switch = Switch {
            prev: from,
            next: to,
            prev_name: name(prev),
            next_name: name(next),
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: prio(prev),
            next_prio: prio(next),
            out,
            letter,
            prev_exec: MaybeNs::NONE,
        };
        self.push(cpu, from, What::Switch(switch));
    }

    fn prio(&self, thread: usize) -> Prio {
        Prio::new(120 + i16::from(self.threads[thread].goes_at))
    }
}

/// A kernel CPU list of these.
fn list(cpus: Cpus) -> String {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < 64 && cpus >> at != 0 {
        at += (cpus >> at).trailing_zeros();
        let many = (!(cpus >> at)).trailing_zeros();
        parts.push(if many == 1 { at.to_string() } else { format!("{at}-{}", at + many - 1) });
        at += many;
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn cpus_as_the_kernel_lists_them() {
        assert_eq!(super::list(0b1), "0");
        assert_eq!(super::list(0b1011_0110), "1-2,4-5,7");
        assert_eq!(super::list(u64::MAX), "0-63");
    }
}
