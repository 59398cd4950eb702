//! Which events show that another thread runs on their CPU than the last switch brought in.
//!
//! A folder does not store the current task of each event: nearly always it is the one that the switches say. Where it is not, the accounting
//! needs it (docs/accounting.md, "Threads that events name"), so it is a row of `thread`.

use model::{CpuId, Event, EventKind, Tid, WakeKind};
use rustc_hash::FxHashMap;

/// Follows the switches of all CPUs.
#[derive(Default)]
pub(crate) struct Named {
    /// The thread on each CPU by its last switch, unless an event has named another since.
    runs: FxHashMap<CpuId, Tid>,
    /// Whether a thread may be known to wait: there was a switch, a wakeup or a row of a snapshot.
    may_wait: bool,
    /// Switches and the current tasks of their events have numbers of two PID namespaces.
    two_namespaces: bool,
}

impl Named {
    /// Takes the next event in the merged order. Returns the thread that it names, if the last switch did not bring it in.
    #[inline]
    pub(crate) fn of(&mut self, e: &Event) -> Option<Tid> {
        match &e.what {
            EventKind::Switch(switch) => {
                self.may_wait = true;
                self.two_namespaces |= e.current.0 >= 0 && switch.prev.0 >= 0 && switch.prev != e.current;
                self.runs.insert(e.cpu, switch.next);
                return None;
            }
            EventKind::Wake(wake) => {
                self.may_wait = true;
                if wake.kind == WakeKind::New {
                    // What ran with this number before was another thread.
                    self.runs.retain(|_, tid| *tid != wake.tid);
                }
            }
            EventKind::Snapshot(_) => self.may_wait = true,
            _ => {}
        }
        if e.current.0 <= 0 || self.two_namespaces || !self.may_wait || self.runs.get(&e.cpu) == Some(&e.current) {
            return None;
        }
        self.runs.remove(&e.cpu);
        Some(e.current)
    }
}
