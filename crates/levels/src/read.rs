//! Reads the slices of some tracks in a time range, at a width.

use crate::index::{Block, HEAD, Index, MAX_INDEX_BYTES, TAIL};
use crate::{Detail, Error, Fold, block};
use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The number of widths in a part, within which stretches are merged while reading: the pixels of the viewer's tiles.
pub const PART_WIDTHS: i64 = 1024;

/// The levels of a trace's threads, or of its CPUs. Only the index is kept in memory.
pub struct Reader<D> {
    path: PathBuf,
    file: File,
    index: Index,
    detail: PhantomData<fn() -> D>,
}

impl<D: Detail> Reader<D> {
    /// Opens a file written by [`crate::Writer`].
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let damaged = |what| Error::damaged(path, what);
        let file = File::open(path).map_err(Error::io(path, "opening it"))?;
        let len = file.metadata().map_err(Error::io(path, "reading its size"))?.len();
        let tail_bytes = (8 + 4 + TAIL.len()) as u64;
        if len < HEAD.len() as u64 + tail_bytes {
            return Err(damaged("it is too short"));
        }
        let read = |at: u64, bytes: usize| {
            let mut buffer = vec![0; bytes];
            file.read_exact_at(&mut buffer, at).map_err(Error::io(path, "reading it"))?;
            Ok::<_, Error>(buffer)
        };
        let tail = read(len - tail_bytes, tail_bytes as usize)?;
        let (bytes, tail) = tail.split_first_chunk().ok_or_else(|| damaged("it is too short"))?;
        let (crc, tail) = tail.split_first_chunk().ok_or_else(|| damaged("it is too short"))?;
        let (bytes, crc) = (u64::from_le_bytes(*bytes), u32::from_le_bytes(*crc));
        if read(0, HEAD.len())? != HEAD || tail != TAIL || bytes > MAX_INDEX_BYTES || bytes > len - tail_bytes {
            return Err(damaged("it is of another version, or incomplete"));
        }
        let packed = read(len - tail_bytes - bytes, bytes as usize)?;
        if crc32fast::hash(&packed) != crc {
            return Err(damaged("the checksum of its index does not match"));
        }
        let plain = zstd::bulk::decompress(&packed, MAX_INDEX_BYTES as usize).ok();
        let index: Option<Index> = plain.and_then(|plain| postcard::from_bytes(&plain).ok());
        let index = index.filter(|i| !i.levels.is_empty()).ok_or_else(|| damaged("its index cannot be read"))?;
        Ok(Self { path: path.to_owned(), file, index, detail: PhantomData })
    }

    /// Returns the trace's identity, as passed to the writer.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.index.trace
    }

    /// Returns the stored widths, ns; the first is 0, the stretches themselves.
    pub fn widths(&self) -> impl Iterator<Item = i64> {
        self.index.levels.iter().map(|level| level.width)
    }

    /// Returns the slices that overlap a time range, with stretches shorter than `width` merged, in order of track and time. Between
    /// two stored widths, the finer is used. Below the first, stretches are merged while reading, in parts of [`PART_WIDTHS`] widths
    /// from the recording's start, so that a whole part looks the same whatever else is requested with it.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or there are more than `max_slices` slices.
    pub fn slices(
        &self,
        time: Range<i64>,
        width: i64,
        tracks: RangeInclusive<u32>,
        max_slices: usize,
    ) -> Result<Vec<D::Drawn>, Error> {
        let finer = |l: &&crate::index::Level| l.width == 0 || l.width <= width;
        let Some(level) = self.index.levels.iter().rev().find(finer) else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        let mut fold = Fold::<D>::in_parts(if level.width == 0 { width } else { 0 }, PART_WIDTHS);
        let mut too_many = false;
        let mut take = |slice: D::Drawn| {
            too_many |= out.len() >= max_slices;
            if !too_many {
                out.push(slice);
            }
        };
        // Chunks follow one another.
        let begin = level.blocks.partition_point(|b| b.to <= time.start);
        let wanted = level.blocks.get(begin..).unwrap_or_default().iter().take_while(|b| b.from < time.end);
        let chunk = level.blocks.get(begin).map_or(i64::MIN, |b| b.from);
        for b in wanted.filter(|b| b.first <= *tracks.end() && b.last >= *tracks.start()) {
            let slices = self.block(b)?;
            for s in &slices {
                let (track, start, end) = D::extent(s);
                // A slice that crosses the begin of a later chunk is also in the one before.
                let first = b.from == chunk || start >= b.from;
                if !first || !tracks.contains(&track) || start >= time.end || end <= time.start {
                    continue;
                }
                if level.width == 0 {
                    fold.push(&D::to_input(s), &mut take);
                } else {
                    take(*s);
                }
            }
        }
        fold.finish(&mut take);
        if too_many {
            return Err(Error::TooMany(max_slices));
        }
        // Chunks are in order of time, the blocks of a chunk in order of tracks.
        out.sort_by_key(|s| (D::extent(s).0, D::extent(s).1));
        Ok(out)
    }

    fn block(&self, b: &Block) -> Result<Vec<D::Drawn>, Error> {
        let damaged = || Error::damaged(&self.path, "a block is damaged");
        // Compression hardly enlarges a block.
        if b.bytes as usize > 2 * block::ROWS * 64 {
            return Err(damaged());
        }
        let mut packed = vec![0; b.bytes as usize];
        self.file.read_exact_at(&mut packed, b.at).map_err(Error::io(&self.path, "reading a block"))?;
        if crc32fast::hash(&packed) != b.crc {
            return Err(damaged());
        }
        block::unpack::<D>(&packed, b.rows as usize, b.from).ok_or_else(damaged)
    }
}
