//! The objective of each run, the medians, and the interval of the change.

use super::super::text::upper;
use super::super::words::{change_words, clean, estimate, interval, short, title, value, value_or_dash};
use super::scale::Scale;
use super::{NAME, Page, own_name, shape};
use crate::outcome::{Comparison, Verdict};
use page::escaped;
use stats::{Effect, Scale as Kind};
use std::fmt::Write as _;

/// The most pairs that are connected by lines.
const LINES: usize = 60;
/// Where the rows are, in pixels: A's label, A, B, B's label, the change's label, the change, the end.
const ROWS: [f64; 7] = [15.0, 42.0, 104.0, 139.0, 178.0, 200.0, 222.0];

/// The value of B if A had its middle and the change were this.
fn changed(effect: &Effect, middle: f64, of: f64) -> f64 {
    if effect.scale == Kind::Ratio { middle * of } else { middle + of }
}

pub fn write(page: &mut Page, of: &Comparison) {
    let outcome = &of.objective;
    let (unit, name) = (outcome.metric.unit, title(&outcome.metric));
    page.section("runs", &format!("Runs: {}", short(&change_words(outcome), 200)));
    let middle = outcome.middle[0].filter(|x| x.is_finite());
    let ends = outcome.effect.zip(middle).map(|(effect, middle)| {
        let ends = effect.interval.unwrap_or([effect.estimate; 2]);
        (effect, [effect.estimate, ends[0], ends[1]].map(|of| changed(&effect, middle, of)))
    });
    let ends = ends.filter(|(_, ends)| ends.iter().all(|x| x.is_finite()));
    let values = outcome.values.iter().flatten().flatten().copied();
    let all = values.chain(outcome.middle.into_iter().flatten()).chain(ends.iter().flat_map(|(_, ends)| *ends));
    // That the interval is within the margin is why the sides are the same.
    let margin = middle.filter(|_| outcome.verdict == Verdict::Same && of.margin.is_finite());
    let margin = margin.into_iter().flat_map(|middle| [middle / (1.0 + of.margin), middle * (1.0 + of.margin)]);
    if let Some(scale) = Scale::of(all.chain(margin)) {
        let heading = upper(&short(&name, NAME));
        let html = &mut page.body;
        let _ = writeln!(html, "<figure>\n<figcaption>{} of each run</figcaption>", escaped(&heading));
        let bottom = if ends.is_some() { ROWS[6] } else { ROWS[3] + 6.0 };
        let _ = writeln!(
            html,
            "<svg class=\"dots\" width=\"100%\" height=\"{}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{} of each run</title>\
             <desc>{}</desc>",
            bottom + 20.0,
            escaped(&heading),
            escaped(&described(of)),
        );
        scale.axis(html, unit, ROWS[0] + 6.0, bottom);
        if of.paired {
            pairs(html, of, scale);
        }
        for (side, key) in ["a", "b"].into_iter().enumerate() {
            lane(html, of, side, key, scale);
        }
        if let (Some((effect, ends)), Some(middle)) = (ends, middle) {
            let numbers = (estimate(&outcome.metric, &effect), interval(&outcome.metric, &effect));
            let words = numbers.1.map_or_else(|| numbers.0.clone(), |range| format!("{} ({range})", numbers.0));
            change(html, &effect, middle, ends, scale, of.margin, &words);
        }
        html.push_str("</svg>\n</figure>\n");
        page.note(&format!(
            "Each mark is a run; long lines are medians{}. The change is drawn from the median of A, with its 95 % interval; the shaded \
             area is the margin within which a change counts as none.",
            if of.paired { ", and thin lines connect the runs of a pair" } else { "" }
        ));
    } else {
        page.paragraph("No run has a value.");
    }
    table(page, of);
    page.end();
}

/// All values in words.
fn described(of: &Comparison) -> String {
    let outcome = &of.objective;
    let unit = outcome.metric.unit;
    let sides = [0, 1].map(|side| {
        let values: Vec<String> = outcome.values[side].iter().map(|x| value_or_dash(unit, *x)).collect();
        let (name, middle) = (["A", "B"][side], value_or_dash(unit, outcome.middle[side]));
        format!("{name}: median {middle}; runs {}.", values.join(", "))
    });
    format!("{} {} Change: {}.", sides[0], sides[1], change_words(outcome))
}

/// How far a run's mark is from the line of its side, pixels: neighbours differ, so that equal values can be counted.
fn offset(rank: usize) -> f64 {
    [0.0, -8.0, 8.0][rank % 3]
}

/// The runs of a side that have a value: run, value, distance from the line.
fn marks(of: &Comparison, side: usize) -> Vec<(usize, f64, f64)> {
    let values = of.objective.values[side].iter().enumerate();
    let mut all: Vec<(usize, f64)> = values.filter_map(|(run, x)| Some((run, x.filter(|x| x.is_finite())?))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.into_iter().enumerate().map(|(rank, (run, x))| (run, x, offset(rank))).collect()
}

fn pairs(html: &mut String, of: &Comparison, scale: Scale) {
    let [a, b] = [0, 1].map(|side| marks(of, side));
    if a.len() > LINES {
        return;
    }
    for (run, x, off) in &a {
        if let Some((_, to, to_off)) = b.iter().find(|(other, ..)| other == run) {
            let _ = writeln!(
                html,
                "<line class=\"pair\" x1=\"{:.2}%\" y1=\"{}\" x2=\"{:.2}%\" y2=\"{}\"/>",
                scale.place(*x),
                ROWS[1] + off,
                scale.place(*to),
                ROWS[2] + to_off
            );
        }
    }
}

fn lane(html: &mut String, of: &Comparison, side: usize, key: &str, scale: Scale) {
    let (outcome, at) = (&of.objective, &of.sides[side]);
    let (label, y) = if side == 0 { (ROWS[0], ROWS[1]) } else { (ROWS[3], ROWS[2]) };
    let middle = outcome.middle[side].filter(|x| x.is_finite());
    let _ = writeln!(
        html,
        "<text x=\"0\" y=\"{label}\"><tspan class=\"strong\">{}</tspan> {} <tspan class=\"faint\">{}</tspan></text>",
        key.to_uppercase(),
        value_or_dash(outcome.metric.unit, middle),
        escaped(&short(&own_name(at, key), 30)),
    );
    if let Some(middle) = middle {
        let (x, top, bottom) = (scale.place(middle), y - 19.0, y + 19.0);
        let _ =
            writeln!(html, "<line class=\"median {key}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/>");
    }
    for (run, x, off) in marks(of, side) {
        let path = at.runs.get(run).map_or_else(String::new, |run| short(&run.path, NAME));
        let _ = writeln!(
            html,
            "<g>{}<title>{} {path}: {}</title></g>",
            shape(key, &format!("{:.2}%", scale.place(x)), y + off),
            key.to_uppercase(),
            escaped(&value(outcome.metric.unit, x)),
            path = escaped(&path),
        );
    }
}

fn change(html: &mut String, effect: &Effect, middle: f64, ends: [f64; 3], scale: Scale, margin: f64, words: &str) {
    let [estimate, low, high] = ends.map(|of| scale.place(of));
    let zero = scale.place(middle);
    let y = ROWS[5];
    let _ = writeln!(
        html,
        "<text x=\"0\" y=\"{}\"><tspan class=\"strong\">Change</tspan> {}</text>",
        ROWS[4],
        escaped(words)
    );
    if effect.scale == Kind::Ratio && margin.is_finite() && margin > 0.0 {
        let (from, to) = (scale.place(middle / (1.0 + margin)), scale.place(middle * (1.0 + margin)));
        let _ = writeln!(
            html,
            "<rect class=\"margin\" x=\"{from:.2}%\" y=\"{}\" width=\"{:.2}%\" height=\"26\"/>",
            y - 13.0,
            to - from
        );
    }
    let _ = writeln!(
        html,
        "<line class=\"none\" x1=\"{zero:.2}%\" x2=\"{zero:.2}%\" y1=\"{0}\" y2=\"{3}\"/>\
         <line class=\"range\" x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"{y}\" y2=\"{y}\"/>\
         <line class=\"range\" x1=\"{low:.2}%\" x2=\"{low:.2}%\" y1=\"{1}\" y2=\"{2}\"/>\
         <line class=\"range\" x1=\"{high:.2}%\" x2=\"{high:.2}%\" y1=\"{1}\" y2=\"{2}\"/>\
         <circle class=\"estimate\" cx=\"{estimate:.2}%\" cy=\"{y}\" r=\"5\"/>",
        y - 13.0,
        y - 6.0,
        y + 6.0,
        y + 13.0,
    );
}

/// The values of each run, folded.
fn table(page: &mut Page, of: &Comparison) {
    let outcome = &of.objective;
    let unit = outcome.metric.unit;
    let rows = of.sides.iter().map(|side| side.runs.len()).max().unwrap_or(0);
    page.body.push_str("<details>\n<summary id=\"values\">Values of each run</summary>\n");
    let row = |run: usize| {
        let value = |side: usize| value_or_dash(unit, outcome.values[side].get(run).copied().flatten());
        let path = |side: usize| {
            let Some(line) = of.sides[side].runs.get(run) else { return "-".to_owned() };
            let median = if of.sides[side].median_run == Some(run) { " (median run)" } else { "" };
            let defects: String = line.defects.iter().map(|defect| format!("; {}", clean(defect))).collect();
            format!("{}{median}{defects}", short(&line.path, NAME))
        };
        vec![(run + 1).to_string(), value(0), value(1), path(0), path(1)]
    };
    let first = if of.paired { "pair" } else { "run" };
    page.table("values", &[first, "A", "B", "run of A", "run of B"], &[1, 2], (0..rows).map(row));
    page.body.push_str("</details>\n");
}
