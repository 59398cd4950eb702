#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::prepare::Levels;
use crate::testing::prepared;
use crate::{Prepared, Trace};
use model::ThreadKey;

fn info<'a>(of: &'a Prepared, kind: &str) -> Option<&'a (KindInfo, Levels)> {
    of.kinds.iter().find(|(info, _)| info.kind == kind)
}

/// The values of a kind by label: start and end in ms, and value.
fn values(of: &Prepared, kind: &str) -> Vec<(String, f64, f64, f64)> {
    let Some((info, Levels::Values(levels))) = info(of, kind) else { panic!("no {kind}") };
    let steps = levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 1000).unwrap();
    let label = |track| info.lanes.iter().find(|lane| lane.track == track).map_or("?", |lane| &lane.label).to_owned();
    let mut all: Vec<_> =
        steps.iter().map(|s| (label(s.track), s.start as f64 / 1e6, s.end as f64 / 1e6, s.mean)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all
}

fn step(label: &str, start: f64, end: f64, value: f64) -> (String, f64, f64, f64) {
    (label.to_owned(), start, end, value)
}

/// A runs on a fast, then on a slow core. Of CPU 1, the second reading is multiplexed, and another is of several threads.
const HYBRID: &str = "
cpu0 P0  A A A B B . . .
cpu1 E1  C C C C C C A As
count    . . A=cycles:400/2,A=instructions:800/2 C=cycles:100/3@1,C=instructions:50/3@1 B=cycles:300/1,B=instructions:300/1 C=cycles:200/2:1@1,C=instructions:30/2:1@1,?=faults:7/1@1 . A=cycles:500/1@1,A=instructions:250/1@1
";

#[test]
fn a_value_lasts_from_the_reading_before_to_its_reading() {
    let (_dir, Trace { levels: of, .. }) = prepared(HYBRID);
    // CPU 0 has a gap at 2 ms: that millisecond has no reading.
    let expected = [
        step("A 1 IPC on efficient", 6.0, 7.0, 0.5),
        step("A 1 IPC on performance", 0.0, 2.0, 2.0),
        step("B 2 IPC on performance", 3.0, 4.0, 1.0),
        step("C 3 IPC on efficient", 0.0, 3.0, 0.5),
        step("C 3 IPC on efficient", 3.0, 5.0, 0.15),
        step("CPU 0 IPC", 0.0, 2.0, 2.0),
        step("CPU 0 IPC", 3.0, 4.0, 1.0),
        step("CPU 1 IPC", 0.0, 3.0, 0.5),
        step("CPU 1 IPC", 3.0, 5.0, 0.15),
        step("CPU 1 IPC", 6.0, 7.0, 0.5),
    ];
    assert_eq!(values(&of, "ipc"), expected);
    let (ipc, _) = info(&of, "ipc").unwrap();
    assert!(ipc.lanes.iter().all(|lane| lane.most == 2.0), "one scale");
    assert_eq!(ipc.lanes.iter().filter(|lane| lane.thread.is_some()).count(), 4);
}

#[test]
fn a_rate_is_of_the_part_that_was_counted_and_unknown_for_several_threads() {
    let (_dir, Trace { levels: of, .. }) = prepared(HYBRID);
    let rates = values(&of, "rates");
    let cycles: Vec<_> = rates.iter().filter(|step| step.0 == "CPU 1 cycles per s").cloned().collect();
    let third = 100e9 / 3e6;
    let label = "CPU 1 cycles per s";
    assert_eq!(cycles, [step(label, 0.0, 3.0, third), step(label, 3.0, 5.0, 200e3), step(label, 6.0, 7.0, 500e3)]);
    assert!(!rates.iter().any(|step| step.0.contains("faults")), "{rates:?}");
    let (counting, Levels::States(levels)) = info(&of, "counting").unwrap() else { panic!("values") };
    let slices = levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 1000).unwrap();
    let of = |label: &str| -> Vec<_> {
        let track = counting.lanes.iter().find(|lane| lane.label == label).unwrap().track;
        slices.iter().filter(|s| s.track == track).map(|s| (s.start / 1_000_000, s.state, s.what)).collect()
    };
    assert_eq!(of("CPU 1 cycles counted"), [(0, 0, 100), (3, 1, 50), (6, 0, 100)]);
    assert_eq!(of("CPU 1 faults counted"), [(4, 4, 100)]);
    // What was always counted has no track of this kind.
    assert!(counting.lanes.iter().all(|lane| lane.label.starts_with("CPU 1")), "{:?}", counting.lanes);
}

#[test]
fn too_short_a_part_and_another_part_have_no_value_and_zero_has_one() {
    let (_dir, Trace { levels: of, .. }) = prepared(
        "
cpu0 U0  A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A A As
count  . A=faults:0/1 . . . . . . . . . . . . . . . . . . . . . . . . A=cycles:5/25:1,A=instructions:5/25:1 . . A=cycles:5/2:2,A=instructions:5/2:1 . A=faults:9/1:0 .
",
    );
    let rates = values(&of, "rates");
    let has = |label: &str| rates.iter().filter(|step| step.0 == label).map(|step| step.3).collect::<Vec<_>>();
    assert_eq!(has("CPU 0 faults per s"), [0.0], "zero is a count, what was not counted is none");
    assert_eq!(has("CPU 0 cycles per s"), [2500.0], "1 of 25 ms is too little");
    assert!(info(&of, "ipc").is_none(), "the two counted in different parts");
    let (counting, Levels::States(levels)) = info(&of, "counting").unwrap() else { panic!("values") };
    let mut states: Vec<_> =
        levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 1000).unwrap().iter().map(|s| s.state).collect();
    states.sort_unstable();
    assert_eq!((states, counting.states.len()), (vec![0, 0, 1, 2, 2, 3], 5));
}

#[test]
fn idle_cpus_and_traces_without_counts_have_no_tracks() {
    let (dir, Trace { levels: of, .. }) = prepared("cpu0 U0 A A A As\ncount . .=cycles:9/1,.=instructions:9/1 . .\n");
    assert!(info(&of, "ipc").is_none() && info(&of, "rates").is_none() && info(&of, "counting").is_none());
    let levels = dir.path().join("drawn.cw/levels");
    let names: Vec<_> = std::fs::read_dir(levels).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("count")), "{names:?}");
}

#[test]
fn a_thread_is_found_by_its_tid_at_that_time() {
    let threads = Threads {
        shown: vec![(ThreadKey(5), "a".into()), (ThreadKey(6), "b".into())],
        instances: FxHashMap::from_iter([(10, vec![(0, Some(0)), (100, None), (200, Some(1))])]),
        has_others: false,
    };
    let rank = |tid, before| threads.rank(Tid(tid), before);
    assert_eq!([rank(10, 50), rank(10, 150), rank(10, 250), rank(11, 50)], [Some(0), None, Some(1), None]);
}

#[test]
fn all_events_of_a_reading_begin_where_it_does() {
    // CPU 0 is read three times in one reading of CPU 1, which has two events.
    let (_dir, Trace { levels: of, .. }) = prepared(
        "
cpu0 U0  A A A A A A A A
cpu1 U1  B B B B B B B B
count    . A=x:1/1,A=y:2/1 A=x:5/1,A=y:6/1 A=x:9/1,A=y:7/1,B=x:3/3@1,B=y:4/3@1 A=x:2/1 B=x:7/2@1,B=y:8/2@1
",
    );
    let steps = values(&of, "rates");
    let starts = |lane: &str| steps.iter().filter(|s| s.0.starts_with(lane)).map(|s| s.1).collect::<Vec<_>>();
    assert_eq!((starts("CPU 1 x"), starts("CPU 1 y")), (vec![0.0, 3.0], vec![0.0, 3.0]));
}
