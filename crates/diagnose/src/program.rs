//! Which processes belong to the recorded program.

use crate::context::{RuleContext, add};
use crate::costs::MeasuredCosts;
use crate::finding::{Finding, Subject};
use crate::pools::Processes;
use crate::rules::RULES;
use crate::settings::Settings;
use engine::{EngineError, Session};
use model::tables::{threads, wakers};
use model::{Ns, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// Two processes that woke each other's threads this often work together, as a client and its server do.
const MIN_WAKEUPS: i64 = 20;

/// The recorded program: the process that the recording was made for, the processes that it started, and those with which these exchange
/// wakeups. The recorder is none of them.
pub struct Program {
    /// Its processes; `None`: the recording was not made for a process, so all but the recorder count.
    own: Option<BTreeSet<i64>>,
    recorder: Option<i64>,
    of: Processes,
}

impl Program {
    /// The recorded program of a trace, from the tables `threads` and `wakers` of the part to which the session is limited.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn of(session: &Session) -> Result<Self, EngineError> {
        let settings = Settings::default();
        let costs = MeasuredCosts::default();
        Self::new(&RuleContext::new(session, &settings, None, &[], &costs, RULES[0])?)
    }

    /// Reads the table `wakers`.
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let of = Processes::new(ctx)?;
        let recorder = ctx.facts().recorder.map(i64::from);
        let Some(focus) = of.focus() else { return Ok(Self { own: None, recorder, of }) };
        let mut began = BTreeSet::new();
        ctx.each_row(threads::Table, |row| {
            if row.get(threads::BEGIN_NS) > Ns::ZERO {
                began.insert(row.get(threads::THREAD));
            }
        })?;
        // Which process started which one, and how often two processes woke each other.
        let (mut started, mut together) = (BTreeSet::new(), BTreeMap::new());
        ctx.each_row(wakers::Table, |row| {
            let (thread, waker) = (row.get(wakers::THREAD), row.get(wakers::WAKER).unwrap_or(ThreadKey::IDLE));
            let (Some(woken), Some(by)) = (of.process(thread), of.process(waker)) else { return };
            let is_other = |thread: ThreadKey| ctx.is_kernel_thread(thread) || of.process(thread) == recorder;
            if woken == by || is_other(thread) || is_other(waker) {
                return;
            }
            if began.contains(&thread) {
                started.insert((by, woken));
            }
            add(&mut together, (by.min(woken), by.max(woken)), row.get(wakers::WAKINGS));
        })?;
        together.retain(|_, wakeups| *wakeups >= MIN_WAKEUPS);
        let mut own = BTreeSet::from([focus]);
        loop {
            let before = own.len();
            own.extend(started.iter().filter(|(by, _)| own.contains(by)).map(|(_, woken)| *woken).collect::<Vec<_>>());
            let pairs = together.keys().filter(|(a, b)| own.contains(a) || own.contains(b));
            own.extend(pairs.flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>());
            if own.len() == before {
                return Ok(Self { own: Some(own), recorder, of });
            }
        }
    }

    /// Whether a thread belongs to it, by its key.
    #[must_use]
    pub fn is_own(&self, thread: ThreadKey) -> bool {
        match (self.of.process(thread), &self.own) {
            (Some(process), _) if Some(process) == self.recorder => false,
            (Some(process), Some(own)) => own.contains(&process),
            _ => true,
        }
    }

    /// Whether a thread is of the process that the recording was made for, by its key.
    #[must_use]
    pub fn is_focus(&self, thread: ThreadKey) -> bool {
        self.of.is_focus(thread)
    }

    /// Whether a thread is of the recorder, by its key.
    pub(crate) fn is_of_recorder(&self, thread: ThreadKey) -> bool {
        self.recorder.is_some() && self.of.process(thread) == self.recorder
    }

    /// Whether a finding is about the recorder only.
    pub(crate) fn is_recorder(&self, finding: &Finding) -> bool {
        finding.subject == Subject::Program
            && self.recorder.is_some()
            && !finding.threads.is_empty()
            && finding.threads.iter().all(|claim| self.of.process(claim.thread) == self.recorder)
    }

    /// Whether a finding is about a program that was not recorded: a service of the machine.
    pub(crate) fn is_other(&self, finding: &Finding) -> bool {
        finding.subject == Subject::Program
            && !finding.threads.is_empty()
            && !finding.threads.iter().any(|claim| self.is_own(claim.thread))
    }
}
