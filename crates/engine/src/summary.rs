//! The summary of a recording: its length, counts, sums and laws.

use crate::{Accounted, EngineError};
use ingest::Anomaly;
use model::{CpuState, Ns, SamplingOff};
use serde::{Deserialize, Serialize};

/// A check of docs/accounting.md, and by how much the recording violates it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LawRow {
    /// The statement of the law.
    pub law: String,
    /// The deviation, in ns.
    pub residual_ns: i64,
    /// Whether a deviation means an error of corewise or of the source; otherwise the law compares two clocks.
    pub exact: bool,
}

/// Anomalies of one kind that occurred while the source was read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnomalyRow {
    /// A short description.
    pub what: String,
    /// Whether data was lost.
    pub lost: bool,
    /// Whether a record is whole, but of a form that is not known, so that it was not used.
    #[serde(default)]
    pub not_understood: bool,
    /// How often it occurred.
    pub count: u64,
    /// The byte offset of the first occurrence.
    pub first_offset: u64,
    /// The text of the first one, if it was not understood: the begin of a line, or an event's name. Left out of redacted recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<String>,
}

/// Counts and sums of a recording. Times in ns.
///
/// ```
/// use engine::{PassOptions, Session};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let session = Session::open(path, PassOptions::default())?;
/// let summary = session.summary();
/// assert!(summary.laws_hold() && !summary.is_of_frames());
/// assert_eq!(summary.cpu_time_ns(), summary.span_ns * summary.cpus as i64);
/// # Ok::<(), engine::EngineError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Length of the recording.
    pub span_ns: i64,
    /// Events read, of any kind.
    pub events: u64,
    /// Context switches.
    pub switches: u64,
    /// Wake events (`sched_waking` and `sched_wakeup`).
    pub wakes: u64,
    /// Frames of frame logs.
    #[serde(default, skip_serializing_if = "is_none")]
    pub frames: u64,
    /// Thread instances.
    pub threads: u64,
    /// CPUs.
    pub cpus: u64,
    /// All CPUs' busy time.
    pub busy_ns: i64,
    /// All CPUs' idle time.
    pub idle_ns: i64,
    /// All CPUs' unknown time.
    pub unknown_ns: i64,
    /// The time of CPUs that were not recorded, which is part of `unknown_ns`.
    #[serde(default)]
    pub unrecorded_ns: i64,
    /// All CPUs' lossy time.
    pub lossy_ns: i64,
    /// Inferred time within the busy and idle time, if the sums include it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred_ns: Option<i64>,
    /// Inconsistent switches: the thread switched out is not the one that was running on that CPU.
    #[serde(rename = "broken")]
    pub inconsistent_switches: u64,
    /// Missing wakeups: switch-ins of a blocked thread without a recorded wakeup.
    #[serde(rename = "unwoken")]
    pub missing_wakeups: u64,
    /// Losses: reported by the source, or events that are damaged or cut off.
    pub losses: u64,
    /// Lost events that the source counted.
    pub lost_events: i64,
    /// Whether all ready time is known: the source records wakeups. If not, ready time is a lower bound, without the time after sleeps.
    pub ready_known: bool,
    /// The CPUs that were recorded, as a kernel CPU list ("0-3,8"). Empty in folders that an earlier corewise wrote.
    #[serde(default)]
    pub recorded_cpus: String,
    /// The CPUs that were not recorded, as far as the source names any: those that are online, or for which threads were woken, without an
    /// event.
    #[serde(default)]
    pub unrecorded_cpus: String,
    /// The laws.
    pub laws: Vec<LawRow>,
    /// Anomalies in the source: lost data, what was not understood, and warnings.
    pub anomalies: Vec<AnomalyRow>,
    /// How often and for how long the kernel throttled sampling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sampling_off: Vec<SamplingOff>,
    /// Why reading stopped early, if it did.
    pub stopped: Option<String>,
}

impl Summary {
    /// Creates the summary of a source that was just read.
    #[must_use]
    pub fn of(accounted: &Accounted) -> Self {
        let totals = &accounted.totals;
        let anomaly = |(what, t): (&&'static str, &ingest::AnomalyCount)| AnomalyRow {
            what: (*what).to_owned(),
            lost: t.what == Anomaly::Lost,
            not_understood: t.what == Anomaly::NotUnderstood,
            count: t.count,
            first_offset: t.first_offset,
            first_text: t.first_text.clone(),
        };
        let mut summary = Self {
            frames: totals.frames,
            anomalies: accounted.ingested.anomalies.0.iter().map(anomaly).collect(),
            sampling_off: accounted.ingested.sampling_off.clone(),
            stopped: accounted.ingested.ending.stopped.as_ref().map(ToString::to_string),
            ..Self::default()
        };
        summary.set_whole(totals, &accounted.laws);
        summary
    }

    /// Reads the summary in a folder's manifest.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn of_manifest(folder: &store::Folder) -> Result<Self, EngineError> {
        serde_json::from_value(serde_json::Value::Object(folder.manifest().summary.clone())).map_err(|e| {
            let path = folder.path().display();
            EngineError::Damaged(format!("{path}: the summary in the manifest is damaged: {e}"))
        })
    }

    /// Sets all fields that come from the sums of the whole recording.
    pub(crate) fn set_whole(&mut self, totals: &account::Totals, laws: &account::Laws) {
        self.ready_known = totals.ready_known;
        self.recorded_cpus = topology::cpulist::format(totals.recorded.iter().copied());
        self.unrecorded_cpus = topology::cpulist::format(totals.unrecorded.iter().copied());
        self.set_sums(totals, laws);
    }

    /// Sets the fields that come from the sums and laws.
    pub(crate) fn set_sums(&mut self, totals: &account::Totals, laws: &account::Laws) {
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
        let not_recorded = totals.cpus.iter().filter(|c| totals.recorded.binary_search(&c.cpu).is_err());
        self.unrecorded_ns = not_recorded.flat_map(|c| c.states).sum::<Ns>().0;
        self.lossy_ns = totals.cpus.iter().map(|c| c.lossy).sum::<Ns>().0;
        self.inferred_ns = totals.filled.then(|| totals.cpus.iter().map(|c| c.inferred).sum::<Ns>().0);
        self.inconsistent_switches = totals.inconsistent_switches();
        self.missing_wakeups = totals.missing_wakeups();
        self.losses = totals.losses.len() as u64;
        self.lost_events = totals.losses.iter().map(|l| l.events.get().unwrap_or(0)).fold(0, i64::saturating_add);
        self.laws = laws.0.iter().map(LawRow::from).collect();
    }

    /// Returns whether the trace consists of frame logs only, which have no threads and CPUs.
    #[must_use]
    pub fn is_of_frames(&self) -> bool {
        self.frames > 0 && self.threads == 0 && self.cpus == 0
    }

    /// Returns whether all exact laws hold.
    #[must_use]
    pub fn laws_hold(&self) -> bool {
        self.laws.iter().all(|l| l.residual_ns == 0 || !l.exact)
    }

    /// The number of records that are damaged or cut off.
    #[must_use]
    pub fn damaged_records(&self) -> u64 {
        self.anomalies.iter().filter(|row| row.lost).map(|row| row.count).sum()
    }

    /// The unknown and the total time of the CPUs that were recorded.
    #[must_use]
    pub fn unknown_of_recorded(&self) -> (i64, i64) {
        let less = |ns: i64| ns.saturating_sub(self.unrecorded_ns);
        (less(self.unknown_ns), less(self.cpu_time_ns()))
    }

    /// The total time of all CPUs.
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
