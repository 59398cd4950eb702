//! Callchains of a program that keeps no frame pointers.

use crate::support::{Trace, alone, read, recorded};
use capture::{Backend, RecordOptions, Sampling, Target};
use model::{CallchainEnd, EventKind, NameId, StackFrame};
use std::process::Command;

/// Compiles tests/programs/chain.c without frame pointers.
fn chain(at: &str) {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/chain.c");
    let how = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", at, source];
    let done = Command::new(clang).args(how).output().expect("clang runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The functions of the program in a callchain, outermost first; `None` if it was followed by frame pointers, or is truncated.
fn functions<'t>(trace: &'t Trace, frames: &[StackFrame]) -> Option<Vec<&'t str>> {
    let name = |id: NameId| id.0.checked_sub(1).map_or("", |at| &*trace.names[at as usize]);
    let all: Vec<&str> = frames.iter().rev().filter(|frame| !frame.inlined).map(|frame| name(frame.function)).collect();
    (all.first() == Some(&"_start")).then_some(())?;
    let own = |function: &&str| function.starts_with('f') || ["main", "handler", "pause_at_the_end"].contains(function);
    let of_program = |frame: &StackFrame| name(frame.file).ends_with("/chain");
    let frames = frames.iter().rev().filter(|frame| !frame.inlined && of_program(frame));
    Some(frames.map(|frame| name(frame.function)).filter(own).collect())
}

/// A callchain that reaches the root has each function of the chain, in the program's order, also through a signal handler on a stack of its
/// own. The first ones do not: the program's table is not read yet.
#[test]
#[ignore = "needs BPF rights"]
fn callchains_without_frame_pointers_are_whole() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("chain").to_string_lossy().into_owned();
    chain(&program);
    let mut options = RecordOptions::new(dir.path().join("run"));
    (options.backend, options.target) = (Backend::Bpf, Target::Command(vec![program]));
    (options.stacks, options.sampling) = (true, Sampling::Off);
    recorded(&options);
    let trace = read(&options.dir);
    let deep = (0..30).rev().map(|n| format!("f{n:02}"));
    let whole: Vec<String> =
        ["main".to_owned()].into_iter().chain(deep).chain(["pause_at_the_end".to_owned()]).collect();
    let handled = [&["main".to_owned(), "handler".to_owned()], &whole[27..]].concat();
    let focus = trace.facts.focus.unwrap();
    let stacks = trace.events.iter().filter_map(|event| match event.what {
        EventKind::Switch(switch) if switch.prev.0 == focus => {
            trace.stacks.get((switch.stack.0 as usize).checked_sub(1)?)
        }
        _ => None,
    });
    let (mut of_chain, mut of_handler) = (0, 0);
    for own in stacks.filter_map(|frames| functions(&trace, frames)) {
        of_chain += usize::from(own == whole);
        of_handler += usize::from(own == handled);
        // While the program begins and ends, it waits elsewhere.
        let waits = own.contains(&"pause_at_the_end");
        assert!(!waits || own == whole || own == handled, "{own:?}");
    }
    let ends = trace.facts.callchain_ends.unwrap();
    assert!(of_chain > 0 && of_handler > 0, "{of_chain} and {of_handler} callchains are whole: {ends:?}");
    assert!(ends.root >= (of_chain + of_handler) as u64, "{ends:?}");
    assert!(CallchainEnd::Root.frame().is_none());
}
