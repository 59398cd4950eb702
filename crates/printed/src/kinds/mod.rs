//! One file per kind of printed table.

pub(crate) mod battery_life;
pub(crate) mod claims;
pub(crate) mod contention_times;
pub(crate) mod core_type_grid;
pub(crate) mod counters_by_system;
pub(crate) mod cpi_of_two_systems;
pub(crate) mod cpu_specs;
pub(crate) mod cpu_utilisation;
pub(crate) mod double_busy;
pub(crate) mod event_totals;
pub(crate) mod marked_tasks;
pub(crate) mod migration_bench;
pub(crate) mod openmp_chunks;
pub(crate) mod perf_stat;
pub(crate) mod priority_shares;
pub(crate) mod ready_wait;
pub(crate) mod relative_ips;
pub(crate) mod smt_siblings;
pub(crate) mod thread_by_cpu;
pub(crate) mod thread_totals;
pub(crate) mod toplev_nodes;
