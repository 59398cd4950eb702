//! The clock of all measurements, and work of known length.

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

/// Work that takes a known time. Added to a step on purpose, it must come back in the figure.
///
/// It counts: a number of operations of which each waits for the one before. A wait that reads the clock until its time is over would be no
/// longer if an interrupt came meanwhile, and would so hide a part of what interrupts cost. Its length is measured, as it follows the
/// processor's frequency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Delay {
    operations: u32,
}

/// The longest measurement of a length, ns: so short that most are not interrupted.
const TRIED_NS: f64 = 50_000.0;
/// Measurements of a length.
const TRIALS: usize = 400;

impl Delay {
    /// Returns a delay of this length on the calling thread's CPU; of at least 100 ns.
    #[must_use]
    pub fn calibrated(wanted_ns: f64) -> Self {
        Self::fitted(wanted_ns, |delay| delay.mean_ns(wanted_ns))
    }

    /// Fits a delay to this length by measuring the lengths of others.
    fn fitted(wanted_ns: f64, length_ns: impl Fn(Self) -> f64) -> Self {
        let mut delay = Self { operations: (wanted_ns / 2.0) as u32 + 1 };
        for _ in 0..3 {
            let longer = wanted_ns / length_ns(delay).max(1.0);
            delay.operations = (f64::from(delay.operations) * longer).clamp(1.0, 1e9) as u32;
        }
        delay
    }

    /// Measures how much longer a loop of system calls takes with it, ns, where about this is expected. Between system calls, as in the steps to
    /// which it is added. The mean of the quicker of many short measurements: the others were interrupted.
    #[must_use]
    pub fn mean_ns(&self, expected_ns: f64) -> f64 {
        let each = ((TRIED_NS / expected_ns.max(1.0)) as u32).clamp(4, 32);
        let loop_ns = |with: bool| {
            let start = now_ns();
            for _ in 0..each {
                if with {
                    self.spend();
                }
                // SAFETY: no arguments. The system call itself, as the C library may remember the answer.
                unsafe { libc::syscall(libc::SYS_getppid) };
            }
            (now_ns() - start) as f64 / f64::from(each)
        };
        let (with, without): (Vec<f64>, Vec<f64>) = (0..TRIALS).map(|_| (loop_ns(true), loop_ns(false))).unzip();
        middle_of_quick(with) - middle_of_quick(without)
    }

    /// Does the work.
    #[inline]
    pub fn spend(&self) {
        complete();
        let mut x = black_box(1_u64);
        for _ in 0..self.operations {
            x = black_box(x ^ (x >> 7)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        black_box(x);
        complete();
    }
}

/// Waits until all instructions before it are complete: else a processor does the delay and the step at the same time, in part.
#[inline]
fn complete() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an instruction of all processors with SSE2, which x86_64 has.
    unsafe {
        core::arch::x86_64::_mm_lfence();
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier, which changes nothing.
    unsafe {
        core::arch::asm!("dsb nsh", "isb", options(nostack, preserves_flags));
    }
}

/// The mean of the values between the 10th and the 40th percentile: quick ones, but not the rarest.
fn middle_of_quick(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let part = &values[values.len() / 10..values.len() * 4 / 10];
    part.iter().sum::<f64>() / part.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On drawn processors, which need a time for each operation and one for the call.
    #[test]
    fn a_delay_has_the_length_that_it_should_have() {
        for (operation_ns, call_ns) in [(0.2, 0.0), (1.2, 0.0), (1.2, 25.0), (30.0, 5.0)] {
            let length = |delay: Delay| f64::from(delay.operations) * operation_ns + call_ns;
            for wanted in [500.0, 2_000.0, 10_000.0] {
                let off = length(Delay::fitted(wanted, length)) - wanted;
                // A whole number of operations.
                assert!(off.abs() <= operation_ns + wanted * 0.001, "{wanted} ns by {operation_ns} ns: off by {off}");
            }
        }
    }

    /// Of 400 measurements, the slowest ones were interrupted, and the quickest ones are rare.
    #[test]
    fn interrupted_measurements_have_no_part_in_a_length() {
        let measured = |interrupted: usize| -> Vec<f64> {
            let quick = |n: usize| if n < 40 { 1.0 } else { 10.0 };
            (0..400).map(|n| if n >= 400 - interrupted { 1e6 } else { quick(n) }).collect()
        };
        for interrupted in [0, 100, 240] {
            assert!((middle_of_quick(measured(interrupted)) - 10.0).abs() < 1e-9, "{interrupted} interrupted");
        }
    }

    /// Each operation waits for the one before and needs a cycle, and no processor has 10 GHz: however busy the machine is, it is not shorter.
    #[test]
    fn the_operations_of_a_delay_are_done() {
        const OPERATIONS: u32 = 1_000_000;
        let start = now_ns();
        Delay { operations: OPERATIONS }.spend();
        let took = now_ns() - start;
        assert!(took >= i64::from(OPERATIONS / 10), "{OPERATIONS} operations in {took} ns");
    }
}
