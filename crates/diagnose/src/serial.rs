//! What single threads do alone, while CPUs are idle: the serial part of a program.
//!
//! ```text
//!   serial work of a thread = running alone in its pool while a CPU is idle, as far as it is on the critical path
//!   saving                  = serial work * idle / (idle + 1)      idle: the mean number of idle CPUs meanwhile
//! ```
//!
//! The saving is that of spreading this work over the idle CPUs as well (Amdahl, 1967).

use crate::context::{RuleContext, add};
use crate::pools::Processes;
use crate::range::Range;
use engine::EngineError;
use model::tables::{critical_by_thread, pools, waits};
use model::{Ns, ThreadKey, Tid, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// A thread of a pool, with its row of the table `pools`.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) thread: ThreadKey,
    pub(crate) tid: Tid,
    pub(crate) running: Ns,
    middle: Ns,
    spread: Ns,
    together: Ns,
    alone: Ns,
    alone_idle: Ns,
    /// The mean point in time at which it ran alone.
    alone_middle: Ns,
    pub(crate) turns: i64,
    /// Its running time on the critical path.
    on_path: Ns,
}

impl Member {
    /// The serial work.
    pub(crate) fn serial(&self) -> Ns {
        self.alone.min(self.on_path)
    }

    /// The mean number of CPUs that were idle while it ran alone.
    fn idle(&self) -> f64 {
        self.alone_idle.as_f64() / self.alone.max(Ns(1)).as_f64()
    }

    /// What spreading its serial work over at most `others` idle CPUs saves.
    pub(crate) fn saving(&self, others: f64) -> Ns {
        let idle = self.idle().min(others);
        Ns::whole(self.serial().as_f64() * idle / (idle + 1.0))
    }

    /// When it stopped, if its running time is spread evenly from its begin to its end.
    fn end(&self) -> Ns {
        self.middle + Ns::whole(self.spread.as_f64() * 3.0_f64.sqrt())
    }

    /// The mean time that it ran alone before another thread of its pool did.
    fn turn(&self) -> Ns {
        self.alone / self.turns.max(1)
    }
}

/// How the threads of a pool share work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// One thread, or one after the other: nothing is shared.
    None,
    /// Threads of one process take turns, many times.
    Turns,
    /// They do so every few microseconds: they hand over pieces of work or a lock.
    HandOver,
    /// They ran together, and then the others were done.
    LastPiece,
}

/// The threads of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) name: String,
    /// Those with the most serial work first.
    pub(crate) members: Vec<Member>,
    pub(crate) sharing: Sharing,
}

/// A member of a pool works if it has at least this part (1/50) of the pool's running time.
const WORKING: i64 = 50;
/// Threads that take turns do so at least this often each.
const MIN_TURNS: i64 = 8;
/// The running time of the second of the threads that take turns, relative to the first: with less, the first one does the work and the
/// others only give it its pieces.
const MIN_SECOND: f64 = 0.15;
/// The share of the running time of the others that those who were done before the last one have.
const DONE: f64 = 0.75;
/// A turn takes at least this long: shorter ones hand over a piece of work, or a lock (chunks-too-small, lock-convoy).
const MIN_TURN_NS: Ns = Ns(200_000);
/// A turn takes at most this long, as Ruby passes on its lock every 100 ms: a runtime that moves one thread of control from thread to thread
/// (Go) leaves it there for longer.
const MAX_TURN_NS: Ns = Ns(120_000_000);

impl Pool {
    /// Returns all pools of user threads with serial work.
    pub(crate) fn all(ctx: &RuleContext<'_>, processes: &Processes) -> Result<Vec<Self>, EngineError> {
        let mut on_path = BTreeMap::new();
        ctx.each_row(critical_by_thread::Table, |row| {
            let waiting: Ns = row
                .all([
                    critical_by_thread::READY_NS,
                    critical_by_thread::WAKEUP_LATENCY_NS,
                    critical_by_thread::THROTTLED_NS,
                    critical_by_thread::BLOCKED_NS,
                    critical_by_thread::EXITED_NS,
                    critical_by_thread::UNKNOWN_NS,
                ])
                .iter()
                .sum();
            on_path.insert(
                row.get(critical_by_thread::THREAD),
                (row.get(critical_by_thread::PATH_NS) - waiting).max(Ns::ZERO),
            );
        })?;
        let mut pools = BTreeMap::<String, Vec<Member>>::new();
        ctx.each_row(pools::Table, |row| {
            let (thread, name) = (row.get(pools::THREAD), row.get(pools::POOL.or_empty()));
            if name.is_empty() || ctx.is_kernel_thread(thread) {
                return;
            }
            let (tid, running, middle, spread) =
                row.all((pools::TID, pools::RUNNING_NS, pools::MIDDLE_NS, pools::SPREAD_NS));
            let (together, alone, alone_idle, turns) =
                row.all((pools::TOGETHER_NS, pools::ALONE_NS, pools::ALONE_IDLE_CPUS_NS, pools::TURNS));
            let alone_middle = row.get(pools::ALONE_MIDDLE_NS.or_zero());
            let on_path = on_path.get(&thread).copied().unwrap_or(Ns::ZERO);
            pools.entry(name.to_owned()).or_default().push(Member {
                thread,
                tid,
                running,
                middle,
                spread,
                together,
                alone,
                alone_idle,
                alone_middle,
                turns,
                on_path,
            });
        })?;
        let all = pools.into_iter().map(|(name, mut members)| {
            members.sort_by_key(|member| (std::cmp::Reverse(member.serial()), member.thread));
            let sharing = sharing(&members, processes);
            Self { name: ctx.name_of_all(members.iter().map(|member| member.thread), &name), members, sharing }
        });
        let mut all: Vec<Self> = all.filter(|pool| pool.serial() > Ns::ZERO).collect();
        all.sort_by_key(|pool| std::cmp::Reverse(pool.serial()));
        Ok(all)
    }

    /// The serial work of all members.
    pub(crate) fn serial(&self) -> Ns {
        self.members.iter().fold(Ns::ZERO, |sum, member| sum + member.serial())
    }

    /// The members that do a notable part of the pool's work.
    pub(crate) fn working(&self) -> impl Iterator<Item = &Member> {
        working(&self.members)
    }
}

fn working(members: &[Member]) -> impl Iterator<Item = &Member> {
    let all = members.iter().fold(Ns::ZERO, |sum, member| sum + member.running);
    members.iter().filter(move |member| member.running >= all / WORKING)
}

fn sharing(members: &[Member], processes: &Processes) -> Sharing {
    let Some(last) = members.first() else { return Sharing::None };
    let others = || working(members).filter(|member| member.thread != last.thread);
    let takes_turns = |member: &&Member| {
        member.turns >= MIN_TURNS && member.together <= member.running / 5 && member.turn() <= MAX_TURN_NS
    };
    let enough = |member: &&Member| member.running.as_f64() >= MIN_SECOND * last.running.as_f64();
    let alternates = others()
        .filter(|member| processes.are_one(member.thread, last.thread))
        .any(|member| takes_turns(&member) && enough(&member));
    if takes_turns(&last) && alternates {
        return if last.turn() >= MIN_TURN_NS { Sharing::Turns } else { Sharing::HandOver };
    }
    // Most of the others ran while another one ran, for most of their time, and were done before the last one ran alone: not all, as
    // the thread that hands out the work often has the name of its workers.
    let was_done = |member: &&Member| {
        member.together * 2 >= member.running
            && member.end() < last.end() - last.serial() / 2
            && member.middle < last.alone_middle
    };
    let running = |member: &Member| member.running;
    let (all, done): (Ns, Ns) = (others().map(running).sum(), others().filter(was_done).map(running).sum());
    let is_servers = processes.is_servers(last.thread);
    if done > Ns::ZERO && done.as_f64() >= DONE * all.as_f64() && !is_servers {
        Sharing::LastPiece
    } else {
        Sharing::None
    }
}

/// The threads of one pool of another process that wait for a thread for at least half of the time: its clients. The other threads of its
/// own process may only wait for work.
pub(crate) fn clients(
    ctx: &RuleContext<'_>,
    processes: &Processes,
    server: ThreadKey,
) -> Result<BTreeSet<ThreadKey>, EngineError> {
    let mut blocked = BTreeMap::new();
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        if row.get(waits::WAKER) == Some(server) && !processes.are_one(thread, server) && !ctx.is_kernel_thread(thread)
        {
            add(&mut blocked, thread, row.get(waits::BLOCKED_NS));
        }
    })?;
    let half = ctx.span().len() / 2;
    let mut pools = BTreeMap::<_, BTreeSet<ThreadKey>>::new();
    for (thread, _) in blocked.into_iter().filter(|(_, ns)| *ns >= half) {
        pools.entry(pool_name(&ctx.name(thread)).to_owned()).or_default().insert(thread);
    }
    Ok(pools.into_values().max_by_key(BTreeSet::len).unwrap_or_default())
}

/// The range of what dividing serial work gains.
pub(crate) const SERIAL_RANGE: Range = Range { low: 0.5, high: 1.45 };

/// The same for threads that take turns: what they lose to the turns themselves (wakeups, cold caches, waiting for a lock that is free
/// again) is not part of their serial work.
pub(crate) const TURNS_RANGE: Range = Range { low: 0.6, high: 1.8 };
