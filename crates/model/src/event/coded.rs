//! The words of enumerations in tables and exported traces.

use super::{BlockOperation, Clock, FrameStretch, IrqKind, MarkEdge, SnapshotState, SwitchOut, WakeKind};
use crate::{CoreType, CpuState, FramePart, ThreadState};

/// An enumeration whose values are words in tables. Files store their codes, so that a list only ever grows at its end.
///
/// ```
/// use model::{Clock, Coded};
///
/// assert_eq!((Clock::Tsc.code(), Clock::Tsc.word()), (3, "tsc"));
/// assert_eq!((Clock::of_code(3), Clock::of_word(b"tsc"), Clock::of_code(9)), (Some(Clock::Tsc), Some(Clock::Tsc), None));
/// ```
pub trait Coded: Copy + PartialEq + 'static {
    /// All values with their words. The position is the code.
    const WORDS: &'static [(Self, &'static str)];

    /// Returns the code.
    fn code(self) -> u8;

    /// Returns the word.
    #[must_use]
    fn word(self) -> &'static str {
        Self::word_of_code(self.code()).unwrap_or("?")
    }

    /// Returns the value with this code, if there is one.
    #[must_use]
    fn of_code(code: u8) -> Option<Self> {
        Self::WORDS.get(usize::from(code)).map(|(value, _)| *value)
    }

    /// Returns the value with this word, if there is one.
    #[must_use]
    fn of_word(word: &[u8]) -> Option<Self> {
        Self::WORDS.iter().find(|(_, of)| of.as_bytes() == word).map(|(value, _)| *value)
    }

    /// Returns the word of a code, if there is one.
    #[must_use]
    fn word_of_code(code: u8) -> Option<&'static str> {
        Self::WORDS.get(usize::from(code)).map(|(_, word)| *word)
    }
}

/// Declares the values of an enumeration with their words, in the order of their codes.
#[macro_export]
macro_rules! coded {
    ($type:ty: $($value:path => $text:literal),+ $(,)?) => {
        impl $crate::Coded for $type {
            const WORDS: &'static [(Self, &'static str)] = &[$(($value, $text)),+];

            #[inline]
            fn code(self) -> u8 {
                match self { $($value => const { $crate::position(<$type as $crate::Coded>::WORDS, $text) }),+ }
            }
        }
    };
}

/// Returns the position of a word in its list.
///
/// # Panics
/// The word is not in the list.
#[must_use]
pub const fn position<T>(list: &[(T, &str)], word: &str) -> u8 {
    let mut at = 0;
    while at < list.len() && !same(list[at].1.as_bytes(), word.as_bytes()) {
        at += 1;
    }
    assert!(at < list.len(), "the word is not in the list");
    at as u8
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

coded!(ThreadState:
    ThreadState::Running => "running", ThreadState::Ready => "ready", ThreadState::Blocked => "blocked",
    ThreadState::Unknown => "unknown", ThreadState::Exited => "exited",
);
coded!(CpuState: CpuState::Busy => "busy", CpuState::Idle => "idle", CpuState::Unknown => "unknown");
coded!(CoreType:
    CoreType::Performance => "performance", CoreType::Middle => "middle", CoreType::Efficient => "efficient",
    CoreType::LowPower => "low_power", CoreType::Uniform => "uniform",
);
coded!(SwitchOut:
    SwitchOut::Runnable => "runnable", SwitchOut::Preempted => "preempted", SwitchOut::Blocked => "blocked",
    SwitchOut::Exited => "exited", SwitchOut::NotRecorded => "not_recorded",
    SwitchOut::PreemptedToUser => "preempted_to_user", SwitchOut::Yielded => "yielded",
    SwitchOut::Throttled => "throttled", SwitchOut::GaveWay => "gave_way",
);
coded!(WakeKind:
    WakeKind::Waking => "waking", WakeKind::Wakeup => "wakeup", WakeKind::New => "new",
    WakeKind::WakeupAtSwitchIn => "wakeup_at_switch_in",
);
coded!(SnapshotState:
    SnapshotState::Running => "running", SnapshotState::Ready => "ready", SnapshotState::Blocked => "blocked",
    SnapshotState::Exited => "exited",
);
coded!(IrqKind:
    IrqKind::Hard => "hard", IrqKind::Soft => "soft", IrqKind::Timer => "timer", IrqKind::Ipi => "ipi",
);
coded!(Clock:
    Clock::Monotonic => "monotonic", Clock::Boottime => "boottime", Clock::Realtime => "realtime",
    Clock::Tsc => "tsc", Clock::Perf => "perf",
);
coded!(BlockOperation:
    BlockOperation::Read => "read", BlockOperation::Write => "write", BlockOperation::Flush => "flush",
    BlockOperation::Discard => "discard", BlockOperation::Other => "other",
);
coded!(MarkEdge: MarkEdge::Begin => "begin", MarkEdge::End => "end", MarkEdge::Instant => "instant");
coded!(FrameStretch:
    FrameStretch::ExpectedSurface => "expected_surface", FrameStretch::ActualSurface => "actual_surface",
    FrameStretch::ExpectedDisplay => "expected_display", FrameStretch::ActualDisplay => "actual_display",
);
coded!(FramePart:
    FramePart::Whole => "whole", FramePart::UntilPresent => "until_present", FramePart::CpuBusy => "cpu_busy",
    FramePart::InPresent => "in_present", FramePart::BetweenPresents => "between_presents",
    FramePart::UntilRenderStart => "until_render_start", FramePart::UntilRenderComplete => "until_render_complete",
    FramePart::GpuBusy => "gpu_busy", FramePart::UntilDisplayed => "until_displayed",
    FramePart::BetweenDisplayChange => "between_display_change", FramePart::DisplayedFor => "displayed_for",
);

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<T: Coded + std::fmt::Debug>() {
        for (value, word) in T::WORDS {
            assert_eq!((value.word(), T::of_word(word.as_bytes())), (*word, Some(*value)));
            assert_eq!(T::of_code(value.code()), Some(*value));
        }
    }

    #[test]
    fn words_match_the_values() {
        round_trips::<SwitchOut>();
        round_trips::<WakeKind>();
        round_trips::<SnapshotState>();
        round_trips::<IrqKind>();
        round_trips::<Clock>();
        round_trips::<BlockOperation>();
        round_trips::<MarkEdge>();
        round_trips::<FrameStretch>();
        round_trips::<FramePart>();
        for state in ThreadState::ALL {
            assert_eq!(state.word(), state.as_str());
        }
        for (state, word) in CpuState::WORDS {
            assert_eq!(*word, state.as_str());
        }
        for (kind, word) in CoreType::WORDS {
            assert_eq!(*word, kind.as_str());
        }
    }
}
