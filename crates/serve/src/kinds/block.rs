//! How many requests each block device has under way.

use super::{Kind, Lane, MOST_LANES, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::Values;
use model::{BlockOperation, BlockRequest, Device, Event, What};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

struct Block<'a> {
    feed: Feed<'a, Values>,
    devices: BTreeMap<Device, Queue>,
    /// Requests to devices beyond [`MOST_LANES`].
    left_out: u64,
}

/// Requests that are told apart of a device: many times what its queue holds.
const MOST_UNDER_WAY: u32 = 1 << 16;

#[derive(Default)]
struct Queue {
    track: u32,
    /// How many, by first sector and operation.
    under_way: FxHashMap<(u64, BlockOperation), u32>,
    /// And in all.
    count: u32,
    most: u32,
}

impl Queue {
    /// Whether this changes how many are under way. One that is done in parts is done with the first of them; one that was issued
    /// before the recording is none of those.
    fn take(&mut self, request: &BlockRequest) -> bool {
        let place = (request.sector, request.operation);
        if !request.done {
            let room = self.count < MOST_UNDER_WAY;
            if room {
                *self.under_way.entry(place).or_default() += 1;
                self.count += 1;
                self.most = self.most.max(self.count);
            }
            return room;
        }
        let Some(same) = self.under_way.get_mut(&place) else { return false };
        *same -= 1;
        if *same == 0 {
            self.under_way.remove(&place);
        }
        self.count -= 1;
        true
    }
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    Ok(Box::new(Block { feed: Feed::new(to, name), devices: BTreeMap::new(), left_out: 0 }))
}

impl Kind for Block<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let What::Block { request, .. } = event.what else { return };
        let next = self.devices.len();
        if !self.devices.contains_key(&request.device) && (request.done || next >= MOST_LANES) {
            self.left_out += u64::from(!request.done);
            return;
        }
        let new = || Queue { track: next as u32, ..Queue::default() };
        let queue = self.devices.entry(request.device).or_insert_with(new);
        if queue.take(&request) {
            self.feed.change(queue.track, event.at.max(model::Ns::ZERO).0, Some(f64::from(queue.count)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let lane = |(device, queue): (&Device, &Queue)| Lane {
            track: queue.track,
            label: format!("device {device}"),
            most: f64::from(queue.most),
        };
        let lanes = self.devices.iter().map(lane).collect();
        let note = match self.left_out {
            0 => String::new(),
            n => format!("the first {MOST_LANES} devices are shown; {n} requests are to others"),
        };
        Ok(self.feed.finish()?.then(|| Shown {
            title: "Block I/O: requests under way, mean over the time drawn, lighter up to the most".into(),
            unit: "requests".into(),
            note,
            ..Shown::of_values(lanes)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_issued_before_is_none_of_those_under_way() {
        let mut queue = Queue::default();
        let mut take = |sector, done| {
            let (device, operation) = (Device(1), BlockOperation::Read);
            let changed = queue.take(&BlockRequest { device, sector, bytes: 4096, operation, done });
            (changed, queue.count)
        };
        assert_eq!(take(8, false), (true, 1));
        assert_eq!(take(16, true), (false, 1));
        assert_eq!(take(24, false), (true, 2));
        // In two parts.
        assert_eq!(take(24, true), (true, 1));
        assert_eq!(take(28, true), (false, 1));
        assert_eq!(take(8, true), (true, 0));
    }
}
