//! All levels of some tracks, in one pass.

use crate::binder::{Binder, Bound, Chapter};
use crate::fold::Piece;
use crate::index::{HEAD, Index, Level, TAIL};
use crate::{Detail, Error, Fold};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Writes the levels of a trace's threads, or of its CPUs. Memory: a chapter of slices for each level, three on
/// their way to the file, and what the folds hold open.
pub struct Writer<D: Detail> {
    path: PathBuf,
    /// Until writing fails.
    binder: Option<Binder<D>>,
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
    fold: Fold<D>,
    /// Of the chapter that goes on; those of a track in order of their start.
    slices: Vec<D::Drawn>,
    /// How many of them began before it.
    carried: usize,
    from: i64,
}

impl<D: Detail> Writer<D> {
    /// Begins a file, which is empty; `path` names it in errors. `of` says of which trace it is; levels are of `first` ns, twice
    /// that, and so on, up to `whole`, beside the stretches themselves; `chapter` slices of a level are put into order at a time.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn into(file: File, path: &Path, of: &str, first: i64, whole: i64, chapter: usize) -> Result<Self, Error> {
        let wider = std::iter::successors(Some(first.max(2)), |w| w.checked_mul(2)).take_while(|w| *w < whole);
        let widths: Vec<i64> = std::iter::once(0).chain(wider).collect();
        let making = |width: &i64| Making { fold: Fold::new(*width), slices: Vec::new(), carried: 0, from: i64::MIN };
        let level = |width: &i64| Level { width: *width, blocks: Vec::new() };
        let mut bound = Bound::new(file, widths.iter().map(level).collect());
        bound.bytes(path, HEAD)?;
        Ok(Self {
            path: path.to_owned(),
            binder: Some(Binder::new(path, bound)?),
            chapter: chapter.max(1),
            of: of.to_owned(),
            making: widths.iter().map(making).collect(),
        })
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
        let slices = std::mem::take(&mut making.slices);
        let place = |s: &D::Drawn| D::place(s);
        // What reaches over the begin of the next chapter is of both. Of what begins in the same instant, some may be yet to come:
        // all is of the next chapter.
        making.slices.extend(slices.iter().filter(|s| place(s).1 < to && place(s).2 > to));
        making.carried = making.slices.len();
        making.slices.extend(slices.iter().filter(|s| place(s).1 >= to));
        let from = std::mem::replace(&mut making.from, to);
        match self.binder.as_ref().map(|binder| binder.take(Chapter { level, from, to, slices })) {
            Some(Some(())) => Ok(()),
            _ => self.bound().map(drop),
        }
    }

    /// All that was written, or why it was not.
    fn bound(&mut self) -> Result<Bound, Error> {
        let failed = || Error::io(&self.path, "writing it")(std::io::Error::other("it failed before"));
        self.binder.take().ok_or_else(failed)?.finish()
    }

    /// Writes what is left, and the index.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        for level in 0..self.making.len() {
            self.cut(level, i64::MAX)?;
        }
        let mut bound = self.bound()?;
        let path = &self.path;
        let index = Index { of: self.of, levels: std::mem::take(&mut bound.levels) };
        let index = postcard::to_stdvec(&index).map_err(std::io::Error::other);
        let index = index.and_then(|plain| zstd::bulk::compress(&plain, 1));
        let index = index.map_err(Error::io(path, "packing its index"))?;
        bound.bytes(path, &index)?;
        bound.bytes(path, &(index.len() as u64).to_le_bytes())?;
        bound.bytes(path, &crc32fast::hash(&index).to_le_bytes())?;
        bound.bytes(path, TAIL)?;
        bound.finish(path)
    }
}
