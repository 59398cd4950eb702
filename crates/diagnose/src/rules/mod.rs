//! What can be wrong, a file each, a line in [`RULES`].

mod busy_wait_at_barrier;
mod capture_lost_events;
mod chunks_too_large;
mod chunks_too_small;
mod critical_thread_on_efficient_core;
mod critical_thread_same_priority_as_workers;
mod frequency_below_nominal_while_busy;
mod high_priority_woke_to_efficient_core_behind_low;
mod ideal_cpu_outside_affinity;
mod interrupt_on_critical_cpu;
mod io_wait_serialised;
mod lock_convoy;
mod low_priority_ran_while_high_was_ready;
mod migration_between_core_types;
mod nice_without_effect;
mod oversubscribed;
mod parked_while_ready;
mod pinned_away_from_idle_faster_core;
mod pinned_to_one_cpu;
mod preemption_rate;
mod priority_inversion;
mod serialised_on_one_cpu;
mod sleep_too_short_for_idle_state;
mod smt_neighbour_noisy;
mod static_partition_barrier_tail;
mod stolen_by_hypervisor;
mod throttled_by_quota;
mod utilisation_misread;
mod wakeup_storm;
mod woke_on_busy_sibling;
mod worker_pool_larger_than_useful;

use crate::given::Given;
use crate::rule::{Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ready_wait, smt_cores};
use model::{Column, TableDef};
use std::collections::BTreeSet;

/// What a switch is taken to cost.
const SWITCH: Threshold = Threshold {
    name: "switch_ns",
    unit: Unit::Ns,
    value: 4000.0,
    reason: "a switch: perf bench sched pipe, pinned to one CPU of the virtual machine that corewise is built on, takes 8.5 to \
             13 µs for two switches and four system calls; corewise does not measure this machine's",
};

/// The columns of `ready_wait` of threads that left their CPU while they could run.
const LEFT_RUNNABLE: [Column<ready_wait::Table, i64>; 5] = [
    ready_wait::READY_PREEMPTED_NS.or_zero(),
    ready_wait::READY_YIELDED_NS.or_zero(),
    ready_wait::READY_THROTTLED_NS.or_zero(),
    ready_wait::READY_GAVE_WAY_NS.or_zero(),
    ready_wait::READY_UNKNOWN_NS.or_zero(),
];

/// What is less for every thread is not told of.
pub(crate) const LEAST_SHARE: Threshold = Threshold {
    name: "least_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "half of what makes a finding medium: what is less for every thread is not told of",
};

/// Whose end decides when all is done.
const LEAST_PATH_SHARE: Threshold = Threshold {
    name: "least_path_share",
    unit: Unit::Ratio,
    value: 0.3,
    reason: "a choice, of the time looked at: where no thread has a third of the path, none decides when all is done",
};

/// What two siblings are taken to do.
const SMT_GAIN: Threshold = Threshold {
    name: "smt_gain",
    unit: Unit::Ratio,
    value: 1.3,
    reason: "what two busy siblings do together, by what one does alone: as the table smt_utilisation has it, measured on servers \
             (1.33 and 1.29); two runs of one program on a core of another did 0.97 and 1.18",
};

/// Whether the machine is known to have several types of core.
fn has_core_types(given: &Given<'_>) -> Result<bool, EngineError> {
    let mut types = BTreeSet::new();
    given.each(cpus::Table, |row| {
        types.insert(row.get(cpus::CORE_TYPE).to_owned());
    })?;
    Ok(types.len() > 1)
}

/// Why rules of core types do not look.
const ONE_TYPE: &str = "one type of core is all that is known of this machine: --machine FILE tells of another";

/// Whether CPUs share cores; `None` where nobody told of some, and of the others none does.
fn shares_cores(given: &Given<'_>) -> Result<Option<bool>, EngineError> {
    let (mut shared, mut untold) = (false, false);
    given.each(smt_cores::Table, |row| match row.get(smt_cores::SIBLINGS) {
        Some(cpus) => shared |= cpus > 1,
        None => untold = true,
    })?;
    Ok(if shared { Some(true) } else { (!untold).then_some(false) })
}

/// Why rules of siblings do not look.
const NO_SIBLINGS: &str = "nobody told which CPUs share a core: --machine FILE does";

/// The tables that rules read, each as often as rules do.
pub const TABLES: &[&TableDef] = &{
    let (mut all, mut rule, mut at) = ([&tables::THREADS; READ], 0, 0);
    while rule < RULES.len() {
        let mut of = 0;
        while of < RULES[rule].tables.len() {
            all[at] = RULES[rule].tables[of];
            (of, at) = (of + 1, at + 1);
        }
        rule += 1;
    }
    all
};

/// How many those are.
const READ: usize = {
    let (mut rule, mut sum) = (0, 0);
    while rule < RULES.len() {
        sum += RULES[rule].tables.len();
        rule += 1;
    }
    sum
};

/// Every rule: first what limits all others, then who waited for whom, then what the machine did.
pub const RULES: &[&Rule] = &[
    &capture_lost_events::RULE,
    &stolen_by_hypervisor::RULE,
    &low_priority_ran_while_high_was_ready::RULE,
    &priority_inversion::RULE,
    &critical_thread_same_priority_as_workers::RULE,
    &nice_without_effect::RULE,
    &parked_while_ready::RULE,
    &ideal_cpu_outside_affinity::RULE,
    &serialised_on_one_cpu::RULE,
    &pinned_to_one_cpu::RULE,
    &throttled_by_quota::RULE,
    &critical_thread_on_efficient_core::RULE,
    &pinned_away_from_idle_faster_core::RULE,
    &woke_on_busy_sibling::RULE,
    &high_priority_woke_to_efficient_core_behind_low::RULE,
    &migration_between_core_types::RULE,
    &interrupt_on_critical_cpu::RULE,
    &lock_convoy::RULE,
    &busy_wait_at_barrier::RULE,
    &static_partition_barrier_tail::RULE,
    &chunks_too_large::RULE,
    &chunks_too_small::RULE,
    &oversubscribed::RULE,
    &worker_pool_larger_than_useful::RULE,
    &preemption_rate::RULE,
    &smt_neighbour_noisy::RULE,
    &frequency_below_nominal_while_busy::RULE,
    &utilisation_misread::RULE,
    &wakeup_storm::RULE,
    &io_wait_serialised::RULE,
    &sleep_too_short_for_idle_state::RULE,
];
