//! Sums and reports of a part of a recording.

use crate::support;
use engine::{Infer, PassOptions, Session, Target, import};
use model::{
    CpuId, Event, EventKind, MaybeCount, MaybeNs, NameId, Ns, Pid, SnapshotEntry, SnapshotState, Span, Table, Tid,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::{ByName, Mode, Random, ms};

/// B is woken at 3 ms and preempts A at 4 ms; A runs again from 6 ms.
const TRACE: &str = "
    cpu0 U0  A A A A B B A .
    waking   . . . B . . . .";

fn part(session: Session, from: Ns, to: Ns) -> Session {
    session.limited_to(Span { start: from, end: to }).expect("a part")
}

fn rows(session: &Session, table: &str, cols: &[&str]) -> Vec<Vec<Option<i64>>> {
    let table = session.table(table).unwrap();
    (0..table.rows.len()).map(|row| cols.iter().map(|col| table.int(row, col)).collect()).collect()
}

/// From 2 to 5 ms, A runs for 2 ms and waits for 1 ms, a wait that the part cuts. B's state before 3 ms is unknown; then it waits and
/// runs for 1 ms each. There is one switch, at 4 ms.
#[test]
fn sums_are_those_of_the_part() {
    let of = |session: &Session| {
        let threads = ["running_ns", "ready_ns", "unknown_ns", "max_ready_ns", "involuntary", "voluntary", "begin_ns"];
        let cpus = ["busy_ns", "idle_ns", "unknown_ns", "switches", "broken"];
        (
            rows(session, "threads", &threads),
            rows(session, "cpus", &cpus),
            rows(session, "thread_by_cpu", &["running_ns"]),
        )
    };
    let millions = |all: &[i64]| all.iter().map(|n| Some(*n * 1_000_000)).collect::<Vec<_>>();
    let with = |times: &[i64], counts: &[i64]| [millions(times), counts.iter().copied().map(Some).collect()].concat();
    let session = part(support::drawn(TRACE, |_, _| ()), ms(2), ms(5));
    let (threads, cpus, places) = of(&session);
    assert_eq!(threads[0], with(&[2, 1, 0, 1], &[1, 0, 2_000_000]));
    assert_eq!(threads[1], with(&[1, 1, 1, 1], &[0, 0, 2_000_000]));
    assert_eq!(cpus, [with(&[3, 0, 0], &[1, 0])]);
    assert_eq!(places, [millions(&[2]), millions(&[1])]);
    let summary = session.summary();
    assert_eq!((summary.span_ns, summary.switches, summary.wakes, summary.busy_ns), (3_000_000, 1, 1, 3_000_000));
    assert!(summary.laws_hold() && summary.laws.iter().all(|l| l.residual_ns == 0), "{:?}", summary.laws);
    assert!(session.full_summary().span_ns > summary.span_ns);

    // The table requested with a range is the same.
    let whole = support::drawn(TRACE, |_, _| ());
    let mut requested = Vec::new();
    let take = &mut |rows: &[Vec<model::Value>]| {
        requested.extend_from_slice(rows);
        Ok(())
    };
    whole.rows_within("threads", session.range(), take).unwrap();
    assert_eq!(requested, session.table("threads").unwrap().rows);
}

/// A and D exist when the recording begins, and D has exited. D is in the whole recording and in a part that starts at its begin.
#[test]
fn a_thread_that_exited_before_the_recording_is_in_a_part_from_its_begin() {
    let session = || {
        support::drawn(TRACE, |_, batch| {
            let first = batch.events[0];
            let (state, state_letter, cpu) = (SnapshotState::Exited, b'Z', CpuId(0));
            let exited = SnapshotEntry {
                tid: Tid(77),
                pid: Pid(77),
                name: NameId::NONE,
                state,
                state_letter,
                cpu,
                exec: MaybeNs::new(Ns::ZERO),
            };
            batch.events.insert(0, Event { what: EventKind::Snapshot(exited), ..first });
        })
    };
    let tids = |session: &Session| rows(session, "threads", &["tid", "exited_ns"]);
    let whole = session();
    let end = whole.summary().span_ns;
    assert!(tids(&whole).contains(&vec![Some(77), Some(end)]), "{:?}", tids(&whole));
    assert_eq!(tids(&part(session(), Ns::ZERO, Ns(end))), tids(&whole));
    assert!(!tids(&part(session(), ms(1), Ns(end))).iter().any(|row| row[0] == Some(77)));
}

#[test]
fn a_part_outside_the_recording_is_an_error() {
    let none = support::drawn(TRACE, |_, _| ()).limited_to(Span { start: ms(20), end: ms(30) });
    let why = none.err().expect("no part").to_string();
    assert!(why.contains("the range 0.020000s..0.030000s is outside the recording, which lasts 0.0"), "{why}");
}

/// B and C on a machine with two CPUs lose their events from 3 to 4 ms.
#[test]
fn losses_outside_a_part_do_not_count() {
    let lossy = || {
        support::drawn("cpu0 U0 A A B B A A .\ncpu1 U1 C C C C D D .\nwaking . . B . . D .", |_, batch| {
            let last = *batch.events.last().unwrap();
            let loss = model::LossSpan {
                from: MaybeNs::new(ms(3)),
                to: MaybeNs::new(ms(4)),
                cpu: None,
                events: MaybeCount::new(5),
            };
            batch.events.push(model::Event { what: model::EventKind::Loss(loss), ..last });
        })
    };
    for (from, to, lossy_ns) in [(0, 3, 0), (2, 5, 2_000_000), (4, 6, 0)] {
        let part = part(lossy(), ms(from), ms(to));
        let summary = part.summary();
        let losses = part.table("loss").unwrap().rows.len() as u64;
        assert_eq!((summary.lossy_ns, summary.losses, losses), (lossy_ns, u64::from(lossy_ns > 0), summary.losses));
    }
}

/// Adds up all sum columns of a table by key.
fn sums(table: &Table, key: &str, cols: &[&str], into: &mut BTreeMap<i64, Vec<i64>>) {
    for row in 0..table.rows.len() {
        let sums = into.entry(table.int(row, key).unwrap()).or_insert_with(|| vec![0; cols.len()]);
        sums.iter_mut().zip(cols).for_each(|(sum, col)| *sum += table.int(row, col).unwrap_or(0));
    }
}

const OF_THREADS: [&str; 9] = [
    "running_ns",
    "ready_ns",
    "blocked_ns",
    "unknown_ns",
    "lossy_ns",
    "involuntary",
    "voluntary",
    "migrations",
    "unwoken",
];
const OF_CPUS: [&str; 6] = ["busy_ns", "idle_ns", "unknown_ns", "lossy_ns", "switches", "broken"];

proptest! {
    #![proptest_config(testkit::drawn(48))]

    #[test]
    fn parts_add_up_to_the_whole_and_a_folder_gives_the_same(
        seed in any::<u64>(), steps in 1usize..300, whole in any::<bool>(), cuts in (0.0f64..1.0, 0.0f64..1.0), infer in any::<bool>(),
    ) {
        let mode = if whole { Mode::Whole } else { Mode::Deleted };
        let batch = || Random { mode, seed, steps }.batch();
        let infer = if infer { Infer::Within } else { Infer::No };
        let options = || PassOptions { infer, ..support::options("cpu0 P0 .\ncpu1 P0 .\ncpu2 E1 .") };
        let open = || Session::of_source(support::source_of(batch()), options());
        prop_assume!(open().is_ok());
        let whole = open().unwrap();
        let end = whole.summary().span_ns;
        let mut ends = [0, (end as f64 * cuts.0) as i64, (end as f64 * cuts.1) as i64, end];
        ends.sort_unstable();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.cw");
        import(support::source_of(batch()).as_ref(), Target::New(&path), &options(), &mut |_| ()).unwrap();
        let (mut threads, mut cpus, mut events) = (BTreeMap::new(), BTreeMap::new(), 0);
        for (from, to) in ends.iter().zip(&ends[1..]).filter(|(from, to)| from < to) {
            let span = Span { start: Ns(*from), end: Ns(*to) };
            let part = open().unwrap().limited_to(span).unwrap();
            prop_assert!(part.summary().laws_hold(), "{:?}", part.summary().laws);
            sums(&part.table("threads").unwrap(), "thread", &OF_THREADS, &mut threads);
            sums(&part.table("cpus").unwrap(), "cpu", &OF_CPUS, &mut cpus);
            events += part.summary().wakes;
            let stored = Session::open(&path, options()).unwrap().limited_to(span).unwrap();
            for table in ["threads", "thread_by_cpu", "thread_by_core_type", "cpus", "loss", "inferred_state", "ready_wait"] {
                prop_assert_eq!(&part.table(table).unwrap().rows, &stored.table(table).unwrap().rows, "{}", table);
            }
        }
        let (mut of_threads, mut of_cpus) = (BTreeMap::new(), BTreeMap::new());
        sums(&whole.table("threads").unwrap(), "thread", &OF_THREADS, &mut of_threads);
        sums(&whole.table("cpus").unwrap(), "cpu", &OF_CPUS, &mut of_cpus);
        // Thread instances without any time are not in the parts.
        of_threads.retain(|key, sums| threads.contains_key(key) || sums.iter().any(|s| *s != 0));
        if end > 0 {
            prop_assert_eq!(threads, of_threads);
            prop_assert_eq!(cpus, of_cpus);
            prop_assert!(events <= whole.summary().wakes);
        }
    }

    /// Any part, with times of any size, is computed or refused.
    #[test]
    fn any_part_of_any_trace_is_handled(seed in any::<u64>(), steps in 1usize..200, from in any::<i64>(), length in 0..i64::MAX) {
        let batch = Random { mode: Mode::Garbage, seed, steps }.batch();
        let Ok(session) = Session::of_source(support::source_of(batch), PassOptions::default()) else { return Ok(()) };
        let from = if from % 3 == 0 { 0 } else { from };
        if let Ok(part) = session.limited_to(Span { start: Ns(from), end: Ns(from.saturating_add(length)) }) {
            for def in part.tables().into_iter().filter(|def| !Session::is_large(def)) {
                part.table(def.name).unwrap();
            }
        }
    }
}
