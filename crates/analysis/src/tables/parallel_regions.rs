//! Parallel regions: what several threads marked alike at one time, and who waited for the last of them.

use crate::by_thread::ByThread;
use crate::critical::column;
use crate::{Analysis, Begins, Context, World};
use model::{
    CpuState, CpuStretch, MarkEdge, NameId, Ns, Pid, Rows, ThreadKey, ThreadState, ThreadStretch, TimelineEvent, Value,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Time of cores that idle, by type in the order of the columns, and at last that of cores of which nobody can say.
type Area = [Ns; 6];

/// The place of the last.
const UNKNOWN: usize = 5;

/// For how long in all cores have idled.
#[derive(Default)]
struct IdleCores {
    /// How many do now.
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
            *area = *area + Ns(time.0.saturating_mul(cores));
        }
        self.since = now;
        self.area
    }

    /// What a CPU does from now on; `world` is as it was until now.
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

/// For how long a thread has run and been ready.
#[derive(Clone, Copy, Default)]
struct Did {
    running: Ns,
    ready: Ns,
    state: Option<ThreadState>,
    since: Ns,
    /// When it last was ready, from and to; while it is, to what was read last.
    was_ready: (Ns, Ns),
}

impl Did {
    /// Up to now.
    fn read(mut self, now: Ns) -> Self {
        let time = now - self.since;
        match self.state {
            Some(ThreadState::Running) => self.running = self.running + time,
            Some(ThreadState::Ready) => {
                self.ready = self.ready + time;
                self.was_ready.1 = now;
            }
            _ => {}
        }
        Self { since: now, ..self }
    }

    /// In another state from now on.
    fn begin(self, state: ThreadState, now: Ns) -> Self {
        let was_ready = if state == ThreadState::Ready { (now, now) } else { self.was_ready };
        Self { state: Some(state), was_ready, ..self }
    }

    /// Of the time when it last was ready, that since then.
    fn was_ready_since(&self, then: Ns) -> Ns {
        let (from, to) = self.was_ready;
        (to - from.max(then)).max(Ns::ZERO)
    }
}

/// A thread, or a track of none.
type Worker = (ThreadKey, i64);

/// A worker's part of a region.
#[derive(Default)]
struct Part {
    /// Stretches that are open, one within the other.
    depth: usize,
    since: Ns,
    /// Stretches that are over, and how long they took.
    stretches: i64,
    worked: Ns,
    arrived: Ns,
    /// What the thread had done when it arrived.
    by_then: Did,
    /// For how long it had been ready when its first stretch began, or, before that, others began to wait.
    ready: Ns,
    /// How cores had idled by then.
    idle: Area,
}

struct Region {
    start: Ns,
    /// Its begin was seen.
    whole: bool,
    /// Workers that have a stretch open.
    open: usize,
    parts: BTreeMap<Worker, Part>,
    /// Since when there always was one that had none.
    waits: Ns,
    /// Nobody has: over, if nobody comes late.
    closed: Option<Closed>,
}

impl Region {
    fn new(start: Ns, begins: Begins) -> Self {
        Self { start, whole: begins == Begins::Here, open: 0, parts: BTreeMap::new(), waits: start, closed: None }
    }

    /// Whether a worker that begins a stretch now, when nobody has one open, is of this region: it had no CPU meanwhile. Who is
    /// ready for the lesser part of it only was woken by one of the others, to go on when that was done.
    fn has_late(&self, worker: Worker, did: &Did, now: Ns) -> bool {
        let Some(closed) = &self.closed else { return true };
        let (from, to) = did.was_ready;
        let ready = closed.end - from.max(self.start);
        let is_new = worker.0 != ThreadKey::UNKNOWN && !self.parts.contains_key(&worker);
        is_new
            && to > closed.end
            && now - closed.end <= LATE
            && ready.0.saturating_mul(2) >= (closed.end - self.start).0
    }

    /// The region that it was, where its begin was seen and several worked.
    fn over(self, (pid, name): (Pid, NameId)) -> Option<Over> {
        let Self { start, whole, parts, closed, .. } = self;
        let is_one = whole && parts.len() > 1;
        closed.filter(|_| is_one).map(|closed| Over { pid, name, start, parts: parts.into_values().collect(), closed })
    }
}

/// Nobody comes later than by so much: regions that ended longer ago are handed on.
const LATE: Ns = Ns(1_000_000_000);

/// When nobody has a stretch open any more.
struct Closed {
    end: Ns,
    idle: Area,
    /// For how long those who waited ran.
    waiting_running: Option<Ns>,
    /// For how long the last to arrive had been ready in its part, and before it while others waited.
    last_ready: Option<Ns>,
}

/// A region that is over.
struct Over {
    pid: Pid,
    name: NameId,
    start: Ns,
    parts: Vec<Part>,
    closed: Closed,
}

impl Over {
    fn row(&self, world: &World) -> Vec<Value> {
        let Closed { end, idle, waiting_running, last_ready } = &self.closed;
        let first = self.parts.iter().map(|p| p.arrived).min().unwrap_or(*end);
        let waiting: Ns = self.parts.iter().map(|p| *end - p.arrived).sum();
        let by_first = self.parts.iter().min_by_key(|p| p.arrived).map_or(*idle, |p| p.idle);
        let [from, to] = self.recoverable(first);
        let mut row = vec![
            (self.pid != Pid::UNKNOWN).then_some(i64::from(self.pid.0)).into(),
            world.name(self.name).into(),
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
        row
    }

    /// By how much sooner all would have been done had nobody waited: where all go equally fast, and where each stretch is as
    /// much work as any other; the less one first.
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

    /// What all of it would take whoever is slowest: as long as all took, or as many stretches as there are, each of them as
    /// long as with that one.
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
    threads: ByThread<Did>,
    /// The same text may come under several numbers: the first of each.
    names: FxHashMap<Box<str>, NameId>,
    /// The stretches that are open on each track, by name.
    tracks: BTreeMap<(ThreadKey, Pid, i64), Vec<NameId>>,
    regions: BTreeMap<(Pid, NameId), Region>,
    over: Vec<Over>,
}

impl ParallelRegions {
    fn begin(&mut self, key: (Pid, NameId), worker: Worker, begins: Begins, now: Ns) {
        let did = self.threads.of(worker.0).read(now);
        if let Some(before) = self.regions.remove(&key) {
            if before.has_late(worker, &did, now) {
                self.regions.insert(key, before);
            } else {
                self.over.extend(before.over(key));
            }
        }
        let region = self.regions.entry(key).or_insert_with(|| Region::new(now, begins));
        region.closed = None;
        let waits = if region.parts.len() > region.open { region.waits } else { now };
        let new = || Part { ready: did.ready - did.was_ready_since(waits), ..Part::default() };
        let part = region.parts.entry(worker).or_insert_with(new);
        if part.depth == 0 {
            part.since = now;
            region.open += 1;
        }
        part.depth += 1;
    }

    fn end(&mut self, key: (Pid, NameId), worker: Worker, now: Ns) {
        let Some(region) = self.regions.get_mut(&key) else { return };
        let Some(part) = region.parts.get_mut(&worker).filter(|part| part.depth > 0) else { return };
        part.depth -= 1;
        if part.depth > 0 {
            return;
        }
        part.stretches += 1;
        part.worked = part.worked + (now - part.since);
        part.arrived = now;
        part.by_then = self.threads.of(worker.0).read(now);
        part.idle = self.idle.read(now);
        region.open -= 1;
        if region.parts.len() - region.open == 1 {
            region.waits = now;
        }
        if region.open == 0 {
            let [waiting_running, last_ready] = did(&mut self.threads, self.ready_known, &region.parts, now);
            region.closed = Some(Closed { end: now, idle: self.idle.area, waiting_running, last_ready });
        }
    }

    /// Hands on, in order of end, those to which nobody can come late any more at that time.
    fn hand_on(&mut self, world: &World, since: Ns, out: &mut dyn Rows) {
        let is_over = |region: &Region| region.closed.as_ref().is_some_and(|closed| since - closed.end > LATE);
        let keys: Vec<_> = self.regions.iter().filter(|(_, region)| is_over(region)).map(|(key, _)| *key).collect();
        for key in keys {
            self.over.extend(self.regions.remove(&key).and_then(|region| region.over(key)));
        }
        self.over.sort_by_key(|over| over.closed.end);
        let ends = self.regions.values().filter_map(|region| Some(region.closed.as_ref()?.end));
        let first = ends.min();
        let known = first.map_or(self.over.len(), |first| self.over.partition_point(|over| over.closed.end < first));
        self.over.drain(..known).for_each(|over| out.row(&over.row(world)));
    }
}

/// For how long those who waited ran, and the last to arrive had been ready meanwhile, of a region that closes now.
fn did(threads: &mut ByThread<Did>, ready_known: bool, parts: &BTreeMap<Worker, Part>, now: Ns) -> [Option<Ns>; 2] {
    if parts.keys().any(|(thread, _)| *thread == ThreadKey::UNKNOWN) {
        return [None; 2];
    }
    let (mut ran, mut ready) = (Ns::ZERO, None);
    for ((thread, _), part) in parts {
        let did = threads.of(*thread).read(now);
        ran = ran + (did.running - part.by_then.running);
        if part.arrived == now {
            let waited = did.ready - part.ready;
            ready = Some(ready.map_or(waited, |least: Ns| least.min(waited)));
        }
    }
    [Some(ran), ready.filter(|_| ready_known)]
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
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        let did = self.threads.of(stretch.thread);
        *did = did.read(world.now).begin(stretch.state, world.now);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        self.idle.cpu(stretch, world);
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Some(mark) = event.mark() else { return };
        let worker = (thread, if thread == ThreadKey::UNKNOWN { mark.track } else { 0 });
        let track = (thread, mark.pid, mark.track);
        match mark.edge {
            MarkEdge::Begin => {
                let Some(text) = world.name(mark.name) else { return };
                let name = match self.names.get(text) {
                    Some(name) => *name,
                    None => *self.names.entry(text.into()).or_insert(mark.name),
                };
                self.tracks.entry(track).or_default().push(name);
                self.begin((mark.pid, name), worker, begins, world.now);
            }
            MarkEdge::End => {
                if let Some(name) = self.tracks.get_mut(&track).and_then(Vec::pop) {
                    self.end((mark.pid, name), worker, world.now);
                }
            }
            MarkEdge::Instant => {}
        }
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        self.hand_on(world, world.now, out);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.hand_on(world, Ns(i64::MAX), out);
    }
}
