//! Runs the analyses of one pass on several threads. Each thread gets the same timeline and makes its share of the tables.

use crate::EngineError;
use account::Stretches;
use analysis::{Context, Running, ThreadGroups, shares};
use model::{CpuStretch, Ns, Stacks, Table, ThreadStretch, Timeline, TimelineEvent};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

/// The maximum number of threads. More gain little: each share processes all CPUs and thread instances, and one analysis
/// (`ran_instead`) may take a quarter of the total time.
const MAX_THREADS: usize = 4;
/// The number of parts of the timeline that may wait for a thread.
const AHEAD: usize = 4;

/// The input of analyses, besides the timeline.
pub(crate) struct AnalysisInput<'a> {
    pub(crate) context: Context<'a>,
    /// All names of the source; the first is [`model::NameId`] 1.
    pub(crate) names: Vec<Box<str>>,
    /// The callchains, if one of the tables needs them.
    pub(crate) stacks: Option<Arc<Stacks>>,
    /// The pools and the processes of the threads, if one of the tables needs them.
    pub(crate) groups: Arc<ThreadGroups>,
    /// The frame budget, if set by the user.
    pub(crate) budget: Option<Ns>,
    /// Whether the analyses get no marks.
    pub(crate) hide_marks: bool,
}

impl AnalysisInput<'_> {
    pub(crate) fn start(&self, tables: &[&str]) -> Running {
        let mut running = Running::start(tables, &self.context, self.names.clone());
        running.budget(self.budget);
        if self.hide_marks {
            running.hide_marks();
        }
        running.groups(&self.groups);
        if let Some(stacks) = &self.stacks {
            running.callchains(stacks);
        }
        running
    }

    fn run(&self, tables: &[&str], received: &Receiver<Arc<Part>>, each: &Mutex<EachTable<'_>>) {
        let mut running = self.start(tables);
        while let Ok(part) = received.recv() {
            running.push(&part.timeline());
        }
        let mut tables = running.tables();
        loop {
            // If another thread panicked while it held the lock, joining it ends the pass.
            let mut each = each.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(table) = tables.next() else { return };
            each(table);
        }
    }
}

/// A callback for finished tables.
type EachTable<'a> = &'a mut (dyn FnMut(Table) + Send);

/// Makes these tables in one pass and returns them in the order of [`analysis::ANALYSES`].
pub(crate) fn tables(
    stretches: &Stretches,
    names: &[&str],
    input: &AnalysisInput<'_>,
) -> Result<Vec<Table>, EngineError> {
    let mut made = Vec::new();
    each_table(stretches, names, input, &mut |table| made.push(table))?;
    let place = |table: &Table| analysis::ANALYSES.iter().position(|a| a.table.name == table.def.name);
    made.sort_by_key(place);
    Ok(made)
}

/// Makes these tables in one pass and passes each on before the next one is made, in no particular order: a table may have a million
/// rows.
pub(crate) fn each_table(
    stretches: &Stretches,
    names: &[&str],
    input: &AnalysisInput<'_>,
    each: EachTable<'_>,
) -> Result<(), EngineError> {
    let shares = shares(names, available_parallelism().map_or(1, usize::from).min(MAX_THREADS));
    if shares.len() < 2 {
        let mut running = input.start(names);
        stretches.timeline(|timeline| {
            running.push(timeline);
            Ok::<_, EngineError>(())
        })?;
        running.tables().for_each(each);
        return Ok(());
    }
    let each = Mutex::new(each);
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .iter()
            .map(|share| {
                let (send, received) = sync_channel(AHEAD);
                let each = &each;
                (send, scope.spawn(move || input.run(share, &received, each)))
            })
            .collect();
        let mut parts: Vec<Arc<Part>> = Vec::new();
        // If sending fails, the thread has failed.
        let failed = || EngineError::Bug("an analysis failed: please report it".into());
        let read = stretches.timeline(|timeline| {
            let part = Part::of(timeline, &mut parts);
            threads.iter().try_for_each(|(send, _)| send.send(Arc::clone(&part)).map_err(|_| failed()))?;
            parts.push(part);
            Ok(())
        });
        drop(parts);
        let (senders, threads): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        drop(senders);
        // Wait for all threads, even if one failed.
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().map_err(|_| failed())).collect();
        ended.into_iter().collect::<Result<(), _>>().and(read)
    })
}

/// A copy of a part of the timeline.
#[derive(Default)]
struct Part {
    threads: Vec<ThreadStretch>,
    cpus: Vec<CpuStretch>,
    events: Vec<TimelineEvent>,
}

impl Part {
    /// Copies a part, reusing the memory of one that no thread reads any more.
    fn of(timeline: &Timeline<'_>, earlier: &mut Vec<Arc<Self>>) -> Arc<Self> {
        fn keep<T: Copy>(to: &mut Vec<T>, from: &[T]) {
            to.clear();
            to.extend_from_slice(from);
        }
        let free = earlier.iter().position(|part| Arc::strong_count(part) == 1);
        let mut part = free.map(|at| earlier.swap_remove(at)).and_then(Arc::into_inner).unwrap_or_default();
        keep(&mut part.threads, timeline.threads);
        keep(&mut part.cpus, timeline.cpus);
        keep(&mut part.events, timeline.events);
        Arc::new(part)
    }

    fn timeline(&self) -> Timeline<'_> {
        Timeline { threads: &self.threads, cpus: &self.cpus, events: &self.events }
    }
}
