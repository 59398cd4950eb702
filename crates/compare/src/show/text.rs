//! A comparison as text for a terminal.

use super::select::{Sorted, conditions, first, gone_and_new, matched, name, parts, runs};
use super::words::{Sense, change_words, clean, estimate, interval, p_value, short, signed, title, value_or_dash};
use crate::outcome::{Comparison, Outcome, Unit, Verdict, Why};
use model::words::{percent_of, plural};
use page::{Column, Page, terminal};

/// The number of causes, changed metrics, roles and other lines that are shown.
const CAUSES: usize = 8;
const METRICS: usize = 24;
const LINES: usize = 8;

/// Writes a comparison as text for a terminal of this width in columns. The first line is the answer.
#[must_use]
pub fn text(of: &Comparison, width: usize) -> String {
    let mut page = Page::default();
    page.paragraph(&clean(&of.answer));
    of.cautions.iter().for_each(|caution| page.paragraph(&format!("Caution: {}", clean(caution))));
    objective(&mut page, of);
    if let Some(why) = &of.why {
        causes(&mut page, why, of.objective.verdict == Verdict::Changed);
    }
    of.counted.iter().for_each(|words| page.paragraph(&format!("Counters: {}.", clean(words))));
    metrics(&mut page, &of.metrics, of.sides.each_ref().map(|side| short(&side.name, 20)));
    roles(&mut page, of);
    rest(&mut page, of, width.max(60));
    terminal(&page.blocks, width, false)
}

fn objective(page: &mut Page, of: &Comparison) {
    let outcome = &of.objective;
    page.heading(&upper(&title(&outcome.metric)));
    let sides = [0, 1].map(|side| {
        let name = ["A", "B"][side];
        format!("{name} {}", value_or_dash(outcome.metric.unit, outcome.middle[side]))
    });
    page.paragraph(&format!("{}, {}: {}", sides[0], sides[1], change_words(outcome)));
    let p = outcome.effect.and_then(|effect| effect.p).map_or_else(String::new, |p| format!(", {}", p_value(p)));
    page.paragraph(&format!("{}{p}; a difference below {} counts as none.", runs(of), percent_of(of.margin)));
    for (at, key) in of.sides.iter().zip(["A", "B"]) {
        let name = if at.name == key { String::new() } else { short(&at.name, 120) };
        let look =
            at.median_run.and_then(|run| at.runs.get(run)).map(|run| format!("median run {}", short(&run.path, 80)));
        let words: Vec<String> = [Some(name), look].into_iter().flatten().filter(|words| !words.is_empty()).collect();
        if !words.is_empty() {
            page.paragraph(&format!("{key}: {}", words.join(", ")));
        }
    }
}

fn causes(page: &mut Page, why: &Why, is_changed: bool) {
    page.heading(&match &why.line {
        Some(line) => format!("Why: {}", clean(line)),
        None if is_changed => "Why: parts of the change".to_owned(),
        None => "Parts of the difference of the means, which may be chance".to_owned(),
    });
    let (mut change, mut share, mut range, mut cause) = (
        Column::numbers("change", 0),
        Column::numbers("share", 0),
        Column::numbers("95 % interval", 1),
        Column::text("cause", 0),
    );
    let parts = parts(why, CAUSES);
    for part in &parts {
        change.push(signed(Unit::Ns, part.ns));
        share.push(part.share.map_or_else(|| "-".to_owned(), percent_of));
        range.push(part.interval.map_or_else(
            || "-".to_owned(),
            |[low, high]| format!("{} to {}", signed(Unit::Ns, low), signed(Unit::Ns, high)),
        ));
        cause.push(short(&part.title, 60));
    }
    let [a, b] = why.means;
    change.push(signed(Unit::Ns, parts.iter().map(|p| p.ns).sum()));
    let all: Option<f64> = parts.iter().map(|p| p.share).sum();
    share.push(all.map_or_else(|| "-".to_owned(), percent_of));
    range.push("");
    cause.push(format!("mean {} to {}", value_or_dash(Unit::Ns, Some(a)), value_or_dash(Unit::Ns, Some(b))));
    page.grid(vec![change, share, range, cause], 1);
}

fn metrics(page: &mut Page, all: &[Outcome], [a, b]: [String; 2]) {
    let sorted = Sorted::of(all);
    let count = sorted.changed.len();
    page.heading(&format!("Changed: {} of {}", count, plural(all.len() as u64, "metric")));
    if count > 0 {
        let mut columns = vec![
            Column::text("metric", 0),
            Column::numbers(&column_name("A", &a), 2),
            Column::numbers(&column_name("B", &b), 2),
            Column::numbers("change", 0),
            Column::numbers("95 % interval", 1),
            Column::text("", 0),
        ];
        let (shown, left_out) = first(&sorted.changed, METRICS);
        for outcome in shown {
            let (metric, effect) = (&outcome.metric, &outcome.effect);
            let dash = || "-".to_owned();
            let sense = Sense::of(outcome);
            let cells = [
                short(&name(outcome), 44),
                value_or_dash(metric.unit, outcome.middle[0]),
                value_or_dash(metric.unit, outcome.middle[1]),
                effect.map_or_else(dash, |e| estimate(metric, &e)),
                effect.and_then(|e| interval(metric, &e)).unwrap_or_else(dash),
                format!("{} {}", sense.sign(), sense.word()),
            ];
            columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        }
        page.grid(columns, 0);
        if left_out > 0 {
            page.note(&format!("{left_out} more changed; the page and JSON have all."));
        }
    }
    differences(page, &sorted);
    [sorted.same_line(), sorted.unknown_line()].into_iter().flatten().for_each(|line| page.paragraph(&line));
}

/// The largest differences of values that have no interval: of one run a side, or of printed tables.
fn differences(page: &mut Page, sorted: &Sorted<'_>) {
    let all = sorted.without_interval();
    if all.is_empty() {
        return;
    }
    page.heading(&format!("Differences of one value a side, without an interval: the largest of {}", all.len()));
    let mut columns = vec![
        Column::text("metric", 0),
        Column::numbers("A", 1),
        Column::numbers("B", 1),
        Column::numbers("difference", 0),
    ];
    let (shown, _) = first(&all, METRICS);
    for outcome in shown {
        let metric = &outcome.metric;
        let cells = [
            short(&name(outcome), 60),
            value_or_dash(metric.unit, outcome.middle[0]),
            value_or_dash(metric.unit, outcome.middle[1]),
            outcome.effect.map_or_else(|| "-".to_owned(), |effect| estimate(metric, &effect)),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
}

/// The heading of a side's column; a name that is only A or B is not repeated.
fn column_name(key: &str, name: &str) -> String {
    if name.chars().count() > 8 || name == key { key.to_owned() } else { format!("{key} ({name})") }
}

fn roles(page: &mut Page, of: &Comparison) {
    let names = |lines: &[&crate::outcome::RoleLine]| {
        let (shown, left_out) = first(lines, LINES);
        let mut names: Vec<String> = shown.iter().map(|role| short(&role.name, 60)).collect();
        names.extend((left_out > 0).then(|| format!("{left_out} more")));
        names.join(", ")
    };
    let [gone, new] = gone_and_new(&of.roles);
    let renamed: Vec<_> = of.roles.iter().filter(|r| r.matched_by == "wakeups" || r.confidence == "low").collect();
    let both = of.roles.len() - gone.len() - new.len();
    if gone.is_empty() && new.is_empty() && renamed.is_empty() {
        return;
    }
    page.heading(&format!("Roles: {both} on both sides, {} gone, {} new", gone.len(), new.len()));
    for (word, lines) in [("Gone", gone), ("New", new)] {
        if !lines.is_empty() {
            page.paragraph(&format!("{word}: {}", names(&lines)));
        }
    }
    let (shown, left_out) = first(&renamed, LINES);
    for role in shown.iter().filter(|role| !role.matched_by.starts_with("only_")) {
        let by = matched(role.matched_by);
        page.paragraph(&format!("Check: {} was matched {by}, confidence {}", short(&role.name, 60), role.confidence));
    }
    if left_out > 0 {
        page.paragraph(&format!("{left_out} more roles to check; the page has all."));
    }
}

fn rest(page: &mut Page, of: &Comparison, width: usize) {
    if !of.conditions.is_empty() {
        page.heading("Conditions that differ");
        let conditions = conditions(of);
        let (shown, left_out) = first(&conditions, LINES);
        for condition in shown {
            let [a, b] = condition.values.each_ref().map(|values| values_of(values));
            let note = if condition.matters { " (can change results by itself)" } else { "" };
            page.item(&format!("{}: {a} in A, {b} in B{note}", short(&condition.name, 40)));
        }
        if left_out > 0 {
            page.item(&format!("{left_out} more"));
        }
    }
    let lists = [("Not compared", &of.not_compared)];
    for (heading, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        page.heading(heading);
        let (shown, left_out) = first(lines, LINES);
        shown.iter().for_each(|line| page.item(&clean(line)));
        if left_out > 0 {
            page.item(&format!("{left_out} more"));
        }
    }
    if !of.methods.is_empty() {
        page.heading("Methods");
        // Whole sentences that fit on two lines; the page has all.
        let mut words = String::new();
        for sentence in &of.methods {
            let longer = format!("{words}{}{}", if words.is_empty() { "" } else { " " }, clean(sentence));
            if !words.is_empty() && longer.chars().count() > 2 * width - 12 {
                break;
            }
            words = longer;
        }
        page.paragraph(&words);
    }
}

/// The values of a condition on one side.
pub fn values_of(values: &[String]) -> String {
    match values {
        [] => "unknown".to_owned(),
        values => {
            let (shown, left_out) = first(values, 4);
            let mut words: Vec<String> = shown.iter().map(|value| short(value, 60)).collect();
            words.extend((left_out > 0).then(|| format!("{left_out} more")));
            words.join(" or ")
        }
    }
}

/// The words with a capital at the begin.
pub fn upper(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;
    use std::path::Path;

    #[test]
    fn texts_are_as_kept() {
        for (name, of) in samples::all() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
            testkit::cases::generated(&path, &text(&of, 100));
        }
    }

    #[test]
    fn lines_fit_the_terminal_and_have_no_control_characters() {
        for (name, of) in samples::all() {
            for width in [60, 80, 120] {
                let text = text(&of, width);
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{name}");
                if name != "hostile" {
                    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
                    assert!(longest <= width + 30, "{name} {width}: {longest}\n{text}");
                }
            }
        }
    }

    #[test]
    fn the_first_line_is_the_answer() {
        for (name, of) in samples::all() {
            if name != "hostile" {
                assert_eq!(text(&of, 200).lines().next(), Some(of.answer.replace(model::words::TIE, " ").as_str()));
            }
        }
    }
}
