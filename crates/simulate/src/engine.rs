//! The replay: events in order of time, the operations of running threads, and what a policy decides.
//!
//! A thread's work advances with the speed of its CPU, which depends on what its siblings do. Everything that happens at one time happens in
//! a fixed order, so that one program, machine, policy and seed give one result.

use crate::machine::Machine;
use crate::objects::Awaited;
use crate::policy::{Leave, Place, Policy, Requests, Soon, Why, World};
use crate::program::{Op, Program};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// How a thread left its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It could have gone on.
    Ready,
    /// It waits.
    Waits,
    /// It ended.
    Ended,
}

/// Receives what happens, in order of time (ns since the begin).
pub trait Output {
    /// A CPU switches between threads; `None`: idle.
    fn switch(&mut self, _at: i64, _cpu: usize, _from: Option<(usize, Left)>, _to: Option<usize>) {}
    /// A thread is woken or new, and put into the queue of a CPU. `waker`: the thread that did it.
    fn wake(&mut self, _at: i64, _cpu: usize, _thread: usize, _waker: Option<usize>, _why: Why) {}
    /// A ready thread is put into the queue of another CPU.
    fn moved(&mut self, _at: i64, _thread: usize, _from: usize, _to: usize) {}
    /// A thread is at a mark.
    fn mark(&mut self, _at: i64, _thread: usize, _mark: usize) {}
}

/// How long to replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Until {
    /// At most to this time, ns.
    pub at: i64,
    /// To the end of this thread; `None`: of all threads.
    pub end_of: Option<usize>,
}

/// Why a replay has no end.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Endless {
    /// All threads wait for each other.
    #[error("{} of the threads wait and nothing will wake them: {}", .waiting.len(), .waiting.join(", "))]
    Stuck {
        /// Their names.
        waiting: Vec<String>,
    },
    /// It is not over at the time given.
    #[error("it is not over after {} ms", at / 1_000_000)]
    Late {
        /// The time, ns.
        at: i64,
    },
    /// A thread may run on no CPU of the machine.
    #[error("{thread} may run on no CPU of the machine")]
    Nowhere {
        /// Its name.
        thread: String,
    },
}

/// Something that will happen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    /// The current operation of a CPU's thread is done, unless it was planned anew since.
    Done {
        cpu: usize,
        plan: u64,
    },
    /// A sleep is over.
    Awake(usize),
    /// A thread starts by itself.
    Start(usize),
    /// A CPU chooses again.
    Choose(usize),
    Tick(usize),
    /// For the policy.
    Timer(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    NotStarted,
    Ready,
    Running,
    Waiting,
    Ended,
}

/// Where a thread is in its program.
#[derive(Debug)]
struct Progress {
    state: State,
    /// The next operation, or the one that it does.
    op: usize,
    /// The work that is left of it, if it has begun; infinite while it spins.
    left: Option<f64>,
    /// When its last sleep until a next time ended, or should have.
    due: Option<i64>,
    /// Time that it loses when it next runs, because it was moved.
    owes: i64,
    /// Those that wait for its end.
    joined_by: Vec<usize>,
}

/// How a CPU runs its current thread.
#[derive(Debug)]
struct Core {
    /// Up to when its thread's work is counted.
    counted: i64,
    /// Time that passes before the work goes on.
    lost: i64,
    /// Work done in a time.
    speed: f64,
    /// Distinguishes what was planned last from what was planned before.
    plan: u64,
    ticks: bool,
    /// Whether it chooses at the next tick.
    at_tick: bool,
}

/// Replays a program; returns when it ended, ns.
///
/// # Errors
/// It does not end.
pub fn replay<P: Policy, O: Output>(
    program: &Program,
    machine: &Machine,
    policy: &mut P,
    output: &mut O,
    until: Until,
) -> Result<i64, Endless> {
    let cpus = machine.cpus.len();
    for thread in &program.threads {
        if thread.affinity.as_ref().is_some_and(|set| !set.iter().any(|cpu| cpu < cpus)) {
            return Err(Endless::Nowhere { thread: thread.name.clone() });
        }
    }
    let core = |cpu| Core { counted: 0, lost: 0, speed: machine.speed(cpu), plan: 0, ticks: false, at_tick: false };
    let progress =
        |_| Progress { state: State::NotStarted, op: 0, left: None, due: None, owes: 0, joined_by: Vec::new() };
    let mut replay = Replay {
        program,
        world: World {
            now: 0,
            machine,
            siblings: (0..cpus).map(|cpu| machine.siblings(cpu).collect()).collect(),
            threads: &program.threads,
            current: vec![None; cpus],
            place: vec![Place::default(); program.threads.len()],
        },
        policy,
        output,
        due: BinaryHeap::new(),
        number: 0,
        objects: program.objects.iter().map(|kind| Awaited::new(*kind)).collect(),
        cores: (0..cpus).map(core).collect(),
        threads: (0..program.threads.len()).map(progress).collect(),
        requests: Requests::default(),
        ended: 0,
    };
    replay.run(until)
}

struct Replay<'a, P, O> {
    program: &'a Program,
    world: World<'a>,
    policy: &'a mut P,
    output: &'a mut O,
    due: BinaryHeap<Reverse<(i64, u64, Due)>>,
    /// How many were due until now: what is due at one time happens in the order in which it was planned.
    number: u64,
    objects: Vec<Awaited>,
    cores: Vec<Core>,
    threads: Vec<Progress>,
    requests: Requests,
    ended: usize,
}

impl<P: Policy, O: Output> Replay<'_, P, O> {
    fn run(&mut self, until: Until) -> Result<i64, Endless> {
        for (thread, of) in self.program.threads.iter().enumerate() {
            if let Some(at) = of.starts {
                self.plan(at.max(0), Due::Start(thread));
            }
        }
        self.policy.begin(&self.world, &mut self.requests);
        self.serve();
        while !self.is_over(until) {
            let Some(Reverse((at, _, due))) = self.due.pop() else {
                let waiting = self.program.threads.iter().zip(&self.threads).filter(|(_, of)| of.state != State::Ended);
                return Err(Endless::Stuck { waiting: waiting.map(|(thread, _)| thread.name.clone()).collect() });
            };
            if at > until.at {
                return Err(Endless::Late { at: until.at });
            }
            self.world.now = at;
            self.happens(due);
            self.serve();
        }
        Ok(self.world.now)
    }

    fn is_over(&self, until: Until) -> bool {
        match until.end_of {
            Some(thread) => self.threads[thread].state == State::Ended,
            None => self.ended == self.threads.len(),
        }
    }

    fn plan(&mut self, at: i64, due: Due) {
        self.number += 1;
        self.due.push(Reverse((at, self.number, due)));
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::Done { cpu, plan } => {
                if let Some(thread) = self.world.current[cpu].filter(|_| self.cores[cpu].plan == plan) {
                    self.count(cpu);
                    self.threads[thread].left = None;
                    self.threads[thread].op += 1;
                    self.go_on(cpu, thread);
                }
            }
            Due::Awake(thread) => self.wake(thread, None, Why::Woken),
            Due::Start(thread) => self.wake(thread, None, Why::New),
            Due::Choose(cpu) => self.requests.choose(cpu, Soon::Now),
            Due::Tick(cpu) => self.tick(cpu),
            Due::Timer(key) => self.policy.timer(&self.world, key, &mut self.requests),
        }
    }

    /// Does what the policy requested, and what follows from it.
    fn serve(&mut self) {
        loop {
            for (at, key) in std::mem::take(&mut self.requests.timers) {
                self.plan(at, Due::Timer(key));
            }
            self.apply_moves();
            if let Some((from, to)) = self.requests.push.pop() {
                self.push(from, to);
            } else if self.requests.choose.is_empty() {
                return;
            } else {
                match self.requests.choose.remove(0) {
                    (cpu, Soon::Now) => self.choose(cpu),
                    (cpu, Soon::AtTick) => self.cores[cpu].at_tick = true,
                }
            }
        }
    }

    fn apply_moves(&mut self) {
        for (thread, cpu) in std::mem::take(&mut self.requests.moved) {
            self.move_to(thread, cpu);
        }
    }

    fn move_to(&mut self, thread: usize, cpu: usize) {
        let from = std::mem::replace(&mut self.world.place[thread].cpu, cpu);
        if from != cpu {
            self.threads[thread].owes += self.world.machine.move_ns;
            self.output.moved(self.world.now, thread, from, cpu);
        }
    }

    /// The current thread of a CPU continues on another one.
    fn push(&mut self, from: usize, to: usize) {
        let Some(thread) = self.world.current[from] else { return };
        if from == to || self.threads[thread].state != State::Running || !self.world.may_run(thread, to) {
            return;
        }
        self.count(from);
        self.policy.leave(&self.world, from, thread, Leave::Moves);
        self.choose(from);
        self.move_to(thread, to);
        self.policy.enqueue(&self.world, to, thread, Why::Moved, &mut self.requests);
        self.requests.choose(to, Soon::Now);
    }

    /// Counts what the current thread of a CPU has done until now.
    fn count(&mut self, cpu: usize) {
        let core = &mut self.cores[cpu];
        let ran = self.world.now - std::mem::replace(&mut core.counted, self.world.now);
        if let Some(thread) = self.world.current[cpu].filter(|_| ran > 0) {
            let lost = core.lost.min(ran);
            core.lost -= lost;
            if let Some(left) = &mut self.threads[thread].left {
                *left = (*left - (ran - lost) as f64 * core.speed).max(0.0);
            }
            self.policy.ran(&self.world, cpu, thread, ran, &mut self.requests);
        }
    }

    /// A CPU chooses its next thread.
    fn choose(&mut self, cpu: usize) {
        self.count(cpu);
        // That its thread has run for so long is considered now.
        self.requests.choose.retain(|(other, _)| *other != cpu);
        self.cores[cpu].at_tick = false;
        let before = self.world.current[cpu];
        let next = self.policy.next(&self.world, cpu, &mut self.requests);
        self.apply_moves();
        if next == before {
            // It waited, and was woken before the CPU could choose another one.
            if let Some(thread) = next.filter(|thread| self.threads[*thread].state == State::Ready) {
                self.threads[thread].state = State::Running;
                self.resume(cpu, thread);
            }
            return;
        }
        let now = self.world.now;
        let from = before.map(|thread| {
            let of = &mut self.threads[thread];
            let left = match of.state {
                State::Running => {
                    of.state = State::Ready;
                    Left::Ready
                }
                State::Ended => Left::Ended,
                State::Ready | State::Waiting | State::NotStarted => Left::Waits,
            };
            self.world.place[thread].since = now;
            (thread, left)
        });
        self.world.current[cpu] = next;
        self.output.switch(now, cpu, from, next);
        self.set_speeds(cpu, before.is_some() != next.is_some());
        self.cores[cpu].plan += 1;
        let Some(thread) = next else { return };
        self.world.place[thread].since = now;
        let of = &mut self.threads[thread];
        of.state = State::Running;
        self.cores[cpu].lost = self.world.machine.switch_ns + std::mem::take(&mut of.owes);
        if !self.cores[cpu].ticks {
            self.cores[cpu].ticks = true;
            self.plan_tick(cpu);
        }
        self.resume(cpu, thread);
    }

    /// Sets the speed of a CPU, and that of others if it has become busy or idle.
    fn set_speeds(&mut self, cpu: usize, has_changed: bool) {
        if !has_changed {
            self.cores[cpu].speed = self.speed(cpu);
            return;
        }
        let all = if self.world.machine.speed_by_busy.is_empty() {
            self.world.siblings[cpu].clone()
        } else {
            (0..self.cores.len()).filter(|other| *other != cpu).collect()
        };
        for other in all {
            if let Some(thread) = self.world.current[other] {
                self.count(other);
                self.cores[other].speed = self.speed(other);
                self.plan_done(other, thread);
            }
        }
        self.cores[cpu].speed = self.speed(cpu);
    }

    /// The speed of a CPU for its current thread.
    fn speed(&self, cpu: usize) -> f64 {
        let machine = self.world.machine;
        let own = self.world.current[cpu]
            .and_then(|thread| self.program.threads[thread].speeds.get(machine.cpus[cpu].kind).copied());
        let shared = if self.world.core_is_idle(cpu) { 1.0 } else { machine.with_busy_sibling };
        let busy = self.world.current.iter().flatten();
        let by_busy = match machine.speed_by_busy.as_slice() {
            [] => 1.0,
            by_busy => by_busy[busy.count().clamp(1, by_busy.len()) - 1],
        };
        own.unwrap_or_else(|| machine.speed(cpu)) * shared * by_busy
    }

    /// Goes on with the operation in which a thread was interrupted, or the next one.
    fn resume(&mut self, cpu: usize, thread: usize) {
        if self.threads[thread].left.is_some() {
            self.plan_done(cpu, thread);
        } else {
            self.go_on(cpu, thread);
        }
    }

    /// Plans the end of the work of a CPU's thread.
    fn plan_done(&mut self, cpu: usize, thread: usize) {
        let core = &mut self.cores[cpu];
        core.plan += 1;
        if let Some(left) = self.threads[thread].left.filter(|left| left.is_finite()) {
            let at = self.world.now + core.lost + (left / core.speed).ceil() as i64;
            let plan = core.plan;
            self.plan(at, Due::Done { cpu, plan });
        }
    }

    /// Executes the operations of a running thread up to one that takes time.
    fn go_on(&mut self, cpu: usize, thread: usize) {
        loop {
            let now = self.world.now;
            let of = &mut self.threads[thread];
            let Some(op) = self.program.threads[thread].ops.get(of.op).copied() else {
                of.state = State::Ended;
                self.ended += 1;
                let joined_by = std::mem::take(&mut of.joined_by);
                for other in joined_by {
                    self.wake(other, Some(cpu), Why::Woken);
                }
                return self.leave(cpu, thread, Leave::Ends);
            };
            match op {
                Op::Run(work) if work > 0 => {
                    of.left = Some(work as f64);
                    return self.plan_done(cpu, thread);
                }
                Op::SleepFor(ns) | Op::Io(ns) if ns > 0 => return self.sleep(cpu, thread, now + ns),
                Op::SleepUntil(at) if at > now => return self.sleep(cpu, thread, at),
                Op::SleepNext(ns) => {
                    let at = of.due.map_or(now, |due| due) + ns;
                    of.due = Some(at);
                    if at > now {
                        return self.sleep(cpu, thread, at);
                    }
                }
                Op::Run(_) | Op::SleepFor(_) | Op::Io(_) | Op::SleepUntil(_) => {}
                Op::Wait(object) => {
                    if !self.objects[object].take(thread) {
                        of.op += 1;
                        return self.wait(cpu, thread);
                    }
                }
                Op::Spin(object) => {
                    if !self.objects[object].take(thread) {
                        of.left = Some(f64::INFINITY);
                        self.cores[cpu].plan += 1;
                        return;
                    }
                }
                Op::Post(object, count) => {
                    for other in self.objects[object].post(count) {
                        self.serve_waiting(other, cpu);
                    }
                }
                Op::Lock(object) => {
                    if !self.objects[object].take(thread) {
                        return self.wait(cpu, thread);
                    }
                }
                Op::Unlock(object) => {
                    if let Some(other) = self.objects[object].unlock() {
                        self.wake(other, Some(cpu), Why::Woken);
                    }
                }
                Op::Barrier(object) => match self.objects[object].arrive(thread) {
                    None => {
                        of.op += 1;
                        return self.wait(cpu, thread);
                    }
                    Some(others) => {
                        for other in others {
                            self.wake(other, Some(cpu), Why::Woken);
                        }
                    }
                },
                Op::Start(other) => {
                    if self.threads[other].state == State::NotStarted {
                        self.world.place[other].cpu = cpu;
                        self.wake(other, Some(cpu), Why::New);
                    }
                }
                Op::Join(other) => {
                    if self.threads[other].state != State::Ended {
                        self.threads[other].joined_by.push(thread);
                        self.threads[thread].op += 1;
                        return self.wait(cpu, thread);
                    }
                }
                Op::Mark(mark) => self.output.mark(now, thread, mark),
            }
            self.threads[thread].op += 1;
        }
    }

    fn sleep(&mut self, cpu: usize, thread: usize, until: i64) {
        self.threads[thread].op += 1;
        self.plan(until, Due::Awake(thread));
        self.wait(cpu, thread);
    }

    fn wait(&mut self, cpu: usize, thread: usize) {
        self.threads[thread].state = State::Waiting;
        self.leave(cpu, thread, Leave::Waits);
    }

    fn leave(&mut self, cpu: usize, thread: usize, how: Leave) {
        self.cores[cpu].plan += 1;
        self.policy.leave(&self.world, cpu, thread, how);
        self.requests.choose(cpu, Soon::Now);
    }

    /// A thread that waited or spun for a semaphore has it now.
    fn serve_waiting(&mut self, thread: usize, cpu: usize) {
        if self.threads[thread].state == State::Waiting {
            return self.wake(thread, Some(cpu), Why::Woken);
        }
        self.threads[thread].left = Some(0.0);
        let on = self.world.place[thread].cpu;
        if self.world.current[on] == Some(thread) {
            self.plan_done(on, thread);
        }
    }

    /// A thread is woken by the current thread of a CPU, or by a timer.
    fn wake(&mut self, thread: usize, waker: Option<usize>, why: Why) {
        self.threads[thread].state = State::Ready;
        let cpu = self.policy.choose_cpu(&self.world, thread, waker);
        if why == Why::New {
            self.world.place[thread].cpu = cpu;
        } else {
            self.move_to(thread, cpu);
        }
        let by = waker.and_then(|cpu| self.world.current[cpu]);
        self.output.wake(self.world.now, cpu, thread, by, why);
        if self.world.current[cpu].is_some() {
            self.count(cpu);
        }
        self.policy.enqueue(&self.world, cpu, thread, why, &mut self.requests);
        let machine = self.world.machine;
        let (soon, delay) = match self.world.current[cpu] {
            None => (Soon::Now, machine.idle_exit_ns),
            // It leaves anyway.
            Some(current) if self.threads[current].state != State::Running => return,
            Some(_) => match self.policy.preempts(&self.world, cpu, thread) {
                Some(soon) => (soon, if waker == Some(cpu) { 0 } else { machine.interrupt_ns }),
                None => return,
            },
        };
        match soon {
            Soon::Now if delay > 0 => self.plan(self.world.now + delay, Due::Choose(cpu)),
            soon => self.requests.choose(cpu, soon),
        }
    }

    fn tick(&mut self, cpu: usize) {
        if self.world.current[cpu].is_none() {
            self.cores[cpu].ticks = false;
            return;
        }
        self.count(cpu);
        self.policy.tick(&self.world, cpu, &mut self.requests);
        if self.cores[cpu].at_tick {
            self.requests.choose(cpu, Soon::Now);
        }
        self.plan_tick(cpu);
    }

    fn plan_tick(&mut self, cpu: usize) {
        let length = self.policy.tick_ns();
        if let Some(at) = (self.world.now / length + 1).checked_mul(length) {
            self.plan(at, Due::Tick(cpu));
        }
    }
}
