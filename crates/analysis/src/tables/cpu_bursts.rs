//! How long threads ran from one wait to the next, by core class and by the state of the SMT siblings.

use super::smt_threads::{SIBLING_STATES, sibling_state};
use crate::by_thread::{Before, ByThread};
use crate::core_times::CoreClocks;
use crate::{Analysis, Begins, Context, World};
use model::{CoreType, CpuState, CpuStretch, Ns, Reason, Rows, ThreadState, ThreadStretch, Tid, Value};
use std::collections::BTreeMap;

pub(crate) struct CpuBursts {
    clocks: CoreClocks,
    types: Vec<&'static str>,
    threads: ByThread<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    tid: Tid,
    before: Before,
    open: Burst,
    lengths: BTreeMap<Place, BTreeMap<Option<usize>, Sums>>,
}

/// The core class and an index in [`SIBLING_STATES`]; `None` if a burst had several.
type Place = (Option<u32>, Option<usize>);

/// The running time since the last wait.
#[derive(Clone, Default)]
struct Burst {
    /// Whether its begin and everything since were observed.
    whole: bool,
    class: Option<u32>,
    several: bool,
    by: [Ns; 4],
}

#[derive(Clone, Copy, Default)]
struct Sums {
    bursts: i64,
    running: Ns,
}

/// The number of steps in an octave of durations, and the lower bound of the second row.
const STEPS: usize = 16;
const SHORTEST: i64 = 1 << OCTAVE;
const OCTAVE: u32 = 10;

/// Returns the row of a duration. Octaves are divided into equal steps, like in an HDR histogram: a row is at most a
/// sixteenth of its durations wide.
fn row(length: Ns) -> usize {
    if length.0 < SHORTEST {
        return 0;
    }
    let octave = length.0.ilog2() - OCTAVE;
    let step = (length.0 >> (octave + OCTAVE - STEPS.ilog2())) as usize % STEPS;
    1 + octave as usize * STEPS + step
}

/// Returns the lower bound of a row.
fn first(row: usize) -> Ns {
    let Some(at) = row.checked_sub(1) else { return Ns::ZERO };
    let step = SHORTEST / STEPS as i64;
    Ns(((STEPS + at % STEPS) as i64).saturating_mul(step << (at / STEPS)))
}

impl Burst {
    fn add(&mut self, class: u32, sibling_state: usize, elapsed: Ns) {
        self.several |= *self.class.get_or_insert(class) != class;
        self.by[sibling_state] += elapsed;
    }

    /// Returns the sibling state of the burst. A sibling that is busy only briefly does not change it.
    fn sibling_state(&self, running: Ns) -> Option<usize> {
        self.by.iter().position(|ns| ns.0 > running.0 - running.0 / STEPS as i64)
    }
}

impl Thread {
    /// Ends the burst; `whole`: its end was observed.
    fn close(&mut self, whole: bool) {
        let burst = std::mem::take(&mut self.open);
        let running: Ns = burst.by.iter().copied().sum();
        if running == Ns::ZERO {
            return;
        }
        let place = (burst.class.filter(|_| !burst.several), burst.sibling_state(running));
        let length = (whole && burst.whole).then(|| row(running));
        let sums = self.lengths.entry(place).or_default().entry(length).or_default();
        *sums = Sums { bursts: sums.bursts + 1, running: sums.running + running };
    }
}

impl CpuBursts {
    fn add(&mut self, core: usize, elapsed: Ns, world: &World) {
        let core = &world.cores[core];
        if core.busy == 0 || elapsed == Ns::ZERO {
            return;
        }
        for cpu in core.cpus.iter().map(|c| &world.cpus[*c]).filter(|c| c.state == CpuState::Busy) {
            self.threads.of(cpu.thread).open.add(cpu.class, sibling_state(core), elapsed);
        }
    }
}

impl Analysis for CpuBursts {
    fn new(context: &Context<'_>) -> Self {
        let types = context.machine.class_names.iter().map(|t| t.as_str()).collect();
        Self { clocks: CoreClocks::new(context), types, threads: ByThread::new() }
    }

    fn weight() -> usize {
        3
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, _: &World) {
        let of = self.threads.of(stretch.thread);
        let changes = of.before.changes(stretch, begins);
        match stretch.state {
            ThreadState::Running => of.tid = stretch.tid,
            // A wait ends the burst, and the next one is observed from its begin.
            ThreadState::Blocked => {
                of.close(changes);
                of.open.whole = true;
            }
            // A thread that is woken was waiting, even if the begin of the wait was not recorded.
            ThreadState::Ready if matches!(stretch.reason, Reason::Woken | Reason::New) => {
                of.close(false);
                of.open.whole = changes;
            }
            ThreadState::Ready => {}
            ThreadState::Exited => of.close(false),
            ThreadState::Unknown => of.open.whole = false,
        }
        // A thread whose running is only inferred may have waited in between.
        of.open.whole &= !matches!(stretch.reason, Reason::Inferred);
    }

    fn cpu(&mut self, stretch: &CpuStretch, _: Begins, world: &World) {
        if let Some((core, elapsed)) = self.clocks.elapsed(stretch.cpu, world) {
            self.add(core, elapsed, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (core, elapsed) in self.clocks.rest(world) {
            self.add(core, elapsed, world);
        }
        let uniform = CoreType::Uniform.as_str();
        for (thread, of) in self.threads.iter() {
            of.close(false);
            for ((class, sibling_state), lengths) in &of.lengths {
                let core_type = class.map(|c| self.types.get(c as usize).copied().unwrap_or(uniform));
                for (length, sums) in lengths {
                    out.row(&[
                        thread.into(),
                        i64::from(of.tid.0).into(),
                        class.map(i64::from).into(),
                        core_type.map_or(Value::Null, Value::from),
                        sibling_state.map_or(Value::Null, |b| Value::from(SIBLING_STATES[b])),
                        length.map(first).into(),
                        length.map(|row| first(row + 1)).into(),
                        sums.bursts.into(),
                        sums.running.into(),
                    ]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_in_a_row_no_wider_than_a_sixteenth_of_it() {
        for length in [0, 1023, 1024, 1087, 1088, 2047, 2048, 2176, 999_999, 1_000_000, 1 << 61, i64::MAX >> 1] {
            let row = row(Ns(length));
            let (from, to) = (first(row).0, first(row + 1).0);
            assert!(from <= length && length < to, "{from} {length} {to}");
            assert!(row == 0 || (to - from) * 16 <= from, "{from} {to}");
        }
    }
}
