//! A report before it is text or a page: what it says, in order. Each part says it once, for both.

use crate::grid::Column;
use crate::picture::{Picture, Tone};

/// What words can lead to in a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// What a section tells, by its name.
    Section(&'static str),
    /// A thread's row, by its key.
    Thread(i64),
    /// A CPU's row.
    Cpu(i64),
    /// A finding, by its number.
    Finding(usize),
    /// The rows that show it.
    Evidence(usize),
    /// When it was, on the timeline.
    When(usize),
}

/// Words, and where they lead to.
pub type Linked = Vec<(String, Option<Place>)>;

/// One thing that a report says.
pub enum Block {
    /// A part begins; where words can lead to it, as what.
    Heading(String, Option<Place>),
    /// One of several things within a part.
    Entry(String, Place, Tone),
    /// Sentences of it, some of which lead to what they rest on; on a terminal they are indented.
    Linked(Linked),
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
        self.blocks.push(Block::Heading(words.to_owned(), None));
    }

    /// Sentences.
    pub fn words(&mut self, words: &str) {
        self.blocks.push(Block::Words(words.to_owned(), 2));
    }

    /// One of several things within a part.
    pub fn entry(&mut self, words: String, place: Place, tone: Tone) {
        self.blocks.push(Block::Entry(words, place, tone));
    }

    /// Sentences of it, some of which lead to what they rest on.
    pub fn linked(&mut self, words: Linked) {
        self.blocks.push(Block::Linked(words));
    }

    /// The part that begins first can be led to.
    pub fn place(&mut self, place: Place) {
        if let Some(Block::Heading(_, of)) = self.blocks.iter_mut().find(|b| matches!(b, Block::Heading(..))) {
            *of = Some(place);
        }
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
