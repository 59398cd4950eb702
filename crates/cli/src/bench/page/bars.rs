//! Bars with error bars, one for each place or parameter.

use super::super::words;
use engine::{CostUnit, Estimate};
use page::{Scale, escaped};
use std::fmt::Write as _;

/// The height of a row, px: its name, then its bar.
const ROW: f64 = 40.0;
/// The part of the width that bars use, in percent; the values follow them.
const WIDTH: f64 = 55.0;

/// Bars of one unit.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// The unit of all.
    pub unit: CostUnit,
    /// The names and values.
    pub rows: Vec<(String, Estimate)>,
}

impl Bars {
    /// Writes them.
    pub fn write(&self, html: &mut String) {
        let ends = self.rows.iter().flat_map(|(_, of)| [of.value, of.low, of.high]);
        // Never logarithmic: the length of a bar is its value.
        let Some(scale) = Scale::of(ends, f64::INFINITY, true) else { return };
        let title = escaped(&self.title).to_string();
        let _ = writeln!(
            html,
            "<figure>\n<figcaption>{title}</figcaption>\n<svg class=\"plot\" width=\"100%\" height=\"{}\" role=\"img\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title>",
            self.rows.len() as f64 * ROW
        );
        let place = |value: f64| scale.share(value) * WIDTH;
        for (at, (name, of)) in self.rows.iter().enumerate() {
            let top = at as f64 * ROW;
            let (zero, value, low, high) = (place(0.0), place(of.value), place(of.low), place(of.high));
            let shown = words::estimate(self.unit, of);
            let middle = top + 25.0;
            let _ = writeln!(
                html,
                "<text x=\"0\" y=\"{}\">{}</text><rect class=\"fill-0\" x=\"{:.2}%\" y=\"{}\" width=\"{:.2}%\" height=\"14\"/>\
                 <line class=\"whisker\" x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"{middle}\" y2=\"{middle}\"/>\
                 <line class=\"whisker\" x1=\"{low:.2}%\" x2=\"{low:.2}%\" y1=\"{upper}\" y2=\"{lower}\"/>\
                 <line class=\"whisker\" x1=\"{high:.2}%\" x2=\"{high:.2}%\" y1=\"{upper}\" y2=\"{lower}\"/>",
                top + 13.0,
                escaped(name),
                zero.min(value),
                middle - 7.0,
                (value - zero).abs().max(0.2),
                upper = middle - 4.0,
                lower = middle + 4.0,
            );
            let _ = writeln!(
                html,
                "<text class=\"value\" x=\"{:.2}%\" y=\"{}\">{} {}</text>",
                high.max(value) + 1.5,
                middle + 4.0,
                escaped(&shown.value),
                escaped(&shown.interval)
            );
        }
        let nothing = words::nothing(self.unit);
        if nothing > 0.0 || scale.share(0.0) > 0.0 {
            let x = place(nothing);
            let _ = writeln!(
                html,
                "<line class=\"nothing\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"{}\"/>",
                self.rows.len() as f64 * ROW
            );
        }
        html.push_str("</svg>\n</figure>\n");
    }
}
