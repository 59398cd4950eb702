//! Curves: a figure by a parameter that is a number, with an error bar at each point.

use super::super::words;
use engine::{CostUnit, Estimate};
use page::{Scale, escaped};
use std::fmt::Write as _;

/// The height of the drawing, px, and of the labels below it.
const HEIGHT: f64 = 220.0;
const TOP: f64 = 22.0;
const BELOW: f64 = 24.0;
/// The free space at the left, where the labels of values are, and at the right, in percent of the width.
const LEFT: f64 = 14.0;
const RIGHT: f64 = 5.0;
/// The number of colours.
pub const COLOURS: usize = 6;

/// One curve.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points in order.
    pub points: Vec<(f64, Estimate)>,
    /// The number of its colour.
    pub colour: usize,
    /// Whether it is calculated, not measured.
    pub is_model: bool,
}

/// A picture of curves.
#[derive(Clone, Debug)]
pub struct Curves {
    /// What it shows.
    pub title: String,
    /// The name of the parameter, by which its values are formatted.
    pub parameter: String,
    /// The unit of the values.
    pub unit: CostUnit,
    /// The curves.
    pub lines: Vec<Line>,
}

impl Curves {
    fn points(&self) -> impl Iterator<Item = &(f64, Estimate)> {
        self.lines.iter().flat_map(|line| &line.points)
    }

    /// Writes it.
    pub fn write(&self, html: &mut String) {
        let ends = || self.points().flat_map(|(_, of)| [of.value, of.low, of.high]);
        let (Some(x), Some(y)) =
            (Scale::of(self.points().map(|(x, _)| *x), 16.0, false), Scale::of(ends(), 30.0, true))
        else {
            return;
        };
        let place = |value: f64| LEFT + x.share(value) * (100.0 - LEFT - RIGHT);
        let level = |value: f64| TOP + (1.0 - y.share(value)) * HEIGHT;
        let title = escaped(&self.title).to_string();
        let bottom = TOP + HEIGHT;
        let _ = writeln!(
            html,
            "<figure>\n<figcaption>{title}</figcaption>\n<svg class=\"plot\" width=\"100%\" height=\"{}\" role=\"img\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title>",
            bottom + BELOW + 16.0
        );
        let ticks = y.ticks();
        for (tick, label) in ticks.iter().zip(self.labels(y.is_logarithmic(), &ticks)) {
            let at = level(*tick);
            let _ = writeln!(
                html,
                "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" x=\"0\" y=\"{:.1}\">{}</text>",
                at - 3.0,
                escaped(&label)
            );
        }
        self.names_of_places(html, &place, bottom);
        for line in &self.lines {
            let points: Vec<String> = line
                .points
                .iter()
                .map(|(at, of)| format!("{:.1},{:.1}", x.share(*at) * 1000.0, (1.0 - y.share(of.value)) * 1000.0))
                .collect();
            let class = if line.is_model { "curve modelled" } else { "curve" };
            let _ = writeln!(
                html,
                "<svg x=\"{LEFT}%\" y=\"{TOP}\" width=\"{}%\" height=\"{HEIGHT}\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" \
                 overflow=\"visible\"><polyline class=\"{class} stroke-{}\" points=\"{}\"/></svg>",
                100.0 - LEFT - RIGHT,
                line.colour % COLOURS,
                points.join(" ")
            );
            for (at, of) in &line.points {
                let (cx, colour) = (place(*at), line.colour % COLOURS);
                let shown = words::estimate(self.unit, of);
                let words = format!(
                    "{}, {}: {} {}",
                    line.name,
                    words::parameter_value(&self.parameter, &at.to_string()),
                    shown.value,
                    shown.interval
                );
                let dot = if line.is_model {
                    format!("class=\"hollow stroke-{colour}\" r=\"3\"")
                } else {
                    format!("class=\"fill-{colour}\" r=\"4\"")
                };
                let _ = writeln!(
                    html,
                    "<g><title>{}</title><line class=\"whisker\" x1=\"{cx:.2}%\" x2=\"{cx:.2}%\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                     <circle {dot} cx=\"{cx:.2}%\" cy=\"{:.1}\"/></g>",
                    escaped(&words),
                    level(of.low),
                    level(of.high),
                    level(of.value)
                );
            }
        }
        html.push_str("</svg>\n");
        legend(html, self.lines.iter().map(|line| (line.colour, line.is_model, line.name.as_str())));
        html.push_str("</figure>\n");
    }

    /// The values of the parameter below the picture, as many as fit a small screen.
    fn names_of_places(&self, html: &mut String, place: &dyn Fn(f64) -> f64, bottom: f64) {
        let mut places: Vec<f64> = self.points().map(|(x, _)| *x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let [mut last, mut last_of_small] = [f64::NEG_INFINITY; 2];
        for at in places {
            let x = place(at);
            let _ = writeln!(html, "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{TOP}\" y2=\"{bottom}\"/>");
            if x - last < 6.0 {
                continue;
            }
            last = x;
            // A small screen has room for fewer.
            let of_large = if x - last_of_small < 18.0 {
                " of-large"
            } else {
                last_of_small = x;
                ""
            };
            let anchor = if x > 90.0 { "last" } else { "middle" };
            let name = words::parameter_value(&self.parameter, &at.to_string());
            let _ = writeln!(
                html,
                "<text class=\"tick {anchor}{of_large}\" x=\"{x:.2}%\" y=\"{}\">{}</text>",
                bottom + 15.0,
                escaped(&name)
            );
        }
        let name = words::parameter_name(&self.parameter);
        let _ = writeln!(
            html,
            "<text class=\"unit last\" x=\"100%\" y=\"{}\">{}</text>",
            bottom + BELOW + 10.0,
            escaped(&name)
        );
    }

    fn labels(&self, is_logarithmic: bool, ticks: &[f64]) -> Vec<String> {
        match is_logarithmic {
            // Of different sizes, so each has its own unit.
            true => ticks.iter().map(|tick| words::value(self.unit, *tick)).collect(),
            false => words::ticks(self.unit, ticks),
        }
    }
}

/// The legend of colours.
pub fn legend<'a>(html: &mut String, lines: impl Iterator<Item = (usize, bool, &'a str)>) {
    html.push_str("<ul class=\"legend\">");
    for (colour, is_model, name) in lines {
        let class = if is_model { "curve modelled" } else { "curve" };
        let _ = write!(
            html,
            "<li><svg width=\"26\" height=\"10\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\"><line class=\"{class} stroke-{}\" \
             x1=\"0\" x2=\"26\" y1=\"5\" y2=\"5\"/></svg> {}</li>",
            colour % COLOURS,
            escaped(name)
        );
    }
    html.push_str("</ul>\n");
}
