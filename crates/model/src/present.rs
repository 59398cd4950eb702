//! Frames of frame logs: one row per frame, with the times measured on its way to the screen.
//!
//! ```text
//!   begin          Present is called                            shown            next one shown
//!     ├── until present ──┤── in present ──┤                      │                    │
//!     │                   ├───── until displayed ─────────────────┤── displayed for ───┤
//!     │          ┌────────┼── the GPU works ──┐
//!     │          ├────────┤                   │
//!     │  until render start (negative here)   │
//!     │                   ├───────────────────┤
//!     │                    until render complete
//! ```

use crate::{NameId, Ns, Pid};
use serde::{Deserialize, Serialize};

/// A frame that a program presented. The event's time is when the frame began: when the CPU began to work on it, or, in logs
/// that have only present calls, when the previous frame was presented. The measured times follow as [`FrameTime`]s with the
/// same time and frame number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Present {
    /// The row number in the log, from 0.
    pub frame: i64,
    /// The bits of the swap chain's address; 0 if not recorded.
    pub swap_chain: i64,
    /// The process; [`Pid::UNKNOWN`] if not recorded.
    pub pid: Pid,
    /// The program.
    pub application: NameId,
    /// How it reached the screen, as named in the log (PresentMon's PresentMode).
    pub mode: NameId,
    /// Whether it was displayed; `None` if not recorded.
    pub displayed: Option<bool>,
}

/// A measured time of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameTime {
    /// The frame: [`Present::frame`].
    pub frame: i64,
    /// Which time was measured.
    pub of: FramePart,
    /// The duration.
    pub took: Ns,
}

/// The measured times of a frame. The names are PresentMon's (`README-ConsoleApplication.md`) for all programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum FramePart {
    /// From the begin of the frame to the begin of the next one.
    Whole,
    /// From the begin of the frame to the call of Present.
    UntilPresent,
    /// The part of that in which the CPU worked on the frame.
    CpuBusy,
    /// In the call of Present.
    InPresent,
    /// Since the previous call of Present.
    BetweenPresents,
    /// From the call of Present until the GPU began to work on the frame; negative if it began earlier.
    UntilRenderStart,
    /// From the call of Present until the GPU finished the frame.
    UntilRenderComplete,
    /// The time the GPU worked on the frame.
    GpuBusy,
    /// From the call of Present until the frame was displayed.
    UntilDisplayed,
    /// From the previous displayed frame until this one was displayed.
    BetweenDisplayChange,
    /// The time the frame was displayed.
    DisplayedFor,
}

impl FramePart {
    /// All of these times.
    pub const ALL: [Self; 11] = [
        Self::Whole,
        Self::UntilPresent,
        Self::CpuBusy,
        Self::InPresent,
        Self::BetweenPresents,
        Self::UntilRenderStart,
        Self::UntilRenderComplete,
        Self::GpuBusy,
        Self::UntilDisplayed,
        Self::BetweenDisplayChange,
        Self::DisplayedFor,
    ];
}
