//! ftrace's text: `trace` and `trace_pipe` of tracefs, `trace-cmd report`, atrace and systrace with its pages, Perfetto's
//! and LISA's exports.
//!
//! Spec: `Documentation/trace/ftrace.rst` and `kernel/trace/trace_output.c` of the Linux source; for pages and marks,
//! systrace's own source (`external/chromium-trace`). Clock: ftrace's, of which the text does not say which one was chosen;
//! unless `trace_clock` was set it is `sched_clock`. Times are microseconds, or nanoseconds (`trace-cmd report -t`).
//!
//! What the format cannot tell: which events were enabled, the machine, which CPUs a thread may use; and, rounded to
//! microseconds, the order of what happened on two CPUs within one.
//!
//! ```text
//!   mod   open: the text within its wrapping       facts   what the lines before the first event say
//!   page  which lines of a page are the trace's    head    a line's columns
//!   stream  lines → events, losses, clocks, marks  newlines  what adb added
//!   process_dump  systrace's list of threads       stack_trace  the kernel's callchains
//! ```

mod facts;
mod head;
mod newlines;
mod page;
mod process_dump;
mod stack_trace;
mod stream;

use crate::text::Lines;
use crate::text::scan::find;
use crate::tracepoint::Arguments;
use crate::tracepoint::table::Reader;
use flate2::read::ZlibDecoder;
use head::head;
use ingest::{Capability, Fatal, Importer, Input, Offer, Opened, Sniff, Tells};
use newlines::Mended;
use page::Page;
use stream::{Events, TextStream};

/// The importer.
pub struct FtraceText;

/// What stands before atrace's data.
const TRACE: &[u8] = b"TRACE:";
/// The latency tracers' own header.
const LATENCY: &[u8] = b"latency trace v";
/// What a page of systrace or of its viewer has near its begin.
const OF_A_VIEWER: [&[u8]; 5] = [b"System Trace", b"trace-data", b"linuxPerfData", b"i18n-values", b"trace-viewer"];

impl Importer for FtraceText {
    fn id(&self) -> &'static str {
        "ftrace text"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "/sys/kernel/tracing/trace and trace_pipe, trace-cmd report, atrace, systrace (pages too)",
            tells: &[
                (Capability::Switches, Tells::If("event sched_switch")),
                (Capability::Waking, Tells::If("event sched_waking")),
                (Capability::Wakeup, Tells::If("event sched_wakeup")),
                (Capability::Processes, Tells::If("option record-tgid")),
                (Capability::Priority, Tells::If("event sched_switch")),
                (Capability::Idle, Tells::If("event cpu_idle")),
                (Capability::Frequency, Tells::If("event cpu_frequency")),
                (
                    Capability::Parking,
                    Tells::If("events cpuhp, or an Android kernel's sched_cpu_hotplug or sched_isolate"),
                ),
                (Capability::Irq, Tells::If("events irq")),
                (Capability::Charges, Tells::If("event sched_stat_runtime")),
                (Capability::Marks, Tells::If("programs write to trace_marker, as Android's do")),
                (
                    Capability::Stacks,
                    Tells::If(
                        "echo 'stacktrace if prev_state != 0' > events/sched/sched_switch/trigger (the kernel's part)",
                    ),
                ),
                (Capability::Yields, Tells::If("event syscalls:sys_enter_sched_yield; known from the first call on")),
                (Capability::Losses, Tells::Yes),
            ],
            cannot: &[
                "which CPUs a thread may use",
                "the order of what happened on two CPUs within a microsecond, in texts of microseconds",
                "which events were enabled, if they do not occur",
            ],
        }
    }

    fn sniff(&self, begin: &[u8]) -> Sniff {
        let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let holds = |word: &&[u8]| find(begin, word).is_some();
        if Page::of(begin).is_some() {
            return if OF_A_VIEWER.iter().any(holds) { Sniff::Yes } else { Sniff::No };
        }
        if begin.starts_with(b"# tracer: ") || holds(&LATENCY) || packed(begin).is_some() {
            return Sniff::Yes;
        }
        let mut lines = begin.split(|b| *b == b'\n').filter_map(head);
        if lines.any(|head| !head.event.is_empty()) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = Lines::new(match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => return Err(Fatal::new("a folder, not a text of ftrace", 0)),
        });
        if let Some((at, added)) = packed(lines.head()?) {
            lines = Lines::new(match added {
                0 => Box::new(ZlibDecoder::new(lines.into_input(at))),
                _ => Box::new(ZlibDecoder::new(Mended::new(lines.into_input(at), added))),
            });
        }
        let page = to_the_trace(&mut lines)?;
        let begin = lines.head()?;
        if find(begin, LATENCY).is_some() {
            let what = "a latency trace tells times from its own begin and no CPU's whole run: \
                        set the option latency-format to 0, and record the events of sched";
            return Err(Fatal::new(what, 0));
        }
        let facts = facts::facts(begin, page);
        let mut arguments = Arguments::new(Reader::FtraceText);
        arguments.learn(begin);
        let events = Events::new(arguments);
        Ok(Opened { facts, streams: vec![Box::new(TextStream { lines, page, events })] })
    }
}

/// Where the packed text begins that `atrace -z` writes behind a line `TRACE:`, and how many carriage returns a terminal put
/// before each line feed on the way.
fn packed(begin: &[u8]) -> Option<(usize, usize)> {
    const NEAR: usize = 512;
    let near = &begin[..begin.len().min(NEAR)];
    let behind = find(near, TRACE)? + TRACE.len();
    let end = near[behind..].iter().position(|b| *b == b'\n')?;
    let at = behind + end + 1;
    // zlib's head: deflate with any window, and a check that makes both bytes a multiple of 31.
    let (Some(first), Some(second)) = (begin.get(at), begin.get(at + 1)) else { return None };
    let zlib = first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0;
    let added = near[behind..behind + end].iter().rev().take_while(|b| **b == b'\r').count();
    zlib.then_some((at, added))
}

/// Goes to the first line that is the trace's, if this is a page.
fn to_the_trace(lines: &mut Lines<'_>) -> Result<Page, Fatal> {
    let Some(mut page) = Page::of(lines.head()?) else { return Ok(Page::Text) };
    while page == Page::Outside {
        let Some(line) = lines.peek()? else {
            return Err(Fatal::new("a page of HTML without a trace of ftrace in it", 0));
        };
        page.line(line.bytes);
        lines.take();
    }
    Ok(page)
}
