//! The loads: a program that renders frames with its workers, a periodic thread, or clients of a server; and other threads that run from
//! time to time.
//!
//! Everything is drawn before a fault changes it, so that the loads with and without a fault come from the same draw.

mod frames;
mod others;
mod periodic;
mod requests;

use crate::kinds::{Fault, Shape};
use crate::machines::Machine;
use crate::program::{Load, Program, Step};
use crate::sim::Outcome;
use frames::Frames;
use periodic::Periodic;
use requests::Requests;
use std::ops::Range;
use testkit::Rng;

/// The run time of the thread with the frames after the last one, ns.
const TEARDOWN: i64 = 50_000;
/// Nice value of the threads that always compute, which some faults need.
const HOGS_NICE: i8 = 10;

/// A fault in some of the frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Injected {
    /// The fault.
    pub fault: Fault,
    /// The frames with the fault.
    pub frames: Range<usize>,
    /// Whether it is fixed: removed or, if the fault is a missing feature of a lock, the lock has the feature.
    pub fixed: bool,
}

impl Injected {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault && !self.fixed
    }
}

/// A machine, and the random part of a load.
#[derive(Clone, PartialEq, Debug)]
pub struct Draw {
    /// The machine.
    pub machine: Machine,
    drawn: Shaped,
}

#[derive(Clone, PartialEq, Debug)]
enum Shaped {
    Frames(Frames),
    Periods(Periodic),
    Requests(Requests),
}

impl Draw {
    /// Draws a load for a machine, of the shape that the fault needs.
    #[must_use]
    pub fn new(machine: Machine, fault: Option<Fault>, rng: &mut Rng) -> Draw {
        let drawn = match fault.map_or(Shape::Frames, Fault::shape) {
            Shape::Frames => Shaped::Frames(Frames::new(&machine, fault, rng)),
            Shape::Periods => Shaped::Periods(Periodic::new(&machine, rng)),
            Shape::Requests => Shaped::Requests(Requests::new(&machine, rng)),
        };
        Draw { machine, drawn }
    }

    /// The number of frames: of a periodic thread its periods, of a client its requests.
    #[must_use]
    pub fn frames(&self) -> usize {
        match &self.drawn {
            Shaped::Frames(drawn) => drawn.count(),
            Shaped::Periods(drawn) => drawn.count(),
            Shaped::Requests(drawn) => drawn.count(),
        }
    }

    /// Returns the load with these faults.
    #[must_use]
    pub fn load(&self, faults: &[Injected]) -> Load {
        match &self.drawn {
            Shaped::Frames(drawn) => drawn.load(faults),
            Shaped::Periods(drawn) => drawn.load(faults),
            Shaped::Requests(drawn) => drawn.load(faults),
        }
    }

    /// What a fault makes longer, ns: the time until the end or, for a periodic thread, the sum of the times from when it was due until it
    /// was done.
    #[must_use]
    pub fn cost(&self, outcome: &Outcome) -> i64 {
        match &self.drawn {
            Shaped::Periods(_) => outcome.responses,
            _ => outcome.end.0,
        }
    }
}

fn program(name: &str, nice: i8, steps: Vec<Step>) -> Program {
    Program { name: name.to_owned(), nice, process: 0, in_group: false, steps, again: false }
}

/// Threads that always compute.
pub(crate) fn hogs(nice: i8, many: usize) -> impl Iterator<Item = Program> {
    (0..many).map(move |n| Program { again: true, ..program(&format!("batch {n}"), nice, vec![Step::Run(20_000_000)]) })
}
