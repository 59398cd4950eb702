//! What the pathologies share: the command line, work of a fixed size, threads with names, and the last line.
//!
//! Each program has a fault, and with `--mended` does the same useful work without it. Sizes are counts of work, never
//! times: `--seconds` only says how much work, in seconds that the faulty twin took on the machine of the README.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod groups;

pub use groups::Group;

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::process::exit;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Instant;

/// Steps of [`work`] in one unit: about a microsecond on the machine of the README.
const STEPS: u64 = 400;
/// Seconds for which the sizes in the programs are given.
const NOMINAL_SECONDS: f64 = 3.0;

/// Which twin is to run, and how much it has to do.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Without the fault.
    pub mended: bool,
    share: f64,
}

impl Run {
    /// Reads `[--mended] [--seconds N]`; ends the program with a sentence where the words are others.
    #[must_use]
    pub fn from_arguments() -> Run {
        let mut run = Run { mended: false, share: 1.0 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--mended" => run.mended = true,
                "--seconds" => match words.next().and_then(|s| s.parse::<f64>().ok()) {
                    Some(s) if (0.001..=3600.0).contains(&s) => run.share = s / NOMINAL_SECONDS,
                    _ => leave(2, "--seconds wants a number from 0.001 to 3600"),
                },
                _ => leave(2, "usage: [--mended] [--seconds N]"),
            }
        }
        run
    }

    /// How many of what are `nominal` in 3 seconds: at least one.
    #[must_use]
    pub fn size(self, nominal: u64) -> u64 {
        ((nominal as f64 * self.share).round() as u64).max(1)
    }

    /// Does the useful work, and prints as the last line how many `units` of it were done in which time.
    pub fn measure(self, units: u64, useful: impl FnOnce()) {
        let begin = Instant::now();
        useful();
        println!("work {units} units, wall_ms {:.1}", begin.elapsed().as_secs_f64() * 1e3);
    }
}

/// Ends the program with a sentence.
pub fn leave(code: i32, why: &str) -> ! {
    eprintln!("{why}");
    exit(code)
}

/// Says why this machine or user cannot show the fault, and ends the program well.
pub fn skip(why: &str) -> ! {
    println!("skipped: {why}");
    exit(0)
}

/// Computes for so many units.
pub fn work(units: u64) {
    let mut x = black_box(1_u64);
    for _ in 0..units * STEPS {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    }
}

/// Starts a thread with a name (the kernel keeps 15 bytes).
pub fn thread<'scope>(scope: &'scope Scope<'scope, '_>, name: &str, body: impl FnOnce() + Send + 'scope) {
    if let Err(why) = Builder::new().name(name.to_owned()).spawn_scoped(scope, body) {
        // The others may wait for this one for ever.
        leave(1, &format!("cannot start thread {name}: {why}"));
    }
}

/// Takes the lock; what a thread that panicked left behind is as good as any here.
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

/// Lets the calling thread, and those that it starts, run on this CPU only. Where it is not allowed (a cpuset without
/// it), the program ends: it would show nothing.
pub fn pin(cpu: usize) {
    // SAFETY: a cpu_set_t is bits, of which none set is a value; the kernel reads as many bytes as it is told.
    let done = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if done != 0 {
        skip(&format!("cannot pin to cpu{cpu}: {}", io::Error::last_os_error()));
    }
}

/// Makes the calling thread nicer by setting its nice value; going up from 0 needs no rights.
pub fn nice(value: i32) {
    // SAFETY: takes numbers only; 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) } != 0 {
        skip(&format!("cannot set nice {value}: {}", io::Error::last_os_error()));
    }
}

/// Marks stretches of the calling thread in the kernel's trace, where the user may write there: `corewise record` keeps
/// them, so that frames can be told apart.
#[derive(Debug)]
pub struct Marks(Option<File>);

impl Marks {
    /// Opens tracefs' `trace_marker`; without it, marks are none.
    #[must_use]
    pub fn open() -> Marks {
        Marks(File::options().write(true).open("/sys/kernel/tracing/trace_marker").ok())
    }

    /// A stretch of this name around `body`.
    pub fn around<T>(&self, name: &str, body: impl FnOnce() -> T) -> T {
        self.write(&format!("B|{}|{name}", std::process::id()));
        let out = body();
        self.write(&format!("E|{}", std::process::id()));
        out
    }

    fn write(&self, text: &str) {
        if let Some(mut file) = self.0.as_ref() {
            // Without tracing on, the kernel refuses: then nobody listens.
            let _ = file.write_all(text.as_bytes());
        }
    }
}
