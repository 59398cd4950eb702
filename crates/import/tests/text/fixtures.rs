//! Texts that we recorded.

use crate::referee::compare;
use crate::{Read, file, pipe};
use model::{Wake, What};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(FIXTURES).join(name)).unwrap()
}

/// What the files of both folders tell: see their `*.md`, whose `trace` blocks name them.
#[test]
fn ours() {
    for folder in ["ftrace_text", "perf_script"] {
        testkit::cases::run(&Path::new(FIXTURES).join(folder), |name| {
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
    let _ = writeln!(text, "names: {}, trouble: {:?}, late: {}", read.names.len(), read.troubles.0, read.late);
    let sched = |what: &What| matches!(what, What::Switch(_) | What::Wake(_));
    let told = |what: &What| matches!(what, What::Mark(_) | What::Value { .. } | What::Clock { .. } | What::Loss(_));
    for event in read.events.iter().filter(|e| sched(&e.what)).take(5) {
        let _ = writeln!(text, "{}", read.words(event));
    }
    for event in read.events.iter().filter(|e| told(&e.what)) {
        let _ = writeln!(text, "{}", read.words(event));
    }
    text
}

/// The tables of our texts are those that the referee made of them when they were recorded.
#[test]
fn ours_as_the_referee_has_them() {
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
        assert!(read.troubles.0.is_empty(), "{name}: {:?}", read.troubles.0);
    }
}

/// However the text is wrapped, the same happened; and through a pipe too.
#[test]
fn a_text_within_pages_and_packed() {
    let text = fixture("ftrace_text/trace.txt");
    let lines: Vec<_> = text.split(|b| *b == b'\n').take(60).collect();
    let plain = file(&lines.join(&b'\n')).unwrap();
    for name in ["page.html", "first-page.html", "atrace.z"] {
        for read in [file(&fixture(&format!("ftrace_text/{name}"))), pipe(&fixture(&format!("ftrace_text/{name}")))] {
            let read = read.unwrap();
            let told = |read: &Read| read.events.iter().map(|e| read.words(e)).collect::<Vec<_>>();
            assert_eq!(told(&read), told(&plain), "{name}");
            assert_eq!((read.troubles.0.len(), &read.stopped), (0, &None), "{name}: {:?}", read.troubles.0);
        }
    }
}

/// `adb shell atrace -z` of old Androids, whose terminal put a carriage return before each line feed of the packed text too;
/// adb on Windows put another.
#[test]
fn a_packed_text_that_went_through_a_terminal() {
    let packed = fixture("ftrace_text/atrace.z");
    let told = |read: Read| read.events.iter().map(|e| read.words(e)).collect::<Vec<_>>();
    let plain = told(file(&packed).unwrap());
    for added in [&b"\r"[..], b"\r\r"] {
        let through: Vec<u8> =
            packed.iter().flat_map(|b| if *b == b'\n' { [added, b"\n"].concat() } else { vec![*b] }).collect();
        assert!(added.len() > 1 || through == fixture("ftrace_text/atrace-adb.z"));
        assert!(through.len() > packed.len() + 2 * added.len(), "line feeds in the packed text itself");
        let read = file(&through).unwrap();
        assert_eq!((read.troubles.0.len(), &read.stopped), (0, &None), "{:?}", read.troubles.0);
        assert_eq!(told(read), plain);
    }
}

/// 11 is known by the list only (its lines have no name), of 12 the list tells the process, 13 was forgotten, 14 never met.
#[test]
fn a_page_with_a_list_of_processes() {
    let whole = String::from_utf8(fixture("ftrace_text/processes.html")).unwrap();
    let mut blocks = whole.split_inclusive("</script>\n").map(|b| &b[b.find("<script").unwrap()..]);
    let (list, trace) = (blocks.next().unwrap(), blocks.next().unwrap());
    let page = |blocks: &[&str]| format!("<!DOCTYPE html>\n<title>Android System Trace</title>\n{}", blocks.concat());
    let names = |page: String| {
        let read = file(page.as_bytes()).unwrap();
        let names = read.events.iter().filter(|e| matches!(e.what, What::Name { .. })).map(|e| read.words(e));
        names.collect::<Vec<_>>()
    };
    let threads =
        ["10 of 10 is \"com.game\"", "11 of 10 is \"render thread\"", "12 of 10 is \"worker\"", "14 of 10 is \"idle\""];
    assert_eq!(names(page(&[list, trace])), threads.map(|t| format!("-∞ cpu-1 {t}")));
    // Behind the trace the list tells the processes of those met; since when they have their names is not known.
    let later = ["-∞ cpu-1 11 of 10 is \"\"", "-∞ cpu-1 12 of 10 is \"\"", "10000 cpu1 12 of -1 is \"w\""];
    assert_eq!(names(page(&[trace, list])), later);
}

/// `perf script` of our perf.data files: what its text tells is what the files themselves tell.
#[test]
#[ignore = "needs perf"]
fn scripts_of_recordings_tell_what_the_recordings_do() {
    scripts_tell_the_same(
        &["sched", "sched-zstd", "sched-pipe", "switch"].map(|n| format!("{FIXTURES}/perf_data/{n}.data")),
    );
}

#[test]
#[ignore = "needs ../shared, perf"]
fn scripts_of_other_machines_recordings_do_too() {
    let guests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/guests");
    let files = std::fs::read_dir(guests).unwrap().map(|g| g.unwrap().path().join("perf.data"));
    let files: Vec<_> = files.filter(|p| p.is_file()).map(|p| p.display().to_string()).collect();
    assert!(!files.is_empty(), "{guests}");
    scripts_tell_the_same(&files);
}

fn scripts_tell_the_same(recordings: &[String]) {
    for path in recordings {
        let mut perf = Command::new("perf");
        perf.args(["script", "--header", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "--show-task-events"]);
        if path.ends_with("switch.data") {
            perf.arg("--show-switch-events");
        }
        let out = perf.arg("-i").arg(path).output().unwrap();
        assert!(out.status.success(), "{path}: {}", String::from_utf8_lossy(&out.stderr));
        let binary = file(&std::fs::read(path).unwrap()).unwrap();
        same_events(path, &file(&out.stdout).unwrap(), &binary);
    }
}

/// Each event in words, without what only one of the two can tell; names only where both know them.
fn same_events(path: &str, text: &Read, binary: &Read) {
    let told = |read: &Read| {
        let kept = read.events.iter().filter(|e| !matches!(e.what, What::Name { .. } | What::Loss(_)));
        kept.map(|e| plain_words(read, e)).collect::<Vec<_>>()
    };
    let (ours, theirs) = (told(text), told(binary));
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

fn plain_words(read: &Read, event: &model::Event) -> String {
    match event.what {
        // A text has letters where a record has numbers; libtraceevent's plugin may have printed others.
        What::Switch(s) => {
            let names =
                if s.prev.0 < 0 || s.next.0 < 0 { ("", "") } else { (read.name(s.prev_name), read.name(s.next_name)) };
            let prio = (s.prev_prio.to_word(), s.next_prio.to_word());
            format!("{} {} {:?} {} {:?} {names:?} {prio:?}", event.at.0, event.cpu.0, s.prev, s.next.0, s.out)
        }
        // Only a record has the flags that tell of an interrupt: here whoever was current woke.
        What::Wake(w) => {
            let what = What::Wake(Wake { waker: event.current, ..w });
            read.words(&model::Event { what, ..*event })
        }
        _ => read.words(event),
    }
}
