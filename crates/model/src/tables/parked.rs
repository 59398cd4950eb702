//! Tables of parked CPUs: those that the scheduler puts no threads on but such as are bound to them.

use super::columns::{CoreType, Count, Cpu, MeanCount, Ns, Ratio};
use crate::Text;
use crate::column::table;

table! {
    /// For how long each CPU was parked.
    PARKING: parking {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long each CPU was parked: the scheduler put no threads there but those bound to it. Windows parks cores; Linux \
              takes CPUs away by hotplug, some Android kernels by isolation. A source tells when that changes: before the first change \
              that it tells of a CPU nobody can say (recordings by corewise tell what each CPU was when they began). parked_ns, \
              unparked_ns and unknown_ns sum to the time asked for; of a CPU of which nothing was told, all but unknown_ns is null.",
        key: [CPU],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            PARKED_NS: Option<Ns> = "Parked.",
            UNPARKED_NS: Option<Ns> = "Not parked.",
            UNKNOWN_NS: Ns = "Nobody can say.",
            BUSY_NS: Option<Ns> = "Of parked_ns, a thread ran there nevertheless: one bound to it, or the last to leave.",
            PERIODS: Option<Count> = "How often it came to be parked; not what the time asked for began with.",
            LONGEST_NS: Option<Ns> = "The longest period, as far as it lies in the time asked for.",
            SHARE: Option<Ratio> = "parked_ns, of the time asked for.",
        }
    }
}

table! {
    /// How many CPUs were parked at once.
    PARKED_TOGETHER: parked_together {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How many CPUs were parked at once, exactly, of each type of core and of all. Over the rows of a type the durations sum to \
              the time asked for, and parked × duration to the parked_ns of its CPUs in the table parking. A CPU that no other \
              event and no description of the machine names counts from where it is first told of.",
        key: [CORE_TYPE, PARKED, UNKNOWN],
        columns: {
            CORE_TYPE: Option<CoreType>,
            PARKED: Count = "CPUs of this type (core_type null: of all types) that were parked.",
            UNKNOWN: Count = "CPUs of it of which nobody can say.",
            DURATION_NS: Ns = "For how long, in all.",
        }
    }
}

table! {
    /// Frame times by how many CPUs were parked.
    FRAMES_PARKED: frames_parked {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long the stretches took that programs marked (frames, where they mark those), by how many CPUs were parked meanwhile: \
              in the mean over each stretch's time, to the nearest whole number. Only those that began and ended within the time \
              asked for. No rows where nobody tells of parking.",
        key: [NAME, PARKED, UNKNOWN],
        columns: {
            NAME: Option<Text> = "What the program calls them.",
            PARKED: Count = "CPUs that were parked, in the mean over one stretch, to the nearest whole number.",
            UNKNOWN: Count = "CPUs of which nobody can say, likewise.",
            FRAMES: Count = "Stretches of so many.",
            MEAN_PARKED: MeanCount = "CPUs that were parked, in the mean over the time of all of them.",
            MOST_PARKED: Count = "The most that were parked at once during any of them.",
            DURATION_NS: Ns = "From begin to end, in all.",
            MEAN_NS: Ns = "The mean of them, to the nanosecond below.",
            P95_NS: Ns = "The least time that 95 of 100 did not exceed (the nearest rank), or up to precision_ns more.",
            LONGEST_NS: Ns = "The longest one.",
            BUDGET_NS: Ns = "What one might have taken: what --budget says, else the median of all stretches of this name.",
            OVER_BUDGET: Count =
                "Of frames, those that took longer; those that may have, by less than precision_ns, do not count.",
            PRECISION_NS: Ns = "0, but where there are more different times than are told apart.",
        }
    }
}
