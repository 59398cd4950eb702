//! Records the causes that end idle periods (`record --irq`).

use crate::support::{Folder, good, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::time::Duration;

/// Pins this thread to one CPU and names it.
fn pin_and_name(cpu: usize, name: &std::ffi::CStr) {
    // SAFETY: a valid mask of one CPU, of this thread; the name ends with 0.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// Returns the CPUs on which this thread may run.
fn allowed() -> Vec<usize> {
    // SAFETY: the kernel writes at most the mask's size.
    let mask = unsafe {
        let mut mask: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut mask);
        mask
    };
    // SAFETY: within the mask.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &mask) }).collect()
}

/// Rows for other reasons: when the threads begin, and where the machine hides an interrupt.
const OTHERS: i64 = 10;
/// How often the writer writes at least.
const WRITES: u64 = 200;

/// A thread on the first CPU sleeps for 2 ms at a time and then writes to a pipe, which a thread on the second CPU reads. Nothing but its timer
/// wakes the writer, and nothing but the writer the reader. So where the first CPU was idle until the writer ran, a timer with the function
/// hrtimer_wakeup ended that; where the second one was idle until the reader ran, the writer did, by an interrupt, or without one if the idle
/// task polls. How often a CPU is idle at all depends on what else runs.
#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn timers_and_other_cpus_end_idle_periods() {
    let cpus = allowed();
    let [first, second, ..] = cpus[..] else { panic!("this machine has one CPU") };
    let folder = Folder::new();
    let (dir, begun, over) = (folder.name("run.cw"), folder.path("begun"), folder.path("over"));
    let script = format!("touch '{}'; while ! test -e '{}'; do sleep 0.02; done", begun.display(), over.display());
    let ran = std::thread::scope(|scope| {
        let words = ["record", "-o", &dir, "--irq", "--", "sh", "-c", &script];
        let recorder = scope.spawn(move || run(words));
        while !begun.exists() && !recorder.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (mut from, mut into) = std::io::pipe().unwrap();
        let writing = scope.spawn(move || {
            pin_and_name(first, c"idle-writer");
            for _ in 0..WRITES {
                std::thread::sleep(Duration::from_millis(2));
                into.write_all(&[0]).unwrap();
            }
        });
        let reading = scope.spawn(move || {
            pin_and_name(second, c"idle-reader");
            while from.read(&mut [0]).unwrap() > 0 {}
        });
        let done = writing.join().and_then(|()| reading.join());
        std::fs::write(&over, "").unwrap();
        done.unwrap();
        recorder.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("by bpf"), "{}", ran.err);
    let table = |name: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, name, "--format", "json"])).expect("JSON")
    };
    let rows = table("idle_ends");
    let number = |row: &Value, col: &str| row[col].as_i64().unwrap();
    // The idle time of each CPU is that of its periods, whatever ended them.
    for row in table("cpus") {
        let of_cpu = rows.iter().filter(|r| r["cpu"] == row["cpu"]);
        assert_eq!(of_cpu.map(|r| number(r, "idle_ns")).sum::<i64>(), number(&row, "idle_ns"), "{row}");
    }
    // How many periods ended for a thread: all of which is known why, and those that ended so.
    let ended = |cpu: usize, thread: &str, so: &dyn Fn(&Value) -> bool| {
        let unknown = |row: &&Value| {
            !["pulled", "requeued", "not_recorded", "unknown", "cut"].contains(&row["ended_by"].as_str().unwrap())
        };
        let of: Vec<&Value> = rows
            .iter()
            .filter(|row| row["cpu"].as_u64() == Some(cpu as u64) && row["thread_name"] == thread)
            .filter(unknown)
            .collect();
        let all: i64 = of.iter().map(|row| number(row, "periods")).sum();
        let such: i64 = of.iter().filter(|row| so(row)).map(|row| number(row, "periods")).sum();
        (all, such)
    };
    let (all, timer) = ended(first, "idle-writer", &|row| {
        row["ended_by"] == "timer" && row["interrupt"].as_str().is_some_and(|name| name.contains("hrtimer_wakeup"))
    });
    assert!(all - timer <= OTHERS, "{timer} of {all} by its timer: {rows:?}");
    let (all, sent) = ended(second, "idle-reader", &|row| {
        let is_ipi = row["interrupt"].as_str().is_none_or(|name| name.starts_with("ipi "));
        row["ended_by"] == "thread" && row["waker_name"] == "idle-writer" && is_ipi
    });
    assert!(all - sent <= OTHERS, "{sent} of {all} by the writer: {rows:?}");
}
