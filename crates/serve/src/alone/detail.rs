//! Levels of detail, from coarse to fine: each level has only the slices that the next coarser one lacks.
//!
//! All levels of a track cover the same time without a gap, so a finer level's own slices replace the slices that they overlap:
//!
//! ```text
//!  coarser   |aaaaaaaaa|      b      |ccccc|
//!  finer     |aaaaaaaaa|  b  | d | b |ccccc|       stored in the page: b, d, b
//! ```

use crate::ServeError;
use arrow_schema::ArrowError;
use levels::{Detail, Error, Reader};
use std::ops::Range;

/// Produces the levels of a kind of track, from coarse to fine.
pub(super) trait Finer {
    /// Returns the slices of the level of a width (ns) that the previous level lacks; `None` if the level has more than `most` slices.
    fn finer(&mut self, time: Range<i64>, width: i64, most: usize) -> Result<Option<Level>, ServeError>;
}

/// A level.
pub(super) struct Level {
    /// The level's own slices as Arrow IPC.
    pub(super) ipc: Vec<u8>,
    /// The number of own slices.
    pub(super) slices: usize,
    /// Whether every stretch is a slice of its own.
    pub(super) complete: bool,
}

/// A function that encodes slices as Arrow IPC.
pub(super) type Encode<D> = fn(&[<D as Detail>::Drawn]) -> Result<Vec<u8>, ArrowError>;

/// The levels of one kind of track.
pub(super) struct KindLevels<'a, D: Detail> {
    reader: &'a Reader<D>,
    encode: Encode<D>,
    /// The slices of the previous level, by track and start.
    held: Vec<D::Drawn>,
}

impl<'a, D: Detail> KindLevels<'a, D> {
    pub(super) fn new(reader: &'a Reader<D>, encode: Encode<D>) -> Self {
        Self { reader, encode, held: Vec::new() }
    }
}

impl<D: Detail<Drawn: PartialEq>> Finer for KindLevels<'_, D> {
    fn finer(&mut self, time: Range<i64>, width: i64, most: usize) -> Result<Option<Level>, ServeError> {
        let all = match self.reader.slices(time, width, 0..=u32::MAX, most) {
            Err(Error::TooMany(_)) => return Ok(None),
            all => all?,
        };
        let own = own_slices::<D>(&all, &self.held);
        let ipc = (self.encode)(&own).map_err(super::unwritten)?;
        let level = Level { ipc, slices: own.len(), complete: all.iter().all(|s| D::stretches(s) == 1) };
        self.held = all;
        Ok(Some(level))
    }
}

/// Returns the slices of a finer level that the coarser one lacks; both are sorted by track and start.
fn own_slices<D: Detail<Drawn: PartialEq>>(finer: &[D::Drawn], coarser: &[D::Drawn]) -> Vec<D::Drawn> {
    let place = |s: &D::Drawn| (D::extent(s).0, D::extent(s).1);
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
    fn a_level_has_what_the_coarser_one_lacks() {
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
        // Track 0: the middle slice is split. Track 1: the slice stays. Track 2: the slice has another number of stretches.
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
        assert_eq!(own_slices::<States>(&finer, &coarser), [&finer[1..4], &finer[6..]].concat());
        assert_eq!(own_slices::<States>(&coarser, &[]), coarser);
    }
}
