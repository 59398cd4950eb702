//! Formats of Linux's tracer ftrace, as stored in its recordings and as read live by corewise: pages of the kernel's ring buffer, and
//! the texts that programs write to `trace_marker`.

mod byte_order;
mod marker;
mod pages;

pub use byte_order::ByteOrder;
pub use marker::marker;
pub use pages::{BadPage, Page, PageLayout, PageRecord, Position, Records};

/// Bits of `common_flags` (`enum trace_flag_type` of the kernel): hardware interrupts and NMIs. Not softirqs, which mostly run on
/// behalf of the task that raised them (such as a task that sends a packet to its own machine).
const IN_INTERRUPT: u64 = 0x08 | 0x40;

/// Whether a record was made in an interrupt according to its `common_flags`, so that the current task did not cause it.
#[inline]
#[must_use]
pub fn in_interrupt(common_flags: u64) -> bool {
    common_flags & IN_INTERRUPT != 0
}
