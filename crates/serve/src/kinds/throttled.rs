//! When each thread was throttled by its cgroup's CPU quota, from the table `throttled`. The page shows it in the tracks of threads; its
//! tracks have their numbers.

use super::{BoxedKind, Kind, KindInfo};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::States;
use model::tables::throttled;
use model::{Row, Value};

/// The maximum number of times. All are kept, since the table has them in order of end: 24 bytes each.
const MAX_TIMES: usize = 1 << 21;

struct Throttled<'a> {
    to: Target<'a>,
    feed: Feed<'a, States>,
    /// Start, track and end.
    times: Vec<(i64, u32, i64)>,
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Throttled { to, feed: Feed::new(to, name), times: Vec::new(), left_out: 0 }))
}

impl Kind for Throttled<'_> {
    fn throttled(&mut self, row: &[Value]) {
        let row = Row::<throttled::Table>::new(row);
        let Some(track) = self.to.tracks.of_thread(row.get(throttled::THREAD)) else { return };
        match self.times.len() < MAX_TIMES {
            true => self.times.push((row.get(throttled::START_NS).0, track, row.get(throttled::END_NS).0)),
            false => self.left_out += 1,
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { mut feed, times, left_out, .. } = *self;
        let mut changes: Vec<(i64, u32, bool)> =
            times.iter().flat_map(|(start, track, end)| [(*start, *track, true), (*end, *track, false)]).collect();
        // Where one ends and the next begins, the end is first.
        changes.sort_unstable_by_key(|(at, track, begins)| (*at, *track, *begins));
        for (at, track, begins) in changes {
            feed.change(track, at, begins.then_some((0, -1)));
        }
        let note = if left_out > 0 { format!("{left_out} later ones are not shown") } else { String::new() };
        let states = vec!["throttled".to_owned()];
        let title = "Throttled by a CPU quota".into();
        Ok(feed.finish()?.then(|| KindInfo { title, note, ..KindInfo::of_states(Vec::new(), states) }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::prepare::Levels;
    use crate::testing::prepared;

    /// A is throttled from 2 to 6 ms, B from 3 to 6 ms and again from 7 on; the tracks are those of the threads.
    #[test]
    fn throttled_times_are_in_the_tracks_of_their_threads() {
        let (_dir, trace) = prepared(
            "
            cpu0 P0   A Ar . . . . A A A
            cpu1 P1   B B  B C C C C C C
            waking    . C@1
            throttle  . .  A( B( . . A),B) B(
            ",
        );
        let found = trace.levels.kinds.iter().find(|(info, _)| info.kind == "throttled").unwrap();
        let (info, Levels::States(levels)) = found else { panic!("values") };
        assert!(info.lanes.is_empty());
        let slices = levels.slices(0..i64::MAX, 0, 0..=u32::MAX, 100).unwrap();
        let mut drawn: Vec<_> = slices.iter().map(|s| (s.track, s.start / 1_000_000, s.end / 1_000_000)).collect();
        drawn.sort_unstable();
        let mut keys = Vec::new();
        trace
            .session
            .each(model::tables::threads::Table, |row| {
                keys.push((row.get(model::tables::threads::TID).0, row.get(model::tables::threads::THREAD)));
            })
            .unwrap();
        let track = |tid: i32| trace.tracks.of_thread(keys.iter().find(|(of, _)| *of == tid).unwrap().1).unwrap();
        let mut expected = [(track(1), 2, 6), (track(2), 3, 6), (track(2), 7, 9)];
        expected.sort_unstable();
        assert_eq!(drawn, expected);
    }

    #[test]
    fn without_throttling_there_is_no_such_kind() {
        let (_dir, trace) = prepared("cpu0 P0   A Ar . A");
        assert!(trace.levels.kinds.iter().all(|(info, _)| info.kind != "throttled"));
    }
}
