//! How many instructions a second threads retire on each type of core.

use super::core_type_grid::{fitted, of_threads};
use crate::{Figure, Given, Head, Kind, Rule, Sheet, Told};
use std::collections::{HashMap, HashSet};

const RATIO: Rule = Rule { id: "relative_ips", unit: "ratio", formula: "instructions per second on E / on P" };
const P_CLOCK: Rule = Rule {
    id: "implied_p_clock",
    unit: "MHz",
    formula: "instructions per second × clocks per instruction on P, with the most digits in which any table prints these",
};
const E_CLOCK_LOW: Rule = Rule { id: "implied_e_clock_low", unit: "MHz", formula: INTERVAL };
const E_CLOCK_HIGH: Rule = Rule { id: "implied_e_clock_high", unit: "MHz", formula: INTERVAL };
const INTERVAL: &str = "of instructions per second × clocks per instruction on E: the one clock that the rounding of all rows leaves room for";
const LISTED: Rule = Rule {
    id: "thread_is_in_grid",
    unit: "rows",
    formula: "a thread whose rates are told is one of those whose clocks are told",
};
const ONE_CLOCK: Rule = Rule {
    id: "one_clock_of_p",
    unit: "GHz",
    formula: "a thread that ran on P cores for 99 % of its clocks or more has the clock that the table of rates implies",
};
const FIT_P: Rule = Rule { id: "fitted_is_implied_p_clock", unit: "GHz", formula: FIT };
const FIT_E: Rule = Rule { id: "fitted_is_implied_e_clock", unit: "GHz", formula: FIT };
const FIT: &str =
    "the clock that explains the CPU times of the grid's threads best is the one that the table of rates implies";

/// See [`Kind::doc`].
pub(crate) struct RelativeIps;

/// What all products leave room for, its middle and how far it is to its ends.
fn room(products: &[Figure]) -> Option<Figure> {
    let low = products.iter().map(|f| f.value - f.rounding).reduce(f64::max)?;
    let high = products.iter().map(|f| f.value + f.rounding).reduce(f64::min)?;
    // Where they leave none, no clock is common to them, and nothing is implied.
    (low <= high).then_some(Figure { value: (low + high) / 2.0, rounding: (high - low) / 2.0 })
}

/// Threads' clocks per instruction on P where a table of two systems has them, with more digits than are here.
fn p_cpis<'a>(given: &Given<'a>) -> HashMap<&'a str, Figure> {
    let tables = given.of_kind("cpi_of_two_systems");
    let rows = tables.flat_map(|s| (0..s.len()).map(move |row| (s, row)));
    rows.filter_map(|(s, row)| Some((s.text(row, "tid"), s.figure(row, "hybrid_p_cpi")?))).collect()
}

/// The one that was rounded less.
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

    fn knows(&self, head: &Head) -> bool {
        head.has(&["tid", "p_cpi", "e_cpi", "p_minstr_per_s", "e_minstr_per_s", "relative_ips"])
    }

    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>) {
        let grids: Vec<&Sheet> = given.of_kind("core_type_grid").collect();
        let in_grids: HashSet<&str> = grids.iter().flat_map(|grid| grid.index("pid_or_tid").into_keys()).collect();
        let (p_cpis, here) = (p_cpis(given), sheet.index("tid"));
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
                told.cannot(&RATIO, of, "a rate is no number");
                continue;
            };
            told.equal(&RATIO, of, e / p, printed);
            told.value(&P_CLOCK, of, (p * p_cpi).value);
            p_clocks.push(p * p_cpi);
            e_clocks.push(e * e_cpi);
            if !grids.is_empty() {
                let found = Figure::exact(f64::from(u8::from(in_grids.contains(tid))));
                told.equal(&LISTED, tid, found, Figure::exact(1.0));
            }
        }
        let (p, e) = (room(&p_clocks), room(&e_clocks));
        if let Some(e) = e {
            told.value(&E_CLOCK_LOW, &sheet.name, e.value - e.rounding);
            told.value(&E_CLOCK_HIGH, &sheet.name, e.value + e.rounding);
        }
        for grid in grids {
            let threads = of_threads(grid);
            let hold = |told: &mut Told<'_>, rule, of: &str, clock: f64, implied: Option<Figure>| match implied {
                Some(implied) => told.within(rule, of, clock, implied.value / 1e3, implied.rounding / 1e3),
                None => told.cannot(rule, of, "no clock is common to the rows of the table of rates"),
            };
            for thread in &threads {
                if here.contains_key(thread.tid.as_str()) && thread.e_clocks <= 0.01 * thread.p_clocks {
                    hold(told, &ONE_CLOCK, &thread.tid, thread.clock(), p);
                }
            }
            if let Some([fit_p, fit_e]) = fitted(&threads) {
                hold(told, &FIT_P, &grid.name, fit_p, p);
                hold(told, &FIT_E, &grid.name, fit_e, e);
            }
        }
    }
}
