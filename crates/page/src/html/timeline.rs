//! A heat map of CPUs over time. Its size does not depend on the length of the recording.

use super::{axis, escaped, legend};
use crate::picture::{Lane, Timeline};
use model::Ns;
use model::words::time;
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
    if of.lanes.iter().all(|lane| lane.cells.is_empty()) {
        return;
    }
    let title = escaped(&of.title);
    let _ = write!(html, "<figure>\n<figcaption>{title}</figcaption>\n");
    shades(html);
    html.push_str("<div class=\"timeline\">");
    labels(html, &of.lanes);
    cells(html, of, of.span_ns, "The CPU table has the sums.");
    ranges(html, of);
    axis(html, of.begin_ns, of.begin_ns.saturating_add(of.span_ns));
    html.push_str("</div>\n</figure>\n");
}

/// Writes the legend of the shades.
pub fn shades(html: &mut String) {
    let classes: [String; SHADES] = std::array::from_fn(class);
    legend(html, classes.iter().map(String::as_str).zip(NAMES).chain([("blank", "mostly unknown")]));
}

fn class(shade: usize) -> String {
    format!("heat-{}", shade + 1)
}

/// Writes the labels of lanes, for the left column of a `timeline`.
pub fn labels(html: &mut String, lanes: &[Lane]) {
    html.push_str("<div class=\"lanes\" aria-hidden=\"true\">");
    for lane in lanes {
        let _ = write!(html, "<span>{} <em>{}</em></span>", escaped(&lane.label), escaped(&lane.core_type));
    }
    html.push_str("</div>\n");
}

/// Writes the cells of lanes, for the right column of a `timeline`. The full width stands for `scale_ns`, at least the duration.
/// `note` ends the description of the picture.
pub fn cells(html: &mut String, of: &Timeline, scale_ns: i64, note: &str) {
    let (title, lanes) = (escaped(&of.title), of.lanes.len());
    let columns = of.lanes.iter().map(|lane| lane.cells.len()).max().unwrap_or(0).max(1);
    let wide = columns as f64 * (scale_ns as f64 / of.span_ns.max(1) as f64).max(1.0);
    let _ = writeln!(
        html,
        "<svg width=\"100%\" height=\"{}\" viewBox=\"0 0 {wide} {lanes}\" preserveAspectRatio=\"none\" \
         role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title><desc>{columns} intervals of {} each, from left \
         to right; one lane for each of {}. {}</desc>",
        lanes * HEIGHT,
        time(Ns(of.span_ns) / columns as i64),
        escaped(&of.lanes.iter().map(|lane| lane.label.as_str()).collect::<Vec<_>>().join(", ")),
        escaped(note),
    );
    let _ = writeln!(html, "<rect class=\"ground\" width=\"{columns}\" height=\"{lanes}\"/>");
    for (shade, class) in (0..SHADES).map(class).chain(["blank".to_owned()]).enumerate() {
        let path = path(&of.lanes, shade);
        if !path.is_empty() {
            let _ = writeln!(html, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    html.push_str("</svg>\n");
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
        let times = range.spans.iter().map(|s| format!("{} to {}", time(s.start), time(s.end)));
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
fn path(lanes: &[Lane], shade: usize) -> String {
    let mut path = String::new();
    for (row, lane) in lanes.iter().enumerate() {
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

    #[test]
    fn neighbours_of_one_shade_are_joined() {
        let cells = vec![(1.0, 0.0), (0.9, 0.0), (0.0, 0.0), (0.1, 0.0), (0.4, 0.6)];
        let lanes = vec![Lane { label: "CPU 0".to_owned(), core_type: String::new(), cells }];
        assert_eq!(path(&lanes, 4), "M0 0.05h2v.9h-2z");
        assert_eq!(path(&lanes, 0), "M3 0.05h1v.9h-1z");
        assert_eq!(path(&lanes, SHADES), "M4 0.05h1v.9h-1z");
        assert_eq!((1..4).map(|shade| path(&lanes, shade)).collect::<String>(), "");
    }

    #[test]
    fn a_shorter_recording_is_shorter_on_a_common_scale() {
        let lanes = vec![Lane { label: "CPU 0".to_owned(), core_type: String::new(), cells: vec![(1.0, 0.0); 4] }];
        let of = Timeline { title: "Busy".to_owned(), lanes, begin_ns: 0, span_ns: 50, ranges: Vec::new() };
        let drawn = |scale| {
            let mut html = String::new();
            cells(&mut html, &of, scale, "");
            html
        };
        assert!(drawn(100).contains("viewBox=\"0 0 8 1\"") && drawn(100).contains("M0 0.05h4"), "{}", drawn(100));
        assert!(drawn(50).contains("viewBox=\"0 0 4 1\""));
        assert!(drawn(0).contains("viewBox=\"0 0 4 1\""), "nothing is cut off");
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
