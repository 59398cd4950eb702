//! Tests the texts that we recorded.

use crate::text::referee::compare;
use crate::text::{Read, file, pipe};
use model::{EventKind, Wake};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use testkit::corpus;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(FIXTURES).join(name)).unwrap()
}

/// The folders whose files have tests of their own (`crates/import/tests/<group>`).
const OTHERS: [&str; 9] =
    ["cap_frame_x", "ctf", "firefox", "mango_hud", "perf_data", "perfetto", "present_mon", "schedviz", "trace_dat"];

/// The other folders of fixtures: those of text formats, and of formats that were added.
pub(crate) fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|e| e.file_type().unwrap().is_dir()).map(|e| e.file_name().into_string().unwrap());
    folders.filter(|folder| !OTHERS.contains(&&**folder)).collect()
}

/// Compares the files of these folders with their `*.md`, whose `trace` blocks name them.
#[test]
fn our_files_match_their_descriptions() {
    for folder in folders() {
        testkit::cases::run(&Path::new(FIXTURES).join(&folder), |name| {
            summary(&file(&fixture(&format!("{folder}/{}", name.trim()))).unwrap())
        });
    }
}

fn summary(read: &Read) -> String {
    let mut text = String::new();
    let f = &read.facts;
    let _ =
        writeln!(text, "{}, clock: {}; waking: {:?}, wakeup: {:?}", read.format, f.clock, f.has_waking, f.has_wakeup);
    let _ = writeln!(text, "charges: {}; whole machine: {}", f.has_charges, f.whole_machine);
    let _ = writeln!(text, "online: {:?}", f.online.iter().map(|c| c.0).collect::<Vec<_>>());
    for (name, value) in f.about.iter().filter(|(name, _)| name != "command_line") {
        let _ = writeln!(text, "{name}: {value}");
    }
    for lack in &f.lacks {
        let _ = writeln!(text, "lacks: {lack}");
    }
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for event in &read.events {
        let debug = format!("{:?}", event.what);
        *kinds.entry(debug.split(['(', ' ']).next().unwrap_or_default().to_owned()).or_default() += 1;
    }
    let _ = writeln!(text, "events: {kinds:?}");
    let _ = writeln!(text, "names: {}, anomalies: {:?}, late: {}", read.names.len(), read.anomalies.0, read.late);
    let sched = |what: &EventKind| matches!(what, EventKind::Switch(_) | EventKind::Wake(_));
    let is_other = |what: &EventKind| {
        matches!(what, EventKind::Mark(_) | EventKind::Value { .. } | EventKind::Clock { .. } | EventKind::Loss(_))
    };
    for event in read.events.iter().filter(|e| sched(&e.what)).take(5) {
        let _ = writeln!(text, "{}", read.describe(event));
    }
    for event in read.events.iter().filter(|e| is_other(&e.what)) {
        let _ = writeln!(text, "{}", read.describe(event));
    }
    text
}

/// Compares the tables of our texts with those that the referee made when they were recorded.
#[test]
fn our_files_match_the_referee() {
    for name in [
        "ftrace_text/trace",
        "ftrace_text/overwritten",
        "ftrace_text/report",
        "ftrace_text/raw",
        "perf_script/sched",
        "perf_script/chains",
    ] {
        let read = file(&fixture(&format!("{name}.txt"))).unwrap();
        let answer = String::from_utf8(fixture(&format!("{name}.referee.json"))).unwrap();
        compare(name, &read, &serde_json::from_str(&answer).unwrap());
        assert_eq!(read.late, 0, "{name}");
        assert!(read.anomalies.0.is_empty(), "{name}: {:?}", read.anomalies.0);
    }
}

/// A text gives the same events in a page, compressed, and through a pipe.
#[test]
fn a_text_in_pages_and_compressed() {
    let text = fixture("ftrace_text/trace.txt");
    let lines: Vec<_> = text.split(|b| *b == b'\n').take(60).collect();
    let plain = file(&lines.join(&b'\n')).unwrap();
    for name in ["page.html", "first-page.html", "atrace.z"] {
        for read in [file(&fixture(&format!("ftrace_text/{name}"))), pipe(&fixture(&format!("ftrace_text/{name}")))] {
            let read = read.unwrap();
            let lines = |read: &Read| read.events.iter().map(|e| read.describe(e)).collect::<Vec<_>>();
            assert_eq!(lines(&read), lines(&plain), "{name}");
            assert_eq!((read.anomalies.0.len(), &read.stopped), (0, &None), "{name}: {:?}", read.anomalies.0);
        }
    }
}

/// In `adb shell atrace -z` of old Androids, the terminal added a carriage return before each line feed, also in the compressed
/// text; adb on Windows added another.
#[test]
fn a_compressed_text_changed_by_a_terminal() {
    let packed = fixture("ftrace_text/atrace.z");
    let lines = |read: Read| read.events.iter().map(|e| read.describe(e)).collect::<Vec<_>>();
    let plain = lines(file(&packed).unwrap());
    for added in [&b"\r"[..], b"\r\r"] {
        let through: Vec<u8> =
            packed.iter().flat_map(|b| if *b == b'\n' { [added, b"\n"].concat() } else { vec![*b] }).collect();
        assert!(added.len() > 1 || through == fixture("ftrace_text/atrace-adb.z"));
        assert!(through.len() > packed.len() + 2 * added.len(), "line feeds in the compressed text itself");
        let read = file(&through).unwrap();
        assert_eq!((read.anomalies.0.len(), &read.stopped), (0, &None), "{:?}", read.anomalies.0);
        assert_eq!(lines(read), plain);
    }
}

/// Only the list has the name of 11 (its lines have none), the list has the process of 12, 13 is missing, 14 has no events.
#[test]
fn a_page_with_a_list_of_processes() {
    let html = String::from_utf8(fixture("ftrace_text/processes.html")).unwrap();
    let mut blocks = html.split_inclusive("</script>\n").map(|b| &b[b.find("<script").unwrap()..]);
    let (list, trace) = (blocks.next().unwrap(), blocks.next().unwrap());
    let page = |blocks: &[&str]| format!("<!DOCTYPE html>\n<title>Android System Trace</title>\n{}", blocks.concat());
    let names = |page: String| {
        let read = file(page.as_bytes()).unwrap();
        let names = read.events.iter().filter(|e| matches!(e.what, EventKind::Name { .. })).map(|e| read.describe(e));
        names.collect::<Vec<_>>()
    };
    let threads =
        ["10 of 10 is \"com.game\"", "11 of 10 is \"render thread\"", "12 of 10 is \"worker\"", "14 of 10 is \"idle\""];
    assert_eq!(names(page(&[list, trace])), threads.map(|t| format!("-∞ cpu-1 {t}")));
    // After the trace, the list only adds the processes of known threads: the time of their names is unknown.
    let later = ["-∞ cpu-1 11 of 10 is \"\"", "-∞ cpu-1 12 of 10 is \"\"", "10000 cpu1 12 of -1 is \"w\""];
    assert_eq!(names(page(&[trace, list])), later);
}

/// The text of `perf script` for our perf.data files gives the same events as the files themselves.
#[test]
#[ignore = "needs perf"]
fn perf_script_text_matches_our_recordings() {
    perf_script_matches(
        &["sched", "sched-zstd", "sched-pipe", "switch"].map(|n| format!("{FIXTURES}/perf_data/{n}.data")),
    );
}

#[test]
#[ignore = "needs ../shared, perf"]
fn perf_script_text_matches_recordings_of_other_machines() {
    let files = corpus::list("guests").into_iter().map(|guest| guest.join("perf.data"));
    let files: Vec<_> = files.filter(|p| p.is_file()).map(|p| p.display().to_string()).collect();
    assert!(!files.is_empty());
    perf_script_matches(&files);
}

fn perf_script_matches(recordings: &[String]) {
    for path in recordings {
        let mut perf = Command::new("perf");
        perf.args(["script", "--header", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "--show-task-events"]);
        if path.ends_with("switch.data") {
            perf.arg("--show-switch-events");
        }
        let out = perf.arg("-i").arg(path).output().unwrap();
        assert!(out.status.success(), "{path}: {}", String::from_utf8_lossy(&out.stderr));
        let binary = file(&std::fs::read(path).unwrap()).unwrap();
        assert_same_events(path, &file(&out.stdout).unwrap(), &binary);
    }
}

/// Compares the descriptions of all events, without what only one of the two contains; names only if both have them.
fn assert_same_events(path: &str, text: &Read, binary: &Read) {
    let lines = |read: &Read| {
        let kept = read.events.iter().filter(|e| !matches!(e.what, EventKind::Name { .. } | EventKind::Loss(_)));
        kept.map(|e| describe_common(read, e)).collect::<Vec<_>>()
    };
    let (ours, theirs) = (lines(text), lines(binary));
    let differs = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    assert_eq!(differs, None, "{path}");
    assert_eq!(ours.len(), theirs.len(), "{path}");
    assert_eq!(text.origin, binary.origin, "{path}");
    let facts = |read: &Read| {
        let f = &read.facts;
        (f.has_waking, f.has_wakeup, f.whole_machine, f.has_charges, f.online.clone())
    };
    assert_eq!(facts(text), facts(binary), "{path}");
    eprintln!("{path}: {} events equal", ours.len());
}

fn describe_common(read: &Read, event: &model::Event) -> String {
    match event.what {
        // A text has state letters where a record has numbers; libtraceevent's plugin may print different letters.
        EventKind::Switch(s) => {
            let names =
                if s.prev.0 < 0 || s.next.0 < 0 { ("", "") } else { (read.name(s.prev_name), read.name(s.next_name)) };
            let prio = (s.prev_prio.to_word(), s.next_prio.to_word());
            format!("{} {} {:?} {} {:?} {names:?} {prio:?}", event.at.0, event.cpu.0, s.prev, s.next.0, s.out)
        }
        // Only a record has the flags of an interrupt; for a text, the waker is the current thread.
        EventKind::Wake(w) => {
            let what = EventKind::Wake(Wake { waker: event.current, ..w });
            read.describe(&model::Event { what, ..*event })
        }
        _ => read.describe(event),
    }
}
