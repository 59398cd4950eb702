//! Threads outside the program that run from time to time.

use super::program;
use crate::durations::Durations;
use crate::program::{Program, Step};
use testkit::Rng;

/// Draws for each of them its alternating times of running and sleeping, ns.
pub(super) fn drawn(cpus: usize, rng: &mut Rng) -> Vec<Vec<[i64; 2]>> {
    let (running, pauses) = (Durations::of("web", "running"), Durations::of("web", "blocked"));
    let turn = |rng: &mut Rng| [running.draw(rng, 1_000_000), 2_000_000 + pauses.draw(rng, 10_000_000)];
    (0..(cpus / 8).max(1)).map(|_| (0..200).map(|_| turn(rng)).collect()).collect()
}

/// Returns their programs.
pub(super) fn programs(drawn: &[Vec<[i64; 2]>]) -> impl Iterator<Item = Program> {
    drawn.iter().enumerate().map(|(n, turns)| {
        let steps = turns.iter().flat_map(|[run, sleep]| [Step::Run(*run), Step::Sleep(*sleep)]).collect();
        Program { again: true, ..program(&format!("server {n}"), 0, steps) }
    })
}
