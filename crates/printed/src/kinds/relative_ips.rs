//! Instructions per second of threads on each core type.

use super::core_type_grid::{fitted, of_threads};
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};
use std::collections::{HashMap, HashSet};

const RATIO: Rule = Rule { id: "relative_ips", unit: "ratio", formula: "instructions per second on E / on P" };
const P_CLOCK: Rule = Rule {
    id: "implied_p_clock",
    unit: "MHz",
    formula: "instructions per second × clocks per instruction on P, with the highest precision printed in any table",
};
const E_CLOCK_LOW: Rule = Rule { id: "implied_e_clock_low", unit: "MHz", formula: INTERVAL };
const E_CLOCK_HIGH: Rule = Rule { id: "implied_e_clock_high", unit: "MHz", formula: INTERVAL };
const INTERVAL: &str = "the range of instructions per second × clocks per instruction on E that is consistent with the rounding of all rows";
const LISTED: Rule =
    Rule { id: "thread_is_in_grid", unit: "rows", formula: "each thread with rates is one of those with clocks" };
const ONE_CLOCK: Rule = Rule {
    id: "one_clock_of_p",
    unit: "GHz",
    formula: "a thread with at least 99 % of its clocks on P cores has the clock that the table of rates implies",
};
const FIT_P: Rule = Rule { id: "fitted_is_implied_p_clock", unit: "GHz", formula: FIT };
const FIT_E: Rule = Rule { id: "fitted_is_implied_e_clock", unit: "GHz", formula: FIT };
const FIT: &str =
    "the clock that fits the CPU times of the grid's threads best equals the one that the table of rates implies";

/// See [`Kind::doc`].
pub(crate) struct RelativeIps;

/// The range that is consistent with all products, as its middle and half its width.
fn common_range(products: &[Figure]) -> Option<Figure> {
    let low = products.iter().map(|f| f.value - f.rounding).reduce(f64::max)?;
    let high = products.iter().map(|f| f.value + f.rounding).reduce(f64::min)?;
    // If it is empty, the rows have no common clock, and nothing is implied.
    (low <= high).then_some(Figure { value: (low + high) / 2.0, rounding: (high - low) / 2.0 })
}

/// Threads' clocks per instruction on P from a table of two systems, which may have a higher precision.
fn p_cpis<'a>(ctx: &CheckContext<'a>) -> HashMap<&'a str, Figure> {
    let tables = ctx.of_kind("cpi_of_two_systems");
    let rows = tables.flat_map(|s| (0..s.len()).map(move |row| (s, row)));
    rows.filter_map(|(s, row)| Some((s.text(row, "tid"), s.figure(row, "hybrid_p_cpi")?))).collect()
}

/// The figure with the smaller rounding error.
fn better(one: Option<Figure>, other: Option<&Figure>) -> Option<Figure> {
    one.into_iter().chain(other.copied()).min_by(|a, b| a.rounding.total_cmp(&b.rounding))
}

impl Kind for RelativeIps {
    fn id(&self) -> &'static str {
        "relative_ips"
    }

    fn doc(&self) -> &'static str {
        "threads' instructions per second by type of core: tid, p_cpi, e_cpi, p_minstr_per_s, e_minstr_per_s, relative_ips, and job"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["tid", "p_cpi", "e_cpi", "p_minstr_per_s", "e_minstr_per_s", "relative_ips"])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let grids: Vec<&Sheet> = ctx.of_kind("core_type_grid").collect();
        let in_grids: HashSet<&str> = grids.iter().flat_map(|grid| grid.index("pid_or_tid").into_keys()).collect();
        let (p_cpis, here) = (p_cpis(ctx), sheet.index("tid"));
        let (mut p_clocks, mut e_clocks) = (Vec::new(), Vec::new());
        for row in 0..sheet.len() {
            let of = sheet.text(row, "job");
            let tid = sheet.text(row, "tid");
            let of = if of.is_empty() { tid } else { of };
            let cell = |col| sheet.figure(row, col);
            let (Some(p), Some(e), Some(printed), Some(e_cpi), Some(p_cpi)) = (
                cell("p_minstr_per_s"),
                cell("e_minstr_per_s"),
                cell("relative_ips"),
                cell("e_cpi"),
                better(cell("p_cpi"), p_cpis.get(tid)),
            ) else {
                out.not_evaluated(&RATIO, of, "a rate is not a number");
                continue;
            };
            out.equal(&RATIO, of, e / p, printed);
            out.value(&P_CLOCK, of, (p * p_cpi).value);
            p_clocks.push(p * p_cpi);
            e_clocks.push(e * e_cpi);
            if !grids.is_empty() {
                let found = Figure::exact(f64::from(u8::from(in_grids.contains(tid))));
                out.equal(&LISTED, tid, found, Figure::exact(1.0));
            }
        }
        let (p, e) = (common_range(&p_clocks), common_range(&e_clocks));
        if let Some(e) = e {
            out.value(&E_CLOCK_LOW, &sheet.name, e.value - e.rounding);
            out.value(&E_CLOCK_HIGH, &sheet.name, e.value + e.rounding);
        }
        for grid in grids {
            let threads = of_threads(grid);
            let compare =
                |out: &mut StatementSink<'_>, rule, of: &str, clock: f64, implied: Option<Figure>| match implied {
                    Some(implied) => out.within(rule, of, clock, implied.value / 1e3, implied.rounding / 1e3),
                    None => out.not_evaluated(rule, of, "the rows of the table of rates have no common clock"),
                };
            for thread in &threads {
                if here.contains_key(thread.tid.as_str()) && thread.e_clocks <= 0.01 * thread.p_clocks {
                    compare(out, &ONE_CLOCK, &thread.tid, thread.clock(), p);
                }
            }
            if let Some([fit_p, fit_e]) = fitted(&threads) {
                compare(out, &FIT_P, &grid.name, fit_p, p);
                compare(out, &FIT_E, &grid.name, fit_e, e);
            }
        }
    }
}
