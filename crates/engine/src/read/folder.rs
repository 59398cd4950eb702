//! Reads the timeline of a trace folder.

use crate::EngineError;
use account::{Clipper, Collector, Sink as _, Stretches};
use model::{Ns, TimelineEvent};
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
                send.send(some).map_err(|_| EngineError::Other("reading the threads' stretches failed".into()))
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
        let failed = |what| move |_| EngineError::Other(format!("reading {what} failed: please report it"));
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
