// @generated from the declarations of the tables by `cargo xtask bless`.

/** By their numbers. */
export const THREAD_STATES = ["running", "ready", "blocked", "unknown", "exited"] as const;
/** By their numbers. */
export const CPU_STATES = ["busy", "idle", "unknown"] as const;

/** The threads in the order of their tracks. */
export interface ThreadTracks {
  /** Its place. */
  readonly track: number;
  /** The thread's key. */
  readonly thread: number;
  /** The kernel's number. */
  readonly tid: number;
  /** The process, where the source tells it. */
  readonly pid: number | null;
  /** The last name seen. */
  readonly name: string | null;
  /** On a CPU, over the recording. */
  readonly running_ns: number;
  /** Could run, but did not; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** When its life began, as far as it was recorded. */
  readonly begin_ns: number;
}

/** What is drawn: a stretch, or short stretches that follow one another, told together. */
export interface Slices {
  /** Whose: a CPU's number, or a thread's place. */
  readonly track: number;
  /** First instant. */
  readonly start_ns: number;
  /** First instant after it. */
  readonly end_ns: number;
  /** The state that takes most of it, by number. */
  readonly state: number;
  /** For how long. */
  readonly state_ns: number;
  /** A thread's CPU, a CPU's thread (key) that takes most of that state's time; −1: none. */
  readonly what: number;
  /** For how long. */
  readonly what_ns: number;
  /** Of how many stretches. */
  readonly stretches: number;
}

/** What is drawn of values: one, or short ones that follow one another, told together. */
export interface Steps {
  /** Whose. */
  readonly track: number;
  /** First instant. */
  readonly start_ns: number;
  /** First instant after it. */
  readonly end_ns: number;
  /** The least, in the unit of its kind. */
  readonly least: number;
  /** The most. */
  readonly most: number;
  /** The mean, each weighted by its time. */
  readonly mean: number;
  /** Of how many. */
  readonly stretches: number;
}

/** The wakings that led to where a thread was, the last first. */
export interface WakeChain {
  /** Who was woken. */
  readonly thread: number;
  /** Who woke it; 0: an interrupt did. */
  readonly waker: number;
  /** When. */
  readonly at_ns: number;
  /** How long it was then ready. */
  readonly ready_ns: number;
}

/** What each life of each thread did: sums over the recording, which tile it from the life's begin to the end. */
export interface Threads {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** Which life of this number: 0, 1, … */
  readonly life: number;
  /** The process, where the source tells it. */
  readonly pid: number | null;
  /** The last name seen. */
  readonly name: string | null;
  /** On a CPU. */
  readonly running_ns: number;
  /** What the kernel charged for running, summed over the stretches in which it is known. */
  readonly exec_ns: number | null;
  /** The running time of those stretches; less exec_ns it is stolen and interrupt time. */
  readonly exec_of_ns: number | null;
  /** Could run, but did not; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** Waited for something. */
  readonly blocked_ns: number;
  /** Nobody can say what it did. */
  readonly unknown_ns: number;
  /** After its exit. */
  readonly exited_ns: number;
  /** The part of all these in which the source reports lost events. */
  readonly lossy_ns: number;
  /** Switch-outs in a runnable state. */
  readonly involuntary: number;
  /** All other switch-outs. */
  readonly voluntary: number;
  /** The longest single wait for a CPU; null where the source has no wakings. */
  readonly max_ready_ns: number | null;
  /** Switch-ins on a CPU other than the one it was on last. */
  readonly migrations: number;
  /** Switch-ins of a blocked thread whose waking was never seen. */
  readonly unwoken: number;
  /** When this life began: the start of the recording, or its first waking. */
  readonly begin_ns: number;
}

/** How long each thread ran on each CPU. */
export interface ThreadByCpu {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** Which life of this number: 0, 1, … */
  readonly life: number;
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** On this CPU. */
  readonly running_ns: number;
}

/** How long each thread ran on each class of cores. */
export interface ThreadByCoreType {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** Which life of this number: 0, 1, … */
  readonly life: number;
  /** 0 = slowest class of the machine. */
  readonly core_class: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** On cores of this class. */
  readonly running_ns: number;
  /** Of the thread's running time. */
  readonly share: number | null;
}

/** What each CPU did: busy, idle and unknown tile the recording. */
export interface Cpus {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** Ran a thread. */
  readonly busy_ns: number;
  /** Ran its idle task. */
  readonly idle_ns: number;
  /** Nobody can say. */
  readonly unknown_ns: number;
  /** The part of these in which the source reports lost events of this CPU. */
  readonly lossy_ns: number;
  /** Context switches recorded on it. */
  readonly switches: number;
  /** Switches whose previous thread is not the one that this CPU's last switch brought in. */
  readonly broken: number;
}

/** For how long how many of the CPUs that have a switch ran a thread with certainty while how many were unknown. */
export interface Concurrency {
  /** CPUs that ran a thread with certainty. */
  readonly running: number;
  /** CPUs of which nobody can say. */
  readonly unknown: number;
  /** How long in all. */
  readonly duration_ns: number;
}

/** How long and how often each thread ran, was ready and was blocked. Ready time is told twice, by how it began and by what was free meanwhile, or that it was throttled: each sums to ready_ns. Free is an idle CPU on which the thread was allowed, and that was not parked as far as anybody told; of permission_unknown_ns, while nobody told where that was, any idle one. Columns of ready time are null where the source has no wakings; blocked_ns then holds the ready time that a waking would have begun. Counts are of what began within the time asked for, as far as it is known: not what the recording began with, not what a snapshot may have shown (a thread's first stretch, if it is blocked), nor what follows a reported loss with --strict-loss. */
export interface ReadyWait {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On a CPU. */
  readonly running_ns: number;
  /** How often it came to a CPU. */
  readonly running_count: number;
  /** Could run, but did not. */
  readonly ready_ns: number | null;
  /** How often it became ready. */
  readonly ready_count: number | null;
  /** The longest single wait for a CPU, as far as it lies in the time asked for. */
  readonly max_ready_ns: number | null;
  /** Ready since it was preempted: the kernel marks it so, or it was on its way back to user mode, which recordings by corewise on x86-64 tell, and sources that have the calls of sched_yield. */
  readonly ready_preempted_ns: number | null;
  /** Ready since it called sched_yield, where the source tells that. */
  readonly ready_yielded_ns: number | null;
  /** Ready since it left as its cgroup's CPU quota was used up, where the source tells that. */
  readonly ready_throttled_ns: number | null;
  /** Ready since it gave way, as a kernel thread, which never goes back to user mode. */
  readonly ready_gave_way_ns: number | null;
  /** Ready since another switch-out in a runnable state: the source does not tell whether it was preempted or yielded. */
  readonly ready_unknown_ns: number | null;
  /** Ready since it was woken, or since it left its CPU, woken before it slept. */
  readonly ready_woken_ns: number | null;
  /** Ready since its first waking. */
  readonly ready_new_ns: number | null;
  /** Ready since before a snapshot that shows it so. */
  readonly ready_other_ns: number | null;
  /** Ready while every CPU ran a thread, or was parked and no place for it anyhow. */
  readonly no_cpu_free_ns: number | null;
  /** Ready while no CPU of its run queue's core type was free, but one of another type was. */
  readonly free_other_type_ns: number | null;
  /** Ready while its run queue's CPU was not free, and another of the same core type was. */
  readonly free_same_type_ns: number | null;
  /** Ready while, of all that were not parked, none but CPUs where it was not allowed were idle; null where permission_unknown_ns is all of ready_ns. */
  readonly free_not_allowed_ns: number | null;
  /** Ready while, of the CPUs where it was allowed, none but parked ones ran no thread; null where nobody tells of parking. Elsewhere this time is in the other columns. */
  readonly free_parked_ns: number | null;
  /** Ready while the CPU of its own run queue was free. */
  readonly wakeup_latency_ns: number | null;
  /** Ready while its cgroup's CPU quota held it, whatever was free; null where nobody tells: recordings by corewise do, of Linux 6.18 and later. Elsewhere this time is in the other columns. */
  readonly throttled_ns: number | null;
  /** Ready while nobody can say what was free: of a CPU that matters it is not known what it ran, or not on whose run queue the thread was. */
  readonly free_unknown_ns: number | null;
  /** Of ready_ns, while nobody told on which CPUs the thread was allowed: recordings by corewise tell it of every thread from their snapshot on (of changes within a second where they say that they look for them), traces of other tools do not. */
  readonly permission_unknown_ns: number | null;
  /** Waited for something. */
  readonly blocked_ns: number;
  /** How often it began to wait for something. */
  readonly blocked_count: number;
  /** The longest single wait for something, as far as it lies in the time asked for. */
  readonly max_blocked_ns: number;
  /** Nobody can say what it did. */
  readonly unknown_ns: number;
}

/** Who ran on the CPU on whose run queue a thread was ready. Over all rows of a thread the times sum to its ready time. No rows where the source has no wakings. */
export interface ReadyByThief {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** thread: another thread ran there; idle: the CPU was idle, or parked; throttled: its cgroup's CPU quota held it, whatever ran there (throttled_ns of the table ready_wait; where nobody tells that, such time is in the others); unknown: nobody can say what ran there. */
  readonly behind: string;
  /** The thread (key) that ran there; 0: the CPU was idle, or parked; null: throttled, or nobody can say. */
  readonly thief: number | null;
  /** The kernel's number of that thread. */
  readonly thief_tid: number | null;
  /** Its dynamic priority on the kernel's scale, where told. */
  readonly thief_prio: number | null;
  /** Of the run queue's CPU, 0 = slowest class of the machine; null: nobody told on whose run queue it was. */
  readonly core_class: number | null;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string | null;
  /** How long. */
  readonly ready_ns: number;
}

/** What made each thread leave its CPU, how often, and what it did until its next change of state. Preempted for one of higher priority, or (as when its time is up) for one of equal or lower priority: see next. Not counted is what the recording began with, what a snapshot may have shown (a thread's first stretch, if it is blocked or exited), and what follows a reported loss with --strict-loss. */
export interface SwitchCauses {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** preempted: the kernel took its CPU. yielded: it called sched_yield. throttled: its cgroup's CPU quota was used up. gave_way: a kernel thread, which no return to user mode can preempt. woken_before_sleep: it was about to wait. blocked, exited. unknown: nobody can say; with the letter R it could still run, and was preempted or yielded. */
  readonly cause: string;
  /** Blocked, exited: the kernel's letter of the state, where it is known. Unknown: R where it left its CPU while it could run. */
  readonly letter: string | null;
  /** Blocked, where callchains were recorded (record --stacks, perf record -g): the system call that waits (read, futex), or page_fault; in a kernel thread the first function that is not the scheduler's. Null where the names of the callchain do not tell: then the letter says all that is known. */
  readonly reason: string | null;
  /** Where it could still run: who came next on that CPU: one of higher, equal or lower dynamic priority, or idle; null where nobody can say. */
  readonly next: string | null;
  /** Where it could still run: the thread (key) that took the CPU; 0: the CPU went idle; null: nobody can say. */
  readonly preemptor: number | null;
  /** How often. */
  readonly count: number;
  /** Ready from then on; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** Blocked from then on. */
  readonly blocked_ns: number;
  /** Unknown from then on. */
  readonly unknown_ns: number;
}

/** How often and for how long each thread was blocked until somebody woke it, by who did, and what that one did meanwhile: had it run sooner, the wait might have been shorter. A wait that the time asked for cuts counts with what lies within, one that lasts to its end not at all. No rows where the source has no wakings. */
export interface Waits {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** The thread (key) that ended the wait; 0: an interrupt (a device, a timer); null: not told. */
  readonly waker: number | null;
  /** The kernel's letter of the state in which it waited, where it is known. */
  readonly letter: string | null;
  /** Where callchains were recorded: the system call that waits, or page_fault; in a kernel thread the first function that is not the scheduler's. Null where the names of the callchain do not tell. */
  readonly reason: string | null;
  /** How often. */
  readonly waits: number;
  /** Of waits, those that the waker ended with another thread's, as at a barrier: whom it woke before or next had not waited again by then. Null without a waker. */
  readonly together: number | null;
  /** For how long in all. */
  readonly blocked_ns: number;
  /** Of blocked_ns, that in which the waker ran, as far as its last 32 stretches before the waking tell; null without a waker. */
  readonly waker_running_ns: number | null;
  /** That in which it was ready after it had left its CPU while it could run. */
  readonly waker_preempted_ns: number | null;
  /** That in which it was ready for any other reason, as after a waking. */
  readonly waker_ready_ns: number | null;
  /** That in which it waited itself. */
  readonly waker_blocked_ns: number | null;
}

/** How often each thread came to run on a CPU other than the one it was on last, by the nearest that the two CPUs have in common as far as the machine is known. Each migration is in one column; they sum to migrations. Over the whole recording migrations is less than in the table threads by the switch-ins elsewhere that a broken link made unknown or that lasted no time, and more by those before which a broken link hides where it had gone. Of a thread that is ready when the time asked for begins nobody says here where it was, so its first switch-in is not counted. */
export interface Migrations {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** In all. */
  readonly migrations: number;
  /** To a sibling, on the same physical core. */
  readonly same_core: number;
  /** To another core of the same type that shares the L2 cache. */
  readonly same_l2: number;
  /** To another core of the same type that shares the L3 cache and no nearer one. */
  readonly same_l3: number;
  /** To another core of the same type and package, with no shared cache that anybody told. */
  readonly same_type: number;
  /** To a core of a faster class. */
  readonly to_faster: number;
  /** To a core of a slower class. */
  readonly to_slower: number;
  /** To a core of the same type in another package, with no shared cache. */
  readonly other_package: number;
  /** Nothing is known of one of the CPUs that could tell. */
  readonly unknown: number;
}

/** How often any thread moved from one CPU to another: the table migrations by its two ends. */
export interface MigrationMatrix {
  /** The CPU that the thread was on last. */
  readonly from_cpu: number;
  /** The CPU that it came to run on. */
  readonly to_cpu: number;
  /** What the two have in common: a column of the table migrations. */
  readonly edge: string;
  /** How often. */
  readonly migrations: number;
}

/** How long each thread ran from a switch-in to its switch-out, on each class of cores, by length in powers of two. What was not seen from begin to end (the time asked for, the recording or a loss cuts it, a snapshot shows it, it was inferred) has no length and is in rows of its own, so that running_ns sums to all of the running time. */
export interface RunLengths {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** 0 = slowest class of the machine; null where the source does not say on which CPU. */
  readonly core_class: number | null;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string | null;
  /** The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length. */
  readonly from_ns: number | null;
  /** The first length beyond this row; null: cut. */
  readonly to_ns: number | null;
  /** How often it ran for so long; of those that are cut, the pieces. */
  readonly runs: number;
  /** For how long in all. */
  readonly running_ns: number;
  /** Of runs, those that began with a waking; null where the source has none. */
  readonly after_wake: number | null;
  /** For how long these ran in all. */
  readonly after_wake_ns: number | null;
}

/** How long each thread ran and was ready at each dynamic priority. A stretch counts at the priority that the source told last before its end. */
export interface PriorityResidency {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On the source's scale (Linux: 0–99 real time, 100–139 fair; lower is better); null where not told. */
  readonly prio: number | null;
  /** On a CPU. */
  readonly running_ns: number;
  /** Could run, but did not; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** Of the thread's running time; null where it has none. */
  readonly share: number | null;
}

/** Which threads ran at a priority that another one lent them, and what they did meanwhile: the other one waited for a lock of theirs, with priority inheritance (PTHREAD_PRIO_INHERIT). Of boosts that lent nothing better than the thread's own priority there is no row. A boost that began before the recording is not seen. Among threads without a real-time priority (100 and above) Linux lends the number alone: their shares follow their own nice values. */
export interface PriorityInheritance {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** The thread that lent its priority; null where it was not recorded: recordings by corewise have it. */
  readonly donor: number | null;
  /** The thread's own priority meanwhile, the best if it changed (Linux: 0–99 real time, 100–139 fair). */
  readonly own_prio: number;
  /** The best priority that it was lent. */
  readonly inherited_prio: number;
  /** How often the donor began to lend within the time asked for. */
  readonly boosts: number;
  /** How long the priority was lent. */
  readonly boosted_ns: number;
  /** Of boosted_ns, it was on a CPU. */
  readonly running_ns: number;
  /** It was ready, in spite of the priority lent; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** It was blocked itself. */
  readonly blocked_ns: number;
}

/** CPU time by class of the priority of who ran, in twenty equal parts of the time: in each, the times sum to that of all CPUs. By dynamic priority on Linux's scale, as it was told last before a stretch's end. */
export interface PriorityClasses {
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** Threads of the deadline class ran (-1). */
  readonly deadline_ns: number;
  /** Real-time ones (0–99). */
  readonly real_time_ns: number;
  /** Fair ones of a nice value below 0 (100–119). */
  readonly high_ns: number;
  /** Fair ones of nice 0 (120). */
  readonly normal_ns: number;
  /** Fair ones of a nice value above 0 (121–139). */
  readonly low_ns: number;
  /** Threads of which nobody told the priority. */
  readonly untold_ns: number;
  /** CPUs idled. */
  readonly idle_ns: number;
  /** Nobody can say what CPUs did. */
  readonly unknown_ns: number;
}

/** How each thread was set to be scheduled, a row for each stretch of equal settings. Of time in which nothing was told of a thread there is no row; what was told holds until something else is. */
export interface ThreadScheduling {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** other, fifo, rr, batch, idle, deadline or ext (Linux); null where not told. */
  readonly policy: string | null;
  /** −20 (most) to 19 (least); it counts among the threads of a cgroup, or of an autogroup. */
  readonly nice: number | null;
  /** Its own priority, without what a lock's waiters lend it: 0–98 real time, 100–139 fair (120 + nice), −1 deadline. */
  readonly static_prio: number | null;
  /** Of 1024, the capacity that it asks for at least (sched_util_min). */
  readonly uclamp_min: number | null;
  /** At most (sched_util_max). */
  readonly uclamp_max: number | null;
  /** The path of its cgroup; its number where no path was told. */
  readonly cgroup: string | null;
  /** The share of that cgroup beside its siblings (cpu.weight), 100 by default. */
  readonly cgroup_weight: number | null;
}

/** How long each thread ran on the CPU that it was told to be best on, near it, and elsewhere, as it was told at each time: these sum to its running time. Threads of which it was never told have no row. Windows tells it (the ideal processor), Linux has no such thing. */
export interface IdealCpu {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On the ideal CPU. */
  readonly ideal_ns: number;
  /** On a sibling of it, on the same physical core. */
  readonly same_core_ns: number;
  /** On another core that shares its L2 cache (of a cluster of cores). */
  readonly same_l2_ns: number;
  /** On another one that shares its L3 cache. */
  readonly same_l3_ns: number;
  /** On any other. */
  readonly elsewhere_ns: number;
  /** Before it was told, or where nobody tells what the two CPUs share. */
  readonly unknown_ns: number;
  /** Of ideal_ns in its running time; null where it did not run. */
  readonly share: number | null;
  /** Of its running time, while the ideal CPU was none of those on which it is known to be allowed: what the scheduler then takes for it instead, nobody says. */
  readonly not_allowed_ns: number;
}

/** Who woke whom: the wakings that made a thread ready, and for how long it then was. A waking that came while the thread was ready, or ran and went on, changed nothing and is not counted, nor is one before the time asked for; the ready time that followed counts as far as it lies within. */
export interface Wakers {
  /** The thread (key) that ran when the other was woken; 0: it was an interrupt, since no thread ran there, or since the source tells (its flags; not all have them); null: not told. */
  readonly waker: number | null;
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** How often. */
  readonly wakings: number;
  /** Of these, to the run queue of the CPU on which the waker ran. */
  readonly same_cpu: number;
  /** To another run queue. */
  readonly other_cpu: number;
  /** Where the waker ran, or the run queue, is not told. */
  readonly unknown_cpu: number;
  /** How long the thread was ready after these wakings. */
  readonly ready_ns: number;
}

/** How long each CPU was idle from one thread to the next, by length in powers of two. What was not seen from begin to end (the time asked for, the recording or unknown time cuts it) has no length and is in a row of its own, so that idle_ns sums to all of the idle time. */
export interface IdlePeriods {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length. */
  readonly from_ns: number | null;
  /** The first length beyond this row; null: cut. */
  readonly to_ns: number | null;
  /** How often it was idle for so long; of those that are cut, the pieces. */
  readonly periods: number;
  /** For how long in all. */
  readonly idle_ns: number;
}

/** What ended the idle periods of each CPU, by what made the thread ready that ran there next: whose waking costs the           machine its sleep. Its periods and idle_ns sum to those of the table idle_periods. An interrupt that woke no thread           ends none of them, though it ends a stay in an idle state (see the table idle_residency). */
export interface IdleWakeups {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** thread: another thread woke it; interrupt: an interrupt did (a device's, a timer's; see the table wakers), or its              CPU idled; untold: it was woken, nobody knows by whom; new: the first waking of its life; pulled: it was switched out              on another CPU while it could run; requeued: on this one; unknown: nobody can say why it could run; cut: nobody saw              the end (the time asked for, the recording or unknown time cuts it). */
  readonly cause: string;
  /** thread and new: the thread (key) that woke it, where told. */
  readonly waker: number | null;
  /** The first interrupt after the CPU had entered its last idle state of the period: a device's by its name (else irq and its number), softirq and its vector's name, timer and the function that it called (where told), ipi and why another CPU sent it. Null: none was told, or no idle state was. */
  readonly interrupt: string | null;
  /** How many idle periods ended so. */
  readonly periods: number;
  /** Of these, those whose thread had become ready on the run queue of another CPU. */
  readonly elsewhere: number;
  /** For how long the CPU had been idle, in all. */
  readonly idle_ns: number;
}

/** Which interrupts came upon each thread, and for how long their handlers ran on its CPU while it was there: part of its running_ns, in which it did nothing (exec_ns of the table threads is without it where the kernel keeps account of interrupts). A handler counts that was seen from begin to end; what lies within another one is the inner one's. No rows where the source does not tell of interrupts (record --irq). */
export interface Interrupts {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** device, softirq, timer (the function that it called, or its own interrupt), or ipi (sent by another CPU). */
  readonly kind: string;
  /** device: the interrupt's; softirq: the vector's; else null. */
  readonly number: number | null;
  /** What it is called, as in the table idle_wakeups. */
  readonly interrupt: string;
  /** How often it began while the thread was on that CPU. */
  readonly count: number;
  /** How long its handlers ran. */
  readonly handler_ns: number;
  /** The longest one. */
  readonly longest_ns: number;
}

/** Requests to block devices by device, operation and the thread that issued them, how long they took from issue to completion, and for how long that thread was blocked while one of them was under way. A thread that reads mostly issues its own requests; written data mostly is issued by a kernel thread, so that a thread which waits for it has no row. */
export interface BlockIo {
  /** The device by its numbers, as lsblk prints them. */
  readonly device: string;
  /** read, write, flush, discard or other. */
  readonly operation: string;
  /** The thread that issued them; null: an interrupt did, or it is not known. */
  readonly thread: number | null;
  /** Requests issued within the time asked for. */
  readonly requests: number;
  /** How much of the device they are about. */
  readonly bytes: number;
  /** Requests done within the time asked for, whenever they were issued. */
  readonly completed: number;
  /** From issue to completion, summed over requests, as far as it lies in the time asked for. */
  readonly io_ns: number;
  /** The longest of those that were issued and done within it; null: there is none. */
  readonly longest_ns: number | null;
  /** The thread was blocked while at least one of these requests was under way: it waited for the device, or for something else at the same time. Null without a thread. */
  readonly blocked_ns: number | null;
  /** Completions of requests whose issue was not recorded: from before the recording, too many at once, or, as a write that only asks for a flush, never issued as such. */
  readonly unissued: number;
}

/** How long each CPU was in each of its idle states (cpuidle), as its power events tell, while no thread ran on it. Time in which it is known to be idle, but in no state that was told, has a row of its own. */
export interface IdleResidency {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** The number of the idle state; null: idle, but no state was told. */
  readonly state: number | null;
  /** What the kernel's driver calls it, where the machine's description says. */
  readonly state_name: string | null;
  /** How long a CPU must stay in it for it to save energy, where the machine's description says. */
  readonly target_residency_ns: number | null;
  /** How often it was entered; null where no state was told. */
  readonly entries: number | null;
  /** For how long it was in it. */
  readonly residency_ns: number;
  /** The longest stay; null: none was seen from begin to end. */
  readonly longest_ns: number | null;
  /** Of the stays that were seen from begin to end, those shorter than target_residency_ns; null where that is null. */
  readonly too_short: number | null;
}

/** How long each CPU was at each frequency, as its power events tell (cpufreq: what was asked for), and what it did meanwhile. An idle CPU keeps the frequency that it was told last. */
export interface FrequencyResidency {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** The frequency that the source told last; null: none was told yet, or more were told than are kept apart. */
  readonly khz: number | null;
  /** How often it changed to it. */
  readonly changes: number;
  /** For how long it was at it. */
  readonly residency_ns: number;
  /** Of that it ran threads. */
  readonly busy_ns: number;
  /** Of that it was idle. */
  readonly idle_ns: number;
  /** Of that nobody can say what it did. */
  readonly unknown_ns: number;
}

/** How long each thread ran at each frequency, by type of core: frequencies of unequal cores do not compare. */
export interface ThreadByFrequency {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** The frequency that the source told last; null: none was told yet, or more were told than are kept apart. */
  readonly khz: number | null;
  /** For how long it ran. */
  readonly running_ns: number;
}

/** For how long each CPU was parked: the scheduler put no threads there but those bound to it. Windows parks cores; Linux takes CPUs away by hotplug, some Android kernels by isolation. A source tells when that changes: before the first change that it tells of a CPU nobody can say (recordings by corewise tell what each CPU was when they began). parked_ns, unparked_ns and unknown_ns sum to the time asked for; of a CPU of which nothing was told, all but unknown_ns is null. */
export interface Parking {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** Parked. */
  readonly parked_ns: number | null;
  /** Not parked. */
  readonly unparked_ns: number | null;
  /** Nobody can say. */
  readonly unknown_ns: number;
  /** Of parked_ns, a thread ran there nevertheless: one bound to it, or the last to leave. */
  readonly busy_ns: number | null;
  /** How often it came to be parked; not what the time asked for began with. */
  readonly periods: number | null;
  /** The longest period, as far as it lies in the time asked for. */
  readonly longest_ns: number | null;
  /** parked_ns, of the time asked for. */
  readonly share: number | null;
}

/** How many CPUs were parked at once, exactly, of each type of core and of all. Over the rows of a type the durations sum to the time asked for, and parked × duration to the parked_ns of its CPUs in the table parking. A CPU that no other event and no description of the machine names counts from where it is first told of. */
export interface ParkedTogether {
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string | null;
  /** CPUs of this type (core_type null: of all types) that were parked. */
  readonly parked: number;
  /** CPUs of it of which nobody can say. */
  readonly unknown: number;
  /** For how long, in all. */
  readonly duration_ns: number;
}

/** For how long how many cores of each type, and how many CPUs beside the first on them, ran a thread at once. As in concurrency, of the CPUs that have a switch; all columns but unknown add up to its running. */
export interface ConcurrencyBands {
  /** Performance cores with a busy CPU. */
  readonly performance: number;
  /** Middle cores with a busy CPU. */
  readonly middle: number;
  /** Efficient cores with a busy CPU. */
  readonly efficient: number;
  /** Low-power cores with a busy CPU. */
  readonly low_power: number;
  /** Cores with a busy CPU where the machine has one class or nobody told the core's. */
  readonly uniform: number;
  /** Busy CPUs beyond the first of each core. */
  readonly second_siblings: number;
  /** CPUs of which nobody can say. */
  readonly unknown: number;
  /** How long in all. */
  readonly duration_ns: number;
}

/** For how long how many CPUs of each core were busy at once: idle, one busy, many busy and unknown tile the time. */
export interface SmtCores {
  /** The core, by the lowest number of its CPUs. */
  readonly first_cpu: number;
  /** Its CPUs, as the kernel lists them: 0,4 or 0-3. */
  readonly cpus: string;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** How many CPUs it has; null where nobody told: then each CPU stands as a core of its own. */
  readonly siblings: number | null;
  /** None of its CPUs ran a thread. */
  readonly idle_ns: number;
  /** Exactly one of them did. */
  readonly one_busy_ns: number;
  /** Two or more of them did. */
  readonly many_busy_ns: number;
  /** Of one of its CPUs or more nobody can say. */
  readonly unknown_ns: number;
  /** The part of one_busy_ns and many_busy_ns in which every one of its CPUs ran a thread. */
  readonly all_busy_ns: number;
  /** Of two siblings: only the one of the lower number ran a thread; null for other cores. */
  readonly first_alone_ns: number | null;
  /** Of two siblings: only the one of the higher number ran a thread; null for other cores. */
  readonly second_alone_ns: number | null;
}

/** How much of the capacity of each class of cores was used, where a core with all siblings busy does `gain` times the work of one with a single busy sibling: that one is 1/gain used already, and each further busy sibling adds an equal part of the rest. The gain is assumed to be 1.3, as measured on servers (1.33 and 1.29); the work at hand may differ. */
export interface SmtUtilisation {
  /** 0 = slowest class of the machine. */
  readonly core_class: number;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string;
  /** Cores of this class. */
  readonly cores: number;
  /** Their CPUs. */
  readonly cpus: number;
  /** Core time in which it is known of every CPU of the core whether it was busy. */
  readonly known_ns: number;
  /** All other core time; what follows leaves it out. */
  readonly unknown_ns: number;
  /** Busy part of the CPUs' time: the utilisation that counts each CPU as a core. */
  readonly busy_share: number | null;
  /** What a core does with all siblings busy, by what it does with one. */
  readonly gain: number;
  /** Core time, each moment weighed by the part of the core's capacity that was used; rounded. */
  readonly used_ns: number;
  /** used_ns of known_ns. */
  readonly used_share: number | null;
  /** The rest: what could still be done, by what can be done at most. */
  readonly headroom_share: number | null;
}

/** How long each thread ran beside a busy sibling and how long alone on its core: the four times tile running. */
export interface SmtThreads {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On a CPU. */
  readonly running_ns: number;
  /** On a core whose other CPUs were all idle. */
  readonly alone_ns: number;
  /** On a core of which another CPU ran a thread. */
  readonly beside_busy_ns: number;
  /** On a core of which no other CPU is known to have run a thread, but nobody can say of all. */
  readonly beside_unknown_ns: number;
  /** On a core of one CPU, or of which nobody told the siblings. */
  readonly no_sibling_ns: number;
  /** beside_busy_ns of alone_ns and beside_busy_ns. */
  readonly beside_busy_share: number | null;
}

/** How long each thread ran beside each other one on the same core. Beside two at once, the time is in both rows. */
export interface SmtBeside {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** The thread on another CPU of the core. */
  readonly beside_thread: number;
  /** The kernel's number of that thread. */
  readonly beside_tid: number;
  /** How long they ran so. */
  readonly beside_ns: number;
}

/** How long each thread ran from one wait to the next (a CPU burst, whoever ran in between), by the class of core, by what its siblings did meanwhile, and by length in sixteen steps an octave: a thread that does the same work again and again shows how much slower it is on one class than on another, and beside a busy sibling. The rows of a thread sum to its running_ns. */
export interface CpuBursts {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** 0 = slowest class of the machine; null: it ran on several. */
  readonly core_class: number | null;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string | null;
  /** For more than fifteen sixteenths of it: idle: the core's other CPUs were; busy: another one ran a thread; unknown: of one that might have, nobody can say; none: the core is of one CPU, or nobody told of others. Null: now one, now another. */
  readonly sibling: string | null;
  /** The shortest length of this row: 0, 1024, 1088, 1152, …; null: begin or end were not seen, or something between. */
  readonly from_ns: number | null;
  /** The first length beyond this row; null: of no known length. */
  readonly to_ns: number | null;
  /** How often it ran for so long. */
  readonly bursts: number;
  /** For how long in all. */
  readonly running_ns: number;
}

/** How long each thread ran against the order whole fast cores, whole slower cores, busy cores' siblings, while a core before its own was idle on which it was allowed, and was not parked as far as anybody told. While nobody tells where that is (permission_unknown_ns), any core may be: such time counts in the upper end of a range, and not in its lower. in_order_ns, the upper ends and unknown_ns tile running. */
export interface Placement {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On a CPU. */
  readonly running_ns: number;
  /** No core before its own was idle where it was allowed. */
  readonly in_order_ns: number;
  /** On a core while a whole one of a faster class was idle where it is known to be allowed. */
  readonly slower_core_lower_ns: number;
  /** The same, and while nobody told where it was allowed. */
  readonly slower_core_upper_ns: number;
  /** Beside a busy sibling while, of the cores where it is known to be allowed, none of a faster class was known to be idle, but a whole one of its own class was. */
  readonly busy_sibling_lower_ns: number;
  /** The same, and while nobody told where it was allowed. */
  readonly busy_sibling_upper_ns: number;
  /** Beside a busy sibling while, of the cores where it is known to be allowed, none of its class or a faster one was known to be idle, but a whole one of a slower class was. */
  readonly skipped_slower_lower_ns: number;
  /** The same, and while nobody told where it was allowed. */
  readonly skipped_slower_upper_ns: number;
  /** Nobody can say, of its own core or of others, whether it was one of these. */
  readonly unknown_ns: number;
  /** Of slower_core_lower_ns, what the fastest idle class would have saved by the kernel's capacities; null where these do not tell both classes. */
  readonly cost_lower_ns: number | null;
  /** The same of slower_core_upper_ns. */
  readonly cost_upper_ns: number | null;
  /** Of running_ns, while nobody told on which CPUs the thread was allowed. */
  readonly permission_unknown_ns: number;
  /** Of busy_sibling_lower_ns, on a CPU onto which the thread was woken while it idled beside a busy sibling, and a whole core of the class idled for which no thread was queued; until the thread waits again or runs elsewhere. */
  readonly woken_sibling_lower_ns: number;
  /** The same of busy_sibling_upper_ns. */
  readonly woken_sibling_upper_ns: number;
}

/** Of each thread that ran on a core of a class slower than the fastest, what was on faster cores meanwhile: an idle one where it is allowed, an idle one where it is not, or one that a thread of lower priority had. A core of which every CPU is parked is not idle. The five times tile running_ns, and faster_idle_ns is slower_core_lower_ns of the table placement. No rows where the machine has one class, or nobody told of more. */
export interface SlowerCores {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** On a core of another class than the fastest. */
  readonly running_ns: number;
  /** While a whole core of a faster class was idle where it is known to be allowed. */
  readonly faster_idle_ns: number;
  /** While only such cores of faster classes were idle where it is not allowed. */
  readonly faster_not_allowed_ns: number;
  /** While none of them was idle, but on a CPU of one where it is allowed a thread ran whose dynamic priority is lower (a greater number), both priorities being told. */
  readonly faster_lower_ns: number;
  /** While none of these is known. */
  readonly none_ns: number;
  /** While nobody told on which CPUs it was allowed. */
  readonly permission_unknown_ns: number;
  /** Of faster_not_allowed_ns, what the fastest of those classes would have saved by the kernel's capacities; null where these do not tell both classes. */
  readonly not_allowed_cost_ns: number | null;
  /** The same of faster_lower_ns. */
  readonly lower_cost_ns: number | null;
}

/** How long the stretches took that a thread or process marked, by name, and what the thread did meanwhile. A stretch within another is a part of both. */
export interface Marks {
  /** The thread that marked them; null: they are of a process or of the machine. */
  readonly thread: number | null;
  /** The process, where told. */
  readonly pid: number | null;
  /** What the program calls them. */
  readonly name: string | null;
  /** Stretches that ended, and moments. */
  readonly count: number;
  /** Stretches that had not ended at the end, counted up to there. */
  readonly open: number;
  /** From begin to end, in all. */
  readonly duration_ns: number;
  /** The longest one. */
  readonly longest_ns: number;
  /** Of that the thread was on a CPU. */
  readonly running_ns: number | null;
  /** Of that it could run, but did not; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** Of that it waited for something. */
  readonly blocked_ns: number | null;
  /** Of that nobody can say what it did. */
  readonly unknown_ns: number | null;
}

/** For how long which threads were on the critical path, and what they did there: the table critical_path in sums, the thread with the most first. path_ns sums to the time asked for. */
export interface CriticalByThread {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number | null;
  /** On the path; the times below sum to it, but for beside_busy_ns. */
  readonly path_ns: number;
  /** Of the time asked for. */
  readonly share: number;
  /** Ran there on a core of type performance. */
  readonly running_performance_ns: number;
  /** Ran there on one of type middle. */
  readonly running_middle_ns: number;
  /** Ran there on one of type efficient. */
  readonly running_efficient_ns: number;
  /** Ran there on one of type low_power. */
  readonly running_low_power_ns: number;
  /** Ran there where one class of cores or none is known, or on nobody knows which CPU. */
  readonly running_uniform_ns: number;
  /** Of all its running time there, that in which a sibling was busy. */
  readonly beside_busy_ns: number;
  /** Was ready there behind another thread, or nobody can say behind what. */
  readonly ready_ns: number;
  /** Was ready there while the CPU of its run queue was idle. */
  readonly wakeup_latency_ns: number;
  /** Its cgroup's CPU quota held it there, where that is told; else it is in the two before. */
  readonly throttled_ns: number;
  /** Was blocked there. */
  readonly blocked_ns: number;
  /** Had exited. */
  readonly exited_ns: number;
  /** Nobody can say what it did. */
  readonly unknown_ns: number;
  /** How often the path came to it. */
  readonly visits: number;
}

/** The chain of threads that determined when a thread came where it was at the end of the time asked for (the critical path of Yang and Miller, 1988), piece by piece in order of time: the pieces tile that time. Going back from the end, the path stays with a thread while it runs and while it is ready; where it was woken by another thread, the path goes over to that one at the instant of the waking, also where that leads further back than the wait. A wait that an interrupt ended, or nobody knows who, stays on the path as blocked. Of sources without flags (see the table wakers) a waking by an interrupt that came upon a running thread is told as that thread's. A waking that no ready time followed leaves no trace of its waker. Whose end it is, is said beside the time (corewise table --thread TID, the last life of that number); unsaid, of the threads that run at the end the one that came to run last, or where none does, the one that ran last: of those of the program that the recording was made for, where it is known and any of them ran, else of all; no rows where none ran. */
export interface CriticalPath {
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number | null;
  /** running; ready: another ran on the CPU of its run queue, or nobody can say what did, or that CPU was parked; wakeup_latency: ready while that CPU was idle; throttled: ready, and held by its cgroup's CPU quota; blocked (in a source without wakings, until it ran again); exited; unknown, without a reason: before its life began. */
  readonly state: string;
  /** Running: where. Ready, wakeup_latency and throttled: on whose run queue, where told. Else null. */
  readonly cpu: number | null;
  /** performance, middle, efficient, low_power, or uniform where one class or none is known. */
  readonly core_type: string | null;
  /** Running: another CPU of that core was busy; idle: none was; unknown: nobody can say; null: it has none that anybody told. */
  readonly sibling: string | null;
  /** Running: the frequency that was told of that CPU last; null: none was. */
  readonly freq_khz: number | null;
  /** Ready: the thread (key) that ran on the CPU of its run queue; null: nobody can say. */
  readonly behind: number | null;
  /** Why, as in the table thread_state. */
  readonly reason: string | null;
  /** Ready since a waking: the thread (key) that woke it, from which the path comes. Blocked: who ended that. 0: an interrupt did; null: nobody, or nobody knows who. */
  readonly waker: number | null;
  /** Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told. */
  readonly prio: number | null;
}

/** The slowest of the frames that took longer than their budget, and why: the critical path to the end of each (see the table critical_path), cause by cause, beside that of typical frames, the cause that took most more first. Frames are the stretches that a program marked (corewise table --frames-of NAME), else those of a frame log that was recorded beside the threads; they count if they began and ended within the time asked for. The budget is what --budget says, 1/60 s say for a display of 60 Hz, since no source tells the display's rate; without it, the median frame time. Typical are those whose times are nearest the median, one of eight frames, nine at most. Ten frames are told (--slowest). The path leads to the end of the thread that marked the frame; of a frame of a process (of a log that does not tell it: of the program that the recording was made for) to that of its thread that ran last within the frame; --thread says another, and where nothing says whose, all of it is unknown. No rows where no frame took longer. */
export interface SlowFrames {
  /** 1: the slowest. */
  readonly rank: number;
  /** What it is called: the mark, or the program of the log. */
  readonly name: string | null;
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number | null;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** The frame time; time_ns sums to it. */
  readonly frame_ns: number;
  /** What it might have taken. */
  readonly budget_ns: number;
  /** By so much it took longer. */
  readonly over_ns: number;
  /** What happened on its path: running; running_beside_busy: running while a sibling was busy; ready: another ran on the CPU of its run queue, or nobody can say what did; wakeup_latency: ready while that CPU was idle; throttled: held by its cgroup's CPU quota; blocked; exited; unknown. */
  readonly cause: string;
  /** Running: on cores of this type; null: nobody knows on which. */
  readonly core_type: string | null;
  /** Ready: the thread (key) that ran instead; null: nobody can say. */
  readonly behind: number | null;
  /** For how long, in this frame. */
  readonly time_ns: number;
  /** For how long in a typical frame, in the mean; sums to their mean time. */
  readonly typical_ns: number;
  /** time_ns less typical_ns; sums to what the frame took longer than a typical one. */
  readonly more_ns: number;
  /** more_ns, of that sum; less than 0 where the cause took less than usual. */
  readonly share: number | null;
}

/** Every stretch that a thread or process marked, in order of end, and what the thread did meanwhile: a frame each, where a program marks its frames. */
export interface MarkStretches {
  /** The thread that marked it; null: it is of a process or of the machine. */
  readonly thread: number | null;
  /** The process, where told. */
  readonly pid: number | null;
  /** What the program calls it. */
  readonly name: string | null;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** Whether its end was marked; otherwise it goes up to the recording's. */
  readonly ended: boolean;
  /** From begin to end. */
  readonly duration_ns: number;
  /** Of that the thread was on a CPU. */
  readonly running_ns: number | null;
  /** Of that it could run, but did not; null where the source has no wakings. */
  readonly ready_ns: number | null;
  /** Of that it waited for something. */
  readonly blocked_ns: number | null;
  /** Of that nobody can say what it did. */
  readonly unknown_ns: number | null;
}

/** Every parallel region: while two threads or more of a process have stretches of one name marked, from the first begin to the last end, in order of end. Who begins when all others have ended, within a second, is of it too where it had no CPU meanwhile: it was ready then, and had been for half of the region. A thread arrives with the end of its last stretch, and waits for the last to arrive (the tail of a barrier). What could be recovered is an estimate: recoverable_from_ns to recoverable_to_ns, had the work been handed out such that all arrive at once. With n chunks, handed out one by one, up to slowest_ns / n of that is left, while the last chunk is done on whatever is slowest; what handing out costs is in none of these. Of regions that the time asked for cuts there are no rows. */
export interface ParallelRegions {
  /** The process, where told. */
  readonly pid: number | null;
  /** What the program calls the stretches. */
  readonly name: string;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** Threads that marked such stretches; tracks, where they are of no thread. */
  readonly threads: number;
  /** How many they marked, those within others not counted: the chunks, where each is marked. */
  readonly stretches: number;
  /** How long these took, in all. */
  readonly worked_ns: number;
  /** When the first thread arrived. */
  readonly first_arrival_ns: number;
  /** From then to the last arrival. */
  readonly tail_ns: number;
  /** From each thread's arrival to the last one, in all. */
  readonly waiting_ns: number;
  /** For how long in all cores of type performance idled within the tail, each counted by itself. */
  readonly idle_performance_ns: number;
  /** Those of type middle. */
  readonly idle_middle_ns: number;
  /** Those of type efficient. */
  readonly idle_efficient_ns: number;
  /** Those of type low_power. */
  readonly idle_low_power_ns: number;
  /** Those of machines of one type, or of none that is known. */
  readonly idle_uniform_ns: number;
  /** For how long in all nobody can say of cores whether they idled. */
  readonly idle_unknown_ns: number;
  /** By so much sooner all would have arrived at once: if all threads go equally fast (waiting_ns / threads), or if each stretch is as much work as any other, so that who took longer for each goes slower; the less one. */
  readonly recoverable_from_ns: number;
  /** The greater one. */
  readonly recoverable_to_ns: number;
  /** Of waiting_ns, that in which those who waited ran: they spun, or did other work; null where stretches are of no thread. */
  readonly waiting_running_ns: number | null;
  /** For how long the last to arrive had been ready since its part began, and at once before that while another had arrived; the least of those that came last; null where the source has no wakings, or stretches are of no thread. */
  readonly last_ready_ns: number | null;
  /** What all of the work takes one thread alone that goes as the slowest does. */
  readonly slowest_ns: number;
}

/** How long the stretches took that programs marked (frames, where they mark those), by how many CPUs were parked meanwhile: in the mean over each stretch's time, to the nearest whole number. Only those that began and ended within the time asked for. No rows where nobody tells of parking. */
export interface FramesParked {
  /** What the program calls them. */
  readonly name: string | null;
  /** CPUs that were parked, in the mean over one stretch, to the nearest whole number. */
  readonly parked: number;
  /** CPUs of which nobody can say, likewise. */
  readonly unknown: number;
  /** Stretches of so many. */
  readonly frames: number;
  /** CPUs that were parked, in the mean over the time of all of them. */
  readonly mean_parked: number;
  /** The most that were parked at once during any of them. */
  readonly most_parked: number;
  /** From begin to end, in all. */
  readonly duration_ns: number;
  /** The mean of them, to the nanosecond below. */
  readonly mean_ns: number;
  /** The least time that 95 of 100 did not exceed (the nearest rank), or up to precision_ns more. */
  readonly p95_ns: number;
  /** The longest one. */
  readonly longest_ns: number;
  /** What one might have taken: what --budget says, else the median of all stretches of this name. */
  readonly budget_ns: number;
  /** Of frames, those that took longer; those that may have, by less than precision_ns, do not count. */
  readonly over_budget: number;
  /** 0, but where there are more different times than are told apart. */
  readonly precision_ns: number;
}

/** The frames of each swap chain: how many, how long, and what bound them. Where there are more than 1,000, the further ones are one row without a name. */
export interface FrameSums {
  /** The program, where told. */
  readonly application: string | null;
  /** Its process, where told. */
  readonly pid: number | null;
  /** The address of the swap chain, where told. */
  readonly swap_chain: string | null;
  /** Frames. */
  readonly frames: number;
  /** Of these, those whose frame time is told: the times below are theirs. */
  readonly timed: number;
  /** Their frame times, in all. */
  readonly frame_ns: number;
  /** The mean frame time. */
  readonly mean_ns: number | null;
  /** Frames a second: one by the mean frame time. */
  readonly fps: number | null;
  /** The frame time that half of them do not exceed. */
  readonly median_ns: number | null;
  /** The frame time that 99 of 100 do not exceed. */
  readonly p99_ns: number | null;
  /** The frame time that 999 of 1,000 do not exceed. */
  readonly p999_ns: number | null;
  /** By so much the last three may be less than they are told; 0: they are exact. */
  readonly precision_ns: number;
  /** The longest frame time. */
  readonly longest_ns: number | null;
  /** The mean of gpu_busy_ns, of frames that tell it. */
  readonly mean_gpu_busy_ns: number | null;
  /** Frames that were never shown. */
  readonly not_displayed: number;
  /** Frames bound by the GPU. */
  readonly gpu_bound: number;
  /** Frames bound by the CPU. */
  readonly cpu_bound: number;
  /** Frames of which that cannot be told. */
  readonly unknown_bound: number;
}

/** Every frame that a frame log (PresentMon's, MangoHud's) tells of, in order of begin. What its log does not tell is null. */
export interface Frames {
  /** Which row of the log, from 0. */
  readonly frame: number;
  /** The program, where told. */
  readonly application: string | null;
  /** Its process, where told. */
  readonly pid: number | null;
  /** The address of the swap chain, where told. */
  readonly swap_chain: string | null;
  /** When it began. */
  readonly start_ns: number;
  /** The frame time: from its begin to that of the next one. A log that tells of presents only has the time since the frame before was handed in. */
  readonly frame_ns: number | null;
  /** When it was handed in (Present was called). */
  readonly present_ns: number | null;
  /** Since the frame before was handed in. */
  readonly between_presents_ns: number | null;
  /** From its begin to present_ns: the CPU worked on it. */
  readonly cpu_busy_ns: number | null;
  /** Within the call of Present. */
  readonly in_present_ns: number | null;
  /** From present_ns until the GPU began; negative where it began earlier. */
  readonly until_render_start_ns: number | null;
  /** From present_ns until the GPU had finished. */
  readonly until_render_complete_ns: number | null;
  /** The GPU worked on it. */
  readonly gpu_busy_ns: number | null;
  /** From present_ns until it was shown. */
  readonly until_displayed_ns: number | null;
  /** Since the last frame before it that was shown; where the log does not tell that, by the times at which both were shown. */
  readonly between_display_change_ns: number | null;
  /** It was shown. */
  readonly displayed_for_ns: number | null;
  /** between_display_change_ns less gpu_busy_ns; null where the GPU was busy for longer than that, since it then worked on this frame while others were shown. */
  readonly gpu_idle_ns: number | null;
  /** Whether it was shown. */
  readonly displayed: boolean | null;
  /** gpu: gpu_idle_ns is 0, up to the log's rounding (1 us). cpu: it is more, this frame and the one shown before it were shown as soon as the GPU had finished them, and none was dropped between, so the GPU had nothing to do. unknown: neither can be told, as where a finished frame waited for the display. */
  readonly bound: string;
  /** How it came to the screen, in the log's words. */
  readonly present_mode: string | null;
}

/** Where the source reports lost events: from the last event delivered before to the first one after. */
export interface Loss {
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** Whose buffer; null: any CPU's. */
  readonly cpu: number | null;
  /** How many, null where the source does not count them. */
  readonly events: number | null;
}

/** Every stretch of every thread, in order of start; a thread's stretches tile its life. */
export interface ThreadState {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** running, ready, blocked, unknown or exited. */
  readonly state: string;
  /** Running: where. Ready: on whose run queue it began. Else: where it was last. */
  readonly cpu: number | null;
  /** Running: the type of that CPU. */
  readonly core_type: string | null;
  /** Why: the kernel's state letter for blocked, else a word. Ready since it left its CPU runnable: preempted, yielded (it called sched_yield), throttled, gave_way (a kernel thread), woken_before_sleep, or left_runnable (the source does not say which). In version 1 "yielded" stood for all of these that the kernel does not mark as preempted. */
  readonly reason: string | null;
  /** Ready: the thread (key) that woke it; 0: an interrupt did. */
  readonly waker: number | null;
  /** Running: what the kernel charged. */
  readonly exec_ns: number | null;
  /** Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told. */
  readonly prio: number | null;
}

/** Every stretch of every CPU, in order of start; a CPU's stretches tile the recording. */
export interface CpuState {
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** busy, idle or unknown. */
  readonly state: string;
  /** Busy: the thread. Idle: 0. Null where unknown. */
  readonly thread: number | null;
}

/** Who ran in time that no chain of switches tells, as far as other events show it: unknown in all other tables, unless --inferred was asked for. */
export interface InferredState {
  /** One life of one thread, numbered by first appearance in the trace; 0 is idle. */
  readonly thread: number;
  /** The kernel's number of the thread; numbers are used again. */
  readonly tid: number;
  /** The kernel's number of the logical processor. */
  readonly cpu: number;
  /** When it began. */
  readonly start_ns: number;
  /** When it ended. */
  readonly end_ns: number;
  /** first_switch: the CPU's first switch takes it out; named: events there name it as the current task. */
  readonly basis: string;
}
