//! Records the causes that end idle periods (`record --irq`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{Folder, good, run};

static ON: AtomicBool = AtomicBool::new(true);

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

/// On a busy machine with few idle periods, other causes may dominate; this many are tolerated.
const FEW: i64 = 20;

/// A thread on the first CPU sleeps for 2 ms at a time and then writes to a pipe, which a thread on the second CPU reads. The first CPU
/// leaves idle by a timer with the function hrtimer_wakeup. The second one is woken by the writer, by an interrupt, or without one if
/// its idle task polls. Other timers and devices end some periods, so the test requires only a majority.
#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn timers_and_other_cpus_end_idle_periods() {
    let cpus = allowed();
    let [first, second, ..] = cpus[..] else { panic!("this machine has one CPU") };
    let (mut from, mut into) = std::io::pipe().unwrap();
    let writing = std::thread::spawn(move || {
        pin_and_name(first, c"idle-writer");
        while ON.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
            into.write_all(&[0]).unwrap();
        }
    });
    let reading = std::thread::spawn(move || {
        pin_and_name(second, c"idle-reader");
        while from.read(&mut [0]).unwrap() > 0 {}
    });
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let ran = run(["record", "-o", &dir, "--irq", "--duration", "1s"]);
    ON.store(false, Ordering::Relaxed);
    writing.join().unwrap();
    reading.join().unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("by bpf"), "{}", ran.err);
    let table = |name: &str| -> Vec<Value> {
        serde_json::from_str(&good(["table", &dir, name, "--format", "json"])).expect("JSON")
    };
    let rows = table("idle_wakeups");
    // On any load, no idle period is longer than the writer's sleep plus the delay of its timer.
    for (row, cpu) in table("cpus").iter().zip(0..).filter(|(_, cpu)| [first, second].contains(cpu)) {
        let of_cpu = rows.iter().filter(|r| r["cpu"].as_u64() == Some(cpu as u64));
        let (idle, periods) =
            (row["idle_ns"].as_i64().unwrap(), of_cpu.map(|r| r["periods"].as_i64().unwrap()).sum::<i64>());
        assert!(idle <= (periods + 1) * 4_000_000, "CPU {cpu} was idle for {idle} ns in {periods} periods");
    }
    // Returns the number of periods of a CPU with this cause and waker, and how many of them such an interrupt ended.
    let periods = |cpu: usize, cause: &str, waker: Option<&str>, ended: &dyn Fn(Option<&str>) -> bool| {
        let ours = |row: &&Value| {
            row["cpu"].as_u64() == Some(cpu as u64) && row["cause"] == cause && row["waker_name"].as_str() == waker
        };
        let count = |row: &Value| row["periods"].as_i64().unwrap();
        let all: i64 = rows.iter().filter(ours).map(count).sum();
        let such: i64 = rows.iter().filter(ours).filter(|row| ended(row["interrupt"].as_str())).map(count).sum();
        (all, such)
    };
    // A CPU with many idle periods has some with this cause, between the writer's sleeps.
    let is_often = |cpu: usize| {
        let of_cpu = rows.iter().filter(|r| r["cpu"].as_u64() == Some(cpu as u64));
        of_cpu.map(|r| r["periods"].as_i64().unwrap()).sum::<i64>() > 10 * FEW
    };
    let (all, timer) = periods(first, "interrupt", None, &|name| name == Some("timer hrtimer_wakeup"));
    assert!(all > 0 || !is_often(first), "no period was ended by an interrupt: {rows:?}");
    assert!(timer * 2 + FEW > all, "{timer} of {all} by a timer: {rows:?}");
    let (all, sent) =
        periods(second, "thread", Some("idle-writer"), &|name| name.is_none_or(|name| name.starts_with("ipi ")));
    assert!(all > 0 || !is_often(second), "no period was ended by the writer: {rows:?}");
    assert!(sent * 2 + FEW > all, "{sent} of {all} by another CPU: {rows:?}");
}
