//! The kinds of track beside those of threads and CPUs: a file each, made where the trace has its data.

mod block;
mod concurrency;
mod counters;
pub(crate) mod frames;
mod frequency;
mod idle;
mod marks;
mod moments;
mod parking;

use crate::ServeError;
use crate::making::To;
use engine::Session;
use model::{CpuStretch, Event, Value};
use serde::{Deserialize, Serialize};

/// The kinds, in the order in which they are shown.
pub(crate) const KINDS: &[Listed] = &[
    Listed { name: "concurrency", from: Source::Cpus, values: true, new: concurrency::new },
    Listed { name: "frames", from: Source::Frames, values: true, new: frames::new },
    Listed { name: "marks", from: Source::Events, values: false, new: marks::new },
    Listed { name: "moments", from: Source::Events, values: false, new: moments::new },
    Listed { name: "frequency", from: Source::Events, values: true, new: frequency::new },
    Listed { name: "idle", from: Source::Events, values: false, new: idle::new },
    Listed { name: "parking", from: Source::Events, values: false, new: parking::new },
    Listed { name: "block", from: Source::Events, values: true, new: block::new },
    Listed { name: "counters", from: Source::Events, values: true, new: counters::new },
];

/// A kind, and how it is made.
pub(crate) struct Listed {
    /// In requests, and of its file.
    pub(crate) name: &'static str,
    pub(crate) from: Source,
    /// Whether its tracks hold values; states else.
    pub(crate) values: bool,
    pub(crate) new: for<'a> fn(&Session, To<'a>, &'static str) -> Result<Made<'a>, ServeError>,
}

/// One that is being made.
pub(crate) type Made<'a> = Box<dyn Kind + Send + 'a>;

/// What a kind is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The stretches of CPUs, in order of start.
    Cpus,
    /// Events in order.
    Events,
    /// The rows of the table of frames.
    Frames,
}

/// How one is made: each is told of its own [`Source`] only.
pub(crate) trait Kind {
    fn cpu(&mut self, _: &CpuStretch) {}
    fn event(&mut self, _: &Event, _: &[Box<str>]) {}
    fn frame(&mut self, _: &[Value]) {}
    /// What the page must know of it; `None` where the trace has no such data.
    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError>;
}

/// What the page must know of a kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) kind: String,
    pub(crate) title: String,
    /// Of values; empty: counts.
    pub(crate) unit: String,
    /// Whether the tracks hold values.
    pub(crate) values: bool,
    /// What states are called, by number.
    pub(crate) states: Vec<String>,
    pub(crate) lanes: Vec<Lane>,
    /// What cannot be seen here, if anything.
    pub(crate) note: String,
    /// Where a line is drawn across values, in their unit.
    pub(crate) line: Option<f64>,
}

/// A track.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub(crate) track: u32,
    pub(crate) label: String,
    /// The most that it holds.
    pub(crate) most: f64,
}

/// Tracks of a kind whose number the trace decides.
const MOST_LANES: usize = 256;
/// CPUs that are told apart; no kernel has more.
const MOST_CPUS: usize = 1 << 14;

impl Shown {
    fn of_values(lanes: Vec<Lane>) -> Self {
        Self { values: true, ..Self::of_states(lanes, Vec::new()) }
    }

    fn of_states(lanes: Vec<Lane>, states: Vec<String>) -> Self {
        let [kind, title, unit, note] = [const { String::new() }; 4];
        Self { kind, title, unit, values: false, states, lanes, note, line: None }
    }
}

/// Whether one more CPU can be told apart, or this one is already.
fn room<T>(cpus: &std::collections::BTreeMap<u32, T>, cpu: u32) -> bool {
    cpus.len() < MOST_CPUS || cpus.contains_key(&cpu)
}

/// A text by its number.
fn name(names: &[Box<str>], name: model::NameId) -> Option<&str> {
    names.get((name.0 as usize).checked_sub(1)?).map(|text| &**text)
}
