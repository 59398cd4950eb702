//! Writes all levels of some tracks in one pass.

use crate::block_writer::{BlockFile, BlockWriter, Chunk};
use crate::fold::Piece;
use crate::index::{HEAD, Index, Level, TAIL};
use crate::{Detail, Error, Fold};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Writes the levels of a trace's threads, or of its CPUs. Memory: one chunk of slices per level, three on their way to the file, and
/// the open pieces of the folds.
pub struct Writer<D: Detail> {
    path: PathBuf,
    /// The block writer; `None` once writing has failed.
    writer: Option<BlockWriter<D>>,
    /// The minimum number of slices in a chunk.
    chunk: usize,
    trace: String,
    levels: Vec<LevelWriter<D>>,
}

/// Adds a piece to the levels from the narrowest to the widest. Each level merges the output of the one before, so that all levels
/// together cost little more than two.
fn add_to_levels<D: Detail>(levels: &mut [LevelWriter<D>], track: u32, piece: Piece<D>) {
    let Some((current, wider)) = levels.split_first_mut() else { return };
    let LevelWriter { fold, slices, .. } = current;
    fold.add(track, piece, &mut |track, piece| {
        slices.push(piece.drawn(track));
        add_to_levels(wider, track, piece);
    });
}

/// A level being written.
struct LevelWriter<D: Detail> {
    fold: Fold<D>,
    /// The slices of the current chunk; those of a track are in order of start.
    slices: Vec<D::Drawn>,
    /// The number of these slices that began before the chunk.
    carried: usize,
    from: i64,
}

impl<D: Detail> Writer<D> {
    /// Starts an empty file; `path` is only used in errors. `trace` identifies the trace. Besides the stretches themselves, there are
    /// levels of `first` ns, twice that, and so on, up to `duration`. At least `chunk` slices of a level are sorted at a time.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(file: File, path: &Path, trace: &str, first: i64, duration: i64, chunk: usize) -> Result<Self, Error> {
        let wider = std::iter::successors(Some(first.max(2)), |w| w.checked_mul(2)).take_while(|w| *w < duration);
        let widths: Vec<i64> = std::iter::once(0).chain(wider).collect();
        let new_level =
            |width: &i64| LevelWriter { fold: Fold::new(*width), slices: Vec::new(), carried: 0, from: i64::MIN };
        let level = |width: &i64| Level { width: *width, blocks: Vec::new() };
        let mut file = BlockFile::new(file, widths.iter().map(level).collect());
        file.write(path, HEAD)?;
        Ok(Self {
            path: path.to_owned(),
            writer: Some(BlockWriter::new(path, file)?),
            chunk: chunk.max(1),
            trace: trace.to_owned(),
            levels: widths.iter().map(new_level).collect(),
        })
    }

    /// Adds a stretch; stretches must come in order of start.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn push(&mut self, input: &D::Input) -> Result<(), Error> {
        let ((track, start, end), _) = D::sums_of(input);
        if end <= start {
            return Ok(());
        }
        for level in 0..self.levels.len() {
            let current = &mut self.levels[level];
            // The first chunk begins with the first stretch.
            if current.from == i64::MIN {
                current.from = start;
            }
            // Let a chunk grow if most of its slices are carried over from the one before.
            if current.slices.len() - current.carried >= self.chunk.max(current.carried) && start > current.from {
                self.cut(level, start)?;
            }
        }
        add_to_levels(&mut self.levels, track, Piece::of(input).1);
        Ok(())
    }

    /// Ends a level's chunk. All later stretches begin at `to` or later, so the chunk has all that began before.
    fn cut(&mut self, level: usize, to: i64) -> Result<(), Error> {
        // Close the open pieces of narrower levels, which began before `to`.
        for narrower in 0..=level {
            if let Some((current, wider)) = self.levels.get_mut(narrower..).and_then(<[_]>::split_first_mut) {
                let LevelWriter { fold, slices, .. } = current;
                fold.close(&mut |track, piece| {
                    slices.push(piece.drawn(track));
                    add_to_levels(wider, track, piece);
                });
            }
        }
        let current = &mut self.levels[level];
        let slices = std::mem::take(&mut current.slices);
        // Slices that cross `to` belong to both chunks. Slices that begin at `to` belong to the next chunk, since more of them may
        // follow.
        current.slices.extend(slices.iter().filter(|s| D::extent(s).1 < to && D::extent(s).2 > to));
        current.carried = current.slices.len();
        current.slices.extend(slices.iter().filter(|s| D::extent(s).1 >= to));
        let from = std::mem::replace(&mut current.from, to);
        match self.writer.as_ref().map(|writer| writer.take(Chunk { level, from, to, slices })) {
            Some(Some(())) => Ok(()),
            _ => self.take_file().map(drop),
        }
    }

    /// Waits for the writing thread and returns the file, or the error.
    fn take_file(&mut self) -> Result<BlockFile, Error> {
        let failed = || Error::io(&self.path, "writing it")(std::io::Error::other("an earlier write failed"));
        self.writer.take().ok_or_else(failed)?.finish()
    }

    /// Writes the remaining slices and the index.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        for level in 0..self.levels.len() {
            self.cut(level, i64::MAX)?;
        }
        let mut file = self.take_file()?;
        let path = &self.path;
        let index = Index { trace: self.trace, levels: std::mem::take(&mut file.levels) };
        let index = postcard::to_stdvec(&index).map_err(std::io::Error::other);
        let index = index.and_then(|plain| zstd::bulk::compress(&plain, 1));
        let index = index.map_err(Error::io(path, "packing its index"))?;
        file.write(path, &index)?;
        file.write(path, &(index.len() as u64).to_le_bytes())?;
        file.write(path, &crc32fast::hash(&index).to_le_bytes())?;
        file.write(path, TAIL)?;
        file.finish(path)
    }
}
