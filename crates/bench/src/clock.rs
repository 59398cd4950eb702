//! The clock of all measurements, and a delay of known length.

use std::hint::black_box;

/// Returns `CLOCK_MONOTONIC`, ns: the clock of the recorder too.
#[must_use]
pub fn now_ns() -> i64 {
    // SAFETY: writes to a timespec of ours.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// A wait that uses the CPU for a known time. Added to a step on purpose, it must come back in the figure.
///
/// It reads the clock until its time is over. The last reading ends late by part of a reading, so the loop stops that much earlier: the mean
/// length of many delays is the requested one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delay {
    wanted_ns: f64,
    limit_ns: i64,
    /// Of 1024 delays, how many end 1 ns later: the limit is whole nanoseconds.
    longer_of_1024: u32,
}

impl Delay {
    /// Returns a delay of this mean length on the calling thread's CPU.
    #[must_use]
    pub fn calibrated(wanted_ns: f64) -> Self {
        let mut delay = Self { wanted_ns, limit_ns: 0, longer_of_1024: 0 };
        let mut limit = wanted_ns;
        for _ in 0..6 {
            delay.limit_ns = limit.max(0.0).floor() as i64;
            delay.longer_of_1024 = ((limit.max(0.0) - limit.max(0.0).floor()) * 1024.0) as u32;
            limit -= delay.mean_ns() - wanted_ns;
        }
        delay
    }

    /// The length that it should have, ns.
    #[must_use]
    pub fn wanted_ns(&self) -> f64 {
        self.wanted_ns
    }

    /// Measures what it adds to a loop of system calls, ns: the median of several differences of means. Between system calls, as in the steps
    /// to which it is added, since a processor overlaps some of it with what comes before and after.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        let each = ((1_000_000.0 / self.wanted_ns.max(1.0)) as u32).clamp(50, 1000);
        let mean = |with: bool| {
            let start = now_ns();
            for turn in 0..each {
                if with {
                    self.spend(turn);
                }
                // SAFETY: no arguments. The system call itself, as the C library may remember the answer.
                unsafe { libc::syscall(libc::SYS_getppid) };
            }
            (now_ns() - start) as f64 / f64::from(each)
        };
        let mut added: Vec<f64> = (0..25).map(|_| mean(true) - mean(false)).collect();
        added.sort_by(f64::total_cmp);
        added[added.len() / 2]
    }

    /// Waits. `turn` counts the steps of a repetition.
    #[inline]
    pub fn spend(&self, turn: u32) {
        // A number without a pattern: steps of a loop meet both lengths alike.
        let place = turn.wrapping_mul(0x9E37_79B1) >> 22;
        let limit = self.limit_ns + i64::from(place < self.longer_of_1024);
        let start = now_ns();
        while now_ns() - start < limit {}
        black_box(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_has_the_length_that_it_should_have() {
        // The best of several, as others use the CPU too.
        for wanted in [500.0, 2_000.0, 10_000.0] {
            let best = (0..20)
                .map(|_| (Delay::calibrated(wanted).mean_ns() / wanted - 1.0).abs())
                .fold(f64::INFINITY, f64::min);
            assert!(best < 0.05, "{wanted} ns: off by {best}");
        }
    }
}
