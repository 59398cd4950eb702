//! The meaning of `prev_state` numbers of LTTng and perf. A CTF trace has no print format, so the kernel release is
//! used: LTTng records the same numbers as the kernel's own `sched_switch`.

use super::types::Metadata;
use crate::tracepoint::States;

/// The states of all releases.
const FIRST: [(u64, u8); 4] = [(1, b'S'), (2, b'D'), (4, b'T'), (8, b't')];

/// Returns the release of the recorded kernel.
pub(super) fn release_of(metadata: &Metadata) -> Option<&str> {
    metadata.env("kernel_release").or_else(|| metadata.env("release"))
}

/// Returns the meaning of a kernel's state numbers. A kernel without a known release is assumed to be recent.
///
/// The labels that newer versions of LTTng give these numbers are not used. They are the kernel's internal bits, in
/// which 128 is TASK_DEAD, while `sched_switch` reports 128 for idle.
pub(super) fn of_release(release: Option<&str>) -> States {
    match release.and_then(version) {
        Some(old) if old < (4, 14) => before_4_14(old),
        _ => States::from_print(""),
    }
}

/// R+ was the bit above the highest state, so each new state moved it.
fn before_4_14(version: (u32, u32)) -> States {
    let mut flags = FIRST.to_vec();
    flags.extend([(16, b'Z'), (32, b'X'), (64, b'x'), (128, b'K'), (256, b'W')]);
    for (since, state_letter) in [((3, 9), b'P'), ((4, 2), b'N'), ((4, 8), b'n')] {
        if version >= since {
            flags.push((1 << flags.len(), state_letter));
        }
    }
    // Dead and zombie were swapped in 3.14.
    if version >= (3, 14) {
        (flags[4].1, flags[5].1) = (b'X', b'Z');
    }
    let preempted = 1 << flags.len();
    States::new(flags, preempted)
}

/// `4.4.3-1-ARCH` to (4, 4).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SwitchOut::{Blocked, Exited, Preempted, Runnable};

    #[test]
    fn state_numbers_depend_on_the_release() {
        for (release, state, meaning) in [
            ("3.14.23-WR7", 1024, (Preempted, b'R')),
            ("3.14.23-WR7", 64, (Exited, b'x')),
            ("3.10.92", 16, (Exited, b'Z')),
            ("3.2.0", 512, (Preempted, b'R')),
            ("4.4.3-1-ARCH", 2048, (Preempted, b'R')),
            ("4.4.3-1-ARCH", 1026, (Blocked, b'D')),
            ("4.13.0", 4096, (Preempted, b'R')),
            ("4.14.0", 256, (Preempted, b'R')),
            ("6.1.0-9-amd64", 64, (Blocked, b'P')),
            ("6.1.0-9-amd64", 128, (Blocked, b'I')),
            ("6.1.0-9-amd64", 0, (Runnable, b'R')),
        ] {
            assert_eq!(of_release(Some(release)).meaning(state), meaning, "{release} {state}");
        }
        assert_eq!(of_release(None).meaning(256), (Preempted, b'R'));
    }
}
