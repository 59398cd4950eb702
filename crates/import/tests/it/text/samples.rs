//! Tests samples in the forms in which `perf script` prints them.

use crate::text::{Read, file, pipe};
use model::{CoreType, EventKind, StackId};
use std::collections::BTreeMap;

const FRAMES: &str = "\tffffffff8156eee6 vfs_write+0x16 ([kernel.kallsyms])
\t    7fcbc6f5b15c flush+0x2c (inlined)
\t    7fcbc6f50b11 _IO_puts+0x1a1 (/usr/lib/libc.so.6)
\t    55d1b65b7730 [unknown] (/opt/a game)
";
/// The callchain of these frames, outermost first, with the files.
const CHAIN: &str = "[/opt/a game];_IO_puts@/usr/lib/libc.so.6;flush;vfs_write@[kernel]";

/// The number of samples of each thread and callchain, and of each event kind.
fn samples(read: &Read) -> (BTreeMap<String, u32>, usize) {
    let name = |id: model::NameId| read.names.get((id.0 as usize).wrapping_sub(1)).map_or("", |name| name);
    let mut folded = BTreeMap::new();
    for event in &read.events {
        let EventKind::CpuSample { tid, stack, name: comm, .. } = event.what else { continue };
        let frames: &[_] = if stack == StackId::NONE { &[] } else { &read.stacks[stack.0 as usize - 1] };
        let chain = frames.iter().rev().map(|frame| match (name(frame.function), name(frame.file)) {
            ("", file) => format!("[{file}]"),
            (function, "") => function.to_owned(),
            (function, file) => format!("{function}@{file}"),
        });
        let chain: Vec<String> = chain.collect();
        *folded.entry(format!("{} {} {}", name(comm), tid.0, chain.join(";"))).or_default() += 1;
    }
    (folded, read.events.iter().filter(|event| event.is_counted()).count())
}

fn of(entries: &[(&str, u32)]) -> BTreeMap<String, u32> {
    entries.iter().map(|(line, count)| ((*line).to_owned(), *count)).collect()
}

#[test]
fn every_form_of_a_sample_is_read() {
    for (form, event) in [
        ("a b 33086 196966.799818:   10101010 cpu-clock:pppH: ", "cpu-clock"),
        ("a b 33086 [001] 196966.799818:   10101010 cpu-clock: ", "cpu-clock"),
        ("a b 33000/33086 196966.799818001:          1 page-faults:u: ", "page-faults"),
        ("a b 33000/33086 [011] 196966.799818:  cpu_core/cycles/P: ", "cycles"),
        ("a b 33086 196966.799818: cycles:u: ", "cycles"),
        ("a b 33086 196966.799818: ", ""),
    ] {
        let sample = format!("{form}\n{FRAMES}\n");
        let text = format!("# captured on    : Sun Nov 29 08:41:06 2026\n{}", sample.repeat(3));
        for read in [file(text.as_bytes()).unwrap(), pipe(text.as_bytes()).unwrap()] {
            let line = format!("a b 33086 {CHAIN}");
            assert_eq!(samples(&read), (of(&[(&line, 3)]), 3), "{form}");
            assert_eq!(read.facts.sampled.as_ref().unwrap().event, event);
            assert!(read.anomalies.0.is_empty(), "{form}: {:?}", read.anomalies.0);
        }
    }
}

#[test]
fn samples_have_the_core_type_of_the_pmu_that_perf_printed() {
    let head = |at: u32, event: &str| format!("game 7 1.{at}: {event}: \n\t  401000 f+0x0 (/a)\n\n");
    let text = [head(1, "cpu_core/cycles/P"), head(2, "cpu_atom/cycles/P"), head(3, "cpu_core/cycles/P")].concat();
    let read = file(text.as_bytes()).unwrap();
    let (fast, slow) = (CoreType::Performance, CoreType::Efficient);
    let cores = read.events.iter().filter_map(|event| match event.what {
        EventKind::CpuSample { core, .. } => Some(core),
        _ => None,
    });
    assert_eq!(cores.collect::<Vec<_>>(), [fast, slow, fast]);
    let names = [(fast, "cpu_core/cycles/P".to_owned()), (slow, "cpu_atom/cycles/P".to_owned())];
    assert_eq!(read.facts.sampled.unwrap().by_core, names);
}

#[test]
fn a_sample_without_callchain_has_its_frame_in_its_line() {
    let line = "game 7 1.5: 250000 cycles:u:      401a2b draw(int)+0x1f (/opt/game)\n";
    let without_event = "game 7 1.5:      401a2b draw(int)+0x1f (/opt/game)\n";
    for text in [line, without_event] {
        let read = file(text.repeat(2).as_bytes()).unwrap();
        assert_eq!(samples(&read), (of(&[("game 7 draw(int)@/opt/game", 2)]), 2), "{text}");
    }
}

#[test]
fn threads_have_the_names_of_the_time_and_the_idle_task_has_no_samples() {
    let text = format!(
        "sh 7 1.1: cycles: \n{FRAMES}\ngame 7 1.2: cycles: \n{FRAMES}\n:8 8 1.3: cycles: \n{FRAMES}\nswapper 0 1.4: cycles: \n{FRAMES}\n"
    );
    let lines = ["sh 7", "game 7", " 8"].map(|thread| format!("{thread} {CHAIN}"));
    let read = file(text.as_bytes()).unwrap();
    assert_eq!(samples(&read), (lines.into_iter().map(|line| (line, 1)).collect(), 4));
}

#[test]
fn one_event_is_the_profile_and_tracepoints_are_not() {
    let text = "a 7 1.1: 1 page-faults: \n\t  401000 f+0x0 (/a)\n\n\
                a 7 1.2: 1 sched:sched_process_fork: comm=a pid=7 child_comm=a child_pid=8\n\t  401000 g+0x0 (/a)\n\n\
                a 7 1.3: 1 syscalls:sys_enter_write: fd: 1\n\t  401000 g+0x0 (/a)\n\n\
                a 7 1.4: 1 cycles:u: \n\t  401000 h+0x0 (/a)\n\n\
                a 7 1.5: 1 cycles:u: \n\n";
    let read = file(text.as_bytes()).unwrap();
    assert_eq!(samples(&read), (of(&[("a 7 h@/a", 1), ("a 7 ", 1)]), 5));
    let sampled = read.facts.sampled.unwrap();
    assert_eq!(
        (sampled.event.as_str(), sampled.of_time, sampled.others),
        ("cycles", true, vec!["page-faults".to_owned()])
    );
}

/// An event of which there is no sample at the start of the text is counted as a warning.
#[test]
fn an_event_that_comes_late_is_reported() {
    let first = "a 7 1.1: 1 cycles: \n\t  401000 f+0x0 (/a)\n\n".repeat(30_000);
    let read = file(format!("{first}a 7 1.2: 1 page-faults: \n\n").as_bytes()).unwrap();
    assert_eq!(samples(&read), (of(&[("a 7 f@/a", 30_000)]), 30_001));
    let warnings: Vec<_> = read.anomalies.0.iter().map(|(what, of)| (*what, of.count)).collect();
    assert_eq!(warnings, [("a sample of another event is not part of the profile", 1)]);
}
