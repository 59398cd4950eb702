//! The frames of energy and temperature, written and read.

use super::frame;
use super::rare::Names;
use crate::wire::Bytes;
use model::{CpuId, EnergyDomain, EnergyUse, Event, EventKind, MaybeCount, MaybeNs, NameId, Temperature, Tid};
use power::{Interval, Metered};
use std::collections::HashMap;

/// Maximum number of domains and of sensors; a damaged spool must not fill the memory.
const MAX_SOURCES: usize = 1 << 16;
/// Stands for a time between updates that is not known, and for unknown energy.
const UNKNOWN: i64 = -1;

fn text(to: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).unwrap_or(0);
    to.extend_from_slice(&length.to_ne_bytes());
    to.extend_from_slice(if length > 0 { text.as_bytes() } else { &[] });
}

/// What is known of a domain.
pub fn domain_frame(at: u64, number: u32, of: &Metered) -> Vec<u8> {
    let mut payload = vec![frame::ENERGY_DOMAIN];
    payload.extend_from_slice(&at.to_ne_bytes());
    payload.extend_from_slice(&number.to_ne_bytes());
    payload.extend_from_slice(&of.meter.spec().update_ns.unwrap_or(UNKNOWN).to_ne_bytes());
    payload.push(u8::from(of.domain.gauge.is_power()));
    let domain = &of.domain;
    let (parent, same_as) = (domain.parent.as_deref().unwrap_or(""), domain.same_as.as_deref().unwrap_or(""));
    for word in [&*domain.name, domain.part.as_str(), parent, same_as, domain.interface.as_str()] {
        text(&mut payload, word);
    }
    payload
}

/// What a domain used between two readings.
pub fn energy_frame(number: u32, interval: &Interval) -> Vec<u8> {
    const NJ_PER_UJ: f64 = 1e3;
    let mut payload = vec![frame::ENERGY];
    let (nj, spread, why) = match &interval.energy {
        Ok(energy) => {
            let spread = (energy.high - energy.low) / 2.0;
            ((energy.uj * NJ_PER_UJ).round() as i64, (spread * NJ_PER_UJ).round() as i64, String::new())
        }
        Err(why) => (UNKNOWN, 0, why.to_string()),
    };
    payload.extend_from_slice(&interval.span.end.0.to_ne_bytes());
    payload.extend_from_slice(&number.to_ne_bytes());
    for word in [interval.span.len().0, nj, spread] {
        payload.extend_from_slice(&word.to_ne_bytes());
    }
    text(&mut payload, &why);
    payload
}

/// The name of a sensor of temperature.
pub fn zone_frame(number: u32, name: &str) -> Vec<u8> {
    let mut payload = vec![frame::TEMPERATURE_ZONE];
    payload.extend_from_slice(&number.to_ne_bytes());
    text(&mut payload, name);
    payload
}

/// A reading of a sensor, thousandths of a degree Celsius.
pub fn temperature_frame(at: u64, number: u32, value: i64) -> Vec<u8> {
    let mut payload = vec![frame::TEMPERATURE];
    payload.extend_from_slice(&at.to_ne_bytes());
    payload.extend_from_slice(&number.to_ne_bytes());
    payload.extend_from_slice(&value.to_ne_bytes());
    payload
}

/// The domains and sensors of a spool that is read.
#[derive(Default)]
pub struct Energy {
    domains: HashMap<u32, EnergyDomain>,
    zones: HashMap<u32, NameId>,
}

fn read_text(b: &mut Bytes<'_>, names: &mut Names) -> NameId {
    let length = b.u16();
    names.id(&String::from_utf8_lossy(b.take(length.into())))
}

impl Energy {
    /// Forgets the domains, so that the next segment's are reported again.
    pub fn forget(&mut self) {
        self.domains.clear();
    }

    /// Decodes a frame. Returns `false` if it is invalid.
    pub fn frame(&mut self, payload: &[u8], offset: u64, names: &mut Names, out: &mut impl FnMut(Event)) -> bool {
        let mut b = Bytes::new(payload);
        let kind = b.u8();
        if kind == frame::TEMPERATURE_ZONE {
            let (number, name) = (b.u32(), read_text(&mut b, names));
            if b.complete && self.zones.len() < MAX_SOURCES {
                self.zones.insert(number, name);
            }
            return b.complete;
        }
        let (at, number) = (b.ns(), b.u32());
        let what = match kind {
            frame::ENERGY_DOMAIN => {
                let (update, from_power) = (b.u64().cast_signed(), b.u8() != 0);
                let update = if update >= 0 { MaybeNs::new(model::Ns(update)) } else { MaybeNs::NONE };
                let [domain, part, parent, same_as, source] = std::array::from_fn(|_| read_text(&mut b, names));
                let of = EnergyDomain { domain, part, parent, same_as, source, from_power, update };
                // Each segment repeats it.
                if !b.complete || self.domains.len() >= MAX_SOURCES || self.domains.insert(number, of) == Some(of) {
                    return b.complete;
                }
                EventKind::EnergyDomain(of)
            }
            frame::ENERGY => {
                let [length, nj, spread] = std::array::from_fn(|_| b.u64().cast_signed());
                let unknown = read_text(&mut b, names);
                let Some(of) = self.domains.get(&number) else { return false };
                EventKind::Energy(EnergyUse {
                    domain: of.domain,
                    unknown,
                    length: model::Ns(length.max(0)),
                    nj: MaybeCount::new(nj),
                    spread_nj: spread.max(0),
                })
            }
            _ => {
                let value = b.u64().cast_signed();
                let Some(zone) = self.zones.get(&number) else { return false };
                let Ok(millicelsius) = i32::try_from(value) else { return false };
                EventKind::Temperature(Temperature { zone: *zone, millicelsius })
            }
        };
        if b.complete {
            out(Event { at, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
        }
        b.complete
    }
}
