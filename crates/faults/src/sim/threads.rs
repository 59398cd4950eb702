//! The threads of the simulation and their steps.

use super::{Due, Sim};
use crate::program::{Cpus, Gate, Habit, Program, Step};
use model::{MarkEdge, SwitchOut};

/// A thread's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    New,
    Running(usize),
    /// In this CPU's queue.
    Ready(usize),
    Blocked,
    Gone,
}

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub name: String,
    pub nice: i8,
    /// The nice value in events: its own, or a lent one.
    pub effective_nice: i8,
    pub weight: i64,
    pub in_group: bool,
    pub habit: Habit,
    pub allowed: Cpus,
    pub state: State,
    /// The CPU on which it ran last.
    pub last: usize,
    /// Run time divided by weight.
    pub weighed: i64,
    /// Work left before the next step, in thousandths of ns.
    pub left: i64,
    pub spins: bool,
    /// A piece of a pool is marked as begun.
    pub in_piece: bool,
    /// The gate for the answer to the request that it computes.
    pub answers: Option<Gate>,
    /// When it was due last, if it is periodic.
    pub due: Option<i64>,
    /// The next step.
    pub at: usize,
    steps: Vec<Step>,
    again: bool,
}

impl Thread {
    pub(super) fn new(program: &Program, all: Cpus) -> Thread {
        Thread {
            name: program.name.clone(),
            nice: program.nice,
            effective_nice: program.nice,
            weight: weight(program.nice),
            in_group: program.in_group,
            habit: Habit::Usual,
            allowed: all,
            state: State::New,
            last: 0,
            weighed: 0,
            left: 0,
            spins: false,
            in_piece: false,
            answers: None,
            due: None,
            at: 0,
            steps: program.steps.clone(),
            again: program.again,
        }
    }
}

/// The weight of a nice value, as in the kernel: 1024 at 0, and a quarter more or less each step.
pub(super) fn weight(nice: i8) -> i64 {
    ((1024.0 / 1.25_f64.powi(i32::from(nice))).round() as i64).max(1)
}

impl Sim<'_> {
    /// The current step of a CPU's thread has ended: it takes its next steps, and is preempted if it woke a thread that takes its place.
    pub(super) fn done(&mut self, cpu: usize) {
        self.account(cpu);
        let Some(thread) = self.cpus[cpu].runs else { return };
        if self.threads[thread].left > 0 {
            return self.arm(cpu);
        }
        self.steps(cpu, thread);
        if std::mem::take(&mut self.cpus[cpu].resched) && self.cpus[cpu].runs == Some(thread) {
            self.preempt(cpu);
        }
    }

    fn steps(&mut self, cpu: usize, thread: usize) {
        loop {
            if self.threads[thread].at == self.threads[thread].steps.len() {
                if !self.threads[thread].again {
                    return self.stop(cpu, thread, State::Gone, SwitchOut::Exited);
                }
                self.threads[thread].at = 0;
            }
            let at = self.threads[thread].at;
            let step = self.threads[thread].steps[at].clone();
            // A thread stays at a wait until it is over.
            match step {
                Step::Wait(gate) if self.gates[gate.0] == 0 => {
                    self.waiting[gate.0].push(thread);
                    self.lend(gate, thread);
                    return self.stop(cpu, thread, State::Blocked, SwitchOut::Blocked);
                }
                Step::Spin(gate) if self.gates[gate.0] == 0 => {
                    self.waiting[gate.0].push(thread);
                    self.threads[thread].spins = true;
                    return self.arm(cpu);
                }
                Step::Drain(pool, name) => {
                    if self.threads[thread].in_piece {
                        self.emit_mark(thread, name, MarkEdge::End);
                    }
                    self.threads[thread].in_piece = !self.pools[pool.0].is_empty();
                    if let Some(piece) = self.pools[pool.0].pop_front() {
                        self.emit_mark(thread, name, MarkEdge::Begin);
                        self.threads[thread].left = piece * 1000;
                        return self.arm(cpu);
                    }
                }
                Step::Serve(at) => match self.threads[thread].answers.take() {
                    Some(answer) => self.post(answer, 1, thread),
                    None => {
                        if let Some((answer, ns)) = self.requests[at.0].pop_front() {
                            self.threads[thread].answers = Some(answer);
                            self.threads[thread].left = ns * 1000;
                            return self.arm(cpu);
                        }
                    }
                },
                _ => {}
            }
            self.threads[thread].at += 1;
            match step {
                Step::Run(ns) => {
                    self.threads[thread].left = ns * 1000;
                    return self.arm(cpu);
                }
                Step::Sleep(ns) => {
                    self.after(ns, Due::Wake(thread));
                    return self.stop(cpu, thread, State::Blocked, SwitchOut::Blocked);
                }
                Step::Due(period) => {
                    let due = (self.now / period + 1) * period;
                    if let Some(before) = self.threads[thread].due.replace(due) {
                        self.out.responses += self.now - before;
                    }
                    self.after(due - self.now, Due::Wake(thread));
                    return self.stop(cpu, thread, State::Blocked, SwitchOut::Blocked);
                }
                Step::Ask(at, answer, ns) => {
                    self.requests[at.0].push_back((answer, ns));
                    self.post(at, 1, thread);
                }
                Step::Post(gate, by) => {
                    self.give_back(gate, thread);
                    self.post(gate, by, thread);
                }
                Step::Borrow(gate) => self.borrowers[gate.0] = Some(thread),
                Step::Wait(gate) | Step::Spin(gate) => self.gates[gate.0] -= 1,
                Step::Fill(pool, pieces) => self.pools[pool.0].extend(pieces),
                Step::Drain(..) | Step::Serve(_) => {}
                Step::Nice(nice) => {
                    self.threads[thread].nice = nice;
                    self.threads[thread].weight = weight(nice);
                    self.emit_priority(thread, nice);
                }
                Step::Allow(cpus) => {
                    self.allow(thread, cpus);
                    if cpus & (1 << cpu) == 0 {
                        return self.move_running(cpu, None);
                    }
                }
                Step::Treated(habit) => self.threads[thread].habit = habit,
                Step::Begin(name) => self.emit_mark(thread, name, MarkEdge::Begin),
                Step::End(name) => self.emit_mark(thread, name, MarkEdge::End),
                Step::Quota(quota) => self.quota = quota,
                Step::Over => {
                    self.emit_switch(cpu, Some(thread), None, SwitchOut::Exited);
                    self.over = true;
                    return;
                }
            }
        }
    }

    /// Switches out a thread that blocks or exits.
    fn stop(&mut self, cpu: usize, thread: usize, state: State, out: SwitchOut) {
        self.threads[thread].state = state;
        self.threads[thread].last = cpu;
        self.switch_next(cpu, out);
    }
}
