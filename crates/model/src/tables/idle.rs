//! Tables of what keeps CPUs from being idle.

use super::columns::{
    Bool, CoreType, Count, Cpu, End, FilePath, FunctionName, Int, MappedFile, Ns, PerSecond, Ratio, Start, Thread, Word,
};
use crate::column::table;

table! {
    /// What ended the stays of CPUs in idle states.
    IDLE_ENDS: idle_ends {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "What ended each stay of a CPU in an idle state: an idle period (see the table `idle_periods`) is divided where the CPU \
              enters the next idle state, because an interrupt can wake a CPU that then has nothing to run. `periods` and `idle_ns` \
              sum to those of `idle_periods`. A stay below the target residency of its state cost more energy than it saved; how \
              much is not measured.",
        key: [CPU, STATE, ENDED_BY, INTERRUPT, WAKER, THREAD],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            STATE: Option<Int> = "Number of the idle state that was requested; null: no state was recorded.",
            STATE_NAME: Option<Word> =
                "Name of the idle state in the kernel's driver; null if the machine description does not have it.",
            TARGET_RESIDENCY_NS: Option<Ns> =
                "Minimum stay in the state that saves energy (break-even); null if the machine description does not have it.",
            ENDED_BY: Word =
                "`timer`: the function of a timer. `tick`: the scheduler's tick, with no other timer. `device`: a device's \
                 interrupt. `thread`: a thread on another CPU woke one on this CPU or created it. `ipi`: an interrupt of another CPU \
                 that woke no thread. `interrupt`: another interrupt. `pulled`: a thread that had been switched out on another CPU in \
                 a runnable state. `requeued`: the same, on this CPU. `nothing`: nothing was recorded between this stay and the next. \
                 `not_recorded`: a thread was woken, but the waker was not recorded. `unknown`: the reason why the thread could run \
                 is unknown. `cut`: the end is not in the requested range or the recording, or unknown time hides it.",
            INTERRUPT: Option<Word> =
                "The interrupt, named as in the table `idle_wakeups`: of a timer, its function; for `thread`, the interrupt with which \
                 the waker's CPU ended the stay, null if it needed none (the CPU polled). Null if none was recorded.",
            WAKER: Option<Thread> = "`thread`: key of the thread that woke or created the other one; null otherwise.",
            THREAD: Option<Thread> =
                "Key of the thread that the CPU ran next: of a timer, the one that had set it. Null if the CPU remained idle.",
            PID: Option<Int> = "Process of `thread`; null if not recorded.",
            CGROUP: Option<FilePath> = "Path of the cgroup that `thread` was in last; null if not recorded.",
            STAYS: Count = "Number of stays in the state that ended this way.",
            PERIODS: Count = "Number of idle periods that ended this way: the CPU then ran a thread.",
            IDLE_NS: Ns = "Idle time that ended this way, including that before the state was entered and after it was left.",
            WHOLE: Count = "Number of `stays` of which begin and end are known.",
            STAY_NS: Ns = "Time in the state in these.",
            TOO_SHORT: Option<Count> =
                "Number of `whole` stays that were shorter than `target_residency_ns`; null if that is null.",
            TOO_SHORT_NS: Option<Ns> = "Time in the state in these: idleness that was lost. Null if `target_residency_ns` is.",
            MISSING_NS: Option<Ns> =
                "How much longer these would have had to last to reach `target_residency_ns`, in total; null if that is null.",
        }
    }
}

table! {
    /// Every stay of a CPU in an idle state, and what ended it.
    IDLE_STAYS: idle_stays {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "Every stay of a CPU in an idle state with the idle time around it, and what ended it, in order of end: the rows \
              that the table `idle_ends` sums. The rows of a CPU tile its idle time.",
        key: [CPU, START_NS],
        columns: {
            CPU: Cpu,
            START_NS: Start,
            END_NS: End,
            STATE: Option<Int> = "Number of the idle state that was requested; null: no state was recorded.",
            STAY_NS: Option<Ns> = "Time in the state; null if its begin or end is unknown.",
            ENDED_BY: Word = "As in the table `idle_ends`.",
            INTERRUPT: Option<Word> = "As in the table `idle_ends`.",
            WAKER: Option<Thread> = "As in the table `idle_ends`.",
            THREAD: Option<Thread> = "Key of the thread that the CPU ran next; null if it remained idle.",
            ENDS_PERIOD: Bool = "Whether the idle period was over, too: the CPU then ran a thread, or it is cut.",
        }
    }
}

table! {
    /// How often each CPU was woken.
    CPU_WAKEUPS: cpu_wakeups {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often each CPU was woken from an idle state, by what, and its share of time outside of idle states (C0). The \
              counts sum those of the table `idle_ends`, without `cut`. Rates and shares are of the time in which the state of the \
              CPU is known, so no CPU has more than 100 % of C0, whatever the types of cores.",
        key: [CPU],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            KNOWN_NS: Ns = "Time in which the CPU is known to have run a thread or to have been idle.",
            C0_NS: Option<Ns> =
                "The part of `known_ns` outside of idle states: threads, the idle task itself, and interrupts. Null if no idle \
                 states were recorded.",
            C0_SHARE: Option<Ratio> = "`c0_ns` as a share of `known_ns`.",
            PERIODS: Count = "Number of idle periods that ended with a thread.",
            WAKEUPS: Count = "Number of stays in idle states that ended.",
            WAKEUPS_PER_S: Option<PerSecond> = "`wakeups` per second of `known_ns`; null if that is 0.",
            BY_TIMER: Count = "Wakeups by timers.",
            BY_TICK: Count = "Wakeups by the scheduler's tick.",
            BY_DEVICE: Count = "Wakeups by devices.",
            BY_THREAD: Count = "Wakeups by threads on other CPUs.",
            BY_IPI: Count = "Wakeups by interrupts of other CPUs that woke no thread.",
            BY_OTHER: Count = "All other wakeups.",
            WHOLE: Count = "Number of `wakeups` after stays of which begin and end are known.",
            TOO_SHORT: Option<Count> =
                "Number of `whole` stays that were shorter than the target residency of their state; null if the machine \
                 description has no target residencies.",
            TOO_SHORT_NS: Option<Ns> = "Time in these stays; null as above.",
        }
    }
}

table! {
    /// What each function cost: CPU time, switches and idleness.
    POWER_BY_FUNCTION: power_by_function {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "CPU time, switches and idle wakeups by function and core type. CPU time and cycles are those of the threads, shared out \
              over the functions by samples. Switches, waits and wakeups belong to the function in which the thread \
              waited: the innermost function of the program in the callchain of its switch-out (`record --stacks`), of a kernel thread the \
              first one outside the scheduler. Each column except `idle_wakeups_below` sums to that of all threads; the row without a \
              function has what no sample or callchain shows. Energy by function is not measured.",
        key: [FUNCTION, FILE, CORE_TYPE],
        columns: {
            FUNCTION: Option<FunctionName> = "Name of the function; null if none is known.",
            FILE: Option<MappedFile> = "The mapping that contains it: a file, or `[kernel]`, `[vdso]`, a module; null if unknown.",
            CORE_TYPE: CoreType,
            SAMPLES: Count = "Number of samples in this function.",
            CPU_NS: Ns =
                "Running time: that of each thread on this type of core, shared out by its samples there. An estimate; the sum is exact.",
            CYCLES: Option<Count> =
                "Cycles, shared out like `cpu_ns`; null if cycles were not counted.",
            SYNC_SWITCHES: Count = "Number of switch-outs to wait.",
            WAIT_NS: Ns = "Time blocked after these.",
            PREEMPTION_SWITCHES: Count =
                "Number of switch-outs in a runnable state. Their callchain is not recorded, so all are in the row without a function.",
            INACTIVE_NS: Ns = "Time ready after these.",
            IDLE_WAKEUPS: Count =
                "Number of idle periods that ended because the wait in this function was over; `core_type` is that of the idle CPU.",
            IDLE_WAKEUPS_BELOW: Count =
                "Number of idle periods that ended because a wait was over in this function or in a function that it called.",
            IDLE_NS: Ns = "Idle time that `idle_wakeups` ended.",
            TOO_SHORT: Option<Count> =
                "Number of `idle_wakeups` whose last stay in an idle state was shorter than its target residency; null if the \
                 machine description has none.",
            TOO_SHORT_NS: Option<Ns> = "Time in these stays; null as above.",
        }
    }
}
