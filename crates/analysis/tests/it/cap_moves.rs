//! Capabilities of moves, lengths and priorities, by their numbers in testdata/figures/README.md, from printed figures
//! where available, else from constructed stretches.

use analysis::{Context, Running};
use model::{
    Change, CpuId, CpuState, CpuStretch, MaybeNs, Ns, Power, Prio, Reason, Span, Subject, Table, ThreadKey,
    ThreadState, ThreadStretch, Tid, Timeline, TimelineEvent, Value,
};
use testkit::{ByName, figures};
use topology::{IdleState, Machine};

fn ran(thread: i64, cpu: u32, from: i64, to: i64, prio: i16) -> ThreadStretch {
    ThreadStretch {
        span: Span::new(Ns(from), Ns(to)),
        thread: ThreadKey(thread),
        tid: Tid(thread as i32),
        state: ThreadState::Running,
        reason: Reason::None,
        cpu: Some(CpuId(cpu)),
        waker_thread: ThreadKey::UNKNOWN,
        exec: MaybeNs::NONE,
        prio: Prio::new(prio),
    }
}

fn woken(thread: i64, cpu: u32, from: i64, to: i64) -> ThreadStretch {
    ThreadStretch { state: ThreadState::Ready, reason: Reason::Woken, ..ran(thread, cpu, from, to, 120) }
}

fn table(name: &str, machine: &Machine, end: i64, threads: &[ThreadStretch], cpus: &[CpuStretch]) -> Table {
    let followed: Vec<CpuId> = machine.cpus.iter().map(|c| c.id).collect();
    let span = Span::new(Ns::ZERO, Ns(end));
    let context = Context { machine, span, to_end: true, followed: &followed, ready_known: true };
    let mut running = Running::start(&[name], &context, Vec::new());
    running.push(&Timeline { threads, cpus, ..Timeline::default() });
    running.finish().remove(0)
}

fn ints(table: &Table, col: &str) -> Vec<i64> {
    (0..table.rows.len()).map(|row| table.int(row, col).unwrap()).collect()
}

fn two_cpus() -> Machine {
    Machine::of_cpus([CpuId(0), CpuId(1)])
}

#[test]
fn cap_3_every_priority_of_the_table_is_distinct() {
    let rows = figures::table("priorities");
    // One thread per class, which runs for a millisecond at each priority of the class.
    let mut stretches = Vec::new();
    let classes = ["real_time", "high", "above_normal", "normal", "below_normal", "idle"];
    for (class, column) in classes.into_iter().enumerate() {
        for (at, row) in rows.iter().enumerate() {
            let from = (at as i64) * 1_000_000;
            stretches.push(ran(class as i64 + 1, 0, from, from + 1_000_000, row[column].parse().unwrap()));
        }
    }
    stretches.sort_by_key(|s| s.span.start);
    let table = table("priority_residency", &two_cpus(), 7_000_000, &stretches, &[]);
    let (threads, prios) = (ints(&table, "thread"), ints(&table, "prio"));
    let of =
        |real_time: bool| threads.iter().zip(&prios).filter(move |(t, _)| (**t == 1) == real_time).map(|(_, p)| *p);
    figures::agrees("3.max_dynamic", of(false).max().unwrap() as f64);
    figures::agrees("3.min_real_time", of(true).min().unwrap() as f64);
    assert_eq!(ints(&table, "running_ns").iter().sum::<i64>(), 6 * 7_000_000);
    // Of the six classes only high has two equal levels: 15 for time critical and for highest.
    let levels = |class| threads.iter().filter(|t| **t == class).count();
    assert_eq!([1, 2, 3, 4, 5, 6].map(levels), [7, 6, 7, 7, 7, 7]);
}

#[test]
fn cap_5_residency_by_priority_and_e2() {
    let rows = figures::table("boost_residency");
    // One percent is a millisecond; bands below 8 or above 15 have no time.
    let (mut at, mut stretches) = (0, Vec::new());
    for row in &rows {
        let time = (row["cpu_share_pct"].parse::<f64>().unwrap() * 1e6).round() as i64;
        if time > 0 {
            stretches.push(ran(5048, 0, at, at + time, row["priority_band"].parse().unwrap()));
            at += time;
        }
    }
    let table = table("priority_residency", &two_cpus(), 100_000_000, &stretches, &[]);
    let percent: Vec<f64> = ints(&table, "running_ns").iter().map(|ns| *ns as f64 / 1e6).collect();
    assert_eq!(ints(&table, "prio"), [11, 12, 13, 14]);
    assert_eq!(percent, [2.46, 86.26, 0.96, 2.93]);
    let (sum, printed) = (percent.iter().sum::<f64>(), rows[0]["total_cpu_pct"].parse::<f64>().unwrap());
    assert!((sum - 92.61).abs() < 1e-6, "{sum}");
    // E2: the bands are 4.00 points short of the printed total.
    assert!((printed - sum - 4.0).abs() < 1e-6);
}

/// Two packages: cpu0-5 performance (siblings 0-1, 2-3, 4-5; 0-3 share an L2, 0-5 an L3), 6 efficient; 7 performance of its own.
const MACHINE: &str = r#"
    siblings = ["0-1", "2-3", "4-5", "6", "7"]
    l2 = ["0-3", "4-5", "6", "7"]
    l3 = ["0-6", "7"]
    [[cpus]]
    ids = "0-5"
    type = "performance"
    package = 0
    [[cpus]]
    ids = "6"
    type = "efficient"
    package = 0
    [[cpus]]
    ids = "7"
    type = "performance"
    package = 1
"#;

#[test]
fn cap_66_migrations_by_edge() {
    let machine = Machine::from_user(MACHINE).unwrap();
    let path = [0, 1, 2, 4, 6, 4, 7, 9, 9];
    let stretches: Vec<_> = (0..).zip(path).map(|(at, cpu)| ran(1, cpu, at * 1000, at * 1000 + 1000, 120)).collect();
    let migrations = table("migrations", &machine, 9000, &stretches, &[]);
    for edge in ["same_core", "same_l2", "same_l3", "to_slower", "to_faster", "other_package", "unknown"] {
        assert_eq!(ints(&migrations, edge), [1], "{edge}");
    }
    assert_eq!((ints(&migrations, "migrations"), ints(&migrations, "same_type")), (vec![7], vec![0]));
    let matrix = table("migration_matrix", &machine, 9000, &stretches, &[]);
    assert_eq!(ints(&matrix, "from_cpu"), [0, 1, 2, 4, 4, 6, 7]);
    assert_eq!(ints(&matrix, "to_cpu"), [1, 2, 4, 6, 7, 4, 9]);
    assert_eq!(matrix.text(3, "edge"), Some("to_slower"));
}

#[test]
fn cap_66_four_of_five_runs_after_a_wake_are_short() {
    // As in case 2: of ten runs that began with a wakeup, eight are shorter than 64 µs, half of them on the efficient
    // core.
    let machine = Machine::from_user(MACHINE).unwrap();
    let mut stretches = Vec::new();
    for run in 0..10 {
        let (at, cpu) = (1000 + run * 1_000_000, if run % 2 == 0 { 0 } else { 6 });
        let length = if run < 8 { 20_000 } else { 500_000 };
        stretches.push(woken(1, cpu, at, at + 5_000));
        stretches.push(ran(1, cpu, at + 5_000, at + 5_000 + length, 120));
        stretches.push(ThreadStretch {
            state: ThreadState::Blocked,
            ..ran(1, cpu, at + 5_000 + length, at + 1_000_000, 120)
        });
    }
    let table = table("run_lengths", &machine, 11_000_000, &stretches, &[]);
    let (to, after_wake) = (ints(&table, "to_ns"), ints(&table, "after_wake"));
    let short: i64 = to.iter().zip(&after_wake).filter(|(to, _)| **to <= 64_000).map(|(_, n)| n).sum();
    assert_eq!((short, after_wake.iter().sum::<i64>()), (8, 10));
    assert_eq!(ints(&table, "core_class"), [0, 0, 1, 1]);
    assert_eq!(ints(&table, "running_ns"), [80_000, 500_000, 80_000, 500_000]);
    assert_eq!(
        (ints(&table, "from_ns"), to),
        (vec![16_000, 256_000, 16_000, 256_000], vec![32_000, 512_000, 32_000, 512_000])
    );
}

#[test]
fn cap_15_21_runs_sum_to_the_time_by_core_type() {
    let rows = figures::table("thread_by_cpu");
    let ids = "[[cpus]]\nids = \"0-15\"\ntype = \"performance\"\n[[cpus]]\nids = \"16-23\"\ntype = \"efficient\"\n";
    let machine = Machine::from_user(ids).unwrap();
    let (mut at, mut stretches) = (1, Vec::new());
    for row in &rows {
        let time = (row["cpu_ms"].parse::<f64>().unwrap() * 1e6).round() as i64;
        stretches.push(ran(13968, row["cpu"].parse().unwrap(), at, at + time, 120));
        at += time;
    }
    let table = table("run_lengths", &machine, at + 1, &stretches, &[]);
    let of = |class: i64| -> i64 {
        ints(&table, "core_class")
            .iter()
            .zip(ints(&table, "running_ns"))
            .filter(|(c, _)| **c == class)
            .map(|(_, t)| t)
            .sum()
    };
    assert_eq!((of(1), of(0)), (20_092_873_800, 54_237_000));
}

#[test]
fn cap_68_idle_periods_by_length() {
    let cpu = |from, to, state, thread| CpuStretch {
        span: Span::new(Ns(from), Ns(to)),
        cpu: CpuId(0),
        state,
        thread: ThreadKey(thread),
    };
    // Three short periods and a long one between runs of a microsecond each.
    let (mut at, mut cpus) = (0, Vec::new());
    for idle in [3_000, 3_500, 2_000, 900_000] {
        cpus.push(cpu(at, at + 1000, CpuState::Busy, 1));
        cpus.push(cpu(at + 1000, at + 1000 + idle, CpuState::Idle, 0));
        at += 1000 + idle;
    }
    cpus.push(cpu(at, at + 1000, CpuState::Busy, 1));
    let table = table("idle_periods", &two_cpus(), at + 1000, &[], &cpus);
    assert_eq!(ints(&table, "from_ns"), [2_000, 512_000]);
    assert_eq!((ints(&table, "periods"), ints(&table, "idle_ns")), (vec![3, 1], vec![8_500, 900_000]));
    assert_eq!(table.rows[0][1], Value::from("uniform"));
}

#[test]
fn cap_68_idle_periods_against_target_residencies() {
    let mut machine = two_cpus();
    let state =
        |name: &str, us| IdleState { name: name.to_owned(), target_residency_us: Some(us), exit_latency_us: None };
    machine.cpus[0].idle_states = vec![state("POLL", 0), state("C1E", 4), state("C6", 500)];
    let idle = CpuStretch {
        span: Span::new(Ns::ZERO, Ns(2_000_000)),
        cpu: CpuId(0),
        state: CpuState::Idle,
        thread: ThreadKey::IDLE,
    };
    // Two stays in C6, one of which ends before it saves energy; C1E, which the CPU leaves through polling to a thread.
    let power = |us: i64, to| {
        let (who, what) = (Subject::Cpu(CpuId(0)), Change::Power(to));
        TimelineEvent { at: Ns(us * 1000), who, what }
    };
    let power = [
        power(0, Power::Idle(2)),
        power(100, Power::Awake),
        power(110, Power::Idle(2)),
        power(710, Power::Awake),
        power(720, Power::Idle(1)),
        power(730, Power::Idle(0)),
        power(731, Power::Awake),
    ];
    let context =
        Context { machine: &machine, span: idle.span, to_end: true, followed: &[CpuId(0)], ready_known: true };
    let mut running = Running::start(&["idle_residency"], &context, Vec::new());
    running.push(&Timeline { cpus: &[idle], events: &power, ..Timeline::default() });
    let table = running.finish().remove(0);
    let of = |col: &str| -> Vec<Option<i64>> { (0..4).map(|row| table.int(row, col)).collect() };
    assert_eq!(of("state"), [None, Some(0), Some(1), Some(2)]);
    assert_eq!(of("target_residency_ns"), [None, Some(0), Some(4_000), Some(500_000)]);
    assert_eq!(of("entries"), [None, Some(1), Some(1), Some(2)]);
    assert_eq!(of("residency_ns"), [Some(1_289_000), Some(1_000), Some(10_000), Some(700_000)]);
    assert_eq!(of("too_short"), [None, Some(0), Some(0), Some(1)]);
}
