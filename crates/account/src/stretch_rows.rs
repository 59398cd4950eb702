//! Stretches in order of their begin, in narrow rows ([`crate::narrow`]); the few whose numbers have no room there lie apart, whole.

use crate::cut::Cut;
use crate::rows::{Cursor, Row, Rows};
use crate::timeline::Timed;
use bytemuck::Zeroable;
use model::Ns;
use std::io::Result;
use std::ops::ControlFlow;

/// A stretch in a few bytes.
pub(crate) trait Narrow: Row {
    /// What it is a row of.
    type Stretch: Cut + Timed;
    /// One that holds any.
    type Whole: Row;

    /// `None` where a number has no room.
    fn of(stretch: &Self::Stretch) -> Option<Self>;
    fn stretch(&self) -> Self::Stretch;
    /// In place of a stretch that lies apart, under this number.
    fn apart(stretch: &Self::Stretch, number: u64) -> Self;
    /// Under which number what it stands for lies apart, if it does.
    fn number(&self) -> Option<u64>;
    fn whole(stretch: &Self::Stretch) -> Self::Whole;
    fn of_whole(whole: &Self::Whole) -> Self::Stretch;
}

/// Stretches in order of their begin, filled at their end ([`Rows`]).
pub(crate) struct StretchRows<R: Narrow> {
    rows: Rows<R>,
    apart: Rows<R::Whole>,
}

impl<R: Narrow> Default for StretchRows<R> {
    fn default() -> Self {
        Self { rows: Rows::new(), apart: Rows::new() }
    }
}

impl<R: Narrow> StretchRows<R> {
    /// What went wrong, if anything did.
    pub(crate) fn check(&self) -> Result<()> {
        self.rows.check().and_then(|()| self.apart.check())
    }

    /// How many lie apart.
    #[cfg(test)]
    pub(crate) fn lie_apart(&self) -> u64 {
        self.apart.len()
    }

    /// A place for a stretch that begins now.
    #[inline]
    pub(crate) fn reserve(&mut self) -> u64 {
        self.rows.reserve()
    }

    #[inline]
    pub(crate) fn fill(&mut self, place: u64, stretch: &R::Stretch) {
        // Field by field into its place: what is read as a whole just after it was written in parts waits for that.
        if stretch.begin() > Ns::ZERO
            && let Some(row) = self.rows.in_memory(place)
            && let Some(narrow) = R::of(stretch)
        {
            *row = narrow;
            return;
        }
        self.fill_other(place, stretch);
    }

    /// One that begins with the recording, that left memory, or that has no room.
    #[cold]
    fn fill_other(&mut self, place: u64, stretch: &R::Stretch) {
        let row = R::of(stretch).unwrap_or_else(|| {
            let number = self.apart.reserve();
            self.apart.fill(number, R::whole(stretch));
            R::apart(stretch, number)
        });
        self.rows.fill(place, row);
    }

    #[cold]
    fn of_number(&self, number: u64) -> Result<R::Stretch> {
        let mut whole = [R::Whole::zeroed()];
        self.apart.read_at(number, &mut whole)?;
        Ok(R::of_whole(&whole[0]))
    }

    /// Adds the stretches of some rows.
    fn add(&self, rows: &[R], out: &mut Vec<R::Stretch>) -> Result<()> {
        for run in rows.chunk_by(|a, b| a.number().is_none() && b.number().is_none()) {
            match run.first().and_then(Narrow::number) {
                Some(number) => out.push(self.of_number(number)?),
                None => out.extend(run.iter().map(Narrow::stretch)),
            }
        }
        Ok(())
    }

    /// Adds the next ones, in order; `read` is what it reads them with. `false`: there are no more.
    pub(crate) fn next(&self, cursor: &mut Cursor, read: &mut Vec<R>, out: &mut Vec<R::Stretch>) -> Result<bool> {
        self.apart.check()?;
        let more = self.rows.next(cursor, read)?;
        self.add(read, out)?;
        Ok(more)
    }

    /// Hands all on in batches, the last batch first, until `each` breaks off; within a batch in order.
    pub(crate) fn read_back(&self, mut each: impl FnMut(&[R::Stretch]) -> ControlFlow<()>) -> Result<()> {
        self.apart.check()?;
        let (mut batch, mut read) = (Vec::new(), Ok(()));
        self.rows.read_back(|rows| {
            batch.clear();
            read = self.add(rows, &mut batch);
            if read.is_ok() { each(&batch) } else { ControlFlow::Break(()) }
        })?;
        read
    }
}
