//! EEVDF, groups, quotas and real-time threads: what the kernel's rules say of readable programs.

use crate::ran::{self, Ran};
use simulate::{Class, Cpus, Group, Machine, Object, Op, Program, Settings, Thread, Type, Until};

const MS: i64 = 1_000_000;

fn busy(name: &str, nice: i8, group: usize) -> Thread {
    Thread {
        name: name.to_owned(),
        ops: vec![Op::Run(100_000 * MS)],
        nice,
        group,
        starts: Some(0),
        ..Thread::default()
    }
}

fn program(threads: Vec<Thread>) -> Program {
    Program { threads, ..Program::default() }
}

/// Replays a second, and returns the shares of the threads in it.
fn shares(program: &Program, cpus: usize) -> Vec<f64> {
    let threads = program.threads.len();
    let mut program = program.clone();
    // The replay ends with this one.
    program.threads.push(Thread { ops: vec![Op::SleepUntil(1000 * MS)], starts: Some(0), ..Thread::default() });
    let until = Until { at: 2000 * MS, end_of: Some(threads) };
    let ran = ran::eevdf(&program, &Machine::uniform(cpus), Settings::new(cpus), until).unwrap();
    (0..threads).map(|thread| ran.time(thread, i64::MAX) as f64 / ran.end as f64).collect()
}

fn is_close(got: f64, due: f64, within: f64) {
    assert!((got - due).abs() <= within, "{got:.3} instead of {due:.3}");
}

#[test]
fn nice_values_give_shares_by_weight() {
    let shares = shares(&program(vec![busy("A", 0, 0), busy("B", 5, 0)]), 1);
    is_close(shares[0], 1024.0 / (1024.0 + 335.0), 0.01);
    is_close(shares[1], 335.0 / (1024.0 + 335.0), 0.01);
}

#[test]
fn groups_share_by_their_weights_whatever_is_in_them() {
    let group = |weight| Group { parent: Some(0), weight, quota: None };
    let of = Program {
        threads: vec![busy("A", 0, 1), busy("B", 0, 2), busy("C", 0, 2), busy("D", -20, 2)],
        groups: vec![Group::ROOT, group(1024), group(2048)],
        ..Program::default()
    };
    let shares = shares(&of, 1);
    is_close(shares[0], 1.0 / 3.0, 0.02);
    is_close(shares[1..].iter().sum(), 2.0 / 3.0, 0.02);
    assert!(shares[3] > 20.0 * shares[1], "nice values count within the group");
}

#[test]
fn a_group_uses_its_quota_and_no_more() {
    let limited = Group { parent: Some(0), weight: 1024, quota: Some((20 * MS, 100 * MS)) };
    let of = Program {
        threads: vec![busy("A", 0, 1), busy("B", 0, 1), busy("C", 0, 0)],
        groups: vec![Group::ROOT, limited],
        ..Program::default()
    };
    let shares = shares(&of, 2);
    is_close(shares[0] + shares[1], 0.2, 0.02);
    assert!(shares[2] > 0.85);
}

#[test]
fn idle_threads_get_nearly_nothing() {
    let idle = Thread { class: Class::Idle, ..busy("B", 0, 0) };
    let shares = shares(&program(vec![busy("A", 0, 0), idle]), 1);
    is_close(shares[1], 3.0 / 1027.0, 0.005);
}

#[test]
fn threads_are_spread_over_the_cpus() {
    let shares = shares(&program(vec![busy("A", 0, 0), busy("B", 0, 0), busy("C", 0, 0), busy("D", 0, 0)]), 4);
    shares.iter().for_each(|share| is_close(*share, 1.0, 0.01));
}

#[test]
fn three_threads_on_two_cpus_get_two_thirds_each() {
    let shares = shares(&program(vec![busy("A", 0, 0), busy("B", 0, 0), busy("C", 0, 0)]), 2);
    is_close(shares.iter().sum(), 2.0, 0.01);
    shares.iter().for_each(|share| is_close(*share, 2.0 / 3.0, 0.2));
}

#[test]
fn a_thread_that_slept_preempts_one_that_has_run_for_longer() {
    let period = |n: i64| [Op::SleepUntil(n * 10 * MS), Op::Mark(0), Op::Run(MS), Op::Mark(1)];
    let sleeper =
        Thread { name: "S".to_owned(), ops: (1..40).flat_map(period).collect(), starts: Some(0), ..Thread::default() };
    let mut of = program(vec![sleeper, busy("A", 0, 0)]);
    let until = Until { at: 2000 * MS, end_of: Some(0) };
    let ran = ran::eevdf(&of, &Machine::uniform(1), Settings::new(1), until).unwrap();
    let late =
        |ran: &Ran| ran.ready.iter().filter(|(thread, ..)| *thread == 0).map(|(_, from, to)| to - from).max().unwrap();
    // At most to the end of a slice of the other one, at a tick.
    assert!(late(&ran) <= 4 * MS, "{}", late(&ran));
    // With a real-time priority it runs immediately.
    of.threads[0].class = Class::Fifo(1);
    let ran = ran::eevdf(&of, &Machine::uniform(1), Settings::new(1), until).unwrap();
    assert_eq!(late(&ran), 0);
}

#[test]
fn a_thread_alone_on_a_slow_core_takes_longer() {
    let mut machine = Machine::uniform(2);
    machine.types.push(Type { name: "E".to_owned(), speed: 0.4 });
    machine.cpus[1].kind = 1;
    let pinned = |cpu| Thread {
        name: format!("on {cpu}"),
        ops: vec![Op::Run(10 * MS)],
        affinity: Some(Cpus::of([cpu])),
        starts: Some(0),
        ..Thread::default()
    };
    let of = program(vec![pinned(0), pinned(1)]);
    let ran = ran::eevdf(&of, &machine, Settings::new(2), Until { at: 1000 * MS, end_of: None }).unwrap();
    assert_eq!([ran.time(0, i64::MAX), ran.time(1, i64::MAX)], [10 * MS, 25 * MS]);
}

#[test]
fn siblings_slow_each_other_down() {
    let mut machine = Machine::uniform(2);
    machine.cpus[1].core = 0;
    machine.with_busy_sibling = 0.6;
    let of = |work| Thread { ops: vec![Op::Run(work)], starts: Some(0), ..Thread::default() };
    let ran = ran::eevdf(
        &program(vec![of(6 * MS), of(12 * MS)]),
        &machine,
        Settings::new(2),
        Until { at: 1000 * MS, end_of: None },
    )
    .unwrap();
    // 10 ms at the same time, in which each does 6 ms of work, and 6 ms alone.
    assert_eq!(ran.end, 16 * MS);
}

#[test]
fn barriers_joins_posts_and_spins_order_threads() {
    let thread = |ops: Vec<Op>| Thread { ops, ..Thread::default() };
    let of = Program {
        threads: vec![
            Thread {
                starts: Some(0),
                ..thread(vec![
                    Op::Start(1),
                    Op::Start(2),
                    Op::Run(MS),
                    Op::Post(0, 1),
                    Op::Barrier(1),
                    Op::Join(1),
                    Op::Join(2),
                    Op::Mark(9),
                ])
            },
            thread(vec![Op::Wait(0), Op::Run(2 * MS), Op::Barrier(1), Op::Post(2, 1), Op::Run(MS), Op::Mark(1)]),
            thread(vec![Op::Spin(2), Op::Run(MS), Op::Mark(2)]),
        ],
        objects: vec![Object::Semaphore(0), Object::Barrier(2), Object::Semaphore(0)],
        ..Program::default()
    };
    let ran = ran::eevdf(&of, &Machine::uniform(3), Settings::new(3), Until { at: 1000 * MS, end_of: None }).unwrap();
    assert_eq!(ran.marks, [(4 * MS, 1, 1), (4 * MS, 2, 2), (4 * MS, 0, 9)]);
    assert_eq!(ran.time(2, i64::MAX), 4 * MS, "it spins");
}

#[test]
fn a_period_goes_on_from_when_it_was_due() {
    let thread = |ops: Vec<Op>, class| Thread { ops, class, starts: Some(0), ..Thread::default() };
    let period = || [Op::SleepNext(10 * MS), Op::Run(MS), Op::Mark(0)];
    let of = program(vec![
        thread((0..4).flat_map(|_| period()).collect(), Class::Fifo(1)),
        // More urgent, from 15 to 35 ms: the second and third periods are late, the fourth is not.
        thread(vec![Op::SleepFor(15 * MS), Op::Run(20 * MS)], Class::Fifo(2)),
    ]);
    let ran = ran::eevdf(&of, &Machine::uniform(1), Settings::new(1), Until { at: 1000 * MS, end_of: None }).unwrap();
    let marks: Vec<i64> = ran.marks.iter().map(|(at, ..)| at / MS).collect();
    assert_eq!(marks, [11, 36, 37, 41]);
}
