//! What files look like that are well known and no recordings, with what to do: the end of the error for an unknown format.

use super::{HEAD, head};
use std::fs::File;
use std::path::Path;

const MACHINE: &str = "; it looks like the description of a machine: `corewise topo FILE` reads it";
const DTRACE: &str = "; it looks like stacks with counts that DTrace printed, which have no times and threads: stackcollapse.pl and \
                      flamegraph.pl, or speedscope.app, draw them";
const FOLDED: &str = "; it looks like folded stacks, which have no times and threads: flamegraph.pl, inferno or speedscope.app draw them";
const RAW_PAGES: &str = "; it looks like raw pages of the ring buffer of one CPU (trace.dat.cpuN, trace_pipe_raw), which do not say what \
                         their events are: `trace-cmd restore` makes a trace.dat of them";
const DELAYS: &str = "; it looks like delays that a tool printed (runqslower, runqlat, perf sched latency, perf sched timehist, cyclictest), \
                      without the switches that they come from: record those, with `corewise record` or `perf sched record`";
/// Words that the heads of such tables have.
const OF_DELAYS: [&[&str]; 5] = [
    &["COMM", "LAT(us)"],
    &["usecs", ": count", "distribution"],
    &["Task", "Runtime ms", "Switches", "delay ms"],
    &["wait time", "sch delay", "run time"],
    &["T: 0 (", "P:", "I:", "C:", "Min:", "Max:"],
];

/// Returns the hint for a file; `None` if it looks like nothing known.
pub(super) fn of(path: &Path) -> Option<&'static str> {
    // Opening a pipe would wait for a writer.
    let file = if path.is_file() { File::open(path).ok()? } else { return None };
    let head = head(&file, path).ok()?;
    let text = String::from_utf8_lossy(&head);
    match () {
        () if topology::is_description(&text) => Some(MACHINE),
        () if is_of_dtrace(&text) => Some(DTRACE),
        () if is_folded(&text) => Some(FOLDED),
        () if is_of_pages(&head, &file) => Some(RAW_PAGES),
        () if OF_DELAYS.iter().any(|words| words.iter().all(|word| text.contains(word))) => Some(DELAYS),
        () => None,
    }
}

/// Whether a text begins with a frame of DTrace (``module`function+0x18``), and has a line with a count.
fn is_of_dtrace(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_frame = lines.next().is_some_and(|line| line.contains('`'));
    is_frame && lines.any(|line| line.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether all whole lines are `frame;frame;frame COUNT`; a stack of one frame has no semicolon.
fn is_folded(text: &str) -> bool {
    let (whole, _) = text.rsplit_once('\n').unwrap_or((text, ""));
    let has_count = |line: &str| line.rsplit_once(' ').is_some_and(|(_, count)| count.parse::<u64>().is_ok());
    whole.contains(';') && whole.lines().filter(|line| !line.is_empty()).all(has_count)
}

/// Whether a file consists of pages of the kernel's ring buffer, which begin with a time and the size of their content.
fn is_of_pages(head: &[u8], file: &File) -> bool {
    let size = head.get(8..).and_then(|rest| rest.first_chunk()).map_or(0, |size| u64::from_le_bytes(*size));
    let is_page = head.len() as u64 == HEAD && size > 0 && size <= HEAD - 16 && size % 4 == 0;
    is_page && file.metadata().is_ok_and(|of| of.len() % HEAD == 0)
}
