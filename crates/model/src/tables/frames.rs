//! Tables of frames.

use super::columns::{START, count, int, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

const APPLICATION: Col = text("application", "The program, where told.").or_null();
const PID: Col = int("pid", "", "Its process, where told.").or_null();
const SWAP_CHAIN: Col = text("swap_chain", "The address of the swap chain, where told.").or_null();

/// Every frame of a frame log.
pub const FRAMES: TableDef = TableDef {
    name: "frames",
    version: 1,
    made_from: MadeFrom::Frames,
    large: true,
    doc: "Every frame that a frame log (PresentMon's, MangoHud's) tells of, in order of begin. What its log does not tell is null.",
    key: &["application", "pid", "swap_chain", "frame", "start_ns"],
    cols: &[
        int("frame", "", "Which row of the log, from 0."),
        APPLICATION,
        PID,
        SWAP_CHAIN,
        START,
        ns(
            "frame_ns",
            "The frame time: from its begin to that of the next one. A log that tells of presents only has the time \
            since the frame before was handed in.",
        )
        .or_null(),
        ns("present_ns", "When it was handed in (Present was called).").or_null(),
        ns("between_presents_ns", "Since the frame before was handed in.").or_null(),
        ns("cpu_busy_ns", "From its begin to present_ns: the CPU worked on it.").or_null(),
        ns("in_present_ns", "Within the call of Present.").or_null(),
        ns("until_render_start_ns", "From present_ns until the GPU began; negative where it began earlier.").or_null(),
        ns("until_render_complete_ns", "From present_ns until the GPU had finished.").or_null(),
        ns("gpu_busy_ns", "The GPU worked on it.").or_null(),
        ns("until_displayed_ns", "From present_ns until it was shown.").or_null(),
        ns(
            "between_display_change_ns",
            "Since the last frame before it that was shown; where the log does not tell that, by \
            the times at which both were shown.",
        )
        .or_null(),
        ns("displayed_for_ns", "It was shown.").or_null(),
        ns(
            "gpu_idle_ns",
            "between_display_change_ns less gpu_busy_ns; null where the GPU was busy for longer than that, since \
            it then worked on this frame while others were shown.",
        )
        .or_null(),
        Col::new("displayed", Kind::Bool, "", "Whether it was shown.").or_null(),
        text(
            "bound",
            "gpu: gpu_idle_ns is 0, up to the log's rounding (1 us). cpu: it is more, this frame and the one shown \
            before it were shown as soon as the GPU had finished them, and none was dropped between, so the GPU had \
            nothing to do. unknown: neither can be told, as where a finished frame waited for the display.",
        ),
        text("present_mode", "How it came to the screen, in the log's words.").or_null(),
    ],
};

/// The frames of each swap chain, in sums.
pub const FRAME_SUMS: TableDef = TableDef {
    name: "frame_sums",
    version: 1,
    made_from: MadeFrom::Frames,
    large: false,
    doc: "The frames of each swap chain: how many, how long, and what bound them. Where there are more than 1,000, the further \
          ones are one row without a name.",
    key: &["application", "pid", "swap_chain"],
    cols: &[
        APPLICATION,
        PID,
        SWAP_CHAIN,
        count("frames", "Frames."),
        count("timed", "Of these, those whose frame time is told: the times below are theirs."),
        ns("frame_ns", "Their frame times, in all."),
        Col::new("mean_ns", Kind::Float, "ns", "The mean frame time.").or_null(),
        Col::new("fps", Kind::Float, "1/s", "Frames a second: one by the mean frame time.").or_null(),
        ns("median_ns", "The frame time that half of them do not exceed.").or_null(),
        ns("p99_ns", "The frame time that 99 of 100 do not exceed.").or_null(),
        ns("p999_ns", "The frame time that 999 of 1,000 do not exceed.").or_null(),
        ns("precision_ns", "By so much the last three may be less than they are told; 0: they are exact."),
        ns("longest_ns", "The longest frame time.").or_null(),
        Col::new("mean_gpu_busy_ns", Kind::Float, "ns", "The mean of gpu_busy_ns, of frames that tell it.").or_null(),
        count("not_displayed", "Frames that were never shown."),
        count("gpu_bound", "Frames bound by the GPU."),
        count("cpu_bound", "Frames bound by the CPU."),
        count("unknown_bound", "Frames of which that cannot be told."),
    ],
};
