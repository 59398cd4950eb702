//! Reports of small recordings as text and JSON. The expected text is in `tests/golden` (`cargo xtask bless` rewrites it).

use crate::support;
use engine::{PassOptions, Session};
use model::{CoreType, EventKind, SamplingOff};
use report::{Options, Sort};
use std::path::Path;

fn open(name: &str, options: PassOptions) -> Session {
    Session::open(&Path::new("../import/fixtures/perf_data").join(name), options).expect("the fixture opens")
}

fn check_golden(name: &str, got: &str) {
    let path = Path::new("tests/golden").join(name);
    // The list of tables is left out, as each new table would change every text.
    let tables = got.find("\nTables (").filter(|_| name != "frames.txt").unwrap_or(got.len());
    let got = &got[..tables];
    if testkit::cases::is_blessing() {
        std::fs::write(&path, got).expect("the golden text is written");
        return;
    }
    let wanted = std::fs::read_to_string(&path).expect("the golden text exists");
    assert!(wanted == got, "{} differs (cargo xtask bless):\n{got}", path.display());
}

fn hybrid_cores() -> PassOptions {
    let machine = "model = \"Two core types\"\n[[cpus]]\nids = \"0\"\ntype = \"performance\"\n[[cpus]]\nids = \"1\"\ntype = \"efficient\"\n";
    let machine = engine::Machine::from_user(machine).expect("a machine");
    PassOptions { machine: Some(machine), ..PassOptions::default() }
}

#[test]
fn a_recording_with_tracepoints() {
    let session = open("sched.data", PassOptions::default());
    let options = Options { top: 6, concurrency: true, width: 120, ..Options::default() };
    check_golden("sched.txt", &report::text(&session, &options).expect("a report"));
}

/// The parts that do not fit are named, and everything else is as in the whole report.
#[test]
fn a_short_report_leaves_out_whole_parts() {
    let session = open("sched.data", PassOptions::default());
    let with = |max_lines| Options { top: 6, concurrency: true, width: 120, max_lines, ..Options::default() };
    let text = |max| report::text(&session, &with(max)).expect("a report");
    let short = text(Some(100));
    assert!(short.lines().count() <= 100, "{short}");
    check_golden("short.txt", &short);
    let left_out = |text: &str| text.split("Left out of this short report: ").nth(1).map(ToOwned::to_owned);
    assert!(left_out(&short).is_some_and(|names| names.contains("switch_causes")), "{short}");
    assert!(!short.contains("\nContext-switch causes") && short.contains("--full"), "{short}");
    let long = text(Some(1000));
    assert!(long.contains("\nContext-switch causes") && left_out(&long).is_none(), "{long}");
    // The answer is always there.
    let shortest = text(Some(1));
    for part in ["\nVerdict\n", "\nFindings: 1\n", "\nThreads: ", "\nAbout the data\n", "\nNext steps\n"] {
        assert!(shortest.contains(part), "{part}: {shortest}");
    }
    assert!(!shortest.contains("\nCPUs: "), "{shortest}");
}

/// The verdict says how long programs were throttled, which is no time without a CPU. With paths redacted, no finding names the cgroup.
#[test]
fn throttled_time_is_said_as_such() {
    let drawing = "cpu0 U0  A Ar . B B A As\ncpu1 U1  C C  C C C C C\nthrottle . .  A( A)\nprocess A,B,C\ncgroup A=7\nquota cpu:7=1/3";
    let mut session = support::drawn(drawing, |_, _| ());
    let options = Options { width: 200, ..Options::default() };
    let words = |session: &Session| report::text(session, &options).expect("a report");
    let plain = words(&session);
    assert!(
        plain.contains("Ready without a CPU: A 2.000 ms, B 2.000 ms. Throttled by a CPU quota: A 1.000 ms."),
        "{plain}"
    );
    let row =
        |name: &str| plain.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned();
    assert!(row("thread ").contains("ready ms  throttled ms") && row("A ").contains("1.000"), "{plain}");
    assert!(plain.contains("The CPU quota of /7 (1.000 ms in each 3.000 ms) throttled 1 runnable thread"), "{plain}");
    session.redact(engine::Redact::Private);
    let redacted = words(&session);
    assert!(redacted.contains("The CPU quota of their group throttled") && !redacted.contains("/7"), "{redacted}");
}

#[test]
fn a_recording_without_wakeups_on_a_narrow_terminal() {
    let session = open("switch.data", PassOptions::default());
    let options = Options { top: 4, width: 80, sort: Sort::Switches, ..Options::default() };
    let text = report::text(&session, &options).expect("a report");
    assert!(text.lines().all(|l| l.chars().count() <= 80 || l.contains("corewise ")), "{text}");
    check_golden("switch.txt", &text);
}

#[test]
fn one_process_on_different_core_types() {
    let session = open("sched.data", hybrid_cores());
    let options =
        Options { process: Some("sched-messaging".to_owned()), top: 3, sort: Sort::MaxReady, ..Options::default() };
    check_golden("process.txt", &report::text(&session, &options).expect("a report"));
}

/// Capabilities 41 and 42: the limiting factors of the frames come first, then a list of the slow ones.
#[test]
fn cap_41_42_a_frame_log() {
    let path = Path::new("../import/fixtures/present_mon/v1.csv");
    let session = Session::open(path, PassOptions::default()).expect("the fixture opens");
    let options = Options { width: 120, ..Options::default() };
    check_golden("frames.txt", &report::text(&session, &options).expect("a report"));
    let one = Options { process: Some("40".to_owned()), ..options.clone() };
    let text = report::text(&session, &one).expect("a report");
    assert!(text.contains("dwm.exe") && !text.contains("game.exe"), "{text}");
    let json = object(&session, &one);
    let programs = |table: &str| -> Vec<&str> {
        json[table].as_array().expect("rows").iter().map(|r| r["application"].as_str().expect("a name")).collect()
    };
    assert_eq!((programs("frame_sums"), programs("frames")), (vec!["dwm.exe"], vec!["dwm.exe"]));
    let all = object(&session, &options);
    let slow = all["frames"].as_array().expect("rows").iter().max_by_key(|r| r["frame_ns"].as_i64());
    assert_eq!(slow.expect("a frame")["frame"], 5, "the 16 ms frame of dwm");
    let missing = Options { process: Some("missing".to_owned()), ..options };
    let error = report::text(&session, &missing).expect_err("an error").to_string();
    assert!(error.contains("missing") && error.contains("corewise report"), "{error}");
}

/// Two frames, in milliseconds: frame 1 from 1 to 6, during which `other` runs from 3 to 4; frame 2 from 7 to 13, in which `game` waits
/// from 8, is woken at 10 and runs from 11.
const MARKED: &str = "\
# tracer: nop
#
          <idle>-0     [000] d..2.   100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=game next_pid=10 next_prio=120
            game-10    [000] .....   100.001000: tracing_mark_write: B|10|Frame 1
            game-10    [000] d..2.   100.003000: sched_switch: prev_comm=game prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=other next_pid=20 next_prio=120
           other-20    [000] d..2.   100.004000: sched_switch: prev_comm=other prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=game next_pid=10 next_prio=120
            game-10    [000] .....   100.006000: tracing_mark_write: E|10
            game-10    [000] .....   100.007000: tracing_mark_write: B|10|Frame 2
            game-10    [000] d..2.   100.008000: sched_switch: prev_comm=game prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0     [000] d..2.   100.010000: sched_waking: comm=game pid=10 prio=120 target_cpu=000
          <idle>-0     [000] d..2.   100.011000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=game next_pid=10 next_prio=120
            game-10    [000] .....   100.013000: tracing_mark_write: E|10
            game-10    [000] d..2.   100.014000: sched_switch: prev_comm=game prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

/// Capability 62: a thread's time per frame, split into running, ready and blocked.
#[test]
fn cap_62_frames_of_marks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.txt");
    std::fs::write(&path, MARKED).expect("the trace is written");
    let session = Session::open(&path, PassOptions::default()).expect("a trace");
    let with = |name: &str| Options { frames_of: Some(name.to_owned()), ..Options::default() };
    let text = report::text(&session, &with("Frame *")).expect("a report");
    let section = text.split("\nFrames: ").nth(1).and_then(|t| t.split("\n\nAbout").next()).expect("a section");
    check_golden("marked.txt", &format!("Frames: {section}\n"));
    let json = object(&session, &with("Frame 2"));
    let [frame] = json["mark_stretches"].as_array().expect("rows").as_slice() else { panic!("{json}") };
    let of = |col: &str| frame[col].as_i64().expect("an integer") / 1_000_000;
    let cols = ["start_ns", "end_ns", "running_ns", "ready_ns", "blocked_ns", "unknown_ns"];
    assert_eq!(cols.map(of), [7, 13, 3, 1, 2, 0]);
    let error = report::text(&session, &with("Frame")).expect_err("an error").to_string();
    assert!(error.contains("marked Frame") && error.contains("marks"), "{error}");
}

/// Only marks were recorded: threads are listed without states, the one that only heads of lines name too.
#[test]
fn a_recording_without_switches_has_no_columns_of_unknown_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("marks.txt");
    let text = "game-7 [000] 1.000000: print: B|7|load: level 1\nhelper-8 [001] 1.001000: print: hello\n\
                game-7 [000] 1.002000: print: E|7\ngame-7 [000] 1.003000: print: B|7|play\nhelper-8 [001] 1.004000: print: bye\n";
    std::fs::write(&path, text).expect("a file");
    let session = Session::open(&path, PassOptions::default()).expect("a trace");
    let report = report::text(&session, &Options::default()).expect("a report");
    for line in [
        "Threads: 2\nNo context switch or wakeup was recorded, so what they did is unknown.\n  thread  tid\n  game      7\n  helper    8\n",
        "CPUs: 2\nNo context switch of a known CPU was recorded, so what ran on them is unknown.\n",
    ] {
        assert!(report.contains(line), "{report}");
    }
    assert!(report.contains("load: level 1") && report.contains("open: stretches without a recorded end"), "{report}");
}

#[test]
fn a_missing_process_is_an_error() {
    let session = open("sched.data", PassOptions::default());
    let options = Options { process: Some("missing".to_owned()), ..Options::default() };
    let error = report::text(&session, &options).expect_err("an error").to_string();
    assert!(error.contains("missing") && error.contains("corewise report"), "{error}");
}

fn object(session: &Session, options: &Options) -> serde_json::Value {
    let mut out = Vec::new();
    report::json(session, options, &mut out).expect("an object");
    serde_json::from_slice(&out).expect("JSON")
}

#[test]
fn the_tables_of_the_json_object_are_consistent() {
    let session = open("sched.data", PassOptions::default());
    let json = object(&session, &Options { concurrency: true, ..Options::default() });
    let sum = |table: &str, of: &dyn Fn(&serde_json::Value) -> i64| -> i64 {
        json[table].as_array().expect("rows").iter().map(of).sum()
    };
    let int = |row: &serde_json::Value, name: &str| row[name].as_i64().expect("an integer");
    let busy = sum("cpus", &|r| int(r, "busy_ns"));
    assert_eq!(busy, sum("threads", &|r| int(r, "running_ns")));
    assert_eq!(busy, sum("thread_by_cpu", &|r| int(r, "running_ns")));
    assert_eq!(busy, sum("thread_by_core_type", &|r| int(r, "running_ns")));
    assert_eq!(busy, sum("concurrency", &|r| int(r, "running") * int(r, "duration_ns")));
    assert_eq!(json["summary"]["laws_hold"], true);
    assert_eq!(json["source"]["format"], "perf.data");
    let one = Options { process: Some("sched-messaging".to_owned()), ..Options::default() };
    let one = object(&session, &one);
    assert!(one["threads"].as_array().expect("rows").iter().all(|t| t["name"] == "sched-messaging"));
}

/// Samples of two PMUs, some of which the kernel did not take: each is counted with its type of core, and what is missing is said.
#[test]
fn samples_by_core_type_that_were_held_back() {
    let session = support::drawn("cpu0 P0  A A A A\nsample   A=spin A=spin A=spin A=work", |facts, batch| {
        batch.events.retain(|event| matches!(event.what, EventKind::CpuSample { .. }));
        let mut slow = false;
        for event in &mut batch.events {
            event.cpu = model::CpuId::UNKNOWN;
            if let EventKind::CpuSample { core, .. } = &mut event.what {
                *core = if slow { CoreType::Efficient } else { CoreType::Performance };
                slow = true;
            }
        }
        let names = [(CoreType::Performance, "cpu_core/cycles/P"), (CoreType::Efficient, "cpu_atom/cycles/P")];
        if let Some(sampled) = &mut facts.sampled {
            sampled.by_core = names.map(|(core, name)| (core, name.to_owned())).into();
        }
        let off =
            SamplingOff { event: "cycles".into(), tid: Some(7), times: 3, off_ns: 1_234_567, ..SamplingOff::default() };
        batch.sampling_off = vec![off.clone(), SamplingOff { cpu: Some(2), tid: None, until_end: 1, ..off }];
    });
    let text = report::text(&session, &Options { width: 200, ..Options::default() }).expect("a report");
    for line in [
        "4 samples of cpu_core/cycles/P 1 (performance), cpu_atom/cycles/P 3 (efficient)",
        "Samples of cpu_core/cycles/P and cpu_atom/cycles/P: 4, by function",
        "the kernel throttled sampling 6 times, for at most 2.469 ms.",
        "Sampling throttled by the kernel: cycles of thread 7: 3 times, 1.235 ms; cycles on CPU 2: 3 times, 1.235 ms up to the end of the recording.",
        "kernel.perf_event_max_sample_rate",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("Nothing was recorded of"), "{text}");
}
