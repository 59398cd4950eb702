//! Tests recordings whose thread states are not those of the usual table, or whose lines are not all understood: their times must be the
//! right ones, or unknown.

use engine::{PassOptions, Session, THREAD_STATES};
use std::fmt::Write as _;
use testkit::ByName;

/// Opens a text.
fn session(text: &str) -> Session {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Session::open(file.path(), PassOptions::default()).unwrap()
}

/// Returns running, ready, blocked, exited and unknown time of each thread in µs, by TID.
fn times(session: &Session) -> Vec<String> {
    let table = session.table("threads").unwrap();
    let us = |row, col| (table.int(row, col).unwrap() / 1000).to_string();
    let mut all: Vec<(i64, String)> = (0..table.rows.len())
        .map(|row| {
            let times = ["running_ns", "ready_ns", "blocked_ns", "exited_ns", "unknown_ns"].map(|col| us(row, col));
            (table.int(row, "tid").unwrap(), times.join(" "))
        })
        .collect();
    all.sort();
    all.into_iter().map(|(tid, times)| format!("{tid}: {times}")).collect()
}

/// Returns the states in which threads left their CPUs, and how often.
fn states(session: &Session) -> Vec<String> {
    let table = session.table("switch_causes").unwrap();
    let line = |row| {
        let (tid, count) = (table.int(row, "tid").unwrap(), table.int(row, "count").unwrap());
        format!(
            "{tid} {} {} x {count}",
            table.text(row, "cause").unwrap(),
            table.text(row, "state_letter").unwrap_or("-")
        )
    };
    let mut all: Vec<String> = (0..table.rows.len()).map(line).collect();
    all.sort();
    all
}

fn how(session: &Session) -> String {
    let about = &session.facts().about;
    about.iter().find(|(name, _)| name == THREAD_STATES).map(|(_, sentence)| sentence.clone()).unwrap_or_default()
}

/// Switches of CPU 2 as perf prints them: at a time in µs, from a thread in a state to another one.
fn perf_script(switches: &[(u32, &str, &str, &str)]) -> String {
    let mut text = String::new();
    for (at, prev, state, next) in switches {
        let tid = prev.rsplit_once(':').unwrap().1;
        let _ = writeln!(text, "x {tid} [002] 50.{at:06}: sched:sched_switch: {prev} [120] {state} ==> {next} [120]");
    }
    text
}

/// perf in a container, on a kernel that stored the bit above: R is printed as S, S as D and D as T. 256 is R+ for a program.
#[test]
fn shifted_letters_are_read() {
    let session = session(&perf_script(&[
        (100, "swapper/2:0", "S", "worker:51"),
        (300, "worker:51", "D", "swapper/2:0"),
        (800, "swapper/2:0", "S", "worker:51"),
        (900, "worker:51", "R", "reader:52"),
        (1_000, "reader:52", "T", "worker:51"),
        (1_400, "worker:51", "D", "swapper/2:0"),
        (1_500, "swapper/2:0", "S", "reader:52"),
    ]));
    assert_eq!(states(&session), ["51 blocked S x 2", "51 preempted - x 1", "52 blocked D x 1"]);
    assert_eq!(times(&session), ["51: 700 100 600 0 0", "52: 100 0 500 0 800"]);
    assert!(how(&session).contains("S is R, D is S and T is D"), "{}", how(&session));
}

/// I and R+ have one number there, and only kernel threads are in I: what this one did is unknown.
#[test]
fn a_number_with_two_meanings_is_unknown() {
    let session = session(&perf_script(&[
        (100, "swapper/2:0", "S", "kworker/2:1:61"),
        (300, "kworker/2:1:61", "R", "swapper/2:0"),
        (700, "swapper/2:0", "S", "app:51"),
        (900, "app:51", "D", "swapper/2:0"),
    ]));
    assert_eq!(times(&session), ["51: 200 0 0 0 600", "61: 200 0 0 0 600"]);
}

/// The idle task leaves in S and in D: no known kernel does that, so it is unknown how threads left.
#[test]
fn states_that_fit_no_kernel_are_unknown() {
    let session = session(&perf_script(&[
        (100, "swapper/2:0", "S", "app:51"),
        (300, "app:51", "D", "swapper/2:0"),
        (400, "swapper/2:0", "D", "app:51"),
        (600, "app:51", "R", "swapper/2:0"),
        (900, "swapper/2:0", "S", "app:51"),
    ]));
    assert_eq!(times(&session), ["51: 400 0 0 0 400"]);
    assert!(how(&session).contains("unknown"), "{}", how(&session));
    // Everything leaves in S, also the idle task: the states were not recorded.
    let session = self::session(&perf_script(&[
        (100, "swapper/2:0", "S", "app:51"),
        (300, "app:51", "S", "swapper/2:0"),
        (400, "swapper/2:0", "S", "app:51"),
    ]));
    assert_eq!(times(&session), ["51: 200 0 0 0 100"]);
    // Three of four threads that are dead run again.
    let mut again = vec![(100, "swapper/2:0", "R", "a:51")];
    for at in [200, 400, 600] {
        again.extend([(at, "a:51", "X", "swapper/2:0"), (at + 100, "swapper/2:0", "R", "a:51")]);
    }
    again.push((800, "a:51", "S", "swapper/2:0"));
    let session = self::session(&perf_script(&again));
    assert_eq!(times(&session), ["51: 400 0 0 0 300"]);
}

/// trace-cmd's x is 64: dead before Linux 4.14, when a program may be in it, and parked since, when only kernel threads are.
#[test]
fn the_letter_x_is_dead_or_parked_or_unknown() {
    let of = |between: &[(u32, &str, &str, &str)]| {
        let mut all = vec![(100, "swapper/2:0", "R", "migration/2:15")];
        all.extend(between);
        all.push((900, "app:51", "S", "swapper/2:0"));
        session(&perf_script(&all))
    };
    let leaves = (200, "migration/2:15", "x", "app:51");
    let alone = of(&[leaves]);
    assert_eq!(times(&alone), ["15: 100 0 0 0 700", "51: 700 0 0 0 100"]);
    assert!(how(&alone).contains("nothing shows which kernel"), "{}", how(&alone));
    // A thread that is parked runs again.
    let again = of(&[leaves, (400, "app:51", "R", "migration/2:15"), (500, "migration/2:15", "x", "app:51")]);
    assert_eq!(times(&again), ["15: 200 0 600 0 0", "51: 600 100 0 0 100"]);
    assert_eq!(states(&again)[0], "15 blocked P x 2");
    // Kernel threads in I are of Linux 4.14 and later; older tools print W for it.
    let idle = of(&[leaves, (400, "app:51", "R", "rcu_sched:8"), (500, "rcu_sched:8", "W", "app:51")]);
    assert_eq!(states(&idle)[0], "15 blocked P x 1");
    assert!(states(&idle).contains(&"8 blocked I x 1".to_owned()), "{:?}", states(&idle));
    // A program that is in it is dead, and so is the kernel thread then.
    let dead = of(&[leaves, (400, "app:51", "R", "sh:60"), (500, "sh:60", "x", "app:51")]);
    assert_eq!(states(&dead).iter().filter(|line| line.contains("exited x")).count(), 2, "{:?}", states(&dead));
}

/// Switches of CPU 1 with numbers, as `trace-cmd report -R` prints them: at a time in µs, from a thread in a state to another one.
fn raw_numbers(switches: &[(u32, &str, u32, u32, &str, u32)]) -> String {
    let mut text = "# tracer: nop\n".to_owned();
    for (at, prev, tid, state, next, next_tid) in switches {
        let _ = writeln!(
            text,
            "   {prev}-{tid} [001] 7.{at:06}: sched_switch: prev_comm={prev} prev_pid={tid} prev_prio=120 prev_state={state} \
             next_comm={next} next_pid={next_tid} next_prio=120"
        );
    }
    text
}

/// 8 is I of kernel threads, so it is an index, and 5 is dead.
#[test]
fn an_index_is_read() {
    let mut switches = vec![
        (100, "swapper/1", 0, 0, "kworker/1:2", 33),
        (300, "kworker/1:2", 33, 8, "pool", 71),
        (600, "pool", 71, 5, "swapper/1", 0),
        (800, "swapper/1", 0, 0, "kworker/1:2", 33),
        (900, "kworker/1:2", 33, 8, "swapper/1", 0),
        (1_000, "swapper/1", 0, 0, "kworker/1:2", 33),
    ];
    let session = session(&raw_numbers(&switches));
    assert_eq!(states(&session), ["33 blocked I x 2", "71 exited X x 1"]);
    assert_eq!(times(&session), ["33: 300 0 600 0 0", "71: 300 0 0 400 200"]);
    // An index has no 16, and a table of bits no kernel thread in 8: what the threads did off their CPU is unknown.
    switches.extend([(1_100, "kworker/1:2", 33, 8, "pool", 72), (1_300, "pool", 72, 16, "kworker/1:2", 33)]);
    let session = self::session(&raw_numbers(&switches));
    assert_eq!(times(&session), ["33: 400 0 0 0 800", "71: 300 0 0 0 900", "72: 200 0 0 0 1000"]);
}

/// Three lines of a probe with the name of an event are not understood. Nothing was lost, and no time is near a loss.
#[test]
fn a_probe_of_the_same_name_is_no_loss() {
    let mut text = "# tracer: nop\n".to_owned();
    for (at, prev, tid, next, next_tid) in
        [(100, "sh", 70, "swapper/0", 0), (300, "swapper/0", 0, "sh", 70), (450, "sh", 70, "swapper/0", 0)]
    {
        let _ = writeln!(
            text,
            "   {prev}-{tid} [000] 9.{at:06}: sched_switch: prev_comm={prev} prev_pid={tid} prev_prio=120 prev_state={} ==> next_comm={next} \
             next_pid={next_tid} next_prio=120\n   {prev}-{tid} [000] 9.{:06}: sched_switch: (__schedule+0x1f0/0x8c0) prev=0x{tid:x}",
            if tid == 0 { "R" } else { "S" },
            at + 2
        );
    }
    let session = session(&text);
    let summary = session.summary();
    let anomalies: Vec<_> = summary.anomalies.iter().map(|a| (a.lost, a.not_understood, a.count)).collect();
    assert_eq!((anomalies, summary.losses, summary.lossy_ns), (vec![(false, true, 3)], 0, 0));
    assert_eq!(times(&session), ["70: 150 0 202 0 0"]);
}

/// Linux 2.6 printed a state in brackets and the CPU of a wakeup without a key.
#[test]
fn a_recording_of_linux_2_6_is_read() {
    let session = session(
        "\
          init-0     [001]  20.000100000: sched_switch: task swapper:0 [140] (R) ==> make:910 [120]
          make-910   [001]  20.000400000: sched_switch: task make:910 [120] (D) ==> swapper:0 [140]
          cc1-77     [000]  20.000900000: sched_wakeup: task make:910 [120] success=1 [001]
          init-0     [001]  20.001000000: sched_switch: task swapper:0 [140] (R) ==> make:910 [120]
          make-910   [001]  20.001200000: sched_switch: task make:910 [120] (x) ==> swapper:0 [140]
          init-0     [001]  20.001500000: sched_switch: task swapper:0 [140] (R) ==> task:78 [120]
",
    );
    assert!(session.summary().anomalies.is_empty());
    assert_eq!(states(&session), ["910 blocked D x 1", "910 exited x x 1"]);
    assert_eq!(times(&session), ["77: 0 0 0 0 1400", "78: 0 0 0 0 1400", "910: 500 100 500 300 0"]);
}

/// A recorder that stored `task->__state`: 8193 is a freezable sleep, 1026 is idle, 512 is being woken, 128 is dead.
#[test]
fn the_kernels_own_bits_are_read() {
    let session = session(&raw_numbers(&[
        (100, "swapper", 0, 0, "a", 51),
        (200, "a", 51, 8193, "b", 52),
        (300, "b", 52, 1026, "a", 51),
        (400, "a", 51, 8193, "b", 52),
        (500, "b", 52, 512, "a", 51),
        (600, "a", 51, 8194, "b", 52),
        (700, "b", 52, 128, "swapper", 0),
    ]));
    let expected = ["51 blocked D x 1", "51 blocked S x 2", "52 blocked I x 1", "52 unknown R x 1"];
    // The exit is at the last instant, where a thread has no stretch.
    assert_eq!(states(&session), expected);
    assert!(how(&session).contains("task->__state"), "{}", how(&session));
}

/// Samples say neither how threads left a CPU nor, without CPU numbers, of which CPUs nothing was recorded.
#[test]
fn samples_without_cpus_say_nothing_of_states_and_cpus() {
    let head = "# nrcpus online : 4\n# nrcpus avail : 4\n#\n";
    let sample = |cpu: &str| format!("x  51 {cpu}50.000100:  250000 cycles:  401000 main+0x0 (/bin/x)\n");
    for (text, unrecorded) in [(sample(""), ""), (sample("[002] "), "0-1,3")] {
        let session = session(&format!("{head}{text}"));
        assert_eq!((session.summary().unrecorded_cpus.as_str(), how(&session).as_str()), (unrecorded, ""), "{text}");
    }
}
