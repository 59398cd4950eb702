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

/// A wait that uses the CPU for a known mean time. Added to a step on purpose, it must come back in the figure.
///
/// It reads the clock until its time is over. A delay ends with a reading, so its length has the steps of readings. Lengths that vary by more than
/// such a step make the mean smooth; what remains, the excess of a call over its limit, is measured at the wanted length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delay {
    wanted_ns: f64,
    /// The least limit, in 1/1024 ns.
    least: i64,
}

/// By how much the limits of delays vary, ns: more than a reading of the clock takes.
const VARIED_NS: i64 = 128;
/// The longest measurement of the excess, ns: so short that most are not interrupted.
const TRIED_NS: f64 = 50_000.0;
/// Measurements of the excess.
const TRIALS: usize = 400;

impl Delay {
    /// Returns a delay of this mean length on the calling thread's CPU; of at least 150 ns.
    #[must_use]
    pub fn calibrated(wanted_ns: f64) -> Self {
        let mut delay = Self::with_mean_limit(wanted_ns, wanted_ns);
        for _ in 0..3 {
            let excess = delay.mean_ns() - wanted_ns;
            delay.least = (delay.least - (excess * 1024.0) as i64).max(0);
        }
        delay
    }

    fn with_mean_limit(wanted_ns: f64, limit_ns: f64) -> Self {
        Self { wanted_ns, least: ((limit_ns - VARIED_NS as f64 / 2.0).max(0.0) * 1024.0) as i64 }
    }

    /// Measures what it adds to a loop of system calls, ns. Between system calls, as in the steps to which it is added, since a processor
    /// overlaps some of it with what comes before and after. The median of the quicker half of many short measurements: the others were interrupted.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        let each = ((TRIED_NS / self.wanted_ns.max(1.0)) as u32).clamp(4, 32);
        let loop_ns = |with: bool, from: u32| {
            let start = now_ns();
            for turn in from..from + each {
                if with {
                    self.spend(turn);
                }
                // SAFETY: no arguments. The system call itself, as the C library may remember the answer.
                unsafe { libc::syscall(libc::SYS_getppid) };
            }
            (now_ns() - start) as f64 / f64::from(each)
        };
        let (with, without): (Vec<f64>, Vec<f64>) =
            (0..TRIALS as u32).map(|trial| (loop_ns(true, trial * each), loop_ns(false, 0))).unzip();
        middle_of_quick(with) - middle_of_quick(without)
    }

    /// Waits. `turn` counts the steps of a repetition.
    #[inline]
    pub fn spend(&self, turn: u32) {
        // Without a pattern, so that steps of a loop meet all limits alike.
        let varied = i64::from(turn.wrapping_mul(0x9E37_79B9) >> 16) * VARIED_NS / 64;
        let limit = (self.least + varied) / 1024;
        let start = now_ns();
        while now_ns() - start < limit {}
        black_box(());
    }
}

/// The mean of the values between the 10th and the 40th percentile: quick ones, but not the rarest. A mean, as limits vary between measurements.
fn middle_of_quick(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let part = &values[values.len() / 10..values.len() * 4 / 10];
    part.iter().sum::<f64>() / part.len() as f64
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
