//! The names that threads have at each time, for their samples: a thread is renamed, by an exec or by itself.

use model::{Event, EventKind, NameId, Tid};
use rustc_hash::FxHashMap;

/// The maximum number of threads whose names are kept, so that a hostile source cannot exhaust memory.
const MAX_THREADS: usize = 1 << 20;

/// The current names.
#[derive(Default)]
pub(crate) struct Comms(FxHashMap<Tid, NameId>);

impl Comms {
    /// Follows events in their order. Gives a sample the name of its thread, and a new thread that of the thread which created it, if the
    /// source does not name them.
    pub(crate) fn follow(&mut self, events: &mut [Event]) {
        for event in events {
            match &mut event.what {
                EventKind::CpuSample { tid, name, .. } => match *name {
                    NameId::NONE => *name = self.of(*tid),
                    name => self.set(*tid, name),
                },
                EventKind::Switch(switch) => {
                    self.set(switch.prev, switch.prev_name);
                    self.set(switch.next, switch.next_name);
                }
                EventKind::Wake(wake) => self.set(wake.tid, wake.name),
                EventKind::Snapshot(entry) => self.set(entry.tid, entry.name),
                EventKind::Fork { parent, tid, name, .. } => {
                    let inherited = self.of(*parent);
                    self.set(*tid, if *name == NameId::NONE { inherited } else { *name });
                }
                EventKind::Name { tid, name, .. } => {
                    if *name == NameId::NONE && event.current != *tid {
                        *name = self.of(event.current);
                    }
                    self.set(*tid, *name);
                }
                _ => {}
            }
        }
    }

    fn of(&self, tid: Tid) -> NameId {
        self.0.get(&tid).copied().unwrap_or_default()
    }

    fn set(&mut self, tid: Tid, name: NameId) {
        if tid.0 > 0 && name != NameId::NONE && (self.0.len() < MAX_THREADS || self.0.contains_key(&tid)) {
            self.0.insert(tid, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CoreType, CpuId, Ns, Pid, StackId};

    #[test]
    fn samples_have_the_names_of_their_time_and_new_threads_those_of_their_creator() {
        let event = |current, what| Event { at: Ns(0), offset: 0, cpu: CpuId(0), current: Tid(current), what };
        let sample = |tid, name| {
            event(
                tid,
                EventKind::CpuSample {
                    tid: Tid(tid),
                    stack: StackId::NONE,
                    name: NameId(name),
                    core: CoreType::Uniform,
                },
            )
        };
        let named = |current, tid, name| {
            event(current, EventKind::Name { tid: Tid(tid), pid: Pid::UNKNOWN, name: NameId(name) })
        };
        let mut events = [
            sample(7, 0),
            named(-1, 7, 1),
            sample(7, 0),
            named(7, 8, 0),
            named(-1, 7, 2),
            named(-1, 8, 0),
            sample(7, 0),
            sample(8, 0),
            sample(8, 3),
            sample(8, 0),
        ];
        Comms::default().follow(&mut events);
        let names = events.iter().filter_map(|event| match event.what {
            EventKind::CpuSample { name, .. } => Some(name.0),
            _ => None,
        });
        assert_eq!(names.collect::<Vec<_>>(), [0, 1, 2, 1, 3, 3]);
    }
}
