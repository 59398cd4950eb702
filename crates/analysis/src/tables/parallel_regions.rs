//! Parallel regions: stretches that several threads marked with the same name at the same time, or, without marks, that
//! wakeups and waits show, and the time that the others waited for the last thread.

use crate::arrivals::Times;
use crate::awaited::{Awaited, Objects};
use crate::by_thread::ByThread;
use crate::critical::column;
use crate::detected_regions::{Detector, Found};
use crate::waited_for::Object;
use crate::{Analysis, Begins, Context, World};
use model::{
    CpuState, CpuStretch, MarkEdge, NameId, Ns, Pid, Reason, Rows, ThreadKey, ThreadState, ThreadStretch,
    TimelineEvent, Value,
};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The idle time of cores by type, in the order of the columns; the last entry is the time of cores in an unknown
/// state.
type Area = [Ns; 6];

/// The index of the last entry.
const UNKNOWN: usize = 5;

/// The cumulated idle time of all cores.
#[derive(Default)]
struct IdleCores {
    /// The number of cores that are idle now.
    now: [i64; 6],
    since: Ns,
    area: Area,
}

impl IdleCores {
    fn new(world: &World) -> Self {
        let mut idle = Self { since: world.now, ..Self::default() };
        idle.now[UNKNOWN] = world.cores.len() as i64;
        idle
    }

    fn read(&mut self, now: Ns) -> Area {
        let time = now - self.since;
        for (area, cores) in self.area.iter_mut().zip(self.now) {
            *area += Ns(time.0.saturating_mul(cores));
        }
        self.since = now;
        self.area
    }

    /// Handles the next state of a CPU; `world` shows the state until now.
    fn cpu(&mut self, stretch: &CpuStretch, world: &World) {
        let Some(place) = world.place(stretch.cpu) else { return };
        self.read(world.now);
        let (cpu, core) = (&world.cpus[place], &world.cores[world.cpus[place].core]);
        let counts = |busy: usize, unknown: usize| match (unknown, busy) {
            (0, 0) => Some(column(Some(cpu.core_type))),
            (0, _) => None,
            _ => Some(UNKNOWN),
        };
        let of = |state: CpuState, is: CpuState| usize::from(state == is);
        let before = counts(core.busy, core.unknown);
        let busy = core.busy + of(stretch.state, CpuState::Busy) - of(cpu.state, CpuState::Busy);
        let unknown = core.unknown + of(stretch.state, CpuState::Unknown) - of(cpu.state, CpuState::Unknown);
        before.into_iter().for_each(|at| self.now[at] -= 1);
        counts(busy, unknown).into_iter().for_each(|at| self.now[at] += 1);
    }
}

/// The cumulated running and ready time of a thread.
#[derive(Clone, Copy, Default)]
struct ThreadTimes {
    running: Ns,
    ready: Ns,
    state: Option<ThreadState>,
    since: Ns,
    /// The last time in which it was ready without a gap, as from a wakeup to a throttling and beyond; if it still is, until the last
    /// reading.
    was_ready: (Ns, Ns),
}

impl ThreadTimes {
    /// Advances to now.
    fn read(mut self, now: Ns) -> Self {
        let time = now - self.since;
        match self.state {
            Some(ThreadState::Running) => self.running += time,
            // At the instant at which it becomes ready, the time before it counts.
            Some(ThreadState::Ready) if time > Ns::ZERO => {
                self.ready += time;
                let (from, to) = self.was_ready;
                self.was_ready = (if to == self.since { from } else { self.since }, now);
            }
            _ => {}
        }
        Self { since: now, ..self }
    }

    /// Changes the state.
    fn begin(self, state: ThreadState) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Returns the part of the time in which it was last ready after `then`.
    fn was_ready_since(&self, then: Ns) -> Ns {
        let (from, to) = self.was_ready;
        (to - from.max(then)).max(Ns::ZERO)
    }
}

/// The part of one thread in a region.
#[derive(Default)]
struct Part {
    worker: ThreadKey,
    /// The nesting depth of open stretches.
    depth: usize,
    since: Ns,
    /// The number of ended stretches, and their total time.
    stretches: i64,
    worked: Ns,
    arrived: Ns,
    /// The state times of the thread when it arrived.
    at_arrival: ThreadTimes,
    /// Its ready time when its first stretch began or, if earlier, when others began to wait.
    ready: Ns,
    /// The idle time of cores at that time.
    idle: Area,
}

struct Region {
    start: Ns,
    /// Whether its begin was observed.
    whole: bool,
    /// The number of workers with an open stretch.
    open: usize,
    parts: BTreeMap<ThreadKey, Part>,
    /// Since when at least one worker always had no open stretch.
    waits: Ns,
    /// Set if no worker has an open stretch: the region ends here unless a late worker joins.
    closed: Option<Closed>,
}

impl Region {
    fn new(start: Ns, begins: Begins) -> Self {
        Self { start, whole: begins == Begins::Here, open: 0, parts: BTreeMap::new(), waits: start, closed: None }
    }

    /// Returns whether a worker that begins a stretch now, while no stretch is open, belongs to this region: it was
    /// ready for most of it, but had no CPU. A worker that was ready for less than half of it was woken by one of the
    /// others to continue after the region.
    fn has_late(&self, worker: ThreadKey, times: &ThreadTimes, now: Ns) -> bool {
        let Some(closed) = &self.closed else { return true };
        let (from, to) = times.was_ready;
        let ready = closed.end - from.max(self.start);
        !self.parts.contains_key(&worker)
            && to > closed.end
            && now - closed.end <= MAX_DELAY
            && ready.0.saturating_mul(2) >= (closed.end - self.start).0
    }

    /// Returns the completed region, if its begin was observed and it had several workers.
    fn over(self, (pid, name): (Pid, NameId)) -> Option<Over> {
        let Self { start, whole, parts, closed, .. } = self;
        let is_one = whole && parts.len() > 1;
        closed.filter(|_| is_one).map(|closed| Over {
            pid,
            name: Name::OfMarks(name),
            start,
            parts: parts.into_values().collect(),
            closed,
        })
    }
}

/// The maximum delay of a late worker. Regions that ended earlier are complete.
const MAX_DELAY: Ns = Ns(1_000_000_000);

/// The state when the last stretch of a region ends.
struct Closed {
    end: Ns,
    idle: Area,
    /// The running time of the workers that waited.
    waiting_running: Ns,
    /// The ready time of the last worker to arrive: within its part, and before it while others waited.
    last_ready: Option<Ns>,
}

/// What a region is called.
enum Name {
    /// By its marks.
    OfMarks(NameId),
    /// By the pool of this thread: it was detected.
    Detected(ThreadKey),
}

/// A completed region.
struct Over {
    pid: Pid,
    name: Name,
    start: Ns,
    parts: Vec<Part>,
    closed: Closed,
}

impl Over {
    /// The region without what was before `start`.
    fn from(mut self, start: Ns) -> Self {
        self.parts.iter_mut().for_each(|part| part.worked -= start - self.start);
        self.start = start;
        self
    }

    fn row(&self, world: &World) -> Vec<Value> {
        let Closed { end, idle, waiting_running, last_ready } = &self.closed;
        let first = self.parts.iter().map(|p| p.arrived).min().unwrap_or(*end);
        let waiting: Ns = self.parts.iter().map(|p| *end - p.arrived).sum();
        let by_first = self.parts.iter().min_by_key(|p| p.arrived).map_or(*idle, |p| p.idle);
        let [from, to] = self.recoverable(first);
        let mut row = vec![
            (self.pid != Pid::UNKNOWN).then_some(i64::from(self.pid.0)).into(),
            match self.name {
                Name::OfMarks(name) => world.name(name),
                Name::Detected(thread) => world.groups.name(thread),
            }
            .into(),
            self.start.into(),
            (*end).into(),
            Value::Int(self.parts.len() as i64),
            self.parts.iter().map(|p| p.stretches).sum::<i64>().into(),
            self.parts.iter().map(|p| p.worked).sum::<Ns>().into(),
            first.into(),
            (*end - first).into(),
            waiting.into(),
        ];
        row.extend(idle.iter().zip(by_first).map(|(all, before)| Value::from(*all - before)));
        row.extend([from.into(), to.into(), (*waiting_running).into(), (*last_ready).into(), self.slowest().into()]);
        row.push(if matches!(self.name, Name::OfMarks(_)) { "marked" } else { "detected" }.into());
        let last = self.parts.iter().max_by_key(|part| part.arrived).map(|part| part.worker);
        row.push(last.unwrap_or(ThreadKey::UNKNOWN).0.into());
        row
    }

    /// Returns the potential saving if no worker had to wait. Two estimates, the smaller one first: all workers equally
    /// fast, or each stretch the same amount of work.
    fn recoverable(&self, first: Ns) -> [Ns; 2] {
        let sooner = |rate: &dyn Fn(&Part) -> f64| {
            let (mut all, mut left) = (0.0, 0.0);
            for part in &self.parts {
                all += rate(part);
                left += rate(part) * (part.arrived - first).0 as f64;
            }
            Ns(((self.closed.end - first).0 as f64 - left / all).round() as i64)
        };
        let alike = sooner(&|_| 1.0);
        let by_stretches = sooner(&|part| part.stretches as f64 / part.worked.0.max(1) as f64);
        [alike.min(by_stretches), alike.max(by_stretches)]
    }

    /// Returns the total time if all workers were as slow as the slowest: the sum of all times, or the number of
    /// stretches times that worker's mean.
    fn slowest(&self) -> Ns {
        let worked: Ns = self.parts.iter().map(|p| p.worked).sum();
        let stretches: i64 = self.parts.iter().map(|p| p.stretches).sum();
        let of = |part: &Part| part.worked.0 as f64 / part.stretches.max(1) as f64;
        let longest = self.parts.iter().map(of).fold(0.0, f64::max);
        worked.max(Ns((longest * stretches as f64).round() as i64))
    }
}

pub(crate) struct ParallelRegions {
    ready_known: bool,
    idle: IdleCores,
    threads: ByThread<ThreadTimes>,
    /// The first name number of each text; one text may have several.
    names: FxHashMap<Box<str>, NameId>,
    /// The names of the open stretches on each track.
    tracks: BTreeMap<(ThreadKey, Pid, i64), Vec<NameId>>,
    regions: BTreeMap<(Pid, NameId), Region>,
    over: Vec<Over>,
    detector: Detector<Over>,
    /// The stretches that began at this instant.
    begun: Vec<Begun>,
    objects: Objects,
    times: ByThread<Times>,
    /// The idle time of cores when a thread last arrived.
    idle_at_arrival: ByThread<Area>,
    /// The processes with marked stretches, of which no region is detected.
    marked: BTreeSet<Pid>,
}

/// A stretch that begins, and for what its thread waits. The events that say it come after all stretches of the instant.
struct Begun {
    at: Ns,
    stretch: ThreadStretch,
    begins: Begins,
    waits_for: Option<Awaited>,
}

/// The number of pools of some threads.
fn pools(arrivals: &[(ThreadKey, Ns)], world: &World) -> usize {
    arrivals.iter().map(|(thread, _)| world.groups.of(*thread)).collect::<BTreeSet<_>>().len()
}

/// Returns the thread whose pool names a region, if its threads have one role: the name of their pool, or they wait for one barrier. The one
/// that released them may have another name, if it released several.
fn of_one_role(found: &Found, world: &World) -> Option<ThreadKey> {
    let (_, rest) = found.arrivals.split_last()?;
    let is_pool = pools(&found.arrivals, world) == 1 || (rest.len() > 1 && pools(rest, world) == 1);
    let threads = || found.arrivals.iter().map(|(thread, _)| *thread);
    // Whichever of several names arrives last.
    if is_pool { threads().next() } else { threads().min().filter(|_| found.shares_word) }
}

/// A region that ends now.
fn detected(
    (pid, name): (Pid, ThreadKey),
    found: &Found,
    now: Ns,
    idle: Area,
    idle_at_arrival: &mut ByThread<Area>,
) -> Over {
    let part = |(thread, arrived): (ThreadKey, Ns)| Part {
        worker: thread,
        stretches: 1,
        worked: arrived - found.start,
        arrived,
        idle: if arrived == now { idle } else { *idle_at_arrival.of(thread) },
        ..Part::default()
    };
    let parts = found.arrivals.iter().copied().map(part).collect();
    let closed = Closed { end: now, idle, waiting_running: Ns::ZERO, last_ready: Some(found.last_ready) };
    Over { pid, name: Name::Detected(name), start: found.start, parts, closed }
}

impl ParallelRegions {
    /// Handles the stretches that began before this time.
    fn settle(&mut self, until: Ns, world: &World) {
        if self.begun.first().is_some_and(|begun| begun.at < until) {
            let mut begun = std::mem::take(&mut self.begun);
            begun.drain(..).for_each(|begun| self.detect(&begun, world));
            self.begun = begun;
        }
    }

    /// Follows a thread's states, and completes the region that a wakeup shows to be over.
    fn detect(&mut self, begun: &Begun, world: &World) {
        let Begun { at: now, stretch, begins, waits_for } = *begun;
        let thread = stretch.thread;
        let is_woken = matches!(stretch.reason, Reason::Woken | Reason::New | Reason::WokenBefore);
        let is_wakeup = stretch.state == ThreadState::Ready && is_woken && begins == Begins::Here;
        let waker = stretch.waker_thread;
        let process = world.groups.process(thread);
        let is_own = is_wakeup && waker > ThreadKey::IDLE && waker != thread && world.groups.process(waker) == process;
        let Self { detector, times, idle, idle_at_arrival, .. } = self;
        if is_wakeup && stretch.reason == Reason::New && waker > ThreadKey::IDLE {
            detector.created([waker, thread], times, now);
        }
        if let Some(process) = process.filter(|_| is_own) {
            detector.wakes(process.0, [waker, thread], times, now, |found| {
                of_one_role(found, world)
                    .map(|name| detected((process, name), found, now, idle.read(now), idle_at_arrival))
            });
        }
        // In an uninterruptible wait, a thread waits for the kernel and not for others.
        let is_own = stretch.reason == Reason::State(b'D') || waits_for.is_some_and(Awaited::is_own);
        let is_own = stretch.state == ThreadState::Blocked && is_own;
        let state = if is_own { ThreadState::Unknown } else { stretch.state };
        times.of(thread).changes(state, now);
        if let Some(Awaited { object: word @ Object::Word(..), .. }) = waits_for.filter(|_| !is_own) {
            times.of(thread).waits_for(word);
        }
        match (state, process) {
            (ThreadState::Blocked, Some(process)) => detector.waits(process.0, thread, times, now, |found| {
                of_one_role(found, world)
                    .map(|name| detected((process, name), found, now, idle.read(now), idle_at_arrival))
            }),
            (ThreadState::Exited, _) => {
                let ended = detector.exits(thread, times, now);
                if let Some((process, ended)) =
                    ended.and_then(|ended| Some((world.groups.process(ended.owner)?, ended)))
                {
                    detector.have_ended(process.0, &ended, times, now, |found| {
                        of_one_role(found, world)
                            .map(|name| detected((process, name), found, now, idle.read(now), idle_at_arrival))
                    });
                }
            }
            _ => {}
        }
        if self.times.of(thread).arrived == now {
            *self.idle_at_arrival.of(thread) = self.idle.read(now);
        }
    }

    fn begin(&mut self, key: (Pid, NameId), worker: ThreadKey, begins: Begins, now: Ns) {
        let times = self.threads.of(worker).read(now);
        if let Some(before) = self.regions.remove(&key) {
            if before.has_late(worker, &times, now) {
                self.regions.insert(key, before);
            } else {
                self.over.extend(before.over(key));
            }
        }
        let region = self.regions.entry(key).or_insert_with(|| Region::new(now, begins));
        region.closed = None;
        let waits = if region.parts.len() > region.open { region.waits } else { now };
        let new = || Part { worker, ready: times.ready - times.was_ready_since(waits), ..Part::default() };
        let part = region.parts.entry(worker).or_insert_with(new);
        if part.depth == 0 {
            part.since = now;
            region.open += 1;
        }
        part.depth += 1;
    }

    fn end(&mut self, key: (Pid, NameId), worker: ThreadKey, now: Ns) {
        let Some(region) = self.regions.get_mut(&key) else { return };
        let Some(part) = region.parts.get_mut(&worker).filter(|part| part.depth > 0) else { return };
        part.depth -= 1;
        if part.depth > 0 {
            return;
        }
        part.stretches += 1;
        part.worked += now - part.since;
        part.arrived = now;
        part.at_arrival = self.threads.of(worker).read(now);
        part.idle = self.idle.read(now);
        region.open -= 1;
        if region.parts.len() - region.open == 1 {
            region.waits = now;
        }
        if region.open == 0 {
            let (waiting_running, last_ready) = waiting_times(&mut self.threads, self.ready_known, &region.parts, now);
            region.closed = Some(Closed { end: now, idle: self.idle.area, waiting_running, last_ready });
        }
    }

    /// Writes the regions, in order of end, that are complete: no late worker can join them any more.
    fn hand_on(&mut self, world: &World, since: Ns, out: &mut dyn Rows) {
        let is_over = |region: &Region| region.closed.as_ref().is_some_and(|closed| since - closed.end > MAX_DELAY);
        let keys: Vec<_> = self.regions.iter().filter(|(_, region)| is_over(region)).map(|(key, _)| *key).collect();
        for key in keys {
            self.over.extend(self.regions.remove(&key).and_then(|region| region.over(key)));
        }
        let (detected, until) = self.detector.take(&mut self.times, world.now, since == Ns::MAX);
        let detected = detected.into_iter().filter(|region| !self.marked.contains(&region.what.pid));
        self.over.extend(detected.map(|region| region.what.from(region.start)));
        self.over.sort_by_key(|over| over.closed.end);
        let ends = self.regions.values().filter_map(|region| Some(region.closed.as_ref()?.end));
        let first = ends.fold(until, Ns::min);
        let known = self.over.partition_point(|over| over.closed.end < first);
        self.over.drain(..known).for_each(|over| out.row(&over.row(world)));
    }
}

/// Returns the running time of the workers that waited, and the ready time of the last to arrive, for a region that
/// closes now.
fn waiting_times(
    threads: &mut ByThread<ThreadTimes>,
    ready_known: bool,
    parts: &BTreeMap<ThreadKey, Part>,
    now: Ns,
) -> (Ns, Option<Ns>) {
    let (mut ran, mut ready) = (Ns::ZERO, None);
    for (thread, part) in parts {
        let times = threads.of(*thread).read(now);
        ran += times.running - part.at_arrival.running;
        if part.arrived == now {
            let waited = times.ready - part.ready;
            ready = Some(ready.map_or(waited, |min: Ns| min.min(waited)));
        }
    }
    (ran, ready.filter(|_| ready_known))
}

impl Analysis for ParallelRegions {
    fn new(context: &Context<'_>) -> Self {
        Self {
            ready_known: context.ready_known,
            idle: IdleCores::new(&World::new(context)),
            threads: ByThread::new(),
            names: FxHashMap::default(),
            tracks: BTreeMap::new(),
            regions: BTreeMap::new(),
            over: Vec::new(),
            detector: Detector::default(),
            begun: Vec::new(),
            objects: Objects::default(),
            times: ByThread::new(),
            idle_at_arrival: ByThread::new(),
            marked: BTreeSet::new(),
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        self.settle(world.now, world);
        self.begun.push(Begun { at: world.now, stretch: *stretch, begins, waits_for: None });
        let times = self.threads.of(stretch.thread);
        *times = times.read(world.now).begin(stretch.state);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        self.settle(world.now, world);
        self.idle.cpu(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        self.settle(world.now, world);
        if let Some(awaited) = self.objects.of(event, thread, world)
            && let Some(begun) = self.begun.iter_mut().rfind(|begun| begun.stretch.thread == thread)
        {
            begun.waits_for = Some(awaited);
        }
        let Some(mark) = event.mark() else { return };
        self.marked.insert(mark.pid);
        // An asynchronous stretch is an operation, and no thread's work: who waits for its end is unknown.
        if thread == ThreadKey::UNKNOWN {
            return;
        }
        let track = (thread, mark.pid, mark.track);
        match mark.edge {
            MarkEdge::Begin => {
                let Some(text) = world.name(mark.name) else { return };
                let name = match self.names.get(text) {
                    Some(name) => *name,
                    None => *self.names.entry(text.into()).or_insert(mark.name),
                };
                self.tracks.entry(track).or_default().push(name);
                self.begin((mark.pid, name), thread, begins, world.now);
            }
            MarkEdge::End => {
                if let Some(name) = self.tracks.get_mut(&track).and_then(Vec::pop) {
                    self.end((mark.pid, name), thread, world.now);
                }
            }
            MarkEdge::Instant => {}
        }
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        self.settle(world.now, world);
        self.hand_on(world, world.now, out);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.settle(Ns::MAX, world);
        self.hand_on(world, Ns::MAX, out);
    }
}
