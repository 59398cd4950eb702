//! Threads with the clocks that they ran on each type of core, as VTune's grid has them.

use crate::limits::within_turbo;
use crate::{Figure, Given, Head, Kind, Rule, Sheet, Told};

const CPI: Rule =
    Rule { id: "grid_cpi", unit: "clocks/instruction", formula: "clocks on all types of cores / instructions" };
const TOP_LEVEL: Rule = Rule {
    id: "top_level_to_whole",
    unit: "%",
    formula: "a slot retires, waits for the front end, for the back end or is spent on bad speculation: together 100 %",
};
const E_SHARE: Rule = Rule { id: "clocks_on_e", unit: "%", formula: "clocks on E cores, of all clocks" };
const CLOCK: Rule = Rule { id: "clock_of_thread", unit: "GHz", formula: "clocks on all types of cores / CPU time" };
const FIT_P: Rule = Rule { id: "fitted_p_clock", unit: "GHz", formula: FIT };
const FIT_E: Rule = Rule { id: "fitted_e_clock", unit: "GHz", formula: FIT };
const FIT: &str = "the two frequencies by which CPU time = P clocks / f_P + E clocks / f_E is least wrong over the threads (least squares)";

const TOP: [&str; 4] = ["p_retiring_pct", "p_frontend_bound_pct", "p_bad_speculation_pct", "p_backend_bound_pct"];

/// See [`Kind::doc`].
pub(crate) struct CoreTypeGrid;

/// What a thread's row says.
pub(crate) struct Thread {
    pub(crate) tid: String,
    pub(crate) cpu_s: f64,
    pub(crate) p_clocks: f64,
    pub(crate) e_clocks: f64,
}

impl Thread {
    /// In GHz, of P and E cores alike.
    pub(crate) fn clock(&self) -> f64 {
        (self.p_clocks + self.e_clocks) / self.cpu_s / 1e9
    }
}

/// The threads of a grid of which times and clocks are told.
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

/// The frequencies of P and E cores in GHz that explain the threads' CPU times best.
pub(crate) fn fitted(threads: &[Thread]) -> Option<[f64; 2]> {
    if threads.len() < 3 {
        return None;
    }
    let sum = |of: fn(&Thread) -> f64| threads.iter().map(of).sum::<f64>();
    let (pp, pe, ee) =
        (sum(|t| t.p_clocks * t.p_clocks), sum(|t| t.p_clocks * t.e_clocks), sum(|t| t.e_clocks * t.e_clocks));
    let (pt, et) = (sum(|t| t.p_clocks * t.cpu_s), sum(|t| t.e_clocks * t.cpu_s));
    // The seconds a clock takes on each, from the normal equations.
    let by = pp * ee - pe * pe;
    let of = [pt * ee - et * pe, et * pp - pt * pe].map(|part| 1e-9 * by / part);
    of.iter().all(|ghz| ghz.is_finite() && *ghz > 0.0).then_some(of)
}

impl Kind for CoreTypeGrid {
    fn id(&self) -> &'static str {
        "core_type_grid"
    }

    fn doc(&self) -> &'static str {
        "threads by type of core, as VTune's grid: level, pid_or_tid, cpu_s, p_clockticks, e_clockticks, instructions, cpi, and \
         the P cores' top level (p_retiring_pct, …)"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["level", "pid_or_tid", "cpu_s", "p_clockticks", "e_clockticks", "instructions", "cpi"])
    }

    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>) {
        for row in 0..sheet.len() {
            let of = sheet.text(row, "pid_or_tid");
            let count = |col| sheet.count(row, col);
            let (Some(p), Some(e), Some(instructions), Some(cpi)) =
                (count("p_clockticks"), count("e_clockticks"), count("instructions"), sheet.figure(row, "cpi"))
            else {
                told.cannot(&CPI, of, "a count is no number");
                continue;
            };
            told.equal(&CPI, of, (p + e) / instructions, cpi);
            told.value(&E_SHARE, of, (e / (p + e)).scaled(100.0).value);
            if let Some(time) = sheet.figure(row, "cpu_s") {
                let clock = ((p + e) / time).scaled(1e-9);
                told.value(&CLOCK, of, clock.value);
                if given.has_limit() {
                    within_turbo(given, told, of, clock);
                }
            }
            if let Some(top) = TOP.iter().map(|col| sheet.figure(row, col)).collect::<Option<Vec<_>>>() {
                told.equal(&TOP_LEVEL, of, top.into_iter().sum(), Figure::exact(100.0));
            }
        }
        if let Some([p, e]) = fitted(&of_threads(sheet)) {
            told.value(&FIT_P, &sheet.name, p);
            told.value(&FIT_E, &sheet.name, e);
        }
    }
}
