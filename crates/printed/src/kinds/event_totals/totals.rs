//! Runs: what follows from the totals of each, and whether they can be right.

use super::{add_idle_states, derive, idle_states, pairs, values};
use crate::limits::within_turbo;
use crate::{CheckContext, Figure, Head, Kind, Measured, Rule, Sheet, StatementSink};
use analysis::plausible::ABOVE_TDP;

const CPI: Rule = Rule { id: "cpi", unit: "cycles/instruction", formula: "thread_clk / instructions" };
const IPC: Rule = Rule { id: "run_ipc", unit: "instructions/cycle", formula: "instructions / thread_clk" };
const GHZ: Rule =
    Rule { id: "mean_frequency", unit: "GHz", formula: "thread_clk / CPU time: the mean frequency while running" };
const NOMINAL: Rule = Rule {
    id: "nominal_frequency",
    unit: "GHz",
    formula: "ref_tsc_clk / CPU time: the time-stamp counter's frequency is the same in all runs of one machine, within 0.1 %",
};
const BOOST: Rule = Rule {
    id: "boost",
    unit: "ratio",
    formula: "thread_clk / ref_tsc_clk: the mean frequency as a multiple of the nominal one",
};
const IDLE_PER_WAKEUP: Rule = Rule {
    id: "idle_per_wakeup",
    unit: "clocks",
    formula: "idle time / wakeups from idle, in clocks of the time-stamp counter",
};
const WAKEUPS_PER_SYNC: Rule =
    Rule { id: "wakeups_per_sync_switch", unit: "ratio", formula: "wakeups from idle / synchronisation switches" };
const PREEMPTIONS_PER_S: Rule =
    Rule { id: "preemptions_per_s", unit: "1/s", formula: "preemption switches / elapsed time" };
const PREEMPTED: Rule = Rule {
    id: "preempted_time",
    unit: "s",
    formula: "inactive time at the nominal frequency: threads were ready, but preempted",
};
const ENERGY_PER_WORK: Rule = Rule {
    id: "energy_per_giga_instructions",
    unit: "J",
    formula: "energy of the package / 10⁹ instructions, in the unit that the table states",
};
const UNCORE: Rule = Rule {
    id: "uncore_share_of_energy",
    unit: "%",
    formula: "the part of the package's energy that is not of its cores",
};
const CORE_POWER: Rule = Rule {
    id: "core_power",
    unit: "W",
    formula: "energy of the cores / elapsed time, in the unit that the table states",
};
const PACKAGE_POWER: Rule = Rule {
    id: "package_power",
    unit: "W",
    formula: "energy of the package / elapsed time is at most 2.5 times the nominal power of the part (--tdp): otherwise the unit or the \
              counter is wrong",
};
const LIKELY_UNIT: Rule = Rule {
    id: "package_power_of_likely_unit",
    unit: "W",
    formula: "the power divided by the least power of two with which all runs are possible, because units of energy counters are powers of \
              two: what the right unit may give. Ratios of energies hold",
};
const PARTS: Rule = Rule {
    id: "energy_parts_within_package",
    unit: "J",
    formula: "the energies of the cores and the graphics are parts of the package's, and together at most as much",
};
const TIME_CLOSES: Rule = Rule {
    id: "time_of_cpus_closes",
    unit: "%",
    formula: "(CPU time + idle time) / (CPUs × elapsed time) is 100 %, within 1 %: a CPU runs or is idle. The number of CPUs is the least that \
              can hold the CPU time and the idle time of each run",
};

/// By how much runs of one machine may differ in the frequency of the time-stamp counter: the CPU time is not measured by the counter.
const ONE_FREQUENCY: f64 = 1e-3;
/// The time of all CPUs that may be neither running nor idle, in percent.
const UNACCOUNTED: f64 = 1.0;
/// The largest factor that is tried as an error of the unit. Intel's units of energy are from 2⁻⁰ to 2⁻³¹ J.
const MAX_UNIT_ERROR: i32 = 31;

/// What follows from two values of a run: rule, id, and factor.
const VALUES: &[(&Rule, &str, f64)] = &[
    (&BOOST, "boost", 1.0),
    (&IPC, "ipc", 1.0),
    (&IDLE_PER_WAKEUP, "idle_per_wakeup_clk", 1.0),
    (&WAKEUPS_PER_SYNC, "wakeups_per_wait", 1.0),
    (&PREEMPTIONS_PER_S, "involuntary_per_s", 1.0),
    (&PREEMPTED, "preempted_ns", 1e-9),
    (&ENERGY_PER_WORK, "energy.per_giga_instructions", 1.0),
    (&UNCORE, "energy.uncore_share", 100.0),
    (&CORE_POWER, "power.core", 1.0),
];

/// See [`Kind::doc`].
pub(crate) struct EventTotals;

/// The values of a run, with those that only the check needs.
fn run(sheet: &Sheet, row: usize) -> Measured {
    let mut run = measured(sheet, row);
    run.ratio("power.core", "energy.core", "elapsed", 1e9);
    add_idle_states(&mut run.values);
    run
}

fn measured(sheet: &Sheet, row: usize) -> Measured {
    let mut run = Measured::of(sheet.text(row, "run"));
    run.values = values(sheet, row);
    derive(&mut run);
    run
}

/// The run of a name in any table of totals.
pub(crate) fn run_named(ctx: &CheckContext<'_>, name: &str) -> Option<Measured> {
    let rows = ctx.of_kind("event_totals").flat_map(|sheet| (0..sheet.len()).map(move |row| (sheet, row)));
    rows.filter(|(sheet, row)| sheet.text(*row, "run") == name).map(|(sheet, row)| run(sheet, row)).next()
}

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
        Some((0..sheet.len()).map(|row| measured(sheet, row)).collect())
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let runs: Vec<Measured> = (0..sheet.len()).map(|row| run(sheet, row)).collect();
        for (row, run) in runs.iter().enumerate() {
            clocks(sheet, row, ctx, out);
            for (rule, id, factor) in VALUES {
                if let Some(value) = run.get(id) {
                    out.value(rule, &run.run, factor * value);
                }
            }
            idle_states(&run.run, &run.values, out);
            parts(sheet, row, out);
        }
        nominal_frequency(&runs, out);
        time_closes(&runs, out);
        package_power(sheet, ctx, out);
        pairs::compare(&runs, ctx, out);
    }
}

/// What cycles show.
fn clocks(sheet: &Sheet, row: usize, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
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

/// Verifies that cores and graphics use no more than their package.
fn parts(sheet: &Sheet, row: usize, out: &mut StatementSink<'_>) {
    let joules = |col| Some(sheet.figure_alone(row, col)?.scaled(1e-6));
    let parts: Vec<Figure> =
        ["energy_core_uj_printed", "energy_gfx_uj_printed"].into_iter().filter_map(joules).collect();
    if let Some(package) = joules("energy_package_uj_printed").filter(|_| !parts.is_empty()) {
        out.at_most(&PARTS, sheet.text(row, "run"), package, parts.into_iter().sum());
    }
}

/// Verifies that all runs have the same nominal frequency as the first one.
fn nominal_frequency(runs: &[Measured], out: &mut StatementSink<'_>) {
    let ghz = |run: &Measured| run.get("nominal_frequency").map(|khz| khz * 1e-6);
    let mut first = None;
    for run in runs {
        match (ghz(run), first) {
            (Some(this), None) => {
                out.value(&NOMINAL, &run.run, this);
                first = Some(this);
            }
            (Some(this), Some(first)) => out.within(&NOMINAL, &run.run, this, first, ONE_FREQUENCY * first),
            (None, _) => {}
        }
    }
}

/// Verifies that CPUs ran or were idle at all times.
fn time_closes(runs: &[Measured], out: &mut StatementSink<'_>) {
    let of = |run: &Measured| Some((run.get("cpu_ns")? + run.get("idle_ns")?) / run.get("elapsed")?);
    let known: Vec<(&Measured, f64)> = runs.iter().filter_map(|run| Some((run, of(run)?))).collect();
    let cpus = known.iter().map(|(_, busy)| *busy).fold(0.0, f64::max).ceil();
    for (run, busy) in known {
        let of = format!("{} on {cpus} CPUs", run.run);
        out.within(&TIME_CLOSES, of, 100.0 * busy / cpus, 100.0, UNACCOUNTED);
    }
}

/// Verifies the power of all packages against the nominal power of the part.
fn package_power(sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
    let watts = |row: usize| {
        let energy = sheet.count(row, "energy_package_uj_printed")?.scaled(1e-6);
        Some((row, energy / sheet.figure_alone(row, "elapsed_s").filter(|s| s.value > 0.0)?))
    };
    let all: Vec<(usize, Figure)> = (0..sheet.len()).filter_map(watts).collect();
    let Some(tdp) = ctx.request.tdp_w else {
        for (row, watts) in all {
            out.value(&PACKAGE_POWER, sheet.text(row, "run"), watts.value);
        }
        return;
    };
    let limit = ABOVE_TDP * tdp;
    for (row, watts) in &all {
        out.computed_at_most(&PACKAGE_POWER, sheet.text(*row, "run"), *watts, limit);
    }
    let most = all.iter().map(|(_, watts)| watts.value).fold(0.0, f64::max);
    let divisor = (1..=MAX_UNIT_ERROR).map(|power| 2_f64.powi(power)).find(|divisor| most / divisor <= limit);
    if let Some(divisor) = divisor.filter(|_| most > limit) {
        for (row, watts) in all {
            let of = format!("{} / {divisor}", sheet.text(row, "run"));
            out.value(&LIKELY_UNIT, of, watts.value / divisor);
        }
    }
}
