//! `corewise diagnose` and `corewise explain`.

use crate::support::{Folder, good, run, unwrapped};
use serde_json::Value;

/// Urgent (nice 0) is woken at 10 ms, waits 30 ms for the CPU on which hog (nice 19) runs, and then runs for 10 ms.
const LOW_RAN_INSTEAD: &str = "# tracer: nop
#
          <idle>-0     [000] d... 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=10 next_prio=139
             hog-10    [000] d... 100.010000: sched_waking: comm=urgent pid=11 prio=120 target_cpu=000
             hog-10    [000] d... 100.040000: sched_switch: prev_comm=hog prev_pid=10 prev_prio=139 prev_state=R+ ==> next_comm=urgent next_pid=11 next_prio=120
          urgent-11    [000] d... 100.050000: sched_switch: prev_comm=urgent prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=10 next_prio=139
";

fn trace_file(folder: &Folder) -> String {
    std::fs::write(folder.path("run one.txt"), LOW_RAN_INSTEAD).unwrap();
    folder.name("run one.txt")
}

#[test]
fn a_finding_has_its_saving_its_evidence_and_its_fix() {
    let folder = Folder::new();
    let trace = trace_file(&folder);
    let text = unwrapped(&good(["diagnose", &trace]));
    assert!(text.contains("urgent was ready for 30.000 ms while lower-priority"), "{text}");
    // Another tool recorded it, on some machine: the number says nothing there.
    assert!(text.contains("chrt --idle -p 0 TID` for each TID of hog"), "{text}");
    let json: Value = serde_json::from_str(&good(["diagnose", &trace, "--format", "json"])).unwrap();
    let first = &json["findings"][0];
    assert_eq!(first["rule"], "low-priority-ran-while-high-was-ready");
    assert_eq!((&first["severity"], &first["recoverable_ns"]), (&"high".into(), &30_000_000.into()));
    assert_eq!(first["threads"][0]["tid"], 11);
    assert_eq!(first["evidence"][0]["table"], "ran_instead");
    assert_eq!(first["evidence"][0]["cells"]["ready_ns"], 30_000_000);
    assert_eq!(first["change"]["policy"], "idle");
    let why = json["not_checked"].as_array().unwrap();
    assert!(why.iter().any(|n| n["rule"] == "throttled-by-quota"), "{json}");
    assert_eq!((&json["version"], &json["span"]["end"]), (&2.into(), &50_000_000.into()));
}

#[test]
fn the_objective_is_in_the_first_line_and_can_be_set() {
    let folder = Folder::new();
    let trace = trace_file(&folder);
    assert!(good(["diagnose", &trace]).starts_with("Objective: throughput"));
    for (objective, why) in [
        ("end", "was not recorded for a command"),
        ("period:urgent", "no periodic thread has this name or TID"),
        ("requests:urgent", "the trace has no requests"),
        ("marks:frame", "no thread completed a mark of this name"),
    ] {
        let refused = run(["diagnose", &trace, "--objective", objective]);
        assert!(refused.code != Some(0) && refused.err.contains(why), "{objective}: {}", refused.err);
    }
    let unknown = run(["diagnose", &trace, "--objective", "speed"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("expected command, throughput"), "{}", unknown.err);
}

#[test]
fn worst_intervals_and_evidence_name_their_threads() {
    let folder = Folder::new();
    let trace = trace_file(&folder);
    let json: Value = serde_json::from_str(&good(["diagnose", &trace, "--format", "json"])).unwrap();
    let first = &json["findings"][0];
    let worst = &first["worst"][0];
    assert_eq!((&worst["start_ns"], &worst["end_ns"]), (&10_000_000.into(), &40_000_000.into()));
    assert_eq!(
        (&worst["name"], &worst["state"], &worst["cause"]),
        (&"urgent".into(), &"ready".into(), &"hog ran on CPU 0".into())
    );
    assert_eq!(first["worst"].as_array().map(Vec::len), Some(1), "it was ready once");
    assert_eq!(first["evidence"][0]["threads"]["thread"], "urgent 11");
    assert_eq!(first["delay_ns"], first["recoverable_ns"], "throughput gains all of it");
    let text = unwrapped(&good(["diagnose", &trace]));
    assert!(text.contains("Worst: 10.000 to 40.000 ms: urgent 11 ready (hog ran on CPU 0)."), "{text}");
}

#[test]
fn rules_ranges_and_thresholds_can_be_selected() {
    let folder = Folder::new();
    let trace = trace_file(&folder);
    let rule = "low-priority-ran-while-high-was-ready";
    assert!(
        good(["diagnose", &trace, "--skip", rule, "--only", "oversubscribed"]).contains("\nNo findings in 50.000 ms")
    );
    // In the first 20 ms, it waited 10 ms.
    let part = good(["diagnose", &trace, "--only", rule, "--range", "..20ms"]);
    assert!(part.contains("ready for 10.000 ms"), "{part}");
    let high = format!("{rule}.min_share=0.7");
    assert!(good(["diagnose", &trace, "--only", rule, "--set", &high]).contains("\nNo findings"));
    assert_eq!(run(["diagnose", &trace, "--set", "dance=1"]).code, Some(2));
    assert_eq!(run(["diagnose", &trace, "--only", "dance"]).code, Some(2));
}

#[test]
fn fail_on_sets_the_exit_code() {
    let folder = Folder::new();
    let trace = trace_file(&folder);
    assert_eq!(run(["diagnose", &trace, "--fail-on", "high"]).code, Some(4));
    let low = ["diagnose", &trace, "--fail-on", "high", "--set", "severity.high_share=0.9"];
    assert_eq!(run(low).code, Some(0));
    let ran = run(["diagnose", &trace, "--format", "sarif", "--fail-on", "medium"]);
    assert_eq!(ran.code, Some(4));
    let sarif: Value = serde_json::from_str(&ran.out).unwrap();
    let (driver, result) = (&sarif["runs"][0]["tool"]["driver"], &sarif["runs"][0]["results"][0]);
    assert_eq!((&sarif["version"], &result["level"]), (&"2.1.0".into(), &"error".into()));
    let at = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(driver["rules"][at]["id"], result["ruleId"]);
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(
        uri.as_str().unwrap().starts_with("file:///") && uri.as_str().unwrap().ends_with("/run%20one.txt"),
        "{uri}"
    );
}

#[test]
fn every_rule_has_its_page() {
    let list = good(["explain"]);
    for rule in list.lines().filter(|l| !l.starts_with(' ')).filter_map(|l| l.split_whitespace().next()) {
        let page = good(["explain", rule]);
        for part in
            ["What it detects", "Why it matters", "Confidence and limits", "How to fix it", "Example", "Thresholds"]
        {
            assert!(page.contains(part), "{rule}: {part}");
        }
    }
    assert!(list.lines().count() >= 10, "{list}");
    assert_eq!(run(["explain", "dance"]).code, Some(2));
}
