//! Nouns and units of corewise.
//!
//! Everything that more than one crate speaks of is declared here, once: quantities ([`Ns`], [`Span`]), identities
//! ([`CpuId`], [`Tid`], [`ThreadKey`]), what happened ([`Event`]), what a thread or CPU did ([`ThreadStretch`],
//! [`CpuStretch`]) and every table with its columns, units and words ([`tables`]). Nothing here reads a file, a clock or
//! the machine.

mod callchain;
mod change;
mod core_type;
mod event;
mod present;
mod stretch;
mod table;
pub mod tables;
mod together;
mod units;
pub mod words;

pub use callchain::{BlockedAt, StackFrame, StackId, Stacks};
pub use change::{Change, Policy, Threads};
pub use core_type::CoreType;
pub use event::{
    Batch, Clock, Event, Frame, FrameStretch, IrqKind, LeftOut, LossSpan, Mark, MarkEdge, NameId, Seen, SeenState,
    Switch, SwitchOut, Wake, WakeKind, What,
};
pub use present::{FramePart, FrameTime, Present};
pub use stretch::{
    Allowed, Basis, CpuState, CpuStretch, InferredStretch, Interrupt, Marked, Move, Power, PowerChange, Reason, SetTo,
    Setting, ThreadState, ThreadStretch, Throttle,
};
pub use table::{Col, Kind, Row, Rows, Table, TableDef, Value};
pub use together::Together;
pub use units::{CpuId, Ns, Pid, ProcessKey, Span, ThreadKey, Tid};
