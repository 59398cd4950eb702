//! Sorts, packs and writes chunks on a separate thread, while the caller adds stretches.

use crate::block::{self, Packer};
use crate::index::{Block, Level};
use crate::{Detail, Error};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The capacity of the queue. Each chunk is as large as the one that its level is filling.
const QUEUE_CHUNKS: usize = 1;

/// The slices of one level in a time range.
pub(crate) struct Chunk<D: Detail> {
    pub(crate) level: usize,
    pub(crate) from: i64,
    /// Slices that begin here or later belong to the next chunk.
    pub(crate) to: i64,
    /// Those of a track are in order of start.
    pub(crate) slices: Vec<D::Drawn>,
}

/// Sends chunks to the writing thread, and returns the file at the end.
pub(crate) struct BlockWriter<D: Detail> {
    path: PathBuf,
    send: SyncSender<Chunk<D>>,
    thread: JoinHandle<Result<BlockFile, Error>>,
}

/// A file being written, and its blocks so far.
pub(crate) struct BlockFile {
    file: BufWriter<File>,
    at: u64,
    pub(crate) levels: Vec<Level>,
}

impl<D: Detail> BlockWriter<D> {
    /// Starts the thread, which continues a file.
    pub(crate) fn new(path: &Path, file: BlockFile) -> Result<Self, Error> {
        let (send, chunks) = sync_channel(QUEUE_CHUNKS);
        let own = path.to_owned();
        let thread = std::thread::Builder::new().name("levels".into()).spawn(move || write_chunks(&own, file, &chunks));
        Ok(Self { path: path.to_owned(), send, thread: thread.map_err(Error::io(path, "starting its thread"))? })
    }

    /// Takes a chunk; `None` if writing has failed, and [`Self::finish`] returns the error.
    pub(crate) fn take(&self, chunk: Chunk<D>) -> Option<()> {
        self.send.send(chunk).ok()
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) -> Result<BlockFile, Error> {
        drop(self.send);
        let failed =
            |_| Error::io(&self.path, "packing it")(std::io::Error::other("its thread failed: please report it"));
        self.thread.join().map_err(failed)?
    }
}

fn write_chunks<D: Detail>(path: &Path, mut file: BlockFile, chunks: &Receiver<Chunk<D>>) -> Result<BlockFile, Error> {
    let mut packer = Packer::new().map_err(Error::io(path, "packing it"))?;
    let mut rows = Vec::with_capacity(block::ROWS);
    for Chunk { level, from, to, slices } in chunks {
        for order in in_order::<D>(&slices, to).chunks(block::ROWS) {
            rows.clear();
            rows.extend(order.iter().map(|at| slices[*at as usize]));
            let packed = packer.pack::<D>(&rows, from).map_err(Error::io(path, "packing a block"))?;
            let block = Block {
                from,
                to,
                first: rows.first().map_or(0, |s| D::extent(s).0),
                last: rows.last().map_or(0, |s| D::extent(s).0),
                at: file.at,
                bytes: packed.len() as u32,
                rows: rows.len() as u32,
                crc: crc32fast::hash(&packed),
            };
            file.write(path, &packed)?;
            if let Some(level) = file.levels.get_mut(level) {
                level.blocks.push(block);
            }
        }
    }
    Ok(file)
}

impl BlockFile {
    pub(crate) fn new(file: File, levels: Vec<Level>) -> Self {
        Self { file: BufWriter::with_capacity(1 << 16, file), at: 0, levels }
    }

    pub(crate) fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(path, "writing it"))
    }

    pub(crate) fn finish(mut self, path: &Path) -> Result<(), Error> {
        self.file.flush().map_err(Error::io(path, "writing it"))
    }
}

/// Returns the indices of the slices that begin before `to`, sorted by track. Those of a track keep their order, by start.
fn in_order<D: Detail>(slices: &[D::Drawn], to: i64) -> Vec<u32> {
    let before = || (0u32..).zip(slices).filter(|(_, s)| D::extent(s).1 < to).map(|(at, s)| (at, D::extent(s).0));
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
    // Track numbers are usually dense: count the slices of each track, then put each at its track's next position.
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
    fn slices_are_sorted_by_track_and_those_of_the_next_chunk_are_left_out() {
        let dense = [(7, 0), (5, 1), (7, 2), (5, 9), (6, 3), (5, 4)];
        assert_eq!(in_order::<States>(&slices(&dense), 9), [1, 5, 4, 0, 2]);
        // Numbers too far apart for counting.
        let sparse = [(u32::MAX, 0), (5, 1), (u32::MAX, 2), (5, 9), (6, 3), (5, 4)];
        assert_eq!(in_order::<States>(&slices(&sparse), 9), [1, 5, 4, 0, 2]);
        assert!(in_order::<States>(&slices(&dense), 0).is_empty());
    }
}
