//! Puts readings, whose begin is known only at their end, into order of their begin.

use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::{Feed, TrackData};
use crate::kinds::MAX_CPUS;
use engine::Session;
use model::CpuId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of readings that wait for an earlier one, and of tracks. Beyond that, a reading that began before those that were
/// written is shown from there on.
const WAITING: usize = 1 << 16;

/// The readings of the tracks of a kind. Memory is limited by the number of tracks and CPUs and by [`WAITING`].
pub(super) struct Readings<'a, D: TrackData> {
    feed: Feed<'a, D>,
    /// By begin and track: end and value.
    held: BTreeMap<(i64, u32), (i64, D::Value)>,
    /// Until when each CPU was read: what is still to come of it begins later.
    read: FxHashMap<u32, i64>,
    by_time: BTreeSet<(i64, u32)>,
    /// The begin of the last one that was written.
    written: i64,
    /// The end of the last one of each track.
    ends: FxHashMap<u32, i64>,
    /// The ends of what was written last of each track, unless it is known that nothing follows there: equal values become one.
    open: BTreeSet<(i64, u32)>,
    open_ends: FxHashMap<u32, i64>,
    cut: u64,
}

impl<'a, D: TrackData> Readings<'a, D> {
    pub(super) fn new(session: &Session, to: Target<'a>, name: &'static str) -> Self {
        Self::of(session.machine().cpus.iter().map(|cpu| cpu.id.0), to, name)
    }

    fn of(cpus: impl Iterator<Item = u32>, to: Target<'a>, name: &'static str) -> Self {
        let read: FxHashMap<_, _> = cpus.take(MAX_CPUS).map(|cpu| (cpu, 0)).collect();
        let by_time = read.iter().map(|(cpu, at)| (*at, *cpu)).collect();
        Self {
            feed: Feed::new(to, name),
            held: BTreeMap::new(),
            read,
            by_time,
            written: 0,
            ends: FxHashMap::default(),
            open: BTreeSet::new(),
            open_ends: FxHashMap::default(),
            cut: 0,
        }
    }

    /// Adds a reading of a track, of which those before are added in order. Those of one track do not overlap: the earlier one counts.
    pub(super) fn add(&mut self, track: u32, start: i64, end: i64, value: D::Value) {
        let free = self.ends.get(&track).copied().unwrap_or(0);
        self.cut += u64::from(start < self.written);
        let start = start.max(self.written).max(free);
        if start < end {
            self.ends.insert(track, end);
            self.held.insert((start, track), (end, value));
        }
    }

    /// Reports that a CPU was read at a time, and writes what no later reading can precede.
    pub(super) fn read_until(&mut self, cpu: CpuId, at: i64) {
        let known = self.read.len() < MAX_CPUS || self.read.contains_key(&cpu.0);
        if let Some(before) = if known { self.read.insert(cpu.0, at) } else { None } {
            if before == at {
                return;
            }
            self.by_time.remove(&(before, cpu.0));
        }
        if known {
            self.by_time.insert((at, cpu.0));
        }
        let earliest = self.by_time.first().map_or(at, |first| first.0);
        while let Some(first) = self.held.first_entry() {
            let (start, track) = *first.key();
            if start > earliest && self.held.len() <= WAITING {
                break;
            }
            if let Some((end, value)) = self.held.remove(&(start, track)) {
                self.write(start, track, end, value);
            }
        }
    }

    fn write(&mut self, start: i64, track: u32, end: i64, value: D::Value) {
        self.written = start;
        self.close_before(start);
        if let Some(end) = self.open_ends.insert(track, end) {
            self.open.remove(&(end, track));
        }
        self.open.insert((end, track));
        self.feed.change(track, start, Some(value));
    }

    /// Ends what no later reading can continue.
    fn close_before(&mut self, start: i64) {
        while let Some((end, track)) = self.open.first().copied().filter(|(end, _)| *end < start) {
            self.open.remove(&(end, track));
            self.open_ends.remove(&track);
            self.feed.change(track, end, None);
        }
    }

    /// Writes the rest. Returns whether there is a file, and the number of readings that are shown from a later time on than they began.
    pub(super) fn finish(mut self) -> Result<(bool, u64), ServeError> {
        while let Some(((start, track), (end, value))) = self.held.pop_first() {
            self.write(start, track, end, value);
        }
        self.close_before(i64::MAX);
        Ok((self.feed.finish()?, self.cut))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Tracks;
    use levels::{Reader, Values};

    fn drawn(cpus: u32, fill: impl FnOnce(&mut Readings<'_, Values>)) -> (Vec<(u32, i64, i64, f64)>, u64) {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let to = Target { place: &place, stamp: "drawn", tracks: &Tracks::default(), first: 4, whole: 1 << 20 };
        let mut readings = Readings::<Values>::of(0..cpus, to, "drawn");
        fill(&mut readings);
        let (is_any, cut) = readings.finish().unwrap();
        assert!(is_any);
        let reader = Reader::<Values>::open(&folder.path().join("drawn.levels")).unwrap();
        let steps = reader.slices(0..to.whole, 0, 0..=u32::MAX, usize::MAX).unwrap();
        let mut steps: Vec<_> = steps.iter().map(|s| (s.track, s.start, s.end, s.mean)).collect();
        steps.sort_unstable_by_key(|step| (step.0, step.1));
        (steps, cut)
    }

    #[test]
    fn a_long_reading_is_whole_though_short_ones_of_another_cpu_end_before_it() {
        let (steps, cut) = drawn(2, |readings| {
            for at in 0..100 {
                readings.add(0, 10 * at, 10 * at + 10, at as f64);
                readings.read_until(CpuId(0), 10 * at + 10);
            }
            readings.add(1, 0, 1000, 7.0);
            readings.read_until(CpuId(1), 1000);
        });
        assert_eq!(cut, 0);
        assert_eq!(steps.iter().filter(|step| step.0 == 0).count(), 100);
        assert_eq!(steps.last(), Some(&(1, 0, 1000, 7.0)));
    }

    #[test]
    fn with_more_readings_than_may_wait_a_late_one_is_cut_and_counted() {
        let many = WAITING as i64 + 1000;
        let (steps, cut) = drawn(2, |readings| {
            for at in 0..many {
                readings.add(0, 10 * at, 10 * at + 10, at as f64);
                readings.read_until(CpuId(0), 10 * at + 10);
                assert!(readings.held.len() <= WAITING);
            }
            readings.add(1, 0, 10 * many, 7.0);
        });
        assert_eq!(cut, 1);
        let (short, long): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| step.0 == 0);
        assert_eq!(short.len() as i64, many);
        // In parts without gaps.
        assert!(long.windows(2).all(|two| two[0].2 == two[1].1) && long.iter().all(|step| step.3 == 7.0));
        assert_eq!((long.first().map(|first| first.1), long.last().map(|last| last.2)), (Some(9990), Some(10 * many)));
    }

    #[test]
    fn equal_values_become_one_unless_there_is_a_gap() {
        let (steps, _) = drawn(2, |readings| {
            for (start, end) in [(0, 10), (10, 20), (30, 40)] {
                readings.add(0, start, end, 1.0);
                readings.add(1, start, end, start as f64);
            }
        });
        let (first, second): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| step.0 == 0);
        assert_eq!(first, [(0, 0, 20, 1.0), (0, 30, 40, 1.0)]);
        assert_eq!(second, [(1, 0, 10, 0.0), (1, 10, 20, 10.0), (1, 30, 40, 30.0)]);
    }

    #[test]
    fn readings_of_one_track_do_not_overlap() {
        let (steps, cut) = drawn(1, |readings| {
            readings.add(0, 0, 100, 1.0);
            readings.add(0, 50, 150, 2.0);
            readings.add(0, 20, 150, 3.0);
        });
        assert_eq!((steps, cut), (vec![(0, 0, 100, 1.0), (0, 100, 150, 2.0)], 0));
    }
}
