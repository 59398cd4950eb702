//! Which interrupts took how much of the time for which each thread was on a CPU.
//!
//! ```text
//!   cpu0   A │ disk │ softirq BLOCK ┌ timer ┐ softirq │ A      what lies within another handler is the inner one's:
//!            1 ms         1 ms        1 ms     1 ms            disk 1 ms, softirq BLOCK 2, timer 1
//! ```

use super::idle_wakeups::called;
use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{
    CpuState, CpuStretch, Interrupt, IrqKind, Ns, Power, Rows, ThreadKey, ThreadStretch, Tid, TimelineEvent, Value,
};
use std::collections::BTreeMap;

/// Handlers within one another that are followed; of more, ends were lost. The kernel's own go four deep or so.
const DEEPEST: usize = 16;

pub(crate) struct Interrupts {
    /// By the CPU's place in the world: the handlers under way, the innermost last.
    cpus: Vec<Vec<Handler>>,
    threads: ByThread<Interrupted>,
    start: Ns,
}

struct Handler {
    of: Interrupt,
    begins: Begins,
    since: Ns,
    /// What handlers within it took.
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
        self.time = self.time + more.time;
        self.longest = self.longest.max(more.longest);
    }
}

/// Its word and its number: of a device the interrupt's, of a softirq the vector's.
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
        // No handler lasts over a switch: the end of one that is open was lost.
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
            Power::Interrupt(of) => {
                if open.len() == DEEPEST {
                    open.clear();
                }
                open.push(Handler { of, begins, since: at, within: Ns::ZERO });
            }
            Power::Interrupted(of) => {
                let Some(handler) = open.pop() else { return };
                // An end names its interrupt by number; not all name the handler again.
                if (handler.of.kind, handler.of.number) != (of.kind, of.number) {
                    open.clear();
                    return;
                }
                let whole = at - handler.since;
                if let Some(outer) = open.last_mut() {
                    outer.within = outer.within + whole;
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
        for (ThreadKey(thread), of) in self.threads.iter() {
            // In the order of names: their numbers differ between a file and the folder that is made of it.
            let mut by = BTreeMap::<(u32, &str, Option<i64>, String), Sums>::new();
            for ((cpu, interrupt), sums) in &of.by {
                let (kind, number) = kind(*interrupt);
                by.entry((*cpu, kind, number, called(*interrupt, world))).or_default().add(sums);
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
