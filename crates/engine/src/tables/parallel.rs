//! Analyses of one pass on several threads: each is told the same and makes its share of the tables.

use crate::EngineError;
use account::Stretches;
use analysis::{Context, Running, shares};
use model::{CpuStretch, Ns, Stacks, Table, ThreadStretch, Timeline, TimelineEvent};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

/// More threads than this gain little: each share follows the CPUs and lives by itself, and one analysis (`ready_by_thief`) may take
/// a quarter of all the time.
const MOST: usize = 4;
/// Parts that may wait for a thread.
const AHEAD: usize = 4;

/// What a thread needs to begin.
pub(crate) struct Given<'a> {
    pub(crate) context: Context<'a>,
    /// All that the source tells; the first is [`model::NameId`] 1.
    pub(crate) names: Vec<Box<str>>,
    /// Where one of the tables wants them.
    pub(crate) stacks: Option<Arc<Stacks>>,
    /// What a frame may take, where it was said.
    pub(crate) budget: Option<Ns>,
}

impl Given<'_> {
    pub(crate) fn start(&self, tables: &[&str]) -> Running {
        let mut running = Running::start(tables, &self.context, self.names.clone());
        running.budget(self.budget);
        if let Some(stacks) = &self.stacks {
            running.callchains(stacks);
        }
        running
    }

    fn run(&self, tables: &[&str], told: &Receiver<Arc<Part>>, each: &Mutex<EachTable<'_>>) {
        let mut running = self.start(tables);
        while let Ok(part) = told.recv() {
            running.push(&part.timeline());
        }
        let mut tables = running.tables();
        loop {
            // Whoever panicked while it was told a table ends the pass by that.
            let mut each = each.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(table) = tables.next() else { return };
            each(table);
        }
    }
}

/// Who is told each table.
type EachTable<'a> = &'a mut (dyn FnMut(Table) + Send);

/// Makes these tables in one pass; in the order of [`analysis::ANALYSES`].
pub(crate) fn tables(stretches: &Stretches, names: &[&str], given: &Given<'_>) -> Result<Vec<Table>, EngineError> {
    let mut made = Vec::new();
    each_table(stretches, names, given, &mut |table| made.push(table))?;
    let place = |table: &Table| analysis::ANALYSES.iter().position(|a| a.table.name == table.def.name);
    made.sort_by_key(place);
    Ok(made)
}

/// Makes these tables in one pass, and hands each on before the next one is made, in no order: one may have a million rows.
pub(crate) fn each_table(
    stretches: &Stretches,
    names: &[&str],
    given: &Given<'_>,
    each: EachTable<'_>,
) -> Result<(), EngineError> {
    let shares = shares(names, available_parallelism().map_or(1, usize::from).min(MOST));
    if shares.len() < 2 {
        let mut running = given.start(names);
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
                let (tell, told) = sync_channel(AHEAD);
                let each = &each;
                (tell, scope.spawn(move || given.run(share, &told, each)))
            })
            .collect();
        let mut parts: Vec<Arc<Part>> = Vec::new();
        // A thread that takes no more has failed.
        let failed = || EngineError::Other("an analysis failed: please report it".into());
        let read = stretches.timeline(|timeline| {
            let part = Part::of(timeline, &mut parts);
            threads.iter().try_for_each(|(send, _)| send.send(Arc::clone(&part)).map_err(|_| failed()))?;
            parts.push(part);
            Ok(())
        });
        drop(parts);
        let (senders, threads): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        drop(senders);
        // All are waited for, whatever the first of them came to.
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join().map_err(|_| failed())).collect();
        ended.into_iter().collect::<Result<(), _>>().and(read)
    })
}

/// A part of the timeline, kept.
#[derive(Default)]
struct Part {
    threads: Vec<ThreadStretch>,
    cpus: Vec<CpuStretch>,
    events: Vec<TimelineEvent>,
}

impl Part {
    /// Keeps one, in the memory of the first that no thread reads any more.
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
