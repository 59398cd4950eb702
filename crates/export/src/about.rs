//! What a trace says of itself, in words.

use crate::{Job, Options};
use engine::Session;

/// Parts of the names of facts that tell who, where or what was run.
const TELLING: [&str; 12] =
    ["host", "node_name", "nodename", "command", "cmd", "path", "exe", "arg", "user", "build_id", "file", "cgroup"];

/// Names and values, as a person or another tool reads them.
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
    let told = facts.about.iter().filter(|(name, value)| !telling(session, options, name, value));
    all.extend(told.cloned());
    all.push(("events".to_owned(), summary.events.to_string()));
    all.push(("broken".to_owned(), summary.broken.to_string()));
    all.push(("losses".to_owned(), summary.losses.to_string()));
    all.extend(summary.laws.iter().map(|l| (format!("law: {}", l.law), format!("{} ns", l.residual_ns))));
    let sentences = facts.lacks.iter().filter(|l| !telling(session, options, "", l));
    all.extend(sentences.map(|l| ("cannot tell".to_owned(), l.clone())));
    all
}

/// Whether a fact is one that is to be left out.
fn telling(session: &Session, options: &Options, name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    let hosts = session.facts().about.iter().filter(|(n, v)| n.to_lowercase().contains("host") && !v.is_empty());
    options.redact
        && (TELLING.iter().any(|t| name.contains(t))
            || value.contains('/')
            || hosts.map(|h| &h.1).any(|h| value.contains(h)))
}
