//! Tables of parked CPUs: those that the scheduler puts no threads on but such as are bound to them.

use super::columns::{CORE_TYPE, CPU, count, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

/// For how long each CPU was parked.
pub const PARKING: TableDef = TableDef {
    name: "parking",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "For how long each CPU was parked: the scheduler put no threads there but those bound to it. Windows parks cores; Linux \
          takes CPUs away by hotplug, some Android kernels by isolation. A source tells when that changes: before the first change \
          that it tells of a CPU nobody can say (recordings by corewise tell what each CPU was when they began). parked_ns, \
          unparked_ns and unknown_ns sum to the time asked for; of a CPU of which nothing was told, all but unknown_ns is null.",
    key: &["cpu"],
    cols: &[
        CPU,
        CORE_TYPE,
        ns("parked_ns", "Parked.").or_null(),
        ns("unparked_ns", "Not parked.").or_null(),
        ns("unknown_ns", "Nobody can say."),
        ns("busy_ns", "Of parked_ns, a thread ran there nevertheless: one bound to it, or the last to leave.")
            .or_null(),
        count("periods", "How often it came to be parked; not what the time asked for began with.").or_null(),
        ns("longest_ns", "The longest period, as far as it lies in the time asked for.").or_null(),
        Col::new("share", Kind::Float, "ratio", "parked_ns, of the time asked for.").or_null(),
    ],
};

/// How many CPUs were parked at once.
pub const PARKED_TOGETHER: TableDef = TableDef {
    name: "parked_together",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How many CPUs were parked at once, exactly, of each type of core and of all. Over the rows of a type the durations sum to \
          the time asked for, and parked × duration to the parked_ns of its CPUs in the table parking. A CPU that no other \
          event and no description of the machine names counts from where it is first told of.",
    key: &["core_type", "parked", "unknown"],
    cols: &[
        CORE_TYPE.or_null(),
        count("parked", "CPUs of this type (core_type null: of all types) that were parked."),
        count("unknown", "CPUs of it of which nobody can say."),
        ns("duration_ns", "For how long, in all."),
    ],
};

/// Frame times by how many CPUs were parked.
pub const FRAMES_PARKED: TableDef = TableDef {
    name: "frames_parked",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long the stretches took that programs marked (frames, where they mark those), by how many CPUs were parked meanwhile: \
          in the mean over each stretch's time, to the nearest whole number. Only those that began and ended within the time \
          asked for. No rows where nobody tells of parking.",
    key: &["name", "parked", "unknown"],
    cols: &[
        text("name", "What the program calls them.").or_null(),
        count("parked", "CPUs that were parked, in the mean over one stretch, to the nearest whole number."),
        count("unknown", "CPUs of which nobody can say, likewise."),
        count("frames", "Stretches of so many."),
        Col::new(
            "mean_parked",
            Kind::Float,
            "count",
            "CPUs that were parked, in the mean over the time of all of them.",
        ),
        count("most_parked", "The most that were parked at once during any of them."),
        ns("duration_ns", "From begin to end, in all."),
        ns("mean_ns", "The mean of them, to the nanosecond below."),
        ns("p95_ns", "The least time that 95 of 100 did not exceed (the nearest rank), or up to precision_ns more."),
        ns("longest_ns", "The longest one."),
        ns(
            "budget_ns",
            "What one might have taken: what --budget says, else the median of all stretches of this name.",
        ),
        count(
            "over_budget",
            "Of frames, those that took longer; those that may have, by less than precision_ns, do not count.",
        ),
        ns("precision_ns", "0, but where there are more different times than are told apart."),
    ],
};
