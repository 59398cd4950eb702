//! A fair scheduler on a simulated machine, event by event.
//!
//! As Linux has it, simplified: each CPU has a queue in order of weighted run time; who wakes is placed on the fastest idle
//! CPU (a whole core before a sibling), else on the shortest queue; who weighs half as much again as the one that runs
//! takes its CPU at once, or, if that one woke it, when that has taken the steps that it is at; every 3 ms of running the queue
//! has its turn; a CPU that falls idle takes from the longest queue; every 4 ms a thread on a slower CPU is moved to a faster
//! one that idles. Times are whole ns: the same load gives the same events on every machine.

mod tell;
mod threads;

pub(crate) use tell::tid;

use crate::machines::{Machine, SHARED};
use crate::program::{Cpus, Gate, Habit, Load};
use model::{Event, Ns, SwitchOut};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use threads::{Is, Thread};

/// A turn of who runs, while others are ready.
const SLICE: i64 = 3_000_000;
/// A turn against a thread of [`Habit::Late`].
const LATE_SLICE: i64 = 12_000_000;
const TICK: i64 = 1_000_000;
/// Ticks between two looks for a faster CPU.
const BALANCE: i64 = 4;
/// A quota's period.
const PERIOD: i64 = 100_000_000;
/// What a thread computes anew when it comes to a CPU after another: caches and the switch itself.
const REFILL: i64 = 8_000;
/// No load here takes as long: what still runs then is stuck.
const LONGEST: i64 = 60_000_000_000;

/// What came of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Events in order of time.
    pub events: Vec<Event>,
    /// Texts that the events name: threads' names, and CPU lists.
    pub names: Vec<Box<str>>,
    /// When the load's end was reached.
    pub end: Ns,
    /// Begin and end of each marked frame.
    pub frames: Vec<(i64, i64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Tick,
    /// A thread's sleep is over.
    Wake(usize),
    /// What a CPU's thread computes is done, if nothing came between.
    Done {
        cpu: usize,
        armed: u64,
    },
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    queue: Vec<usize>,
    runs: Option<usize>,
    /// Until when the progress of who runs is reckoned.
    reckoned: i64,
    /// When who runs came.
    came: i64,
    last: Option<usize>,
    armed: u64,
    /// Who runs is to go when it has taken its steps: it woke one that takes its place.
    resched: bool,
    /// Weighted run time below which nobody begins here.
    floor: i64,
}

struct Sim<'a> {
    machine: &'a Machine,
    now: i64,
    due: BinaryHeap<Reverse<(i64, u64, Due)>>,
    order: u64,
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
    gates: Vec<u32>,
    waiting: Vec<Vec<usize>>,
    /// To whom those who wait at a gate lend their weight.
    borrowers: Vec<Option<usize>>,
    pools: Vec<VecDeque<i64>>,
    quota: Option<i64>,
    used: i64,
    throttled: bool,
    over: bool,
    out: Outcome,
}

/// Simulates a load to its end.
///
/// # Errors
/// It does not come to an end within a minute of simulated time.
pub fn simulate(machine: &Machine, load: &Load) -> Result<Outcome, String> {
    let mut sim = Sim {
        machine,
        now: 0,
        due: BinaryHeap::new(),
        order: 0,
        cpus: vec![Cpu::default(); machine.cpus()],
        threads: load.programs.iter().map(|p| Thread::new(p, machine.all())).collect(),
        gates: load.gates.clone(),
        waiting: vec![Vec::new(); load.gates.len()],
        borrowers: vec![None; load.gates.len()],
        pools: vec![VecDeque::new(); load.pools],
        quota: None,
        used: 0,
        throttled: false,
        over: false,
        out: Outcome { events: Vec::new(), names: Vec::new(), end: Ns::ZERO, frames: Vec::new() },
    };
    sim.tell_all();
    for thread in 0..sim.threads.len() {
        // One after the other, as a program starts them.
        sim.after(20_000 * (thread as i64 + 1), Due::Wake(thread));
    }
    sim.after(TICK, Due::Tick);
    while let Some(Reverse((at, _, due))) = sim.due.pop() {
        if at > LONGEST {
            return Err(format!("not at its end after {} s", LONGEST / 1_000_000_000));
        }
        sim.now = at;
        match due {
            Due::Tick => sim.tick(),
            Due::Wake(thread) => sim.wake(thread, None),
            Due::Done { cpu, armed } if sim.cpus[cpu].armed == armed => sim.done(cpu),
            Due::Done { .. } => {}
        }
        if sim.over {
            break;
        }
    }
    sim.out.end = Ns(sim.now);
    Ok(sim.out)
}

impl Sim<'_> {
    fn after(&mut self, ns: i64, due: Due) {
        self.order += 1;
        self.due.push(Reverse((self.now + ns, self.order, due)));
    }

    fn idle(&self, cpu: usize) -> bool {
        self.cpus[cpu].runs.is_none() && self.cpus[cpu].queue.is_empty()
    }

    /// What a thread would compute on this CPU now, in thousandths.
    fn speed(&self, cpu: usize) -> i64 {
        let busy = self.machine.sibling(cpu).is_some_and(|s| self.cpus[s].runs.is_some());
        self.machine.places[cpu].speed * if busy { SHARED } else { 1000 } / 1000
    }

    /// Brings the progress of who runs up to now. Before its speed changes, and before it leaves.
    fn reckon(&mut self, cpu: usize) {
        let ns = self.now - self.cpus[cpu].reckoned;
        self.cpus[cpu].reckoned = self.now;
        let Some(thread) = self.cpus[cpu].runs else { return };
        let speed = self.speed(cpu);
        let thread = &mut self.threads[thread];
        thread.left -= ns * speed;
        thread.weighed += ns * 1024 / thread.weight;
        if thread.in_group {
            self.used += ns;
        }
    }

    /// Sets when what runs there is done.
    fn arm(&mut self, cpu: usize) {
        self.cpus[cpu].armed += 1;
        let armed = self.cpus[cpu].armed;
        let Some(thread) = self.cpus[cpu].runs else { return };
        if !self.threads[thread].spins {
            let speed = self.speed(cpu);
            let ns = (self.threads[thread].left.max(0) + speed - 1) / speed;
            self.after(ns, Due::Done { cpu, armed });
        }
    }

    /// Who runs on a CPU changes: its sibling's speed does too.
    fn change(&mut self, cpu: usize, next: Option<usize>) {
        let sibling = self.machine.sibling(cpu);
        [Some(cpu), sibling].into_iter().flatten().for_each(|c| self.reckon(c));
        self.cpus[cpu].runs = next;
        [Some(cpu), sibling].into_iter().flatten().for_each(|c| self.arm(c));
    }

    fn tick(&mut self) {
        self.after(TICK, Due::Tick);
        (0..self.cpus.len()).for_each(|cpu| self.reckon(cpu));
        self.throttle();
        for cpu in 0..self.cpus.len() {
            let Some(runs) = self.cpus[cpu].runs else { continue };
            let late = self.cpus[cpu].queue.iter().any(|t| self.threads[*t].habit == Habit::Late);
            let slice = if late { LATE_SLICE } else { SLICE };
            let first = self.first(cpu).filter(|t| self.threads[*t].weighed < self.threads[runs].weighed);
            if first.is_some() && self.now - self.cpus[cpu].came >= slice {
                self.preempt(cpu);
            }
        }
        if self.now % (TICK * BALANCE) == 0 {
            (0..self.cpus.len()).for_each(|cpu| self.take_faster(cpu));
        }
    }

    /// Who is next in a CPU's queue.
    fn first(&self, cpu: usize) -> Option<usize> {
        let able = self.cpus[cpu].queue.iter().copied().filter(|t| !self.held(*t));
        able.min_by_key(|t| (self.threads[*t].weighed, *t))
    }

    fn held(&self, thread: usize) -> bool {
        self.throttled && self.threads[thread].in_group
    }

    /// Who runs goes back into the queue, and the next one comes.
    fn preempt(&mut self, cpu: usize) {
        self.take_off(cpu, SwitchOut::Preempted);
    }

    fn take_off(&mut self, cpu: usize, out: SwitchOut) {
        if let Some(runs) = self.cpus[cpu].runs {
            self.reckon(cpu);
            self.cpus[cpu].queue.push(runs);
            self.threads[runs].is = Is::Ready(cpu);
            self.come(cpu, out);
        }
    }

    /// The next of the queue comes to a CPU, else one of another queue, else nobody.
    fn come(&mut self, cpu: usize, out: SwitchOut) {
        if self.first(cpu).is_none() {
            self.steal(cpu);
        }
        let next = self.first(cpu);
        let prev = self.cpus[cpu].runs;
        if let Some(thread) = next {
            self.cpus[cpu].queue.retain(|t| *t != thread);
            self.threads[thread].is = Is::Running(cpu);
            self.cpus[cpu].floor = self.cpus[cpu].floor.max(self.threads[thread].weighed);
            if self.cpus[cpu].last != Some(thread) && !self.threads[thread].spins {
                self.threads[thread].left += REFILL * 1000;
            }
            self.cpus[cpu].last = Some(thread);
            self.cpus[cpu].came = self.now;
        }
        self.change(cpu, next);
        if prev != next {
            self.tell_switch(cpu, prev, next, out);
        }
    }

    /// Takes the first of the longest queue that may run here.
    fn steal(&mut self, cpu: usize) {
        let may = |t: &usize| {
            let thread = &self.threads[*t];
            thread.allowed & (1 << cpu) != 0 && thread.habit.is_moved() && !self.held(*t)
        };
        let from = (0..self.cpus.len()).filter(|c| *c != cpu && self.cpus[*c].runs.is_some());
        let longest = from.filter(|c| self.cpus[*c].queue.iter().any(may)).max_by_key(|c| {
            let queue = &self.cpus[*c].queue;
            (queue.len(), Reverse(*c))
        });
        let Some(from) = longest else { return };
        let heaviest =
            self.cpus[from].queue.iter().copied().filter(may).max_by_key(|t| (self.threads[*t].weight, Reverse(*t)));
        if let Some(thread) = heaviest {
            self.requeue(thread, from, cpu);
        }
    }

    /// Moves a ready thread from one queue to another.
    fn requeue(&mut self, thread: usize, from: usize, to: usize) {
        self.cpus[from].queue.retain(|t| *t != thread);
        self.cpus[to].queue.push(thread);
        self.threads[thread].weighed += self.cpus[to].floor - self.cpus[from].floor;
        self.threads[thread].is = Is::Ready(to);
        self.tell_move(thread, from, to);
    }

    /// An idle CPU takes over who runs on a slower one.
    fn take_faster(&mut self, cpu: usize) {
        if !self.idle(cpu) {
            return;
        }
        let here = self.speed(cpu);
        let slower = (0..self.cpus.len()).filter_map(|c| {
            let thread = self.cpus[c].runs?;
            let able = self.threads[thread].allowed & (1 << cpu) != 0 && self.threads[thread].habit.is_moved();
            // On the sibling of the CPU itself, a move would change nothing.
            let apart = self.machine.places[c].core != self.machine.places[cpu].core;
            (able && apart && self.speed(c) < here).then_some((
                self.threads[thread].weight,
                Reverse(self.speed(c)),
                Reverse(c),
            ))
        });
        if let Some((_, _, Reverse(from))) = slower.max() {
            self.move_running(from, Some(cpu));
        }
    }

    /// Takes who runs off its CPU and to another: to this one, or to where one that wakes would go.
    fn move_running(&mut self, from: usize, to: Option<usize>) {
        let Some(thread) = self.cpus[from].runs else { return };
        self.reckon(from);
        let to = to.unwrap_or_else(|| self.placed(thread));
        self.threads[thread].is = Is::Ready(from);
        self.cpus[to].queue.push(thread);
        self.threads[thread].weighed += self.cpus[to].floor - self.cpus[from].floor;
        self.come(from, SwitchOut::Preempted);
        self.tell_move(thread, from, to);
        self.threads[thread].is = Is::Ready(to);
        if self.cpus[to].runs.is_none() {
            self.come(to, SwitchOut::Runnable);
        }
    }

    /// The CPU for one that wakes.
    fn placed(&self, thread: usize) -> usize {
        let t = &self.threads[thread];
        let may = (0..self.cpus.len()).filter(|c| t.allowed & (1 << c) != 0);
        let wanted = |c: &usize| match t.habit {
            Habit::Usual | Habit::Taking | Habit::Late => self.speed(*c),
            Habit::Efficient => -self.machine.places[*c].speed,
            Habit::Sibling => {
                i64::from(self.speed(*c) < self.machine.places[*c].speed && self.machine.places[*c].speed == 1000)
            }
        };
        let only = may.clone().filter(|c| t.habit != Habit::Efficient || self.machine.places[*c].speed < 1000);
        let idle = only.filter(|c| self.idle(*c)).max_by_key(|c| (wanted(c), *c == t.last, Reverse(*c)));
        let shortest = || {
            let load = |c: &usize| self.cpus[*c].queue.len() + usize::from(self.cpus[*c].runs.is_some());
            // Of equal queues the one whose runner weighs least, so that a weightier one can take its place.
            let weight = |c: &usize| self.cpus[*c].runs.map_or(0, |r| self.threads[r].weight);
            // And for one that looks for speed the fastest of these.
            let speed = |c: &usize| if t.habit == Habit::Taking { -self.speed(*c) } else { 0 };
            may.clone().min_by_key(|c| (load(c), weight(c), speed(c), *c != t.last, *c))
        };
        let can_take = |c: &usize| self.cpus[*c].runs.is_some_and(|r| self.outweighs(thread, r));
        let taken = || {
            let takes = matches!(t.habit, Habit::Taking | Habit::Late);
            may.clone().filter(|c| takes && can_take(c)).max_by_key(|c| (self.speed(*c), *c == t.last, Reverse(*c)))
        };
        idle.or_else(taken).or_else(shortest).unwrap_or(t.last)
    }

    fn wake(&mut self, thread: usize, waker: Option<usize>) {
        if self.threads[thread].is != Is::Blocked && self.threads[thread].is != Is::New {
            return;
        }
        let to = self.placed(thread);
        self.tell_wake(thread, waker, to);
        self.threads[thread].weighed = self.cpus[to].floor;
        self.threads[thread].is = Is::Ready(to);
        self.cpus[to].queue.push(thread);
        if self.held(thread) {
            return;
        }
        match self.cpus[to].runs {
            None => self.come(to, SwitchOut::Runnable),
            Some(runs) => {
                if self.threads[thread].habit != Habit::Late && self.outweighs(thread, runs) {
                    self.threads[thread].weighed -= 1;
                    if Some(runs) == waker {
                        self.cpus[to].resched = true;
                    } else {
                        self.preempt(to);
                    }
                }
            }
        }
    }

    /// Whether a thread that wakes takes the CPU of another.
    fn outweighs(&self, woken: usize, runs: usize) -> bool {
        self.threads[woken].weight * 2 > self.threads[runs].weight * 3
    }

    fn runs_at(&self, thread: usize) -> Option<usize> {
        if let Is::Running(cpu) = self.threads[thread].is { Some(cpu) } else { None }
    }

    /// Begins or ends the throttling of the group.
    fn throttle(&mut self) {
        if self.now % PERIOD == 0 {
            self.used = 0;
        }
        let throttled = self.quota.is_some_and(|q| self.used >= q);
        if throttled == self.throttled {
            return;
        }
        self.throttled = throttled;
        for thread in 0..self.threads.len() {
            if self.threads[thread].in_group && matches!(self.threads[thread].is, Is::Ready(_) | Is::Running(_)) {
                self.tell_throttle(thread, throttled);
            }
        }
        for cpu in 0..self.cpus.len() {
            match self.cpus[cpu].runs {
                Some(runs) if self.held(runs) => self.take_off(cpu, SwitchOut::Throttled),
                None if !throttled && !self.cpus[cpu].queue.is_empty() => self.come(cpu, SwitchOut::Runnable),
                _ => {}
            }
        }
    }

    fn post(&mut self, gate: Gate, by: u32, waker: usize) {
        self.gates[gate.0] += by;
        while self.gates[gate.0] > 0 && !self.waiting[gate.0].is_empty() {
            self.gates[gate.0] -= 1;
            let thread = self.waiting[gate.0].remove(0);
            if !self.threads[thread].spins {
                self.threads[thread].at += 1;
                self.wake(thread, Some(waker));
                continue;
            }
            // It sees the change when it runs: at once, or when it next comes to a CPU.
            self.threads[thread].spins = false;
            self.threads[thread].left = 0;
            self.threads[thread].at += 1;
            if let Is::Running(cpu) = self.threads[thread].is {
                self.reckon(cpu);
                self.threads[thread].left = 0;
                self.arm(cpu);
            }
        }
    }

    /// Whoever borrows at a gate goes on at the weight of one who waits there, at once where that is enough to take the CPU.
    fn lend(&mut self, gate: Gate, from: usize) {
        let Some(to) = self.borrowers[gate.0].filter(|to| self.threads[*to].weight < self.threads[from].weight) else {
            return;
        };
        if let Some(cpu) = self.runs_at(to) {
            self.reckon(cpu);
        }
        self.threads[to].weight = self.threads[from].weight;
        self.tell_priority(to, self.threads[from].nice);
        if let Is::Ready(cpu) = self.threads[to].is {
            self.threads[to].weighed = self.cpus[cpu].floor - 1;
            if self.cpus[cpu].runs.is_some_and(|r| r != from) {
                self.preempt(cpu);
            }
        }
    }

    fn give_back(&mut self, gate: Gate, thread: usize) {
        if self.borrowers[gate.0] != Some(thread) {
            return;
        }
        self.borrowers[gate.0] = None;
        if let Some(cpu) = self.runs_at(thread) {
            self.reckon(cpu);
        }
        let nice = self.threads[thread].nice;
        if self.threads[thread].weight != threads::weight(nice) {
            self.threads[thread].weight = threads::weight(nice);
            self.tell_priority(thread, nice);
        }
    }

    fn allow(&mut self, thread: usize, cpus: Cpus) {
        self.threads[thread].allowed = cpus;
        self.tell_allowed(thread);
    }
}
