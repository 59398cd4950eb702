//! Judges the causes of a change on drawn pairs: `causes [--seeds 7] [--from 0]`.
//!
//! Each pair is a simulated machine and program (`crates/faults`), with and without one injected fault; for the frequency, the healthy run and the
//! same run stretched, with both frequencies recorded. The objective is the mean frame. A line per pair: the change per frame, and the
//! share of it in the pieces with the injected cause.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use compare::{CompareOptions, Comparison, MeasureOptions};
use engine::PassOptions;
use faults::kinds::KINDS;
use faults::{Dose, Drawn, Set, draw, write};
use model::{Batch, Event, EventKind, Ns};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A rule of a fault, the word of its cause, and the causes of pieces that count as it. A lock's holder keeps others waiting: they are ready,
/// blocked, or woken late.
const CAUSES: [(&str, &str, &[&str]); 4] = [
    ("critical-thread-on-efficient-core", "core type", &["core_type"]),
    ("woke-on-busy-sibling", "sibling", &["sibling"]),
    ("low-priority-ran-while-high-was-ready", "ready", &["ready"]),
    ("lock-convoy", "lock", &["serial", "ready", "blocked", "wakeup_latency"]),
];

/// The share of a change that must be in its pieces.
const LEAST_SHARE: f64 = 0.9;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: u64| {
        let at = arguments.iter().position(|of| of == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    match judge(number("--seeds", 7), number("--from", 0)) {
        Ok((right, all)) => {
            println!(
                "{right} of {all} pairs have at least {:.0} % of the change in the injected cause",
                LEAST_SHARE * 100.0
            );
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn judge(seeds: u64, from: u64) -> Result<(usize, usize), String> {
    let (mut right, mut all) = (0, 0);
    let mut count = |word: &str, seed: u64, found: &Comparison, causes: &[&str]| {
        all += 1;
        let share = share(found, causes);
        right += usize::from(share >= LEAST_SHARE);
        let [a, b] = found.why.as_ref().map_or([0.0; 2], |why| why.means);
        let first = found.why.iter().flat_map(|why| &why.pieces).next().map_or("-", |piece| piece.title.as_str());
        println!("{word:10} {seed:4}  {:+9.3} ms per frame  {:5.1} %  first: {first}", (b - a) / 1e6, share * 100.0);
    };
    for (rule, word, causes) in CAUSES {
        let kind = KINDS.iter().find(|kind| kind.rule == rule).ok_or_else(|| format!("no fault {rule}"))?;
        for seed in (from..).filter(|seed| seed % 4 != 3).take(seeds as usize) {
            let drawn = draw(&[kind], Dose::Full, Set::Training, seed)?;
            let fixed = Drawn { batch: drawn.fixed.clone(), ..drawn.clone() };
            count(word, seed, &compared(&fixed, &drawn)?, causes);
        }
    }
    for seed in (from..).filter(|seed| seed % 4 != 3).take(seeds as usize) {
        let healthy = draw(&[], Dose::Full, Set::Training, seed)?;
        let (full, half) = (at_frequency(&healthy, 1, 3_000_000), at_frequency(&healthy, 2, 1_500_000));
        count("frequency", seed, &compared(&full, &half)?, &["frequency"]);
    }
    Ok((right, all))
}

/// The same run in `times` the time, with this frequency of all CPUs recorded at its begin.
fn at_frequency(drawn: &Drawn, times: i64, khz: u32) -> Drawn {
    let mut events = Vec::with_capacity(drawn.batch.events.len() + drawn.machine.cpus());
    if let Some(first) = drawn.batch.events.first() {
        let of_cpu = |cpu| Event { at: Ns::ZERO, cpu, what: EventKind::Frequency { of: cpu, khz }, ..*first };
        events.extend((0..drawn.machine.cpus() as u32).map(|cpu| of_cpu(model::CpuId(cpu))));
    }
    events.extend(drawn.batch.events.iter().map(|event| Event { at: Ns(event.at.0 * times), ..*event }));
    Drawn { batch: Batch { events, ..drawn.batch.clone() }, span_ns: drawn.span_ns * times, ..drawn.clone() }
}

fn compared(a: &Drawn, b: &Drawn) -> Result<Comparison, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let written = |drawn: &Drawn, name: &str| -> Result<PathBuf, String> {
        let path = folder.path().join(name);
        write(drawn, Path::new(&path)).map_err(|e| e.to_string())?;
        Ok(path)
    };
    let (a, b) = (written(a, "a.cw")?, written(b, "b.cw")?);
    let options =
        MeasureOptions { target: Some(diagnose::Target::Marks("frame".to_owned())), ..MeasureOptions::default() };
    let sides =
        compare::measure([&[a], &[b]], &PassOptions::default(), &options, false, &|_| {}).map_err(|e| e.to_string())?;
    compare::compare([&sides.runs[0], &sides.runs[1]], &CompareOptions::default()).map_err(|e| e.to_string())
}

/// The share of the change in the pieces with these causes.
fn share(found: &Comparison, causes: &[&str]) -> f64 {
    let Some(why) = &found.why else { return 0.0 };
    let change = why.means[1] - why.means[0];
    why.pieces.iter().filter(|piece| causes.contains(&piece.cause.as_str())).map(|piece| piece.ns).sum::<f64>() / change
}
