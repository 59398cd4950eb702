//! How much of each thread's time on a CPU interrupts took.
//!
//! ```text
//!   cpu0   A │ disk │ softirq BLOCK ┌ timer ┐ softirq │ A      time within nested handlers belongs to the inner one:
//!            1 ms         1 ms        1 ms     1 ms            disk 1 ms, softirq BLOCK 2, timer 1
//! ```

use super::idle_wakeups::interrupt_name;
use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{
    CpuState, CpuStretch, Interrupt, IrqKind, Ns, Power, Rows, ThreadKey, ThreadStretch, Tid, TimelineEvent, Value,
};
use std::collections::BTreeMap;

/// The maximum nesting depth of handlers; beyond it, ends were lost. The kernel nests about four deep.
const MAX_DEPTH: usize = 16;

pub(crate) struct Interrupts {
    /// By the CPU's index in the world: the active handlers, the innermost last.
    cpus: Vec<Vec<Handler>>,
    threads: ByThread<Interrupted>,
    start: Ns,
}

struct Handler {
    of: Interrupt,
    begins: Begins,
    since: Ns,
    /// The time taken by handlers nested within it.
    within: Ns,
}

#[derive(Clone, Default)]
struct Interrupted {
    tid: Tid,
    by: BTreeMap<(u32, Interrupt), Sums>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    count: i64,
    time: Ns,
    longest: Ns,
}

impl Sums {
    fn add(&mut self, more: &Self) {
        self.count += more.count;
        self.time += more.time;
        self.longest = self.longest.max(more.longest);
    }
}

/// Returns the kind's name and number: of a device the interrupt's, of a softirq the vector's.
fn kind(of: Interrupt) -> (&'static str, Option<i64>) {
    match of.kind {
        IrqKind::Hard => ("device", Some(of.number.into())),
        IrqKind::Soft => ("softirq", Some(of.number.into())),
        IrqKind::Timer => ("timer", None),
        IrqKind::Ipi => ("ipi", None),
    }
}

impl Analysis for Interrupts {
    fn new(context: &Context<'_>) -> Self {
        Self { cpus: Vec::new(), threads: ByThread::new(), start: context.span.start }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, _: &World) {
        self.threads.of(stretch.thread).tid = stretch.tid;
    }

    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        // No handler lasts over a switch: the end of an open one was lost.
        if begins == Begins::Here
            && let Some(open) = world.place(stretch.cpu).and_then(|place| self.cpus.get_mut(place))
        {
            open.clear();
        }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, begins: Begins, world: &World) {
        let Some((cpu, to)) = event.power() else { return };
        let Some(place) = world.place(cpu) else { return };
        if place >= self.cpus.len() {
            self.cpus.resize_with(world.cpus.len(), Vec::new);
        }
        let (open, at) = (&mut self.cpus[place], event.at.max(self.start));
        match to {
            Power::InterruptBegin(of) => {
                if open.len() == MAX_DEPTH {
                    open.clear();
                }
                open.push(Handler { of, begins, since: at, within: Ns::ZERO });
            }
            Power::InterruptEnd(of) => {
                let Some(handler) = open.pop() else { return };
                // An end identifies its interrupt by number; not all ends repeat the handler's name.
                if (handler.of.kind, handler.of.number) != (of.kind, of.number) {
                    open.clear();
                    return;
                }
                let whole = at - handler.since;
                if let Some(outer) = open.last_mut() {
                    outer.within += whole;
                }
                let now = &world.cpus[place];
                if now.state == CpuState::Busy {
                    let time = whole - handler.within;
                    let count = i64::from(handler.begins == Begins::Here);
                    let sums = self.threads.of(now.thread).by.entry((cpu.0, handler.of)).or_default();
                    sums.add(&Sums { count, time, longest: time });
                }
            }
            Power::Awake | Power::Idle(_) | Power::Frequency(_) | Power::Parked(_) => {}
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (thread, of) in self.threads.iter() {
            // Ordered by name: the name numbers differ between a file and the trace folder imported from it.
            let mut by = BTreeMap::<(u32, &str, Option<i64>, String), Sums>::new();
            for ((cpu, interrupt), sums) in &of.by {
                let (kind, number) = kind(*interrupt);
                by.entry((*cpu, kind, number, interrupt_name(*interrupt, world))).or_default().add(sums);
            }
            for ((cpu, kind, number, interrupt), sums) in by {
                out.row(&[
                    thread.into(),
                    i64::from(of.tid.0).into(),
                    i64::from(cpu).into(),
                    kind.into(),
                    number.into(),
                    Value::Text(interrupt),
                    sums.count.into(),
                    sums.time.into(),
                    sums.longest.into(),
                ]);
            }
        }
    }
}
