//! In which functions the threads ran, by a profiler's samples.

use super::Section;
use crate::context::{SectionContext, count_of};
use crate::flame;
use crate::profile::{FunctionSamples, Profile};
use crate::quality;
use crate::sampled;
use crate::words::{grouped, plain, share, short};
use engine::{EngineError, Sampled};
use model::CoreType;
use model::tables;
use page::{Column, Page, push};
use std::cmp::Reverse;
use std::collections::BTreeSet;

pub const SECTION: Section = Section {
    id: "samples",
    about: "functions in which threads were sampled, and a flame graph",
    tables: &[&tables::SAMPLES],
    write,
};

/// The maximum number of characters of a function's name.
const MAX_NAME: usize = 60;

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let about = if ctx.session.range().is_some() { "this range" } else { "the recording" };
    let mut profile = Profile::functions(ctx.session, None, ctx.process, about.to_owned())?;
    if profile.samples == 0 {
        return Ok(());
    }
    let of = ctx.session.facts().sampled.as_ref();
    let mut rows: Vec<Function<'_>> = functions(&profile, ctx.baseline);
    let heading = match ctx.baseline {
        Some(before) => format!(
            "Samples: {} in {about}, compared with {} in {}",
            grouped(profile.samples),
            grouped(before.samples),
            before.about
        ),
        None => format!("Samples{}: {}, by function", sampled::of_event(of), grouped(profile.samples)),
    };
    page.heading(&heading);
    let all = rows.len();
    rows.truncate(ctx.top);
    // The standard error of a share p of n samples is √(p(1−p)/n).
    page.paragraph(&format!(
        "{}. self: samples in the function itself; total: also in functions that it called. The standard error of a share of 50 % is {:.1} \
         points.",
        count_of(rows.len(), all, "function"),
        50.0 / (profile.samples as f64).sqrt()
    ));
    if let Some(of) = of {
        say_what_they_are(page, of);
        if let Some(words) = profile.by_core(of) {
            page.note(&format!("By type of core, counted by a PMU each: {words}. Cycles of cores of different types are not the same work."));
        }
    }
    quality::note_sampling_off(page, ctx.session);
    let mut grid = Grid::new(&profile, ctx.baseline);
    rows.iter().for_each(|row| grid.push(row));
    let columns = grid.columns;
    let is_alone = ctx.session.is_of_samples()?;
    if ctx.pictures || is_alone {
        profile.read_stacks(ctx.session, None, ctx.process)?;
    }
    if ctx.pictures {
        page.picture(flame::graph(&profile, ctx.baseline));
    }
    page.grid(columns, 0);
    if is_alone {
        if profile.stacks.keys().all(|stack| !stack.chain.contains(';')) {
            page.note(
                "No callers are known, as each sample has one frame: perf record -g records them of programs with frame pointers.",
            );
        }
        sampled::by_thread(page, &profile, ctx.top);
        if ctx.process.is_none() {
            sampled::by_cpu_and_time(page, ctx.session, ctx.top)?;
        }
    }
    Ok(())
}

/// Says what the samples do not show: running time, if they are of something else, and other events.
fn say_what_they_are(page: &mut Page, sampled: &Sampled) {
    match (sampled.of_time, sampled.event.is_empty()) {
        (true, _) if !sampled.event.ends_with("-clock") => {
            page.note(
                "Each sample counts once. perf report weighs samples by their periods, which gives shares of the cycles: where the clock \
                 speed or the sampling rate changes, they differ from shares of the samples.",
            );
        }
        (true, _) => {}
        (false, true) => page.note("The recording does not say of which event these samples are."),
        (false, false) => {
            page.note(&format!("Samples of {} are no shares of running time.", plain(&sampled.event)));
        }
    }
    if !sampled.others.is_empty() {
        let others = plain(&sampled.others.join(", "));
        page.note(&format!("Not included, as samples of several events do not add up: {others}."));
    }
}

/// A function, its samples and those of the baseline.
struct Function<'a> {
    name: &'a str,
    file: &'a str,
    counts: [FunctionSamples; 2],
}

/// The functions, those with the most samples first; with a baseline, those whose share of own samples changed most.
fn functions<'a>(profile: &'a Profile, baseline: Option<&'a Profile>) -> Vec<Function<'a>> {
    let none = Profile::default();
    let of = |profile: &Profile, key| profile.functions.get(key).cloned().unwrap_or_default();
    let keys: BTreeSet<_> = profile.functions.keys().chain(baseline.iter().flat_map(|p| p.functions.keys())).collect();
    let function = |key: &'a (String, String)| Function {
        name: &key.0,
        file: &key.1,
        counts: [of(profile, key), of(baseline.unwrap_or(&none), key)],
    };
    let mut rows: Vec<Function<'_>> = keys.into_iter().map(function).collect();
    match baseline {
        None => rows.sort_by_key(|row| Reverse((row.counts[0].own, row.counts[0].total))),
        Some(before) => {
            let points = |row: &Function<'_>| points(row, profile.samples, before.samples).abs();
            rows.sort_by(|a, b| points(b).total_cmp(&points(a)));
        }
    }
    rows
}

/// By how many points the share of the function's own samples changed.
fn points(row: &Function<'_>, samples: i64, before: i64) -> f64 {
    let share = |own: i64, all: i64| 100.0 * own as f64 / all.max(1) as f64;
    share(row.counts[0].own, samples) - share(row.counts[1].own, before)
}

/// The table of functions.
struct Grid {
    columns: Vec<Column>,
    /// The samples, and those of the baseline.
    samples: (i64, Option<i64>),
    /// The core types, if there are several.
    types: Vec<&'static str>,
}

impl Grid {
    fn new(profile: &Profile, baseline: Option<&Profile>) -> Self {
        let is_there = |name: &&str| profile.functions.values().any(|f| f.by_type.get(*name).is_some_and(|n| *n > 0));
        let mut types: Vec<&str> = CORE_TYPES.map(CoreType::as_str).into_iter().filter(is_there).collect();
        if types.len() == 1 {
            types.clear();
        }
        let mut columns = vec![Column::text("function", 0), Column::numbers("self", 0), Column::numbers("self %", 0)];
        if baseline.is_some() {
            columns.extend([Column::numbers("before %", 0), Column::numbers("change", 0)]);
        }
        columns.push(Column::numbers("total %", 0));
        columns.extend(types.iter().map(|name| Column::numbers(&format!("on {} %", name.replace('_', " ")), 2)));
        columns.push(Column::paths("file", 1));
        Self { columns, samples: (profile.samples, baseline.map(|b| b.samples)), types }
    }

    fn push(&mut self, row: &Function<'_>) {
        let [now, before] = &row.counts;
        let name = if row.name.is_empty() { "(no symbol)".to_owned() } else { short(row.name, MAX_NAME) };
        let mut cells = vec![name, grouped(now.own), share(now.own, self.samples.0)];
        if let Some(of_baseline) = self.samples.1 {
            let points = points(row, self.samples.0, of_baseline);
            cells.extend([share(before.own, of_baseline), format!("{points:+.1}")]);
        }
        cells.push(share(now.total, self.samples.0));
        let on = |name: &&str| share(now.by_type.get(*name).copied().unwrap_or(0), now.own);
        cells.extend(self.types.iter().map(on));
        cells.push(row.file.to_owned());
        push(&mut self.columns, cells);
    }
}

/// The core types, the fastest first.
const CORE_TYPES: [CoreType; 5] =
    [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower, CoreType::Uniform];
