//! The state kept while lines of text become events: threads, losses, and the time up to which the text is complete.

use crate::formats::perf_data::losses::Losses;
use crate::tracepoint::Names;
use model::{Batch, CpuId, Event, EventKind, NameId, Ns, Pid, Tid};
use rustc_hash::FxHashMap;

/// The maximum number of threads whose process is kept, so that a hostile text cannot exhaust memory.
const MAX_THREADS: usize = 1 << 20;
/// The number of slots in the cache of recent lines.
const RECENT_SLOTS: usize = 1024;

/// What the lines so far contained.
pub(crate) struct TextState {
    pub(crate) names: Names,
    pub(crate) losses: Losses,
    processes: FxHashMap<Tid, Pid>,
    /// The number of threads left out because the table was full, not yet reported in a batch.
    left_out: u64,
    /// A cache of each thread's last line, by TID: most lines repeat what the thread's line before contained.
    recent: Vec<(Tid, Pid)>,
    /// The latest time so far, and the latest times at the ends of the two batches before.
    pub(crate) latest: Ns,
    before: [Ns; 2],
}

impl TextState {
    pub(crate) fn new() -> Self {
        Self {
            names: Names::new(),
            losses: Losses::default(),
            processes: FxHashMap::default(),
            left_out: 0,
            recent: vec![(Tid::UNKNOWN, Pid::UNKNOWN); RECENT_SLOTS],
            latest: Ns::MIN,
            before: [Ns::MIN; 2],
        }
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event, out: &mut Batch) {
        out.events.extend(self.losses.delivered(event.cpu, event.at));
        self.latest = self.latest.max(event.at);
        out.events.push(event);
    }

    /// Records the task that a line names as current: its name at the first line, and its process when that changes.
    /// Lines carry the names of the time of printing, so the events' own names take precedence.
    #[inline]
    pub(crate) fn current(&mut self, (tid, pid, comm): (Tid, Pid, &[u8]), event: &Event, out: &mut Batch) {
        let slot = &mut self.recent[tid.0 as usize % RECENT_SLOTS];
        if *slot != (tid, pid) {
            *slot = (tid, pid);
            self.new_thread(tid, pid, comm, event, out);
        }
    }

    fn new_thread(&mut self, tid: Tid, pid: Pid, comm: &[u8], event: &Event, out: &mut Batch) {
        if tid.0 <= 0 {
            return;
        }
        let known = self.processes.get(&tid).copied();
        let full = known.is_none() && self.processes.len() >= MAX_THREADS;
        out.left_out.threads += u64::from(full) + std::mem::take(&mut self.left_out);
        if full || known == Some(pid) || known.is_some() && pid == Pid::UNKNOWN {
            return;
        }
        self.processes.insert(tid, pid);
        let name = if known.is_none() { self.names.id(comm, out) } else { NameId::NONE };
        if name != NameId::NONE || pid != Pid::UNKNOWN {
            out.events.push(Event { what: EventKind::Name { tid, pid, name }, ..*event });
        }
    }

    /// Records a thread from a list in the recording's header or trailer. A list before all events holds from the
    /// start. A later list only adds the processes of threads already seen.
    pub(crate) fn listed(&mut self, tid: Tid, pid: Pid, name: &[u8], offset: u64, out: &mut Batch) {
        let known = self.processes.get(&tid).copied();
        if self.latest != Ns::MIN && known != Some(Pid::UNKNOWN) {
            return;
        }
        let first = self.latest == Ns::MIN;
        self.process(tid, pid);
        out.left_out.threads += std::mem::take(&mut self.left_out);
        let name = if first { self.names.id(name, out) } else { NameId::NONE };
        let what = EventKind::Name { tid, pid, name };
        out.events.push(Event { at: Ns::MIN, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
    }

    /// Records the process of a thread, as stated by a record for that purpose.
    pub(crate) fn process(&mut self, tid: Tid, pid: Pid) {
        if self.processes.contains_key(&tid) || self.processes.len() < MAX_THREADS {
            self.processes.insert(tid, pid);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the process of a thread, or unknown if it was not recorded.
    pub(crate) fn process_of(&self, tid: Tid) -> Pid {
        self.processes.get(&tid).copied().unwrap_or(Pid::UNKNOWN)
    }

    /// Ends a batch and returns the time up to which the text is complete. Programs that write text merge the CPUs'
    /// buffers by time, but a buffer that was read late may come some lines later: everything before the end of the
    /// batch before the last one is complete.
    pub(crate) fn until(&mut self) -> Ns {
        let until = self.before[0];
        self.before = [self.before[1], self.latest];
        until
    }

    /// Ends the text and adds the losses that are not followed by an event.
    pub(crate) fn end(&mut self, out: &mut Batch) {
        out.events.extend(self.losses.at_end(self.latest, 0));
    }

    /// Records a loss on a CPU, with the number of lost events if it is known.
    pub(crate) fn lost(&mut self, cpu: CpuId, events: Option<u64>, offset: u64) {
        match events {
            Some(events) => self.losses.lost(cpu, events, offset),
            None => self.losses.lost_uncounted(cpu, offset),
        }
    }
}
