//! Two commands that were recorded in turn (`corewise ab`): what to run next, which runs were disturbed, and the folder they are in.
//!
//! Nothing in here runs a command. Whether a pair is repeated is decided from [`Disturbance`]s, which have no durations; whether there are
//! enough pairs is decided from the width of an interval, which does not show where the interval lies.

mod binding;
mod disturbance;
mod folder;
mod measured;
mod plan;
mod width;

pub use binding::{Binding, ELSEWHERE_SHARE, elsewhere_share};
pub use disturbance::{Decision, Disturbance, Limits, decide};
pub use folder::{AbError, AbFolder, Cores, Ended, FILE, Manifest, MeasuredRun, Pair, SideOf, Status, VERSION};
pub use measured::{Measured, command_processes, measure};
pub use plan::{Approach, MIN_PAIRS, Order, Side, Stop, new_seed, pause, time_left};
pub use width::{half_width, relative_half_width};
