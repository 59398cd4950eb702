//! A comparison as Markdown for a pull request or a job summary.

use super::select::{Sorted, conditions, first, gone_and_new, matched, name, parts, runs};
use super::text::{upper, values_of};
use super::words::{Sense, change_words, clean, estimate, interval, short, signed, title, value_or_dash, why_unknown};
use crate::outcome::{Comparison, Outcome, Unit, Verdict};
use model::words::{TIE, percent_of, plural};
use page::{Column, escaped_markdown, markdown_table, push};
use std::fmt::Write as _;

/// The largest size in bytes. A comment on GitHub may have 65 536 characters.
const LARGEST: usize = 60_000;
/// The longest sentence in characters.
const LONG: usize = 400;
/// The longest name in characters.
const NAME: usize = 60;

/// Writes a comparison as Markdown (GitHub's) of less than 60 kB. Names of threads cannot format text, link, or mention anyone.
#[must_use]
pub fn markdown(of: &Comparison) -> String {
    // Long lists are shortened until all fits.
    let mut max = 64;
    loop {
        let text = with_rows(of, max);
        if text.len() < LARGEST || max == 0 {
            return text;
        }
        max /= 2;
    }
}

fn with_rows(of: &Comparison, max: usize) -> String {
    let mut out = String::new();
    let sign = Sense::of(&of.objective).sign();
    let _ = writeln!(out, "### {sign} {}\n", escaped(&of.answer, LONG));
    let (cautions, left_out) = first(&of.cautions, max);
    for caution in cautions {
        let _ = writeln!(out, "> **Caution:** {}\n", escaped(caution, LONG));
    }
    more(&mut out, left_out, "caution");
    objective(&mut out, of);
    causes(&mut out, of, max);
    metrics(&mut out, of, max);
    details(&mut out, of, max);
    out
}

fn more(out: &mut String, left_out: usize, what: &str) {
    if left_out > 0 {
        let _ = writeln!(out, "{} not shown.\n", plural(left_out as u64, what));
    }
}

fn objective(out: &mut String, of: &Comparison) {
    let outcome = &of.objective;
    let [a, b] = outcome.middle.map(|middle| value_or_dash(outcome.metric.unit, middle));
    let name = upper(&title(&outcome.metric));
    let _ = writeln!(
        out,
        "**{}:** {a} → {b}, {}. {}, margin {}.\n",
        escaped(&name, NAME),
        escaped(&change_words(outcome), LONG),
        upper(&runs(of)),
        percent_of(of.margin),
    );
}

fn causes(out: &mut String, of: &Comparison, max: usize) {
    for words in &of.counted {
        let _ = writeln!(out, "**Counters:** {}.\n", escaped(words, LONG));
    }
    let Some(why) = &of.why else { return };
    if let Some(line) = &why.line {
        let _ = writeln!(out, "**Why:** {}\n", escaped(line, LONG));
    }
    let mut columns = [Column::numbers("change", 0), Column::numbers("share", 0), Column::text("cause", 0)];
    for part in parts(why, max.min(6)) {
        let share = part.share.map_or_else(|| "-".to_owned(), percent_of);
        push(&mut columns, [signed(Unit::Ns, part.ns), share, short(&part.title, NAME * 2)]);
    }
    let _ = writeln!(out, "{}", markdown_table(&columns));
}

fn metrics(out: &mut String, of: &Comparison, max: usize) {
    let sorted = Sorted::of(&of.metrics);
    let _ = writeln!(
        out,
        "<details>\n<summary>{} of {} changed</summary>\n",
        sorted.changed.len(),
        plural(of.metrics.len() as u64, "metric")
    );
    let order = [&sorted.changed, &sorted.unknown, &sorted.same];
    let all: Vec<&Outcome> = order.into_iter().flatten().copied().collect();
    let (shown, left_out) = first(&all, max.min(sorted.changed.len().max(12)));
    let mut columns = vec![Column::text("metric", 0)];
    columns.extend(["A", "B", "change", "95 % interval"].map(|head| Column::numbers(head, 0)));
    columns.push(Column::text("", 0));
    for outcome in shown {
        let (metric, sense) = (&outcome.metric, Sense::of(outcome));
        let [a, b] = outcome.middle.map(|middle| value_or_dash(metric.unit, middle));
        let dash = || "-".to_owned();
        let change = outcome.effect.map_or_else(dash, |effect| estimate(metric, &effect));
        let range = outcome.effect.and_then(|effect| interval(metric, &effect)).unwrap_or_else(dash);
        let why = match outcome.verdict {
            Verdict::Unknown => format!(": {}", short(&why_unknown(outcome), NAME * 2)),
            _ => String::new(),
        };
        let verdict = format!("{} {}{why}", sense.sign(), sense.word());
        push(&mut columns, [short(&name(outcome), NAME * 2), a, b, change, range, verdict]);
    }
    if !shown.is_empty() {
        out.push_str(&markdown_table(&columns));
    }
    out.push('\n');
    more(out, left_out, "metric");
    for line in [sorted.same_line(), sorted.unknown_line()].into_iter().flatten() {
        let _ = writeln!(out, "{line}\n");
    }
    out.push_str("</details>\n\n");
}

fn details(out: &mut String, of: &Comparison, max: usize) {
    out.push_str("<details>\n<summary>Roles, conditions and methods</summary>\n\n");
    for (side, key) in of.sides.iter().zip(["A", "B"]) {
        let _ = writeln!(out, "- {key}: {}, {}", escaped(&side.name, NAME * 2), plural(side.runs.len() as u64, "run"));
    }
    let [gone, new] = gone_and_new(&of.roles);
    for (word, roles) in [("Gone", gone), ("New", new)] {
        let (shown, left_out) = first(&roles, max);
        let mut names: Vec<String> = shown.iter().map(|role| escaped(&role.name, NAME)).collect();
        names.extend((left_out > 0).then(|| format!("{left_out}{TIE}more")));
        if !names.is_empty() {
            let _ = writeln!(out, "- {word}: {}", names.join(", "));
        }
    }
    for role in of.roles.iter().filter(|role| role.matched_by == "wakeups").take(max) {
        let by = matched(role.matched_by);
        let _ = writeln!(out, "- {} was matched {by}, confidence {}", escaped(&role.name, NAME), role.confidence);
    }
    for condition in conditions(of).into_iter().take(max) {
        let [a, b] = condition.values.each_ref().map(|values| escaped(&values_of(values), NAME * 2));
        let note = if condition.matters { " (can change results by itself)" } else { "" };
        let _ = writeln!(out, "- Condition {}: {a} → {b}{note}", escaped(&condition.name, NAME));
    }
    for line in of.not_compared.iter().take(max) {
        let _ = writeln!(out, "- Not compared: {}", escaped(line, LONG));
    }
    for line in of.methods.iter().take(max) {
        let _ = writeln!(out, "- {}", escaped(line, LONG));
    }
    out.push_str("\n</details>\n");
}

/// Escapes at most `max` characters of a text.
fn escaped(text: &str, max: usize) -> String {
    escaped_markdown(&short(&clean(text), max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;
    use std::path::Path;

    #[test]
    fn texts_are_as_kept() {
        for (name, of) in samples::all() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.md"));
            testkit::cases::generated(&path, &markdown(&of));
        }
    }

    #[test]
    fn it_fits_a_comment_however_large_the_comparison() {
        let mut of = samples::hostile();
        let name = "<|>".repeat(400);
        of.cautions = vec![name.clone(); 500];
        of.not_compared = of.cautions.clone();
        of.methods = of.cautions.clone();
        of.metrics = vec![of.objective.clone(); 3000];
        of.metrics.iter_mut().for_each(|outcome| outcome.metric.role = Some(name.clone()));
        of.roles = vec![of.roles[0].clone(); 2000];
        let text = markdown(&of);
        assert!(text.len() < LARGEST, "{}", text.len());
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert!(text.starts_with("### "));
    }
}
