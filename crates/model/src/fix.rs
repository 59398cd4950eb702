//! What could be altered of a program, a machine or a recording: told as a person would do it, and kept so that a prediction
//! can try it.

use crate::{CoreType, CpuId, Ns};
use serde::{Deserialize, Serialize};

/// The threads that a change is for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Threads {
    /// What they are called: threads of a later run are known by it, since numbers are used again.
    pub name: String,
    /// The kernel's numbers of those that were seen, in the order of their keys.
    pub tids: Vec<i64>,
}

impl Threads {
    /// The one number to put into a call; a word to be replaced where there are several.
    fn tid(&self) -> String {
        match self.tids.as_slice() {
            [one] => one.to_string(),
            _ => "TID".to_owned(),
        }
    }

    /// Behind a call: whose number it takes, where it is not one.
    fn each(&self) -> String {
        if self.tids.len() == 1 { String::new() } else { format!(" for each TID of {}", self.name) }
    }
}

/// How Linux schedules a thread (sched(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`: a fair share by nice value.
    Other,
    /// `SCHED_BATCH`: the same, preempting less.
    Batch,
    /// `SCHED_IDLE`: below every nice value.
    Idle,
    /// `SCHED_FIFO`: before all that are fair, until it waits.
    Fifo,
}

/// Something that could be altered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fix {
    /// Another nice value, −20 to 19.
    Nice {
        /// Whose.
        threads: Threads,
        /// The new value.
        nice: i8,
    },
    /// Another scheduling policy.
    Policy {
        /// Whose.
        threads: Threads,
        /// The new one.
        policy: Policy,
    },
    /// Other CPUs on which threads may run.
    Affinity {
        /// Whose.
        threads: Threads,
        /// In order; none: every CPU.
        cpus: Vec<CpuId>,
    },
    /// Another CPU on which a thread is to be put first.
    IdealCpu {
        /// Whose.
        threads: Threads,
        /// Which.
        cpu: CpuId,
    },
    /// A type of core to be preferred.
    CoreType {
        /// For whom.
        threads: Threads,
        /// Which.
        prefer: CoreType,
    },
    /// How many threads share some work.
    PoolSize {
        /// Which.
        threads: Threads,
        /// How many there should be.
        size: u32,
    },
    /// Into how many pieces the work of a parallel region is cut, handed out one by one to whoever is free.
    Chunks {
        /// What the program calls the region.
        region: String,
        /// At least so many.
        chunks: u32,
    },
    /// How long a thread sleeps at a time.
    Sleep {
        /// Who.
        threads: Threads,
        /// At least.
        length: Ns,
    },
    /// By how much a thread's timers may be late, so that they end together.
    TimerSlack {
        /// Whose.
        threads: Threads,
        /// At most.
        slack: Ns,
    },
    /// To wait by blocking instead of spinning.
    Block {
        /// Who.
        threads: Threads,
    },
    /// To wake a thread for several pieces of work at once.
    Batch {
        /// Who is woken.
        threads: Threads,
        /// Pieces at a time, at least.
        pieces: u32,
    },
    /// A lock that lends its holder the priority of whoever waits for it.
    PriorityInheritance {
        /// Who waits.
        threads: Threads,
    },
    /// A lock that is held shorter, or is several locks.
    SplitLock {
        /// Who waits for it.
        threads: Threads,
    },
    /// So many requests to a device under way at once.
    InFlight {
        /// Who asks.
        threads: Threads,
        /// At least.
        requests: u32,
    },
    /// The CPU time that a control group may use in each period.
    Quota {
        /// Of whom.
        threads: Threads,
        /// So much more than it has, in percent.
        more_percent: u32,
    },
    /// The weight of a control group beside others, 1 to 10000; 100 is what each has unasked.
    Weight {
        /// Of whom.
        threads: Threads,
        /// The new one.
        weight: u32,
    },
    /// Whether sessions share CPUs evenly whatever the nice values in them are (`sched_autogroup_enabled`).
    Autogroup {
        /// Whether they do.
        on: bool,
    },
    /// Whether cores run more than one thread at once.
    Smt {
        /// Whether they do.
        on: bool,
    },
    /// An idle state that CPUs may no longer enter, or may again.
    IdleState {
        /// Its number.
        state: u32,
        /// Whether they may.
        allowed: bool,
    },
    /// CPUs that are not to be parked.
    Unpark {
        /// Which.
        cpus: Vec<CpuId>,
    },
    /// The least frequency of CPUs.
    LeastFrequency {
        /// Which CPUs.
        cpus: Vec<CpuId>,
        /// In kHz.
        khz: u64,
    },
    /// Where a device's interrupts are handled.
    Interrupts {
        /// Which, by number, where told.
        irq: Option<u32>,
        /// Where they should be.
        cpus: Vec<CpuId>,
    },
    /// How much more work a machine is taken to have room for.
    Headroom {
        /// So much more than it does, in percent.
        more_percent: u32,
    },
    /// CPU time that a hypervisor gives to others.
    HostCpus {
        /// So many physical CPUs should be this machine's own.
        cpus: u32,
    },
    /// Room for events while recording.
    RecordingBuffer {
        /// So many times what it was.
        times: u32,
    },
}

/// `0,2,5`, as taskset and the kernel's lists have it.
fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(|c| c.0.to_string()).collect::<Vec<_>>().join(",")
}

impl Fix {
    /// How it is done on Linux: a command, a call, or what to write in the program.
    #[must_use]
    pub fn linux(&self) -> String {
        match self {
            Self::Nice { threads, nice } => {
                format!("`renice -n {nice} -p {}`{} (setpriority(2) with PRIO_PROCESS)", threads.tid(), threads.each())
            }
            Self::Policy { threads, policy } => {
                let (option, name) = match policy {
                    Policy::Other => ("--other", "SCHED_OTHER"),
                    Policy::Batch => ("--batch", "SCHED_BATCH"),
                    Policy::Idle => ("--idle", "SCHED_IDLE"),
                    Policy::Fifo => ("--fifo", "SCHED_FIFO"),
                };
                let level = i32::from(*policy == Policy::Fifo);
                let (tid, each) = (threads.tid(), threads.each());
                format!("`chrt {option} -p {level} {tid}`{each} (sched_setscheduler(2) with {name})")
            }
            Self::Affinity { threads, cpus } => {
                let cpus = if cpus.is_empty() { "0-$(($(nproc --all)-1))".to_owned() } else { list(cpus) };
                format!("`taskset -pc {cpus} {}`{} (sched_setaffinity(2))", threads.tid(), threads.each())
            }
            Self::IdealCpu { threads, .. } => {
                format!(
                    "nothing to do for {}: Linux has no ideal CPU, it takes the last one that is allowed",
                    threads.name
                )
            }
            Self::CoreType { threads, prefer } => {
                let clamp = if *prefer == CoreType::Performance { "-m 1024" } else { "-M 256" };
                let (tid, each) = (threads.tid(), threads.each());
                format!(
                    "`uclampset {clamp} -p {tid}`{each} (sched_setattr(2), utilisation clamp; heeded where the kernel places by capacity)"
                )
            }
            Self::PoolSize { threads, size } => format!("start {size} threads called {} instead", threads.name),
            Self::Chunks { region, chunks } => {
                format!(
                    "cut {region} into at least {chunks} pieces, taken one by one from a shared counter (OpenMP: schedule(dynamic))"
                )
            }
            Self::Sleep { threads, length } => {
                format!(
                    "in {}, wait for what happens (futex(2), epoll_wait(2)) or sleep {} ns or more (clock_nanosleep(2))",
                    threads.name, length.0
                )
            }
            Self::TimerSlack { threads, slack } => {
                format!("prctl(PR_SET_TIMERSLACK, {}) in {}", slack.0, threads.name)
            }
            Self::Block { threads } => format!(
                "in {}, wait with futex(2), pthread_cond_wait(3) or pthread_barrier_wait(3) after at most some microseconds of spinning",
                threads.name
            ),
            Self::Batch { threads, pieces } => format!(
                "hand {} at least {pieces} pieces of work with each waking (one futex(2) or eventfd(2) write for all of them)",
                threads.name
            ),
            Self::PriorityInheritance { threads } => format!(
                "pthread_mutexattr_setprotocol(3) with PTHREAD_PRIO_INHERIT on the lock that {} waits for (real-time policies)",
                threads.name
            ),
            Self::SplitLock { threads } => {
                format!("let what {} waits for be held shorter, or make several locks of it", threads.name)
            }
            Self::InFlight { threads, requests } => {
                format!("in {}, keep {requests} requests under way (io_uring(7), or as many threads)", threads.name)
            }
            Self::Quota { threads, more_percent } => format!(
                "raise the quota in `cpu.max` of the control group of {} by {more_percent} % (`cat /proc/{}/cgroup` names it)",
                threads.name,
                threads.tid()
            ),
            Self::Weight { threads, weight } => format!(
                "write {weight} to `cpu.weight` of the control group of {} (`cat /proc/{}/cgroup` names it)",
                threads.name,
                threads.tid()
            ),
            Self::Autogroup { on } => format!("`sysctl kernel.sched_autogroup_enabled={}`", i32::from(*on)),
            Self::Smt { on } => {
                format!("`echo {} > /sys/devices/system/cpu/smt/control`", if *on { "on" } else { "off" })
            }
            Self::IdleState { state, allowed } => format!(
                "`echo {} > /sys/devices/system/cpu/cpuN/cpuidle/state{state}/disable` for each CPU N",
                i32::from(!*allowed)
            ),
            Self::Unpark { cpus } => {
                format!("`echo 1 > /sys/devices/system/cpu/cpuN/online` for N in {}", list(cpus))
            }
            Self::LeastFrequency { cpus, khz } => {
                format!("`echo {khz} > /sys/devices/system/cpu/cpuN/cpufreq/scaling_min_freq` for N in {}", list(cpus))
            }
            Self::Interrupts { irq, cpus } => {
                let irq = irq.map_or_else(|| "N".to_owned(), |n| n.to_string());
                format!(
                    "`echo {} > /proc/irq/{irq}/smp_affinity_list` (/proc/interrupts tells the numbers)",
                    list(cpus)
                )
            }
            Self::Headroom { more_percent } => {
                format!("plan for {more_percent} % more work at most (`corewise table smt_utilisation`)")
            }
            Self::HostCpus { cpus } => {
                format!(
                    "on the host, give this machine {cpus} physical CPUs of its own (libvirt: vcpupin), or choose one that shares none"
                )
            }
            Self::RecordingBuffer { times } => {
                format!("record again with buffers {times} times as large, or fewer kinds of events")
            }
        }
    }

    /// How it is done on Windows.
    #[must_use]
    pub fn windows(&self) -> String {
        match self {
            Self::Nice { threads, nice } => {
                let level = match nice {
                    ..=-10 => "THREAD_PRIORITY_HIGHEST",
                    -9..=-1 => "THREAD_PRIORITY_ABOVE_NORMAL",
                    0 => "THREAD_PRIORITY_NORMAL",
                    1..=9 => "THREAD_PRIORITY_BELOW_NORMAL",
                    _ => "THREAD_PRIORITY_LOWEST",
                };
                format!("SetThreadPriority({level}) for {}", threads.name)
            }
            Self::Policy { threads, policy } => match policy {
                Policy::Other | Policy::Batch => {
                    format!("SetThreadPriority(THREAD_PRIORITY_NORMAL) for {}", threads.name)
                }
                Policy::Idle => format!("SetThreadPriority(THREAD_PRIORITY_IDLE) for {}", threads.name),
                Policy::Fifo => format!("SetThreadPriority(THREAD_PRIORITY_TIME_CRITICAL) for {}", threads.name),
            },
            Self::Affinity { threads, cpus } => {
                let mask = cpus.iter().filter(|c| c.0 < 64).fold(0_u64, |mask, c| mask | 1 << c.0);
                let mask = if cpus.is_empty() { "all CPUs".to_owned() } else { format!("{mask:#x}") };
                format!(
                    "SetThreadAffinityMask({mask}) for {}; better no mask, and SetThreadIdealProcessorEx",
                    threads.name
                )
            }
            Self::IdealCpu { threads, cpu } => format!(
                "SetThreadIdealProcessorEx(group {}, number {}) for {}, and another of its mask for each thread beside it",
                cpu.0 / 64,
                cpu.0 % 64,
                threads.name
            ),
            Self::CoreType { threads, prefer } => {
                let state =
                    if *prefer == CoreType::Performance { "0" } else { "THREAD_POWER_THROTTLING_EXECUTION_SPEED" };
                format!(
                    "SetThreadInformation(ThreadPowerThrottling) with StateMask {state} for {} (EcoQoS)",
                    threads.name
                )
            }
            Self::PoolSize { threads, size } => {
                format!("SetThreadpoolThreadMaximum({size}), or start {size} threads called {}", threads.name)
            }
            Self::Chunks { region, chunks } => {
                format!("cut {region} into at least {chunks} pieces, taken one by one with InterlockedIncrement")
            }
            Self::Sleep { threads, length } => {
                format!(
                    "in {}, wait for what happens (WaitForSingleObject, WaitOnAddress) or for {} ns or more",
                    threads.name, length.0
                )
            }
            Self::TimerSlack { threads, slack } => {
                format!("SetWaitableTimerEx with a TolerableDelay of {} ms in {}", slack.0 / 1_000_000, threads.name)
            }
            Self::Block { threads } => format!(
                "in {}, wait with WaitOnAddress, SleepConditionVariableSRW or EnterSynchronizationBarrier without SPIN_ONLY",
                threads.name
            ),
            Self::Batch { threads, pieces } => {
                format!(
                    "hand {} at least {pieces} pieces of work with each SetEvent or WakeByAddressSingle",
                    threads.name
                )
            }
            Self::PriorityInheritance { threads } => {
                format!(
                    "no call: Windows boosts starved holders by itself; let the holder run at the priority of {}",
                    threads.name
                )
            }
            Self::SplitLock { threads } => {
                format!("let what {} waits for be held shorter, or make several SRWLOCKs of it", threads.name)
            }
            Self::InFlight { threads, requests } => {
                format!("in {}, keep {requests} overlapped requests under way (an I/O completion port)", threads.name)
            }
            Self::Quota { threads, more_percent } => format!(
                "raise CpuRate of the job object of {} by {more_percent} % (SetInformationJobObject, JobObjectCpuRateControlInformation)",
                threads.name
            ),
            Self::Weight { threads, .. } => format!(
                "raise Weight of the job object of {} (SetInformationJobObject, JobObjectCpuRateControlInformation)",
                threads.name
            ),
            Self::Autogroup { .. } => "nothing to do: priorities count among all threads".to_owned(),
            Self::Smt { on } => {
                format!(
                    "turn SMT {} in the firmware; for one process, SetProcessDefaultCpuSets",
                    if *on { "on" } else { "off" }
                )
            }
            Self::IdleState { allowed, .. } => {
                format!(
                    "powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR IDLEDISABLE {} (all states)",
                    i32::from(!*allowed)
                )
            }
            Self::Unpark { .. } => {
                "powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR CPMINCORES 100, then /setactive SCHEME_CURRENT"
                    .to_owned()
            }
            Self::LeastFrequency { .. } => {
                "powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR PROCTHROTTLEMIN 100".to_owned()
            }
            Self::Interrupts { cpus, .. } => {
                format!("the device's interrupt affinity policy: IrqPolicySpecifiedProcessors, CPUs {}", list(cpus))
            }
            Self::Headroom { more_percent } => {
                format!(
                    "plan for {more_percent} % more work at most; Task Manager's utilisation counts each logical processor as a core"
                )
            }
            Self::HostCpus { cpus } => {
                format!("on the host, reserve {cpus} CPUs for this machine (Set-VMProcessor -Reserve)")
            }
            Self::RecordingBuffer { times } => {
                format!("record again with {times} times the -BufferSize and -MaxBuffer of xperf")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_can_be_copied() {
        let one = Threads { name: "game".to_owned(), tids: vec![42] };
        let nice = Fix::Nice { threads: one.clone(), nice: -5 };
        assert_eq!(nice.linux(), "`renice -n -5 -p 42` (setpriority(2) with PRIO_PROCESS)");
        assert_eq!(nice.windows(), "SetThreadPriority(THREAD_PRIORITY_ABOVE_NORMAL) for game");
        let mask = Fix::Affinity { threads: one, cpus: vec![CpuId(0), CpuId(3)] };
        assert!(mask.linux().starts_with("`taskset -pc 0,3 42`"), "{}", mask.linux());
        assert!(mask.windows().contains("0x9"), "{}", mask.windows());
    }

    #[test]
    fn of_several_threads_the_call_says_for_each() {
        let two = Threads { name: "wk".to_owned(), tids: vec![1, 2] };
        let idle = Fix::Policy { threads: two, policy: Policy::Idle };
        assert_eq!(idle.linux(), "`chrt --idle -p 0 TID` for each TID of wk (sched_setscheduler(2) with SCHED_IDLE)");
    }

    #[test]
    fn it_is_kept_and_read_again() {
        let change = Fix::CoreType { threads: Threads::default(), prefer: CoreType::Performance };
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(text, r#"{"kind":"core_type","threads":{"name":"","tids":[]},"prefer":"performance"}"#);
        assert_eq!(serde_json::from_str::<Fix>(&text).unwrap(), change);
    }
}
