//! What made threads leave their CPU.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::seen::{Seen, add};
use crate::words::{grouped, ms, percent, plural, share};
use engine::EngineError;
use model::tables::{self, switch_causes};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "switch_causes",
    about: "what made threads leave their CPU: preempted, yielded, blocked, exited, and how often",
    tables: &[&tables::SWITCH_CAUSES],
    write,
};

/// How often, and ready (where known), blocked and unknown from then on.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: i64,
    ready: Option<i64>,
    blocked: i64,
    unknown: i64,
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut by_cause: BTreeMap<(String, String), Sum> = BTreeMap::new();
    seen.each(switch_causes::Table, |row| {
        let cause = match (row.get(switch_causes::LETTER.or_empty()), row.get(switch_causes::NEXT.or_empty())) {
            _ if !row.get(switch_causes::REASON.or_empty()).is_empty() => {
                format!("{} in {}", row.get(switch_causes::CAUSE), row.get(switch_causes::REASON.or_empty()))
            }
            ("", "") if row.get(switch_causes::CAUSE) == "blocked" => "blocked, letter not told".to_owned(),
            ("", "") => row.get(switch_causes::CAUSE).to_owned(),
            ("", next) => format!("{}, then {next}", row.get(switch_causes::CAUSE)),
            (letter, _) => format!("{} in {letter}", row.get(switch_causes::CAUSE)),
        };
        let sum = by_cause.entry((row.get(switch_causes::CAUSE).to_owned(), cause)).or_default();
        let [count, blocked, unknown] =
            row.all([switch_causes::COUNT, switch_causes::BLOCKED_NS, switch_causes::UNKNOWN_NS]);
        add(&mut sum.count, count);
        add(&mut sum.blocked, blocked);
        add(&mut sum.unknown, unknown);
        if let Some(ready) = row.get(switch_causes::READY_NS) {
            add(sum.ready.get_or_insert(0), ready);
        }
    })?;
    let mut rows: Vec<((String, String), Sum)> = by_cause.into_iter().filter(|(_, sum)| sum.count > 0).collect();
    let all = rows.iter().fold(0i64, |all, (_, sum)| all.saturating_add(sum.count));
    if all == 0 {
        return Ok(());
    }
    rows.sort_by_key(|(_, sum)| Reverse(sum.count));
    page.heading(&format!("Why threads left their CPU: {}", plural(all.unsigned_abs(), "time")));
    if rows.iter().any(|((_, cause), _)| cause.contains(", then ")) {
        page.words("then: who came next on that CPU, one of higher, equal or lower priority, or idle.");
    }
    page.picture(Bars {
        title: "Switch-outs by cause".to_owned(),
        legend: [
            (Tone::Red, "preempted"),
            (Tone::Orange, "yielded"),
            (Tone::Blue, "blocked"),
            (Tone::Purple, "exited"),
        ]
        .into_iter()
        .chain([(Tone::Unknown, "unknown")])
        .map(|(tone, words)| (tone, words.to_owned()))
        .collect(),
        bars: rows.iter().map(|((kind, cause), sum)| bar(kind, cause, sum.count, all)).collect(),
    });
    let mut columns = vec![
        Column::words("cause", 0),
        Column::numbers("times", 0),
        Column::numbers("%", 0),
        Column::numbers("then ready ms", 1),
        Column::numbers("then blocked ms", 1),
        Column::numbers("then unknown ms", 2),
    ];
    for ((_, cause), sum) in &rows {
        let ready = sum.ready.map_or_else(|| "-".to_owned(), ms);
        let cells = [cause.clone(), grouped(sum.count), share(sum.count, all), ready, ms(sum.blocked), ms(sum.unknown)];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(kind: &str, cause: &str, count: i64, all: i64) -> Bar {
    let parts = ["preempted", "yielded", "blocked", "exited", "unknown"];
    Bar {
        label: cause.to_owned(),
        value: percent(count, all),
        parts: parts.map(|of| if of == kind { count } else { 0 }).into(),
        whole: all,
    }
}
