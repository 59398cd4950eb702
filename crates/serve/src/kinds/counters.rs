//! What programs or the kernel measure, each value from when it was told until the next.

use super::{Kind, Lane, MOST_LANES, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::{Event, NameId, What};
use std::collections::BTreeMap;

struct Counters<'a> {
    feed: Feed<'a, Values>,
    lanes: BTreeMap<(i32, NameId), Lane>,
    /// Values of counters beyond [`MOST_LANES`].
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Counters { feed: Feed::new(to, name), lanes: BTreeMap::new(), left_out: 0 }))
}

impl Kind for Counters<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let What::Value { pid, name, value } = event.what else { return };
        let next = self.lanes.len();
        let of = (pid.0, name);
        if next >= MOST_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let lane = self.lanes.entry(of).or_insert_with(|| {
            let name = super::name(names, name).unwrap_or("?");
            let label = if pid.0 > 0 { format!("{name} (process {})", pid.0) } else { name.to_owned() };
            Lane { track: next as u32, label, most: 0.0 }
        });
        let value = Some(value).filter(|v| v.is_finite());
        lane.most = lane.most.max(value.unwrap_or(0.0));
        self.feed.change(lane.track, event.at.0.max(0), value);
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let Self { feed, lanes, left_out } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_by_key(|lane| lane.track);
        let note = if left_out == 0 {
            String::new()
        } else {
            format!("the first {MOST_LANES} counters are shown; {left_out} values are of others")
        };
        let title = "Counters: mean over the time drawn, lighter up to the most".into();
        Ok(feed.finish()?.then(|| Shown { title, note, ..Shown::of_values(lanes) }))
    }
}
