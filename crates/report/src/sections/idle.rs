//! The lengths of CPUs' idle periods, and what ended them.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{TIE, grouped, ms, percent, share, time};
use engine::EngineError;
use model::Ns;
use model::tables::{self, idle_periods, idle_wakeups};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "idle",
    about: "idle periods of CPUs by length, and what ended them",
    tables: &[&tables::IDLE_PERIODS, &tables::IDLE_WAKEUPS],
    write,
};

/// Idle periods with lengths between two powers of four.
#[derive(Default)]
struct Lengths {
    periods: i64,
    ns: Ns,
    by_type: BTreeMap<String, Ns>,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    // By group of lengths; `None`: the begin or the end is unknown.
    let mut rows: BTreeMap<Option<u32>, Lengths> = BTreeMap::new();
    ctx.each_row(idle_periods::Table, |row| {
        let lengths = rows.entry(row.get(idle_periods::FROM_NS).map(group)).or_default();
        let (periods, ns) = row.all((idle_periods::PERIODS, idle_periods::IDLE_NS));
        add(&mut lengths.periods, periods);
        add(&mut lengths.ns, ns);
        add(lengths.by_type.entry(row.get(idle_periods::CORE_TYPE).to_owned()).or_default(), ns);
    })?;
    let whole = rows.values().map(|l| l.ns).sum::<Ns>();
    if whole == Ns::ZERO || !ctx.is_whole() {
        return Ok(());
    }
    // Periods without a length come last.
    let cut = rows.remove(&None).filter(|l| l.periods > 0);
    let rows: Vec<(String, Lengths)> = rows
        .into_iter()
        .filter_map(|(at, lengths)| Some((range(at?), lengths)))
        .chain(cut.map(|lengths| ("cut, or next to unknown time".to_owned(), lengths)))
        .collect();
    let types: Vec<String> = {
        let mut types: Vec<&String> = rows.iter().flat_map(|(_, l)| l.by_type.keys()).collect();
        types.sort_unstable();
        types.dedup();
        // Fast ones first.
        let class = |word: &str| ctx.session.machine().class_names.iter().position(|of| of.as_str() == word);
        types.sort_by_key(|word| Reverse(class(word)));
        types.into_iter().cloned().collect()
    };
    page.heading("Idle periods by length");
    page.picture(Bars {
        title: "Idle time by the length of the period".to_owned(),
        legend: types.iter().map(|word| (Tone::of_type(word), word.replace('_', " "))).collect(),
        bars: rows.iter().map(|(label, lengths)| bar(label, lengths, &types, whole)).collect(),
    });
    let mut columns = vec![
        Column::text("length", 0),
        Column::numbers("periods", 0),
        Column::numbers("idle ms", 0),
        Column::numbers("% of idle", 0),
    ];
    for (label, lengths) in &rows {
        let cells = [label.clone(), grouped(lengths.periods), ms(lengths.ns), share(lengths.ns, whole)];
        push(&mut columns, cells);
    }
    if types.len() > 1 {
        for word in &types {
            let mut column = Column::numbers(&format!("{} ms", word.replace('_', " ")), 1);
            rows.iter().for_each(|(_, l)| column.push(ms(l.by_type.get(word).copied().unwrap_or(Ns::ZERO))));
            columns.push(column);
        }
    }
    page.grid(columns, 0);
    ends(page, ctx)
}

const NOT_RECORDED: &str = "not recorded";

/// Writes what ended the idle periods of all CPUs; nothing if that was never recorded.
fn ends(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut by: BTreeMap<(String, String), (i64, Ns)> = BTreeMap::new();
    ctx.each_row(idle_wakeups::Table, |row| {
        let interrupt =
            if row.get(idle_wakeups::CAUSE) == "interrupt" { row.get(idle_wakeups::INTERRUPT.or_empty()) } else { "" };
        let waker = row.get(idle_wakeups::WAKER).map_or_else(|| interrupt.to_owned(), |key| ctx.name(Some(key)));
        let cause = match row.get(idle_wakeups::CAUSE) {
            "thread" => "woken by a thread",
            "interrupt" => "woken by an interrupt",
            "not_recorded" => "woken, waker not recorded",
            "new" => "a new thread",
            "pulled" => "taken from another CPU",
            "requeued" => "ready on this CPU",
            "cut" => NOT_RECORDED,
            cause => cause,
        };
        let (periods, idle) = by.entry((cause.to_owned(), waker)).or_default();
        add(periods, row.get(idle_wakeups::PERIODS));
        add(idle, row.get(idle_wakeups::IDLE_NS));
    })?;
    if by.keys().all(|(cause, _)| cause == NOT_RECORDED) {
        return Ok(());
    }
    let mut top = Top::new(ctx.top);
    by.into_iter().for_each(|(end, sums)| top.push(sums.0, (end, sums)));
    let count = top.count;
    let rows = top.finish();
    page.paragraph(&format!("Ends of idle periods: {}", count_of(rows.len(), count, "cause")));
    let mut columns = vec![Column::text("cause", 0), Column::text("by", 0)];
    columns.extend(["periods", "idle ms", "mean ms"].map(|head| Column::numbers(head, 0)));
    for ((cause, waker), (periods, idle)) in rows {
        push(&mut columns, [cause, waker, grouped(periods), ms(idle), ms(idle / periods.max(1))]);
    }
    page.grid(columns, 0);
    Ok(())
}

/// The group of a length. 0: less than 1 us; then 1 to 4 us, 4 to 16 us, …
fn group(from_ns: Ns) -> u32 {
    (from_ns.0 / 1000).checked_ilog2().map_or(0, |exponent| exponent / 2 + 1)
}

fn range(group: u32) -> String {
    let from = |group: u32| Ns(1000) * 1i64.checked_shl(2 * (group - 1)).unwrap_or(i64::MAX);
    if group == 0 {
        format!("less than{TIE}{}", time(Ns(1000)))
    } else {
        format!("{} to {}", time(from(group)), time(from(group + 1)))
    }
}

fn bar(label: &str, lengths: &Lengths, types: &[String], whole: Ns) -> Bar {
    Bar::new(
        label.to_owned(),
        percent(lengths.ns, whole),
        types.iter().map(|word| lengths.by_type.get(word).copied().unwrap_or(Ns::ZERO)),
        whole,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_joined_in_pairs() {
        let of = |ns| range(group(Ns(ns))).replace(TIE, " ");
        assert_eq!(of(0), "less than 1.0 us");
        assert_eq!(of(1000), "1.0 us to 4.0 us");
        assert_eq!(of(2000), "1.0 us to 4.0 us");
        assert_eq!(of(4000), "4.0 us to 16.0 us");
        assert_eq!(of(2_048_000), "1.024 ms to 4.096 ms");
        assert!(!range(group(Ns::MAX)).is_empty());
    }
}
