//! What the events of the CPUs counted within the stretches that each thread marked.

use crate::counted::{AtMark, MarkId, RatioSums, ThreadAtMarks, core_type};
use crate::marked::thread_cells;
use crate::plausible::MIN_RUNNING_SHARE;
use crate::{Analysis, Begins, Context, World};
use model::{
    CoreType, Mark, MarkEdge, NameId, Ns, Pid, Rows, ThreadKey, ThreadState, ThreadStretch, TimelineEvent, Value,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The begin of a stretch.
#[derive(Clone, Copy)]
struct Begin {
    pid: Pid,
    name: NameId,
    /// `None`: before the span.
    mark: Option<MarkId>,
}

/// A stretch that ended, and waits for the reading after its end.
struct Ended {
    begin: Begin,
    end: MarkId,
}

#[derive(Default)]
struct Thread {
    at_marks: ThreadAtMarks,
    /// By track, as in `mark_stretches`.
    open: BTreeMap<i64, Vec<Begin>>,
    ended: Vec<Ended>,
}

/// The sums of an event on a type of core.
#[derive(Default)]
struct Counts {
    /// Stretches of which an end has a range.
    ranges: i64,
    low: i64,
    estimate: f64,
    high: i64,
    /// The end of the last stretch, and what can have been counted until then at most.
    last: (Ns, i64),
    enabled: Ns,
    counted: Ns,
    ratio: RatioSums,
}

/// The stretches of a name.
#[derive(Default)]
struct Named {
    stretches: i64,
    left_out: i64,
    ran: BTreeMap<CoreType, Ns>,
    counts: BTreeMap<(NameId, CoreType), Counts>,
}

impl Named {
    fn add(&mut self, begin: &AtMark, end: &AtMark) {
        self.stretches += 1;
        for (core_type, until) in &end.ran {
            let sum = self.ran.entry(*core_type).or_default();
            *sum += *until - begin.ran.get(core_type).copied().unwrap_or_default();
        }
        for of in end.keys() {
            let (from, to) = (begin.total(of), end.total(of));
            let low = to.low.saturating_sub(from.high).max(0);
            let high = to.high.saturating_sub(from.low).max(low);
            let estimate = (to.estimate - from.estimate).clamp(low as f64, high as f64);
            let (enabled, counted) = (to.enabled - from.enabled, to.counted - from.counted);
            let sums = self.counts.entry(of).or_default();
            sums.ranges += i64::from(from.low != from.high || to.low != to.high);
            sums.low = sums.low.saturating_add(low);
            // Two stretches that follow each other within one reading cannot have all of it each.
            let shared =
                if begin.at >= sums.last.0 { sums.last.1.saturating_sub(from.low).clamp(0, high - low) } else { 0 };
            sums.last = (end.at, to.high);
            sums.high = sums.high.saturating_add(high - shared);
            sums.estimate += estimate;
            (sums.enabled, sums.counted) = (sums.enabled + enabled, sums.counted + counted);
            if enabled > Ns::ZERO {
                sums.ratio.add(estimate as i64, counted.0, enabled, counted);
            }
        }
    }
}

pub(crate) struct MarkCounters {
    start: Ns,
    threads: FxHashMap<ThreadKey, Thread>,
    rows: BTreeMap<(ThreadKey, Pid, NameId), Named>,
    /// The first number of each name: the same text may have several.
    names: BTreeMap<Box<str>, NameId>,
    /// Whether anything was counted.
    any: bool,
}

impl MarkCounters {
    fn marked(&mut self, mark: &Mark, key: ThreadKey, begins: Begins, world: &World) {
        if mark.edge == MarkEdge::Instant {
            return;
        }
        let fresh = || {
            let mut thread = Thread::default();
            let on = world.cpus.iter().find(|cpu| cpu.thread == key).map(|cpu| cpu.core_type);
            thread.at_marks.runs(on, world.now);
            thread
        };
        if mark.edge == MarkEdge::End && !self.threads.contains_key(&key) {
            return;
        }
        let thread = self.threads.entry(key).or_insert_with(fresh);
        settle(thread, key, &mut self.rows);
        if mark.edge == MarkEdge::Begin {
            let at = (begins == Begins::Here).then(|| thread.at_marks.mark(world.now));
            let name = world.name(mark.name).map_or(NameId::NONE, |text| match self.names.get(text) {
                Some(name) => *name,
                None => *self.names.entry(text.into()).or_insert(mark.name),
            });
            thread.open.entry(mark.track).or_default().push(Begin { pid: mark.pid, name, mark: at });
        } else if let Some(begin) = thread.open.get_mut(&mark.track).and_then(Vec::pop)
            && begins == Begins::Here
        {
            thread.ended.push(Ended { begin, end: thread.at_marks.mark(world.now) });
        }
    }
}

/// Adds up the readings that have come, and books the stretches that ended before them.
fn settle(thread: &mut Thread, key: ThreadKey, rows: &mut BTreeMap<(ThreadKey, Pid, NameId), Named>) {
    if thread.at_marks.is_due(Ns::MAX) {
        thread.at_marks.settle();
        book(thread, key, rows);
    }
}

fn book(thread: &mut Thread, key: ThreadKey, rows: &mut BTreeMap<(ThreadKey, Pid, NameId), Named>) {
    for Ended { begin, end } in thread.ended.drain(..) {
        let named = rows.entry((key, begin.pid, begin.name)).or_default();
        let from = begin.mark.and_then(|mark| thread.at_marks.get(mark));
        match (from, thread.at_marks.get(end)) {
            (Some(from), Some(to)) if from.is_known() && to.is_known() => named.add(from, to),
            _ => named.left_out += 1,
        }
        begin.mark.iter().chain([&end]).for_each(|mark| thread.at_marks.forget(*mark));
    }
}

impl Analysis for MarkCounters {
    fn new(context: &Context<'_>) -> Self {
        Self {
            start: context.span.start,
            threads: FxHashMap::default(),
            rows: BTreeMap::new(),
            names: BTreeMap::new(),
            any: false,
        }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        if let Some(thread) = self.threads.get_mut(&stretch.thread) {
            let cpu = stretch.cpu.filter(|_| stretch.state == ThreadState::Running);
            thread.at_marks.runs(cpu.map(|cpu| core_type(cpu, world)), world.now);
        }
    }

    fn event(&mut self, event: &TimelineEvent, key: ThreadKey, begins: Begins, world: &World) {
        if key == ThreadKey::UNKNOWN {
            return;
        }
        if let Some(mark) = event.mark() {
            return self.marked(mark, key, begins, world);
        }
        if !matches!(event.what, model::Change::Counted(..) | model::Change::CountedAtMark(..)) {
            return;
        }
        self.any = true;
        let Some(thread) = self.threads.get_mut(&key) else { return };
        if thread.at_marks.is_due(event.at) {
            settle(thread, key, &mut self.rows);
        }
        thread.at_marks.event(event, begins, self.start, world);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        if !self.any {
            return;
        }
        let Self { threads, rows, .. } = self;
        for (key, thread) in threads.iter_mut() {
            thread.at_marks.settle();
            book(thread, *key, rows);
            let open = std::mem::take(&mut thread.open);
            for begin in open.into_values().flatten() {
                rows.entry((*key, begin.pid, begin.name)).or_default().left_out += 1;
            }
        }
        let mut sorted: Vec<_> =
            rows.iter().map(|((key, pid, name), of)| ((*key, *pid, world.name(*name)), of)).collect();
        sorted.sort_by_key(|(key, _)| *key);
        for ((key, pid, name), of) in sorted {
            let head = [thread_cells(key, pid).to_vec(), vec![name.into()]].concat();
            if of.counts.is_empty() {
                write(&head, None, of, &Counts::default(), world, out);
            }
            of.counts.iter().for_each(|(key, counts)| write(&head, Some(*key), of, counts, world, out));
        }
    }
}

/// Writes the row of an event on a type of core; `None`: nothing was counted in any stretch.
fn write(
    head: &[Value],
    of: Option<(NameId, CoreType)>,
    named: &Named,
    counts: &Counts,
    world: &World,
    out: &mut dyn Rows,
) {
    let ran = of.map_or_else(
        || named.ran.values().fold(Ns::ZERO, |sum, ran| sum + *ran),
        |(_, core_type)| named.ran.get(&core_type).copied().unwrap_or_default(),
    );
    let state = match () {
        () if counts.counted == Ns::ZERO && counts.enabled == Ns::ZERO && ran == Ns::ZERO && of.is_some() => {
            "not_on_type"
        }
        () if counts.counted == Ns::ZERO => "not_counted",
        () if counts.counted < counts.enabled => "multiplexed",
        () => "counted",
    };
    let is_read = counts.ranges == 0;
    let [low, estimate, high] = match state {
        "counted" => {
            let (low, high) = (counts.low as f64, counts.high.max(counts.low) as f64);
            [Some(low), Some(counts.estimate.clamp(low, high)), Some(high)]
        }
        // Both uncertainties: what was counted while others took their turn, and where the stretches begin and end.
        "multiplexed" => {
            let enabled = counts.enabled.0 as f64;
            let estimate =
                counts.ratio.ratio().filter(|_| counts.ratio.share() >= MIN_RUNNING_SHARE).map(|rate| rate * enabled);
            let half = counts.ratio.half_width().map(|half| half * enabled).filter(|_| is_read);
            let ends = |sign: f64| estimate.zip(half).map(|(mean, half)| mean + sign * half);
            [ends(-1.0).map(|low| low.max(counts.low as f64)), estimate, ends(1.0)]
        }
        _ => [None; 3],
    };
    let exact = (is_read && counts.counted > Ns::ZERO).then_some(counts.low);
    let row = [
        of.and_then(|(event, _)| world.name(event)).into(),
        of.map(|(_, core_type)| core_type.as_str()).into(),
        named.stretches.into(),
        (named.stretches - counts.ranges).into(),
        named.left_out.into(),
        (counts.counted > Ns::ZERO).then_some(if is_read { "read" } else { "estimate" }).into(),
        state.into(),
        exact.into(),
        low.into(),
        estimate.into(),
        high.into(),
        counts.enabled.into(),
        counts.counted.into(),
        ran.into(),
    ];
    out.row(&[head, &row].concat());
}
