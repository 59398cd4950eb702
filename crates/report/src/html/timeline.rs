//! A heat map of CPUs over time. Its size does not depend on the length of the recording.

use super::{axis, escaped, legend};
use crate::picture::Timeline;
use crate::words::time;
use std::fmt::Write as _;

/// The height of a lane in pixels.
const HEIGHT: usize = 18;
/// The number of shades for busy time; idle cells have none.
const SHADES: usize = 5;
/// The width of the picture in its own units.
const PARTS: f64 = 1000.0;
/// From this share on, a cell is shown as unknown.
const MOSTLY: f64 = 0.5;
const NAMES: [&str; SHADES] = ["up to 20\u{a0}% busy", "up to 40\u{a0}%", "up to 60\u{a0}%", "up to 80\u{a0}%", "more"];

pub fn write(html: &mut String, of: &Timeline) {
    let columns = of.lanes.iter().map(|lane| lane.cells.len()).max().unwrap_or(0);
    if columns == 0 {
        return;
    }
    let (title, lanes) = (escaped(&of.title), of.lanes.len());
    let _ = write!(html, "<figure>\n<figcaption>{title}</figcaption>\n");
    let classes: [String; SHADES] = std::array::from_fn(|shade| format!("heat-{}", shade + 1));
    legend(html, classes.iter().map(String::as_str).zip(NAMES).chain([("blank", "mostly unknown")]));
    html.push_str("<div class=\"timeline\"><div class=\"lanes\" aria-hidden=\"true\">");
    for lane in &of.lanes {
        let (label, core_type) = (escaped(&lane.label), escaped(&lane.core_type));
        let _ = write!(html, "<span>{label} <em>{core_type}</em></span>");
    }
    let _ = writeln!(
        html,
        "</div>\n<svg width=\"100%\" height=\"{}\" viewBox=\"0 0 {columns} {lanes}\" preserveAspectRatio=\"none\" \
         role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title><desc>{columns} intervals of {} each, from left \
         to right; one lane for each of {}. The CPU table has the sums.</desc>",
        lanes * HEIGHT,
        time(of.span_ns / columns as i64),
        escaped(&of.lanes.iter().map(|lane| lane.label.as_str()).collect::<Vec<_>>().join(", ")),
    );
    let _ = writeln!(html, "<rect class=\"ground\" width=\"{columns}\" height=\"{lanes}\"/>");
    for (shade, class) in classes.iter().map(String::as_str).chain(["blank"]).enumerate() {
        let path = path(of, shade);
        if !path.is_empty() {
            let _ = writeln!(html, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    html.push_str("</svg>\n");
    ranges(html, of);
    axis(html, of.begin_ns, of.begin_ns.saturating_add(of.span_ns));
    html.push_str("</div>\n</figure>\n");
}

/// Writes a lane for each range.
fn ranges(html: &mut String, of: &Timeline) {
    if of.ranges.is_empty() {
        return;
    }
    html.push_str("<div class=\"lanes\">");
    for range in &of.ranges {
        let (place, link) = (range.place.id(), range.link.id());
        let _ = write!(
            html,
            "<span id=\"{place}\"><a href=\"#{link}\">{} <em>{}</em></a></span>",
            escaped(&range.label),
            escaped(&range.of)
        );
    }
    let lanes = of.ranges.len();
    let _ = write!(
        html,
        "</div>\n<svg width=\"100%\" height=\"{}\" viewBox=\"0 0 {PARTS} {lanes}\" preserveAspectRatio=\"none\" role=\"img\" \
         xmlns=\"http://www.w3.org/2000/svg\"><title>When findings occurred</title><desc>",
        lanes * HEIGHT
    );
    for range in &of.ranges {
        let times = range.spans.iter().map(|s| format!("{} to {}", time(s.start.0), time(s.end.0)));
        let _ = write!(
            html,
            "{} {}: {}. ",
            escaped(&range.label),
            escaped(&range.of),
            times.collect::<Vec<_>>().join(", ")
        );
    }
    let _ = writeln!(html, "</desc>\n<rect class=\"ground\" width=\"{PARTS}\" height=\"{lanes}\"/>");
    for (lane, range) in of.ranges.iter().enumerate() {
        let at = |ns: i64| {
            let within = (i128::from(ns) - i128::from(of.begin_ns)).clamp(0, i128::from(of.span_ns));
            within as f64 * PARTS / of.span_ns.max(1) as f64
        };
        let mut path = String::new();
        for span in &range.spans {
            let (from, to) = (at(span.start.0), at(span.end.0));
            // Very short spans are widened so that they are visible.
            let wide = (to - from).max(PARTS / 500.0);
            let _ = write!(path, "M{:.1} {lane}.2h{wide:.1}v.6h-{wide:.1}z", from.min(PARTS - wide));
        }
        let _ = writeln!(html, "<path class=\"{}\" d=\"{path}\"/>", range.tone.class());
    }
    html.push_str("</svg>\n");
}

/// The path of all cells of a shade; neighbours are joined.
fn path(of: &Timeline, shade: usize) -> String {
    let mut path = String::new();
    for (row, lane) in of.lanes.iter().enumerate() {
        let mut at = 0;
        while at < lane.cells.len() {
            let like = lane.cells[at..].iter().take_while(|cell| shade_of(**cell) == Some(shade)).count();
            if like > 0 {
                // A thin gap separates lanes.
                let _ = write!(path, "M{at} {row}.05h{like}v.9h-{like}z");
            }
            at += like.max(1);
        }
    }
    path
}

/// The shade of a cell; unknown is the last one.
fn shade_of((busy, unknown): (f64, f64)) -> Option<usize> {
    if unknown >= MOSTLY {
        return Some(SHADES);
    }
    let shade = (busy * SHADES as f64).ceil() as usize;
    (busy > 0.0).then(|| shade.clamp(1, SHADES) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Lane;

    #[test]
    fn neighbours_of_one_shade_are_joined() {
        let cells = vec![(1.0, 0.0), (0.9, 0.0), (0.0, 0.0), (0.1, 0.0), (0.4, 0.6)];
        let lanes = vec![Lane { label: "CPU 0".to_owned(), core_type: String::new(), cells }];
        let of = Timeline { title: "Busy".to_owned(), lanes, begin_ns: 0, span_ns: 5_000_000, ranges: Vec::new() };
        assert_eq!(path(&of, 4), "M0 0.05h2v.9h-2z");
        assert_eq!(path(&of, 0), "M3 0.05h1v.9h-1z");
        assert_eq!(path(&of, SHADES), "M4 0.05h1v.9h-1z");
        assert_eq!((1..4).map(|shade| path(&of, shade)).collect::<String>(), "");
    }

    #[test]
    fn shade_limits() {
        assert_eq!(shade_of((0.0, 0.0)), None);
        assert_eq!(shade_of((0.001, 0.0)), Some(0));
        assert_eq!(shade_of((0.2, 0.0)), Some(0));
        assert_eq!(shade_of((0.21, 0.0)), Some(1));
        assert_eq!(shade_of((7.0, 0.0)), Some(SHADES - 1));
        assert_eq!(shade_of((0.5, 0.5)), Some(SHADES));
    }
}
