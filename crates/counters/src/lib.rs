//! What can be counted on a machine, and how a user names it.
//!
//! A machine with several kinds of core has a PMU (performance monitoring unit) for each. The same event has another encoding on each of
//! them, or exists on one only. So every event that a user writes becomes one [`Attr`] for each PMU, or the reason why it is not there.
//!
//! ```text
//!   "{cycles,instructions},msr/tsc/"
//!     │ parse()            AskedGroup: events that must be counted together; syntax only, needs no machine
//!     │ expand()           the same, with the named groups (`default`, `branch`, …) replaced by their events
//!     ▼
//!   resolve()              for each event and PMU of Pmus::read(): Attr { kind, config, … } or Absent
//!     ▼
//!   plan()                 for each PMU: sets of events that are counted together; if not all fit, they rotate
//! ```
//!
//! Nothing here opens an event: the caller does, and says what fits.

mod bits;
mod event;
mod groups;
pub mod intel;
mod names;
mod parse;
mod plan;
mod pmu;
mod resolve;

pub use bits::{ConfigField, TermBits};
pub use event::{AskedGroup, Attr, BadEvent, Event, EventName, Term};
pub use groups::{GROUPS, NamedGroup, expand};
pub use names::{HARDWARE, Hardware, SOFTWARE, Software};
pub use parse::parse;
pub use plan::{CorePlan, Plan, plan};
pub use pmu::{Pmu, Pmus, Processor, Role};
pub use resolve::{Absent, OnPmu, Resolved, resolve};
