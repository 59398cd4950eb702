//! Which threads ran on the CPU of a ready thread's run queue.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, CpuNow, World};
use model::{CpuId, CpuState, CpuStretch, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use rustc_hash::FxHashMap;

pub(crate) struct RanInstead {
    threads: ByThread<Thread>,
    /// The ready threads on each CPU's run queue, by index; the last queue is for an unknown CPU. After these, the same
    /// number of queues for throttled threads, which do not wait for the thread that runs there.
    queues: Vec<Queue>,
    /// The number of each entry.
    numbers: FxHashMap<WaitedFor, u32>,
    waited: ByThread<Waited>,
}

/// What a ready thread waited for: a thread on a CPU, an idle CPU, or the end of throttling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct WaitedFor {
    throttled: bool,
    thread: ThreadKey,
    prio: Option<i16>,
    /// The class of the CPU's core; −1 if unknown.
    core_class: i64,
}

#[derive(Clone, Copy)]
struct Thread {
    tid: Tid,
    open: Option<Open>,
}

/// The wait of a ready thread.
#[derive(Clone, Copy)]
struct Open {
    queue: usize,
    /// Its index in the queue.
    at: usize,
    since: Ns,
    /// The first entry of [`Queue::ran`] in its wait, and the part of that entry before the wait.
    from: u32,
    over: Ns,
}

/// A run queue. One running thread may keep hundreds waiting. Adding its time to each of them at every switch would be
/// too slow, so the stretches are buffered and then added up for one waiting thread after the other.
#[derive(Clone, Default)]
struct Queue {
    ready: Vec<ThreadKey>,
    /// What ran while a thread was ready, in order, up to `recorded_to`.
    ran: Vec<Ran>,
    recorded_to: Ns,
    /// Completed waits for some of these.
    waits: Vec<Wait>,
}

#[derive(Clone, Copy)]
struct Ran {
    ran_instead: u32,
    time: Ns,
}

#[derive(Clone, Copy)]
struct Wait {
    thread: ThreadKey,
    from: u32,
    to: u32,
    over: Ns,
}

/// The maximum number of buffered stretches or waits of a queue. It is large, so that the sums of a thread, which are
/// slow to fetch from memory, are used thousands of times.
const KEPT: usize = 1 << 13;

impl Queue {
    /// Removes a thread. `moved` gets the thread whose index changes to this one.
    fn leave(&mut self, at: usize, moved: impl FnOnce(ThreadKey)) {
        self.ready.swap_remove(at);
        self.ready.get(at).copied().map(moved);
    }

    /// Completes the wait of a thread, up to `recorded_to`. Returns whether it contains any entry.
    fn close(&mut self, thread: ThreadKey, Open { from, over, .. }: Open) -> bool {
        let to = self.ran.len() as u32; // KEPT at most
        if from < to {
            self.waits.push(Wait { thread, from, to, over });
        }
        from < to
    }

    fn is_full(&self) -> bool {
        self.ran.len().max(self.waits.len()) >= KEPT
    }
}

/// The time that a thread waited for each entry, by the entry's number, in pages.
#[derive(Clone, Default)]
struct Waited(Vec<Option<Box<[i64; PAGE]>>>);

/// The number of entries in a page. With thousands of threads that each wait for few others, most pages hold one sum.
const PAGE: usize = 16;

impl Waited {
    #[inline]
    fn add(&mut self, ran_instead: u32, time: Ns) {
        let (page, at) = (ran_instead as usize / PAGE, ran_instead as usize % PAGE);
        if page >= self.0.len() {
            self.0.resize(page + 1, None);
        }
        let sum = &mut self.0[page].get_or_insert_with(|| Box::new([0; PAGE]))[at];
        // A thread's waits do not overlap, so their sum cannot exceed the span.
        *sum = sum.wrapping_add(time.0);
    }

    fn iter(&self) -> impl Iterator<Item = (usize, Ns)> {
        let pages = self.0.iter().enumerate().filter_map(|(page, sums)| Some((page, sums.as_ref()?)));
        let sums =
            pages.flat_map(|(page, sums)| sums.iter().enumerate().map(move |(at, sum)| (page * PAGE + at, Ns(*sum))));
        sums.filter(|(_, sum)| *sum > Ns::ZERO)
    }
}

impl Default for Thread {
    fn default() -> Self {
        Self { tid: Tid::UNKNOWN, open: None }
    }
}

impl WaitedFor {
    fn of(cpu: Option<&CpuNow>) -> Self {
        let Some(cpu) = cpu else {
            return Self { throttled: false, thread: ThreadKey::UNKNOWN, prio: None, core_class: -1 };
        };
        let thread = match cpu.state {
            CpuState::Busy => cpu.thread,
            CpuState::Idle => ThreadKey::IDLE,
            CpuState::Unknown => ThreadKey::UNKNOWN,
        };
        Self { throttled: false, thread, prio: cpu.prio(), core_class: i64::from(cpu.class) }
    }

    /// Throttling of a thread on this CPU's run queue.
    fn quota(cpu: Option<&CpuNow>) -> Self {
        Self { throttled: true, thread: ThreadKey::UNKNOWN, prio: None, ..Self::of(cpu) }
    }

    /// Returns the name in the table.
    fn word(self) -> &'static str {
        match self.thread {
            _ if self.throttled => "throttled",
            ThreadKey::UNKNOWN => "unknown",
            ThreadKey::IDLE => "idle",
            _ => "thread",
        }
    }
}

impl RanInstead {
    /// Returns the number for what a queue's threads waited for until now.
    fn ran_instead(&mut self, queue: usize, world: &World) -> u32 {
        let half = self.queues.len() / 2;
        let ran_instead = match queue.checked_sub(half) {
            Some(of) => WaitedFor::quota(world.cpus.get(of)),
            None => WaitedFor::of(world.cpus.get(queue)),
        };
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(ran_instead).or_insert(next)
    }

    /// Appends what ran until now to a queue.
    fn record(&mut self, queue: usize, world: &World) {
        let time = world.now - std::mem::replace(&mut self.queues[queue].recorded_to, world.now);
        if time > Ns::ZERO && !self.queues[queue].ready.is_empty() {
            let ran_instead = self.ran_instead(queue, world);
            self.queues[queue].ran.push(Ran { ran_instead, time });
            if self.queues[queue].is_full() {
                self.count(queue);
            }
        }
    }

    /// Adds up the buffered stretches of a queue, thread by thread.
    fn count(&mut self, queue: usize) {
        let mut of = std::mem::take(&mut self.queues[queue]);
        for at in 0..of.ready.len() {
            let thread = of.ready[at];
            if let Some(open) = &mut self.threads.of(thread).open {
                if of.close(thread, *open) {
                    open.over = Ns::ZERO;
                }
                open.from = 0;
            }
        }
        of.waits.sort_unstable_by_key(|wait| wait.thread);
        for wait in of.waits.drain(..) {
            let waited = self.waited.of(wait.thread);
            let mut over = wait.over;
            for ran in &of.ran[wait.from as usize..wait.to as usize] {
                waited.add(ran.ran_instead, ran.time - std::mem::take(&mut over));
            }
        }
        of.ran.clear();
        self.queues[queue] = of;
    }

    fn enter_queue(&mut self, thread: ThreadKey, place: Option<usize>, throttled: bool, now: Ns) {
        let half = self.queues.len() / 2;
        let queue = place.unwrap_or(half - 1) + if throttled { half } else { 0 };
        let of = &mut self.queues[queue];
        let open =
            Open { queue, at: of.ready.len(), since: now, from: of.ran.len() as u32, over: now - of.recorded_to };
        of.ready.push(thread);
        self.threads.of(thread).open = Some(open);
    }

    /// Returns the queue of a thread, if it was ready.
    fn leave_queue(&mut self, thread: ThreadKey, world: &World) -> Option<usize> {
        let open = self.threads.of(thread).open.take()?;
        let Open { queue, at, since, .. } = open;
        let ran_instead = self.ran_instead(queue, world);
        let of = &mut self.queues[queue];
        self.waited.of(thread).add(ran_instead, world.now - since.max(of.recorded_to));
        of.close(thread, open);
        let threads = &mut self.threads;
        of.leave(at, |moved| {
            if let Some(open) = &mut threads.of(moved).open {
                open.at = at;
            }
        });
        if self.queues[queue].is_full() {
            self.count(queue);
        }
        Some(queue)
    }

    fn row(&self, thread: ThreadKey, ran_instead: WaitedFor, time: Ns, world: &World) -> [Value; 9] {
        let tid = |thread| i64::from(self.threads.get(thread).map_or(Tid::UNKNOWN, |t| t.tid).0);
        let known = Some(ran_instead.thread).filter(|t| *t != ThreadKey::UNKNOWN);
        let core_class = Some(ran_instead.core_class).filter(|c| *c >= 0);
        let core = world.cpus.iter().find(|c| Some(i64::from(c.class)) == core_class);
        [
            thread.into(),
            tid(thread).into(),
            ran_instead.word().into(),
            known.map(|t| t.0).into(),
            known.map(|t| if t == ThreadKey::IDLE { 0 } else { tid(t) }).into(),
            ran_instead.prio.map(i64::from).into(),
            core_class.into(),
            core.map(|c| c.core_type.as_str()).into(),
            time.into(),
        ]
    }
}

impl Analysis for RanInstead {
    fn new(context: &Context<'_>) -> Self {
        let queues = World::new(context).cpus.len() + 1;
        Self {
            threads: ByThread::new(),
            queues: vec![Queue::default(); 2 * queues],
            numbers: FxHashMap::default(),
            waited: ByThread::new(),
        }
    }

    fn weight() -> usize {
        17
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.leave_queue(stretch.thread, world);
        self.threads.of(stretch.thread).tid = stretch.tid;
        if stretch.state == ThreadState::Ready {
            let (thread, place) = (stretch.thread, stretch.cpu.and_then(|c| world.place(c)));
            self.enter_queue(thread, place, world.throttled.is(thread), world.now);
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.record(place, world);
        }
    }

    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        if self.leave_queue(thread, world).is_some() {
            self.enter_queue(thread, world.place(to), world.throttled.is(thread), world.now);
        }
    }

    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        if let Some(queue) = self.leave_queue(thread, world) {
            self.enter_queue(thread, Some(queue % (self.queues.len() / 2)), throttled, world.now);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for queue in 0..self.queues.len() {
            self.record(queue, world);
            self.count(queue);
        }
        let mut entries: Vec<(WaitedFor, u32)> = self.numbers.drain().collect();
        entries.sort_unstable_by_key(|(_, number)| *number);
        let mut waited = std::mem::replace(&mut self.waited, ByThread::new());
        for (thread, waited) in waited.iter() {
            let waited = std::mem::take(waited);
            let mut sums: Vec<(WaitedFor, Ns)> =
                waited.iter().map(|(ran_instead, time)| (entries[ran_instead].0, time)).collect();
            sums.sort_unstable();
            for (ran_instead, time) in sums {
                out.row(&self.row(thread, ran_instead, time, world));
            }
        }
    }
}
