//! A fair scheduler on a simulated machine, event by event.
//!
//! Simplified from Linux: each CPU has a queue in order of weighted run time. A woken thread is placed on the fastest idle CPU (an
//! idle core before a sibling), else on the shortest queue. A woken thread that weighs more than 1.5 times as much as the running one
//! takes its CPU immediately or, if the running one woke it, after that one's current steps. After 3 ms of running, the next thread of
//! the queue runs. A CPU that becomes idle takes a thread from the longest queue. Every 4 ms a thread on a slower CPU is moved to an
//! idle faster one. A profiler interrupts each CPU 99 times a second, as `corewise record` does, and costs nothing. Times are integers, ns:
//! the same load gives the same events on every machine.

mod events;
mod threads;

pub(crate) use events::tid;

use crate::machines::{Machine, SHARED};
use crate::program::{Cpus, Gate, Habit, Load};
use model::{Event, Ns, StackFrame, SwitchOut};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use threads::{State, Thread};

/// Time slice of a running thread while others are ready.
const SLICE: i64 = 3_000_000;
/// Time slice while a thread with [`Habit::Late`] is ready.
const LATE_SLICE: i64 = 12_000_000;
const TICK: i64 = 1_000_000;
/// Ticks between two attempts to move threads to faster CPUs.
const BALANCE: i64 = 4;
/// A quota's period.
const PERIOD: i64 = 100_000_000;
/// Distance of two samples of a CPU: 99 a second.
const SAMPLE: i64 = 1_000_000_000 / 99;
/// Extra run time when a thread is switched in after another one: caches and the switch itself.
const REFILL: i64 = 8_000;
/// Time limit: a load that still runs then is stuck.
const LIMIT: i64 = 60_000_000_000;

/// The result of a simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Events in order of time.
    pub events: Vec<Event>,
    /// Texts of the events: threads' names, CPU lists, and functions.
    pub names: Vec<Box<str>>,
    /// The callchains of the samples.
    pub stacks: Vec<Box<[StackFrame]>>,
    /// When the load ended.
    pub end: Ns,
    /// Start and end of each marked frame.
    pub frames: Vec<(i64, i64)>,
    /// The times from when periodic threads were due until they were done, summed over their periods, ns.
    pub responses: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Tick,
    /// The profiler interrupts a CPU.
    Sample(usize),
    /// A thread's sleep is over.
    Wake(usize),
    /// The current step of a CPU's thread ends, if `armed` is still the CPU's.
    Done {
        cpu: usize,
        armed: u64,
    },
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    queue: Vec<usize>,
    runs: Option<usize>,
    /// The time up to which the running thread's progress is accounted.
    accounted: i64,
    /// When the running thread was switched in.
    since: i64,
    last: Option<usize>,
    armed: u64,
    /// The running thread woke one that takes its place after the current steps.
    resched: bool,
    /// The minimum weighted run time of threads that are woken here.
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
    /// For each gate, the thread that gets the weight of the threads that wait there.
    borrowers: Vec<Option<usize>>,
    pools: Vec<VecDeque<i64>>,
    /// For each gate, the requests that nothing serves yet: the gate for the answer, and ns.
    requests: Vec<VecDeque<(Gate, i64)>>,
    /// For each thread, the number of its process's first thread.
    leaders: Vec<usize>,
    quota: Option<i64>,
    used: i64,
    throttled: bool,
    over: bool,
    out: Outcome,
}

/// Simulates a load to its end.
///
/// # Errors
/// If the load does not end within a minute of simulated time.
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
        requests: vec![VecDeque::new(); load.gates.len()],
        leaders: leaders(load),
        quota: None,
        used: 0,
        throttled: false,
        over: false,
        out: Outcome {
            events: Vec::new(),
            names: Vec::new(),
            stacks: Vec::new(),
            end: Ns::ZERO,
            frames: Vec::new(),
            responses: 0,
        },
    };
    sim.emit_start();
    for thread in 0..sim.threads.len() {
        // One after another, as a program starts them.
        sim.after(20_000 * (thread as i64 + 1), Due::Wake(thread));
    }
    sim.after(TICK, Due::Tick);
    for cpu in 0..sim.cpus.len() {
        // Not all at once.
        sim.after(SAMPLE * (cpu as i64 + 1) / sim.cpus.len() as i64, Due::Sample(cpu));
    }
    while let Some(Reverse((at, _, due))) = sim.due.pop() {
        if at > LIMIT {
            return Err(format!("the simulated load did not end within {} s", LIMIT / 1_000_000_000));
        }
        sim.now = at;
        match due {
            Due::Tick => sim.tick(),
            Due::Sample(cpu) => sim.sample(cpu),
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

fn leaders(load: &Load) -> Vec<usize> {
    let first = |process| load.programs.iter().position(|p| p.process == process).unwrap_or(0);
    load.programs.iter().map(|p| first(p.process)).collect()
}

impl Sim<'_> {
    fn after(&mut self, ns: i64, due: Due) {
        self.order += 1;
        self.due.push(Reverse((self.now + ns, self.order, due)));
    }

    fn idle(&self, cpu: usize) -> bool {
        self.cpus[cpu].runs.is_none() && self.cpus[cpu].queue.is_empty()
    }

    /// The current speed of a CPU, in thousandths.
    fn speed(&self, cpu: usize) -> i64 {
        let busy = self.machine.sibling(cpu).is_some_and(|s| self.cpus[s].runs.is_some());
        self.machine.places[cpu].speed * if busy { SHARED } else { 1000 } / 1000
    }

    /// Accounts the running thread's progress up to now. Must be called before its speed changes, and before it is switched out.
    fn account(&mut self, cpu: usize) {
        let ns = self.now - self.cpus[cpu].accounted;
        self.cpus[cpu].accounted = self.now;
        let Some(thread) = self.cpus[cpu].runs else { return };
        let speed = self.speed(cpu);
        let thread = &mut self.threads[thread];
        thread.left -= ns * speed;
        thread.weighed += ns * 1024 / thread.weight;
        if thread.in_group {
            self.used += ns;
        }
    }

    /// Schedules the end of the running thread's current step.
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

    /// Sets the running thread of a CPU. This also changes the speed of its sibling.
    fn set_running(&mut self, cpu: usize, next: Option<usize>) {
        let sibling = self.machine.sibling(cpu);
        [Some(cpu), sibling].into_iter().flatten().for_each(|c| self.account(c));
        self.cpus[cpu].runs = next;
        [Some(cpu), sibling].into_iter().flatten().for_each(|c| self.arm(c));
    }

    fn sample(&mut self, cpu: usize) {
        self.after(SAMPLE, Due::Sample(cpu));
        if let Some(thread) = self.cpus[cpu].runs {
            self.emit_sample(cpu, thread);
        }
    }

    fn tick(&mut self) {
        self.after(TICK, Due::Tick);
        (0..self.cpus.len()).for_each(|cpu| self.account(cpu));
        self.throttle();
        for cpu in 0..self.cpus.len() {
            let Some(runs) = self.cpus[cpu].runs else { continue };
            let late = self.cpus[cpu].queue.iter().any(|t| self.threads[*t].habit == Habit::Late);
            let slice = if late { LATE_SLICE } else { SLICE };
            let first = self.first(cpu).filter(|t| self.threads[*t].weighed < self.threads[runs].weighed);
            if first.is_some() && self.now - self.cpus[cpu].since >= slice {
                self.preempt(cpu);
            }
        }
        if self.now % (TICK * BALANCE) == 0 {
            (0..self.cpus.len()).for_each(|cpu| self.pull_from_slower(cpu));
        }
    }

    /// The next thread in a CPU's queue.
    fn first(&self, cpu: usize) -> Option<usize> {
        let able = self.cpus[cpu].queue.iter().copied().filter(|t| !self.is_throttled(*t));
        able.min_by_key(|t| (self.threads[*t].weighed, *t))
    }

    fn is_throttled(&self, thread: usize) -> bool {
        self.throttled && self.threads[thread].in_group
    }

    /// Preempts the running thread.
    fn preempt(&mut self, cpu: usize) {
        self.switch_out(cpu, SwitchOut::Preempted);
    }

    /// Puts the running thread back into the queue, and switches in the next one.
    fn switch_out(&mut self, cpu: usize, out: SwitchOut) {
        if let Some(runs) = self.cpus[cpu].runs {
            self.account(cpu);
            self.cpus[cpu].queue.push(runs);
            self.threads[runs].state = State::Ready(cpu);
            self.switch_next(cpu, out);
        }
    }

    /// Switches in the next thread of the queue, else one from another queue, else none.
    fn switch_next(&mut self, cpu: usize, out: SwitchOut) {
        if self.first(cpu).is_none() {
            self.steal(cpu);
        }
        let next = self.first(cpu);
        let prev = self.cpus[cpu].runs;
        if let Some(thread) = next {
            self.cpus[cpu].queue.retain(|t| *t != thread);
            self.threads[thread].state = State::Running(cpu);
            self.cpus[cpu].floor = self.cpus[cpu].floor.max(self.threads[thread].weighed);
            if self.cpus[cpu].last != Some(thread) && !self.threads[thread].spins {
                self.threads[thread].left += REFILL * 1000;
            }
            self.cpus[cpu].last = Some(thread);
            self.cpus[cpu].since = self.now;
        }
        self.set_running(cpu, next);
        if prev != next {
            self.emit_switch(cpu, prev, next, out);
        }
    }

    /// Takes the heaviest thread that may run here from the longest queue.
    fn steal(&mut self, cpu: usize) {
        let may = |t: &usize| {
            let thread = &self.threads[*t];
            thread.allowed & (1 << cpu) != 0 && thread.habit.is_moved() && !self.is_throttled(*t)
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
        self.threads[thread].state = State::Ready(to);
        self.emit_move(thread, from, to);
    }

    /// Moves the running thread of a slower CPU to this one, if this one is idle.
    fn pull_from_slower(&mut self, cpu: usize) {
        if !self.idle(cpu) {
            return;
        }
        let own_speed = self.speed(cpu);
        let slower = (0..self.cpus.len()).filter_map(|c| {
            let thread = self.cpus[c].runs?;
            let able = self.threads[thread].allowed & (1 << cpu) != 0 && self.threads[thread].habit.is_moved();
            // A move from the CPU's own sibling would change nothing.
            let other_core = self.machine.places[c].core != self.machine.places[cpu].core;
            (able && other_core && self.speed(c) < own_speed).then_some((
                self.threads[thread].weight,
                Reverse(self.speed(c)),
                Reverse(c),
            ))
        });
        if let Some((_, _, Reverse(from))) = slower.max() {
            self.move_running(from, Some(cpu));
        }
    }

    /// Moves the running thread to the CPU `to`, or else to where a woken thread would be placed.
    fn move_running(&mut self, from: usize, to: Option<usize>) {
        let Some(thread) = self.cpus[from].runs else { return };
        self.account(from);
        let to = to.unwrap_or_else(|| self.placed(thread));
        self.threads[thread].state = State::Ready(from);
        self.cpus[to].queue.push(thread);
        self.threads[thread].weighed += self.cpus[to].floor - self.cpus[from].floor;
        self.switch_next(from, SwitchOut::Preempted);
        self.emit_move(thread, from, to);
        self.threads[thread].state = State::Ready(to);
        if self.cpus[to].runs.is_none() {
            self.switch_next(to, SwitchOut::Runnable);
        }
    }

    /// Returns the CPU for a thread that is woken.
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
            // Of equal queues, the one whose running thread weighs least, so that a heavier one can take its place.
            let weight = |c: &usize| self.cpus[*c].runs.map_or(0, |r| self.threads[r].weight);
            // Of these the fastest, for a thread with [`Habit::Taking`].
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
        if self.threads[thread].state != State::Blocked && self.threads[thread].state != State::New {
            return;
        }
        let to = self.placed(thread);
        self.emit_wake(thread, waker, to);
        self.threads[thread].weighed = self.cpus[to].floor;
        self.threads[thread].state = State::Ready(to);
        self.cpus[to].queue.push(thread);
        if self.is_throttled(thread) {
            return;
        }
        match self.cpus[to].runs {
            None => self.switch_next(to, SwitchOut::Runnable),
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

    /// Whether a woken thread takes the CPU of a running one.
    fn outweighs(&self, woken: usize, runs: usize) -> bool {
        self.threads[woken].weight * 2 > self.threads[runs].weight * 3
    }

    fn runs_at(&self, thread: usize) -> Option<usize> {
        if let State::Running(cpu) = self.threads[thread].state { Some(cpu) } else { None }
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
            if self.threads[thread].in_group
                && matches!(self.threads[thread].state, State::Ready(_) | State::Running(_))
            {
                self.emit_throttle(thread, throttled);
            }
        }
        for cpu in 0..self.cpus.len() {
            match self.cpus[cpu].runs {
                Some(runs) if self.is_throttled(runs) => self.switch_out(cpu, SwitchOut::Throttled),
                None if !throttled && !self.cpus[cpu].queue.is_empty() => self.switch_next(cpu, SwitchOut::Runnable),
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
            // It sees the change when it runs: immediately, or when it is next switched in.
            self.threads[thread].spins = false;
            self.threads[thread].left = 0;
            self.threads[thread].at += 1;
            if let State::Running(cpu) = self.threads[thread].state {
                self.account(cpu);
                self.threads[thread].left = 0;
                self.arm(cpu);
            }
        }
    }

    /// Gives the gate's borrower the weight of a thread that waits there, and its CPU if the weight is enough for it.
    fn lend(&mut self, gate: Gate, from: usize) {
        let Some(to) = self.borrowers[gate.0].filter(|to| self.threads[*to].weight < self.threads[from].weight) else {
            return;
        };
        if let Some(cpu) = self.runs_at(to) {
            self.account(cpu);
        }
        self.threads[to].weight = self.threads[from].weight;
        self.emit_priority(to, self.threads[from].nice);
        if let State::Ready(cpu) = self.threads[to].state {
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
            self.account(cpu);
        }
        let nice = self.threads[thread].nice;
        if self.threads[thread].weight != threads::weight(nice) {
            self.threads[thread].weight = threads::weight(nice);
            self.emit_priority(thread, nice);
        }
    }

    fn allow(&mut self, thread: usize, cpus: Cpus) {
        self.threads[thread].allowed = cpus;
        self.emit_allowed(thread);
    }
}
