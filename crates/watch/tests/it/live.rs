//! Watches this machine, whatever else it does: what is asserted are laws of the sums, and bounds from what the kernel counts itself.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use watch::snapshot::{GroupKind, Health, Snapshot};
use watch::{GroupBy, WatchError, WatchOptions, Watcher, now_ns};

/// What a test does disturbs what another one measures.
static ONE: Mutex<()> = Mutex::new(());

/// How far the clocks of the kernel and of the programs may be apart: both are read within one switch, which takes this long while a virtual
/// machine stalls, ns.
const SWITCH_NS: u64 = 50_000;
/// What ends a test that hangs.
const HANGS: Duration = Duration::from_secs(60);
/// No thread's turn.
const OVER: u64 = u64::MAX;

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A watcher whose snapshots are all checked.
struct Watched {
    watcher: Watcher,
    /// How long it took to start.
    starting_ns: u64,
    last: Health,
}

impl Watched {
    fn start(options: &WatchOptions, machine: topology::Machine) -> Self {
        let before = now_ns();
        let watcher = Watcher::start(options, Arc::new(machine)).unwrap_or_else(|why| panic!("{why}"));
        Self { watcher, starting_ns: now_ns() - before, last: Health::default() }
    }

    fn read(&mut self) -> Snapshot {
        let snapshot = self.watcher.read();
        check(&snapshot, self.starting_ns);
        let counts = |of: &Health| {
            [
                of.groups_seen,
                of.overflows,
                of.missed_events,
                of.inferred_switches,
                of.inconsistent_switches,
                of.forgotten_waits,
            ]
        };
        let (before, now) = (counts(&self.last), counts(&snapshot.health));
        assert!(before.iter().zip(&now).all(|(before, now)| before <= now), "a count fell: {before:?}, then {now:?}");
        self.last = snapshot.health;
        snapshot
    }

    fn finish(self) -> Snapshot {
        let snapshot = self.watcher.finish();
        check(&snapshot, self.starting_ns);
        snapshot
    }
}

fn started(options: &WatchOptions) -> Watched {
    Watched::start(options, topology::live())
}

fn by_process(names: &[&str]) -> WatchOptions {
    let chosen = names.iter().map(|name| (*name).to_owned()).collect();
    WatchOptions { by: GroupBy::Process, chosen, ..WatchOptions::default() }
}

fn unknown_ns(snapshot: &Snapshot) -> u64 {
    snapshot.cpus.iter().map(|cpu| cpu.unknown_ns).sum()
}

/// What holds of each reading. What a CPU did is unknown only until it was read for the first time, and where the kernel hides switches.
fn check(snapshot: &Snapshot, starting_ns: u64) {
    for identity in &snapshot.identities {
        assert!(identity.holds, "{identity:?}");
    }
    let (health, unknown) = (&snapshot.health, unknown_ns(snapshot));
    assert!(health.groups_kept <= health.groups_max, "{health:?}");
    let most = starting_ns * snapshot.cpus.len() as u64;
    assert!(health.inconsistent_switches > 0 || unknown <= most, "{unknown} ns, at most {most}: {health:?}");
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

/// The switches of threads to wait, and the others: this one (`RUSAGE_THREAD`), or all that the process has and had (`RUSAGE_SELF`).
fn switches(of: libc::c_int) -> [u64; 2] {
    // SAFETY: all-zero is a valid rusage, and it is written to.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(of, &raw mut usage), 0);
        usage
    };
    [usage.ru_nvcsw, usage.ru_nivcsw].map(i64::unsigned_abs)
}

/// The kernel's own sums of this thread: time on a CPU and time in a queue, ns, and how often it left its CPU to wait.
fn own_sums() -> [u64; 3] {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    [numbers[0], numbers[1], switches(libc::RUSAGE_THREAD)[0]]
}

/// Waits at least once: returns when this thread has left its CPU and is on one again.
fn wait_once() {
    let before = switches(libc::RUSAGE_THREAD)[0];
    while switches(libc::RUSAGE_THREAD)[0] == before {
        std::thread::sleep(Duration::from_micros(300));
    }
}

fn tasks() -> u64 {
    std::fs::read_dir("/proc/self/task").unwrap().count() as u64
}

/// Binds this thread to a CPU.
fn bind(cpu: usize) {
    // SAFETY: the set outlives the call.
    let done = unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[test]
#[ignore = "needs root, BPF rights"]
fn the_identities_hold_at_each_reading_and_at_the_end() {
    let _alone = alone();
    for by in [GroupBy::None, GroupBy::Cgroup, GroupBy::Process] {
        let mut watched = started(&WatchOptions { by, ..WatchOptions::default() });
        let mut before: Option<Snapshot> = None;
        for _ in 0..5 {
            busy(Duration::from_millis(50));
            std::thread::sleep(Duration::from_millis(50));
            let now = watched.read();
            if let Some(before) = &before {
                assert!(now.total.running_ns() >= before.total.running_ns());
                let others = |s: &Snapshot| s.groups.last().map_or(0, |g| g.running_ns());
                assert!(others(&now) >= others(before), "a published sum became smaller");
            }
            before = Some(now);
        }
        let end = watched.finish();
        let group_time = end.identities.iter().find(|identity| identity.name == "group_time").unwrap();
        assert_eq!((group_time.residual_ns, group_time.slack_ns), (0, 0), "nothing changes anymore");
        assert_eq!(end.groups.is_empty(), by == GroupBy::None);
    }
}

/// What four threads do on one CPU, by their own count.
struct Load {
    started: AtomicUsize,
    bound: Barrier,
}

impl Load {
    const THREADS: usize = 4;

    /// Work of one thread: it waits for the one before, wakes the next one, which is on the same CPU, and spins until that one has run. So
    /// that one was ready while this one ran. Returns the kernel's sums meanwhile.
    fn work(&self, at: usize, cpu: usize, wait: &Receiver<()>, wake: &Sender<()>) -> [u64; 3] {
        bind(cpu);
        self.bound.wait();
        let before = own_sums();
        if at > 0 {
            wait.recv().unwrap();
        }
        self.started.store(at + 1, Ordering::Release);
        if at + 1 < Self::THREADS {
            wake.send(()).unwrap();
            while self.started.load(Ordering::Acquire) < at + 2 {
                std::hint::spin_loop();
            }
        }
        for _ in 0..50 {
            busy(Duration::from_millis(2));
            std::thread::sleep(Duration::from_micros(200));
        }
        let after = own_sums();
        [0, 1, 2].map(|part| after[part] - before[part])
    }
}

/// A group has at least the times and wakeups that the kernel itself counted of its threads, apart from what was hidden, and no more than its
/// threads can have: each of them is in one state at a time, and leaves its CPU to wait as often as the kernel says.
#[test]
#[ignore = "needs root, BPF rights"]
fn a_groups_sums_are_those_of_the_kernel() {
    let _alone = alone();
    let name = named("cw-watched");
    // SAFETY: no memory is involved.
    let cpu = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap();
    let (waits_before, tasks_before) = (switches(libc::RUSAGE_SELF)[0], tasks());
    let watched = started(&by_process(&[&name]));
    // Threads of a process of that name that ends before it is read: nothing of it is lost.
    let load = &Load { started: AtomicUsize::new(0), bound: Barrier::new(Load::THREADS) };
    // Each thread waits for a message of the one before it.
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..=Load::THREADS).map(|_| channel()).unzip();
    let ends = receivers.into_iter().zip(senders.into_iter().skip(1)).enumerate();
    let sums: Vec<[u64; 3]> = std::thread::scope(|scope| {
        let start = |(at, (wait, wake))| scope.spawn(move || load.work(at, cpu, &wait, &wake));
        let threads: Vec<_> = ends.map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let end = watched.finish();
    let (waits_after, tasks_after) = (switches(libc::RUSAGE_SELF)[0], tasks());
    let group = end.groups.iter().find(|group| group.kind == GroupKind::Process).unwrap();
    let all = group.all_classes();
    assert_eq!(group.name, name);
    let [ran, queued, waits] = [0, 1, 2].map(|part| sums.iter().map(|sum| sum[part]).sum::<u64>());
    let (ready, health) = (all.ready.all_ns(), &end.health);
    let hidden = health.inferred_switches + health.inconsistent_switches + health.missed_events;
    // The kernel reads its clock some time before the programs read theirs, at each switch. What is unknown of a CPU is in no group.
    let slack = unknown_ns(&end) + all.run_length.count() * SWITCH_NS;
    assert!(all.running_ns + slack >= ran, "{} of {ran}", all.running_ns);
    assert!(health.forgotten_waits > 0 || ready + slack >= queued, "{ready} of {queued}");
    // Threads of other tests that begin meanwhile only wait.
    let threads = tasks_before + tasks_after + Load::THREADS as u64;
    assert!(
        all.running_ns + ready <= end.elapsed_ns() * threads,
        "{threads} threads in {} ns: {all:?}",
        end.elapsed_ns()
    );
    assert_eq!(all.ready_latency.sum_ns, ready, "each wait is divided, nothing is left");
    assert!(all.ready_latency.count() <= all.wakeups + all.preemptions, "a wait begins with a waking or a preemption");
    // While a hidden task is current, a timer may wake each of the threads unseen.
    let unseen = hidden * Load::THREADS as u64 + health.forgotten_waits;
    assert!(all.wakeups + unseen >= waits, "{} of {waits}", all.wakeups);
    let most = waits_after - waits_before + threads + hidden;
    assert!(all.wakeups <= most, "{} of at most {most}", all.wakeups);
    assert!(all.ready.same_group_ns > 0, "threads were ready while others of the group ran: {:?}", all.ready);
}

/// Each of 240 names is that of a running process at least once, which is more than there are slots. A slot that did nothing at two readings
/// is used again.
#[test]
#[ignore = "needs root, BPF rights"]
fn more_groups_than_slots_are_others() {
    let _alone = alone();
    let options = WatchOptions { by: GroupBy::Process, max_groups: 1, top: 5, ..WatchOptions::default() };
    let mut watched = started(&options);
    let mut last = None;
    for round in 0..6 {
        for n in 0..40 {
            let n = round * 40 + n;
            named(&format!("cw-many-{n}"));
            wait_once();
        }
        last = Some(watched.read());
    }
    let last = last.unwrap();
    assert!(last.groups.len() <= 6, "{}", last.groups.len());
    assert!(last.health.groups_seen > last.health.groups_max, "slots are used again: {:?}", last.health);
    watched.finish();
}

/// Removes a cgroup. The kernel removes a thread that has ended from it a little later.
fn remove(cgroup: &Path) {
    let end = Instant::now() + HANGS;
    while let Err(why) = std::fs::remove_dir(cgroup) {
        assert!(Instant::now() < end, "{}: {why}", cgroup.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Cgroups that are gone at the next reading have the name that the kernel had of them; one that is made again goes on with its sums.
#[test]
#[ignore = "needs root, BPF rights"]
fn removed_cgroups_have_names_and_go_on_when_they_are_made_again() {
    let _alone = alone();
    let hierarchy = capture::cpu_hierarchy().or_else(capture::unified_hierarchy).unwrap();
    let mut watched = started(&WatchOptions { top: 1000, ..WatchOptions::default() });
    let folder = hierarchy.root.join("cw-removed");
    let run = |of: &Path| {
        std::fs::create_dir_all(of).unwrap();
        let mut child = std::process::Command::new("sh")
            // A thread's time belongs to its cgroup from its next switch-in on, so another one begins there.
            .args(["-c", "read go; sleep 0.01; true"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::write(of.join("cgroup.procs"), child.id().to_string()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        remove(of);
    };
    let sums = |snapshot: &Snapshot, name: &str| -> Vec<u64> {
        snapshot.groups.iter().filter(|group| group.name == name).map(|group| group.running_ns()).collect()
    };
    run(&folder.join("inner"));
    let first = watched.read();
    let before = sums(&first, "/cw-removed/inner");
    assert_eq!(before.len(), 1, "{:?}", first.groups.iter().map(|g| &g.name).collect::<Vec<_>>());
    run(&folder.join("inner"));
    let after = sums(&watched.read(), "/cw-removed/inner");
    assert!(after.len() == 1 && after[0] > before[0], "{before:?} {after:?}");
    remove(&folder);
    watched.finish();
}

/// Two threads that answer each other on CPUs 0 and 1, more often than they left these, run at the same time: else each answer would need a
/// switch. CPUs 0 and 1 are watched as a core of four hardware threads of which two do not exist; `cores.rs` compares its sums with those of a
/// core of two.
#[test]
#[ignore = "needs root, BPF rights, two CPUs"]
fn threads_that_answer_each_other_are_busy_at_the_same_time() {
    let _alone = alone();
    let mut machine = topology::live();
    for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.id.0 < 2) {
        cpu.siblings = (0..4).map(model::CpuId).collect();
    }
    let mut watched = Watched::start(&WatchOptions { by: GroupBy::None, ..WatchOptions::default() }, machine);
    // Even: the first one's turn.
    let (turn, left) = (&AtomicU64::new(0), &[AtomicU64::new(0), AtomicU64::new(0)]);
    let until = Instant::now() + HANGS;
    std::thread::scope(|scope| {
        for own in 0..2_u64 {
            scope.spawn(move || {
                bind(own as usize);
                let before: u64 = switches(libc::RUSAGE_THREAD).iter().sum();
                loop {
                    let now = turn.load(Ordering::Acquire);
                    if now == OVER {
                        return;
                    }
                    if now % 2 != own {
                        std::hint::spin_loop();
                        continue;
                    }
                    let switched: u64 = switches(libc::RUSAGE_THREAD).iter().sum();
                    left[own as usize].store(switched - before, Ordering::Release);
                    let all: u64 = left.iter().map(|left| left.load(Ordering::Acquire)).sum();
                    let (is_over, is_late) = (own == 0 && now > 2 * all + 1000, Instant::now() > until);
                    turn.store(if is_over || is_late { OVER } else { now + 1 }, Ordering::Release);
                    assert!(is_over || !is_late, "{now} answers, {all} switches");
                }
            });
        }
    });
    watched.read();
    let end = watched.finish();
    let (cpus, core) = (&end.cpus[..2], &end.cores()[0]);
    for cpu in cpus {
        assert_eq!(cpu.sibling.unknown_ns, 0);
        // What is unknown may be all the time in which they ran.
        assert!(cpu.sibling.busy_ns > 0 || end.health.inconsistent_switches > 0, "{cpu:?}");
    }
    assert_eq!(core.cpus, [0, 1, 2, 3]);
    assert!(core.several_busy_ns > 0 || end.health.inconsistent_switches > 0, "{core:?}");
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
