//! Who ran on the CPU on whose run queue each thread was ready.

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, CpuNow, World};
use model::{CpuId, CpuState, CpuStretch, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};
use rustc_hash::FxHashMap;

pub(crate) struct ReadyByThief {
    ready_known: bool,
    threads: ByThread<Thread>,
    /// Who is ready on each CPU's run queue, by place; last, on nobody knows whose. Behind these, as many for those of them that are
    /// throttled: who runs there is not what they wait for.
    queues: Vec<Queue>,
    /// Number of each thief.
    thieves: FxHashMap<Thief, u32>,
    waited: ByThread<Waited>,
}

/// Somebody on a CPU, or nobody, or no CPU at all but time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Thief {
    throttled: bool,
    thread: ThreadKey,
    prio: Option<i16>,
    /// Of the CPU; −1: nobody knows of which.
    core_class: i64,
}

#[derive(Clone, Copy)]
struct Thread {
    tid: Tid,
    open: Option<Open>,
}

/// A thread is ready.
#[derive(Clone, Copy)]
struct Open {
    queue: usize,
    /// Its place there.
    at: usize,
    since: Ns,
    /// The first of [`Queue::ran`] behind which it waits, and how much of that was over when it came.
    from: u32,
    over: Ns,
}

/// A run queue. A thief keeps hundreds waiting, so that counting them one by one at each switch would take most of the time:
/// who ran is kept for a while, and then counted for one thread after the other.
#[derive(Clone, Default)]
struct Queue {
    ready: Vec<ThreadKey>,
    /// Who ran while somebody was ready, one after the other, up to `told`.
    ran: Vec<Ran>,
    told: Ns,
    /// Waits that are over, behind some of these.
    waits: Vec<Wait>,
}

#[derive(Clone, Copy)]
struct Ran {
    thief: u32,
    time: Ns,
}

#[derive(Clone, Copy)]
struct Wait {
    thread: ThreadKey,
    from: u32,
    to: u32,
    over: Ns,
}

/// How many stretches of a CPU, and waits behind them, are kept before they are counted: so many that a thread's sums, which must
/// be fetched from far for it, are used thousands of times.
const KEPT: usize = 1 << 13;

impl Queue {
    /// Takes one out; the new place of the one that stands there now is told.
    fn leave(&mut self, at: usize, moved: impl FnOnce(ThreadKey)) {
        self.ready.swap_remove(at);
        self.ready.get(at).copied().map(moved);
    }

    /// What a thread waited behind until `told`, if anything.
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

/// How long a thread waited behind each thief, by the thief's number, in pages.
#[derive(Clone, Default)]
struct Waited(Vec<Option<Box<[i64; PAGE]>>>);

/// Thieves to a page: of thousands of threads that wait behind few others each, most pages hold one sum.
const PAGE: usize = 16;

impl Waited {
    #[inline]
    fn add(&mut self, thief: u32, time: Ns) {
        let (page, at) = (thief as usize / PAGE, thief as usize % PAGE);
        if page >= self.0.len() {
            self.0.resize(page + 1, None);
        }
        let sum = &mut self.0[page].get_or_insert_with(|| Box::new([0; PAGE]))[at];
        // A thread's waits do not overlap: together they are no longer than time itself.
        *sum = sum.wrapping_add(time.0);
    }

    fn iter(&self) -> impl Iterator<Item = (usize, Ns)> {
        let pages = self.0.iter().enumerate().filter_map(|(page, sums)| Some((page, sums.as_ref()?)));
        let thieves =
            pages.flat_map(|(page, sums)| sums.iter().enumerate().map(move |(at, sum)| (page * PAGE + at, Ns(*sum))));
        thieves.filter(|(_, sum)| *sum > Ns::ZERO)
    }
}

impl Default for Thread {
    fn default() -> Self {
        Self { tid: Tid::UNKNOWN, open: None }
    }
}

impl Thief {
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

    /// A quota, of a thread on this CPU's run queue.
    fn quota(cpu: Option<&CpuNow>) -> Self {
        Self { throttled: true, thread: ThreadKey::UNKNOWN, prio: None, ..Self::of(cpu) }
    }

    /// The word in the table.
    fn word(self) -> &'static str {
        match self.thread {
            _ if self.throttled => "throttled",
            ThreadKey::UNKNOWN => "unknown",
            ThreadKey::IDLE => "idle",
            _ => "thread",
        }
    }
}

impl ReadyByThief {
    /// What those on a queue wait behind, who was on its CPU until now: its number.
    fn thief(&mut self, queue: usize, world: &World) -> u32 {
        let half = self.queues.len() / 2;
        let thief = match queue.checked_sub(half) {
            Some(of) => Thief::quota(world.cpus.get(of)),
            None => Thief::of(world.cpus.get(queue)),
        };
        let next = u32::try_from(self.thieves.len()).unwrap_or(u32::MAX);
        *self.thieves.entry(thief).or_insert(next)
    }

    /// Keeps who ran until now before those of a queue.
    fn tell(&mut self, queue: usize, world: &World) {
        let time = world.now - std::mem::replace(&mut self.queues[queue].told, world.now);
        if time > Ns::ZERO && !self.queues[queue].ready.is_empty() {
            let thief = self.thief(queue, world);
            self.queues[queue].ran.push(Ran { thief, time });
            if self.queues[queue].is_full() {
                self.count(queue);
            }
        }
    }

    /// Counts what was kept of a queue, thread by thread.
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
                waited.add(ran.thief, ran.time - std::mem::take(&mut over));
            }
        }
        of.ran.clear();
        self.queues[queue] = of;
    }

    fn enter_queue(&mut self, thread: ThreadKey, place: Option<usize>, throttled: bool, now: Ns) {
        let half = self.queues.len() / 2;
        let queue = place.unwrap_or(half - 1) + if throttled { half } else { 0 };
        let of = &mut self.queues[queue];
        let open = Open { queue, at: of.ready.len(), since: now, from: of.ran.len() as u32, over: now - of.told };
        of.ready.push(thread);
        self.threads.of(thread).open = Some(open);
    }

    /// The queue on which it was, if it was ready.
    fn leave_queue(&mut self, thread: ThreadKey, world: &World) -> Option<usize> {
        let open = self.threads.of(thread).open.take()?;
        let Open { queue, at, since, .. } = open;
        let thief = self.thief(queue, world);
        let of = &mut self.queues[queue];
        self.waited.of(thread).add(thief, world.now - since.max(of.told));
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

    fn row(&self, thread: ThreadKey, thief: Thief, time: Ns, world: &World) -> [Value; 9] {
        let tid = |thread| i64::from(self.threads.get(thread).map_or(Tid::UNKNOWN, |t| t.tid).0);
        let known = Some(thief.thread).filter(|t| *t != ThreadKey::UNKNOWN);
        let core_class = Some(thief.core_class).filter(|c| *c >= 0);
        let core = world.cpus.iter().find(|c| Some(i64::from(c.class)) == core_class);
        [
            thread.0.into(),
            tid(thread).into(),
            thief.word().into(),
            known.map(|t| t.0).into(),
            known.map(|t| if t == ThreadKey::IDLE { 0 } else { tid(t) }).into(),
            thief.prio.map(i64::from).into(),
            core_class.into(),
            core.map(|c| c.core_type.as_str()).into(),
            time.into(),
        ]
    }
}

impl Analysis for ReadyByThief {
    fn new(context: &Context<'_>) -> Self {
        let queues = World::new(context).cpus.len() + 1;
        Self {
            ready_known: context.ready_known,
            threads: ByThread::new(),
            queues: vec![Queue::default(); 2 * queues],
            thieves: FxHashMap::default(),
            waited: ByThread::new(),
        }
    }

    fn weight() -> usize {
        17
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.leave_queue(stretch.thread, world);
        self.threads.of(stretch.thread).tid = stretch.tid;
        if stretch.state == ThreadState::Ready && self.ready_known {
            let (thread, place) = (stretch.thread, stretch.cpu.and_then(|c| world.place(c)));
            self.enter_queue(thread, place, world.throttled.is(thread), world.now);
        }
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some(place) = world.place(stretch.cpu) {
            self.tell(place, world);
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
            self.tell(queue, world);
            self.count(queue);
        }
        let mut thieves: Vec<(Thief, u32)> = self.thieves.drain().collect();
        thieves.sort_unstable_by_key(|(_, number)| *number);
        let mut waited = std::mem::replace(&mut self.waited, ByThread::new());
        for (thread, waited) in waited.iter() {
            let waited = std::mem::take(waited);
            let mut sums: Vec<(Thief, Ns)> = waited.iter().map(|(thief, time)| (thieves[thief].0, time)).collect();
            sums.sort_unstable();
            for (thief, time) in sums {
                out.row(&self.row(thread, thief, time, world));
            }
        }
    }
}
