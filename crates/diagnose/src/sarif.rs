//! For CI: a diagnosis as SARIF 2.1.0 (OASIS, 2020). A finding is a result whose artifact is the trace; threads are its
//! logical locations.

use crate::diagnosis::Diagnosis;
use crate::finding::{Finding, Severity};
use crate::rules::RULES;
use engine::Session;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// So many threads are locations of a result: readers of SARIF show each.
const MOST_THREADS: usize = 16;

/// All of a diagnosis.
///
/// # Errors
/// It cannot be written as JSON.
pub fn sarif(session: &Session, said: &Diagnosis) -> serde_json::Result<String> {
    let uri = uri(&session.path().display().to_string());
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.about },
                "fullDescription": { "text": format!("{} {}", rule.page.finds, rule.page.matters) },
                "help": { "text": format!("{} {}", rule.page.mend, rule.page.sure) },
            })
        })
        .collect();
    let not_checked: Vec<Value> = said
        .not_checked
        .iter()
        .map(|not| json!({ "level": "note", "message": { "text": format!("{} was not checked: {}", not.rule, not.why) } }))
        .collect();
    let results = said.findings.iter().map(|finding| result(finding, &uri)).collect::<Result<Vec<_>, _>>()?;
    serde_json::to_string_pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "corewise", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": not_checked }],
            "artifacts": [{ "location": { "uri": uri } }],
            "results": results,
        }],
    }))
}

fn result(finding: &Finding, uri: &str) -> serde_json::Result<Value> {
    let level = match finding.severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    };
    // Lives of one number are one location: the schema wants them unlike one another.
    let mut named = BTreeSet::new();
    let threads: Vec<Value> = finding
        .threads
        .iter()
        .filter(|c| named.insert((&c.name, c.tid)))
        .take(MOST_THREADS)
        .map(|c| json!({ "name": c.name, "fullyQualifiedName": format!("{}/{}", c.name, c.tid), "kind": "thread" }))
        .collect();
    let mut location = json!({ "physicalLocation": { "artifactLocation": { "uri": uri, "index": 0 } } });
    if !threads.is_empty() {
        location["logicalLocations"] = threads.into();
    }
    Ok(json!({
        "ruleId": finding.rule,
        "ruleIndex": RULES.iter().position(|rule| rule.id == finding.rule).unwrap_or_default(),
        "level": level,
        "message": { "text": format!("{}. {}: {}", finding.title, finding.action.what, finding.action.linux) },
        "locations": [location],
        "properties": serde_json::to_value(finding)?,
    }))
}

/// A path as a reference of RFC 3986: bytes that are not plain are escaped.
fn uri(path: &str) -> String {
    let escaped = path.bytes().map(|b| match b {
        b if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    });
    let escaped: String = escaped.collect();
    if escaped.starts_with('/') { format!("file://{escaped}") } else { escaped }
}
