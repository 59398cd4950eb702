//! Blocks as Markdown of GitHub's dialect, for a pull request, a job summary or a wiki.

use crate::blocks::Block;
use crate::grid::Column;
use model::words::TIE;
use std::fmt::Write as _;

/// Formats blocks below a title. Texts are shown as they are: those of a trace cannot format, link, or mention anyone. Pictures are left out.
#[must_use]
pub fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {}\n\n", escaped(title));
    let mut after_item = false;
    for block in blocks {
        let is_item = matches!(block, Block::Item(_));
        if after_item && !is_item {
            out.push('\n');
        }
        after_item = is_item;
        let _ = match block {
            Block::Heading(words, _) => write!(out, "## {}\n\n", escaped(words)),
            Block::Entry(words, ..) => write!(out, "### {}\n\n", escaped(words)),
            Block::Paragraph(words, _) | Block::Note(words) => write!(out, "{}\n\n", escaped(words)),
            Block::Linked(words) => {
                write!(out, "{}\n\n", escaped(&words.iter().map(|(words, _)| words.as_str()).collect::<String>()))
            }
            Block::Warning(words) => write!(out, "> **{}**\n\n", escaped(words)),
            Block::Item(words) => writeln!(out, "- {}", escaped(words)),
            Block::Grid(columns, _) => writeln!(out, "{}", table(columns)),
            Block::Commands(commands) => commands
                .iter()
                .try_for_each(|(command, why)| write!(out, "- {}: {}\n\n", escaped(command), escaped(why))),
            Block::Picture(_) => Ok(()),
        };
    }
    format!("{}\n", out.trim_end()).replace(TIE, " ")
}

/// Formats a table.
#[must_use]
pub fn table(columns: &[Column]) -> String {
    let columns: Vec<&Column> = columns.iter().filter(|column| !column.drawn).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(columns.iter().map(|column| without_signs(&column.head)).collect());
    out += &line(columns.iter().map(|column| if column.right { "---:" } else { "---" }.to_owned()).collect());
    for row in 0..columns.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
        out += &line(
            columns.iter().map(|column| without_signs(column.cells.get(row).map_or("", String::as_str))).collect(),
        );
    }
    out
}

/// Escapes text so that GitHub shows it as it is: no formatting, table cell, link, mention or reference.
///
/// ```
/// use page::escaped_markdown as escaped;
///
/// assert_eq!(escaped("<b>*x*</b>|`y`"), "&lt;b&gt;\\*x\\*&lt;/b&gt;\\|\\`y\\`");
/// assert_eq!(escaped("@a #1 https://x www.x"), "@\u{2060}a #\u{2060}1 https:\u{2060}//x www.\u{2060}x");
/// assert_eq!(escaped("- item\n"), "\\- item?");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    // The begin of a list, or a line under a heading.
    let begin = if text.starts_with(['-', '+', '=']) { "\\" } else { "" };
    format!("{begin}{}", without_signs(text))
}

/// Escapes text within a line.
fn without_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_control() => out.push('?'),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => out.extend(['\\', c]),
            // Mentions, issues and addresses: a word joiner separates the sign from what follows.
            '@' | '#' => out.extend([c, '\u{2060}']),
            ':' if chars.peek() == Some(&'/') => out.extend([c, '\u{2060}']),
            '.' if out.to_ascii_lowercase().ends_with("www") => out.extend([c, '\u{2060}']),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Page;

    #[test]
    fn blocks_are_headings_lists_and_tables() {
        let mut page = Page::default();
        page.heading("Energy");
        let mut columns = vec![Column::text("domain", 0), Column::numbers("J", 0), Column::drawn("bar", 0)];
        crate::push(&mut columns, ["package|0", "1.5", "###"].map(str::to_owned));
        page.grid(columns, 0);
        page.warn("careful");
        page.item("one");
        page.item("two");
        page.paragraph("end");
        let expected = "# A run\n\n## Energy\n\n| domain | J |\n| --- | ---: |\n| package\\|0 | 1.5 |\n\n> **careful**\n\n- one\n- two\n\nend\n";
        assert_eq!(markdown("A run", &page.blocks), expected);
    }
}
