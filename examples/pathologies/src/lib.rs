//! Shared code of the programs: the command line, work of a fixed size, threads with names, and the result line.
//!
//! Each program has a fault, and with `--fixed` does the same useful work without it. Sizes are amounts of work, never
//! times: `--seconds` sets the amount, in seconds that the faulty variant took on the machine of the README.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod groups;

pub use groups::Group;

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::process::exit;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// Steps of [`work`] in one unit: about a microsecond on the machine of the README.
const STEPS: u64 = 400;
/// The `--seconds` value for which the programs state their sizes.
const NOMINAL_SECONDS: f64 = 3.0;

/// The variant to run, and its amount of work.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Without the fault.
    pub fixed: bool,
    share: f64,
}

impl Run {
    /// Parses `[--fixed] [--seconds N]`. Ends the program with a message if the arguments are invalid.
    #[must_use]
    pub fn from_arguments() -> Run {
        let mut run = Run { fixed: false, share: 1.0 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--fixed" => run.fixed = true,
                "--seconds" => match words.next().and_then(|s| s.parse::<f64>().ok()) {
                    Some(s) if (0.001..=3600.0).contains(&s) => run.share = s / NOMINAL_SECONDS,
                    _ => leave(2, "--seconds needs a number from 0.001 to 3600"),
                },
                _ => leave(2, "usage: [--fixed] [--seconds N]"),
            }
        }
        run
    }

    /// Scales a size that is `nominal` for 3 seconds; at least 1.
    #[must_use]
    pub fn size(self, nominal: u64) -> u64 {
        ((nominal as f64 * self.share).round() as u64).max(1)
    }

    /// Does the useful work, and prints the number of `units` and the time as the last line.
    pub fn measure(self, units: u64, useful: impl FnOnce()) {
        let begin = Instant::now();
        useful();
        println!("work {units} units, wall_ms {:.1}", begin.elapsed().as_secs_f64() * 1e3);
    }
}

/// Ends the program with a message and an exit code.
pub fn leave(code: i32, why: &str) -> ! {
    eprintln!("{why}");
    exit(code)
}

/// Prints why this machine or user cannot show the fault, and ends the program with success.
pub fn skip(why: &str) -> ! {
    println!("skipped: {why}");
    exit(0)
}

/// Computes this many units.
pub fn work(units: u64) {
    let mut x = black_box(1_u64);
    for _ in 0..units * STEPS {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    }
}

/// Starts a thread with a name (the kernel stores 15 bytes).
pub fn thread<'scope>(scope: &'scope Scope<'scope, '_>, name: &str, body: impl FnOnce() + Send + 'scope) {
    if let Err(why) = Builder::new().name(name.to_owned()).spawn_scoped(scope, body) {
        // The other threads might wait for this one for ever.
        leave(1, &format!("cannot start thread {name}: {why}"));
    }
}

/// Takes the lock. A lock that was poisoned by a panic is used as it is.
pub fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the condition holds.
pub fn wait_while<'a, T>(
    signal: &Condvar,
    guard: MutexGuard<'a, T>,
    condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    signal.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
}

/// Pins the calling thread, and threads that it starts, to this CPU. If that is not allowed (a cpuset without it), the program is
/// skipped.
pub fn pin(cpu: usize) {
    // SAFETY: all-zero is a valid cpu_set_t; the kernel reads as many bytes as the size states.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if done != 0 {
        skip(&format!("cannot pin to cpu{cpu}: {}", io::Error::last_os_error()));
    }
}

/// Sets the nice value of the calling thread; values above 0 need no permissions.
pub fn nice(value: i32) {
    // SAFETY: takes numbers only; 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) } != 0 {
        skip(&format!("cannot set nice {value}: {}", io::Error::last_os_error()));
    }
}

/// Runs `body` this many times, at the end of each period. The kernel may let the timer expire later by up to `slack`.
pub fn every(period: Duration, times: u64, slack: Duration, mut body: impl FnMut()) {
    // SAFETY: takes numbers only. A slack of 0 would be that of the process.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack.as_nanos().max(1) as libc::c_ulong) };
    let mut next = now();
    for _ in 0..times {
        next += period;
        let at = libc::timespec { tv_sec: next.as_secs() as libc::time_t, tv_nsec: next.subsec_nanos().into() };
        // SAFETY: reads the time; nothing is written for an absolute one. If a signal ends the sleep, this period is shorter.
        unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut())
        };
        body();
    }
}

/// The time of `CLOCK_MONOTONIC`.
fn now() -> Duration {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    Duration::new(at.tv_sec.unsigned_abs(), at.tv_nsec.unsigned_abs() as u32)
}

/// Marks stretches of the calling thread in the kernel's trace, if the user may write there. `corewise record` records them, which
/// shows where each frame begins and ends.
#[derive(Debug)]
pub struct Marks(Option<File>);

impl Marks {
    /// Opens tracefs' `trace_marker`. Without it, nothing is marked.
    #[must_use]
    pub fn open() -> Marks {
        Marks(File::options().write(true).open("/sys/kernel/tracing/trace_marker").ok())
    }

    /// Runs `body` in a stretch with this name.
    pub fn around<T>(&self, name: &str, body: impl FnOnce() -> T) -> T {
        self.write(&format!("B|{}|{name}", std::process::id()));
        let out = body();
        self.write(&format!("E|{}", std::process::id()));
        out
    }

    fn write(&self, text: &str) {
        if let Some(mut file) = self.0.as_ref() {
            // The kernel refuses the write if tracing is off: no trace is recorded then.
            let _ = file.write_all(text.as_bytes());
        }
    }
}
