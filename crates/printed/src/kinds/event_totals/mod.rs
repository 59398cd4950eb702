//! Totals of hardware events, switches, idle states and energy by run, and the same by function, as VTune prints them.
//!
//! [`totals`] is what follows from a run alone, [`pairs`] from two runs, [`functions`] from the rows of functions.

mod functions;
mod pairs;
mod totals;

pub(crate) use functions::EventFunctions;
pub(crate) use totals::{EventTotals, run_named};

use crate::measured::put;
use crate::{Measured, Rule, Sheet, StatementSink};
use std::collections::BTreeMap;

const IDLE_STATE: Rule =
    Rule { id: "idle_state_share", unit: "%", formula: "the residency of a C-state, or of several, / idle time" };

/// The columns, the ids of their values, and the factor from the column to the value's unit. Clocks are those of the time-stamp
/// counter, so that the times in clocks (`…_clk`) become ns by the nominal frequency, see [`derive`].
const COLUMNS: &[(&str, &str, f64)] = &[
    ("elapsed_s", "elapsed", 1e9),
    ("cpu_s", "cpu_ns", 1e9),
    ("instructions", "instructions", 1.0),
    ("thread_clk", "cycles", 1.0),
    ("ref_tsc_clk", "ref_cycles", 1.0),
    ("c3_residency_clk", "c3_clk", 1.0),
    ("c6_residency_clk", "c6_clk", 1.0),
    ("c7_residency_clk", "c7_clk", 1.0),
    ("idle_time_clk", "idle_clk", 1.0),
    ("inactive_time_clk", "preempted_clk", 1.0),
    ("wait_time_clk", "blocked_clk", 1.0),
    ("idle_wakeups", "idle_wakeups", 1.0),
    ("preemption_switches", "involuntary", 1.0),
    ("sync_switches", "voluntary", 1.0),
    ("energy_core_uj_printed", "energy.core", 1e-6),
    ("energy_gfx_uj_printed", "energy.gpu", 1e-6),
    ("energy_package_uj_printed", "energy.package", 1e-6),
];

/// Reads the known columns of a row.
fn values(sheet: &Sheet, row: usize) -> BTreeMap<String, f64> {
    let mut out = BTreeMap::new();
    for (column, id, factor) in COLUMNS {
        put(&mut out, id, sheet.figure_alone(row, column).map(|f| f.value * factor));
    }
    let c_states = ["c3_clk", "c6_clk", "c7_clk"].iter().map(|id| out.get(*id).copied()).collect::<Option<Vec<_>>>();
    put(&mut out, "c_state_clk", c_states.map(|all| all.iter().sum()));
    out
}

/// Sets what follows from the values of a row.
fn derive(out: &mut Measured) {
    out.derive_from_counts();
    out.ratio("nominal_frequency", "ref_cycles", "cpu_ns", 1e6);
    out.ratio("boost", "cycles", "ref_cycles", 1.0);
    if let Some(khz) = out.get("nominal_frequency") {
        for (clocks, id) in [("preempted_clk", "preempted_ns"), ("blocked_clk", "blocked_ns"), ("idle_clk", "idle_ns")]
        {
            out.set(id, out.get(clocks).map(|clocks| clocks * 1e6 / khz));
        }
    }
    out.ratio("c_state_share", "c_state_clk", "idle_clk", 1.0);
    out.ratio("idle_per_wakeup_clk", "idle_clk", "idle_wakeups", 1.0);
    out.ratio("idle_per_wakeup_ns", "idle_ns", "idle_wakeups", 1.0);
    out.ratio("wakeups_per_wait", "idle_wakeups", "voluntary", 1.0);
    out.ratio("involuntary_per_s", "involuntary", "elapsed", 1e9);
    out.ratio("voluntary_per_s", "voluntary", "elapsed", 1e9);
    out.ratio("energy.per_giga_instructions", "energy.package", "instructions", 1e9);
    out.ratio("power.package", "energy.package", "elapsed", 1e9);
    let (core, package) = (out.get("energy.core"), out.get("energy.package"));
    out.set("energy.uncore_share", core.zip(package).map(|(core, package)| 1.0 - core / package));
    if package.is_some() {
        let lack = "energy is in the unit that the table states, which may be wrong: a ratio of energies holds if both sides \
                    have the same unit";
        out.lacks.push(lack.to_owned());
    }
}

/// The idle states of which the residency is shown as a share of the idle time: name, values of clocks.
const IDLE_STATES: &[(&str, &[&str])] = &[
    ("c3", &["c3_clk"]),
    ("c6", &["c6_clk"]),
    ("c7", &["c7_clk"]),
    ("c3+c6", &["c3_clk", "c6_clk"]),
    ("all", &["c_state_clk"]),
];

/// Adds the residencies of several idle states, and of each as a share of the idle time from 0 to 1.
fn add_idle_states(values: &mut BTreeMap<String, f64>) {
    for (state, clocks) in IDLE_STATES {
        let all: Option<f64> = clocks.iter().map(|id| values.get(*id).copied()).sum();
        let share = all.zip(values.get("idle_clk")).map(|(all, idle)| all / idle);
        if clocks.len() > 1 {
            put(values, &format!("{state}_clk"), all);
        }
        put(values, &idle_share(state), share);
    }
}

/// The id of an idle state's share of the idle time.
fn idle_share(state: &str) -> String {
    if state == "all" { "c_state_share".to_owned() } else { format!("{state}_share") }
}

/// States the residency of each idle state of a run or function. All are 0 in most functions, which is not shown.
fn idle_states(of: &str, values: &BTreeMap<String, f64>, out: &mut StatementSink<'_>) {
    if values.get("c_state_clk").is_none_or(|clocks| *clocks == 0.0) {
        return;
    }
    for (state, _) in IDLE_STATES {
        if let Some(share) = values.get(&idle_share(state)) {
            out.value(&IDLE_STATE, format!("{of} {state}"), 100.0 * share);
        }
    }
}
