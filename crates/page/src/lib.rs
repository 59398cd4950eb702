//! What all commands show, as blocks: headings, paragraphs, tables and pictures. They are written as text for a terminal or as one HTML
//! page. Knows no recordings.

mod blocks;
mod grid;
mod html;
mod picture;
mod text;
mod wrap;

pub use blocks::{Anchor, Block, Linked, Page, Part};
pub use grid::{Column, push, rows};
pub use html::{Document, Escaped, Inline, STYLE, axis, cells, escaped, labels, legend, page as web_page, shades};
pub use picture::{
    Bar, Bars, Flame, FlameFrame, FlameTone, Instance, InstanceLane, Lane, Matrix, Picture, Piece, Range, Stack,
    Timeline, Tone,
};
pub use text::text as terminal;
pub use wrap::wrapped;
