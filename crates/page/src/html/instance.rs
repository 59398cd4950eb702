//! The worst instance of a finding: a lane for its thread and for each CPU. Positions are in percent of the width, and each piece is a
//! picture of its own, so that a browser cuts its label off at its end.

use super::{axis, escaped, legend};
use crate::picture::Instance;
use model::{Ns, Span};
use std::fmt::Write as _;

/// Pixels from one lane to the next, and the height and the baseline of a piece.
const STEP: usize = 18;
const HEIGHT: usize = 16;
const TEXT: usize = 12;
/// Pieces narrower than this have no label, percent of the width.
const MIN_LABEL: f64 = 3.0;
/// Shorter pieces are drawn with this width, so that they are visible, percent of the width.
const MIN_WIDTH: f64 = 0.15;

pub fn write(html: &mut String, of: &Instance) {
    let title = escaped(&of.title);
    let _ = write!(html, "<figure class=\"instance\">\n<figcaption>{title}</figcaption>\n");
    legend(html, of.legend.iter().map(|(tone, words)| (tone.class(), words.as_str())));
    html.push_str("<div class=\"timeline\"><div class=\"lanes\" aria-hidden=\"true\">");
    for lane in &of.lanes {
        let _ = write!(html, "<span>{}</span>", escaped(&lane.label));
    }
    let height = of.lanes.len() * STEP;
    let _ = writeln!(
        html,
        "</div>\n<svg width=\"100%\" height=\"{height}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title>\
         <desc>One lane for the thread, and one for each of {} CPUs with the thread that ran there; the frame is the instance.</desc>",
        of.lanes.len().saturating_sub(1)
    );
    for (at, lane) in of.lanes.iter().enumerate() {
        let top = at * STEP + 1;
        let _ = writeln!(html, "<rect class=\"ground\" y=\"{top}\" width=\"100%\" height=\"{HEIGHT}\"/>");
        for piece in &lane.pieces {
            let (left, width) = place(piece.span, of.window);
            let label = if width < MIN_LABEL { "" } else { piece.label.as_str() };
            let _ = write!(
                html,
                "<svg x=\"{left:.3}%\" y=\"{top}\" width=\"{width:.3}%\" height=\"{HEIGHT}\"><title>{}</title><rect class=\"{}\" \
                 width=\"100%\" height=\"100%\"/>",
                escaped(&piece.about),
                piece.tone.class(),
            );
            if !label.is_empty() {
                let _ = write!(html, "<text x=\"3\" y=\"{TEXT}\">{}</text>", escaped(label));
            }
            html.push_str("</svg>\n");
        }
    }
    let (left, width) = place(of.marked, of.window);
    let _ = writeln!(
        html,
        "<rect class=\"marked\" x=\"{left:.3}%\" y=\"0\" width=\"{width:.3}%\" height=\"{height}\"/>\n</svg>"
    );
    axis(html, of.window.start.0, of.window.end.0);
    html.push_str("</div>\n</figure>\n");
}

/// The begin and the width of a span in percent of the window.
fn place(of: Span, window: Span) -> (f64, f64) {
    let whole = window.len().0.max(1) as f64;
    let at = |ns: Ns| 100.0 * (ns.max(window.start).min(window.end).0 - window.start.0) as f64 / whole;
    let (from, to) = (at(of.start), at(of.end));
    let width = (to - from).max(MIN_WIDTH);
    (from.min(100.0 - width), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_within_the_picture() {
        let window = Span { start: Ns(100), end: Ns(200) };
        let span = |start, end| Span { start: Ns(start), end: Ns(end) };
        assert_eq!(place(span(125, 175), window), (25.0, 50.0));
        assert_eq!(place(span(0, 1000), window), (0.0, 100.0));
        let (left, width) = place(span(200, 200), window);
        assert!(left + width <= 100.0 && width > 0.0);
    }
}
