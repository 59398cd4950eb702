//! Recordings of this machine for tests.
#![allow(clippy::unwrap_used, clippy::panic)]
// Not every test uses all of it.
#![allow(dead_code)]

use capture::{RecordOptions, Recorded, open_spool, record};
use ingest::{Facts, Reach, Troubles};
use model::{Batch, Event};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Signals and sub-reaping belong to the process: one recording at a time.
static ONE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn recorded(options: &RecordOptions) -> Recorded {
    recorded_while(options, &mut || ())
}

/// `begun` is called when everything is attached: how long that takes, nobody can say.
pub fn recorded_while(options: &RecordOptions, begun: &mut (dyn FnMut() + Send)) -> Recorded {
    // In a thread of its own: the rights that it gives up are the thread's.
    let done = std::thread::scope(|s| s.spawn(|| record(options, &mut |_| begun())).join().unwrap());
    done.unwrap_or_else(|why| panic!("{why}"))
}

/// What a spool tells.
pub struct Told {
    pub facts: Facts,
    pub events: Vec<Event>,
    pub names: Vec<Box<str>>,
    pub bad: Troubles,
}

pub fn read(dir: &Path) -> Told {
    let mut opened = open_spool(dir).unwrap();
    let (mut events, mut names, mut bad, mut batch) = (Vec::new(), Vec::new(), Troubles::default(), Batch::default());
    for stream in &mut opened.streams {
        loop {
            batch.clear();
            let reach = stream.next(&mut batch, &mut bad).unwrap();
            events.append(&mut batch.events);
            names.append(&mut batch.names);
            if reach == Reach::End {
                break;
            }
        }
    }
    // Across CPUs a stream is in no order between its marks, and what is noticed late lies before them; that is ingest's work.
    events.sort_by_key(|e| e.at);
    Told { facts: opened.facts, events, names, bad }
}

pub fn gettid() -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::gettid() }
}

/// Keeps the calling thread to a CPU.
pub fn to_cpu(cpu: usize) {
    // SAFETY: the set outlives the call.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
    }
}
