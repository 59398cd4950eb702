//! A folder's stretches, as they were when they were imported.

use crate::EngineError;
use account::{Collector, Knife, Sink as _, Stretches};
use model::{
    Allowed, BlockedAt, CpuId, Event, Marked, Move, Ns, PowerChange, Row, Setting, Table, Throttle, What, tables,
};
use std::sync::mpsc::{Receiver, sync_channel};
use store::Folder;

/// Batches of events that may wait to be taken in.
const AHEAD: usize = 4;

/// All that analyses need.
pub(crate) struct Read {
    pub(crate) stretches: Stretches,
    /// All names; the first is [`model::NameId`] 1.
    pub(crate) names: Vec<Box<str>>,
}

/// Reads a folder's stretches, and what else is told beside them, to be handed on together: CPUs', threads' and events at once.
pub(crate) fn of_folder(folder: &Folder, knife: Knife) -> Result<Read, EngineError> {
    std::thread::scope(|scope| {
        let cpus = scope.spawn(|| {
            let mut collector = Collector::default();
            let read = folder.cpu_stretches(None, |cpus| {
                for stretch in cpus {
                    let place = collector.begin_cpu();
                    collector.cpu(place, stretch);
                }
            });
            read.map(|()| collector)
        });
        let (tell, told) = sync_channel(AHEAD);
        let events = scope.spawn(move || {
            let mut names = Vec::new();
            let read = folder.events_beside(|events, told| {
                names.extend_from_slice(&told[names.len()..]);
                let beside: Vec<Event> = events.iter().filter(|e| is_beside(e)).copied().collect();
                // Nobody listens any more: the other reader failed, and says so.
                let _ = tell.send(beside);
            });
            read.map(|()| names)
        });
        let mut collector = Collector::default();
        let mut beside = Beside { told, next: Vec::new().into_iter().peekable() };
        let read = folder.thread_stretches(None, |threads| {
            for stretch in threads {
                beside.until(stretch.span.start, &mut collector);
                let place = collector.begin_thread();
                collector.thread(place, stretch);
            }
        });
        beside.until(Ns::MAX, &mut collector);
        drop(beside);
        let failed = |what| move |_| EngineError::Other(format!("reading {what} failed: please report it"));
        let names = events.join().map_err(failed("the events"))??;
        let cpus = cpus.join().map_err(failed("the CPUs' stretches"))??;
        read?;
        Ok(Read { stretches: collector.finish().with_cpus(cpus).knife(knife), names })
    })
}

/// Events that analyses follow beside stretches.
fn is_beside(event: &Event) -> bool {
    matches!(event.what, What::Migrate { .. } | What::Mark(_) | What::Affinity { .. } | What::Throttle { .. })
        || blocked_at(event).is_some()
        || PowerChange::of(event).is_some()
        || Setting::of(event).is_some()
}

fn blocked_at(event: &Event) -> Option<BlockedAt> {
    match &event.what {
        What::Switch(switch) if event.at >= Ns::ZERO => switch.blocked_at(event.at),
        _ => None,
    }
}

/// Such events, in order.
struct Beside {
    told: Receiver<Vec<Event>>,
    next: std::iter::Peekable<std::vec::IntoIter<Event>>,
}

impl Beside {
    /// Hands on those before a time.
    fn until(&mut self, time: Ns, collector: &mut Collector) {
        loop {
            while let Some(event) = self.next.next_if(|e| e.at < time) {
                Self::take(&event, collector);
            }
            if self.next.peek().is_some() {
                return;
            }
            let Ok(more) = self.told.recv() else { return };
            self.next = more.into_iter().peekable();
        }
    }

    fn take(event: &Event, collector: &mut Collector) {
        if let Some(setting) = Setting::of(event) {
            collector.setting(setting);
        }
        let at = event.at;
        match event.what {
            What::Migrate { tid, to, .. } if tid.0 > 0 => collector.moved(Move { at: at.max(Ns::ZERO), tid, to }),
            What::Affinity { tid, cpus } if tid.0 > 0 => {
                collector.allowed(Allowed { at: at.max(Ns::ZERO), tid, cpus });
            }
            What::Throttle { tid, begins } => collector.throttle(Throttle { at: at.max(Ns::ZERO), tid, begins }),
            What::Mark(mark) if at >= Ns::ZERO => collector.marked(Marked { at, mark }),
            _ => {
                if let Some(change) = PowerChange::of(event) {
                    collector.power(change);
                } else if let Some(blocked) = blocked_at(event) {
                    collector.blocked_at(blocked);
                }
            }
        }
    }
}

/// The CPUs of which a folder tells what they ran, by its table of them.
pub(crate) fn followed_of(cpus: &Table) -> Vec<CpuId> {
    use tables::cpus::{BUSY_NS, CPU, IDLE_NS, SWITCHES};
    let followed = |row: &Row<'_, _>| row.all([SWITCHES, BUSY_NS, IDLE_NS]).iter().any(|n| *n > 0);
    let cpu = |row: Row<'_, _>| u32::try_from(row.get(CPU)).map_or(CpuId::UNKNOWN, CpuId);
    cpus.rows_of(tables::cpus::Table).filter(followed).map(cpu).collect()
}
