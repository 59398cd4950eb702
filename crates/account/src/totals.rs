//! The sums of a recording.

use crate::{LossIndex, Threads};
use model::{CpuId, CpuState, InferredStretch, LossSpan, Ns, Pid, ThreadKey, ThreadState, Tid};
use std::sync::Arc;

/// The sums of a thread instance. The fields that every event needs come first.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct ThreadTotals {
    /// The thread instance.
    pub thread: ThreadKey,
    /// Its TID.
    pub tid: Tid,
    /// Which instance of this TID: 0, 1, …
    pub instance: u32,
    /// Time in each state, in the order of [`ThreadState::ALL`].
    pub states: [Ns; 5],
    /// The end of its last stretch: the end of the recording, or the begin of the next instance of the TID.
    pub end: Ns,
    /// The longest single wait for a CPU.
    pub max_ready: Ns,
    /// Running time by CPU.
    pub by_cpu: Vec<(CpuId, Ns)>,
    /// The number of all other switch-outs.
    pub voluntary: u64,
    /// The number of switch-outs in a runnable state.
    pub involuntary: u64,
    /// The number of switch-ins on another CPU than before.
    pub migrations: u64,
    /// The CPU time that the kernel charged, over the stretches for which it is known.
    pub exec: Ns,
    /// The running time of those stretches.
    pub exec_of: Ns,
    /// The part of its time in which the source reports lost events.
    pub lossy: Ns,
    /// The number of switch-ins without a recorded wakeup.
    pub missing_wakeups: u64,
    /// When it began: at the begin of the recording, or at its first wakeup.
    pub begin: Ns,
    /// The last known name.
    pub name: Option<Arc<str>>,
    /// Its process, if recorded.
    pub pid: Pid,
    /// Running time on unknown CPUs.
    pub nowhere: Ns,
    /// The part of its running time that was inferred ([`Totals::with_inferred`]).
    pub inferred: Ns,
}

impl ThreadTotals {
    /// Returns empty sums.
    pub(crate) fn new(thread: ThreadKey, tid: Tid, instance: u32, begin: Ns) -> Self {
        Self {
            thread,
            tid,
            instance,
            pid: Pid::UNKNOWN,
            name: None,
            begin,
            end: begin,
            states: [Ns::ZERO; 5],
            exec: Ns::ZERO,
            exec_of: Ns::ZERO,
            lossy: Ns::ZERO,
            involuntary: 0,
            voluntary: 0,
            max_ready: Ns::ZERO,
            migrations: 0,
            missing_wakeups: 0,
            by_cpu: Vec::new(),
            nowhere: Ns::ZERO,
            inferred: Ns::ZERO,
        }
    }

    /// Returns the time in one state.
    #[must_use]
    pub fn time(&self, state: ThreadState) -> Ns {
        self.states[state as usize]
    }

    /// Returns the part of its blocked time in which it may have been ready: without recorded wakeups, all of it.
    #[must_use]
    pub fn blocked_or_ready(&self, ready_known: bool) -> Ns {
        if ready_known { Ns::ZERO } else { self.time(ThreadState::Blocked) }
    }

    /// Whether it did anything in the accounted range, other than not having begun yet or having exited.
    pub(crate) fn did_something(&self) -> bool {
        let counts = [self.involuntary, self.voluntary, self.migrations, self.missing_wakeups];
        let lived = |state| state != ThreadState::Exited && self.time(state) > Ns::ZERO;
        ThreadState::ALL.into_iter().any(lived) || counts.iter().any(|n| *n > 0)
    }

    /// Moves unknown time to running time on a CPU.
    pub(crate) fn fill(&mut self, cpu: CpuId, time: Ns) {
        move_time(&mut self.states, ThreadState::Unknown as usize, ThreadState::Running as usize, time);
        self.inferred += time;
        match self.by_cpu.binary_search_by_key(&cpu, |(cpu, _)| *cpu) {
            Ok(at) => self.by_cpu[at].1 += time,
            Err(at) => self.by_cpu.insert(at, (cpu, time)),
        }
    }
}

/// The sums of a CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTotals {
    /// The CPU.
    pub cpu: CpuId,
    /// Time in each state, in the order of [`CpuState::ALL`].
    pub states: [Ns; 3],
    /// The part of its time in which the source reports lost events of this CPU.
    pub lossy: Ns,
    /// The part of its busy and idle time that was inferred ([`Totals::with_inferred`]).
    pub inferred: Ns,
    /// The number of switches recorded on it.
    pub switches: u64,
    /// The number of switches whose previous thread is not the one that the switch before brought in.
    pub inconsistent_switches: u64,
    /// Whether the source records what it runs: it has a switch, or a snapshot shows its thread.
    pub followed: bool,
    /// Whether an event was recorded on it.
    pub has_events: bool,
}

impl CpuTotals {
    /// Returns the time in one state.
    #[must_use]
    pub fn time(&self, state: CpuState) -> Ns {
        self.states[state as usize]
    }
}

/// The sums of a recording.
#[derive(Debug, Default)]
pub struct Totals {
    /// The begin of the accounted range: 0, or the begin of [`crate::Rules::within`].
    pub begin: Ns,
    /// The end of the accounted range: the last sample of the recording, or the end of [`crate::Rules::within`].
    pub end: Ns,
    /// The sums of threads, by key.
    pub threads: Threads,
    /// The sums of CPUs, by number.
    pub cpus: Vec<CpuTotals>,
    /// The losses that the source reported, in the order of their ends.
    pub losses: Vec<LossSpan>,
    /// Whether the source records wakeups; without them, ready time is a lower bound.
    pub ready_known: bool,
    /// The CPUs that were recorded: each has an event, or the source states it.
    pub recorded: Vec<CpuId>,
    /// The CPUs that were not recorded: those that were online or that events name as a run queue, without an event of their own.
    pub unrecorded: Vec<CpuId>,
    /// Whether `unrecorded` was applied to the states of threads. If not, account again with it ([`crate::Rules::unrecorded`]).
    pub unrecorded_complete: bool,
    /// The number of events of all kinds ([`model::Event::is_counted`]).
    pub events: u64,
    /// The number of wakeup events.
    pub wakes: u64,
    /// The number of frames of frame logs.
    pub frames: u64,
    /// The number of marks of programs: begins, ends and instants.
    pub marks: u64,
    /// Whether the lossy times are complete. If there are losses, they are complete only if the losses were known in advance
    /// ([`crate::Rules::losses`]); otherwise, account again with these losses.
    pub lossy_complete: bool,
    /// The inferred stretches, in order of start.
    pub inferred: Vec<InferredStretch>,
    /// Whether the sums include the inferred stretches ([`Totals::with_inferred`]).
    pub filled: bool,
}

impl Totals {
    /// Returns the number of inconsistent switches on all CPUs.
    #[must_use]
    pub fn inconsistent_switches(&self) -> u64 {
        self.cpus.iter().map(|c| c.inconsistent_switches).sum()
    }

    /// Returns the number of switch-ins without a recorded wakeup, of all threads.
    #[must_use]
    pub fn missing_wakeups(&self) -> u64 {
        self.threads.missing_wakeups()
    }

    /// Returns the time of all CPUs in one state.
    #[must_use]
    pub fn cpu_time(&self, state: CpuState) -> Ns {
        self.cpus.iter().map(|c| c.time(state)).sum()
    }

    /// Returns the total time of all CPUs.
    #[must_use]
    pub fn cpu_time_in_all(&self) -> Ns {
        Ns((self.end - self.begin).0.saturating_mul(self.cpus.len() as i64))
    }

    /// Returns the sums with the inferred stretches instead of the unknown time that they fill.
    #[must_use]
    pub fn with_inferred(mut self) -> Self {
        for stretch in &self.inferred {
            let time = stretch.span.len();
            if let Ok(at) = self.cpus.binary_search_by_key(&stretch.cpu, |c| c.cpu) {
                let cpu = &mut self.cpus[at];
                let state = if stretch.thread == ThreadKey::IDLE { CpuState::Idle } else { CpuState::Busy };
                move_time(&mut cpu.states, CpuState::Unknown as usize, state as usize, time);
                cpu.inferred += time;
            }
        }
        self.threads.fill(&self.inferred);
        self.filled = true;
        self
    }

    /// Returns an index of the losses.
    #[must_use]
    pub fn loss_index(&self) -> LossIndex {
        LossIndex::new(&self.losses, self.end)
    }
}

fn move_time(states: &mut [Ns], from: usize, to: usize, time: Ns) {
    states[from] -= time;
    states[to] += time;
}
