//! Conversion between the model's enumerations, one-byte codes, and the words that tables store for them.

use crate::values::NO_WORD;
use model::{
    Clock, CoreType, CpuState, FramePart, FrameStretch, IrqKind, MarkEdge, Reason, SnapshotState, SwitchOut,
    ThreadState, WakeKind,
};

/// Declares the values of an enumeration with their words. The position in the list is the code.
macro_rules! words {
    ($list:ident: $type:ty, $word:ident, $code:ident, $back:ident, [$($value:path => $text:literal),+ $(,)?]) => {
        const $list: &[($type, &str)] = &[$(($value, $text)),+];
        pub(crate) fn $word(code: u8) -> String {
            $list.get(usize::from(code)).map_or("?", |w| w.1).to_owned()
        }
        #[inline]
        pub(crate) fn $code(value: $type) -> u8 {
            match value { $($value => const { position($list, $text) }),+ }
        }
        pub(crate) fn $back(code: u8) -> Option<$type> {
            $list.get(usize::from(code)).map(|w| w.0)
        }
    };
}

/// Returns the position of a word in its list.
const fn position<T>(list: &[(T, &str)], word: &str) -> u8 {
    let mut at = 0;
    while at < list.len() {
        if same(list[at].1.as_bytes(), word.as_bytes()) {
            return at as u8;
        }
        at += 1;
    }
    NO_WORD
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

words!(THREAD_STATES: ThreadState, thread_state_word, thread_state_code, thread_state, [
    ThreadState::Running => "running", ThreadState::Ready => "ready", ThreadState::Blocked => "blocked",
    ThreadState::Unknown => "unknown", ThreadState::Exited => "exited",
]);
words!(CPU_STATES: CpuState, cpu_state_word, cpu_state_code, cpu_state, [
    CpuState::Busy => "busy", CpuState::Idle => "idle", CpuState::Unknown => "unknown",
]);
words!(CORE_TYPES: CoreType, core_type_word, core_type_code, core_type, [
    CoreType::Performance => "performance", CoreType::Middle => "middle", CoreType::Efficient => "efficient",
    CoreType::LowPower => "low_power", CoreType::Uniform => "uniform",
]);
words!(SWITCH_OUTS: SwitchOut, switch_out_word, switch_out_code, switch_out, [
    SwitchOut::Runnable => "runnable", SwitchOut::Preempted => "preempted", SwitchOut::Blocked => "blocked",
    SwitchOut::Exited => "exited", SwitchOut::NotRecorded => "not_recorded",
    SwitchOut::PreemptedToUser => "preempted_to_user", SwitchOut::Yielded => "yielded",
    SwitchOut::Throttled => "throttled", SwitchOut::GaveWay => "gave_way",
]);
words!(WAKE_KINDS: WakeKind, wake_kind_word, wake_kind_code, wake_kind, [
    WakeKind::Waking => "waking", WakeKind::Wakeup => "wakeup", WakeKind::New => "new",
    WakeKind::WakeupAtSwitchIn => "wakeup_at_switch_in",
]);
words!(SEEN_STATES: SnapshotState, seen_state_word, seen_state_code, seen_state, [
    SnapshotState::Running => "running", SnapshotState::Ready => "ready", SnapshotState::Blocked => "blocked",
    SnapshotState::Exited => "exited",
]);
words!(IRQ_KINDS: IrqKind, irq_kind_word, irq_kind_code, irq_kind, [
    IrqKind::Hard => "hard", IrqKind::Soft => "soft", IrqKind::Timer => "timer", IrqKind::Ipi => "ipi",
]);
words!(CLOCKS: Clock, clock_word, clock_code, clock, [
    Clock::Monotonic => "monotonic", Clock::Boottime => "boottime", Clock::Realtime => "realtime",
    Clock::Tsc => "tsc", Clock::Perf => "perf",
]);

words!(MARK_EDGES: MarkEdge, mark_edge_word, mark_edge_code, mark_edge, [
    MarkEdge::Begin => "begin", MarkEdge::End => "end", MarkEdge::Instant => "instant",
]);
words!(FRAME_STRETCHES: FrameStretch, frame_stretch_word, frame_stretch_code, frame_stretch, [
    FrameStretch::ExpectedSurface => "expected_surface", FrameStretch::ActualSurface => "actual_surface",
    FrameStretch::ExpectedDisplay => "expected_display", FrameStretch::ActualDisplay => "actual_display",
]);
words!(FRAME_PARTS: FramePart, frame_part_word, frame_part_code, frame_part, [
    FramePart::Whole => "whole", FramePart::UntilPresent => "until_present", FramePart::CpuBusy => "cpu_busy",
    FramePart::InPresent => "in_present", FramePart::BetweenPresents => "between_presents",
    FramePart::UntilRenderStart => "until_render_start", FramePart::UntilRenderComplete => "until_render_complete",
    FramePart::GpuBusy => "gpu_busy", FramePart::UntilDisplayed => "until_displayed",
    FramePart::BetweenDisplayChange => "between_display_change", FramePart::DisplayedFor => "displayed_for",
]);

/// What a row of the table `thread` records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadNote {
    Fork,
    Exec,
    Exit,
    Name,
    Called,
    Snapshot,
    Inner,
    Current,
    Yields,
    Yielded,
    Named,
}

words!(THREAD_NOTES: ThreadNote, thread_note_word, thread_note_code, thread_note, [
    ThreadNote::Fork => "fork", ThreadNote::Exec => "exec", ThreadNote::Exit => "exit", ThreadNote::Name => "name",
    ThreadNote::Called => "called", ThreadNote::Snapshot => "seen", ThreadNote::Inner => "inner",
    ThreadNote::Current => "current", ThreadNote::Yields => "yields", ThreadNote::Yielded => "yielded",
    ThreadNote::Named => "named",
]);

/// Returns the code of a reason: its number, or [`NO_WORD`] for no reason. A kernel state letter is its own code.
#[inline]
pub(crate) fn reason_code(reason: Reason) -> u8 {
    match reason.number() {
        Ok(number) => number.checked_sub(1).unwrap_or(NO_WORD),
        // All state letters of the kernel are printable ASCII; a damaged file may have another byte.
        Err(letter) => {
            if (32..127).contains(&letter) {
                letter
            } else {
                b'?'
            }
        }
    }
}

fn reason_of(code: u8) -> Reason {
    Reason::NUMBERED.get(usize::from(code) + 1).copied().unwrap_or(Reason::State(code))
}

/// Corrects a reason of an older folder, which stored "yielded" for every thread that left its CPU runnable without a preemption mark.
pub(crate) fn without_false_yields(code: u8) -> u8 {
    if code == reason_code(Reason::Yielded) { reason_code(Reason::LeftRunnable) } else { code }
}

pub(crate) fn reason_word(code: u8) -> String {
    reason_of(code).word().unwrap_or_default()
}

pub(crate) fn reason(code: u8) -> Option<Reason> {
    Some(if code == NO_WORD { Reason::None } else { reason_of(code) })
}

/// Returns the code of a state letter, which is the letter itself; `?` if it is not ASCII.
#[inline]
pub(crate) fn state_letter_code(letter: u8) -> u8 {
    if letter.is_ascii() { letter } else { b'?' }
}

pub(crate) fn state_letter_word(code: u8) -> String {
    char::from(code).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_round_trips() {
        for r in Reason::NUMBERED.into_iter().chain([Reason::State(b'S'), Reason::State(b'D')]) {
            assert_eq!(reason(reason_code(r)), Some(r));
        }
        assert_eq!(reason_code(Reason::None), NO_WORD);
    }

    #[test]
    fn words_match_the_model() {
        for s in ThreadState::ALL {
            assert_eq!(thread_state_word(thread_state_code(s)), s.as_str());
            assert_eq!(thread_state(thread_state_code(s)), Some(s));
        }
        for s in CpuState::ALL {
            assert_eq!(cpu_state_word(cpu_state_code(s)), s.as_str());
        }
        for t in [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower, CoreType::Uniform] {
            assert_eq!(core_type_word(core_type_code(t)), t.as_str());
            assert_eq!(core_type(core_type_code(t)), Some(t));
        }
    }
}
