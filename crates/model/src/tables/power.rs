//! Tables of idle states and frequencies.

use super::columns::{CORE_TYPE, CPU, THREAD, TID, count, int, ns, text};
use crate::table::{Col, MadeFrom, TableDef};

const KHZ: Col = int(
    "khz",
    "kHz",
    "The frequency that the source told last; null: none was told yet, or more were told than are kept apart.",
);

/// Time of each CPU by idle state.
pub const IDLE_RESIDENCY: TableDef = TableDef {
    name: "idle_residency",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each CPU was in each of its idle states (cpuidle), as its power events tell, while no thread ran on it. Time \
          in which it is known to be idle, but in no state that was told, has a row of its own.",
    key: &["cpu", "state"],
    cols: &[
        CPU,
        CORE_TYPE,
        int("state", "", "The number of the idle state; null: idle, but no state was told.").or_null(),
        text("state_name", "What the kernel's driver calls it, where the machine's description says.").or_null(),
        ns(
            "target_residency_ns",
            "How long a CPU must stay in it for it to save energy, where the machine's description says.",
        )
        .or_null(),
        count("entries", "How often it was entered; null where no state was told.").or_null(),
        ns("residency_ns", "For how long it was in it."),
        ns("longest_ns", "The longest stay; null: none was seen from begin to end.").or_null(),
        count(
            "too_short",
            "Of the stays that were seen from begin to end, those shorter than target_residency_ns; null where that is null.",
        )
        .or_null(),
    ],
};

/// Time of each CPU by frequency.
pub const FREQUENCY_RESIDENCY: TableDef = TableDef {
    name: "frequency_residency",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each CPU was at each frequency, as its power events tell (cpufreq: what was asked for), and what it did \
          meanwhile. An idle CPU keeps the frequency that it was told last.",
    key: &["cpu", "khz"],
    cols: &[
        CPU,
        CORE_TYPE,
        KHZ.or_null(),
        count("changes", "How often it changed to it."),
        ns("residency_ns", "For how long it was at it."),
        ns("busy_ns", "Of that it ran threads."),
        ns("idle_ns", "Of that it was idle."),
        ns("unknown_ns", "Of that nobody can say what it did."),
    ],
};

/// Running time of each thread by frequency.
pub const THREAD_BY_FREQUENCY: TableDef = TableDef {
    name: "thread_by_frequency",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran at each frequency, by type of core: frequencies of unequal cores do not compare.",
    key: &["thread", "core_type", "khz"],
    cols: &[THREAD, TID, CORE_TYPE, KHZ.or_null(), ns("running_ns", "For how long it ran.")],
};
