//! Marks without duration: a track for each name of each thread or process. A moment's slice lasts until the next one of its track.

use super::marks::label;
use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::States;
use model::{Event, EventKind, Mark, MarkEdge, NameId};
use std::collections::BTreeMap;

struct Moments<'a> {
    feed: Feed<'a, States>,
    /// By thread (or else process) and name; with the number of moments.
    lanes: BTreeMap<(i32, i32, NameId), (Lane, u64)>,
    left_out: u64,
    at_end: u64,
    end: i64,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let (feed, lanes) = (Feed::new(to, name), BTreeMap::new());
    Ok(Box::new(Moments { feed, lanes, left_out: 0, at_end: 0, end: to.whole }))
}

impl Kind for Moments<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let EventKind::Mark(Mark { tid, pid, name, edge: MarkEdge::Instant, .. }) = event.what else { return };
        let at = event.at.0;
        if at < 0 {
            return;
        }
        if at >= self.end {
            self.at_end += 1;
            return;
        }
        let of = (tid.0, if tid.0 > 0 { 0 } else { pid.0 }, name);
        let next = self.lanes.len();
        if next >= MAX_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let lane = || (Lane::new(next as u32, label(of, names)), 0);
        let (lane, count) = self.lanes.entry(of).or_insert_with(lane);
        *count += 1;
        // The value alternates, so that consecutive moments are not merged.
        self.feed.change(lane.track, at, Some((0, (*count % 2) as i64)));
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { feed, lanes, left_out, at_end, .. } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().map(|(lane, _)| lane).collect();
        lanes.sort_by_key(|lane| lane.track);
        let mut notes = Vec::new();
        if left_out > 0 {
            notes.push(format!("{left_out} instants beyond the first {MAX_LANES} tracks are not shown"));
        }
        if at_end > 0 {
            notes.push(format!("{at_end} instants at the very end are not shown"));
        }
        let (title, note) = ("Marked instants".into(), notes.join("; "));
        let states = vec!["after this instant".to_owned()];
        Ok(feed.finish()?.then(|| KindInfo { title, note, ..KindInfo::of_states(lanes, states) }))
    }
}
