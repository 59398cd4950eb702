//! Chapters are put into order, packed and written by a thread of their own: whoever tells stretches goes on meanwhile.

use crate::block::{self, Packer};
use crate::index::{Block, Level};
use crate::{Detail, Error};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Chapters that may wait; each is as large as what its level has begun.
const WAITING: usize = 1;

/// What was drawn of a level in a time.
pub(crate) struct Chapter<D: Detail> {
    pub(crate) level: usize,
    pub(crate) from: i64,
    /// What begins at it or later is of the next chapter.
    pub(crate) to: i64,
    /// Those of a track in order of their start.
    pub(crate) slices: Vec<D::Drawn>,
}

/// Takes chapters, and hands out the file when there are no more.
pub(crate) struct Binder<D: Detail> {
    path: PathBuf,
    send: SyncSender<Chapter<D>>,
    thread: JoinHandle<Result<Bound, Error>>,
}

/// A file being written, and where its blocks lie.
pub(crate) struct Bound {
    file: BufWriter<File>,
    at: u64,
    pub(crate) levels: Vec<Level>,
}

impl<D: Detail> Binder<D> {
    /// Goes on with a file that so much was written to.
    pub(crate) fn new(path: &Path, bound: Bound) -> Result<Self, Error> {
        let (send, chapters) = sync_channel(WAITING);
        let own = path.to_owned();
        let thread = std::thread::Builder::new().name("levels".into()).spawn(move || bind(&own, bound, &chapters));
        Ok(Self { path: path.to_owned(), send, thread: thread.map_err(Error::io(path, "starting its thread"))? })
    }

    /// Takes a chapter; `None` once writing has failed, and [`Self::finish`] says why.
    pub(crate) fn take(&self, chapter: Chapter<D>) -> Option<()> {
        self.send.send(chapter).ok()
    }

    /// Waits until all is written.
    pub(crate) fn finish(self) -> Result<Bound, Error> {
        drop(self.send);
        let failed =
            |_| Error::io(&self.path, "packing it")(std::io::Error::other("its thread failed: please report it"));
        self.thread.join().map_err(failed)?
    }
}

fn bind<D: Detail>(path: &Path, mut bound: Bound, chapters: &Receiver<Chapter<D>>) -> Result<Bound, Error> {
    let mut packer = Packer::new().map_err(Error::io(path, "packing it"))?;
    let mut rows = Vec::with_capacity(block::ROWS);
    for Chapter { level, from, to, slices } in chapters {
        for order in in_order::<D>(&slices, to).chunks(block::ROWS) {
            rows.clear();
            rows.extend(order.iter().map(|at| slices[*at as usize]));
            let packed = packer.pack::<D>(&rows, from).map_err(Error::io(path, "packing a block"))?;
            let block = Block {
                from,
                to,
                first: rows.first().map_or(0, |s| D::place(s).0),
                last: rows.last().map_or(0, |s| D::place(s).0),
                at: bound.at,
                bytes: packed.len() as u32,
                rows: rows.len() as u32,
                crc: crc32fast::hash(&packed),
            };
            bound.bytes(path, &packed)?;
            if let Some(level) = bound.levels.get_mut(level) {
                level.blocks.push(block);
            }
        }
    }
    Ok(bound)
}

impl Bound {
    pub(crate) fn new(file: File, levels: Vec<Level>) -> Self {
        Self { file: BufWriter::with_capacity(1 << 16, file), at: 0, levels }
    }

    pub(crate) fn bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(path, "writing it"))
    }

    pub(crate) fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.file.flush().map_err(Error::io(path, "writing it"))
    }
}

/// The places of those that begin before a time, by track; those of a track stay in their order, which is that of their start.
fn in_order<D: Detail>(slices: &[D::Drawn], to: i64) -> Vec<u32> {
    let before = || (0u32..).zip(slices).filter(|(_, s)| D::place(s).1 < to).map(|(at, s)| (at, D::place(s).0));
    let Some((first, last)) = before().fold(None, |ends, (_, track)| {
        let (first, last) = ends.unwrap_or((track, track));
        Some((track.min(first), track.max(last)))
    }) else {
        return Vec::new();
    };
    let tracks = (last - first) as usize + 1;
    if tracks > slices.len().saturating_mul(4).saturating_add(1024) {
        let mut order: Vec<_> = before().collect();
        order.sort_by_key(|(_, track)| *track);
        return order.into_iter().map(|(at, _)| at).collect();
    }
    // Tracks are numbered from 0 on: they are counted, then each slice goes to its track's next place.
    let mut places = vec![0u32; tracks + 1];
    before().for_each(|(_, track)| places[(track - first) as usize + 1] += 1);
    (1..places.len()).for_each(|track| places[track] += places[track - 1]);
    let mut order = vec![0; places[tracks] as usize];
    before().for_each(|(at, track)| {
        let place = &mut places[(track - first) as usize];
        order[*place as usize] = at;
        *place += 1;
    });
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Slice, States, Stretch};

    fn slices(of: &[(u32, i64)]) -> Vec<Slice> {
        let one =
            |(track, start): &(u32, i64)| Stretch { track: *track, start: *start, end: start + 1, state: 0, what: 0 };
        of.iter().map(|of| Slice::from(one(of))).collect()
    }

    #[test]
    fn slices_stand_by_track_and_in_a_track_as_they_came_and_what_is_of_the_next_chapter_is_left() {
        let few = [(7, 0), (5, 1), (7, 2), (5, 9), (6, 3), (5, 4)];
        assert_eq!(in_order::<States>(&slices(&few), 9), [1, 5, 4, 0, 2]);
        // Numbers too far apart to be counted.
        let far = [(u32::MAX, 0), (5, 1), (u32::MAX, 2), (5, 9), (6, 3), (5, 4)];
        assert_eq!(in_order::<States>(&slices(&far), 9), [1, 5, 4, 0, 2]);
        assert!(in_order::<States>(&slices(&few), 0).is_empty());
    }
}
