//! A flame graph. Each frame is a picture of its own, so that a browser cuts its label off at its end. Positions are in percent of the
//! width; a script (flame.js) searches and zooms.

use super::{escaped, legend};
use crate::picture::{Flame, FlameTone};
use std::fmt::Write as _;

/// Pixels from one frame to the next, the height of a frame, and from its top to the baseline of its label.
const STEP: usize = 17;
const HEIGHT: usize = 16;
const TEXT: usize = 12;

pub fn write(html: &mut String, of: &Flame) {
    let Some(depth) = of.frames.iter().map(|frame| frame.depth).max() else { return };
    let title = escaped(&of.title);
    let _ = write!(html, "<figure class=\"flame\">\n<figcaption>{title}</figcaption>\n");
    legend(html, of.legend.iter().map(|(tone, words)| (class(*tone), words.as_str())));
    html.push_str(
        "<p class=\"controls\" hidden=\"hidden\"><label>Search <input type=\"search\"/></label> <button type=\"button\">Show all</button> \
         <output></output></p>\n",
    );
    let _ = writeln!(
        html,
        "<svg class=\"frames\" width=\"100%\" height=\"{}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title>\
         <desc>The width of a function is its share of the samples; it is drawn above the function that called it. The table that \
         follows has the numbers.</desc>",
        (depth + 1) * STEP
    );
    for frame in &of.frames {
        // A title of the label alone would hide that of the frame.
        let _ = writeln!(
            html,
            "<svg class=\"{}\" x=\"{:.3}%\" y=\"{}\" width=\"{:.3}%\" height=\"{HEIGHT}\"><title>{}</title><rect width=\"100%\" \
             height=\"100%\"/><text x=\"3\" y=\"{TEXT}\">{}</text></svg>",
            class(frame.tone),
            100.0 * frame.x,
            (depth - frame.depth) * STEP,
            100.0 * frame.width,
            escaped(&frame.about),
            escaped(&frame.label),
        );
    }
    html.push_str("</svg>\n</figure>\n");
}

fn class(tone: FlameTone) -> &'static str {
    match tone {
        FlameTone::Root => "root",
        FlameTone::Core(tone) => tone.class(),
        FlameTone::Thread => "idle",
        FlameTone::Program => "orange",
        FlameTone::Kernel => "red",
        FlameTone::Unnamed => "blank",
        FlameTone::Difference(..=-3) => "less-3",
        FlameTone::Difference(-2) => "less-2",
        FlameTone::Difference(-1) => "less-1",
        FlameTone::Difference(0) => "same",
        FlameTone::Difference(1) => "more-1",
        FlameTone::Difference(2) => "more-2",
        FlameTone::Difference(3..) => "more-3",
    }
}
