//! The tables of a catalogue. Each is a folder of Parquet files, partitioned by the host and the date of the recordings.

use model::Kind::{Bool, Float, Int};
use model::{Col, MadeFrom, Shows, TableDef};

/// The columns that the names of the folders have: they are in no file.
pub const PARTITION: [Col; 2] = [
    Col::text("host", Shows::Host, "The recorded machine's host name; null if not recorded.").or_null(),
    Col::text("date", Shows::Nothing, "The day (UTC) on which the recording started; null if not recorded.").or_null(),
];

const PATH: Col = Col::text("path", Shows::Path, "The recording: the path at which it was indexed.");

const fn word(name: &'static str, doc: &'static str) -> Col {
    Col::text(name, Shows::Nothing, doc)
}

const fn ns(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Int, "ns", doc)
}

const fn count(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Int, "count", doc)
}

const fn table(name: &'static str, doc: &'static str, key: &'static [&'static str], cols: &'static [Col]) -> TableDef {
    TableDef { name, version: 1, made_from: MadeFrom::Elsewhere, large: false, doc, key, cols }
}

/// One row for each recording.
pub static RECORDINGS: TableDef = table(
    "recordings",
    "The recordings: machine, length, counts and sums.",
    &["path"],
    &[
        PATH,
        Col::new("id", Int, "", "The trace's ID; null for a file that was not imported.").or_null(),
        word("format", "The format of its source."),
        ns("started_ns", "When it started, since 1970 (UTC); null if not recorded.").or_null(),
        ns("span_ns", "Its length."),
        count("events", "Number of events."),
        count("switches", "Number of context switches."),
        count("wakes", "Number of wakeups."),
        count("frames", "Number of frames of a frame log."),
        count("threads", "Number of thread instances."),
        count("cpus", "Number of CPUs."),
        ns("busy_ns", "Time that CPUs ran a thread, summed over the CPUs."),
        ns("idle_ns", "Time that CPUs were idle, summed over the CPUs."),
        ns("unknown_ns", "Time that CPUs were in an unknown state, summed over the CPUs."),
        ns("lossy_ns", "The part of the times above in which the source reports lost events."),
        ns(
            "ready_ns",
            "Time that threads waited for a CPU, summed over the threads; null if the source has no wakeups.",
        )
        .or_null(),
        count("lost_events", "Number of events that the source reports as lost."),
        count("losses", "Number of times at which events were lost or could not be read."),
        Col::new("consistent", Bool, "", "Whether all exact checks of `corewise verify` hold."),
        Col::text("stopped", Shows::Path, "Why reading it ended early; null if it did not.").or_null(),
        word("machine", "The processor model; null if not recorded.").or_null(),
        word("arch", "The architecture; null if not recorded.").or_null(),
        word("core_types", "The CPUs by core type, such as `8 efficient, 8 performance`."),
        word("kernel", "The release of the kernel; null if not recorded.").or_null(),
        word("corewise", "The version of corewise that recorded it; null if another tool did.").or_null(),
        Col::text("objective", Shows::Name, "What the findings are judged by; null for a frame log.").or_null(),
        count("findings", "Number of findings."),
        word("severity", "The highest severity of a finding; null without findings.").or_null(),
        ns("saving_ns", "The largest potential saving of a finding about the program; 0 without findings."),
        Col::new("bytes", Int, "bytes", "Its size, without tables and levels that can be made again."),
        ns("modified_ns", "When it was last changed, since 1970 (UTC)."),
        word("indexed_by", "The version of corewise that indexed it."),
    ],
);

/// One row for each finding.
pub static FINDINGS: TableDef = table(
    "findings",
    "The findings of `corewise diagnose` on each recording, with default settings.",
    &["path", "number"],
    &[
        PATH,
        Col::new("number", Int, "", "Its number in the recording, in the order of `corewise diagnose`, from 1."),
        word("rule", "The rule (`corewise explain RULE`)."),
        word(
            "subject",
            "What it is about: program, outside (the objective gains nothing from it), recording or conditions.",
        ),
        word("severity", "low, medium or high."),
        word("confidence", "low, medium or high."),
        Col::text("title", Shows::Path, "One sentence with its figures."),
        ns("saving_ns", "How much earlier the thread with the largest saving could be done: the best estimate."),
        ns("saving_low_ns", "The lower bound of that estimate."),
        ns("saving_high_ns", "The upper bound of that estimate."),
        ns("delay_ns", "How long the thread that loses most is delayed."),
        ns("cpu_ns", "The CPU time that the fix saves; null where the rule does not estimate it.").or_null(),
        Col::text("thread", Shows::Name, "The thread with the largest saving; null if it is about none.").or_null(),
        Col::new("tid", Int, "", "The thread's ID; null if it is about none.").or_null(),
        count("threads", "Number of affected threads."),
        word(
            "also_resolved",
            "The rules of findings that the same fix resolves, separated by commas; null if there are none.",
        )
        .or_null(),
        Col::text(
            "evidence",
            Shows::Name,
            "The rows that support it, as JSON, as in `corewise diagnose --format json`.",
        ),
    ],
);

/// One row for each recording and rule, those that found nothing too: what shares of recordings are counted from.
pub static RULES: TableDef = table(
    "rules",
    "What each rule said about each recording: a share of recordings counts only those in which the rule could be checked.",
    &["path", "rule"],
    &[
        PATH,
        word("rule", "The rule."),
        word("outcome", "`found`, `nothing`, or `no data` if the recording lacks what the rule needs."),
        count("findings", "Number of its findings, those included that a fix of another finding resolves."),
        word("severity", "The highest severity of its findings; null without findings.").or_null(),
        ns("saving_ns", "The largest potential saving of its findings; 0 without findings."),
    ],
);

/// One row for each recording and core type.
pub static SUMS: TableDef = table(
    "sums",
    "Time of the CPUs of each core type.",
    &["path", "core_type"],
    &[
        PATH,
        word("core_type", "The core type."),
        count("cpus", "Number of CPUs of this type."),
        ns("running_ns", "Time running a thread, summed over the CPUs."),
        ns("idle_ns", "Idle time."),
        ns("unknown_ns", "Time in an unknown state."),
        ns("lossy_ns", "The part of these times in which the source reports lost events."),
        count("switches", "Number of context switches."),
    ],
);

/// One row for each recording and cause of ready time.
pub static READY: TableDef = table(
    "ready",
    "Time that threads waited for a CPU, by how the wait began, summed over the threads (table `ready_wait`). No rows if the source has no wakeups.",
    &["path", "cause"],
    &[
        PATH,
        word("cause", "How the wait began: woken, preempted, yielded, throttled, gave_way, new, other or unknown."),
        ns("ready_ns", "Time runnable but not running."),
    ],
);

/// One row for each label.
pub static LABELS: TableDef = table(
    "labels",
    "The labels of each recording (`corewise record --label`, `corewise label`).",
    &["path", "key"],
    &[PATH, Col::text("key", Shows::Anything, "The key."), Col::text("value", Shows::Anything, "The value.")],
);

/// One row for each trial of a fix.
pub static TRIALS: TableDef = table(
    "trials",
    "Trials of the fixes of each recording's findings (`corewise try`): how often each rule's advice helps.",
    &["path", "tried_ns"],
    &[
        PATH,
        word("rule", "The rule of the finding."),
        Col::text("thread_name", Shows::Name, "The finding's first thread."),
        word("fix", "The kind of the fix, as in the JSON of `corewise diagnose`."),
        word("verdict", "`helped`, `no effect`, `harmed`, `too few pairs` or `not applied`."),
        count("pairs", "Number of pairs of runs."),
        Col::new("change", Float, "percent", "The change of what was measured; null without one.").or_null(),
        Col::new("change_low", Float, "percent", "The lower end of its 95 % interval.").or_null(),
        Col::new("change_high", Float, "percent", "The upper end of its 95 % interval.").or_null(),
        ns("predicted_ns", "The saving that the finding predicted."),
        ns("predicted_low_ns", "The lower end of its range."),
        ns("predicted_high_ns", "The upper end of its range."),
        ns("saved_ns", "The measured saving; null if no time was measured.").or_null(),
        count("found_without", "Number of runs without the fix that have the finding."),
        count("found_with", "Number of runs with the fix that have it."),
        ns("tried_ns", "When the trial ended, since 1970 (UTC)."),
        word("corewise", "The version of corewise."),
    ],
);

/// One row for each recording that could not be read; not partitioned.
pub static ERRORS: TableDef = table(
    "errors",
    "What could not be read, and why.",
    &["path"],
    &[
        PATH,
        Col::new("bytes", Int, "bytes", "Its size."),
        ns("modified_ns", "When it was last changed, since 1970 (UTC)."),
        Col::text("why", Shows::Path, "The message."),
        ns("seen_ns", "When it was tried last, since 1970 (UTC)."),
    ],
);

/// The partitioned tables, in the order in which they are written. `recordings` is the last: a recording is in the catalogue when its row there is.
pub static PARTITIONED: [&TableDef; 7] = [&LABELS, &TRIALS, &SUMS, &READY, &RULES, &FINDINGS, &RECORDINGS];

/// All tables, in the order in which users see them.
pub static ALL: [&TableDef; 8] = [&RECORDINGS, &FINDINGS, &RULES, &SUMS, &READY, &LABELS, &TRIALS, &ERRORS];
