// https://github.com/golang/go/issues/13086 (rsc.io/tmp/lockskew): goroutine 1 holds the lock for long and releases it only for an
// instant; goroutine 2 needs it briefly and often. The lock favours the thread that runs. Fixed: a lock that is handed over in order.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const TIMES: usize = 130;

fn work_us(us: u64) {
    let mut x = us | 1;
    for _ in 0..us * 750 {
        x = std::hint::black_box(x.wrapping_mul(2862933555777941757).wrapping_add(3037000493));
    }
}

/// Tickets: the thread that came first is next, even if another runs.
#[derive(Default)]
struct InOrder {
    next_and_served: Mutex<(u64, u64)>,
    turn: Condvar,
}

enum Mu {
    Unfair(Mutex<()>),
    InOrder(InOrder),
}

impl Mu {
    fn with(&self, critical: impl FnOnce()) {
        match self {
            Mu::Unfair(m) => {
                let _held = m.lock().unwrap();
                critical();
            }
            Mu::InOrder(l) => {
                let mut t = l.next_and_served.lock().unwrap();
                let mine = t.0;
                t.0 += 1;
                while t.1 != mine {
                    t = l.turn.wait(t).unwrap();
                }
                drop(t);
                critical();
                l.next_and_served.lock().unwrap().1 += 1;
                l.turn.notify_all();
            }
        }
    }
}

fn thread(name: &str, f: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::Builder::new().name(name.into()).spawn(f).unwrap()
}

fn main() {
    let fixed = std::env::args().nth(1).is_some_and(|a| a == "fixed");
    let mu = Arc::new(if fixed { Mu::InOrder(InOrder::default()) } else { Mu::Unfair(Mutex::new(())) });
    let done = Arc::new(AtomicBool::new(false));
    thread("metrics", || loop {
        std::thread::sleep(Duration::from_millis(100));
        let _ = std::fs::read("/proc/self/stat");
        work_us(40);
    });
    let (mu1, done1) = (mu.clone(), done.clone());
    let first = thread("goroutine-1", move || {
        for i in 1.. {
            mu1.with(|| work_us(700));
            work_us(if i % 24 == 0 { 600 } else { 5 }); // looks whether it is done; now and then logs
            if done1.load(Ordering::Relaxed) {
                break;
            }
        }
    });
    let began = Instant::now();
    let second = thread("goroutine-2", move || {
        for _ in 0..TIMES {
            work_us(4000);
            mu.with(|| work_us(10));
        }
    });
    second.join().unwrap();
    println!("work_ms={:.1}", began.elapsed().as_secs_f64() * 1e3);
    done.store(true, Ordering::Relaxed);
    first.join().unwrap();
}
