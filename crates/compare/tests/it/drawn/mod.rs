//! Pairs of drawn runs that differ by one injected cause, and how much of the change the comparison gives to it.
//!
//! | injected | runs | pieces that are right |
//! | --- | --- | --- |
//! | frequency | all CPUs at 2.4 or at another frequency, which the recordings have | `frequency` |
//! | core type | the main thread kept on slower cores (pinned, or placed there) or not | `core_type` of the main thread |
//! | sibling | the main thread woken on cores with a busy sibling, or on idle cores; a batch thread on its CPU's sibling | `sibling` of the main thread |
//! | ready | the main thread with the weight of batch threads, or not preempting them; all workers on one CPU | `ready` of these threads |
//! | work | the main thread or the workers compute more or less | `work` of these threads |
//! | lock | the workers compute under one lock (convoy) | `serial`, `blocked`, `ready` and `wakeup_latency` of the workers |
//! | | a nice thread holds the main thread's lock (inversion) | those of the holder, and `blocked` of the main thread |
//!
//! The path leads from a thread that waits for a lock to its holder, so the wait shows as the time of the holder: running one after another with its peers
//! (`serial`), or ready. `work` is wrong for a lock: the threads compute the same. Where the main thread takes other CPUs, its workers get others
//! too: such effects, often of the other sign, are not in the right pieces. Machines have the fewest other properties that show the cause:
//! core types only for core types, with known capacities, and siblings only for siblings, but for the cases called `hybrid`.
//! The injected change is measured by the marks of the frames in the events, without the comparison.

#![allow(dead_code)]

use compare::{CompareOptions, MeasureOptions, Piece, Why, compare, measure};
use engine::PassOptions;
use faults::kinds::{Fault, KINDS, Kind};
use faults::machines::Kind as Make;
use faults::program::FRAME;
use faults::{Difference, Dose, Drawn, Set, draw, draw_pair, write};
use model::{Batch, EventKind, MarkEdge};
use std::path::Path;

/// The frequency without a change, kHz.
const KHZ: u32 = 2_400_000;

/// An injected cause, and how it is injected.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The cause.
    pub injected: &'static str,
    /// How.
    pub how: &'static str,
    by: By,
    /// The right pieces: their causes, and their roles (prefixes of names; empty for any).
    right: &'static [Right],
}

type Right = (&'static [&'static str], &'static [&'static str]);

#[derive(Clone, Copy, Debug)]
enum By {
    Fault(Fault, Make),
    Pair(Difference, Make),
}

/// What waiting for a lock shows as.
const WAITS: &[&str] = &["serial", "blocked", "ready", "wakeup_latency"];
const MAIN: &[&str] = &["main"];
const WORKER: &[&str] = &["worker"];
const SAVER: &[&str] = &["saver"];
const CORE_TYPE: &[Right] = &[(&["core_type"], MAIN)];
const SIBLING: &[Right] = &[(&["sibling"], MAIN)];
const CONVOY: &[Right] = &[(WAITS, WORKER), (&["blocked"], MAIN)];

const fn fault(injected: &'static str, how: &'static str, of: (Fault, Make), right: &'static [Right]) -> Case {
    Case { injected, how, by: By::Fault(of.0, of.1), right }
}

const fn frequency(how: &'static str, khz: u32, make: Make) -> Case {
    Case {
        injected: "frequency",
        how,
        by: By::Pair(Difference::Frequency([KHZ, khz]), make),
        right: &[(&["frequency"], &[])],
    }
}

const fn work(how: &'static str, threads: &'static str, percent: i64, make: Make, right: &'static [Right]) -> Case {
    Case { injected: "work", how, by: By::Pair(Difference::Work { threads, percent }, make), right }
}

/// All cases; two to four of each cause.
pub const CASES: &[Case] = &[
    frequency("2.4 to 0.8 GHz", 800_000, Make::Uniform),
    frequency("2.4 to 2.1 GHz, hybrid", 2_100_000, Make::Hybrid),
    frequency("2.4 to 3.6 GHz", 3_600_000, Make::Smt),
    fault("core_type", "pinned", (Fault::PinnedToSlow, Make::BigLittle), CORE_TYPE),
    fault("core_type", "placed", (Fault::PlacedOnSlow, Make::BigLittle), CORE_TYPE),
    Case { injected: "sibling", how: "pinned", by: By::Pair(Difference::Sibling, Make::Smt), right: SIBLING },
    fault("sibling", "woken", (Fault::BusySibling, Make::Smt), SIBLING),
    fault("sibling", "woken, hybrid", (Fault::BusySibling, Make::Hybrid), SIBLING),
    fault("ready", "same weight", (Fault::SamePriority, Make::Uniform), &[(&["ready"], MAIN)]),
    fault("ready", "not preempting", (Fault::LowRuns, Make::Uniform), &[(&["ready"], MAIN)]),
    fault("ready", "one CPU", (Fault::PinnedToOne, Make::Uniform), &[(&["ready"], WORKER)]),
    work("main +50 %", "main", 150, Make::Uniform, &[(&["work"], MAIN)]),
    work("workers +100 %", "worker", 200, Make::Uniform, &[(&["work"], WORKER)]),
    work("main -30 %", "main", 70, Make::BigLittle, &[(&["work"], MAIN)]),
    work("workers +40 %, hybrid", "worker", 140, Make::Hybrid, &[(&["work"], WORKER)]),
    fault("lock", "convoy", (Fault::Convoy, Make::Uniform), CONVOY),
    fault("lock", "convoy, hybrid", (Fault::Convoy, Make::Hybrid), CONVOY),
    fault("lock", "inversion", (Fault::Inversion, Make::Uniform), &[(WAITS, SAVER), (&["blocked"], MAIN)]),
    fault("assumed", "core type, hybrid", (Fault::PinnedToSlow, Make::Hybrid), CORE_TYPE),
];

/// How a pair was explained. Times per frame, ns.
pub struct Judged {
    /// The change of the mean frame by the marks in the events.
    pub injected_ns: f64,
    /// The change that the comparison explains.
    pub change_ns: f64,
    /// How much of it is in right pieces.
    pub right_ns: f64,
    /// How much of it is in pieces of cause `unknown`.
    pub unknown_ns: f64,
    /// The sum of the pieces, less the change.
    pub remainder_ns: f64,
    /// The comparison's explanation.
    pub why: Why,
}

impl Judged {
    /// The share of the injected change in the right pieces.
    pub fn share(&self) -> f64 {
        self.right_ns / self.injected_ns
    }

    /// Whether at least nine tenths of the change are in the right pieces.
    pub fn is_right(&self) -> bool {
        self.share() >= 0.9
    }

    /// Whether they also have at most eleven tenths: a cause may have effects that make up for a part of it.
    pub fn is_close(&self) -> bool {
        (self.share() - 1.0).abs() <= 0.1
    }

    /// Whether the pieces sum to the change that the marks show: to a part in 10⁹ of the frame, and the marks' rounding of a ns.
    pub fn is_exact(&self) -> bool {
        let whole = self.why.means[0].max(self.why.means[1]);
        self.remainder_ns.abs() <= 1e-9 * whole && (self.change_ns - self.injected_ns).abs() <= 1e-9 * whole + 1.0
    }
}

impl Case {
    /// Whether a piece is of the injected cause.
    pub fn is_right(&self, piece: &Piece) -> bool {
        let name = piece.role.as_deref().map(|role| role.rsplit('/').next().unwrap_or(role));
        self.right.iter().any(|(causes, roles)| {
            let is_of = roles.is_empty() || name.is_some_and(|name| roles.iter().any(|role| name.starts_with(role)));
            is_of && causes.contains(&piece.cause.as_str())
        })
    }

    fn drawn(&self, set: Set, seed: u64) -> Result<Drawn, String> {
        match self.by {
            By::Pair(difference, make) => draw_pair(difference, make, set, seed),
            By::Fault(fault, make) => {
                let on: &'static [Make] = match make {
                    Make::Uniform => &[Make::Uniform],
                    Make::Hybrid => &[Make::Hybrid],
                    Make::BigLittle => &[Make::BigLittle],
                    Make::Smt => &[Make::Smt],
                };
                let kind = KINDS.iter().find(|kind| kind.fault == fault).ok_or("no such fault")?;
                // In every fourth seed switches are deleted, which would be another cause.
                draw(&[&Kind { on, ..*kind }], Dose::Full, set, seed / 3 * 4 + seed % 3)
            }
        }
    }

    /// Draws a pair and judges how the comparison explains it. Its two traces are written to the folder.
    pub fn judge(&self, set: Set, seed: u64, folder: &Path) -> Result<Judged, String> {
        let text = |e: &dyn std::fmt::Display| format!("{self:?}, seed {seed}: {e}");
        let changed = self.drawn(set, seed).map_err(|e| text(&e))?;
        let without = Drawn { batch: changed.fixed.clone(), ..changed.clone() };
        let paths = [folder.join("a.cw"), folder.join("b.cw")];
        for (drawn, path) in [&without, &changed].into_iter().zip(&paths) {
            write(drawn, path).map_err(|e| text(&e))?;
        }
        let [a, b] = paths.each_ref().map(std::slice::from_ref);
        let sides = measure([a, b], &PassOptions::default(), &MeasureOptions::default(), false, &|_| ());
        let sides = sides.map_err(|e| text(&e))?;
        let of = compare([&sides.runs[0], &sides.runs[1]], &CompareOptions::default()).map_err(|e| text(&e))?;
        if of.objective.metric.id != "frame.mean" {
            return Err(text(&format!("judged by {}", of.objective.metric.id)));
        }
        let why = of.why.ok_or_else(|| text(&"no causes"))?;
        let sum = |is: &dyn Fn(&Piece) -> bool| why.pieces.iter().filter(|p| is(p)).map(|p| p.ns).sum::<f64>();
        let change_ns = why.means[1] - why.means[0];
        Ok(Judged {
            injected_ns: mean_frame(&changed.batch) - mean_frame(&without.batch),
            change_ns,
            right_ns: sum(&|p| self.is_right(p)),
            unknown_ns: sum(&|p| p.cause == "unknown"),
            remainder_ns: sum(&|_| true) - change_ns,
            why,
        })
    }
}

/// The mean time of the marked frames of a trace, ns.
fn mean_frame(batch: &Batch) -> f64 {
    let (mut total, mut frames, mut begun) = (0, 0, None);
    for event in &batch.events {
        let EventKind::Mark(mark) = &event.what else { continue };
        match mark.edge {
            _ if batch.names.get(mark.name.0 as usize - 1).is_none_or(|name| **name != *FRAME) => {}
            MarkEdge::Begin => begun = Some(event.at.0),
            _ => {
                total += event.at.0 - begun.take().unwrap_or(event.at.0);
                frames += 1;
            }
        }
    }
    total as f64 / f64::from(frames)
}
