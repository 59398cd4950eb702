//! Many streams, one order.
//!
//! Events of the same nanosecond: on one CPU in the order of the source; across CPUs, of each CPU's next event at that
//! instant wakings come before switches, then the lower CPU (ACCOUNTING.md). That is a rule for merging queues, not a sort
//! key, so each CPU keeps a queue of its own:
//!
//! ```text
//!   stream ──┐   cpu0  e e e e │ e e        │ horizon: the least `Until` of all streams.
//!   stream ──┼─► cpu1  e e     │ e     ──►  what lies before it is final and leaves in order
//!   stream ──┘   cpu2  e e e   │            (a silent CPU holds nobody up)
//! ```
//!
//! Beyond [`Limits::pending`] events the queues go to disk ([`crate::spill`]), so a source without a horizon costs
//! temporary files, not memory.

use crate::fifo::{Fifo, Spares};
use crate::numbers::{Numbers, OwnNumbers};
use crate::spill::Spill;
use crate::{Fatal, Ledger, Opened, Reach, Stream, Trouble, Troubles};
use model::{Batch, CpuId, Event, Ns, What};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// How much ingest may hold, and whether it reads ahead.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events in memory that wait for their turn.
    pub pending: usize,
    /// Events handed on at once.
    pub batch: usize,
    /// Whether [`crate::run`] reads a lone stream on a thread of its own, beside the one that puts its events in order.
    pub ahead: bool,
}

/// With no more CPUs than this, a thread more only takes turns with the others, and each batch wakes it.
const FEW_CPUS: usize = 2;

impl Default for Limits {
    fn default() -> Self {
        // 64 bytes each: 64 MiB, which two rounds of perf's largest buffers fit in; batches stay in a core's second cache.
        let ahead = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > FEW_CPUS);
        Self { pending: 1 << 20, batch: 4096, ahead }
    }
}

/// The events of a source in their final order, time 0 at the begin of the recording.
pub struct Ordered<'a> {
    streams: Vec<Source<'a>>,
    queues: Vec<Queue>,
    spares: Spares,
    by_cpu: FxHashMap<CpuId, usize>,
    /// Queues that got events out of order and are not sorted yet.
    torn: Vec<usize>,
    /// Whether one of those events is before the horizon.
    late_in_queue: bool,
    heads: BinaryHeap<Reverse<Head>>,
    horizon: Ns,
    /// Ignore what streams say of their horizon: the source broke its word.
    sort_all: bool,
    origin: Option<Ns>,
    limits: Limits,
    pending: usize,
    /// Events that left since more was final than a batch holds, and those read in their place: see [`Self::read_on`].
    gone: usize,
    read: usize,
    spill: Option<Spill>,
    numbers: Numbers,
    incoming: Batch,
    late: u64,
    /// Time of the last event that left: nothing earlier may come after it.
    left: Ns,
    /// Why reading stopped before the end of a stream, if it did.
    pub stopped: Option<Fatal>,
    /// Trouble met so far.
    pub troubles: Troubles,
}

struct Source<'a> {
    stream: Box<dyn Stream + Send + 'a>,
    until: Ns,
    ended: bool,
    /// Where there are several streams.
    own: OwnNumbers,
}

struct Queue {
    cpu: CpuId,
    events: Fifo,
    in_heads: bool,
    /// It holds events out of order, and stands in [`Ordered::torn`].
    torn: bool,
}

/// A queue's next event: its time, whether it is a switch, the CPU, and the queue.
type Head = (Ns, bool, CpuId, usize);

fn head(queue: &Queue, at: usize) -> Option<Head> {
    queue.events.waiting().first().map(|e| head_of(e, queue.cpu, at))
}

#[inline]
fn head_of(event: &Event, cpu: CpuId, at: usize) -> Head {
    (event.at, matches!(event.what, What::Switch(_)), cpu, at)
}

impl<'a> Ordered<'a> {
    /// `sort_all`: trust no horizon, sort everything (slower, on disk where it is large); for a source that handed out an
    /// event after its time had passed (see [`Self::late`]).
    #[must_use]
    pub fn new(opened: Opened<'a>, sort_all: bool, limits: Limits) -> Self {
        let source = |stream| Source { stream, until: Ns::MIN, ended: false, own: OwnNumbers::default() };
        Self {
            streams: opened.streams.into_iter().map(source).collect(),
            queues: Vec::new(),
            spares: Spares::default(),
            by_cpu: FxHashMap::default(),
            torn: Vec::new(),
            late_in_queue: false,
            heads: BinaryHeap::new(),
            horizon: Ns::MIN,
            sort_all,
            origin: opened.facts.begin,
            limits,
            pending: 0,
            gone: 0,
            read: 0,
            spill: None,
            numbers: Numbers::default(),
            incoming: Batch::default(),
            late: 0,
            left: Ns::MIN,
            stopped: None,
            troubles: Troubles::default(),
        }
    }

    /// Events that came after their time had passed and were left out. Where it is not 0 and the source can be read
    /// again, read it again with `sort_all`.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Time 0 on the source's own clock; `None` before the first sample.
    #[must_use]
    pub fn origin(&self) -> Option<Ns> {
        self.origin
    }

    /// Puts the next events into `out` (emptied first) with the texts they are the first to use; `false` at the end.
    /// A stream that cannot go on ends there ([`Self::stopped`]); what it delivered before stays good.
    pub fn next(&mut self, out: &mut Batch) -> bool {
        out.clear();
        self.emit(out);
        self.read_on(out);
        while !self.may_leave(&out.events) {
            if self.room(&out.events) > 0 {
                let (had, more) = (out.events.len(), self.pull(out));
                if !more {
                    self.horizon = Ns::MAX;
                }
                self.emit(out);
                if more || out.events.len() > had {
                    continue;
                }
            }
            if self.origin.is_none() {
                // No sample to set the clock by: the first time told is as good as any.
                let first = out.events.iter().find(|e| e.at != Ns::MIN).map_or(Ns::ZERO, |e| e.at);
                self.begin_at(first, &mut out.events);
            }
            break;
        }
        !(out.events.is_empty() && out.names.is_empty() && out.stacks.is_empty())
    }

    /// Whether these can leave: what holds from before the begin needs no clock, what is dated waits for the first sample.
    fn may_leave(&self, some: &[Event]) -> bool {
        let full = some.len() >= self.limits.batch;
        some.last().is_some_and(|last| self.origin.is_some() || full && last.at == Ns::MIN)
    }

    /// How many more may stand beside these: those of a batch, but that what waits for the first sample waits for all before that.
    #[inline]
    fn room(&self, some: &[Event]) -> usize {
        let waiting = self.origin.is_none() && some.last().is_some_and(|last| last.at != Ns::MIN);
        let most = if waiting { self.limits.pending.max(self.limits.batch) } else { self.limits.batch };
        most.saturating_sub(some.len())
    }

    /// Where more is final than a batch holds, as much is read as leaves: whoever takes the batches would otherwise wait while all
    /// up to the next mark is read, and reading while all of that is taken. So no more waits than did at the mark.
    fn read_on(&mut self, out: &mut Batch) {
        if out.events.len() < self.limits.batch {
            (self.gone, self.read) = (0, 0);
            return;
        }
        self.gone += out.events.len();
        while self.read < self.gone && self.pending < self.limits.pending {
            let before = self.pending;
            if !self.pull(out) {
                break;
            }
            self.read += self.pending.saturating_sub(before);
        }
    }

    /// The recording begins at its first sample, unless the source said where. What came before it waits in `earlier`.
    fn begin_at(&mut self, origin: Ns, earlier: &mut [Event]) {
        self.origin = Some(origin);
        earlier.iter_mut().for_each(|e| rebase(e, origin));
    }

    #[inline]
    fn deliver(&mut self, mut event: Event, out: &mut Vec<Event>) {
        if self.origin.is_none() && event.is_sample() {
            self.begin_at(event.at, out);
        }
        if let Some(origin) = self.origin {
            rebase(&mut event, origin);
        }
        out.push(event);
    }

    /// Asks the stream that is furthest behind for more; `false` where all have ended.
    fn pull(&mut self, out: &mut Batch) -> bool {
        let going = (0..self.streams.len()).filter(|i| !self.streams[*i].ended);
        let Some(at) = going.min_by_key(|i| self.streams[*i].until) else { return false };
        self.incoming.clear();
        let alone = self.streams.len() == 1;
        let source = &mut self.streams[at];
        let reach = source.stream.next(&mut self.incoming, &mut self.troubles);
        let left_out = std::mem::take(&mut self.incoming.left_out);
        self.troubles.left_out(left_out, self.incoming.events.first().map_or(0, |e| e.offset));
        match reach {
            Ok(Reach::Until(until)) => source.until = until.get().map_or(source.until, |until| source.until.max(until)),
            Ok(Reach::End) => (source.until, source.ended) = (Ns::MAX, true),
            Err(fatal) => {
                (source.until, source.ended) = (Ns::MAX, true);
                self.stopped.get_or_insert(fatal);
            }
        }
        if alone {
            out.names.append(&mut self.incoming.names);
            out.stacks.append(&mut self.incoming.stacks);
        } else {
            self.numbers.renumber(&mut self.incoming, &mut source.own, out);
        }
        self.enqueue_incoming();
        let before = self.horizon;
        if !self.sort_all {
            self.horizon = self.streams.iter().map(|s| s.until).min().unwrap_or(Ns::MAX);
        } else if self.streams.iter().all(|s| s.ended) {
            self.horizon = Ns::MAX;
        }
        // What came lies behind the horizon, so its order matters when that moves on; but for events that came late.
        if self.horizon > before || self.late_in_queue {
            self.mend();
        }
        // Once some are on disk, all that follow go there too, final or not.
        let stuck = || self.queues.iter().all(|q| q.events.waiting().first().is_none_or(|e| e.at >= self.horizon));
        if self.pending > self.limits.pending && (self.spill.is_some() || stuck()) {
            self.spill_queues();
        }
        true
    }

    fn queue_of(&mut self, cpu: CpuId) -> usize {
        *self.by_cpu.entry(cpu).or_insert_with(|| {
            self.queues.push(Queue { cpu, events: Fifo::default(), in_heads: false, torn: false });
            self.queues.len() - 1
        })
    }

    /// A buffer's events come in order, many of one CPU at a time, often all.
    fn enqueue_incoming(&mut self) {
        let mut incoming = std::mem::take(&mut self.incoming.events);
        let in_order = |a: &Event, b: &Event| a.cpu == b.cpu && a.at <= b.at;
        if let Some(at) = self.queue_for(&incoming).filter(|_| incoming.is_sorted_by(in_order)) {
            self.pending += incoming.len();
            self.queues[at].events.extend_with(&mut incoming, &mut self.spares);
            self.stand_in_heads(at);
        } else {
            for run in incoming.chunk_by(in_order) {
                self.enqueue_run(run);
            }
            incoming.clear();
        }
        self.incoming.events = incoming;
    }

    /// Takes events of one CPU that are in order among themselves.
    fn enqueue_run(&mut self, run: &[Event]) {
        let Some(at) = self.queue_for(run) else {
            return run.iter().for_each(|e| self.enqueue(*e));
        };
        self.pending += run.len();
        self.queues[at].events.extend(run, &mut self.spares);
        self.stand_in_heads(at);
    }

    /// The queue that can take these as they are, where they are of one CPU and in order: none is late, for itself or in its queue.
    fn queue_for(&mut self, run: &[Event]) -> Option<usize> {
        let first = run.first().filter(|e| e.at >= self.left.max(self.horizon))?;
        let at = self.queue_of(first.cpu);
        self.queues[at].events.last().is_none_or(|last| last.at <= first.at).then_some(at)
    }

    fn stand_in_heads(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        if !queue.in_heads {
            queue.in_heads = true;
            self.heads.extend(head(queue, at).map(Reverse));
        }
    }

    fn enqueue(&mut self, mut event: Event) {
        let at = self.queue_of(event.cpu);
        let queue = &mut self.queues[at];
        if event.at < self.left {
            if event.is_dated() {
                self.late += 1;
                self.troubles.trouble("an event came after its time had passed", event.offset, Trouble::Lost);
                return;
            }
            event.at = self.left; // side-band records (names) may come late: they hold from now on
        }
        self.pending += 1;
        if queue.events.last().is_some_and(|last| last.at > event.at) && !queue.torn {
            queue.torn = true;
            self.torn.push(at);
        }
        self.late_in_queue |= queue.torn && event.at < self.horizon;
        queue.events.extend(&[event], &mut self.spares);
        self.stand_in_heads(at);
    }

    /// Sorts the queues that got events out of order: once, since putting each event into its place would take a hostile
    /// source's time squared.
    fn mend(&mut self) {
        self.late_in_queue = false;
        if self.torn.is_empty() {
            return;
        }
        for at in std::mem::take(&mut self.torn) {
            let queue = &mut self.queues[at];
            queue.events.sort(&mut self.spares);
            queue.torn = false;
        }
        self.rebuild_heads(); // what stands in the heap for these queues is no longer true
    }

    fn rebuild_heads(&mut self) {
        self.heads.clear();
        for (at, queue) in self.queues.iter_mut().enumerate() {
            queue.in_heads = !queue.events.is_empty();
            self.heads.extend(head(queue, at).map(Reverse));
        }
    }

    /// Moves what lies before the horizon to `out`, up to a batch.
    fn emit(&mut self, out: &mut Batch) {
        if self.spill.is_some() {
            if self.horizon < Ns::MAX {
                return; // what is on disk is merged once, at the end
            }
            if self.pending > 0 {
                self.spill_queues();
            }
        }
        let room = self.room(&out.events);
        if let Some(spill) = &mut self.spill {
            let mut merged = Vec::new();
            if let Err(error) = spill.merge_next(room.min(self.limits.batch), &mut merged) {
                self.stop_spilling(&error);
            }
            return merged.into_iter().for_each(|e| self.deliver(e, &mut out.events));
        }
        // Growing on, what stands there would be moved again and again.
        if self.pending >= self.limits.batch {
            out.events.reserve_exact(self.limits.batch.saturating_sub(out.events.len()));
        }
        while self.room(&out.events) > 0 {
            let Some(&Reverse((time, _, _, at))) = self.heads.peek() else { break };
            if time >= self.horizon && self.horizon < Ns::MAX {
                break;
            }
            // The next best is one of the two below the best.
            let next = self.heads.as_slice().get(1..).and_then(|rest| rest.iter().take(2).max()).map(|Reverse(h)| *h);
            self.emit_run(at, next, out);
            let queue = &mut self.queues[at];
            let head = head(queue, at);
            queue.in_heads = head.is_some();
            if let Some(mut best) = self.heads.peek_mut() {
                match head {
                    Some(head) => *best = Reverse(head),
                    None => {
                        PeekMut::pop(best);
                    }
                }
            }
        }
    }

    /// Moves the events with which this queue is ahead of all others, of which `next` is the first, as far as they lie
    /// together: its first event at least.
    fn emit_run(&mut self, at: usize, next: Option<Head>, out: &mut Batch) {
        let (horizon, room) = (self.horizon, self.room(&out.events).max(1));
        let queue = &mut self.queues[at];
        let cpu = queue.cpu;
        let is_ahead = |e: &Event| {
            let final_now = e.at < horizon || horizon == Ns::MAX;
            final_now && next.is_none_or(|n| e.at < n.0 || head_of(e, cpu, at) <= n)
        };
        let run = queue.events.waiting();
        let from = out.events.len();
        match self.origin {
            // Each is looked at, rebased and moved while it is at hand: the events of many buffers are more than caches hold.
            Some(origin) => {
                for (nth, event) in run.iter().take(room).enumerate() {
                    if nth > 0 && !is_ahead(event) {
                        break;
                    }
                    out.events.push(*event);
                    if let Some(event) = out.events.last_mut() {
                        rebase(event, origin);
                    }
                }
            }
            None => {
                let others = run.iter().skip(1).take(room - 1).take_while(|e| is_ahead(e)).count();
                out.events.extend(run.iter().take(others + 1));
            }
        }
        let count = out.events.len() - from;
        self.left = run.get(..count).and_then(<[Event]>::last).map_or(self.left, |e| e.at);
        queue.events.leave(count, &mut self.spares);
        self.pending = self.pending.saturating_sub(count);
        if self.origin.is_none()
            && let Some(first) = out.events[from..].iter().find(|e| e.is_sample()).map(|e| e.at)
        {
            self.begin_at(first, &mut out.events);
        }
    }

    fn spill_queues(&mut self) {
        self.mend();
        let (queues, spares) = (&mut self.queues, &mut self.spares);
        let written = match self.spill.take() {
            Some(spill) => Ok(spill),
            None => Spill::new(),
        }
        .and_then(|mut spill| {
            queues.iter_mut().try_for_each(|q| spill.write(q.cpu, &mut q.events, spares))?;
            Ok(spill)
        });
        self.heads.clear();
        self.pending = 0;
        match written {
            Ok(spill) => self.spill = Some(spill),
            Err(error) => self.stop_spilling(&error),
        }
        self.queues.iter_mut().for_each(|q| {
            q.events = Fifo::default();
            q.in_heads = false;
        });
    }

    /// Without room to sort in, nothing more can be told in order.
    fn stop_spilling(&mut self, error: &std::io::Error) {
        let folder = std::env::temp_dir();
        let what = format!("cannot sort on disk in {}: {error}; set TMPDIR to a folder with room", folder.display());
        // Whatever the source said before, this is no result.
        self.stopped = Some(Fatal::of_reader(what));
        self.streams.iter_mut().for_each(|s| s.ended = true);
        self.spill = None;
    }
}

/// From the source's clock to time since the origin.
fn rebase(event: &mut Event, origin: Ns) {
    // The two ends of time stay what they are: "before everything", "after everything".
    let moved = |t: Ns| if t == Ns::MIN || t == Ns::MAX { t } else { t - origin };
    event.at = moved(event.at);
    match &mut event.what {
        What::Wake(wake) => wake.stamp = moved(wake.stamp),
        What::Loss(loss) => {
            for end in [&mut loss.from, &mut loss.to] {
                *end = end.get().map(moved).into();
            }
        }
        _ => {}
    }
}
