//! Measures how fast a trace folder is written, and the bytes per row: `write_speed [events] [pipe|messaging]`.
//!
//! A small simulation of threads that wake each other on a few CPUs creates the events and stretches beforehand, so that only the
//! writing is measured.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use model::{
    CpuId, CpuState, CpuStretch, Event, EventKind, MaybeNs, NameId, Ns, Prio, Reason, Span, Switch, SwitchOut,
    ThreadKey, ThreadState, ThreadStretch, Tid, Wake, WakeKind,
};
use std::collections::VecDeque;
use std::time::Instant;

struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n.max(1)
    }
}

#[derive(Default)]
struct Simulated {
    events: Vec<Event>,
    threads: Vec<ThreadStretch>,
    cpus: Vec<CpuStretch>,
}

struct Thread {
    since: i64,
    state: ThreadState,
    reason: Reason,
    cpu: u32,
    exec: i64,
    waker: i64,
}

const CPUS: usize = 2;

fn simulate(wanted: usize, threads: usize, step: (u64, u64), imported: bool) -> Simulated {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let mut simulated = Simulated::default();
    let mut all: Vec<Thread> = (0..threads)
        .map(|i| Thread {
            since: 0,
            state: ThreadState::Blocked,
            reason: Reason::State(b'S'),
            cpu: (i % CPUS) as u32,
            exec: 1_000_000 * i as i64,
            waker: 0,
        })
        .collect();
    let mut current = [None::<usize>; CPUS];
    let mut since = [0i64; CPUS];
    let mut ready: [VecDeque<usize>; CPUS] = Default::default();
    let mut offsets = [4096u64, 1 << 20];
    let mut now = 0i64;
    let tid = |t: Option<usize>| t.map_or(Tid::IDLE, |t| Tid(100_000 + 3 * t as i32));
    while simulated.events.len() < wanted {
        now += (step.0 + rng.below(step.1)) as i64;
        let cpu = rng.below(CPUS as u64) as usize;
        let at = Ns(now);
        let id = CpuId(cpu as u32);
        let push = |simulated: &mut Simulated, offsets: &mut [u64; 2], what| {
            offsets[cpu] += if matches!(what, EventKind::Switch(_)) { 112 } else { 88 };
            if offsets[cpu] % (1 << 20) < 112 {
                offsets[cpu] += 1 << 20;
            }
            simulated.events.push(Event {
                at,
                offset: if imported { offsets[cpu] } else { 0 },
                cpu: id,
                current: Tid::UNKNOWN,
                what,
            });
        };
        let close = |simulated: &mut Simulated, all: &mut Vec<Thread>, t: usize, state, reason, on: u32| {
            let th = &mut all[t];
            let start = th.since;
            let running = th.state == ThreadState::Running;
            simulated.threads.push(ThreadStretch {
                span: Span { start: Ns(start), end: at },
                thread: ThreadKey(t as i64 + 1),
                tid: tid(Some(t)),
                state: th.state,
                reason: th.reason,
                cpu: Some(CpuId(th.cpu)),
                waker_thread: if th.state == ThreadState::Ready { ThreadKey(th.waker) } else { ThreadKey::UNKNOWN },
                exec: running.then(|| Ns(now - start - 37)).into(),
                prio: Prio::new(120),
            });
            if running {
                th.exec += now - start - 37;
            }
            (th.since, th.state, th.reason, th.cpu) = (now, state, reason, on);
        };
        // The running thread wakes a sleeping one, and then usually sleeps itself.
        let wakes = current[cpu].is_some() && rng.below(2) == 0 || current.iter().all(Option::is_none);
        let sleeper =
            (0..8).map(|_| rng.below(threads as u64) as usize).find(|t| all[*t].state == ThreadState::Blocked);
        if let Some(t) = sleeper.filter(|_| wakes) {
            let waker = tid(current[cpu]);
            let wake = |kind, target| {
                let (name, prio) = (NameId(t as u32 + 1), Prio::new(120));
                EventKind::Wake(Wake { tid: tid(Some(t)), name, kind, target, waker, prio, stamp: at })
            };
            let target = all[t].cpu;
            push(&mut simulated, &mut offsets, wake(WakeKind::Waking, Some(CpuId(target))));
            all[t].waker = current[cpu].map_or(0, |w| w as i64 + 1);
            let waker = all[t].waker;
            close(&mut simulated, &mut all, t, ThreadState::Ready, Reason::Woken, target);
            all[t].waker = waker;
            ready[target as usize].push_back(t);
            continue;
        }
        let next = ready[cpu].pop_front();
        let prev = current[cpu];
        if prev.is_none() && next.is_none() {
            continue;
        }
        let preempted = rng.below(10) == 0 && prev.is_some() && next.is_some();
        let exec = prev.map(|t| Ns(all[t].exec + now - all[t].since - 37)).into();
        let name = |t: Option<usize>| NameId(t.map_or(0, |t| t as u32 + 1));
        let out = if preempted || prev.is_none() { SwitchOut::Preempted } else { SwitchOut::Blocked };
        push(
            &mut simulated,
            &mut offsets,
            EventKind::Switch(Switch {
                prev: tid(prev),
                next: tid(next),
                prev_name: name(prev),
                next_name: name(next),
                stack: model::StackId::NONE,
                prev_state: if out == SwitchOut::Blocked { 1 } else { 0x100 },
                prev_prio: Prio::new(120),
                next_prio: Prio::new(120),
                out,
                state_letter: if out == SwitchOut::Blocked { b'S' } else { b'R' },
                prev_exec: if imported { MaybeNs::NONE } else { exec },
            }),
        );
        if let Some(t) = prev {
            if preempted {
                close(&mut simulated, &mut all, t, ThreadState::Ready, Reason::Preempted, cpu as u32);
                ready[cpu].push_back(t);
            } else {
                close(&mut simulated, &mut all, t, ThreadState::Blocked, Reason::State(b'S'), cpu as u32);
            }
        }
        simulated.cpus.push(CpuStretch {
            span: Span { start: Ns(since[cpu]), end: at },
            cpu: id,
            state: if prev.is_some() { CpuState::Busy } else { CpuState::Idle },
            thread: ThreadKey(prev.map_or(0, |t| t as i64 + 1)),
        });
        since[cpu] = now;
        if let Some(t) = next {
            close(&mut simulated, &mut all, t, ThreadState::Running, Reason::None, cpu as u32);
        }
        current[cpu] = next;
    }
    simulated.threads.sort_by_key(|s| s.span.start);
    simulated.cpus.sort_by_key(|s| s.span.start);
    simulated
}

/// Returns the CPU time of this process in seconds.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = text.rsplit_once(')').unwrap().1;
    let ticks: u64 = after.split_whitespace().skip(11).take(2).map(|t| t.parse::<u64>().unwrap()).sum();
    ticks as f64 / 100.0
}

/// Measures reading everything back, and the checksum of the largest file.
fn read_back(target: &std::path::Path) {
    let time = |what: &str, run: &mut dyn FnMut() -> i64| {
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let n = run();
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        println!("{what}: {n} in {wall:.2} s, {cpu:.2} CPU-s");
    };
    let folder = store::Folder::open(target).unwrap();
    let mut n = 0;
    time("reading events", &mut || {
        folder
            .events(|e, _| {
                n += e.len() as i64;
                Ok::<_, store::Error>(())
            })
            .unwrap();
        n
    });
    n = 0;
    time("reading stretches of threads", &mut || {
        folder
            .thread_stretches(None, |s| {
                n += s.len() as i64;
                Ok::<_, store::Error>(())
            })
            .unwrap();
        n
    });
    time("checksum of bytes", &mut || {
        let mut checksum = store::Checksum::default();
        let mut file = std::fs::File::open(target.join("states/thread.parquet")).unwrap();
        checksum.read(&mut file, || true).unwrap();
        checksum.finish().bytes
    });
}

fn main() {
    let mut args = std::env::args().skip(1);
    let wanted = args.next().map_or(4_000_000, |n| n.parse().expect("a number of events"));
    let kind = args.next().unwrap_or_else(|| "messaging".into());
    let simulated = match kind.as_str() {
        "pipe" => simulate(wanted, 3, (700, 900), false),
        _ => simulate(wanted, 400, (200, 2500), true),
    };
    let imported = kind != "pipe";
    let names: Vec<Box<str>> = (0..400).map(|i| format!("thread-{i}").into()).collect();
    let target = std::env::temp_dir().join(format!("corewise-write-speed-{}.cw", std::process::id()));
    let machine = topology::Machine::default();
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let mut folder = store::FolderWriter::create(
        &target,
        safefs::Access::Private,
        store::WriterOptions { machine: &machine, sources: usize::from(imported) },
    )
    .unwrap();
    folder.names(&names).unwrap();
    let chunks = simulated.events.len().div_ceil(4096);
    let part = |i: usize, len: usize| (i * len / chunks)..((i + 1) * len / chunks);
    let mut events = Vec::new();
    for i in 0..chunks {
        events.extend_from_slice(&simulated.events[part(i, simulated.events.len())]);
        folder.events(&mut events).unwrap();
        folder.thread_stretches(&mut simulated.threads[part(i, simulated.threads.len())].to_vec()).unwrap();
        folder.cpu_stretches(&simulated.cpus[part(i, simulated.cpus.len())]).unwrap();
    }
    let manifest = folder.finish(store::Manifest::new(-42, ingest::Facts::default())).unwrap();
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let rows: i64 = manifest.files.values().map(|f| f.rows).sum();
    let bytes: i64 = manifest.files.values().map(|f| f.bytes).sum();
    for (name, f) in &manifest.files {
        println!(
            "{name:32} {:9} rows {:10} bytes {:6.2} bytes/row",
            f.rows,
            f.bytes,
            f.bytes as f64 / f.rows.max(1) as f64
        );
    }
    println!(
        "{kind}: {} events, {rows} rows: {wall:.2} s, {cpu:.2} CPU-s, {:.1} million rows/s, {:.2} bytes/event",
        simulated.events.len(),
        rows as f64 / cpu / 1e6,
        bytes as f64 / simulated.events.len() as f64
    );
    read_back(&target);
    if std::env::var_os("KEEP").is_some() {
        println!("kept {}", target.display());
    } else {
        std::fs::remove_dir_all(&target).unwrap();
    }
}
