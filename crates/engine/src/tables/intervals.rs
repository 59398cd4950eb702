//! Periods, requests and parallel regions: the intervals that their tables list.

use super::marks::Nth;
use crate::{EngineError, Session, did_you_mean};
use model::tables::{parallel_regions as region, periods as period, requests as request};
use model::{Ns, Row, Shows, Span, TableDef, ThreadKey, Tid, Value, tables};
use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

/// The maximum number of names that the message about a missing interval lists.
const MAX_LISTED: usize = 12;

/// The kind of an interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IntervalKind {
    /// A period of a thread that a timer wakes.
    Period,
    /// A request that a thread answers.
    Request,
    /// A parallel region.
    Region,
}

impl IntervalKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Period, Self::Request, Self::Region];

    /// Returns the word for one of them.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Period => "period",
            Self::Request => "request",
            Self::Region => "region",
        }
    }

    /// Returns the table that lists them.
    #[must_use]
    pub fn table(self) -> &'static TableDef {
        match self {
            Self::Period => &tables::PERIODS,
            Self::Request => &tables::REQUESTS,
            Self::Region => &tables::PARALLEL_REGIONS,
        }
    }
}

/// A period, a request or a parallel region.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    /// Its number among those of the thread's TID, or of the region's name, in the order of the table, from 1.
    pub number: u64,
    /// From its begin to its end. A period lasts until the next one is due.
    pub span: Span,
    /// The end of its first part: of the lateness of a period, of the time in which the thread was not yet at work on a request, or of the
    /// work of all threads of a region.
    pub split: Ns,
    /// When its work was done. The critical path ends here.
    pub done: Ns,
    /// The thread that does the work; of a region, the last one to arrive.
    pub thread: ThreadKey,
    /// The TID of the thread; `None` for a region.
    pub tid: Option<Tid>,
    /// The process of a region, if recorded.
    pub pid: Option<i64>,
    /// The name of a region.
    pub name: Option<&'a str>,
    /// How certain it is that there is one: `steady` of the table; 1 for a region.
    pub steady: f64,
    /// What the thread did; `None` for a region.
    pub times: Option<IntervalTimes>,
}

/// What a thread did in a period, or for a request.
#[derive(Clone, Copy, Debug)]
pub struct IntervalTimes {
    /// Running, ready, blocked and unknown, from the end of its first part until its work was done.
    pub states: [Ns; 4],
    /// The length of a period.
    pub period: Option<Ns>,
    /// The number of due times that passed before the work of a period was done.
    pub missed: i64,
}

/// The intervals of a thread, or of a process and a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Series {
    Thread(ThreadKey),
    Name(Option<i64>, Box<str>),
}

impl Series {
    pub(crate) fn of(interval: &Interval<'_>) -> Self {
        match interval.name {
            Some(name) => Self::Name(interval.pid, name.into()),
            None => Self::Thread(interval.thread),
        }
    }
}

/// The number of intervals of each TID or name so far.
#[derive(Default)]
struct Numbers {
    by_tid: HashMap<Tid, u64>,
    by_name: HashMap<Box<str>, u64>,
}

impl Numbers {
    fn next(&mut self, interval: &Interval<'_>) -> u64 {
        let count = match (interval.tid, interval.name.unwrap_or_default()) {
            (Some(tid), _) => self.by_tid.entry(tid).or_default(),
            (None, name) => self.by_name.entry(name.into()).or_default(),
        };
        *count += 1;
        *count
    }
}

impl<'a> Interval<'a> {
    fn of_row(kind: IntervalKind, row: &'a [Value]) -> Self {
        match kind {
            IntervalKind::Period => Self::of_period(row),
            IntervalKind::Request => Self::of_request(row),
            IntervalKind::Region => Self::of_region(row),
        }
    }

    fn of_period(row: &'a [Value]) -> Self {
        let row = Row::<period::Table>::new(row);
        let [start, end, late, response] =
            row.all([period::START_NS, period::END_NS, period::LATE_NS, period::RESPONSE_NS]);
        let (thread, tid) = row.all((period::THREAD, period::TID));
        let steady = row.get(period::STEADY);
        let states = row.all([period::RUNNING_NS, period::READY_NS, period::BLOCKED_NS, period::UNKNOWN_NS]);
        let (period, missed) = (Some(row.get(period::PERIOD_NS)), row.get(period::MISSED));
        let times = Some(IntervalTimes { states, period, missed });
        let span = Span { start, end };
        Self { times, ..Self::of(span, [start + late, start + response]).by(thread, tid, steady) }
    }

    fn of_request(row: &'a [Value]) -> Self {
        let row = Row::<request::Table>::new(row);
        let [start, end, before] = row.all([request::START_NS, request::END_NS, request::BEFORE_NS]);
        let (thread, tid) = row.all((request::THREAD, request::TID));
        let (begun, steady) = (start + before, row.get(request::STEADY));
        let states = row.all([request::RUNNING_NS, request::READY_NS, request::BLOCKED_NS, request::UNKNOWN_NS]);
        let times = Some(IntervalTimes { states, period: None, missed: 0 });
        let span = Span { start, end };
        Self { times, ..Self::of(span, [begun, end]).by(thread, tid, steady) }
    }

    fn of_region(row: &'a [Value]) -> Self {
        let row = Row::<region::Table>::new(row);
        let [start, end, first] = row.all([region::START_NS, region::END_NS, region::FIRST_ARRIVAL_NS]);
        Self {
            thread: row.get(region::LAST_THREAD),
            pid: row.get(region::PID),
            name: Some(row.get(region::NAME)),
            ..Self::of(Span { start, end }, [first, end])
        }
    }

    fn of(span: Span, [split, done]: [Ns; 2]) -> Self {
        let (thread, tid, pid, name) = (ThreadKey::UNKNOWN, None, None, None);
        Self { number: 0, span, split, done, thread, tid, pid, name, steady: 1.0, times: None }
    }

    fn by(self, thread: ThreadKey, tid: Tid, steady: f64) -> Self {
        Self { thread, tid: Some(tid), steady, ..self }
    }
}

/// Selects one interval: `period:THREAD#N`, `request:THREAD#N` or `region:NAME#N`. The thread is a name or TID. Without a number, there
/// must be only one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IntervalName {
    kind: IntervalKind,
    name: String,
}

impl FromStr for IntervalName {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        let parts = words.split_once(':').filter(|(_, name)| !name.is_empty());
        let found = parts.and_then(|(word, name)| {
            let kind = IntervalKind::ALL.into_iter().find(|kind| kind.word() == word)?;
            Some(Self { kind, name: name.to_owned() })
        });
        found.ok_or_else(|| format!("{words}: expected period:THREAD#N, request:THREAD#N or region:NAME#N"))
    }
}

impl std::fmt::Display for IntervalName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.kind.word(), self.name)
    }
}

/// The time of an interval, and the thread that ended it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SelectedInterval {
    /// From its begin to its end.
    pub span: Span,
    /// The thread that does its work, or that arrived last.
    pub thread: ThreadKey,
}

impl Session {
    /// Passes on every interval of a kind, of the whole recording, in the order of their table.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn intervals(&self, kind: IntervalKind, mut each: impl FnMut(&Interval<'_>)) -> Result<(), EngineError> {
        self.intervals_of(&[kind], &mut |_, interval| each(interval))
    }

    /// Passes on every interval of all kinds, of the whole recording, in one pass; those of a kind in the order of their table.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn all_intervals(&self, each: &mut dyn FnMut(IntervalKind, &Interval<'_>)) -> Result<(), EngineError> {
        self.intervals_of(&IntervalKind::ALL, each)
    }

    fn intervals_of(
        &self,
        kinds: &[IntervalKind],
        each: &mut dyn FnMut(IntervalKind, &Interval<'_>),
    ) -> Result<(), EngineError> {
        let mut numbers: Vec<Numbers> = kinds.iter().map(|_| Numbers::default()).collect();
        let tables: Vec<&TableDef> = kinds.iter().map(|kind| kind.table()).collect();
        self.drained_together(&tables, Some(Span { start: Ns::ZERO, end: Ns::MAX }), &mut |at, row| {
            let interval = Interval::of_row(kinds[at], row);
            each(kinds[at], &Interval { number: numbers[at].next(&interval), ..interval });
        })
    }

    /// Returns the interval with a name.
    ///
    /// # Errors
    /// The trace cannot be read, nothing has this name, or several have and no number is given; the message states how many.
    pub fn interval(&self, of: &IntervalName) -> Result<SelectedInterval, EngineError> {
        let IntervalName { kind, name } = of;
        let numbered = name.rsplit_once('#').and_then(|(of, n)| Some((of, n.parse::<u64>().ok().filter(|n| *n > 0)?)));
        let thread_names = self.names()?;
        let shows = if *kind == IntervalKind::Region { Shows::Mark } else { Shows::Name };
        let (shown, shown_numbered) =
            (self.shown_name(shows, name), numbered.map(|(name, _)| self.shown_name(shows, name)));
        let (mut whole, mut nth) = (Nth::default(), Nth::of(numbered.map(|(_, n)| n)));
        let mut known = BTreeSet::<Box<str>>::new();
        self.intervals(*kind, |interval| {
            let selected = SelectedInterval { span: interval.span, thread: interval.thread };
            let own = interval.name.or_else(|| thread_names.get(interval.thread)).unwrap_or_default();
            let number = interval.tid.map(|tid| tid.0.into()).or(interval.pid);
            let is_of = |name: &str| own == name || number.is_some_and(|number| name.parse() == Ok(number));
            if is_of(&shown) {
                whole.next(selected);
            } else if shown_numbered.as_deref().is_some_and(is_of) {
                nth.next(selected);
            }
            if !known.contains(own) {
                known.insert(own.into());
            }
        })?;
        let (name, found) = match numbered {
            Some((name, _)) if whole.count == 0 => (name, nth),
            _ => (name.as_str(), whole),
        };
        let (path, word, table) = (self.path().display(), kind.word(), kind.table().name);
        Err(EngineError::NotFound(match (found.count, found.wanted, found.found) {
            (1, None, Some(found)) | (_, Some(_), Some(found)) if found.span.start < found.span.end => {
                return Ok(found);
            }
            (1, None, Some(_)) | (_, Some(_), Some(_)) => format!("{path}: the {word} {of} has no duration"),
            (0, ..) if known.is_empty() => {
                format!("{path}: the trace has no {word}s (`corewise tables` describes the table {table})")
            }
            (0, ..) => {
                let more = if known.len() > MAX_LISTED { ", …" } else { "" };
                let meant = did_you_mean(name, known.iter().map(|name| &**name));
                let meant = if meant == "." { ";" } else { &meant };
                let known = known.iter().take(MAX_LISTED).map(|name| &**name).collect::<Vec<_>>().join(", ");
                format!(
                    "{path}: no {word} is of {name}{meant} there are {word}s of {known}{more} (`corewise table {path} {table}` lists them)"
                )
            }
            (1, ..) => format!("{path}: there is one {word} of {name}: '{word}:{name}#1'"),
            (count, ..) => format!(
                "{path}: there are {count} {word}s of {name}: select one, from '{word}:{name}#1' to '{word}:{name}#{count}' \
                 (`corewise table {path} {table}` lists them)"
            ),
        }))
    }
}
