//! A small game without graphics. Each thread has a role with its own scheduling pattern.
//!
//! ```text
//! Game       frame 60 Hz: simulate ─ hand out chunks ─ meet ─▶ Render: draw ─ wait for the "GPU"
//! Worker1…n                          chunk, chunk…  ─ meet           (marks: frame by Game, draw by Render)
//! Audio      short work every 5 ms    Streamer  read, sum, sleep         Background  nice 19, never sleeps
//! ```

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Read, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, available_parallelism, sleep};
use std::time::{Duration, Instant};

const FRAME: Duration = Duration::from_nanos(16_666_667);
const AUDIO: Duration = Duration::from_millis(5);

/// Runs the workload for `time`.
pub fn workload(time: Duration) {
    // SAFETY: a valid C string; names this thread, and so the process.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"demo".as_ptr()) };
    let workers = available_parallelism().map_or(2, usize::from).clamp(2, 6);
    let game = Game {
        speed: Speed::measured(),
        marks: Marks::open(),
        end: Instant::now() + time,
        over: AtomicBool::new(false),
        chunks: Gate::default(),
        frames: Gate::default(),
        meet: Barrier::new(workers + 1),
    };
    std::thread::scope(|scope| {
        start(scope, "Render".to_owned(), || game.render());
        for n in 1..=workers {
            let game = &game;
            start(scope, format!("Worker{n}"), move || game.work(n));
        }
        start(scope, "Audio".to_owned(), || game.audio());
        start(scope, "Streamer".to_owned(), || game.stream());
        start(scope, "Background".to_owned(), || game.hog());
        start(scope, "Game".to_owned(), || game.play());
    });
}

fn start<'s>(scope: &'s Scope<'s, '_>, name: String, role: impl FnOnce() + Send + 's) {
    // Without this thread, the others would wait forever.
    if Builder::new().name(name).spawn_scoped(scope, role).is_err() {
        std::process::exit(1);
    }
}

/// A counter that threads can wait on until it rises.
#[derive(Default)]
struct Gate {
    count: Mutex<u64>,
    risen: Condvar,
}

impl Gate {
    fn raise(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.risen.notify_all();
    }

    /// Waits until the counter is above `seen`, and returns it.
    fn wait_above(&self, seen: u64) -> u64 {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *self.risen.wait_while(count, |c| *c <= seen).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounds of arithmetic per microsecond, measured on an idle core of this machine.
#[derive(Clone, Copy)]
struct Speed(u64);

impl Speed {
    fn measured() -> Self {
        const ROUNDS: u64 = 200_000;
        let fastest = (0..5).map(|_| {
            let begin = Instant::now();
            spin(ROUNDS);
            begin.elapsed().as_nanos().max(1)
        });
        let ns = fastest.min().unwrap_or(1);
        Self(u64::try_from(u128::from(ROUNDS) * 1000 / ns).unwrap_or(1).max(1))
    }

    /// Computes for `micros` microseconds of undisturbed CPU time.
    fn work(self, micros: u64) {
        spin(self.0 * micros);
    }
}

fn spin(rounds: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// Writes marks to tracefs' `trace_marker`, in the format of Android's atrace; `None` if that file cannot be opened.
struct Marks(Option<File>);

impl Marks {
    fn open() -> Self {
        let places = ["/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"];
        Self(places.into_iter().find_map(|path| OpenOptions::new().write(true).open(path).ok()))
    }

    fn begin(&self, name: &str) {
        self.write(&format!("B|{}|{name}", std::process::id()));
    }

    fn end(&self) {
        self.write(&format!("E|{}", std::process::id()));
    }

    /// Writes one mark with one system call.
    fn write(&self, text: &str) {
        if let Some(mut file) = self.0.as_ref() {
            let _ = file.write(text.as_bytes());
        }
    }
}

/// State shared by the threads.
struct Game {
    speed: Speed,
    marks: Marks,
    end: Instant,
    over: AtomicBool,
    chunks: Gate,
    frames: Gate,
    meet: Barrier,
}

impl Game {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The frame loop.
    fn play(&self) {
        let mut next = Instant::now();
        while Instant::now() < self.end {
            self.marks.begin("frame");
            self.speed.work(1_500);
            self.chunks.raise();
            self.speed.work(500);
            self.meet.wait();
            self.frames.raise();
            self.marks.end();
            next += FRAME;
            let now = Instant::now();
            if next > now {
                sleep(next - now);
            } else {
                next = now;
            }
        }
        self.over.store(true, Ordering::Release);
        self.chunks.raise();
        self.frames.raise();
    }

    /// Draws each frame, then waits for the "GPU".
    fn render(&self) {
        let mut seen = 0;
        loop {
            seen = self.frames.wait_above(seen);
            if self.is_over() {
                return;
            }
            self.marks.begin("draw");
            self.speed.work(4_000);
            sleep(Duration::from_millis(2));
            self.speed.work(500);
            self.marks.end();
        }
    }

    /// Processes chunks of different sizes; the slowest worker decides when all meet.
    fn work(&self, number: usize) {
        let mut seen = 0;
        loop {
            seen = self.chunks.wait_above(seen);
            if self.is_over() {
                return;
            }
            self.speed.work(600 + 500 * number as u64);
            self.meet.wait();
        }
    }

    /// Does a little work at a fixed interval.
    fn audio(&self) {
        while !self.is_over() {
            sleep(AUDIO);
            self.speed.work(200);
        }
    }

    /// Reads a large file in pieces.
    fn stream(&self) {
        let mut file = std::env::current_exe().and_then(File::open).ok();
        let mut piece = vec![0; 256 << 10];
        while !self.is_over() {
            if let Some(file) = &mut file {
                let count = file.read(&mut piece).unwrap_or(0);
                if count == 0 {
                    let _ = file.rewind();
                }
                black_box(piece.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
            }
            self.speed.work(300);
            sleep(Duration::from_millis(8));
        }
    }

    /// Uses all idle CPU time at nice 19.
    fn hog(&self) {
        // SAFETY: no memory is involved; 0 is this thread.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        while !self.is_over() {
            self.speed.work(1_000);
        }
    }
}
