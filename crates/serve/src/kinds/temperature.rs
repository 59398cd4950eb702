//! The temperature at each sensor; each reading lasts until the next.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::Values;
use model::{Event, EventKind, NameId};
use std::collections::BTreeMap;

struct Temperatures<'a> {
    feed: Feed<'a, Values>,
    lanes: BTreeMap<NameId, Lane>,
    /// Readings of sensors beyond [`MAX_LANES`].
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    Ok(Box::new(Temperatures { feed: Feed::new(to, name), lanes: BTreeMap::new(), left_out: 0 }))
}

impl Kind for Temperatures<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let EventKind::Temperature(read) = event.what else { return };
        let next = self.lanes.len();
        if next >= MAX_LANES && !self.lanes.contains_key(&read.zone) {
            self.left_out += 1;
            return;
        }
        let lane = || Lane::new(next as u32, super::name(names, read.zone).unwrap_or("?").to_owned());
        let lane = self.lanes.entry(read.zone).or_insert_with(lane);
        let celsius = f64::from(read.millicelsius) / 1e3;
        lane.most = lane.most.max(celsius);
        self.feed.change(lane.track, event.at.0.max(0), Some(celsius));
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { feed, lanes, left_out, .. } = *self;
        // Tracks are compared by height, so all have one scale.
        let most = lanes.values().map(|lane| lane.most).fold(0.0, f64::max);
        let labelled = |lane: Lane| Lane { label: format!("{} (up to {} °C)", lane.label, lane.most), most, ..lane };
        let mut lanes: Vec<Lane> = lanes.into_values().map(labelled).collect();
        lanes.sort_by_key(|lane| lane.track);
        let others = format!("{left_out} readings of sensors beyond the first {MAX_LANES} are not shown");
        let note = if left_out > 0 { others } else { String::new() };
        let title = "Temperature (mean per pixel; lighter: maximum)".into();
        Ok(feed.finish()?.then(|| KindInfo { title, unit: "°C".into(), note, ..KindInfo::of_values(lanes) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Temperature;

    fn kind(to: Target<'_>) -> BoxedKind<'_> {
        Box::new(Temperatures { feed: Feed::new(to, "temperature"), lanes: BTreeMap::new(), left_out: 0 })
    }

    #[test]
    fn a_reading_lasts_until_the_next_of_its_sensor() {
        let read = |zone, celsius: i32| {
            EventKind::Temperature(Temperature { zone: NameId(zone), millicelsius: 1000 * celsius })
        };
        // At 0, 100, 200 and 300 ns.
        let events = [read(1, 45), read(2, 60), read(1, 50), read(1, 50)];
        let (info, steps) = crate::kinds::tests::fed("temperature", kind, &events, &["cpu", "nvme"]);
        assert_eq!(steps, [(0, 0, 200, 45.0), (0, 200, 400, 50.0), (1, 100, 400, 60.0)]);
        let lanes: Vec<_> = info.lanes.iter().map(|lane| (lane.label.as_str(), lane.most)).collect();
        assert_eq!(lanes, [("cpu (up to 50 °C)", 60.0), ("nvme (up to 60 °C)", 60.0)]);
    }
}
