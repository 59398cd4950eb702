//! Threads with their clocks on each core type, as in VTune's grid.

use crate::limits::within_turbo;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const CPI: Rule =
    Rule { id: "grid_cpi", unit: "clocks/instruction", formula: "clocks on all core types / instructions" };
const TOP_LEVEL: Rule = Rule {
    id: "top_level_to_whole",
    unit: "%",
    formula: "a slot is retiring, front-end bound, back-end bound or bad speculation: together 100 %",
};
const E_SHARE: Rule = Rule { id: "clocks_on_e", unit: "%", formula: "clocks on E cores / all clocks" };
const THREADS: Rule = Rule {
    id: "threads_within_process",
    unit: "s",
    formula: "the CPU time of the process is at least the sum of its threads'",
};
const CLOCK: Rule = Rule { id: "clock_of_thread", unit: "GHz", formula: "clocks on all core types / CPU time" };
const FIT_P: Rule = Rule { id: "fitted_p_clock", unit: "GHz", formula: FIT };
const FIT_E: Rule = Rule { id: "fitted_e_clock", unit: "GHz", formula: FIT };
const FIT: &str = "the two frequencies with the smallest error of CPU time = P clocks / f_P + E clocks / f_E over the threads (least squares)";

const TOP: [&str; 4] = ["p_retiring_pct", "p_frontend_bound_pct", "p_bad_speculation_pct", "p_backend_bound_pct"];

/// See [`Kind::doc`].
pub(crate) struct CoreTypeGrid;

/// The row of a thread.
pub(crate) struct Thread {
    pub(crate) tid: String,
    pub(crate) cpu_s: f64,
    pub(crate) p_clocks: f64,
    pub(crate) e_clocks: f64,
}

impl Thread {
    /// The mean clock on all core types, GHz.
    pub(crate) fn clock(&self) -> f64 {
        (self.p_clocks + self.e_clocks) / self.cpu_s / 1e9
    }
}

/// The threads of a grid that have times and clocks.
pub(crate) fn of_threads(sheet: &Sheet) -> Vec<Thread> {
    let of = |row| {
        Some(Thread {
            tid: sheet.text(row, "pid_or_tid").to_owned(),
            cpu_s: sheet.figure(row, "cpu_s")?.value,
            p_clocks: sheet.figure(row, "p_clockticks")?.value,
            e_clocks: sheet.figure(row, "e_clockticks")?.value,
        })
    };
    sheet.rows_where("level", "thread").filter_map(of).collect()
}

/// The frequencies of P and E cores in GHz that fit the threads' CPU times best.
pub(crate) fn fitted(threads: &[Thread]) -> Option<[f64; 2]> {
    if threads.len() < 3 {
        return None;
    }
    let sum = |of: fn(&Thread) -> f64| threads.iter().map(of).sum::<f64>();
    let (pp, pe, ee) =
        (sum(|t| t.p_clocks * t.p_clocks), sum(|t| t.p_clocks * t.e_clocks), sum(|t| t.e_clocks * t.e_clocks));
    let (pt, et) = (sum(|t| t.p_clocks * t.cpu_s), sum(|t| t.e_clocks * t.cpu_s));
    // The seconds per clock on each type, from the normal equations.
    let by = pp * ee - pe * pe;
    let of = [pt * ee - et * pe, et * pp - pt * pe].map(|part| 1e-9 * by / part);
    of.iter().all(|ghz| ghz.is_finite() && *ghz > 0.0).then_some(of)
}

impl Kind for CoreTypeGrid {
    fn id(&self) -> &'static str {
        "core_type_grid"
    }

    fn doc(&self) -> &'static str {
        "threads by core type, as in VTune's grid: level, pid_or_tid, cpu_s, p_clockticks, e_clockticks, instructions, cpi, and \
         the top level of P cores (p_retiring_pct, …)"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["level", "pid_or_tid", "cpu_s", "p_clockticks", "e_clockticks", "instructions", "cpi"])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in 0..sheet.len() {
            let of = sheet.text(row, "pid_or_tid");
            let count = |col| sheet.count(row, col);
            let (Some(p), Some(e), Some(instructions), Some(cpi)) =
                (count("p_clockticks"), count("e_clockticks"), count("instructions"), sheet.figure(row, "cpi"))
            else {
                out.not_evaluated(&CPI, of, "a count is not a number");
                continue;
            };
            out.equal(&CPI, of, (p + e) / instructions, cpi);
            out.value(&E_SHARE, of, (e / (p + e)).scaled(100.0).value);
            if let Some(time) = sheet.figure(row, "cpu_s") {
                let clock = ((p + e) / time).scaled(1e-9);
                out.value(&CLOCK, of, clock.value);
                if ctx.has_limit() {
                    within_turbo(ctx, out, of, clock);
                }
            }
            if let Some(top) = TOP.iter().map(|col| sheet.figure(row, col)).collect::<Option<Vec<_>>>() {
                out.equal(&TOP_LEVEL, of, top.into_iter().sum(), Figure::exact(100.0));
            }
        }
        let cpu = |level| -> Vec<Figure> {
            sheet.rows_where("level", level).filter_map(|row| sheet.figure(row, "cpu_s")).collect()
        };
        let (threads, process) = (cpu("thread"), cpu("process"));
        if let ([_, ..], [process]) = (threads.as_slice(), process.as_slice()) {
            let all: Figure = threads.into_iter().sum();
            let rounding = all.rounding + process.rounding;
            out.computed_at_most(&THREADS, &sheet.name, Figure { rounding, ..all }, process.value);
        }
        if let Some([p, e]) = fitted(&of_threads(sheet)) {
            out.value(&FIT_P, &sheet.name, p);
            out.value(&FIT_E, &sheet.name, e);
        }
    }
}
