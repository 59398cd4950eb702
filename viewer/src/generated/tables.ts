// @generated from the definitions of the tables by `cargo xtask bless`.

/** The names of the states, by number. */
export const THREAD_STATES = ["running", "ready", "blocked", "unknown", "exited"] as const;
/** The names of the states, by number. */
export const CPU_STATES = ["busy", "idle", "unknown"] as const;

/** The threads in the order of their tracks. */
export interface ThreadTracks {
  /** The index of the track. */
  readonly track: number;
  /** The thread's key. */
  readonly thread: number;
  /** The thread's TID. */
  readonly tid: number;
  /** The process; null if not recorded. */
  readonly pid: number | null;
  /** The last name seen. */
  readonly name: string | null;
  /** Running time over the recording. */
  readonly running_ns: number;
  /** Ready time over the recording; null if the source records no wakeups. */
  readonly ready_ns: number | null;
  /** The begin of the thread instance, or of the recording. */
  readonly begin_ns: number;
}

/** Slices as drawn: a stretch, or several short stretches merged into one slice. */
export interface Slices {
  /** The track: a CPU's number, or the index of a thread. */
  readonly track: number;
  /** First instant. */
  readonly start_ns: number;
  /** First instant after it. */
  readonly end_ns: number;
  /** The state that takes most of the time, by number. */
  readonly state: number;
  /** The time in that state. */
  readonly state_ns: number;
  /** The CPU of a thread, or the thread (key) on a CPU, that takes most of that state's time; −1 if none. */
  readonly what: number;
  /** The time with that CPU or thread. */
  readonly what_ns: number;
  /** The number of stretches. */
  readonly stretches: number;
}

/** Values as drawn: a value, or several short values merged into one slice. */
export interface Steps {
  /** The track. */
  readonly track: number;
  /** First instant. */
  readonly start_ns: number;
  /** First instant after it. */
  readonly end_ns: number;
  /** The minimum, in the unit of the kind of track. */
  readonly least: number;
  /** The maximum. */
  readonly most: number;
  /** The mean, weighted by time. */
  readonly mean: number;
  /** The number of values. */
  readonly stretches: number;
}

/** The chain of wakeups that led to a thread's state, the last one first. */
export interface WakeChain {
  /** The thread that was woken. */
  readonly thread: number;
  /** The waker; 0 for an interrupt. */
  readonly waker: number;
  /** The time of the wakeup. */
  readonly at_ns: number;
  /** How long the thread was then ready. */
  readonly ready_ns: number;
}

/** Time each thread instance spent in each state, and how often it switched. The states tile the thread instance from its begin to the end of the recording. */
export interface Threads {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Which instance of this TID: 0, 1, … */
  readonly instance: number;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Last known name of the thread. */
  readonly name: string | null;
  /** Time on a CPU. */
  readonly running_ns: number;
  /** CPU time that the kernel charged to the thread, summed over the stretches where it is known; null if it is known for none. */
  readonly exec_ns: number | null;
  /** Running time of the stretches that `exec_ns` covers. The difference to `exec_ns` is steal and interrupt time. */
  readonly exec_of_ns: number | null;
  /** Time runnable but not running; null if the source has no wakeups. */
  readonly ready_ns: number | null;
  /** Time waiting for something other than a CPU. */
  readonly blocked_ns: number;
  /** Time in an unknown state. */
  readonly unknown_ns: number;
  /** Time after its exit. */
  readonly exited_ns: number;
  /** The part of all times above in which the source reports lost events. */
  readonly lossy_ns: number;
  /** Number of switch-outs in a runnable state. */
  readonly involuntary: number;
  /** Number of all other switch-outs. */
  readonly voluntary: number;
  /** The longest single wait for a CPU; null if the source has no wakeups. */
  readonly max_ready_ns: number | null;
  /** Number of switch-ins on another CPU than the one it ran on before. */
  readonly migrations: number;
  /** Number of switch-ins of a blocked thread without a recorded wakeup. */
  readonly unwoken: number;
  /** When the thread instance began: at the start of the recording, or at its first wakeup. */
  readonly begin_ns: number;
}

/** Time each thread ran on each CPU. */
export interface ThreadByCpu {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Which instance of this TID: 0, 1, … */
  readonly instance: number;
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** Time the thread ran on this CPU. */
  readonly running_ns: number;
}

/** Time each thread ran on each class of cores. */
export interface ThreadByCoreType {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Which instance of this TID: 0, 1, … */
  readonly instance: number;
  /** Class of cores; 0 is the slowest class of the machine. */
  readonly core_class: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Time the thread ran on cores of this class. */
  readonly running_ns: number;
  /** Share of the thread's running time; null if it did not run. */
  readonly share: number | null;
}

/** Time each CPU was busy, idle or in an unknown state. The three times tile the recording. */
export interface Cpus {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Time running a thread. */
  readonly busy_ns: number;
  /** Time running the idle task. */
  readonly idle_ns: number;
  /** Time in an unknown state. */
  readonly unknown_ns: number;
  /** The part of all times above in which the source reports lost events of this CPU. */
  readonly lossy_ns: number;
  /** Number of context switches recorded on this CPU. */
  readonly switches: number;
  /** Number of inconsistent switches: the thread switched out is not the one that the previous switch brought in. */
  readonly broken: number;
}

/** For how long how many CPUs were busy at the same time. Counts CPUs that have at least one switch. */
export interface Concurrency {
  /** Number of CPUs known to run a thread. */
  readonly running: number;
  /** Number of CPUs in an unknown state. */
  readonly unknown: number;
  /** Total time with these numbers of CPUs. */
  readonly duration_ns: number;
}

/** How long and how often each thread ran, was ready and was blocked. Ready time is split in two ways, by how it began and by which CPUs were free meanwhile (or that the thread was throttled); each split sums to `ready_ns`. A free CPU is an idle CPU on which the thread was allowed and which was not known to be parked; while the thread's affinity is unknown (`permission_unknown_ns`), any idle CPU counts as free. Columns of ready time are null if the source has no wakeups; `blocked_ns` then includes the ready time that a wakeup would have started. Counts include what began in the requested range, as far as it is known. They exclude what the recording began with, what a snapshot may have shown (the first stretch of a thread, if it is blocked), and what follows a reported loss with `--strict-loss`. */
export interface ReadyWait {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Time on a CPU. */
  readonly running_ns: number;
  /** How often it was switched in. */
  readonly running_count: number;
  /** Time runnable but not running. */
  readonly ready_ns: number | null;
  /** How often it became ready. */
  readonly ready_count: number | null;
  /** The longest single wait for a CPU, as far as it lies in the requested range. */
  readonly max_ready_ns: number | null;
  /** Ready since it was preempted: the kernel marks the switch-out, or the thread was on its way back to user mode (recorded by corewise on x86-64, and by sources that record sched_yield calls). */
  readonly ready_preempted_ns: number | null;
  /** Ready since it called sched_yield, if the source records that. */
  readonly ready_yielded_ns: number | null;
  /** Ready since it was switched out because its cgroup's CPU quota was used up, if the source records that. */
  readonly ready_throttled_ns: number | null;
  /** Ready since it gave way, for a kernel thread, which never returns to user mode. */
  readonly ready_gave_way_ns: number | null;
  /** Ready since another switch-out in a runnable state: whether it was preempted or yielded is not recorded. */
  readonly ready_unknown_ns: number | null;
  /** Ready since it was woken, or since it left its CPU, woken before it slept. */
  readonly ready_woken_ns: number | null;
  /** Ready since its first wakeup. */
  readonly ready_new_ns: number | null;
  /** Ready since before a snapshot that shows it as ready. */
  readonly ready_other_ns: number | null;
  /** Ready while every CPU either ran a thread or was parked and not usable. */
  readonly no_cpu_free_ns: number | null;
  /** Ready while no CPU of its run queue's core type was free, but one of another type was. */
  readonly free_other_type_ns: number | null;
  /** Ready while its run queue's CPU was not free, but another CPU of the same core type was. */
  readonly free_same_type_ns: number | null;
  /** Ready while the only idle CPUs that were not parked were CPUs on which it was not allowed; null if `permission_unknown_ns` is all of `ready_ns`. */
  readonly free_not_allowed_ns: number | null;
  /** Ready while the only CPUs without a thread, of those on which it was allowed, were parked; null if parking was not recorded. This time is then in the other columns. */
  readonly free_parked_ns: number | null;
  /** Ready while the CPU of its own run queue was free. */
  readonly wakeup_latency_ns: number | null;
  /** Ready while its cgroup's CPU quota kept it from running, whatever was free; null if not recorded (recordings by corewise on Linux 6.18 and later have it). This time is then in the other columns. */
  readonly throttled_ns: number | null;
  /** Ready while it is unknown which CPUs were free, because the state of a relevant CPU or the run queue of the thread is unknown. */
  readonly free_unknown_ns: number | null;
  /** The part of `ready_ns` in which the affinity of the thread is unknown. Recordings by corewise have it for every thread from their snapshot on (changes within a second, if the trace says that corewise checked for them); traces of other tools do not. */
  readonly permission_unknown_ns: number | null;
  /** Time waiting for something other than a CPU. */
  readonly blocked_ns: number;
  /** How often it began to wait for something. */
  readonly blocked_count: number;
  /** The longest single wait for something, as far as it lies in the requested range. */
  readonly max_blocked_ns: number;
  /** Time in an unknown state. */
  readonly unknown_ns: number;
}

/** Which threads ran on the CPU of the run queue on which a thread was ready. The times of all rows of a thread sum to its ready time. No rows if the source has no wakeups. */
export interface RanInstead {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** What the thread was queued behind. `thread`: another thread ran on the CPU. `idle`: the CPU was idle or parked. `throttled`: its cgroup's CPU quota kept it from running, whatever ran there (`throttled_ns` of the table `ready_wait`; if throttling was not recorded, this time is in the other rows). `unknown`: what ran there is unknown. */
  readonly queued_behind: string;
  /** Key of the thread that ran instead; 0: the CPU was idle or parked; null if throttled or unknown. */
  readonly ran_instead: number | null;
  /** TID of the thread that ran instead; null if none did or it is unknown. */
  readonly ran_instead_tid: number | null;
  /** Dynamic priority of that thread on the kernel's scale; null if not recorded. */
  readonly ran_instead_prio: number | null;
  /** Core class of the run queue's CPU, 0 is the slowest class of the machine; null if the run queue was not recorded. */
  readonly core_class: number | null;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string | null;
  /** Time the thread was ready. */
  readonly ready_ns: number;
}

/** What made each thread leave its CPU, how often, and what it did until its next change of state. A preemption is caused by a thread of higher priority, or (at the end of a time slice) by one of equal or lower priority: see `next`. Not counted: what the recording began with, what a snapshot may have shown (the first stretch of a thread, if it is blocked or exited), and what follows a reported loss with `--strict-loss`. */
export interface SwitchCauses {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** `preempted`: the kernel took its CPU. `yielded`: it called sched_yield. `throttled`: its cgroup's CPU quota was used up. `gave_way`: a kernel thread, which no return to user mode can preempt. `woken_before_sleep`: it was about to wait. `blocked`, `exited`. `unknown`: not recorded; with the state letter R it was runnable, so it was preempted or yielded. */
  readonly cause: string;
  /** Blocked and exited: the kernel's state letter, if known. Unknown: R if it left its CPU in a runnable state. */
  readonly state_letter: string | null;
  /** Blocked: the system call that waits (read, futex) or page_fault, for a kernel thread the first function outside the scheduler. Requires recorded callchains (`record --stacks`, `perf record -g`); null if the function names of the callchain do not show it. */
  readonly reason: string | null;
  /** Runnable: which thread ran next on that CPU, by dynamic priority: `higher`, `equal` or `lower`, or `idle`; null if unknown. */
  readonly next: string | null;
  /** Runnable: key of the thread that took the CPU; 0: the CPU became idle; null if unknown. */
  readonly preemptor: number | null;
  /** How often. */
  readonly count: number;
  /** Ready time that followed; null if the source has no wakeups. */
  readonly ready_ns: number | null;
  /** Blocked time that followed. */
  readonly blocked_ns: number;
  /** Unknown time that followed. */
  readonly unknown_ns: number;
}

/** How often and for how long each thread was blocked until it was woken, by waker, and what the waker did meanwhile: if the waker had run earlier, the wait might have been shorter. A wait that the begin of the requested range cuts counts with the part inside; a wait that lasts to the end of the range is not counted. No rows if the source has no wakeups. */
export interface Waits {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Key of the thread that ended the wait; 0: an interrupt (device or timer); null if not recorded. */
  readonly waker: number | null;
  /** The kernel's state letter of the wait; null if unknown. */
  readonly state_letter: string | null;
  /** The system call that waits, or page_fault, for a kernel thread the first function outside the scheduler. Requires recorded callchains; null if the function names of the callchain do not show it. */
  readonly reason: string | null;
  /** Number of waits. */
  readonly waits: number;
  /** Number of `waits` that the waker ended together with another thread's, as at a barrier: the thread that it woke before or after this one had not waited again by then. Null if `waker` is null. */
  readonly woken_together: number | null;
  /** Total time of these waits. */
  readonly blocked_ns: number;
  /** The part of `blocked_ns` in which the waker ran, as far as its last 32 stretches before the wakeup show; null if `waker` is null. */
  readonly waker_running_ns: number | null;
  /** The part of `blocked_ns` in which the waker was ready after it had left its CPU in a runnable state; null if `waker` is null. */
  readonly waker_preempted_ns: number | null;
  /** The part of `blocked_ns` in which the waker was ready for any other reason, such as a wakeup; null if `waker` is null. */
  readonly waker_ready_ns: number | null;
  /** The part of `blocked_ns` in which the waker was blocked itself; null if `waker` is null. */
  readonly waker_blocked_ns: number | null;
}

/** How often each thread ran on another CPU than before, by the nearest level of the topology that the two CPUs share, as far as the machine is known. Each migration is in one of the columns; they sum to `migrations`. Over the whole recording, `migrations` differs from the same column of `threads`: it excludes switch-ins on another CPU that an inconsistent switch made unknown or that had no duration, and includes those before which an inconsistent switch hides where the thread had been. The previous CPU of a thread that is ready when the requested range begins is unknown, so its first switch-in is not counted. */
export interface Migrations {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** All migrations. */
  readonly migrations: number;
  /** To an SMT sibling on the same physical core. */
  readonly same_core: number;
  /** To another core of the same type that shares the L2 cache. */
  readonly same_l2: number;
  /** To another core of the same type that shares the L3 cache, but no nearer one. */
  readonly same_l3: number;
  /** To another core of the same type and package, with no known shared cache. */
  readonly same_type: number;
  /** To a core of a faster class. */
  readonly to_faster: number;
  /** To a core of a slower class. */
  readonly to_slower: number;
  /** To a core of the same type in another package, with no shared cache. */
  readonly other_package: number;
  /** The topology of one of the two CPUs is unknown. */
  readonly unknown: number;
}

/** How often threads migrated from each CPU to each other CPU: the table `migrations` by its two ends. */
export interface MigrationMatrix {
  /** CPU that the thread ran on before. */
  readonly from_cpu: number;
  /** CPU that the thread ran on next. */
  readonly to_cpu: number;
  /** Topology level that the two CPUs share: a column of the table `migrations`. */
  readonly edge: string;
  /** Number of migrations. */
  readonly migrations: number;
}

/** How long each thread ran from a switch-in to its switch-out, by core class and by length in powers of two. A run without a known begin and end (cut by the requested range, by the recording or by a loss, shown by a snapshot, or inferred) has no length. Such runs have rows of their own, so that `running_ns` sums to the whole running time. */
export interface RunLengths {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Class of cores; 0 is the slowest class of the machine; null if the source does not record the CPU. */
  readonly core_class: number | null;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string | null;
  /** Lower bound of the length range: 0, 1000, 2000, 4000, …; null if the length is unknown (cut). */
  readonly from_ns: number | null;
  /** Upper bound of the length range (exclusive); null if the length is unknown (cut). */
  readonly to_ns: number | null;
  /** Number of runs of this length; for cut runs, the number of pieces. */
  readonly runs: number;
  /** Total length of these runs. */
  readonly running_ns: number;
  /** Number of `runs` that began with a wakeup; null if the source has no wakeups. */
  readonly after_wake: number | null;
  /** Total length of the runs that began with a wakeup; null if the source has no wakeups. */
  readonly after_wake_ns: number | null;
}

/** How long each thread ran and was ready at each dynamic priority. A stretch counts for the last priority recorded before its end. */
export interface PriorityResidency {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Dynamic priority on the source's scale (Linux: 0–99 real time, 100–139 fair; lower is better); null if not recorded. */
  readonly prio: number | null;
  /** Time on a CPU. */
  readonly running_ns: number;
  /** Time runnable but not running; null if the source has no wakeups. */
  readonly ready_ns: number | null;
  /** Share of the thread's running time; null if it did not run. */
  readonly share: number | null;
}

/** Which threads had a priority inherited from another thread, and what they did meanwhile: the other thread waited for a lock of theirs that has priority inheritance (PTHREAD_PRIO_INHERIT). Boosts that gave no better priority than the thread's own have no row. Boosts that began before the recording are not recorded. For threads without a real-time priority (100 and above), Linux inherits only the number: their CPU shares follow their own nice values. */
export interface PriorityInheritance {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Key of the thread that lent its priority; null if not recorded (recordings by corewise have it). */
  readonly donor: number | null;
  /** The thread's own priority meanwhile, the best one if it changed (Linux: 0–99 real time, 100–139 fair). */
  readonly own_prio: number;
  /** The best priority that it inherited. */
  readonly inherited_prio: number;
  /** Number of boosts by the donor that began in the requested range. */
  readonly boosts: number;
  /** Time with an inherited priority. */
  readonly boosted_ns: number;
  /** The part of `boosted_ns` on a CPU. */
  readonly running_ns: number;
  /** The part of `boosted_ns` in which it was ready, in spite of the inherited priority; null if the source has no wakeups. */
  readonly ready_ns: number | null;
  /** The part of `boosted_ns` in which it was blocked itself. */
  readonly blocked_ns: number;
}

/** CPU time by priority class of the threads that ran, in twenty equal intervals of the requested range; in each interval, the times sum to the time of all CPUs. Classes follow the dynamic priority on Linux's scale, as last recorded before the end of a stretch. */
export interface PriorityClasses {
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** CPU time of threads of the deadline class (−1). */
  readonly deadline_ns: number;
  /** CPU time of real-time threads (0–99). */
  readonly real_time_ns: number;
  /** CPU time of fair threads with a nice value below 0 (100–119). */
  readonly high_ns: number;
  /** CPU time of fair threads with nice value 0 (120). */
  readonly normal_ns: number;
  /** CPU time of fair threads with a nice value above 0 (121–139). */
  readonly low_ns: number;
  /** CPU time of threads whose priority was not recorded. */
  readonly not_recorded_ns: number;
  /** Idle CPU time. */
  readonly idle_ns: number;
  /** CPU time in an unknown state. */
  readonly unknown_ns: number;
}

/** Scheduling settings of each thread: a row for each stretch of equal settings. Time in which no setting is known has no row. A setting holds until another one is recorded. */
export interface ThreadScheduling {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** `other`, `fifo`, `rr`, `batch`, `idle`, `deadline` or `ext` (Linux); null if not recorded. */
  readonly policy: string | null;
  /** Nice value, −20 (highest share) to 19 (lowest), relative to the threads of the same cgroup or autogroup; null if not recorded. */
  readonly nice: number | null;
  /** The thread's own priority, without priority inheritance: 0–98 real time, 100–139 fair (120 + nice), −1 deadline; null if not recorded. */
  readonly static_prio: number | null;
  /** Minimum utilisation clamp (sched_util_min), of 1024; null if not recorded. */
  readonly uclamp_min: number | null;
  /** Maximum utilisation clamp (sched_util_max), of 1024; null if not recorded. */
  readonly uclamp_max: number | null;
  /** Path of its cgroup, or the id if the path was not recorded; null if neither was. */
  readonly cgroup: string | null;
  /** CPU weight of that cgroup relative to its siblings (cpu.weight), 100 by default; null if not recorded. */
  readonly cgroup_weight: number | null;
}

/** How long each thread ran on its ideal CPU, on CPUs near it, and elsewhere, by the setting at each time; these times sum to its running time. Threads without a recorded ideal CPU have no row. Windows records it (the ideal processor); Linux does not have one. */
export interface IdealCpu {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Time on the ideal CPU. */
  readonly ideal_ns: number;
  /** Time on an SMT sibling on the same physical core. */
  readonly same_core_ns: number;
  /** Time on another core that shares its L2 cache (of a cluster of cores). */
  readonly same_l2_ns: number;
  /** Time on another core that shares its L3 cache. */
  readonly same_l3_ns: number;
  /** Time on any other CPU. */
  readonly elsewhere_ns: number;
  /** Running time before the ideal CPU was recorded, or while it is unknown what the two CPUs share. */
  readonly unknown_ns: number;
  /** `ideal_ns` as a share of the running time; null if the thread did not run. */
  readonly share: number | null;
  /** The part of its running time in which the ideal CPU was not among the CPUs on which it is known to be allowed. Which CPU the scheduler prefers instead is not recorded. */
  readonly not_allowed_ns: number;
}

/** Which thread woke which: the wakeups that made a thread ready, and how long it then was ready. A wakeup of a thread that was already ready, or that kept running, changes nothing and is not counted. Wakeups before the requested range are not counted either, but the ready time that follows them is included as far as it lies in the range. */
export interface Wakers {
  /** Key of the thread that was running where the wakeup was issued; 0: an interrupt, because no thread was running there or because the source marks it (flags that not all sources have); null if not recorded. */
  readonly waker: number | null;
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Number of wakeups. */
  readonly wakings: number;
  /** Wakeups to the run queue of the CPU on which the waker ran. */
  readonly same_cpu: number;
  /** Wakeups to the run queue of another CPU. */
  readonly other_cpu: number;
  /** Wakeups for which the waker's CPU or the run queue was not recorded. */
  readonly unknown_cpu: number;
  /** Time the thread was ready after these wakeups. */
  readonly ready_ns: number;
}

/** How long each CPU was idle from one thread to the next, by length in powers of two. A period without a known begin and end (cut by the requested range, by the recording or by unknown time) has no length. Such periods have a row of their own, so that `idle_ns` sums to the whole idle time. */
export interface IdlePeriods {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Lower bound of the length range: 0, 1000, 2000, 4000, …; null if the length is unknown (cut). */
  readonly from_ns: number | null;
  /** Upper bound of the length range (exclusive); null if the length is unknown (cut). */
  readonly to_ns: number | null;
  /** Number of idle periods of this length; for cut periods, the number of pieces. */
  readonly periods: number;
  /** Total length of these periods. */
  readonly idle_ns: number;
}

/** What ended the idle periods of each CPU: the event that made the next thread on it ready. `periods` and `idle_ns` sum to those of the table `idle_periods`. An interrupt that woke no thread does not end an idle period, although it ends a stay in an idle state (see the table `idle_residency`). */
export interface IdleWakeups {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** `thread`: another thread woke it. `interrupt`: an interrupt of a device or timer woke it (see the table `wakers`), or its CPU was idle. `not_recorded`: it was woken, but the waker was not recorded. `new`: its first wakeup. `pulled`: it had been switched out on another CPU in a runnable state. `requeued`: the same, on this CPU. `unknown`: the reason why it could run is unknown. `cut`: the end is not in the requested range or the recording, or unknown time hides it. */
  readonly cause: string;
  /** `thread` and `new`: key of the thread that woke it; null if not recorded. */
  readonly waker: number | null;
  /** The first interrupt after the CPU entered the last idle state of the period. Device: its name, or `irq` and its number. Softirq: `softirq` and the name of its vector. Timer: `timer` and the function it called, if recorded. IPI: `ipi` and why another CPU sent it. Null if no interrupt or no idle state was recorded. */
  readonly interrupt: string | null;
  /** Number of idle periods that ended this way. */
  readonly periods: number;
  /** Number of `periods` whose thread became ready on another CPU's run queue. */
  readonly elsewhere: number;
  /** Total length of these periods. */
  readonly idle_ns: number;
}

/** Which interrupts hit each thread, and how long their handlers ran on its CPU meanwhile. This time is part of the thread's `running_ns`, but the thread made no progress (`exec_ns` of the table `threads` excludes it if the kernel accounts for interrupt time). Only handlers with a recorded begin and end count; for nested handlers, the time counts for the inner one. No rows if the source does not record interrupts (`record --irq`). */
export interface Interrupts {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `device`, `softirq`, `timer` (a timer function or the timer interrupt), or `ipi` (sent by another CPU). */
  readonly kind: string;
  /** Device: interrupt number. Softirq: vector. Null otherwise. */
  readonly number: number | null;
  /** Name, as in the table `idle_wakeups`. */
  readonly interrupt: string;
  /** Number of handlers that began while the thread was on that CPU. */
  readonly count: number;
  /** Total time in the handlers. */
  readonly handler_ns: number;
  /** The longest single handler. */
  readonly longest_ns: number;
}

/** Requests to block devices by device, operation and issuing thread, their time from issue to completion, and how long the issuing thread was blocked meanwhile. A reading thread usually issues its own requests. Written data is usually written back by a kernel thread, so a thread that waits for it has no row. */
export interface BlockIo {
  /** Device as `major:minor`, as lsblk prints it. */
  readonly device: string;
  /** `read`, `write`, `flush`, `discard` or `other`. */
  readonly operation: string;
  /** Key of the thread that issued the requests; null if an interrupt issued them or the thread is unknown. */
  readonly thread: number | null;
  /** Number of requests issued in the requested range. */
  readonly requests: number;
  /** Total size of these requests in bytes. */
  readonly bytes: number;
  /** Number of requests completed in the requested range, whenever they were issued. */
  readonly completed: number;
  /** Time from issue to completion, summed over all requests, as far as it lies in the requested range. */
  readonly io_ns: number;
  /** The longest request issued and completed in the requested range; null if there is none. */
  readonly longest_ns: number | null;
  /** Time the thread was blocked while at least one of these requests was in flight. It waited for the device, or for something else at the same time. Null if `thread` is null. */
  readonly blocked_ns: number | null;
  /** Number of completions without a recorded issue: issued before the recording, too many requests in flight at the same time, or never issued as such (a write that only requests a flush). */
  readonly missing_issues: number;
}

/** How long each CPU was in each of its idle states (cpuidle) while no thread ran on it, from its power events. Idle time in no recorded idle state has a row of its own. */
export interface IdleResidency {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Number of the idle state; null: idle, but no state was recorded. */
  readonly state: number | null;
  /** Name of the idle state in the kernel's driver; null if the machine description does not have it. */
  readonly state_name: string | null;
  /** Minimum stay in the state that saves energy; null if the machine description does not have it. */
  readonly target_residency_ns: number | null;
  /** Number of times the state was entered; null if no state was recorded. */
  readonly entries: number | null;
  /** Time in the state. */
  readonly residency_ns: number;
  /** The longest stay with a known begin and end; null if there is none. */
  readonly longest_ns: number | null;
  /** Number of stays with a known begin and end that were shorter than `target_residency_ns`; null if that is null. */
  readonly too_short: number | null;
}

/** How long each CPU had each frequency, from its power events (cpufreq: the frequency that was requested), and its state meanwhile. An idle CPU keeps its last reported frequency. */
export interface FrequencyResidency {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** The last reported frequency; null if none was reported yet, or if there are more distinct frequencies than are kept apart. */
  readonly khz: number | null;
  /** Number of changes to this frequency. */
  readonly changes: number;
  /** Time at this frequency. */
  readonly residency_ns: number;
  /** The part of `residency_ns` in which the CPU ran threads. */
  readonly busy_ns: number;
  /** The part of `residency_ns` in which the CPU was idle. */
  readonly idle_ns: number;
  /** The part of `residency_ns` in which the state of the CPU is unknown. */
  readonly unknown_ns: number;
}

/** How long each thread ran at each frequency, by core type, because frequencies of different core types are not comparable. */
export interface ThreadByFrequency {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** The last reported frequency; null if none was reported yet, or if there are more distinct frequencies than are kept apart. */
  readonly khz: number | null;
  /** Time the thread ran on cores of this type at this frequency. */
  readonly running_ns: number;
}

/** How long each CPU was parked: the scheduler placed no threads there except those bound to it. Windows parks cores, Linux takes CPUs offline by hotplug, and some Android kernels isolate them. Sources record changes only, so the state before the first recorded change of a CPU is unknown (recordings by corewise include the state at their start). `parked_ns`, `unparked_ns` and `unknown_ns` sum to the requested range. If nothing was recorded for a CPU, all columns except `unknown_ns` are null. */
export interface Parking {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Time parked. */
  readonly parked_ns: number | null;
  /** Time not parked. */
  readonly unparked_ns: number | null;
  /** Time in an unknown parking state. */
  readonly unknown_ns: number;
  /** The part of `parked_ns` in which a thread ran there: one bound to the CPU, or the last one to leave it. */
  readonly busy_ns: number | null;
  /** How often the CPU became parked; the state at the begin of the requested range is not counted. */
  readonly periods: number | null;
  /** The longest parked period, as far as it lies in the requested range. */
  readonly longest_ns: number | null;
  /** `parked_ns` as a share of the requested range. */
  readonly share: number | null;
}

/** For how long how many CPUs were parked at the same time, for each core type and for all types. The durations of a type sum to the requested range, and `parked` × `duration_ns` sums to the `parked_ns` of its CPUs in the table `parking`. A CPU that appears in no other event and not in the machine description counts from its first parking event. */
export interface ParkedTogether {
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string | null;
  /** Number of CPUs of this type that were parked; of all types if `core_type` is null. */
  readonly parked: number;
  /** Number of CPUs of this type in an unknown parking state. */
  readonly unknown: number;
  /** Total time with these numbers of CPUs. */
  readonly duration_ns: number;
}

/** For how long how many cores of each type, and how many further CPUs on the same cores, ran a thread at the same time. Like `concurrency`, this counts CPUs that have at least one switch; all columns except `unknown` add up to its `running`. */
export interface ConcurrencyBands {
  /** Number of performance cores with a busy CPU. */
  readonly performance: number;
  /** Number of middle cores with a busy CPU. */
  readonly middle: number;
  /** Number of efficient cores with a busy CPU. */
  readonly efficient: number;
  /** Number of low-power cores with a busy CPU. */
  readonly low_power: number;
  /** Number of cores with a busy CPU on a machine with one core class, or of an unknown class. */
  readonly uniform: number;
  /** Number of busy CPUs beyond the first of each core. */
  readonly second_siblings: number;
  /** Number of CPUs in an unknown state. */
  readonly unknown: number;
  /** Total time with these numbers of cores. */
  readonly duration_ns: number;
}

/** For how long how many CPUs of each core were busy at the same time. Idle, one busy, many busy and unknown tile the time. */
export interface SmtCores {
  /** The core, identified by its lowest CPU number. */
  readonly first_cpu: number;
  /** CPUs of the core in the kernel's list format: 0,4 or 0-3. */
  readonly cpus: string;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Number of CPUs of the core; null if not recorded: then each CPU counts as a core. */
  readonly siblings: number | null;
  /** Time in which none of its CPUs ran a thread. */
  readonly idle_ns: number;
  /** Time in which exactly one of its CPUs ran a thread. */
  readonly one_busy_ns: number;
  /** Time in which two or more of its CPUs ran a thread. */
  readonly many_busy_ns: number;
  /** Time in which the state of one or more of its CPUs is unknown. */
  readonly unknown_ns: number;
  /** The part of `one_busy_ns` and `many_busy_ns` in which all of its CPUs ran a thread. */
  readonly all_busy_ns: number;
  /** Core with two CPUs: time in which only the lower-numbered CPU ran a thread; null for other cores. */
  readonly first_alone_ns: number | null;
  /** Core with two CPUs: time in which only the higher-numbered CPU ran a thread; null for other cores. */
  readonly second_alone_ns: number | null;
}

/** How much of the capacity of each core class was used, if a core with all siblings busy does `gain` times the work of a core with a single busy sibling. One busy sibling uses 1/`gain` of the core, and each further one an equal part of the rest. The gain is assumed to be 1.3, as measured on servers (1.33 and 1.29); it depends on the workload. */
export interface SmtUtilisation {
  /** Class of cores; 0 is the slowest class of the machine. */
  readonly core_class: number;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string;
  /** Number of cores of this class. */
  readonly cores: number;
  /** Number of CPUs of these cores. */
  readonly cpus: number;
  /** Core time in which the states of all CPUs of the core are known. */
  readonly known_ns: number;
  /** All other core time; the columns below exclude it. */
  readonly unknown_ns: number;
  /** Busy share of the CPUs' time: the utilisation if each CPU is counted as a core. */
  readonly busy_share: number | null;
  /** Work of a core with all siblings busy, relative to one with a single busy sibling. */
  readonly gain: number;
  /** Core time, weighted by the used share of the core's capacity; rounded. */
  readonly used_ns: number;
  /** `used_ns` as a share of `known_ns`. */
  readonly used_share: number | null;
  /** The unused share of the capacity. */
  readonly headroom_share: number | null;
}

/** How long each thread ran while its SMT sibling was busy, and how long alone on its core. The four times tile its running time. */
export interface SmtThreads {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Time on a CPU. */
  readonly running_ns: number;
  /** Time on a core whose other CPUs were all idle. */
  readonly alone_ns: number;
  /** Time on a core of which another CPU ran a thread. */
  readonly sibling_busy_ns: number;
  /** Time on a core of which no other CPU is known to have run a thread, but the state of at least one is unknown. */
  readonly sibling_unknown_ns: number;
  /** Time on a core with one CPU, or with unknown siblings. */
  readonly no_sibling_ns: number;
  /** `sibling_busy_ns` as a share of `alone_ns` + `sibling_busy_ns`. */
  readonly sibling_busy_share: number | null;
}

/** How long each thread ran at the same time as each other thread on the same core. Time with two other threads at once is in both rows. */
export interface SmtPairs {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Key of the thread on another CPU of the core. */
  readonly sibling_thread: number;
  /** TID of that thread. */
  readonly sibling_tid: number;
  /** Time both threads ran on the core at the same time. */
  readonly overlap_ns: number;
}

/** How long each thread ran from one wait to the next (a CPU burst, including preemptions in between), by core class, by the state of its SMT siblings, and by length in sixteen steps per octave. For a thread that repeats the same work, the lengths show how much slower it is on one core class than on another, and while its SMT sibling is busy. The rows of a thread sum to its `running_ns`. */
export interface CpuBursts {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Class of cores; 0 is the slowest class of the machine; null: the burst ran on several. */
  readonly core_class: number | null;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string | null;
  /** State of the core's other CPUs for more than fifteen sixteenths of the burst. `idle`: all were idle. `busy`: at least one ran a thread. `unknown`: the state of one that may have run a thread is unknown. `none`: the core has one CPU, or no known siblings. Null: mixed. */
  readonly sibling: string | null;
  /** Lower bound of the length range: 0, 1024, 1088, 1152, …; null if the begin, the end or a part of the burst is unknown. */
  readonly from_ns: number | null;
  /** Upper bound of the length range (exclusive); null if the length is unknown. */
  readonly to_ns: number | null;
  /** Number of bursts of this length. */
  readonly bursts: number;
  /** Total length of these bursts. */
  readonly running_ns: number;
}

/** How long each thread ran with suboptimal placement. The order of preference is: a whole fast core, a whole slower core, the SMT sibling of a busy CPU. Placement is suboptimal while a preferable core on which the thread was allowed was idle and not known to be parked. While the thread's affinity is unknown (`permission_unknown_ns`), any core may have been allowed: such time counts for the upper bound of a range, but not for its lower bound. `in_order_ns`, the upper bounds and `unknown_ns` tile the running time. */
export interface Placement {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Time on a CPU. */
  readonly running_ns: number;
  /** Time in which no preferable core on which the thread was allowed was idle. */
  readonly in_order_ns: number;
  /** Time on a core while a whole core of a faster class was idle on which the thread is known to be allowed. */
  readonly slower_core_lower_ns: number;
  /** The same, including time with unknown affinity. */
  readonly slower_core_upper_ns: number;
  /** Time while its SMT sibling was busy and, of the cores on which the thread is known to be allowed, none of a faster class was known to be idle, but a whole core of its own class was. */
  readonly busy_sibling_lower_ns: number;
  /** The same, including time with unknown affinity. */
  readonly busy_sibling_upper_ns: number;
  /** Time while its SMT sibling was busy and, of the cores on which the thread is known to be allowed, none of its own or a faster class was known to be idle, but a whole core of a slower class was. */
  readonly skipped_slower_lower_ns: number;
  /** The same, including time with unknown affinity. */
  readonly skipped_slower_upper_ns: number;
  /** Time in which the state of its own core or of others is unknown, so that the placement cannot be classified. */
  readonly unknown_ns: number;
  /** Time that the fastest idle class would have saved of `slower_core_lower_ns`, calculated from the kernel's CPU capacities; null if the capacity of either class is unknown. */
  readonly cost_lower_ns: number | null;
  /** The same for `slower_core_upper_ns`. */
  readonly cost_upper_ns: number | null;
  /** The part of `running_ns` in which the affinity of the thread is unknown. */
  readonly permission_unknown_ns: number;
  /** The part of `busy_sibling_lower_ns` on a CPU to which the thread was woken while that CPU was idle, its SMT sibling was busy, and a whole core of the class was idle with no thread queued for it; it ends when the thread waits again or runs elsewhere. */
  readonly woken_sibling_lower_ns: number;
  /** The same for `busy_sibling_upper_ns`. */
  readonly woken_sibling_upper_ns: number;
}

/** For each thread that ran on a core slower than the fastest class: the use of the faster cores meanwhile. Either a faster core was idle on which the thread is allowed, or one on which it is not allowed, or a faster core ran a thread of lower priority. A core whose CPUs are all parked is not idle. The five times tile `running_ns`, and `faster_idle_ns` equals `slower_core_lower_ns` of the table `placement`. No rows if the machine has one core class, or only one is known. */
export interface SlowerCores {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Time on a core of another class than the fastest. */
  readonly running_ns: number;
  /** Time in which a whole core of a faster class was idle on which the thread is known to be allowed. */
  readonly faster_idle_ns: number;
  /** Time in which the only idle cores of faster classes were cores on which the thread is not allowed. */
  readonly faster_not_allowed_ns: number;
  /** Time in which none of them was idle, but a CPU of one on which the thread is allowed ran a thread with a lower dynamic priority (a greater number); both priorities are known. */
  readonly faster_lower_ns: number;
  /** Time in which none of these is known. */
  readonly none_ns: number;
  /** Time in which the affinity of the thread is unknown. */
  readonly permission_unknown_ns: number;
  /** Time that the fastest of those classes would have saved of `faster_not_allowed_ns`, calculated from the kernel's CPU capacities; null if the capacity of either class is unknown. */
  readonly not_allowed_cost_ns: number | null;
  /** The same for `faster_lower_ns`. */
  readonly lower_cost_ns: number | null;
}

/** Durations of the stretches that a thread or process marked, by name, and the states of the thread meanwhile. A nested stretch also counts for the stretches around it. */
export interface Marks {
  /** Key of the thread that marked them; null if they belong to a process or to the machine. */
  readonly thread: number | null;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Name that the program gave them. */
  readonly name: string | null;
  /** Number of stretches that ended, and of instants. */
  readonly count: number;
  /** Number of stretches without a recorded end; they count up to the end of the recording. */
  readonly open: number;
  /** Total time from begin to end. */
  readonly duration_ns: number;
  /** The longest stretch. */
  readonly longest_ns: number;
  /** The part of `duration_ns` in which the thread was on a CPU; null if there is no thread. */
  readonly running_ns: number | null;
  /** The part of `duration_ns` in which the thread was runnable but not running; null if there is no thread or the source has no wakeups. */
  readonly ready_ns: number | null;
  /** The part of `duration_ns` in which the thread was blocked; null if there is no thread. */
  readonly blocked_ns: number | null;
  /** The part of `duration_ns` in which the state of the thread is unknown; null if there is no thread. */
  readonly unknown_ns: number | null;
}

/** How long each thread was on the critical path, and in which state: the table `critical_path` in sums, longest first. `path_ns` sums to the requested range. */
export interface CriticalByThread {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number | null;
  /** Time on the path; the times below sum to it, except `sibling_busy_ns`. */
  readonly path_ns: number;
  /** `path_ns` as a share of the requested range. */
  readonly share: number;
  /** On the path, running on a core of type performance. */
  readonly running_performance_ns: number;
  /** On the path, running on a core of type middle. */
  readonly running_middle_ns: number;
  /** On the path, running on a core of type efficient. */
  readonly running_efficient_ns: number;
  /** On the path, running on a core of type low_power. */
  readonly running_low_power_ns: number;
  /** On the path, running on a machine with one core class or none known, or on an unknown CPU. */
  readonly running_uniform_ns: number;
  /** The part of its running time on the path in which an SMT sibling was busy. */
  readonly sibling_busy_ns: number;
  /** On the path, ready while another thread ran on the CPU of its run queue, or while what ran there is unknown. */
  readonly ready_ns: number;
  /** On the path, ready while the CPU of its run queue was idle. */
  readonly wakeup_latency_ns: number;
  /** On the path, kept from running by its cgroup's CPU quota, if that is recorded; otherwise this time is in the two columns before. */
  readonly throttled_ns: number;
  /** On the path, blocked. */
  readonly blocked_ns: number;
  /** On the path, after its exit. */
  readonly exited_ns: number;
  /** On the path, in an unknown state. */
  readonly unknown_ns: number;
  /** How often the path came to this thread. */
  readonly visits: number;
}

/** The critical path (Yang and Miller, 1988) to the end of the requested range: the chain of threads that determined when the thread got there, piece by piece in order of time. The pieces tile the range. Followed backwards from the end, the path stays with a thread while it runs and while it is ready. Where another thread woke it, the path continues with that thread at the time of the wakeup, even if this leads further back than the wait. A wait that was ended by an interrupt or by an unknown waker stays on the path as blocked. In sources without wakeup flags (see the table `wakers`), a wakeup by an interrupt that hit a running thread is attributed to that thread. If no ready time follows a wakeup, its waker is unknown. `--thread TID` selects the thread that the path ends with (the last instance of that TID). By default, it is the thread that runs at the end, the one switched in last if there are several, or the one that ran last if none runs: of the threads of the recorded program if that is known and any of them ran, otherwise of all threads. No rows if no thread ran. */
export interface CriticalPath {
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number | null;
  /** `running`. `ready`: another thread ran on the CPU of its run queue, that CPU was parked, or what ran there is unknown. `wakeup_latency`: ready while that CPU was idle. `throttled`: ready, but its cgroup's CPU quota kept it from running. `blocked`: waiting (in a source without wakeups, until it ran again). `exited`. `unknown`; without a reason: before the thread instance began. */
  readonly state: string;
  /** Running: the CPU it ran on. Ready, wakeup_latency and throttled: the CPU of its run queue, null if not recorded. Null otherwise. */
  readonly cpu: number | null;
  /** `performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known. */
  readonly core_type: string | null;
  /** Running: `busy` if another CPU of that core ran a thread, `idle` if none did, `unknown` if that is not known; null if the core has no known sibling. */
  readonly sibling: string | null;
  /** Running: the last reported frequency of that CPU; null if none was recorded. */
  readonly freq_khz: number | null;
  /** Ready: key of the thread that ran on the CPU of its run queue; null if unknown. */
  readonly queued_behind: number | null;
  /** Cause of the state, as in the table `thread_state`. */
  readonly reason: string | null;
  /** Ready after a wakeup: key of the thread that woke it, from which the path comes. Blocked: key of the thread that ended the wait. 0: an interrupt; null if none or unknown. */
  readonly waker: number | null;
  /** Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair); null if not recorded. */
  readonly prio: number | null;
}

/** The slowest of the frames that exceeded their budget, and why: the critical path to the end of each frame (see the table `critical_path`), by cause, compared with that of typical frames. The causes that took the most extra time come first. Frames are the stretches that a program marked (`--frames-of NAME`), otherwise those of a frame log recorded with the threads; only frames that began and ended in the requested range count. The budget is `--budget`, for example 1/60 s for a display of 60 Hz, because no source records the display's refresh rate; by default it is the median frame time. Typical frames are those with frame times nearest to the median: one in eight frames, nine at most. Ten frames are listed (`--slowest`). The path leads to the end of the thread that marked the frame; for a frame of a process (for a log without process IDs: of the recorded program), to the end of its thread that ran last within the frame. `--thread` selects another one. If the thread is unknown, the whole frame time is unknown. No rows if no frame exceeded its budget. */
export interface SlowFrames {
  /** Rank of the frame; 1 is the slowest. */
  readonly rank: number;
  /** Name of the mark, or the program of the frame log. */
  readonly name: string | null;
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number | null;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** Frame time; `time_ns` sums to it. */
  readonly frame_ns: number;
  /** Budget of the frame. */
  readonly budget_ns: number;
  /** `frame_ns` minus `budget_ns`. */
  readonly over_ns: number;
  /** State on the critical path. `running`. `running_sibling_busy`: running while its SMT sibling was busy. `ready`: another thread ran on the CPU of its run queue, or what ran there is unknown. `wakeup_latency`: ready while that CPU was idle. `throttled`: kept from running by its cgroup's CPU quota. `blocked`, `exited` or `unknown`. */
  readonly cause: string;
  /** Running: type of the cores; null if unknown. */
  readonly core_type: string | null;
  /** Ready: key of the thread that ran instead; null if unknown. */
  readonly queued_behind: number | null;
  /** Time in this frame. */
  readonly time_ns: number;
  /** Mean time in a typical frame; sums to the mean time of typical frames. */
  readonly typical_ns: number;
  /** `time_ns` minus `typical_ns`; sums to the extra time compared with a typical frame. */
  readonly excess_ns: number;
  /** `excess_ns` as a share of that sum; negative if the cause took less time than in a typical frame. */
  readonly share: number | null;
}

/** Every stretch that a thread or process marked, in order of end, and the states of the thread meanwhile: one row per frame if a program marks its frames. */
export interface MarkStretches {
  /** Key of the thread that marked it; null if it belongs to a process or to the machine. */
  readonly thread: number | null;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Name that the program gave it. */
  readonly name: string | null;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** Whether its end was recorded; otherwise it lasts to the end of the recording. */
  readonly ended: boolean;
  /** Time from begin to end. */
  readonly duration_ns: number;
  /** The part of `duration_ns` in which the thread was on a CPU; null if there is no thread. */
  readonly running_ns: number | null;
  /** The part of `duration_ns` in which the thread was runnable but not running; null if there is no thread or the source has no wakeups. */
  readonly ready_ns: number | null;
  /** The part of `duration_ns` in which the thread was blocked; null if there is no thread. */
  readonly blocked_ns: number | null;
  /** The part of `duration_ns` in which the state of the thread is unknown; null if there is no thread. */
  readonly unknown_ns: number | null;
}

/** Every parallel region: the time from the first begin to the last end in which two or more threads of a process have marked stretches of the same name, in order of end. A thread that begins within one second after all others have ended belongs to the region too if it got no CPU meanwhile: it was ready at that time and had been ready for half of the region. A thread arrives at the end of its last stretch and waits until the last thread arrives (the tail of a barrier). The potential saving is an estimated range, `recoverable_from_ns` to `recoverable_to_ns`: what a distribution of the work in which all threads arrive at the same time would save. With n chunks distributed one by one, up to `slowest_ns` / n of the tail remains while the slowest thread finishes the last chunk. The cost of distributing the work is not included. Regions that the requested range cuts have no row. */
export interface ParallelRegions {
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Name that the program gave the stretches. */
  readonly name: string;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** Number of threads that marked such stretches; number of tracks if the stretches belong to no thread. */
  readonly threads: number;
  /** Number of marked stretches, not counting nested ones: the chunks, if each chunk is marked. */
  readonly stretches: number;
  /** Total duration of these stretches. */
  readonly worked_ns: number;
  /** When the first thread arrived. */
  readonly first_arrival_ns: number;
  /** Time from the first to the last arrival. */
  readonly tail_ns: number;
  /** Time from each thread's arrival to the last arrival, summed over threads. */
  readonly waiting_ns: number;
  /** Idle time of cores of type performance within the tail, summed over cores. */
  readonly idle_performance_ns: number;
  /** The same for cores of type middle. */
  readonly idle_middle_ns: number;
  /** The same for cores of type efficient. */
  readonly idle_efficient_ns: number;
  /** The same for cores of type low_power. */
  readonly idle_low_power_ns: number;
  /** The same for cores of machines with one core type or none known. */
  readonly idle_uniform_ns: number;
  /** Time of cores within the tail in which it is unknown whether they were idle, summed over cores. */
  readonly idle_unknown_ns: number;
  /** Lower bound of the potential saving. Two models estimate it: all threads are equally fast (`waiting_ns` / `threads`), or all stretches are equal work, so that a thread that takes longer for each is slower. This is the smaller estimate. */
  readonly recoverable_from_ns: number;
  /** Upper bound of the potential saving: the larger of the two estimates. */
  readonly recoverable_to_ns: number;
  /** The part of `waiting_ns` in which the waiting threads ran: they spun or did other work; null if the stretches belong to no thread. */
  readonly waiting_running_ns: number | null;
  /** How long the last thread to arrive was ready since its part of the region began, and directly before that while another thread had already arrived; the minimum if several arrived last; null if the source has no wakeups, or the stretches belong to no thread. */
  readonly last_ready_ns: number | null;
  /** Time that all of the work takes a single thread at the speed of the slowest thread. */
  readonly slowest_ns: number;
}

/** Durations of the stretches marked by programs (frames, if they mark those), by the number of CPUs parked meanwhile: the mean over the time of each stretch, to the nearest whole number. Includes only stretches that began and ended in the requested range. No rows if parking was not recorded. */
export interface FramesParked {
  /** Name that the program gave the stretches. */
  readonly name: string | null;
  /** Mean number of parked CPUs during one stretch, to the nearest whole number. */
  readonly parked: number;
  /** Mean number of CPUs in an unknown parking state during one stretch, to the nearest whole number. */
  readonly unknown: number;
  /** Number of stretches with these numbers of CPUs. */
  readonly frames: number;
  /** Mean number of parked CPUs over the time of all these stretches. */
  readonly mean_parked: number;
  /** The maximum number of CPUs parked at the same time during any of these stretches. */
  readonly max_parked: number;
  /** Total duration of these stretches. */
  readonly duration_ns: number;
  /** Mean duration, rounded down to nanoseconds. */
  readonly mean_ns: number;
  /** 95th percentile of the durations (nearest rank), or up to `precision_ns` more. */
  readonly p95_ns: number;
  /** The longest duration. */
  readonly longest_ns: number;
  /** Duration budget of one stretch: `--budget`, or the median duration of all stretches of this name. */
  readonly budget_ns: number;
  /** Number of `frames` over the budget; those that may be over it by less than `precision_ns` are not counted. */
  readonly over_budget: number;
  /** Precision of the percentile; 0 unless there are more distinct durations than are kept apart. */
  readonly precision_ns: number;
}

/** Number, times and limiting factor of the frames of each swap chain. If there are more than 1,000 swap chains, the others share one row without a name. */
export interface FrameSums {
  /** Name of the program; null if not recorded. */
  readonly application: string | null;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Address of the swap chain; null if not recorded. */
  readonly swap_chain: string | null;
  /** Number of frames. */
  readonly frames: number;
  /** Number of frames with a known frame time; the times below are theirs. */
  readonly timed: number;
  /** Sum of the frame times. */
  readonly frame_ns: number;
  /** Mean frame time. */
  readonly mean_ns: number | null;
  /** Frames per second: 1 / mean frame time. */
  readonly fps: number | null;
  /** Median frame time. */
  readonly median_ns: number | null;
  /** 99th percentile of the frame times. */
  readonly p99_ns: number | null;
  /** 99.9th percentile of the frame times. */
  readonly p999_ns: number | null;
  /** The three percentiles may be too high by up to this much; 0: they are exact. */
  readonly precision_ns: number;
  /** The longest frame time. */
  readonly longest_ns: number | null;
  /** Mean of `gpu_busy_ns`, of the frames that have it. */
  readonly mean_gpu_busy_ns: number | null;
  /** Number of frames that were never displayed. */
  readonly not_displayed: number;
  /** Number of frames limited by the GPU. */
  readonly gpu_bound: number;
  /** Number of frames limited by the CPU. */
  readonly cpu_bound: number;
  /** Number of frames with an unknown limiting factor. */
  readonly unknown_bound: number;
}

/** Every frame of a frame log (PresentMon, MangoHud), in order of begin. Columns that the log does not have are null. */
export interface Frames {
  /** Row number in the log, from 0. */
  readonly frame: number;
  /** Name of the program; null if not recorded. */
  readonly application: string | null;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Address of the swap chain; null if not recorded. */
  readonly swap_chain: string | null;
  /** Start time. */
  readonly start_ns: number;
  /** Frame time: from the begin of this frame to the begin of the next one. In a log that has only present calls: the time since the previous present call. */
  readonly frame_ns: number | null;
  /** When the frame was presented (the call of Present). */
  readonly present_ns: number | null;
  /** Time since the previous present call. */
  readonly between_presents_ns: number | null;
  /** Time from the begin of the frame to `present_ns`, in which the CPU worked on it. */
  readonly cpu_busy_ns: number | null;
  /** Time in the call of Present. */
  readonly in_present_ns: number | null;
  /** Time from `present_ns` until the GPU began to work on the frame; negative if it began earlier. */
  readonly until_render_start_ns: number | null;
  /** Time from `present_ns` until the GPU finished. */
  readonly until_render_complete_ns: number | null;
  /** Time the GPU worked on the frame. */
  readonly gpu_busy_ns: number | null;
  /** Time from `present_ns` until the frame was displayed. */
  readonly until_displayed_ns: number | null;
  /** Time since the last frame before it that was displayed; calculated from the times at which both were displayed if the log does not have it. */
  readonly between_display_change_ns: number | null;
  /** Time the frame was displayed. */
  readonly displayed_for_ns: number | null;
  /** `between_display_change_ns` minus `gpu_busy_ns`; null if that is negative, because the GPU then worked on this frame while others were displayed. */
  readonly gpu_idle_ns: number | null;
  /** Whether the frame was displayed. */
  readonly displayed: boolean | null;
  /** What limited the frame. `gpu`: `gpu_idle_ns` is 0, up to the log's rounding (1 us). `cpu`: `gpu_idle_ns` is greater, this frame and the one displayed before it were displayed as soon as the GPU had finished them, and none was dropped in between, so the GPU had nothing to do. `unknown`: neither is certain, for example because a finished frame waited for the display. */
  readonly bound: string;
  /** How the frame reached the screen, as named in the log. */
  readonly present_mode: string | null;
}

/** Where the source reports lost events: from the last event before the loss to the first event after it. */
export interface Loss {
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** CPU whose buffer lost the events; null if it may be any CPU. */
  readonly cpu: number | null;
  /** Number of lost events; null if the source does not count them. */
  readonly events: number | null;
}

/** Every state stretch of every thread, in order of start. The stretches of a thread instance tile its time. */
export interface ThreadState {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** `running`, `ready`, `blocked`, `unknown` or `exited`. */
  readonly state: string;
  /** Running: the CPU it runs on. Ready: the CPU of the run queue on which it began to wait. Otherwise: the CPU it ran on last. */
  readonly cpu: number | null;
  /** Core type of that CPU; null unless the thread is running. */
  readonly core_type: string | null;
  /** Cause of the state. Blocked: the kernel's state letter. Ready after a switch-out in a runnable state: `preempted`, `yielded` (it called sched_yield), `throttled`, `gave_way` (a kernel thread), `woken_before_sleep`, or `left_runnable` (cause not recorded). In version 1, `yielded` meant all of these that the kernel does not mark as preempted. */
  readonly reason: string | null;
  /** Ready: key of the thread that woke it; 0: an interrupt woke it; null if not recorded. */
  readonly waker: number | null;
  /** Running: CPU time that the kernel charged; null if not recorded. */
  readonly exec_ns: number | null;
  /** Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair); null if not recorded. */
  readonly prio: number | null;
}

/** Every state stretch of every CPU, in order of start. The stretches of a CPU tile the recording. */
export interface CpuState {
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** `busy`, `idle` or `unknown`. */
  readonly state: string;
  /** Busy: key of the thread that runs. Idle: 0. Null if unknown. */
  readonly thread: number | null;
}

/** Threads that ran in time not covered by any chain of switches, inferred from other events. All other tables show this time as unknown, unless `--inferred` is given. */
export interface InferredState {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** CPU number in the kernel (a logical processor). */
  readonly cpu: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** Evidence. `first_switch`: the CPU's first switch switches the thread out. `named`: events on the CPU name it as the current task. */
  readonly basis: string;
}
