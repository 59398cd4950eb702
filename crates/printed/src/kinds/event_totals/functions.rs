//! Functions: callees are part of their callers, and all functions together part of the run.

use super::totals::run_named;
use super::{add_idle_states, idle_states, values};
use crate::measured::put;
use crate::{CheckContext, Figure, Head, Kind, Measured, Rule, Sheet, StatementSink};
use std::collections::BTreeMap;

const PART_OF_CALLER: Rule = Rule {
    id: "callee_part_of_caller",
    unit: "clocks",
    formula: "the clocks of a function are at most those of the function above it with the next lower depth",
};
const CALLER_ENERGY: Rule = Rule {
    id: "caller_over_callee_energy",
    unit: "ratio",
    formula: "energy of the cores in a function / in its callees is at most 1 + 10 × its own clocks / theirs: a function's own code uses no \
              more than 10 times the energy per clock of its callees. Otherwise energy was booked to it that is not of its code, and the \
              table cannot be compared with another one",
};
const COVER: Rule = Rule {
    id: "functions_cover",
    unit: "%",
    formula: "the sum of the functions at the top (depth 0) / the total of the run",
};
const ENERGY_COVER: Rule = Rule {
    id: "functions_cover_energy",
    unit: "%",
    formula: "the same of energy is at least 100 % − 3 − 10 × the share of the clocks that the functions lack: the rest uses no more than 10 \
              times the mean energy per clock",
};
const WITHIN_TOTAL: Rule = Rule {
    id: "functions_within_total",
    unit: "printed unit",
    formula: "the sum of the functions at the top is at most the total of the run",
};
const RATIO: Rule = Rule {
    id: "function_ratio",
    unit: "ratio",
    formula: "the value of a function / that of the same function in the table it is compared with",
};

/// How many times the energy per clock of other code a part of a program may use. A judgement: code differs by its instructions
/// and its waits for memory, which is a few times, not tens of times.
const MAX_DENSITY: f64 = 10.0;
/// The part of the energy that may be missing beyond that, in percent.
const ENERGY_SLACK: f64 = 3.0;
/// The values that are compared with the total of a run.
const SUMMED: &[&str] = &[
    "ref_cycles",
    "c3_clk",
    "c6_clk",
    "c7_clk",
    "idle_clk",
    "preempted_clk",
    "blocked_clk",
    "idle_wakeups",
    "involuntary",
    "voluntary",
    "energy.core",
    "energy.package",
];

/// See [`Kind::doc`].
pub(crate) struct EventFunctions;

type Values = BTreeMap<String, f64>;

/// The values of each function, from the top.
fn rows(sheet: &Sheet) -> Vec<(&str, Values)> {
    let row = |row| {
        let mut values = values(sheet, row);
        add_idle_states(&mut values);
        (sheet.text(row, "function"), values)
    };
    (0..sheet.len()).map(row).collect()
}

fn depth(sheet: &Sheet, row: usize) -> Option<usize> {
    sheet.text(row, "depth").parse().ok()
}

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

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let rows = rows(sheet);
        clocks_of_callers(sheet, out);
        energy_of_callers(sheet, &rows, out);
        for (function, values) in &rows {
            idle_states(function, values, out);
        }
        for pair in ctx.request.compare.iter().filter(|pair| pair.over == sheet.name) {
            if let Some(run) = run_named(ctx, &pair.under) {
                of_run(sheet, &rows, &run, out);
            }
        }
        for other in ctx.compared_with(sheet) {
            let name = format!("{}/{}", sheet.name, other.name);
            against(&name, &rows, &self::rows(other), out);
        }
    }
}

/// Verifies the clocks of each function against those of its caller.
fn clocks_of_callers(sheet: &Sheet, out: &mut StatementSink<'_>) {
    // The row above with each depth, from the top.
    let mut above: Vec<Option<Figure>> = Vec::new();
    for row in 0..sheet.len() {
        let (clocks, function) = (sheet.count(row, "ref_tsc_clk"), sheet.text(row, "function"));
        let Some(depth) = depth(sheet, row) else {
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

/// Verifies that the energy of a function's own code fits its own clocks, if the table has its callees.
fn energy_of_callers(sheet: &Sheet, rows: &[(&str, Values)], out: &mut StatementSink<'_>) {
    for (at, (caller, of_caller)) in rows.iter().enumerate() {
        let Some(level) = depth(sheet, at) else { continue };
        let below = (at + 1..rows.len()).take_while(|row| depth(sheet, *row).is_some_and(|depth| depth > level));
        let callees: Vec<usize> = below.filter(|row| depth(sheet, *row) == Some(level + 1)).collect();
        let sum = |id: &str| callees.iter().map(|row| rows.get(*row)?.1.get(id).copied()).sum::<Option<f64>>();
        let both = |id: &str| of_caller.get(id).copied().zip(sum(id)).filter(|(_, callees)| *callees > 0.0);
        if let (Some((clocks, of_callees)), Some((energy, energy_of_callees))) =
            (both("ref_cycles"), both("energy.core"))
        {
            let own = (clocks - of_callees).max(0.0);
            let limit = 1.0 + MAX_DENSITY * own / of_callees;
            out.computed_at_most(&CALLER_ENERGY, *caller, Figure::exact(energy / energy_of_callees), limit);
        }
    }
}

/// Compares the sum of the functions at the top with the totals of their run.
fn of_run(sheet: &Sheet, rows: &[(&str, Values)], run: &Measured, out: &mut StatementSink<'_>) {
    let name = format!("{}/{}", sheet.name, run.run);
    let top: Vec<&Values> =
        rows.iter().enumerate().filter(|(at, _)| depth(sheet, *at) == Some(0)).map(|(_, (_, values))| values).collect();
    let sum = |id: &str| top.iter().map(|values| values.get(id).copied()).sum::<Option<f64>>().zip(run.get(id));
    let clocks = sum("ref_cycles").filter(|(_, total)| *total > 0.0).map(|(sum, total)| 100.0 * sum / total);
    for id in SUMMED {
        let Some((sum, total)) = sum(id) else { continue };
        let of = format!("{name} {id}");
        out.at_most(&WITHIN_TOTAL, &of, Figure::exact(total), Figure::exact(sum));
        if total <= 0.0 {
            continue;
        }
        let share = 100.0 * sum / total;
        match clocks.filter(|_| id.starts_with("energy.")) {
            Some(clocks) => {
                let limit = (100.0 - ENERGY_SLACK - MAX_DENSITY * (100.0 - clocks).max(0.0)).max(0.0);
                out.computed_at_least(&ENERGY_COVER, of, Figure::exact(share), limit);
            }
            None => out.value(&COVER, of, share),
        }
    }
}

/// States the ratios of functions of the same name.
fn against(name: &str, over: &[(&str, Values)], under: &[(&str, Values)], out: &mut StatementSink<'_>) {
    let under: BTreeMap<&str, &Values> = under.iter().rev().map(|(function, values)| (*function, values)).collect();
    for (function, values) in over {
        let Some(base) = under.get(function) else { continue };
        for (id, value) in values {
            if let Some(base) = base.get(id) {
                out.value(&RATIO, format!("{name} {function} {id}"), value / base);
            }
        }
    }
}
