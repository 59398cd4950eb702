//! Tables of frames.

use super::columns::{Application, Bool, Count, Int, MeanNs, Ns, PerSecond, Process, Start, SwapChain};
use crate::Text;
use crate::column::table;

table! {
    /// Every frame of a frame log.
    FRAMES: frames {
        version: 1,
        made_from: Frames,
        large: true,
        doc: "Every frame that a frame log (PresentMon's, MangoHud's) tells of, in order of begin. What its log does not tell is null.",
        key: [APPLICATION, PID, SWAP_CHAIN, FRAME, START_NS],
        columns: {
            FRAME: Int = "Which row of the log, from 0.",
            APPLICATION: Option<Application>,
            PID: Option<Process>,
            SWAP_CHAIN: Option<SwapChain>,
            START_NS: Start,
            FRAME_NS: Option<Ns> =
                "The frame time: from its begin to that of the next one. A log that tells of presents only has the time \
                since the frame before was handed in.",
            PRESENT_NS: Option<Ns> = "When it was handed in (Present was called).",
            BETWEEN_PRESENTS_NS: Option<Ns> = "Since the frame before was handed in.",
            CPU_BUSY_NS: Option<Ns> = "From its begin to present_ns: the CPU worked on it.",
            IN_PRESENT_NS: Option<Ns> = "Within the call of Present.",
            UNTIL_RENDER_START_NS: Option<Ns> = "From present_ns until the GPU began; negative where it began earlier.",
            UNTIL_RENDER_COMPLETE_NS: Option<Ns> = "From present_ns until the GPU had finished.",
            GPU_BUSY_NS: Option<Ns> = "The GPU worked on it.",
            UNTIL_DISPLAYED_NS: Option<Ns> = "From present_ns until it was shown.",
            BETWEEN_DISPLAY_CHANGE_NS: Option<Ns> =
                "Since the last frame before it that was shown; where the log does not tell that, by \
                the times at which both were shown.",
            DISPLAYED_FOR_NS: Option<Ns> = "It was shown.",
            GPU_IDLE_NS: Option<Ns> =
                "between_display_change_ns less gpu_busy_ns; null where the GPU was busy for longer than that, since \
                it then worked on this frame while others were shown.",
            DISPLAYED: Option<Bool> = "Whether it was shown.",
            BOUND: Text =
                "gpu: gpu_idle_ns is 0, up to the log's rounding (1 us). cpu: it is more, this frame and the one shown \
                before it were shown as soon as the GPU had finished them, and none was dropped between, so the GPU had \
                nothing to do. unknown: neither can be told, as where a finished frame waited for the display.",
            PRESENT_MODE: Option<Text> = "How it came to the screen, in the log's words.",
        }
    }
}

table! {
    /// The frames of each swap chain, in sums.
    FRAME_SUMS: frame_sums {
        version: 1,
        made_from: Frames,
        large: false,
        doc: "The frames of each swap chain: how many, how long, and what bound them. Where there are more than 1,000, the further \
              ones are one row without a name.",
        key: [APPLICATION, PID, SWAP_CHAIN],
        columns: {
            APPLICATION: Option<Application>,
            PID: Option<Process>,
            SWAP_CHAIN: Option<SwapChain>,
            FRAMES: Count = "Frames.",
            TIMED: Count = "Of these, those whose frame time is told: the times below are theirs.",
            FRAME_NS: Ns = "Their frame times, in all.",
            MEAN_NS: Option<MeanNs> = "The mean frame time.",
            FPS: Option<PerSecond> = "Frames a second: one by the mean frame time.",
            MEDIAN_NS: Option<Ns> = "The frame time that half of them do not exceed.",
            P99_NS: Option<Ns> = "The frame time that 99 of 100 do not exceed.",
            P999_NS: Option<Ns> = "The frame time that 999 of 1,000 do not exceed.",
            PRECISION_NS: Ns = "By so much the last three may be less than they are told; 0: they are exact.",
            LONGEST_NS: Option<Ns> = "The longest frame time.",
            MEAN_GPU_BUSY_NS: Option<MeanNs> = "The mean of gpu_busy_ns, of frames that tell it.",
            NOT_DISPLAYED: Count = "Frames that were never shown.",
            GPU_BOUND: Count = "Frames bound by the GPU.",
            CPU_BOUND: Count = "Frames bound by the CPU.",
            UNKNOWN_BOUND: Count = "Frames of which that cannot be told.",
        }
    }
}
