//! What is told of a recording before any table: its ends, its counts, its laws.

use crate::Accounted;
use ingest::Trouble;
use model::{CpuState, Ns};
use serde::{Deserialize, Serialize};

/// A law of ACCOUNTING.md and how far the recording is from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LawRow {
    /// What must hold.
    pub law: String,
    /// By how much it does not, ns.
    pub residual_ns: i64,
    /// Whether a residual shows an error of corewise or of the source; otherwise two clocks were compared.
    pub exact: bool,
}

/// Trouble of one kind while a source was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TroubleRow {
    /// A short sentence.
    pub what: String,
    /// Whether something was lost by it.
    pub lost: bool,
    /// How often.
    pub count: u64,
    /// Where first, byte offset.
    pub first_offset: u64,
}

/// Counts and sums of a recording. Times in ns.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the recording.
    pub span_ns: i64,
    /// Events read, of any kind.
    pub events: u64,
    /// Context switches.
    pub switches: u64,
    /// Wakings and wakeups.
    pub wakes: u64,
    /// Frames of frame logs.
    #[serde(default, skip_serializing_if = "is_none")]
    pub frames: u64,
    /// Lives of threads.
    pub threads: u64,
    /// CPUs.
    pub cpus: u64,
    /// All CPUs' busy time.
    pub busy_ns: i64,
    /// All CPUs' idle time.
    pub idle_ns: i64,
    /// All CPUs' unknown time.
    pub unknown_ns: i64,
    /// All CPUs' lossy time.
    pub lossy_ns: i64,
    /// What of the busy and idle time was inferred, where that stands in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred_ns: Option<i64>,
    /// Switches that do not link to the one before on their CPU.
    pub broken: u64,
    /// Switch-ins of a blocked thread whose waking was never seen.
    pub unwoken: u64,
    /// Losses that the source reported.
    pub losses: u64,
    /// Events lost, as far as the source counted them.
    pub lost_events: i64,
    /// Whether ready time is known (the source has wakings).
    pub ready_known: bool,
    /// The laws.
    pub laws: Vec<LawRow>,
    /// What was lost or odd.
    pub troubles: Vec<TroubleRow>,
    /// Why reading stopped before the end, if it did.
    pub stopped: Option<String>,
}

impl Summary {
    /// From a source just read.
    #[must_use]
    pub fn of(accounted: &Accounted) -> Self {
        let totals = &accounted.totals;
        let trouble = |(what, t): (&&'static str, &ingest::TroubleCount)| TroubleRow {
            what: (*what).to_owned(),
            lost: t.what == Trouble::Lost,
            count: t.count,
            first_offset: t.first_offset,
        };
        let mut summary = Self {
            frames: totals.frames,
            ready_known: totals.ready_known,
            troubles: accounted.ingested.troubles.0.iter().map(trouble).collect(),
            stopped: accounted.ingested.ending.stopped.as_ref().map(ToString::to_string),
            ..Self::default()
        };
        summary.sums(totals, &accounted.laws);
        summary
    }

    /// Takes over what sums and laws tell.
    pub(crate) fn sums(&mut self, totals: &account::Totals, laws: &account::Laws) {
        let sum = |state| totals.cpu_time(state).0;
        self.span_ns = (totals.end - totals.begin).0;
        self.events = totals.events;
        self.switches = totals.cpus.iter().map(|c| c.switches).sum();
        self.wakes = totals.wakes;
        self.threads = totals.threads.len();
        self.cpus = totals.cpus.len() as u64;
        self.busy_ns = sum(CpuState::Busy);
        self.idle_ns = sum(CpuState::Idle);
        self.unknown_ns = sum(CpuState::Unknown);
        self.lossy_ns = totals.cpus.iter().map(|c| c.lossy).sum::<Ns>().0;
        self.inferred_ns = totals.filled.then(|| totals.cpus.iter().map(|c| c.inferred).sum::<Ns>().0);
        self.broken = totals.broken();
        self.unwoken = totals.unwoken();
        self.losses = totals.losses.len() as u64;
        self.lost_events = totals.losses.iter().map(|l| l.events.get().unwrap_or(0)).fold(0, i64::saturating_add);
        self.laws = laws.0.iter().map(LawRow::from).collect();
    }

    /// Whether this is of frame logs alone, which tell nothing of threads and CPUs.
    #[must_use]
    pub fn is_of_frames(&self) -> bool {
        self.frames > 0 && self.threads == 0 && self.cpus == 0
    }

    /// Whether all exact laws hold.
    #[must_use]
    pub fn laws_hold(&self) -> bool {
        self.laws.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }

    /// All CPUs' time.
    #[must_use]
    pub fn cpu_time_ns(&self) -> i64 {
        self.busy_ns.saturating_add(self.idle_ns).saturating_add(self.unknown_ns)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(frames: &u64) -> bool {
    *frames == 0
}

impl From<&account::Law> for LawRow {
    fn from(law: &account::Law) -> Self {
        Self { law: law.what.to_owned(), residual_ns: law.residual_ns, exact: law.exact }
    }
}
