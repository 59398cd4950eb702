//! The locks that threads waited for: who held each while threads waited, and how many waited. From the tables `locks` and `lock_waits`.
//!
//! A lock without waiting threads is not recorded, so it has no slice. While threads wait, the holder is known as far as the rows name it.
//! After that, each thread that ends a wait for the lock had it in the end; since when is unknown, since the lock may have been free until that
//! thread ran:
//!
//! ```text
//!   A   waits ──────────────────────────▲     ended by D: A's wait has three holders, and its row names only B and D
//!   E   waits ───────────────▲                ended by C
//!       │ B holds it ─│ C ───│ D ───────│
//! ```
//!
//! Where no row names a thread, or two name different ones, the holder is unknown.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::{Feed, TrackData};
use engine::Session;
use levels::{States, Values};
use model::tables::{lock_waits, locks};
use model::{Row, ThreadKey, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of track for the threads that wait.
pub(super) const WAITERS: &str = "lock_waiters";

/// The maximum number of waits. All are kept, since the table has them in order of end: 40 bytes each.
const MAX_WAITS: usize = 1 << 19;

/// The states: a known holder, an unknown one, and one that is known for the end only. The holder's key is with the slice.
const HELD: u8 = 0;
const UNKNOWN: u8 = 1;
const LAST: u8 = 2;

/// A lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lock {
    /// The process; `None` for a lock of the kernel.
    pid: Option<i64>,
    /// The address of its word, or its number.
    object: String,
    kind: String,
    waits: i64,
    waited_ns: i64,
    max_waited_ns: i64,
    /// The number of threads that waited.
    waiters: i64,
    /// The number of threads that are known to have held it.
    holders: i64,
}

type Key = (Option<i64>, Box<str>, Box<str>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// First, so that a lock that is handed over has no gap with a wrong number.
    Waits(bool),
    Holds(ThreadKey, bool),
    /// It holds the lock at some time from here to the end of the wait.
    Last(ThreadKey, bool),
}

/// A wait for the lock of a track.
struct LockWait {
    track: u32,
    start: i64,
    end: i64,
    /// The thread that is known to have held the lock from its begin, and until when.
    held: Option<(ThreadKey, i64)>,
    /// The thread that ended the wait, and had the lock in the end.
    last: Option<ThreadKey>,
    /// How many threads held it in turn after the first one that is known.
    more: i64,
}

/// The threads that ended waits for one lock, each with the time.
#[derive(Default)]
struct Releases {
    all: Vec<(i64, ThreadKey)>,
    /// How many times another thread than the one before had ended a wait, up to each of these times.
    turns: Vec<i64>,
}

impl Releases {
    /// Adds one. They come in the order of time.
    fn push(&mut self, at: i64, by: ThreadKey) {
        let turn = match (self.all.last(), self.turns.last()) {
            (Some((_, last)), Some(turn)) => turn + i64::from(*last != by),
            _ => 0,
        };
        self.all.push((at, by));
        self.turns.push(turn);
    }

    /// Returns their places in a time, without its begin.
    fn within(&self, after: i64, until: i64) -> std::ops::Range<usize> {
        let place = |at: i64| self.all.partition_point(|(time, _)| *time <= at);
        place(after)..place(until)
    }

    /// How many threads in turn ended waits.
    fn threads(&self, places: &std::ops::Range<usize>) -> i64 {
        let turns = self.turns.get(places.clone()).unwrap_or_default();
        turns.first().zip(turns.last()).map_or(0, |(first, last)| last - first + 1)
    }
}

/// What is known of a lock from a time on.
#[derive(Default)]
struct Now {
    waiters: u32,
    holders: BTreeMap<ThreadKey, u32>,
    last: BTreeMap<ThreadKey, u32>,
}

/// Adds a thread, or removes it.
fn count(of: &mut BTreeMap<ThreadKey, u32>, thread: ThreadKey, begins: bool) {
    let number = of.entry(thread).or_default();
    *number = if begins { *number + 1 } else { number.saturating_sub(1) };
    if *number == 0 {
        of.remove(&thread);
    }
}

impl Now {
    fn take(&mut self, edge: Edge) {
        match edge {
            Edge::Waits(true) => self.waiters += 1,
            Edge::Waits(false) => self.waiters = self.waiters.saturating_sub(1),
            Edge::Holds(by, begins) => count(&mut self.holders, by, begins),
            Edge::Last(by, begins) => count(&mut self.last, by, begins),
        }
    }

    /// Returns the state and the holder.
    fn state(&self) -> (u8, i64) {
        let one = |of: &BTreeMap<ThreadKey, u32>| of.keys().next().copied().filter(|_| of.len() == 1);
        match (one(&self.holders), one(&self.last)) {
            (Some(by), _) => (HELD, by.0),
            (None, Some(by)) if self.holders.is_empty() => (LAST, by.0),
            _ => (UNKNOWN, -1),
        }
    }
}

/// The waits for the locks that have tracks.
struct Waits {
    lanes: Vec<Lane>,
    tracks: FxHashMap<Key, u32>,
    waits: Vec<LockWait>,
    /// The locks without tracks, and the waits beyond [`MAX_WAITS`].
    more_locks: u64,
    more_waits: u64,
}

impl Waits {
    /// Chooses the locks with the longest waits.
    fn new(session: &Session) -> Result<Self, ServeError> {
        let (lanes, tracks, waits) = (Vec::new(), FxHashMap::default(), Vec::new());
        let mut all = Self { lanes, tracks, waits, more_locks: 0, more_waits: 0 };
        if session.may_have_rows(&model::tables::LOCKS) {
            // Those with the longest waits are first.
            session.each(locks::Table, |row| {
                let (pid, object, kind) = (row.get(locks::PID), row.get(locks::LOCK), row.get(locks::KIND));
                let track = all.lanes.len() as u32;
                if all.lanes.len() >= MAX_LANES {
                    all.more_locks += 1;
                    return;
                }
                let lock = Lock {
                    pid,
                    object: object.to_owned(),
                    kind: kind.to_owned(),
                    waits: row.get(locks::WAITS),
                    waited_ns: row.get(locks::WAITED_NS).0,
                    max_waited_ns: row.get(locks::MAX_WAITED_NS).0,
                    waiters: row.get(locks::WAITERS),
                    holders: row.get(locks::HOLDERS),
                };
                all.tracks.insert((pid, object.into(), kind.into()), track);
                all.lanes.push(Lane { lock: Some(lock), ..Lane::new(track, label(pid, object, kind)) });
            })?;
        }
        Ok(all)
    }

    fn take(&mut self, row: &[Value]) {
        use lock_waits::{END_NS, HELD_NS, HOLDER, HOLDERS, KIND, LOCK, PID, RELEASED_BY, START_NS};
        let row = Row::<lock_waits::Table>::new(row);
        let key = (row.get(PID), row.get(LOCK).into(), row.get(KIND).into());
        let Some(track) = self.tracks.get(&key).copied() else { return };
        if self.waits.len() >= MAX_WAITS {
            self.more_waits += 1;
            return;
        }
        let [start, end] = [row.get(START_NS).0, row.get(END_NS).0];
        if start >= end {
            return;
        }
        // The table `locks` knows no holder if what it has may be another kind of wait.
        let has_holder = self.lanes[track as usize].lock.as_ref().is_some_and(|lock| lock.holders > 0);
        let held = row.get(HOLDER).zip(row.get(HELD_NS)).filter(|_| has_holder);
        let held = held.map(|(by, ns)| (by, start.saturating_add(ns.0).min(end)));
        let last = row.get(RELEASED_BY).filter(|by| has_holder && *by > ThreadKey::IDLE);
        let more = row.get(HOLDERS).saturating_sub(i64::from(held.is_some()));
        self.waits.push(LockWait { track, start, end, held, last, more });
    }

    /// Passes on what is known of each track from each instant on.
    fn each(&self, mut then: impl FnMut(u32, i64, &Now)) {
        let mut edges: Vec<(i64, u32, Edge)> = Vec::with_capacity(2 * self.waits.len());
        let mut releases: FxHashMap<u32, Releases> = FxHashMap::default();
        for wait in &self.waits {
            if let Some(by) = wait.last {
                releases.entry(wait.track).or_default().push(wait.end, by);
            }
        }
        // The times in which all holders of a lock are named, by its waits with several of them.
        let mut named: BTreeMap<(u32, i64), i64> = BTreeMap::new();
        for LockWait { track, start, end, held, last, more } in &self.waits {
            edges.extend([(*start, *track, Edge::Waits(true)), (*end, *track, Edge::Waits(false))]);
            let until = held.map_or(*start, |(_, until)| until);
            if let Some((by, _)) = held.filter(|_| until > *start) {
                edges.extend([(*start, *track, Edge::Holds(by, true)), (until, *track, Edge::Holds(by, false))]);
            }
            let of = releases.get(track).filter(|_| last.is_some() && *end > until);
            // Otherwise a thread released it without ending a wait.
            if of.is_some_and(|of| of.threads(&of.within(until, *end)) == *more) {
                let known = named.entry((*track, until)).or_insert(*end);
                *known = (*known).max(*end);
            }
        }
        let mut done: (u32, i64) = (u32::MAX, i64::MIN);
        for ((track, from), until) in named {
            // What an earlier wait named is drawn already.
            let mut from = if done.0 == track { from.max(done.1) } else { from };
            let Some(of) = releases.get(&track).filter(|_| from < until) else { continue };
            done = (track, until);
            for (at, by) in of.all.get(of.within(from, until)).unwrap_or_default() {
                if *at > from {
                    edges.extend([(from, track, Edge::Last(*by, true)), (*at, track, Edge::Last(*by, false))]);
                    from = *at;
                }
            }
        }
        edges.sort_unstable();
        let mut now: FxHashMap<u32, Now> = FxHashMap::default();
        for (at, (when, track, edge)) in edges.iter().enumerate() {
            let of = now.entry(*track).or_default();
            of.take(*edge);
            if edges.get(at + 1).is_none_or(|(next, other, _)| (next, other) != (when, track)) {
                then(*track, *when, of);
            }
        }
    }

    fn note(&self) -> String {
        let more = (self.more_locks > 0).then(|| {
            format!("the {MAX_LANES} with the longest waits; {} others are in the table locks", self.more_locks)
        });
        let waits = (self.more_waits > 0).then(|| format!("{} later waits are not shown", self.more_waits));
        more.into_iter().chain(waits).collect::<Vec<_>>().join("; ")
    }
}

/// Returns the label of a lock's track.
fn label(pid: Option<i64>, object: &str, kind: &str) -> String {
    let kind = kind.replace('_', " ");
    match pid {
        Some(pid) => format!("{kind} {object} (process {pid})"),
        None => format!("{kind} {object}"),
    }
}

/// Which of the two kinds is built.
struct Locks<'a, D: TrackData> {
    waits: Waits,
    feed: Feed<'a, D>,
}

pub(crate) fn holders<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Locks::<States> { waits: Waits::new(session)?, feed: Feed::new(to, name) }))
}

pub(crate) fn waiters<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Locks::<Values> { waits: Waits::new(session)?, feed: Feed::new(to, name) }))
}

impl Kind for Locks<'_, States> {
    fn lock_wait(&mut self, row: &[Value]) {
        self.waits.take(row);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { waits, mut feed } = *self;
        waits.each(|track, at, now| feed.change(track, at, (now.waiters > 0).then(|| now.state())));
        let title =
            "Locks: who held each while threads waited (pale: in the end, since when is unknown; hatched: unknown)";
        let (title, note) = (title.into(), waits.note());
        let states = ["held", "holder unknown", "held in the end"].map(str::to_owned).into();
        Ok(feed.finish()?.then(|| KindInfo { title, note, ..KindInfo::of_states(waits.lanes, states) }))
    }
}

impl Kind for Locks<'_, Values> {
    fn lock_wait(&mut self, row: &[Value]) {
        self.waits.take(row);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { mut waits, mut feed } = *self;
        let mut most = vec![0u32; waits.lanes.len()];
        waits.each(|track, at, now| {
            most[track as usize] = most[track as usize].max(now.waiters);
            feed.change(track, at, (now.waiters > 0).then(|| f64::from(now.waiters)));
        });
        for (lane, most) in waits.lanes.iter_mut().zip(most) {
            (lane.most, lane.lock) = (f64::from(most), None);
        }
        let (title, unit) = ("Threads that wait for each lock".into(), "threads".into());
        Ok(feed.finish()?.then(|| KindInfo { title, unit, ..KindInfo::of_values(waits.lanes) }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Trace;
    use crate::kinds::KindInfo;
    use crate::prepare::Levels;
    use crate::testing::{prepared, redacted};
    use model::tables::lock_waits;

    /// Of a lock's track: its state, start and end in ms, and the TID of the holder.
    type Held = (u8, i64, i64, Option<i32>);

    fn info<'a>(trace: &'a Trace, kind: &str) -> Option<&'a (KindInfo, Levels)> {
        trace.levels.kinds.iter().find(|(info, _)| info.kind == kind)
    }

    fn held(trace: &Trace, track: u32) -> Vec<Held> {
        let Some((_, Levels::States(levels))) = info(trace, "locks") else { panic!("no locks") };
        let tid = |key: i64| trace.tracks.instances().find(|(_, _, of, ..)| of.0 == key).map(|(tid, ..)| tid);
        let slices = levels.slices(0..i64::MAX, 0, track..=track, 100).unwrap();
        slices.iter().map(|s| (s.state, s.start / 1_000_000, s.end / 1_000_000, tid(s.what))).collect()
    }

    /// The number of waiting threads: start and end in ms.
    fn waiting(trace: &Trace, track: u32) -> Vec<(i64, i64, f64)> {
        let Some((_, Levels::Values(levels))) = info(trace, "lock_waiters") else { panic!("no waiters") };
        let slices = levels.slices(0..i64::MAX, 0, track..=track, 100).unwrap();
        slices.iter().map(|s| (s.start / 1_000_000, s.end / 1_000_000, s.mean)).collect()
    }

    /// B holds the mutex until 5 ms; then C has it at some time, which wakes A at 7 ms. Before 1 ms no thread waits, so the lock is not shown,
    /// though B holds it.
    #[test]
    fn a_lock_is_held_as_far_as_waits_name_its_holder() {
        let (_dir, trace) = prepared(
            "
            cpu0 P0 As .  .  .  .  .  .  .  A A
            cpu1 P1 .  B  Bs .  B  B  .  .  . .
            cpu2 P2 Cs Cs .  .  .  .  C  C  C .
            waking  .  .  .  .  B<.@1 C<B@1 . A<C@2 . .
            futex   .  A=m1<B C=m1<B . . . . . . .
            process A  B<A  C<A . . . . . . .
            ",
        );
        let (shown, _) = info(&trace, "locks").unwrap();
        let lock = shown.lanes[0].lock.as_ref().unwrap();
        assert_eq!((lock.kind.as_str(), lock.object.as_str(), lock.pid), ("mutex", "0x1000", Some(1)));
        assert_eq!((lock.waits, lock.waiters, lock.waited_ns), (2, 2, 9_000_000));
        assert_eq!(shown.lanes[0].label, "mutex 0x1000 (process 1)");
        assert_eq!(held(&trace, 0), [(0, 1, 5, Some(2)), (2, 5, 7, Some(3))]);
        assert_eq!(waiting(&trace, 0), [(1, 2, 1.0), (2, 5, 2.0), (5, 7, 1.0)]);
        assert_eq!(info(&trace, "lock_waiters").unwrap().0.lanes[0].most, 2.0);
    }

    /// The page finds the track of a lock by what the rows of waits have.
    #[test]
    fn a_redacted_trace_has_no_address_of_a_lock() {
        let (_dir, trace) = prepared(
            "
            cpu0 P0 As .  .  A  As .  .  A
            cpu1 P1 B  B  B  B  B  B  B  B
            waking  .  .  A<B@1 . . . A<B@1 .
            futex   .  A=m2<B . . . A=m1<B . .
            process A  B<A . . . . . .
            ",
        );
        let trace = redacted(&trace.session);
        let mut rows = Vec::new();
        let object = |row: model::Row<'_, lock_waits::Table>| rows.push(row.get(lock_waits::LOCK).to_owned());
        trace.session.each(lock_waits::Table, object).unwrap();
        let lanes = |kind| info(&trace, kind).unwrap().0.lanes.clone();
        let locks: Vec<_> = lanes("locks").into_iter().map(|lane| lane.lock.unwrap().object).collect();
        rows.sort_unstable();
        assert_eq!((locks.clone(), rows), (vec!["#1".to_owned(), "#2".to_owned()], locks));
        let labels = |kind| lanes(kind).into_iter().map(|lane| lane.label).collect::<Vec<_>>();
        assert_eq!(labels("locks"), ["mutex #1 (process 1)", "mutex #2 (process 1)"]);
        assert_eq!(labels("locks"), labels("lock_waiters"));
    }

    /// A waits for B, C and D in turn; only the waits of C and D show that C had the lock before D.
    #[test]
    fn each_of_several_holders_has_its_part() {
        let (_dir, trace) = prepared(
            "
            cpu0 P0 As .  .  .  .  .  .  .  .  A
            cpu1 P1 B  B  B  B  B  B  B  B  B  B
            cpu2 P2 Cs .  .  .  C  C  .  .  .  .
            cpu3 P3 Ds .  .  .  .  .  D  D  D  .
            waking  .  .  .  C<B@1 . D<C@2 . . A<D@3 .
            futex   .  A=m1<B,C=m1<B,D=m1<B . . . . . . . .
            process A  B<A,C<A,D<A . . . . . . . .
            ",
        );
        assert_eq!(held(&trace, 0), [(0, 1, 3, Some(2)), (2, 3, 5, Some(3)), (2, 5, 8, Some(4))]);
    }

    #[test]
    fn without_waits_for_locks_there_are_no_such_kinds() {
        let (_dir, trace) = prepared(
            "
            cpu0 P0 As .  .  A
            cpu1 P1 B  B  B  B
            waking  .  .  A<B@1 .
            object  .  A=pipe7 . .
            ",
        );
        assert!(info(&trace, "locks").is_none() && info(&trace, "lock_waiters").is_none());
    }
}
