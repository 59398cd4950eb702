//! Capabilities 55, 56 and 57: three cases in which a program was slow, from their printed figures, drawn so that the
//! critical path shows the finding. Some facts of the talk are in no trace: the ideal processor of a thread and the
//! parked CPUs (57), that the last-level cache was the bottleneck (56), and the same program on another machine, which
//! is another trace.

use crate::support::{self, Analysed, critical};
use analysis::{Context, Running};
use model::{CpuId, MaybeNs, Ns, Reason, Span, Table, ThreadKey, ThreadState, ThreadStretch, Tid, Timeline};
use testkit::ByName;
use testkit::figures::{self, Row, agrees};
use topology::Machine;

/// The stretches of a thread that was ready and then ran for the times of a row, at one priority.
fn stretches(thread: i64, row: &Row) -> [ThreadStretch; 2] {
    let ns = |col: &str| Ns((row[col].parse::<f64>().unwrap() * 1e6).round() as i64);
    let (from, middle) = (Ns(1), Ns(1) + ns("ready_ms"));
    let stretch = |span, state| ThreadStretch {
        span,
        thread: ThreadKey(thread),
        tid: Tid(row["tid"].parse().unwrap()),
        state,
        reason: Reason::None,
        cpu: Some(CpuId(0)),
        waker_thread: ThreadKey::UNKNOWN,
        exec: MaybeNs::NONE,
        prio: row.get("priority").and_then(|p| p.parse::<i16>().ok()).into(),
    };
    let ran = Span::new(middle, middle + ns("cpu_ms"));
    [stretch(Span::new(from, middle), ThreadState::Ready), stretch(ran, ThreadState::Running)]
}

/// `priority_residency` of the threads of a file, each with the times of its row.
fn by_priority(name: &str) -> Table {
    let rows = figures::table(name);
    let mut threads: Vec<ThreadStretch> = (1..).zip(&rows).flat_map(|(thread, row)| stretches(thread, row)).collect();
    threads.sort_by_key(|s| s.span.start);
    let (machine, span) = (Machine::default(), Span::new(Ns::ZERO, Ns(100_000_000_000)));
    let mut running = Running::start(
        &["priority_residency"],
        &Context { machine: &machine, span, to_end: true, followed: &[CpuId(0)], ready_known: true },
        Vec::new(),
    );
    running.push(&Timeline { threads: &threads, ..Timeline::default() });
    running.finish().remove(0)
}

/// The cells of a column in milliseconds, for the selected rows.
fn ms(table: &Table, col: &str, wanted: impl Fn(i64, Option<i64>) -> bool) -> Vec<f64> {
    let wanted = |row: &usize| wanted(table.int(*row, "tid").unwrap(), table.int(*row, "prio"));
    let cells = (0..table.rows.len()).filter(wanted).map(|row| table.int(row, col).unwrap() as f64 / 1e6);
    cells.collect()
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn cap_55_ready_time_by_priority() {
    let (symmetric, hybrid) = (by_priority("case1_symmetric"), by_priority("case1_hybrid"));
    let of = |col: &str, prio: i64| ms(&symmetric, col, |tid, p| p == Some(prio) && tid != 2672);
    let [cpu_11, ready_11, cpu_9, ready_9] =
        [("running_ns", 11), ("ready_ns", 11), ("running_ns", 9), ("ready_ns", 9)].map(|(col, prio)| of(col, prio));
    agrees("55.n_p11", cpu_11.len() as f64);
    agrees("55.n_p9", cpu_9.len() as f64);
    agrees("55.cpu_p11", mean(&cpu_11));
    agrees("55.ready_p11", mean(&ready_11));
    agrees("55.cpu_p9", mean(&cpu_9));
    agrees("55.ready_p9", mean(&ready_9));
    agrees("55.ready_share_p9", mean(&ready_9) / (mean(&cpu_9) + mean(&ready_9)) * 100.0);
    let long = ms(&hybrid, "ready_ns", |tid, _| [17784, 15592, 11824].contains(&tid));
    assert_eq!(long.len(), 3);
    agrees("55.ready_drop_p9", mean(&ready_9) / mean(&long));
}

fn drawn(text: &str) -> Analysed {
    support::drawn(text, testkit::machine(text), |whole| whole)
}

/// A piece of the path of a drawn trace, in milliseconds: from, to, the thread's drawn letter, its state, core type,
/// and the thread that ran instead.
type PathPiece = (i64, i64, char, String, Option<String>, Option<char>);

fn pieces(path: &Table, a: &Analysed) -> Vec<PathPiece> {
    let letter = |tid: i64| char::from(b'A' + u8::try_from(tid - 1).unwrap());
    let of_key = |key: i64| a.threads.iter().find(|s| s.thread.0 == key).map(|s| letter(s.tid.0.into()));
    let row = |row| {
        let int = |col| path.int(row, col);
        let text = |col| path.text(row, col).map(str::to_owned);
        let ms = |col| int(col).unwrap() / 1_000_000;
        (ms("start_ns"), ms("end_ns"), letter(int("tid").unwrap()), text("state").unwrap(), text("core_type"), {
            int("queued_behind").and_then(of_key)
        })
    };
    (0..path.rows.len()).map(row).collect()
}

/// F (5252, of low priority) waits while H (12416) runs on the only P core. If there is also an E core, F runs there,
/// and L, late and of the highest priority (16832), finds both taken: the P core by H. So it ends on the E core, queued
/// behind no thread, but slowly.
#[test]
fn cap_55_a_late_thread_ends_on_the_slow_core() {
    let symmetric = "cpu0 P0  H H H F F F
                     waking   F@0 . . . . .
                     prio     H=119,F=121 . . . . .";
    let a = drawn(symmetric);
    let [path, sums, _] = critical(&a, Some(testkit::tid('F'))).unwrap();
    let performance = || Some("performance".to_owned());
    // A machine with one core class has no core types.
    let uniform = || Some("uniform".to_owned());
    assert_eq!(
        pieces(&path, &a),
        [(0, 3, 'F', "ready".into(), uniform(), Some('H')), (3, 6, 'F', "running".into(), uniform(), None)]
    );
    assert_eq!((sums.int(0, "ready_ns"), sums.int(0, "path_ns")), (Some(3_000_000), Some(6_000_000)));
    let hybrid = "cpu0 P0  H H H H H H Hs .
                  cpu1 E1  F F F Fs L L L L
                  waking   . . . L<H@1 . . . .
                  prio     H=119,F=121,L=100 . . . . . . . .";
    let a = drawn(hybrid);
    let [path, ..] = critical(&a, None).unwrap();
    let efficient = || Some("efficient".to_owned());
    assert_eq!(
        pieces(&path, &a),
        [
            (0, 3, 'H', "running".into(), performance(), None),
            (3, 4, 'L', "ready".into(), efficient(), Some('F')),
            (4, 8, 'L', "running".into(), efficient(), None),
        ]
    );
}

/// G (5212, of high priority, on a P core) waits five times for T (13112), which has the priority of the workers W and
/// X and waits for them: four of its five runs are short, half of its time is on the E core. The path is more T's than
/// G's. The wait of T on it is the potential saving of a higher priority for T, or of fewer workers.
#[test]
fn cap_56_the_thread_that_the_fast_one_waits_for() {
    let text = "
        cpu0 P0 G . . . . G . . . . G . .  . . G . .  . . G . . . . G
        cpu1 P1 X X X X X X X Xs T . X X X X X X X X X X X Xs T T . .
        cpu2 E2 W W Ws T . W W W W W W W Ws T . W W Ws T . . . . . . .
        waking  . T<G@2 . . G<T@0 W@2 T<G@1 . . G<T@0 X@1 T<G@2 . . G<T@0 W@2 T<G@2 . . G<T@0 . T<G@1 . . G<T@0 .
        prio    G=110,T=120,W=120,X=120";
    let a = drawn(text);
    let [path, sums, _] = critical(&a, Some(testkit::tid('G'))).unwrap();
    let of =
        |tid: char| (0..sums.rows.len()).find(|row| sums.int(*row, "tid") == Some(testkit::tid(tid).0.into())).unwrap();
    let (g, t) = (of('G'), of('T'));
    let cell = |row, col| sums.int(row, col).unwrap() / 1_000_000;
    assert_eq!(sums.rows.len(), 2);
    assert_eq!((cell(t, "path_ns"), cell(g, "path_ns")), (15, 11));
    assert_eq!((cell(t, "running_efficient_ns"), cell(t, "running_performance_ns")), (3, 3));
    assert_eq!((cell(t, "ready_ns"), cell(t, "wakeup_latency_ns"), cell(t, "blocked_ns")), (9, 0, 0));
    let ran_instead: Vec<char> = pieces(&path, &a).into_iter().filter_map(|(.., ran_instead)| ran_instead).collect();
    assert!(!ran_instead.is_empty() && ran_instead.iter().all(|letter| "WX".contains(*letter)));
}

/// Threads that may only run on E cores were put on one (cpu16 of the talk, cpu2 here) and take turns, each to the end
/// of its quantum, while cpu0 and cpu1 are idle. R, which draws the frame, waits for the thread that began: a stall of
/// 35 ms. The trace shows which thread ran instead, that each left at the end of its quantum, and that another core was
/// idle.
#[test]
fn cap_57_quantum_after_quantum_on_one_cpu() {
    let rows = figures::table("case3_switches");
    let ends = rows.iter().filter(|r| r["cpu"] == "16" && r["new_wait_reason"] == "WrQuantumEnd").count();
    let threads: Vec<char> = ('A'..).take(ends).collect();
    // As many switches; the first thread runs again after the others. A column is a millisecond.
    let quantum = 35 / (ends + 1);
    let turns = threads.iter().cycle().take(ends + 1);
    let turns: String = turns.map(|thread| format!("{thread} ").repeat(quantum)).collect();
    let stall = ". ".repeat(35);
    let others: Vec<String> = threads[1..].iter().map(|thread| format!("{thread}@2")).collect();
    let text = format!(
        "cpu0 P0  R {stall} . R
         cpu1 P1  . {stall} . .
         cpu2 E2  . {turns} . .
         current  .@1,.@2
         waking   . {} {} R<A@0",
        others.join(","),
        ". ".repeat(34),
    );
    // A is switched in at 1, at the instant of its wakeup.
    let text = text.replacen("B@2", "A<R@2,B@2", 1);
    let a = drawn(&text);
    let preempted = |row: &usize| a.tables["switch_causes"].text(*row, "cause") == Some("preempted");
    let causes = &a.tables["switch_causes"];
    let count: i64 = (0..causes.rows.len()).filter(preempted).map(|row| causes.int(row, "count").unwrap()).sum();
    agrees("57.quantum_end_cpu16", count as f64);
    let [path, sums, _] = critical(&a, Some(testkit::tid('R'))).unwrap();
    let ran_instead: Vec<char> = pieces(&path, &a).into_iter().filter_map(|(.., ran_instead)| ran_instead).collect();
    assert_eq!(ran_instead, threads[1..]);
    let of_a = (0..sums.rows.len()).find(|row| sums.int(*row, "tid") == Some(1)).unwrap();
    let cell = |col| sums.int(of_a, col).unwrap() / 1_000_000;
    let waited = 35 - 2 * quantum as i64;
    assert_eq!((cell("running_efficient_ns"), cell("ready_ns")), (2 * quantum as i64, waited));
    let row = a.ints("ready_wait", "tid").iter().position(|tid| *tid == 1).unwrap();
    assert_eq!(a.ints("ready_wait", "free_other_type_ns")[row], waited * 1_000_000);
}
