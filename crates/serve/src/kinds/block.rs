//! How many requests each block device has under way.

use super::{Kind, Lane, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::{Device, Event, What};
use std::collections::BTreeMap;

struct Block<'a> {
    feed: Feed<'a, Values>,
    devices: BTreeMap<Device, Queue>,
}

struct Queue {
    track: u32,
    under_way: u32,
    most: u32,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Block { feed: Feed::new(to, name), devices: BTreeMap::new() }))
}

impl Kind for Block<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let What::Block { request, .. } = event.what else { return };
        let next = self.devices.len() as u32;
        if next as usize >= super::MOST_LANES && !self.devices.contains_key(&request.device) {
            return;
        }
        let queue = self.devices.entry(request.device).or_insert(Queue { track: next, under_way: 0, most: 0 });
        // One that is done in parts counts as done with the first of them; what was issued before the recording, not at all.
        queue.under_way = if request.done { queue.under_way.saturating_sub(1) } else { queue.under_way + 1 };
        queue.most = queue.most.max(queue.under_way);
        self.feed.change(queue.track, event.at.max(model::Ns::ZERO).0, Some(f64::from(queue.under_way)));
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let lane = |(device, queue): (&Device, &Queue)| Lane {
            track: queue.track,
            label: format!("device {device}"),
            most: f64::from(queue.most),
        };
        let lanes = self.devices.iter().map(lane).collect();
        Ok(self.feed.finish()?.then(|| Shown {
            title: "Block I/O: requests under way, mean over the time drawn, lighter up to the most".into(),
            unit: "requests".into(),
            ..Shown::of_values(lanes)
        }))
    }
}
