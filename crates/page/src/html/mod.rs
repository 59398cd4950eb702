//! A report as one self-contained HTML page. It is also valid XML, so that any tool can read it.

mod bars;
mod document;
mod escape;
mod flame;
mod instance;
mod matrix;
mod stack;
mod timeline;

use crate::blocks::{Anchor, Block, Linked};
use crate::grid::Column;
use crate::picture::{Picture, Tone};
pub use document::{Document, Inline, STYLE};
pub use escape::{Escaped, escaped};
use model::words::{TIE, time};
use model::{Ns, ThreadKey};
use std::collections::HashSet;
use std::fmt::Write as _;
pub use timeline::{cells, labels, shades};

/// The script of pages with a flame graph.
const SCRIPT: Inline =
    Inline { text: include_str!("flame.js"), sha256: "aFB4vnbft8jL3R1EeLhVlSQ5NTxo0Z8ZCBXzBa0FDzQ=" };

/// Writes the page of a report.
pub fn page(title: &str, blocks: &[Block], timeline: Option<&str>) -> String {
    let has_flame = blocks.iter().any(|b| matches!(b, Block::Picture(Picture::Flame(_))));
    let mut html = format!("<header>\n<h1>{}</h1>\n", escaped(title));
    let headings = blocks.iter().filter(|b| matches!(b, Block::Heading(..))).count();
    let begin = blocks.iter().position(|b| matches!(b, Block::Heading(..))).unwrap_or(blocks.len());
    let places = Places { anchors: anchors(blocks), timeline };
    blocks[..begin].iter().for_each(|b| block(&mut html, b, 0, &places));
    html.push_str("</header>\n");
    if headings > 0 {
        contents(&mut html, blocks);
    }
    html.push_str("<main>\n");
    let mut part = 0;
    let mut list = false;
    for b in &blocks[begin..] {
        let item = matches!(b, Block::Item(_));
        if item != list {
            html.push_str(if item { "<ul>\n" } else { "</ul>\n" });
            list = item;
        }
        if let Block::Heading(words, place) = b {
            part += 1;
            html.push_str(if part > 1 { "</section>\n" } else { "" });
            let id = id_of(part, *place);
            let _ = write!(html, "<section id=\"{id}\" aria-labelledby=\"head-{part}\">\n<h2 id=\"head-{part}\">");
            let _ = writeln!(html, "{}</h2>", escaped(words));
        } else {
            block(&mut html, b, part, &places);
        }
    }
    html.push_str(if list { "</ul>\n" } else { "" });
    html.push_str(if part > 0 { "</section>\n" } else { "" });
    html.push_str("</main>\n");
    Document { title, kind: "report", styles: &[], script: has_flame.then_some(SCRIPT), body: &html }.html()
}

/// Writes links to all sections.
fn contents(html: &mut String, blocks: &[Block]) {
    html.push_str("<nav aria-label=\"Sections\"><ul>\n");
    let heading = |b| if let &Block::Heading(ref words, place) = b { Some((words, place)) } else { None };
    for (i, (words, place)) in blocks.iter().filter_map(heading).enumerate() {
        // The words before the first colon or comma are the name.
        let name = words.split([':', ',']).next().unwrap_or(words);
        let _ = writeln!(html, "<li><a href=\"#{}\">{}</a></li>", id_of(i + 1, place), escaped(name));
    }
    html.push_str("</ul></nav>\n");
}

/// The id of a section.
fn id_of(part: usize, place: Option<Anchor>) -> String {
    place.map_or_else(|| format!("part-{part}"), Anchor::id)
}

impl Anchor {
    /// The id within the page.
    fn id(self) -> String {
        match self {
            Self::Section(name) => format!("section-{name}"),
            Self::Thread(key) => format!("thread-{}", key.0),
            Self::Cpu(cpu) => format!("cpu-{cpu}"),
            Self::Finding(at) => format!("finding-{at}"),
            Self::Evidence(at) => format!("evidence-{at}"),
            Self::When(at) => format!("when-{at}"),
            Self::Moment { thread: ThreadKey(thread), start_ns, .. } => format!("moment-{thread}-{start_ns}"),
        }
    }
}

/// All anchors that this page has.
fn anchors(blocks: &[Block]) -> HashSet<Anchor> {
    let mut all = HashSet::new();
    for block in blocks {
        match block {
            Block::Heading(_, place) => all.extend(*place),
            Block::Entry(_, place, _) => _ = all.insert(*place),
            Block::Grid(columns, _) => all.extend(columns.iter().flat_map(|c| c.places.iter().copied())),
            Block::Picture(Picture::Timeline(timeline)) => all.extend(timeline.ranges.iter().map(|r| r.place)),
            _ => {}
        }
    }
    all
}

/// What a page can link to.
struct Places<'a> {
    /// Its own anchors.
    anchors: HashSet<Anchor>,
    /// The address of the page with the timeline.
    timeline: Option<&'a str>,
}

/// Writes words, as a link if there is the place to which it leads.
fn link(html: &mut String, words: &str, to: Option<Anchor>, places: &Places<'_>) {
    let _ = match (to, places.timeline) {
        (Some(Anchor::Moment { thread: ThreadKey(thread), start_ns, end_ns }), Some(timeline)) => {
            // The address of the viewer: the drawn time, the selected track and the range.
            let room = end_ns.saturating_sub(start_ns).max(1);
            let (from, to) = (start_ns.saturating_sub(room).max(0), end_ns.saturating_add(room));
            let (timeline, words) = (escaped(timeline), escaped(words));
            write!(
                html,
                "<a href=\"{timeline}#t={from}..{to}&amp;sel=thread:{thread}@{start_ns}&amp;range={start_ns}..{end_ns}\">{words}</a>"
            )
        }
        (Some(place), _) if places.anchors.contains(&place) => {
            write!(html, "<a href=\"#{}\">{}</a>", place.id(), escaped(words))
        }
        _ => write!(html, "{}", coded(words)),
    };
}

/// Formats words; those between backticks are code.
fn coded(words: &str) -> String {
    let parts: Vec<&str> = words.split('`').collect();
    // Names may contain any number of backticks.
    if parts.len().is_multiple_of(2) {
        return escaped(words).to_string();
    }
    let part = |(at, words): (usize, &&str)| {
        if at % 2 == 1 { format!("<code>{}</code>", escaped(words)) } else { escaped(words).to_string() }
    };
    parts.iter().enumerate().map(part).collect()
}

fn linked(html: &mut String, words: &Linked, places: &Places<'_>) {
    html.push_str("<p>");
    words.iter().for_each(|(words, to)| link(html, words, *to, places));
    html.push_str("</p>\n");
}

fn block(html: &mut String, block: &Block, part: usize, places: &Places<'_>) {
    let _ = match block {
        // Written by `page`, which counts headings.
        Block::Heading(..) => Ok(()),
        Block::Entry(words, place, tone) => {
            writeln!(html, "<h3 id=\"{}\" class=\"entry {}\">{}</h3>", place.id(), tone.class(), escaped(words))
        }
        Block::Linked(words) => {
            linked(html, words, places);
            Ok(())
        }
        Block::Paragraph(words, _) => writeln!(html, "<p>{}</p>", coded(words)),
        Block::Note(words) => writeln!(html, "<p class=\"note\">{}</p>", escaped(words)),
        Block::Warning(words) => writeln!(html, "<p class=\"warning\"><strong>{}</strong></p>", escaped(words)),
        Block::Item(words) => writeln!(html, "<li>{}</li>", escaped(words)),
        Block::Grid(columns, totals) => {
            grid(html, columns, *totals, part, places);
            Ok(())
        }
        Block::Picture(Picture::Bars(bars)) => {
            bars::write(html, bars);
            Ok(())
        }
        Block::Picture(Picture::Timeline(timeline)) => {
            timeline::write(html, timeline);
            Ok(())
        }
        Block::Picture(Picture::Matrix(matrix)) => {
            matrix::write(html, matrix);
            Ok(())
        }
        Block::Picture(Picture::Stack(stack)) => {
            stack::write(html, stack);
            Ok(())
        }
        Block::Picture(Picture::Instance(instance)) => {
            instance::write(html, instance);
            Ok(())
        }
        Block::Picture(Picture::Flame(flame)) => {
            flame::write(html, flame);
            Ok(())
        }
        Block::Commands(commands) => {
            commands.iter().for_each(|(command, why)| {
                let _ = writeln!(html, "<p><code>{}</code><br/>{}</p>", escaped(command), escaped(why));
            });
            Ok(())
        }
    };
}

/// Longer text, in characters, is wrapped.
const LONG: usize = 36;

/// Writes a table; the first column names the rows.
fn grid(html: &mut String, columns: &[Column], totals: usize, part: usize, places: &Places<'_>) {
    let columns: Vec<&Column> = columns.iter().filter(|c| !c.drawn).collect();
    // A table that is wider than the window can be scrolled by keyboard too.
    let _ = write!(
        html,
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"head-{part}\"><table>\n<thead><tr>"
    );
    let class = |column: &Column| match column.right {
        true => " class=\"n\"",
        false if column.width() > LONG => " class=\"long\"",
        false => "",
    };
    for column in &columns {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(column), escaped(&column.head));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let all = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for row in 0..all {
        let id = columns.first().and_then(|first| first.places.get(row));
        let id = id.map_or_else(String::new, |place| format!(" id=\"{}\"", place.id()));
        html.push_str(if row + totals == all && totals > 0 { "<tr class=\"sum\"" } else { "<tr" });
        let _ = write!(html, "{id}>");
        for (at, column) in columns.iter().enumerate() {
            let tag = if at == 0 { "th" } else { "td" };
            let _ = write!(html, "<{tag}{}{}>", if at == 0 { " scope=\"row\"" } else { "" }, class(column));
            let to = column.links.get(row).copied().flatten();
            link(html, column.cells.get(row).map_or("", String::as_str), to, places);
            let _ = write!(html, "</{tag}>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

impl Tone {
    /// The class in the style sheet: it fills a shape.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Orange => "orange",
            Self::Green => "green",
            Self::Red => "red",
            Self::Purple => "purple",
            Self::Sky => "sky",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }
}

/// Writes the time axis below a picture, from the left. Times in ns.
pub fn axis(html: &mut String, begin_ns: i64, end_ns: i64) {
    html.push_str("<div class=\"axis\" aria-hidden=\"true\">");
    for part in 0..=4 {
        let at = begin_ns.saturating_add(end_ns.saturating_sub(begin_ns) / 4 * part);
        let _ = write!(html, "<span>{}</span>", if at == 0 { format!("0{TIE}s") } else { time(Ns(at)) });
    }
    html.push_str("</div>");
}

/// Writes the legend of the colours: the class of each, and words that are not escaped.
pub fn legend<'a>(html: &mut String, of: impl Iterator<Item = (&'a str, &'a str)>) {
    html.push_str("<ul class=\"legend\">");
    for (class, words) in of {
        let _ = write!(
            html,
            "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\"><rect \
             class=\"{class}\" width=\"14\" height=\"14\"/></svg> {}</li>",
            escaped(words)
        );
    }
    html.push_str("</ul>\n");
}
