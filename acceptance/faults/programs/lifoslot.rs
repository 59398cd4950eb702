// https://github.com/tokio-rs/tokio/issues/4941: a small runtime with two workers. A task that is woken by a running task goes into that
// worker's LIFO slot, from which the other worker cannot steal. Fixed: it goes to the worker's queue, which can be stolen from.
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex};
use std::time::{Duration, Instant};

const REQUESTS: usize = 500;
type Task = Box<dyn FnOnce() + Send>;

struct Runtime {
    queues: Mutex<[VecDeque<Task>; 2]>,
    unpark: Condvar,
    lifo: bool,
    answered: AtomicUsize,
    finished: (Mutex<bool>, Condvar),
}

static RT: LazyLock<Runtime> = LazyLock::new(|| Runtime {
    queues: Mutex::default(),
    unpark: Condvar::new(),
    lifo: std::env::args().nth(1).is_none_or(|a| a != "fixed"),
    answered: AtomicUsize::new(0),
    finished: (Mutex::new(false), Condvar::new()),
});

thread_local! {
    static ME: RefCell<usize> = const { RefCell::new(0) };
    static SLOT: RefCell<Option<Task>> = const { RefCell::new(None) };
}

fn work_us(us: u64) {
    let mut x = us | 1;
    for _ in 0..us * 750 {
        x = std::hint::black_box(x.wrapping_mul(2862933555777941757).wrapping_add(3037000493));
    }
}

fn push(task: Task) {
    RT.queues.lock().unwrap()[ME.with_borrow(|w| *w)].push_back(task);
    RT.unpark.notify_one();
}

/// Makes a task ready, from inside a task.
fn schedule(task: Task) {
    if RT.lifo {
        if let Some(earlier) = SLOT.replace(Some(task)) {
            push(earlier);
        }
    } else {
        push(task);
    }
}

fn worker(me: usize) {
    ME.set(me);
    loop {
        if let Some(task) = SLOT.take() {
            task();
            continue;
        }
        let mut queues = RT.queues.lock().unwrap();
        let task = loop {
            if let Some(t) = queues[me].pop_front() {
                break t;
            }
            if let Some(t) = queues[1 - me].pop_front() {
                break t; // stolen
            }
            queues = RT.unpark.wait(queues).unwrap();
        };
        drop(queues);
        task();
    }
}

/// Handles a request: first wakes the task of the next one in the channel, then computes.
fn handle(request: usize) {
    if request + 1 < REQUESTS {
        schedule(Box::new(move || handle(request + 1)));
    }
    work_us(3300 + (request as u64 * 37) % 1000);
    if RT.answered.fetch_add(1, Ordering::Relaxed) + 1 == REQUESTS {
        *RT.finished.0.lock().unwrap() = true;
        RT.finished.1.notify_one();
    }
}

fn main() {
    let thread =
        |name: &str, f: Box<dyn FnOnce() + Send>| std::thread::Builder::new().name(name.into()).spawn(f).unwrap();
    thread(
        "metrics",
        Box::new(|| loop {
            std::thread::sleep(Duration::from_millis(100));
            let _ = std::fs::read("/proc/self/stat");
            work_us(40);
        }),
    );
    for me in 0..2 {
        thread("tokio-worker", Box::new(move || worker(me)));
    }
    std::thread::sleep(Duration::from_millis(20));
    let began = Instant::now();
    push(Box::new(|| handle(0)));
    let mut finished = RT.finished.0.lock().unwrap();
    while !*finished {
        finished = RT.finished.1.wait(finished).unwrap();
    }
    println!("work_ms={:.1}", began.elapsed().as_secs_f64() * 1e3);
}
