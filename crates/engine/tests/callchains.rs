//! What threads wait for, by the callchains of a perf.data and of ftrace.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use engine::{PassOptions, Session, SymbolPath};
use model::{Table, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_data");
/// Of the kernel that the fixture was recorded on.
const KERNEL: &str = "4a5a9b0affb66c437abcd455d2738af879985fa9";

/// A machine whose perf kept the list of the fixture's kernel, and that knows nothing else.
fn symbols(folder: &Path) -> SymbolPath {
    let kept = folder.join(".build-id").join(&KERNEL[..2]).join(&KERNEL[2..]);
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::copy(Path::new(FIXTURES).join("chains.kallsyms"), kept.join("kallsyms")).unwrap();
    let nowhere = PathBuf::from("/nowhere");
    SymbolPath { cache: Some(folder.to_owned()), debug: nowhere.clone(), notes: nowhere.clone(), list: nowhere }
}

/// By thread and reason, how many switch-outs in state S or D there are; "" where the reason is not told.
type Reasons = BTreeMap<(i64, String), i64>;

fn told(table: &Table, tids: &Reasons) -> Reasons {
    let column = |name: &str| table.def.col(name).unwrap();
    let [tid, letter, reason, count] = ["tid", "letter", "reason", "count"].map(column);
    let mut told = Reasons::new();
    for row in &table.rows {
        let text = |at: usize| if let Value::Text(text) = &row[at] { text.as_str() } else { "" };
        let int = |at: usize| if let Value::Int(v) = &row[at] { *v } else { 0 };
        if ["S", "D"].contains(&text(letter)) && tids.keys().any(|(of, _)| *of == int(tid)) {
            *told.entry((int(tid), text(reason).to_owned())).or_default() += int(count);
        }
    }
    told
}

/// The same by what perf itself made of the recording (`chains.script`): of each switch-out of the load, the innermost frame
/// that is a system call's entry or a page fault. Entries of read and wait4 only go on in ksys_read and kernel_wait4, which then
/// stand in their place.
fn by_perf() -> Reasons {
    let text = std::fs::read_to_string(Path::new(FIXTURES).join("chains.script")).unwrap();
    let mut reasons = Reasons::new();
    // The recording begins with the first one: what it did before is not in it.
    for sample in text.trim_end().split("\n\n").skip(1) {
        let (head, frames) = sample.split_once('\n').unwrap();
        let field = |name: &str| head.split(name).nth(1).unwrap().split(' ').next().unwrap();
        if field("prev_comm=") == "other" || !["S", "D"].contains(&field("prev_state=")) {
            continue;
        }
        let reason = frames.lines().find_map(|frame| {
            let function = frame.rsplit(' ').next()?;
            let fault = (function == "asm_exc_page_fault").then_some("page_fault");
            let entry = ["__x64_sys_", "ksys_", "kernel_"].iter().find_map(|before| function.strip_prefix(before));
            entry.filter(|call| *call != "clone").or(fault)
        });
        let tid = field("prev_pid=").parse().unwrap();
        *reasons.entry((tid, reason.unwrap_or_default().to_owned())).or_default() += 1;
    }
    reasons
}

/// Capability 22, from `perf record -g`: of every switch-out that blocks the reason is what perf's own reading of its callchain
/// says, in the file and in the folder that is made of it.
#[test]
fn cap_22_reasons_of_a_perf_data_are_those_of_perf_script() {
    let folder = tempfile::tempdir().unwrap();
    let options = PassOptions { symbols: Some(symbols(folder.path())), ..PassOptions::default() };
    let source = || engine::open_source(&Path::new(FIXTURES).join("chains.data")).unwrap();
    let expected = by_perf();
    let (calls, count) = (expected.len(), expected.values().sum::<i64>());
    assert!(calls > 5 && count > 25 && expected.keys().all(|(_, reason)| !reason.is_empty()), "{expected:?}");

    let session = Session::of_source(source(), options.clone()).unwrap();
    assert_eq!(told(&session.table("switch_causes").unwrap(), &expected), expected);
    let to = folder.path().join("chains.cw");
    engine::import(source().as_ref(), engine::Target::New(&to), &options, &mut |_| ()).unwrap();
    let imported = Session::open(&to, PassOptions::default()).unwrap();
    assert_eq!(told(&imported.table("switch_causes").unwrap(), &expected), expected);
    // The kernel's are all named; of programs the recording tells no build id.
    let lacks =
        |session: &Session| session.facts().lacks.iter().filter(|l| l.contains("have no name")).cloned().collect();
    let (of_file, of_folder): (Vec<String>, Vec<String>) = (lacks(&session), lacks(&imported));
    assert_eq!((of_file.len(), &of_file), (1, &of_folder));
    assert!(of_file[0].contains("in programs"), "{of_file:?}");
}

/// Without the list of that very kernel nothing is named, and it is said what would.
#[test]
fn frames_are_not_named_by_another_kernels_list() {
    let folder = tempfile::tempdir().unwrap();
    let mut path = symbols(folder.path());
    path.list = Path::new(FIXTURES).join("chains.kallsyms");
    path.cache = None;
    let options = PassOptions { symbols: Some(path), ..PassOptions::default() };
    let session = Session::open(&Path::new(FIXTURES).join("chains.data"), options).unwrap();
    let stacks = session.stacks().unwrap();
    let named = stacks.chains.iter().flatten().filter(|frame| frame.function != model::NameId::NONE).count();
    assert_eq!((stacks.chains.is_empty(), named), (false, 0));
    let lacks = &session.facts().lacks;
    assert!(lacks.iter().any(|l| l.contains("no list of the functions of that very kernel")), "{lacks:?}");
}

/// What follows each blocking switch-out of the fixture on its CPU, read by other means: of its lines of callchains, the first that is
/// a system call's entry, or its body where the dispatcher called that; of kernel threads, the first that is not the scheduler's.
fn by_lines(text: &str) -> Reasons {
    let scheduler = [
        "trace_event_raw_event_sched_switch",
        "__traceiter_sched_switch",
        "__schedule",
        "schedule",
        "schedule_timeout",
        "do_nanosleep",
    ];
    let mut reasons = Reasons::new();
    // The recording begins with the first one: what it did before is not in it.
    for (switch, chain) in text.split("<stack trace>").zip(text.split("<stack trace>").skip(1)).skip(1) {
        let switch = switch.lines().rev().find(|line| line.contains(": sched_switch: ")).unwrap();
        let field = |name: &str| switch.split(name).nth(1).unwrap().split(' ').next().unwrap();
        let frames: Vec<&str> = chain.lines().skip(1).map_while(|line| line.strip_prefix(" => ")).collect();
        let entries = ["__x64_sys_", "ksys_", "kernel_"];
        let call = |f: &str| entries.iter().find_map(|before| f.strip_prefix(before).map(str::to_owned));
        let of_kernel = || frames.iter().find(|f| !scheduler.contains(*f)).map(|f| (*f).to_owned());
        let reason = frames.iter().find_map(|f| call(f)).or_else(of_kernel).unwrap_or_default();
        if ["S", "D"].contains(&field("prev_state=")) {
            *reasons.entry((field("prev_pid=").parse().unwrap(), reason)).or_default() += 1;
        }
    }
    reasons
}

/// Capability 22, from ftrace's text with the stacktrace trigger: the reason of every switch-out that blocks is in the lines behind it.
#[test]
fn cap_22_reasons_of_ftraces_callchains() {
    let path = Path::new(FIXTURES).join("../ftrace_text/stacks.txt");
    let expected = by_lines(&std::fs::read_to_string(&path).unwrap());
    let total = expected.values().sum::<i64>();
    assert!(expected.len() > 5 && total >= 8 && expected.keys().any(|(_, r)| r == "clock_nanosleep"), "{expected:?}");
    let session = Session::open(&path, PassOptions::default()).unwrap();
    assert_eq!(told(&session.table("switch_causes").unwrap(), &expected), expected);
}
