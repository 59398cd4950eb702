//! The clock of all measurements, and a delay of known length.

use std::hint::black_box;

/// Returns `CLOCK_MONOTONIC`, ns: the clock of the recorder too.
#[must_use]
#[inline]
pub fn now_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Returns a clock of the kernel, ns.
#[inline]
pub(crate) fn clock_ns(clock: libc::clockid_t) -> i64 {
    // SAFETY: writes to a timespec of ours.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(clock, &raw mut time);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// A wait that uses the CPU for a known time. Added to a step on purpose, it must come back in the figure.
///
/// It reads the clock until its time is over. That lasts longer than the limit, by what a call and its last reading take; this excess is the
/// same for every length, and is measured first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delay {
    wanted_ns: f64,
    limit_ns: i64,
    /// Of 1024 delays, how many end 1 ns later: the limit is whole nanoseconds.
    longer_of_1024: u32,
}

/// The length at which the excess is measured, ns.
const TRIED_NS: f64 = 500.0;
/// Delays of one measurement of the excess: so few that most measurements are not interrupted.
const TRIED: u32 = 25;
/// Measurements of the excess.
const TRIALS: usize = 400;

impl Delay {
    /// Returns a delay of this mean length on the calling thread's CPU.
    #[must_use]
    pub fn calibrated(wanted_ns: f64) -> Self {
        let excess = Self::until(TRIED_NS, TRIED_NS).mean_ns() - TRIED_NS;
        Self::until(wanted_ns, wanted_ns - excess)
    }

    fn until(wanted_ns: f64, limit_ns: f64) -> Self {
        let limit = limit_ns.max(0.0);
        Self { wanted_ns, limit_ns: limit.floor() as i64, longer_of_1024: ((limit - limit.floor()) * 1024.0) as u32 }
    }

    /// The length that it should have, ns.
    #[must_use]
    pub fn wanted_ns(&self) -> f64 {
        self.wanted_ns
    }

    /// Measures what it adds to a loop of system calls, ns. Between system calls, as in the steps to which it is added, since a processor
    /// overlaps some of it with what comes before and after. The median of the quicker half of many short measurements: the others were interrupted.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        let loop_ns = |with: bool, from: u32| {
            let start = now_ns();
            for turn in from..from + TRIED {
                if with {
                    self.spend(turn);
                }
                // SAFETY: no arguments. The system call itself, as the C library may remember the answer.
                unsafe { libc::syscall(libc::SYS_getppid) };
            }
            (now_ns() - start) as f64 / f64::from(TRIED)
        };
        let (mut with, mut without): (Vec<f64>, Vec<f64>) =
            (0..TRIALS as u32).map(|trial| (loop_ns(true, trial * TRIED), loop_ns(false, 0))).unzip();
        let quick = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[TRIALS / 4]
        };
        quick(&mut with) - quick(&mut without)
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
