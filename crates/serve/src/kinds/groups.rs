//! How many threads of each group of tracks ran and were ready: what a folded group shows. The groups are those of [`crate::Tracks`].

use super::{BoxedKind, Kind, KindInfo, Lane};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{Span, ThreadState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The names of the two tracks of a group: that of group `g` which has the threads that ran is `2 * g`, the other one `2 * g + 1`.
const LABELS: [&str; 2] = ["running", "ready"];

struct Groups<'a> {
    feed: Feed<'a, Values>,
    /// By track: how many there are now, and at most.
    counts: BTreeMap<u32, (i64, i64)>,
    /// The ends of stretches, with their tracks. As many as threads run or are ready at the same time.
    ends: BinaryHeap<Reverse<(i64, u32)>>,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Groups { feed: Feed::new(to, name), counts: BTreeMap::new(), ends: BinaryHeap::new() }))
}

impl Groups<'_> {
    fn count(&mut self, track: u32, at: i64, by: i64) {
        let (now, most) = self.counts.entry(track).or_default();
        *now += by;
        *most = (*most).max(*now);
        self.feed.change(track, at, Some(*now as f64));
    }

    fn end_before(&mut self, at: i64) {
        while let Some(Reverse((end, track))) = self.ends.peek().copied().filter(|Reverse((end, _))| *end <= at) {
            self.ends.pop();
            self.count(track, end, -1);
        }
    }
}

impl Kind for Groups<'_> {
    fn thread(&mut self, group: u32, state: ThreadState, span: Span) {
        let track = match state {
            ThreadState::Running => 2 * group,
            ThreadState::Ready => 2 * group + 1,
            _ => return,
        };
        self.end_before(span.start.0);
        for track in [2 * group, 2 * group + 1] {
            if !self.counts.contains_key(&track) {
                self.count(track, 0, 0);
            }
        }
        self.count(track, span.start.0, 1);
        self.ends.push(Reverse((span.end.0, track)));
    }

    fn finish(mut self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        self.end_before(i64::MAX);
        let lane = |(track, (_, most)): (&u32, &(i64, i64))| Lane {
            most: *most as f64,
            ..Lane::new(*track, LABELS[(*track % 2) as usize].into())
        };
        let lanes = self.counts.iter().map(lane).collect();
        let title = "Threads of each group that run and are ready".into();
        Ok(self.feed.finish()?.then(|| KindInfo { title, unit: "threads".into(), ..KindInfo::of_values(lanes) }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    #[test]
    fn the_threads_of_a_process_are_counted_while_they_run_and_are_ready() {
        let lines = [
            "a-10 (10) [000] 1.000000: sched_switch: swapper/0:0 [120] R ==> a:10 [120]",
            "b-11 (10) [001] 1.001000: sched_switch: swapper/1:0 [120] R ==> b:11 [120]",
            "a-10 (10) [000] 1.002000: sched_wakeup: c:12 [120] CPU:000",
            "a-10 (10) [000] 1.003000: sched_switch: a:10 [120] S ==> c:12 [120]",
            "c-12 (12) [000] 1.004000: sched_switch: c:12 [120] S ==> swapper/0:0 [120]",
            "b-11 (10) [001] 1.005000: sched_switch: b:11 [120] S ==> swapper/1:0 [120]",
        ];
        // c is alone in its process, and has no group.
        let steps = crate::kinds::tests::steps("groups", &lines);
        let of = |track| steps.iter().filter(|s| s.0 == track).map(|s| (s.1, s.2, s.3)).collect::<Vec<_>>();
        assert_eq!(of(0), [(0.0, 1.0, 1.0), (1.0, 3.0, 2.0), (3.0, 5.0, 1.0)]);
        assert_eq!(of(1), [(0.0, 5.0, 0.0)]);
        assert_eq!(steps.iter().filter(|s| s.0 > 1).count(), 0);
    }
}
