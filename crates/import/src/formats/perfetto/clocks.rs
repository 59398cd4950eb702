//! From the clocks of packets to the trace's own (`protos/perfetto/trace/clock_snapshot.proto`).
//!
//! ```text
//!   ClockSnapshot   BOOTTIME 1000   MONOTONIC 900   64 (of a sequence) 17   one moment, many readings
//!   packet, clock 3: 950    →  1050 on BOOTTIME, by the last snapshot that knows the clock
//! ```

use super::wire::{Broken, Fields};
use model::{Batch, Clock, CpuId, Event, Ns, Tid, What};
use rustc_hash::FxHashMap;

/// `BuiltinClock` (`protos/perfetto/common/builtin_clock.proto`).
pub(super) const MONOTONIC: u32 = 3;
pub(super) const BOOTTIME: u32 = 6;
/// Clocks of these numbers are a sequence's own.
const OF_SEQUENCE: std::ops::Range<u32> = 64..128;
/// Clocks kept; a hostile file must not fill the memory.
const MOST: usize = 1024;
/// No clock shows more (146 years), so that sums of two never overflow.
const LATEST: i64 = 1 << 62;

/// A time, where the number can be one.
#[inline]
pub(super) fn time(ns: u64) -> Option<Ns> {
    i64::try_from(ns).ok().filter(|ns| *ns < LATEST).map(Ns)
}

/// A sequence's own clock.
#[derive(Clone, Copy)]
struct OwnClock {
    /// Its last reading, in units, and when that was on the trace's clock.
    reading: i64,
    at: i64,
    unit: i64,
    incremental: bool,
}

/// The clocks that only packets of one sequence use.
#[derive(Default)]
pub(super) struct OwnClocks(Vec<(u32, OwnClock)>);

/// What is known of all clocks.
pub(super) struct Clocks {
    /// The one that all times are brought to.
    pub(super) primary: u32,
    /// What must be added to a clock's reading.
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

    /// A packet's time on the trace's clock; `None` where nobody has said how its clock goes.
    #[inline]
    pub(super) fn convert(&self, clock: u32, reading: u64, own: &mut OwnClocks) -> Option<Ns> {
        if clock == self.primary {
            return time(reading);
        }
        let reading = i64::try_from(reading).ok().filter(|r| *r < LATEST)?;
        if OF_SEQUENCE.contains(&clock) {
            let own = own.0.iter_mut().find(|(id, _)| *id == clock).map(|(_, own)| own)?;
            let units = if own.incremental { reading } else { reading.checked_sub(own.reading)? };
            let at = own.at.checked_add(units.checked_mul(own.unit)?)?;
            if own.incremental {
                own.at = at;
            }
            return (at < LATEST).then_some(Ns(at));
        }
        let at = reading.checked_add(*self.offsets.get(&clock)?)?;
        (at.abs() < LATEST).then_some(Ns(at))
    }

    /// Learns from a snapshot; gives the moment at which it was taken. Readings of the machine's clocks go to `out`.
    pub(super) fn learn(
        &mut self,
        snapshot: &[u8],
        own: &mut OwnClocks,
        offset: u64,
        out: &mut Batch,
    ) -> Result<(), Broken> {
        let mut readings = Vec::new();
        let mut fields = Fields::of(snapshot);
        while let Some((field, value)) = fields.next()? {
            if field == 1 && readings.len() < MOST {
                readings.push(Reading::of(value.bytes())?);
            }
        }
        let Some(at) = self.moment(&readings) else { return Ok(()) };
        for r in readings {
            let Ok(reading) = i64::try_from(r.reading) else { continue };
            if OF_SEQUENCE.contains(&r.clock) {
                let unit = i64::try_from(r.unit.max(1)).unwrap_or(1);
                let clock = OwnClock { reading, at, unit, incremental: r.incremental };
                own.0.retain(|(id, _)| *id != r.clock);
                own.0.push((r.clock, clock));
            } else if r.clock != self.primary && self.offsets.len() >= MOST && !self.offsets.contains_key(&r.clock) {
                out.left_out.entries += 1;
            } else if r.clock != self.primary {
                self.offsets.insert(r.clock, at - reading.min(LATEST));
                if let Some(which) = known(r.clock) {
                    let what = What::Clock { which, reading };
                    out.events.push(Event { at: Ns(at), offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
                }
            }
        }
        Ok(())
    }

    /// When the readings were taken, on the trace's clock.
    fn moment(&self, readings: &[Reading]) -> Option<i64> {
        let told = |r: &&Reading| r.clock == self.primary;
        if let Some(primary) = readings.iter().find(told) {
            return time(primary.reading).map(|t| t.0);
        }
        let by = |r: &Reading| self.offsets.get(&r.clock).and_then(|o| time(r.reading)?.0.checked_add(*o));
        readings.iter().find_map(by).filter(|at| at.abs() < LATEST)
    }
}

impl Reading {
    fn of(message: &[u8]) -> Result<Self, Broken> {
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
