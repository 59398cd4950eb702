//! Tests before a recording whether this kernel hides switches from BPF programs (`bpf/probe.bpf.c`). Only then do the
//! programs infer them (`bpf/hidden_switches.h`).

use crate::conditions;
use crate::libbpf::{possible_cpus, why};
use crate::options::CaptureError;
use crate::procfs;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o"));

/// Maximum number of attempts, while CPUs are too busy for their idle tasks to run.
const ATTEMPTS: usize = 5;
/// Threads that sleep at the same time.
const THREADS: usize = 64;
const SLEEP: Duration = Duration::from_micros(200);

/// Whether the kernel delivers every switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switches {
    /// On every CPU the idle task was switched in and out, and both switches were delivered.
    Delivered,
    /// Some switches were not delivered.
    Hidden,
    /// Unknown: a CPU was too busy for its idle task to run.
    NotSeen,
}

/// The result for one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Chain {
    /// How often the idle task was switched in.
    idled: u32,
    /// Switches whose previous thread is not the one that was switched in last.
    hidden: u32,
}

/// Runs the test, which takes a few milliseconds.
///
/// # Errors
/// If the program cannot be loaded or attached.
pub fn test(online: &[u32]) -> Result<Switches, CaptureError> {
    let (object, _link) = attached()?;
    let mut seen = Switches::NotSeen;
    for _ in 0..ATTEMPTS {
        online.chunks(THREADS).for_each(sleep_on);
        let chains: Option<Vec<Chain>> = online.iter().map(|cpu| chain(&object, *cpu)).collect();
        seen = judge(
            &chains
                .ok_or_else(|| CaptureError::Bpf("the test for hidden switches: the BPF object has no map".into()))?,
        );
        if seen != Switches::NotSeen {
            break;
        }
    }
    Ok(seen)
}

/// Whether this kernel hides switches, or may hide some. In a virtual machine it may be those of a few threads only, and these may sleep
/// during the test: there, a test without hidden switches proves nothing.
///
/// # Errors
/// If the test's program cannot be loaded or attached.
pub fn may_hide() -> Result<bool, CaptureError> {
    Ok(test(&procfs::online())?.may_be_hidden())
}

impl Switches {
    /// Whether some may be hidden, now or later.
    pub fn may_be_hidden(self) -> bool {
        self != Self::Delivered || !conditions::is_bare()
    }
}

/// An idle task that was switched in twice was switched out once. If one CPU is too busy, the result is unknown, whatever the others
/// show.
fn judge(chains: &[Chain]) -> Switches {
    if chains.iter().any(|c| c.hidden > 0) {
        Switches::Hidden
    } else if chains.iter().all(|c| c.idled > 1) {
        Switches::Delivered
    } else {
        Switches::NotSeen
    }
}

fn attached() -> Result<(Object, Link), CaptureError> {
    let mut object = ObjectBuilder::default()
        .open_memory(OBJECT)
        .map_err(|e| why("cannot open the test for hidden switches", &e))?;
    for mut map in object.maps_mut() {
        if map.name() == "chains" {
            map.set_max_entries(possible_cpus())
                .map_err(|e| why("cannot set the size of the test for hidden switches", &e))?;
        }
    }
    let object = object.load().map_err(|e| why("the kernel rejected the test for hidden switches", &e))?;
    let link = object.progs_mut().next().map(|program| program.attach());
    let link =
        link.ok_or_else(|| CaptureError::Bpf("the test for hidden switches: the BPF object has no program".into()))?;
    Ok((object, link.map_err(|e| why("cannot attach the test for hidden switches", &e))?))
}

/// Lets a thread on each of these CPUs sleep a few times. CPUs outside this process's affinity are skipped.
fn sleep_on(cpus: &[u32]) {
    std::thread::scope(|scope| {
        for cpu in cpus {
            let sleep = move || {
                if stay_on(*cpu) {
                    (0..4).for_each(|_| std::thread::sleep(SLEEP));
                }
            };
            // Where no thread can be had, it is as if that CPU were too busy.
            let _ = std::thread::Builder::new().spawn_scoped(scope, sleep);
        }
    });
}

/// Pins this thread to one CPU. Returns whether that is allowed.
fn stay_on(cpu: u32) -> bool {
    // SAFETY: all-zero is a valid set; CPU_SET stays within it, and it outlives the call.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        if cpu >= libc::CPU_SETSIZE.unsigned_abs() {
            return false;
        }
        libc::CPU_SET(cpu as usize, &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one) == 0
    }
}

/// Reads a CPU's result; `None`: the map has no such CPU.
fn chain(object: &Object, cpu: u32) -> Option<Chain> {
    let map = object.maps().find(|map| map.name() == "chains")?;
    let value = map.lookup(&cpu.to_ne_bytes(), MapFlags::ANY).ok()??;
    let int = |at: usize| value.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    Some(Chain { idled: int(8)?, hidden: int(12)? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_hidden_switch_means_hidden_and_one_busy_cpu_means_unknown() {
        let chain = |idled, hidden| Chain { idled, hidden };
        assert_eq!(judge(&[chain(2, 0), chain(9, 0)]), Switches::Delivered);
        assert_eq!(judge(&[chain(2, 0), chain(0, 1)]), Switches::Hidden);
        assert_eq!(judge(&[chain(9, 0), chain(1, 0)]), Switches::NotSeen);
    }
}
