//! The current state of a thread instance.

use crate::totals::ThreadTotals;
use model::{CpuId, NameId, Ns, Prio, Reason, ThreadKey, ThreadState, Tid};

/// The maximum time from a call of `sched_yield` to the switch-out that it causes, and from a wakeup to the switch-out of a thread
/// that was about to sleep. If the return from the call was recorded, that is more precise.
pub(crate) const MAX_SWITCH_DELAY: Ns = Ns(50_000);

/// The current phase of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadPhase {
    Running,
    Ready,
    Blocked,
    Exited,
    Unknown,
    /// Woken while it was running, then switched out as blocked: ready since then if it is switched in without another wakeup,
    /// blocked if there is one.
    Undecided,
}

/// The open stretch and the sums. The fields that every event needs are adjacent, because the instances do not fit into the L1
/// cache.
#[repr(C, align(64))]
pub(crate) struct Instance {
    pub(crate) phase: ThreadPhase,
    /// Whether it was woken while running.
    pub(crate) woken: bool,
    /// Known only from a snapshot so far.
    pub(crate) snapshot: bool,
    /// Whether runs of events that name it depend on the state of its open stretch.
    pub(crate) watched: bool,
    pub(crate) reason: Reason,
    pub(crate) prio: Prio,
    /// The CPU of its last switch-in or switch-out.
    pub(crate) cpu: Option<CpuId>,
    /// While it is ready: the CPU of the run queue on which it began to wait.
    pub(crate) queue: Option<CpuId>,
    /// The begin of the open stretch; negative times count as 0.
    pub(crate) since: Ns,
    /// The place of the open stretch's row.
    pub(crate) place: u64,
    pub(crate) waker_thread: ThreadKey,
    pub(crate) name: NameId,
    /// The number of its state changes, including its begin if that is after the begin of the recording.
    pub(crate) state_changes: u32,
    pub(crate) totals: ThreadTotals,
    /// The CPU time that the kernel had charged at its last switch-out, if recorded.
    pub(crate) charged: Option<Ns>,
    /// The CPU time charged in the open running stretch, if the source records single charges.
    pub(crate) open_charge: Option<Ns>,
    /// When it called `sched_yield`, while it is running and has not returned from it as far as recorded.
    pub(crate) yields: Option<Ns>,
    /// When it was woken while running ([`Self::woken`]).
    pub(crate) woken_at: Ns,
}

impl Instance {
    pub(crate) fn new(thread: ThreadKey, tid: Tid, instance: u32, begin: Ns, place: u64) -> Self {
        Self {
            totals: ThreadTotals::new(thread, tid, instance, begin),
            phase: ThreadPhase::Unknown,
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
            state_changes: 0,
            watched: false,
        }
    }

    #[inline]
    pub(crate) fn runs_on(&self, cpu: CpuId) -> bool {
        self.phase == ThreadPhase::Running && self.cpu == Some(cpu)
    }

    /// Returns why it left its CPU while it was runnable, if the switch does not say. `of_kernel`: it is a kernel thread, which never
    /// returns to user mode. `has_yields`: calls of `sched_yield` are recorded.
    pub(crate) fn why_runnable(&self, now: Ns, of_kernel: bool, has_yields: bool) -> Reason {
        let recent = |at: Ns| now - at < MAX_SWITCH_DELAY;
        match () {
            () if self.yields.is_some_and(recent) => Reason::Yielded,
            () if self.woken && recent(self.woken_at) => Reason::NeverSlept,
            () if of_kernel => Reason::GaveWay,
            // Its state before is unknown.
            () if self.phase != ThreadPhase::Running => Reason::LeftRunnable,
            () if has_yields => Reason::Preempted,
            () => Reason::LeftRunnable,
        }
    }

    /// Whether it has exited, so that it can be moved to the file ([`crate::instances::Instances::archive`]). Rows that begin with the
    /// recording are passed on in the order of their ends, so their instances stay.
    pub(crate) fn can_be_archived(&self) -> bool {
        self.phase == ThreadPhase::Exited && self.since > Ns::ZERO
    }

    /// Makes the open stretch unknown, back to its begin.
    pub(crate) fn mark_unknown(&mut self, why: Reason) {
        if self.phase != ThreadPhase::Unknown {
            self.phase = ThreadPhase::Unknown;
            self.reason = why;
        }
    }

    /// Returns the state of the open stretch if it ended now.
    #[inline]
    pub(crate) fn state(&self) -> ThreadState {
        match self.phase {
            ThreadPhase::Running => ThreadState::Running,
            ThreadPhase::Ready => ThreadState::Ready,
            ThreadPhase::Blocked => ThreadState::Blocked,
            ThreadPhase::Exited => ThreadState::Exited,
            ThreadPhase::Unknown | ThreadPhase::Undecided => ThreadState::Unknown,
        }
    }

    #[inline]
    pub(crate) fn add_running_time(&mut self, cpu: CpuId, time: Ns) {
        if cpu == CpuId::UNKNOWN {
            self.totals.nowhere += time;
            return;
        }
        if let Some(slot) = self.totals.by_cpu.iter_mut().find(|(c, _)| *c == cpu) {
            slot.1 += time;
        } else {
            self.totals.by_cpu.push((cpu, time));
        }
    }
}
