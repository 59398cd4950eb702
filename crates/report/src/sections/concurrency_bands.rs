//! How many cores of each type were busy at the same time.

use super::Section;
use crate::context::SectionContext;
use crate::words::{ms, percent, share};
use engine::EngineError;
use model::Column as Col;
use model::Ns;
use model::tables::{self, concurrency_bands};
use page::{Bar, Bars, Column, Page, Tone};
use std::cmp::Reverse;

pub const SECTION: Section = Section {
    id: "concurrency_bands",
    about: "how many cores of each type, and how many second SMT siblings, were busy at the same time",
    tables: &[&tables::CONCURRENCY_BANDS],
    write,
};

/// If there are more combinations, the rest are one row.
const MAX_ROWS: usize = 10;
const BANDS: [(Col<concurrency_bands::Table, i64>, &str); 7] = [
    (concurrency_bands::PERFORMANCE, "performance"),
    (concurrency_bands::MIDDLE, "middle"),
    (concurrency_bands::EFFICIENT, "efficient"),
    (concurrency_bands::LOW_POWER, "low power"),
    (concurrency_bands::UNIFORM, "cores"),
    (concurrency_bands::SECOND_SIBLINGS, "siblings"),
    (concurrency_bands::UNKNOWN, "unknown"),
];

/// A combination of busy cores: the count of each band, and for how long.
struct Mix {
    of: [i64; 7],
    ns: Ns,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut mixes = Vec::new();
    ctx.each_row(concurrency_bands::Table, |row| {
        mixes.push(Mix {
            of: row.all(BANDS.map(|(col, _)| col)),
            ns: row.get(concurrency_bands::DURATION_NS).max(Ns::ZERO),
        });
    })?;
    let there: Vec<usize> = (0..BANDS.len()).filter(|at| mixes.iter().any(|m| m.of[*at] > 0)).collect();
    // With one core type and no siblings, `concurrency` has the same data.
    if !ctx.is_whole() || there.iter().filter(|at| **at < 6).count() < 2 {
        return Ok(());
    }
    let whole = mixes.iter().map(|m| m.ns).sum::<Ns>();
    mixes.sort_by_key(|m| Reverse(m.ns));
    let rest = mixes.split_off(mixes.len().min(MAX_ROWS));
    page.heading("Combinations of busy cores");
    if there.contains(&5) {
        page.paragraph("siblings: busy CPUs in addition to the first of each core.");
    }
    page.picture(Bars {
        title: "Combinations of busy cores by duration".to_owned(),
        legend: vec![(Tone::Blue, "share of the time".to_owned())],
        bars: mixes.iter().map(|mix| bar(mix, &there, whole)).collect(),
    });
    let mut columns: Vec<Column> = there.iter().map(|at| Column::numbers(BANDS[*at].1, 0)).collect();
    let (mut time, mut part) = (Column::numbers("ms", 0), Column::numbers("% of time", 0));
    for mix in &mixes {
        columns.iter_mut().zip(&there).for_each(|(column, at)| column.push(mix.of[*at].to_string()));
        time.push(ms(mix.ns));
        part.push(share(mix.ns, whole));
    }
    if !rest.is_empty() {
        let ns: Ns = rest.iter().map(|mix| mix.ns).sum();
        columns.iter_mut().for_each(|column| column.push(""));
        columns[0].cells.pop();
        columns[0].push(format!("{} more", rest.len()));
        time.push(ms(ns));
        part.push(share(ns, whole));
    }
    columns.extend([time, part]);
    page.grid(columns, 0);
    Ok(())
}

fn bar(mix: &Mix, there: &[usize], whole: Ns) -> Bar {
    let words = there.iter().filter(|at| mix.of[**at] > 0).map(|at| match (mix.of[*at], BANDS[*at].1) {
        (1, word) => format!("1 {}", word.trim_end_matches('s')),
        (n, word) => format!("{n} {word}"),
    });
    let words: Vec<String> = words.collect();
    Bar::new(
        if words.is_empty() { "none".to_owned() } else { words.join(" + ") },
        percent(mix.ns, whole),
        [mix.ns],
        whole,
    )
}
