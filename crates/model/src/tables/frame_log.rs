//! Tables of the frames of frame logs.

use super::columns::{Application, Bool, Count, Int, MeanNs, Ns, PerSecond, Process, Start, SwapChain, Word};
use crate::column::table;

table! {
    /// Every frame of a frame log.
    FRAMES: frames {
        version: 1,
        made_from: Frames,
        large: true,
        doc: "Every frame of a frame log (PresentMon, MangoHud), in order of begin. Columns that the log does not \
              have are null.",
        key: [APPLICATION, PID, SWAP_CHAIN, FRAME, START_NS],
        columns: {
            FRAME: Int = "Row number in the log, from 0.",
            APPLICATION: Option<Application>,
            PID: Option<Process>,
            SWAP_CHAIN: Option<SwapChain>,
            START_NS: Start,
            FRAME_NS: Option<Ns> =
                "Frame time: from the begin of this frame to the begin of the next one. In a log that has only \
                 present calls: the time since the previous present call.",
            PRESENT_NS: Option<Ns> = "When the frame was presented (the call of Present).",
            BETWEEN_PRESENTS_NS: Option<Ns> = "Time since the previous present call.",
            CPU_BUSY_NS: Option<Ns> =
                "Time from the begin of the frame to `present_ns`, in which the CPU worked on it.",
            IN_PRESENT_NS: Option<Ns> = "Time in the call of Present.",
            UNTIL_RENDER_START_NS: Option<Ns> =
                "Time from `present_ns` until the GPU began to work on the frame; negative if it began earlier.",
            UNTIL_RENDER_COMPLETE_NS: Option<Ns> = "Time from `present_ns` until the GPU finished.",
            GPU_BUSY_NS: Option<Ns> = "Time the GPU worked on the frame.",
            UNTIL_DISPLAYED_NS: Option<Ns> = "Time from `present_ns` until the frame was displayed.",
            BETWEEN_DISPLAY_CHANGE_NS: Option<Ns> =
                "Time since the last frame before it that was displayed; calculated from the times at which both were \
                 displayed if the log does not have it.",
            DISPLAYED_FOR_NS: Option<Ns> = "Time the frame was displayed.",
            GPU_IDLE_NS: Option<Ns> =
                "`between_display_change_ns` minus `gpu_busy_ns`; null if that is negative, because the GPU then \
                 worked on this frame while others were displayed.",
            DISPLAYED: Option<Bool> = "Whether the frame was displayed.",
            BOUND: Word =
                "What limited the frame. `gpu`: `gpu_idle_ns` is 0, up to the log's rounding (1 us). `cpu`: \
                 `gpu_idle_ns` is greater, this frame and the one displayed before it were displayed as soon as the \
                 GPU had finished them, and none was dropped in between, so the GPU had nothing to do. `unknown`: \
                 neither is certain, for example because a finished frame waited for the display.",
            PRESENT_MODE: Option<Word> = "How the frame reached the screen, as named in the log.",
        }
    }
}

table! {
    /// Frames of each swap chain, in sums.
    FRAME_SUMS: frame_sums {
        version: 2,
        made_from: Frames,
        large: false,
        doc: "Number, times and limiting factor of the frames of each swap chain. If there are more than 1,000 swap \
              chains, the others share one row without a name.",
        key: [APPLICATION, PID, SWAP_CHAIN],
        columns: {
            APPLICATION: Option<Application>,
            PID: Option<Process>,
            SWAP_CHAIN: Option<SwapChain>,
            FRAMES: Count = "Number of frames.",
            TIMED: Count = "Number of frames with a known frame time; the times below are theirs.",
            FRAME_NS: Ns = "Sum of the frame times.",
            MEAN_NS: Option<MeanNs> = "Mean frame time.",
            FPS: Option<PerSecond> = "Frames per second: 1 / mean frame time.",
            MEDIAN_NS: Option<Ns> = "Median frame time.",
            P99_NS: Option<Ns> = "99th percentile of the frame times.",
            P999_NS: Option<Ns> = "99.9th percentile of the frame times.",
            PRECISION_NS: Ns = "The three percentiles may be too high by up to this much; 0: they are exact.",
            LONGEST_NS: Option<Ns> = "The longest frame time.",
            MEAN_GPU_BUSY_NS: Option<MeanNs> = "Mean of `gpu_busy_ns`, of the frames that have it.",
            NOT_DISPLAYED: Option<Count> = "Number of frames that were never displayed; null if the log does not say it of any frame.",
            GPU_BOUND: Count = "Number of frames limited by the GPU.",
            CPU_BOUND: Count = "Number of frames limited by the CPU.",
            UNKNOWN_BOUND: Count = "Number of frames with an unknown limiting factor.",
        }
    }
}
