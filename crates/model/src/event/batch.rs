//! Batches of events with their texts and callchains, and what is missing from them.

use crate::{CpuId, Event, MaybeCount, MaybeNs, Ns, StackFrame};
use serde::{Deserialize, Serialize};

/// A loss of events. The event's own time is that of the first event after the loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossSpan {
    /// The time of the last event that the buffer delivered before the loss, if there is one.
    pub from: MaybeNs,
    /// The time of the first event that it delivered after the loss, if there is one.
    pub to: MaybeNs,
    /// The CPU of the buffer; `None`: any CPU.
    pub cpu: Option<CpuId>,
    /// The number of lost events, if the source counts them.
    pub events: MaybeCount,
}

impl LossSpan {
    /// Returns its begin and end, limited to these times.
    #[must_use]
    pub fn within(&self, begin: Ns, end: Ns) -> (Ns, Ns) {
        let (from, to) = (self.from.get(), self.to.get());
        (from.map_or(begin, |from| from.max(begin)), to.map_or(end, |to| to.min(end)))
    }
}

/// A batch of events of one stream, and the texts that they use first.
///
/// ```
/// use model::{Batch, NameId, Stacks};
///
/// let with = |name: &str| Batch { names: vec![name.into()], ..Batch::default() };
/// let mut all = Stacks::default();
/// all.add(&with("redis-server"));
/// all.add(&with("kworker/0:1"));
/// // Each text is in the batch that uses it first, and keeps its id in later ones.
/// assert_eq!(all.name(NameId(2)), Some("kworker/0:1"));
/// assert_eq!(all.name(NameId::NONE), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of the source.
    pub events: Vec<Event>,
    /// The new texts. The numbering continues from the stream's earlier batches: the first text of a stream is [`crate::NameId`] 1.
    pub names: Vec<Box<str>>,
    /// The new callchains, innermost frame first, numbered like the texts.
    pub stacks: Vec<Box<[StackFrame]>>,
    /// What the reader dropped because it exceeds a limit.
    pub left_out: LeftOut,
    /// For how long events were not sampled; in the last batch of a stream.
    pub sampling_off: Vec<SamplingOff>,
}

/// How often and for how long the kernel stopped sampling an event, because its samples came faster than it allows
/// (`PERF_RECORD_THROTTLE`). Nothing is lost, but samples are missing where they were most frequent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SamplingOff {
    /// The event.
    pub event: String,
    /// The CPU, if the event was one of a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The thread, if the event was one of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// How often sampling stopped.
    pub times: u64,
    /// For how long, in ns: an upper bound, as the thread may have moved to a CPU on which it was sampled.
    pub off_ns: i64,
    /// How often it did not start again before the end of the recording.
    pub until_end: u64,
}

/// Counts of data that readers dropped because it exceeds a limit. The limits are far above what recordings contain.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Uses of texts that are missing.
    pub texts: u64,
    /// Uses of callchains that are missing or truncated.
    pub callchains: u64,
    /// Threads whose process was dropped.
    pub threads: u64,
    /// Entries of other tables: mappings, tracks, open frames, clocks.
    pub entries: u64,
}

impl LeftOut {
    /// Adds another count and resets it.
    pub fn take(&mut self, from: &mut Self) {
        let more = std::mem::take(from);
        self.texts += more.texts;
        self.callchains += more.callchains;
        self.threads += more.threads;
        self.entries += more.entries;
    }
}

impl Batch {
    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.names.clear();
        self.stacks.clear();
        self.left_out = LeftOut::default();
        self.sampling_off.clear();
    }
}
