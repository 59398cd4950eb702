//! Makes recordings of this machine for tests.
// Not every test uses all functions.

use capture::{RecordOptions, Recorded, Target, open_spool, record};
use ingest::{Anomalies, Facts, Reach};
use model::{Batch, Event, Ns, StackFrame};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What ends a test that hangs.
pub const HANGS: Duration = Duration::from_secs(60);

/// Signal handlers and sub-reaping are per process: one recording at a time.
static ONE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn recorded(options: &RecordOptions) -> Recorded {
    recorded_while(options, &mut || ())
}

/// Records. Calls `begun` when everything is attached, which takes an unknown time.
pub fn recorded_while(options: &RecordOptions, begun: &mut (dyn FnMut() + Send)) -> Recorded {
    // In a separate thread, since the recorder drops the capabilities of its thread.
    let done = std::thread::scope(|s| s.spawn(|| record(options, &mut |_| begun())).join().unwrap());
    done.unwrap_or_else(|why| panic!("{why}"))
}

/// Returns a command that lasts until this file exists: a recording ends when what it is about has happened, however long that takes.
pub fn until(over: &Path) -> Target {
    let script = format!("while ! test -e '{}'; do sleep 0.02; done", over.display());
    Target::Command(["sh", "-c", &script].map(String::from).to_vec())
}

/// Makes the file of [`until`] when it is dropped, also by a panic.
pub struct Over(pub PathBuf);

impl Drop for Over {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "");
    }
}

/// Waits for something, which must happen.
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let end = Instant::now() + HANGS;
    while !happened() {
        assert!(Instant::now() < end, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a thread of this process has left its CPU in this system call. Of a thread that runs or is ready, the kernel shows no number.
pub fn waits_in(tid: i32, call: libc::c_long) -> bool {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).unwrap_or_default();
    text.split_whitespace().next() == Some(call.to_string().as_str())
}

/// Waits until a thread of this process waits in a system call.
pub fn until_it_waits_in(tid: i32, call: libc::c_long) {
    wait_for("the wait of a thread", || waits_in(tid, call));
}

/// How often the calling thread has left its CPU to wait, as the kernel counts it.
pub fn waits() -> u64 {
    usage().ru_nvcsw.unsigned_abs()
}

/// How often the calling thread has left its CPU, as the kernel counts it.
pub fn switches() -> u64 {
    let usage = usage();
    usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs()
}

fn usage() -> libc::rusage {
    // SAFETY: all-zero is a valid rusage, and it is written to.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage
    }
}

/// Lets the calling thread leave its CPU to wait at least once.
pub fn wait_once() {
    let before = waits();
    while waits() == before {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `CLOCK_MONOTONIC`, the clock of a recording.
pub fn now() -> Ns {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    Ns(at.tv_sec * 1_000_000_000 + at.tv_nsec)
}

/// The content of a spool.
pub struct Trace {
    pub facts: Facts,
    pub events: Vec<Event>,
    pub names: Vec<Box<str>>,
    pub stacks: Vec<Box<[StackFrame]>>,
    pub bad: Anomalies,
}

pub fn read(dir: &Path) -> Trace {
    let mut opened = open_spool(dir).unwrap();
    let (mut events, mut names, mut stacks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bad, mut batch) = (Anomalies::default(), Batch::default());
    for stream in &mut opened.streams {
        loop {
            batch.clear();
            let reach = stream.next(&mut batch, &mut bad).unwrap();
            events.append(&mut batch.events);
            names.append(&mut batch.names);
            stacks.append(&mut batch.stacks);
            if reach == Reach::End {
                break;
            }
        }
    }
    // Between its marks a stream is not sorted across CPUs, and events noticed late lie before the marks. Sorting is ingest's task.
    events.sort_by_key(|e| e.at);
    Trace { facts: opened.facts, events, names, stacks, bad }
}

pub fn gettid() -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::gettid() }
}

/// Pins the calling thread to a CPU.
pub fn to_cpu(cpu: usize) {
    // SAFETY: the set outlives the call.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
    }
}

/// Lets large blocks of memory always be new to the process, so that their first use is a page fault.
pub fn fresh_memory() {
    // SAFETY: it sets a parameter of the allocator.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10) };
}
