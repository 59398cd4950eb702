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
    /// Place of each thief in `waited`.
    thieves: FxHashMap<Thief, usize>,
    waited: Vec<Waited>,
}

/// Somebody on a CPU, or nobody, or no CPU at all but time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Thief {
    throttled: bool,
    thread: ThreadKey,
    prio: i16,
    /// Of the CPU; −1: nobody knows of which.
    core_class: i64,
}

#[derive(Clone, Copy)]
struct Thread {
    tid: Tid,
    /// Ready: its queue, and its place there.
    open: Option<(usize, usize)>,
}

/// The ready threads of a run queue. Those before `fresh` have been here since all were counted last, so that they all have
/// waited as long since; what the others waited before `since` has been counted.
#[derive(Clone, Default)]
struct Queue {
    ready: Vec<Ready>,
    fresh: usize,
    counted: Ns,
}

#[derive(Clone, Copy)]
struct Ready {
    thread: ThreadKey,
    since: Ns,
}

impl Queue {
    fn since(&self, at: usize) -> Ns {
        if at < self.fresh { self.counted } else { self.ready[at].since }
    }

    /// Takes one out; the places of those that stand elsewhere now are told.
    fn leave(&mut self, mut at: usize, mut moved: impl FnMut(ThreadKey, usize)) {
        if at < self.fresh {
            self.fresh -= 1;
            self.ready.swap(at, self.fresh);
            moved(self.ready[at].thread, at);
            at = self.fresh;
        }
        self.ready.swap_remove(at);
        if let Some(last) = self.ready.get(at) {
            moved(last.thread, at);
        }
    }
}

/// How long each thread waited behind one thief, by key, in pages: a thief keeps hundreds waiting at each switch, so that
/// looking each pair up would take most of the time.
#[derive(Default)]
struct Waited(Vec<Option<Box<[Ns; PAGE]>>>);

/// Threads to a page.
const PAGE: usize = 64;

impl Waited {
    #[inline]
    fn add(&mut self, thread: ThreadKey, time: Ns) {
        let key = usize::try_from(thread.0).unwrap_or(0);
        let (page, at) = (key / PAGE, key % PAGE);
        if page >= self.0.len() {
            self.0.resize_with(page + 1, || None);
        }
        let sum = &mut self.0[page].get_or_insert_with(|| Box::new([Ns::ZERO; PAGE]))[at];
        *sum = *sum + time;
    }

    fn iter(&self) -> impl Iterator<Item = (ThreadKey, Ns)> {
        let pages = self.0.iter().enumerate().filter_map(|(page, sums)| Some((page, sums.as_ref()?)));
        let threads =
            pages.flat_map(|(page, sums)| sums.iter().enumerate().map(move |(at, sum)| (page * PAGE + at, *sum)));
        threads.filter(|(_, sum)| *sum > Ns::ZERO).map(|(key, sum)| (ThreadKey(key as i64), sum))
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
            return Self { throttled: false, thread: ThreadKey::UNKNOWN, prio: i16::MIN, core_class: -1 };
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
        Self { throttled: true, thread: ThreadKey::UNKNOWN, prio: i16::MIN, ..Self::of(cpu) }
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
    /// What those on a queue wait behind, who was on its CPU until now: its place in `waited`.
    fn thief(&mut self, queue: usize, world: &World) -> usize {
        let next = self.waited.len();
        let half = self.queues.len() / 2;
        let thief = match queue.checked_sub(half) {
            Some(of) => Thief::quota(world.cpus.get(of)),
            None => Thief::of(world.cpus.get(queue)),
        };
        let thief = *self.thieves.entry(thief).or_insert(next);
        if thief == next {
            self.waited.push(Waited::default());
        }
        thief
    }

    /// Counts what all of a queue have waited until now.
    fn count(&mut self, queue: usize, world: &World) {
        if self.queues[queue].ready.is_empty() {
            return;
        }
        let thief = self.thief(queue, world);
        let (waited, Queue { ready, fresh, counted }) = (&mut self.waited[thief], &mut self.queues[queue]);
        let (before, new) = ready.split_at(*fresh);
        let time = world.now - *counted;
        if time > Ns::ZERO {
            before.iter().for_each(|ready| waited.add(ready.thread, time));
        }
        new.iter().for_each(|ready| waited.add(ready.thread, world.now - ready.since));
        (*fresh, *counted) = (ready.len(), world.now);
    }

    fn enter_queue(&mut self, thread: ThreadKey, place: Option<usize>, throttled: bool, now: Ns) {
        let half = self.queues.len() / 2;
        let queue = place.unwrap_or(half - 1) + if throttled { half } else { 0 };
        self.threads.of(thread).open = Some((queue, self.queues[queue].ready.len()));
        self.queues[queue].ready.push(Ready { thread, since: now });
    }

    /// The queue on which it was, if it was ready.
    fn leave_queue(&mut self, thread: ThreadKey, world: &World) -> Option<usize> {
        let (queue, at) = self.threads.of(thread).open.take()?;
        let thief = self.thief(queue, world);
        self.waited[thief].add(thread, world.now - self.queues[queue].since(at));
        let threads = &mut self.threads;
        self.queues[queue].leave(at, |moved, at| threads.of(moved).open = Some((queue, at)));
        // Whoever left may have been moved last.
        threads.of(thread).open = None;
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
            Some(thief.prio).filter(|p| *p != i16::MIN).map(i64::from).into(),
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
            waited: Vec::new(),
        }
    }

    fn weight() -> usize {
        60
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
            self.count(place, world);
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
            self.count(queue, world);
        }
        let thieves = std::mem::take(&mut self.thieves);
        let mut sums: Vec<(ThreadKey, Thief, Ns)> = Vec::new();
        for (thief, at) in thieves {
            sums.extend(self.waited[at].iter().map(|(thread, time)| (thread, thief, time)));
        }
        sums.sort_unstable();
        for (thread, thief, time) in sums {
            out.row(&self.row(thread, thief, time, world));
        }
    }
}
