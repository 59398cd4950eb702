//! Work of known size whose result is used and checked.
//!
//! A kernel returns a number that depends on every iteration. [`Work::check`] compares it with one found in another way, and the time with the
//! number of iterations: work that the compiler removed is refused.

mod kernels;

pub(crate) use kernels::ADDS;
pub use kernels::KERNELS;
pub(crate) use kernels::{chase_in, stream_in};

use crate::clock::now_ns;
use std::hint::black_box;

/// A kind of work.
pub struct Kernel {
    /// The name, in tables.
    pub name: &'static str,
    /// What it does, for the user.
    pub about: &'static str,
    /// The memory that it uses, bytes.
    pub bytes: usize,
    /// Does the work: `iterations` times, from `seed`, in this memory. The result depends on all of it.
    pub run: fn(memory: &mut [u64], iterations: u64, seed: u64) -> u64,
    /// Finds the result in another way. It may be slow.
    pub expected: fn(memory: &mut [u64], iterations: u64, seed: u64) -> u64,
    /// Prepares the memory.
    pub prepare: fn(memory: &mut [u64]),
}

/// Why work cannot be trusted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Wrong {
    /// The result is not the right one.
    #[error("the work `{0}` has a wrong result: it was not done as written")]
    Result(String),
    /// The time does not grow with the work.
    #[error("the work `{name}` takes {ratio:.2} times as long for four times the iterations: the compiler removed it")]
    Removed {
        /// The kernel.
        name: String,
        /// The time of four times the iterations over that of one.
        ratio: f64,
    },
    /// An iteration is faster than any processor can be.
    #[error("the work `{name}` takes {ns:.4} ns an iteration, less than any processor needs: the compiler removed it")]
    TooFast {
        /// The kernel.
        name: String,
        /// The time of one iteration.
        ns: f64,
    },
}

/// The least time of an iteration of any kernel, ns: each depends on the one before and needs one cycle, and no processor has 10 GHz.
const LEAST_NS: f64 = 0.1;

/// A kernel with its memory and a number of iterations.
pub struct Work {
    kernel: &'static Kernel,
    memory: Vec<u64>,
    iterations: u64,
    /// The results of the seeds, in turn.
    expected: Vec<u64>,
    turn: usize,
}

/// How many seeds follow each other: so many that work in a large memory begins where the caches have nothing of it.
const SEEDS: usize = 64;

fn seed(turn: usize) -> u64 {
    (turn as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns how many iterations have about this length. `timed`: the time of so many, ns.
fn iterations_for(length_ns: f64, mut timed: impl FnMut(u64) -> f64) -> u64 {
    let mut iterations = 1000;
    loop {
        let took = (0..3).map(|_| timed(iterations)).fold(f64::INFINITY, f64::min);
        if took > length_ns / 8.0 || iterations > 1 << 40 {
            return ((iterations as f64 * length_ns / took.max(1.0)) as u64).max(1);
        }
        iterations *= 4;
    }
}

impl Work {
    /// Returns work of about this length on the calling thread's CPU, ns, which passed the check.
    ///
    /// # Errors
    /// The work cannot be trusted.
    pub fn of(kernel: &'static Kernel, length_ns: f64) -> Result<Self, Wrong> {
        let mut work =
            Self { kernel, memory: vec![0; kernel.bytes / 8], iterations: 1000, expected: Vec::new(), turn: 0 };
        (kernel.prepare)(&mut work.memory);
        work.check()?;
        work.iterations = iterations_for(length_ns, |iterations| work.timed(iterations));
        let results = (0..SEEDS).map(|turn| (kernel.run)(&mut work.memory, work.iterations, seed(turn)));
        work.expected = results.collect();
        Ok(work)
    }

    /// Returns the same work for another thread.
    #[must_use]
    pub fn again(&self) -> Self {
        let (kernel, memory) = (self.kernel, self.memory.clone());
        Self { kernel, memory, iterations: self.iterations, expected: self.expected.clone(), turn: 0 }
    }

    /// Returns what is done.
    #[must_use]
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The iterations of one run.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Does the work once and returns its time, ns; `None` if the result is wrong.
    #[must_use]
    pub fn run(&mut self) -> Option<f64> {
        self.turn = (self.turn + 1) % SEEDS;
        let seed = seed(self.turn);
        let start = now_ns();
        let result = (self.kernel.run)(black_box(&mut self.memory), black_box(self.iterations), black_box(seed));
        let took = now_ns() - start;
        self.expected.get(self.turn).is_some_and(|expected| *expected == black_box(result)).then_some(took as f64)
    }

    fn timed(&mut self, iterations: u64) -> f64 {
        let start = now_ns();
        black_box((self.kernel.run)(black_box(&mut self.memory), black_box(iterations), black_box(seed(0))));
        (now_ns() - start) as f64
    }

    /// Checks the result against one found in another way, and that the time grows with the work.
    ///
    /// # Errors
    /// The work was not done as written.
    pub fn check(&mut self) -> Result<(), Wrong> {
        let name = || self.kernel.name.to_owned();
        for iterations in [1, 7, 1000, 4096] {
            let mut other = self.memory.clone();
            let result = (self.kernel.run)(black_box(&mut self.memory), iterations, seed(0));
            if result != (self.kernel.expected)(&mut other, iterations, seed(0)) {
                return Err(Wrong::Result(name()));
            }
        }
        // Long enough for the clock. The best of several, and tried again: others use the CPU too, and lengthen the short part more than the long one.
        let (few, many) = (40_000, 160_000);
        let mut wrong = None;
        for _ in 0..5 {
            let mut least = |iterations| (0..9).map(|_| self.timed(iterations)).fold(f64::INFINITY, f64::min);
            let (short, long) = (least(few), least(many));
            let (ratio, ns) = (long / short.max(1.0), long / many as f64);
            wrong = if ns < LEAST_NS {
                Some(Wrong::TooFast { name: name(), ns })
            } else if ratio < 2.5 {
                Some(Wrong::Removed { name: name(), ratio })
            } else {
                return Ok(());
            };
        }
        wrong.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_does_its_work() {
        for kernel in KERNELS {
            let mut memory = vec![0; kernel.bytes / 8];
            (kernel.prepare)(&mut memory);
            for iterations in [1, 2, 3, 17, 1000, 5000] {
                let mut other = memory.clone();
                let result = (kernel.run)(&mut memory.clone(), iterations, seed(1));
                assert_eq!(result, (kernel.expected)(&mut other, iterations, seed(1)), "{} {iterations}", kernel.name);
                assert_ne!(
                    result,
                    (kernel.run)(&mut memory.clone(), iterations, seed(2)),
                    "{} ignores its seed",
                    kernel.name
                );
            }
        }
    }

    /// A kernel whose result is right, but whose loop is replaced by a formula.
    #[test]
    fn work_that_was_optimised_away_is_refused() {
        fn formula(_: &mut [u64], iterations: u64, seed: u64) -> u64 {
            seed.wrapping_add(iterations)
        }
        fn added(_: &mut [u64], iterations: u64, seed: u64) -> u64 {
            (0..iterations).fold(seed, |sum, _| black_box(sum) + 1)
        }
        static REMOVED: Kernel =
            Kernel { name: "removed", about: "", bytes: 8, run: formula, expected: added, prepare: |_| {} };
        assert!(matches!(Work::of(&REMOVED, 1e5), Err(Wrong::TooFast { .. } | Wrong::Removed { .. })));
        static WRONG: Kernel =
            Kernel { name: "wrong", about: "", bytes: 8, run: |_, _, _| 5, expected: added, prepare: |_| {} };
        assert_eq!(Work::of(&WRONG, 1e5).err(), Some(Wrong::Result("wrong".to_owned())));
    }

    /// By drawn times of an iteration. Two of three measurements may be interrupted.
    #[test]
    fn work_has_about_the_length_that_it_should_have() {
        for iteration_ns in [0.1, 3.0, 900.0] {
            let mut calls = 0;
            let timed = |iterations: u64| {
                calls += 1;
                iterations as f64 * iteration_ns + if calls % 3 == 0 { 0.0 } else { 4e7 }
            };
            let length = iterations_for(200_000.0, timed) as f64 * iteration_ns;
            assert!((length - 200_000.0).abs() <= iteration_ns + 1.0, "{length} by {iteration_ns}");
        }
        assert_eq!(iterations_for(100.0, |_| 1e9), 1);
    }

    /// However busy the machine is, no iteration is faster than a processor can be, and the time is that of the run.
    #[test]
    fn a_run_takes_the_time_of_its_iterations() {
        let mut work = Work::of(&KERNELS[0], 200_000.0).unwrap();
        let start = now_ns();
        let took = work.run().unwrap();
        assert!(took <= (now_ns() - start) as f64, "{took}");
        assert!(took >= work.iterations() as f64 * LEAST_NS, "{took} ns for {} iterations", work.iterations());
    }
}
