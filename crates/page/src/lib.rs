//! What all commands show, as blocks: headings, paragraphs, tables and pictures. They are written as text for a terminal, as one HTML
//! page or as Markdown. Knows no recordings.

mod blocks;
mod csv;
mod grid;
mod html;
mod markdown;
mod picture;
mod scale;
mod text;
mod wrap;

pub use blocks::{Anchor, Block, Linked, Page, Part};
pub use csv::csv_line;
pub use grid::{Column, push, rows};
pub use html::{Document, Escaped, Inline, STYLE, axis, cells, escaped, labels, legend, page as web_page, shades};
pub use markdown::{escaped as escaped_markdown, markdown, table as markdown_table};
pub use picture::{
    Bar, Bars, Flame, FlameFrame, FlameTone, Instance, InstanceLane, Lane, Matrix, Picture, Piece, Range, Stack,
    Timeline, Tone,
};
pub use scale::Scale;
pub use text::text as terminal;
pub use wrap::wrapped;
