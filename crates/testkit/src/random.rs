//! Random traces: of a simulated scheduler, of the same with events missing, and of no scheduler at all.

use model::{
    Batch, CpuId, Event, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, Prio, Seen, SeenState, StackId, Switch,
    SwitchOut, Tid, Wake, WakeKind, What,
};
use std::collections::BTreeMap;

/// A small generator of numbers (splitmix64): the same seed gives the same trace on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.any() % n.max(1) as u64) as usize
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }

    /// Once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// How a random trace relates to a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Everything that happened was recorded.
    Whole,
    /// Some events are missing.
    Deleted,
    /// Events that make no sense, in no order.
    Garbage,
}

/// A random trace to be.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// How it relates to a scheduler.
    pub mode: Mode,
    /// Which one.
    pub seed: u64,
    /// How much happens.
    pub steps: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    Running(usize),
    Ready,
    Blocked,
    Gone,
}

struct Scheduler {
    rng: Rng,
    now: i64,
    cpus: Vec<i32>,
    threads: Vec<Is>,
    /// Woken while running: its next sleep is none.
    early: Vec<bool>,
    wakes: Wakes,
    events: Vec<Event>,
}

/// Which wake events the recording has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wakes {
    Both,
    Wakeups,
    None,
}

impl Random {
    /// Everything that a scheduler did, each time of each CPU named by at least one event; and the same without some of the
    /// switches.
    #[must_use]
    pub fn named(&self) -> (Batch, Batch) {
        let mut rng = Rng(self.seed);
        let all = named(scheduled(&mut rng, self.steps), &mut rng);
        let rarity = 2 + rng.below(8);
        let left = all.iter().copied().filter(|e| !matches!(e.what, What::Switch(_)) || !rng.one_in(rarity));
        let batch = |events| Batch { events, names: names(), stacks: Vec::new(), ..Batch::default() };
        let left = batch(left.collect());
        (batch(all), left)
    }

    /// Its events and names. But for [`Mode::Garbage`], each CPU's events are in order of time; across CPUs they are not.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let mut rng = Rng(self.seed);
        let mut events = match self.mode {
            Mode::Garbage => (0..self.steps).map(|_| garbage(&mut rng)).collect(),
            _ => scheduled(&mut rng, self.steps),
        };
        if self.mode == Mode::Deleted {
            let rarity = 2 + rng.below(30);
            events.retain(|_| !rng.one_in(rarity));
        }
        if self.mode != Mode::Garbage {
            events = mixed(events, &mut rng);
        }
        for (offset, event) in (0..).zip(&mut events) {
            event.offset = offset;
        }
        Batch { events, names: names(), stacks: Vec::new(), ..Batch::default() }
    }
}

/// Puts an event between any two switches of a CPU, and before its first and behind its last: at its begin or end, or
/// between.
fn named(events: Vec<Event>, rng: &mut Rng) -> Vec<Event> {
    let (begin, end) = (events.first().map_or(Ns::ZERO, |e| e.at), events.last().map_or(Ns::ZERO, |e| e.at));
    let mut of_cpu: BTreeMap<CpuId, (Ns, Tid)> = BTreeMap::new();
    let mut out = Vec::new();
    let mut name = |cpu, from: Ns, to: Ns, current, out: &mut Vec<Event>| {
        let at = Ns([from.0, to.0, from.0 + (to.0 - from.0) / 2][rng.below(3)]);
        out.push(Event { at, offset: 0, cpu, current, what: What::Sample });
    };
    for event in events {
        if let What::Switch(switch) = event.what {
            let (from, current) = of_cpu.insert(event.cpu, (event.at, switch.next)).unwrap_or((begin, switch.prev));
            name(event.cpu, from, event.at, current, &mut out);
        }
        out.push(event);
    }
    for (cpu, (from, current)) in of_cpu {
        name(cpu, from, end, current, &mut out);
    }
    // What names stands before the switch that it was made for, and was pushed before it; one at the begin of its time was
    // pushed after the switch there.
    out.sort_by_key(|e| e.at);
    for (offset, event) in (0..).zip(&mut out) {
        event.offset = offset;
    }
    out
}

/// Buffers are read CPU by CPU: the order on each stays.
fn mixed(events: Vec<Event>, rng: &mut Rng) -> Vec<Event> {
    let mut of_cpu: Vec<Vec<Event>> = vec![Vec::new(); 8];
    for event in events.into_iter().rev() {
        of_cpu[event.cpu.0 as usize].push(event);
    }
    let mut out = Vec::new();
    while of_cpu.iter().any(|q| !q.is_empty()) {
        let cpu = rng.below(8);
        for _ in 0..rng.below(20) {
            out.extend(of_cpu[cpu].pop());
        }
    }
    out
}

fn scheduled(rng: &mut Rng, steps: usize) -> Vec<Event> {
    let (cpus, threads) = (1 + rng.below(5), 1 + rng.below(10));
    let wakes = rng.pick(&[Wakes::Both, Wakes::Both, Wakes::Wakeups, Wakes::None]).unwrap_or(Wakes::Both);
    let states = [Is::Ready, Is::Blocked, Is::Gone];
    let mut s = Scheduler {
        now: rng.below(3) as i64,
        cpus: vec![0; cpus],
        threads: (0..threads).map(|_| states[rng.below(3)]).collect(),
        early: vec![false; threads],
        rng: *rng,
        wakes,
        events: Vec::new(),
    };
    for _ in 0..steps {
        s.now += [0, 0, 0, 1, 1, 7, 1000, 50_000, 3_000_000][s.rng.below(9)];
        s.step();
    }
    *rng = s.rng;
    s.events
}

impl Scheduler {
    fn step(&mut self) {
        let thread = self.rng.below(self.threads.len());
        match (self.rng.below(10), self.threads[thread]) {
            (0..=2, Is::Blocked) => {
                self.threads[thread] = Is::Ready;
                self.wake(thread, WakeKind::Waking);
            }
            (0..=1, Is::Running(_)) => {
                self.early[thread] = true;
                self.wake(thread, WakeKind::Waking);
            }
            (0, Is::Ready) if self.rng.one_in(2) => self.wake(thread, WakeKind::Waking),
            (0..=2, Is::Gone) => {
                self.threads[thread] = Is::Ready;
                self.wake(thread, WakeKind::New);
            }
            (3, Is::Ready) => {
                let (from, to) = (self.any_cpu(), self.any_cpu());
                self.push(from, What::Migrate { tid: number(thread), from: CpuId(from as u32), to: CpuId(to as u32) });
            }
            (5, _) if self.rng.one_in(2) => {
                // Told of any number, on any CPU: of those that are gone, it is their next life's.
                let (cpu, cpus) = (self.any_cpu(), list(&mut self.rng));
                self.push(cpu, What::Affinity { tid: number(thread), cpus });
            }
            (6, _) if self.rng.one_in(2) => {
                // The first tells that throttling is told.
                let tid = if self.rng.one_in(8) { None } else { Some(number(thread)) };
                let (cpu, begins) = (self.any_cpu(), tid.is_some() && self.rng.one_in(2));
                self.push(cpu, What::Throttle { tid, begins });
            }
            (4, _) if self.rng.one_in(4) => {
                let cpu = self.any_cpu();
                self.push(cpu, What::Sample);
            }
            _ => self.switch(),
        }
    }

    fn any_cpu(&mut self) -> usize {
        self.rng.below(self.cpus.len())
    }

    fn push(&mut self, cpu: usize, what: What) {
        // Of a switch, it is the one that leaves.
        let current = if let What::Switch(switch) = what { switch.prev } else { Tid(self.cpus[cpu]) };
        self.events.push(Event { at: Ns(self.now), offset: 0, cpu: CpuId(cpu as u32), current, what });
    }

    fn wake(&mut self, thread: usize, kind: WakeKind) {
        let (cpu, target) = (self.any_cpu(), self.any_cpu());
        let waker = Tid(self.cpus[cpu]);
        let wake = |kind, now| Wake { waker, ..wake(number(thread), kind, Some(CpuId(target as u32)), now) };
        if kind == WakeKind::New || self.wakes == Wakes::Both {
            self.push(cpu, What::Wake(wake(kind, self.now)));
        }
        if kind == WakeKind::Waking && self.wakes != Wakes::None {
            self.now += self.rng.below(2) as i64;
            let on = if self.rng.one_in(2) { cpu } else { target };
            self.push(on, What::Wake(wake(WakeKind::Wakeup, self.now)));
        }
    }

    fn switch(&mut self) {
        let cpu = self.any_cpu();
        let prev = self.cpus[cpu];
        let ready: Vec<usize> = (0..self.threads.len()).filter(|t| self.threads[*t] == Is::Ready).collect();
        let next = self.rng.pick(&ready).filter(|_| prev == 0 || !self.rng.one_in(3));
        let next_tid = next.map_or(0, |t| number(t).0);
        if prev == next_tid {
            return;
        }
        let mut out = SwitchOut::Runnable;
        if prev > 0 {
            let thread = prev as usize - 1;
            let choice = self.rng.below(8);
            (out, self.threads[thread]) = match choice {
                0..=1 if next.is_some() => (SwitchOut::Preempted, Is::Ready),
                2 if next.is_some() => (self.rng.pick(&LEFT).unwrap_or(SwitchOut::Runnable), Is::Ready),
                3 if self.rng.one_in(2) => (SwitchOut::Exited, Is::Gone),
                _ if self.early[thread] => (SwitchOut::Blocked, Is::Ready),
                _ => (SwitchOut::Blocked, Is::Blocked),
            };
            self.early[thread] = false;
        }
        if let Some(thread) = next {
            self.threads[thread] = Is::Running(cpu);
        }
        self.cpus[cpu] = next_tid;
        self.push(cpu, What::Switch(switch(Tid(prev), Tid(next_tid), out)));
    }
}

/// Of a thread that leaves and can still run, without the kernel's mark of a preemption.
const LEFT: [SwitchOut; 5] =
    [SwitchOut::Runnable, SwitchOut::PreemptedToUser, SwitchOut::Yielded, SwitchOut::Throttled, SwitchOut::GaveWay];

fn number(thread: usize) -> Tid {
    Tid(thread as i32 + 1)
}

/// Of CPUs. Some name none that a trace has, one is no list.
const LISTS: [&str; 8] = ["0", "1", "0-1", "0,2-3", "3-7", "0-4095", "4000", "all"];

/// Those of threads, and the lists.
fn names() -> Vec<Box<str>> {
    (1..=32).map(|n| format!("thread {n}").into()).chain(LISTS.map(Into::into)).collect()
}

fn list(rng: &mut Rng) -> NameId {
    if rng.one_in(9) { NameId::NONE } else { NameId(33 + rng.below(LISTS.len()) as u32) }
}

fn name(tid: Tid) -> NameId {
    NameId(u32::try_from(tid.0).unwrap_or(0).min(32))
}

fn wake(tid: Tid, kind: WakeKind, target: Option<CpuId>, now: i64) -> Wake {
    Wake { tid, name: name(tid), kind, target, waker: Tid::UNKNOWN, prio: Prio::new(120), stamp: Ns(now) }
}

fn switch(prev: Tid, next: Tid, out: SwitchOut) -> Switch {
    let letter = match out {
        SwitchOut::Blocked => b'S',
        SwitchOut::Exited => b'X',
        SwitchOut::Untold => b'?',
        _ => b'R',
    };
    Switch {
        prev,
        next,
        prev_name: name(prev),
        next_name: name(next),
        stack: StackId::NONE,
        prev_state: 0,
        prev_prio: prio(prev, out),
        next_prio: prio(next, out),
        out,
        letter,
        prev_exec: MaybeNs::NONE,
    }
}

/// Threads have priorities of their own, and come in at others than they leave with.
fn prio(tid: Tid, out: SwitchOut) -> Prio {
    Prio::new(100 + (tid.0.rem_euclid(3) as i16) * 10 + out as i16)
}

fn garbage(rng: &mut Rng) -> Event {
    let tid = |rng: &mut Rng| Tid([-1, 0, 0, 1, 2, 3, 4, 5, i32::MAX, i32::MIN][rng.below(10)]);
    let cpu = |rng: &mut Rng| {
        let odd = if rng.one_in(9) { 8 } else { 5 };
        CpuId([0, 0, 1, 2, 3, 4000, 70_000, u32::MAX][rng.below(odd)])
    };
    let time = |rng: &mut Rng| match rng.below(60) {
        0 => i64::MAX - rng.below(2) as i64,
        1 => i64::MIN + rng.below(2) as i64,
        2 => rng.any() as i64,
        3..9 => -(rng.below(1000) as i64),
        _ => rng.below(1_000) as i64,
    };
    let outs = [SwitchOut::Runnable, SwitchOut::Preempted, SwitchOut::Blocked, SwitchOut::Exited, SwitchOut::Untold];
    let kinds = [WakeKind::Waking, WakeKind::Wakeup, WakeKind::New, WakeKind::WakeupTold];
    let states = [SeenState::Running, SeenState::Ready, SeenState::Blocked, SeenState::Exited];
    let at = time(rng);
    let what = match rng.below(18) {
        0..=5 => {
            let (prev, next, out) = (tid(rng), tid(rng), outs[rng.below(5)]);
            let mut switch = switch(prev, next, out);
            if rng.one_in(3) {
                switch.prev_exec = MaybeNs::new(Ns(time(rng)));
            }
            What::Switch(switch)
        }
        6..=8 => What::Wake(wake(tid(rng), kinds[rng.below(4)], Some(cpu(rng)), time(rng))),
        9 => What::Seen(Seen {
            tid: tid(rng),
            pid: Pid(1),
            name: NameId(rng.below(40) as u32),
            state: states[rng.below(4)],
            letter: b'S',
            cpu: cpu(rng),
            exec: MaybeNs::new(Ns(time(rng))),
        }),
        10 => What::Current { tid: tid(rng) },
        11 => What::Charge { tid: tid(rng), ns: Ns(time(rng)) },
        12 => What::Loss(LossSpan {
            from: MaybeNs::new(Ns(time(rng))),
            to: MaybeNs::new(Ns(time(rng))),
            cpu: rng.one_in(2).then(|| cpu(rng)),
            events: MaybeCount::UNKNOWN,
        }),
        13 => What::Name { tid: tid(rng), pid: Pid(7), name: NameId(rng.below(40) as u32) },
        14 => What::Migrate { tid: tid(rng), from: cpu(rng), to: cpu(rng) },
        15 => What::Affinity { tid: tid(rng), cpus: list(rng) },
        16 => What::Throttle { tid: Some(tid(rng)).filter(|tid| *tid != Tid::IDLE), begins: rng.one_in(2) },
        17 => What::IdealCpu { tid: tid(rng), cpu: Some(cpu(rng)).filter(|cpu| *cpu != CpuId::UNKNOWN) },
        18 => What::SchedAttr { tid: tid(rng), prio: Prio::new(120), uclamp_min: None, uclamp_max: Some(7) },
        _ => What::Sample,
    };
    // Switches that contradict what events name would end all inferring.
    let current = if let What::Switch(switch) = what { switch.prev } else { tid(rng) };
    Event { at: Ns(at), offset: 0, cpu: cpu(rng), current, what }
}
