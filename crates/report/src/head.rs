//! What was recorded, how well, and at which cost; and at the end, what it cannot tell and where to go on.

use crate::page::Page;
use crate::words::{TIE, bytes, grouped, percent, plain, plural, time};
use crate::{Options, frames};
use engine::{Session, Summary};
use model::{Ns, Span};

/// The first lines.
pub fn write(page: &mut Page, session: &Session, options: &Options) {
    let s = session.summary();
    if session.whole().is_of_frames() {
        frames::head(page, session);
    } else {
        what_was_recorded(page, session);
    }
    if let Some(part) = session.part() {
        page.words(&period(session, part, options));
    }
    if let Some(stopped) = &s.stopped {
        page.warn(&format!("reading stopped early: {}; everything before that is counted", plain(stopped)));
    }
    for t in s.troubles.iter().filter(|t| t.lost) {
        page.warn(&format!("lost in reading: {} (x {}, first at byte {})", t.what, t.count, t.first_offset));
    }
    if !session.whole().is_of_frames() {
        page.words(&cost(session));
        page.words(&laws(s));
    }
}

/// How long, how much of it is known, and by whom it was recorded.
fn what_was_recorded(page: &mut Page, session: &Session) {
    let s = session.summary();
    let cpu_time = s.cpu_time_ns();
    page.words(&format!(
        "{}: {} on {}; unknown{TIE}{} of CPU time{}, lossy{TIE}{}; broken{TIE}{}, unwoken{TIE}{}, losses{TIE}{}",
        plain(&session.path().display().to_string()),
        time(s.span_ns),
        plural(s.cpus, "CPU"),
        percent(s.unknown_ns, cpu_time),
        s.inferred_ns.map_or(String::new(), |ns| format!(", inferred{TIE}{}", percent(ns, cpu_time))),
        percent(s.lossy_ns, cpu_time),
        s.broken,
        s.unwoken,
        losses(s),
    ));
    page.words(&source(session));
}

/// Which part is told, and what is told of all nevertheless.
fn period(session: &Session, part: Span, options: &Options) -> String {
    let seconds = |at: Ns| format!("{:.6}{TIE}s", at.0 as f64 / 1e9);
    let asked = options.period.as_ref().map_or(String::new(), |asked| format!(" ({})", plain(asked)));
    format!(
        "period: {} to {} of {}{asked}; what recording cost, what was odd and what cannot be told are of all of it",
        seconds(part.start),
        seconds(part.end),
        time(session.whole().span_ns)
    )
}

fn losses(s: &Summary) -> String {
    if s.lost_events > 0 { format!("{} ({} events)", s.losses, grouped(s.lost_events)) } else { s.losses.to_string() }
}

fn about<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
    session.facts().about.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
}

/// Which tool on which machine.
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

/// What recording cost; before any finding, since it is in all of them.
fn cost(session: &Session) -> String {
    let s = session.whole();
    let Some(cost) = session.facts().cost else {
        return "own cost: this source does not tell what recording it cost".to_owned();
    };
    let cpu_time = s.cpu_time_ns();
    let mut words = format!(
        "own cost: recorder {} ({} of all CPU time)",
        time(cost.recorder_cpu_ns),
        percent(cost.recorder_cpu_ns, cpu_time)
    );
    if let Some(bpf) = cost.bpf_ns {
        words.push_str(&format!(", its BPF programs {} ({})", time(bpf), percent(bpf, cpu_time)));
    }
    words.push_str(&format!(", {} of memory, {} written", bytes(cost.max_rss_bytes), bytes(cost.spool_bytes)));
    if cost.events > 0 {
        words.push_str(&format!(" ({:.1} bytes an event)", cost.spool_bytes as f64 / cost.events as f64));
    }
    words.push_str(&format!(", {} events lost", grouped(cost.lost)));
    words
}

fn laws(s: &Summary) -> String {
    let off: Vec<String> = s
        .laws
        .iter()
        .filter(|l| l.residual_ns != 0)
        .map(|l| {
            format!("\"{}\" is off by {}{}", l.law, time(l.residual_ns), if l.exact { "" } else { " (two clocks)" })
        })
        .collect();
    let verdict = if s.laws_hold() { "yes" } else { "NO" };
    let detail = if off.is_empty() {
        format!("{} hold to the nanosecond", plural(s.laws.len() as u64, "law"))
    } else {
        off.join("; ")
    };
    format!("accounts close: {verdict} ({detail})")
}

/// What this source cannot tell, and which conditions changed while it ran.
pub fn write_limits(page: &mut Page, session: &Session) {
    let (facts, s) = (session.facts(), session.summary());
    let mut limits: Vec<String> = facts.lacks.iter().map(|l| plain(l)).collect();
    if !s.ready_known && !session.whole().is_of_frames() && !limits.iter().any(|l| l.contains("ready time")) {
        limits.push("It has no wakings, so ready time is not known.".to_owned());
    }
    if s.broken > 0 {
        let by = if facts.format == "corewise" { "The recorder" } else { "It" };
        limits.push(format!(
            "{by} was not told what happened while some tasks ran ({} that do not link to the one before on their CPU): \
             that time is unknown.",
            plural(s.broken, "switch").replace("switchs", "switches")
        ));
    }
    for t in s.troubles.iter().filter(|t| !t.lost) {
        limits.push(format!("odd: {} (x {}, first at byte {}).", t.what, t.count, t.first_offset));
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
    page.heading("What this source cannot tell");
    for limit in limits {
        page.item(&limit);
    }
}

/// Settings stay as they are unless somebody changes them; loads and temperatures always move.
fn is_setting(name: &str) -> bool {
    const MOVING: [&str; 10] =
        ["psi", "thermal", "temp", "steal", "load", "power", "pressure", "cur_freq", "battery", "uptime"];
    !MOVING.iter().any(|m| name.contains(m))
}

/// What to ask next.
pub fn write_next(page: &mut Page, session: &Session, options: &Options, left_out: crate::LeftOut) {
    let path = plain(&session.path().display().to_string());
    let of_part = options.period.as_ref().map_or(String::new(), |period| format!(" {}", plain(period)));
    page.heading("Next");
    let mut hints = Vec::new();
    if options.process.is_none() {
        hints.push((format!("corewise report {path}{of_part} --process NAME"), "one process only, by name or number"));
    }
    if left_out.sections {
        hints.push((
            format!("corewise report {path}{of_part} --sections all"),
            "siblings, waiting, migrations, …: takes longer",
        ));
    }
    if session.summary().frames > 0 {
        hints.push((format!("corewise table {path} frames{of_part} --format csv"), "every frame"));
    }
    if session.whole().is_of_frames() && session.is_folder() {
        // Its other tables are empty.
    } else if session.is_folder() {
        hints.push((
            format!("corewise table {path} thread_state{of_part} --format csv"),
            "every stretch of every thread",
        ));
    } else {
        hints.push((format!("corewise import {path} -o run.cw"), "a folder of Parquet that opens at once"));
        if left_out.concurrency {
            hints.push((format!("corewise report {path}{of_part} --concurrency"), "how many CPUs ran at once"));
        }
    }
    hints.push((format!("corewise tables {path}"), "what else can be asked"));
    if !options.pictures {
        hints.push((format!("corewise report {path}{of_part} --html run.html"), "all of it as one page with pictures"));
    }
    page.commands(hints);
    // The others are empty.
    let names: Vec<&str> =
        session.tables().iter().filter(|def| session.may_have_rows(def)).map(|def| def.name).collect();
    page.words(&format!("Tables (corewise table {path} NAME{of_part}): {}", names.join(", ")));
}
