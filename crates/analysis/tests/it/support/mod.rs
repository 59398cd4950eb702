//! Traces processed by both stages of the accounting and every analysis.

pub mod allowed;
pub mod changes;
pub mod instants;
pub mod parked;
pub mod throttled;

use account::{Accountant, Collector, Rules, Totals};
use analysis::critical::{Account, End, LastRan, Parts, Pieces, Sums, Walk, Which};
use analysis::{Begins, Context, Running, ThreadGroups};
use changes::{Allowed, Changes, MarkEvent, Move, PowerChange, Setting, Throttle};
use ingest::{Limits, Opened};
use model::{
    CoreType, CpuId, CpuStretch, Event, EventKind, FutexWait, Mark, MarkEdge, MaybeNs, NameId, Ns, ObjectWait, Prio,
    Rows, Span, StackFrame, Stacks, SwitchOut, Table, ThreadStretch, Tid, Timeline, TimelineEvent, Value, WaitKind,
    tables,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use testkit::{ByName, Mode, Random, Replay, Rng};
use topology::Machine;

/// A trace with its accounting, and every table of a span of it.
pub struct Analysed {
    pub totals: Totals,
    pub machine: Machine,
    pub span: Span,
    pub threads: Vec<ThreadStretch>,
    pub cpus: Vec<CpuStretch>,
    pub events: Vec<TimelineEvent>,
    pub moves: Vec<Move>,
    pub power: Vec<PowerChange>,
    pub allowed: Vec<Allowed>,
    pub throttles: Vec<Throttle>,
    pub settings: Vec<Setting>,
    pub marks: Vec<MarkEvent>,
    /// The first has number 1.
    pub names: Vec<Box<str>>,
    pub groups: Arc<ThreadGroups>,
    pub tables: BTreeMap<&'static str, Table>,
}

impl Analysed {
    /// Whether a moment belongs to the span: one at its very end, too, if the recording ends there.
    pub fn has(&self, at: Ns) -> bool {
        self.span.has(at) || at == self.span.end && at == self.totals.end
    }

    /// A column of a table as numbers; null is 0.
    pub fn ints(&self, table: &str, col: &str) -> Vec<i64> {
        let table = &self.tables[table];
        assert!(table.def.col(col).is_some(), "{} has no column {col}", table.def.name);
        (0..table.rows.len()).map(|row| table.int(row, col).unwrap_or(0)).collect()
    }
}

/// Analyses a drawing on a machine; wakeups are recorded unless the drawing excludes them.
pub fn drawn(text: &str, machine: Machine, part: impl Fn(Span) -> Span) -> Analysed {
    let drawn = testkit::trace(text);
    let (has_waking, has_wakeup) = (drawn.facts.has_waking == Some(true), drawn.facts.has_wakeup == Some(true));
    let rules = Rules { has_waking, has_wakes: has_waking || has_wakeup, ..Rules::default() };
    analyse(drawn.opened(), machine, rules, part)
}

/// Cores with none, one and three siblings, of three classes; the last CPUs of a trace are on no list.
const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2\ncpu4 P3\ncpu5 P3\ncpu6 P3\ncpu7 P3";

/// A random trace, or a part of it.
pub fn random(mode: Mode, seed: u64, steps: usize) -> Analysed {
    let mut batch = Random { mode, seed, steps }.batch();
    let mut rng = Rng(seed);
    add_power(&mut batch.events, &mut rng);
    add_parking(&mut batch.events, &mut Rng(!seed));
    add_marks(&mut batch, &mut rng);
    add_settings(&mut batch.events, &mut rng);
    add_samples(&mut batch, &mut Rng(seed ^ 0x5a5a));
    add_counts(&mut batch, &mut Rng(seed ^ 0xc0c0));
    add_counts_at_marks(&mut batch, &mut Rng(seed ^ 0xa7a7));
    add_futexes(&mut batch.events, &mut Rng(seed ^ 0xf0f0));
    let has_waking = !rng.one_in(3);
    let rules = Rules { has_waking, has_wakes: has_waking || rng.one_in(2), ..Rules::default() };
    let machine = if rng.one_in(4) { Machine::default() } else { testkit::machine(MACHINE) };
    let parts = (rng.below(4) as i64, rng.below(4) as i64);
    let part = |whole: Span| match parts {
        (_, 0) => whole,
        (from, to) => {
            let from = Ns(whole.end.0 / 5 * from);
            Span::new(from, (from + Ns(whole.end.0 / 5 * to + 1)).min(whole.end))
        }
    };
    analyse(Replay::all(batch).opened(ingest::Facts::default()), machine, rules, part)
}

/// Adds idle states and frequencies at the times of other events.
fn add_power(events: &mut Vec<Event>, rng: &mut Rng) {
    let mut power = |event: &Event| {
        let what = match rng.below(8) {
            0 => EventKind::Idle { state: -1 },
            1 => EventKind::Idle { state: rng.below(3) as i32 },
            2 => EventKind::Frequency { of: CpuId(rng.below(5) as u32), khz: 1000 * rng.below(3) as u32 },
            _ => return None,
        };
        Some(Event { current: Tid::UNKNOWN, what, ..*event })
    };
    *events = events.iter().flat_map(|e| [Some(*e), power(e)]).flatten().collect();
}

/// Adds what threads wait for, of few words and owners, and wakers that do not wake the word.
fn add_futexes(events: &mut Vec<Event>, rng: &mut Rng) {
    let mut futex = |event: &Event| {
        let what = match event.what {
            EventKind::Switch(switch) if switch.out == SwitchOut::Blocked && rng.one_in(4) => {
                let kind =
                    rng.pick(&[WaitKind::Pipe, WaitKind::KernelMutex, WaitKind::KernelRwLock, WaitKind::Epoll])?;
                let holder = Tid(rng.below(6) as i32 - 1);
                EventKind::ObjectWait(ObjectWait {
                    tid: switch.prev,
                    kind,
                    id: rng.below(2) as u64,
                    name: NameId::NONE,
                    holder,
                })
            }
            EventKind::Switch(switch) if switch.out == SwitchOut::Blocked && rng.one_in(2) => {
                let [operation, expected] = rng.pick(&[[128, 2], [134, 0], [393, 3], [265, 2], [393, 0]])?;
                let owner = rng.below(6) as u32;
                let words = rng.pick(&[[2, owner, owner], [owner | 1 << 31, 0, 0]])?;
                let address = 8 * (1 + rng.below(2)) as u64;
                let (tid, operation, read) = (switch.prev, operation as u16, rng.one_in(2));
                EventKind::FutexWait(FutexWait { tid, address, operation, expected, read, own: rng.one_in(4), words })
            }
            EventKind::Wake(wake) if rng.one_in(8) => EventKind::ObjectReady {
                tid: wake.tid,
                kind: WaitKind::Socket,
                id: rng.below(2) as u64,
                name: NameId::NONE,
            },
            EventKind::Wake(wake) if rng.one_in(8) => {
                EventKind::WokenByCall { tid: wake.tid, call: NameId::NONE, argument: 0 }
            }
            _ => return None,
        };
        Some(Event { current: Tid::UNKNOWN, what, ..*event })
    };
    *events = events.iter().flat_map(|e| [Some(*e), futex(e)]).flatten().collect();
}

/// Adds parking changes at the times of other events, also of CPUs without other events.
fn add_parking(events: &mut Vec<Event>, rng: &mut Rng) {
    let mut parking = |event: &Event| {
        let what = EventKind::Parking { of: CpuId(rng.below(5) as u32), parked: rng.one_in(2) };
        rng.one_in(8).then_some(Event { current: Tid::UNKNOWN, what, ..*event })
    };
    *events = events.iter().flat_map(|e| [Some(*e), parking(e)]).flatten().collect();
}

/// Adds marked stretches of threads at the times of other events, with one of two names, of which one has two numbers.
fn add_marks(batch: &mut model::Batch, rng: &mut Rng) {
    let first = batch.names.len() as u32 + 1;
    batch.names.extend(["region", "other", "region"].map(Box::from));
    let mut mark = |event: &Event| {
        let edge = [MarkEdge::Begin, MarkEdge::End, MarkEdge::End].into_iter().nth(rng.below(6))?;
        let (tid, name) = (Tid(1 + rng.below(4) as i32), NameId(first + rng.below(3) as u32));
        let mark = Mark { tid, pid: model::Pid::UNKNOWN, track: 0, name, edge };
        Some(Event { current: Tid::UNKNOWN, what: EventKind::Mark(mark), ..*event })
    };
    batch.events = batch.events.iter().flat_map(|e| [Some(*e), mark(e)]).flatten().collect();
}

/// Adds samples of threads at the times of other events: with one of 40 callchains of functions of which one has no name, or with none.
fn add_samples(batch: &mut model::Batch, rng: &mut Rng) {
    let first = batch.names.len() as u32 + 1;
    batch.names.extend(["main", "spin", "work", "/usr/lib/libspin.so"].map(Box::from));
    for _ in 0..40 {
        let frame = |rng: &mut Rng| {
            let address = [0x1000, 0x2000, 0xffff_8000_0000_0000][rng.below(3)] + rng.below(2) as u64;
            let function = [NameId::NONE, NameId(first), NameId(first + 1), NameId(first + 2)][rng.below(4)];
            StackFrame { function, file: NameId(first + 3), ..StackFrame::at(address) }
        };
        batch.stacks.push((0..1 + rng.below(4)).map(|_| frame(rng)).collect());
    }
    let chains = batch.stacks.len();
    let mut sample = |event: &Event| {
        let (tid, stack) = (Tid(rng.below(4) as i32), model::StackId(rng.below(chains + 1) as u32));
        let what = EventKind::CpuSample { tid, stack, name: NameId::NONE, core: CoreType::Uniform };
        rng.one_in(3).then_some(Event { current: Tid::UNKNOWN, what, ..*event })
    };
    batch.events = batch.events.iter().flat_map(|e| [Some(*e), sample(e)]).flatten().collect();
}

/// Adds counts of three events at the times of other events: of threads, of the idle task and of several threads, and some for a part of
/// their time only.
fn add_counts(batch: &mut model::Batch, rng: &mut Rng) {
    let first = batch.names.len() as u32 + 1;
    batch.names.extend(["cycles", "instructions", "cache-misses"].map(Box::from));
    let mut counts = |event: &Event| {
        let (tid, length) = (Tid(rng.below(5) as i32 - 1), Ns(rng.below(2000) as i64));
        let running = if rng.one_in(3) { Ns(length.0 / 3) } else { length };
        let (many, some) = (rng.below(1000) as i64, rng.below(4));
        let count = |n: u32| {
            let event = NameId(first + n);
            EventKind::Count { tid, event, length, count: if running > Ns::ZERO { many } else { 0 }, running }
        };
        (0..3)
            .filter(|n| some > *n)
            .map(|n| Event { current: Tid::UNKNOWN, what: count(n as u32), ..*event })
            .collect::<Vec<_>>()
    };
    batch.events = batch.events.iter().flat_map(|e| [vec![*e], counts(e)].concat()).collect();
}

/// Adds what was read at some of the marks of threads: a part of the next count, or something that cannot be.
fn add_counts_at_marks(batch: &mut model::Batch, rng: &mut Rng) {
    let all = batch.events.clone();
    let mut read = |at: usize, event: &Event| {
        let EventKind::Mark(mark) = event.what else { return Vec::new() };
        let later = all[at..].iter().take(60).filter(|later| later.at >= event.at);
        let part = |later: &Event| {
            let EventKind::Count { tid, event: name, length, count, running } = later.what else { return None };
            let begin = later.at - length;
            if tid != mark.tid || begin > event.at || rng.one_in(3) {
                return None;
            }
            let passed = event.at - begin;
            let wrong = rng.one_in(10);
            let count = if wrong { count + 1 } else { rng.below(count as usize + 1) as i64 };
            let running = if wrong { passed } else { passed.min(running) };
            let what = EventKind::CountAtMark { tid, event: name, length: passed, count, running };
            Some(Event { current: Tid::UNKNOWN, what, ..*event })
        };
        later.filter_map(part).take(3).collect::<Vec<_>>()
    };
    let events = all.iter().enumerate().flat_map(|(at, event)| [vec![*event], read(at, event)].concat());
    batch.events = events.collect();
}

/// Adds scheduling settings of threads at the times of other events.
fn add_settings(events: &mut Vec<Event>, rng: &mut Rng) {
    let mut set = |event: &Event| {
        let (tid, clamp) = (Tid(1 + rng.below(4) as i32), |rng: &mut Rng| [None, Some(0), Some(512)][rng.below(3)]);
        let what = match rng.below(20) {
            0 => EventKind::Priority {
                tid,
                prio: Prio::new(120),
                policy: Some(rng.below(4) as i8),
                nice: Some(rng.below(3) as i8),
            },
            1 => EventKind::SchedAttr {
                tid,
                prio: [Prio::UNKNOWN, Prio::new(89)][rng.below(2)],
                uclamp_min: clamp(rng),
                uclamp_max: clamp(rng),
            },
            2 => EventKind::Cgroup { tid, id: rng.below(3) as u64, path: model::NameId::NONE },
            3 => EventKind::CgroupLimits {
                id: rng.below(3) as u64,
                path: model::NameId::NONE,
                quota: MaybeNs::NONE,
                period: 1,
                weight: [None, Some(100), Some(200)][rng.below(3)],
                cpus: model::NameId::NONE,
            },
            4 | 5 => EventKind::IdealCpu { tid, cpu: Some(CpuId(rng.below(5) as u32)) },
            _ => return None,
        };
        Some(Event { current: Tid::UNKNOWN, what, ..*event })
    };
    *events = events.iter().flat_map(|e| [Some(*e), set(e)]).flatten().collect();
}

/// `span` selects a part of the recording's span.
pub fn analyse(opened: Opened<'static>, machine: Machine, rules: Rules, span: impl Fn(Span) -> Span) -> Analysed {
    let mut accountant = Accountant::new(rules);
    let mut collector = Collector::default();
    let (mut names, mut chains) = (Vec::new(), Vec::new());
    let sorted = ingest::Reading { sort_all: true, ..ingest::Reading::default() };
    let read = ingest::run(opened, sorted, Limits::default(), |batch| {
        names.extend(batch.names.iter().cloned());
        chains.extend(batch.stacks.iter().cloned());
        accountant.push(batch, &mut collector);
        Ok::<_, std::convert::Infallible>(ControlFlow::Continue(()))
    });
    assert!(read.is_ok());
    let totals = accountant.finish(&mut collector);
    let followed: Vec<CpuId> = totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
    let span = span(Span::new(Ns::ZERO, totals.end));
    let to_end = span.end >= totals.end;
    let context = Context { machine: &machine, span, to_end, followed: &followed, ready_known: totals.ready_known };
    let every: Vec<&str> = analysis::ANALYSES.iter().map(|a| a.table.name).collect();
    let mut running = Running::start(&every, &context, names.clone());
    running.callchains(&Stacks { chains, names: names.clone() });
    let totals_of_threads = totals.threads.all().unwrap();
    let named = totals_of_threads.iter().map(|t| (t.thread, t.tid, t.name.as_deref(), t.pid));
    let groups = Arc::new(ThreadGroups::new(named));
    running.groups(&groups);
    let (mut threads, mut cpus, mut events) = (Vec::new(), Vec::new(), Vec::new());
    let each = |timeline: &Timeline<'_>| {
        running.push(timeline);
        threads.extend_from_slice(timeline.threads);
        cpus.extend_from_slice(timeline.cpus);
        events.extend_from_slice(timeline.events);
        Ok::<_, account::SpillError>(())
    };
    collector.finish().timeline(each).unwrap();
    let Changes { moves, power, allowed, throttles, settings, marks } = Changes::of(&events);
    let tables = running.finish().into_iter().map(|t| (t.def.name, t)).collect();
    Analysed {
        totals,
        machine,
        span,
        threads,
        cpus,
        events,
        moves,
        power,
        allowed,
        throttles,
        settings,
        marks,
        names,
        groups,
        tables,
    }
}

/// Returns the critical path to the end of a TID's last instance, or of the thread that ran last, and its sums.
///
/// # Errors
/// No thread has the TID.
pub fn critical(a: &Analysed, ends: Option<Tid>) -> Result<[Table; 3], Tid> {
    let mut tables = [&tables::CRITICAL_PATH, &tables::CRITICAL_BY_THREAD, &tables::OBJECTIVE_TIME].map(Table::new);
    let mut last = LastRan::new(a.span);
    last.push(&a.cpus);
    let Some(end) = ends.map(End::Tid).or_else(|| last.thread().map(End::Thread)) else { return Ok(tables) };
    let (mut walk, mut path) = (Walk::new(a.span, end), Vec::new());
    for stretch in a.threads.iter().rev() {
        if !walk.is_done() && walk.wants(stretch) {
            walk.take(stretch, Begins::Here, |s| path.push(*s));
        }
    }
    path.extend(walk.finish()?);
    path.reverse();
    let followed: Vec<CpuId> = a.totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
    let ready_known = a.totals.ready_known;
    let mut pieces =
        Pieces::new(&Context { machine: &a.machine, span: a.span, to_end: false, followed: &followed, ready_known });
    let (mut sums, mut parts) = (Sums::default(), Parts::new([Some(Which::Slow)]));
    let mut each = |piece: &analysis::critical::Piece| {
        piece.row(&mut tables[0] as &mut dyn Rows);
        sums.push(piece);
        parts.push(0, piece);
    };
    pieces.push(&Timeline { threads: &path, cpus: &a.cpus, events: &a.events }, &mut each);
    pieces.finish(&mut each);
    a.tables["object_waits"].rows_of(tables::object_waits::Table).for_each(|row| {
        sums.wait(&row);
        parts.wait(&row);
    });
    sums.all_waits();
    sums.finish(a.span, &mut tables[1]);
    Account::new(parts.complete(), &a.groups).rows(&mut tables[2]);
    Ok(tables)
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => format!("{v:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        Value::Text(v) => v.clone(),
        Value::Bool(v) => v.to_string(),
    }
}
