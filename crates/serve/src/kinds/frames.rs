//! The frames of each swap chain: how long each took, while it took it.

use super::{Kind, Lane, MOST_LANES, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::tables::frames;
use model::{Row, Value};
use std::collections::BTreeMap;

struct Frames<'a> {
    feed: Feed<'a, Values>,
    /// By program, process and swap chain; and when the last frame ends.
    lanes: BTreeMap<(String, Option<i64>, String), (Lane, i64)>,
    left_out: u64,
    /// The median of their times, ns.
    median: Option<i64>,
    to: To<'a>,
}

pub(crate) fn new<'a>(session: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Frames {
        feed: Feed::new(to, name),
        lanes: BTreeMap::new(),
        left_out: 0,
        median: session.median_frame()?.map(|ns| ns.0),
        to,
    }))
}

impl Kind for Frames<'_> {
    fn frame(&mut self, row: &[Value]) {
        let row = Row::<frames::Table>::new(row);
        let (start, Some(took)) = (row.get(frames::START_NS), row.get(frames::FRAME_NS)) else { return };
        let [application, chain] = row.all([frames::APPLICATION, frames::SWAP_CHAIN]).map(Option::unwrap_or_default);
        let of = (application.to_owned(), row.get(frames::PID), chain.to_owned());
        let next = self.lanes.len();
        if next >= MOST_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let (application, pid, chain) = of.clone();
        let (lane, end) = self.lanes.entry(of).or_insert_with(|| {
            let words = [application, pid.map_or(String::new(), |pid| format!("process {pid}")), chain];
            let label = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            let label = if label.is_empty() { "frames".to_owned() } else { label };
            (Lane { track: next as u32, label, most: 0.0 }, 0)
        });
        let (from, to) = (start.max(*end), start.saturating_add(took).min(self.to.whole));
        if to <= from {
            return;
        }
        if from > *end {
            self.feed.change(lane.track, *end, None);
        }
        self.feed.change(lane.track, from, None);
        self.feed.change(lane.track, from, Some(took as f64));
        (lane.most, *end) = (lane.most.max(took as f64), to);
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let Self { mut feed, lanes, left_out, median, .. } = *self;
        let mut shown = Vec::new();
        for (lane, end) in lanes.into_values() {
            feed.change(lane.track, end, None);
            shown.push(lane);
        }
        shown.sort_by_key(|lane| lane.track);
        let note = if left_out == 0 {
            String::new()
        } else {
            format!("{left_out} frames of further swap chains are not shown")
        };
        let line = median.map(|ns| ns as f64);
        let title = title(line, "the median");
        Ok(feed.finish()?.then(|| Shown { title, unit: "ns".into(), note, line, ..Shown::of_values(shown) }))
    }
}

/// What stands above the tracks: also what their line is, ns, and what it stands for.
fn title(line: Option<f64>, what: &str) -> String {
    let line = line.map_or(String::new(), |ns| format!("; line: {:.1} ms, {what}", ns / 1e6));
    format!("Frame times: mean over the time drawn, lighter up to the longest{line}")
}

/// The tracks against what a frame may take (ns) instead of the median.
pub(crate) fn against(shown: &Shown, budget: i64) -> Shown {
    let line = Some(budget as f64);
    Shown { line, title: title(line, "the budget"), ..shown.clone() }
}
