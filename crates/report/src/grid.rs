//! Columns of a table, as words.

use crate::page::Place;

/// A column of a table.
pub struct Column {
    /// What it holds, with the unit.
    pub head: String,
    /// Numbers, which stand to the right.
    pub right: bool,
    /// 0: always shown. The higher, the sooner left out where there is no room.
    pub rank: u8,
    /// Drawn with characters, for where there are no pictures.
    pub drawn: bool,
    /// From the first row to the last.
    pub cells: Vec<String>,
    /// What each of the first rows is, where words can lead to it; of the first column only.
    pub places: Vec<Place>,
    /// Where each of the first cells leads to.
    pub links: Vec<Option<Place>>,
}

/// Adds a row: a cell to each column.
pub fn push(columns: &mut [Column], cells: impl IntoIterator<Item = String>) {
    columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
}

/// The rows of a table of these.
pub fn rows(columns: &[Column]) -> usize {
    columns.iter().map(|c| c.cells.len()).max().unwrap_or(0)
}

impl Column {
    /// Words, to the left.
    pub fn words(head: &str, rank: u8) -> Self {
        Self {
            head: head.to_owned(),
            right: false,
            rank,
            drawn: false,
            cells: Vec::new(),
            places: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Numbers, to the right.
    pub fn numbers(head: &str, rank: u8) -> Self {
        Self { right: true, ..Self::words(head, rank) }
    }

    /// Bars drawn with characters.
    pub fn drawn(head: &str, rank: u8) -> Self {
        Self { drawn: true, ..Self::words(head, rank) }
    }

    pub fn push(&mut self, cell: impl Into<String>) {
        self.cells.push(cell.into());
    }

    /// A cell that leads somewhere; those before it do so too.
    pub fn leads(&mut self, cell: impl Into<String>, to: Option<Place>) {
        self.cells.push(cell.into());
        self.links.push(to);
    }

    /// Characters of the widest cell.
    pub fn width(&self) -> usize {
        let widest = self.cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        widest.max(self.head.chars().count())
    }

    /// A cell, as wide as all.
    pub fn padded(&self, cell: &str) -> String {
        let room = " ".repeat(self.width().saturating_sub(cell.chars().count()));
        if self.right { format!("  {room}{cell}") } else { format!("  {cell}{room}") }
    }
}
