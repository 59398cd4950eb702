//! How long threads ran from switch-in to switch-out.

use crate::by_thread::{Before, ByThread};
use crate::lengths::Lengths;
use crate::{Analysis, Begins, Context, World};
use model::{CpuId, Ns, Reason, Rows, ThreadState, ThreadStretch, Tid, Value};

pub(crate) struct RunLengths {
    end: Ns,
    ready_known: bool,
    /// The core class of each CPU, by number.
    classes: Vec<usize>,
    types: Vec<&'static str>,
    threads: ByThread<Runs>,
}

#[derive(Clone, Default)]
struct Runs {
    tid: Tid,
    before: Before,
    woken: bool,
    open: Option<Run>,
    /// By class; the last entry is for CPUs that the source does not record.
    by_class: Vec<Lengths<Sums>>,
}

/// A run whose end is confirmed only when the next stretch begins.
#[derive(Clone, Copy)]
struct Run {
    class: usize,
    time: Ns,
    whole: bool,
    woken: bool,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    runs: i64,
    running: Ns,
    after_wake: i64,
    after_wake_ns: Ns,
}

impl RunLengths {
    fn class(&self, cpu: Option<CpuId>) -> usize {
        cpu.map_or(self.types.len(), |c| self.classes.get(c.0 as usize).copied().unwrap_or(0))
    }
}

impl Runs {
    /// Ends the open run; `whole`: its end was observed.
    #[inline]
    fn close(&mut self, whole: bool) {
        let Some(run) = self.open.take() else { return };
        if run.class >= self.by_class.len() {
            self.by_class.resize(run.class + 1, Lengths::default());
        }
        let sums = self.by_class[run.class].of(Some(run.time).filter(|_| whole && run.whole));
        sums.runs += 1;
        sums.running += run.time;
        if run.woken {
            sums.after_wake += 1;
            sums.after_wake_ns += run.time;
        }
    }
}

impl Analysis for RunLengths {
    fn new(context: &Context<'_>) -> Self {
        let machine = context.machine;
        let len = machine.cpus.last().map_or(0, |c| c.id.0 + 1);
        let types = machine.class_names.iter().map(|t| t.as_str());
        let mut types: Vec<_> = types.collect();
        if types.is_empty() {
            types.push(model::CoreType::Uniform.as_str());
        }
        let class = |cpu| (machine.core_class(CpuId(cpu)) as usize).min(types.len() - 1);
        Self {
            end: context.span.end,
            ready_known: context.ready_known,
            classes: (0..len).map(class).collect(),
            types,
            threads: ByThread::new(),
        }
    }

    fn weight() -> usize {
        4
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, _: &World) {
        let class = self.class(stretch.cpu);
        let runs = self.threads.of(stretch.thread);
        runs.tid = stretch.tid;
        runs.close(stretch.reason != Reason::Lossy);
        let changes = runs.before.changes(stretch, begins);
        if stretch.state == ThreadState::Running {
            let whole = changes && stretch.span.end < self.end;
            let woken = runs.woken && changes;
            runs.open = Some(Run { class, time: stretch.span.len(), whole, woken });
        }
        // A thread that was woken and got a CPU at one instant was blocked until then.
        let woken = matches!(stretch.reason, Reason::Woken | Reason::New | Reason::WokenBefore);
        runs.woken = woken && stretch.state == ThreadState::Ready || stretch.state == ThreadState::Blocked;
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        let (ready_known, types) = (self.ready_known, &self.types);
        for (thread, runs) in self.threads.iter() {
            runs.close(true);
            // Null sorts before all classes.
            let known = runs.by_class.len().min(types.len());
            let (named, nowhere) = runs.by_class.split_at(known);
            let nowhere = nowhere.iter().map(|lengths| (None, lengths));
            for (class, lengths) in nowhere.chain(named.iter().enumerate().map(|(at, l)| (Some(at), l))) {
                for ([from, to], sums) in lengths.rows().filter(|(_, sums)| sums.runs > 0) {
                    out.row(&[
                        thread.into(),
                        i64::from(runs.tid.0).into(),
                        class.map(|c| c as i64).into(),
                        class.and_then(|c| types.get(c)).map_or(Value::Null, |t| Value::from(*t)),
                        from,
                        to,
                        sums.runs.into(),
                        sums.running.into(),
                        ready_known.then_some(sums.after_wake).into(),
                        ready_known.then_some(sums.after_wake_ns).into(),
                    ]);
                }
            }
        }
    }
}
