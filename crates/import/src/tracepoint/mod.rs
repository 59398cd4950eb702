//! Tracepoint records of the Linux kernel: their layouts, as the kernel describes them in each recording
//! (`/sys/kernel/tracing/events/*/format`), and their meaning as [`model::What`]. Which there are is one list for all formats
//! ([`events::TRACEPOINTS`]).

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
pub(crate) use ftrace::{BadPage, ByteOrder, Mark, PageLayout, marker};
pub(crate) use states::States;
pub(crate) use text::Arguments;
