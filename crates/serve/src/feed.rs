//! Changes of tracks, handed to a writer as stretches in order of start.

use crate::making::{To, Whole};
use levels::{Detail, Held, States, Stretch, Values};
use std::collections::{BTreeMap, BTreeSet};

/// A chapter's least slices: these tracks are few.
const CHAPTER: usize = 1 << 14;
/// Stretches that may wait for one that began before them and goes on. Beyond, that one is written up to here, and goes on as
/// another of the same value: what is drawn of it is the same.
const WAITING: usize = 1 << 14;

/// What a stretch holds.
pub(crate) trait Holds: Detail {
    type Value: Copy + PartialEq;

    fn told(track: u32, start: i64, end: i64, value: Self::Value) -> Self::Told;
}

impl Holds for States {
    /// The state, and what goes with it.
    type Value = (u8, i64);

    fn told(track: u32, start: i64, end: i64, (state, what): (u8, i64)) -> Stretch {
        Stretch { track, start, end, state, what }
    }
}

impl Holds for Values {
    type Value = f64;

    fn told(track: u32, start: i64, end: i64, value: f64) -> Held {
        Held { track, start, end, value }
    }
}

/// The tracks of a kind. Memory is bounded by the tracks and by [`WAITING`].
pub(crate) struct Feed<'a, D: Holds> {
    to: To<'a>,
    name: &'static str,
    writer: Option<Whole<D>>,
    failed: Option<levels::Error>,
    /// What each track holds, and since when.
    open: BTreeMap<u32, (i64, D::Value)>,
    since: BTreeSet<(i64, u32)>,
    ended: BTreeMap<(i64, u32), D::Told>,
}

impl<'a, D: Holds> Feed<'a, D> {
    pub(crate) fn new(to: To<'a>, name: &'static str) -> Self {
        let (open, since, ended) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { to, name, writer: None, failed: None, open, since, ended }
    }

    /// A track holds this from now on; `None`: nobody can say what.
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
            self.hand_on();
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
            self.ended.insert((start, track), D::told(track, start, end, value));
        }
    }

    /// Hands on all before which nothing can begin any more.
    fn hand_on(&mut self) {
        let least = self.since.first().copied().unwrap_or((i64::MAX, 0));
        let later = self.ended.split_off(&least);
        for told in std::mem::replace(&mut self.ended, later).into_values() {
            if self.failed.is_none() {
                self.failed = self.write(&told).err();
            }
        }
    }

    fn write(&mut self, told: &D::Told) -> Result<(), levels::Error> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.to.begin(self.name, CHAPTER)?),
        };
        writer.push(told)
    }

    /// Ends all tracks with the recording; tells whether there is a file.
    pub(crate) fn finish(mut self) -> Result<bool, crate::ServeError> {
        let end = self.to.whole;
        for (track, (since, value)) in std::mem::take(&mut self.open) {
            self.end(track, since, end, value);
        }
        self.since.clear();
        self.hand_on();
        if let Some(failed) = self.failed {
            return Err(failed.into());
        }
        let there = self.writer.is_some();
        self.writer.map_or(Ok(()), Whole::finish)?;
        Ok(there)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use levels::Reader;

    #[test]
    fn a_track_that_never_changes_is_whole_beside_one_that_changes_more_often_than_may_wait() {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let changes = 3 * WAITING as i64;
        let to = To { place: &place, stamp: "drawn", first: 4, whole: 2 * changes };
        let mut feed = Feed::<Values>::new(to, "drawn");
        feed.change(0, 0, Some(7.0));
        for change in 0..changes {
            feed.change(1, 2 * change, Some(change as f64));
        }
        assert!(feed.finish().unwrap());
        let reader = Reader::<Values>::open(&folder.path().join("drawn.levels")).unwrap();
        let steps = |track| reader.slices(0..to.whole, 1, track..=track, usize::MAX).unwrap();
        // Each of track 1 as it was told; those of track 0 are parts of one, without a gap.
        let told = steps(1).iter().map(|s| (s.start, s.end, s.mean)).collect::<Vec<_>>();
        assert_eq!(told, (0..changes).map(|c| (2 * c, 2 * c + 2, c as f64)).collect::<Vec<_>>());
        let whole = steps(0);
        assert_eq!((whole[0].start, whole[whole.len() - 1].end), (0, to.whole));
        assert!(whole.windows(2).all(|w| w[0].end == w[1].start) && whole.iter().all(|s| s.mean == 7.0));
        assert!(whole.len() > 1 && whole.len() < 10, "{} parts", whole.len());
    }

    #[test]
    fn of_a_trace_without_such_data_there_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = safefs::Dir::open(folder.path()).unwrap();
        let to = To { place: &place, stamp: "drawn", first: 4, whole: 100 };
        let mut feed = Feed::<States>::new(to, "drawn");
        // Told at the end of the recording, and never: neither lasts.
        feed.change(0, 100, Some((1, -1)));
        feed.change(1, 5, None);
        assert!(!feed.finish().unwrap());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
