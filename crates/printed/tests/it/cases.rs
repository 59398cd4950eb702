//! The cases of every kind of printed table: crates/printed/cases.
//!
//! A block has lines for the user's options (`processor`, `tdp`, `span`, `compare`, `smt`), and tables, each after a line `table NAME`.

use crate::support::pair;
use printed::{KINDS, Request, Sheet, Statement, Verdict, check, read};
use std::fmt::Write;
use std::path::Path;

#[test]
fn cases() {
    testkit::cases::run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")), statements_of);
}

/// Each kind has a case file; the first table in it is of that kind.
#[test]
fn every_kind_has_a_case_file() {
    for kind in KINDS {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).join(format!("{}.md", kind.id()));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let first = text.split("```expected\n").nth(1).and_then(|block| block.lines().next()).unwrap();
        assert!(first.ends_with(&format!(": {}", kind.id())), "{}: {first}", path.display());
    }
}

fn statements_of(block: &str) -> String {
    let (options, tables) = block.split_once("table ").unwrap();
    let mut request = Request::default();
    for (what, value) in options.lines().filter_map(|l| l.split_once(' ')) {
        let pairs = |value: &str| value.split_once('/').map(|(a, b)| pair(a, b)).unwrap();
        match what {
            "processor" => request.processor = Some(value.to_owned()),
            "tdp" => request.tdp_w = Some(value.parse().unwrap()),
            "span" => request.span_s = Some(value.parse().unwrap()),
            "compare" => request.compare.push(pairs(value)),
            "smt" => request.smt.push(pairs(value)),
            _ => panic!("unknown option {what}"),
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
    check(&sheets, &request).iter().for_each(|s| line(s, &mut out));
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
        Verdict::NotEvaluated(why) => writeln!(out, "not evaluated  {what}: {why}"),
        verdict => {
            let word = if *verdict == Verdict::Agrees { "agrees" } else { "CONTRADICTS" };
            let (printed, computed) = (number(s.printed), number(s.computed));
            writeln!(out, "{word:<11}  {what}: {printed} printed, {computed} computed, ± {}", number(Some(s.tolerance)))
        }
    };
}
