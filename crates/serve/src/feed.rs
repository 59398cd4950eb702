//! Converts changes of tracks to stretches in order of start, for a writer.

use crate::build_levels::{LevelsFile, Target};
use levels::{Detail, HeldValue, States, Stretch, Values};
use std::collections::{BTreeMap, BTreeSet};

/// The minimum number of slices in a chapter; these tracks are few.
const CHAPTER: usize = 1 << 14;
/// The maximum number of stretches that wait for an earlier one to end. Beyond that, the earlier one is split: it is written up to
/// here and continues as another stretch of the same value, which looks the same.
const WAITING: usize = 1 << 14;

/// The contents of a stretch.
pub(crate) trait TrackData: Detail {
    type Value: Copy + PartialEq;

    fn input(track: u32, start: i64, end: i64, value: Self::Value) -> Self::Input;
}

impl TrackData for States {
    /// The state and its CPU or thread.
    type Value = (u8, i64);

    fn input(track: u32, start: i64, end: i64, (state, what): (u8, i64)) -> Stretch {
        Stretch { track, start, end, state, what }
    }
}

impl TrackData for Values {
    type Value = f64;

    fn input(track: u32, start: i64, end: i64, value: f64) -> HeldValue {
        HeldValue { track, start, end, value }
    }
}

/// The tracks of a kind. Memory is limited by the number of tracks and by [`WAITING`].
pub(crate) struct Feed<'a, D: TrackData> {
    to: Target<'a>,
    name: &'static str,
    writer: Option<LevelsFile<D>>,
    failed: Option<levels::Error>,
    /// The current value of each track, and its start.
    open: BTreeMap<u32, (i64, D::Value)>,
    since: BTreeSet<(i64, u32)>,
    ended: BTreeMap<(i64, u32), D::Input>,
}

impl<'a, D: TrackData> Feed<'a, D> {
    pub(crate) fn new(to: Target<'a>, name: &'static str) -> Self {
        let (open, since, ended) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { to, name, writer: None, failed: None, open, since, ended }
    }

    /// Sets the value of a track from a time on; `None` if it is unknown.
    pub(crate) fn change(&mut self, track: u32, at: i64, value: Option<D::Value>) {
        let at = at.min(self.to.whole);
        if self.open.get(&track).map(|open| open.1) == value {
            return;
        }
        if let Some((since, was)) = self.open.remove(&track) {
            self.since.remove(&(since, track));
            self.end(track, since, at, was);
        }
        if let Some(value) = value {
            self.open.insert(track, (at, value));
            self.since.insert((at, track));
        }
        while self.ended.len() >= WAITING {
            self.pass_on();
            let Some((since, track)) = self.since.first().copied().filter(|_| self.ended.len() >= WAITING / 2) else {
                break;
            };
            let Some(open) = self.open.get_mut(&track).filter(|open| open.0 < at) else { break };
            let value = open.1;
            open.0 = at;
            self.since.remove(&(since, track));
            self.since.insert((at, track));
            self.end(track, since, at, value);
        }
    }

    fn end(&mut self, track: u32, start: i64, end: i64, value: D::Value) {
        if start < end {
            self.ended.insert((start, track), D::input(track, start, end, value));
        }
    }

    /// Writes the stretches that no earlier stretch can precede.
    fn pass_on(&mut self) {
        let earliest = self.since.first().copied().unwrap_or((i64::MAX, 0));
        let later = self.ended.split_off(&earliest);
        for input in std::mem::replace(&mut self.ended, later).into_values() {
            if self.failed.is_none() {
                self.failed = self.write(&input).err();
            }
        }
    }

    fn write(&mut self, input: &D::Input) -> Result<(), levels::Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.to.begin(self.name, CHAPTER)?),
        };
        writer.push(input)
    }

    /// Ends all tracks at the end of the recording; returns whether a file was written.
    pub(crate) fn finish(mut self) -> Result<bool, crate::ServeError> {
        let end = self.to.whole;
        for (track, (since, value)) in std::mem::take(&mut self.open) {
            self.end(track, since, end, value);
        }
        self.since.clear();
        self.pass_on();
        if let Some(failed) = self.failed {
            return Err(failed.into());
        }
        let has_file = self.writer.is_some();
        self.writer.map_or(Ok(()), LevelsFile::finish)?;
        Ok(has_file)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Tracks;
    use levels::Reader;

    #[test]
    fn a_constant_track_is_complete_next_to_one_with_more_changes_than_may_wait() {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let changes = 3 * WAITING as i64;
        let to = Target { place: &place, stamp: "drawn", tracks: &Tracks::default(), first: 4, whole: 2 * changes };
        let mut feed = Feed::<Values>::new(to, "drawn");
        feed.change(0, 0, Some(7.0));
        for change in 0..changes {
            feed.change(1, 2 * change, Some(change as f64));
        }
        assert!(feed.finish().unwrap());
        let reader = Reader::<Values>::open(&folder.path().join("drawn.levels")).unwrap();
        let steps = |track| reader.slices(0..to.whole, 1, track..=track, usize::MAX).unwrap();
        // Track 1 has each change; track 0 is one value in parts without gaps.
        let changing = steps(1).iter().map(|s| (s.start, s.end, s.mean)).collect::<Vec<_>>();
        assert_eq!(changing, (0..changes).map(|c| (2 * c, 2 * c + 2, c as f64)).collect::<Vec<_>>());
        let constant = steps(0);
        assert_eq!((constant[0].start, constant[constant.len() - 1].end), (0, to.whole));
        assert!(constant.windows(2).all(|w| w[0].end == w[1].start) && constant.iter().all(|s| s.mean == 7.0));
        assert!(constant.len() > 1 && constant.len() < 10, "{} parts", constant.len());
    }

    #[test]
    fn without_data_no_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let to = Target { place: &place, stamp: "drawn", tracks: &Tracks::default(), first: 4, whole: 100 };
        let mut feed = Feed::<States>::new(to, "drawn");
        // A value at the very end and an unknown value have no duration.
        feed.change(0, 100, Some((1, -1)));
        feed.change(1, 5, None);
        assert!(!feed.finish().unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
