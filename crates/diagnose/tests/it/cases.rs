//! The cases of `cases/`: a drawn trace and the findings of a rule.

use crate::support;
use diagnose::{Options, RULES, Settings};
use engine::{Condition, IdleState};
use model::{CpuId, Event, EventKind, NameId, Pid, Tid};
use std::path::Path;

/// Returns the output of a rule. A line `rule ID` names the rule, `set RULE.NAME=VALUE` sets a threshold, `condition NAME START | END` adds
/// a condition of the run, `format ID` sets the format, `called NAME ABC` the name of these threads, `process PID ABC` their process,
/// `focus PID` the process that the recording was made for, `cost PROBE FIGURE UNIT LOW VALUE HIGH NAME=VALUE…` a measured figure of the machine,
/// measured under kernel 6.17 on 2026-11-26, `idle NAME US` the next idle state of all CPUs and its target residency. Only with a line `objective OBJECTIVE`, which sets it
/// (`objective shown`: it is the one that the trace shows), are the objective and the worst intervals printed.
fn rule_output(block: &str) -> String {
    let keywords =
        ["rule ", "set ", "condition ", "format ", "called ", "process ", "focus ", "idle ", "objective ", "cost "];
    let (about, drawn): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| keywords.iter().any(|w| l.starts_with(w)));
    let words = |of: &str| about.iter().filter_map(|l| l.strip_prefix(of)).map(str::to_owned).collect::<Vec<_>>();
    let only = words("rule ");
    assert!(
        RULES.iter().any(|r| only == [r.id]),
        "a case needs one line `rule ID`, with hyphens; this one has {only:?}"
    );
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
        facts.focus = words("focus ").pop().map(|pid| pid.parse().expect("a number"));
        for line in words("idle ") {
            let (name, us) = line.split_once(' ').expect("a name and its time");
            let target_residency_us = Some(us.parse().expect("a number"));
            let state = IdleState { name: name.to_owned(), target_residency_us, exit_latency_us: None };
            let machine = facts.machine.get_or_insert_with(|| testkit::machine(&drawn));
            machine.cpus.iter_mut().for_each(|cpu| cpu.idle_states.push(state.clone()));
        }
        let figures: String = words("cost ").iter().map(|line| figure(line)).collect();
        if !figures.is_empty() {
            let measured = "[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"0\"\nconditions = { kernel_release = \"6.17\" }\n";
            let of = engine::Machine::from_user(&format!("[[cpus]]\nids = \"0\"\n{measured}{figures}")).expect("costs");
            facts.machine.get_or_insert_with(|| testkit::machine(&drawn)).costs = of.costs;
        }
        for line in words("called ") {
            let (name, threads) = line.split_once(' ').expect("a name and threads");
            // The names are in the order of the threads A, B, C.
            threads.bytes().for_each(|thread| batch.names[usize::from(thread - b'A')] = name.into());
        }
        for line in words("process ") {
            let (pid, threads) = line.split_once(' ').expect("a number and threads");
            let pid = Pid(pid.parse().expect("a number"));
            let first = *batch.events.first().expect("something is drawn");
            let name_event = |thread: u8| EventKind::Name {
                tid: testkit::tid(char::from(thread)),
                pid,
                name: NameId(u32::from(thread - b'A')),
            };
            let event = |thread| Event { cpu: CpuId(0), current: Tid::IDLE, what: name_event(thread), ..first };
            batch.events.splice(0..0, threads.bytes().map(event));
        }
    });
    let wanted = words("objective ").pop();
    let is_printed = wanted.is_some();
    let target = wanted.filter(|wanted| wanted != "shown").map(|target| target.parse().expect("an objective"));
    let options = Options { only, settings, target, ..Options::default() };
    let mut diagnosis = diagnose::diagnose(&session, &options).expect("a diagnosis");
    if !is_printed {
        (diagnosis.objective, diagnosis.account) = (None, Vec::new());
        diagnosis.findings.iter_mut().for_each(|finding| finding.worst.clear());
    }
    let short = diagnose::text(&diagnosis, 110, false);
    let findings = diagnosis.findings.len();
    assert!(short.lines().count() <= 12 + 9 * findings, "a short text:\n{short}");
    assert_eq!(short.matches("\n     Fix: ").count(), findings, "each finding has its fix:\n{short}");
    assert!(!short.contains("Evidence: ") && !short.contains("Assumptions: "), "{short}");
    diagnose::text(&diagnosis, 110, true)
}

/// A figure of a machine file.
fn figure(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let [probe, figure, unit, low, value, high, parameters @ ..] = words.as_slice() else { panic!("a figure: {line}") };
    let parameter = |word: &&str| {
        let (name, value) = word.split_once('=').expect("a name and its value");
        format!("{name} = \"{value}\"")
    };
    let parameters = parameters.iter().map(parameter).collect::<Vec<_>>().join(", ");
    format!(
        "[[costs]]\nprobe = \"{probe}\"\nfigure = \"{figure}\"\nunit = \"{unit}\"\nrepetitions = 10\n\
         estimate = {{ value = {value}, low = {low}, high = {high} }}\nparameters = {{ {parameters} }}\n"
    )
}

/// Each rule's cases include one with a finding, one without, and one with missing data.
#[test]
fn rules_match_their_cases() {
    testkit::cases::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), rule_output);
    for rule in RULES {
        let file = format!("{}/cases/{}.md", env!("CARGO_MANIFEST_DIR"), rule.id.replace('-', "_"));
        let case = std::fs::read_to_string(&file).expect("a case");
        let finding = format!("  1. {} (", rule.id);
        let not_checked = format!("  {}: ", rule.id);
        assert!(case.contains(&finding), "{file} has no case with a finding: a line `{finding}`");
        assert!(case.contains("No findings in"), "{file} has no case without findings");
        assert!(case.contains(&not_checked), "{file} has no case with missing data");
    }
}
