//! Frames as a log of frames has them: a row each, with times that were measured on its way to the screen.
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

/// A frame that a program handed in to be shown. The event's time is when the frame began: when the CPU began to work on it,
/// or, in logs that tell of presents only, when the frame before it was handed in. What was measured of it follows as
/// [`FrameTime`]s of the same instant and number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Present {
    /// Which row of the log, from 0.
    pub frame: i64,
    /// The swap chain's address, its bits as they are; 0 where not told.
    pub swap_chain: i64,
    /// The process; [`Pid::UNKNOWN`] where not told.
    pub pid: Pid,
    /// The program.
    pub application: NameId,
    /// How it came to the screen, in the log's words (PresentMon's PresentMode).
    pub mode: NameId,
    /// Whether it was shown; `None` where not told.
    pub displayed: Option<bool>,
}

/// One time that was measured of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameTime {
    /// Its [`Present::frame`].
    pub frame: i64,
    /// Which time.
    pub of: FramePart,
    /// How long.
    pub took: Ns,
}

/// What is measured of a frame. The names are PresentMon's (`README-ConsoleApplication.md`), whatever program measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum FramePart {
    /// From its begin to the begin of the next one.
    Whole,
    /// From its begin to the call of Present.
    UntilPresent,
    /// Of that the CPU worked on it.
    CpuBusy,
    /// Within the call of Present.
    InPresent,
    /// Since the call of Present of the frame before.
    BetweenPresents,
    /// From the call of Present to the begin of the GPU's work on it; negative where that was earlier.
    UntilRenderStart,
    /// From the call of Present to the end of the GPU's work on it.
    UntilRenderComplete,
    /// For how long the GPU worked on it.
    GpuBusy,
    /// From the call of Present until it was shown.
    UntilDisplayed,
    /// Since another frame was shown, until this one was.
    BetweenDisplayChange,
    /// For how long it was shown.
    DisplayedFor,
}

impl FramePart {
    /// All of them.
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
