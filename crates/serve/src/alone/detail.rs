//! What is drawn, from afar to near: each level has what the next coarser one has not.
//!
//! All levels of a track cover the same time without a gap, so what a finer one has of its own takes the place of what it overlaps:
//!
//! ```text
//!  coarser   |aaaaaaaaa|      b      |ccccc|
//!  finer     |aaaaaaaaa|  b  | d | b |ccccc|       in the page: b, d, b
//! ```

use crate::ServeError;
use arrow_schema::ArrowError;
use levels::{Detail, Error, Reader};
use std::ops::Range;

/// The levels of a kind of track, each finer than the one before.
pub(super) trait Finer {
    /// What the level of a width (ns) has that the one before has not; nothing where it is of more than `most` slices.
    fn finer(&mut self, time: Range<i64>, width: i64, most: usize) -> Result<Option<Told>, ServeError>;
}

/// A level.
pub(super) struct Told {
    /// Its own slices as Arrow IPC.
    pub(super) ipc: Vec<u8>,
    /// How many these are.
    pub(super) slices: usize,
    /// Whether it has every stretch for itself.
    pub(super) whole: bool,
}

/// Writes slices as Arrow IPC.
pub(super) type Written<D> = fn(&[<D as Detail>::Drawn]) -> Result<Vec<u8>, ArrowError>;

/// Those of one kind.
pub(super) struct Of<'a, D: Detail> {
    reader: &'a Reader<D>,
    written: Written<D>,
    /// What the level before has, by track and start.
    held: Vec<D::Drawn>,
}

impl<'a, D: Detail> Of<'a, D> {
    pub(super) fn new(reader: &'a Reader<D>, written: Written<D>) -> Self {
        Self { reader, written, held: Vec::new() }
    }
}

impl<D: Detail<Drawn: PartialEq>> Finer for Of<'_, D> {
    fn finer(&mut self, time: Range<i64>, width: i64, most: usize) -> Result<Option<Told>, ServeError> {
        let all = match self.reader.slices(time, width, 0..=u32::MAX, most) {
            Err(Error::TooMany(_)) => return Ok(None),
            all => all?,
        };
        let own = beside::<D>(&all, &self.held);
        let ipc = (self.written)(&own).map_err(super::unwritten)?;
        let told = Told { ipc, slices: own.len(), whole: all.iter().all(|s| D::stretches(s) == 1) };
        self.held = all;
        Ok(Some(told))
    }
}

/// Those of a finer level that the coarser one has not; both by track and start.
fn beside<D: Detail<Drawn: PartialEq>>(finer: &[D::Drawn], coarser: &[D::Drawn]) -> Vec<D::Drawn> {
    let place = |s: &D::Drawn| (D::place(s).0, D::place(s).1);
    let mut rest = coarser.iter().peekable();
    let fresh = |slice: &&D::Drawn| {
        while rest.next_if(|s| place(s) < place(slice)).is_some() {}
        rest.peek() != Some(slice)
    };
    finer.iter().filter(fresh).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use levels::{Slice, States};

    #[test]
    fn a_level_has_what_the_coarser_one_has_not() {
        let slice = |track, start, end, stretches| Slice {
            track,
            start,
            end,
            state: 0,
            state_ns: end - start,
            what: 1,
            what_ns: end - start,
            stretches,
        };
        // Of track 0 the middle falls apart; of track 1 the one slice stays, of track 2 it is of other stretches.
        let coarser =
            [slice(0, 0, 9, 1), slice(0, 9, 22, 3), slice(0, 22, 27, 1), slice(1, 0, 27, 2), slice(2, 0, 27, 9)];
        let finer = [
            slice(0, 0, 9, 1),
            slice(0, 9, 14, 1),
            slice(0, 14, 18, 1),
            slice(0, 18, 22, 1),
            slice(0, 22, 27, 1),
            slice(1, 0, 27, 2),
            slice(2, 0, 27, 8),
        ];
        assert_eq!(beside::<States>(&finer, &coarser), [&finer[1..4], &finer[6..]].concat());
        assert_eq!(beside::<States>(&coarser, &[]), coarser);
    }
}
