//! Heat maps: values by row and column, darker for larger ones.

use super::super::words;
use engine::CostUnit;
use page::{Scale, escaped};
use std::fmt::Write as _;

/// The number of shades in the report's style.
const SHADES: f64 = 5.0;
/// Values that differ by less than this share of the largest have one shade.
const ALIKE: f64 = 0.1;
/// With more columns than this, cells have no text.
const WITH_TEXT: usize = 12;
/// The height of a cell, px.
const HEIGHT: usize = 30;
/// The width of a character, px, to make room for names.
const CHARACTER: usize = 8;

/// A heat map.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// What it shows.
    pub title: String,
    /// What the rows are, and what the columns are.
    pub axes: [String; 2],
    /// The names of the rows.
    pub rows: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values: row, column, value, and what it is in words.
    pub cells: Vec<(usize, usize, f64, String)>,
}

impl Heat {
    /// Writes it.
    pub fn write(&self, html: &mut String, unit: CostUnit) {
        let Some(scale) = Scale::of(self.cells.iter().map(|cell| cell.2), 20.0, false) else { return };
        let values = || self.cells.iter().map(|cell| cell.2);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // Shades would make a difference of a few percent look like a large one.
        let are_alike = high - low < ALIKE * high.abs();
        let with_text = self.columns.len() <= WITH_TEXT;
        let longest = |names: &[String]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let cell = if with_text { (longest(&self.columns) * CHARACTER).max(70) } else { 24 };
        let (left, top) = (longest(&self.rows).max(self.axes[0].chars().count() + 2) * CHARACTER + 12, 44);
        let (width, height) = (left + self.columns.len() * cell + 2, top + self.rows.len() * HEIGHT);
        let title = escaped(&self.title).to_string();
        let _ = writeln!(
            html,
            "<figure>\n<figcaption>{title}</figcaption>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\">\
             <svg class=\"heat\" width=\"{width}\" height=\"{height}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title>"
        );
        let _ = writeln!(
            html,
            "<text class=\"row\" x=\"{}\" y=\"{}\">{}</text><text x=\"{left}\" y=\"12\">{}</text>",
            left - 8,
            top - 8,
            escaped(&format!("{} \u{2193}", self.axes[0])),
            escaped(&format!("{} \u{2192}", self.axes[1])),
        );
        for (at, name) in self.columns.iter().enumerate() {
            let x = left + at * cell + cell / 2;
            let _ = writeln!(html, "<text class=\"col\" x=\"{x}\" y=\"{}\">{}</text>", top - 8, escaped(name));
        }
        for (row, name) in self.rows.iter().enumerate() {
            let y = top + row * HEIGHT;
            let _ = writeln!(html, "<text class=\"row\" x=\"{}\" y=\"{}\">{}</text>", left - 8, y + 19, escaped(name));
            for column in 0..self.columns.len() {
                let x = left + column * cell;
                let own = self.cells.iter().find(|cell| cell.0 == row && cell.1 == column);
                let Some((_, _, value, words)) = own else {
                    let _ = writeln!(
                        html,
                        "<rect class=\"gap\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>",
                        cell - 2,
                        HEIGHT - 2
                    );
                    continue;
                };
                let shade = if are_alike { 3.0 } else { (scale.share(*value) * SHADES).ceil().clamp(1.0, SHADES) };
                let _ = write!(
                    html,
                    "<g><title>{}</title><rect class=\"heat-{shade}\" x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>",
                    escaped(words),
                    cell - 2,
                    HEIGHT - 2
                );
                if with_text {
                    let (x, y) = (x + cell / 2 - 1, y + 19);
                    let text = words::value(unit, *value);
                    let _ = write!(html, "<text class=\"in in-{shade}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(&text));
                }
                html.push_str("</g>\n");
            }
        }
        html.push_str("</svg></div>\n</figure>\n");
    }
}
