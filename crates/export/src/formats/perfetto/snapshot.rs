//! Thread states at an instant: rows of a recording's own snapshot, and those made for the start of an exported part.

use super::Pen;
use super::bundles::FieldValue::{Int, Text};
use crate::directory::Directory;
use crate::{ExportError, Job, Options, stretch};
use model::tables::cpu_state;
use model::{
    Coded, CpuId, CpuState, Event, EventKind, MaybeNs, NameId, Ns, Pid, Prio, SnapshotEntry, SnapshotState, Span,
    StackId, Switch, SwitchOut, Tid, tables,
};

impl Pen<'_> {
    pub(super) fn seen(&mut self, cpu: CpuId, at: Ns, seen: &SnapshotEntry, name: Option<&str>) {
        let state_letter = char::from(seen.state_letter).to_string();
        let mut fields = vec![
            ("pid", Int(i64::from(seen.tid.0))),
            ("state", Text(seen.state.word())),
            ("state_letter", Text(&state_letter)),
        ];
        fields.extend(name.map(|n| ("name", Text(n))));
        if seen.pid != Pid::UNKNOWN {
            fields.push(("tgid", Int(i64::from(seen.pid.0))));
        }
        if seen.cpu != CpuId::UNKNOWN {
            fields.push(("cpu", Int(i64::from(seen.cpu.0))));
        }
        fields.extend(seen.exec.get().map(|exec| ("exec", Int(exec.0))));
        self.bundles.note(cpu, at, "corewise_seen", &fields);
    }

    /// Writes the state of each thread at the begin of the part, which no event in it shows: for corewise as rows of a snapshot, for
    /// viewers as switches from idle to the running thread.
    pub(super) fn states_at(&mut self, job: &mut Job<'_>, at: Ns) -> Result<(), ExportError> {
        // An event at that very instant is in the part and shows the state itself.
        let instant = Span::new(at - Ns(1), at);
        let options = Options { span: Some(instant), ..job.options.clone() };
        let mut part = Job { session: job.session, options: &options, progress: job.progress };
        let directory = Directory::of(job.session)?;
        let now = self.absolute(at);
        stretch::each(&mut part, |s| {
            let state = SnapshotState::of_word(s.state.as_bytes()).filter(|state| *state != SnapshotState::Exited);
            let Some(state) = state else { return Ok(()) };
            let cpu = s.cpu.and_then(|c| u32::try_from(c).ok()).map_or(CpuId::UNKNOWN, CpuId);
            let tid = Tid(i32::try_from(s.tid).unwrap_or(-1));
            let thread = directory.get(s.thread);
            let pid = thread.and_then(|t| t.pid).and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid);
            let state_letter = s.reason.filter(|r| r.len() == 1).and_then(|r| r.bytes().next()).unwrap_or(b'R');
            let seen = SnapshotEntry { tid, pid, name: NameId::NONE, state, state_letter, cpu, exec: MaybeNs::NONE };
            self.seen(cpu, now, &seen, thread.and_then(|t| t.name.as_deref()));
            if state == SnapshotState::Running && cpu != CpuId::UNKNOWN {
                self.bundles.note(cpu, now, "corewise_switch", &[("shown", Int(1))]);
                self.switch_to(cpu, at, tid);
            }
            Ok(())
        })?;
        self.idle_at(job, now, instant)
    }

    /// Notes which CPUs were idle.
    fn idle_at(&mut self, job: &Job<'_>, now: Ns, instant: Span) -> Result<(), ExportError> {
        job.session.rows_within(tables::CPU_STATE.name, Some(instant), &mut |rows| {
            for row in rows.iter().filter(|row| cpu_state::STATE.of(row) == CpuState::Idle.as_str()) {
                let cpu = u32::try_from(cpu_state::CPU.of(row)).map_or(CpuId::UNKNOWN, CpuId);
                self.bundles.note(cpu, now, "corewise_current", &[("pid", Int(0))]);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Writes a switch from the idle task to a thread.
    fn switch_to(&mut self, cpu: CpuId, at: Ns, next: Tid) {
        let switch = Switch {
            prev: Tid::IDLE,
            next,
            prev_name: NameId::NONE,
            next_name: NameId::NONE,
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            out: SwitchOut::Runnable,
            state_letter: b'R',
            prev_exec: MaybeNs::NONE,
        };
        let event = Event { at, offset: 0, cpu, current: Tid::UNKNOWN, what: EventKind::Switch(switch) };
        self.switch(&event, self.absolute(at), &switch, &[]);
    }
}
