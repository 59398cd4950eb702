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
    about: "what made threads leave their CPU: preempted, yielded, throttled, blocked, exited, and how often; who preempted whom",
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
    let mut by_cause: BTreeMap<(&str, String), Sum> = BTreeMap::new();
    let mut by_pair = Pairs::new();
    seen.each(switch_causes::Table, |row| {
        let [cause_word, letter, next, reason] = [
            row.get(switch_causes::CAUSE),
            row.get(switch_causes::LETTER.or_empty()),
            row.get(switch_causes::NEXT.or_empty()),
            row.get(switch_causes::REASON.or_empty()),
        ];
        let unsure = cause_word == "unknown" && letter == "R";
        let word = if unsure { UNSURE } else { said(cause_word) };
        let cause = match letter {
            _ if !next.is_empty() => format!("{word}, then {next}"),
            _ if unsure => word.to_owned(),
            _ if !reason.is_empty() => format!("{cause_word} in {reason}"),
            "" if cause_word == "blocked" => "blocked, letter not told".to_owned(),
            "" => word.to_owned(),
            letter => format!("{cause_word} in {letter}"),
        };
        if let (Some(by @ 1..), "preempted") = (row.get(switch_causes::PREEMPTOR), cause_word) {
            let pair = (seen.name(Some(row.get(switch_causes::THREAD))), seen.name(Some(by)));
            add(by_pair.entry(pair).or_default(), row.get(switch_causes::COUNT));
        }
        let sum = by_cause.entry((kind(cause_word, unsure), cause)).or_default();
        let [count, blocked, unknown] =
            row.all([switch_causes::COUNT, switch_causes::BLOCKED_NS, switch_causes::UNKNOWN_NS]);
        add(&mut sum.count, count);
        add(&mut sum.blocked, blocked);
        add(&mut sum.unknown, unknown);
        if let Some(ready) = row.get(switch_causes::READY_NS) {
            add(sum.ready.get_or_insert(0), ready);
        }
    })?;
    let mut rows: Vec<((&str, String), Sum)> = by_cause.into_iter().filter(|(_, sum)| sum.count > 0).collect();
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
        legend: KINDS.map(|(tone, words)| (tone, words.to_owned())).into(),
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
    pairs(page, by_pair, seen.top);
    Ok(())
}

/// How often threads of a name were preempted by those of another: a build's compilers live too briefly to count one by one.
type Pairs = BTreeMap<(String, String), i64>;

/// Who preempted whom most often.
fn pairs(page: &mut Page, by_pair: Pairs, top: usize) {
    let mut all: Vec<((String, String), i64)> = by_pair.into_iter().collect();
    all.sort_by_key(|(_, count)| Reverse(*count));
    let left = all.len().saturating_sub(top);
    all.truncate(top);
    if all.is_empty() {
        return;
    }
    let mut columns = vec![Column::words("preempted", 0), Column::words("by", 0), Column::numbers("times", 0)];
    for ((thread, by), count) in all {
        push(&mut columns, [thread, by, grouped(count)]);
    }
    page.grid(columns, 0);
    if left > 0 {
        page.words(&format!("and {} more", plural(left as u64, "pair")));
    }
}

/// What each bar may be of.
const KINDS: [(Tone, &str); 8] = [
    (Tone::Red, "preempted"),
    (Tone::Orange, "yielded"),
    (Tone::Sky, "throttled"),
    (Tone::Green, "gave way, or woken before it slept"),
    (Tone::Blue, "blocked"),
    (Tone::Purple, "exited"),
    (Tone::Idle, UNSURE),
    (Tone::Unknown, "unknown"),
];

/// It left its CPU while it could run, and the source does not say why.
const UNSURE: &str = "preempted or yielded";

/// A cause in words.
fn said(cause: &str) -> &str {
    match cause {
        "gave_way" => "kernel thread gave way",
        "woken_before_sleep" => "woken before it slept",
        other => other,
    }
}

/// Of which kind a cause is.
fn kind(cause: &str, unsure: bool) -> &'static str {
    let at = match cause {
        _ if unsure => 6,
        "preempted" => 0,
        "yielded" => 1,
        "throttled" => 2,
        "gave_way" | "woken_before_sleep" => 3,
        "blocked" => 4,
        "exited" => 5,
        _ => 7,
    };
    KINDS[at].1
}

fn bar(kind: &str, cause: &str, count: i64, all: i64) -> Bar {
    Bar {
        label: cause.to_owned(),
        value: percent(count, all),
        parts: KINDS.map(|(_, of)| if of == kind { count } else { 0 }).into(),
        whole: all,
    }
}
