//! What Linux's own tracer (ftrace) writes, as recorders of it keep it and as corewise reads it live: pages of the kernel's ring
//! buffer, and the words that programs write into `trace_marker`.

mod byte_order;
mod marker;
mod pages;

pub use byte_order::ByteOrder;
pub use marker::marker;
pub use pages::{BadPage, Mark, Page, PageLayout, PageRecord, Records};
