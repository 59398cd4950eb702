//! Settings of one thread: reads and writes its priority, policy, affinity, utilisation clamp and timer slack (sched(7), proc(5)).

use model::{CpuId, Policy};
use serde::{Deserialize, Serialize};
use std::io::{Error, Result};

/// The number of CPUs of `libc::cpu_set_t`.
const CPUS: usize = libc::CPU_SETSIZE as usize;
/// The level of a thread that gets a real-time policy: the lowest one, which is above all fair threads.
pub(crate) const REAL_TIME_LEVEL: i32 = 1;

/// A setting of a thread, as it was or as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The nice value.
    Nice(i8),
    /// The scheduling policy as the kernel numbers it, with the flag `SCHED_RESET_ON_FORK`, and the real-time priority.
    Policy {
        /// `SCHED_…`.
        policy: i32,
        /// The real-time priority; 0 for fair policies.
        level: i32,
    },
    /// The CPUs on which it may run.
    Affinity(Vec<CpuId>),
    /// The range of utilisation that the scheduler assumes, 0 to 1024 (`uclampset(1)`).
    Clamp {
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// How late its timers may expire, ns.
    TimerSlack(u64),
}

impl Setting {
    /// The setting of a policy, with this real-time priority or the lowest one.
    pub(crate) fn of_policy(policy: Policy, level: Option<u8>) -> Self {
        let (policy, level) = match policy {
            Policy::Other => (libc::SCHED_OTHER, 0),
            Policy::Batch => (libc::SCHED_BATCH, 0),
            Policy::Idle => (libc::SCHED_IDLE, 0),
            Policy::Fifo => (libc::SCHED_FIFO, level.map_or(REAL_TIME_LEVEL, i32::from)),
        };
        Self::Policy { policy, level }
    }

    /// Reads the same setting of a thread.
    ///
    /// # Errors
    /// The thread has ended, or the kernel does not support it.
    pub(crate) fn of_thread(&self, tid: i32) -> Result<Self> {
        match self {
            Self::Nice(_) => nice_of(tid).map(Self::Nice),
            Self::Policy { .. } => policy_of(tid),
            Self::Affinity(_) => affinity_of(tid).map(Self::Affinity),
            Self::Clamp { .. } => {
                let of = attributes(tid)?;
                Ok(Self::Clamp { min: of.sched_util_min, max: of.sched_util_max })
            }
            Self::TimerSlack(_) => {
                let text = std::fs::read_to_string(slack_path(tid))?;
                text.trim().parse().map(Self::TimerSlack).map_err(Error::other)
            }
        }
    }

    /// Gives it to a thread.
    ///
    /// # Errors
    /// The thread has ended, the kernel does not support it, or it is not permitted.
    pub(crate) fn give(&self, tid: i32) -> Result<()> {
        let done = match self {
            // SAFETY: no memory is involved.
            Self::Nice(nice) => unsafe { libc::setpriority(libc::PRIO_PROCESS, tid.cast_unsigned(), (*nice).into()) },
            Self::Policy { policy, level } => {
                let parameter = libc::sched_param { sched_priority: *level };
                // SAFETY: a valid parameter.
                unsafe { libc::sched_setscheduler(tid, *policy, &raw const parameter) }
            }
            Self::Affinity(cpus) => {
                // SAFETY: all zeros is an empty set.
                let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
                for cpu in cpus.iter().filter(|cpu| (cpu.0 as usize) < CPUS) {
                    // SAFETY: the CPU lies within the set.
                    unsafe { libc::CPU_SET(cpu.0 as usize, &mut set) };
                }
                // SAFETY: a valid set of this size.
                unsafe { libc::sched_setaffinity(tid, size_of_val(&set), &raw const set) }
            }
            Self::Clamp { min, max } => return clamp(tid, *min, *max),
            Self::TimerSlack(ns) => return std::fs::write(slack_path(tid), ns.to_string()),
        };
        if done < 0 { Err(Error::last_os_error()) } else { Ok(()) }
    }
}

fn slack_path(tid: i32) -> String {
    format!("/proc/{tid}/timerslack_ns")
}

fn nice_of(tid: i32) -> Result<i8> {
    // −1 is a nice value too, so errno decides.
    // SAFETY: errno is this thread's own.
    unsafe { *libc::__errno_location() = 0 };
    // SAFETY: no memory is involved.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, tid.cast_unsigned()) };
    let error = Error::last_os_error();
    if nice == -1 && error.raw_os_error() != Some(0) { Err(error) } else { Ok(nice as i8) }
}

fn policy_of(tid: i32) -> Result<Setting> {
    // SAFETY: no memory is involved.
    let policy = unsafe { libc::sched_getscheduler(tid) };
    let mut parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter may be written to.
    if policy < 0 || unsafe { libc::sched_getparam(tid, &raw mut parameter) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(Setting::Policy { policy, level: parameter.sched_priority })
}

fn affinity_of(tid: i32) -> Result<Vec<CpuId>> {
    // SAFETY: all zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set may be written to, and has this size.
    if unsafe { libc::sched_getaffinity(tid, size_of_val(&set), &raw mut set) } < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the CPUs lie within the set.
    Ok((0..CPUS).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).map(|cpu| CpuId(cpu as u32)).collect())
}

/// `struct sched_attr` (linux/sched/types.h), version 1.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    sched_policy: u32,
    sched_flags: u64,
    sched_nice: i32,
    sched_priority: u32,
    sched_runtime: u64,
    sched_deadline: u64,
    sched_period: u64,
    sched_util_min: u32,
    sched_util_max: u32,
}

/// `SCHED_FLAG_KEEP_ALL | SCHED_FLAG_UTIL_CLAMP` (linux/sched.h).
const CLAMP_ONLY: u64 = 0x18 | 0x60;

fn attributes(tid: i32) -> Result<Attributes> {
    let mut of = Attributes { size: size_of::<Attributes>() as u32, ..Attributes::default() };
    // SAFETY: the structure may be written to, and has this size.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut of, size_of::<Attributes>(), 0) };
    if done < 0 { Err(Error::last_os_error()) } else { Ok(of) }
}

fn clamp(tid: i32, min: u32, max: u32) -> Result<()> {
    let size = size_of::<Attributes>() as u32;
    let to =
        Attributes { size, sched_flags: CLAMP_ONLY, sched_util_min: min, sched_util_max: max, ..Attributes::default() };
    // SAFETY: a valid structure of the size that it states.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const to, 0) };
    if done < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> i32 {
        // SAFETY: no memory is involved.
        unsafe { libc::gettid() }
    }

    #[test]
    fn what_was_read_can_be_given_back() {
        for like in [
            Setting::Nice(0),
            Setting::of_policy(Policy::Other, None),
            Setting::Affinity(Vec::new()),
            Setting::TimerSlack(0),
        ] {
            let was = like.of_thread(own()).unwrap();
            was.give(own()).unwrap();
            assert_eq!(like.of_thread(own()).unwrap(), was);
        }
    }

    #[test]
    fn a_thread_changes_and_changes_back() {
        std::thread::spawn(|| {
            let was = Setting::TimerSlack(0).of_thread(own()).unwrap();
            Setting::TimerSlack(123_456).give(own()).unwrap();
            assert_eq!(was.of_thread(own()).unwrap(), Setting::TimerSlack(123_456));
            was.give(own()).unwrap();
            assert_eq!(was.of_thread(own()).unwrap(), was);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_does_not_exist_is_an_error() {
        for like in [Setting::Nice(0), Setting::of_policy(Policy::Idle, None), Setting::Affinity(Vec::new())] {
            like.of_thread(i32::MAX).unwrap_err();
        }
    }
}
