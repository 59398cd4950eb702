//! The number of requests in flight for each block device.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{BlockOperation, BlockRequest, Device, Event, EventKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

struct Block<'a> {
    feed: Feed<'a, Values>,
    devices: BTreeMap<Device, Queue>,
    /// Requests to devices beyond [`MAX_LANES`].
    left_out: u64,
}

/// The maximum number of requests in flight to a device that are distinguished: many times the length of its queue.
const MAX_IN_FLIGHT: u32 = 1 << 16;

#[derive(Default)]
struct Queue {
    track: u32,
    /// The number of requests in flight by first sector and operation.
    in_flight: FxHashMap<(u64, BlockOperation), u32>,
    /// The total number of requests in flight.
    count: u32,
    most: u32,
}

impl Queue {
    /// Counts a request, and returns whether the number in flight changed. A request that completes in parts counts as done with the
    /// first part. A request that was issued before the recording does not count.
    fn take(&mut self, request: &BlockRequest) -> bool {
        let place = (request.sector, request.operation);
        if !request.done {
            let room = self.count < MAX_IN_FLIGHT;
            if room {
                *self.in_flight.entry(place).or_default() += 1;
                self.count += 1;
                self.most = self.most.max(self.count);
            }
            return room;
        }
        let Some(same) = self.in_flight.get_mut(&place) else { return false };
        *same -= 1;
        if *same == 0 {
            self.in_flight.remove(&place);
        }
        self.count -= 1;
        true
    }
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Block { feed: Feed::new(to, name), devices: BTreeMap::new(), left_out: 0 }))
}

impl Kind for Block<'_> {
    fn event(&mut self, event: &Event, _: &[Box<str>]) {
        let EventKind::Block { request, .. } = event.what else { return };
        let next = self.devices.len();
        if !self.devices.contains_key(&request.device) && (request.done || next >= MAX_LANES) {
            self.left_out += u64::from(!request.done);
            return;
        }
        let new = || Queue { track: next as u32, ..Queue::default() };
        let queue = self.devices.entry(request.device).or_insert_with(new);
        if queue.take(&request) {
            self.feed.change(queue.track, event.at.max(model::Ns::ZERO).0, Some(f64::from(queue.count)));
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let lane = |(device, queue): (&Device, &Queue)| Lane {
            track: queue.track,
            label: format!("device {device}"),
            most: f64::from(queue.most),
        };
        let lanes = self.devices.iter().map(lane).collect();
        let note = match self.left_out {
            0 => String::new(),
            n => format!("the first {MAX_LANES} devices are shown; {n} requests are to others"),
        };
        Ok(self.feed.finish()?.then(|| KindInfo {
            title: "Block I/O: requests in flight (mean per pixel; lighter: maximum)".into(),
            unit: "requests".into(),
            note,
            ..KindInfo::of_values(lanes)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_issued_before_the_recording_do_not_count() {
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
