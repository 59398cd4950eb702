//! Merges several streams into one order.
//!
//! Events at the same nanosecond are in the order of the source on each CPU. Across CPUs, of the next event of each CPU at that
//! time, wakeups come before switches, then lower CPUs first (docs/accounting.md). This is a rule for merging queues and not a sort key,
//! so each CPU has a queue of its own:
//!
//! ```text
//!   stream ──┐   cpu0  e e e e │ e e        │ horizon: the minimum `Until` of all streams.
//!   stream ──┼─► cpu1  e e     │ e     ──►  events before it are final and are emitted in order
//!   stream ──┘   cpu2  e e e   │            (a CPU without events delays no other)
//! ```
//!
//! Beyond [`Limits::pending`] events, the queues are written to disk ([`crate::spill`]), so a source without a horizon needs
//! temporary files and not memory.

use crate::comms::Comms;
use crate::fifo::{Fifo, Spares};
use crate::numbers::{Numbers, OwnNumbers};
use crate::spill::Spill;
use crate::{Anomalies, Anomaly, Fatal, Ledger, Opened, Reach, Stream};
use model::{Batch, CpuId, Event, EventKind, Ns, SamplingOff};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The memory limits of ingest, and whether it reads ahead.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of queued events in memory.
    pub pending: usize,
    /// The number of events in a batch.
    pub batch: usize,
    /// Whether [`crate::run`] reads a single stream on a thread of its own, in addition to the one that orders its events.
    pub ahead: bool,
}

/// With no more CPUs than this, another thread only competes with the others, and each batch wakes it.
const FEW_CPUS: usize = 2;

impl Default for Limits {
    fn default() -> Self {
        // 64 MiB, enough for two rounds of perf's largest buffers; batches fit into the L2 cache.
        let ahead = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > FEW_CPUS);
        Self { pending: 1 << 20, batch: 4096, ahead }
    }
}

/// The events of a source in their final order, time 0 at the begin of the recording.
///
/// ```
/// # use ingest::{Fatal, Ledger, Reach, Stream};
/// use ingest::{Facts, Limits, Opened, Ordered};
/// use model::{Batch, CpuId, Event, EventKind, Ns, Tid};
///
/// # struct Buffer(Event);
/// # impl Stream for Buffer {
/// #     fn next(&mut self, out: &mut Batch, _: &mut dyn Ledger) -> Result<Reach, Fatal> {
/// #         out.events.push(self.0);
/// #         Ok(Reach::End)
/// #     }
/// # }
/// // Each stream has one event.
/// let event = |at, cpu| Event { at, offset: 0, cpu, current: Tid::UNKNOWN, what: EventKind::Sample };
/// let (a, b) = (Buffer(event(Ns(109), CpuId(0))), Buffer(event(Ns(107), CpuId(1))));
/// let opened = Opened { facts: Facts::default(), streams: vec![Box::new(a), Box::new(b)] };
/// let (mut ordered, mut batch) = (Ordered::new(opened, false, Limits::default()), Batch::default());
/// assert!(ordered.next(&mut batch));
/// assert_eq!(ordered.origin(), Some(Ns(107)));
/// assert_eq!(batch.events.iter().map(|e| (e.at, e.cpu)).collect::<Vec<_>>(), [(Ns(0), CpuId(1)), (Ns(2), CpuId(0))]);
/// ```
pub struct Ordered<'a> {
    streams: Vec<Source<'a>>,
    queues: Vec<Queue>,
    spares: Spares,
    by_cpu: FxHashMap<CpuId, usize>,
    /// Queues with events out of order that are not sorted yet.
    unsorted: Vec<usize>,
    /// Whether one of these events is before the horizon.
    late_in_queue: bool,
    heads: BinaryHeap<Reverse<Head>>,
    horizon: Ns,
    /// Ignore the horizons of the streams, because the source violated them.
    sort_all: bool,
    origin: Option<Ns>,
    limits: Limits,
    pending: usize,
    /// The events emitted since more were final than a batch holds, and those read to replace them: see [`Self::read_on`].
    emitted: usize,
    replaced: usize,
    spill: Option<Spill>,
    numbers: Numbers,
    /// `None` if the source has no samples.
    comms: Option<Comms>,
    incoming: Batch,
    late: u64,
    /// The time of the last emitted event; no earlier event may follow.
    left: Ns,
    /// Why reading stopped before the end of a stream, if it did.
    pub stopped: Option<Fatal>,
    /// The anomalies so far.
    pub anomalies: Anomalies,
    /// For how long events were not sampled, by the streams that have ended.
    pub sampling_off: Vec<SamplingOff>,
}

struct Source<'a> {
    stream: Box<dyn Stream + Send + 'a>,
    until: Ns,
    ended: bool,
    /// Used if there are several streams.
    own: OwnNumbers,
}

struct Queue {
    cpu: CpuId,
    events: Fifo,
    in_heads: bool,
    /// Whether it has events out of order and is listed in [`Ordered::unsorted`].
    is_unsorted: bool,
}

/// The next event of a queue: its time, whether it is a switch, the CPU, and the index of the queue.
type Head = (Ns, bool, CpuId, usize);

fn head(queue: &Queue, at: usize) -> Option<Head> {
    queue.events.waiting().first().map(|e| head_of(e, queue.cpu, at))
}

#[inline]
fn head_of(event: &Event, cpu: CpuId, at: usize) -> Head {
    (event.at, matches!(event.what, EventKind::Switch(_)), cpu, at)
}

impl<'a> Ordered<'a> {
    /// Opens a source. `sort_all`: ignore the horizons and sort everything (slower, on disk if it is large), for a source with late
    /// events (see [`Self::late`]).
    #[must_use]
    pub fn new(opened: Opened<'a>, sort_all: bool, limits: Limits) -> Self {
        let source = |stream| Source { stream, until: Ns::MIN, ended: false, own: OwnNumbers::default() };
        Self {
            streams: opened.streams.into_iter().map(source).collect(),
            queues: Vec::new(),
            spares: Spares::default(),
            by_cpu: FxHashMap::default(),
            unsorted: Vec::new(),
            late_in_queue: false,
            heads: BinaryHeap::new(),
            horizon: Ns::MIN,
            sort_all,
            origin: opened.facts.begin,
            limits,
            pending: 0,
            emitted: 0,
            replaced: 0,
            spill: None,
            numbers: Numbers::default(),
            comms: opened.facts.sampled.is_some().then(Comms::default),
            incoming: Batch::default(),
            late: 0,
            left: Ns::MIN,
            stopped: None,
            anomalies: Anomalies::default(),
            sampling_off: Vec::new(),
        }
    }

    /// Returns the number of late events, which were dropped because later events had been emitted. If it is not 0 and the source can
    /// be read again, read it again with `sort_all`.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Returns time 0 on the source's own clock; `None` before the first sample.
    #[must_use]
    pub fn origin(&self) -> Option<Ns> {
        self.origin
    }

    /// Replaces `out` by the next events and the texts that they use first; returns `false` at the end. A stream that fails ends
    /// there ([`Self::stopped`]); events delivered before stay valid.
    pub fn next(&mut self, out: &mut Batch) -> bool {
        out.clear();
        self.emit(out);
        self.read_on(out);
        while !self.is_ready(&out.events) {
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
                // There is no sample to set the origin: use the first time.
                let first = out.events.iter().find(|e| e.at != Ns::MIN).map_or(Ns::ZERO, |e| e.at);
                self.begin_at(first, &mut out.events);
            }
            break;
        }
        if let Some(comms) = &mut self.comms {
            comms.follow(&mut out.events);
        }
        !(out.events.is_empty() && out.names.is_empty() && out.stacks.is_empty())
    }

    /// Whether these events can be emitted: events before the begin need no clock, dated events wait for the first sample.
    fn is_ready(&self, some: &[Event]) -> bool {
        let full = some.len() >= self.limits.batch;
        some.last().is_some_and(|last| self.origin.is_some() || full && last.at == Ns::MIN)
    }

    /// Returns how many more events the batch can take; events that wait for the first sample may exceed a batch.
    #[inline]
    fn room(&self, some: &[Event]) -> usize {
        let waiting = self.origin.is_none() && some.last().is_some_and(|last| last.at != Ns::MIN);
        let max = if waiting { self.limits.pending.max(self.limits.batch) } else { self.limits.batch };
        max.saturating_sub(some.len())
    }

    /// If more events are final than a batch holds, reads as many as are emitted. Otherwise the consumer would wait while everything up
    /// to the next mark is read, and the reader while all of it is consumed. The number of queued events does not grow.
    fn read_on(&mut self, out: &mut Batch) {
        if out.events.len() < self.limits.batch {
            (self.emitted, self.replaced) = (0, 0);
            return;
        }
        self.emitted += out.events.len();
        while self.replaced < self.emitted && self.pending < self.limits.pending {
            let before = self.pending;
            if !self.pull(out) {
                break;
            }
            self.replaced += self.pending.saturating_sub(before);
        }
    }

    /// Sets the origin to the first sample, unless the source has one. Events before it are in `earlier`.
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

    /// Reads from the stream with the earliest horizon; returns `false` if all have ended.
    fn pull(&mut self, out: &mut Batch) -> bool {
        let going = (0..self.streams.len()).filter(|i| !self.streams[*i].ended);
        let Some(at) = going.min_by_key(|i| self.streams[*i].until) else { return false };
        self.incoming.clear();
        let alone = self.streams.len() == 1;
        let source = &mut self.streams[at];
        let reach = source.stream.next(&mut self.incoming, &mut self.anomalies);
        let left_out = std::mem::take(&mut self.incoming.left_out);
        self.anomalies.left_out(left_out, self.incoming.events.first().map_or(0, |e| e.offset));
        self.sampling_off.append(&mut self.incoming.sampling_off);
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
        // New events are after the horizon, so their order matters only when it advances, except for late events.
        if self.horizon > before || self.late_in_queue {
            self.sort_unsorted();
        }
        // Once some events are on disk, all further ones are written there too, final or not.
        let stuck = || self.queues.iter().all(|q| q.events.waiting().first().is_none_or(|e| e.at >= self.horizon));
        if self.pending > self.limits.pending && (self.spill.is_some() || stuck()) {
            self.spill_queues();
        }
        true
    }

    fn queue_of(&mut self, cpu: CpuId) -> usize {
        *self.by_cpu.entry(cpu).or_insert_with(|| {
            self.queues.push(Queue { cpu, events: Fifo::default(), in_heads: false, is_unsorted: false });
            self.queues.len() - 1
        })
    }

    /// Queues the incoming events. They are mostly in order and of one CPU.
    fn enqueue_incoming(&mut self) {
        let mut incoming = std::mem::take(&mut self.incoming.events);
        let in_order = |a: &Event, b: &Event| a.cpu == b.cpu && a.at <= b.at;
        if let Some(at) = self.queue_for(&incoming).filter(|_| incoming.is_sorted_by(in_order)) {
            self.pending += incoming.len();
            self.queues[at].events.extend_with(&mut incoming, &mut self.spares);
            self.add_to_heads(at);
        } else {
            for run in incoming.chunk_by(in_order) {
                self.enqueue_run(run);
            }
            incoming.clear();
        }
        self.incoming.events = incoming;
    }

    /// Queues events of one CPU that are in order.
    fn enqueue_run(&mut self, run: &[Event]) {
        let Some(at) = self.queue_for(run) else {
            return run.iter().for_each(|e| self.enqueue(*e));
        };
        self.pending += run.len();
        self.queues[at].events.extend(run, &mut self.spares);
        self.add_to_heads(at);
    }

    /// Returns the queue that can take these events of one CPU unchanged: none is late, neither overall nor in the queue.
    fn queue_for(&mut self, run: &[Event]) -> Option<usize> {
        let first = run.first().filter(|e| e.at >= self.left.max(self.horizon))?;
        let at = self.queue_of(first.cpu);
        self.queues[at].events.last().is_none_or(|last| last.at <= first.at).then_some(at)
    }

    fn add_to_heads(&mut self, at: usize) {
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
                self.anomalies.anomaly(
                    "an event came too late: later events had been processed, so it was dropped",
                    event.offset,
                    Anomaly::Lost,
                );
                return;
            }
            event.at = self.left; // side-band records (names) may be late: they apply from now on
        }
        self.pending += 1;
        if queue.events.last().is_some_and(|last| last.at > event.at) && !queue.is_unsorted {
            queue.is_unsorted = true;
            self.unsorted.push(at);
        }
        self.late_in_queue |= queue.is_unsorted && event.at < self.horizon;
        queue.events.extend(&[event], &mut self.spares);
        self.add_to_heads(at);
    }

    /// Sorts the queues with events out of order, all at once, because inserting each event would take quadratic time for a malicious
    /// source.
    fn sort_unsorted(&mut self) {
        self.late_in_queue = false;
        if self.unsorted.is_empty() {
            return;
        }
        for at in std::mem::take(&mut self.unsorted) {
            let queue = &mut self.queues[at];
            queue.events.sort(&mut self.spares);
            queue.is_unsorted = false;
        }
        self.rebuild_heads(); // the heap entries of these queues are outdated
    }

    fn rebuild_heads(&mut self) {
        self.heads.clear();
        for (at, queue) in self.queues.iter_mut().enumerate() {
            queue.in_heads = !queue.events.is_empty();
            self.heads.extend(head(queue, at).map(Reverse));
        }
    }

    /// Moves the events before the horizon to `out`, up to a batch.
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
        // Avoids repeated copies while the vector grows.
        if self.pending >= self.limits.batch {
            out.events.reserve_exact(self.limits.batch.saturating_sub(out.events.len()));
        }
        while self.room(&out.events) > 0 {
            let Some(&Reverse((time, _, _, at))) = self.heads.peek() else { break };
            if time >= self.horizon && self.horizon < Ns::MAX {
                break;
            }
            // The second best is one of the two children of the root.
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

    /// Moves the contiguous events of this queue that precede those of all other queues, of which `next` is the first; at least one.
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
            // Checks, rebases and moves each event while it is in the cache: the events of many buffers do not fit.
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
        self.sort_unsorted();
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

    /// Ends the reading, because events cannot be ordered without temporary files.
    fn stop_spilling(&mut self, error: &std::io::Error) {
        let folder = std::env::temp_dir();
        let what =
            format!("cannot sort on disk in {}: {error}; set TMPDIR to a folder with free space", folder.display());
        // Overrides an earlier error, because there is no result.
        self.stopped = Some(Fatal::in_reader(what));
        self.streams.iter_mut().for_each(|s| s.ended = true);
        self.spill = None;
    }
}

/// Converts times from the source's clock to time since the origin.
fn rebase(event: &mut Event, origin: Ns) {
    // The minimum and maximum keep their meaning: before and after everything.
    let moved = |t: Ns| if t == Ns::MIN || t == Ns::MAX { t } else { t - origin };
    event.at = moved(event.at);
    match &mut event.what {
        EventKind::Wake(wake) => wake.stamp = moved(wake.stamp),
        EventKind::Loss(loss) => {
            for end in [&mut loss.from, &mut loss.to] {
                *end = end.get().map(moved).into();
            }
        }
        _ => {}
    }
}
