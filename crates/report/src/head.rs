//! The head of a report: what was recorded, when and on which machine.

use crate::words::{TIE, plain, plural, short, time};
use crate::{Options, frames, quality};
use engine::{REDACTED, Session};
use model::{Ns, Span};
use page::Page;

/// The maximum number of characters of the recorded command.
const MAX_COMMAND: usize = 80;

/// Writes what was recorded: the trace and the command, the date and the machine; then what is wrong with the recording, if anything.
pub fn write(page: &mut Page, session: &Session, options: &Options, is_of_samples: bool) {
    if session.full_summary().is_of_frames() {
        frames::head(page, session);
    } else {
        let path = plain(&session.path().display().to_string());
        let command = command(session).map_or(String::new(), |command| format!(" of {}", short(&command, MAX_COMMAND)));
        page.paragraph(&format!("{path}: {}{command}", time(Ns(session.full_summary().span_ns))));
        page.paragraph(&source(session));
    }
    if let Some(range) = session.range() {
        page.paragraph(&range_line(session, range, options));
    }
    quality::warn(page, session, is_of_samples);
}

/// The recorded command.
fn command(session: &Session) -> Option<String> {
    if let Some(line) = about(session, "command_line") {
        return Some(plain(line));
    }
    // corewise's own arguments: the command follows the dashes.
    let (_, command) = about(session, "arguments")?.split_once(" -- ")?;
    Some(plain(&command.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// When the recording began, if the source has it.
fn date(session: &Session) -> Option<String> {
    ["started", "captured_on", "trace_creation_datetime"].iter().find_map(|name| about(session, name)).map(plain)
}

/// Describes the analysed range, and what refers to the whole recording nevertheless.
fn range_line(session: &Session, part: Span, options: &Options) -> String {
    let seconds = |at: Ns| format!("{:.6}{TIE}s", at.0 as f64 / 1e9);
    let requested = options.period.as_ref().map_or(String::new(), |period| format!(" ({})", plain(period)));
    format!(
        "Range: {} to {} of {}{requested}; recording overhead and unavailable data refer to the whole recording",
        seconds(part.start),
        seconds(part.end),
        time(Ns(session.full_summary().span_ns))
    )
}

fn about<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
    // Some sources have the name of a fact without a value.
    session
        .facts()
        .about
        .iter()
        .find(|(n, v)| n == name && !v.trim().is_empty() && v != REDACTED)
        .map(|(_, v)| v.as_str())
}

/// Describes the recorder, the date and the machine.
fn source(session: &Session) -> String {
    let (facts, s) = (session.facts(), session.summary());
    let by = match (facts.format.as_str(), about(session, "backend")) {
        ("corewise", Some(backend)) => {
            format!("recorded by corewise ({})", backend.split(" (").next().unwrap_or(backend))
        }
        ("corewise", None) => "recorded by corewise".to_owned(),
        (other, _) => format!("from {other}"),
    };
    let date = date(session).map_or(String::new(), |date| format!(", {date}"));
    let host = about(session, "hostname").filter(|host| *host != "(none)").map(|h| format!("on {h}"));
    let kernel = about(session, "kernel_release").map(|k| format!("Linux {k}"));
    let machine = session.machine();
    let types: Vec<String> = machine
        .class_names
        .iter()
        .rev()
        .map(|name| {
            let of = machine.cpus.iter().filter(|c| c.online && machine.core_type(c.id) == *name).count();
            format!("{of} {}", name.as_str().replace('_', " "))
        })
        .collect();
    let types = if types.len() > 1 { format!(" ({})", types.join(", ")) } else { String::new() };
    let cpus = format!("{}{types}", plural(s.cpus, "CPU"));
    let cpus = (s.cpus > 0).then_some(cpus);
    let parts = [Some(by + &date), host, machine.model_name.clone(), cpus, kernel];
    let counts = [plural(s.events, "event"), plural(s.threads, "thread")];
    plain(&parts.into_iter().flatten().chain(counts).collect::<Vec<_>>().join("; "))
}
