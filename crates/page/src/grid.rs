//! Columns of a text table.

use crate::blocks::Anchor;

/// A column of a table.
pub struct Column {
    /// The heading, with the unit.
    pub head: String,
    /// Whether cells are right-aligned, as numbers are.
    pub right: bool,
    /// 0: always shown. Columns with higher ranks are left out first if there is no room.
    pub rank: u8,
    /// The width to which it may be narrowed before any column is left out: the begin of its cells is cut, as of paths, whose end says
    /// which file it is. `None`: it has its full width, or is left out.
    pub narrowest: Option<usize>,
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
            narrowest: None,
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

    /// A left-aligned column of paths, which is narrowed where there is no room.
    pub fn paths(head: &str, rank: u8) -> Self {
        /// As many characters as most names of libraries have.
        const NAME: usize = 20;
        Self { narrowest: Some(NAME), ..Self::text(head, rank) }
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

    /// Pads a cell to a width of the column, or cuts its begin.
    pub fn padded(&self, cell: &str, width: usize) -> String {
        let chars = cell.chars().count();
        if chars > width {
            let end: String = cell.chars().skip(chars + 1 - width.max(1)).collect();
            return format!("  ~{end}");
        }
        let room = " ".repeat(width - chars);
        if self.right { format!("  {room}{cell}") } else { format!("  {cell}{room}") }
    }
}
