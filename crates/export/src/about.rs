//! Facts about a trace, as names and values.

use crate::Job;
use engine::REDACTED;

/// Returns names and values for people and for other tools.
pub(crate) fn facts(job: &Job<'_>) -> Vec<(String, String)> {
    let session = job.session;
    let (facts, summary, machine) = (session.facts(), session.summary(), session.machine());
    let mut all = vec![
        ("made_by".to_owned(), concat!("corewise ", env!("CARGO_PKG_VERSION")).to_owned()),
        ("source_format".to_owned(), facts.format.clone()),
        ("clock".to_owned(), facts.clock.clone()),
    ];
    if !session.is_redacted() {
        all.insert(1, ("source".to_owned(), session.path().display().to_string()));
    }
    all.extend(machine.model_name.iter().map(|m| ("machine".to_owned(), m.clone())));
    all.extend(machine.arch.iter().map(|a| ("arch".to_owned(), a.clone())));
    all.push(("cpus".to_owned(), summary.cpus.to_string()));
    let public = facts.about.iter().filter(|(_, value)| value != REDACTED);
    all.extend(public.cloned());
    all.push(("events".to_owned(), summary.events.to_string()));
    all.push(("broken".to_owned(), summary.inconsistent_switches.to_string()));
    all.push(("losses".to_owned(), summary.losses.to_string()));
    all.extend(summary.laws.iter().map(|l| (format!("check: {}", l.law), format!("{} ns", l.residual_ns))));
    let sentences = facts.lacks.iter().filter(|sentence| *sentence != REDACTED);
    all.extend(sentences.map(|l| ("not available".to_owned(), l.clone())));
    all
}
