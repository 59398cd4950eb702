// https://github.com/sharkdp/fd/pull/1422: each walker thread sends every directory entry alone over the channel; the receiver is faster,
// so it sleeps and is woken for nearly each. Fixed: results are sent in batches.
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

const SENDERS: u64 = 2;
const DIRECTORIES: u64 = 800;
const ENTRIES: u64 = 250;

struct WorkerResult {
    path: String,
    size: u64,
}

fn work_us(us: f64) -> u64 {
    let mut x = us as u64 | 1;
    for _ in 0..(us * 750.0) as u64 {
        x = std::hint::black_box(x).wrapping_mul(2862933555777941757).wrapping_add(3037000493);
    }
    x
}

fn walk(me: u64, batches: bool, tx: SyncSender<Vec<WorkerResult>>) {
    for dir in 0..DIRECTORIES {
        let mut batch = Vec::new();
        work_us(150.0); // opens and reads the directory
        for entry in 0..ENTRIES {
            let size = work_us(12.0); // stats and matches the entry
            batch.push(WorkerResult { path: format!("src/{me}/{dir}/{entry}.rs"), size });
            if !batches || batch.len() == ENTRIES as usize {
                if tx.send(std::mem::take(&mut batch)).is_err() {
                    return;
                }
            }
        }
    }
}

fn receive(rx: Receiver<Vec<WorkerResult>>) -> (u64, u64) {
    let (mut found, mut bytes) = (0, 0);
    while let Ok(results) = rx.recv() {
        for r in results {
            work_us(0.3); // prints it to a buffer
            found += 1;
            bytes += r.path.len() as u64 + (r.size & 1);
        }
    }
    (found, bytes)
}

fn side(name: &str, every_ms: u64, us: f64) {
    let named = thread::Builder::new().name(name.to_string());
    named
        .spawn(move || loop {
            thread::sleep(Duration::from_millis(every_ms));
            std::hint::black_box(std::fs::read("/proc/self/stat").ok());
            work_us(us);
        })
        .unwrap();
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    side("metrics", 100, 40.0);
    side("housekeeping", 250, 80.0);
    let (tx, rx) = sync_channel(if fixed { 128 } else { 0x4000 });
    let began = Instant::now();
    let receiver = thread::Builder::new().name("receiver".to_string()).spawn(move || receive(rx)).unwrap();
    let mut walkers = Vec::new();
    for me in 0..SENDERS {
        let tx = tx.clone();
        let named = thread::Builder::new().name(format!("walk-{me}"));
        walkers.push(named.spawn(move || walk(me, fixed, tx)).unwrap());
    }
    drop(tx);
    for w in walkers {
        w.join().unwrap();
    }
    let (found, bytes) = receiver.join().unwrap();
    assert!(found == SENDERS * DIRECTORIES * ENTRIES && bytes > 0);
    println!("work_ms={:.1}", began.elapsed().as_secs_f64() * 1e3);
}
