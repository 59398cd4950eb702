//! The reasons of waits, from the callchains of a perf.data file and of ftrace.

use engine::{PassOptions, Session, SymbolPath};
use model::{Table, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_data");
/// The build id of the kernel on which the fixture was recorded.
const KERNEL: &str = "4a5a9b0affb66c437abcd455d2738af879985fa9";

/// A symbol path with only perf's cached symbol list of the fixture's kernel.
fn symbols(folder: &Path) -> SymbolPath {
    let cached = folder.join(".build-id").join(&KERNEL[..2]).join(&KERNEL[2..]);
    std::fs::create_dir_all(&cached).unwrap();
    std::fs::copy(Path::new(FIXTURES).join("chains.kallsyms"), cached.join("kallsyms")).unwrap();
    let nowhere = PathBuf::from("/nowhere");
    SymbolPath { cache: Some(folder.to_owned()), folders: Vec::new(), notes: nowhere.clone(), list: nowhere }
}

/// The number of switch-outs in state S or D, by thread and reason; "" without a reason.
type Reasons = BTreeMap<(i64, String), i64>;

fn reasons_of(table: &Table, tids: &Reasons) -> Reasons {
    let column = |name: &str| table.def.col(name).unwrap();
    let [tid, letter, reason, count] = ["tid", "state_letter", "reason", "count"].map(column);
    let mut reasons = Reasons::new();
    for row in &table.rows {
        let text = |at: usize| if let Value::Text(text) = &row[at] { text.as_str() } else { "" };
        let int = |at: usize| if let Value::Int(v) = &row[at] { *v } else { 0 };
        if ["S", "D"].contains(&text(letter)) && tids.keys().any(|(of, _)| *of == int(tid)) {
            *reasons.entry((int(tid), text(reason).to_owned())).or_default() += int(count);
        }
    }
    reasons
}

/// The same, computed from the output of perf script (`chains.script`): the innermost frame of each switch-out that is a system call's
/// entry or a page fault. The entries of read and wait4 may be inlined; ksys_read and kernel_wait4 then appear instead.
fn by_perf() -> Reasons {
    let text = std::fs::read_to_string(Path::new(FIXTURES).join("chains.script")).unwrap();
    let mut reasons = Reasons::new();
    // The first switch-out does not count: the recording begins with it.
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

/// Capability 22, with `perf record -g`: the reason of every switch-out that blocks matches the callchain as printed by perf, in the
/// file and in the imported folder.
#[test]
fn cap_22_reasons_of_a_perf_data_are_those_of_perf_script() {
    let folder = tempfile::tempdir().unwrap();
    let options = PassOptions { symbols: Some(symbols(folder.path())), ..PassOptions::default() };
    let source = || engine::open_source(&Path::new(FIXTURES).join("chains.data")).unwrap();
    let expected = by_perf();
    let (calls, count) = (expected.len(), expected.values().sum::<i64>());
    assert!(calls > 5 && count > 25 && expected.keys().all(|(_, reason)| !reason.is_empty()), "{expected:?}");

    let session = Session::of_source(source(), options.clone()).unwrap();
    assert_eq!(reasons_of(&session.table("switch_causes").unwrap(), &expected), expected);
    // Made by itself, the table has the callchains, too. All waits but the first were in the C library, which has no build id here.
    let by_function = session.table("power_by_function").unwrap();
    let [file, switches] = ["file", "sync_switches"].map(|name| by_function.def.col(name).unwrap());
    let waits = by_function.rows.iter().filter(|row| row[file] != Value::Null).map(|row| &row[switches]);
    assert_eq!(waits.collect::<Vec<_>>(), [&Value::Int(count)], "{:?}", by_function.rows);
    let to = folder.path().join("chains.cw");
    engine::import(source().as_ref(), engine::Target::New(&to), &options, &mut |_| ()).unwrap();
    let imported = Session::open(&to, PassOptions::default()).unwrap();
    assert_eq!(reasons_of(&imported.table("switch_causes").unwrap(), &expected), expected);
    // All kernel functions are named; the recording has no build ids of programs.
    let lacks =
        |session: &Session| session.facts().lacks.iter().filter(|l| l.contains("without a name")).cloned().collect();
    let (of_file, of_folder): (Vec<String>, Vec<String>) = (lacks(&session), lacks(&imported));
    assert_eq!((of_file.len(), &of_file), (1, &of_folder));
    assert!(of_file[0].starts_with("Program frames"), "{of_file:?}");
}

/// Without the symbol list of the recorded kernel, nothing is named, and a note says what is missing.
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
    assert!(lacks.iter().any(|l| l.contains("no list of the functions of that kernel")), "{lacks:?}");
}

/// Parses the callchain after each blocking switch-out of the fixture independently: the first system call's entry, or its body if the
/// dispatcher called that; for kernel threads, the first function outside the scheduler.
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
    // The first switch-out does not count: the recording begins with it.
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

/// Capability 22, with ftrace's text and the stacktrace trigger: the lines after a blocking switch-out have its reason.
#[test]
fn cap_22_reasons_of_ftraces_callchains() {
    let path = Path::new(FIXTURES).join("../ftrace_text/stacks.txt");
    let expected = by_lines(&std::fs::read_to_string(&path).unwrap());
    let total = expected.values().sum::<i64>();
    assert!(expected.len() > 5 && total >= 8 && expected.keys().any(|(_, r)| r == "clock_nanosleep"), "{expected:?}");
    let session = Session::open(&path, PassOptions::default()).unwrap();
    assert_eq!(reasons_of(&session.table("switch_causes").unwrap(), &expected), expected);
}

/// Names that are found later have the same effect as if they had been found at first, and those of a second run without any stay.
#[test]
fn names_that_are_found_later_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (known, nowhere) = (symbols(folder.path()), PathBuf::from("/nowhere"));
    let unknown = SymbolPath { cache: None, folders: Vec::new(), notes: nowhere.clone(), list: nowhere };
    let options = PassOptions { symbols: Some(unknown.clone()), ..PassOptions::default() };
    let (to, expected) = (folder.path().join("chains.cw"), by_perf());
    let source = engine::open_source(&Path::new(FIXTURES).join("chains.data")).unwrap();
    engine::import(source.as_ref(), engine::Target::New(&to), &options, &mut |_| ()).unwrap();
    let open = || Session::open(&to, options.clone()).unwrap();
    let without = open();
    assert!(
        reasons_of(&without.table("switch_causes").unwrap(), &expected).keys().all(|(_, reason)| reason.is_empty())
    );
    let lacks = without.facts().lacks.len();
    let first = engine::symbolize(&to, &known).unwrap();
    assert!(first.now.named > first.before.named && first.now.all == first.before.all, "{first:?}");
    assert_eq!(reasons_of(&open().table("switch_causes").unwrap(), &expected), expected);
    assert!(open().facts().lacks.len() <= lacks);
    let second = engine::symbolize(&to, &unknown).unwrap();
    assert_eq!((second.before, second.now), (first.now, first.now));
    assert_eq!(reasons_of(&open().table("switch_causes").unwrap(), &expected), expected);
}
