//! Writes the runs of the notebooks: `notebook_runs FOLDER [RUNS]`, by default four runs a side.
//!
//! A program renders frames on a machine of performance and efficient cores. In `before-N.cw`, the scheduler keeps its main thread on
//! efficient cores in a part of the frames; `after-N.cw` is the same draw without that. All runs are of one machine; the durations of each
//! pair are drawn anew. docs/notebooks says that these runs are simulated.
#![allow(clippy::print_stderr)]

use faults::app::{Draw, Injected};
use faults::kinds::Fault;
use faults::machines::{Kind, Machine};
use faults::sim::simulate;
use faults::{Drawn, write};
use model::Batch;
use std::path::Path;
use std::process::ExitCode;
use testkit::Rng;

/// Draws three performance cores with two CPUs each, and six efficient ones.
const MACHINE: u64 = 1;
/// The fault is in the first of this many parts of the frames.
const PART: usize = 3;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("notebook_runs FOLDER [RUNS]")?;
    let runs = arguments.next().map_or(Ok(4), |runs| runs.parse::<u64>().map_err(|why| format!("{runs}: {why}")))?;
    for run in 1..=runs {
        let machine = Machine::drawn(Kind::Hybrid, &mut Rng(MACHINE));
        let draw = Draw::new(machine, Some(Fault::PlacedOnSlow), &mut Rng(run));
        let fault = Injected { fault: Fault::PlacedOnSlow, frames: 0..draw.frames() / PART, fixed: false };
        for (name, fixed) in [("before", false), ("after", true)] {
            let outcome = simulate(&draw.machine, &draw.load(&[Injected { fixed, ..fault.clone() }]))?;
            let span_ns = outcome.end.0;
            let batch =
                Batch { events: outcome.events, names: outcome.names, stacks: outcome.stacks, ..Batch::default() };
            let fixed = Batch::default();
            let drawn = Drawn { machine: draw.machine.clone(), batch, fixed, truths: Vec::new(), span_ns, deleted: 0 };
            write(&drawn, &Path::new(&folder).join(format!("{name}-{run}.cw"))).map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}
