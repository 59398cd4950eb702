//! The content of a report as blocks, from which both the text and the HTML page are written.

use crate::grid::Column;
use crate::picture::{Picture, Tone};
use model::ThreadKey;

/// A link target within a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Anchor {
    /// A section, by its id.
    Section(&'static str),
    /// A thread's row, by its key.
    Thread(ThreadKey),
    /// A CPU's row.
    Cpu(i64),
    /// A finding, by its number.
    Finding(usize),
    /// The evidence rows of a finding.
    Evidence(usize),
    /// The time of a finding on the timeline.
    When(usize),
    /// An interval of a thread, by its key, on the page with the timeline of the trace; ns from the start of the recording.
    Moment {
        /// The thread's key.
        thread: ThreadKey,
        /// When it begins.
        start_ns: i64,
        /// When it ends.
        end_ns: i64,
    },
}

/// Pieces of text, each with its link target.
pub type Linked = Vec<(String, Option<Anchor>)>;

/// A block of a report.
pub enum Block {
    /// The heading of a section, and its anchor.
    Heading(String, Option<Anchor>),
    /// The title of an entry within a section.
    Entry(String, Anchor, Tone),
    /// A paragraph with links; on a terminal it is indented.
    Linked(Linked),
    /// A paragraph; on a terminal, lines after the first are indented by this number.
    Paragraph(String, usize),
    /// A note on the table above it.
    Note(String),
    /// A warning.
    Warning(String),
    /// An item of a list.
    Item(String),
    /// A table and the number of its last rows that are sums.
    Grid(Vec<Column>, usize),
    /// A picture of the table that follows, for pages only.
    Picture(Picture),
    /// Commands, and what each of them shows.
    Commands(Vec<(String, &'static str)>),
}

/// A part of a report.
pub struct Part {
    /// Its name; `None` for a part that is always shown.
    pub name: Option<&'static str>,
    /// Its content.
    pub page: Page,
}

impl Part {
    /// A part that is always shown.
    pub fn fixed(page: Page) -> Self {
        Self { name: None, page }
    }

    /// A part that a short report leaves out if it has no room.
    pub fn optional(name: &'static str, page: Page) -> Self {
        Self { name: Some(name), page }
    }
}

/// The blocks of a report.
#[derive(Default)]
pub struct Page {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

impl Page {
    /// Adds a note.
    pub fn note(&mut self, words: &str) {
        self.blocks.push(Block::Note(words.to_owned()));
    }

    /// Adds a warning.
    pub fn warn(&mut self, words: &str) {
        self.blocks.push(Block::Warning(words.to_owned()));
    }

    /// Starts a section.
    pub fn heading(&mut self, words: &str) {
        self.blocks.push(Block::Heading(words.to_owned(), None));
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, words: &str) {
        self.blocks.push(Block::Paragraph(words.to_owned(), 2));
    }

    /// Starts an entry within a section.
    pub fn entry(&mut self, words: String, place: Anchor, tone: Tone) {
        self.blocks.push(Block::Entry(words, place, tone));
    }

    /// Adds a paragraph with links.
    pub fn linked(&mut self, words: Linked) {
        self.blocks.push(Block::Linked(words));
    }

    /// Sets the anchor of the first heading.
    pub fn set_anchor(&mut self, place: Anchor) {
        if let Some(Block::Heading(_, of)) = self.blocks.iter_mut().find(|b| matches!(b, Block::Heading(..))) {
            *of = Some(place);
        }
    }

    /// Adds an item to a list.
    pub fn item(&mut self, words: &str) {
        self.blocks.push(Block::Item(words.to_owned()));
    }

    /// Adds a table; the last `totals` rows are sums.
    pub fn grid(&mut self, columns: Vec<Column>, totals: usize) {
        self.blocks.push(Block::Grid(columns, totals));
    }

    /// Adds a picture of the table that follows.
    pub fn picture(&mut self, picture: impl Into<Picture>) {
        self.blocks.push(Block::Picture(picture.into()));
    }

    /// Adds commands and what each of them shows.
    pub fn commands(&mut self, commands: Vec<(String, &'static str)>) {
        self.blocks.push(Block::Commands(commands));
    }
}
