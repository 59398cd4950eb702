//! A folder's stretches, as they were when they were imported.

use crate::EngineError;
use account::{Collector, Knife, Sink as _, Stretches};
use model::{CpuId, Event, Move, Ns, Table, ThreadKey, ThreadState, Tid, What};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, sync_channel};
use store::Folder;

/// Some thousands of moves at a time, so many times ahead.
const AHEAD: usize = 4;

/// Reads a folder's stretches and moves, to be handed on together.
pub(crate) fn of_folder(folder: &Folder, knife: Knife) -> Result<Stretches, EngineError> {
    let mut collector = Collector::default();
    folder.cpu_stretches(None, |cpus| {
        for stretch in cpus {
            let place = collector.begin_cpu();
            collector.cpu(place, stretch);
        }
    })?;
    std::thread::scope(|scope| {
        let (tell, told) = sync_channel(AHEAD);
        let reading = scope.spawn(move || {
            let each = |events: &[Event], _: &[Box<str>]| {
                let moves: Vec<Told> = events.iter().filter_map(Told::of).collect();
                // Nobody listens any more: the other reader failed, and says so.
                let _ = tell.send(moves);
            };
            folder.events(each)
        });
        let mut moves = Moves { told, next: Vec::new().into_iter().peekable(), at: HashMap::default() };
        let read = folder.thread_stretches(None, |threads| {
            for stretch in threads {
                moves.until(stretch.span.start, &mut collector);
                moves.at.insert(stretch.tid, (stretch.thread, stretch.state));
                let place = collector.begin_thread();
                collector.thread(place, stretch);
            }
        });
        moves.until(Ns::MAX, &mut collector);
        drop(moves);
        reading.join().map_err(|_| EngineError::Other("reading the events failed".into()))??;
        read.map_err(EngineError::from)
    })?;
    Ok(collector.finish().knife(knife))
}

/// `sched_migrate_task`.
struct Told {
    at: Ns,
    tid: Tid,
    to: CpuId,
}

impl Told {
    fn of(event: &Event) -> Option<Self> {
        match event.what {
            What::Migrate { tid, to, .. } => Some(Self { at: event.at, tid, to }),
            _ => None,
        }
    }
}

/// Moves in order, and what each thread did until then.
struct Moves {
    told: Receiver<Vec<Told>>,
    next: std::iter::Peekable<std::vec::IntoIter<Told>>,
    at: HashMap<Tid, (ThreadKey, ThreadState)>,
}

impl Moves {
    /// Hands on the moves before a time of threads that were ready.
    fn until(&mut self, time: Ns, collector: &mut Collector) {
        loop {
            while let Some(told) = self.next.next_if(|m| m.at < time) {
                if let Some((thread, ThreadState::Ready)) = self.at.get(&told.tid) {
                    collector.moved(Move { at: told.at.max(Ns::ZERO), thread: *thread, to: told.to });
                }
            }
            if self.next.peek().is_some() {
                return;
            }
            let Ok(more) = self.told.recv() else { return };
            self.next = more.into_iter().peekable();
        }
    }
}

/// The CPUs of which a folder tells what they ran, by its table of them.
pub(crate) fn followed_of(cpus: &Table) -> Vec<CpuId> {
    let number = |row, col| cpus.int(row, col).unwrap_or(0);
    let followed =
        |row: &usize| number(*row, "switches") > 0 || number(*row, "busy_ns") > 0 || number(*row, "idle_ns") > 0;
    let cpu = |row| u32::try_from(number(row, "cpu")).map_or(CpuId::UNKNOWN, CpuId);
    (0..cpus.rows.len()).filter(followed).map(cpu).collect()
}
