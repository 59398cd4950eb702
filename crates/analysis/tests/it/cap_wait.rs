//! Capabilities 16, 17, 18 and 22, checked against their printed figures.

use analysis::{Context, Running};
use model::{
    CpuId, CpuState, CpuStretch, MaybeNs, Ns, Prio, Reason, Span, Table, ThreadKey, ThreadState, ThreadStretch, Tid,
    Timeline,
};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use testkit::ByName;
use testkit::figures::{self, Row, expected, number};
use topology::Machine;

fn ns(row: &Row, col: &str, unit: f64) -> i64 {
    (number(row, col) * unit).round() as i64
}

const MS: f64 = 1e6;
const US: f64 = 1e3;

/// `count` lengths that sum to `total`, one of them `max`, none longer.
fn lengths(total: i64, max: i64, count: i64) -> impl Iterator<Item = i64> {
    let (rest, others) = (total - max, count - 1);
    assert!(rest >= 0 && rest <= max * others, "{total} is not {count} times {max} or less");
    std::iter::once(max).chain((0..others).map(move |n| rest * (n + 1) / others - rest * n / others))
}

/// A thread with the times of a row: it waits or is preempted, is ready, runs, and so on.
fn stretches(thread: i64, row: &Row) -> Vec<ThreadStretch> {
    let (switches, waits) = (number(row, "switches") as i64, number(row, "count_waits") as i64);
    let running = ns(row, "cpu_ms", MS);
    let mut running = lengths(running, running / switches + 1, switches);
    let mut ready = lengths(ns(row, "ready_ms", MS), ns(row, "max_ready_us", US), switches);
    let mut blocked = lengths(ns(row, "wait_ms", MS), ns(row, "max_wait_us", US), waits);
    let (mut at, mut out) = (Ns(1), Vec::new());
    let tid = Tid(row["tid"].parse().unwrap());
    let mut push = |state, reason, length: i64| {
        let span = Span::new(at, at + Ns(length));
        at = span.end;
        out.push(ThreadStretch {
            span,
            thread: ThreadKey(thread),
            tid,
            state,
            reason,
            cpu: Some(CpuId(0)),
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::new(120),
        });
    };
    for turn in 0..switches {
        let why = if turn < waits {
            push(ThreadState::Blocked, Reason::State(b'S'), blocked.next().unwrap());
            Reason::Woken
        } else {
            Reason::Preempted
        };
        push(ThreadState::Ready, why, ready.next().unwrap());
        push(ThreadState::Running, Reason::None, running.next().unwrap());
    }
    out
}

fn tables(names: &[&str], threads: &mut [ThreadStretch], cpus: &[CpuStretch]) -> BTreeMap<&'static str, Table> {
    threads.sort_by_key(|s| s.span.start);
    let end = threads.iter().map(|s| s.span.end).max().unwrap();
    let machine = Machine::default();
    let span = Span::new(Ns::ZERO, end);
    let context = Context { machine: &machine, span, to_end: true, followed: &[CpuId(0)], ready_known: true };
    let mut running = Running::start(names, &context, Vec::new());
    running.push(&Timeline { threads, cpus, ..Timeline::default() });
    running.finish().into_iter().map(|t| (t.def.name, t)).collect()
}

/// `ready_wait` of a thread with the times of a row.
fn ready_wait(row: &Row) -> Table {
    tables(&["ready_wait"], &mut stretches(1, row), &[]).remove("ready_wait").unwrap()
}

const FILES: [&str; 2] = ["ready_wait_symmetric", "ready_wait_hybrid"];

/// The table of each row, by job (`worker_1`), of both files, symmetric first.
static BY_JOB: LazyLock<[BTreeMap<String, Table>; 2]> = LazyLock::new(|| {
    FILES.map(|name| {
        let job = |row: Row| (row["job"].to_lowercase().replace(' ', "_"), ready_wait(&row));
        figures::table(name).into_iter().map(job).collect()
    })
});

#[test]
fn cap_16_ready_and_wait() {
    for (name, tables) in FILES.into_iter().zip(&*BY_JOB) {
        let rows = figures::table(name);
        assert_eq!(tables.len(), rows.len());
        for row in rows {
            let table = &tables[&row["job"].to_lowercase().replace(' ', "_")];
            assert_eq!(table.rows.len(), 1);
            let cell = |col: &str| table.int(0, col).unwrap();
            assert_eq!(cell("tid"), ns(&row, "tid", 1.0));
            assert_eq!(cell("running_ns"), ns(&row, "cpu_ms", MS));
            assert_eq!(cell("ready_ns"), ns(&row, "ready_ms", MS));
            assert_eq!(cell("blocked_ns"), ns(&row, "wait_ms", MS));
            assert_eq!(cell("running_count"), ns(&row, "switches", 1.0));
            assert_eq!(cell("blocked_count"), ns(&row, "count_waits", 1.0));
            assert_eq!(cell("max_ready_ns"), ns(&row, "max_ready_us", US));
            assert_eq!(cell("max_blocked_ns"), ns(&row, "max_wait_us", US));
        }
    }
}

#[test]
fn cap_17_two_systems_compared() {
    let [symmetric, hybrid] = &*BY_JOB;
    let cell = |table: &Table, col: &str| table.int(0, col).unwrap() as f64;
    let column = |what: &str| match what {
        "switches" => "running_count",
        "ready_ms" => "ready_ns",
        "wait_ms" => "blocked_ns",
        "max_ready_us" => "max_ready_ns",
        other => panic!("no column is {other}"),
    };
    let mut compared = 0;
    for (id, value, tolerance) in expected("17.") {
        let words: Vec<&str> = id.split('.').collect();
        let actual = match words[..] {
            ["involuntary", system, job] => {
                let table = if system == "hybrid" { &hybrid[job] } else { &symmetric[job] };
                cell(table, "running_count") - cell(table, "blocked_count")
            }
            ["max_wait", job] => cell(&hybrid[job], "max_blocked_ns") / MS,
            [what, job] => (cell(&hybrid[job], column(what)) / cell(&symmetric[job], column(what)) - 1.0) * 100.0,
            _ => panic!("unknown id: {id}"),
        };
        assert!((actual - value).abs() <= tolerance, "17.{id}: {actual}, not {value}");
        compared += 1;
    }
    assert_eq!(compared, 33);
}

#[test]
fn cap_18_time_is_conserved() {
    let [symmetric, hybrid] = &*BY_JOB;
    let length = |table: &Table| {
        let sum = |cols: &[&str]| cols.iter().map(|c| table.int(0, c).unwrap()).sum::<i64>();
        assert_eq!(sum(&["unknown_ns"]), 0);
        sum(&["running_ns", "ready_ns", "blocked_ns"]) as f64 / MS
    };
    let mut compared = 0;
    for (id, value, tolerance) in expected("18.trace.") {
        let Some((system @ ("symmetric" | "hybrid"), job)) = id.split_once('.') else { continue };
        let actual = length(if system == "hybrid" { &hybrid[job] } else { &symmetric[job] });
        assert!((actual - value).abs() <= tolerance, "18.trace.{id}: {actual}, not {value}");
        compared += 1;
    }
    assert_eq!(compared, 10);
}

/// Case 3's switches: each new thread leaves its CPU for a reason. At the end of its quantum it is for one of equal
/// priority.
#[test]
fn cap_22_causes_of_switches() {
    let rows = figures::table("case3_switches");
    let (mut threads, mut cpus) = (Vec::new(), Vec::new());
    let mut stretch = |key: i64, tid: Tid, span, state, reason| {
        let (thread, cpu) = (ThreadKey(key), Some(CpuId(0)));
        threads.push(ThreadStretch {
            span,
            thread,
            tid,
            state,
            reason,
            cpu,
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::new(8),
        });
    };
    let of = |row: &Row| row["new_wait_reason"] == "WrQuantumEnd";
    for (at, row) in (1..).zip(&rows) {
        let (span, after) = (Span::new(Ns(at), Ns(at + 1)), Span::new(Ns(at + 1), Ns(100)));
        let tid = Tid(row["new_tid"].parse().unwrap());
        stretch(at, tid, span, ThreadState::Running, Reason::None);
        match of(row) {
            true => stretch(at, tid, after, ThreadState::Ready, Reason::Preempted),
            false => stretch(at, tid, after, ThreadState::Blocked, Reason::State(b'S')),
        }
        cpus.push(CpuStretch { span, cpu: CpuId(0), state: CpuState::Busy, thread: ThreadKey(at) });
    }
    let last = rows.len() as i64 + 1;
    stretch(last, Tid(1), Span::new(Ns(last), Ns(100)), ThreadState::Running, Reason::None);
    cpus.push(CpuStretch {
        span: Span::new(Ns(last), Ns(100)),
        cpu: CpuId(0),
        state: CpuState::Busy,
        thread: ThreadKey(last),
    });
    let table = &tables(&["switch_causes"], &mut threads, &cpus)["switch_causes"];
    assert_eq!(table.rows.len(), rows.len());
    for (at, row) in rows.iter().enumerate() {
        let cause = (table.text(at, "cause"), table.text(at, "next"), table.text(at, "state_letter"));
        assert_eq!(
            cause,
            if of(row) { (Some("preempted"), Some("equal"), None) } else { (Some("blocked"), None, Some("S")) }
        );
        assert_eq!(table.int(at, "tid"), row["new_tid"].parse().ok());
        assert_eq!(table.int(at, "count"), Some(1));
    }
}
