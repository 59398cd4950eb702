//! All levels of some tracks, in one pass.

use crate::fold::Piece;
use crate::index::{Block, HEAD, Index, Level, TAIL};
use crate::{Detail, Error, Fold, block};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes the levels of a trace's threads, or of its CPUs. Memory: a chapter of slices for each level, and what the folds
/// hold open.
pub struct Writer<D: Detail> {
    path: PathBuf,
    file: BufWriter<File>,
    at: u64,
    /// A chapter's least slices.
    chapter: usize,
    of: String,
    making: Vec<Making<D>>,
}

/// Hands a piece to the levels from the narrowest to the widest: each is made of what the one before closes, so that all of them cost
/// little more than two.
fn up<D: Detail>(levels: &mut [Making<D>], track: u32, piece: Piece<D>) {
    let Some((making, wider)) = levels.split_first_mut() else { return };
    let Making { fold, slices, .. } = making;
    fold.add(track, piece, &mut |track, piece| {
        slices.push(piece.drawn(track));
        up(wider, track, piece);
    });
}

/// A level being made.
struct Making<D: Detail> {
    level: Level,
    fold: Fold<D>,
    /// Of the chapter that goes on.
    slices: Vec<D::Drawn>,
    /// How many of them began before it.
    carried: usize,
    from: i64,
}

impl<D: Detail> Writer<D> {
    /// Begins a file; one that is there is replaced. `of` says of which trace it is; levels are of `first` ns, twice that,
    /// and so on, up to `whole`, beside the stretches themselves; `chapter` slices of a level are put into order at a time.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, of: &str, first: i64, whole: i64, chapter: usize) -> Result<Self, Error> {
        let file = File::create(path).map_err(Error::io(path, "making it"))?;
        let wider = std::iter::successors(Some(first.max(2)), |w| w.checked_mul(2)).take_while(|w| *w < whole);
        let making = std::iter::once(0).chain(wider).map(|width| Making {
            level: Level { width, blocks: Vec::new() },
            fold: Fold::new(width),
            slices: Vec::new(),
            carried: 0,
            from: i64::MIN,
        });
        let mut writer = Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 16, file),
            at: 0,
            chapter: chapter.max(1),
            of: of.to_owned(),
            making: making.collect(),
        };
        writer.bytes(HEAD)?;
        Ok(writer)
    }

    /// Takes a stretch, in order of start.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn push(&mut self, told: &D::Told) -> Result<(), Error> {
        let ((track, start, end), _) = D::of(told);
        if end <= start {
            return Ok(());
        }
        for level in 0..self.making.len() {
            let making = &mut self.making[level];
            // Nothing is before the first.
            if making.from == i64::MIN {
                making.from = start;
            }
            // Chapters that would only repeat what reaches over their begin grow instead.
            if making.slices.len() - making.carried >= self.chapter.max(making.carried) && start > making.from {
                self.cut(level, start)?;
            }
        }
        up(&mut self.making, track, Piece::of(told).1);
        Ok(())
    }

    /// Ends a level's chapter. All that follows begins at `to` or later, so it holds all that began before.
    fn cut(&mut self, level: usize, to: i64) -> Result<(), Error> {
        // What is open in a narrower level began before, and would come later.
        for narrower in 0..=level {
            if let Some((making, wider)) = self.making.get_mut(narrower..).and_then(<[_]>::split_first_mut) {
                let Making { fold, slices, .. } = making;
                fold.close(&mut |track, piece| {
                    slices.push(piece.drawn(track));
                    up(wider, track, piece);
                });
            }
        }
        let making = &mut self.making[level];
        making.slices.sort_unstable_by_key(|s| (D::place(s).0, D::place(s).1));
        let from = making.from;
        // Of those that begin in the same instant, some may be yet to come: all are of the next chapter.
        let all = std::mem::take(&mut making.slices).into_iter();
        let (slices, mut next): (Vec<_>, Vec<_>) = all.partition(|s| D::place(s).1 < to);
        for rows in slices.chunks(block::ROWS) {
            let packed = block::pack::<D>(rows, from).map_err(Error::io(&self.path, "packing a block"))?;
            let block = Block {
                from,
                to,
                first: rows.first().map_or(0, |s| D::place(s).0),
                last: rows.last().map_or(0, |s| D::place(s).0),
                at: self.at,
                bytes: packed.len() as u32,
                rows: rows.len() as u32,
                crc: crc32fast::hash(&packed),
            };
            self.bytes(&packed)?;
            self.making[level].level.blocks.push(block);
        }
        let begun = slices.into_iter().filter(|s| D::place(s).2 > to);
        let own = next.len();
        next.extend(begun);
        let making = &mut self.making[level];
        (making.carried, making.slices, making.from) = (next.len() - own, next, to);
        Ok(())
    }

    /// Writes what is left, and the index.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        for level in 0..self.making.len() {
            self.cut(level, i64::MAX)?;
        }
        let levels = std::mem::take(&mut self.making).into_iter().map(|m| m.level).collect();
        let index = Index { of: std::mem::take(&mut self.of), levels };
        let index = postcard::to_stdvec(&index).map_err(std::io::Error::other);
        let index = index.and_then(|plain| zstd::bulk::compress(&plain, 1));
        let index = index.map_err(Error::io(&self.path, "packing its index"))?;
        self.bytes(&index)?;
        self.bytes(&(index.len() as u64).to_le_bytes())?;
        self.bytes(&crc32fast::hash(&index).to_le_bytes())?;
        self.bytes(TAIL)?;
        self.file.flush().map_err(Error::io(&self.path, "writing it"))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.at += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(&self.path, "writing it"))
    }
}
