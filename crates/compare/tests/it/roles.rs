//! Roles: which threads of two sides are the same.

use compare::{Confidence, MatchedBy, Role, Roles, Run, ThreadFacts, roles};
use model::ThreadKey;
use proptest::prelude::*;

/// A thread of a program: process, name, whether it is the main thread.
fn thread(process: &str, name: &str, key: i64) -> ThreadFacts {
    let is_main = process == name && key % 100 == 0;
    let pid = 10_000 + key / 100 * 100;
    ThreadFacts {
        thread: ThreadKey(key),
        tid: if is_main { pid } else { pid + key % 100 },
        pid: Some(pid),
        name: name.to_owned(),
        process: process.to_owned(),
        is_own: true,
        values: [("running_ns", 1e8), ("running_count", 100.0)].into(),
        ..ThreadFacts::default()
    }
}

/// What a thread does: who wakes it how often, what it waits for, how long it runs.
fn does(mut of: ThreadFacts, wakers: &[(i64, i64)], waits: &str, running_ms: f64) -> ThreadFacts {
    of.wakers = wakers.iter().map(|(waker, count)| (ThreadKey(*waker), *count)).collect();
    let wakings: i64 = wakers.iter().map(|(_, count)| count).sum();
    of.values =
        [("running_ns", running_ms * 1e6), ("running_count", wakings as f64), ("wakings", wakings as f64)].into();
    of.waits = vec![(waits.to_owned(), 500_000_000)];
    of
}

fn run(threads: Vec<ThreadFacts>) -> Run {
    Run { span_ns: 1_000_000_000, threads, ..Run::default() }
}

fn of(a: &[Run], b: &[Run]) -> Roles {
    roles([a, b], &[]).unwrap()
}

fn role<'a>(roles: &'a Roles, name: &str) -> &'a Role {
    let names: Vec<&str> = roles.roles.iter().map(|role| role.name.as_str()).collect();
    roles.roles.iter().find(|role| role.name == name).unwrap_or_else(|| panic!("no role {name} of {names:?}"))
}

/// A game: a main thread woken by a timer wakes two or more workers, which wake it; a logger writes; a mixer has a timer of its own.
fn game(workers: i64, names: [&str; 3]) -> Run {
    let [worker, logger, mixer] = names;
    let main = does(thread("game", "game", 100), &[(0, 60), (101, 100)], "futex", 300.0);
    let mut threads = vec![main];
    for number in 0..workers {
        let name = format!("{worker}{number}");
        threads.push(does(thread("game", &name, 101 + number), &[(100, 200)], "futex", 200.0 + 10.0 * number as f64));
    }
    threads.push(does(thread("game", logger, 190), &[(100, 50)], "write", 3.0));
    threads.push(does(thread("game", mixer, 191), &[(0, 500)], "clock_nanosleep", 40.0));
    run(threads)
}

const NAMES: [&str; 3] = ["worker-", "logger", "mixer"];

#[test]
fn numbers_do_not_matter_and_counts_may_change() {
    let found = of(&[game(2, NAMES), game(4, NAMES), game(2, NAMES)], &[game(8, NAMES)]);
    let workers = role(&found, "game/worker");
    assert_eq!(
        (workers.threads, workers.matched_by, workers.confidence),
        ([2.0, 8.0], MatchedBy::Name, Confidence::High)
    );
    assert_eq!(workers.members[0][1], [101, 102, 103, 104].map(ThreadKey));
    assert_eq!(found.roles.len(), 4);
}

#[test]
fn renamed_threads_are_recognised_by_what_they_do() {
    let found = of(&[game(2, NAMES)], &[game(4, ["Thread-", "sink", "audio"])]);
    for name in ["game/worker → game/Thread", "game/logger → game/sink", "game/mixer → game/audio"] {
        assert_eq!(role(&found, name).matched_by, MatchedBy::Wakeups);
    }
}

#[test]
fn a_renamed_program_is_recognised_by_its_threads() {
    let mut new = game(2, NAMES);
    for thread in &mut new.threads {
        thread.process = "game-ng".to_owned();
        thread.name = thread.name.replace("game", "game-ng");
    }
    let found = of(&[game(2, NAMES)], &[new]);
    assert_eq!(role(&found, "game/worker → game-ng/worker").threads, [2.0, 2.0]);
    assert_eq!(found.roles.len(), 4);
}

#[test]
fn twins_with_new_names_are_not_matched() {
    let twins = |a: &str, b: &str| {
        let main = does(thread("p", "p", 100), &[(0, 60)], "futex", 300.0);
        let twin = |name: &str, key: i64| does(thread("p", name, key), &[(100, 200)], "futex", 200.0);
        run(vec![main, twin(a, 101), twin(b, 102)])
    };
    let found = of(&[twins("red", "blue")], &[twins("salt", "pepper")]);
    let lone: Vec<_> = found.roles.iter().filter(|role| role.matched_by == MatchedBy::OnlyA).collect();
    assert_eq!(
        lone.iter().map(|role| (role.name.as_str(), role.confidence)).collect::<Vec<_>>(),
        [("p/blue", Confidence::Low), ("p/red", Confidence::Low)]
    );
}

#[test]
fn what_is_new_or_gone_is_so() {
    let mut less = game(2, NAMES);
    less.threads.retain(|thread| thread.name != "mixer");
    let gone = of(&[game(2, NAMES)], &[less.clone()]);
    assert_eq!(
        (role(&gone, "game/mixer").matched_by, role(&gone, "game/mixer").threads),
        (MatchedBy::OnlyA, [1.0, 0.0])
    );
    assert_eq!(role(&of(&[less], &[game(2, NAMES)]), "game/mixer").confidence, Confidence::High);
}

#[test]
fn a_run_may_lack_a_role() {
    let mut less = game(2, NAMES);
    less.threads.retain(|thread| thread.name != "mixer");
    let found = of(&[game(2, NAMES), less, game(2, NAMES)], &[game(2, NAMES)]);
    let mixer = role(&found, "game/mixer");
    assert_eq!((mixer.threads, mixer.matched_by, mixer.members[0][1].len()), ([1.0, 1.0], MatchedBy::Name, 0));
}

/// Threads that the program did not name: workers, and one that only a timer wakes.
fn unnamed(workers: i64, running_ms: [f64; 2], wait: &str) -> Run {
    let mut threads = vec![does(thread("p", "p", 100), &[(101, 100)], "futex", 10.0)];
    for number in 0..workers {
        let ms = running_ms[usize::from(number % 2 == 1)];
        threads.push(does(thread("p", "p", 101 + number), &[(100, 100)], wait, ms));
    }
    threads.push(does(thread("p", "p", 190), &[(0, 100)], "clock_nanosleep", 5.0));
    run(threads)
}

#[test]
fn unnamed_threads_are_split_by_wakeups_but_not_by_running_time() {
    let found = of(&[unnamed(2, [300.0, 300.0], "futex")], &[unnamed(6, [500.0, 1.0], "futex")]);
    let counts: Vec<_> = found.roles.iter().map(|role| (role.name.as_str(), role.threads)).collect();
    assert_eq!(
        counts,
        [
            ("p (main thread)", [1.0, 1.0]),
            ("p (other threads, waiting in clock_nanosleep)", [1.0, 1.0]),
            ("p (other threads, waiting in futex)", [2.0, 6.0]),
        ]
    );
}

#[test]
fn what_the_change_did_to_workers_does_not_split_them() {
    // In A the workers wait for a lock, in B they sleep: only the number of threads with each behaviour shows who is who.
    let found = of(
        &[unnamed(4, [300.0, 300.0], "futex")],
        &[{
            let mut b = unnamed(4, [300.0, 300.0], "futex");
            for thread in b.threads.iter_mut().filter(|thread| [101, 102].map(ThreadKey).contains(&thread.thread)) {
                (thread.wakers, thread.waits) =
                    (vec![(ThreadKey::IDLE, 100)], vec![("clock_nanosleep".to_owned(), 500_000_000)]);
            }
            b
        }],
    );
    assert_eq!(role(&found, "p (other threads)").threads, [5.0, 5.0]);
}

#[test]
fn kernel_threads_have_one_role_by_name() {
    let kernel = |name: &str, key: i64| ThreadFacts {
        is_kernel: true,
        is_own: false,
        pid: Some(key),
        tid: key,
        ..thread(name, name, key)
    };
    let a = run(vec![kernel("kworker/1:2-events", 7), kernel("ksoftirqd/0", 8), kernel("ksoftirqd/1", 9)]);
    let b = run(vec![kernel("kworker/u8:0", 3), kernel("ksoftirqd/0", 4)]);
    let found = of(&[a], &[b]);
    assert_eq!((role(&found, "kworker").threads, role(&found, "ksoftirqd").threads), ([1.0, 1.0], [2.0, 1.0]));
}

#[test]
fn the_map_wins_and_is_checked() {
    let map = |old: &str, new: &str| {
        let (a, b) = (game(2, NAMES), game(2, ["Thread-", "sink", "audio"]));
        roles([&[a], &[b]], &[(old.to_owned(), new.to_owned())])
    };
    let found = map("worker-1", "game/sink").unwrap();
    assert_eq!(role(&found, "game/worker → game/sink").matched_by, MatchedBy::Map);
    assert_eq!(
        map("game/workr", "sink").unwrap_err().to_string(),
        "--map: no thread, role or process of A is named game/workr, did you mean game/worker?"
    );
    assert!(map("logger", "mixer").unwrap_err().to_string().contains("of B is named mixer"));
}

#[test]
fn a_mapped_process_takes_its_threads_along() {
    let mut new = game(2, NAMES);
    for thread in &mut new.threads {
        thread.process = "other".to_owned();
        thread.name = thread.name.replace("game", "other");
    }
    let found = roles([&[game(2, NAMES)], &[new]], &[("game".to_owned(), "other".to_owned())]).unwrap();
    assert!(found.roles.iter().all(|role| role.matched_by == MatchedBy::Map && role.confidence == Confidence::High));
}

#[test]
fn the_idle_task_has_no_role_and_other_threads_have_one_each() {
    let mut with_idle = game(2, NAMES);
    with_idle.threads.push(ThreadFacts::default());
    let found = of(&[with_idle], &[game(2, NAMES)]);
    assert_eq!(found.of_run(0, 0).len(), 5);
    assert!(!found.of_run(0, 0).contains_key(&ThreadKey::IDLE));
    assert!(of(&[], &[]).roles.is_empty());
}

#[test]
fn many_threads_with_names_of_their_own_take_linear_time() {
    let many = |seed: i64| {
        let name = |key: i64| format!("t{:x}y\u{202e}{}\n", key.wrapping_mul(seed), key / 7);
        run((1..200_000).map(|key| thread("p", &name(key), key)).collect())
    };
    let before = std::time::Instant::now();
    let found = of(&[many(3)], &[many(5)]);
    assert_eq!(found.roles.iter().flat_map(|role| &role.members[0][0]).count(), 199_999);
    // Quadratic time would be hours.
    assert!(before.elapsed().as_secs() < 120, "{:?}", before.elapsed());
}

prop_compose! {
    /// A run of a program with some pools, single threads and unnamed threads, which wake each other.
    fn any_run()(
        pools in prop::collection::vec(("[a-z]{3,8}", 1_usize..5, prop::sample::select(vec!["futex", "read", "epoll_wait"])), 1..6),
        wakes in prop::collection::vec((0_usize..40, 0_usize..40, 1_i64..100), 0..40),
        unnamed in 0_usize..4,
    ) -> Run {
        let mut threads = vec![thread("prog", "prog", 100)];
        for (name, count, wait) in &pools {
            for number in 0..*count {
                let key = 100 + threads.len() as i64;
                threads.push(does(thread("prog", &format!("{name}-{number}"), key), &[], wait, 10.0 * count.min(&3).to_owned() as f64));
            }
        }
        for _ in 0..unnamed {
            threads.push(thread("prog", "prog", 100 + threads.len() as i64));
        }
        for (from, to, count) in wakes {
            let (from, to) = (from % threads.len(), to % threads.len());
            let waker = threads[from].thread;
            threads[to].wakers.push((waker, count));
        }
        run(threads)
    }
}

/// The same run with other keys, TIDs and numbers in another order.
fn renumbered(of: &Run, shift: i64) -> Run {
    let mut of = of.clone();
    let key = |ThreadKey(key)| ThreadKey(if key == 0 { 0 } else { (key * 7 + shift) % 100_003 + 1 });
    for thread in &mut of.threads {
        thread.thread = key(thread.thread);
        thread.tid += shift;
        thread.pid = thread.pid.map(|pid| pid + shift);
        thread.wakers.iter_mut().for_each(|(waker, _)| *waker = key(*waker));
        if let Some((name, number)) = thread.name.clone().rsplit_once('-') {
            thread.name = format!("{name}-{}", number.parse::<i64>().unwrap() + shift);
        }
    }
    of.threads.rotate_left((shift % 3) as usize);
    of
}

fn shape(roles: &Roles) -> Vec<(String, [f64; 2], MatchedBy, Confidence)> {
    roles.roles.iter().map(|role| (role.name.clone(), role.threads, role.matched_by, role.confidence)).collect()
}

proptest! {
    #[test]
    fn numbers_and_keys_never_change_the_matching(a in any_run(), b in any_run(), shift in 0_i64..50_000) {
        let (with, without) = (of(std::slice::from_ref(&a), &[renumbered(&b, shift)]), of(&[a], &[b]));
        prop_assert_eq!(shape(&with), shape(&without));
    }

    #[test]
    fn a_side_matches_itself_completely_with_high_confidence(a in any_run(), shift in 0_i64..50_000) {
        let found = of(std::slice::from_ref(&a), &[renumbered(&a, shift)]);
        for role in &found.roles {
            prop_assert!(role.confidence == Confidence::High && role.threads[0] == role.threads[1], "{:?}", role);
        }
        prop_assert_eq!(found.of_run(0, 0).len(), a.threads.len());
    }

    #[test]
    fn each_thread_has_one_role_whatever_its_name(names in prop::collection::vec(any::<String>(), 1..20)) {
        let with = |of: Vec<String>| run((1..).zip(of).map(|(key, name)| thread("p", &name, key)).collect());
        let found = of(&[with(names.clone())], &[with(names.clone())]);
        let keys: usize = found.roles.iter().map(|role| role.members[0][0].len()).sum();
        prop_assert_eq!((keys, found.of_run(1, 0).len()), (names.len(), names.len()));
    }
}
