//! The rules: one file and one line in [`RULES`] each.

mod address_space_lock;
mod background_woke_package;
mod busy_wait_at_barrier;
mod capture_lost_events;
mod chunks_too_large;
mod chunks_too_small;
mod collector_pause;
mod critical_thread_on_efficient_core;
mod critical_thread_same_priority_as_workers;
mod deadlock;
mod frequency_below_nominal_while_busy;
mod global_lock;
mod high_priority_woke_to_efficient_core_behind_low;
mod ideal_cpu_outside_affinity;
mod interrupt_on_critical_cpu;
mod io_wait_serialised;
mod lock_convoy;
mod lock_held_long;
mod low_priority_ran_while_high_was_ready;
mod migration_between_core_types;
mod nice_without_effect;
mod oversubscribed;
mod parked_while_ready;
mod periodic_thread_delayed;
mod pinned_away_from_idle_faster_core;
mod pinned_to_one_cpu;
mod polling_thread;
mod preemption_rate;
mod priority_inversion;
mod readers_starve_writer;
mod serialised_on_one_cpu;
mod single_server;
mod sleep_too_short_for_idle_state;
mod smt_neighbour_noisy;
mod static_partition_barrier_tail;
mod stolen_by_hypervisor;
mod throttled_by_quota;
mod tick_divides_idle;
mod tick_interrupts_lone_thread;
mod too_few_workers;
mod unaligned_timers;
mod utilisation_misread;
mod waits_in_turn;
mod wakeup_storm;
mod woke_on_busy_sibling;
mod worker_pool_larger_than_useful;

use crate::context::RuleContext;
use crate::rule::{Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ready_wait, smt_cores};
use model::{Column, Ns, TableDef};
use std::collections::BTreeSet;

/// The assumed cost of a context switch.
const SWITCH: Threshold = Threshold {
    name: "switch_ns",
    unit: Unit::Ns,
    value: 4000.0,
    reason: "a context switch: perf bench sched pipe, pinned to one CPU of the virtual machine on which corewise is developed, takes 8.5 to \
             13 µs for two switches and four system calls; if `corewise bench` measured the recorded machine, its figure \
             is used instead",
};

/// The columns of `ready_wait` that sum up ready time after a thread left its CPU while runnable.
const LEFT_RUNNABLE: [Column<ready_wait::Table, Ns>; 5] = [
    ready_wait::READY_PREEMPTED_NS.or_zero(),
    ready_wait::READY_YIELDED_NS.or_zero(),
    ready_wait::READY_THROTTLED_NS.or_zero(),
    ready_wait::READY_GAVE_WAY_NS.or_zero(),
    ready_wait::READY_UNKNOWN_NS.or_zero(),
];

/// Findings in which every thread loses less are not reported.
pub(crate) const MIN_SHARE: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "half of severity.medium_share: losses of less than this share of the analysed time are not reported",
};

/// The least running time that shows how often something happens in it: a time slice.
pub(crate) const MIN_RATE_NS: Ns = Ns(1_000_000);

/// The minimum share of the critical path that makes a thread critical.
const MIN_PATH_SHARE: Threshold = Threshold {
    name: "min_path_share",
    unit: Unit::Ratio,
    value: 0.3,
    reason: "of the analysed time; heuristic: if no thread has a third of the path, none determines the end",
};

/// The assumed throughput of two SMT siblings.
const SMT_GAIN: Threshold = Threshold {
    name: "smt_gain",
    unit: Unit::Ratio,
    value: 1.3,
    reason: "throughput of two busy siblings relative to one alone: as in the table smt_utilisation, measured on servers \
             (1.33 and 1.29); two runs of one program on a core of another machine reached 0.97 and 1.18; if `corewise bench` measured the \
             recorded machine, its figure is used instead",
};

/// The share that each of two siblings loses if both do no more work than one alone.
const MAX_LOSS: f64 = 0.5;

/// The share of its time that each of two siblings loses: together they do `gain` times the work of one alone.
fn loss(gain: f64) -> f64 {
    (1.0 - gain / 2.0).clamp(0.0, MAX_LOSS)
}

/// The assumptions of a finding that uses [`SMT_GAIN`].
fn gain_words(ctx: &RuleContext<'_>) -> [String; 2] {
    let upper = match ctx.interval(&SMT_GAIN) {
        Some([low, _]) => format!("{:.2} of one alone, as the kind of work that gains least", low.max(1.0)),
        None => "no more than one".to_owned(),
    };
    [ctx.whose(&SMT_GAIN), format!("lower bound: two busy siblings do twice as much as one; upper bound: {upper}")]
}

/// Whether the machine is known to have several core types.
fn has_core_types(ctx: &RuleContext<'_>) -> Result<bool, EngineError> {
    let mut types = BTreeSet::new();
    ctx.each_row(cpus::Table, |row| {
        types.insert(row.get(cpus::CORE_TYPE).to_owned());
    })?;
    Ok(types.len() > 1)
}

/// Why rules about core types are not checked.
const ONE_TYPE: &str = "only one core type is known on this machine; --machine FILE can describe others";

/// Whether CPUs share cores; `None` if that is not recorded for some, and no others do.
fn shares_cores(ctx: &RuleContext<'_>) -> Result<Option<bool>, EngineError> {
    let (mut shared, mut not_recorded) = (false, false);
    ctx.each_row(smt_cores::Table, |row| match row.get(smt_cores::SIBLINGS) {
        Some(cpus) => shared |= cpus > 1,
        None => not_recorded = true,
    })?;
    Ok(if shared { Some(true) } else { (!not_recorded).then_some(false) })
}

/// Why rules about SMT siblings are not checked.
const NO_SIBLINGS: &str = "SMT siblings were not recorded; --machine FILE can describe them";

/// The tables that rules read; a table appears once for each rule that reads it.
pub const TABLES: &[&TableDef] = &{
    let (mut all, mut rule, mut at) = ([&tables::THREADS; TABLE_COUNT], 0, 0);
    while rule < RULES.len() {
        let mut table = 0;
        while table < RULES[rule].tables.len() {
            all[at] = RULES[rule].tables[table];
            (table, at) = (table + 1, at + 1);
        }
        rule += 1;
    }
    all
};

/// The length of [`TABLES`].
const TABLE_COUNT: usize = {
    let (mut rule, mut sum) = (0, 0);
    while rule < RULES.len() {
        sum += RULES[rule].tables.len();
        rule += 1;
    }
    sum
};

/// The rule whose savings are the lateness of a periodic thread itself.
pub(crate) use periodic_thread_delayed::RULE as COUNTS_LATENESS;

/// All rules: first what affects all others, then waiting and priorities, then the machine.
pub const RULES: &[&Rule] = &[
    &capture_lost_events::RULE,
    &stolen_by_hypervisor::RULE,
    &low_priority_ran_while_high_was_ready::RULE,
    &priority_inversion::RULE,
    &critical_thread_same_priority_as_workers::RULE,
    &periodic_thread_delayed::RULE,
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
    &deadlock::RULE,
    &readers_starve_writer::RULE,
    &lock_held_long::RULE,
    &address_space_lock::RULE,
    &lock_convoy::RULE,
    &busy_wait_at_barrier::RULE,
    &static_partition_barrier_tail::RULE,
    &chunks_too_large::RULE,
    &chunks_too_small::RULE,
    &oversubscribed::RULE,
    &worker_pool_larger_than_useful::RULE,
    &too_few_workers::RULE,
    &single_server::RULE,
    &global_lock::RULE,
    &collector_pause::RULE,
    &preemption_rate::RULE,
    &smt_neighbour_noisy::RULE,
    &frequency_below_nominal_while_busy::RULE,
    &utilisation_misread::RULE,
    &wakeup_storm::RULE,
    &io_wait_serialised::RULE,
    &waits_in_turn::RULE,
    &sleep_too_short_for_idle_state::RULE,
    &polling_thread::RULE,
    &unaligned_timers::RULE,
    &background_woke_package::RULE,
    &tick_divides_idle::RULE,
    &tick_interrupts_lone_thread::RULE,
];
