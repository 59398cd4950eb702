//! A report as one page: everything in it, nothing else needed. It is XML too, so that any tool can read it.

mod bars;
mod escape;
mod matrix;
mod stack;
mod timeline;

use crate::grid::Column;
use crate::page::Block;
use crate::picture::{Picture, Tone};
use crate::words::{TIE, time};
use escape::escaped;
use std::fmt::Write as _;

/// How it looks.
const STYLE: &str = include_str!("page.css");
/// The only style that the page may use: the sha256 of [`STYLE`].
const STYLE_HASH: &str = "pRteOg0N7yf+ZYXWYlEQTfG65AEHTTZ5D1ENBvYOCCg=";

/// The page of a report.
pub fn page(title: &str, blocks: &[Block]) -> String {
    let title = escaped(title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; \
         base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta name=\"generator\" content=\"corewise {}\"/>\n\
         <title>{title} – corewise report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{HATCH}\n\
         <header>\n<h1>{title}</h1>\n",
        env!("CARGO_PKG_VERSION"),
    );
    let headings = blocks.iter().filter(|b| matches!(b, Block::Heading(_))).count();
    let begin = blocks.iter().position(|b| matches!(b, Block::Heading(_))).unwrap_or(blocks.len());
    blocks[..begin].iter().for_each(|b| block(&mut html, b, 0));
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
        if let Block::Heading(words) = b {
            part += 1;
            html.push_str(if part > 1 { "</section>\n" } else { "" });
            let _ =
                write!(html, "<section id=\"part-{part}\" aria-labelledby=\"head-{part}\">\n<h2 id=\"head-{part}\">");
            let _ = writeln!(html, "{}</h2>", escaped(words));
        } else {
            block(&mut html, b, part);
        }
    }
    html.push_str(if list { "</ul>\n" } else { "" });
    html.push_str(if part > 0 { "</section>\n" } else { "" });
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

/// What unknown time is filled with.
const HATCH: &str = "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" xmlns=\"http://www.w3.org/2000/svg\">\
<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect class=\"hatch-ground\" width=\"5\" height=\"5\"/><rect class=\"hatch-line\" width=\"2\" height=\"5\"/></pattern></defs></svg>";

/// Links to all parts.
fn contents(html: &mut String, blocks: &[Block]) {
    html.push_str("<nav aria-label=\"Parts\"><ul>\n");
    let headings = blocks.iter().filter_map(|b| if let Block::Heading(words) = b { Some(words) } else { None });
    for (i, words) in headings.enumerate() {
        // The first words say what it is.
        let name = words.split([':', ',']).next().unwrap_or(words);
        let _ = writeln!(html, "<li><a href=\"#part-{}\">{}</a></li>", i + 1, escaped(name));
    }
    html.push_str("</ul></nav>\n");
}

fn block(html: &mut String, block: &Block, part: usize) {
    let _ = match block {
        // Written by who counts them.
        Block::Heading(_) => Ok(()),
        Block::Words(words, _) => writeln!(html, "<p>{}</p>", escaped(words)),
        Block::Line(words) => writeln!(html, "<p class=\"note\">{}</p>", escaped(words)),
        Block::Warning(words) => writeln!(html, "<p class=\"warning\"><strong>{}</strong></p>", escaped(words)),
        Block::Item(words) => writeln!(html, "<li>{}</li>", escaped(words)),
        Block::Grid(columns, totals) => {
            grid(html, columns, *totals, part);
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
        Block::Commands(commands) => {
            commands.iter().for_each(|(command, why)| {
                let _ = writeln!(html, "<p><code>{}</code><br/>{}</p>", escaped(command), escaped(why));
            });
            Ok(())
        }
    };
}

/// Longer words than this, in characters, are broken into lines.
const LONG: usize = 36;

/// A table; the first column names the rows.
fn grid(html: &mut String, columns: &[Column], totals: usize, part: usize) {
    let columns: Vec<&Column> = columns.iter().filter(|c| !c.drawn).collect();
    // What is wider than the window is moved by keyboard too.
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
        html.push_str(if row + totals == all && totals > 0 { "<tr class=\"sum\">" } else { "<tr>" });
        for (at, column) in columns.iter().enumerate() {
            let cell = escaped(column.cells.get(row).map_or("", String::as_str));
            let _ = match at {
                0 => write!(html, "<th scope=\"row\"{}>{cell}</th>", class(column)),
                _ => write!(html, "<td{}>{cell}</td>", class(column)),
            };
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

impl Tone {
    /// Its class in the style.
    fn class(self) -> &'static str {
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

/// Times below a picture, from the left.
fn axis(html: &mut String, begin_ns: i64, end_ns: i64) {
    html.push_str("<div class=\"axis\" aria-hidden=\"true\">");
    for part in 0..=4 {
        let at = begin_ns.saturating_add(end_ns.saturating_sub(begin_ns) / 4 * part);
        let _ = write!(html, "<span>{}</span>", if at == 0 { format!("0{TIE}s") } else { time(at) });
    }
    html.push_str("</div>");
}

/// What the colours stand for.
fn legend<'a>(html: &mut String, of: impl Iterator<Item = (&'a str, &'a str)>) {
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
