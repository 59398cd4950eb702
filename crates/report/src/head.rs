//! The head of a report (what was recorded, how completely, at which overhead) and its end (limitations, next steps).

use crate::page::Page;
use crate::words::{TIE, bytes, grouped, percent, plain, plural, time};
use crate::{Options, frames};
use engine::{Session, Summary};
use model::{Ns, Span};

/// Writes the first lines.
pub fn write(page: &mut Page, session: &Session, options: &Options) {
    let s = session.summary();
    if session.full_summary().is_of_frames() {
        frames::head(page, session);
    } else {
        recording_line(page, session);
    }
    if let Some(range) = session.range() {
        page.paragraph(&range_line(session, range, options));
    }
    if let Some(stopped) = &s.stopped {
        page.warn(&format!("reading stopped early: {}; only events before that are included", plain(stopped)));
    }
    for t in s.anomalies.iter().filter(|t| t.lost) {
        let times = plural(t.count, "time");
        page.warn(&format!("data lost while reading: {} ({times}, first at byte {})", t.what, t.first_offset));
    }
    if !session.full_summary().is_of_frames() {
        page.paragraph(&overhead_line(session));
        page.paragraph(&accounting_line(s));
    }
}

/// Writes the duration, how much of it is known, and the recorder.
fn recording_line(page: &mut Page, session: &Session) {
    let s = session.summary();
    let cpu_time = s.cpu_time_ns();
    page.paragraph(&format!(
        "{}: {} on {}; unknown{TIE}{} of CPU time{}, lossy{TIE}{}; inconsistent switches{TIE}{}, missing wakeups{TIE}{}, losses{TIE}{}",
        plain(&session.path().display().to_string()),
        time(s.span_ns),
        plural(s.cpus, "CPU"),
        percent(s.unknown_ns, cpu_time),
        s.inferred_ns.map_or(String::new(), |ns| format!(", inferred{TIE}{}", percent(ns, cpu_time))),
        percent(s.lossy_ns, cpu_time),
        s.inconsistent_switches,
        s.missing_wakeups,
        losses(s),
    ));
    page.paragraph(&source(session));
}

/// Describes the analysed range, and what refers to the whole recording nevertheless.
fn range_line(session: &Session, part: Span, options: &Options) -> String {
    let seconds = |at: Ns| format!("{:.6}{TIE}s", at.0 as f64 / 1e9);
    let requested = options.period.as_ref().map_or(String::new(), |period| format!(" ({})", plain(period)));
    format!(
        "Range: {} to {} of {}{requested}; recording overhead, warnings and unavailable data refer to the whole recording",
        seconds(part.start),
        seconds(part.end),
        time(session.full_summary().span_ns)
    )
}

fn losses(s: &Summary) -> String {
    if s.lost_events > 0 { format!("{} ({} events)", s.losses, grouped(s.lost_events)) } else { s.losses.to_string() }
}

fn about<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
    session.facts().about.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

/// Describes the recorder and the machine.
fn source(session: &Session) -> String {
    let (facts, s) = (session.facts(), session.summary());
    let mut parts = Vec::new();
    let by = match (facts.format.as_str(), about(session, "backend")) {
        ("corewise", Some(backend)) => {
            format!("recorded by corewise, {}", backend.split(" (").next().unwrap_or(backend))
        }
        ("corewise", None) => "recorded by corewise".to_owned(),
        (other, _) => format!("from {other}"),
    };
    parts.push(by);
    let host = about(session, "hostname").map(|h| format!("on {h}"));
    let kernel = about(session, "kernel_release").map(|k| format!("Linux {k}"));
    parts.extend([host, kernel].into_iter().flatten());
    let machine = session.machine();
    let types: Vec<String> = machine
        .class_names
        .iter()
        .rev()
        .map(|name| {
            let of = machine.cpus.iter().filter(|c| c.online && machine.core_type(c.id) == *name).count();
            format!("{of} {}", name.as_str())
        })
        .collect();
    let model = machine.model_name.clone();
    let types = (types.len() > 1).then(|| format!("CPUs: {}", types.join(", ")));
    parts.extend(model.into_iter().chain(types));
    parts.push(plural(s.events, "event"));
    parts.push(plural(s.threads, "thread"));
    plain(&parts.join("; "))
}

/// Describes the recording overhead. It precedes all findings, as it affects them.
fn overhead_line(session: &Session) -> String {
    let s = session.full_summary();
    let Some(cost) = session.facts().cost else {
        return "Recording overhead: unknown".to_owned();
    };
    let cpu_time = s.cpu_time_ns();
    let mut words = format!(
        "Recording overhead: recorder {} ({} of all CPU time)",
        time(cost.recorder_cpu_ns),
        percent(cost.recorder_cpu_ns, cpu_time)
    );
    if let Some(bpf) = cost.bpf_ns {
        words.push_str(&format!(", BPF programs {} ({})", time(bpf), percent(bpf, cpu_time)));
    }
    words.push_str(&format!(", {} of memory, {} written", bytes(cost.max_rss_bytes), bytes(cost.spool_bytes)));
    if cost.events > 0 {
        words.push_str(&format!(" ({:.1} bytes per event)", cost.spool_bytes as f64 / cost.events as f64));
    }
    words.push_str(&format!(", {} events lost", grouped(cost.lost)));
    words
}

/// Returns the line that says whether the time accounting of a trace is consistent, and which checks are not exact.
#[must_use]
pub fn accounting_line(s: &Summary) -> String {
    let off: Vec<String> = s
        .laws
        .iter()
        .filter(|l| l.residual_ns != 0)
        .map(|l| {
            let (law, ns) = (&l.law, time(l.residual_ns));
            if l.exact { format!("\"{law}\" off by {ns}") } else { format!("\"{law}\" within {ns}, by two clocks") }
        })
        .collect();
    let verdict = if s.laws_hold() { "consistent" } else { "INCONSISTENT" };
    let detail =
        if off.is_empty() { format!("{}, exact", plural(s.laws.len() as u64, "check")) } else { off.join("; ") };
    format!("Time accounting: {verdict} ({detail})")
}

/// Writes what the source does not provide, and which conditions changed during the recording.
pub fn write_limits(page: &mut Page, session: &Session) {
    let (facts, s) = (session.facts(), session.summary());
    let mut limits: Vec<String> = facts.lacks.iter().map(|l| plain(l)).collect();
    if !s.ready_known && !session.full_summary().is_of_frames() && !limits.iter().any(|l| l.contains("ready time")) {
        limits.push("The source has no wakeups, so ready time is unknown.".to_owned());
    }
    if s.inconsistent_switches > 0 {
        let source = if facts.format == "corewise" { "the recorder" } else { "the source" };
        limits.push(format!(
            "{} did not continue from the previous switch on the same CPU, so {source} did not get all events: the time in between is unknown.",
            plural(s.inconsistent_switches, "context switch").replace("switchs", "switches")
        ));
    }
    for t in s.anomalies.iter().filter(|t| !t.lost) {
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
    if limits.is_empty() {
        return;
    }
    page.heading("Not available from this source");
    for limit in limits {
        page.item(&limit);
    }
}

/// Whether a condition is a setting: settings do not change by themselves, unlike loads and temperatures.
fn is_setting(name: &str) -> bool {
    const MOVING: [&str; 10] =
        ["psi", "thermal", "temp", "steal", "load", "power", "pressure", "cur_freq", "battery", "uptime"];
    !MOVING.iter().any(|m| name.contains(m))
}

/// Writes commands for the next steps.
pub fn write_next(page: &mut Page, session: &Session, options: &Options, left_out: crate::LeftOut) {
    let path = plain(&session.path().display().to_string());
    let of_part = options.period.as_ref().map_or(String::new(), |period| format!(" {}", plain(period)));
    page.heading("Next steps");
    let mut hints = Vec::new();
    if !session.full_summary().is_of_frames() {
        hints.push((format!("corewise diagnose {path}{of_part}"), "what is wrong, and what fixing it saves"));
    }
    if options.process.is_none() {
        hints.push((format!("corewise report {path}{of_part} --process NAME"), "one process only, by name or PID"));
    }
    if left_out.sections {
        hints.push((
            format!("corewise report {path}{of_part} --sections all"),
            "findings, SMT siblings, waiting, migrations, …: takes longer",
        ));
    }
    if session.summary().frames > 0 {
        hints.push((format!("corewise table {path} frames{of_part} --format csv"), "every frame"));
    }
    if session.full_summary().is_of_frames() && session.is_folder() {
        // The other tables of a frame log are empty.
    } else if session.is_folder() {
        hints.push((
            format!("corewise table {path} thread_state{of_part} --format csv"),
            "every stretch of every thread",
        ));
    } else {
        hints.push((format!("corewise import {path} -o run.cw"), "Parquet files that open immediately"));
        if left_out.concurrency {
            hints
                .push((format!("corewise report {path}{of_part} --concurrency"), "how many CPUs ran at the same time"));
        }
    }
    hints.push((format!("corewise tables {path}"), "list all tables"));
    if !options.pictures {
        hints
            .push((format!("corewise report {path}{of_part} --html run.html"), "the report as one page with pictures"));
    }
    page.commands(hints);
    // The other tables are empty.
    let names: Vec<&str> =
        session.tables().iter().filter(|def| session.may_have_rows(def)).map(|def| def.name).collect();
    page.paragraph(&format!("Tables (corewise table {path} NAME{of_part}): {}", names.join(", ")));
}
