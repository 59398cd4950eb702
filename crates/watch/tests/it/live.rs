//! Watches this machine.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use watch::snapshot::{GroupKind, Snapshot};
use watch::{GroupBy, WatchError, WatchOptions, Watcher};

/// What a test does disturbs what another one measures.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn started(options: &WatchOptions) -> Watcher {
    Watcher::start(options, Arc::new(topology::live())).unwrap_or_else(|why| panic!("{why}"))
}

fn by_process(names: &[&str]) -> WatchOptions {
    let chosen = names.iter().map(|name| (*name).to_owned()).collect();
    WatchOptions { by: GroupBy::Process, chosen, ..WatchOptions::default() }
}

fn check(snapshot: &Snapshot) {
    for identity in &snapshot.identities {
        assert!(identity.holds, "{identity:?}");
    }
    assert_eq!(snapshot.health.missed_events, 0);
    // Where the kernel hides a switch, the time before it is unknown, however long nothing else happened.
    let unknown: u64 = snapshot.cpus.iter().map(|cpu| cpu.unknown_ns).sum();
    let hidden = snapshot.health.inferred_switches + snapshot.health.inconsistent_switches;
    assert!(hidden > 0 || unknown <= 100_000_000 + snapshot.elapsed_ns() / 20, "{unknown} ns, {:?}", snapshot.health);
}

/// Gives this process a name of its own, and returns it.
fn named(name: &str) -> String {
    std::fs::write("/proc/self/comm", name).unwrap();
    name.to_owned()
}

fn busy(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The kernel's own sums of this thread: time on a CPU and time in a queue, ns.
fn schedstat() -> [u64; 2] {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    [numbers[0], numbers[1]]
}

#[test]
#[ignore = "needs root, BPF rights"]
fn the_identities_hold_at_each_reading_and_at_the_end() {
    let _alone = alone();
    for by in [GroupBy::None, GroupBy::Cgroup, GroupBy::Process] {
        let mut watcher = started(&WatchOptions { by, ..WatchOptions::default() });
        let mut before: Option<Snapshot> = None;
        for _ in 0..5 {
            busy(Duration::from_millis(50));
            std::thread::sleep(Duration::from_millis(50));
            let now = watcher.read();
            check(&now);
            if let Some(before) = &before {
                assert!(now.total.running_ns() >= before.total.running_ns());
                let others = |s: &Snapshot| s.groups.last().map_or(0, |g| g.running_ns());
                assert!(others(&now) >= others(before), "a published sum became smaller");
            }
            before = Some(now);
        }
        let end = watcher.finish();
        check(&end);
        let group_time = end.identities.iter().find(|identity| identity.name == "group_time").unwrap();
        assert_eq!((group_time.residual_ns, group_time.slack_ns), (0, 0), "nothing changes anymore");
        assert_eq!(end.groups.is_empty(), by == GroupBy::None);
    }
}

#[test]
#[ignore = "needs root, BPF rights"]
fn a_groups_sums_are_those_of_the_kernel() {
    let _alone = alone();
    let name = named("cw-watched");
    let watcher = started(&by_process(&[&name]));
    // Threads of a process of that name that ends before it is read: nothing of it is lost.
    let sums: Vec<[u64; 2]> = std::thread::scope(|scope| {
        let work = || {
            let before = schedstat();
            for _ in 0..100 {
                busy(Duration::from_millis(3));
                std::thread::sleep(Duration::from_micros(200));
            }
            let after = schedstat();
            [after[0] - before[0], after[1] - before[1]]
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let end = watcher.finish();
    check(&end);
    let group = end.groups.iter().find(|group| group.kind == GroupKind::Process).unwrap();
    let all = group.all_classes();
    assert_eq!(group.name, name);
    // schedstat leaves out what the hypervisor took, and the process also starts and joins threads.
    let [ran, queued] = [0, 1].map(|part| sums.iter().map(|sum| sum[part]).sum::<u64>());
    assert!(all.running_ns + 5_000_000 > ran, "{} of {ran}", all.running_ns);
    let ready = all.ready.all_ns();
    assert!(ready.abs_diff(queued) < queued / 20 + 20_000_000, "{ready} instead of {queued}");
    assert_eq!(all.ready_latency.sum_ns, ready, "each wait is divided, nothing is left");
    assert!(all.ready_latency.count() <= all.wakeups + all.preemptions, "a wait begins with a waking or a preemption");
    assert!(all.wakeups >= 400, "{}", all.wakeups);
    // How much depends on what else runs.
    assert!(all.ready.same_group_ns > 0, "four threads wait for each other: {:?}", all.ready);
}

#[test]
#[ignore = "needs root, BPF rights"]
fn more_groups_than_slots_are_others() {
    let _alone = alone();
    let options = WatchOptions { by: GroupBy::Process, max_groups: 1, top: 5, ..WatchOptions::default() };
    let mut watcher = started(&options);
    let mut last = None;
    for round in 0..6 {
        for n in 0..40 {
            let n = round * 40 + n;
            named(&format!("cw-many-{n}"));
            std::thread::sleep(Duration::from_micros(300));
        }
        last = Some(watcher.read());
        check(last.as_ref().unwrap());
    }
    let last = last.unwrap();
    assert!(last.groups.len() <= 6, "{}", last.groups.len());
    assert!(last.health.groups_kept <= last.health.groups_max);
    assert!(last.health.groups_seen > last.health.groups_max, "slots are used again: {:?}", last.health);
    check(&watcher.finish());
}

/// Cgroups that are gone at the next reading have the name that the kernel had of them; one that is made again goes on with its sums.
#[test]
#[ignore = "needs root, BPF rights"]
fn removed_cgroups_have_names_and_go_on_when_they_are_made_again() {
    let _alone = alone();
    let Some(hierarchy) = capture::cpu_hierarchy().or_else(capture::unified_hierarchy) else { return };
    let mut watcher = started(&WatchOptions { top: 1000, ..WatchOptions::default() });
    let folder = hierarchy.root.join("cw-removed");
    let run = |of: &std::path::Path| {
        std::fs::create_dir_all(of).unwrap();
        let mut child = std::process::Command::new("sh")
            // A thread's time belongs to its cgroup from its next switch-in on, so it must wait once.
            .args(["-c", "read go; sleep 0.01"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::write(of.join("cgroup.procs"), child.id().to_string()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        std::fs::remove_dir(of).unwrap();
    };
    let sums = |snapshot: &Snapshot, name: &str| -> Vec<u64> {
        snapshot.groups.iter().filter(|group| group.name == name).map(|group| group.running_ns()).collect()
    };
    run(&folder.join("inner"));
    let first = watcher.read();
    let before = sums(&first, "/cw-removed/inner");
    assert_eq!(before.len(), 1, "{:?}", first.groups.iter().map(|g| &g.name).collect::<Vec<_>>());
    run(&folder.join("inner"));
    let after = sums(&watcher.read(), "/cw-removed/inner");
    assert!(after.len() == 1 && after[0] > before[0], "{before:?} {after:?}");
    std::fs::remove_dir(&folder).unwrap();
    check(&watcher.finish());
}

/// CPUs 0 and 1 as a core of two threads, and as one of four of which two do not exist: the same times by different programs.
#[test]
#[ignore = "needs root, BPF rights"]
fn a_core_of_several_threads_has_the_times_of_a_core_of_two() {
    let _alone = alone();
    let of = |threads: u32| {
        let mut machine = topology::live();
        for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.id.0 < 2) {
            cpu.siblings = (0..threads).map(model::CpuId).collect();
        }
        Watcher::start(&WatchOptions { by: GroupBy::None, ..WatchOptions::default() }, Arc::new(machine)).unwrap()
    };
    if topology::live().cpus.len() < 2 {
        return;
    }
    let (mut two, mut four) = (of(2), of(4));
    let before = [two.read(), four.read()];
    std::thread::scope(|scope| {
        for pause in [200, 700] {
            scope.spawn(move || {
                for _ in 0..1000 {
                    busy(Duration::from_micros(300));
                    std::thread::sleep(Duration::from_micros(pause));
                }
            });
        }
    });
    let after = [two.read(), four.read()];
    after.iter().for_each(check);
    // The readings of both are some ms apart.
    let [two, four] = [0, 1].map(|of| {
        let less = |part: fn(&Snapshot) -> u64| part(&after[of]) - part(&before[of]);
        [
            less(|s| s.cpus[0].sibling.busy_ns),
            less(|s| s.cpus[0].sibling.idle_ns),
            less(|s| s.cpus[1].sibling.busy_ns),
            less(|s| s.cpus[1].sibling.idle_ns),
            less(|s| s.cores()[0].several_busy_ns),
        ]
    });
    assert!(two.iter().zip(&four).all(|(two, four)| two.abs_diff(*four) < 20_000_000), "{two:?} {four:?}");
    assert!(two[4] > 10_000_000, "the threads run at the same time: {two:?}");
    assert_eq!(after[1].cpus[0].sibling.unknown_ns, 0);
}

#[test]
#[ignore = "needs root, BPF rights"]
fn unknown_groups_are_errors() {
    let fails = |options: &WatchOptions| Watcher::start(options, Arc::new(topology::live())).err().unwrap();
    let chosen = vec!["/no/such/cgroup".to_owned()];
    let cgroup = fails(&WatchOptions { chosen, ..WatchOptions::default() });
    assert!(matches!(cgroup, WatchError::NoCgroup { .. }), "{cgroup}");
    assert!(cgroup.to_string().contains("/no/such/cgroup"), "{cgroup}");
    let name = fails(&by_process(&["longer-than-15-bytes"]));
    assert!(matches!(name, WatchError::BadName(_)), "{name}");
}
