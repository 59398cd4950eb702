//! Periods, requests and parallel regions: a track for each thread or name, and further tracks for those at the same time.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::{Interval, IntervalKind, Session};
use levels::States;
use model::{ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of tracks of a thread or name.
const MAX_DEPTH: usize = 16;
/// The maximum number of intervals that wait for one that begins earlier: a table has the first ones of a thread when it is certain that
/// there are such.
const WAITING: usize = 1 << 18;

/// The thread, the process and the name of an interval.
type Owner = (Tid, i64, Box<str>);

/// An interval that waits for its turn.
struct Held {
    owner: Owner,
    /// The key of the thread, unless it is of a region.
    thread: Option<ThreadKey>,
    split: i64,
    done: i64,
    number: i64,
}

struct Intervals<'a> {
    of: IntervalKind,
    feed: Feed<'a, States>,
    /// The tracks, each with the end of its last interval.
    lanes: BTreeMap<(Owner, usize), (Lane, i64)>,
    /// By begin, and in the order of the table.
    held: BTreeMap<(i64, u64), Held>,
    /// The later changes of tracks: their state, and the number of the interval.
    changes: BTreeSet<(i64, u32, u8, i64)>,
    /// The begin of the last interval that was drawn.
    drawn: i64,
    count: u64,
    left_out: u64,
}

fn begin<'a>(of: IntervalKind, to: Target<'a>, name: &'static str) -> BoxedKind<'a> {
    Box::new(Intervals {
        of,
        feed: Feed::new(to, name),
        lanes: BTreeMap::new(),
        held: BTreeMap::new(),
        changes: BTreeSet::new(),
        drawn: 0,
        count: 0,
        left_out: 0,
    })
}

pub(crate) fn periods<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(begin(IntervalKind::Period, to, name))
}

pub(crate) fn requests<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(begin(IntervalKind::Request, to, name))
}

pub(crate) fn regions<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(begin(IntervalKind::Region, to, name))
}

/// Returns the label of a thread's or name's track.
fn label((tid, pid, name): &Owner, depth: usize) -> String {
    let of = match (tid, pid) {
        (Tid(1..), _) => format!("{name} (thread {tid})"),
        (_, 1..) => format!("{name} (process {pid})"),
        _ => name.to_string(),
    };
    if depth > 0 { format!("{of}, at the same time: {}", depth + 1) } else { of }
}

impl Intervals<'_> {
    /// Returns the track of an interval: the first one of its owner that is free at its begin.
    fn lane(&mut self, start: i64, Held { owner, thread, done, .. }: &Held) -> Option<u32> {
        let of = self.of;
        for depth in 0..MAX_DEPTH {
            let next = self.lanes.len();
            match self.lanes.get_mut(&(owner.clone(), depth)) {
                Some((_, end)) if *end > start => {}
                Some((lane, end)) => {
                    *end = *done;
                    return Some(lane.track);
                }
                None if next >= MAX_LANES => return None,
                None => {
                    let range = match owner.0 {
                        Tid(1..) => format!("{}:{}", of.word(), owner.0),
                        _ => format!("{}:{}", of.word(), owner.2),
                    };
                    let lane =
                        Lane { thread: *thread, range: Some(range), ..Lane::new(next as u32, label(owner, depth)) };
                    self.lanes.insert((owner.clone(), depth), (lane, *done));
                    return Some(next as u32);
                }
            }
        }
        None
    }

    /// Applies the changes up to a time.
    fn change_until(&mut self, until: i64) {
        while let Some(change) = self.changes.first().copied().filter(|change| change.0 <= until) {
            self.changes.remove(&change);
            let (at, track, state, number) = change;
            self.feed.change(track, at, Some((state, number)));
        }
    }

    /// Draws the interval that begins first.
    fn draw_first(&mut self) {
        let Some(((start, _), held)) = self.held.pop_first() else { return };
        let Held { split, done, number, .. } = held;
        self.drawn = start;
        self.change_until(start);
        match self.lane(start, &held) {
            Some(track) => {
                self.feed.change(track, start, Some((1, number)));
                self.changes.insert((split, track, 2, number));
                self.changes.insert((done, track, 0, -1));
            }
            None => self.left_out += 1,
        }
    }
}

impl Kind for Intervals<'_> {
    fn interval(&mut self, kind: IntervalKind, interval: &Interval<'_>, name: &str) {
        let [start, split, done] = [interval.span.start, interval.split, interval.done].map(|at| at.0);
        if kind != self.of || start >= done {
            return;
        }
        if start < self.drawn {
            self.left_out += 1;
            return;
        }
        let owner = (interval.tid.unwrap_or_default(), interval.pid.unwrap_or(0), name.into());
        let split = split.clamp(start, done);
        let number = i64::try_from(interval.number).unwrap_or(-1);
        self.count += 1;
        let thread = interval.tid.map(|_| interval.thread);
        self.held.insert((start, self.count), Held { owner, thread, split, done, number });
        if self.held.len() > WAITING {
            self.draw_first();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        while !self.held.is_empty() {
            self.draw_first();
        }
        self.change_until(i64::MAX);
        let Self { of, feed, lanes, left_out, .. } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().map(|(lane, _)| lane).collect();
        lanes.sort_by_key(|lane| lane.track);
        let (title, states) = match of {
            IntervalKind::Period => ("Periods", ["not at work", "due, not woken yet", "at work"]),
            IntervalKind::Request => ("Requests", ["no request", "queued", "at work"]),
            IntervalKind::Region => {
                ("Parallel regions", ["no region", "all threads work", "waiting for the last thread"])
            }
        };
        let note = match left_out {
            0 => String::new(),
            n => format!("{n} of others or at the same time are not shown"),
        };
        let states = states.map(str::to_owned).into();
        Ok(feed.finish()?.then(|| KindInfo { title: title.into(), note, ..KindInfo::of_states(lanes, states) }))
    }
}

#[cfg(test)]
mod tests {
    /// An interrupt wakes a every 4 ms, in the third period 0.1 ms late, and a works for 1 ms. The first period begins at 4 ms.
    #[test]
    fn a_period_has_its_lateness_and_its_work() {
        let mut lines = vec!["a-10 [000] 1.000000: sched_switch: a:10 [120] S ==> swapper/0:0 [120]".to_owned()];
        for period in 1..=11 {
            let late = if period == 3 { 100 } else { 0 };
            let at = |us: i64| format!("[000] 1.{:06}:", 4000 * period + us);
            lines.push(format!("<idle>-0 {} sched_wakeup: a:10 [120] CPU:000", at(late)));
            lines.push(format!("<idle>-0 {} sched_switch: swapper/0:0 [120] R ==> a:10 [120]", at(late + 10)));
            lines.push(format!("a-10 {} sched_switch: a:10 [120] S ==> swapper/0:0 [120]", at(late + 1000)));
        }
        let (info, slices) =
            crate::kinds::tests::states("periods", &lines.iter().map(String::as_str).collect::<Vec<_>>());
        let [lane] = &info.lanes[..] else { panic!("{:?}", info.lanes) };
        assert_eq!((lane.label.as_str(), lane.range.as_deref()), ("a (thread 10)", Some("period:10")));
        assert_eq!((slices[0], slices[1]), ((0, 4.0, 5.0, 2, 1), (0, 5.0, 8.0, 0, -1)));
        let of_third: Vec<_> = slices.iter().filter(|slice| slice.4 == 3).map(|slice| slice.3).collect();
        assert_eq!(of_third, [1, 2], "late, then at work");
        let work = slices.iter().filter(|slice| slice.3 == 2);
        assert_eq!(work.map(|slice| slice.4).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    }
}
