//! Reads energy, temperature, frequency and idle counters of a machine, and turns readings into joules. Every reader takes a [`Tree`], so that
//! a machine can be handed in.
//!
//! ```text
//!  powercap, power_pmu, battery, hwmon ──▶ Domain: name, part, Gauge ──▶ Meter: intervals ──▶ estimate: J of a span, with its range
//!                                                                          └▶ doubts: parts above their whole, power above a limit
//!                                                                          └▶ Total: J since a begin, without intervals
//!  condition: temperature, frequency, throttling      idle: what was requested, and where the hardware was
//! ```

pub mod battery;
mod condition;
mod doubts;
mod estimate;
mod filtering;
mod hwmon;
mod idle;
mod meter;
mod meters;
mod perf;
mod power_pmu;
mod powercap;
mod source;
mod total;
mod tree;

pub use condition::{Condition, Conditions, Span3, sensors};
pub use doubts::{above_tdp, parts as doubtful_parts, power as doubtful_power};
pub use estimate::{Ends, Estimate, MAX_UNCERTAIN, Refused, Updates, estimate, unknown_times};
pub use idle::{Idle, IdleState, Resident, online};
pub use meter::{Energy, Interval, MAX_POWER_W, Meter, Reading, Spec, Unknown};
pub use meters::{Metered, Meters, find, now};
pub use source::{Domain, Found, Gauge, Interface, Lack, Part, Value};
pub use total::{Sum, Total};
pub use tree::{Tree, ValueFile};
