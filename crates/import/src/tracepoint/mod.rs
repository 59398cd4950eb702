//! Tracepoint records of the Linux kernel: their layouts, as the kernel describes them in each recording
//! (`/sys/kernel/tracing/events/*/format`), and their meaning as [`model::EventKind`]. All formats share one list of
//! tracepoints ([`events::TRACEPOINTS`]).

mod decode;
pub(crate) mod events;
mod format;
mod pattern;
#[cfg(test)]
mod recipe;
mod states;
pub(crate) mod table;
mod text;

pub(crate) use decode::{Decoder, Names, Place, waker};
pub(crate) use format::{EventFormat, Field};
pub(crate) use ftrace::{BadPage, ByteOrder, PageLayout, Position, marker};
pub(crate) use states::{States, state_source};
pub(crate) use text::{Arguments, Unreadable};
