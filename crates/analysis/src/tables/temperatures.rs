//! The temperature of each sensor.

use crate::{Analysis, Begins, Context, World};
use model::{Change, NameId, Rows, ThreadKey, TimelineEvent};

const PER_DEGREE: f64 = 1e3;

/// Thousandths of a degree Celsius.
struct Zone {
    name: NameId,
    min: i32,
    sum: i64,
    max: i32,
    readings: i64,
}

pub(crate) struct Temperatures {
    /// In order of their first reading.
    zones: Vec<Zone>,
}

impl Analysis for Temperatures {
    fn new(_: &Context<'_>) -> Self {
        Self { zones: Vec::new() }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, _: &World) {
        let Change::Temperature(read) = event.what else { return };
        if begins == Begins::Before {
            return;
        }
        let value = read.millicelsius;
        match self.zones.iter_mut().find(|zone| zone.name == read.zone) {
            Some(zone) => {
                (zone.min, zone.max) = (zone.min.min(value), zone.max.max(value));
                zone.sum += i64::from(value);
                zone.readings += 1;
            }
            None => self.zones.push(Zone { name: read.zone, min: value, sum: value.into(), max: value, readings: 1 }),
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for zone in &self.zones {
            out.row(&[
                world.name(zone.name).unwrap_or_default().into(),
                (f64::from(zone.min) / PER_DEGREE).into(),
                (zone.sum as f64 / zone.readings as f64 / PER_DEGREE).into(),
                (f64::from(zone.max) / PER_DEGREE).into(),
                zone.readings.into(),
            ]);
        }
    }
}
