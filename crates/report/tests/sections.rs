//! The cases of `cases/`: a drawn trace, and what a section says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use engine::Slow;
use report::{Options, SECTIONS, Sections};
use std::path::Path;

/// What a report says more with a section than without; a line `section NAME` says which, `process NAME` of whom,
/// `frames NAME` which marks are frames.
fn told(block: &str) -> String {
    let says = ["section ", "process ", "frames "];
    let (about, drawn): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| says.iter().any(|w| l.starts_with(w)));
    let word = |of: &str| about.iter().find_map(|l| l.strip_prefix(of)).map(str::to_owned);
    let section = word("section ").expect("a section");
    assert!(SECTIONS.iter().any(|s| s.id == section), "{section} is no section");
    let session = support::drawn(&drawn.join("\n"), |_, _| ());
    let session = session.slow(Slow { marked: word("frames "), ..Slow::default() });
    let text = |names: Vec<String>| {
        let options = Options {
            process: word("process "),
            sections: Sections::Named(names),
            concurrency: true,
            width: 130,
            ..Options::default()
        };
        report::text(&session, &options).expect("a report")
    };
    let (with, without) = (text(vec![section]), text(Vec::new()));
    // It stands between what both begin with and what both end with.
    let alike = |a: &mut dyn Iterator<Item = &str>, b: &mut dyn Iterator<Item = &str>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let first = alike(&mut with.lines(), &mut without.lines());
    let last = alike(&mut with.lines().rev(), &mut without.lines().rev());
    let lines: Vec<&str> = with.lines().collect();
    assert_eq!(without.lines().count().min(first + last), without.lines().count(), "{with}");
    let more = lines.len() - without.lines().count();
    let section = lines[first..first + more].join("\n").trim().to_owned();
    if section.is_empty() { "(nothing to say)".to_owned() } else { section }
}

#[test]
fn sections_say_what_their_cases_say() {
    testkit::cases::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), told);
}

/// A and B change places, with a millisecond between; C comes last.
const MOVING: &str = "
cpu0 P0  A . B . A .
cpu1 E0  B . A . B C
waking   . A@1,B@0 . A@0,B@1 . C@1
";

#[test]
fn a_section_stands_alone_or_beside_others_the_shortest_first() {
    let session = support::drawn(MOVING, |_, _| ());
    let text = |sections| {
        let options = Options { sections, width: 500, ..Options::default() };
        report::text(&session, &options).expect("a report")
    };
    let all = text(Sections::All);
    assert_eq!(all, text(Sections::Quick), "of a short recording, all");
    assert!(text(Sections::Named(vec!["idle".to_owned()])).contains("\nIdle periods"));
    assert!(!text(Sections::Named(Vec::new())).contains("\nMigrations"));
    // Each section's length, in the order in which they stand.
    let after = all.split("\nCPUs that ran at once").nth(1).expect("sections");
    let parts: Vec<&str> = after.split("\n\n").skip(1).take_while(|part| !part.starts_with("Next\n")).collect();
    let lines = |part: &&str| part.lines().filter(|l| !l.starts_with("  ---")).count();
    let lengths: Vec<usize> = parts.iter().map(lines).collect();
    assert!(parts.len() > 3 && lengths.is_sorted(), "{lengths:?}\n{after}");
}

#[test]
fn of_a_long_recording_only_what_is_quick_whatever_was_asked_before() {
    let session = support::drawn(MOVING, |_, batch| {
        // Wakings of a thread that runs change nothing.
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
    assert!(!quick.contains("Migrations") && !quick.contains("CPUs that ran at once"), "{quick}");
    let all = text(Sections::All);
    assert!(all.contains("Migrations") && all.contains("CPUs that ran at once"), "{all}");
    assert!(!all.contains("--sections all") && !all.contains("--concurrency"), "{all}");
    assert!(all.contains("\nFindings: "), "{all}");
    assert_eq!(text(Sections::Quick), quick);
}
