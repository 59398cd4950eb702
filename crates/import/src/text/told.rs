//! What is known of threads and losses while lines become events, and how far a text has told everything.

use crate::formats::perf_data::losses::Losses;
use crate::tracepoint::Names;
use model::{Batch, CpuId, Event, NameId, Ns, Pid, Tid, What};
use rustc_hash::FxHashMap;

/// Threads whose process is kept; a hostile text must not fill the memory.
const MOST_THREADS: usize = 1 << 20;
/// Threads that a short way is kept to.
const RECENT: usize = 1024;

/// What was told so far.
pub(crate) struct Told {
    pub(crate) names: Names,
    pub(crate) losses: Losses,
    processes: FxHashMap<Tid, Pid>,
    /// Threads that there was no room for, and that no batch says yet.
    left_out: u64,
    /// The last of each thread number's lines: most lines say what the one before of that thread said.
    recent: Vec<(Tid, Pid)>,
    /// The latest time met, and met at the end of the batches before.
    pub(crate) latest: Ns,
    before: [Ns; 2],
}

impl Told {
    pub(crate) fn new() -> Self {
        Self {
            names: Names::new(),
            losses: Losses::default(),
            processes: FxHashMap::default(),
            left_out: 0,
            recent: vec![(Tid::UNKNOWN, Pid::UNKNOWN); RECENT],
            latest: Ns::MIN,
            before: [Ns::MIN; 2],
        }
    }

    /// Something happened.
    #[inline]
    pub(crate) fn push(&mut self, event: Event, out: &mut Batch) {
        out.events.extend(self.losses.delivered(event.cpu, event.at));
        self.latest = self.latest.max(event.at);
        out.events.push(event);
    }

    /// A line names the task that was current: tells its name when it is first met, and its process when that is new.
    /// Names of lines are those of the time of printing, so the events' own names go before them.
    #[inline]
    pub(crate) fn current(&mut self, (tid, pid, comm): (Tid, Pid, &[u8]), event: &Event, out: &mut Batch) {
        let slot = &mut self.recent[tid.0 as usize % RECENT];
        if *slot != (tid, pid) {
            *slot = (tid, pid);
            self.meet(tid, pid, comm, event, out);
        }
    }

    fn meet(&mut self, tid: Tid, pid: Pid, comm: &[u8], event: &Event, out: &mut Batch) {
        if tid.0 <= 0 {
            return;
        }
        let known = self.processes.get(&tid).copied();
        let full = known.is_none() && self.processes.len() >= MOST_THREADS;
        out.left_out.threads += u64::from(full) + std::mem::take(&mut self.left_out);
        if full || known == Some(pid) || known.is_some() && pid == Pid::UNKNOWN {
            return;
        }
        self.processes.insert(tid, pid);
        let name = if known.is_none() { self.names.id(comm, out) } else { NameId::NONE };
        if name != NameId::NONE || pid != Pid::UNKNOWN {
            out.events.push(Event { what: What::Name { tid, pid, name }, ..*event });
        }
    }

    /// A list of the recording's own tells of a thread. One that stands before all events holds from the begin; of a later one,
    /// only what tells more of the threads met.
    pub(crate) fn listed(&mut self, tid: Tid, pid: Pid, name: &[u8], offset: u64, out: &mut Batch) {
        let known = self.processes.get(&tid).copied();
        if self.latest != Ns::MIN && known != Some(Pid::UNKNOWN) {
            return;
        }
        let first = self.latest == Ns::MIN;
        self.process(tid, pid);
        out.left_out.threads += std::mem::take(&mut self.left_out);
        let name = if first { self.names.id(name, out) } else { NameId::NONE };
        let what = What::Name { tid, pid, name };
        out.events.push(Event { at: Ns::MIN, offset, cpu: CpuId::UNKNOWN, current: Tid::UNKNOWN, what });
    }

    /// A record of its own says which process a thread is in.
    pub(crate) fn process(&mut self, tid: Tid, pid: Pid) {
        if self.processes.contains_key(&tid) || self.processes.len() < MOST_THREADS {
            self.processes.insert(tid, pid);
        } else {
            self.left_out += 1;
        }
    }

    /// The process of a thread, as far as it was told.
    pub(crate) fn process_of(&self, tid: Tid) -> Pid {
        self.processes.get(&tid).copied().unwrap_or(Pid::UNKNOWN)
    }

    /// Ends a batch. Programs that write text merge the CPUs' buffers by time, but a buffer that was read late may come
    /// some lines behind: what lies before the end of the batch before the last one has been told.
    pub(crate) fn until(&mut self) -> Ns {
        let until = self.before[0];
        self.before = [self.before[1], self.latest];
        until
    }

    /// Ends the text: losses that no event ended.
    pub(crate) fn end(&mut self, out: &mut Batch) {
        out.events.extend(self.losses.at_end(self.latest, 0));
    }

    /// A loss on a CPU, of a number of events where that is told.
    pub(crate) fn lost(&mut self, cpu: CpuId, events: Option<u64>, offset: u64) {
        match events {
            Some(events) => self.losses.lost(cpu, events, offset),
            None => self.losses.lost_uncounted(cpu, offset),
        }
    }
}
