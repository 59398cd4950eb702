//! A report before it is text or a page: what it says, in order. Each part says it once, for both.

use crate::grid::Column;
use crate::picture::Picture;

/// One thing that a report says.
pub enum Block {
    /// A part begins.
    Heading(String),
    /// Sentences; on a terminal, lines after the first are indented by so much.
    Words(String, usize),
    /// A line that belongs to the table above it.
    Line(String),
    /// A line that should be seen.
    Warning(String),
    /// One of a list.
    Item(String),
    /// A table; its last rows, so many, are sums.
    Grid(Vec<Column>, usize),
    /// Only pages show it: the table that follows has its numbers.
    Picture(Picture),
    /// Commands, and what each shows.
    Commands(Vec<(String, &'static str)>),
}

/// A report being made.
#[derive(Default)]
pub struct Page {
    /// What it says.
    pub blocks: Vec<Block>,
}

impl Page {
    /// A line of words.
    pub fn line(&mut self, words: &str) {
        self.blocks.push(Block::Line(words.to_owned()));
    }

    /// A line that should be seen.
    pub fn warn(&mut self, words: &str) {
        self.blocks.push(Block::Warning(words.to_owned()));
    }

    /// A part begins.
    pub fn heading(&mut self, words: &str) {
        self.blocks.push(Block::Heading(words.to_owned()));
    }

    /// Sentences.
    pub fn words(&mut self, words: &str) {
        self.blocks.push(Block::Words(words.to_owned(), 2));
    }

    /// One of a list.
    pub fn item(&mut self, words: &str) {
        self.blocks.push(Block::Item(words.to_owned()));
    }

    /// A table; its last rows, so many, are sums.
    pub fn grid(&mut self, columns: Vec<Column>, totals: usize) {
        self.blocks.push(Block::Grid(columns, totals));
    }

    /// A picture of the table that follows.
    pub fn picture(&mut self, picture: impl Into<Picture>) {
        self.blocks.push(Block::Picture(picture.into()));
    }

    /// Commands, and what each shows.
    pub fn commands(&mut self, commands: Vec<(String, &'static str)>) {
        self.blocks.push(Block::Commands(commands));
    }

    /// Lines on a wide terminal: how long it is.
    pub fn lines(&self) -> usize {
        let lines = |block: &Block| match block {
            Block::Grid(columns, _) => 1 + crate::grid::rows(columns),
            Block::Commands(commands) => commands.len(),
            Block::Picture(_) => 0,
            _ => 1,
        };
        self.blocks.iter().map(lines).sum()
    }
}
