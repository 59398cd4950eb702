//! A program of what was recorded: the work of each thread, its waits, and what ends them.
//!
//! A wait that another thread ends is a semaphore of the waiting thread, to which the other one posts where it was in its own work. A wait that an interrupt
//! ends takes as long as it took or, of threads with a period, lasts until as long after the one before.

use crate::stretches::{self, Ended, Part, Thread};
use engine::{EngineError, Session};
use model::{Autogroup, ThreadKey};
use simulate::{Class, Cpus, Group, Object, Op, Program, weight_of};
use std::collections::BTreeMap;

/// Which thread of the recording a thread of the program is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Of {
    /// Its key in tables.
    pub thread: ThreadKey,
    /// Its TID.
    pub tid: i32,
    /// Its process.
    pub pid: Option<i32>,
    /// Its name.
    pub name: String,
    /// For how long it was ready in the recording, ns: to judge a replay.
    pub ready_ns: i64,
}

/// The program, and what it is made from.
#[derive(Clone, PartialEq, Debug)]
pub struct Demand {
    /// What threads do.
    pub program: Program,
    /// Who they are.
    pub threads: Vec<Of>,
    /// The thread with whose end the recorded command ended, if a command was recorded.
    pub main: Option<usize>,
    /// When that thread began and ended, ns since the begin of the recording; without it, these of the recording.
    pub(crate) span: [i64; 2],
    /// The length of the recording, ns.
    pub length_ns: i64,
    /// The number of CPUs.
    pub cpus: usize,
    /// For how long what threads of the recorded process did is unknown, ns.
    pub unknown_ns: i64,
}

impl Demand {
    /// When the recorded command began, ns since the begin of the recording.
    #[must_use]
    pub fn begin_ns(&self) -> i64 {
        self.span[0]
    }

    /// How long it took, ns.
    #[must_use]
    pub fn recorded_ns(&self) -> i64 {
        self.span[1] - self.span[0]
    }
}

/// Something that a thread does for another one, at a time of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Does {
    Post(usize),
    Start(usize),
}

/// Makes the program of a recording.
///
/// # Errors
/// The recording cannot be read.
pub fn demand(session: &Session) -> Result<Demand, EngineError> {
    let has_run = |(_, of): &(ThreadKey, Thread)| of.parts.iter().any(|part| matches!(part, Part::Ran { .. }));
    let mut all: Vec<(ThreadKey, Thread)> = stretches::read(session)?.into_iter().filter(has_run).collect();
    // Keys are in the order in which threads were first seen, which the scheduler decides.
    all.sort_by_key(|(key, of)| (of.tid, *key));
    let places: BTreeMap<ThreadKey, usize> = all.iter().enumerate().map(|(place, (key, _))| (*key, place)).collect();
    let mut does: Vec<Vec<(i64, Does)>> = vec![Vec::new(); all.len()];
    for (place, (_, of)) in all.iter().enumerate() {
        for part in &of.parts {
            if let Part::Waited { to, ended_by: Ended::Thread(waker), .. } = part
                && let Some(waker) = places.get(waker)
            {
                does[*waker].push((*to, Does::Post(place)));
            }
        }
        if let Some((at, Some(creator))) = of.created
            && let Some(creator) = places.get(&creator)
        {
            does[*creator].push((at, Does::Start(place)));
        }
    }
    let cpus = session.machine().cpus.len();
    let mut groups = Groups::default();
    let mut program = Program::default();
    let autogroups = autogroups(session)?;
    let focus = session.facts().focus;
    let mut unknown_ns = 0;
    for (place, (_, of)) in all.iter().enumerate() {
        does[place].sort_by_key(|(at, _)| *at);
        let starts = match of.created {
            Some((_, Some(creator))) if places.contains_key(&creator) => None,
            Some((at, _)) => Some(at),
            None => Some(0),
        };
        if of.pid.is_some() && of.pid == focus {
            unknown_ns += of
                .parts
                .iter()
                .map(|part| if let Part::Waited { from, to, ended_by: Ended::Unknown } = part { to - from } else { 0 })
                .sum::<i64>();
        }
        program.threads.push(simulate::Thread {
            name: of.name.clone(),
            ops: ops(place, of, &does[place], &places),
            class: class(of),
            nice: of.nice.unwrap_or(0).clamp(-20, 19) as i8,
            affinity: affinity(of, cpus),
            group: groups.of(of, autogroups.get(&of.pid.unwrap_or(0)).copied()),
            starts,
            ..simulate::Thread::default()
        });
    }
    program.groups = groups.all;
    program.objects = vec![Object::Semaphore(0); all.len()];
    let main = all.iter().position(|(_, of)| focus == Some(of.tid));
    let length_ns = session.summary().span_ns;
    let span = main.map_or([0, length_ns], |main| all[main].1.span());
    Ok(Demand {
        program,
        span,
        threads: all
            .into_iter()
            .map(|(thread, of)| Of { thread, tid: of.tid, pid: of.pid, name: of.name, ready_ns: of.ready_ns })
            .collect(),
        main,
        length_ns,
        cpus,
        unknown_ns,
    })
}

/// What a thread does, in order.
fn ops(place: usize, of: &Thread, does: &[(i64, Does)], places: &BTreeMap<ThreadKey, usize>) -> Vec<Op> {
    let mut ops = Vec::new();
    let has_period = of.has_period();
    // When its last sleep until a time of its clock ended.
    let mut last = None;
    let mut does = does.iter().peekable();
    for part in &of.parts {
        match *part {
            Part::Ran { from, to } => {
                let mut at = from;
                while let Some((when, what)) = does.next_if(|(when, _)| *when <= to) {
                    let when = (*when).clamp(at, to);
                    run(&mut ops, when - at);
                    at = when;
                    ops.push(what.op());
                }
                run(&mut ops, to - at);
            }
            Part::Waited { from, to, ended_by } => {
                // It woke others before, although they were seen to be woken only later.
                while let Some((_, what)) = does.next_if(|(when, _)| *when < to) {
                    ops.push(what.op());
                }
                match ended_by {
                    Ended::Thread(waker) if places.contains_key(&waker) => ops.push(Op::Wait(place)),
                    Ended::Interrupt if has_period => {
                        ops.push(Op::SleepNext(to - last.unwrap_or(from)));
                        last = Some(to);
                    }
                    Ended::Nothing => {}
                    _ => ops.push(Op::SleepFor(to - from)),
                }
            }
        }
    }
    ops.extend(does.map(|(_, what)| what.op()));
    ops
}

impl Does {
    fn op(self) -> Op {
        match self {
            Self::Post(object) => Op::Post(object, 1),
            Self::Start(thread) => Op::Start(thread),
        }
    }
}

/// Adds work, to that before if nothing is between them.
fn run(ops: &mut Vec<Op>, ns: i64) {
    match ops.last_mut() {
        Some(Op::Run(before)) => *before += ns,
        _ if ns > 0 => ops.push(Op::Run(ns)),
        _ => {}
    }
}

/// The autogroup of each process, if autogroups are on: the last one, which it had since its last exec.
fn autogroups(session: &Session) -> Result<BTreeMap<i32, Autogroup>, EngineError> {
    let condition = session.facts().conditions.iter().find(|condition| condition.name == "autogroup");
    let is_on = condition.is_some_and(|condition| condition.start.as_ref().is_ok_and(|value| value.trim() == "1"));
    let processes = if is_on { session.processes()? } else { Vec::new() };
    Ok(processes.iter().filter_map(|process| Some((process.pid, process.autogroup?))).collect())
}

/// The CPUs on which it may run, unless these are all.
fn affinity(of: &Thread, cpus: usize) -> Option<Cpus> {
    let list = topology::cpulist::parse(of.affinity.as_deref()?).ok()?;
    let set = Cpus::of(list.into_iter().map(|cpu| cpu.0 as usize).filter(|cpu| *cpu < cpus));
    let count = set.iter().count();
    (count > 0 && count < cpus).then_some(set)
}

fn class(of: &Thread) -> Class {
    let priority = of.prio.map_or(1, |prio| (99 - prio).clamp(1, 99) as u8);
    match of.policy.as_deref() {
        Some("fifo") => Class::Fifo(priority),
        // Threads with a deadline come before all others.
        Some("deadline") => Class::Fifo(99),
        Some("rr") => Class::RoundRobin(priority),
        Some("batch") => Class::Batch,
        Some("idle") => Class::Idle,
        _ => Class::Other,
    }
}

/// The groups of the program, by path.
struct Groups {
    all: Vec<Group>,
    places: BTreeMap<String, usize>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { all: vec![Group::ROOT], places: BTreeMap::new() }
    }
}

impl Groups {
    /// The group of a thread: its cgroup or, in the root, its autogroup.
    fn of(&mut self, of: &Thread, autogroup: Option<Autogroup>) -> usize {
        let path = of.cgroup.as_deref().map(|path| path.strip_prefix("cpu:").unwrap_or(path)).unwrap_or("/");
        if path == "/" || !path.starts_with('/') {
            return autogroup.map_or(0, |Autogroup { id, nice }| {
                let weight = weight_of(nice) as u32;
                self.place(format!("autogroup-{id}"), Group { parent: Some(0), weight, quota: None })
            });
        }
        let mut place = 0;
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            place = self.place(path[..end].to_owned(), Group { parent: Some(place), weight: 1024, quota: None });
        }
        if let Some(weight) = of.weight {
            self.all[place].weight = (weight * 1024 / 100).clamp(2, 1_000_000) as u32;
        }
        // A damaged recording may have periods without a length.
        let quota = of.quota.filter(|(quota, period)| *quota > 0 && *period > 0);
        self.all[place].quota = quota.or(self.all[place].quota);
        place
    }

    /// The place of a group, which is added if it is new.
    fn place(&mut self, path: String, group: Group) -> usize {
        *self.places.entry(path).or_insert_with(|| {
            self.all.push(group);
            self.all.len() - 1
        })
    }
}
