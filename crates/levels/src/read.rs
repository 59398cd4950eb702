//! Slices of a time, at a width, of some tracks.

use crate::index::{Block, HEAD, Index, MOST_INDEX, TAIL};
use crate::{Detail, Error, Fold, block};
use std::fs::File;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Widths of a part, within which stretches are put together as they are read: the pixels of the viewer's tiles.
pub const PART: i64 = 1024;

/// The levels of a trace's threads, or of its CPUs. Only the index is held.
pub struct Reader<D> {
    path: PathBuf,
    file: File,
    index: Index,
    of: PhantomData<fn() -> D>,
}

impl<D: Detail> Reader<D> {
    /// Opens a file that [`crate::Writer`] left.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let damaged = |what| Error::damaged(path, what);
        let file = File::open(path).map_err(Error::io(path, "opening it"))?;
        let len = file.metadata().map_err(Error::io(path, "asking its size"))?.len();
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
        if read(0, HEAD.len())? != HEAD || tail != TAIL || bytes > MOST_INDEX || bytes > len - tail_bytes {
            return Err(damaged("it is of another version, or not whole"));
        }
        let packed = read(len - tail_bytes - bytes, bytes as usize)?;
        if crc32fast::hash(&packed) != crc {
            return Err(damaged("its index has another checksum"));
        }
        let plain = zstd::bulk::decompress(&packed, MOST_INDEX as usize).ok();
        let index: Option<Index> = plain.and_then(|plain| postcard::from_bytes(&plain).ok());
        let index = index.filter(|i| !i.levels.is_empty()).ok_or_else(|| damaged("its index cannot be read"))?;
        Ok(Self { path: path.to_owned(), file, index, of: PhantomData })
    }

    /// Of which trace it is, as the writer was told.
    #[must_use]
    pub fn of(&self) -> &str {
        &self.index.of
    }

    /// The widths that are kept, ns; the first is 0, the stretches themselves.
    pub fn widths(&self) -> impl Iterator<Item = i64> {
        self.index.levels.iter().map(|level| level.width)
    }

    /// What overlaps a time, stretches shorter than `width` told together; slices of a track in order of time, of tracks in
    /// order of their numbers. Between two widths that are kept, the finer is handed out; below the first, stretches are put
    /// together as they are read, in parts of [`PART`] widths from the recording's start: a time that is whole parts looks the
    /// same whatever else is asked for with it.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or there are more than `most` slices.
    pub fn slices(
        &self,
        time: Range<i64>,
        width: i64,
        tracks: RangeInclusive<u32>,
        most: usize,
    ) -> Result<Vec<D::Drawn>, Error> {
        let finer = |l: &&crate::index::Level| l.width == 0 || l.width <= width;
        let Some(level) = self.index.levels.iter().rev().find(finer) else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        let mut fold = Fold::<D>::in_parts(if level.width == 0 { width } else { 0 }, PART);
        let mut too_many = false;
        let mut take = |slice: D::Drawn| {
            too_many |= out.len() >= most;
            if !too_many {
                out.push(slice);
            }
        };
        // Chapters follow one another.
        let begin = level.blocks.partition_point(|b| b.to <= time.start);
        let wanted = level.blocks.get(begin..).unwrap_or_default().iter().take_while(|b| b.from < time.end);
        let chapter = level.blocks.get(begin).map_or(i64::MIN, |b| b.from);
        for b in wanted.filter(|b| b.first <= *tracks.end() && b.last >= *tracks.start()) {
            let slices = self.block(b)?;
            for s in &slices {
                let (track, start, end) = D::place(s);
                // What reached over the begin of a later chapter was in the one before.
                let first = b.from == chapter || start >= b.from;
                if !first || !tracks.contains(&track) || start >= time.end || end <= time.start {
                    continue;
                }
                if level.width == 0 {
                    fold.push(&D::again(s), &mut take);
                } else {
                    take(*s);
                }
            }
        }
        fold.finish(&mut take);
        if too_many {
            return Err(Error::TooMany(most));
        }
        // Chapters come in order of time, blocks in order of tracks.
        out.sort_by_key(|s| (D::place(s).0, D::place(s).1));
        Ok(out)
    }

    fn block(&self, b: &Block) -> Result<Vec<D::Drawn>, Error> {
        let damaged = || Error::damaged(&self.path, "a block is damaged");
        // A block of zstd is hardly larger than what it holds.
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
