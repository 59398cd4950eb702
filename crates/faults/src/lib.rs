//! Traces of simulated machines with injected faults, and what mending each fault gives back.
//!
//! [`draw`] draws a machine and a load (how long things last is drawn from quantiles of real recordings), injects none, one
//! or two faults, and simulates a scheduler. What a fault costs is no formula: the same draw is simulated with it mended, and the
//! difference of when the program's last frame ends is the [`Truth`]. Nothing of the rules is used here, and only tests and
//! the judge (`examples/confusion.rs`) use this.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

pub mod app;
mod durations;
pub mod kinds;
pub mod machines;
pub mod program;
pub mod sim;
mod written;

pub use written::write;

use app::{Draw, Injected};
use kinds::Kind;
use machines::{Kind as Make, Machine};
use model::{Batch, Tid, What};
use program::Program;
use sim::simulate;
use testkit::Rng;

/// Seeds that thresholds may be fitted on, and seeds that are reported. No number of one set draws what one of the other does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Set {
    /// For fitting.
    Training,
    /// For the resolution note.
    Reported,
}

/// Where the seeds that are reported begin. Those from 0 and from 2^32 on were reported once, and what they showed has been mended
/// since: only traces that nobody has seen tell how well it was.
const REPORTED: u64 = 2 << 32;

/// How much of a fault is injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dose {
    /// In a third of the frames or more, and at a cost of a hundredth of the trace or more: a draw that by chance has it for
    /// less is drawn anew.
    Full,
    /// In one frame. What that costs is still told by the truth.
    Slight,
}

/// What is known of an injected fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    /// The rule that should name it.
    pub rule: &'static str,
    /// The threads that it holds up, by the kernel's numbers.
    pub threads: Vec<Tid>,
    /// What mending it gives back: how much earlier the last frame ends in the same draw without it.
    pub injected_ns: i64,
    /// From the begin of its first frame to the end of its last.
    pub span_ns: (i64, i64),
}

/// A trace and the truth of it.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The machine.
    pub machine: Machine,
    /// The events, in order of time.
    pub batch: Batch,
    /// The faults, the dearest first.
    pub truths: Vec<Truth>,
    /// How long it is.
    pub span_ns: i64,
    /// How many switches were deleted.
    pub deleted: usize,
}

/// Draws a trace: of these kinds (none for a healthy one, two for two faults in turn), by this seed. In every fourth seed one
/// switch in a hundred is deleted.
///
/// # Errors
/// The load does not come to its end, or ten draws by the seed had no fault that cost a hundredth of the trace.
pub fn draw(kinds: &[&Kind], dose: Dose, set: Set, seed: u64) -> Result<Drawn, String> {
    for attempt in 0..10 {
        let drawn = drawn(kinds, dose, set, seed, attempt)?;
        if dose == Dose::Slight || drawn.truths.iter().all(|t| t.injected_ns * 100 >= drawn.span_ns) {
            return Ok(drawn);
        }
    }
    Err(format!("seed {seed}: in ten draws no fault that costs a hundredth of the trace"))
}

fn drawn(kinds: &[&Kind], dose: Dose, set: Set, seed: u64, attempt: u64) -> Result<Drawn, String> {
    // Times an odd number, so that no two of these begin alike; of seeds below 2^47.
    let set = match set {
        Set::Training => seed << 1,
        Set::Reported => (REPORTED + seed) << 1 | 1,
    };
    let mut rng = Rng((attempt << 48 | set).wrapping_mul(0x2545_f491_4f6c_dd1d));
    let first = kinds.first();
    let makes = first.map_or(&[Make::Uniform, Make::Hybrid, Make::BigLittle][..], |k| k.on);
    let makes: Vec<Make> = makes.iter().copied().filter(|m| kinds.iter().all(|k| k.on.contains(m))).collect();
    let make = rng.pick(&makes).ok_or("no machine shows all of these kinds")?;
    let machine = Machine::drawn(make, &mut rng);
    let draw = Draw::new(machine, first.map(|k| k.fault), &mut rng);
    let faults = placed(kinds, dose, draw.frames(), &mut rng);
    let faulty = simulate(&draw.machine, &draw.load(&faults))?;
    let mut truths = Vec::new();
    for (n, (kind, fault)) in kinds.iter().zip(&faults).enumerate() {
        let mut others = faults.clone();
        others[n].mended = true;
        let mended = simulate(&draw.machine, &draw.load(&others))?;
        let span_ns = (faulty.frames[fault.frames.start].0, faulty.frames[fault.frames.end - 1].1);
        let programs = draw.load(&faults).programs;
        let held = |(n, p): (usize, &Program)| p.name.starts_with(kind.threads).then(|| sim::tid(n));
        let threads = programs.iter().enumerate().filter_map(held).collect();
        truths.push(Truth { rule: kind.rule, threads, injected_ns: faulty.end.0 - mended.end.0, span_ns });
    }
    truths.sort_by_key(|t| std::cmp::Reverse(t.injected_ns));
    let mut events = faulty.events;
    let all = events.len();
    if seed % 4 == 3 {
        events.retain(|e| !matches!(e.what, What::Switch(_)) || !rng.one_in(100));
    }
    let deleted = all - events.len();
    let batch = Batch { events, names: faulty.names, stacks: Vec::new(), ..Batch::default() };
    Ok(Drawn { machine: draw.machine, batch, truths, span_ns: faulty.end.0, deleted })
}

/// Each fault in frames of its own.
fn placed(kinds: &[&Kind], dose: Dose, frames: usize, rng: &mut Rng) -> Vec<Injected> {
    let each = frames / kinds.len().max(1);
    let place = |(n, kind): (usize, &&Kind)| {
        let long = match dose {
            Dose::Full => each / 3 + rng.below(each - each / 3 - 1),
            Dose::Slight => 1,
        };
        let from = n * each + rng.below(each - long);
        Injected { fault: kind.fault, frames: from..from + long, mended: false }
    };
    kinds.iter().enumerate().map(place).collect()
}
