//! From the mean of A to the mean of B: a bar for each cause, each from where the one above it ends.

use super::super::select::{Part, parts, sense};
use super::super::words::{clean, short, signed, value};
use super::scale::Scale;
use super::{NAME, Page, mark};
use crate::outcome::{Comparison, Unit, Why};
use model::words::{TIE, percent_of};
use page::escaped;
use std::fmt::Write as _;

/// The number of causes that are drawn.
const CAUSES: usize = 10;
/// The height of a bar's row in pixels.
const HEIGHT: f64 = 20.0;

pub fn write(page: &mut Page, of: &Comparison) {
    if !of.counted.is_empty() {
        page.section("counters", "Counters");
        of.counted.iter().for_each(|words| page.paragraph(&format!("{}.", clean(words))));
        page.end();
    }
    let Some(why) = &of.why else { return };
    let parts = parts(why, CAUSES);
    page.section(
        "why",
        &why.line.as_ref().map_or_else(|| "Why".to_owned(), |line| format!("Why: {}", short(line, 200))),
    );
    draw(page, why, &parts);
    table(page, why);
    page.end();
}

/// Where each part begins and ends, ns.
fn places(begin: f64, parts: &[Part]) -> Vec<[f64; 2]> {
    let mut at = begin;
    let place = |part: &Part| {
        let from = at;
        at += part.ns;
        [from, at]
    };
    parts.iter().map(place).collect()
}

fn draw(page: &mut Page, why: &Why, parts: &[Part]) {
    let [a, b] = why.means;
    let places = places(a, parts);
    // The ends of intervals beyond twice the bars are cut off.
    let bars = || places.iter().flatten().copied().chain([a, b]);
    let Some(scale) = Scale::of(bars()).and_then(|_| {
        let (low, high) = bars().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let room = (high - low) * 0.5;
        let ends = places
            .iter()
            .zip(parts)
            .flat_map(|([from, _], part)| part.interval.into_iter().flatten().map(move |x| from + x));
        Scale::of(bars().chain(ends.filter(|x| x.is_finite()).map(|x| x.clamp(low - room, high + room))))
    }) else {
        return;
    };
    let html = &mut page.body;
    html.push_str("<figure>\n<figcaption>From the mean of A to the mean of B</figcaption>\n<div class=\"fall\">\n");
    row(
        html,
        &format!("{} <strong>A</strong>", mark("a")),
        &format!("{}</span><span></span><span>", value(Unit::Ns, a)),
        &guides(scale, [a, b], "a"),
    );
    for (part, [from, to]) in parts.iter().zip(&places) {
        let sign = if part.ns > 0.0 { "▲" } else { "▼" };
        let range =
            part.interval.filter(|ends| ends.iter().all(|x| x.is_finite())).map_or_else(String::new, |[low, high]| {
                format!("<small>{} to {}</small>", escaped(&signed(Unit::Ns, low)), escaped(&signed(Unit::Ns, high)))
            });
        let share = part.share.map_or_else(String::new, |share| format!("<small>{}</small>", percent_of(share)));
        let class = if part.is_unknown { "hatched" } else { sense(part).word() };
        let mut bar = guides(scale, [a, b], "");
        let (left, right) = (scale.place(from.min(*to)), scale.place(from.max(*to)));
        let _ = write!(
            bar,
            "<rect class=\"{class}\" x=\"{left:.2}%\" y=\"4\" width=\"{:.2}%\" height=\"12\"/>",
            (right - left).max(0.2)
        );
        if let Some([low, high]) = part.interval.filter(|ends| ends.iter().all(|x| x.is_finite())) {
            let (low, high) = (scale.place(from + low), scale.place(from + high));
            let _ = write!(bar, "<line class=\"whisker\" x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"10\" y2=\"10\"/>");
        }
        row(
            html,
            &escaped(&short(&part.title, NAME)).to_string(),
            &format!(
                "<span aria-hidden=\"true\">{sign}</span>{TIE}{}</span><span>{share}</span><span>{range}",
                escaped(&signed(Unit::Ns, part.ns))
            ),
            &bar,
        );
    }
    row(
        html,
        &format!("{} <strong>B</strong>", mark("b")),
        &format!("{}</span><span></span><span>", value(Unit::Ns, b)),
        &guides(scale, [a, b], "b"),
    );
    let _ =
        write!(html, "<svg width=\"100%\" height=\"20\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\">");
    scale.axis(html, Unit::Ns, 0.0, 2.0);
    html.push_str("</svg>\n</div>\n</figure>\n");
    page.note(
        "Each bar begins where the one above it ends; thin lines are 95 % intervals of the piece. The axis does not begin at 0. ▲ more time, ▼ less time.",
    );
}

/// Lines at both means, and the mark of a side at its own.
fn guides(scale: Scale, means: [f64; 2], side: &str) -> String {
    let mut svg = String::new();
    for (mean, key) in means.into_iter().zip(["a", "b"]) {
        let x = scale.place(mean);
        let _ = write!(svg, "<line class=\"guide {key}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"{HEIGHT}\"/>");
        if key == side {
            svg.push_str(&super::shape(key, &format!("{x:.2}%"), HEIGHT / 2.0));
        }
    }
    svg
}

/// Writes a row: label and value as XML, and its picture.
fn row(html: &mut String, label: &str, value: &str, svg: &str) {
    let _ = writeln!(
        html,
        "<div class=\"step\"><span>{label}</span><span>{value}</span></div>\n<svg width=\"100%\" height=\"{HEIGHT}\" aria-hidden=\"true\" \
         xmlns=\"http://www.w3.org/2000/svg\">{svg}</svg>"
    );
}

/// All pieces, folded.
fn table(page: &mut Page, why: &Why) {
    page.body.push_str("<details>\n<summary id=\"pieces\">All pieces</summary>\n");
    let row = |piece: &crate::outcome::Piece| {
        let dash = || "-".to_owned();
        let range = |[low, high]: [f64; 2]| format!("{} to {}", signed(Unit::Ns, low), signed(Unit::Ns, high));
        let mean = |side: usize| piece.means.map_or_else(dash, |means| value(Unit::Ns, means[side]));
        vec![
            short(&piece.title, NAME),
            signed(Unit::Ns, piece.ns),
            piece.interval.map_or_else(dash, range),
            mean(0),
            mean(1),
            short(&piece.cause.replace('_', " "), 24),
            piece.role.as_deref().map_or_else(dash, |role| short(&clean(role), 40)),
        ]
    };
    let heads = ["cause", "change", "95 % interval", "mean of A", "mean of B", "kind", "role"];
    page.table("pieces", &heads, &[1, 2, 3, 4], why.pieces.iter().map(row));
    page.body.push_str("</details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    #[test]
    fn bars_lead_from_one_mean_to_the_other() {
        let why = samples::regression().why.unwrap();
        let places = places(why.means[0], &parts(&why, CAUSES));
        assert_eq!(places[0][0], why.means[0]);
        assert!(places.windows(2).all(|pair| pair[0][1] == pair[1][0]));
        assert!((places.last().unwrap()[1] - why.means[1]).abs() < 1.0);
    }
}
