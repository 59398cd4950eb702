//! Explanations by an identity of counters: the time is a product, so its change is the product of the factors' changes.
//!
//! `elapsed = instructions × CPI / frequency / parallelism`, where CPI = cycles / instructions, frequency = cycles / CPU time, and
//! parallelism = CPU time / elapsed (the CPUs in use). Without the elapsed time, the same without the last factor gives the CPU time.
//! It is the "iron law" of processor performance (Emer and Clark 1984) with the number of CPUs.
//!
//! A product's change is split into parts by the logarithmic mean (LMDI, Ang 2005): `part = L(a, b) × ln(factor's ratio)` with
//! `L(a, b) = (b − a) / ln(b / a)`. The parts sum exactly to `b − a`, and do not depend on the order of the factors.

use crate::{Piece, Run, Why};

/// A change of a factor below this share is not named in the line.
const LEAST: f64 = 0.005;

/// A factor on both sides, and how much longer it made the time.
struct Factor {
    cause: &'static str,
    name: &'static str,
    /// Its values on A and B, in the unit in which it is shown.
    values: [f64; 2],
    unit: &'static str,
    /// The time's ratio B / A, if only this factor had changed.
    ratio: f64,
}

/// The mean of a value over the runs of a side; `None` if a run does not have it.
fn mean(runs: &[&Run], id: &str) -> Option<f64> {
    let all = runs.iter().map(|run| run.values.get(id).copied()).collect::<Option<Vec<f64>>>()?;
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    (mean > 0.0 && mean.is_finite()).then_some(mean)
}

/// The same value on both sides.
fn both(a: &[&Run], b: &[&Run], id: &str) -> Option<[f64; 2]> {
    Some([mean(a, id)?, mean(b, id)?])
}

/// Explains the change of the elapsed time (or, if it is unknown, of the CPU time) by the counts of instructions and cycles; `None`
/// if a run lacks one of `cpu_ns`, `instructions` and `cycles`. With several runs a side, their mean values are explained.
///
/// The pieces have the causes `work` (instructions), `cpi`, `frequency` and `parallelism`; they sum to the change.
#[must_use]
pub fn explain(a: &[&Run], b: &[&Run]) -> Option<Why> {
    let (cpu, instructions) = (both(a, b, "cpu_ns")?, both(a, b, "instructions")?);
    let cycles = both(a, b, "cycles")?;
    let elapsed = both(a, b, "elapsed");
    let means = elapsed.unwrap_or(cpu);
    let per = |over: [f64; 2], under: [f64; 2]| [over[0] / under[0], over[1] / under[1]];
    let factor = |cause, name, unit, values: [f64; 2], is_divisor| {
        let ratio = values[1] / values[0];
        Factor { cause, name, values, unit, ratio: if is_divisor { 1.0 / ratio } else { ratio } }
    };
    let giga = instructions.map(|count| count / 1e9);
    let mut factors = vec![
        factor("work", "instructions", " G", giga, false),
        factor("cpi", "CPI", "", per(cycles, instructions), false),
        // Cycles per ns are GHz.
        factor("frequency", "frequency", " GHz", per(cycles, cpu), true),
    ];
    if let Some(elapsed) = elapsed {
        factors.push(factor("parallelism", "CPUs in use", "", per(cpu, elapsed), true));
    }
    factors.sort_by(|x, y| y.ratio.ln().abs().total_cmp(&x.ratio.ln().abs()));
    let weight = logarithmic_mean(means);
    let piece = |of: &Factor| Piece {
        cause: of.cause.to_owned(),
        title: shown(of),
        role: None,
        ns: weight * of.ratio.ln(),
        means: None,
        interval: None,
    };
    let pieces = factors.iter().map(piece).collect();
    Some(Why { line: Some(line(means, &factors, elapsed.is_some())), means, pieces })
}

/// `(b − a) / ln(b / a)`; for equal values, the value.
fn logarithmic_mean([a, b]: [f64; 2]) -> f64 {
    let log = (b / a).ln();
    if log == 0.0 { a } else { (b - a) / log }
}

/// `frequency 2.41 → 0.80 GHz`.
fn shown(of: &Factor) -> String {
    format!("{} {} → {}{}", of.name, number(of.values[0]), number(of.values[1]), of.unit)
}

/// Two decimals, more for small numbers, and fewer for large ones.
fn number(value: f64) -> String {
    match value.abs() {
        big if big >= 100.0 => format!("{value:.1}"),
        small if small < 0.1 => format!("{value:.4}"),
        _ => format!("{value:.2}"),
    }
}

/// `2.961 × slower: frequency 2.41 → 0.80 GHz explains 2.999 ×; CPUs in use 2.82 → 2.68 (1.050 ×), CPI 1.05 → 0.99 (0.939 ×)`.
fn line(means: [f64; 2], factors: &[Factor], is_elapsed: bool) -> String {
    let ratio = means[1] / means[0];
    let is_more = ratio >= 1.0;
    let in_words = |ratio: f64| if is_more { ratio } else { 1.0 / ratio };
    let matters = |ratio: f64| (ratio - 1.0).abs() >= LEAST;
    let change = match (is_elapsed, is_more) {
        _ if !matters(ratio) => "no change of more than 0.5 %".to_owned(),
        (true, true) => format!("{ratio:.3} × slower"),
        (true, false) => format!("{:.3} × faster", 1.0 / ratio),
        (false, true) => format!("{ratio:.3} × the CPU time"),
        (false, false) => format!("{:.3} × less CPU time", 1.0 / ratio),
    };
    let mut named = factors.iter().filter(|of| matters(of.ratio));
    let Some(first) = named.next() else { return change };
    let others: Vec<String> = named.map(|of| format!("{} ({:.3} ×)", shown(of), in_words(of.ratio))).collect();
    let rest = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    format!("{change}: {} explains {:.3} ×{rest}", shown(first), in_words(first.ratio))
}

/// How much of the CPU time threads were preempted, as a sentence, if both sides have `preempted_ns`: whether the scheduler can
/// explain the change at all.
#[must_use]
pub fn preempted_time(a: &[&Run], b: &[&Run]) -> Option<String> {
    let (preempted, cpu) = (both(a, b, "preempted_ns")?, both(a, b, "cpu_ns")?);
    let seconds = preempted.map(|ns| ns / 1e9);
    Some(format!(
        "threads were preempted for {} → {} s, of {} → {} s of CPU time",
        number(seconds[0]),
        number(seconds[1]),
        number(cpu[0] / 1e9),
        number(cpu[1] / 1e9)
    ))
}

/// What SMT changed: see [`smt`].
#[derive(Clone, PartialEq, Debug)]
pub struct Smt {
    /// Instructions of B / A: per second if both sides have the elapsed time, otherwise of runs of equal length.
    pub instructions: f64,
    /// Cycles of B / A, likewise: each sibling counts its own.
    pub cycles: f64,
    /// Instructions per cycle of a whole core on A and B.
    pub core_ipc: [f64; 2],
    /// The answer in one line.
    pub line: String,
}

/// Compares the throughput of whole cores, if the sides differ in SMT. `siblings`: CPUs per core in use on A and B (1: SMT is off).
///
/// Cycles are counted for each sibling, so that two busy siblings of one core count each cycle twice: instructions per cycle of a core
/// are those of its CPUs times their number. `None` if a run lacks `instructions` or `cycles`.
#[must_use]
pub fn smt(a: &[&Run], b: &[&Run], siblings: [usize; 2]) -> Option<Smt> {
    let (instructions, cycles) = (both(a, b, "instructions")?, both(a, b, "cycles")?);
    let per_time = both(a, b, "elapsed").map_or(1.0, |elapsed| elapsed[0] / elapsed[1]);
    let ratio = |of: [f64; 2]| of[1] / of[0] * per_time;
    let ipc = |side: usize| instructions[side] / cycles[side] * siblings[side] as f64;
    let out = Smt {
        instructions: ratio(instructions),
        cycles: ratio(cycles),
        core_ipc: [ipc(0), ipc(1)],
        line: String::new(),
    };
    let line = format!(
        "{:.3} × the instructions in {:.3} × the cycles, which each SMT sibling counts for itself: instructions per cycle of a core \
         {:.2} → {:.2}",
        out.instructions, out.cycles, out.core_ipc[0], out.core_ipc[1]
    );
    Some(Smt { line, ..out })
}
