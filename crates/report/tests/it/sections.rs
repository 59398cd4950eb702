//! The cases of `cases/`: a drawn trace and a section of its report.

use crate::support;
use engine::SlowFrameOptions;
use model::Span;
use report::{Options, Profile, SECTIONS, Sections};
use std::path::Path;

/// Returns what a section adds to a report. A line `section NAME` names the section, `process NAME` the process, `frames NAME` the
/// marks that are frames, `range FROM TO` (ms) the part, `baseline FROM TO` the part with which its samples are compared.
fn section_text(block: &str) -> String {
    let keywords = ["section ", "process ", "frames ", "range ", "baseline "];
    let (about, drawn): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| keywords.iter().any(|w| l.starts_with(w)));
    let word = |of: &str| about.iter().find_map(|l| l.strip_prefix(of)).map(str::to_owned);
    let section = word("section ").expect("a section");
    assert!(SECTIONS.iter().any(|s| s.id == section), "{section} is not a section");
    let session = support::drawn(&drawn.join("\n"), |_, _| ());
    let span = |of: &str| {
        let ms: Vec<i64> = word(of)?.split(' ').map(|ms| ms.parse().expect("ms")).collect();
        Some(Span::new(testkit::ms(ms[0]), testkit::ms(ms[1])))
    };
    let baseline = span("baseline ").map(|span| {
        Profile::read(&session, Some(span), word("process ").as_deref(), "the baseline".to_owned()).expect("a profile")
    });
    let session = match span("range ") {
        Some(span) => session.limited_to(span).expect("a part"),
        None => session,
    };
    let session =
        session.with_slow_frames(SlowFrameOptions { mark_name: word("frames "), ..SlowFrameOptions::default() });
    let text = |names: Vec<String>| {
        let options = Options {
            process: word("process "),
            sections: Sections::Named(names),
            concurrency: true,
            baseline: baseline.clone(),
            width: 130,
            ..Options::default()
        };
        without_verdict(&report::text(&session, &options).expect("a report"))
    };
    let (with, without) = (text(vec![section]), text(Vec::new()));
    // It is between the common first and the common last lines.
    let common = |a: &mut dyn Iterator<Item = &str>, b: &mut dyn Iterator<Item = &str>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let first = common(&mut with.lines(), &mut without.lines());
    let last = common(&mut with.lines().rev(), &mut without.lines().rev());
    let lines: Vec<&str> = with.lines().collect();
    assert_eq!(without.lines().count().min(first + last), without.lines().count(), "{with}");
    let more = lines.len() - without.lines().count();
    let section = lines[first..first + more].join("\n").trim().to_owned();
    if section.is_empty() { "(no section)".to_owned() } else { section }
}

/// A report without its verdict and its list of rules, which depend on whether the findings are among its sections.
fn without_verdict(report: &str) -> String {
    let mut text = report.to_owned();
    for part in ["\nVerdict\n", "\nRules: "] {
        if let Some((before, rest)) = text.clone().split_once(part) {
            text = format!("{before}\n{}", rest.split_once("\n\n").map_or("", |(_, rest)| rest));
        }
    }
    text
}

#[test]
fn sections_match_their_cases() {
    testkit::cases::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), section_text);
}

/// A and B swap CPUs twice, with a millisecond in between; C comes last.
const MOVING: &str = "
cpu0 P0  A . B . A .
cpu1 E0  B . A . B C
waking   . A@1,B@0 . A@0,B@1 . C@1
";

#[test]
fn sections_can_be_selected_and_have_the_order_of_their_list() {
    let session = support::drawn(MOVING, |_, _| ());
    let text = |sections| {
        let options = Options { sections, width: 1000, concurrency: true, ..Options::default() };
        report::text(&session, &options).expect("a report")
    };
    let all = text(Sections::All);
    assert_eq!(all, text(Sections::Quick), "a short recording has all sections");
    assert!(text(Sections::Named(vec!["idle".to_owned()])).contains("\nIdle periods"));
    assert!(!text(Sections::Named(Vec::new())).contains("\nMigrations"));
    // Each of the sections alone, in the order of the list, is in the report after the one before it.
    let mut at = 0;
    for section in SECTIONS {
        let alone = without_verdict(&text(Sections::Named(vec![section.id.to_owned()])));
        let none = without_verdict(&text(Sections::Named(Vec::new())));
        let heading = alone.lines().find(|line| !none.lines().any(|other| other == *line));
        if let Some(heading) = heading {
            let found = all.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{heading} is in\n{all}"));
            assert!(found > at, "{heading} comes after the sections before it:\n{all}");
            at = found;
        }
    }
    assert!(at > 0);
}

#[test]
fn a_long_recording_has_only_quick_sections_by_default() {
    let session = support::drawn(MOVING, |_, batch| {
        // Wakeups of a running thread change nothing.
        let last = *batch.events.last().expect("events");
        batch.events.extend(std::iter::repeat_n(last, 500_000));
    });
    assert!(session.summary().events > 500_000);
    let text = |sections| {
        let options = Options { sections, width: 200, ..Options::default() };
        report::text(&session, &options).expect("a report")
    };
    let quick = text(Sections::Quick);
    assert!(quick.contains("--sections all") && quick.contains("--concurrency"), "{quick}");
    assert!(!quick.contains("Migrations") && !quick.contains("Concurrency: "), "{quick}");
    let all = text(Sections::All);
    assert!(all.contains("Migrations") && all.contains("Concurrency: "), "{all}");
    assert!(!all.contains("--sections all") && !all.contains("--concurrency"), "{all}");
    assert!(all.contains("\nFindings: "), "{all}");
    assert_eq!(text(Sections::Quick), quick);
}
