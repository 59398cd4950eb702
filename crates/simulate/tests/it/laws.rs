//! Laws over drawn programs: work is conserved, each thread has one CPU at a time and only allowed ones, no CPU idles for long while an allowed
//! thread is ready, and one seed gives one result.

use crate::ran::{self, Ran, Run};
use proptest::prelude::*;
use simulate::{
    Class, Cpus, Endless, FifoGlobal, Group, Machine, Object, Op, Program, Settings, Thread, Until, replay,
};

const UNTIL: Until = Until { at: 1_000_000_000_000, end_of: None };
const CPUS: usize = 3;

/// Operations that end whatever others do: a lock is given back, and each post is taken once.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let piece = prop_oneof![
        4 => (1_i64..6_000_000).prop_map(|work| vec![Op::Run(work)]),
        2 => (1_i64..9_000_000).prop_map(|ns| vec![Op::SleepFor(ns)]),
        1 => (1_i64..40_000_000).prop_map(|at| vec![Op::SleepUntil(at)]),
        1 => (1_i64..2_000_000).prop_map(|work| vec![Op::Lock(0), Op::Run(work), Op::Unlock(0)]),
        1 => (0_usize..3).prop_map(|mark| vec![Op::Mark(mark)]),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        5 => Just(Class::Other),
        1 => Just(Class::Batch),
        1 => Just(Class::Idle),
        1 => (1_u8..4).prop_map(Class::Fifo),
        1 => (1_u8..4).prop_map(Class::RoundRobin),
    ]
}

fn thread() -> impl Strategy<Value = Thread> {
    let affinity =
        prop_oneof![3 => Just(None), 1 => prop::collection::vec(0..CPUS, 1..3).prop_map(|cpus| Some(Cpus::of(cpus)))];
    (ops(), class(), -20_i8..20, affinity, 0_usize..4, 0_i64..5_000_000).prop_map(
        |(ops, class, nice, affinity, group, starts)| Thread {
            ops,
            class,
            nice,
            affinity,
            group,
            starts: Some(starts),
            ..Thread::default()
        },
    )
}

/// Threads in four groups, one within another, one of which may have a quota.
fn program() -> impl Strategy<Value = Program> {
    let quota =
        prop_oneof![2 => Just(None), 1 => (1_000_000_i64..30_000_000).prop_map(|quota| Some((quota, 10_000_000)))];
    (prop::collection::vec(thread(), 1..9), quota).prop_map(|(mut threads, quota)| {
        for (n, thread) in threads.iter_mut().enumerate() {
            thread.name = format!("T{n}");
        }
        let group = |parent, weight| Group { parent: Some(parent), weight, quota: None };
        let groups = vec![Group::ROOT, group(0, 1024), Group { quota, ..group(1, 2048) }, group(0, 512)];
        Program { threads, groups, objects: vec![Object::Lock] }
    })
}

fn work(thread: &Thread) -> i64 {
    thread.ops.iter().map(|op| if let Op::Run(work) = op { *work } else { 0 }).sum()
}

proptest! {
    #[test]
    fn work_is_conserved_and_threads_keep_to_their_cpus(program in program()) {
        let machine = Machine::uniform(CPUS);
        let ran = ran::eevdf(&program, &machine, Settings::new(CPUS), UNTIL).unwrap();
        let mut all: Vec<&Run> = Vec::new();
        for (thread, of) in program.threads.iter().enumerate() {
            prop_assert_eq!(ran.time(thread, i64::MAX), work(of), "{}", of.name);
            prop_assert!(ran.runs[thread].iter().all(|run| of.affinity.as_ref().is_none_or(|set| set.has(run.cpu))));
            prop_assert!(ran.runs[thread].windows(2).all(|two| two[0].to <= two[1].from));
            all.extend(&ran.runs[thread]);
        }
        // Two threads never have one CPU.
        all.sort_by_key(|run| (run.cpu, run.from, run.to));
        prop_assert!(all.windows(2).all(|two| two[0].cpu != two[1].cpu || two[0].to <= two[1].from));
    }

    #[test]
    fn one_seed_gives_one_result(program in program()) {
        let machine = Machine::uniform(CPUS);
        let settings = Settings { newidle_share: 0.5, ..Settings::new(CPUS) };
        let [first, second] = [(); 2].map(|()| ran::eevdf(&program, &machine, settings, UNTIL).unwrap());
        prop_assert_eq!(first, second);
    }

    #[test]
    fn no_cpu_idles_for_longer_than_a_tick_while_an_allowed_thread_is_ready(program in program()) {
        // A thread that ran just before is not moved, and a thread of a group with a quota may be held.
        let mut program = program;
        program.groups[2].quota = None;
        let machine = Machine::uniform(CPUS);
        let settings = Settings::new(CPUS);
        let ran = ran::eevdf(&program, &machine, settings, UNTIL).unwrap();
        let longest = settings.tick_ns + settings.migration_cost_ns;
        for (thread, from, to) in &ran.ready {
            for cpu in (0..CPUS).filter(|cpu| program.threads[*thread].affinity.as_ref().is_none_or(|set| set.has(*cpu))) {
                let mut busy: Vec<_> = ran.runs.iter().flatten().filter(|run| run.cpu == cpu && run.to > *from && run.from < *to).collect();
                busy.sort_by_key(|run| run.from);
                let mut at = *from;
                for run in busy {
                    prop_assert!(run.from - at <= longest, "CPU {cpu} idles from {at} to {} while {thread} is ready", run.from);
                    at = at.max(run.to);
                }
                prop_assert!(*to - at <= longest, "CPU {cpu} idles from {at} to {to} while {thread} is ready");
            }
        }
    }

    #[test]
    fn one_queue_for_all_never_idles_while_an_allowed_thread_is_ready(program in program()) {
        let machine = Machine::uniform(CPUS);
        let mut ran = Ran::new(&program, &machine);
        ran.end = replay(&program, &machine, &mut FifoGlobal::default(), &mut ran, UNTIL).unwrap();
        for (thread, from, to) in &ran.ready {
            for cpu in (0..CPUS).filter(|cpu| program.threads[*thread].affinity.as_ref().is_none_or(|set| set.has(*cpu))) {
                let busy: i64 = ran.runs.iter().flatten().filter(|run| run.cpu == cpu).map(|run| (run.to.min(*to) - run.from.max(*from)).max(0)).sum();
                prop_assert_eq!(busy, to - from);
            }
        }
    }

    #[test]
    fn it_takes_at_least_the_longest_thread_and_the_share_of_all(program in program()) {
        let machine = Machine::uniform(CPUS);
        let ran = ran::eevdf(&program, &machine, Settings::new(CPUS), UNTIL).unwrap();
        let all: i64 = program.threads.iter().map(work).sum();
        let longest = program.threads.iter().map(work).max().unwrap();
        prop_assert!(ran.end >= longest.max(all / CPUS as i64));
    }
}

#[test]
fn threads_that_wait_for_each_other_are_named() {
    let waits = |name: &str| Thread {
        name: name.to_owned(),
        ops: vec![Op::Run(5), Op::Wait(0)],
        starts: Some(0),
        ..Thread::default()
    };
    let program =
        Program { threads: vec![waits("A"), waits("B")], objects: vec![Object::Semaphore(1)], ..Program::default() };
    let ended = ran::eevdf(&program, &Machine::uniform(1), Settings::new(1), UNTIL).map(|ran| ran.end);
    assert_eq!(ended, Err(Endless::Stuck { waiting: vec!["B".to_owned()] }));
}
