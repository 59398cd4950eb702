//! Turns lines into events.

use super::head::{Head, with_cpu, without_cpu};
use super::records::{Record, record};
use super::samples::{Frame, SampleLine, frame, sample};
use crate::callchains::Callchains;
use crate::sampled::{IDLE_SAMPLE, is_of_time};
use crate::text::scan::{blanks, event};
use crate::text::{Line, Lines, TextState};
use crate::tracepoint::{Arguments, Place};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Sampled, Stream};
use model::{
    Batch, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Pid, Prio, StackFrame, StackId, Switch, SwitchOut, Tid,
};

/// The events of a text.
pub(super) struct ScriptStream<'a> {
    lines: Lines<'a>,
    events: Events,
}

/// Facts from the start of a text.
pub(super) struct Known {
    pub(super) arguments: Arguments,
    pub(super) has_cpu: bool,
    /// Whether switch records are used, because there is no `sched_switch`.
    pub(super) switch_records: bool,
    /// What the samples are of, if there is any at the start.
    pub(super) sampled: Option<Sampled>,
    /// Whether a switch record without `preempt` means that the thread waits (Linux 4.17).
    pub(super) preempt_recorded: bool,
}

struct Events {
    state: TextState,
    known: Known,
    callchains: Callchains,
    /// The index of the switch or sample whose callchain may follow.
    chain_of: Option<usize>,
    /// Whether indented lines belong to an event: no other line came since.
    in_event: bool,
    /// Whether a frame of the open callchain is in the program.
    in_program: bool,
}

impl<'a> ScriptStream<'a> {
    pub(super) fn new(lines: Lines<'a>, known: Known) -> Self {
        let callchains = Callchains::default();
        let state = TextState::new();
        Self { lines, events: Events { state, known, callchains, chain_of: None, in_event: false, in_program: false } }
    }
}

impl Stream for ScriptStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while let Some(line) = self.lines.peek()? {
            // A callchain follows its event, so a batch ends only where no callchain continues.
            if out.events.len() >= BATCH && !self.events.in_chain(&line) {
                self.events.close_chain(out);
                return Ok(Reach::Until(MaybeNs::new(self.events.state.until())));
            }
            self.events.read(&line, out, bad);
            self.lines.take();
        }
        self.events.close_chain(out);
        self.events.state.end(out);
        Ok(Reach::End)
    }
}

impl Events {
    #[inline]
    fn read(&mut self, line: &Line<'_>, out: &mut Batch, bad: &mut dyn Ledger) {
        if line.cut {
            bad.anomaly("a line longer than 256 KiB was cut", line.offset, Anomaly::Warning);
        }
        if let Some(head) = self.head(line) {
            if self.known.has_cpu && head.cpu == CpuId::UNKNOWN {
                bad.anomaly("an event has no CPU, unlike others", line.offset, Anomaly::Warning);
            }
            self.close_chain(out);
            self.in_event = true;
            self.line(&head, line, out, bad);
        } else if line.bytes.trim_ascii().is_empty() {
            self.close_chain(out);
            self.in_event = false;
        } else if !self.frame(line.bytes, out) && !line.bytes.starts_with(b"#") {
            self.in_event = false;
            bad.not_understood("a line is not an event", line.offset, line.bytes);
        }
    }

    #[inline]
    fn line(&mut self, head: &Head<'_>, line: &Line<'_>, out: &mut Batch, bad: &mut dyn Ledger) {
        let offset = line.offset;
        if head.rest.starts_with(b"PERF_RECORD_") {
            match record(head.rest) {
                Some(record) => self.record(head, record, offset, out),
                None => bad.not_understood("a record of perf's own has another form", offset, line.bytes),
            }
            return;
        }
        let (name, args) = event(head.rest);
        let place = Place { at: head.stamp.at, current: head.tid, stack: StackId::NONE };
        match self.known.arguments.decode(name, args, place, &mut self.state.names, out) {
            Ok(EventKind::Sample) => match sample(head.rest) {
                Some(line) => self.sample(head, &line, offset, out, bad),
                None => self.push(head, EventKind::Sample, offset, out),
            },
            Ok(what) => self.push(head, what, offset, out),
            Err(why) => {
                if let Some(what) = why.record(line, head.cpu, &mut self.state.losses, bad) {
                    self.push(head, what, offset, out);
                }
            }
        }
    }

    #[inline]
    fn push(&mut self, head: &Head<'_>, what: EventKind, offset: u64, out: &mut Batch) {
        let event = Event { at: head.stamp.at, offset, cpu: head.cpu, current: head.tid, what };
        self.state.current((head.tid, head.pid, head.comm), &event, out);
        self.state.push(event, out);
        if matches!(what, EventKind::Switch(_) | EventKind::CpuSample { .. }) {
            self.chain_of = Some(out.events.len() - 1);
        }
    }

    /// A sample of a thread, if its event is the profile. perf prints the name that the thread had at that time.
    fn sample(&mut self, head: &Head<'_>, line: &SampleLine<'_>, offset: u64, out: &mut Batch, bad: &mut dyn Ledger) {
        let sampled = self.known.sampled.get_or_insert_with(|| Sampled {
            event: line.event.to_owned(),
            of_time: is_of_time(line.event),
            ..Sampled::default()
        });
        if line.event != sampled.event || head.tid.0 <= 0 {
            if line.event != sampled.event && sampled.others.iter().all(|other| *other != line.event) {
                bad.anomaly("a sample of another event is not part of the profile", offset, Anomaly::Warning);
            }
            if line.event == sampled.event && head.tid == Tid::IDLE {
                bad.anomaly(IDLE_SAMPLE, offset, Anomaly::Warning);
            }
            return self.push(head, EventKind::Sample, offset, out);
        }
        let name = self.state.names.comm_text(head.tid, head.comm, out);
        let what = EventKind::CpuSample { tid: head.tid, stack: StackId::NONE, name, core: line.core() };
        self.push(head, what, offset, out);
        if let Some(frame) = &line.frame {
            self.push_frame(frame, out);
        }
    }

    fn push_frame(&mut self, frame: &Frame<'_>, out: &mut Batch) {
        let is_high = StackFrame::at(frame.address).in_kernel();
        if is_high && self.in_program && frame.function.is_none() && frame.file.is_none() {
            // Without frame pointers, what perf takes for the caller of a program's function may be any number.
            self.callchains.push_frame(StackFrame::at(StackFrame::CONTEXT_USER));
        }
        self.in_program |= !is_high;
        let names = &mut self.state.names;
        let [function, file] = [frame.function, frame.file].map(|t| t.map_or(NameId::NONE, |text| names.id(text, out)));
        self.callchains.push_frame(StackFrame { function, file, ..StackFrame::at(frame.address) });
    }

    fn record(&mut self, head: &Head<'_>, record: Record<'_>, offset: u64, out: &mut Batch) {
        match record {
            Record::Switch { leaves, preempted } => self.switched(head, leaves, preempted, offset, out),
            Record::Comm { pid, tid, name } => {
                self.state.process(tid, pid);
                let name = self.state.names.comm_text(tid, name, out);
                side_band(head, Tid::UNKNOWN, EventKind::Name { tid, pid, name }, offset, out);
            }
            Record::Fork { pid, tid, parent } => {
                self.state.process(tid, pid);
                side_band(head, parent, EventKind::Name { tid, pid, name: NameId::NONE }, offset, out);
            }
            Record::Lost { events } if head.stamp.at.0 == 0 => self.state.losses.lost_in_all(events),
            Record::Lost { events } => self.state.lost(head.cpu, Some(events), offset),
            Record::Other => {}
        }
    }

    /// A switch record contains one side: the thread that left or the thread that came.
    fn switched(&mut self, head: &Head<'_>, leaves: bool, preempted: bool, offset: u64, out: &mut Batch) {
        if !self.known.switch_records {
            return;
        }
        self.known.preempt_recorded |= preempted;
        let name = self.state.names.comm_text(head.tid, head.comm, out);
        let (prev, next) = if leaves { (head.tid, Tid::UNKNOWN) } else { (Tid::UNKNOWN, head.tid) };
        let (prev_name, next_name) = if leaves { (name, NameId::NONE) } else { (NameId::NONE, name) };
        let what = EventKind::Switch(Switch {
            prev,
            next,
            prev_name,
            next_name,
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            out: match (preempted, self.known.preempt_recorded) {
                (true, _) => SwitchOut::Preempted,
                (false, true) => SwitchOut::Blocked,
                (false, false) => SwitchOut::NotRecorded,
            },
            state_letter: if preempted { b'R' } else { b'?' },
            prev_exec: MaybeNs::NONE,
        });
        let event = Event { at: head.stamp.at, offset, cpu: head.cpu, current: Tid::UNKNOWN, what };
        if head.pid != Pid::UNKNOWN {
            self.state.current((head.tid, head.pid, head.comm), &event, out);
        }
        self.state.push(event, out);
    }

    /// Whether a line belongs to the callchain of the last switch or sample.
    fn in_chain(&self, line: &Line<'_>) -> bool {
        self.chain_of.is_some() && line.bytes.first().is_some_and(u8::is_ascii_whitespace) && self.head(line).is_none()
    }

    #[inline]
    fn head<'l>(&self, line: &Line<'l>) -> Option<Head<'l>> {
        // Events may have been recorded with different fields.
        let with = if self.known.has_cpu { with_cpu(line.bytes) } else { None };
        with.or_else(|| without_cpu(line.bytes))
    }

    /// Handles a line of a callchain: an address, a symbol, a file. Returns `false` if it is not one.
    fn frame(&mut self, line: &[u8], out: &mut Batch) -> bool {
        let text = blanks(line);
        let indented = self.in_event && text.len() < line.len();
        // Other indented lines: branch stacks, registers, source lines and what else was requested of perf.
        if let Some(frame) = frame(text).filter(|_| indented && self.chain_of.is_some()) {
            self.push_frame(&frame, out);
        }
        indented
    }

    #[inline]
    fn close_chain(&mut self, out: &mut Batch) {
        let Some(at) = self.chain_of.take() else { return };
        self.in_program = false;
        let chain = self.callchains.end(out);
        match out.events.get_mut(at).map(|event| &mut event.what) {
            Some(EventKind::Switch(switch)) => switch.stack = chain,
            Some(EventKind::CpuSample { stack, .. }) => *stack = chain,
            _ => {}
        }
    }
}

/// perf records the threads that existed before it started with a time of 0: they hold from the start.
fn side_band(head: &Head<'_>, current: Tid, what: EventKind, offset: u64, out: &mut Batch) {
    let is_early = head.stamp.at.0 <= 0;
    let (at, cpu, current) =
        if is_early { (Ns::MIN, CpuId(0), Tid::UNKNOWN) } else { (head.stamp.at, head.cpu, current) };
    if matches!(what, EventKind::Name { tid, .. } if tid.0 > 0) {
        out.events.push(Event { at, offset, cpu, current, what });
    }
}
