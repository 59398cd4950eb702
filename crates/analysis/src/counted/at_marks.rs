//! What the events had counted for a thread at each mark that it set.
//!
//! The readings of a thread follow one another, and each covers the time since the one before. A mark lies within one:
//!
//! ```text
//!      reading            mark                 reading
//!   ──────┼─────────────────┼────────────────────┼──────▶ time
//!         0              between                 c         counted since the first reading
//! ```
//!
//! If the events were read at the mark too ([`model::Change::CountedAtMark`]), the count up to it is known. If not, it is between those of
//! the known instants around it, and the estimate is in proportion to the time. So a mark is known only when the next reading has come.

use super::{Sums, count_of};
use crate::{Begins, World};
use model::{Change, CoreType, Counted, NameId, Ns, TimelineEvent};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each event counted on each type of core.
pub(crate) type Clocks = BTreeMap<(NameId, CoreType), Sums>;

/// A mark of a thread, by its number.
pub(crate) type MarkId = u64;

/// What an event counted within a reading, up to a mark: at least, as an estimate, and at most.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) low: i64,
    pub(crate) estimate: f64,
    pub(crate) high: i64,
    pub(crate) enabled: Ns,
    pub(crate) counted: Ns,
}

/// A mark.
pub(crate) struct AtMark {
    pub(crate) at: Ns,
    /// The thread ran, so that a reading must contain the mark.
    running: bool,
    /// A reading contains the mark.
    contained: bool,
    /// The running time of the thread on each type of core up to here.
    pub(crate) ran: BTreeMap<CoreType, Ns>,
    /// What was counted up to the reading before.
    before: Arc<Clocks>,
    /// What was counted since.
    parts: BTreeMap<(NameId, CoreType), Part>,
}

impl AtMark {
    /// Whether it is known how far its reading had come, at least within limits.
    pub(crate) fn is_known(&self) -> bool {
        self.contained || !self.running
    }

    /// Returns what an event had counted up to here on a type of core.
    pub(crate) fn total(&self, of: (NameId, CoreType)) -> Part {
        let before = self.before.get(&of).copied().unwrap_or_default();
        let part = self.parts.get(&of).copied().unwrap_or_default();
        Part {
            low: before.count.saturating_add(part.low),
            estimate: before.count as f64 + part.estimate,
            high: before.count.saturating_add(part.high),
            enabled: before.enabled + part.enabled,
            counted: before.counted + part.counted,
        }
    }

    /// Returns the events and the types of core that counted up to here.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (NameId, CoreType)> {
        self.before.keys().copied().chain(self.parts.keys().copied().filter(|key| !self.before.contains_key(key)))
    }
}

/// A reading of an event.
struct Reading {
    core_type: CoreType,
    counted: Counted,
}

/// A thread that sets marks.
#[derive(Default)]
pub(crate) struct ThreadAtMarks {
    /// On which type of core it runs, and since when.
    running: Option<(CoreType, Ns)>,
    ran: BTreeMap<CoreType, Ns>,
    /// What its readings counted. Those of its last instant are not in it yet, but in `readings`.
    clocks: Arc<Clocks>,
    read_at: Ns,
    readings: Vec<Reading>,
    /// What was read at marks since the last reading.
    at_marks: Vec<(Ns, Counted)>,
    marks: FxHashMap<MarkId, AtMark>,
    next: MarkId,
    /// Marks since the last reading.
    pending: Vec<MarkId>,
}

impl ThreadAtMarks {
    /// Sets the type of core on which the thread runs from now on; `None`: it does not run.
    pub(crate) fn runs(&mut self, on: Option<CoreType>, now: Ns) {
        if let Some((core_type, since)) = self.running {
            let ran = self.ran.entry(core_type).or_default();
            *ran += now - since;
        }
        self.running = on.map(|core_type| (core_type, now));
    }

    /// Adds a mark. The caller first calls [`Self::settle`].
    pub(crate) fn mark(&mut self, now: Ns) -> MarkId {
        self.runs(self.running.map(|(core_type, _)| core_type), now);
        let (running, ran, before) = (self.running.is_some(), self.ran.clone(), Arc::clone(&self.clocks));
        let mark = AtMark { at: now, running, contained: false, ran, before, parts: BTreeMap::new() };
        self.next += 1;
        self.marks.insert(self.next, mark);
        self.pending.push(self.next);
        self.next
    }

    pub(crate) fn get(&self, mark: MarkId) -> Option<&AtMark> {
        self.marks.get(&mark)
    }

    pub(crate) fn forget(&mut self, mark: MarkId) {
        self.marks.remove(&mark);
    }

    /// Whether the readings of an earlier instant wait for [`Self::settle`].
    pub(crate) fn is_due(&self, now: Ns) -> bool {
        !self.readings.is_empty() && self.read_at < now
    }

    /// Handles a count of this thread, or what was read at one of its marks. The caller first calls [`Self::settle`].
    pub(crate) fn event(&mut self, event: &TimelineEvent, begins: Begins, span_start: Ns, world: &World) {
        if let Change::CountedAtMark(_, counted) = event.what {
            self.at_marks.push((event.at, counted));
        } else if let Some((cpu, counted)) = count_of(event, begins, span_start) {
            self.read_at = event.at;
            self.readings.push(Reading { core_type: super::core_type(cpu, world), counted });
        }
    }

    /// Adds up the readings of the last instant. All marks before it are then known, if they ever will be.
    pub(crate) fn settle(&mut self) {
        let readings = std::mem::take(&mut self.readings);
        let at_marks = std::mem::take(&mut self.at_marks);
        let pending = std::mem::take(&mut self.pending);
        for reading in &readings {
            let of = (reading.counted.event, reading.core_type);
            let known = known(self.read_at, &reading.counted, &at_marks);
            for id in &pending {
                let Some(mark) = self.marks.get_mut(id) else { continue };
                let Some(part) = part(mark.at, &known) else { continue };
                mark.contained = true;
                let sum = mark.parts.entry(of).or_default();
                *sum = Part {
                    low: sum.low.saturating_add(part.low),
                    estimate: sum.estimate + part.estimate,
                    high: sum.high.saturating_add(part.high),
                    enabled: sum.enabled + part.enabled,
                    counted: sum.counted + part.counted,
                };
            }
        }
        for reading in &readings {
            let clocks = Arc::make_mut(&mut self.clocks);
            clocks.entry((reading.counted.event, reading.core_type)).or_default().add(&reading.counted);
        }
    }
}

/// An instant at which it is known what an event had counted since the last reading, and for how long it had counted.
#[derive(Clone, Copy)]
struct Known {
    at: Ns,
    count: i64,
    running: Ns,
}

/// Returns the known instants within a reading that ends at `end`, in order: its begin, the marks where it was read, and its end. What was
/// read at a mark counts only if it began with this reading, and if the counts never fall.
fn known(end: Ns, reading: &Counted, at_marks: &[(Ns, Counted)]) -> Vec<Known> {
    let begin = end - reading.length;
    let mut known = vec![Known { at: begin, count: 0, running: Ns::ZERO }];
    for (at, read) in at_marks.iter().filter(|(at, read)| read.event == reading.event && *at - read.length == begin) {
        let last = known.last().copied().unwrap_or(Known { at: begin, count: 0, running: Ns::ZERO });
        let rises = *at > last.at && read.count >= last.count && read.running >= last.running;
        let remains = *at < end && read.count <= reading.count && read.running <= reading.running;
        // An event cannot count for longer than the time that has passed.
        let fits = read.running - last.running <= *at - last.at && reading.running - read.running <= end - *at;
        if rises && remains && fits {
            known.push(Known { at: *at, count: read.count, running: read.running });
        }
    }
    known.push(Known { at: end, count: reading.count, running: reading.running });
    known
}

/// Returns what was counted up to `at`; `None` if the reading does not contain it.
fn part(at: Ns, known: &[Known]) -> Option<Part> {
    let begin = known.first()?.at;
    let exact = |known: &Known| Part {
        low: known.count,
        estimate: known.count as f64,
        high: known.count,
        enabled: at - begin,
        counted: known.running,
    };
    if let Some(known) = known.iter().find(|known| known.at == at) {
        return Some(exact(known));
    }
    let after = known.iter().position(|known| known.at > at).filter(|after| *after > 0)?;
    let (from, to) = (known.get(after - 1)?, known.get(after)?);
    let (passed, length) = (i128::from((at - from.at).0), i128::from((to.at - from.at).0));
    let running = i128::from((to.running - from.running).0) * passed / length;
    Some(Part {
        low: from.count.min(to.count),
        estimate: from.count as f64 + (to.count as f64 - from.count as f64) * (passed as f64 / length as f64),
        high: from.count.max(to.count),
        enabled: at - begin,
        counted: from.running + Ns(i64::try_from(running).unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: i64, length: i64, running: i64) -> Counted {
        Counted { event: NameId(1), length: Ns(length), count, running: Ns(running) }
    }

    fn range(at: i64, known: &[Known]) -> Option<(i64, f64, i64)> {
        part(Ns(at), known).map(|part| (part.low, part.estimate, part.high))
    }

    #[test]
    fn a_mark_lies_between_the_known_instants() {
        let known = known(Ns(200), &counted(80, 100, 100), &[(Ns(150), counted(10, 50, 50))]);
        assert_eq!(range(100, &known), Some((0, 0.0, 0)));
        assert_eq!(range(125, &known), Some((0, 5.0, 10)));
        assert_eq!(range(150, &known), Some((10, 10.0, 10)));
        assert_eq!(range(175, &known), Some((10, 45.0, 80)));
        assert_eq!(range(200, &known), Some((80, 80.0, 80)));
        assert_eq!((range(99, &known), range(201, &known)), (None, None));
    }

    #[test]
    fn what_was_read_in_another_interval_or_cannot_be_is_not_used() {
        let wrong = [
            (Ns(150), counted(10, 40, 40)),
            (Ns(150), counted(90, 50, 50)),
            (Ns(150), counted(-1, 50, 50)),
            (Ns(150), counted(10, 50, 60)),
            (Ns(250), counted(10, 150, 50)),
        ];
        for (n, wrong) in wrong.iter().enumerate() {
            assert_eq!(known(Ns(200), &counted(80, 100, 100), &[*wrong]).len(), 2, "{n}");
        }
        // The counts rise.
        let twice = [(Ns(120), counted(10, 20, 20)), (Ns(130), counted(9, 30, 30))];
        assert_eq!(known(Ns(200), &counted(80, 100, 100), &twice).len(), 3);
    }

    #[test]
    fn multiplexed_time_is_in_proportion() {
        let known = known(Ns(200), &counted(80, 100, 50), &[]);
        let part = part(Ns(150), &known).unwrap_or_default();
        assert_eq!((part.enabled, part.counted), (Ns(50), Ns(25)));
    }
}
