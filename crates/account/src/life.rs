//! One life of one thread while it is followed.

use crate::totals::ThreadTotals;
use model::{CpuId, NameId, Ns, Prio, Reason, ThreadKey, ThreadState, Tid};

/// From a thread's call of `sched_yield` to its switch-out it takes less than this, as it does from giving up its place in the queue to
/// its switch-out. Where the return from the call was recorded, that tells more.
const SOON: Ns = Ns(50_000);

/// What a thread does, as far as it is known now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    Running,
    Ready,
    Blocked,
    Exited,
    Unknown,
    /// Woken while it still ran, then switched out blocked: ready since then if it is switched in with no other waking
    /// between, blocked if one comes.
    Either,
}

/// The open stretch and sums. What every event asks for lies together: lives are too many for a core's first cache.
#[repr(C, align(64))]
pub(crate) struct Life {
    pub(crate) doing: Doing,
    /// Whether a waking is remembered.
    pub(crate) woken: bool,
    /// Known only by a snapshot so far.
    pub(crate) snapshot: bool,
    /// Whether runs of events that name it wait for what its open stretch turns out to be.
    pub(crate) watched: bool,
    pub(crate) reason: Reason,
    pub(crate) prio: Prio,
    /// The CPU of its last switch-in or switch-out.
    pub(crate) cpu: Option<CpuId>,
    /// While it is ready: the CPU on whose run queue it began to be.
    pub(crate) queue: Option<CpuId>,
    /// Since when; before 0 it counts from 0.
    pub(crate) since: Ns,
    /// Where the open stretch's row lies.
    pub(crate) place: u64,
    pub(crate) waker_thread: ThreadKey,
    pub(crate) name: NameId,
    /// How often its state changed, and a beginning of life beside the recording's counts too.
    pub(crate) turns: u32,
    pub(crate) totals: ThreadTotals,
    /// What the kernel had charged it at its last switch-out, where told.
    pub(crate) charged: Option<Ns>,
    /// What the kernel charged in the open running stretch, where it tells charge by charge.
    pub(crate) open_charge: Option<Ns>,
    /// When it called `sched_yield`, from which it has not returned as far as anybody told; while it runs.
    pub(crate) yields: Option<Ns>,
    /// When it was woken last, where that is remembered ([`Self::woken`]).
    pub(crate) woken_at: Ns,
}

impl Life {
    pub(crate) fn new(thread: ThreadKey, tid: Tid, life: u32, begin: Ns, place: u64) -> Self {
        Self {
            totals: ThreadTotals::new(thread, tid, life, begin),
            doing: Doing::Unknown,
            place,
            since: begin,
            reason: Reason::BeforeFirst,
            cpu: None,
            queue: None,
            woken: false,
            waker_thread: ThreadKey::UNKNOWN,
            name: NameId::NONE,
            prio: Prio::UNKNOWN,
            snapshot: false,
            charged: None,
            open_charge: None,
            yields: None,
            woken_at: Ns::ZERO,
            turns: 0,
            watched: false,
        }
    }

    #[inline]
    pub(crate) fn runs_on(&self, cpu: CpuId) -> bool {
        self.doing == Doing::Running && self.cpu == Some(cpu)
    }

    /// Why it left its CPU while it could still run, where the switch does not say. `of_kernel`: it is one of the kernel's threads, which
    /// never go back to user mode. `has_yields`: had it called `sched_yield`, that would have been told.
    pub(crate) fn why_runnable(&self, now: Ns, of_kernel: bool, has_yields: bool) -> Reason {
        let soon = |at: Ns| now - at < SOON;
        match () {
            () if self.yields.is_some_and(soon) => Reason::Yielded,
            () if self.woken && soon(self.woken_at) => Reason::NeverSlept,
            () if of_kernel => Reason::GaveWay,
            // What it did before, nobody followed.
            () if self.doing != Doing::Running => Reason::LeftRunnable,
            () if has_yields => Reason::Preempted,
            () => Reason::LeftRunnable,
        }
    }

    /// Whether it has exited as far as anybody knows, so that little of it is needed ([`crate::lives::Lives::rest`]). A row
    /// that begins with the recording is handed on in the order of ending: its life stays.
    pub(crate) fn can_rest(&self) -> bool {
        self.doing == Doing::Exited && self.since > Ns::ZERO
    }

    /// The open stretch turns out to be unknown, back to its begin.
    pub(crate) fn doubt(&mut self, why: Reason) {
        if self.doing != Doing::Unknown {
            self.doing = Doing::Unknown;
            self.reason = why;
        }
    }

    /// The state of the open stretch, were it to end now.
    #[inline]
    pub(crate) fn state(&self) -> ThreadState {
        match self.doing {
            Doing::Running => ThreadState::Running,
            Doing::Ready => ThreadState::Ready,
            Doing::Blocked => ThreadState::Blocked,
            Doing::Exited => ThreadState::Exited,
            Doing::Unknown | Doing::Either => ThreadState::Unknown,
        }
    }

    #[inline]
    pub(crate) fn ran(&mut self, cpu: CpuId, time: Ns) {
        if cpu == CpuId::UNKNOWN {
            self.totals.nowhere = self.totals.nowhere + time;
            return;
        }
        if let Some(slot) = self.totals.by_cpu.iter_mut().find(|(c, _)| *c == cpu) {
            slot.1 = slot.1 + time;
        } else {
            self.totals.by_cpu.push((cpu, time));
        }
    }
}
