//! Verifies the SARIF output against the schema of SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json, in oasis-tcs/sarif-spec under
//! `Schemata/`). For each kind of object that a diagnosis has: the required properties, the allowed ones (`additionalProperties` is
//! false except in a property bag), the values of `level`, the minimum index, and that logical locations of a location are unique.

use crate::support;
use diagnose::{Options, RULES};
use serde_json::Value;
use std::collections::BTreeSet;

/// A kind of object: its name, its required properties, and its known properties with their kinds. `[]` marks a list; a property with
/// an empty kind is not an object.
type Kind = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const SCHEMA: &[Kind] = &[
    ("log", &["version", "runs"], &[("$schema", ""), ("version", ""), ("runs", "run[]")]),
    (
        "run",
        &["tool"],
        &[
            ("tool", "tool"),
            ("invocations", "invocation[]"),
            ("artifacts", "artifact[]"),
            ("results", "result[]"),
            ("properties", ""),
        ],
    ),
    ("tool", &["driver"], &[("driver", "toolComponent")]),
    ("toolComponent", &["name"], &[("name", ""), ("version", ""), ("rules", "reportingDescriptor[]")]),
    (
        "reportingDescriptor",
        &["id"],
        &[
            ("id", ""),
            ("shortDescription", "multiformatMessageString"),
            ("fullDescription", "multiformatMessageString"),
            ("help", "multiformatMessageString"),
        ],
    ),
    ("multiformatMessageString", &["text"], &[("text", "")]),
    (
        "invocation",
        &["executionSuccessful"],
        &[("executionSuccessful", ""), ("toolExecutionNotifications", "notification[]")],
    ),
    ("notification", &["message"], &[("level", ""), ("message", "message")]),
    // The schema also allows an id, which is not used.
    ("message", &["text"], &[("text", "")]),
    ("artifact", &[], &[("location", "artifactLocation")]),
    ("artifactLocation", &[], &[("uri", ""), ("index", "")]),
    (
        "result",
        &["message"],
        &[
            ("ruleId", ""),
            ("ruleIndex", ""),
            ("level", ""),
            ("message", "message"),
            ("locations", "location[]"),
            ("properties", ""),
        ],
    ),
    ("location", &[], &[("physicalLocation", "physicalLocation"), ("logicalLocations", "logicalLocation[]")]),
    // The schema also allows an address, which is not used.
    ("physicalLocation", &["artifactLocation"], &[("artifactLocation", "artifactLocation")]),
    ("logicalLocation", &[], &[("name", ""), ("fullyQualifiedName", ""), ("kind", "")]),
];

/// Verifies an object and all nested ones against their kinds. Adds the kinds to `met`.
fn verify(kind: &str, object: &Value, met: &mut BTreeSet<String>) {
    let (_, required, may) = SCHEMA.iter().find(|(name, ..)| *name == kind).unwrap_or_else(|| panic!("no kind {kind}"));
    met.insert(kind.to_owned());
    let properties = object.as_object().unwrap_or_else(|| panic!("{kind} is not an object: {object}"));
    for name in *required {
        assert!(properties.contains_key(*name), "{kind} lacks {name}: {object}");
    }
    for (name, value) in properties {
        let (_, of) = may.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{kind} has no {name}"));
        match of.strip_suffix("[]") {
            Some(of) => value.as_array().expect("a list").iter().for_each(|item| verify(of, item, met)),
            None if !of.is_empty() => verify(of, value, met),
            None => is_fit(name, value),
        }
    }
    let locations = properties.get("logicalLocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (at, one) in locations.iter().enumerate() {
        assert!(!locations[..at].contains(one), "{one} is not unique");
    }
}

fn is_fit(name: &str, value: &Value) {
    let fits = match name {
        "level" => value.as_str().is_some_and(|level| ["none", "note", "warning", "error"].contains(&level)),
        "index" | "ruleIndex" => value.as_i64().is_some_and(|index| index >= -1),
        "version" => value.as_str().is_some_and(|version| !version.is_empty()),
        "executionSuccessful" => value.is_boolean(),
        "properties" => value.is_object(),
        _ => value.is_string(),
    };
    assert!(fits, "{name}: {value}");
}

fn sarif(drawn: &str, only: &[&str]) -> Value {
    let session = support::drawn(drawn, |_, _| {});
    let options = Options { only: only.iter().map(|rule| (*rule).to_owned()).collect(), ..Options::default() };
    let diagnosis = diagnose::diagnose(&session, &options).unwrap();
    serde_json::from_str(&diagnose::sarif(&session, &diagnosis).unwrap()).unwrap()
}

#[test]
fn the_output_conforms_to_the_schema() {
    // A and B wait for each other on one CPU; ideal CPUs, quotas and frequencies are not recorded.
    let log = sarif(
        "cpu0 U0  . A A B Bs As
         cpu1 U1  C . . . . .
         waking   A B@0 . . . .
         allowed  A=0,B=0 . . . . .",
        &[],
    );
    let mut met = BTreeSet::new();
    verify("log", &log, &mut met);
    assert_eq!(met.len(), SCHEMA.len(), "only {met:?} were met");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), RULES.len());
    let result = &run["results"][0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(result["ruleId"], run["tool"]["driver"]["rules"][index]["id"]);
}

#[test]
fn two_instances_of_a_tid_are_one_logical_location() {
    // A exits at 4, and another thread with the same TID begins: both wait for their pinned CPU.
    let log = sarif(
        "cpu0 U0  . A A B Ax B B As
         cpu1 U1  C . . . . . . .
         waking   A B@0 . . . . . .
         new      . . . . . . A@0 .
         allowed  A=0,B=0 . . . . A=0 . .",
        &["pinned-to-one-cpu"],
    );
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of_a = |result: &&Value| {
        let claims = result["properties"]["threads"].as_array().unwrap();
        claims.iter().filter(|c| c["tid"] == 1).count() > 1
    };
    assert!(results.iter().any(|result| of_a(&result)), "no finding names both instances: {results:#?}");
    verify("log", &log, &mut BTreeSet::new());
}
