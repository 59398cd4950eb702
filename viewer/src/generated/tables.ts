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
  /** Whether it is a kernel thread, as far as its name shows it. */
  readonly is_kernel: boolean;
  /** Running time on efficient and low-power cores; null if the machine has cores of one type only. */
  readonly efficient_ns: number | null;
  /** The number of its group (its process, or all kernel threads) if that has more threads; null if not. */
  readonly group: number | null;
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

/** The slowest frames of a source, the slowest first. */
export interface ListedFrames {
  /** Rank of the frame; 1 is the slowest. */
  readonly rank: number;
  /** First instant. */
  readonly start_ns: number;
  /** First instant after it. */
  readonly end_ns: number;
  /** Frame time. */
  readonly frame_ns: number;
  /** Frame time minus the budget. */
  readonly over_ns: number;
  /** The thread that marked it or does its work; null if unknown. */
  readonly thread: number | null;
  /** Name of the mark, or the program of the frame log. */
  readonly name: string | null;
  /** Number among those of its thread or name, from 1; null for marks and frame logs. */
  readonly number: number | null;
}

/** Every state stretch of every thread, in order of start. The stretches of a thread instance tile its lifetime. */
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
  /** Cause of the state. Blocked: the kernel's state letter. Ready after a switch-out in a runnable state: `preempted`, `yielded` (it called sched_yield), `throttled`, `gave_way` (a kernel thread), `woken_before_sleep`, or `left_runnable` (cause not recorded). In version 1, `yielded` meant all of these that the kernel does not mark as preempted. Unknown since version 3: `cpu_not_recorded` and `no_switch_in`. */
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

/** Each wait of each thread: the system call, what it is for, and which thread ended it, in the order of the ends. For locks, the table `lock_waits` says more of the holder; the table `wait_objects` has the sums. */
export interface ObjectWaits {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** How long it waited, as far as it lies in the requested range. */
  readonly waited_ns: number;
  /** Whether begin and end of the wait lie in the requested range. */
  readonly whole: boolean;
  /** The system call that waits, as in the table `wait_objects`; null if unknown. */
  readonly reason: string | null;
  /** What it waits for, as in the table `wait_objects`, without `other`. */
  readonly kind: string;
  /** Which one, as in the table `wait_objects`; null if `kind` is unknown. */
  readonly object: string | null;
  /** Its path, or its addresses, as in the table `wait_objects`. */
  readonly name: string | null;
  /** Of an epoll set, what became ready in it and ended the wait, with words as in `kind`; null if unknown. */
  readonly ready_kind: string | null;
  /** Which one of its kind. */
  readonly ready_object: string | null;
  /** Its path, or its addresses. */
  readonly ready_path: string | null;
  /** Of a lock, key of the thread that held it when the wait began; null if unknown. */
  readonly holder: number | null;
  /** Key of the thread that ended the wait; 0: an interrupt, as at a timeout; null if unknown. */
  readonly released_by: number | null;
  /** The waiting thread's callchain: its number in the event table `stack`; null if not recorded. */
  readonly stack: number | null;
  /** Path of the source file of the function in the program that waited, as in the table `lock_waits`; null if unknown. */
  readonly source_file: string | null;
  /** The line in it; null without `source_file`. */
  readonly line: number | null;
}

/** Each wait for a lock, in a futex call or of the kernel: which thread held the lock, what that thread did meanwhile, and which thread ended the wait, in the order of the ends. `corewise record` reads the call's address and the words of memory that name a holder (on x86-64 and arm64); recordings of other tools have rows if they have the calls of futex. The holder is the first thread that woke the lock's waiters after the wait began, unless the memory named another one. It is unknown for rwlocks that readers hold. */
export interface LockWaits {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** How long it waited, as far as it lies in the requested range. */
  readonly waited_ns: number;
  /** Whether begin and end of the wait lie in the requested range. */
  readonly whole: boolean;
  /** Process ID; null if not recorded. */
  readonly pid: number | null;
  /** Address of the lock's futex word, in its process; of a lock of the kernel, a number within the recording. */
  readonly lock: string;
  /** `mutex`, `pi_mutex` (its holder inherits priority), `rwlock`; locks of the kernel: `kernel_mutex`, `kernel_rwlock`. */
  readonly kind: string;
  /** Key of the thread that held the lock when the wait began; null if unknown. */
  readonly holder: number | null;
  /** `memory`: the memory named the holder, and it was the first to wake the lock's waiters. `release`: the memory names no thread (as with Rust's standard library, or if only calls were recorded), and it was the first to wake them; a mutex with waiters is not given back without that. */
  readonly basis: string | null;
  /** Key of the thread that the memory named when the wait began, whether or not it woke the waiters; null if none. */
  readonly named: number | null;
  /** How long of the wait the holder held it. */
  readonly held_ns: number | null;
  /** The part of `held_ns` in which the holder ran, as far as its last 32 stretches before the end of the part show. */
  readonly holder_running_ns: number | null;
  /** The part of `held_ns` in which the holder was ready. */
  readonly holder_ready_ns: number | null;
  /** The part of `held_ns` in which the holder was blocked itself. */
  readonly holder_blocked_ns: number | null;
  /** What the holder waited for in the longest of these blocked times, as in the column `reason` of the table `waits`. */
  readonly holder_reason: string | null;
  /** How many threads in turn held the lock during the wait, by the wakes of its waiters; 0: none was woken. */
  readonly holders: number;
  /** Key of the thread that ended the wait by waking the lock's waiters; 0: an interrupt, as at a timeout; null: a signal, or unknown. */
  readonly released_by: number | null;
  /** The waiting thread's callchain: its number in the event table `stack`; null if not recorded. */
  readonly stack: number | null;
  /** Where in the program it waited, as in the table `switch_causes`; null without callchains. */
  readonly call_site: string | null;
  /** The holder's callchain in the longest of its own waits meanwhile: its number in the event table `stack`. Null if it did not wait, or that was not recorded: callchains are those of waits, so a holder that only ran has none, and where a thread gave the lock back is not recorded. */
  readonly holder_stack: number | null;
  /** Where in the program the holder waited then. */
  readonly holder_call_site: string | null;
  /** Path of the source file of `call_site`; null if its lines are not known. */
  readonly source_file: string | null;
  /** The line in it; null without `source_file`. */
  readonly line: number | null;
}

/** Each time in which a thread was ready and its cgroup's CPU quota kept it from running, in the order of the ends. The times of a thread sum to its `throttled_ns` in the table `ready_wait`; no rows if throttling was not recorded (recordings by corewise on Linux 6.18 and later have it). */
export interface Throttled {
  /** Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task. */
  readonly thread: number;
  /** Thread ID in the kernel; TIDs are reused. */
  readonly tid: number;
  /** Start time. */
  readonly start_ns: number;
  /** End time. */
  readonly end_ns: number;
  /** How long it was throttled, as far as it lies in the requested range. */
  readonly throttled_ns: number;
  /** Whether begin and end lie in the requested range. */
  readonly whole: boolean;
}
