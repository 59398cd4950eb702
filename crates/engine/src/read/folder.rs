//! Reads the timeline of a trace folder.

use super::Known;
use crate::{EngineError, PassOptions};
use account::{Accountant, Clipper, Collector, Sink, Stretches, Totals};
use ingest::Facts;
use model::{Batch, Ns, TimelineEvent};
use std::sync::mpsc::{Receiver, sync_channel};
use store::Folder;

/// The number of batches of events that may wait in the channel.
const AHEAD: usize = 4;

/// Everything that analyses need.
pub(crate) struct Read {
    pub(crate) stretches: Stretches,
    /// All names; the first is [`model::NameId`] 1.
    pub(crate) names: Vec<Box<str>>,
}

/// Accounts for a folder's events, which are read twice if some were lost or a CPU has none. `sink` is called for each reading.
pub(crate) fn account_events<S: Sink>(
    folder: &Folder,
    facts: &Facts,
    options: &PassOptions,
    sink: impl Fn() -> S,
) -> Result<(Totals, S), EngineError> {
    let mut known = Known::default();
    loop {
        let mut accountant = Accountant::new(known.rules(facts, options));
        let (mut sink, mut batch, mut names_pushed) = (sink(), Batch::default(), 0);
        folder.events(|events, names| {
            batch.clear();
            batch.events.extend_from_slice(events);
            batch.names.extend_from_slice(&names[names_pushed..]);
            names_pushed = names.len();
            accountant.push(&batch, &mut sink);
            sink.check().map_err(EngineError::from)
        })?;
        let totals = accountant.finish(&mut sink);
        sink.check()?;
        if !known.learn(&totals) {
            return Ok((totals, sink));
        }
    }
}

/// Reads a folder's timeline: the stretches of CPUs and threads and the events, in parallel. `wakes`: also the wakeups, which only
/// few analyses need ([`model::Change::WokenByInterrupt`]).
pub(crate) fn read_timeline(folder: &Folder, clipper: Clipper, wakes: bool) -> Result<Read, EngineError> {
    std::thread::scope(|scope| {
        let cpus = scope.spawn(|| {
            let mut collector = Collector::default();
            folder.cpu_stretches(None, |cpus| {
                for stretch in cpus {
                    let place = collector.begin_cpu();
                    collector.cpu(place, stretch);
                }
                collector.check().map_err(EngineError::from)
            })?;
            Ok::<_, EngineError>(collector)
        });
        let (send, received) = sync_channel(AHEAD);
        let events = scope.spawn(move || {
            let mut names = Vec::new();
            folder.events_without_stretches(wakes, |events, so_far| {
                names.extend_from_slice(&so_far[names.len()..]);
                let some: Vec<TimelineEvent> = events.iter().filter_map(TimelineEvent::from_event).collect();
                // The receiver is gone because the other reader failed; its error is the one that is reported.
                send.send(some).map_err(|_| EngineError::Bug("reading the threads' stretches failed".into()))
            })?;
            Ok::<_, EngineError>(names)
        });
        let mut collector = Collector::default();
        let mut waiting = Waiting { received, next: Vec::new().into_iter().peekable() };
        let read = folder.thread_stretches(None, |threads| {
            for stretch in threads {
                waiting.until(stretch.span.start, &mut collector);
                let place = collector.begin_thread();
                collector.thread(place, stretch);
            }
            collector.check().map_err(EngineError::from)
        });
        if read.is_ok() {
            waiting.until(Ns::MAX, &mut collector);
        }
        drop(waiting);
        let failed = |what| move |_| EngineError::Bug(format!("reading {what} failed: please report it"));
        let names = events.join().map_err(failed("the events"))?;
        let cpus = cpus.join().map_err(failed("the CPUs' stretches"))?;
        read?;
        collector.check()?;
        Ok(Read { stretches: collector.finish().with_cpus(cpus?).with_clipper(clipper), names: names? })
    })
}

/// Events that wait for earlier stretches.
struct Waiting {
    received: Receiver<Vec<TimelineEvent>>,
    next: std::iter::Peekable<std::vec::IntoIter<TimelineEvent>>,
}

impl Waiting {
    /// Passes on the events before a time.
    fn until(&mut self, time: Ns, collector: &mut Collector) {
        loop {
            while let Some(event) = self.next.next_if(|e| e.at < time) {
                collector.event(event);
            }
            if self.next.peek().is_some() {
                return;
            }
            let Ok(more) = self.received.recv() else { return };
            self.next = more.into_iter().peekable();
        }
    }
}
