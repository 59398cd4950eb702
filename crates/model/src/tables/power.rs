//! Tables of idle states and frequencies.

use super::columns::{CoreType, Count, Cpu, Frequency, Int, Ns, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// Time of each CPU by idle state.
    IDLE_RESIDENCY: idle_residency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was in each of its idle states (cpuidle), as its power events tell, while no thread ran on it. Time \
              in which it is known to be idle, but in no state that was told, has a row of its own.",
        key: [CPU, STATE],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            STATE: Option<Int> = "The number of the idle state; null: idle, but no state was told.",
            STATE_NAME: Option<Text> = "What the kernel's driver calls it, where the machine's description says.",
            TARGET_RESIDENCY_NS: Option<Ns> =
                "How long a CPU must stay in it for it to save energy, where the machine's description says.",
            ENTRIES: Option<Count> = "How often it was entered; null where no state was told.",
            RESIDENCY_NS: Ns = "For how long it was in it.",
            LONGEST_NS: Option<Ns> = "The longest stay; null: none was seen from begin to end.",
            TOO_SHORT: Option<Count> =
                "Of the stays that were seen from begin to end, those shorter than target_residency_ns; null where that is null.",
        }
    }
}

table! {
    /// Time of each CPU by frequency.
    FREQUENCY_RESIDENCY: frequency_residency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was at each frequency, as its power events tell (cpufreq: what was asked for), and what it did \
              meanwhile. An idle CPU keeps the frequency that it was told last.",
        key: [CPU, KHZ],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            KHZ: Option<Frequency>,
            CHANGES: Count = "How often it changed to it.",
            RESIDENCY_NS: Ns = "For how long it was at it.",
            BUSY_NS: Ns = "Of that it ran threads.",
            IDLE_NS: Ns = "Of that it was idle.",
            UNKNOWN_NS: Ns = "Of that nobody can say what it did.",
        }
    }
}

table! {
    /// Running time of each thread by frequency.
    THREAD_BY_FREQUENCY: thread_by_frequency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran at each frequency, by type of core: frequencies of unequal cores do not compare.",
        key: [THREAD, CORE_TYPE, KHZ],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_TYPE: CoreType,
            KHZ: Option<Frequency>,
            RUNNING_NS: Ns = "For how long it ran.",
        }
    }
}
