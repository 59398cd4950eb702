//! Facts about a trace, as names and values.

use crate::{Job, Options};
use engine::Session;

/// Parts of names of facts that identify a user, a host, a path or a command.
const IDENTIFYING: [&str; 12] =
    ["host", "node_name", "nodename", "command", "cmd", "path", "exe", "arg", "user", "build_id", "file", "cgroup"];

/// Returns names and values for people and for other tools.
pub(crate) fn facts(job: &Job<'_>) -> Vec<(String, String)> {
    let Job { session, options, .. } = job;
    let (facts, summary, machine) = (session.facts(), session.summary(), session.machine());
    let mut all = vec![
        ("made_by".to_owned(), concat!("corewise ", env!("CARGO_PKG_VERSION")).to_owned()),
        ("source_format".to_owned(), facts.format.clone()),
        ("clock".to_owned(), facts.clock.clone()),
    ];
    if !options.redact {
        all.insert(1, ("source".to_owned(), session.path().display().to_string()));
    }
    all.extend(machine.model_name.iter().map(|m| ("machine".to_owned(), m.clone())));
    all.extend(machine.arch.iter().map(|a| ("arch".to_owned(), a.clone())));
    all.push(("cpus".to_owned(), summary.cpus.to_string()));
    let public = facts.about.iter().filter(|(name, value)| !is_left_out(session, options, name, value));
    all.extend(public.cloned());
    all.push(("events".to_owned(), summary.events.to_string()));
    all.push(("broken".to_owned(), summary.inconsistent_switches.to_string()));
    all.push(("losses".to_owned(), summary.losses.to_string()));
    all.extend(summary.laws.iter().map(|l| (format!("check: {}", l.law), format!("{} ns", l.residual_ns))));
    let sentences = facts.lacks.iter().filter(|l| !is_left_out(session, options, "", l));
    all.extend(sentences.map(|l| ("not available".to_owned(), l.clone())));
    all
}

/// Whether redaction leaves a fact out.
fn is_left_out(session: &Session, options: &Options, name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    let hosts = session.facts().about.iter().filter(|(n, v)| n.to_lowercase().contains("host") && !v.is_empty());
    options.redact
        && (IDENTIFYING.iter().any(|t| name.contains(t))
            || value.contains('/')
            || hosts.map(|h| &h.1).any(|h| value.contains(h)))
}
