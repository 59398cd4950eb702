//! ftrace text: `trace` and `trace_pipe` of tracefs, `trace-cmd report`, atrace and systrace with its HTML pages, and
//! exports of Perfetto and LISA; a dump of the ring buffers in the kernel log.
//!
//! Spec: `Documentation/trace/ftrace.rst` and `kernel/trace/trace_output.c` of the Linux source; for pages and marks,
//! systrace's source (`external/chromium-trace`). Clock: ftrace's. The text does not state which one was selected; by
//! default it is `sched_clock`. Times are in microseconds, or in nanoseconds (`trace-cmd report -t`).
//!
//! What the format does not contain: the enabled events, the machine, and thread affinity; and, if rounded to
//! microseconds, the order of events on two CPUs within a microsecond.
//!
//! ```text
//!   mod   open: the text, unpacked                 facts   facts in the lines before the first event
//!   page  lines of the trace in a page             head    a line's columns
//!   stream  lines → events, losses, clocks, marks  newlines  newlines changed by adb
//!   process_dump  systrace's list of threads       stack_trace  the kernel's callchains
//!   switch_tracer  lines of the tracer sched_switch
//!   kernel_log  lines of a dump in the kernel log
//! ```

mod facts;
mod head;
mod kernel_log;
mod newlines;
mod page;
mod process_dump;
mod stack_trace;
mod stream;
mod switch_tracer;

use crate::text::Lines;
use crate::text::scan::find;
use crate::tracepoint::Arguments;
use crate::tracepoint::table::Reader;
use flate2::read::ZlibDecoder;
use head::head;
use ingest::{Availability, Capability, Fatal, Importer, Input, Offer, Opened, Sniff};
use newlines::NewlineFixer;
use page::Page;
use stream::{Events, TextStream};

/// The importer.
pub struct FtraceText;

/// The first line of a text of the tracer of functions and their durations.
const FUNCTION_GRAPH: &[u8] = b"# tracer: function_graph";
/// The line before atrace's data.
const TRACE: &[u8] = b"TRACE:";
/// The header of the latency tracers.
const LATENCY: &[u8] = b"latency trace v";
/// Strings near the start of a page of systrace or of its viewer.
const VIEWER_STRINGS: [&[u8]; 5] = [b"System Trace", b"trace-data", b"linuxPerfData", b"i18n-values", b"trace-viewer"];

impl Importer for FtraceText {
    fn id(&self) -> &'static str {
        "ftrace text"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "/sys/kernel/tracing/trace and trace_pipe, trace-cmd report, atrace, systrace (also HTML pages), a dump in the kernel log",
            provides: &[
                (Capability::Switches, Availability::If("event sched_switch")),
                (Capability::Waking, Availability::If("event sched_waking")),
                (Capability::Wakeup, Availability::If("event sched_wakeup")),
                (Capability::Processes, Availability::If("option record-tgid")),
                (Capability::Priority, Availability::If("event sched_switch")),
                (Capability::Idle, Availability::If("event cpu_idle")),
                (Capability::Frequency, Availability::If("event cpu_frequency")),
                (
                    Capability::Parking,
                    Availability::If("events cpuhp, or an Android kernel's sched_cpu_hotplug or sched_isolate"),
                ),
                (Capability::Irq, Availability::If("events irq")),
                (Capability::Charges, Availability::If("event sched_stat_runtime")),
                (Capability::Marks, Availability::If("programs write to trace_marker, as Android's do")),
                (
                    Capability::Stacks,
                    Availability::If(
                        "echo 'stacktrace if prev_state != 0' > events/sched/sched_switch/trigger (the kernel's part)",
                    ),
                ),
                (
                    Capability::Yields,
                    Availability::If("event syscalls:sys_enter_sched_yield; known from the first call"),
                ),
                (Capability::Losses, Availability::Yes),
            ],
            cannot: &[
                "thread affinity",
                "the order of events on two CPUs within a microsecond, if times are in microseconds",
                "which events were enabled but did not occur",
            ],
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let holds = |word: &&[u8]| find(start, word).is_some();
        if Page::of(start).is_some() {
            return if VIEWER_STRINGS.iter().any(holds) { Sniff::Yes } else { Sniff::No };
        }
        if start.trim_ascii_start().starts_with(b"# tracer: ") || holds(&LATENCY) || packed(start).is_some() {
            return Sniff::Yes;
        }
        let mut lines = start.split(|b| *b == b'\n').filter_map(head);
        if lines.any(|head| !head.event.is_empty()) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = Lines::new(match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => {
                return Err(Fatal::new("this is a folder, not ftrace text: give the text file itself", 0));
            }
        });
        if let Some((at, added)) = packed(lines.head()?) {
            lines = Lines::new(match added {
                0 => Box::new(ZlibDecoder::new(lines.into_input(at))),
                _ => Box::new(ZlibDecoder::new(NewlineFixer::new(lines.into_input(at), added))),
            });
        }
        let page = skip_to_trace(&mut lines)?;
        let start = lines.head()?;
        if find(start, LATENCY).is_some() {
            let what = "this is a latency trace, whose times count from its own start and which does not cover whole \
                        CPUs: set the option latency-format to 0 and record the sched events";
            return Err(Fatal::new(what, 0));
        }
        if start.starts_with(FUNCTION_GRAPH) && !start.split(|b| *b == b'\n').any(|line| head(line).is_some()) {
            let what = "this is text of the function_graph tracer, whose lines have no times: use the nop tracer \
                        (echo nop > current_tracer) and record the sched events, or give the trace.dat";
            return Err(Fatal::new(what, 0));
        }
        let facts = facts::facts(start, page);
        let mut arguments = Arguments::new(Reader::FtraceText);
        arguments.learn(start);
        let events = Events::new(arguments);
        Ok(Opened { facts, streams: vec![Box::new(TextStream { lines, page, events })] })
    }
}

/// Returns where the packed text starts that `atrace -z` writes after a line `TRACE:`, and how many carriage returns a
/// terminal inserted before each line feed.
fn packed(start: &[u8]) -> Option<(usize, usize)> {
    const SEARCHED: usize = 512;
    let searched = &start[..start.len().min(SEARCHED)];
    let after = find(searched, TRACE)? + TRACE.len();
    let end = searched[after..].iter().position(|b| *b == b'\n')?;
    let at = after + end + 1;
    // zlib's header: deflate with any window, and a check that makes both bytes together a multiple of 31.
    let (Some(first), Some(second)) = (start.get(at), start.get(at + 1)) else { return None };
    let zlib = first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0;
    let added = searched[after..after + end].iter().rev().take_while(|b| **b == b'\r').count();
    zlib.then_some((at, added))
}

/// Skips to the first line of the trace, if this is a page.
fn skip_to_trace(lines: &mut Lines<'_>) -> Result<Page, Fatal> {
    let Some(mut page) = Page::of(lines.head()?) else { return Ok(Page::Text) };
    while page == Page::Outside {
        let Some(line) = lines.peek()? else {
            return Err(Fatal::new("this HTML page contains no ftrace text", 0));
        };
        page.line(line.bytes);
        lines.take();
    }
    Ok(page)
}
