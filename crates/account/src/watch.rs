//! Who ran where no chain tells it, from the events that name the task that was current.
//!
//! ```text
//!   cpu3   A came in │ A    A         D   D        C     │ C left: a broken link, so all of it is unknown
//!   inferred         A ─────┘         D ──┘        C ────┘
//! ```
//!
//! Events that name the same task one after the other make a _run_: that task ran from the first to the last of them. The
//! first run reaches back to the switch-in of its task, the last one forward to its switch-out. A run ends where anything
//! shows otherwise: an event here that names another task; one elsewhere that names the same; any change of the thread's
//! own state; lost events. It counts only where both its CPU and its thread turn out to be unknown.

use model::{Basis, CpuId, InferredStretch, Ns, Span, ThreadKey, Tid};
use rustc_hash::FxHashMap;

/// Which of its states a thread was in: two that differ have a change of state between them. [`Turn::FIRST`]: nothing but
/// its name was heard of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn(pub(crate) u64);

impl Turn {
    pub(crate) const FIRST: Self = Self(0);
}

#[derive(Clone, Copy)]
struct Run {
    span: Span,
    cpu: CpuId,
    tid: Tid,
    turn: Turn,
    basis: Basis,
    /// Its thread's time is known, so it counts for nothing but as a sign that another task was current.
    refuted: bool,
    /// Its CPU's time turned out to be unknown.
    of_cpu: bool,
    /// Its thread's time turned out to be unknown: the thread.
    of_thread: Option<ThreadKey>,
}

/// What ended a stretch of a CPU that is unknown.
#[derive(Clone, Copy)]
pub(crate) struct Ending {
    /// Who was switched out.
    pub(crate) tid: Tid,
    pub(crate) turn: Turn,
    pub(crate) at: Ns,
    /// Whether it is the CPU's first switch, with its time unknown since the begin, and of a machine recorded whole.
    pub(crate) first: bool,
}

/// Follows the runs of which CPU or thread is not decided yet.
#[derive(Default)]
pub(crate) struct Watch {
    runs: Vec<Run>,
    free: Vec<usize>,
    /// Runs of each CPU's open stretch, in order.
    of_cpu: Vec<Vec<usize>>,
    /// Runs of each number's open stretch, in order, wherever they are.
    of_tid: FxHashMap<Tid, Vec<usize>>,
    /// A switch was recorded while another task was current than the one that it took out: numbers of two namespaces.
    contradicted: bool,
    found: Vec<InferredStretch>,
}

impl Watch {
    /// Whether no run is open on a CPU.
    #[inline]
    pub(crate) fn is_quiet(&self, here: usize) -> bool {
        self.of_cpu.get(here).is_none_or(Vec::is_empty)
    }

    /// Whether a number has runs that its thread has not decided.
    pub(crate) fn waits_for(&self, tid: Tid) -> bool {
        self.of_tid.contains_key(&tid)
    }

    pub(crate) fn contradict(&mut self) {
        self.contradicted = true;
    }

    /// An event on a CPU names the task that was current. `unbroken`: whether nothing was lost there between two times.
    pub(crate) fn name(
        &mut self,
        (here, cpu): (usize, CpuId),
        (tid, turn): (Tid, Turn),
        at: Ns,
        unbroken: impl Fn(Ns, Ns) -> bool,
    ) {
        match self.goes_on(here, tid, turn) {
            Some(run) if unbroken(self.runs[run].span.end, at) => self.runs[run].span.end = at,
            _ => {
                let run = self.begin(Run::new(Span::new(at, at), cpu, (tid, turn), Basis::Named));
                self.open(here).push(run);
            }
        }
    }

    /// The run of a thread that was seen to come in, from there to the last event that names it.
    pub(crate) fn lead(&mut self, here: usize, cpu: CpuId, who: (Tid, Turn), span: Span) {
        let run = self.begin(Run::new(span, cpu, who, Basis::Named));
        self.open(here).insert(0, run);
    }

    /// A CPU's stretch ended, and it is known what it ran.
    pub(crate) fn cpu_known(&mut self, here: usize) {
        for run in self.take_open(here) {
            self.forget(run);
        }
    }

    /// A CPU's stretch ended, and no chain tells what it ran.
    pub(crate) fn cpu_unknown(
        &mut self,
        (here, cpu): (usize, CpuId),
        ending: Option<Ending>,
        unbroken: impl Fn(Ns, Ns) -> bool,
    ) {
        if let Some(ending) = ending {
            self.end(here, cpu, ending, unbroken);
        }
        for run in self.take_open(here) {
            if self.runs[run].refuted {
                self.free.push(run);
            } else {
                self.runs[run].of_cpu = true;
                self.decide(run);
            }
        }
    }

    /// A thread's stretch ended; `unknown`: and nothing tells what it did.
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

    /// All that was found, in order of start.
    pub(crate) fn finish(mut self) -> Vec<InferredStretch> {
        self.found.retain(|f| !self.contradicted || f.basis != Basis::Named);
        self.found.sort_unstable_by_key(|f| (f.span.start, f.cpu, f.span.end));
        self.found
    }

    /// The last run of a CPU's open stretch, if it is this task's and nothing was heard of the task since.
    fn goes_on(&self, here: usize, tid: Tid, turn: Turn) -> Option<usize> {
        let run = *self.of_cpu.get(here)?.last()?;
        let same = self.runs[run].tid == tid && self.runs[run].turn == turn;
        let latest = tid == Tid::IDLE || self.of_tid.get(&tid).and_then(|all| all.last()) == Some(&run);
        (same && latest).then_some(run)
    }

    fn open(&mut self, here: usize) -> &mut Vec<usize> {
        if self.of_cpu.len() <= here {
            self.of_cpu.resize_with(here + 1, Vec::new);
        }
        &mut self.of_cpu[here]
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

    /// Who was switched out ran since the first of the events that name it last, or, at a CPU's first switch with nothing
    /// that shows another, since the begin.
    fn end(&mut self, here: usize, cpu: CpuId, ending: Ending, unbroken: impl Fn(Ns, Ns) -> bool) {
        let Ending { tid, turn, at, first } = ending;
        let runs_here = self.of_cpu.get(here).map_or(0, Vec::len);
        let runs_of_it = if tid == Tid::IDLE { runs_here } else { self.of_tid.get(&tid).map_or(0, Vec::len) };
        let since_begin = first && turn == Turn::FIRST && unbroken(Ns::ZERO, at);
        match self.goes_on(here, tid, turn) {
            Some(run) if since_begin && runs_here == 1 && runs_of_it == 1 => {
                (self.runs[run].span, self.runs[run].basis) = (Span::new(Ns::ZERO, at), Basis::FirstSwitch);
            }
            Some(run) if unbroken(self.runs[run].span.end, at) => self.runs[run].span.end = at,
            None if since_begin && runs_here == 0 && runs_of_it == 0 => {
                let run = self.begin(Run::new(Span::new(Ns::ZERO, at), cpu, (tid, turn), Basis::FirstSwitch));
                self.open(here).push(run);
            }
            _ => {}
        }
    }

    fn take_open(&mut self, here: usize) -> Vec<usize> {
        self.of_cpu.get_mut(here).map(std::mem::take).unwrap_or_default()
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

    /// Keeps a run whose CPU and thread are both decided.
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
    fn new(span: Span, cpu: CpuId, (tid, turn): (Tid, Turn), basis: Basis) -> Self {
        // The idle task has no states of its own that could say otherwise.
        let of_thread = (tid == Tid::IDLE).then_some(ThreadKey::IDLE);
        Self { span, cpu, tid, turn, basis, refuted: false, of_cpu: false, of_thread }
    }
}
