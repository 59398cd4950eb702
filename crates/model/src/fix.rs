//! Fixes: changes to a program, a machine or a recording, described as instructions for the user and stored so that a
//! prediction can apply them.

use crate::words::plural;
use crate::{CoreType, CpuId, Ns, Tid};
use serde::{Deserialize, Serialize};

/// The threads that a fix applies to.
///
/// ```
/// use model::{Fix, Threads, Tid};
///
/// // TIDs of a later run differ, so several threads are named, not numbered.
/// let threads = Threads { name: "worker".to_owned(), tids: vec![Tid(700), Tid(701)] };
/// let command = Fix::Nice { threads, nice: -5 }.linux();
/// assert!(command.starts_with("`renice -n -5 -p TID` for each TID of worker"), "{command}");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Threads {
    /// Their name, which identifies the threads in a later run; TIDs change.
    pub name: String,
    /// The TIDs of the recorded threads, in the order of their keys.
    pub tids: Vec<Tid>,
}

impl Threads {
    /// Returns the TID for a command, or a placeholder if there are several threads.
    fn tid(&self) -> String {
        match self.tids.as_slice() {
            [one] => one.to_string(),
            _ => "TID".to_owned(),
        }
    }

    /// Returns what to append to a command with a placeholder: the threads to run it for.
    fn each(&self) -> String {
        if self.tids.len() == 1 { String::new() } else { format!(" for each TID of {}", self.name) }
    }
}

/// How Linux schedules a thread (sched(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`: fair scheduling by nice value.
    Other,
    /// `SCHED_BATCH`: the same with fewer preemptions.
    Batch,
    /// `SCHED_IDLE`: lower than every nice value.
    Idle,
    /// `SCHED_FIFO`: before all fair threads, until it waits.
    Fifo,
}

/// A cgroup and its CPU quota.
///
/// ```
/// use model::{Ns, QuotaOf};
///
/// let ms = |ms: i64| Ns(ms * 1_000_000);
/// let of = QuotaOf { path: "/docker/1f".to_owned(), quota: Some(ms(20)), period: ms(100) };
/// assert_eq!(of.raised(50), "`echo 30000 100000 > /sys/fs/cgroup/docker/1f/cpu.max`, which is 20000 100000 now (us)");
/// let of = QuotaOf { path: "cpu:/docker/1f".to_owned(), ..of };
/// assert_eq!(of.raised(50), "`echo 30000 > /sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us`, which is 20000 now (us)");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QuotaOf {
    /// Its path; with the prefix `cpu:` in the hierarchy of the CPU controller (cgroup v1).
    pub path: String,
    /// The CPU time that its threads may use in a period; `None` if only a cgroup that contains it has a quota.
    pub quota: Option<Ns>,
    /// The length of a period.
    pub period: Ns,
}

impl QuotaOf {
    /// Returns its path in its hierarchy.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.strip_prefix("cpu:").unwrap_or(&self.path)
    }

    /// Returns how to raise the quota by so many percent, on Linux.
    #[must_use]
    pub fn raised(&self, percent: u32) -> String {
        let is_v1 = self.path.starts_with("cpu:");
        let (mount, file) =
            if is_v1 { ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us") } else { ("/sys/fs/cgroup", "cpu.max") };
        let path = format!("{mount}{}", self.path().trim_end_matches('/'));
        let Some(quota) = self.quota else {
            return format!("raise `{file}` of a cgroup that contains {path}, by {percent} %");
        };
        let us = |ns: Ns| ns.0 / 1000;
        let raised = us(quota).saturating_mul(100 + i64::from(percent)) / 100;
        let period = if is_v1 { String::new() } else { format!(" {}", us(self.period)) };
        // A shell would take a backslash, which names of systemd have, for itself.
        let quote = if path.contains('\\') { "'" } else { "" };
        format!("`echo {raised}{period} > {quote}{path}/{file}{quote}`, which is {}{period} now (us)", us(quota))
    }
}

/// A fix: a change that avoids a problem.
///
/// ```
/// use model::{CpuId, Fix, Threads, Tid};
///
/// let threads = Threads { name: "worker".to_owned(), tids: vec![Tid(700)] };
/// let fix = Fix::Affinity { threads, cpus: vec![CpuId(0), CpuId(2)] };
/// assert_eq!(fix.linux(), "`taskset -pc 0,2 700` (sched_setaffinity(2))");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fix {
    /// Change the nice value, −20 to 19.
    Nice {
        /// The threads.
        threads: Threads,
        /// The new value.
        nice: i8,
    },
    /// Change the scheduling policy.
    Policy {
        /// The threads.
        threads: Threads,
        /// The new policy.
        policy: Policy,
        /// The real-time priority, 1 to 99; `None`: the lowest one, or none for fair policies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<u8>,
    },
    /// Change the CPUs on which threads may run.
    Affinity {
        /// The threads.
        threads: Threads,
        /// The CPUs in ascending order; empty: all CPUs.
        cpus: Vec<CpuId>,
    },
    /// Give each thread a CPU of its own; if there are more threads than CPUs, several have the same one.
    Spread {
        /// The threads.
        threads: Threads,
    },
    /// Change the ideal CPU of a thread.
    IdealCpu {
        /// The threads.
        threads: Threads,
        /// The new ideal CPU.
        cpu: CpuId,
    },
    /// Prefer a core type.
    CoreType {
        /// The threads.
        threads: Threads,
        /// The preferred core type.
        prefer: CoreType,
    },
    /// Change the number of threads that share some work.
    PoolSize {
        /// The threads.
        threads: Threads,
        /// The new number of threads.
        size: u32,
    },
    /// Divide the work of a parallel region into chunks that free threads take one by one.
    Chunks {
        /// The name of the region.
        region: String,
        /// The minimum number of chunks.
        chunks: u32,
    },
    /// Sleep for longer at a time.
    Sleep {
        /// The threads.
        threads: Threads,
        /// The minimum length of a sleep.
        length: Ns,
    },
    /// Change how late the timers of a thread may expire, so that several expire together.
    TimerSlack {
        /// The threads.
        threads: Threads,
        /// The maximum delay.
        slack: Ns,
    },
    /// Wait by blocking instead of spinning.
    Block {
        /// The threads.
        threads: Threads,
    },
    /// Wake a thread for several pieces of work at the same time.
    Batch {
        /// The threads that are woken.
        threads: Threads,
        /// The minimum number of pieces per wakeup.
        pieces: u32,
    },
    /// Use a lock with priority inheritance.
    PriorityInheritance {
        /// The threads that wait for the lock.
        threads: Threads,
    },
    /// Hold a lock for a shorter time, or split it into several locks.
    SplitLock {
        /// The threads that wait for the lock.
        threads: Threads,
    },
    /// Take several locks in the same order everywhere.
    LockOrder {
        /// The threads that wait for each other.
        threads: Threads,
    },
    /// Give a garbage collector more memory.
    Heap {
        /// The collector's threads.
        threads: Threads,
    },
    /// Keep several requests to a device in flight.
    InFlight {
        /// The threads that issue the requests.
        threads: Threads,
        /// The minimum number of requests in flight.
        requests: u32,
    },
    /// Raise the CPU time that a cgroup may use in each period.
    Quota {
        /// The threads in the cgroup.
        threads: Threads,
        /// The increase, in percent.
        more_percent: u32,
        /// The cgroup, if it was recorded and is not redacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cgroup: Option<QuotaOf>,
    },
    /// Change the CPU weight of a cgroup, 1 to 10000; the default is 100.
    Weight {
        /// The threads in the cgroup.
        threads: Threads,
        /// The new weight.
        weight: u32,
    },
    /// Turn autogroups on or off (`sched_autogroup_enabled`): sessions share CPUs evenly, whatever the nice values in them are.
    Autogroup {
        /// Whether it should be on.
        on: bool,
    },
    /// Turn SMT on or off.
    Smt {
        /// Whether it should be on.
        on: bool,
    },
    /// Allow or forbid an idle state.
    IdleState {
        /// The number of the idle state.
        state: u32,
        /// Whether CPUs may enter it.
        allowed: bool,
    },
    /// Unpark CPUs.
    Unpark {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// Raise the minimum frequency of CPUs.
    LeastFrequency {
        /// The CPUs.
        cpus: Vec<CpuId>,
        /// The minimum frequency, in kHz.
        khz: u64,
    },
    /// Move the interrupts of a device to other CPUs.
    Interrupts {
        /// The interrupt number, if recorded.
        irq: Option<u32>,
        /// The CPUs that should handle them.
        cpus: Vec<CpuId>,
    },
    /// Correct the expected headroom of a machine.
    Headroom {
        /// The maximum of additional work, in percent.
        more_percent: u32,
    },
    /// Stop the scheduler's tick on idle CPUs.
    StopTick,
    /// Stop the scheduler's tick on CPUs with one thread.
    NoTick {
        /// The CPUs.
        cpus: Vec<CpuId>,
    },
    /// Give a virtual machine physical CPUs of its own.
    HostCpus {
        /// The number of physical CPUs.
        cpus: u32,
    },
    /// Record again with larger buffers.
    RecordingBuffer {
        /// The factor by which to enlarge them.
        times: u32,
    },
    /// Use a complete copy of a recording that was damaged after it was made.
    CompleteCopy {
        /// The number of records that are cut off or damaged.
        records: u64,
    },
}

/// The same on all systems.
fn complete_copy(records: u64) -> String {
    let records = plural(records, "record");
    format!(
        "use a complete copy of the recording: this one has {records} that cannot be read, because of damage or a cut"
    )
}

/// Formats a CPU list for taskset and the kernel: `0,2,5`.
fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(|c| c.0.to_string()).collect::<Vec<_>>().join(",")
}

impl Fix {
    /// Returns the threads that it applies to, if it applies to threads.
    pub fn threads_mut(&mut self) -> Option<&mut Threads> {
        match self {
            Self::Nice { threads, .. }
            | Self::Policy { threads, .. }
            | Self::Affinity { threads, .. }
            | Self::Spread { threads }
            | Self::IdealCpu { threads, .. }
            | Self::CoreType { threads, .. }
            | Self::PoolSize { threads, .. }
            | Self::Sleep { threads, .. }
            | Self::TimerSlack { threads, .. }
            | Self::Block { threads, .. }
            | Self::Batch { threads, .. }
            | Self::PriorityInheritance { threads, .. }
            | Self::SplitLock { threads, .. }
            | Self::LockOrder { threads }
            | Self::Heap { threads, .. }
            | Self::InFlight { threads, .. }
            | Self::Quota { threads, .. }
            | Self::Weight { threads, .. } => Some(threads),
            _ => None,
        }
    }

    /// Returns what it costs others, or the program itself: a sentence without a full stop; `None` if nothing that is known.
    #[must_use]
    pub fn side_effect(&self) -> Option<&'static str> {
        Some(match self {
            Self::Nice { nice, .. } if *nice < 0 => {
                "while CPUs are busy, other threads of the session get less CPU time"
            }
            Self::Nice { .. } => "while CPUs are busy, these threads get less CPU time",
            Self::Policy { policy: Policy::Fifo, .. } => {
                "on its CPU, all fair threads wait while it runs; if it never waits, they get 5 % of the time"
            }
            Self::Policy { policy: Policy::Idle, .. } => "these threads get only the CPU time that others leave",
            Self::Policy { policy: Policy::Batch, .. } => "these threads start later after a wakeup",
            Self::Policy { policy: Policy::Other, .. } => "these threads lose their precedence over others",
            Self::Affinity { .. } => "other threads on these CPUs may wait longer",
            Self::Spread { .. } => "the scheduler no longer moves these threads to other CPUs that are idle",
            Self::CoreType { prefer: CoreType::Performance, .. } => "more energy",
            Self::CoreType { .. } => "these threads run more slowly",
            Self::PoolSize { .. } => "other numbers of workers are better for other machines and loads",
            Self::Chunks { .. } => "each chunk costs an operation on a shared counter",
            Self::Sleep { .. } => "an event is noticed later",
            Self::TimerSlack { .. } => "timers of these threads expire later, by at most the slack",
            Self::Block { .. } => "a wait that ends soon takes a few microseconds longer",
            Self::Batch { .. } => "the first piece of a batch waits for the last one",
            Self::PriorityInheritance { .. } => "each contended lock takes a system call more",
            Self::Heap { .. } => "more memory",
            Self::InFlight { .. } => "more memory, and other programs' requests to the device wait longer",
            Self::Weight { weight: ..100, .. } => "while CPUs are busy, the cgroup gets less CPU time than others",
            Self::Quota { .. } | Self::Weight { .. } => "while CPUs are busy, other cgroups get less CPU time",
            Self::Autogroup { on: false } => "sessions with many busy threads take CPU time from those with few",
            Self::Autogroup { on: true } => "nice values have no effect between sessions",
            Self::Smt { on: false } => "fewer hardware threads: less throughput of programs that gain from SMT",
            Self::Smt { on: true } => "threads on a core's siblings slow each other down",
            Self::IdleState { allowed: false, .. } | Self::Unpark { .. } | Self::LeastFrequency { .. } => "more energy",
            Self::IdleState { .. } | Self::StopTick => "wakeups from deep idle states take longer",
            Self::Interrupts { .. } => "threads on the new CPUs are interrupted instead",
            Self::NoTick { .. } => "the CPU is taken out of the load balance for others",
            Self::HostCpus { .. } => "the host has fewer CPUs for other machines",
            Self::RecordingBuffer { .. } => "more memory while recording",
            Self::IdealCpu { .. }
            | Self::SplitLock { .. }
            | Self::LockOrder { .. }
            | Self::Headroom { .. }
            | Self::CompleteCopy { .. } => {
                return None;
            }
        })
    }

    /// Returns the instructions for Linux: a command, a call, or a change to the program.
    #[must_use]
    pub fn linux(&self) -> String {
        match self {
            Self::Nice { threads, nice } => {
                format!("`renice -n {nice} -p {}`{} (setpriority(2) with PRIO_PROCESS)", threads.tid(), threads.each())
            }
            Self::Policy { threads, policy, level } => {
                let (option, name) = match policy {
                    Policy::Other => ("--other", "SCHED_OTHER"),
                    Policy::Batch => ("--batch", "SCHED_BATCH"),
                    Policy::Idle => ("--idle", "SCHED_IDLE"),
                    Policy::Fifo => ("--fifo", "SCHED_FIFO"),
                };
                let level = level.unwrap_or(u8::from(*policy == Policy::Fifo));
                let (tid, each) = (threads.tid(), threads.each());
                format!("`chrt {option} -p {level} {tid}`{each} (sched_setscheduler(2) with {name})")
            }
            Self::Affinity { threads, cpus } => {
                let cpus = if cpus.is_empty() { "0-$(($(nproc --all)-1))".to_owned() } else { list(cpus) };
                format!("`taskset -pc {cpus} {}`{} (sched_setaffinity(2))", threads.tid(), threads.each())
            }
            Self::Spread { threads } => format!(
                "`taskset -pc CPU TID` for each TID of {}, with another CPU each time (sched_setaffinity(2))",
                threads.name
            ),
            Self::IdealCpu { threads, .. } => {
                format!(
                    "nothing to do for {}: Linux has no ideal CPU, it prefers the CPU of the last run, if that is allowed",
                    threads.name
                )
            }
            Self::CoreType { threads, prefer } => {
                let clamp = if *prefer == CoreType::Performance { "-m 1024" } else { "-M 256" };
                let (tid, each) = (threads.tid(), threads.each());
                format!(
                    "`uclampset {clamp} -p {tid}`{each} (sched_setattr(2), utilisation clamp; effective if the kernel places threads by capacity)"
                )
            }
            Self::PoolSize { threads, size } => format!(
                "let the program use {} for the work of {} (an option such as -j, -T, -w or --threads, or OMP_NUM_THREADS)",
                plural(u64::from(*size), "worker"),
                threads.name
            ),
            Self::Chunks { region, chunks } => {
                format!(
                    "split {region} into at least {chunks} pieces, taken one by one from a shared counter (OpenMP: schedule(dynamic))"
                )
            }
            Self::Sleep { threads, length } => {
                format!(
                    "in {}, wait for the event (futex(2), epoll_wait(2)) or sleep for {} ns or more (clock_nanosleep(2))",
                    threads.name, length.0
                )
            }
            Self::TimerSlack { threads, slack } => {
                format!("prctl(PR_SET_TIMERSLACK, {}) in {}", slack.0, threads.name)
            }
            Self::Block { threads } => format!(
                "in {}, wait with futex(2), pthread_cond_wait(3) or pthread_barrier_wait(3) after a few microseconds of spinning at most",
                threads.name
            ),
            Self::Batch { threads, pieces } => format!(
                "give {} at least {pieces} pieces of work with each wakeup (one futex(2) or eventfd(2) write for all of them)",
                threads.name
            ),
            Self::PriorityInheritance { threads } => format!(
                "pthread_mutexattr_setprotocol(3) with PTHREAD_PRIO_INHERIT on the lock that {} waits for (real-time policies)",
                threads.name
            ),
            Self::SplitLock { threads } => {
                format!(
                    "shorten the critical sections of the lock that {} waits for, or split it into several locks",
                    threads.name
                )
            }
            Self::LockOrder { threads } => format!(
                "let {} and the threads that it waits for take their locks in one order, or use pthread_mutex_trylock(3) for the second lock and give the \
                 first one back if it fails",
                threads.name
            ),
            Self::Heap { threads } => format!(
                "raise the heap's limit so that {} runs less often (java -Xmx and -Xmn, GOGC, DOTNET_GCgen0size)",
                threads.name
            ),
            Self::InFlight { threads, requests } => {
                format!("in {}, keep {requests} requests in flight (io_uring(7), or as many threads)", threads.name)
            }
            Self::Quota { threads, more_percent, cgroup: None } => format!(
                "raise the quota in `cpu.max` (cgroup v1: `cpu.cfs_quota_us`) of the cgroup of {} by {more_percent} % (`cat /proc/{}/cgroup` \
                 shows it)",
                threads.name,
                threads.tid()
            ),
            Self::Quota { more_percent, cgroup: Some(of), .. } => of.raised(*more_percent),
            Self::Weight { threads, weight } => format!(
                "write {weight} to `cpu.weight` (cgroup v1: {} to `cpu.shares`) of the cgroup of {} (`cat /proc/{}/cgroup` shows it)",
                u64::from(*weight) * 1024 / 100,
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
                    "`echo {} > /proc/irq/{irq}/smp_affinity_list` (/proc/interrupts lists the numbers)",
                    list(cpus)
                )
            }
            Self::Headroom { more_percent } => {
                format!("plan for {more_percent} % more work at most (`corewise table smt_utilisation`)")
            }
            Self::StopTick => "boot without nohz=off and highres=off, and let the governor teo choose idle states (/sys/devices/system/cpu/cpuidle/current_governor)".to_owned(),
            Self::NoTick { cpus } => {
                let cpus = list(cpus);
                format!(
                    "boot a kernel that has CONFIG_NO_HZ_FULL with `nohz_full={cpus} rcu_nocbs={cpus}`, pin the thread to its CPU, and keep others off it (cpuset.cpus.partition of cgroups)"
                )
            }
            Self::HostCpus { cpus } => {
                format!(
                    "on the host, give this machine {cpus} physical CPUs of its own (libvirt: vcpupin), or use a virtual machine with dedicated CPUs"
                )
            }
            Self::RecordingBuffer { times } => {
                format!("record again with buffers {times} times as large, or with fewer kinds of events")
            }
            Self::CompleteCopy { records } => complete_copy(*records),
        }
    }

    /// Returns the instructions for Windows.
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
            Self::Policy { threads, policy, .. } => match policy {
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
                    "SetThreadAffinityMask({mask}) for {}; preferably use no mask, and SetThreadIdealProcessorEx",
                    threads.name
                )
            }
            Self::Spread { threads } => {
                format!("SetThreadIdealProcessorEx with another CPU for each thread named {}", threads.name)
            }
            Self::IdealCpu { threads, cpu } => format!(
                "SetThreadIdealProcessorEx(group {}, number {}) for {}, and another CPU of its mask for each thread with the same mask",
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
                format!("SetThreadpoolThreadMaximum({size}), or an option of the program for {} threads", threads.name)
            }
            Self::Chunks { region, chunks } => {
                format!("split {region} into at least {chunks} pieces, taken one by one with InterlockedIncrement")
            }
            Self::Sleep { threads, length } => {
                format!(
                    "in {}, wait for the event (WaitForSingleObject, WaitOnAddress) or for {} ns or more",
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
                    "give {} at least {pieces} pieces of work with each SetEvent or WakeByAddressSingle",
                    threads.name
                )
            }
            Self::PriorityInheritance { threads } => {
                format!(
                    "no call: Windows boosts starved lock holders itself; run the holder at the priority of {}",
                    threads.name
                )
            }
            Self::SplitLock { threads } => {
                format!(
                    "shorten the critical sections of the lock that {} waits for, or split it into several SRWLOCKs",
                    threads.name
                )
            }
            Self::LockOrder { threads } => format!(
                "let {} and the threads that it waits for take their locks in one order, or use TryAcquireSRWLockExclusive for the second lock and give the \
                 first one back if it fails",
                threads.name
            ),
            Self::Heap { threads } => format!(
                "raise the heap's limit so that {} runs less often (java -Xmx and -Xmn, GOGC, DOTNET_GCgen0size)",
                threads.name
            ),
            Self::InFlight { threads, requests } => {
                format!("in {}, keep {requests} overlapped requests in flight (an I/O completion port)", threads.name)
            }
            Self::Quota { threads, more_percent, .. } => format!(
                "raise CpuRate of the job object of {} by {more_percent} % (SetInformationJobObject, JobObjectCpuRateControlInformation)",
                threads.name
            ),
            Self::Weight { threads, weight } => format!(
                "{} Weight of the job object of {} (SetInformationJobObject, JobObjectCpuRateControlInformation)",
                if *weight < 100 { "lower" } else { "raise" },
                threads.name
            ),
            Self::Autogroup { .. } => "nothing to do: priorities apply across all threads".to_owned(),
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
                format!(
                    "set the device's interrupt affinity policy to IrqPolicySpecifiedProcessors with CPUs {}",
                    list(cpus)
                )
            }
            Self::Headroom { more_percent } => {
                format!(
                    "plan for {more_percent} % more work at most; Task Manager's utilisation counts each logical processor as a core"
                )
            }
            Self::StopTick => "no call: Windows stops the tick of idle CPUs itself, unless a program requests a high resolution (timeBeginPeriod)".to_owned(),
            Self::NoTick { .. } => {
                "no call: Windows does not stop the tick of busy CPUs; request no high resolution (timeBeginPeriod), so that it is less frequent"
                    .to_owned()
            }
            Self::HostCpus { cpus } => {
                format!("on the host, reserve {cpus} CPUs for this machine (Set-VMProcessor -Reserve)")
            }
            Self::RecordingBuffer { times } => {
                format!("record again with {times} times the -BufferSize and -MaxBuffer of xperf")
            }
            Self::CompleteCopy { records } => complete_copy(*records),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_complete() {
        let one = Threads { name: "game".to_owned(), tids: vec![Tid(42)] };
        let nice = Fix::Nice { threads: one.clone(), nice: -5 };
        assert_eq!(nice.linux(), "`renice -n -5 -p 42` (setpriority(2) with PRIO_PROCESS)");
        assert_eq!(nice.windows(), "SetThreadPriority(THREAD_PRIORITY_ABOVE_NORMAL) for game");
        let mask = Fix::Affinity { threads: one, cpus: vec![CpuId(0), CpuId(3)] };
        assert!(mask.linux().starts_with("`taskset -pc 0,3 42`"), "{}", mask.linux());
        assert!(mask.windows().contains("0x9"), "{}", mask.windows());
    }

    #[test]
    fn a_command_for_several_threads_says_for_each() {
        let two = Threads { name: "wk".to_owned(), tids: vec![Tid(1), Tid(2)] };
        let idle = Fix::Policy { threads: two, policy: Policy::Idle, level: None };
        assert_eq!(idle.linux(), "`chrt --idle -p 0 TID` for each TID of wk (sched_setscheduler(2) with SCHED_IDLE)");
    }

    #[test]
    fn a_fix_round_trips_through_json() {
        let fix = Fix::CoreType { threads: Threads::default(), prefer: CoreType::Performance };
        let text = serde_json::to_string(&fix).unwrap();
        assert_eq!(text, r#"{"kind":"core_type","threads":{"name":"","tids":[]},"prefer":"performance"}"#);
        assert_eq!(serde_json::from_str::<Fix>(&text).unwrap(), fix);
    }
}
