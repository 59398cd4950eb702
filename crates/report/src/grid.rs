//! Aligned columns that fit a terminal.

use crate::words::TIE;

/// A report being written.
pub struct Page {
    /// What is written.
    pub text: String,
    /// Columns of the terminal.
    pub width: usize,
    color: bool,
}

impl Page {
    pub fn new(width: usize, color: bool) -> Self {
        Self { text: String::new(), width: width.max(60), color }
    }

    /// A line of words.
    pub fn line(&mut self, words: &str) {
        self.text.extend(words.trim_end().chars().map(|c| if c == TIE { ' ' } else { c }));
        self.text.push('\n');
    }

    /// A line that should be seen.
    pub fn warn(&mut self, words: &str) {
        let words = if self.color { format!("\u{1b}[33m{words}\u{1b}[0m") } else { words.to_owned() };
        self.line(&words);
    }

    /// A heading, after an empty line.
    pub fn heading(&mut self, words: &str) {
        self.text.push('\n');
        let words = if self.color { format!("\u{1b}[1m{words}\u{1b}[0m") } else { words.to_owned() };
        self.line(&words);
    }

    /// Words, broken at spaces where the line is full; lines after the first are indented.
    pub fn wrapped(&mut self, words: &str, indent: usize) {
        let mut line = String::new();
        for word in words.split(' ') {
            if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > self.width {
                self.line(&line);
                line = " ".repeat(indent);
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    /// A table. Columns that do not fit are left out, those with the highest number first.
    pub fn grid(&mut self, columns: &[Column], totals: usize) {
        let mut shown: Vec<&Column> = columns.iter().collect();
        while shown.iter().map(|c| c.width() + 2).sum::<usize>() > self.width {
            let least = shown.iter().map(|c| c.rank).max().unwrap_or(0);
            let Some(at) = shown.iter().rposition(|c| c.rank == least && least > 0) else { break };
            shown.remove(at);
        }
        let rows = shown.iter().map(|c| c.cells.len()).max().unwrap_or(0);
        let dim = self.color;
        let head: String = shown.iter().map(|c| c.padded(&c.head)).collect();
        self.line(&if dim { format!("\u{1b}[2m{}\u{1b}[0m", head.trim_end()) } else { head });
        for row in 0..rows {
            if totals > 0 && row + totals == rows {
                let rule: String = shown.iter().map(|c| format!("  {}", "-".repeat(c.width()))).collect();
                self.line(&rule);
            }
            let cell = |c: &&Column| c.padded(c.cells.get(row).map_or("", String::as_str));
            let line: String = shown.iter().map(cell).collect();
            self.line(&line);
        }
    }
}

/// A column of a table.
pub struct Column {
    head: String,
    right: bool,
    /// 0: always shown. The higher, the sooner left out.
    rank: u8,
    cells: Vec<String>,
}

impl Column {
    /// Words, to the left.
    pub fn words(head: &str, rank: u8) -> Self {
        Self { head: head.to_owned(), right: false, rank, cells: Vec::new() }
    }

    /// Numbers, to the right.
    pub fn numbers(head: &str, rank: u8) -> Self {
        Self { head: head.to_owned(), right: true, rank, cells: Vec::new() }
    }

    pub fn push(&mut self, cell: impl Into<String>) {
        self.cells.push(cell.into());
    }

    fn width(&self) -> usize {
        let widest = self.cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        widest.max(self.head.chars().count())
    }

    fn padded(&self, cell: &str) -> String {
        let room = " ".repeat(self.width().saturating_sub(cell.chars().count()));
        if self.right { format!("  {room}{cell}") } else { format!("  {cell}{room}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Column; 3] {
        let (mut a, mut b, mut c) =
            (Column::words("name", 0), Column::numbers("running ms", 0), Column::numbers("note of no weight", 3));
        for (name, ms) in [("Render", "1.5"), ("G", "12.25")] {
            a.push(name);
            b.push(ms);
            c.push("x".repeat(40));
        }
        [a, b, c]
    }

    #[test]
    fn columns_are_aligned_and_those_of_least_weight_give_way() {
        let mut page = Page::new(60, false);
        page.grid(&columns(), 1);
        assert_eq!(
            page.text,
            "  name    running ms\n  Render         1.5\n  ------  ----------\n  G            12.25\n"
        );
        let mut wide = Page::new(100, false);
        wide.grid(&columns(), 0);
        assert!(wide.text.contains("xxxx"));
    }

    #[test]
    fn words_are_wrapped_at_spaces() {
        let mut page = Page::new(60, false);
        page.wrapped(&"word ".repeat(20), 2);
        assert!(page.text.lines().all(|l| l.len() <= 60), "{}", page.text);
        assert!(page.text.lines().nth(1).unwrap().starts_with("  word"));
    }

    #[test]
    fn colours_only_where_asked_for() {
        let write = |color| {
            let mut page = Page::new(80, color);
            page.heading("Threads");
            page.warn("careful");
            page.grid(&columns(), 0);
            page.text
        };
        assert!(!write(false).contains('\u{1b}'));
        assert!(write(true).contains('\u{1b}'));
    }
}
