//! Makes recordings of this machine for tests.
#![allow(clippy::unwrap_used, clippy::panic)]
// Not every test uses all functions.
#![allow(dead_code)]

use capture::{RecordOptions, Recorded, open_spool, record};
use ingest::{Anomalies, Facts, Reach};
use model::{Batch, Event, StackFrame};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
