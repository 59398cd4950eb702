//! Counters of programs or the kernel; each value lasts until the next.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{Event, EventKind, NameId};
use std::collections::BTreeMap;

struct Counters<'a> {
    feed: Feed<'a, Values>,
    lanes: BTreeMap<(i32, NameId), Lane>,
    /// Values of counters beyond [`MAX_LANES`].
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Counters { feed: Feed::new(to, name), lanes: BTreeMap::new(), left_out: 0 }))
}

impl Kind for Counters<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let EventKind::Value { pid, name, value } = event.what else { return };
        let next = self.lanes.len();
        let of = (pid.0, name);
        if next >= MAX_LANES && !self.lanes.contains_key(&of) {
            self.left_out += 1;
            return;
        }
        let lane = self.lanes.entry(of).or_insert_with(|| {
            let name = super::name(names, name).unwrap_or("?");
            let label = if pid.0 > 0 { format!("{name} (process {})", pid.0) } else { name.to_owned() };
            Lane::new(next as u32, label)
        });
        let value = Some(value).filter(|v| v.is_finite());
        lane.most = lane.most.max(value.unwrap_or(0.0));
        self.feed.change(lane.track, event.at.0.max(0), value);
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { feed, lanes, left_out } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_by_key(|lane| lane.track);
        let note = if left_out == 0 {
            String::new()
        } else {
            format!("only the first {MAX_LANES} counters are shown; {left_out} values of others are not")
        };
        let title = "Counters of programs and the kernel (mean per pixel; lighter: maximum)".into();
        Ok(feed.finish()?.then(|| KindInfo { title, note, ..KindInfo::of_values(lanes) }))
    }
}
