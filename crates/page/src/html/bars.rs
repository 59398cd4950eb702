//! Stacked bars. Widths are in percent, so that text keeps its size on a small screen.

use super::{escaped, legend};
use crate::picture::{Bar, Bars, Tone};
use model::words::percent;
use std::fmt::Write as _;

/// Pixels from one bar to the next, from its top to the baseline of its text, and its height.
const STEP: usize = 36;
const TEXT: usize = 13;
const HEIGHT: usize = 12;

pub fn write(html: &mut String, of: &Bars) {
    if of.bars.is_empty() {
        return;
    }
    let title = escaped(&of.title);
    let shown = |at: &usize| of.bars.iter().any(|bar| bar.parts.get(*at).is_some_and(|ns| *ns > 0));
    let there: Vec<usize> = (0..of.legend.len()).filter(shown).collect();
    let _ = write!(html, "<figure>\n<figcaption>{title}</figcaption>\n");
    legend(html, there.iter().map(|at| (of.legend[*at].0.class(), of.legend[*at].1.as_str())));
    let _ = writeln!(
        html,
        "<svg class=\"bars\" width=\"100%\" height=\"{}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\
         <title>{title}</title><desc>One bar per row; the table that follows has the numbers.</desc>",
        of.bars.len() * STEP
    );
    for (row, bar) in of.bars.iter().enumerate() {
        draw(html, bar, row * STEP, &of.legend);
    }
    html.push_str("</svg>\n</figure>\n");
}

fn draw(html: &mut String, bar: &Bar, top: usize, parts: &[(Tone, String)]) {
    let (text, top) = (top + TEXT, top + TEXT + 5);
    let _ = writeln!(html, "<text x=\"0\" y=\"{text}\">{}</text>", escaped(&bar.label));
    let _ = writeln!(html, "<text class=\"value\" x=\"100%\" y=\"{text}\">{}</text>", escaped(&bar.value));
    let _ = writeln!(html, "<rect class=\"ground\" x=\"0\" y=\"{top}\" width=\"100%\" height=\"{HEIGHT}\"/>");
    let mut from = 0;
    for (ns, (tone, words)) in bar.parts.iter().zip(parts).filter(|(ns, _)| **ns > 0) {
        let to = from + i128::from(*ns);
        let (left, right) = (place(from, bar.whole), place(to, bar.whole));
        if right > left {
            let _ = writeln!(
                html,
                "<rect class=\"{}\" x=\"{left:.3}%\" y=\"{top}\" width=\"{:.3}%\" height=\"{HEIGHT}\"><title>{}: {} \
                 {}</title></rect>",
                tone.class(),
                right - left,
                escaped(&bar.label),
                escaped(words),
                escaped(&percent(*ns, bar.whole)),
            );
        }
        from = to;
    }
}

/// The position in percent of the whole.
fn place(at: i128, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { (at as f64 * 100.0 / whole as f64).min(100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(parts: Vec<i64>, whole: i64) -> String {
        let legend = vec![(Tone::Blue, "running".to_owned()), (Tone::Unknown, "unknown".to_owned())];
        let bars = vec![Bar { label: "<b>".to_owned(), value: "1".to_owned(), parts, whole }];
        let mut html = String::new();
        write(&mut html, &Bars { title: "Times".to_owned(), legend, bars });
        html
    }

    #[test]
    fn parts_follow_each_other() {
        let html = drawn(vec![1, 2], 4);
        assert!(html.contains("class=\"blue\" x=\"0.000%\" y=\"18\" width=\"25.000%\""), "{html}");
        assert!(html.contains("class=\"unknown\" x=\"25.000%\" y=\"18\" width=\"50.000%\""), "{html}");
        assert!(html.contains("&lt;b&gt;: running 25.0\u{a0}%") && !html.contains("<b>"), "{html}");
    }

    #[test]
    fn no_bar_exceeds_the_picture() {
        for (parts, whole) in [(vec![i64::MAX, i64::MAX], 1), (vec![-5, 3], 3), (vec![1, 1], 0), (vec![1, 1], -1)] {
            let html = drawn(parts, whole);
            let widths = html.split("width=\"").skip(1).filter_map(|w| w.split_once("%\""));
            assert!(widths.map(|(w, _)| w.parse::<f64>().unwrap()).all(|w| (0.0..=100.0).contains(&w)), "{html}");
        }
    }
}
