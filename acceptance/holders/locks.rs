//! Mutexes of Rust's standard library whose holders are known: `locks_rs SECONDS LOG`, with the log of `locks.c`. With `--cfg of_parking_lot`
//! those of parking_lot, where a thread waits for a word of its own.

#[cfg(of_parking_lot)]
use parking_lot::{Mutex, MutexGuard};
use std::io::Write;
use std::sync::Arc;
#[cfg(not(of_parking_lot))]
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    fn gettid() -> i32;
}

/// `CLOCK_MONOTONIC`, ns.
fn now() -> i64 {
    let mut time = [0; 2];
    // SAFETY: a timespec is two longs on 64-bit Linux.
    unsafe { clock_gettime(1, &raw mut time) };
    time[0] * 1_000_000_000 + time[1]
}

#[cfg(of_parking_lot)]
fn lock(lock: &Mutex<u64>) -> MutexGuard<'_, u64> {
    lock.lock()
}

#[cfg(not(of_parking_lot))]
fn lock(lock: &Mutex<u64>) -> MutexGuard<'_, u64> {
    lock.lock().expect("no thread panics")
}

fn spend(busy_us: i64, sleeps: bool) {
    let end = now() + busy_us * 1000;
    while now() < end {}
    if sleeps {
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let end = Instant::now() + Duration::from_secs_f64(words[1].parse().expect("seconds"));
    let locks = Arc::new([Mutex::new(0_u64), Mutex::new(0)]);
    let work = |number: u64| {
        let locks = Arc::clone(&locks);
        move || {
            let (mut seed, mut holds) = (number + 1, Vec::new());
            let mut random = move |below: u64| {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                seed % below
            };
            while Instant::now() < end {
                let which = random(2) as usize;
                let (busy, sleeps) = (random(150) as i64, random(3) == 0);
                let mut value = lock(&locks[which]);
                let from = now();
                *value += 1;
                spend(busy, sleeps);
                // SAFETY: it takes no argument.
                holds.push((which, unsafe { gettid() }, from, now()));
                drop(value);
                spend(random(100) as i64, random(3) == 0);
            }
            holds
        }
    };
    let threads: Vec<_> = (0..5)
        .map(|number| std::thread::Builder::new().name("locks".into()).spawn(work(number)).expect("a thread"))
        .collect();
    let mut log = std::fs::File::create(&words[2]).expect("the log");
    for thread in threads {
        for (lock, tid, from, to) in thread.join().expect("it ends") {
            writeln!(log, "{lock} {tid} {from} {to}").expect("written");
        }
    }
}
