//! A fleet's report as blocks, from which the text and the page are written.

use super::changes::{Comparison, RuleChange, Tested, Verdict};
use super::sides::Unit;
use super::{Breakdown, Fleet};
use model::words::{date, plain, plural, share_of};
use page::{Column, Page, push};
use stats::Effect;

/// The number of errors that are shown.
const ERRORS: usize = 10;
/// The number of values of a key that are shown as columns.
const VALUES: usize = 8;

/// Writes the report.
pub(crate) fn page(fleet: &Fleet) -> Page {
    let mut page = Page::default();
    head(&mut page, fleet);
    rules(&mut page, fleet);
    fleet.breakdowns.iter().for_each(|of| breakdown(&mut page, of));
    fleet.changes.iter().for_each(|of| change(&mut page, of));
    hosts(&mut page, fleet);
    errors(&mut page, fleet);
    page
}

fn head(page: &mut Page, fleet: &Fleet) {
    let days = fleet.days.as_ref().map_or_else(String::new, |[first, last]| {
        if first == last { format!(", of {first}") } else { format!(", from {first} to {last}") }
    });
    let hosts = if fleet.hosts == 0 { String::new() } else { format!(" of {}", plural(fleet.hosts as u64, "host")) };
    let recordings = plural(fleet.recordings as u64, "recording");
    page.paragraph(&format!("{recordings}{hosts}{days}"));
    page.note(&format!("catalogue {}, indexed {}", plain(&fleet.catalogue), date(fleet.indexed_ns)));
    fleet.cautions.iter().for_each(|caution| page.warn(&plain(caution)));
}

fn rules(page: &mut Page, fleet: &Fleet) {
    page.heading("Findings");
    if fleet.rules.is_empty() {
        page.paragraph("No rule found anything in any recording.");
        return;
    }
    let mut columns = vec![
        Column::text("rule", 0),
        Column::text("severity", 0),
        Column::numbers("recordings", 0),
        Column::numbers("hosts", 1),
        Column::numbers("saving %", 1),
        Column::text("since", 0),
        Column::text("last", 2),
        Column::numbers("clean before", 2),
    ];
    for of in &fleet.rules {
        let day = |of: &Option<String>| of.clone().unwrap_or_else(|| "-".to_owned());
        let cells = [
            of.rule.clone(),
            of.severity.to_owned(),
            format!("{} of {}", of.found, of.checked),
            of.hosts.to_string(),
            share_of(of.median_saving),
            day(&of.first),
            day(&of.last),
            of.clean_before.to_string(),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    page.note(
        "Recordings: those with it, of those in which the rule could be checked. Saving: the median of those with it, as a share of their length; 0.0 where it \
         is small, or where the rule is not about time. Clean before, on the page and in a wide terminal: recordings before the first day in which the rule \
         found nothing.",
    );
}

fn breakdown(page: &mut Page, of: &Breakdown) {
    page.heading(&format!("Findings by {}", plain(&of.key)));
    let from = of.values.len().saturating_sub(VALUES);
    let mut columns = vec![Column::text("rule", 0)];
    columns.extend(of.values[from..].iter().map(|value| Column::numbers(&plain(value), 0)));
    for (rule, counts) in &of.rules {
        let cells = counts[from..].iter().map(|[found, checked]| match checked {
            0 => "-".to_owned(),
            _ => format!("{found} of {checked}"),
        });
        push(&mut columns, std::iter::once(rule.clone()).chain(cells));
    }
    page.grid(columns, 0);
    if from > 0 {
        page.note(&format!(
            "The last {VALUES} of {} values, in the order in which they first appear.",
            of.values.len()
        ));
    }
}

fn change(page: &mut Page, of: &Comparison) {
    let [a, b] = of.sides.each_ref().map(|side| plain(side));
    page.heading(&format!("What changed: {a} ({}) to {b} ({})", of.recordings[0], of.recordings[1]));
    let shown = |verdict: Verdict| of.rules.iter().filter(move |rule| rule.verdict == verdict);
    let changed = of.rules.iter().any(|rule| !matches!(rule.verdict, Verdict::NotShown | Verdict::TooFew));
    if !changed {
        page.paragraph("No change is shown.");
    }
    for verdict in [Verdict::New, Verdict::Worse, Verdict::Better, Verdict::Gone] {
        for rule in shown(verdict) {
            page.item(&sentence(rule));
        }
    }
    let mut columns = vec![
        Column::text("rule", 0),
        Column::text("change", 0),
        Column::numbers("before", 0),
        Column::numbers("after", 0),
        Column::numbers("how often", 0),
        Column::numbers("95 % interval", 2),
        Column::numbers("saving", 0),
        Column::numbers("95 % interval", 2),
        Column::numbers("q", 1),
    ];
    for rule in &of.rules {
        let [before, after] = rule.counts.map(|[found, checked]| format!("{found} of {checked}"));
        let (often, cost) = (rule.often.as_ref(), rule.cost.as_ref());
        let points = |test: Option<&Tested>| test.map_or_else(|| "-".to_owned(), |test| signed(test.effect.estimate));
        let range = |test: Option<&Tested>| test.map_or_else(|| "-".to_owned(), |test| interval(&test.effect));
        let q = [often, cost].into_iter().flatten().filter_map(|test| test.q).reduce(f64::min);
        let cells = [
            rule.rule.clone(),
            word(rule.verdict).to_owned(),
            before,
            after,
            points(often),
            range(often),
            points(cost),
            range(cost),
            q.map_or_else(|| "-".to_owned(), |q| format!("{q:.3}")),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    page.note(&units(of));
    if of.rules.iter().any(|rule| rule.unit.is_some()) {
        page.note(
            "How often: the change of the share of recordings with it; saving: that of the potential saving as a share of their length; both in percentage \
             points. q: the p-value of the clearer of both, corrected for all tests.",
        );
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Gone => "gone",
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::NotShown => "not shown",
        Verdict::TooFew => "too few",
    }
}

/// A difference of shares, in percentage points.
fn signed(share: f64) -> String {
    let text = format!("{:+.1}", share * 100.0);
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

fn interval(effect: &Effect) -> String {
    effect.interval.map_or_else(|| "-".to_owned(), |[low, high]| format!("{} to {}", signed(low), signed(high)))
}

/// The change of a rule in words.
fn sentence(rule: &RuleChange) -> String {
    let [[a, of_a], [b, of_b]] = rule.counts;
    let counts = format!("in {a} of {of_a} recordings before, in {b} of {of_b} after");
    let changed = |test: Option<&Tested>, of: &str| {
        let effect = test.map(|test| &test.effect).filter(|effect| effect.interval.is_some() && effect.estimate != 0.0);
        effect.map_or_else(String::new, |effect| {
            format!("{of} {} percentage points (95 % interval {})", signed(effect.estimate), interval(effect))
        })
    };
    let often = changed(rule.often.as_ref(), "; share of recordings with it:");
    let cost = changed(rule.cost.as_ref(), "; potential saving, as a share of the length:");
    format!("{} ({}): {counts}{often}{cost}", rule.rule, word(rule.verdict))
}

/// What the figures of a change are about.
fn units(of: &Comparison) -> String {
    let unit = of.rules.iter().find_map(|rule| Some((rule.unit?, rule.units)));
    match unit {
        Some((Unit::PairsOfHosts, [pairs, _])) => format!("{pairs} hosts are compared as pairs of means."),
        Some((Unit::Hosts, [a, b])) => format!("{a} hosts are compared with {b} others by their means."),
        Some((Unit::Recordings, [a, b])) => {
            format!("{a} recordings are compared with {b} of the same hosts: this says nothing about other hosts.")
        }
        None => {
            "A claim needs 6 hosts on both sides, 4 different hosts a side, or 4 recordings a side of the same hosts."
                .to_owned()
        }
    }
}

fn hosts(page: &mut Page, fleet: &Fleet) {
    if fleet.worst_hosts.is_empty() {
        return;
    }
    page.heading("Worst hosts");
    let mut columns = vec![
        Column::text("host", 0),
        Column::numbers("recordings", 0),
        Column::numbers("with high", 0),
        Column::numbers("with medium", 1),
        Column::numbers("mean saving %", 0),
        Column::text("costs most", 1),
    ];
    for of in &fleet.worst_hosts {
        let cells = [
            plain(&of.host),
            of.recordings.to_string(),
            of.high.to_string(),
            of.medium.to_string(),
            share_of(of.mean_saving),
            of.worst_rule.clone().unwrap_or_else(|| "-".to_owned()),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    page.note(
        "With high: recordings with a finding of high severity; with medium: of medium severity or higher. Mean saving: of the largest potential saving of each \
         recording, as a share of its length. Nothing is tested here.",
    );
}

fn errors(page: &mut Page, fleet: &Fleet) {
    if fleet.errors.is_empty() {
        return;
    }
    page.heading("Not read");
    for (_, why) in fleet.errors.iter().take(ERRORS) {
        page.item(&plain(why));
    }
    if fleet.errors.len() > ERRORS {
        page.paragraph(&format!("{} more are in the table errors.", fleet.errors.len() - ERRORS));
    }
}
