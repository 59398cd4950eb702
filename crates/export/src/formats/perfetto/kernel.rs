//! Events that the kernel's own tracepoints can represent: switches, wakings, migrations, idle states, frequencies, interrupts, forks
//! and exits.

use super::Pen;
use super::bundles::FieldValue::{Int, Text};
use model::{Coded, CpuId, Event, IrqKind, NameId, Ns, Pid, Prio, Switch, SwitchOut, Tid, Wake, WakeKind};

/// Fields of `ftrace/ftrace_event.proto`; those of the events are in `ftrace/{sched,power,irq,task}.proto`.
mod kind {
    pub(super) const SWITCH: u32 = 4;
    pub(super) const FREQUENCY: u32 = 11;
    pub(super) const IDLE: u32 = 13;
    pub(super) const WAKEUP: u32 = 17;
    pub(super) const WAKING: u32 = 20;
    pub(super) const SOFTIRQ_ENTRY: u32 = 24;
    pub(super) const SOFTIRQ_EXIT: u32 = 25;
    pub(super) const IRQ_ENTRY: u32 = 36;
    pub(super) const IRQ_EXIT: u32 = 37;
    pub(super) const WAKEUP_NEW: u32 = 114;
    pub(super) const NEWTASK: u32 = 235;
    pub(super) const EXEC: u32 = 237;
    pub(super) const EXIT: u32 = 238;
    pub(super) const FORK: u32 = 239;
    pub(super) const MIGRATE: u32 = 491;
}

/// `CLONE_THREAD`: the new task is a thread of its creator's process.
const CLONE_THREAD: u64 = 0x1_0000;

/// Returns the number that Linux writes for a state since 4.14, and whether the number says everything that is known.
fn number(out: SwitchOut, state_letter: u8) -> (u32, bool) {
    let number = match (out, state_letter) {
        (SwitchOut::Runnable, _) => 0,
        (SwitchOut::PreemptedToUser | SwitchOut::Yielded | SwitchOut::Throttled | SwitchOut::GaveWay, _) => {
            return (0, false);
        }
        (SwitchOut::Preempted, _) => 256,
        (SwitchOut::Blocked, b'S') => 1,
        (SwitchOut::Blocked, b'D') => 2,
        (SwitchOut::Blocked, b'T') => 4,
        (SwitchOut::Blocked, b't') => 8,
        (SwitchOut::Exited, b'X') => 16,
        (SwitchOut::Exited, b'Z') => 32,
        (SwitchOut::Blocked, b'P') => 64,
        (SwitchOut::Blocked, b'I') => 128,
        (SwitchOut::Exited, _) => return (16, false),
        (SwitchOut::Blocked | SwitchOut::NotRecorded, _) => return (1, false),
    };
    (number, true)
}

/// A priority, if recorded.
fn recorded(prio: Prio) -> Option<i64> {
    prio.get().map(i64::from)
}

impl Pen<'_> {
    /// The note on a switch precedes it.
    pub(super) fn switch(&mut self, e: &Event, at: Ns, s: &Switch, names: &[Box<str>]) {
        if e.cpu == CpuId::UNKNOWN {
            return self.switch_nowhere(at, s);
        }
        let (state, exact) = number(s.out, s.state_letter);
        let mut fields = Vec::new();
        fields.extend(s.prev_exec.get().map(|exec| ("exec", Int(exec.0))));
        if s.prev_state != state {
            fields.push(("state", Int(i64::from(s.prev_state))));
        }
        let state_letter = char::from(s.state_letter).to_string();
        if !exact {
            fields.push(("out", Text(s.out.word())));
            fields.push(("state_letter", Text(&state_letter)));
        }
        if s.prev == Tid::UNKNOWN {
            fields.push(("prev", Int(-1)));
        }
        if s.next == Tid::UNKNOWN {
            fields.push(("next", Int(-1)));
        }
        if !fields.is_empty() {
            self.bundles.note(e.cpu, at, "corewise_switch", &fields);
        }
        // For a side that was not recorded, viewers show the last thread there, or the idle task.
        let last = self.runs.insert(e.cpu, s.next.0.max(0)).unwrap_or(0);
        let prev = if s.prev == Tid::UNKNOWN { last } else { s.prev.0 };
        self.bundles.event(e.cpu, at, Some(prev), kind::SWITCH, |p| {
            if let Some(name) = text(names, s.prev_name) {
                p.text(1, name);
            }
            p.int(2, i64::from(prev));
            if let Some(prio) = recorded(s.prev_prio) {
                p.int(3, prio);
            }
            p.uint(4, u64::from(state));
            if let Some(name) = text(names, s.next_name) {
                p.text(5, name);
            }
            p.int(6, i64::from(s.next.0.max(0)));
            if let Some(prio) = recorded(s.next_prio) {
                p.int(7, prio);
            }
        });
    }

    /// Without a CPU it cannot be an event of the kernel: a note represents all of it.
    fn switch_nowhere(&mut self, at: Ns, s: &Switch) {
        let state_letter = char::from(s.state_letter).to_string();
        let mut fields = vec![
            ("prev", Int(i64::from(s.prev.0))),
            ("next", Int(i64::from(s.next.0))),
            ("out", Text(s.out.word())),
            ("state_letter", Text(&state_letter)),
            ("state", Int(i64::from(s.prev_state))),
        ];
        fields.extend(s.prev_exec.get().map(|exec| ("exec", Int(exec.0))));
        fields.extend(recorded(s.prev_prio).map(|p| ("prev_prio", Int(p))));
        fields.extend(recorded(s.next_prio).map(|p| ("next_prio", Int(p))));
        self.bundles.note(CpuId::UNKNOWN, at, "corewise_switch_nowhere", &fields);
    }

    pub(super) fn wake(&mut self, e: &Event, at: Ns, w: &Wake, names: &[Box<str>]) {
        let kind = match w.kind {
            WakeKind::Waking => kind::WAKING,
            WakeKind::Wakeup => kind::WAKEUP,
            WakeKind::New => kind::WAKEUP_NEW,
            WakeKind::WakeupAtSwitchIn => return self.woken(e, at, w),
        };
        let waker = (w.waker != Tid::UNKNOWN).then_some(w.waker.0);
        self.bundles.event(e.cpu, at, waker, kind, |p| {
            if let Some(name) = text(names, w.name) {
                p.text(1, name);
            }
            p.int(2, i64::from(w.tid.0));
            if let Some(prio) = recorded(w.prio) {
                p.int(3, prio);
            }
            if let Some(target) = w.target {
                p.uint(5, u64::from(target.0));
            }
        });
    }

    /// A wakeup reported together with the switch-in after it, and placed at its time; its own time is a field.
    fn woken(&mut self, e: &Event, at: Ns, w: &Wake) {
        let mut fields = vec![("pid", Int(i64::from(w.tid.0))), ("stamp", Int(self.absolute(w.stamp).0))];
        fields.extend(w.target.map(|c| ("target_cpu", Int(i64::from(c.0)))));
        fields.extend(recorded(w.prio).map(|p| ("prio", Int(p))));
        if w.waker != Tid::UNKNOWN {
            fields.push(("waker", Int(i64::from(w.waker.0))));
        }
        self.bundles.note(e.cpu, at, "corewise_woken", &fields);
    }

    pub(super) fn migrate(&mut self, e: &Event, at: Ns, tid: Tid, from: CpuId, to: CpuId) {
        self.bundles.event(e.cpu, at, None, kind::MIGRATE, |p| {
            p.int(2, i64::from(tid.0));
            p.uint(4, u64::from(from.0));
            p.uint(5, u64::from(to.0));
        });
    }

    pub(super) fn idle(&mut self, e: &Event, at: Ns, state: i32) {
        self.bundles.event(e.cpu, at, None, kind::IDLE, |p| {
            p.uint(1, u64::from(state.cast_unsigned()));
            p.uint(2, u64::from(e.cpu.0));
        });
    }

    pub(super) fn frequency(&mut self, e: &Event, at: Ns, of: CpuId, khz: u32) {
        self.bundles.event(e.cpu, at, None, kind::FREQUENCY, |p| {
            p.uint(1, u64::from(khz));
            p.uint(2, u64::from(of.0));
        });
    }

    pub(super) fn irq(&mut self, e: &Event, at: Ns, of: IrqKind, number: i32, begins: Option<Option<&str>>) {
        let kind = match (of, begins.is_some()) {
            (IrqKind::Hard, true) => kind::IRQ_ENTRY,
            (IrqKind::Hard, false) => kind::IRQ_EXIT,
            (IrqKind::Soft, true) => kind::SOFTIRQ_ENTRY,
            (IrqKind::Soft, false) => kind::SOFTIRQ_EXIT,
            // Perfetto's own events of these have addresses in place of names.
            (IrqKind::Timer | IrqKind::Ipi, _) => {
                let mut fields = vec![("kind", Text(of.word())), ("begins", Int(begins.is_some().into()))];
                fields.extend(begins.flatten().map(|name| ("name", Text(name))));
                return self.bundles.note(e.cpu, at, "corewise_interrupt", &fields);
            }
        };
        self.bundles.event(e.cpu, at, None, kind, |p| {
            p.int(1, i64::from(number));
            if let (IrqKind::Hard, Some(Some(name))) = (of, begins) {
                p.text(2, name);
            }
        });
    }

    /// `task_newtask` gives the process, by a flag; `sched_process_fork` repeats it for readers that know only that event.
    pub(super) fn fork(&mut self, e: &Event, at: Ns, parent: Tid, tid: Tid, pid: Pid, name: Option<&str>) {
        let maker = (parent != Tid::UNKNOWN).then_some(parent.0);
        self.bundles.event(e.cpu, at, maker, kind::NEWTASK, |p| {
            p.int(1, i64::from(tid.0));
            if let Some(name) = name {
                p.text(2, name);
            }
            if pid != Pid::UNKNOWN {
                p.uint(3, if pid.0 == tid.0 { 0 } else { CLONE_THREAD });
            }
        });
        if pid != Pid::UNKNOWN {
            self.bundles.note(
                e.cpu,
                at,
                "corewise_process",
                &[("pid", Int(tid.0.into())), ("tgid", Int(pid.0.into()))],
            );
        }
        self.bundles.event(e.cpu, at, maker, kind::FORK, |p| {
            p.int(2, i64::from(parent.0));
            if let Some(name) = name {
                p.text(3, name);
            }
            p.int(4, i64::from(tid.0));
        });
    }

    pub(super) fn exec(&mut self, e: &Event, at: Ns, tid: Tid, pid: Pid, file: &str) {
        self.bundles.event(e.cpu, at, Some(tid.0), kind::EXEC, |p| {
            p.text(1, file);
            p.int(2, i64::from(tid.0));
            p.int(3, i64::from(pid.0));
        });
    }

    pub(super) fn exit(&mut self, e: &Event, at: Ns, tid: Tid, pid: Pid) {
        self.bundles.event(e.cpu, at, Some(tid.0), kind::EXIT, |p| {
            p.int(2, i64::from(tid.0));
            if pid != Pid::UNKNOWN {
                p.int(3, i64::from(pid.0));
            }
        });
    }
}

/// A text of the trace.
pub(super) fn text(names: &[Box<str>], id: NameId) -> Option<&str> {
    names.get((id.0 as usize).wrapping_sub(1)).map(|n| &**n)
}
