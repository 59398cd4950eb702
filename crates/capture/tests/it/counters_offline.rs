//! Counts while a CPU goes offline and comes back. This changes the machine, so the tests are ignored unless they are requested.

use crate::support::{alone, fresh_memory, read, recorded_while};
use capture::{Backend, CounterPlan, CounterSet, RecordOptions};
use model::EventKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";
const EVENTS: [&str; 2] = ["msr/tsc/", "minor-faults"];
/// How long after it has come back its events are open: the BPF backend looks ten times a second, the perf backend forty times.
const REOPENED: Duration = Duration::from_millis(400);

/// A guard that keeps CPU 1 offline until it is dropped.
struct Offline;

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = std::fs::write(ONLINE, "1");
    }
}

/// The trace's clock, ns.
fn monotonic() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(target_arch = "x86_64")]
fn tsc() -> u64 {
    // SAFETY: every x86-64 has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc() -> u64 {
    panic!("msr/tsc/ is an event of x86-64")
}

/// Page faults of the whole machine since boot.
fn faults() -> i64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap();
    text.lines().find_map(|line| line.strip_prefix("pgfault ")).unwrap().parse().unwrap()
}

fn plan() -> CounterPlan {
    let machine = counters::Pmus::live();
    let asked = counters::parse(&EVENTS.join(",")).unwrap();
    let attr = |at: usize| counters::resolve(&asked[at].events[0], &machine).unwrap().on[0].attr.clone().unwrap();
    let cpus: Vec<_> = topology::live().cpus.iter().map(|cpu| cpu.id).collect();
    let sets = (0..EVENTS.len())
        .map(|at| CounterSet { pmu: "msr".into(), cpus: cpus.clone(), events: vec![(at, attr(at))] })
        .collect();
    CounterPlan { events: EVENTS.map(String::from).to_vec(), sets, lacks: Vec::new() }
}

/// Runs with page faults.
fn work(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let mut memory = vec![0u8; 1 << 20];
        memory.iter_mut().step_by(4096).for_each(|byte| *byte = std::hint::black_box(1));
        let until = Instant::now() + Duration::from_millis(10);
        while Instant::now() < until {
            std::hint::black_box(&memory);
        }
    }
}

/// What is known of the counts of a CPU.
#[derive(Default)]
struct OfCpu {
    counted: i64,
    time: i64,
    offline: i64,
    after: i64,
    last: i64,
}

fn a_cpu_goes_and_comes_back(backend: Backend) {
    let _alone = alone();
    fresh_memory();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.duration = Some(Duration::from_millis(2800));
    options.counters = plan();
    options.backend = backend;
    let over = AtomicBool::new(false);
    let (sender, begun) = std::sync::mpsc::channel();
    let before = (Instant::now(), tsc(), faults());
    let (recorded, (off, on)) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(|| work(&over))).collect();
        let switcher = scope.spawn(move || {
            begun.recv().unwrap();
            std::thread::sleep(Duration::from_millis(600));
            std::fs::write(ONLINE, "0").unwrap();
            let guard = Offline;
            let off = monotonic();
            std::thread::sleep(Duration::from_millis(300));
            let on = monotonic();
            drop(guard);
            assert_eq!(std::fs::read_to_string(ONLINE).unwrap().trim(), "1");
            (off, on)
        });
        let recorded = recorded_while(&options, &mut || {
            let _ = sender.send(());
        });
        over.store(true, Ordering::Relaxed);
        let times = switcher.join().unwrap();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        (recorded, times)
    });
    let all_faults = faults() - before.2;
    let rate = (tsc() - before.1) as f64 / before.0.elapsed().as_nanos() as f64;
    let trace = read(&options.dir);
    let (mut cpus, mut counted_faults) = ([OfCpu::default(), OfCpu::default()], 0);
    let (mut begin, mut end, mut worst) = (i64::MAX, 0, 0.0f64);
    for e in &trace.events {
        let EventKind::Count { event, length, count, running, .. } = e.what else { continue };
        assert!(count >= 0 && running == length, "{e:?}");
        if &*trace.names[event.0 as usize - 1] != EVENTS[0] {
            counted_faults += count;
            continue;
        }
        let cpu = &mut cpus[e.cpu.0 as usize];
        let (from, to) = ((e.at - length).0, e.at.0);
        assert!(from >= cpu.last, "two counts of the same time: {e:?}");
        let within = |a: i64, b: i64| (to.min(b) - from.max(a)).max(0);
        cpu.counted += count;
        cpu.time += length.0;
        cpu.offline += within(off, on);
        cpu.after += within(on + REOPENED.as_nanos() as i64, i64::MAX);
        cpu.last = to;
        (begin, end) = (begin.min(from), end.max(to));
        if length.0 > 50_000_000 {
            worst = worst.max((count as f64 / (length.0 as f64 * rate) - 1.0).abs());
        }
    }
    let named: Vec<&String> = recorded.lacks.iter().filter(|why| why.contains("CPU 1 came online")).collect();
    for (n, cpu) in cpus.iter().enumerate() {
        eprintln!(
            "{backend:?}: CPU {n}: {} in {} ns of {}, {:+.5} % of the rate {rate:.4} a ns; {} ns of {} offline; {} ns of {} after it",
            cpu.counted,
            cpu.time,
            end - begin,
            100.0 * (cpu.counted as f64 / (cpu.time as f64 * rate) - 1.0),
            cpu.offline,
            on - off,
            cpu.after,
            end - on - REOPENED.as_nanos() as i64,
        );
    }
    eprintln!(
        "{backend:?}: worst long stretch {:.4} %, {counted_faults} minor faults of {all_faults}; {named:?}",
        worst * 100.0
    );
    for cpu in &cpus {
        assert!((cpu.counted as f64 / (cpu.time as f64 * rate) - 1.0).abs() < 0.001);
    }
    assert!(worst < 0.001, "{worst}");
    assert!(counted_faults > 0 && counted_faults <= all_faults);
    // Nothing counts on an offline CPU, and nothing is said about it.
    assert_eq!(cpus[1].offline, 0);
    assert!(cpus[1].time <= end - begin - (on - off) && cpus[0].time as f64 > 0.995 * (end - begin) as f64);
    // Its events are open again.
    assert!(cpus[1].after as f64 > 0.98 * (end - on - REOPENED.as_nanos() as i64) as f64);
    assert!(!named.is_empty(), "{:?}", recorded.lacks);
}

#[test]
#[ignore = "needs BPF rights, two CPUs, COREWISE_TEST_OFFLINE"]
fn counts_follow_a_cpu_that_comes_back() {
    a_cpu_goes_and_comes_back(Backend::Bpf);
}

#[test]
#[ignore = "needs perf events, two CPUs, COREWISE_TEST_OFFLINE"]
fn counts_of_the_perf_backend_follow_a_cpu_that_comes_back() {
    a_cpu_goes_and_comes_back(Backend::Perf);
}
