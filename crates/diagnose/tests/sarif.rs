//! What is handed to CI, held against the schema of SARIF 2.1.0 (OASIS, sarif-schema-2.1.0.json, in oasis-tcs/sarif-spec under
//! `Schemata/`): of each kind of object that a diagnosis has, what the schema requires and which of its properties may be there
//! (`additionalProperties` is false but in a property bag), the values of `level`, the least index, and that no two logical
//! locations of a location are alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../report/tests/support/mod.rs"]
mod support;

use diagnose::{Options, RULES};
use serde_json::Value;
use std::collections::BTreeSet;

/// An object: what it must have, what else it has here, and of what kind these are; `[]` behind a kind: a list of them. Words
/// without a kind are no objects.
type Kind = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const SCHEMA: &[Kind] = &[
    ("log", &["version", "runs"], &[("$schema", ""), ("version", ""), ("runs", "run[]")]),
    (
        "run",
        &["tool"],
        &[("tool", "tool"), ("invocations", "invocation[]"), ("artifacts", "artifact[]"), ("results", "result[]")],
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
    // Or an id; there is none here.
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
    // Or an address; there is none here.
    ("physicalLocation", &["artifactLocation"], &[("artifactLocation", "artifactLocation")]),
    ("logicalLocation", &[], &[("name", ""), ("fullyQualifiedName", ""), ("kind", "")]),
];

/// Holds an object and all in it against its kind; the kinds that were met are told.
fn holds(kind: &str, object: &Value, met: &mut BTreeSet<String>) {
    let (_, required, may) = SCHEMA.iter().find(|(name, ..)| *name == kind).unwrap_or_else(|| panic!("no kind {kind}"));
    met.insert(kind.to_owned());
    let properties = object.as_object().unwrap_or_else(|| panic!("{kind} is no object: {object}"));
    for name in *required {
        assert!(properties.contains_key(*name), "{kind} lacks {name}: {object}");
    }
    for (name, value) in properties {
        let (_, of) = may.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{kind} has no {name}"));
        match of.strip_suffix("[]") {
            Some(of) => value.as_array().expect("a list").iter().for_each(|item| holds(of, item, met)),
            None if !of.is_empty() => holds(of, value, met),
            None => is_fit(name, value),
        }
    }
    let alike = properties.get("logicalLocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (at, one) in alike.iter().enumerate() {
        assert!(!alike[..at].contains(one), "two of {one}");
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
    let said = diagnose::diagnose(&session, &options).unwrap();
    serde_json::from_str(&diagnose::sarif(&session, &said).unwrap()).unwrap()
}

#[test]
fn it_is_as_the_schema_says() {
    // A and B wait for each other on one CPU; nothing is told of ideal CPUs, of quotas, of frequencies.
    let log = sarif(
        "cpu0 U0  . A A B Bs As
         cpu1 U1  C . . . . .
         waking   A B@0 . . . .
         allowed  A=0,B=0 . . . . .",
        &[],
    );
    let mut met = BTreeSet::new();
    holds("log", &log, &mut met);
    assert_eq!(met.len(), SCHEMA.len(), "only {met:?} were met");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), RULES.len());
    let result = &run["results"][0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(result["ruleId"], run["tool"]["driver"]["rules"][index]["id"]);
}

#[test]
fn two_lives_of_a_number_are_one_logical_location() {
    // A exits at 4, and another A begins: both wait where they are pinned.
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
    assert!(results.iter().any(|result| of_a(&result)), "no finding names both lives: {results:#?}");
    holds("log", &log, &mut BTreeSet::new());
}
