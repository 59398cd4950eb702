//! How values within runs are distributed: the share of values up to each value, and percentiles.

use super::super::text::upper;
use super::super::words::{short, value};
use super::scale::Scale;
use super::{NAME, Page};
use crate::outcome::{Comparison, Distribution, Unit};
use model::words::{TIE, plural};
use page::escaped;
use std::fmt::Write as _;

/// The picture's height, and where its axis is, in pixels.
const HEIGHT: f64 = 230.0;
const BOTTOM: f64 = 208.0;
const TOP: f64 = 8.0;
/// The shares with lines across.
const LEVELS: [f64; 4] = [0.5, 0.9, 0.99, 1.0];
/// The percentiles of the table.
const PERCENTILES: [(f64, &str); 8] = [
    (0.0, "least"),
    (0.05, "5th percentile"),
    (0.25, "25th percentile"),
    (0.5, "median"),
    (0.9, "90th percentile"),
    (0.95, "95th percentile"),
    (0.99, "99th percentile"),
    (1.0, "greatest"),
];

pub fn write(page: &mut Page, of: &Comparison) {
    let shown = |it: &&Distribution| it.quantiles.iter().all(|of| of.len() >= 2 && of.iter().all(|x| x.is_finite()));
    let all: Vec<&Distribution> = of.distributions.iter().filter(shown).collect();
    if all.is_empty() {
        return;
    }
    page.section("distributions", "Distributions: all runs of a side together");
    for (at, distribution) in all.iter().enumerate() {
        figure(page, distribution);
        table(page, at, distribution);
    }
    page.end();
}

/// A quantile, interpolated between those that are known.
fn quantile(of: &[f64], share: f64) -> f64 {
    let at = share * (of.len() - 1) as f64;
    let (low, rest) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(of.len() - 1);
    of[low] + (of[high] - of[low]) * rest
}

fn figure(page: &mut Page, of: &Distribution) {
    let name = upper(&short(&of.name, NAME));
    let [low, most, greatest] = [0.0, 0.99, 1.0].map(|share| of.quantiles.each_ref().map(|q| quantile(q, share)));
    // A few very long frames must not flatten the rest.
    let limit = (low[0].min(low[1])) + (most[0].max(most[1]) - low[0].min(low[1])) * 1.5;
    let end = greatest[0].max(greatest[1]).min(limit);
    let Some(scale) = Scale::of([low[0], low[1], end].into_iter()) else { return };
    let html = &mut page.body;
    let _ = writeln!(html, "<figure>\n<figcaption>{}: share of values up to a value</figcaption>", escaped(&name));
    html.push_str("<ul class=\"legend\">");
    for (side, key) in ["a", "b"].into_iter().enumerate() {
        let _ = write!(
            html,
            "<li><svg width=\"28\" height=\"14\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\"><line class=\"curve {key}\" \
             x1=\"0\" x2=\"28\" y1=\"7\" y2=\"7\"/></svg> {}: {}</li>",
            key.to_uppercase(),
            plural(of.counts[side], "value")
        );
    }
    let medians = of.quantiles.each_ref().map(|q| value(of.unit, quantile(q, 0.5)));
    let _ = writeln!(
        html,
        "</ul>\n<svg class=\"curves\" width=\"100%\" height=\"{HEIGHT}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{}</title>\
         <desc>Cumulative distribution of A and B. Medians: {} and {}. The table that follows has percentiles.</desc>",
        escaped(&name),
        medians[0],
        medians[1],
    );
    scale.axis(html, of.unit, TOP, BOTTOM);
    for level in LEVELS {
        let y = height(level);
        let _ = writeln!(html, "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
    }
    let _ = writeln!(
        html,
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 100 {HEIGHT}\" preserveAspectRatio=\"none\" \
         xmlns=\"http://www.w3.org/2000/svg\">"
    );
    for (quantiles, key) in of.quantiles.iter().zip(["a", "b"]) {
        let _ = writeln!(html, "<path class=\"curve {key}\" d=\"{}\"/>", curve(quantiles, scale, end));
    }
    html.push_str("</svg>\n<g class=\"levels\">");
    for level in [0.5, 0.9] {
        let _ = write!(html, "<text x=\"0\" y=\"{:.1}\">{:.0}{TIE}%</text>", height(level) - 3.0, level * 100.0);
    }
    html.push_str("</g></svg>\n</figure>\n");
    if greatest[0].max(greatest[1]) > end {
        page.note(&format!("The axis ends at {}; the table has the greatest values.", value(of.unit, end)));
    }
}

/// The place of a share, pixels from the top.
fn height(share: f64) -> f64 {
    BOTTOM - share * (BOTTOM - TOP)
}

fn curve(quantiles: &[f64], scale: Scale, end: f64) -> String {
    let mut path = String::new();
    let last = (quantiles.len() - 1) as f64;
    for (at, x) in quantiles.iter().enumerate().take_while(|(_, x)| **x <= end) {
        let _ =
            write!(path, "{}{:.2} {:.1}", if at == 0 { "M" } else { "L" }, scale.place(*x), height(at as f64 / last));
    }
    path
}

fn table(page: &mut Page, at: usize, of: &Distribution) {
    let id = format!("percentiles-{at}");
    let _ = writeln!(page.body, "<h3 id=\"{id}\">{}</h3>", escaped(&upper(&short(&of.name, NAME))));
    let row = |(share, name): (f64, &str)| {
        let [a, b] = of.quantiles.each_ref().map(|q| quantile(q, share));
        let change = match (of.unit, a > 0.0) {
            (Unit::Ratio, _) | (_, false) => "-".to_owned(),
            _ => format!("{:+.1}{TIE}%", (b / a - 1.0) * 100.0),
        };
        vec![name.to_owned(), value(of.unit, a), value(of.unit, b), change]
    };
    page.table(&id, &["", "A", "B", "change"], &[1, 2, 3], PERCENTILES.into_iter().map(row));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let of = [1.0, 2.0, 4.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&of, share)), [1.0, 1.5, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_curve_rises_from_the_axis_to_the_top() {
        let scale = Scale::of([0.0, 10.0].into_iter()).unwrap();
        assert_eq!(curve(&[0.0, 5.0, 10.0], scale, 10.0), "M3.00 208.0L50.00 108.0L97.00 8.0");
        assert_eq!(curve(&[0.0, 5.0, 99.0], scale, 10.0), "M3.00 208.0L50.00 108.0", "what is outside is left out");
    }
}
