//! Stretches in order of their begin, in narrow rows ([`crate::narrow`]). The few whose values do not fit are in wide rows.

use crate::cut::Cut;
use crate::rows::{Cursor, Row, Rows};
use crate::timeline::Timed;
use bytemuck::Zeroable;
use model::Ns;
use std::io::Result;
use std::ops::ControlFlow;

/// A stretch in few bytes.
pub(crate) trait Narrow: Row {
    /// The stretch type.
    type Stretch: Cut + Timed;
    /// The row type for any values.
    type Wide: Row;

    /// Returns the row, or `None` if a value does not fit.
    fn try_narrow(stretch: &Self::Stretch) -> Option<Self>;
    fn stretch(&self) -> Self::Stretch;
    /// Returns a row that refers to the wide row with this index.
    fn wide_marker(stretch: &Self::Stretch, number: u64) -> Self;
    /// Returns the index of the wide row, if it refers to one.
    fn wide_number(&self) -> Option<u64>;
    fn to_wide(stretch: &Self::Stretch) -> Self::Wide;
    fn from_wide(wide: &Self::Wide) -> Self::Stretch;
}

/// Stretches in order of their begin, filled in at their end ([`Rows`]).
pub(crate) struct StretchRows<R: Narrow> {
    rows: Rows<R>,
    wide: Rows<R::Wide>,
}

impl<R: Narrow> Default for StretchRows<R> {
    fn default() -> Self {
        Self { rows: Rows::new(), wide: Rows::new() }
    }
}

impl<R: Narrow> StretchRows<R> {
    /// Returns the first error, if there is one.
    pub(crate) fn check(&self) -> Result<()> {
        self.rows.check().and_then(|()| self.wide.check())
    }

    /// Returns the number of wide rows.
    #[cfg(test)]
    pub(crate) fn wide_count(&self) -> u64 {
        self.wide.len()
    }

    /// Reserves a place for a stretch that begins now.
    #[inline]
    pub(crate) fn reserve(&mut self) -> u64 {
        self.rows.reserve()
    }

    #[inline]
    pub(crate) fn fill(&mut self, place: u64, stretch: &R::Stretch) {
        // Written field by field in place: a copy of the whole row directly after would stall on store forwarding.
        if stretch.begin() > Ns::ZERO
            && let Some(row) = self.rows.in_memory(place)
            && let Some(narrow) = R::try_narrow(stretch)
        {
            *row = narrow;
            return;
        }
        self.fill_other(place, stretch);
    }

    /// Fills a stretch that begins with the recording, that left memory, or whose values do not fit.
    #[cold]
    fn fill_other(&mut self, place: u64, stretch: &R::Stretch) {
        let row = R::try_narrow(stretch).unwrap_or_else(|| {
            let number = self.wide.reserve();
            self.wide.fill(number, R::to_wide(stretch));
            R::wide_marker(stretch, number)
        });
        self.rows.fill(place, row);
    }

    #[cold]
    fn wide_stretch(&self, number: u64) -> Result<R::Stretch> {
        let mut wide = [R::Wide::zeroed()];
        self.wide.read_at(number, &mut wide)?;
        Ok(R::from_wide(&wide[0]))
    }

    /// Adds the stretches of rows to `out`.
    fn add(&self, rows: &[R], out: &mut Vec<R::Stretch>) -> Result<()> {
        for run in rows.chunk_by(|a, b| a.wide_number().is_none() && b.wide_number().is_none()) {
            match run.first().and_then(Narrow::wide_number) {
                Some(number) => out.push(self.wide_stretch(number)?),
                None => out.extend(run.iter().map(Narrow::stretch)),
            }
        }
        Ok(())
    }

    /// Adds the next stretches to `out`, in order; `read` is a buffer. Returns `false` if there are no more.
    pub(crate) fn next(&self, cursor: &mut Cursor, read: &mut Vec<R>, out: &mut Vec<R::Stretch>) -> Result<bool> {
        self.wide.check()?;
        let more = self.rows.next(cursor, read)?;
        self.add(read, out)?;
        Ok(more)
    }

    /// Passes on all stretches in batches, the last batch first, until `each` breaks; each batch is in order.
    pub(crate) fn read_back(&self, mut each: impl FnMut(&[R::Stretch]) -> ControlFlow<()>) -> Result<()> {
        self.wide.check()?;
        let (mut batch, mut read) = (Vec::new(), Ok(()));
        self.rows.read_back(|rows| {
            batch.clear();
            read = self.add(rows, &mut batch);
            if read.is_ok() { each(&batch) } else { ControlFlow::Break(()) }
        })?;
        read
    }
}
