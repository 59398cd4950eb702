//! Counts of this machine's CPUs at every switch, compared with what threads count of themselves, with `/proc` and with the events of
//! whole CPUs.

use crate::support::{Over, Trace, alone, gettid, now, read, recorded_while, to_cpu, until};
use capture::{Backend, CounterPlan, CounterSet, RecordOptions};
use model::{CpuId, EventKind, Tid, WakeKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// An event that is recorded too.
const WAKINGS: &str = "wakings";
const EVENTS: [&str; 3] = ["msr/tsc/", "minor-faults", "major-faults"];

fn plan() -> CounterPlan {
    let machine = counters::Pmus::live();
    let asked = counters::parse(&EVENTS.join(",")).unwrap();
    let attr = |at: usize| counters::resolve(&asked[at].events[0], &machine).unwrap().on[0].attr.clone().unwrap();
    let cpus: Vec<CpuId> = topology::live().cpus.iter().map(|cpu| cpu.id).collect();
    let sets = (0..EVENTS.len())
        .map(|at| CounterSet { pmu: "msr".into(), cpus: cpus.clone(), events: vec![(at, attr(at))] })
        .collect();
    CounterPlan { events: EVENTS.map(String::from).to_vec(), sets, lacks: Vec::new() }
}

/// Opens an event of this thread on all CPUs, or (`cpu`) of a CPU.
fn open(attr: &counters::Attr, cpu: Option<i32>) -> File {
    // `struct perf_event_attr`, version 0 of its size.
    let mut bytes = [0u8; 64];
    bytes[..4].copy_from_slice(&attr.kind.to_ne_bytes());
    bytes[4..8].copy_from_slice(&64u32.to_ne_bytes());
    bytes[8..16].copy_from_slice(&attr.config.to_ne_bytes());
    let (pid, cpu) = cpu.map_or((0, -1), |cpu| (-1, cpu));
    // SAFETY: the attributes are as long as they say.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, bytes.as_ptr(), pid, cpu, -1, 8u64) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: fresh and ours.
    unsafe { File::from_raw_fd(fd as i32) }
}

fn value(event: &mut File) -> i64 {
    let mut word = [0; 8];
    event.read_exact(&mut word).unwrap();
    i64::from_ne_bytes(word)
}

/// Minor and major faults of a thread of this process since its creation.
fn faults(tid: i32) -> [i64; 2] {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    let words: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    [words[7], words[9]].map(|word| word.parse().unwrap())
}

/// What a thread counted of itself.
struct Own {
    tid: i32,
    tsc: i64,
    faults: [i64; 2],
}

/// Writes to 256 pages that the kernel has just mapped: an allocator might return pages that it has kept.
fn touch_new_memory() {
    let (length, private) = (1 << 20, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping at an address that the kernel chooses, written to inside its length and unmapped once.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, private, -1, 0);
        assert!(at != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        // Each page a fault of its own.
        libc::madvise(at, length, libc::MADV_NOHUGEPAGE);
        (0..length).step_by(4096).for_each(|offset| at.cast::<u8>().add(offset).write_volatile(1));
        libc::munmap(at, length);
    }
}

/// Runs for a while, with sleeps and page faults, alternately on two CPUs if there are. `over`: dropped by the last thread that is done.
fn work(cpus: &[usize], tsc: &counters::Attr, over: Arc<Over>, own_tid: &Sender<i32>, go: &Receiver<()>) -> Own {
    let tid = gettid();
    own_tid.send(tid).unwrap();
    // Before, so that the last reading needs no new memory.
    let _ = faults(tid);
    let mut own = open(tsc, None);
    let began = Instant::now();
    let mut hop = 0;
    while began.elapsed() < Duration::from_secs(2) {
        to_cpu(cpus[hop % cpus.len()]);
        hop += 1;
        touch_new_memory();
        let until = Instant::now() + Duration::from_millis(15);
        let mut n = 0u64;
        while Instant::now() < until {
            n = std::hint::black_box(n + 1);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let tsc = value(&mut own);
    let faults = faults(tid);
    let own = Own { tid, tsc, faults };
    drop(over);
    // The thread exists until the recording has ended, and does nothing more.
    let _ = go.recv();
    own
}

/// An event of a whole CPU, as this test reads it itself: the value, and the times before and after that.
struct Whole {
    event: File,
    first: (i64, [i64; 2]),
}

impl Whole {
    fn open(attr: &counters::Attr, cpu: i32) -> Self {
        let mut event = open(attr, Some(cpu));
        let first = Self::read(&mut event);
        Self { event, first }
    }

    fn read(event: &mut File) -> (i64, [i64; 2]) {
        let before = now().0;
        (value(event), [before, now().0])
    }

    /// What it counted a nanosecond since it was opened: at least and at most.
    fn rates(&mut self) -> [f64; 2] {
        let (last, [before, after]) = Self::read(&mut self.event);
        let (first, [opened, read]) = self.first;
        [after - opened, before - read].map(|ns| (last - first) as f64 / ns as f64)
    }
}

/// The times for which a CPU counted an event.
#[derive(Default)]
struct OfCpu {
    counted: i64,
    times: Vec<[i64; 2]>,
}

impl OfCpu {
    fn span(&self) -> [i64; 2] {
        [self.times.first().unwrap()[0], self.times.last().unwrap()[1]]
    }

    fn time(&self) -> i64 {
        self.times.iter().map(|[from, to]| to - from).sum()
    }

    /// The time between the first and the last reading that is in none.
    fn left_out(&self) -> i64 {
        self.span()[1] - self.span()[0] - self.time()
    }

    fn has(&self, at: i64) -> bool {
        let after = self.times.partition_point(|[_, to]| *to < at);
        self.times.get(after).is_some_and(|[from, _]| *from <= at)
    }
}

#[test]
#[ignore = "needs BPF rights, perf events, two CPUs"]
fn counts_are_those_of_the_threads_and_the_cpus() {
    compare(Backend::Bpf);
}

/// The kernel hides some switches of a virtual machine, which the BPF programs infer and this backend only counts: more is unknown.
#[test]
#[ignore = "needs perf events, two CPUs"]
fn counts_of_the_perf_backend_are_those_of_the_threads_and_the_cpus() {
    compare(Backend::Perf);
}

fn compare(backend: Backend) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut options = RecordOptions::new(folder.path().join("run.cw"));
    options.counters = plan();
    if backend == Backend::Perf {
        // An event of a group of its own.
        let id = std::fs::read_to_string("/sys/kernel/tracing/events/sched/sched_waking/id").unwrap();
        let attr = counters::Attr { kind: 2, config: id.trim().parse().unwrap(), ..counters::Attr::default() };
        options.counters.events.push(WAKINGS.into());
        let cpus = options.counters.sets[0].cpus.clone();
        options.counters.sets.push(CounterSet { pmu: "msr".into(), cpus, events: vec![(EVENTS.len(), attr)] });
    }
    options.backend = backend;
    let tsc = options.counters.sets[0].events[0].1;
    let cpus: Vec<u32> = topology::live().cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id.0).collect();
    let mut whole: Vec<Whole> = cpus.iter().map(|cpu| Whole::open(&tsc, cpu.cast_signed())).collect();
    // The recording lasts until all threads have done their work.
    let over = folder.path().join("over");
    options.target = until(&over);
    let mut over = Some(Arc::new(Over(over)));
    let (mut threads, mut senders, (own_tid, tids)) = (Vec::new(), Vec::new(), channel());
    let mut begun = || {
        // Called each second too.
        let Some(over) = over.take() else { return };
        for places in [vec![0], vec![1], vec![0, 1]] {
            let (sender, go) = channel();
            senders.push(sender);
            let (over, own_tid) = (Arc::clone(&over), own_tid.clone());
            threads.push(std::thread::spawn(move || work(&places, &tsc, over, &own_tid, &go)));
        }
    };
    recorded_while(&options, &mut begun);
    let rates: Vec<[f64; 2]> = whole.iter_mut().map(Whole::rates).collect();
    // Each has ended its work, and waits.
    let faults_at_end: BTreeMap<i32, [i64; 2]> = tids.try_iter().map(|tid| (tid, faults(tid))).collect();
    drop(senders);
    let own: Vec<Own> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let trace = read(&options.dir);
    check(backend, &trace, &cpus, &rates, &own, &faults_at_end);
}

fn check(
    backend: Backend,
    trace: &Trace,
    cpus: &[u32],
    rates: &[[f64; 2]],
    own: &[Own],
    faults_at_end: &BTreeMap<i32, [i64; 2]>,
) {
    let mut of_threads = BTreeMap::<(i32, &str), i64>::new();
    let mut of_cpus = BTreeMap::<(u32, &str), OfCpu>::new();
    let mut stretches = BTreeMap::<i32, f64>::new();
    for e in &trace.events {
        let EventKind::Count { tid, event, length, count, running } = e.what else { continue };
        assert!(running == length && count >= 0, "{e:?}");
        let name = &*trace.names[event.0 as usize - 1];
        *of_threads.entry((tid.0, name)).or_default() += count;
        *stretches.entry(tid.0).or_default() += f64::from(u8::from(name == EVENTS[0]));
        let cpu = of_cpus.entry((e.cpu.0, name)).or_default();
        cpu.counted += count;
        cpu.times.push([(e.at - length).0, e.at.0]);
    }
    for ((cpu, name), of) in &mut of_cpus {
        of.times.sort_unstable();
        // No time is in it twice. A reading is left out only where much time passed between its two clocks.
        let twice = of.times.windows(2).find(|two| two[0][1] > two[1][0]);
        assert!(twice.is_none(), "CPU {cpu}, {name}: {twice:?}");
        assert!(of.left_out() * 10 < of.time(), "CPU {cpu}, {name}: {} of {}", of.left_out(), of.time());
    }
    let unknown = of_threads.get(&(Tid::UNKNOWN.0, EVENTS[0])).copied().unwrap_or(0);
    let all: i64 = cpus.iter().map(|cpu| of_cpus[&(*cpu, EVENTS[0])].counted).sum();
    // A switch to a hidden task makes all unknown from the switch before to the one after it.
    eprintln!("{backend:?}: {:.2} % of the counts are of unknown threads", 100.0 * unknown as f64 / all as f64);
    if backend == Backend::Perf {
        for cpu in cpus {
            let counted = &of_cpus[&(*cpu, WAKINGS)];
            let is_one = |e: &&model::Event| {
                e.cpu.0 == *cpu
                    && matches!(e.what, EventKind::Wake(w) if w.kind == WakeKind::Waking)
                    && counted.has(e.at.0)
            };
            let recorded = trace.events.iter().filter(is_one).count() as i64;
            eprintln!("CPU {cpu}: {} wakings counted, {recorded} recorded in this time", counted.counted);
            // More may be counted than is delivered. The clock of a reading and its value are some wakings apart, at the begin and at the end.
            assert!(counted.counted + 10 >= recorded, "CPU {cpu}: {} of {recorded}", counted.counted);
        }
    }
    let left_out: i64 = cpus.iter().map(|cpu| of_cpus[&(*cpu, EVENTS[0])].left_out()).sum();
    let rate = rates.iter().map(|[_, most]| *most).fold(0.0, f64::max);
    for Own { tid, tsc, faults } in own {
        let counted = EVENTS.map(|event| of_threads.get(&(*tid, event)).copied().unwrap_or(0));
        let (more, stretches) = ((counted[0] - tsc) as f64, stretches[tid]);
        eprintln!(
            "thread {tid}: tsc {} of {tsc} ({:+.4} %, {:.2} us for each of {stretches} readings), faults {:?} of {faults:?}",
            counted[0],
            100.0 * more / *tsc as f64,
            more / rate / stretches / 1e3,
            &counted[1..]
        );
        for (at, own) in faults.iter().enumerate() {
            let unknown = of_threads.get(&(Tid::UNKNOWN.0, EVENTS[1 + at])).copied().unwrap_or(0);
            // After its last reading, it waits for the end of the recording, and may touch pages for that.
            let most = faults_at_end[tid][at];
            assert!((own - unknown..=most).contains(&counted[1 + at]), "{} of thread {tid}", EVENTS[1 + at]);
        }
        assert!(faults[0] > 100, "this test makes page faults");
        // The kernel stops a thread's own events before it switches, and starts them after that; a virtual machine may stall meanwhile.
        let in_switches = 50e3 * stretches * rate;
        let missing = unknown as f64 + left_out as f64 * rate;
        let (low, high) = (-0.001 * *tsc as f64 - missing, 0.001 * *tsc as f64 + in_switches);
        assert!((low..high).contains(&more), "thread {tid}: {more}");
    }
    for (cpu, [least, most]) in cpus.iter().zip(rates) {
        let of = &of_cpus[&(*cpu, EVENTS[0])];
        let counted = of.counted as f64 / of.time() as f64;
        eprintln!(
            "CPU {cpu}: {} in {} ns of {:?}: {counted:.4} a ns, {least:.4} to {most:.4} expected",
            of.counted,
            of.time(),
            of.span()
        );
        assert!(counted > 0.999 * least && counted < 1.001 * most, "CPU {cpu}: {counted}");
    }
}
