//! Tables of idle states and frequencies.

use super::columns::{CoreType, Count, Cpu, Frequency, Int, Ns, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Time of each CPU by idle state.
    IDLE_RESIDENCY: idle_residency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was in each of its idle states (cpuidle) while no thread ran on it, from its power \
              events. Idle time in no recorded idle state has a row of its own.",
        key: [CPU, STATE],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            STATE: Option<Int> = "Number of the idle state; null: idle, but no state was recorded.",
            STATE_NAME: Option<Word> =
                "Name of the idle state in the kernel's driver; null if the machine description does not have it.",
            TARGET_RESIDENCY_NS: Option<Ns> =
                "Minimum stay in the state that saves energy; null if the machine description does not have it.",
            ENTRIES: Option<Count> = "Number of times the state was entered; null if no state was recorded.",
            RESIDENCY_NS: Ns = "Time in the state.",
            LONGEST_NS: Option<Ns> = "The longest stay with a known begin and end; null if there is none.",
            TOO_SHORT: Option<Count> =
                "Number of stays with a known begin and end that were shorter than `target_residency_ns`; null if \
                 that is null.",
        }
    }
}

table! {
    /// Time of each CPU by frequency.
    FREQUENCY_RESIDENCY: frequency_residency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU had each frequency, from its power events (cpufreq: the frequency that was \
              requested), and its state meanwhile. An idle CPU keeps its last reported frequency.",
        key: [CPU, KHZ],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            KHZ: Option<Frequency>,
            CHANGES: Count = "Number of changes to this frequency.",
            RESIDENCY_NS: Ns = "Time at this frequency.",
            BUSY_NS: Ns = "The part of `residency_ns` in which the CPU ran threads.",
            IDLE_NS: Ns = "The part of `residency_ns` in which the CPU was idle.",
            UNKNOWN_NS: Ns = "The part of `residency_ns` in which the state of the CPU is unknown.",
        }
    }
}

table! {
    /// Running time of each thread by frequency.
    THREAD_BY_FREQUENCY: thread_by_frequency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran at each frequency, by core type, because frequencies of different core types \
              are not comparable.",
        key: [THREAD, CORE_TYPE, KHZ],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_TYPE: CoreType,
            KHZ: Option<Frequency>,
            RUNNING_NS: Ns = "Time the thread ran on cores of this type at this frequency.",
        }
    }
}
