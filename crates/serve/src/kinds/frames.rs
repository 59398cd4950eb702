//! The frames of each swap chain, with their frame times.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::tables::frames;
use model::{Ns, Row, Value};
use std::collections::BTreeMap;

struct Frames<'a> {
    feed: Feed<'a, Values>,
    /// By program, process and swap chain; with the end of the last frame.
    lanes: BTreeMap<(String, Option<i64>, String), (Lane, i64)>,
    left_out: u64,
    /// The median frame time, in ns.
    median: Option<i64>,
    to: Target<'a>,
}

pub(crate) fn new<'a>(session: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
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
        let (Ns(start), Some(Ns(took))) = (row.get(frames::START_NS), row.get(frames::FRAME_NS)) else { return };
        let [application, chain] = row.all([frames::APPLICATION, frames::SWAP_CHAIN]).map(Option::unwrap_or_default);
        let of = (application.to_owned(), row.get(frames::PID), chain.to_owned());
        let next = self.lanes.len();
        if next >= MAX_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let (application, pid, chain) = of.clone();
        let (lane, end) = self.lanes.entry(of).or_insert_with(|| {
            let parts = [application, pid.map_or(String::new(), |pid| format!("process {pid}")), chain];
            let label = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
            let label = if label.is_empty() { "frames".to_owned() } else { label };
            (Lane::new(next as u32, label), 0)
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

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
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
        Ok(feed.finish()?.then(|| KindInfo { title, unit: "ns".into(), note, line, ..KindInfo::of_values(shown) }))
    }
}

/// Returns the title of the tracks, with the value of their line (ns) and its meaning.
fn title(line: Option<f64>, what: &str) -> String {
    let line = line.map_or(String::new(), |ns| format!("; line: {:.1} ms, {what}", ns / 1e6));
    format!("Frame times (mean per pixel; lighter: maximum){line}")
}

/// Replaces the median by a frame budget (ns).
pub(crate) fn with_budget(shown: &KindInfo, budget: i64) -> KindInfo {
    let line = Some(budget as f64);
    KindInfo { line, title: title(line, "the budget"), ..shown.clone() }
}
