//! Who ran on the CPU on whose run queue each thread was ready.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, CpuNow, World};
use model::{CpuState, CpuStretch, Move, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use rustc_hash::FxHashMap;

pub(crate) struct ReadyByThief {
    ready_known: bool,
    threads: ByThread<Thread>,
    /// Who is ready on each CPU's run queue, by place; last, on nobody knows whose.
    queues: Vec<Vec<ThreadKey>>,
    sums: FxHashMap<(ThreadKey, Thief), Ns>,
}

/// Somebody on a CPU, or nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Thief {
    thread: ThreadKey,
    prio: i16,
    /// Of the CPU; −1: nobody knows of which.
    core_class: i64,
}

#[derive(Clone, Copy)]
struct Thread {
    tid: Tid,
    open: Option<Open>,
}

/// A ready thread.
#[derive(Clone, Copy)]
struct Open {
    queue: usize,
    /// Its place among those on this queue.
    at: usize,
    /// What is before this has been counted.
    since: Ns,
}

impl Default for Thread {
    fn default() -> Self {
        Self { tid: Tid::UNKNOWN, open: None }
    }
}

impl Thief {
    fn of(cpu: Option<&CpuNow>) -> Self {
        let Some(cpu) = cpu else {
            return Self { thread: ThreadKey::UNKNOWN, prio: i16::MIN, core_class: -1 };
        };
        let thread = match cpu.state {
            CpuState::Busy => cpu.thread,
            CpuState::Idle => ThreadKey::IDLE,
            CpuState::Unknown => ThreadKey::UNKNOWN,
        };
        Self { thread, prio: cpu.prio(), core_class: i64::from(cpu.class) }
    }
}

impl ReadyByThief {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let queues = World::new(context).cpus.len() + 1;
        Self {
            ready_known: context.ready_known,
            threads: ByThread::new(),
            queues: vec![Vec::new(); queues],
            sums: FxHashMap::default(),
        }
    }

    /// Counts what a ready thread waited behind this one.
    fn count(&mut self, waiting: ThreadKey, thief: Thief, now: Ns) {
        let Some(open) = &mut self.threads.of(waiting).open else { return };
        let time = now - open.since;
        if time > Ns::ZERO {
            open.since = now;
            let sum = self.sums.entry((waiting, thief)).or_default();
            *sum = *sum + time;
        }
    }

    fn enter_queue(&mut self, thread: ThreadKey, queue: Option<usize>, now: Ns) {
        let queue = queue.unwrap_or(self.queues.len() - 1);
        self.threads.of(thread).open = Some(Open { queue, at: self.queues[queue].len(), since: now });
        self.queues[queue].push(thread);
    }

    fn leave_queue(&mut self, thread: ThreadKey, world: &World) -> bool {
        let Some(Open { queue, at, .. }) = self.threads.of(thread).open else { return false };
        self.count(thread, Thief::of(world.cpus.get(queue)), world.now);
        self.threads.of(thread).open = None;
        self.queues[queue].swap_remove(at);
        if let Some(moved) = self.queues[queue].get(at).copied()
            && let Some(open) = &mut self.threads.of(moved).open
        {
            open.at = at;
        }
        true
    }

    fn row(&self, thread: ThreadKey, thief: Thief, time: Ns, world: &World) -> [Value; 8] {
        let tid = |thread| i64::from(self.threads.get(thread).map_or(Tid::UNKNOWN, |t| t.tid).0);
        let known = Some(thief.thread).filter(|t| *t != ThreadKey::UNKNOWN);
        let core_class = Some(thief.core_class).filter(|c| *c >= 0);
        let core = world.cpus.iter().find(|c| Some(i64::from(c.class)) == core_class);
        [
            thread.0.into(),
            tid(thread).into(),
            known.map(|t| t.0).into(),
            known.map(|t| if t == ThreadKey::IDLE { 0 } else { tid(t) }).into(),
            Some(thief.prio).filter(|p| *p != i16::MIN).map(i64::from).into(),
            core_class.into(),
            core.map(|c| c.core_type.as_str()).into(),
            time.into(),
        ]
    }
}

impl Analysis for ReadyByThief {
    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.leave_queue(stretch.thread, world);
        self.threads.of(stretch.thread).tid = stretch.tid;
        if stretch.state == ThreadState::Ready && self.ready_known {
            self.enter_queue(stretch.thread, stretch.cpu.and_then(|c| world.place(c)), world.now);
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        let Some(place) = world.place(stretch.cpu) else { return };
        let thief = Thief::of(world.cpus.get(place));
        for at in 0..self.queues[place].len() {
            self.count(self.queues[place][at], thief, world.now);
        }
    }

    fn moved(&mut self, moved: &Move, world: &World) {
        if self.leave_queue(moved.thread, world) {
            self.enter_queue(moved.thread, world.place(moved.to), world.now);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for queue in 0..self.queues.len() {
            let thief = Thief::of(world.cpus.get(queue));
            for at in 0..self.queues[queue].len() {
                self.count(self.queues[queue][at], thief, world.now);
            }
        }
        let mut sums: Vec<_> = std::mem::take(&mut self.sums).into_iter().collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        for ((thread, thief), time) in sums {
            out.row(&self.row(thread, thief, time, world));
        }
    }
}
