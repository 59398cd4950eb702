//! Infers which threads ran in time that no chain of switches covers, from the events that name the current task.
//!
//! ```text
//!   cpu3   A came in │ A    A         D   D        C     │ C left: an inconsistent switch, so all of it is unknown
//!   inferred         A ─────┘         D ──┘        C ────┘
//! ```
//!
//! Consecutive events that name the same task form a _run_: the task ran from the first to the last of them. The first run
//! extends back to the switch-in of its task, the last one forward to its switch-out. A run ends at any contradiction: an event
//! on the CPU that names another task, an event elsewhere that names the same task, a state change of the thread, or lost
//! events. It counts only if the states of both its CPU and its thread are unknown.

use model::{Basis, CpuId, InferredStretch, Ns, Span, ThreadKey, Tid};
use rustc_hash::FxHashMap;

/// Identifies a state of a thread: different ids have a state change between them. [`StateId::FIRST`]: no event but its name so
/// far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StateId(pub(crate) u64);

impl StateId {
    pub(crate) const FIRST: Self = Self(0);
}

#[derive(Clone, Copy)]
struct Run {
    span: Span,
    cpu: CpuId,
    tid: Tid,
    state_id: StateId,
    basis: Basis,
    /// Its thread was woken and has no switch so far, so it counts on a CPU without any switch, too.
    woken: bool,
    /// The state of its thread is known, so it only shows that another task was current.
    refuted: bool,
    /// Its CPU's time turned out to be unknown.
    of_cpu: bool,
    /// Its thread's time turned out to be unknown: the thread.
    of_thread: Option<ThreadKey>,
}

/// What ended an unknown stretch of a CPU.
#[derive(Clone, Copy)]
pub(crate) struct StretchEnd {
    /// The thread that was switched out.
    pub(crate) tid: Tid,
    pub(crate) state_id: StateId,
    pub(crate) at: Ns,
    /// Whether it is the CPU's first switch, its time is unknown since the begin, and the whole machine was recorded.
    pub(crate) first: bool,
}

/// Follows the runs whose CPU or thread state is not decided yet.
#[derive(Default)]
pub(crate) struct Watch {
    runs: Vec<Run>,
    free: Vec<usize>,
    /// Runs in each CPU's open stretch, in order.
    of_cpu: Vec<Vec<usize>>,
    /// Runs in each TID's open stretch, in order, on all CPUs.
    of_tid: FxHashMap<Tid, Vec<usize>>,
    found: Vec<InferredStretch>,
}

impl Watch {
    /// Whether a CPU has no open run.
    #[inline]
    pub(crate) fn is_quiet(&self, cpu_slot: usize) -> bool {
        self.of_cpu.get(cpu_slot).is_none_or(Vec::is_empty)
    }

    /// Whether a TID has runs that depend on the state of its thread.
    pub(crate) fn waits_for(&self, tid: Tid) -> bool {
        self.of_tid.contains_key(&tid)
    }

    /// Takes an event on a CPU that names the current task. `ran`: for how long the task has run by then, if the event says so.
    /// `woken`: it was woken and has no switch so far. `lossless`: whether no events were lost there between two times.
    pub(crate) fn name(
        &mut self,
        (cpu_slot, cpu): (usize, CpuId),
        (tid, state_id): (Tid, StateId),
        (ran, woken): (Span, bool),
        lossless: impl Fn(Ns, Ns) -> bool,
    ) {
        match self.goes_on(cpu_slot, tid, state_id) {
            Some(run) if lossless(self.runs[run].span.end, ran.end) => self.runs[run].span.end = ran.end,
            _ => {
                let start = self.last_end(cpu_slot, tid).map_or(ran.start, |end| ran.start.max(end));
                let span =
                    if lossless(start, ran.end) { Span::new(start, ran.end) } else { Span::new(ran.end, ran.end) };
                let run = self.begin(Run { woken, ..Run::new(span, cpu, (tid, state_id), Basis::Named) });
                self.open(cpu_slot).push(run);
            }
        }
    }

    /// Returns the end of the last run on a CPU or of a task, whichever is later.
    fn last_end(&self, cpu_slot: usize, tid: Tid) -> Option<Ns> {
        let last = [self.of_cpu.get(cpu_slot), self.of_tid.get(&tid)].map(|runs| runs.and_then(|runs| runs.last()));
        last.into_iter().flatten().map(|run| self.runs[*run].span.end).max()
    }

    /// Takes the run of a thread from its switch-in to the last event that names it.
    pub(crate) fn confirmed(&mut self, cpu_slot: usize, cpu: CpuId, who: (Tid, StateId), span: Span) {
        let run = self.begin(Run::new(span, cpu, who, Basis::Named));
        self.open(cpu_slot).insert(0, run);
    }

    /// Ends a stretch of a CPU with a known state.
    pub(crate) fn cpu_known(&mut self, cpu_slot: usize) {
        for run in self.take_open(cpu_slot) {
            self.forget(run);
        }
    }

    /// Ends the recording for a CPU without any switch. What other events name may have been switched unseen.
    pub(crate) fn cpu_without_switches(&mut self, cpu_slot: usize) {
        for run in self.take_open(cpu_slot) {
            if self.runs[run].woken && !self.runs[run].refuted {
                self.runs[run].of_cpu = true;
                self.decide(run);
            } else {
                self.forget(run);
            }
        }
    }

    /// Ends a stretch of a CPU with an unknown state.
    pub(crate) fn cpu_unknown(
        &mut self,
        (cpu_slot, cpu): (usize, CpuId),
        ending: Option<StretchEnd>,
        lossless: impl Fn(Ns, Ns) -> bool,
    ) {
        if let Some(ending) = ending {
            self.end(cpu_slot, cpu, ending, lossless);
        }
        for run in self.take_open(cpu_slot) {
            if self.runs[run].refuted {
                self.free.push(run);
            } else {
                self.runs[run].of_cpu = true;
                self.decide(run);
            }
        }
    }

    /// Ends a stretch of a thread; `unknown`: its state is unknown.
    pub(crate) fn thread_ends(&mut self, tid: Tid, thread: ThreadKey, unknown: bool) {
        for run in self.of_tid.remove(&tid).unwrap_or_default() {
            if unknown {
                self.runs[run].of_thread = Some(thread);
                self.decide(run);
            } else if self.runs[run].of_cpu {
                self.free.push(run);
            } else {
                self.runs[run].refuted = true;
            }
        }
    }

    /// Returns the inferred stretches, in order of start. `two_namespaces`: events name other tasks than switches do.
    pub(crate) fn finish(mut self, two_namespaces: bool) -> Vec<InferredStretch> {
        self.found.retain(|f| !two_namespaces || f.basis != Basis::Named);
        self.found.sort_unstable_by_key(|f| (f.span.start, f.cpu, f.span.end));
        self.found
    }

    /// Returns the last run of a CPU's open stretch, if it is of this task and no other event has named the task since.
    fn goes_on(&self, cpu_slot: usize, tid: Tid, state_id: StateId) -> Option<usize> {
        let run = *self.of_cpu.get(cpu_slot)?.last()?;
        let same = self.runs[run].tid == tid && self.runs[run].state_id == state_id;
        let latest = tid == Tid::IDLE || self.of_tid.get(&tid).and_then(|all| all.last()) == Some(&run);
        (same && latest).then_some(run)
    }

    fn open(&mut self, cpu_slot: usize) -> &mut Vec<usize> {
        if self.of_cpu.len() <= cpu_slot {
            self.of_cpu.resize_with(cpu_slot + 1, Vec::new);
        }
        &mut self.of_cpu[cpu_slot]
    }

    fn begin(&mut self, run: Run) -> usize {
        let at = self.free.pop().unwrap_or(self.runs.len());
        if at == self.runs.len() {
            self.runs.push(run);
        }
        self.runs[at] = run;
        if run.tid != Tid::IDLE {
            self.of_tid.entry(run.tid).or_default().push(at);
        }
        at
    }

    /// The thread that was switched out ran since the first event of its last run, or, at a CPU's first switch without events that
    /// name another task, since the begin.
    fn end(&mut self, cpu_slot: usize, cpu: CpuId, ending: StretchEnd, lossless: impl Fn(Ns, Ns) -> bool) {
        let StretchEnd { tid, state_id, at, first } = ending;
        let runs_here = self.of_cpu.get(cpu_slot).map_or(0, Vec::len);
        let runs_of_it = if tid == Tid::IDLE { runs_here } else { self.of_tid.get(&tid).map_or(0, Vec::len) };
        let since_begin = first && state_id == StateId::FIRST && lossless(Ns::ZERO, at);
        match self.goes_on(cpu_slot, tid, state_id) {
            Some(run) if since_begin && runs_here == 1 && runs_of_it == 1 => {
                (self.runs[run].span, self.runs[run].basis) = (Span::new(Ns::ZERO, at), Basis::FirstSwitch);
            }
            Some(run) if lossless(self.runs[run].span.end, at) => self.runs[run].span.end = at,
            None if since_begin && runs_here == 0 && runs_of_it == 0 => {
                let run = self.begin(Run::new(Span::new(Ns::ZERO, at), cpu, (tid, state_id), Basis::FirstSwitch));
                self.open(cpu_slot).push(run);
            }
            _ => {}
        }
    }

    fn take_open(&mut self, cpu_slot: usize) -> Vec<usize> {
        self.of_cpu.get_mut(cpu_slot).map(std::mem::take).unwrap_or_default()
    }

    fn forget(&mut self, run: usize) {
        let tid = self.runs[run].tid;
        if let Some(all) = self.of_tid.get_mut(&tid) {
            all.retain(|r| *r != run);
            if all.is_empty() {
                self.of_tid.remove(&tid);
            }
        }
        self.free.push(run);
    }

    /// Keeps a run if its CPU and its thread are both decided.
    fn decide(&mut self, at: usize) {
        let run = self.runs[at];
        let (true, Some(thread)) = (run.of_cpu, run.of_thread) else { return };
        if !run.span.is_empty() {
            let Run { span, cpu, tid, basis, .. } = run;
            self.found.push(InferredStretch { span, cpu, thread, tid, basis });
        }
        self.free.push(at);
    }
}

impl Run {
    fn new(span: Span, cpu: CpuId, (tid, state_id): (Tid, StateId), basis: Basis) -> Self {
        // The idle task has no states of its own that could contradict it.
        let of_thread = (tid == Tid::IDLE).then_some(ThreadKey::IDLE);
        Self { span, cpu, tid, state_id, basis, woken: false, refuted: false, of_cpu: false, of_thread }
    }
}
