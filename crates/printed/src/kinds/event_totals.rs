//! Totals of hardware events and switches by run, and the same by function, as VTune prints them.

use crate::limits::within_turbo;
use crate::measured::put;
use crate::{CheckContext, Figure, Head, Kind, Measured, Rule, Sheet, StatementSink};
use std::collections::BTreeMap;

const CPI: Rule = Rule { id: "cpi", unit: "cycles/instruction", formula: "thread_clk / instructions" };
const GHZ: Rule =
    Rule { id: "mean_frequency", unit: "GHz", formula: "thread_clk / CPU time: the mean frequency while running" };
const PART_OF_CALLER: Rule = Rule {
    id: "callee_part_of_caller",
    unit: "clocks",
    formula: "the clocks of a function are at most those of the function above it with the next lower depth",
};

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

/// See [`Kind::doc`].
pub(crate) struct EventTotals;

impl Kind for EventTotals {
    fn id(&self) -> &'static str {
        "event_totals"
    }

    fn doc(&self) -> &'static str {
        "totals of runs, as printed by VTune: run, elapsed_s, cpu_s, instructions, thread_clk, and ref_tsc_clk, residencies, switches \
         and energies if known"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["run", "elapsed_s", "cpu_s", "instructions", "thread_clk"])
    }

    fn runs(&self, sheet: &Sheet, _: &CheckContext<'_>) -> Vec<String> {
        (0..sheet.len()).map(|row| sheet.text(row, "run").to_owned()).collect()
    }

    fn measured(&self, sheet: &Sheet) -> Option<Vec<Measured>> {
        let run = |row| {
            let mut out = Measured::of(sheet.text(row, "run"));
            out.values = values(sheet, row);
            derive(&mut out);
            out
        };
        Some((0..sheet.len()).map(run).collect())
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in 0..sheet.len() {
            let run = sheet.text(row, "run");
            let (clocks, time) = (sheet.count(row, "thread_clk"), sheet.figure_alone(row, "cpu_s"));
            if let Some((clocks, instructions)) = clocks.zip(sheet.count(row, "instructions")) {
                out.value(&CPI, run, (clocks / instructions).value);
            }
            if let Some((clocks, time)) = clocks.zip(time) {
                let ghz = (clocks / time).scaled(1e-9);
                out.value(&GHZ, run, ghz.value);
                if ctx.has_limit() {
                    within_turbo(ctx, out, run, ghz);
                }
            }
        }
    }
}

/// See [`Kind::doc`].
pub(crate) struct EventFunctions;

impl Kind for EventFunctions {
    fn id(&self) -> &'static str {
        "event_functions"
    }

    fn doc(&self) -> &'static str {
        "events by function, as printed by VTune: function, depth (0: at the top, more: called by the row above), ref_tsc_clk, and \
         switches, residencies and energies if known"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["function", "depth", "ref_tsc_clk"])
    }

    fn measured(&self, sheet: &Sheet) -> Option<Vec<Measured>> {
        let mut out = Measured::of("");
        for row in 0..sheet.len() {
            let mut values = values(sheet, row);
            let share = |of: &str| Some(values.get(of)? / values.get("idle_clk")?);
            let (all, c6) = (share("c_state_clk"), share("c6_clk"));
            put(&mut values, "c_state_share", all);
            put(&mut values, "c6_share", c6);
            out.rows.insert(sheet.text(row, "function").to_owned(), values);
        }
        Some(vec![out])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        // The row above with each depth, from the top.
        let mut above: Vec<Option<Figure>> = Vec::new();
        for row in 0..sheet.len() {
            let (clocks, function) = (sheet.count(row, "ref_tsc_clk"), sheet.text(row, "function"));
            let Ok(depth) = sheet.text(row, "depth").parse::<usize>() else {
                out.not_evaluated(&PART_OF_CALLER, function, "the depth is not a number");
                continue;
            };
            above.truncate(depth);
            if let Some((caller, clocks)) = depth.checked_sub(1).and_then(|at| *above.get(at)?).zip(clocks) {
                out.at_most(&PART_OF_CALLER, function, caller, clocks);
            }
            if above.len() == depth {
                above.push(clocks);
            }
        }
    }
}
