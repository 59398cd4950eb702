//! All metrics: of the program, then by role, each with the interval of its change as a small picture.

use super::super::select::Sorted;
use super::super::words::{Sense, estimate, interval, short, title, value_or_dash, why_unknown};
use super::{NAME, Page};
use crate::outcome::{Comparison, Outcome, Verdict};
use model::words::{TIE, percent_of, plural};
use page::escaped;
use stats::Scale;
use std::fmt::Write as _;

/// The ends that the common scale of the small pictures may have, as shares.
const LIMITS: [f64; 7] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];
/// The share of intervals that the scale shows whole.
const WHOLE: f64 = 0.75;

pub fn write(page: &mut Page, of: &Comparison) {
    if of.metrics.is_empty() {
        return;
    }
    let sorted = Sorted::of(&of.metrics);
    page.section("metrics", &format!("Metrics: {} of {} changed", sorted.changed.len(), of.metrics.len()));
    [sorted.same_line(), sorted.unknown_line()].into_iter().flatten().for_each(|line| page.paragraph(&line));
    let limit = limit(&of.metrics);
    let (shown, quiet): (Vec<_>, Vec<_>) = groups(&of.metrics)
        .into_iter()
        .partition(|(role, all)| role.is_none() || all.iter().any(|o| o.verdict == Verdict::Changed));
    table(page, of, limit, "metrics", &shown);
    page.note(&format!(
        "The pictures have one scale, from -{0} to +{0} of A; an arrow marks an interval that goes on. The shaded area is the margin, and \
         the line in the middle is no change.",
        percent_of(limit).replace(".0", "")
    ));
    if !quiet.is_empty() {
        let _ = writeln!(
            page.body,
            "<details>\n<summary id=\"quiet\">{} without a change</summary>",
            plural(quiet.len() as u64, "role")
        );
        table(page, of, limit, "quiet", &quiet);
        page.body.push_str("</details>\n");
    }
    page.end();
}

/// The metrics of the program, then of each role in the order of its first one.
fn groups(all: &[Outcome]) -> Vec<(Option<&str>, Vec<&Outcome>)> {
    let mut groups: Vec<(Option<&str>, Vec<&Outcome>)> = Vec::new();
    let mut order: Vec<&Outcome> = all.iter().collect();
    order.sort_by_key(|outcome| outcome.metric.role.is_some());
    for outcome in order {
        let role = outcome.metric.role.as_deref();
        match groups.iter_mut().find(|(of, _)| *of == role) {
            Some((_, of)) => of.push(outcome),
            None => groups.push((role, vec![outcome])),
        }
    }
    groups
}

/// A change as a share of A: estimate, low, high. Differences are divided by the middle of A.
fn shares(of: &Outcome) -> Option<[f64; 3]> {
    let effect = of.effect?;
    let [low, high] = effect.interval.unwrap_or([effect.estimate; 2]);
    let all = [effect.estimate, low, high];
    let shares = match (effect.scale, of.middle[0]) {
        (Scale::Ratio, _) => all.map(|x| x - 1.0),
        (Scale::Difference, Some(a)) if a != 0.0 => all.map(|x| x / a.abs()),
        _ => return None,
    };
    shares.iter().all(|x| x.is_finite()).then_some(shares)
}

/// The end of the common scale: most intervals fit.
fn limit(all: &[Outcome]) -> f64 {
    let ends: Vec<f64> =
        all.iter().filter_map(shares).map(|of| of.iter().fold(0.0, |most: f64, x| most.max(x.abs()))).collect();
    let fits = |limit: &f64| ends.iter().filter(|end| **end <= *limit).count() as f64 >= WHOLE * ends.len() as f64;
    LIMITS.into_iter().find(fits).unwrap_or(1.0)
}

fn table(page: &mut Page, of: &Comparison, limit: f64, id: &str, groups: &[(Option<&str>, Vec<&Outcome>)]) {
    let html = &mut page.body;
    let _ = writeln!(
        html,
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{id}\"><table class=\"metrics\">\n<thead><tr>\
         <th scope=\"col\">metric</th><th scope=\"col\" class=\"n side\">A</th><th scope=\"col\" class=\"n side\">B</th>\
         <th scope=\"col\" class=\"n\">change</th><th scope=\"col\" class=\"n side\">95{TIE}% interval</th>\
         <th scope=\"col\" class=\"plot\"><span class=\"ends\"><span>-{0}</span><span>0</span><span>+{0}</span></span></th>\
         <th scope=\"col\">answer</th></tr></thead>",
        percent_of(limit).replace(".0", ""),
    );
    for (role, all) in groups {
        html.push_str("<tbody>\n");
        if let Some(role) = role {
            let _ = writeln!(
                html,
                "<tr class=\"role\"><th colspan=\"7\" scope=\"rowgroup\">{}</th></tr>",
                escaped(&short(role, NAME))
            );
        }
        all.iter().for_each(|outcome| row(html, outcome, of.margin, limit));
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n");
}

fn row(html: &mut String, of: &Outcome, margin: f64, limit: f64) {
    let (metric, sense) = (&of.metric, Sense::of(of));
    let [a, b] = of.middle.map(|middle| value_or_dash(metric.unit, middle));
    let dash = || "-".to_owned();
    let change = of.effect.map_or_else(dash, |effect| estimate(metric, &effect));
    let range = of.effect.and_then(|effect| interval(metric, &effect)).unwrap_or_else(dash);
    let why = match of.verdict {
        Verdict::Unknown => short(&why_unknown(of), NAME),
        _ => String::new(),
    };
    // On a narrow screen it is below the name of the metric.
    let note = if why.is_empty() { String::new() } else { format!("; {why}") };
    let (a, b, change, range) = (escaped(&a), escaped(&b), escaped(&change), escaped(&range));
    let _ = writeln!(
        html,
        "<tr class=\"{word}\"><th scope=\"row\" class=\"name\">{name}<span class=\"small\">{a} → {b}<br/>{range}{note}</span></th>\
         <td class=\"n side\">{a}</td><td class=\"n side\">{b}</td><td class=\"n\">{change}</td><td class=\"n side\">{range}</td>\
         <td class=\"plot\">{plot}</td><td class=\"answer-word\"><span class=\"sign\" aria-hidden=\"true\">{sign}</span> {word}\
         <span class=\"note side\">{why}</span></td></tr>",
        word = sense.word(),
        sign = sense.sign(),
        name = escaped(&short(&title(metric), NAME)),
        plot = plot(of, sense, margin, limit),
        why = escaped(&why),
        note = escaped(&note),
    );
}

/// The interval of a change, with no change in the middle.
fn plot(of: &Outcome, sense: Sense, margin: f64, limit: f64) -> String {
    let Some([estimate, low, high]) = shares(of) else { return String::new() };
    let place = |share: f64| 50.0 + (share / limit).clamp(-1.0, 1.0) * 47.0;
    let margin = if margin.is_finite() { margin.clamp(0.0, limit) } else { 0.0 };
    let mut svg = format!(
        "<svg class=\"interval {}\" width=\"100%\" height=\"18\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\">\
         <rect class=\"margin\" x=\"{:.2}%\" y=\"0\" width=\"{:.2}%\" height=\"18\"/>\
         <line class=\"none\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"18\"/>\
         <line class=\"range\" x1=\"{:.2}%\" x2=\"{:.2}%\" y1=\"9\" y2=\"9\"/>",
        sense.word(),
        place(-margin),
        place(margin) - place(-margin),
        place(low),
        place(high),
    );
    for (end, path) in [(low.min(high), "M-5 0l6-4v8z"), (low.max(high), "M5 0l-6-4v8z")] {
        if end.abs() > limit {
            let _ = write!(
                svg,
                "<svg class=\"free\" x=\"{:.2}%\" y=\"9\" width=\"1\" height=\"1\" xmlns=\"http://www.w3.org/2000/svg\"><path class=\"arrow\" d=\"{path}\"/></svg>",
                place(end)
            );
        }
    }
    if estimate.abs() <= limit {
        let _ = write!(svg, "<circle class=\"estimate\" cx=\"{:.2}%\" cy=\"9\" r=\"4\"/>", place(estimate));
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Better, Unit};
    use crate::show::samples::{self, effect};

    #[test]
    fn the_scale_shows_most_intervals_whole() {
        let of =
            |high: f64| samples::outcome("x", Unit::Ns, Better::Less, Some(effect(Scale::Ratio, [1.0, 1.0, high])));
        assert_eq!(limit(&[of(1.03), of(1.04), of(1.01), of(9.0)]), 0.05);
        assert_eq!(limit(&[of(9.0)]), 1.0);
        assert_eq!(limit(&[]), 0.01);
    }

    #[test]
    fn an_arrow_marks_what_goes_on() {
        let of = samples::outcome("x", Unit::Ns, Better::Less, Some(effect(Scale::Ratio, [1.5, 1.01, 1.9])));
        let svg = plot(&of, Sense::Worse, 0.01, 0.1);
        assert_eq!(svg.matches("class=\"arrow\"").count(), 1, "{svg}");
        assert!(!svg.contains("estimate"), "the estimate is outside");
    }

    #[test]
    fn the_program_is_before_the_roles() {
        let mut all = samples::regression().metrics;
        all.reverse();
        let groups = groups(&all);
        assert_eq!(groups[0].0, None);
        assert_eq!(groups.len(), 4);
    }
}
