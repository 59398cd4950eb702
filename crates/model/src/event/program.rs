//! What programs and compositors say of themselves: marks, and frames on their way to the screen.

use crate::{NameId, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::num::NonZeroI32;

/// An instant, or the begin or end of a stretch, that a program marked. Stretches of one track nest: an end closes the last begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The thread that it is about; [`Tid::UNKNOWN`] if the mark belongs to a process or to the machine.
    pub tid: Tid,
    /// Its process, if recorded.
    pub pid: Pid,
    /// 0: the thread's own track; otherwise a number from the source (the cookie of an asynchronous stretch, a track id).
    pub track: i64,
    /// The name that the program gave it; [`NameId::NONE`] for most ends.
    pub name: NameId,
    /// Whether it is a begin, an end or an instant.
    pub edge: MarkEdge,
}

/// Which part of a marked stretch a mark is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MarkEdge {
    /// The begin.
    Begin,
    /// The end.
    End,
    /// An instant.
    Instant,
}

/// A number that links the expected with the actual stretches of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FrameToken(pub i64);

impl FrameToken {
    /// The source did not say.
    pub const UNKNOWN: Self = Self(-1);
}

/// A stretch of a frame's way to the screen: Android's frame timeline, and the like from other systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Links begin and end.
    pub cookie: i64,
    /// Links expected and actual stretches.
    pub token: FrameToken,
    /// The process that draws or displays the frame.
    pub pid: Pid,
    /// The layer or window.
    pub layer: NameId,
    /// Which stretch of the frame.
    pub stretch: FrameStretch,
    /// Whether it begins here.
    pub begins: bool,
    /// Why it was late, in the source's bits, if recorded; 1: it was not late.
    pub jank: Option<NonZeroI32>,
}

/// The stretches of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameStretch {
    /// When the application was expected to draw it.
    ExpectedSurface,
    /// When the application drew it.
    ActualSurface,
    /// When the compositor was expected to display it.
    ExpectedDisplay,
    /// When the compositor displayed it.
    ActualDisplay,
}
