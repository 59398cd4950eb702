//! A matrix of sides as text and as a page: one picture and one table for each kind of figure.

use super::{Matrix, Side, Spread};
use crate::show::words::clean;
use model::words::{plural, share_of};
use page::{Bar, Bars, Column, Page, Tone, push, terminal, web_page};
use std::collections::BTreeSet;

/// Idle states of printed tables, in reference cycles.
const PRINTED_STATES: [(&str, &str); 3] = [("C3", "c3_clk"), ("C6", "c6_clk"), ("C7", "c7_clk")];
/// The colours of idle states, from the shallowest.
const STATES: [Tone; 5] = [Tone::Sky, Tone::Green, Tone::Purple, Tone::Orange, Tone::Red];
/// Pictures divide bars by whole numbers: of joules, so many parts.
const PARTS: f64 = 1e6;

/// A part of a bar: its words, its colour, and its value on each side.
struct Part {
    words: String,
    tone: Tone,
    of: Vec<Option<Spread>>,
}

impl Part {
    fn new(words: &str, tone: Tone, sides: &[Side], value: impl Fn(&Side) -> Option<Spread>) -> Self {
        Self { words: words.to_owned(), tone, of: sides.iter().map(value).collect() }
    }

    fn is_known(&self) -> bool {
        self.of.iter().any(Option::is_some)
    }
}

/// A picture and its table.
struct Plot<'a> {
    heading: &'a str,
    about: &'a str,
    /// How a value is printed, and its unit.
    number: fn(f64) -> String,
    unit: &'static str,
    /// Whether each bar is a whole of its own, of which the parts are shares.
    is_share: bool,
    parts: Vec<Part>,
}

impl Matrix {
    /// Writes the matrix as text for a terminal of this width in columns.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let text = terminal(&self.page().blocks, width, false);
        format!("{}\n\n{text}", self.title())
    }

    /// Writes the matrix as one page.
    #[must_use]
    pub fn html(&self) -> String {
        web_page(&self.title(), &self.page().blocks, None)
    }

    fn title(&self) -> String {
        let runs: usize = self.sides.iter().map(|side| side.runs.len()).sum();
        format!("{} side by side, {}", plural(self.sides.len() as u64, "side"), plural(runs as u64, "run"))
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        page.paragraph(&format!(
            "{}: values are means of a side's runs, with the least and the greatest.",
            self.title()
        ));
        self.cautions.iter().for_each(|caution| page.warn(&format!("Caution: {}", clean(caution))));
        let plots = [self.elapsed(), self.switches(), self.energy(), self.idle(), self.time()];
        let missing: Vec<&str> = plots.iter().filter(|plot| plot.parts.is_empty()).map(|plot| plot.heading).collect();
        plots.iter().filter(|plot| !plot.parts.is_empty()).for_each(|plot| self.plot(&mut page, plot));
        if !missing.is_empty() {
            page.note(&format!("No run of any side has: {}.", missing.join(", ").to_lowercase()));
        }
        page
    }

    fn parts(&self, parts: Vec<Part>) -> Vec<Part> {
        parts.into_iter().filter(Part::is_known).collect()
    }

    fn elapsed(&self) -> Plot<'_> {
        let elapsed = Part::new("elapsed, ms", Tone::Blue, &self.sides, |side| side.metric("elapsed"));
        Plot {
            heading: "Elapsed time",
            about: "from the begin of the program to its end.",
            number: ms,
            unit: " ms",
            is_share: false,
            parts: self.parts(vec![elapsed]),
        }
    }

    fn switches(&self) -> Plot<'_> {
        let of = |id: &'static str| move |side: &Side| side.of_threads(id, id);
        Plot {
            heading: "Switches of the program",
            about: "sync: its threads left a CPU to wait. preempt: they left it while they could run.",
            number: count,
            unit: "",
            is_share: false,
            parts: self.parts(vec![
                Part::new("sync", Tone::Blue, &self.sides, of("voluntary")),
                Part::new("preempt", Tone::Red, &self.sides, of("involuntary")),
            ]),
        }
    }

    fn energy(&self) -> Plot<'_> {
        let rest = |side: &Side| {
            side.spread(|run| {
                Some(run.values.get("energy.package")? - run.values.get("energy.core").copied().unwrap_or(0.0))
            })
        };
        let core = Part::new("cores, J", Tone::Blue, &self.sides, |side| side.metric("energy.core"));
        let words = if core.is_known() { "rest of the packages, J" } else { "packages, J" };
        Plot {
            heading: "Energy while it ran",
            about: "of the whole machine, not of the program alone.",
            number: joules,
            unit: " J",
            is_share: false,
            parts: self.parts(vec![core, Part::new(words, Tone::Green, &self.sides, rest)]),
        }
    }

    fn idle(&self) -> Plot<'_> {
        let runs = || self.sides.iter().flat_map(|side| &side.runs);
        let names: BTreeSet<&str> = runs().flat_map(|run| run.idle_states.keys().map(String::as_str)).collect();
        let mut parts: Vec<Part> = Vec::new();
        let tone = |at: usize| STATES[at.min(STATES.len() - 1)];
        let states = names.iter().filter(|name| !name.is_empty());
        for (at, name) in states.enumerate() {
            let share = |side: &Side| {
                side.spread(|run| {
                    let all: f64 = run.idle_states.values().sum();
                    (all > 0.0).then(|| run.idle_states.get(*name).copied().unwrap_or(0.0) / all)
                })
            };
            parts.push(Part::new(&format!("{name}, %"), tone(at), &self.sides, share));
        }
        for (at, (name, id)) in PRINTED_STATES.into_iter().enumerate() {
            let share = |side: &Side| side.spread(|run| Some(run.values.get(id)? / run.values.get("idle_clk")?));
            parts.push(Part::new(&format!("{name}, %"), tone(at), &self.sides, share));
        }
        Plot {
            heading: "Idle residency",
            about: "shares of the idle time of all CPUs. The rest is idle time in no such state, or in no recorded one.",
            number: share_of,
            unit: " %",
            is_share: true,
            parts: self.parts(parts),
        }
    }

    fn time(&self) -> Plot<'_> {
        let parts = [
            ("running, ms", Tone::Blue, "running_ns", "cpu_ns"),
            ("ready, ms", Tone::Orange, "ready_ns", "preempted_ns"),
            ("waiting, ms", Tone::Idle, "blocked_ns", "blocked_ns"),
        ];
        let part = |(words, tone, id, metric): (&str, Tone, &'static str, &'static str)| {
            Part::new(words, tone, &self.sides, move |side| side.of_threads(id, metric))
        };
        Plot {
            heading: "Time split of the program's threads",
            about: "the sum over its threads. ready: it could have run, but had no CPU; of printed tables, only after a preemption.",
            number: ms,
            unit: " ms",
            is_share: false,
            parts: self.parts(parts.map(part).into()),
        }
    }

    fn plot(&self, page: &mut Page, plot: &Plot<'_>) {
        page.heading(plot.heading);
        page.paragraph(plot.about);
        page.picture(self.bars(plot));
        let mut columns = vec![Column::text("side", 0), Column::numbers("runs", 0)];
        columns.extend(plot.parts.iter().map(|part| Column::numbers(&part.words, 0)));
        for (at, side) in self.sides.iter().enumerate() {
            let cell = |part: &Part| part.of[at].map_or_else(|| "-".to_owned(), |of| spread(of, plot.number));
            let cells = [clean(&side.name), side.runs.len().to_string()];
            push(&mut columns, cells.into_iter().chain(plot.parts.iter().map(cell)));
        }
        page.grid(columns, 0);
    }

    fn bars(&self, plot: &Plot<'_>) -> Bars {
        let scale = if plot.is_share { PARTS } else { PARTS / self.largest(plot).max(f64::MIN_POSITIVE) };
        let bar = |(at, side): (usize, &Side)| {
            let mean = |part: &Part| part.of[at].map_or(0.0, |of| of.mean.max(0.0));
            let sum: f64 = plot.parts.iter().map(mean).sum();
            let is_known = plot.parts.iter().any(|part| part.of[at].is_some());
            Bar::new(
                clean(&side.name),
                if is_known { format!("{}{}", (plot.number)(sum), plot.unit) } else { "unknown".to_owned() },
                plot.parts.iter().map(|part| (mean(part) * scale) as i64),
                PARTS as i64,
            )
        };
        Bars {
            title: plot.heading.to_owned(),
            legend: plot.parts.iter().map(|part| (part.tone, part.words.clone())).collect(),
            bars: self.sides.iter().enumerate().map(bar).collect(),
        }
    }

    /// The greatest sum of a side.
    fn largest(&self, plot: &Plot<'_>) -> f64 {
        let sum = |at: usize| plot.parts.iter().map(|part| part.of[at].map_or(0.0, |of| of.mean.max(0.0))).sum::<f64>();
        (0..self.sides.len()).map(sum).fold(0.0, f64::max)
    }
}

/// `12.0 (10.0–14.0)`.
fn spread(of: Spread, number: fn(f64) -> String) -> String {
    if of.runs == 1 {
        return number(of.mean);
    }
    format!("{} ({}–{})", number(of.mean), number(of.min), number(of.max))
}

fn ms(ns: f64) -> String {
    format!("{:.1}", ns * 1e-6)
}

fn count(of: f64) -> String {
    model::words::grouped(of.round() as i64)
}

fn joules(of: f64) -> String {
    format!("{of:.2}")
}
