//! The sums of a recording.

use crate::{LossIndex, Threads};
use model::{CpuId, CpuState, InferredStretch, LossSpan, Ns, Pid, ThreadKey, ThreadState, Tid};
use std::sync::Arc;

/// What one life of one thread did. What every event asks for comes first.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct ThreadTotals {
    /// Who.
    pub thread: ThreadKey,
    /// Its number.
    pub tid: Tid,
    /// Which life of this number: 0, 1, …
    pub life: u32,
    /// Time in each state, in the order of [`ThreadState::ALL`].
    pub states: [Ns; 5],
    /// When its row ends: the end of the recording, or the begin of the number's next life.
    pub end: Ns,
    /// The longest single wait for a CPU.
    pub max_ready: Ns,
    /// Running time by CPU.
    pub by_cpu: Vec<(CpuId, Ns)>,
    /// All other switch-outs.
    pub voluntary: u64,
    /// Switch-outs in a runnable state.
    pub involuntary: u64,
    /// Switch-ins on another CPU than the last.
    pub migrations: u64,
    /// What the kernel charged for running, over the stretches in which that is known.
    pub exec: Ns,
    /// The running time of those stretches.
    pub exec_of: Ns,
    /// The part of all its time in which the source reports lost events.
    pub lossy: Ns,
    /// Switch-ins whose waking was never seen.
    pub unwoken: u64,
    /// When its life began: the begin of the recording, or its first waking.
    pub begin: Ns,
    /// The last name seen.
    pub name: Option<Arc<str>>,
    /// Its process, where told.
    pub pid: Pid,
    /// Running time on CPUs that the source does not name.
    pub nowhere: Ns,
    /// The part of its running time that was inferred ([`Totals::with_inferred`]).
    pub inferred: Ns,
}

impl ThreadTotals {
    /// Nothing yet.
    pub(crate) fn new(thread: ThreadKey, tid: Tid, life: u32, begin: Ns) -> Self {
        Self {
            thread,
            tid,
            life,
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
            unwoken: 0,
            by_cpu: Vec::new(),
            nowhere: Ns::ZERO,
            inferred: Ns::ZERO,
        }
    }

    /// Time in one state.
    #[must_use]
    pub fn time(&self, state: ThreadState) -> Ns {
        self.states[state as usize]
    }

    /// Whether there is more to tell of it than that its life is over, or has not begun.
    pub(crate) fn did_something(&self) -> bool {
        let counts = [self.involuntary, self.voluntary, self.migrations, self.unwoken];
        let lived = |state| state != ThreadState::Exited && self.time(state) > Ns::ZERO;
        ThreadState::ALL.into_iter().any(lived) || counts.iter().any(|n| *n > 0)
    }

    /// Unknown time was running, on a CPU.
    pub(crate) fn fill(&mut self, cpu: CpuId, time: Ns) {
        moved(&mut self.states, ThreadState::Unknown as usize, ThreadState::Running as usize, time);
        self.inferred = self.inferred + time;
        match self.by_cpu.binary_search_by_key(&cpu, |(cpu, _)| *cpu) {
            Ok(at) => self.by_cpu[at].1 = self.by_cpu[at].1 + time,
            Err(at) => self.by_cpu.insert(at, (cpu, time)),
        }
    }
}

/// What one CPU did.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTotals {
    /// Which.
    pub cpu: CpuId,
    /// Time in each state, in the order of [`CpuState::ALL`].
    pub states: [Ns; 3],
    /// The part of it in which the source reports lost events of this CPU.
    pub lossy: Ns,
    /// The part of its busy and idle time that was inferred ([`Totals::with_inferred`]).
    pub inferred: Ns,
    /// Switches recorded on it.
    pub switches: u64,
    /// Of these, how many do not link to the one before.
    pub broken: u64,
    /// Whether anything is known of what it ran.
    pub followed: bool,
}

impl CpuTotals {
    /// Time in one state.
    #[must_use]
    pub fn time(&self, state: CpuState) -> Ns {
        self.states[state as usize]
    }
}

/// The sums of a recording.
#[derive(Debug, Default)]
pub struct Totals {
    /// From where they count: 0, or where the part begins of which alone they are ([`crate::Rules::within`]).
    pub begin: Ns,
    /// To the recording's last sample, or the part's end.
    pub end: Ns,
    /// By key.
    pub threads: Threads,
    /// By number.
    pub cpus: Vec<CpuTotals>,
    /// The losses that the source reported, in the order of their ends.
    pub losses: Vec<LossSpan>,
    /// Whether the source tells when threads were woken; without, ready time is not known.
    pub ready_known: bool,
    /// Events met, of any kind.
    pub events: u64,
    /// Wakings and wakeups met.
    pub wakes: u64,
    /// Frames of frame logs met.
    pub frames: u64,
    /// Marks of programs met, begins, ends and moments.
    pub marks: u64,
    /// Time of all threads that is lossy, and so on for CPUs, is complete only where the losses were known beforehand
    /// ([`crate::Rules::losses`]); otherwise, where there are any, account again with them.
    pub lossy_complete: bool,
    /// What can be inferred, apart from what was seen, in order of start.
    pub inferred: Vec<InferredStretch>,
    /// Whether it stands in the sums ([`Totals::with_inferred`]).
    pub filled: bool,
}

impl Totals {
    /// Links broken on all CPUs.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.cpus.iter().map(|c| c.broken).sum()
    }

    /// Switch-ins whose waking was never seen, of all threads.
    #[must_use]
    pub fn unwoken(&self) -> u64 {
        self.threads.unwoken()
    }

    /// Time of all CPUs in one state.
    #[must_use]
    pub fn cpu_time(&self, state: CpuState) -> Ns {
        self.cpus.iter().map(|c| c.time(state)).sum()
    }

    /// Time of all CPUs.
    #[must_use]
    pub fn cpu_time_in_all(&self) -> Ns {
        Ns((self.end - self.begin).0.saturating_mul(self.cpus.len() as i64))
    }

    /// The sums with what was inferred in place of the unknown time that it fills.
    #[must_use]
    pub fn with_inferred(mut self) -> Self {
        for stretch in &self.inferred {
            let time = stretch.span.len();
            if let Ok(at) = self.cpus.binary_search_by_key(&stretch.cpu, |c| c.cpu) {
                let cpu = &mut self.cpus[at];
                let state = if stretch.thread == ThreadKey::IDLE { CpuState::Idle } else { CpuState::Busy };
                moved(&mut cpu.states, CpuState::Unknown as usize, state as usize, time);
                cpu.inferred = cpu.inferred + time;
            }
        }
        self.threads.fill(&self.inferred);
        self.filled = true;
        self
    }

    /// The losses, ready to be looked up.
    #[must_use]
    pub fn loss_index(&self) -> LossIndex {
        LossIndex::new(&self.losses, self.end)
    }
}

fn moved(states: &mut [Ns], from: usize, to: usize, time: Ns) {
    states[from] = states[from] - time;
    states[to] = states[to] + time;
}
