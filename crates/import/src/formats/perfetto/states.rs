//! The meaning of `prev_state` numbers in a trace without the kernel's print format: it is derived from the kernel
//! release, like in Perfetto's `task_state.cc`. The tables are those of `include/trace/events/sched.h` of these
//! kernels.

use crate::tracepoint::States;
use model::SwitchOut;

const BEFORE_4_14: &str = r#"{ 1, "S" } { 2, "D" } { 4, "T" } { 8, "t" } { 16, "Z" } { 32, "X" } { 64, "x" } { 128, "K" }
    { 256, "W" } { 512, "P" }"#;

/// The state numbers of one trace.
pub(super) enum Numbers {
    /// The numbers of a kernel with a known release.
    Of(States),
    /// The release is unknown: a number of 512 or more shows that it is before 4.14 (docs/accounting.md).
    Either { since_4_14: States, before: States },
}

impl Numbers {
    /// Returns the numbers of a kernel release (`uname -r`).
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

    /// Returns how a switch-out in this state leaves the thread, and the state letter.
    #[inline]
    pub(super) fn meaning(&self, state: u64) -> (SwitchOut, u8) {
        match self {
            Self::Of(states) => states.meaning(state),
            // The highest bit of any of these kernels means "preempted".
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

/// Returns the states of a kernel before 4.14 with this bit for "preempted".
fn before(preempted: u32) -> States {
    let further: String = [(1024, "N"), (2048, "n")]
        .iter()
        .filter(|(bit, _)| *bit < preempted)
        .map(|(bit, state_letter)| format!("{{ {bit}, \"{state_letter}\" }}"))
        .collect();
    States::from_print(&format!("{BEFORE_4_14} {further} REC->prev_state & {preempted} ? \"+\" : \"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_numbers_depend_on_the_release() {
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
