//! Mistakes of newcomers: each message says what to do.

use crate::support::{Folder, fixture, good, run};

/// Three frames of 4, 4 and 9 ms.
const FRAMES: &str = "\
# tracer: nop
#
          <idle>-0     [000] d..2.   100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=game next_pid=10 next_prio=120
            game-10    [000] .....   100.001000: tracing_mark_write: B|10|Frame 1
            game-10    [000] .....   100.005000: tracing_mark_write: E|10
            game-10    [000] .....   100.006000: tracing_mark_write: B|10|Frame 2
            game-10    [000] .....   100.010000: tracing_mark_write: E|10
            game-10    [000] .....   100.011000: tracing_mark_write: B|10|Frame 3
            game-10    [000] .....   100.020000: tracing_mark_write: E|10
            game-10    [000] d..2.   100.021000: sched_switch: prev_comm=game prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// Checks for each command line that it fails with this code, and that its message has these words.
fn check(cases: &[(Vec<&str>, i32, &str)]) {
    for (arguments, code, wanted) in cases {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(*code), "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(wanted), "{arguments:?} lacks {wanted}: {}", ran.err);
    }
}

#[test]
fn misspelt_names_get_the_nearest_one() {
    let folder = Folder::new();
    let (run_cw, data, text) = (folder.name("run.cw"), fixture("sched.data"), folder.name("frames.txt"));
    good(["import", &data, "-o", &run_cw]);
    std::fs::write(&text, FRAMES).unwrap();
    let rum = folder.name("rum.cw");
    check(&[
        (vec!["reprot", &data], 2, "'report'"),
        (vec!["report", &rum], 1, "did you mean run.cw?"),
        (vec!["table", &data, "thraeds"], 1, "did you mean threads?"),
        (vec!["report", &data, "--sections", "waitin"], 2, "did you mean waiting?"),
        (vec!["report", &data, "--process", "sched-mesaging"], 1, "did you mean sched-messaging?"),
        (vec!["table", &data, "ready_wait", "--process", "slep"], 1, "did you mean sleep?"),
        (vec!["table", &data, "critical_path", "--thread", "slep"], 1, "did you mean sleep?"),
        (vec!["report", &text, "--mark", "Frame1"], 1, "did you mean Frame 1?"),
        (vec!["explain", "oversubscibed"], 2, "did you mean oversubscribed?"),
        (vec!["diagnose", &data, "--only", "wakeup-strom"], 2, "did you mean wakeup-storm?"),
        (vec!["diagnose", &data, "--set", "severty.high_share=1"], 2, "did you mean severity?"),
        (vec!["diagnose", &data, "--set", "severity.high_shar=1"], 2, "did you mean high_share?"),
    ]);
}

#[test]
fn arguments_in_another_order_or_form() {
    let folder = Folder::new();
    let (run_cw, data) = (folder.name("run.cw"), fixture("sched.data"));
    good(["import", &data, "-o", &run_cw]);
    check(&[
        (vec!["record", "run.cw", "--", "./game"], 2, "corewise record -o run.cw -- ./game"),
        (vec!["import", &run_cw], 2, "already a trace folder of corewise"),
        (vec!["table", "threads", &run_cw], 2, &format!("corewise table {run_cw} threads")),
        (vec!["table", &run_cw], 2, "corewise tables"),
        (vec!["table", &run_cw, "slow_frames", "--budget", "16"], 2, "16ms"),
        (vec!["report", &run_cw, "--range", "3000..4000"], 1, "30ms..40ms"),
        (vec!["compare", &run_cw], 2, "corewise compare before.cw after.cw"),
        (vec!["report", &run_cw, "--html", "a.html", "--timeline", "no.html"], 1, "corewise view"),
    ]);
    assert_eq!(good(["help", "report"]), good(["report", "--help"]));
    assert!(good(["report", &run_cw, "--format", "html"]).starts_with("<!DOCTYPE html>"));
}

#[test]
fn frames_are_found_or_it_says_which_marks_there_are() {
    let folder = Folder::new();
    let text = folder.name("frames.txt");
    std::fs::write(&text, FRAMES).unwrap();
    let found = run(["table", &text, "slow_frames", "--format", "csv"]);
    assert!(found.err.contains("frames are the marks 'Frame *': 3 frames, median 4.000"), "{}", found.err);
    assert_eq!((found.code, found.out.lines().count()), (Some(0), 2), "{}", found.out);
    let none_over = run(["table", &text, "slow_frames", "--budget", "16.7ms", "--format", "csv"]);
    assert!(none_over.err.contains("0 of 3 over the budget of 16.700"), "{}", none_over.err);
    assert_eq!((none_over.code, none_over.out.lines().count()), (Some(0), 1), "{}", none_over.out);
    let report = good(["report", &text, "--budget", "5ms"]);
    assert!(report.contains("1 of 3 over the budget of 5.000"), "{report}");
    // The mark of another word is no frame.
    let other = folder.name("other.txt");
    std::fs::write(&other, FRAMES.replace("Frame ", "step ")).unwrap();
    let none = run(["table", &other, "slow_frames"]);
    assert!(none.err.contains("no mark looks like a frame") && none.err.contains("step 1"), "{}", none.err);
    let unmarked = run(["table", &fixture("sched.data"), "slow_frames"]);
    assert!(unmarked.err.contains("record --mark"), "{}", unmarked.err);
}

#[test]
fn reports_and_diagnoses_are_short_unless_all_is_wanted() {
    let data = fixture("sched.data");
    let [short, full] = [&["report", &data][..], &["report", &data, "--full"]].map(good);
    assert!(short.lines().count() <= 100 && full.lines().count() > 100, "{short}");
    assert!(short.contains("Left out of this short report: ") && !full.contains("Left out"), "{short}");
    let [short, verbose] = [&["diagnose", &data][..], &["diagnose", &data, "--verbose"]].map(good);
    assert!(short.lines().count() <= 17 && !short.contains("Evidence:"), "{short}");
    assert!(verbose.contains("Evidence:") && verbose.contains("Not checked:"), "{verbose}");
    let text = good(["table", &data, "cpus", "--format", "text"]);
    let lengths: Vec<usize> = text.lines().map(str::len).collect();
    assert!(lengths.len() == 3 && lengths[1] == lengths[2], "{text}");
}
