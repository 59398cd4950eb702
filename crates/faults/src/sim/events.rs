//! The simulation's events, as the kernel would report them.

use super::Sim;
use super::threads::State;
use crate::program::{Cpus, FRAME};
use model::{
    CoreType, CpuId, Event, EventKind, Mark, MarkEdge, MaybeNs, NameId, Ns, Pid, Prio, StackFrame, StackId, Switch,
    SwitchOut, Tid, Wake, WakeKind,
};

/// The TID of the first thread.
const FIRST: Tid = Tid(1000);

/// The callchains of samples, innermost frame first, each a function and its file: of a thread that works, and of one that spins.
const WORKS: [(&str, &str); 2] = [("work", "/usr/bin/program"), ("main", "/usr/bin/program")];
const SPINS: [(&str, &str); 3] = [
    ("gomp_team_barrier_wait_end", "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"),
    ("gomp_team_barrier_wait_final", "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"),
    ("main", "/usr/bin/program"),
];
const WORKING: StackId = StackId(1);
const SPINNING: StackId = StackId(2);

/// Returns the TID of a thread of the simulation.
pub(crate) fn tid(thread: usize) -> Tid {
    Tid(FIRST.0 + thread as i32)
}

fn name_of(thread: usize) -> NameId {
    NameId(thread as u32 + 1)
}

impl Sim<'_> {
    /// Adds an event, now or 1 ns after the one before: no two have the same time, so that their order is fixed.
    fn push(&mut self, cpu: usize, current: Tid, what: EventKind) {
        let at = self.out.events.last().map_or(self.now, |e| self.now.max(e.at.0 + 1));
        let offset = self.out.events.len() as u64;
        self.out.events.push(Event { at: Ns(at), offset, cpu: CpuId(cpu as u32), current, what });
    }

    /// Adds an event of a thread on the CPU where it runs, or else ran last.
    fn push_of(&mut self, thread: usize, what: EventKind) {
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

    fn pid(&self, thread: usize) -> Pid {
        Pid(tid(self.leaders[thread]).0)
    }

    fn chain(&mut self, functions: &[(&str, &str)]) -> Box<[StackFrame]> {
        let frame = |(n, (function, file)): (usize, &(&str, &str))| StackFrame {
            function: self.named(function),
            file: self.named(file),
            ..StackFrame::at(0x40_0000 + 0x100 * n as u64)
        };
        functions.iter().enumerate().map(frame).collect()
    }

    /// Adds what the profiler finds on a CPU.
    pub(super) fn emit_sample(&mut self, cpu: usize, thread: usize) {
        let stack = if self.threads[thread].spins { SPINNING } else { WORKING };
        self.push(
            cpu,
            tid(thread),
            EventKind::CpuSample { tid: tid(thread), stack, name: NameId::NONE, core: CoreType::Uniform },
        );
    }

    /// Adds what a recorder reports at its start: names, priorities, affinities, and that throttling is recorded.
    pub(super) fn emit_start(&mut self) {
        self.out.names = self.threads.iter().map(|t| t.name.as_str().into()).collect();
        self.out.stacks = vec![self.chain(&WORKS), self.chain(&SPINS)];
        self.push(0, Tid::IDLE, EventKind::Throttle { tid: None, begins: false });
        for thread in 0..self.threads.len() {
            self.push(0, Tid::IDLE, EventKind::Name { tid: tid(thread), pid: self.pid(thread), name: name_of(thread) });
            self.emit_priority(thread, self.threads[thread].nice);
            self.emit_allowed(thread);
        }
        for cpu in 0..self.cpus.len() {
            self.push(cpu, Tid::IDLE, EventKind::Current { tid: Tid::IDLE });
        }
    }

    /// Sets a thread's effective nice value: its own or a lent one.
    pub(super) fn emit_priority(&mut self, thread: usize, nice: i8) {
        self.threads[thread].effective_nice = nice;
        self.push_of(
            thread,
            EventKind::Priority { tid: tid(thread), prio: self.prio(thread), policy: Some(0), nice: Some(nice) },
        );
    }

    pub(super) fn emit_allowed(&mut self, thread: usize) {
        let cpus = self.named(&list(self.threads[thread].allowed));
        self.push_of(thread, EventKind::Affinity { tid: tid(thread), cpus });
    }

    pub(super) fn emit_throttle(&mut self, thread: usize, begins: bool) {
        self.push_of(thread, EventKind::Throttle { tid: Some(tid(thread)), begins });
    }

    pub(super) fn emit_mark(&mut self, thread: usize, text: &str, edge: MarkEdge) {
        let name = self.named(text);
        match (text, edge, self.out.frames.last_mut()) {
            (FRAME, MarkEdge::Begin, _) => self.out.frames.push((self.now, self.now)),
            (FRAME, _, Some(frame)) => frame.1 = self.now,
            _ => {}
        }
        self.push_of(thread, EventKind::Mark(Mark { tid: tid(thread), pid: self.pid(thread), track: 0, name, edge }));
    }

    pub(super) fn emit_move(&mut self, thread: usize, from: usize, to: usize) {
        let current = self.cpus[to].runs.map_or(Tid::IDLE, tid);
        let (from, of) = (CpuId(from as u32), CpuId(to as u32));
        self.push(to, current, EventKind::Migrate { tid: tid(thread), from, to: of });
    }

    pub(super) fn emit_wake(&mut self, thread: usize, waker: Option<usize>, to: usize) {
        let on = waker.and_then(|w| self.runs_at(w)).unwrap_or(to);
        let kinds: &[WakeKind] = match self.threads[thread].state {
            State::New => &[WakeKind::New],
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
            self.push(on, current, EventKind::Wake(wake));
        }
    }

    pub(super) fn emit_switch(&mut self, cpu: usize, prev: Option<usize>, next: Option<usize>, out: SwitchOut) {
        let prio = |thread: Option<usize>| thread.map_or(Prio::new(120), |t| self.prio(t));
        let name = |thread: Option<usize>| thread.map_or(NameId::NONE, name_of);
        let (from, to) = (prev.map_or(Tid::IDLE, tid), next.map_or(Tid::IDLE, tid));
        let out = if prev.is_none() { SwitchOut::Runnable } else { out };
        let state_letter = match out {
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
            state_letter,
            prev_exec: MaybeNs::NONE,
        };
        self.push(cpu, from, EventKind::Switch(switch));
    }

    fn prio(&self, thread: usize) -> Prio {
        Prio::new(120 + i16::from(self.threads[thread].effective_nice))
    }
}

/// Formats a CPU set as a kernel CPU list.
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
    fn cpu_lists_have_the_kernels_format() {
        assert_eq!(super::list(0b1), "0");
        assert_eq!(super::list(0b1011_0110), "1-2,4-5,7");
        assert_eq!(super::list(u64::MAX), "0-63");
    }
}
