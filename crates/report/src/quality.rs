//! How far a recording can be trusted: what is wrong with it (first), and how complete and how consistent it is (last).

use crate::Options;
use crate::counted;
use crate::sections::has_all_sections;
use crate::words::{TIE, bytes, ms, percent, plain, plural, time};
use engine::{CallchainEnds, Condition, EngineError, Facts, Session, Summary, THREAD_STATES};
use model::{Ns, SamplingOff};
use page::Page;

/// The maximum number of unavailable data that a short report lists.
const MAX_LIMITS: usize = 4;
/// From this share of the CPUs' time on, unknown time is reported first.
const MUCH_UNKNOWN: f64 = 0.05;

/// What is said of a recording that lacks nothing.
const COMPLETE: &str = "complete";

/// Writes what is wrong with the recording, which affects everything that follows.
pub fn warn(page: &mut Page, session: &Session, is_of_samples: bool) {
    let s = session.summary();
    if let Some(stopped) = &s.stopped {
        page.warn(&format!("reading stopped early: {}; only events before that are included", plain(stopped)));
    }
    for t in s.anomalies.iter().filter(|t| t.lost) {
        let times = plural(t.count, "time");
        page.warn(&format!("data lost while reading: {} ({times}, first at byte {})", t.what, t.first_offset));
    }
    for t in s.anomalies.iter().filter(|t| t.not_understood) {
        let times = plural(t.count, "time");
        let first = t.first_text.as_ref().map_or_else(String::new, |text| format!(": {}", plain(text)));
        page.warn(&format!(
            "not understood, so not used: {} ({times}, first at byte {}{first})",
            t.what, t.first_offset
        ));
    }
    if session.full_summary().is_of_frames() {
        return;
    }
    let (unknown, recorded) = s.unknown_of_recorded();
    let is_much_unknown = !is_of_samples && is_much(unknown, recorded);
    if s.losses > 0 || s.lossy_ns > 0 || is_much_unknown {
        page.warn(&incomplete(s, is_of_samples));
    }
    if !s.laws_hold() {
        page.warn(&accounting_line(s));
    }
}

fn is_much(unknown: i64, cpu_time: i64) -> bool {
    unknown as f64 > cpu_time as f64 * MUCH_UNKNOWN
}

/// Says what is missing, in a sentence.
fn incomplete(s: &Summary, is_of_samples: bool) -> String {
    let mut parts = Vec::new();
    if s.losses > 0 {
        let is_damage = s.lost_events == 0 && s.damaged_records() > 0;
        parts.push(match is_damage {
            true => format!("events are missing in {}", plural(s.losses, "place")),
            false => format!("events were lost {}", times(s)),
        });
    }
    let (unknown, recorded) = s.unknown_of_recorded();
    if unknown > 0 && !is_of_samples {
        parts.push(format!("for {} of CPU time it is unknown what ran", percent(unknown, recorded)));
    }
    if s.lossy_ns > 0 {
        parts.push(format!("{} of CPU time is near a loss", percent(s.lossy_ns, s.cpu_time_ns())));
    }
    format!("The recording is incomplete: {}", parts.join(", "))
}

/// How often events were lost, and how many.
fn times(s: &Summary) -> String {
    let times = plural(s.losses, "time");
    if s.lost_events > 0 { format!("{times} ({})", plural(s.lost_events.unsigned_abs(), "event")) } else { times }
}

/// Says in a line how far the recording can be trusted.
pub fn trust(session: &Session, is_of_samples: bool) -> String {
    let s = session.summary();
    let overhead = session.facts().cost.map_or_else(String::new, |cost| {
        let ns = cost.recorder_cpu_ns.saturating_add(cost.bpf_ns.unwrap_or(0));
        format!("; recording took {} of CPU time", percent(ns, session.full_summary().cpu_time_ns()))
    });
    let (unknown, whole) = s.unknown_of_recorded();
    let complete = match () {
        () if s.stopped.is_some() => "reading stopped early".to_owned(),
        () if s.losses > 0 || s.lossy_ns > 0 || s.anomalies.iter().any(|t| t.lost) => "incomplete".to_owned(),
        () if s.anomalies.iter().any(|t| t.not_understood) => "not understood in part".to_owned(),
        () if unknown > 0 && !is_of_samples => format!("{} of CPU time unknown", percent(unknown, whole)),
        () if s.threads == 0 && s.cpus == 0 => "no event of any thread or CPU".to_owned(),
        () => COMPLETE.to_owned(),
    };
    let consistent = if s.laws_hold() { "" } else { ", INCONSISTENT" };
    let ready = if s.ready_known || is_of_samples { "" } else { ", without wakeups (ready time is a lower bound)" };
    let recorded = match recorded(session) {
        Some(cpus) if complete == COMPLETE => format!(" for {cpus}"),
        Some(cpus) => format!(" (recorded: {cpus})"),
        None => String::new(),
    };
    let off = throttled(session).map_or_else(String::new, |times| format!("; the kernel throttled sampling {times}"));
    format!("Recording: {complete}{recorded}{consistent}{ready}{overhead}{off}.")
}

/// How often and for how long the kernel did not sample; `None` if it always did.
fn throttled(session: &Session) -> Option<String> {
    let all = &session.full_summary().sampling_off;
    let times = plural(all.iter().map(|off| off.times).sum(), "time");
    let ns = all.iter().map(|off| off.off_ns).fold(0, i64::saturating_add);
    (!all.is_empty()).then(|| format!("{times}, for at most {}{TIE}ms", ms(Ns(ns))))
}

/// Says what throttled sampling means for the samples, and what to do.
pub fn note_sampling_off(page: &mut Page, session: &Session) {
    if let Some(times) = throttled(session) {
        page.note(&format!(
            "The kernel throttled sampling {times} in all, because samples came faster than it allows. What ran meanwhile has too few \
             samples, so the shares are biased. Record with a lower rate (perf record with a lower -F or a larger -c), or raise \
             kernel.perf_event_max_sample_rate."
        ));
    }
}

/// The maximum number of events, CPUs and threads in the line of them.
const MAX_OFF: usize = 8;

/// Says for which events, CPUs and threads the kernel throttled sampling.
fn sampling_off_line(session: &Session) -> Option<String> {
    let all = &session.full_summary().sampling_off;
    let of = |off: &SamplingOff| {
        let event = if off.event.is_empty() { "an event" } else { &off.event };
        let place = match (off.cpu, off.tid) {
            (Some(cpu), _) => format!(" on CPU{TIE}{cpu}"),
            (None, Some(tid)) => format!(" of thread{TIE}{tid}"),
            (None, None) => String::new(),
        };
        let end = if off.until_end > 0 { " up to the end of the recording" } else { "" };
        format!("{}{place}: {}, {}{TIE}ms{end}", plain(event), plural(off.times, "time"), ms(Ns(off.off_ns)))
    };
    let shown: Vec<String> = all.iter().take(MAX_OFF).map(of).collect();
    let more = match all.len().saturating_sub(MAX_OFF) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!all.is_empty()).then(|| format!("Sampling throttled by the kernel: {}{more}.", shown.join("; ")))
}

/// Says which CPUs were recorded; `None` if the source has no CPUs.
fn recorded(session: &Session) -> Option<String> {
    let s = session.full_summary();
    if s.recorded_cpus.is_empty() {
        return None;
    }
    let count = session.facts().cpu_count.filter(|count| u64::from(*count) > count_of(&s.recorded_cpus));
    let of = count.map_or_else(String::new, |count| format!(" of {count}"));
    let lacking = match s.unrecorded_cpus.as_str() {
        "" => String::new(),
        cpus => format!(", nothing of {}", named(cpus)),
    };
    // A CPU that is offline or idle all the time has no row: what it did is unknown.
    let silent = match count_of(&s.recorded_cpus).saturating_sub(s.cpus) {
        0 => String::new(),
        _ if s.cpus == 0 => ", none of which had an event".to_owned(),
        silent => format!(", of which {silent} had no event"),
    };
    Some(format!("{}{of}{silent}{lacking}", named(&s.recorded_cpus)))
}

/// Returns `CPU 1` or `CPUs 0-3`.
fn named(cpus: &str) -> String {
    let s = if count_of(cpus) == 1 { "" } else { "s" };
    format!("CPU{s}{TIE}{cpus}")
}

/// Returns the number of CPUs in a list.
fn count_of(cpus: &str) -> u64 {
    engine::cpulist::parse(cpus).map_or(0, |cpus| cpus.len() as u64)
}

/// Writes how complete and consistent the recording is, what it lacks, and which conditions changed meanwhile.
///
/// # Errors
/// The trace cannot be read.
pub fn write(page: &mut Page, session: &Session, options: &Options, is_of_samples: bool) -> Result<(), EngineError> {
    let limits = limits(session);
    let of_frames = session.full_summary().is_of_frames();
    if of_frames && limits.is_empty() {
        return Ok(());
    }
    page.heading("About the data");
    if !of_frames {
        if !is_of_samples {
            page.paragraph(&completeness_line(session.summary()));
        }
        page.paragraph(&overhead_line(session));
        if let Some(off) = sampling_off_line(session) {
            page.paragraph(&off);
        }
        if !is_of_samples {
            page.paragraph(&accounting_line(session.summary()));
        }
        if let Some(ends) = session.facts().callchain_ends.and_then(callchains_line) {
            page.paragraph(&ends);
        }
        // Folders of earlier versions say it without any switch, too.
        if !is_of_samples && let Some(states) = thread_states(session.facts()) {
            page.paragraph(&format!("Thread states: {}", plain(states)));
        }
        // Their tables have been made for the section.
        if has_all_sections(session, &options.sections)
            && let Some(words) = counted::quality(session)?
        {
            page.paragraph(&words);
        }
    }
    if limits.is_empty() {
        return Ok(());
    }
    page.paragraph("Not available:");
    let shown = if options.max_lines.is_some() { MAX_LIMITS.min(limits.len()) } else { limits.len() };
    for limit in &limits[..shown] {
        page.item(if options.max_lines.is_some() { first_sentence(limit) } else { limit });
    }
    if shown < limits.len() {
        page.note(&format!("(and {} more: --full)", limits.len() - shown));
    }
    Ok(())
}

/// A text up to the end of its first sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").map(|end| end + 1).unwrap_or(text.len());
    &text[..end]
}

/// How much of the CPUs' time is known.
fn completeness_line(s: &Summary) -> String {
    let cpu_time = s.cpu_time_ns();
    let inferred = s.inferred_ns.map_or(String::new(), |ns| format!(", inferred{TIE}{}", percent(ns, cpu_time)));
    let losses = if s.losses > 0 { times(s) } else { "0".to_owned() };
    format!(
        "Completeness: unknown{TIE}{} of CPU time{inferred}, lossy{TIE}{}; inconsistent switches{TIE}{}, missing wakeups{TIE}{}, \
         losses{TIE}{losses}",
        percent(s.unknown_ns, cpu_time),
        percent(s.lossy_ns, cpu_time),
        s.inconsistent_switches,
        s.missing_wakeups,
    )
}

/// Says how the states of threads that left a CPU were read, if the recording has the kernel's numbers or state letters.
fn thread_states(facts: &Facts) -> Option<&str> {
    facts.about.iter().find(|(name, _)| name == THREAD_STATES).map(|(_, sentence)| sentence.as_str())
}

/// Describes the recording overhead.
fn overhead_line(session: &Session) -> String {
    let s = session.full_summary();
    let Some(cost) = session.facts().cost else {
        return "Recording overhead: unknown".to_owned();
    };
    let cpu_time = s.cpu_time_ns();
    let mut words = format!(
        "Recording overhead: recorder {} ({} of all CPU time)",
        time(Ns(cost.recorder_cpu_ns)),
        percent(cost.recorder_cpu_ns, cpu_time)
    );
    if let Some(bpf) = cost.bpf_ns {
        words.push_str(&format!(", BPF programs {} ({})", time(Ns(bpf)), percent(bpf, cpu_time)));
    }
    if cost.preparing_cpu_ns > 0 {
        words.push_str(&format!(", {} before it began", time(Ns(cost.preparing_cpu_ns))));
    }
    if let Some(energy) = cost.energy {
        let readings = plural(energy.readings.unsigned_abs(), "reading");
        let wakeups = plural(energy.wakeups.unsigned_abs(), "wakeup");
        let took = time(Ns(energy.cpu_ns));
        words.push_str(&format!(", of the recorder's time {took} for {readings} of energy with {wakeups}"));
    }
    words.push_str(&format!(", {} of memory, {} written", bytes(cost.max_rss_bytes), bytes(cost.spool_bytes)));
    if cost.events > 0 {
        words.push_str(&format!(" ({:.1} bytes per event)", cost.spool_bytes as f64 / cost.events as f64));
    }
    words.push_str(&format!(", {} lost", plural(cost.lost.unsigned_abs(), "event")));
    if is_of_dev_build(&session.facts().conditions) {
        words.push_str("; measured with a build of the dev profile: slower than the installed one (make install)");
    }
    words
}

/// Says how the callchains of programs ended; `None` if there are none, or if all follow frame pointers, so that it is not known.
fn callchains_line(ends: CallchainEnds) -> Option<String> {
    let all = ends.sum();
    if ends.unknown == all {
        return None;
    }
    let share = |count: u64| percent(count.cast_signed(), all.cast_signed());
    let others = [
        (ends.no_table, "end in code without an unwind table"),
        (ends.depth, "are too deep"),
        (ends.cut, "end where the copy of the stack ends"),
        (ends.unreadable, "end at a part of the stack that cannot be read"),
        (ends.not_code, "end at a return address that is not in code"),
        (ends.not_yet + ends.unknown, "follow frame pointers"),
    ];
    let others: Vec<String> = (others.iter().filter(|(count, _)| *count > 0))
        .map(|(count, what)| format!("{} {what}", share(*count)))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    Some(format!("Callchains of programs: {} of {all} reach the root{others}", share(ends.root)))
}

/// Whether a corewise with debug assertions recorded. Only recordings since version 0.2.0 have the condition.
fn is_of_dev_build(conditions: &[Condition]) -> bool {
    let build = conditions.iter().find(|condition| condition.name == "corewise_build");
    build.and_then(|build| build.start.as_ref().ok()).is_some_and(|build| build.ends_with("dev profile"))
}

/// Returns the line that says whether the time accounting of a trace is consistent, and which checks are not exact.
#[must_use]
pub fn accounting_line(s: &Summary) -> String {
    let off: Vec<String> = s
        .laws
        .iter()
        .filter(|l| l.residual_ns != 0)
        .map(|l| {
            let (law, ns) = (&l.law, time(Ns(l.residual_ns)));
            if l.exact { format!("\"{law}\" off by {ns}") } else { format!("\"{law}\" within {ns}, by two clocks") }
        })
        .collect();
    let verdict = if s.laws_hold() { "consistent" } else { "INCONSISTENT" };
    let detail =
        if off.is_empty() { format!("{}, exact", plural(s.laws.len() as u64, "check")) } else { off.join("; ") };
    format!("Time accounting: {verdict} ({detail})")
}

/// What the source does not provide, and which conditions changed during the recording.
fn limits(session: &Session) -> Vec<String> {
    let (facts, s) = (session.facts(), session.summary());
    let mut limits: Vec<String> = facts.lacks.iter().map(|l| plain(l)).collect();
    limits.extend(session.restated());
    if !s.ready_known && s.switches > 0 {
        limits.push(
            "Without wakeups, it is unknown how much of the time after a sleep was ready: ready time is a lower bound, blocked time an upper bound, both without unknown time."
                .to_owned(),
        );
    }
    // Folders of earlier versions list all CPUs where events have none.
    if !s.unrecorded_cpus.is_empty() && !s.recorded_cpus.is_empty() {
        limits.push(format!(
            "Nothing was recorded of {}: a thread that was woken for or moved to a CPU that was not recorded may have run there, so its time is unknown.",
            named(&s.unrecorded_cpus)
        ));
    }
    if s.inconsistent_switches > 0 {
        let source = if facts.format == "corewise" { "the recorder" } else { "the source" };
        limits.push(format!(
            "{} did not continue from the previous switch on the same CPU, so {source} did not get all events: the time in between is unknown.",
            plural(s.inconsistent_switches, "context switch").replace("switchs", "switches")
        ));
    }
    for t in s.anomalies.iter().filter(|t| !t.lost && !t.not_understood) {
        let times = plural(t.count, "time");
        limits.push(format!("Warning: {} ({times}, first at byte {}).", t.what, t.first_offset));
    }
    let changed = facts.conditions.iter().filter_map(|c| match (&c.start, &c.end) {
        (Ok(start), Ok(end)) if start != end && is_setting(&c.name) => Some(format!("{}: {start} -> {end}", c.name)),
        _ => None,
    });
    let changed: Vec<String> = changed.take(6).map(|c| plain(&c)).collect();
    if !changed.is_empty() {
        limits.push(format!("Conditions changed during the recording: {}.", changed.join("; ")));
    }
    limits
}

/// Whether a condition is a setting: settings do not change by themselves, unlike loads and temperatures.
fn is_setting(name: &str) -> bool {
    const MOVING: [&str; 10] =
        ["psi", "thermal", "temp", "steal", "load", "power", "pressure", "cur_freq", "battery", "uptime"];
    !MOVING.iter().any(|m| name.contains(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callchains_that_end_before_the_root_are_counted_by_cause() {
        let spaced = |ends| callchains_line(ends).map(|line| line.replace(TIE, " "));
        let ends = CallchainEnds { root: 90, no_table: 6, cut: 1, not_yet: 3, ..CallchainEnds::default() };
        let line = "Callchains of programs: 90.0 % of 100 reach the root; 6.0 % end in code without an unwind table, 1.0 % end where the copy of the stack ends, 3.0 % follow frame pointers";
        assert_eq!(spaced(ends).as_deref(), Some(line));
        let whole = CallchainEnds { root: 5, ..CallchainEnds::default() };
        assert_eq!(spaced(whole).as_deref(), Some("Callchains of programs: 100.0 % of 5 reach the root"));
        for unknown in [0, 4] {
            assert_eq!(callchains_line(CallchainEnds { unknown, ..CallchainEnds::default() }), None);
        }
    }

    #[test]
    fn only_a_recording_of_the_dev_profile_is_of_a_dev_build() {
        let recorded_by = |name: &str, build: &str| {
            let value: Result<String, String> = Ok(build.to_owned());
            is_of_dev_build(&[Condition { name: name.to_owned(), start: value.clone(), end: value }])
        };
        assert!(recorded_by("corewise_build", "36b44cfd, 2026-11-27, dev profile"));
        assert!(recorded_by("corewise_build", "dev profile"));
        assert!(!recorded_by("corewise_build", "36b44cfd, 2026-11-27, release, guided"));
        assert!(!recorded_by("corewise_version", "dev profile") && !is_of_dev_build(&[]));
    }
}
