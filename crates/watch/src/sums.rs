//! Adds up the differences between two readings of a group's sums in the kernel.

use crate::histogram::Histogram;
use crate::memory::{BUCKETS, NO_SIBLING, RawGroup, RawReady, UNKNOWN_SIBLINGS};
use crate::snapshot::{ClassSums, ReadySums};

/// Adds to `sums` what a group did on a CPU between two readings. `sibling`: the CPU's, as in `struct cpu_sums`. Counts of 32 bits may
/// have wrapped once.
pub fn add(sums: &mut ClassSums, now: &RawGroup, before: &RawGroup, sibling: i32, classes: usize) {
    let running = now.running.wrapping_sub(before.running);
    let with_sibling = now.with_sibling.wrapping_sub(before.with_sibling).min(running);
    sums.running_ns += running;
    match sibling {
        NO_SIBLING => sums.sibling.none_ns += running,
        UNKNOWN_SIBLINGS => sums.sibling.unknown_ns += running,
        _ => {
            sums.sibling.busy_ns += with_sibling;
            sums.sibling.idle_ns += running - with_sibling;
        }
    }
    add_ready(&mut sums.ready, &now.ready, &before.ready);
    add_ready(&mut sums.ready, &now.moved, &before.moved);
    add_histogram(&mut sums.ready_latency, (&now.ready_counts, now.ready_ns), (&before.ready_counts, before.ready_ns));
    add_histogram(&mut sums.run_length, (&now.run_counts, now.run_ns), (&before.run_counts, before.run_ns));
    sums.wakeups += u64::from(now.wakeups.wrapping_sub(before.wakeups));
    sums.preemptions += u64::from(now.preemptions.wrapping_sub(before.preemptions));
    if sums.migrations_from.len() < classes {
        sums.migrations_from.resize(classes, 0);
    }
    let moved = now.migrations_from.iter().zip(&before.migrations_from);
    for (sum, (now, before)) in sums.migrations_from.iter_mut().zip(moved) {
        *sum += u64::from(now.wrapping_sub(*before));
    }
}

fn add_ready(sums: &mut ReadySums, now: &RawReady, before: &RawReady) {
    sums.same_group_ns += now.same.wrapping_sub(before.same);
    sums.other_group_ns += now.other.wrapping_sub(before.other);
    sums.kernel_ns += now.kernel.wrapping_sub(before.kernel);
    sums.idle_ns += now.idle.wrapping_sub(before.idle);
    sums.unknown_ns += now.unknown.wrapping_sub(before.unknown);
}

fn add_histogram(sums: &mut Histogram, now: (&[u32; BUCKETS], u64), before: (&[u32; BUCKETS], u64)) {
    for (sum, (now, before)) in sums.counts.iter_mut().zip(now.0.iter().zip(before.0)) {
        *sum += u64::from(now.wrapping_sub(*before));
    }
    sums.sum_ns += now.1.wrapping_sub(before.1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    #[test]
    fn counts_that_wrapped_are_added_right() {
        let (mut before, mut now) = (RawGroup::zeroed(), RawGroup::zeroed());
        (before.wakeups, now.wakeups) = (u32::MAX - 1, 3);
        (before.ready_counts[7], now.ready_counts[7]) = (u32::MAX, 0);
        (now.running, now.with_sibling) = (100, 30);
        now.moved.same = 5;
        now.ready.same = 6;
        let mut sums = ClassSums::default();
        add(&mut sums, &now, &before, 1, 2);
        assert_eq!((sums.wakeups, sums.ready_latency.counts[7]), (5, 1));
        assert_eq!((sums.sibling.busy_ns, sums.sibling.idle_ns, sums.running_ns), (30, 70, 100));
        assert_eq!((sums.ready.same_group_ns, sums.migrations_from.len()), (11, 2));
        add(&mut sums, &now, &before, NO_SIBLING, 2);
        assert_eq!((sums.sibling.none_ns, sums.sibling.all_ns()), (100, sums.running_ns));
    }
}
