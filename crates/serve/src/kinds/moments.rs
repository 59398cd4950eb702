//! Marks without length: a track for each name of each thread or process. What is told of a moment lasts until the next one of its track.

use super::marks::label;
use super::{Kind, Lane, MOST_LANES, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::States;
use model::{Event, Mark, MarkEdge, NameId, What};
use std::collections::BTreeMap;

struct Moments<'a> {
    feed: Feed<'a, States>,
    /// By thread, or else process, and name; and how many there were.
    lanes: BTreeMap<(i32, i32, NameId), (Lane, u64)>,
    left_out: u64,
    at_end: u64,
    end: i64,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    let (feed, lanes) = (Feed::new(to, name), BTreeMap::new());
    Ok(Box::new(Moments { feed, lanes, left_out: 0, at_end: 0, end: to.whole }))
}

impl Kind for Moments<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let What::Mark(Mark { tid, pid, name, edge: MarkEdge::Instant, .. }) = event.what else { return };
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
        if next >= MOST_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let lane = || (Lane { track: next as u32, label: label(of, names), most: 0.0 }, 0);
        let (lane, count) = self.lanes.entry(of).or_insert_with(lane);
        *count += 1;
        // Two that follow one another are told apart.
        self.feed.change(lane.track, at, Some((0, (*count % 2) as i64)));
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let Self { feed, lanes, left_out, at_end, .. } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().map(|(lane, _)| lane).collect();
        lanes.sort_by_key(|lane| lane.track);
        let mut notes = Vec::new();
        if left_out > 0 {
            notes.push(format!("{left_out} beyond the first {MOST_LANES} tracks are not shown"));
        }
        if at_end > 0 {
            notes.push(format!("{at_end} at the very end are not shown"));
        }
        let (title, note) = ("Moments that are marked".into(), notes.join("; "));
        let states = vec!["from this moment on".to_owned()];
        Ok(feed.finish()?.then(|| Shown { title, note, ..Shown::of_states(lanes, states) }))
    }
}
