//! Tracepoint records of the Linux kernel: their layouts, as the kernel describes them in each recording
//! (`/sys/kernel/tracing/events/*/format`), and their meaning as [`model::What`].

mod decode;
mod format;
mod marker;
mod pages;
mod states;
mod text;

pub(crate) use decode::{Decoder, Names, Place};
pub(crate) use format::{ByteOrder, EventFormat, FormatError};
pub(crate) use marker::marker;
pub(crate) use pages::{BadPage, Mark, PageLayout};
pub(crate) use states::States;
pub(crate) use text::{Arguments, frequency};
