//! Every kind of printed table as a file of cases: crates/printed/cases.
//!
//! A block holds lines that a user would say as options (`processor`, `span`, `compare`, `smt`), and tables, each after a line
//! `table NAME`.
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

mod support;

use printed::{Asked, KINDS, Sheet, Statement, Verdict, check, read};
use std::fmt::Write;
use std::path::Path;
use support::pair;

#[test]
fn cases() {
    testkit::cases::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")), told);
}

/// A file is named after the kind of its first table.
#[test]
fn every_kind_has_its_file() {
    for kind in KINDS {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).join(format!("{}.md", kind.id()));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let first = text.split("```expected\n").nth(1).and_then(|block| block.lines().next()).unwrap();
        assert!(first.ends_with(&format!(": {}", kind.id())), "{}: {first}", path.display());
    }
}

fn told(block: &str) -> String {
    let (options, tables) = block.split_once("table ").unwrap();
    let mut asked = Asked::default();
    for (what, value) in options.lines().filter_map(|l| l.split_once(' ')) {
        let pairs = |value: &str| value.split_once('/').map(|(a, b)| pair(a, b)).unwrap();
        match what {
            "processor" => asked.processor = Some(value.to_owned()),
            "span" => asked.span_s = Some(value.parse().unwrap()),
            "compare" => asked.compare.push(pairs(value)),
            "smt" => asked.smt.push(pairs(value)),
            _ => panic!("no option is {what}"),
        }
    }
    let sheet = |text: &str| -> Sheet {
        let (name, text) = text.split_once('\n').unwrap();
        read(name, text).unwrap()
    };
    let sheets: Vec<Sheet> = tables.split("\ntable ").map(sheet).collect();
    let mut out = String::new();
    for sheet in &sheets {
        let _ = writeln!(out, "{}: {}", sheet.name, sheet.kind.id());
    }
    check(&sheets, &asked).iter().for_each(|s| line(s, &mut out));
    out
}

fn line(s: &Statement, out: &mut String) {
    let number = |value: Option<f64>| {
        let text = format!("{:.4}", value.unwrap());
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let what = format!("{} of {}", s.rule.id, s.of);
    let _ = match &s.verdict {
        Verdict::NoClaim => writeln!(out, "value        {what}: {} {}", number(s.computed), s.rule.unit),
        Verdict::CannotTell(why) => writeln!(out, "cannot tell  {what}: {why}"),
        verdict => {
            let word = if *verdict == Verdict::Agrees { "agrees" } else { "CONTRADICTS" };
            let (printed, computed) = (number(s.printed), number(s.computed));
            writeln!(out, "{word:<11}  {what}: {printed} printed, {computed} computed, ± {}", number(Some(s.tolerance)))
        }
    };
}
