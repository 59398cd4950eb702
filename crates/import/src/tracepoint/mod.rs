//! Tracepoint records of the Linux kernel: their layouts, as the kernel describes them in each recording
//! (`/sys/kernel/tracing/events/*/format`), and their meaning as [`model::What`].

mod decode;
mod format;
mod parking;
mod states;
mod text;

pub(crate) use decode::{Decoder, Names, Place, tells, waker};
pub(crate) use format::{EventFormat, Field};
pub(crate) use ftrace::{BadPage, ByteOrder, Mark, PageLayout, marker};
pub(crate) use parking::Point as ParkingPoint;
pub(crate) use states::States;
pub(crate) use text::{Arguments, frequency};
