//! The causes of switch-outs of threads.

use super::Section;
use crate::context::{SectionContext, add, count_of};
use crate::words::{grouped, ms, percent, plain, plural, share, short};
use engine::EngineError;
use model::tables::{self, switch_causes, threads};
use model::{Ns, ThreadKey};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "switch_causes",
    about: "causes of context switches (preempted, yielded, throttled, blocked, exited), and which threads preempted which",
    tables: &[&tables::SWITCH_CAUSES],
    write,
};

/// The longest name of a function that is shown.
const MAX_NAME: usize = 48;

/// The number of switches, and the ready, blocked and unknown time after them.
#[derive(Default)]
struct Sum {
    count: i64,
    ready: Ns,
    blocked: Ns,
    unknown: Ns,
    /// How long threads were blocked that waited mostly in each function.
    call_sites: BTreeMap<String, Ns>,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut by_cause: BTreeMap<(&str, String), Sum> = BTreeMap::new();
    let mut by_pair = Pairs::new();
    ctx.each_row(switch_causes::Table, |row| {
        let [cause_word, state, next, reason] = [
            row.get(switch_causes::CAUSE),
            row.get(switch_causes::STATE_LETTER.or_empty()),
            row.get(switch_causes::NEXT.or_empty()),
            row.get(switch_causes::REASON.or_empty()),
        ];
        let is_ambiguous = cause_word == "unknown" && state == "R";
        let word = if is_ambiguous { AMBIGUOUS } else { name(cause_word) };
        let cause = match state {
            _ if !next.is_empty() => format!("{word}, then {next}"),
            _ if is_ambiguous => word.to_owned(),
            _ if !reason.is_empty() => format!("{cause_word} in {reason}"),
            "" if cause_word == "blocked" => "blocked for an unclear time".to_owned(),
            "" => word.to_owned(),
            state => format!("{cause_word} in {state}"),
        };
        let by = row.get(switch_causes::PREEMPTOR).filter(|by| *by > ThreadKey::IDLE);
        if let (Some(by), "preempted") = (by, cause_word) {
            let pair = (ctx.name(Some(row.get(switch_causes::THREAD))), ctx.name(Some(by)));
            add(by_pair.entry(pair).or_default(), row.get(switch_causes::COUNT));
        }
        let sum = by_cause.entry((kind(cause_word, is_ambiguous), cause)).or_default();
        let [ready, blocked, unknown] =
            row.all([switch_causes::READY_NS, switch_causes::BLOCKED_NS, switch_causes::UNKNOWN_NS]);
        add(&mut sum.count, row.get(switch_causes::COUNT));
        add(&mut sum.ready, ready);
        add(&mut sum.blocked, blocked);
        add(&mut sum.unknown, unknown);
        if let Some(site) = row.get(switch_causes::CALL_SITE) {
            add(sum.call_sites.entry(site.to_owned()).or_default(), blocked);
        }
    })?;
    let mut rows: Vec<((&str, String), Sum)> = by_cause.into_iter().filter(|(_, sum)| sum.count > 0).collect();
    let all = rows.iter().fold(0i64, |all, (_, sum)| all.saturating_add(sum.count));
    if all == 0 {
        return Ok(());
    }
    rows.sort_by_key(|(_, sum)| Reverse(sum.count));
    let whole = switch_outs(ctx)?.max(all);
    page.heading(&format!("Context-switch causes: {}", count_of(all as usize, whole as usize, "switch-out")));
    if whole > all {
        page.paragraph("Not counted: switch-outs at the first or last instant of the recording, those whose thread ran again at the same time, and those next to a loss.");
    }
    if rows.iter().any(|((_, cause), _)| cause.contains(", then ")) {
        page.paragraph("then: the next thread on that CPU, by its priority (higher than, equal to or lower than that of the thread that left), or idle.");
    }
    if rows.iter().any(|(_, sum)| !sum.call_sites.is_empty()) {
        page.paragraph("Function: where most of the time was waited, of the functions in which each thread waited longest, outside the C library and the runtime of the language.");
    }
    page.picture(Bars {
        title: "Context switches by cause".to_owned(),
        legend: KINDS.map(|(tone, words)| (tone, words.to_owned())).into(),
        bars: rows.iter().map(|((kind, cause), sum)| bar(kind, cause, sum.count, all)).collect(),
    });
    let mut columns = vec![
        Column::text("cause", 0),
        Column::numbers("count", 0),
        Column::numbers("%", 0),
        Column::numbers("then ready ms", 1),
        Column::numbers("then blocked ms", 1),
        Column::numbers("then unknown ms", 2),
    ];
    let has_sites = rows.iter().any(|(_, sum)| !sum.call_sites.is_empty());
    columns.extend(has_sites.then(|| Column::text("function", 1)));
    for ((_, cause), sum) in &rows {
        let times = [sum.ready, sum.blocked, sum.unknown].map(ms);
        let site = sum.call_sites.iter().max_by_key(|(_, blocked)| **blocked).map_or("", |(site, _)| site);
        let cells = [cause.clone(), grouped(sum.count), share(sum.count, all)].into_iter().chain(times);
        push(&mut columns, cells.chain(has_sites.then(|| short(&plain(site), MAX_NAME))));
    }
    page.grid(columns, 0);
    pairs(page, by_pair, ctx.top);
    Ok(())
}

/// The number of all switch-outs.
fn switch_outs(ctx: &SectionContext<'_>) -> Result<i64, EngineError> {
    let mut all = 0_i64;
    ctx.each_row(threads::Table, |row| {
        let [involuntary, voluntary] = row.all([threads::INVOLUNTARY, threads::VOLUNTARY]);
        add(&mut all, involuntary);
        add(&mut all, voluntary);
    })?;
    Ok(all)
}

/// The number of preemptions by thread names: a build's compilers are too short-lived to be listed separately.
type Pairs = BTreeMap<(String, String), i64>;

/// Writes the most frequent pairs of preempted thread and preemptor.
fn pairs(page: &mut Page, by_pair: Pairs, top: usize) {
    let mut all: Vec<((String, String), i64)> = by_pair.into_iter().collect();
    all.sort_by_key(|(_, count)| Reverse(*count));
    let left = all.len().saturating_sub(top);
    all.truncate(top);
    if all.is_empty() {
        return;
    }
    let mut columns = vec![Column::text("preempted", 0), Column::text("by", 0), Column::numbers("count", 0)];
    for ((thread, by), count) in all {
        push(&mut columns, [thread, by, grouped(count)]);
    }
    page.grid(columns, 0);
    if left > 0 {
        page.paragraph(&format!("and {} more", plural(left as u64, "pair")));
    }
}

/// The kinds of causes and their colours.
const KINDS: [(Tone, &str); 8] = [
    (Tone::Red, "preempted"),
    (Tone::Orange, "yielded"),
    (Tone::Sky, "throttled"),
    (Tone::Green, "gave way, or woken before sleep"),
    (Tone::Blue, "blocked"),
    (Tone::Purple, "exited"),
    (Tone::Idle, AMBIGUOUS),
    (Tone::Unknown, "unknown"),
];

/// The thread left its CPU while runnable, and the cause is not recorded.
const AMBIGUOUS: &str = "preempted or yielded";

/// The name of a cause.
fn name(cause: &str) -> &str {
    match cause {
        "gave_way" => "kernel thread gave way",
        "woken_before_sleep" => "woken before sleep",
        "unknown" => "unknown, or contradicted later",
        other => other,
    }
}

/// The kind of a cause.
fn kind(cause: &str, is_ambiguous: bool) -> &'static str {
    let at = match cause {
        _ if is_ambiguous => 6,
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
    Bar::new(cause.to_owned(), percent(count, all), KINDS.map(|(_, of)| if of == kind { count } else { 0 }), all)
}
