//! Samples in Perfetto's format, read back.

use crate::support::{exported, session};
use engine::{PassOptions, Session};
use export::Options;
use export::formats::perfetto::Perfetto;
use model::{NameId, StackFrame, Stacks};

/// The names that frames use after those of the drawn threads.
const NAMES: [&str; 9] =
    ["main", "draw", "clip", "/opt/libgame.so", "ab01cd02", "/src/draw.c", "/src/clip.h", "[vdso]", "inner"];

/// A trace with a sample of each callchain.
fn of_chains(chains: &[Vec<StackFrame>]) -> Session {
    let samples = "A=x ".repeat(chains.len());
    let mut trace = testkit::trace(&format!("cpu0 {}\nsample {samples}", "A ".repeat(chains.len())));
    let before = trace.batch.names.len();
    trace.batch.names.extend(NAMES.map(Box::from));
    let named = |id: NameId| if id == NameId::NONE { id } else { NameId(id.0 + before as u32) };
    let frame = |frame: &StackFrame| {
        let [function, file, build_id, source] = [frame.function, frame.file, frame.build_id, frame.source].map(named);
        StackFrame { function, file, build_id, source, ..*frame }
    };
    trace.batch.stacks = chains.iter().map(|chain| chain.iter().map(frame).collect()).collect();
    session(trace.facts, trace.batch)
}

/// Describes the callchains, each frame with all that is known of it.
fn described(session: &Session) -> Vec<String> {
    let stacks: &Stacks = &session.stacks().expect("callchains");
    let frame = |f: &StackFrame| {
        let [function, file, build_id, source] =
            [f.function, f.file, f.build_id, f.source].map(|id| stacks.name(id).unwrap_or("-"));
        let StackFrame { address, offset, line, inlined, .. } = f;
        format!("{function} {file} {build_id} {source}:{line} {address:#x} {offset:#x} {inlined}")
    };
    stacks.chains.iter().map(|chain| chain.iter().map(frame).collect::<Vec<_>>().join(" < ")).collect()
}

fn read_back(session: &Session, options: &Options) -> (Vec<u8>, Vec<String>) {
    let file = exported(&Perfetto, session, options);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.pftrace");
    std::fs::write(&path, &file).expect("it is written");
    let after = Session::open(&path, PassOptions::default()).expect("the exported file opens");
    (file, described(&after))
}

/// A frame of a library: function, source and line, the place in the file.
fn at(function: u32, (source, line): (u32, u32), offset: u64) -> StackFrame {
    StackFrame {
        function: NameId(function),
        file: NameId(4),
        build_id: NameId(5),
        offset,
        source: NameId(source),
        line,
        ..StackFrame::at(0x7000_0000 + offset)
    }
}

fn inlined(frame: StackFrame) -> StackFrame {
    StackFrame { inlined: true, ..frame }
}

fn chains() -> Vec<Vec<StackFrame>> {
    let main = at(1, (6, 90), 0x500);
    let (clip, draw) = (inlined(at(3, (7, 4), 0x200)), at(2, (6, 80), 0x200));
    let inner = inlined(at(9, (7, 5), 0x200));
    let no_file = StackFrame { function: NameId(9), ..StackFrame::at(0x10) };
    let vdso = StackFrame { function: NameId(9), file: NameId(8), ..StackFrame::at(0x7fff_0000) };
    let relative = StackFrame { offset: StackFrame::FROM_BASE | 0x40, address: 0x40, ..at(2, (6, 81), 0) };
    vec![vec![clip, draw, main], vec![main], vec![inner, clip, at(2, (6, 80), 0x300), no_file, vdso], vec![relative]]
}

#[test]
fn inlined_functions_and_lines_are_read_back() {
    let mut chains = chains();
    chains[2][0].offset = 0x300;
    chains[2][1].offset = 0x300;
    for frame in &mut chains[2][..2] {
        frame.address = 0x7000_0300;
    }
    let session = of_chains(&chains);
    let (_, mut after) = read_back(&session, &Options::default());
    let mut before = described(&session);
    // Only the address of this frame is kept: where in the file it is, is not known without the file.
    let [before_last, after_last] = [&mut before, &mut after].map(|all| all.pop().expect("a callchain"));
    assert_eq!(before, after);
    assert_eq!(before_last.replace("0x4000000000000040", "0xffffffffffffffff"), after_last);
}

/// The place of a return address is before it, so that a caller and an interrupted function may have the same address and other functions.
#[test]
fn at_a_place_with_several_meanings_inlined_functions_are_frames() {
    let (clip, draw) = (inlined(at(3, (7, 4), 0x200)), at(2, (6, 80), 0x200));
    let chains = |clip| [vec![clip, draw, at(1, (6, 90), 0x500)], vec![at(9, (7, 1), 0x100), draw]];
    let session = of_chains(&chains(clip));
    let (_, after) = read_back(&session, &Options::default());
    assert_eq!(after, described(&of_chains(&chains(StackFrame { inlined: false, ..clip }))));
}

#[test]
fn a_redacted_trace_has_no_paths_and_all_functions() {
    let mut session = of_chains(&chains());
    session.redact(engine::Redact::Private);
    let (file, after) = read_back(&session, &Options::default());
    let text = String::from_utf8_lossy(&file).into_owned();
    assert!(!text.contains("/opt/") && !text.contains("/src/"), "a path");
    let functions: Vec<_> = after[0].split(" < ").map(|frame| frame.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(functions, ["clip", "draw", "main"]);
}
