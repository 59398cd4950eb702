//! A diagnosis as SARIF 2.1.0 (OASIS, 2020), for CI. A finding is a result whose artifact is the trace; threads are its
//! logical locations.

use crate::diagnosis::Diagnosis;
use crate::finding::{Finding, Severity};
use crate::rules::RULES;
use engine::Session;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// The maximum number of threads that are locations of a result, as SARIF viewers show each.
const MAX_THREADS: usize = 16;

/// Formats a diagnosis as SARIF.
///
/// # Errors
/// The JSON serialisation failed.
pub fn sarif(session: &Session, diagnosis: &Diagnosis) -> serde_json::Result<String> {
    let uri = uri(&session.path().display().to_string());
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.about },
                "fullDescription": { "text": format!("{} {}", rule.page.description, rule.page.rationale) },
                "help": { "text": format!("{} {}", rule.page.fix, rule.page.certainty) },
            })
        })
        .collect();
    let not_checked: Vec<Value> = diagnosis
        .not_checked
        .iter()
        .map(|not| json!({ "level": "note", "message": { "text": format!("{} was not checked: {}", not.rule, not.why) } }))
        .collect();
    let results = diagnosis.findings.iter().map(|finding| result(finding, &uri)).collect::<Result<Vec<_>, _>>()?;
    serde_json::to_string_pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "corewise", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": not_checked }],
            "artifacts": [{ "location": { "uri": uri } }],
            "results": results,
            "properties": { "objective": diagnosis.objective },
        }],
    }))
}

fn result(finding: &Finding, uri: &str) -> serde_json::Result<Value> {
    let level = match finding.severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    };
    // Thread instances with the same TID are one location: the schema requires unique items.
    let mut named = BTreeSet::new();
    let threads: Vec<Value> = finding
        .threads
        .iter()
        .filter(|c| named.insert((&c.name, c.tid)))
        .take(MAX_THREADS)
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

/// A path as a URI reference of RFC 3986: reserved bytes are escaped.
fn uri(path: &str) -> String {
    let escaped = path.bytes().map(|b| match b {
        b if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    });
    let escaped: String = escaped.collect();
    if escaped.starts_with('/') { format!("file://{escaped}") } else { escaped }
}
