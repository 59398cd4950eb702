//! Random traces: of a simulated scheduler, the same with missing events, and random events.

use model::{
    Batch, CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, NameId, Ns, Pid, Prio, SnapshotEntry, SnapshotState,
    StackId, Switch, SwitchOut, Tid, Wake, WakeKind,
};
use std::collections::BTreeMap;

/// A random number generator (splitmix64): the same seed gives the same trace on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// Returns any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.any() % n.max(1) as u64) as usize
    }

    /// Returns one of these values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }

    /// Returns true once in `n` times on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The kind of a random trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// All events of a simulated scheduler.
    Whole,
    /// The same with missing events.
    Deleted,
    /// Random events without order.
    Garbage,
}

/// The parameters of a random trace.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// The kind of trace.
    pub mode: Mode,
    /// The seed.
    pub seed: u64,
    /// The number of steps.
    pub steps: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Running(usize),
    Ready,
    Blocked,
    Exited,
}

struct Scheduler {
    rng: Rng,
    now: i64,
    cpus: Vec<i32>,
    threads: Vec<State>,
    /// Woken while running, which cancels the next sleep.
    early: Vec<bool>,
    wakes: Wakes,
    events: Vec<Event>,
}

/// The wakeup events of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wakes {
    Both,
    Wakeups,
    None,
}

impl Random {
    /// Returns all events of a scheduler, with at least one event that names the current task between any two switches of a CPU, and
    /// the same without some of the switches.
    #[must_use]
    pub fn named(&self) -> (Batch, Batch) {
        let mut rng = Rng(self.seed);
        let all = named(scheduled(&mut rng, self.steps), &mut rng);
        let rarity = 2 + rng.below(8);
        let left = all.iter().copied().filter(|e| !matches!(e.what, EventKind::Switch(_)) || !rng.one_in(rarity));
        let batch = |events| Batch { events, names: names(), stacks: Vec::new(), ..Batch::default() };
        let left = batch(left.collect());
        (batch(all), left)
    }

    /// Returns its events and names. Except for [`Mode::Garbage`], the events of each CPU are in order of time; across CPUs they are
    /// not.
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

/// Adds an event that names the current task between any two switches of a CPU, before its first and after its last switch: at the
/// begin, at the end, or in between.
fn named(events: Vec<Event>, rng: &mut Rng) -> Vec<Event> {
    let (begin, end) = (events.first().map_or(Ns::ZERO, |e| e.at), events.last().map_or(Ns::ZERO, |e| e.at));
    let mut of_cpu: BTreeMap<CpuId, (Ns, Tid)> = BTreeMap::new();
    let mut out = Vec::new();
    let mut name = |cpu, from: Ns, to: Ns, current, out: &mut Vec<Event>| {
        let at = Ns([from.0, to.0, from.0 + (to.0 - from.0) / 2][rng.below(3)]);
        out.push(Event { at, offset: 0, cpu, current, what: EventKind::Sample });
    };
    for event in events {
        if let EventKind::Switch(switch) = event.what {
            let (from, current) = of_cpu.insert(event.cpu, (event.at, switch.next)).unwrap_or((begin, switch.prev));
            name(event.cpu, from, event.at, current, &mut out);
        }
        out.push(event);
    }
    for (cpu, (from, current)) in of_cpu {
        name(cpu, from, end, current, &mut out);
    }
    // At equal times, the stable sort keeps an added event before the switch that ends its interval and after the switch that begins
    // it.
    out.sort_by_key(|e| e.at);
    for (offset, event) in (0..).zip(&mut out) {
        event.offset = offset;
    }
    out
}

/// Mixes the events as if buffers were read CPU by CPU: the order on each CPU is unchanged.
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
    let states = [State::Ready, State::Blocked, State::Exited];
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
            (0..=2, State::Blocked) => {
                self.threads[thread] = State::Ready;
                self.wake(thread, WakeKind::Waking);
            }
            (0..=1, State::Running(_)) => {
                self.early[thread] = true;
                self.wake(thread, WakeKind::Waking);
            }
            (0, State::Ready) if self.rng.one_in(2) => self.wake(thread, WakeKind::Waking),
            (0..=2, State::Exited) => {
                self.threads[thread] = State::Ready;
                self.wake(thread, WakeKind::New);
            }
            (3, State::Ready) => {
                let (from, to) = (self.any_cpu(), self.any_cpu());
                self.push(
                    from,
                    EventKind::Migrate { tid: number(thread), from: CpuId(from as u32), to: CpuId(to as u32) },
                );
            }
            (5, _) if self.rng.one_in(2) => {
                // For any TID, on any CPU; for an exited thread, it applies to the next instance.
                let (cpu, cpus) = (self.any_cpu(), list(&mut self.rng));
                self.push(cpu, EventKind::Affinity { tid: number(thread), cpus });
            }
            (6, _) if self.rng.one_in(2) => {
                // An event without a TID shows that throttling is recorded.
                let tid = if self.rng.one_in(8) { None } else { Some(number(thread)) };
                let (cpu, begins) = (self.any_cpu(), tid.is_some() && self.rng.one_in(2));
                self.push(cpu, EventKind::Throttle { tid, begins });
            }
            (4, _) if self.rng.one_in(4) => {
                let cpu = self.any_cpu();
                self.push(cpu, EventKind::Sample);
            }
            _ => self.switch(),
        }
    }

    fn any_cpu(&mut self) -> usize {
        self.rng.below(self.cpus.len())
    }

    fn push(&mut self, cpu: usize, what: EventKind) {
        // For a switch, the current task is the one switched out.
        let current = if let EventKind::Switch(switch) = what { switch.prev } else { Tid(self.cpus[cpu]) };
        self.events.push(Event { at: Ns(self.now), offset: 0, cpu: CpuId(cpu as u32), current, what });
    }

    fn wake(&mut self, thread: usize, kind: WakeKind) {
        let (cpu, target) = (self.any_cpu(), self.any_cpu());
        let waker = Tid(self.cpus[cpu]);
        let wake = |kind, now| Wake { waker, ..wake(number(thread), kind, Some(CpuId(target as u32)), now) };
        if kind == WakeKind::New || self.wakes == Wakes::Both {
            self.push(cpu, EventKind::Wake(wake(kind, self.now)));
        }
        if kind == WakeKind::Waking && self.wakes != Wakes::None {
            self.now += self.rng.below(2) as i64;
            let on = if self.rng.one_in(2) { cpu } else { target };
            self.push(on, EventKind::Wake(wake(WakeKind::Wakeup, self.now)));
        }
    }

    fn switch(&mut self) {
        let cpu = self.any_cpu();
        let prev = self.cpus[cpu];
        let ready: Vec<usize> = (0..self.threads.len()).filter(|t| self.threads[*t] == State::Ready).collect();
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
                0..=1 if next.is_some() => (SwitchOut::Preempted, State::Ready),
                2 if next.is_some() => (self.rng.pick(&RUNNABLE_OUTS).unwrap_or(SwitchOut::Runnable), State::Ready),
                3 if self.rng.one_in(2) => (SwitchOut::Exited, State::Exited),
                _ if self.early[thread] => (SwitchOut::Blocked, State::Ready),
                _ => (SwitchOut::Blocked, State::Blocked),
            };
            self.early[thread] = false;
        }
        if let Some(thread) = next {
            self.threads[thread] = State::Running(cpu);
        }
        self.cpus[cpu] = next_tid;
        self.push(cpu, EventKind::Switch(switch(Tid(prev), Tid(next_tid), out)));
    }
}

/// Switch-outs of runnable threads that the kernel does not mark as preempted.
const RUNNABLE_OUTS: [SwitchOut; 5] =
    [SwitchOut::Runnable, SwitchOut::PreemptedToUser, SwitchOut::Yielded, SwitchOut::Throttled, SwitchOut::GaveWay];

fn number(thread: usize) -> Tid {
    Tid(thread as i32 + 1)
}

/// CPU lists. Some have no CPU of the trace, one is invalid.
const LISTS: [&str; 8] = ["0", "1", "0-1", "0,2-3", "3-7", "0-4095", "4000", "all"];

/// Returns the names of threads and the CPU lists.
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
    let state_letter = match out {
        SwitchOut::Blocked => b'S',
        SwitchOut::Exited => b'X',
        SwitchOut::NotRecorded => b'?',
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
        state_letter,
        prev_exec: MaybeNs::NONE,
    }
}

/// Returns a priority that depends on the thread, and differs between its switch-in and switch-out.
fn prio(tid: Tid, out: SwitchOut) -> Prio {
    Prio::new(100 + (tid.0.rem_euclid(3) as i16) * 10 + out as i16)
}

fn garbage(rng: &mut Rng) -> Event {
    let tid = |rng: &mut Rng| Tid([-1, 0, 0, 1, 2, 3, 4, 5, i32::MAX, i32::MIN][rng.below(10)]);
    let cpu = |rng: &mut Rng| {
        let count = if rng.one_in(9) { 8 } else { 5 };
        CpuId([0, 0, 1, 2, 3, 4000, 70_000, u32::MAX][rng.below(count)])
    };
    let time = |rng: &mut Rng| match rng.below(60) {
        0 => i64::MAX - rng.below(2) as i64,
        1 => i64::MIN + rng.below(2) as i64,
        2 => rng.any() as i64,
        3..9 => -(rng.below(1000) as i64),
        _ => rng.below(1_000) as i64,
    };
    let outs =
        [SwitchOut::Runnable, SwitchOut::Preempted, SwitchOut::Blocked, SwitchOut::Exited, SwitchOut::NotRecorded];
    let kinds = [WakeKind::Waking, WakeKind::Wakeup, WakeKind::New, WakeKind::WakeupAtSwitchIn];
    let states = [SnapshotState::Running, SnapshotState::Ready, SnapshotState::Blocked, SnapshotState::Exited];
    let at = time(rng);
    let what = match rng.below(18) {
        0..=5 => {
            let (prev, next, out) = (tid(rng), tid(rng), outs[rng.below(5)]);
            let mut switch = switch(prev, next, out);
            if rng.one_in(3) {
                switch.prev_exec = MaybeNs::new(Ns(time(rng)));
            }
            EventKind::Switch(switch)
        }
        6..=8 => EventKind::Wake(wake(tid(rng), kinds[rng.below(4)], Some(cpu(rng)), time(rng))),
        9 => EventKind::Snapshot(SnapshotEntry {
            tid: tid(rng),
            pid: Pid(1),
            name: NameId(rng.below(40) as u32),
            state: states[rng.below(4)],
            state_letter: b'S',
            cpu: cpu(rng),
            exec: MaybeNs::new(Ns(time(rng))),
        }),
        10 => EventKind::Current { tid: tid(rng) },
        11 => EventKind::Charge { tid: tid(rng), ns: Ns(time(rng)) },
        12 => EventKind::Loss(LossSpan {
            from: MaybeNs::new(Ns(time(rng))),
            to: MaybeNs::new(Ns(time(rng))),
            cpu: rng.one_in(2).then(|| cpu(rng)),
            events: MaybeCount::UNKNOWN,
        }),
        13 => EventKind::Name { tid: tid(rng), pid: Pid(7), name: NameId(rng.below(40) as u32) },
        14 => EventKind::Migrate { tid: tid(rng), from: cpu(rng), to: cpu(rng) },
        15 => EventKind::Affinity { tid: tid(rng), cpus: list(rng) },
        16 => EventKind::Throttle { tid: Some(tid(rng)).filter(|tid| *tid != Tid::IDLE), begins: rng.one_in(2) },
        17 => EventKind::IdealCpu { tid: tid(rng), cpu: Some(cpu(rng)).filter(|cpu| *cpu != CpuId::UNKNOWN) },
        18 => EventKind::SchedAttr { tid: tid(rng), prio: Prio::new(120), uclamp_min: None, uclamp_max: Some(7) },
        _ => EventKind::Sample,
    };
    // Switches that contradict the current task would disable all inference.
    let current = if let EventKind::Switch(switch) = what { switch.prev } else { tid(rng) };
    Event { at: Ns(at), offset: 0, cpu: cpu(rng), current, what }
}
