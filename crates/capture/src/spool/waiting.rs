//! What threads have waited for since before the recording.
//!
//! A snapshot's row shows what its thread waits for, but lies before the begin, as the snapshot takes a while. Analyses begin at the begin,
//! so the wait is reported then, if it is still the same.

use model::{CpuId, Event, EventKind, Ns, SwitchOut, Tid};
use std::collections::HashMap;

/// The waits of threads up to the begin of the recording.
#[derive(Default)]
pub struct Waiting {
    /// When the opening snapshot was complete.
    pub begin: Option<Ns>,
    /// The last wait of each thread, and when it was seen.
    last: HashMap<Tid, Event>,
    /// When each thread was last woken, or left its CPU.
    changed: HashMap<Tid, Ns>,
    is_over: bool,
}

impl Waiting {
    /// Takes events that are handed out, up to `until`, and adds the waits at the begin.
    pub fn follow(&mut self, events: &mut Vec<Event>, from: usize, until: Ns) {
        if self.is_over {
            return;
        }
        let begin = self.begin.unwrap_or(Ns::MAX);
        events[from..].iter().filter(|event| event.at < begin).for_each(|event| self.event(event));
        events.retain(|event| event.at >= begin || !is_wait(&event.what));
        if until < begin {
            return;
        }
        self.is_over = true;
        let changed = std::mem::take(&mut self.changed);
        let still = |(tid, event): &(Tid, Event)| changed.get(tid).is_none_or(|at| *at <= event.at);
        let mut waits: Vec<(Tid, Event)> = std::mem::take(&mut self.last).into_iter().filter(still).collect();
        waits.sort_by_key(|(tid, _)| *tid);
        events.extend(waits.into_iter().map(|(_, event)| Event { at: begin, cpu: CpuId(0), ..event }));
    }

    fn event(&mut self, event: &Event) {
        let mut change = |tid: Tid| {
            let at = self.changed.entry(tid).or_insert(event.at);
            *at = (*at).max(event.at);
        };
        match event.what {
            EventKind::Switch(switch) if switch.out == SwitchOut::Blocked => change(switch.prev),
            EventKind::Wake(wake) => change(wake.tid),
            EventKind::FutexWait(wait) => self.wait(wait.tid, event),
            EventKind::ObjectWait(wait) => self.wait(wait.tid, event),
            _ => {}
        }
    }

    fn wait(&mut self, tid: Tid, event: &Event) {
        let last = self.last.entry(tid).or_insert(*event);
        if last.at <= event.at {
            *last = *event;
        }
    }
}

fn is_wait(what: &EventKind) -> bool {
    matches!(what, EventKind::FutexWait(_) | EventKind::ObjectWait(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{NameId, ObjectWait, Prio, WaitKind, Wake, WakeKind};

    fn wait(at: i64, tid: i32, id: u64) -> Event {
        let wait = ObjectWait { tid: Tid(tid), kind: WaitKind::Pipe, id, name: NameId::NONE, holder: Tid::UNKNOWN };
        Event { at: Ns(at), offset: 0, cpu: CpuId(1), current: Tid::UNKNOWN, what: EventKind::ObjectWait(wait) }
    }

    fn wake(at: i64, tid: i32) -> Event {
        let wake = Wake {
            tid: Tid(tid),
            name: NameId::NONE,
            kind: WakeKind::Waking,
            target: None,
            waker: Tid::UNKNOWN,
            prio: Prio::UNKNOWN,
            stamp: Ns(at),
        };
        Event { what: EventKind::Wake(wake), ..wait(at, tid, 0) }
    }

    #[test]
    fn a_wait_that_lasts_is_reported_at_the_begin() {
        let mut waiting = Waiting { begin: Some(Ns(100)), ..Waiting::default() };
        // 1 waits on, 2 was woken, 3 waits for something else by then; the last event is within the recording.
        let mut events = vec![
            wait(10, 1, 7),
            wait(11, 2, 7),
            wait(12, 3, 7),
            wake(20, 2),
            wake(30, 3),
            wait(40, 3, 8),
            wait(120, 4, 9),
        ];
        waiting.follow(&mut events, 0, Ns(150));
        let waits: Vec<_> = events
            .iter()
            .filter_map(|e| {
                if let EventKind::ObjectWait(wait) = e.what { Some((e.at.0, wait.tid.0, wait.id)) } else { None }
            })
            .collect();
        assert_eq!(waits, [(120, 4, 9), (100, 1, 7), (100, 3, 8)]);
    }
}
