//! Columns that many tables have.

use crate::table::{Col, Kind};

pub(super) const fn int(name: &'static str, unit: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, unit, doc)
}
pub(super) const fn ns(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, "ns", doc)
}
pub(super) const fn count(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, "count", doc)
}
pub(super) const fn text(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Text, "", doc)
}

/// The key of `threads` itself.
pub(super) const LIVES: Col =
    int("thread", "", "One life of one thread, numbered by first appearance in the trace; 0 is idle.");
pub(super) const THREAD: Col = LIVES.of_thread();
pub(super) const TID: Col = int("tid", "", "The kernel's number of the thread; numbers are used again.");
pub(super) const LIFE: Col = int("life", "", "Which life of this number: 0, 1, …");
pub(super) const CPU: Col = int("cpu", "", "The kernel's number of the logical processor.");
pub(super) const CORE_TYPE: Col =
    text("core_type", "performance, middle, efficient, low_power, or uniform where one class or none is known.");
pub(super) const START: Col = ns("start_ns", "When it began.");
pub(super) const END: Col = ns("end_ns", "When it ended.");
