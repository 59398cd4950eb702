//! Converts clock readings to nanoseconds.

use super::types::ClockDecl;
use ingest::Fatal;
use model::Ns;

const SECOND: i128 = 1_000_000_000;

/// A clock's rate and origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    freq: u64,
    /// The time in ns of reading 0, since 1970 with most tracers. For clocks that count ns, it includes `offset`.
    origin: i64,
    /// Ticks at reading 0.
    ticks: i64,
}

impl Clock {
    /// Readings that are already ns, from 0.
    pub(super) const PLAIN: Self = Self { freq: 1_000_000_000, origin: 0, ticks: 0 };

    pub(super) fn new(declared: &ClockDecl) -> Result<Self, Fatal> {
        let counts_ns = i128::from(declared.freq) == SECOND;
        let ns = i128::from(declared.offset_s) * SECOND + if counts_ns { i128::from(declared.offset) } else { 0 };
        let origin = i64::try_from(ns).map_err(|_| Fatal::new("metadata: a clock's offset exceeds 292 years", 0))?;
        Ok(Self { freq: declared.freq, origin, ticks: if counts_ns { 0 } else { declared.offset } })
    }

    /// Returns the time of a reading; `None` if it exceeds 64 bits of ns.
    #[inline]
    pub(super) fn ns(self, reading: u64) -> Option<Ns> {
        if i128::from(self.freq) == SECOND {
            return self.origin.checked_add_unsigned(reading).map(Ns);
        }
        let ticks = i128::from(self.ticks) + i128::from(reading);
        let ns = (ticks * SECOND).div_euclid(i128::from(self.freq));
        i64::try_from(ns + i128::from(self.origin)).ok().map(Ns)
    }

    /// Returns the full reading, from the last reading and the low `bits` of this one. If they are lower than the last
    /// reading's low bits, the counter wrapped once.
    #[inline]
    pub(super) fn wrapped(last: u64, low: u64, bits: u64) -> u64 {
        match bits {
            0 => last,
            64.. => low,
            _ => {
                let reading = last & !((1 << bits) - 1) | low;
                if reading < last { reading.wrapping_add(1 << bits) } else { reading }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(freq: u64, offset_s: i64, offset: i64) -> Clock {
        Clock::new(&ClockDecl { name: "c".to_owned(), freq, offset_s, offset }).unwrap()
    }

    #[test]
    fn readings_become_ns() {
        assert_eq!(clock(1_000_000_000, 2, 3).ns(4), Some(Ns(2_000_000_007)));
        // 2.4 GHz: 12 ticks are 5 ns; rounded down.
        assert_eq!(clock(2_400_000_000, 1, 12).ns(13), Some(Ns(1_000_000_010)));
        let far = clock(3_000_000_001, 0, 0).ns(u64::MAX);
        assert_eq!(far, Some(Ns((u128::from(u64::MAX) * 1_000_000_000 / 3_000_000_001) as i64)));
        assert_eq!(clock(1, 0, 0).ns(u64::MAX), None);
        assert_eq!(clock(1_000_000_000, 0, i64::MAX).ns(1), None);
    }

    #[test]
    fn partial_readings_wrap() {
        assert_eq!(Clock::wrapped(0x1_2345, 0x46, 8), 0x1_2346);
        assert_eq!(Clock::wrapped(0x1_2345, 0x44, 8), 0x1_2444);
        assert_eq!(Clock::wrapped(7, 9, 64), 9);
        assert_eq!(Clock::wrapped(7, 9, 0), 7);
    }
}
