//! Times of one parallel loop on cores of two types, by schedule and number of chunks, checked against a model of the loop.
//!
//! The model (crate `makespan`) has one thread per core and equal iterations. Two times, of bound and of free threads with equal blocks, give the
//! speed ratio of the core types; it then predicts the others. How many cores are fast is a column (`fast_cores`), or the number
//! with which these predictions are best.

use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};
use makespan::{Cores, Fit, Measured, Schedule, fit_all, fit_bound_and_free, ideal, least_ratio, simulate};

const BOUND_OVER_FREE: Rule = Rule {
    id: "bound_over_free",
    unit: "ratio",
    formula: "equal blocks with threads bound to cores / the same with free threads: bound threads cannot use fast cores that are done",
};
const BEST_CHUNKS: Rule = Rule {
    id: "best_chunk_count",
    unit: "count",
    formula: "the number of chunks with the shortest time of dynamic schedules",
};
const TOO_SMALL: Rule = Rule {
    id: "too_small_chunks",
    unit: "%",
    formula: "time with most chunks / shortest time with fewer − 1: the cost of chunks that are too small",
};
const SPREAD: Rule = Rule {
    id: "spread_is_known",
    unit: "",
    formula: "means of several runs have a spread, without which it is unknown whether two of them differ",
};
const FAST_CORES: Rule = Rule {
    id: "fast_cores",
    unit: "count",
    formula: "the number of fast cores: printed, or the one with which the dynamic times are predicted best",
};
const RATIO: Rule = Rule {
    id: "speed_ratio_of_static",
    unit: "ratio",
    formula: "fast / slow core: the ratio at which the simulated free loop takes the printed time; the work is the bound time × cores. With as \
              many fast as slow cores, free = bound / k × (2 − 1 / k)",
};
const LEAST_RATIO: Rule = Rule {
    id: "least_speed_ratio",
    unit: "ratio",
    formula: "fast / slow core: at least (work / shortest time − slow cores) / fast cores, as no schedule is faster than all cores together",
};
const IDEAL: Rule = Rule {
    id: "ideal_at_claimed_ratio",
    unit: "ms",
    formula: "work / sum of speeds at a ratio that is claimed for speed_ratio_of_static or least_speed_ratio: at most the shortest printed time, \
              as no schedule is faster than all cores together",
};
const PREDICTED: Rule = Rule {
    id: "predicted_time",
    unit: "ms",
    formula: "the simulated time of dynamic chunks, with the ratio from the two times of equal blocks only, within 3 %; for chunks that are not \
              too small, as their cost is unknown",
};
const FITTED: Rule = Rule {
    id: "fitted_time",
    unit: "ms",
    formula: "in-sample: the simulated time with speed ratio, work and cost of a chunk fitted to all times of the table",
};
const FITTED_WORST: Rule =
    Rule { id: "fitted_worst_difference", unit: "%", formula: "in-sample: the largest |fitted / printed time − 1|" };
const FITTED_RATIO: Rule =
    Rule { id: "fitted_speed_ratio", unit: "ratio", formula: "in-sample: fast / slow core, fitted to all times" };
const FITTED_COST: Rule =
    Rule { id: "fitted_chunk_cost", unit: "us", formula: "in-sample: the time to get a chunk, fitted to all times" };
const FITTED_TAIL: Rule = Rule {
    id: "fitted_tail",
    unit: "ms",
    formula: "in-sample: the simulated time from the first thread without work to the end of the loop (the wait at its barrier)",
};
const FITTED_BEST: Rule = Rule {
    id: "fitted_best_chunk_count",
    unit: "count",
    formula: "in-sample: the printed number of chunks with the shortest fitted time",
};

/// How far a prediction from two times may be off.
const PREDICTION: f64 = 0.03;
/// The maximum numbers of cores and of chunks × cores with which the model is fitted, which limit the time of the fit.
const MAX_CORES: usize = 64;
const MAX_STEPS: usize = 100_000;

/// See [`Kind::doc`].
pub(crate) struct OpenmpChunks;

/// A row of the table.
struct Row {
    schedule: Schedule,
    time: Figure,
}

impl Row {
    fn of(sheet: &Sheet, row: usize) -> Option<Self> {
        let time = sheet.figure(row, "latency_ms").filter(|time| time.value > 0.0)?;
        let chunks = || sheet.text(row, "chunks").parse::<usize>().ok().filter(|chunks| *chunks > 0);
        let is_bound = matches!(sheet.text(row, "pinned"), "1" | "yes" | "true");
        let schedule = match sheet.text(row, "schedule") {
            "affinity" => Schedule::Affinity,
            "static" if is_bound => Schedule::Affinity,
            "static" => Schedule::Static,
            "dynamic" if !is_bound => Schedule::Dynamic(chunks()?),
            "guided" if !is_bound => Schedule::Guided(chunks()?),
            "stealing" if !is_bound => Schedule::Stealing(chunks()?),
            _ => return None,
        };
        Some(Self { schedule, time })
    }

    fn name(&self) -> String {
        match self.schedule {
            Schedule::Affinity => "affinity".to_owned(),
            Schedule::Static => "static".to_owned(),
            Schedule::Dynamic(chunks) => format!("dynamic {chunks}"),
            Schedule::Guided(chunks) => format!("guided {chunks}"),
            Schedule::Stealing(chunks) => format!("stealing {chunks}"),
        }
    }

    fn dynamic_chunks(&self) -> Option<usize> {
        if let Schedule::Dynamic(chunks) = self.schedule { Some(chunks) } else { None }
    }
}

/// The rows, and those that the model needs.
struct Times {
    rows: Vec<Row>,
    bound: Figure,
    free: Figure,
    cores: usize,
}

impl Times {
    fn time(rows: &[Row], schedule: Schedule) -> Option<Figure> {
        rows.iter().find(|row| row.schedule == schedule).map(|row| row.time)
    }

    /// The number of cores is the number of chunks of equal blocks.
    fn of(sheet: &Sheet, rows: Vec<Row>) -> Result<Self, &'static str> {
        let (Some(bound), Some(free)) = (Self::time(&rows, Schedule::Affinity), Self::time(&rows, Schedule::Static))
        else {
            return Err("times of equal blocks with bound and with free threads are required");
        };
        let blocks = (0..sheet.len()).find(|row| matches!(sheet.text(*row, "schedule"), "static" | "affinity"));
        let cores = blocks.and_then(|row| sheet.text(row, "chunks").parse::<usize>().ok()).unwrap_or(0);
        if !(2..=MAX_CORES).contains(&cores) {
            return Err("the chunks of equal blocks are the cores: 2 to 64 are required");
        }
        let steps = rows.iter().map(|row| row.schedule.max_chunks(cores)).fold(0, usize::saturating_add);
        if steps.saturating_mul(cores) > MAX_STEPS {
            return Err("chunks × cores of all rows exceed 100000, the maximum");
        }
        Ok(Self { rows, bound, free, cores })
    }

    /// The dynamic rows whose chunks are not smaller than the best ones.
    fn predictable(&self) -> Vec<&Row> {
        let best = best(&self.rows).and_then(Row::dynamic_chunks).unwrap_or(0);
        self.rows.iter().filter(|row| row.dynamic_chunks().is_some_and(|chunks| chunks <= best)).collect()
    }

    /// The model from the two times of equal blocks, with the printed number of fast cores or with the best one.
    fn fit(&self, fast: Option<usize>) -> Option<Fit> {
        let rows = self.predictable();
        let numbers = fast.map_or(1..self.cores, |fast| fast..fast.saturating_add(1));
        let fits = numbers.filter(|fast| *fast < self.cores).filter_map(|fast| {
            let cores = Cores { fast, slow: self.cores - fast };
            let fit = fit_bound_and_free(cores, self.bound.value, self.free.value).ok()?;
            let wrong = rows.iter().map(|row| Some((fit.makespan(row.schedule).ok()? / row.time.value).ln().abs()));
            Some((wrong.sum::<Option<f64>>()?, fit))
        });
        fits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, fit)| fit)
    }
}

/// The dynamic row with the shortest time.
fn best(rows: &[Row]) -> Option<&Row> {
    let dynamic = rows.iter().filter(|row| row.dynamic_chunks().is_some());
    dynamic.min_by(|a, b| a.time.value.total_cmp(&b.time.value))
}

/// What the figures say without a model.
fn of_figures(sheet: &Sheet, rows: &[Row], out: &mut StatementSink<'_>) {
    if let (Some(bound), Some(free)) = (Times::time(rows, Schedule::Affinity), Times::time(rows, Schedule::Static)) {
        out.value(&BOUND_OVER_FREE, &sheet.name, (bound / free).value);
    }
    if let Some((best, chunks)) = best(rows).and_then(|row| Some((row, row.dynamic_chunks()?))) {
        out.value(&BEST_CHUNKS, &sheet.name, chunks as f64);
        let finest = rows.iter().filter(|row| row.dynamic_chunks().is_some_and(|n| n > chunks));
        if let Some(finest) = finest.max_by_key(|row| row.dynamic_chunks()) {
            out.value(&TOO_SMALL, &sheet.name, (finest.time / best.time).scaled(100.0).value - 100.0);
        }
    }
    let runs = (0..sheet.len()).filter_map(|row| sheet.count(row, "runs_averaged"));
    let averaged = runs.map(|runs| runs.value).fold(0.0, f64::max);
    if averaged > 1.0 && !sheet.head.has(&["spread_ms"]) {
        out.not_evaluated(
            &SPREAD,
            &sheet.name,
            format!("means of up to {averaged} runs are printed without their spread (column spread_ms)"),
        );
    }
}

/// What follows from the model that was fitted to two times.
fn of_two_times(sheet: &Sheet, times: &Times, fit: &Fit, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
    out.value(&FAST_CORES, &sheet.name, fit.cores.fast as f64);
    out.value(&RATIO, &sheet.name, fit.ratio);
    let shortest = times.rows.iter().map(|row| row.time).min_by(|a, b| a.value.total_cmp(&b.value));
    let Some(shortest) = shortest else { return };
    if let Some(least) = least_ratio(fit.cores, fit.of.work, shortest.value) {
        out.value(&LEAST_RATIO, &sheet.name, least);
    }
    for claims in ctx.of_kind("claims") {
        let of_ratio = |row: &usize| {
            let rule = claims.text(*row, "rule");
            claims.text(*row, "of") == sheet.name && (rule == RATIO.id || rule == LEAST_RATIO.id)
        };
        let claimed = (0..claims.len()).filter(of_ratio).filter_map(|row| claims.figure_alone(row, "claimed"));
        for claimed in claimed.filter(|ratio| ratio.value > 0.0) {
            let of = format!("{} {}", sheet.name, claimed.value);
            let at_claimed = ideal(fit.of.work, &fit.cores.speeds(claimed.value));
            let rounding = shortest.rounding + at_claimed * times.bound.rounding / times.bound.value;
            out.computed_at_most(&IDEAL, of, Figure { value: at_claimed, rounding }, shortest.value);
        }
    }
    for row in times.predictable() {
        match fit.makespan(row.schedule) {
            Ok(time) => out.within(&PREDICTED, row.name(), time, row.time.value, PREDICTION * row.time.value),
            Err(why) => out.not_evaluated(&PREDICTED, row.name(), why.to_string()),
        }
    }
}

/// What follows from the model that was fitted to all times.
fn of_all_times(sheet: &Sheet, times: &Times, cores: Cores, out: &mut StatementSink<'_>) {
    let measured: Vec<Measured> =
        times.rows.iter().map(|row| Measured { schedule: row.schedule, time: row.time.value }).collect();
    if measured.len() < 4 {
        return out.not_evaluated(&FITTED_WORST, &sheet.name, "times of at least four schedules are required");
    }
    let fitted = fit_all(cores, &measured).and_then(|fit| {
        let times: Vec<f64> = measured.iter().map(|m| fit.makespan(m.schedule)).collect::<Result<_, _>>()?;
        Ok((fit, times, fit.worst(&measured)?))
    });
    let (fit, fitted, worst) = match fitted {
        Ok(fitted) => fitted,
        Err(why) => return out.not_evaluated(&FITTED_WORST, &sheet.name, why.to_string()),
    };
    out.value(&FITTED_RATIO, &sheet.name, fit.ratio);
    out.value(&FITTED_COST, &sheet.name, 1e3 * fit.of.chunk_cost);
    out.value(&FITTED_WORST, &sheet.name, 100.0 * worst);
    let with_times = || times.rows.iter().zip(&fitted);
    with_times().for_each(|(row, time)| out.value(&FITTED, row.name(), *time));
    for (row, m) in times.rows.iter().zip(&measured) {
        if let Ok(run) = simulate(&fit.cores.speeds(fit.ratio), &fit.of, m.schedule) {
            out.value(&FITTED_TAIL, row.name(), run.tail());
        }
    }
    let dynamic = with_times().filter_map(|(row, time)| Some((row.dynamic_chunks()?, time)));
    if let Some((chunks, _)) = dynamic.min_by(|a, b| a.1.total_cmp(b.1)) {
        out.value(&FITTED_BEST, &sheet.name, chunks as f64);
    }
}

impl Kind for OpenmpChunks {
    fn id(&self) -> &'static str {
        "openmp_chunks"
    }

    fn doc(&self) -> &'static str {
        "times of one parallel loop on cores of two types: schedule (affinity, static, dynamic, guided, stealing), chunks (of the whole \
         loop; for static, the cores), latency_ms, and pinned (1: threads bound to cores), fast_cores, runs_averaged, spread_ms"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["schedule", "chunks", "latency_ms"])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let rows: Vec<Row> = (0..sheet.len()).filter_map(|row| Row::of(sheet, row)).collect();
        of_figures(sheet, &rows, out);
        let fast = (0..sheet.len()).find_map(|row| sheet.text(row, "fast_cores").parse::<usize>().ok());
        match Times::of(sheet, rows) {
            Ok(times) => match times.fit(fast) {
                Some(fit) => {
                    of_two_times(sheet, &times, &fit, ctx, out);
                    of_all_times(sheet, &times, fit.cores, out);
                }
                None => out.not_evaluated(&RATIO, &sheet.name, "no speed ratio from 1 to 64 gives these two times"),
            },
            Err(why) => out.not_evaluated(&RATIO, &sheet.name, why),
        }
    }
}
