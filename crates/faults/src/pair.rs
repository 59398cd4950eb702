//! The same draw twice, healthy both times but for one change: more work, a slower clock, or a busy sibling.

use crate::app::{self, Draw};
use crate::machines::{Kind as Make, Machine};
use crate::program::{Cpus, Load, Step};
use crate::sim::simulate;
use crate::{Drawn, Set, batch, rng};
use model::{Batch, CpuId, Event, EventKind, Ns, Tid};

/// What differs between two simulations of one draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The threads whose names begin with this compute this many percent of what they compute without the change.
    Work {
        /// The prefix of their names.
        threads: &'static str,
        /// Percent; 100 is no change.
        percent: i64,
    },
    /// All CPUs run at the second frequency rather than at the first, kHz; both are recorded.
    Frequency([u32; 2]),
    /// A batch thread computes on the sibling of the main thread's CPU rather than on a core of its own. No other thread may use the two cores:
    /// only the main thread is delayed.
    Sibling,
}

/// Draws a healthy program that renders frames, on a machine of this kind: [`Drawn::batch`] is with the change, [`Drawn::fixed`] without it.
///
/// # Errors
/// If the load does not end.
pub fn draw_pair(difference: Difference, make: Make, set: Set, seed: u64) -> Result<Drawn, String> {
    // Beyond the two cores of the change, other threads need some, too.
    let least = if difference == Difference::Sibling { 8 } else { 1 };
    let drawn = |attempt| {
        let mut rng = rng(set, seed, attempt);
        (Machine::drawn(make, &mut rng), rng)
    };
    let fits = (0..20).map(drawn).find(|(machine, _)| machine.cpus() >= least);
    let (machine, mut rng) = fits.ok_or_else(|| format!("seed {seed}: no machine has {least} CPUs"))?;
    let draw = Draw::new(machine, None, &mut rng);
    let [mut changed, mut load] = [draw.load(&[]), draw.load(&[])];
    match difference {
        Difference::Work { threads, percent } => scale(&mut changed, threads, |ns| ns * percent / 100),
        Difference::Frequency([before, after]) => {
            scale(&mut changed, "", |ns| ns * i64::from(before) / i64::from(after));
        }
        Difference::Sibling => {
            let cpus: Vec<usize> = (0..draw.machine.cpus()).collect();
            let sibling = draw.machine.sibling(0).ok_or("the first CPU has no sibling")?;
            let is_apart = |cpu: &&usize| ![0, sibling].contains(*cpu);
            let apart = *cpus.iter().rfind(is_apart).ok_or("one core is too few")?;
            let all = draw.machine.all();
            let of = |cpu: usize| 1 << cpu | draw.machine.sibling(cpu).map_or(0, |other| 1 << other);
            let others = all & !of(0) & !of(apart);
            confine(&mut changed, others, 1 << sibling);
            confine(&mut load, others, 1 << apart);
        }
    }
    let (outcome, fixed) = (simulate(&draw.machine, &changed)?, simulate(&draw.machine, &load)?);
    let span_ns = outcome.end.0;
    let (mut changed, mut fixed) = (batch(outcome), batch(fixed));
    if let Difference::Frequency([before, after]) = difference {
        record(&mut fixed, &draw.machine, before);
        record(&mut changed, &draw.machine, after);
    }
    Ok(Drawn { machine: draw.machine, batch: changed, fixed, truths: Vec::new(), span_ns, deleted: 0 })
}

/// Changes what the threads whose names begin with this compute. The pieces of a pool are computed by workers.
fn scale(load: &mut Load, threads: &str, by: impl Fn(i64) -> i64) {
    let of_workers = "worker".starts_with(threads);
    for program in &mut load.programs {
        let is_scaled = program.name.starts_with(threads);
        for step in &mut program.steps {
            match step {
                Step::Run(ns) if is_scaled => *ns = by(*ns),
                Step::Fill(_, pieces) if of_workers => pieces.iter_mut().for_each(|ns| *ns = by(*ns)),
                _ => {}
            }
        }
    }
}

/// Lets the main thread use the first CPU, a new batch thread these, and all others the others.
fn confine(load: &mut Load, others: Cpus, batch: Cpus) {
    for program in &mut load.programs {
        program.steps.insert(0, Step::Allow(if program.name == "main" { 1 } else { others }));
    }
    load.programs.extend(app::hogs(0, 1).map(|mut hog| {
        hog.steps.insert(0, Step::Allow(batch));
        hog
    }));
}

/// Records the frequency of all CPUs at the start.
fn record(batch: &mut Batch, machine: &Machine, khz: u32) {
    let event = |cpu| {
        let cpu = CpuId(cpu as u32);
        Event { at: Ns::ZERO, offset: 0, cpu, current: Tid::IDLE, what: EventKind::Frequency { of: cpu, khz } }
    };
    batch.events.splice(0..0, (0..machine.cpus()).map(event));
    batch.events.iter_mut().zip(0..).for_each(|(event, offset)| event.offset = offset);
}
