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
    /// The number of requests in flight by first sector, operation and size.
    in_flight: FxHashMap<(u64, BlockOperation), (u32, u64)>,
    /// The total number of requests in flight.
    count: u32,
    most: u32,
}

impl Queue {
    /// Counts a request, and returns whether the number in flight changed. A request that completes in parts counts as done with the
    /// first part. A request that was issued before the recording does not count, and one that is issued again (the driver could not
    /// take it) counts once.
    fn take(&mut self, request: &BlockRequest) -> bool {
        let place = (request.sector, request.operation);
        if !request.done {
            let (number, bytes) = self.in_flight.entry(place).or_default();
            let again = *number > 0 && request.bytes > 0 && *bytes == request.bytes;
            let room = self.count < MAX_IN_FLIGHT && !again;
            if room {
                (*number, *bytes) = (*number + 1, request.bytes);
                self.count += 1;
                self.most = self.most.max(self.count);
            }
            return room;
        }
        let Some((number, _)) = self.in_flight.get_mut(&place).filter(|(number, _)| *number > 0) else { return false };
        *number -= 1;
        if *number == 0 {
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
            most: f64::from(queue.most),
            ..Lane::new(queue.track, format!("device {device}"))
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
    fn the_number_in_flight_changes_with_each_request() {
        let lines = [
            "a-10 [000] 1.000000: sched_switch:       swapper/0:0 [120] R ==> a:10 [120]",
            "a-10 [000] 1.001000: block_rq_issue:     8,0 R 4096 () 8 + 8 [a]",
            "a-10 [000] 1.002000: block_rq_issue:     8,0 R 4096 () 16 + 8 [a]",
            "a-10 [000] 1.003000: block_rq_complete:  8,0 R () 8 + 8 [0]",
            "a-10 [000] 1.005000: sched_switch:       a:10 [120] S ==> swapper/0:0 [120]",
        ];
        let steps = crate::kinds::tests::steps("block", &lines);
        assert_eq!(steps, [(0, 1.0, 2.0, 1.0), (0, 2.0, 3.0, 2.0), (0, 3.0, 5.0, 1.0)]);
    }

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
        // Again.
        assert_eq!(take(24, false), (false, 2));
        // In two parts.
        assert_eq!(take(24, true), (true, 1));
        assert_eq!(take(28, true), (false, 1));
        assert_eq!(take(8, true), (true, 0));
    }
}
