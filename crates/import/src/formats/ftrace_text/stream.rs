//! Turns lines into events.

use super::head::{Head, head};
use super::kernel_log;
use super::page::Page;
use super::process_dump::{BEGIN, ProcessDump};
use super::stack_trace::StackTraces;
use super::switch_tracer;
use crate::text::scan::{blanks, number, seconds};
use crate::text::{Line, Lines, TextState};
use crate::tracepoint::{Arguments, Place, Unreadable, marker};
use ingest::{Anomaly, BATCH, Fatal, Ledger, Reach, Stream};
use model::{Batch, Clock, CpuId, Event, EventKind, Mark, MarkEdge, MaybeNs, NameId, Ns, StackId, Tid};

/// The maximum length of a program's text; atrace's own limit is a quarter of it.
const MAX_MARK: usize = 4096;

/// The kernel prints events in order of time, but for the differences between the clocks of CPUs.
const MAX_BACK: Ns = Ns(1_000_000);
const BACK: &str = "a line is earlier than the one before it: the text consists of excerpts or of several traces, and what lies between them is missing";

/// The events of a text.
pub(super) struct TextStream<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) page: Page,
    pub(super) events: Events,
}

/// The state kept while lines are read.
pub(super) struct Events {
    state: TextState,
    arguments: Arguments,
    /// Set until the block of the page ends.
    dump: Option<ProcessDump>,
    stack_traces: StackTraces,
    /// The time of the last event.
    last: Ns,
}

impl Stream for TextStream<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while let Some(line) = self.lines.peek()? {
            if out.events.len() >= BATCH && self.events.stack_traces.may_end(line.bytes, out) {
                return Ok(Reach::Until(MaybeNs::new(self.events.state.until())));
            }
            if let Some(bytes) = self.page.line(line.bytes) {
                self.events.read(&Line { bytes: &bytes, ..line }, self.page, out, bad);
            } else {
                self.events.dump = None;
            }
            self.lines.take();
        }
        self.events.stack_traces.end(out);
        self.events.state.end(out);
        Ok(Reach::End)
    }
}

impl Events {
    pub(super) fn new(arguments: Arguments) -> Self {
        Self { state: TextState::new(), arguments, dump: None, stack_traces: StackTraces::default(), last: Ns::MIN }
    }

    #[inline]
    fn read(&mut self, line: &Line<'_>, page: Page, out: &mut Batch, bad: &mut dyn Ledger) {
        if line.cut {
            bad.anomaly("a line longer than 256 KiB was cut", line.offset, Anomaly::Warning);
        }
        if let Some(dump) = &mut self.dump {
            if let Some((tid, pid, name)) = dump.line(line.bytes) {
                self.state.listed(tid, pid, name, line.offset, out);
            }
            out.left_out.threads += std::mem::take(&mut dump.left_out);
            return;
        }
        if self.stack_traces.line(line.bytes, &mut self.state.names, out) {
            return;
        }
        self.stack_traces.end(out);
        match head(line.bytes) {
            Some(head) => self.event(&head, line, out, bad),
            None => self.other_line(line, page, bad),
        }
    }

    #[inline]
    fn event(&mut self, head: &Head<'_>, line: &Line<'_>, out: &mut Batch, bad: &mut dyn Ledger) {
        let current = if head.interrupt { Tid::IDLE } else { head.tid };
        let place = Place { at: head.stamp.at, current, stack: StackId::NONE };
        let what = match head.event {
            b"tracing_mark_write" | b"0" => self.mark(head, head.args, place, out),
            b"print" | b"bprint" | b"bputs" => self.mark(head, skip_function(head.args), place, out),
            b"" if let Some(what) = switch_tracer::event(head, &mut self.state.names, out) => Ok(what),
            name @ (b"" | b"kernel_stack" | b"user_stack") => {
                self.stack_traces.begin(head);
                self.arguments.decode(name, head.args, place, &mut self.state.names, out)
            }
            name => self.arguments.decode(name, head.args, place, &mut self.state.names, out),
        };
        let what = match what {
            Ok(what) => Some(what),
            // systrace ends each page with a clock reading of 0.
            Err(_) if head.stamp.at.0 == 0 && head.args.starts_with(SYNC) => None,
            Err(why) => why.record(line, head.cpu, &mut self.state.losses, bad),
        };
        let Some(what) = what else { return };
        // A time of 0 is systrace's clock reading.
        if head.stamp.at.0 != 0 {
            if self.last > Ns::MIN && self.last - head.stamp.at > MAX_BACK {
                bad.anomaly(BACK, line.offset, Anomaly::Warning);
            }
            self.last = head.stamp.at;
        }
        let event = Event { at: head.stamp.at, offset: line.offset, cpu: head.cpu, current: head.tid, what };
        self.state.current((head.tid, head.pid, head.comm), &event, out);
        self.state.push(event, out);
    }

    /// Parses what a program wrote. Texts of unknown form become instant marks.
    fn mark(&mut self, head: &Head<'_>, text: &[u8], place: Place, out: &mut Batch) -> Result<EventKind, Unreadable> {
        if let Some(reading) = text.strip_prefix(SYNC).map(blanks)
            && [PARENT, REALTIME].iter().any(|clock| reading.starts_with(clock))
        {
            return clock(reading).ok_or(Unreadable::Damaged);
        }
        // LISA writes the frequencies at the start of a recording in this form.
        if let Some(args) = text.strip_prefix(b"cpu_frequency_devlib:")
            && let Ok(what) = self.arguments.decode(b"cpu_frequency", args, place, &mut self.state.names, out)
        {
            return Ok(what);
        }
        let text = &text[..text.len().min(MAX_MARK)];
        let pid = match head.pid {
            model::Pid::UNKNOWN => self.state.process_of(head.tid),
            pid => pid,
        };
        let names = &mut self.state.names;
        Ok(marker(text, head.tid, pid, &mut |name| names.id(name, out)).unwrap_or_else(|| {
            let name = if text.is_empty() { NameId::NONE } else { names.id(text.trim_ascii(), out) };
            EventKind::Mark(Mark { tid: head.tid, pid, track: 0, name, edge: MarkEdge::Instant })
        }))
    }

    /// Handles a line that is not an event: a message of the kernel about its buffers, or something else.
    fn other_line(&mut self, line: &Line<'_>, page: Page, bad: &mut dyn Ledger) {
        // Other messages of a kernel log are not of the trace.
        let message = kernel_log::message(line.bytes);
        let bytes = message.unwrap_or(line.bytes);
        if let Some((cpu, events)) = lost(bytes) {
            self.state.lost(cpu, events, line.offset);
        } else if let Some(cpu) = started(bytes) {
            // The earlier content of this CPU's buffer was overwritten.
            self.state.lost(cpu, None, line.offset);
        } else if page == Page::Script && line.bytes == BEGIN {
            self.dump = Some(ProcessDump::default());
        } else if page == Page::Text && message.is_none() && !is_known_line(line.bytes) {
            bad.not_understood("a line is not an event", line.offset, line.bytes);
        }
    }
}

/// The prefix of atrace's readings of other clocks.
const SYNC: &[u8] = b"trace_event_clock_sync:";
/// The clocks that are read. There are others (`name=6123a4a4-…`, an identifier of the tool's own), which are marks.
const PARENT: &[u8] = b"parent_ts=";
const REALTIME: &[u8] = b"realtime_ts=";

/// `parent_ts=683201.375000` (seconds of CLOCK_MONOTONIC), `realtime_ts=1417091571123` (milliseconds since 1970).
fn clock(text: &[u8]) -> Option<EventKind> {
    if let Some(text) = text.strip_prefix(PARENT) {
        let (stamp, _) = seconds(text)?;
        return (stamp.at.0 > 0).then_some(EventKind::Clock { which: Clock::Monotonic, reading: stamp.at.0 });
    }
    let (ms, _) = number(text.strip_prefix(REALTIME)?)?;
    let reading = i64::try_from(ms).ok()?.checked_mul(1_000_000)?;
    (reading > 0).then_some(EventKind::Clock { which: Clock::Realtime, reading })
}

/// Skips the function that a `print:` starts with, by name or address: `tracing_mark_write: B|…`, `0xffff00000819ff24s:
/// …`. A mark may have a colon of its own (`B|18998|AllocPages: 2`).
fn skip_function(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    let is_function = text[..end].ends_with(b":") && !text[..end].contains(&b'|');
    if is_function { blanks(&text[end..]) } else { text }
}

/// Parses the kernel's `CPU:3 [LOST 123 EVENTS]`, and `CPU:3 [123 EVENTS DROPPED]` and `CPU:3 [EVENTS DROPPED]` of
/// trace-cmd.
fn lost(line: &[u8]) -> Option<(CpuId, Option<u64>)> {
    let (cpu, rest) = number(line.trim_ascii_start().strip_prefix(b"CPU:")?)?;
    let rest = rest.trim_ascii_start().strip_prefix(b"[")?;
    let events = match rest.strip_prefix(b"LOST ") {
        Some(rest) => Some(number(rest)?.0),
        None => {
            let counted = number(rest);
            let words = counted.map_or(rest, |(_, words)| words).trim_ascii_start();
            words.starts_with(b"EVENTS DROPPED").then_some(counted.map(|(events, _)| events))?
        }
    };
    Some((CpuId(u32::try_from(cpu).ok()?), events))
}

/// `##### CPU 3 buffer started ####`
fn started(line: &[u8]) -> Option<CpuId> {
    let (cpu, rest) = number(line.strip_prefix(b"##### CPU ")?)?;
    rest.starts_with(b" buffer started").then_some(CpuId(u32::try_from(cpu).ok()?))
}

/// Whether a line has a known form without further content.
fn is_known_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let known: [&[u8]; 6] = [b"#", b"cpus=", b"version = ", b"TRACE:", b"capturing trace", b"trace.dat"];
    line.is_empty()
        || known.iter().any(|k| line.starts_with(k))
        || line.starts_with(b"CPU ") && line.ends_with(b" is empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_buffers_are_read() {
        assert_eq!(lost(b"CPU:3 [LOST 123 EVENTS]"), Some((CpuId(3), Some(123))));
        assert_eq!(lost(b"CPU:3 [7 EVENTS DROPPED]"), Some((CpuId(3), Some(7))));
        assert_eq!(lost(b"CPU:12 [EVENTS DROPPED]"), Some((CpuId(12), None)));
        assert_eq!(lost(b"CPU:3 [x]"), None);
        assert_eq!(started(b"##### CPU 3 buffer started ####"), Some(CpuId(3)));
        assert_eq!(started(b"##### CPU"), None);
    }

    #[test]
    fn clock_readings_are_read() {
        let read = |text: &str| match clock(text.as_bytes()) {
            Some(EventKind::Clock { which, reading }) => Some((which, reading)),
            _ => None,
        };
        assert_eq!(read("parent_ts=683201.375000"), Some((Clock::Monotonic, 683_201_375_000_000)));
        assert_eq!(read("realtime_ts=3720325137"), Some((Clock::Realtime, 3_720_325_137_000_000)));
        assert_eq!(read("parent_ts=0.0"), None);
        assert_eq!(read("realtime_ts=99999999999999999"), None);
    }

    #[test]
    fn the_printing_function_is_skipped() {
        assert_eq!(skip_function(b"tracing_mark_write: B|1|x y"), b"B|1|x y");
        assert_eq!(skip_function(b"0xffff00000819ff24s: MARK"), b"MARK");
        assert_eq!(skip_function(b"B|1|x"), b"B|1|x");
    }
}
