//! What can be wrong, a file each, a line in [`RULES`].

mod busy_wait_at_barrier;
mod capture_lost_events;
mod chunks_too_large;
mod chunks_too_small;
mod critical_thread_same_priority_as_workers;
mod io_wait_serialised;
mod lock_convoy;
mod low_priority_ran_while_high_was_ready;
mod nice_without_effect;
mod oversubscribed;
mod pinned_to_one_cpu;
mod preemption_rate;
mod priority_inversion;
mod serialised_on_one_cpu;
mod sleep_too_short_for_idle_state;
mod static_partition_barrier_tail;
mod stolen_by_hypervisor;
mod throttled_by_quota;
mod wakeup_storm;

use crate::rule::Rule;

/// Why a switch is taken to cost so much.
const SWITCH: &str = "a switch: perf bench sched pipe, pinned to one CPU of the virtual machine that corewise is built on, takes 8.5 to \
                      13 µs for two switches and four system calls; corewise does not measure this machine's";

/// Every rule: first what limits all others, then who waited for whom, then what the machine did.
pub const RULES: &[&Rule] = &[
    &capture_lost_events::RULE,
    &stolen_by_hypervisor::RULE,
    &low_priority_ran_while_high_was_ready::RULE,
    &priority_inversion::RULE,
    &critical_thread_same_priority_as_workers::RULE,
    &nice_without_effect::RULE,
    &serialised_on_one_cpu::RULE,
    &pinned_to_one_cpu::RULE,
    &throttled_by_quota::RULE,
    &lock_convoy::RULE,
    &busy_wait_at_barrier::RULE,
    &static_partition_barrier_tail::RULE,
    &chunks_too_large::RULE,
    &chunks_too_small::RULE,
    &oversubscribed::RULE,
    &preemption_rate::RULE,
    &wakeup_storm::RULE,
    &io_wait_serialised::RULE,
    &sleep_too_short_for_idle_state::RULE,
];
