//! A report as text for a terminal.

use crate::blocks::Block;
use crate::grid::{Column, rows};
use crate::wrapped;
use model::words::TIE;

/// Formats a report for a terminal with this number of columns.
pub fn text(blocks: &[Block], width: usize, color: bool) -> String {
    let mut terminal = Terminal { text: String::new(), width: width.max(60), color };
    blocks.iter().for_each(|block| terminal.block(block));
    terminal.text
}

/// The indentation of text below an entry.
const ENTRY: usize = 5;

struct Terminal {
    text: String,
    width: usize,
    color: bool,
}

impl Terminal {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(words, _) => {
                self.text.push('\n');
                self.line(&self.shown(words, "1"));
            }
            Block::Paragraph(words, indent) => self.wrapped(words, 0, *indent),
            Block::Entry(words, ..) => self.wrapped(words, 2, ENTRY),
            Block::Linked(words) => {
                self.wrapped(&words.iter().map(|(words, _)| words.as_str()).collect::<String>(), ENTRY, ENTRY + 2);
            }
            Block::Note(words) => self.wrapped(words, 2, 2),
            Block::Warning(words) => self.warning(words),
            Block::Item(words) => self.wrapped(&format!("- {words}"), 0, 2),
            Block::Grid(columns, totals) => self.grid(columns, *totals),
            Block::Picture(_) => {}
            Block::Commands(commands) => self.commands(commands),
        }
    }

    fn shown(&self, words: &str, code: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{words}\u{1b}[0m") } else { words.to_owned() }
    }

    /// Writes a warning, each line of it in its colour.
    fn warning(&mut self, words: &str) {
        let begin = self.text.len();
        self.wrapped(words, 0, 2);
        let written = self.text.split_off(begin);
        written.lines().for_each(|line| self.line(&self.shown(line, "33")));
    }

    fn line(&mut self, words: &str) {
        self.text.extend(words.trim_end().chars().map(|c| if c == TIE { ' ' } else { c }));
        self.text.push('\n');
    }

    /// Writes text, wrapped at spaces, with the indentation of the first and of the other lines.
    fn wrapped(&mut self, words: &str, first: usize, indent: usize) {
        wrapped(words, self.width, &" ".repeat(first), &" ".repeat(indent)).iter().for_each(|line| self.line(line));
    }

    /// Writes a table.
    fn grid(&mut self, columns: &[Column], totals: usize) {
        let shown = self.fitting(columns);
        let rows = rows(columns);
        let head: String = shown.iter().map(|(c, width)| c.padded(&c.head, *width)).collect();
        self.line(&self.shown(head.trim_end(), "2"));
        for row in 0..rows {
            if totals > 0 && row + totals == rows {
                let rule: String = shown.iter().map(|(_, width)| format!("  {}", "-".repeat(*width))).collect();
                self.line(&rule);
            }
            let cell = |(c, width): &(&Column, usize)| c.padded(c.cells.get(row).map_or("", String::as_str), *width);
            let line: String = shown.iter().map(cell).collect();
            self.line(&line);
        }
    }

    /// Returns the columns that fit, with their widths. Those that may be narrowed are; then columns are left out, highest rank first.
    fn fitting<'c>(&self, columns: &'c [Column]) -> Vec<(&'c Column, usize)> {
        let mut shown: Vec<&Column> = columns.iter().collect();
        loop {
            let mut over = shown.iter().map(|c| c.width() + 2).sum::<usize>().saturating_sub(self.width);
            let narrowed = shown.iter().map(|column| {
                let full = column.width();
                let least =
                    column.narrowest.map_or(full, |least| least.clamp(column.head.chars().count(), full.max(1)));
                let less = over.min(full.saturating_sub(least));
                over -= less;
                (*column, full - less)
            });
            let narrowed: Vec<(&Column, usize)> = narrowed.collect();
            let rank = shown.iter().map(|c| c.rank).max().unwrap_or(0);
            match shown.iter().rposition(|c| c.rank == rank && rank > 0) {
                Some(at) if over > 0 => drop(shown.remove(at)),
                _ => return narrowed,
            }
        }
    }

    fn commands(&mut self, commands: &[(String, &str)]) {
        let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (command, why) in commands {
            let line = format!("  {command:width$}  # {why}");
            self.line(&if line.chars().count() > self.width { format!("  {command}") } else { line });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Column; 3] {
        let (mut a, mut b, mut c) =
            (Column::text("name", 0), Column::numbers("running ms", 0), Column::numbers("note of no weight", 3));
        for (name, ms) in [("Render", "1.5"), ("G", "12.25")] {
            a.push(name);
            b.push(ms);
            c.push("x".repeat(40));
        }
        [a, b, c]
    }

    #[test]
    fn columns_are_aligned_and_those_of_highest_rank_are_left_out() {
        let grid = |totals, width| text(&[Block::Grid(columns().into(), totals)], width, false);
        assert_eq!(
            grid(1, 60),
            "  name    running ms\n  Render         1.5\n  ------  ----------\n  G            12.25\n"
        );
        assert!(grid(0, 100).contains("xxxx"));
    }

    #[test]
    fn paths_are_narrowed_before_columns_are_left_out() {
        let mut paths = Column::paths("file", 1);
        ["/usr/lib/x86_64-linux-gnu/a/long/path/to/libc.so.6", ""].into_iter().for_each(|path| paths.push(path));
        let [name, ms, note] = columns();
        let shown = |columns: Vec<Column>| text(&[Block::Grid(columns, 0)], 60, false);
        let wide = "  name    running ms  file\n  Render         1.5  ~64-linux-gnu/a/long/path/to/libc.so.6\n  G            12.25\n";
        assert_eq!(shown(vec![name, ms, note, paths]), wide);
        let mut paths = Column::paths("file", 1);
        paths.push("/bin/x");
        let [name, ms, _] = columns();
        assert!(shown(vec![name, ms, paths]).contains("  1.5  /bin/x\n"));
    }

    #[test]
    fn words_are_wrapped_at_spaces() {
        let text = text(&[Block::Paragraph("word ".repeat(20), 2)], 60, false);
        assert!(text.lines().all(|l| l.len() <= 60), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("  word"));
    }

    #[test]
    fn colours_only_on_request() {
        let write = |color| {
            let blocks = [
                Block::Heading("Threads".to_owned(), None),
                Block::Warning("careful".to_owned()),
                Block::Grid(columns().into(), 0),
            ];
            text(&blocks, 80, color)
        };
        assert!(!write(false).contains('\u{1b}'));
        assert!(write(true).contains('\u{1b}'));
    }
}
