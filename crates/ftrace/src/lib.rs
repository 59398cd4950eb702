//! What Linux's own tracer (ftrace) writes, as recorders of it keep it and as corewise reads it live: pages of the kernel's ring
//! buffer, and the words that programs write into `trace_marker`.

mod byte_order;
mod marker;
mod pages;

pub use byte_order::ByteOrder;
pub use marker::marker;
pub use pages::{BadPage, Mark, Page, PageLayout, PageRecord, Records};

/// Bits of `common_flags` (`enum trace_flag_type` of the kernel): in a hardware interrupt, in one that cannot be masked. Not
/// those of softirqs, which mostly run in the name of who raised them (a task that sends a packet to its own machine).
const IN_INTERRUPT: u64 = 0x08 | 0x40;

/// Whether a record, by its `common_flags`, was made in an interrupt: whom that came upon did nothing of it.
#[inline]
#[must_use]
pub fn in_interrupt(common_flags: u64) -> bool {
    common_flags & IN_INTERRUPT != 0
}
