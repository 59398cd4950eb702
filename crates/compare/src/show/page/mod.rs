//! A comparison as one self-contained HTML page without a script. It is also valid XML.

mod causes;
mod dots;
mod frames;
mod lists;
mod metrics;
mod scale;

use super::Lanes;
use super::select::{Sorted, runs};
use super::text::upper;
use super::words::{Sense, change_words, clean, method, p_value, short, title, value_or_dash};
use crate::outcome::{Comparison, Side};
use model::words::{percent_of, plural};
use page::{Document, Inline, axis, cells, escaped, labels, shades};
use std::fmt::Write as _;

/// The style sheet of comparisons, after the report's.
const STYLE: Inline = Inline { text: include_str!("page.css"), sha256: "cV/GblIVOb9v6EGzyt6qE9cuGy7YT8SdGUlaRegmqao=" };

/// The longest name in characters.
const NAME: usize = 80;

/// Writes a comparison as one page: no network, no script. `timelines` are those of the median runs of A and B.
#[must_use]
pub fn html(of: &Comparison, timelines: Option<&[Lanes; 2]>) -> String {
    let mut page = Page::default();
    dots::write(&mut page, of);
    frames::write(&mut page, of);
    causes::write(&mut page, of);
    metrics::write(&mut page, of);
    lists::roles(&mut page, of);
    if let Some(both) = timelines {
        timeline(&mut page, both);
    }
    lists::conditions(&mut page, of);
    lists::rest(&mut page, of);
    let answer = clean(&of.answer);
    let body = format!("{}{}<main>\n{}</main>\n", header(of, &answer), page.contents(), page.body);
    Document { title: &short(&answer, 120), kind: "comparison", styles: &[STYLE], script: None, body: &body }.html()
}

/// The sections as they are written.
#[derive(Default)]
struct Page {
    /// The sections as XML.
    body: String,
    /// Their ids and headings.
    headings: Vec<(&'static str, String)>,
}

impl Page {
    /// Begins a section; [`Self::end`] ends it.
    fn section(&mut self, id: &'static str, heading: &str) {
        let words = escaped(heading);
        let _ = writeln!(self.body, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{words}</h2>");
        // The words before the first colon or comma are the name.
        let name = heading.split([':', ',']).next().unwrap_or(heading);
        self.headings.push((id, name.to_owned()));
    }

    fn end(&mut self) {
        self.body.push_str("</section>\n");
    }

    fn paragraph(&mut self, words: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(words));
    }

    fn note(&mut self, words: &str) {
        let _ = writeln!(self.body, "<p class=\"note\">{}</p>", escaped(words));
    }

    /// Writes a table; the first column names the rows, and those of `numbers` are right-aligned.
    fn table(&mut self, id: &str, heads: &[&str], numbers: &[usize], rows: impl Iterator<Item = Vec<String>>) {
        let _ = write!(
            self.body,
            "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{id}\"><table>\n<thead><tr>"
        );
        let class = |at: usize, words: &str| match numbers.contains(&at) {
            true => " class=\"n\"",
            false if words.chars().count() > 36 => " class=\"long\"",
            false => "",
        };
        for (at, head) in heads.iter().enumerate() {
            let _ = write!(self.body, "<th scope=\"col\"{}>{}</th>", class(at, ""), escaped(head));
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                let (tag, scope) = if at == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
                let _ = write!(self.body, "<{tag}{scope}{}>{}</{tag}>", class(at, cell), escaped(cell));
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// The links to all sections.
    fn contents(&self) -> String {
        let link = |(id, words): &(&str, String)| format!("<li><a href=\"#{id}\">{}</a></li>\n", escaped(words));
        let links: String = self.headings.iter().map(link).collect();
        format!("<nav aria-label=\"Sections\"><ul>\n{links}</ul></nav>\n")
    }
}

/// The answer, what must be known before the numbers, and the key facts.
fn header(of: &Comparison, answer: &str) -> String {
    let sense = Sense::of(&of.objective);
    let mut html = format!(
        "<header class=\"answer {0}\">\n<p class=\"verdict\"><span class=\"sign\" aria-hidden=\"true\">{1}</span> {0}</p>\n<h1>{2}</h1>\n",
        sense.word(),
        sense.sign(),
        escaped(answer)
    );
    for caution in &of.cautions {
        let _ = writeln!(html, "<p class=\"warning\"><strong>Caution:</strong> {}</p>", escaped(&clean(caution)));
    }
    html.push_str("<dl class=\"facts\">\n");
    let outcome = &of.objective;
    let unit = outcome.metric.unit;
    let [a, b] = outcome.middle.map(|middle| value_or_dash(unit, middle));
    let sorted = Sorted::of(&of.metrics);
    let (found, how) = outcome.effect.map_or_else(Default::default, |effect| {
        let (found, test) = method(effect.method);
        let how: Vec<String> = test.map(str::to_owned).into_iter().chain(effect.p.map(p_value)).collect();
        (found.to_owned(), how.join(", "))
    });
    let facts = [
        (upper(&title(&outcome.metric)), format!("A {a}, B {b}"), change_words(outcome)),
        ("Runs".to_owned(), runs(of), if of.paired { "paired" } else { "not paired" }.to_owned()),
        ("Margin".to_owned(), percent_of(of.margin), "a smaller difference counts as none".to_owned()),
        ("Method".to_owned(), found, how),
        (
            "Metrics".to_owned(),
            format!("{} of {} changed", sorted.changed.len(), of.metrics.len()),
            format!("{} same, {} unknown", sorted.same.len(), sorted.unknown.len()),
        ),
    ];
    for (name, value, note) in facts.iter().filter(|(_, value, _)| !value.is_empty()) {
        let (name, value, note) = (escaped(name), escaped(value), escaped(note));
        let _ = writeln!(html, "<div><dt>{name}</dt><dd>{value} <small>{note}</small></dd></div>");
    }
    html.push_str("</dl>\n<ul class=\"sides\">\n");
    for (side, key) in of.sides.iter().zip(["a", "b"]) {
        let runs = plural(side.runs.len() as u64, "run");
        let _ = writeln!(
            html,
            "<li>{} <strong>{}</strong> {} <span class=\"note\">{runs}</span></li>",
            mark(key),
            key.to_uppercase(),
            escaped(&own_name(side, key)),
        );
    }
    html.push_str("</ul>\n</header>\n");
    html
}

/// The name of a side; empty if it is only A or B.
fn own_name(side: &Side, key: &str) -> String {
    if side.name.eq_ignore_ascii_case(key) { String::new() } else { short(&side.name, NAME) }
}

/// The mark of a side: a ring for A, a filled diamond for B.
fn mark(side: &str) -> String {
    format!(
        "<svg class=\"mark\" width=\"14\" height=\"14\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\">{}</svg>",
        shape(side, "7", 7.0)
    )
}

/// The shape of a side's values around a place.
fn shape(side: &str, x: &str, y: f64) -> String {
    match side {
        "a" => format!("<circle class=\"dot a\" cx=\"{x}\" cy=\"{y:.1}\" r=\"4.5\"/>"),
        _ => format!(
            "<svg class=\"free\" x=\"{x}\" y=\"{y:.1}\" width=\"1\" height=\"1\" xmlns=\"http://www.w3.org/2000/svg\"><path class=\"dot b\" d=\"M0-6L6 0L0 6L-6 0z\"/></svg>"
        ),
    }
}

/// The CPUs or roles of both median runs over time, on one scale.
fn timeline(page: &mut Page, both: &[Lanes; 2]) {
    if both.iter().any(|of| of.lanes.is_empty() || of.span_ns <= 0) {
        return;
    }
    page.section("timelines", "Timelines: the median runs, from their begin on one scale");
    let scale = both[0].span_ns.max(both[1].span_ns);
    let html = &mut page.body;
    html.push_str("<figure>\n<figcaption>How busy over time</figcaption>\n");
    shades(html);
    html.push_str("<div class=\"timeline\">");
    for (of, key) in both.iter().zip(["a", "b"]) {
        let _ = writeln!(
            html,
            "<p class=\"lead\">{} <strong>{}</strong> {}</p>",
            mark(key),
            key.to_uppercase(),
            escaped(&short(&of.title, NAME))
        );
        labels(html, &of.lanes);
        cells(html, of, scale, "Both sides have the same scale of time.");
    }
    axis(html, 0, scale);
    html.push_str("</div>\n</figure>\n");
    page.end();
}

#[cfg(test)]
mod tests;
