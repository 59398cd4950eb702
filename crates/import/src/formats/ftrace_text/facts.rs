//! What a text says before its first event.

use super::head::head;
use super::page::Page;
use crate::text::scan::find;
use ingest::{Facts, Importer};

/// Lines before the first event that are looked at.
const MOST_LINES: usize = 1000;
/// A longer value is cut.
const LONGEST: usize = 64;

/// What the begin of a text tells.
pub(super) fn facts(begin: &[u8], page: Page) -> Facts {
    let mut facts = Facts {
        format: super::FtraceText.id().to_owned(),
        clock: "ftrace (its trace_clock is not told)".to_owned(),
        has_charges: memchr::memmem::find(begin, b" sched_stat_runtime: ").is_some(),
        whole_machine: true,
        ..Facts::default()
    };
    lack(&mut facts, "Which CPUs a thread may use is not in ftrace's text.");
    lack(&mut facts, "The text does not say which clock was chosen; without a choice it is sched_clock.");
    remarks(begin, page, &mut facts);
    resolution(begin, page, &mut facts);
    facts
}

fn lack(facts: &mut Facts, what: &str) {
    facts.lacks.push(what.to_owned());
}

fn tell(facts: &mut Facts, name: &str, value: &[u8]) {
    let value = String::from_utf8_lossy(&value[..value.len().min(LONGEST)]).trim().to_owned();
    facts.about.push((name.to_owned(), value));
}

/// Reads the lines before the first event.
fn remarks(begin: &[u8], mut page: Page, facts: &mut Facts) {
    let lines = begin.split(|b| *b == b'\n').filter_map(|line| page.line(line));
    for line in lines.take_while(|line| head(line).is_none()).take(MOST_LINES) {
        if let Some(tracer) = line.strip_prefix(b"# tracer:") {
            tell(facts, "tracer", tracer);
        } else if let Some(cpus) = line.strip_prefix(b"cpus=") {
            tell(facts, "cpus", cpus);
        } else if let Some(entries) = line.strip_prefix(b"# entries-in-buffer/entries-written:") {
            let (entries, cpus) = entries.split_at(find(entries, b"#P:").unwrap_or(entries.len()));
            tell(facts, "entries_in_buffer_of_written", entries);
            if let Some(cpus) = cpus.strip_prefix(b"#P:") {
                tell(facts, "cpus_online", cpus);
            }
            if overwritten(entries) {
                let what =
                    "The kernel's buffers were full: earlier events were overwritten, on each CPU up to another time.";
                lack(facts, what);
            }
        }
    }
}

/// Whether `1042/5000` says that some were overwritten.
fn overwritten(entries: &[u8]) -> bool {
    let text = String::from_utf8_lossy(entries);
    let number = |text: &str| text.trim().parse::<u64>().ok();
    text.split_once('/').is_some_and(|(held, written)| number(held) < number(written))
}

/// How exact the times are, by the first event's.
fn resolution(begin: &[u8], mut page: Page, facts: &mut Facts) {
    let mut lines = begin.split(|b| *b == b'\n').filter_map(|line| page.line(line));
    let first = lines.find_map(|line| head(&line).map(|head| head.stamp.digits));
    let unit = match first {
        Some(Some(7..)) => "1 ns",
        Some(Some(_)) => "1 µs",
        Some(None) => "1 of what its clock counts",
        None => "unknown",
    };
    tell(facts, "resolution", unit.as_bytes());
    match first {
        Some(Some(..7)) => lack(facts, "Times are rounded to microseconds."),
        Some(None) => {
            let what = "Times are bare numbers, taken as nanoseconds: of the clock x86-tsc they are ticks, and lengths are \
                        only right in proportion.";
            lack(facts, what);
        }
        _ => {}
    }
}
