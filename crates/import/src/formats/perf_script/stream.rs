//! From lines to events.

use super::head::{Head, with_cpu, without_cpu};
use super::records::{Record, record};
use crate::callchains::Callchains;
use crate::text::scan::{blanks, event, hexadecimal};
use crate::text::{Line, Lines, Told};
use crate::tracepoint::{Arguments, Place};
use ingest::{BATCH, Fatal, Ledger, Reach, Stream, Trouble};
use model::{Batch, CpuId, Event, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, SwitchOut, Tid, What};

/// The events of a text.
pub(super) struct ScriptStream<'a> {
    lines: Lines<'a>,
    events: Events,
}

/// What is known from the begin of a text.
pub(super) struct Known {
    pub(super) arguments: Arguments,
    pub(super) tells_cpu: bool,
    /// Switch records count where there is no `sched_switch`.
    pub(super) switch_records: bool,
    /// Whether a switch record without `preempt` says that the thread waits (Linux 4.17).
    pub(super) preempt_told: bool,
}

struct Events {
    told: Told,
    known: Known,
    callchains: Callchains,
    /// The switch whose callchain may follow.
    switch: Option<usize>,
}

impl<'a> ScriptStream<'a> {
    pub(super) fn new(lines: Lines<'a>, known: Known) -> Self {
        let callchains = Callchains::default();
        Self { lines, events: Events { told: Told::new(), known, callchains, switch: None } }
    }
}

impl Stream for ScriptStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while let Some(line) = self.lines.peek()? {
            // A callchain stands behind its event, so a batch ends only where none goes on.
            if out.events.len() >= BATCH && !self.events.in_chain(&line) {
                self.events.close_chain(out);
                return Ok(Reach::Until(MaybeNs::new(self.events.told.until())));
            }
            self.events.read(&line, out, bad);
            self.lines.take();
        }
        self.events.close_chain(out);
        self.events.told.end(out);
        Ok(Reach::End)
    }
}

impl Events {
    #[inline]
    fn read(&mut self, line: &Line<'_>, out: &mut Batch, bad: &mut dyn Ledger) {
        if line.cut {
            bad.trouble("a line longer than 256 KiB was cut", line.offset, Trouble::Odd);
        }
        if let Some(head) = self.head(line) {
            self.close_chain(out);
            self.line(&head, line.offset, out, bad);
        } else if line.bytes.trim_ascii().is_empty() {
            self.close_chain(out);
        } else if !self.frame(line.bytes, out) && !line.bytes.starts_with(b"#") {
            bad.trouble("a line that is no event", line.offset, Trouble::Odd);
        }
    }

    #[inline]
    fn line(&mut self, head: &Head<'_>, offset: u64, out: &mut Batch, bad: &mut dyn Ledger) {
        if head.rest.starts_with(b"PERF_RECORD_") {
            match record(head.rest) {
                Some(record) => self.record(head, record, offset, out),
                None => bad.trouble("a record that cannot be read", offset, Trouble::Lost),
            }
            return;
        }
        let (name, args) = event(head.rest);
        let place = Place { at: head.stamp.at, current: head.tid, stack: StackId::NONE };
        match self.known.arguments.decode(name, args, place, &mut self.told.names, out) {
            Ok(what) => self.push(head, what, offset, out),
            Err(_) => {
                bad.trouble("an event whose arguments cannot be read", offset, Trouble::Lost);
                self.told.losses.torn(offset);
            }
        }
    }

    #[inline]
    fn push(&mut self, head: &Head<'_>, what: What, offset: u64, out: &mut Batch) {
        let event = Event { at: head.stamp.at, offset, cpu: head.cpu, current: head.tid, what };
        self.told.current((head.tid, head.pid, head.comm), &event, out);
        self.told.push(event, out);
        if matches!(what, What::Switch(_)) {
            self.switch = Some(out.events.len() - 1);
        }
    }

    fn record(&mut self, head: &Head<'_>, record: Record<'_>, offset: u64, out: &mut Batch) {
        match record {
            Record::Switch { leaves, preempted } => self.switched(head, leaves, preempted, offset, out),
            Record::Comm { pid, tid, name } => {
                self.told.process(tid, pid);
                let name = self.told.names.comm_text(tid, name, out);
                side_band(head, What::Name { tid, pid, name }, offset, out);
            }
            Record::Fork { pid, tid } => {
                self.told.process(tid, pid);
                side_band(head, What::Name { tid, pid, name: NameId::NONE }, offset, out);
            }
            Record::Lost { events } if head.stamp.at.0 == 0 => self.told.losses.lost_in_all(events),
            Record::Lost { events } => self.told.lost(head.cpu, Some(events), offset),
            Record::Other => {}
        }
    }

    /// A switch record tells one side: who left, or who came.
    fn switched(&mut self, head: &Head<'_>, leaves: bool, preempted: bool, offset: u64, out: &mut Batch) {
        if !self.known.switch_records {
            return;
        }
        self.known.preempt_told |= preempted;
        let name = self.told.names.comm_text(head.tid, head.comm, out);
        let (prev, next) = if leaves { (head.tid, Tid::UNKNOWN) } else { (Tid::UNKNOWN, head.tid) };
        let (prev_name, next_name) = if leaves { (name, NameId::NONE) } else { (NameId::NONE, name) };
        let what = What::Switch(Switch {
            prev,
            next,
            prev_name,
            next_name,
            stack: StackId::NONE,
            prev_state: 0,
            prev_prio: Prio::UNKNOWN,
            next_prio: Prio::UNKNOWN,
            out: match (preempted, self.known.preempt_told) {
                (true, _) => SwitchOut::Preempted,
                (false, true) => SwitchOut::Blocked,
                (false, false) => SwitchOut::Untold,
            },
            letter: if preempted { b'R' } else { b'?' },
            prev_exec: MaybeNs::NONE,
        });
        let event = Event { at: head.stamp.at, offset, cpu: head.cpu, current: Tid::UNKNOWN, what };
        if head.pid != Pid::UNKNOWN {
            self.told.current((head.tid, head.pid, head.comm), &event, out);
        }
        self.told.push(event, out);
    }

    /// Whether a line belongs to the callchain of the last switch.
    fn in_chain(&self, line: &Line<'_>) -> bool {
        self.switch.is_some() && line.bytes.first().is_some_and(u8::is_ascii_whitespace) && self.head(line).is_none()
    }

    #[inline]
    fn head<'l>(&self, line: &Line<'l>) -> Option<Head<'l>> {
        if self.known.tells_cpu { with_cpu(line.bytes) } else { without_cpu(line.bytes) }
    }

    /// A line of a callchain: an address, a symbol, a file. `false`: it is none.
    fn frame(&mut self, line: &[u8], out: &mut Batch) -> bool {
        let text = blanks(line);
        let indented = text.len() < line.len();
        let Some((address, rest)) = hexadecimal(text).filter(|(_, rest)| rest.starts_with(b" ")) else {
            return indented; // branch stacks, registers, source lines: whatever perf was asked to print
        };
        if indented && !rest.is_empty() && self.switch.is_some() {
            let names = &mut self.told.names;
            self.callchains.push(address, || symbol(rest).map_or(NameId::NONE, |symbol| names.id(symbol, out)));
        }
        indented
    }

    #[inline]
    fn close_chain(&mut self, out: &mut Batch) {
        let Some(at) = self.switch.take() else { return };
        let stack = self.callchains.end(out);
        if let Some(Event { what: What::Switch(switch), .. }) = out.events.get_mut(at) {
            switch.stack = stack;
        }
    }
}

/// The function in ` name+0x12 (file)`, of which `+0x12` and the file need not be there; `None` where perf knows none.
fn symbol(rest: &[u8]) -> Option<&[u8]> {
    let text = rest.trim_ascii();
    let ends_a_file = |at: &usize| text[..*at].ends_with(b" ") && text.ends_with(b")");
    let end = (0..text.len()).rev().find(|at| text[*at] == b'(').filter(ends_a_file).unwrap_or(text.len());
    let text = text[..end].trim_ascii_end();
    let plus = (0..text.len()).rev().find(|at| text[*at..].starts_with(b"+0x")).unwrap_or(text.len());
    Some(&text[..plus]).filter(|name| !name.is_empty() && *name != b"[unknown]")
}

/// perf tells the threads that were there before it began with a time of 0: they hold from the begin.
fn side_band(head: &Head<'_>, what: What, offset: u64, out: &mut Batch) {
    let (at, cpu) = if head.stamp.at.0 > 0 { (head.stamp.at, head.cpu) } else { (Ns::MIN, CpuId(0)) };
    if matches!(what, What::Name { tid, .. } if tid.0 > 0) {
        out.events.push(Event { at, offset, cpu, current: Tid::UNKNOWN, what });
    }
}

#[cfg(test)]
mod tests {
    use super::symbol;

    #[test]
    fn functions_of_callchains() {
        let of = |text: &str| symbol(text.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned());
        let named = [
            (" __schedule+0x2b1 ([kernel.kallsyms])", "__schedule"),
            (" schedule", "schedule"),
            (" read+0x10 (/usr/lib/libc.so.6)", "read"),
            (" game::frame(int, char const*)+0x7 (/opt/a game)", "game::frame(int, char const*)"),
            (" game::frame(int)", "game::frame(int)"),
        ];
        for (text, name) in named {
            assert_eq!(of(text).as_deref(), Some(name));
        }
        for text in [" [unknown]", " [unknown] (/x)", " "] {
            assert_eq!(of(text), None);
        }
    }
}
