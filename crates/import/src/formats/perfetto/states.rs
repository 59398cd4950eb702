//! What a `prev_state` number means in a trace that does not hold the kernel's print format: by the kernel's release, as
//! Perfetto's own `task_state.cc` has it. The tables are those of `include/trace/events/sched.h` of these kernels.

use crate::tracepoint::States;
use model::SwitchOut;

const BEFORE_4_14: &str = r#"{ 1, "S" } { 2, "D" } { 4, "T" } { 8, "t" } { 16, "Z" } { 32, "X" } { 64, "x" } { 128, "K" }
    { 256, "W" } { 512, "P" }"#;

/// The state numbers of one trace.
pub(super) enum Numbers {
    /// Those of a kernel whose release is told.
    Of(States),
    /// Nobody says which kernel: a number of 512 or more shows one before 4.14 (ACCOUNTING.md).
    Either { since_4_14: States, before: States },
}

impl Numbers {
    /// Those of the kernel that calls itself so (`uname -r`).
    pub(super) fn of_release(release: &str) -> Self {
        let since_4_14 = States::from_print("");
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return Self::Either { since_4_14, before: before(4096) };
        };
        Self::Of(match (major, minor) {
            (4, 14..) | (5.., _) => since_4_14,
            (4, 8..) => before(4096),
            (4, 2..) => before(2048),
            _ => before(1024),
        })
    }

    /// What a switch-out in this state makes of a thread, and the state's letter.
    #[inline]
    pub(super) fn meaning(&self, state: u64) -> (SwitchOut, u8) {
        match self {
            Self::Of(states) => states.meaning(state),
            // The highest bit of any of them says "preempted".
            Self::Either { before, .. } if state >= 512 => {
                if state >= 1024 {
                    (SwitchOut::Preempted, b'R')
                } else {
                    before.meaning(state)
                }
            }
            Self::Either { since_4_14, .. } => since_4_14.meaning(state),
        }
    }
}

/// A kernel before 4.14, whose bit for "preempted" is this.
fn before(preempted: u32) -> States {
    let further: String = [(1024, "N"), (2048, "n")]
        .iter()
        .filter(|(bit, _)| *bit < preempted)
        .map(|(bit, letter)| format!("{{ {bit}, \"{letter}\" }}"))
        .collect();
    States::from_print(&format!("{BEFORE_4_14} {further} REC->prev_state & {preempted} ? \"+\" : \"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_release() {
        for (release, number, meaning) in [
            ("6.1.0-18-arm64", 256, (SwitchOut::Preempted, b'R')),
            ("4.19.113-22067904", 256, (SwitchOut::Preempted, b'R')),
            ("4.14.186", 64, (SwitchOut::Blocked, b'P')),
            ("4.9.1", 4096, (SwitchOut::Preempted, b'R')),
            ("4.9.1", 64, (SwitchOut::Exited, b'x')),
            ("4.9.1", 258, (SwitchOut::Blocked, b'D')),
            ("4.4.0", 2048, (SwitchOut::Preempted, b'R')),
            ("3.18.0", 1024, (SwitchOut::Preempted, b'R')),
            ("3.18.0", 0, (SwitchOut::Runnable, b'R')),
            ("", 256, (SwitchOut::Preempted, b'R')),
            ("", 2048, (SwitchOut::Preempted, b'R')),
            ("", 1, (SwitchOut::Blocked, b'S')),
        ] {
            assert_eq!(Numbers::of_release(release).meaning(number), meaning, "{number} of {release:?}");
        }
    }
}
