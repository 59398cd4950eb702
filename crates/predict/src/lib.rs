//! What a recorded run would have been with other settings, or on another machine.
//!
//! | module | what it does |
//! | --- | --- |
//! | `stretches` | reads what each thread did, and who woke it |
//! | `demand` | makes a program of it: work, waits, and what ends them |
//! | `settings` | changes of it |
//! | `outcome` | replays it as it was and with the changes |
//!
//! Of the recording, only what threads needed is used: for how long they ran, what they waited for, and their settings. When and where a scheduler let them run is not.

mod demand;
mod outcome;
mod settings;
mod stretches;

pub use demand::{Demand, Of, demand};
pub use outcome::{Path, Prediction, Refusal, Times, predict};
pub use settings::Setting;
