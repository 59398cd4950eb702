//! The cases of `cases/`: a drawn trace, and what a rule says of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../report/tests/support/mod.rs"]
mod support;

use diagnose::{Options, RULES, Settings};
use engine::{Condition, IdleState};
use model::{CpuId, Event, NameId, Pid, Tid, What};
use std::path::Path;

/// What a rule says. A line `rule ID` says which, `set RULE.NAME=VALUE` sets a threshold, `condition NAME START | END` is a
/// condition of the run, `format ID` whose recording it is, `called NAME ABC` what those threads are called, `process PID ABC` of which process they are,
/// `idle NAME US` the next idle state of all CPUs and how long it must last.
fn told(block: &str) -> String {
    let says = ["rule ", "set ", "condition ", "format ", "called ", "process ", "idle "];
    let (about, drawn): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| says.iter().any(|w| l.starts_with(w)));
    let words = |of: &str| about.iter().filter_map(|l| l.strip_prefix(of)).map(str::to_owned).collect::<Vec<_>>();
    let only = words("rule ");
    assert!(RULES.iter().any(|r| only == [r.id]), "{only:?} is no rule");
    let mut settings = Settings::default();
    words("set ").iter().for_each(|set| settings.set(set).expect("a threshold"));
    let condition = |line: &String| {
        let (name, values) = line.split_once(' ').expect("a name and its values");
        let (start, end) = values.split_once(" | ").unwrap_or((values, values));
        Condition { name: name.to_owned(), start: Ok(start.to_owned()), end: Ok(end.to_owned()) }
    };
    let conditions = words("condition ").iter().map(condition).collect();
    let drawn = drawn.join("\n");
    let session = support::drawn(&drawn, |facts, batch| {
        facts.conditions = conditions;
        facts.format = words("format ").pop().unwrap_or_default();
        for line in words("idle ") {
            let (name, us) = line.split_once(' ').expect("a name and its time");
            let target_residency_us = Some(us.parse().expect("a number"));
            let state = IdleState { name: name.to_owned(), target_residency_us, exit_latency_us: None };
            let machine = facts.machine.get_or_insert_with(|| testkit::machine(&drawn));
            machine.cpus.iter_mut().for_each(|cpu| cpu.idle_states.push(state.clone()));
        }
        for line in words("called ") {
            let (name, letters) = line.split_once(' ').expect("a name and threads");
            // The names of threads are in the order of their letters.
            letters.bytes().for_each(|letter| batch.names[usize::from(letter - b'A')] = name.into());
        }
        for line in words("process ") {
            let (pid, letters) = line.split_once(' ').expect("a number and threads");
            let pid = Pid(pid.parse().expect("a number"));
            let first = *batch.events.first().expect("something is drawn");
            let of = |letter: u8| What::Name {
                tid: testkit::tid(char::from(letter)),
                pid,
                name: NameId(u32::from(letter - b'A')),
            };
            let told = |letter| Event { cpu: CpuId(0), current: Tid::IDLE, what: of(letter), ..first };
            batch.events.splice(0..0, letters.bytes().map(told));
        }
    });
    let options = Options { only, settings, ..Options::default() };
    diagnose::text(&diagnose::diagnose(&session, &options).expect("a diagnosis"), 110)
}

#[test]
fn rules_say_what_their_cases_say() {
    testkit::cases::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), told);
}

/// Each rule's case shows it finding something, quiet, and without what it needs, where it may lack anything.
#[test]
fn every_case_has_all_that_a_rule_may_say() {
    for rule in RULES {
        let file = format!("{}/cases/{}.md", env!("CARGO_MANIFEST_DIR"), rule.id.replace('-', "_"));
        let case = std::fs::read_to_string(&file).expect("a case");
        let fires = format!("1. {} (", rule.id);
        let lacks = format!("  {}: ", rule.id);
        assert!(case.contains(&fires), "{file} shows no finding");
        assert!(case.contains("Nothing found"), "{file} shows no quiet trace");
        assert!(case.contains(&lacks), "{file} shows none that lacks data");
    }
}
