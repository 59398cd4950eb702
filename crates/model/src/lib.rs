//! Shared types and units of corewise.
//!
//! Everything that more than one crate uses is declared here: quantities ([`Ns`], [`Span`]), identities
//! ([`CpuId`], [`Tid`], [`ThreadKey`]), events ([`Event`]), the states of threads and CPUs ([`ThreadStretch`],
//! [`CpuStretch`]) and every table with its columns, units and documentation ([`tables`]). Nothing here reads a file, a clock
//! or the machine.

mod alike;
mod callchain;
mod calls;
mod collectors;
mod column;
mod core_type;
mod energy;
mod event;
mod fix;
mod frame_marks;
mod ipc;
mod kernel_threads;
mod nominal_power;
mod pool;
mod present;
mod process;
mod redact;
mod stand_ins;
mod stretch;
mod table;
pub mod tables;
mod timeline;
mod tried;
mod units;
pub mod words;

pub use alike::{did_you_mean, nearest};
pub use callchain::{CallchainEnd, StackFrame, StackId, Stacks};
pub use calls::{CallWaits, call_reads, call_waits};
pub use collectors::COLLECTOR_THREADS;
pub use column::{AnyColumn, Cell, Column, Columns, Row, TableType, Text};
pub use core_type::CoreType;
pub use energy::{EnergyDomain, EnergyUse, Temperature};
pub use event::*;
pub use fix::{Fix, Policy, QuotaOf, Threads};
pub use frame_marks::{FrameMarkKind, frame_mark};
pub use ipc::{IpcPart, MIN_COUNTED_SHARE, ipc_part};
pub use kernel_threads::{is_kernel_thread, is_kernel_thread_of_cpu};
pub use nominal_power::ABOVE_TDP;
pub use pool::pool_name;
pub use present::{FramePart, FrameTime, Present};
pub use process::{Autogroup, PROCESSES, Process};
pub use redact::{Fate, Redact, public_file, shown_chain, without_paths};
pub use stand_ins::{NameStandIns, StandIns};
pub use stretch::{Basis, CpuState, CpuStretch, InferredStretch, Reason, ThreadState, ThreadStretch};
pub use table::{Col, Kind, MadeFrom, Rows, Shows, Table, TableDef, Value};
pub use timeline::{Change, Counted, Interrupt, Power, SetTo, Subject, Timeline, TimelineEvent};
pub use tried::{TrialVerdict, Tried, TriedSum};
pub use units::{Amount, CpuId, MaybeCount, MaybeNs, Ns, Pid, Prio, ProcessKey, Span, ThreadKey, Tid};
