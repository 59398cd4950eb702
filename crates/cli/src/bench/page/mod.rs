//! The costs as one self-contained HTML page without a script. It is also valid XML.

mod bars;
mod curve;
mod heat;
mod pictures;
#[cfg(test)]
mod tests;

use super::groups::figures;
use super::{Outcome, about, compared, data, described, sentences, text, words};
use engine::{Cost, Costs};
use page::{Document, Inline, escaped};
use std::fmt::Write as _;

/// The style sheet of costs, after the report's.
const STYLE: Inline = Inline { text: include_str!("page.css"), sha256: "gOHcNWuXU4/rgbhUpwIWkRysowHNtOqX7n5wvOwYD4E=" };

/// The heads of the tables, as [`data::row`] fills them.
const HEADS: [&str; 8] = ["figure", "place", "value", "95 % interval", "next (90 %)", "control", "runs", "disturbed"];
/// Their columns with numbers.
const NUMBERS: [usize; 2] = [2, 6];

/// Writes the page; `other` is a table to compare with, and its name.
pub fn html(of: &Outcome, other: Option<(&Costs, &str)>) -> String {
    let mut body = String::new();
    let mut headings: Vec<(String, String)> = Vec::new();
    if let Some((other, name)) = other {
        headings.push(("compared".to_owned(), "Compared".to_owned()));
        comparison(&mut body, of, other, name);
    }
    for (number, probe) in of.probes().into_iter().enumerate() {
        let id = format!("probe-{number}");
        let _ = writeln!(
            body,
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>",
            escaped(&words::plain(probe))
        );
        section(&mut body, of, probe, &id);
        body.push_str("</section>\n");
        headings.push((id, words::plain(probe)));
    }
    headings.push(("conditions".to_owned(), "Conditions".to_owned()));
    conditions(&mut body, of);
    let links: String =
        headings.iter().map(|(id, name)| format!("<li><a href=\"#{id}\">{}</a></li>\n", escaped(name))).collect();
    let nav = format!("<nav aria-label=\"Sections\"><ul>\n{links}</ul></nav>\n");
    let body = format!("{}{nav}<main>\n{body}</main>\n", header(of));
    let model = of.machine.model_name.as_deref().map_or_else(|| "this machine".to_owned(), model::words::plain);
    let title = format!("What the cores of {model} cost");
    Document { title: &title, kind: "bench", styles: &[STYLE], script: None, body: &body }.html()
}

fn paragraph(html: &mut String, class: &str, words: &str) {
    let _ = writeln!(html, "<p class=\"{class}\">{}</p>", escaped(words));
}

/// What was measured, what must be known before, and the most useful sentences.
fn header(of: &Outcome) -> String {
    let model = of.machine.model_name.as_deref().map_or_else(|| "this machine".to_owned(), model::words::plain);
    let mut html = format!("<header>\n<h1>What the cores of {} cost</h1>\n", escaped(&model));
    paragraph(&mut html, "note", &text::head(of));
    for warning in &of.warnings {
        let _ = writeln!(
            html,
            "<p class=\"warning\"><strong>Note:</strong> {}</p>",
            escaped(&model::words::plain(warning))
        );
    }
    let useful = sentences::useful(&of.costs.figures);
    if !useful.is_empty() {
        html.push_str("<ul class=\"useful\">\n");
        useful.iter().for_each(|sentence| _ = writeln!(html, "<li>{}</li>", escaped(sentence)));
        html.push_str("</ul>\n");
    }
    html.push_str("<details><summary>How to read the values</summary>\n");
    text::LEGEND.iter().for_each(|line| paragraph(&mut html, "note", line));
    paragraph(
        &mut html,
        "note",
        "next value: the interval in which a further run is expected with a probability of 90 %.",
    );
    html.push_str("</details>\n</header>\n");
    html
}

/// A probe: each figure with its pictures and its table, then what must be known about the measurement.
fn section(html: &mut String, of: &Outcome, probe: &str, id: &str) {
    if !about(probe).is_empty() {
        paragraph(html, "about", &format!("Measured: {}.", about(probe)));
    }
    let costs = of.of(probe);
    // The model of a loop is drawn with what was measured of it.
    let is_model = |cost: &&&Cost| cost.figure == "model";
    let has_makespan = costs.iter().any(|cost| cost.figure == "makespan");
    let model: Vec<&Cost> = costs.iter().filter(is_model).copied().collect();
    for (number, figure) in figures(&costs).into_iter().enumerate() {
        let own: Vec<&Cost> = costs.iter().filter(|cost| cost.figure == figure).copied().collect();
        let _ = writeln!(html, "<h3 id=\"{id}-{number}\">{}</h3>", escaped(&words::plain(figure)));
        if !described(probe, figure).is_empty() {
            paragraph(html, "about", described(probe, figure));
        }
        let is_drawn_elsewhere = figure == "model" && has_makespan;
        if !is_drawn_elsewhere {
            let with: &[&Cost] = if figure == "makespan" { &model } else { &[] };
            pictures::pictures(figure, &own, with).iter().for_each(|picture| picture.write(html));
        }
        let open = if own.len() <= 4 { " open=\"open\"" } else { "" };
        let _ = writeln!(
            html,
            "<details{open}><summary>Values: {}</summary>",
            model::words::plural(own.len() as u64, "figure")
        );
        table(html, &format!("{id}-{number}"), &HEADS, &NUMBERS, own.iter().map(|cost| data::row(cost).to_vec()));
        html.push_str("</details>\n");
    }
    let sentences = of.runs.iter().find(|run| run.name == probe).map(text::sentences_of_run).unwrap_or_default();
    for sentence in sentences {
        paragraph(html, "note", &sentence);
    }
}

/// Writes a table; the first column names the rows.
fn table<const N: usize>(
    html: &mut String,
    label: &str,
    heads: &[&str; N],
    numbers: &[usize],
    rows: impl Iterator<Item = Vec<String>>,
) {
    let _ = write!(
        html,
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{label}\"><table>\n<thead><tr>"
    );
    let class = |at: usize| if numbers.contains(&at) { " class=\"n\"" } else { "" };
    for (at, head) in heads.iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(at), escaped(head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let (tag, scope) = if at == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(html, "<{tag}{scope}{}>{}</{tag}>", class(at), escaped(cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

/// The comparison with another table.
fn comparison(html: &mut String, of: &Outcome, other: &Costs, name: &str) {
    let (pairs, only_own, only_other) = compared::both(&of.costs, other);
    let name = model::words::plain(name);
    let _ = writeln!(
        html,
        "<section aria-labelledby=\"compared\">\n<h2 id=\"compared\">Compared with {}</h2>",
        escaped(&name)
    );
    let differ = pairs.iter().filter(|pair| pair.differs).count();
    paragraph(
        html,
        "about",
        &format!(
            "{differ} of {} figures differ: their 95 % intervals do not overlap. {only_own} figures are only here, {only_other} only there.",
            pairs.len()
        ),
    );
    let heads = ["figure", "here", "there", "ratio", "answer"];
    table(html, "compared", &heads, &[3], pairs.iter().map(|pair| compared::cells(pair).to_vec()));
    html.push_str("</section>\n");
}

/// The conditions of the measurement, and what is missing.
fn conditions(html: &mut String, of: &Outcome) {
    html.push_str("<section aria-labelledby=\"conditions\">\n<h2 id=\"conditions\">Conditions</h2>\n");
    let measured = &of.costs.measured;
    let rows = measured.conditions.iter();
    if measured.conditions.is_empty() {
        paragraph(html, "note", "The conditions are not recorded.");
    } else {
        table(
            html,
            "conditions",
            &["condition", "value"],
            &[],
            rows.map(|(name, value)| {
                vec![model::words::plain(name), model::words::short(&model::words::plain(value), 120)]
            }),
        );
    }
    if !measured.left_out.is_empty() {
        html.push_str("<h3>Not measured</h3>\n<ul>\n");
        for sentence in &measured.left_out {
            let _ = writeln!(html, "<li>{}</li>", escaped(&model::words::plain(sentence)));
        }
        html.push_str("</ul>\n");
    }
    html.push_str("</section>\n");
}
