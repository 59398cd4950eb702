//! Capabilities 52 and 53, and erratum E18: a table of OpenMP schedules on two fast and two slow cores. Two of its times predict the
//! others.

use makespan::{Cores, Fit, Loop, Measured, Schedule, fit_all, fit_bound_and_free, ideal, least_ratio, makespan_at};
use testkit::figures::{self, expected, number};

const CORES: Cores = Cores { fast: 2, slow: 2 };

/// The rows of the table.
fn measured() -> Vec<Measured> {
    let of = |row: &figures::Row| {
        let chunks = row["chunks"].parse().unwrap();
        let schedule = match (row["schedule"].as_str(), row["pinned"].as_str()) {
            ("static", "1") => Schedule::Affinity,
            ("static", _) => Schedule::Static,
            _ => Schedule::Dynamic(chunks),
        };
        Measured { schedule, time: number(row, "latency_ms") }
    };
    figures::table("openmp_chunks").iter().map(of).collect()
}

fn time(schedule: Schedule) -> f64 {
    measured().iter().find(|m| m.schedule == schedule).unwrap().time
}

fn from_two() -> Fit {
    fit_bound_and_free(CORES, time(Schedule::Affinity), time(Schedule::Static)).unwrap()
}

/// Verifies a listed value of the listed model.
fn agrees(id: &str, got: f64) {
    is_near(id, got, 0.1);
}

fn is_near(id: &str, got: f64, within: f64) {
    let all = expected(id);
    let (_, value, _) = all.iter().find(|(rest, ..)| rest.is_empty()).unwrap();
    assert!((got - value).abs() <= within, "{id}: {got}, not {value}");
}

#[test]
fn two_times_predict_the_dynamic_ones_within_3_percent() {
    let fit = from_two();
    is_near("53.k_static", fit.ratio, 0.0005);
    for chunks in [4, 16, 128] {
        let schedule = Schedule::Dynamic(chunks);
        let error = fit.makespan(schedule).unwrap() / time(schedule) - 1.0;
        assert!(error.abs() < 0.03, "{chunks}: {error}");
    }
    // The listed values were computed with a ratio of three decimals.
    is_near("53.predict.d16", fit.makespan(Schedule::Dynamic(16)).unwrap(), 0.1);
    is_near("53.predict.d128", fit.makespan(Schedule::Dynamic(128)).unwrap(), 0.1);
    // Chunks cost, which neither of the two times shows: the finest is not predicted.
    assert!(fit.makespan(Schedule::Dynamic(1024)).unwrap() < 0.93 * time(Schedule::Dynamic(1024)));
}

#[test]
fn other_numbers_of_fast_cores_predict_nothing() {
    for fast in [1, 3] {
        let cores = Cores { fast, slow: 4 - fast };
        let fit = fit_bound_and_free(cores, time(Schedule::Affinity), time(Schedule::Static)).unwrap();
        let schedule = Schedule::Dynamic(128);
        assert!((fit.makespan(schedule).unwrap() / time(schedule) - 1.0).abs() > 0.05, "{fast}");
    }
}

#[test]
fn all_six_times_are_described_in_sample_within_1_5_percent() {
    let fit = fit_all(CORES, &measured()).unwrap();
    assert!(fit.worst(&measured()).unwrap() < 0.015, "{fit:?}");
    let best = [4, 16, 128, 1024].into_iter().min_by(|a, b| {
        let of = |chunks: &usize| fit.makespan(Schedule::Dynamic(*chunks)).unwrap();
        of(a).total_cmp(&of(b))
    });
    figures::agrees("52.best_chunks", best.unwrap() as f64);
    println!(
        "k = {:.3}, work {:.1} ms, {:.4} ms a chunk, worst {:.2} %",
        fit.ratio,
        fit.of.work,
        fit.of.chunk_cost,
        100.0 * fit.worst(&measured()).unwrap()
    );
}

/// The listed model has k = 2.38 and 0.15 ms a chunk, of which the bound time has one. Its values are cut to one decimal.
#[test]
fn the_listed_model_gives_the_listed_times() {
    let of = Loop { work: 4.0 * (time(Schedule::Affinity) - 0.15), chunk_cost: 0.15, move_cost: 0.0 };
    let model = |schedule| makespan_at(CORES, 2.38, &of, schedule).unwrap();
    agrees("53.model.static", model(Schedule::Static));
    agrees("53.model.d4", model(Schedule::Dynamic(4)));
    agrees("53.model.d16", model(Schedule::Dynamic(16)));
    agrees("53.model.d128", model(Schedule::Dynamic(128)));
    agrees("53.model.d1024", model(Schedule::Dynamic(1024)));
}

#[test]
fn e18_twice_as_fast_cores_could_not_reach_the_best_time() {
    let work = from_two().of.work;
    let best = measured().iter().map(|m| m.time).fold(f64::INFINITY, f64::min);
    let at_two = ideal(work, &CORES.speeds(2.0));
    figures::agrees("E18", at_two);
    assert!(at_two > best);
    is_near("53.k_min", least_ratio(CORES, work, best).unwrap(), 0.0006);
}
