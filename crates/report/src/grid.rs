//! Columns of a text table.

use crate::page::Anchor;

/// A column of a table.
pub struct Column {
    /// The heading, with the unit.
    pub head: String,
    /// Whether cells are right-aligned, as numbers are.
    pub right: bool,
    /// 0: always shown. Columns with higher ranks are left out first if there is no room.
    pub rank: u8,
    /// Whether it is drawn with characters; pages have pictures instead.
    pub drawn: bool,
    /// The cells, from the first row to the last.
    pub cells: Vec<String>,
    /// The anchors of the first rows; only in the first column.
    pub places: Vec<Anchor>,
    /// The link targets of the first cells.
    pub links: Vec<Option<Anchor>>,
}

/// Adds a row: one cell to each column.
pub fn push(columns: &mut [Column], cells: impl IntoIterator<Item = String>) {
    columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
}

/// The number of rows of a table with these columns.
pub fn rows(columns: &[Column]) -> usize {
    columns.iter().map(|c| c.cells.len()).max().unwrap_or(0)
}

impl Column {
    /// A left-aligned column.
    pub fn text(head: &str, rank: u8) -> Self {
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

    /// A right-aligned column.
    pub fn numbers(head: &str, rank: u8) -> Self {
        Self { right: true, ..Self::text(head, rank) }
    }

    /// A column of bars drawn with characters.
    pub fn drawn(head: &str, rank: u8) -> Self {
        Self { drawn: true, ..Self::text(head, rank) }
    }

    /// Adds a cell.
    pub fn push(&mut self, cell: impl Into<String>) {
        self.cells.push(cell.into());
    }

    /// Adds a linked cell; all cells before it must have been added in the same way.
    pub fn linked_cell(&mut self, cell: impl Into<String>, to: Option<Anchor>) {
        self.cells.push(cell.into());
        self.links.push(to);
    }

    /// The width of the widest cell, in characters.
    pub fn width(&self) -> usize {
        let widest = self.cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        widest.max(self.head.chars().count())
    }

    /// Pads a cell to the column's width.
    pub fn padded(&self, cell: &str) -> String {
        let room = " ".repeat(self.width().saturating_sub(cell.chars().count()));
        if self.right { format!("  {room}{cell}") } else { format!("  {cell}{room}") }
    }
}
