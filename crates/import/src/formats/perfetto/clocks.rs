//! Converts the clocks of packets to the trace's clock (`protos/perfetto/trace/clock_snapshot.proto`).
//!
//! ```text
//!   ClockSnapshot   BOOTTIME 1000   MONOTONIC 900   64 (of a sequence) 17   several readings at the same time
//!   packet, clock 3: 950    →  1050 on BOOTTIME, by the last snapshot with this clock
//! ```

use super::wire::{Fields, Malformed};
use model::{Batch, Clock, CpuId, Event, EventKind, Ns, Tid};
use rustc_hash::FxHashMap;

/// `BuiltinClock` (`protos/perfetto/common/builtin_clock.proto`).
pub(super) const MONOTONIC: u32 = 3;
pub(super) const BOOTTIME: u32 = 6;
/// Clocks with these numbers belong to one sequence.
const SEQUENCE_CLOCKS: std::ops::Range<u32> = 64..128;
/// The maximum number of clocks kept, so that a hostile file cannot exhaust memory.
const MAX_CLOCKS: usize = 1024;
/// The maximum time (146 years), so that sums of two times never overflow.
const MAX_TIME: i64 = 1 << 62;

/// Returns a time, if the number is in range.
#[inline]
pub(super) fn time(ns: u64) -> Option<Ns> {
    i64::try_from(ns).ok().filter(|ns| *ns < MAX_TIME).map(Ns)
}

/// A clock of one sequence.
#[derive(Clone, Copy)]
struct OwnClock {
    /// Its last reading in units, and the time of that reading on the trace's clock.
    reading: i64,
    at: i64,
    unit: i64,
    incremental: bool,
}

/// The clocks that only packets of one sequence use.
#[derive(Default)]
pub(super) struct OwnClocks(Vec<(u32, OwnClock)>);

/// The state of all clocks.
pub(super) struct Clocks {
    /// The clock to which all times are converted.
    pub(super) primary: u32,
    /// The difference to add to each clock's readings.
    offsets: FxHashMap<u32, i64>,
}

/// One reading of a snapshot.
#[derive(Clone, Copy, Default)]
struct Reading {
    clock: u32,
    reading: u64,
    incremental: bool,
    unit: u64,
}

impl Clocks {
    pub(super) fn new(primary: u32) -> Self {
        Self { primary, offsets: FxHashMap::default() }
    }

    /// Converts a packet's time to the trace's clock; `None` if no snapshot contains its clock.
    #[inline]
    pub(super) fn convert(&self, clock: u32, reading: u64, own: &mut OwnClocks) -> Option<Ns> {
        if clock == self.primary {
            return time(reading);
        }
        let reading = i64::try_from(reading).ok().filter(|r| *r < MAX_TIME)?;
        if SEQUENCE_CLOCKS.contains(&clock) {
            let own = own.0.iter_mut().find(|(id, _)| *id == clock).map(|(_, own)| own)?;
            let units = if own.incremental { reading } else { reading.checked_sub(own.reading)? };
            let at = own.at.checked_add(units.checked_mul(own.unit)?)?;
            if own.incremental {
                own.at = at;
            }
            return (at < MAX_TIME).then_some(Ns(at));
        }
        let at = reading.checked_add(*self.offsets.get(&clock)?)?;
        (at.abs() < MAX_TIME).then_some(Ns(at))
    }

    /// Adds the readings of a snapshot. Readings of the machine's clocks are also added to `out`.
    pub(super) fn learn(
        &mut self,
        snapshot: &[u8],
        own: &mut OwnClocks,
        offset: u64,
        out: &mut Batch,
    ) -> Result<(), Malformed> {
        let mut readings = Vec::new();
        let mut fields = Fields::of(snapshot);
        while let Some((field, value)) = fields.next()? {
            if field == 1 && readings.len() < MAX_CLOCKS {
                readings.push(Reading::of(value.bytes())?);
            }
        }
        let Some(at) = self.moment(&readings) else { return Ok(()) };
        for r in readings {
            let Ok(reading) = i64::try_from(r.reading) else { continue };
            if SEQUENCE_CLOCKS.contains(&r.clock) {
                let unit = i64::try_from(r.unit.max(1)).unwrap_or(1);
                let clock = OwnClock { reading, at, unit, incremental: r.incremental };
                own.0.retain(|(id, _)| *id != r.clock);
                own.0.push((r.clock, clock));
            } else if r.clock != self.primary
                && self.offsets.len() >= MAX_CLOCKS
                && !self.offsets.contains_key(&r.clock)
            {
                out.left_out.entries += 1;
            } else if r.clock != self.primary {
                self.offsets.insert(r.clock, at - reading.min(MAX_TIME));
                if let Some(which) = known(r.clock) {
                    let what = EventKind::Clock { which, reading };
                    out.events.push(Event { at: Ns(at), offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
                }
            }
        }
        Ok(())
    }

    /// Returns when the readings were taken, on the trace's clock.
    fn moment(&self, readings: &[Reading]) -> Option<i64> {
        let is_primary = |r: &&Reading| r.clock == self.primary;
        if let Some(primary) = readings.iter().find(is_primary) {
            return time(primary.reading).map(|t| t.0);
        }
        let by = |r: &Reading| self.offsets.get(&r.clock).and_then(|o| time(r.reading)?.0.checked_add(*o));
        readings.iter().find_map(by).filter(|at| at.abs() < MAX_TIME)
    }
}

impl Reading {
    fn of(message: &[u8]) -> Result<Self, Malformed> {
        let mut reading = Self::default();
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => reading.clock = value.number() as u32,
                2 => reading.reading = value.number(),
                3 => reading.incremental = value.number() != 0,
                4 => reading.unit = value.number(),
                _ => {}
            }
        }
        Ok(reading)
    }
}

fn known(clock: u32) -> Option<Clock> {
    Some(match clock {
        1 => Clock::Realtime,
        MONOTONIC => Clock::Monotonic,
        BOOTTIME => Clock::Boottime,
        9 => Clock::Tsc,
        10 => Clock::Perf,
        _ => return None,
    })
}
