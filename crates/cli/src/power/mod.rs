//! `corewise power`: measures a machine while a command runs. The readers are in the crate `power`.
//!
//! ```text
//!  Machine::measure ── readings aligned to updates ── the command, a reading each interval ── aligned readings ──▶ Run
//!  on_battery: waits, then many runs ──▶ Steps of 1 %                                     Outcome: runs, medians, doubts ──▶ text, json, csv, markdown
//! ```

mod battery;
mod child;
mod json;
mod machine;
mod outcome;
mod text;

pub use battery::{Percents, on_battery};
pub use json::{csv, json};
pub use machine::{Machine, Work};
pub use outcome::Outcome;
pub use text::{markdown, text};
