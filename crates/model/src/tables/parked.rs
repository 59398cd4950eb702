//! Tables of parked CPUs: CPUs on which the scheduler places no threads except those bound to them.

use super::columns::{CoreType, Count, Cpu, MarkName, MeanCount, Ns, Ratio};
use crate::column::table;

table! {
    /// Parking of each CPU.
    PARKING: parking {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was parked: the scheduler placed no threads there except those bound to it. Windows \
              parks cores, Linux takes CPUs offline by hotplug, and some Android kernels isolate them. Sources \
              record changes only, so the state before the first recorded change of a CPU is unknown (recordings by \
              corewise include the state at their start). `parked_ns`, `unparked_ns` and `unknown_ns` sum to the \
              requested range. If nothing was recorded for a CPU, all columns except `unknown_ns` are null.",
        key: [CPU],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            PARKED_NS: Option<Ns> = "Time parked.",
            UNPARKED_NS: Option<Ns> = "Time not parked.",
            UNKNOWN_NS: Ns = "Time in an unknown parking state.",
            BUSY_NS: Option<Ns> =
                "The part of `parked_ns` in which a thread ran there: one bound to the CPU, or the last one to leave \
                 it.",
            PERIODS: Option<Count> =
                "How often the CPU became parked; the state at the begin of the requested range is not counted.",
            LONGEST_NS: Option<Ns> = "The longest parked period, as far as it lies in the requested range.",
            SHARE: Option<Ratio> = "`parked_ns` as a share of the requested range.",
        }
    }
}

table! {
    /// Number of CPUs parked at the same time.
    PARKED_TOGETHER: parked_together {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many CPUs were parked at the same time, for each core type and for all types. The \
              durations of a type sum to the requested range, and `parked` × `duration_ns` sums to the `parked_ns` \
              of its CPUs in the table `parking`. A CPU that appears in no other event and not in the machine \
              description counts from its first parking event.",
        key: [CORE_TYPE, PARKED, UNKNOWN],
        columns: {
            CORE_TYPE: Option<CoreType>,
            PARKED: Count = "Number of CPUs of this type that were parked; of all types if `core_type` is null.",
            UNKNOWN: Count = "Number of CPUs of this type in an unknown parking state.",
            DURATION_NS: Ns = "Total time with these numbers of CPUs.",
        }
    }
}

table! {
    /// Frame times by number of parked CPUs.
    FRAMES_PARKED: frames_parked {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Durations of the stretches marked by programs (frames, if they mark those), by the number of CPUs \
              parked meanwhile: the mean over the time of each stretch, to the nearest whole number. Includes only \
              stretches that began and ended in the requested range. No rows if parking was not recorded.",
        key: [NAME, PARKED, UNKNOWN],
        columns: {
            NAME: Option<MarkName> = "Name that the program gave the stretches.",
            PARKED: Count = "Mean number of parked CPUs during one stretch, to the nearest whole number.",
            UNKNOWN: Count =
                "Mean number of CPUs in an unknown parking state during one stretch, to the nearest whole number.",
            FRAMES: Count = "Number of stretches with these numbers of CPUs.",
            MEAN_PARKED: MeanCount = "Mean number of parked CPUs over the time of all these stretches.",
            MAX_PARKED: Count = "The maximum number of CPUs parked at the same time during any of these stretches.",
            DURATION_NS: Ns = "Total duration of these stretches.",
            MEAN_NS: Ns = "Mean duration, rounded down to nanoseconds.",
            P95_NS: Ns = "95th percentile of the durations (nearest rank), or up to `precision_ns` more.",
            LONGEST_NS: Ns = "The longest duration.",
            BUDGET_NS: Ns =
                "Duration budget of one stretch: `--budget`, or the median duration of all stretches of this name.",
            OVER_BUDGET: Count =
                "Number of `frames` over the budget; those that may be over it by less than `precision_ns` are not \
                 counted.",
            PRECISION_NS: Ns =
                "Precision of the percentile; 0 unless there are more distinct durations than are kept apart.",
        }
    }
}
