//! The facts in a text before its first event.

use super::head::head;
use super::page::Page;
use crate::text::scan::find;
use ingest::{Facts, Importer, StateSource};

/// The maximum number of lines examined before the first event.
const MAX_LINES: usize = 1000;
/// The maximum length of a value; longer ones are cut.
const MAX_VALUE: usize = 64;

/// Returns the facts from the start of a text.
pub(super) fn facts(start: &[u8], page: Page) -> Facts {
    let mut facts = Facts {
        format: super::FtraceText.id().to_owned(),
        clock: "ftrace (trace_clock not recorded)".to_owned(),
        has_charges: memchr::memmem::find(start, b" sched_stat_runtime: ").is_some(),
        whole_machine: true,
        states: StateSource::Printed,
        ..Facts::default()
    };
    add_lack(&mut facts, "ftrace text does not contain thread affinity.");
    add_lack(&mut facts, "The text does not state the clock. The default is sched_clock.");
    header_lines(start, page, &mut facts);
    resolution(start, page, &mut facts);
    facts
}

fn add_lack(facts: &mut Facts, what: &str) {
    facts.lacks.push(what.to_owned());
}

fn add_about(facts: &mut Facts, name: &str, value: &[u8]) {
    let value = String::from_utf8_lossy(&value[..value.len().min(MAX_VALUE)]).trim().to_owned();
    facts.about.push((name.to_owned(), value));
}

/// Reads the lines before the first event.
fn header_lines(start: &[u8], mut page: Page, facts: &mut Facts) {
    let lines = start.split(|b| *b == b'\n').filter_map(|line| page.line(line));
    for line in lines.take_while(|line| head(line).is_none()).take(MAX_LINES) {
        if let Some(tracer) = line.strip_prefix(b"# tracer:") {
            add_about(facts, "tracer", tracer);
        } else if let Some(cpus) = line.strip_prefix(b"cpus=") {
            add_about(facts, "cpus", cpus);
            facts.cpu_count = count(cpus);
        } else if let Some(entries) = line.strip_prefix(b"# entries-in-buffer/entries-written:") {
            let (entries, cpus) = entries.split_at(find(entries, b"#P:").unwrap_or(entries.len()));
            add_about(facts, "entries_in_buffer_of_written", entries);
            if let Some(cpus) = cpus.strip_prefix(b"#P:") {
                add_about(facts, "cpus_online", cpus);
                facts.cpu_count = count(cpus);
            }
            if overwritten(entries) {
                let what =
                    "The kernel's buffers were full: earlier events were overwritten, up to another time on each CPU.";
                add_lack(facts, what);
            }
        }
    }
}

/// Reads a number of CPUs.
fn count(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Whether `1042/5000` shows that events were overwritten.
fn overwritten(entries: &[u8]) -> bool {
    let text = String::from_utf8_lossy(entries);
    let number = |text: &str| text.trim().parse::<u64>().ok();
    text.split_once('/').is_some_and(|(held, written)| number(held) < number(written))
}

/// Determines the resolution of timestamps from the first event.
fn resolution(start: &[u8], mut page: Page, facts: &mut Facts) {
    let mut lines = start.split(|b| *b == b'\n').filter_map(|line| page.line(line));
    let first = lines.find_map(|line| head(&line).map(|head| head.stamp.digits));
    let unit = match first {
        Some(Some(7..)) => "1 ns",
        Some(Some(_)) => "1 µs",
        Some(None) => "1 unit of the trace clock",
        None => "unknown",
    };
    add_about(facts, "resolution", unit.as_bytes());
    match first {
        Some(Some(..7)) => add_lack(facts, "Times are rounded to microseconds."),
        Some(None) => {
            let what = "Times are plain numbers and are read as nanoseconds. With the clock x86-tsc they are ticks, so \
                        durations are only correct relative to each other.";
            add_lack(facts, what);
        }
        _ => {}
    }
}
