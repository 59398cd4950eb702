//! Turns lines into events.

use super::head::{Head, with_cpu, without_cpu};
use super::records::{Record, record};
use crate::callchains::Callchains;
use crate::text::scan::{blanks, event, hexadecimal};
use crate::text::{Line, Lines, TextState};
use crate::tracepoint::{Arguments, Place};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid};

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
    /// Whether a switch record without `preempt` means that the thread waits (Linux 4.17).
    pub(super) preempt_recorded: bool,
}

struct Events {
    state: TextState,
    known: Known,
    callchains: Callchains,
    /// The index of the switch whose callchain may follow.
    switch: Option<usize>,
}

impl<'a> ScriptStream<'a> {
    pub(super) fn new(lines: Lines<'a>, known: Known) -> Self {
        let callchains = Callchains::default();
        Self { lines, events: Events { state: TextState::new(), known, callchains, switch: None } }
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
            self.close_chain(out);
            self.line(&head, line, out, bad);
        } else if line.bytes.trim_ascii().is_empty() {
            self.close_chain(out);
        } else if !self.frame(line.bytes, out) && !line.bytes.starts_with(b"#") {
            bad.anomaly("a line is not an event", line.offset, Anomaly::NotUnderstood);
        }
    }

    #[inline]
    fn line(&mut self, head: &Head<'_>, line: &Line<'_>, out: &mut Batch, bad: &mut dyn Ledger) {
        let offset = line.offset;
        if head.rest.starts_with(b"PERF_RECORD_") {
            match record(head.rest) {
                Some(record) => self.record(head, record, offset, out),
                None => bad.anomaly("a record of perf's own has another form", offset, Anomaly::NotUnderstood),
            }
            return;
        }
        let (name, args) = event(head.rest);
        let place = Place { at: head.stamp.at, current: head.tid, stack: StackId::NONE };
        match self.known.arguments.decode(name, args, place, &mut self.state.names, out) {
            Ok(what) => self.push(head, what, offset, out),
            Err(why) => {
                if let Some(what) = why.record(line, &mut self.state.losses, bad) {
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
        if matches!(what, EventKind::Switch(_)) {
            self.switch = Some(out.events.len() - 1);
        }
    }

    fn record(&mut self, head: &Head<'_>, record: Record<'_>, offset: u64, out: &mut Batch) {
        match record {
            Record::Switch { leaves, preempted } => self.switched(head, leaves, preempted, offset, out),
            Record::Comm { pid, tid, name } => {
                self.state.process(tid, pid);
                let name = self.state.names.comm_text(tid, name, out);
                side_band(head, EventKind::Name { tid, pid, name }, offset, out);
            }
            Record::Fork { pid, tid } => {
                self.state.process(tid, pid);
                side_band(head, EventKind::Name { tid, pid, name: NameId::NONE }, offset, out);
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

    /// Whether a line belongs to the callchain of the last switch.
    fn in_chain(&self, line: &Line<'_>) -> bool {
        self.switch.is_some() && line.bytes.first().is_some_and(u8::is_ascii_whitespace) && self.head(line).is_none()
    }

    #[inline]
    fn head<'l>(&self, line: &Line<'l>) -> Option<Head<'l>> {
        if self.known.has_cpu { with_cpu(line.bytes) } else { without_cpu(line.bytes) }
    }

    /// Handles a line of a callchain: an address, a symbol, a file. Returns `false` if it is not one.
    fn frame(&mut self, line: &[u8], out: &mut Batch) -> bool {
        let text = blanks(line);
        let indented = text.len() < line.len();
        let Some((address, rest)) = hexadecimal(text).filter(|(_, rest)| rest.starts_with(b" ")) else {
            return indented; // branch stacks, registers, source lines and other output that was requested of perf
        };
        if indented && !rest.is_empty() && self.switch.is_some() {
            let names = &mut self.state.names;
            self.callchains.push(address, || symbol(rest).map_or(NameId::NONE, |symbol| names.id(symbol, out)));
        }
        indented
    }

    #[inline]
    fn close_chain(&mut self, out: &mut Batch) {
        let Some(at) = self.switch.take() else { return };
        let stack = self.callchains.end(out);
        if let Some(Event { what: EventKind::Switch(switch), .. }) = out.events.get_mut(at) {
            switch.stack = stack;
        }
    }
}

/// Returns the function in ` name+0x12 (file)`, in which `+0x12` and the file are optional; `None` if perf knows none.
fn symbol(rest: &[u8]) -> Option<&[u8]> {
    let text = rest.trim_ascii();
    let ends_a_file = |at: &usize| text[..*at].ends_with(b" ") && text.ends_with(b")");
    let end = (0..text.len()).rev().find(|at| text[*at] == b'(').filter(ends_a_file).unwrap_or(text.len());
    let text = text[..end].trim_ascii_end();
    let plus = (0..text.len()).rev().find(|at| text[*at..].starts_with(b"+0x")).unwrap_or(text.len());
    Some(&text[..plus]).filter(|name| !name.is_empty() && *name != b"[unknown]")
}

/// perf records the threads that existed before it started with a time of 0: they hold from the start.
fn side_band(head: &Head<'_>, what: EventKind, offset: u64, out: &mut Batch) {
    let (at, cpu) = if head.stamp.at.0 > 0 { (head.stamp.at, head.cpu) } else { (Ns::MIN, CpuId(0)) };
    if matches!(what, EventKind::Name { tid, .. } if tid.0 > 0) {
        out.events.push(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
    }
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn functions_of_callchains_are_read() {
        let function = |text: &str| symbol(text.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned());
        let named = [
            (" __schedule+0x2b1 ([kernel.kallsyms])", "__schedule"),
            (" schedule", "schedule"),
            (" read+0x10 (/usr/lib/libc.so.6)", "read"),
            (" game::frame(int, char const*)+0x7 (/opt/a game)", "game::frame(int, char const*)"),
            (" game::frame(int)", "game::frame(int)"),
        ];
        for (text, name) in named {
            assert_eq!(function(text).as_deref(), Some(name));
        }
        for text in [" [unknown]", " [unknown] (/x)", " "] {
            assert_eq!(function(text), None);
        }
    }
}
