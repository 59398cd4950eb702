//! Rows in order of their begin, filled in at their end, in bounded memory.
//!
//! A stretch is complete when it ends, but tables need stretches in order of their start. Stretches begin in the order of
//! events, so the place of a row is known in advance: it is reserved at the begin and filled in at the end. A window of rows is
//! in memory, older rows are in a temporary file. A row that is filled in after it left the window (of a thread that slept for
//! a long time) is written to its place in the file. No sorting and no merging is needed.
//!
//! ```text
//!   file:  r r r r _ r r r │ r r _ r _ r _ _   :window       _ reserved, not filled yet
//!                  ▲ patched when its thread wakes
//! ```

use bytemuck::Pod;
use std::fs::File;
use std::io::{Error, Result, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

/// The minimum size of the window in memory, in bytes; the maximum is twice as much.
const WINDOW_BYTES: usize = 1 << 20;
/// Most kinds have no more rows than this in a recording.
const FEW: u64 = 1024;
/// The number of rows in a batch.
const BATCH: usize = 4096;
/// The size of a write. For larger writes, Linux allocates larger folios. In a virtual machine that reports free memory to its host
/// (free page reporting), the host has reclaimed these: writing 192 MB took 0.42–0.64 s in writes of 6 MB, 0.04–0.09 s in writes of
/// 256 KB.
const WRITTEN: usize = 256 << 10;

/// A row, which may not be filled.
pub(crate) trait Row: Pod {
    fn is_filled(&self) -> bool;
    /// Whether it begins with the recording. The first event of its thread or CPU may be much later, so these rows (at most one per
    /// thread or CPU) are kept separately and come first.
    fn is_first(&self) -> bool {
        false
    }
}

/// A position of reading.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    first: usize,
    at: u64,
}

pub(crate) struct Rows<T> {
    /// The rows that leave memory next; `window` follows.
    older: Vec<T>,
    window: Vec<T>,
    first: Vec<T>,
    /// The number of rows that left the window.
    left: u64,
    file: Option<File>,
    /// The first error, returned to readers.
    failed: Option<Error>,
}

impl<T: Row> Rows<T> {
    const WINDOW: usize = WINDOW_BYTES / size_of::<T>();

    pub(crate) fn new() -> Self {
        Self { older: Vec::new(), window: Vec::new(), first: Vec::new(), left: 0, file: None, failed: None }
    }

    /// Reserves a place for a row that begins now.
    #[inline]
    pub(crate) fn reserve(&mut self) -> u64 {
        if self.window.len() == self.window.capacity() {
            self.make_room();
        }
        self.window.push(T::zeroed());
        self.len() - 1
    }

    /// Allocates a whole window at a time if there are many rows, to avoid repeated copies.
    #[cold]
    fn make_room(&mut self) {
        if self.window.len() >= Self::WINDOW {
            self.flush();
        }
        let room = if self.len() < FEW { FEW as usize } else { Self::WINDOW };
        self.window.reserve_exact(room.saturating_sub(self.window.len()));
    }

    /// Returns the number of reserved places.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        self.left + (self.older.len() + self.window.len()) as u64
    }

    #[inline]
    pub(crate) fn fill(&mut self, place: u64, row: T) {
        if row.is_first() {
            self.first.push(row);
        } else if let Some(slot) = self.in_memory(place) {
            *slot = row;
        } else if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(bytemuck::bytes_of(&row), place * size_of::<T>() as u64)
        {
            self.failed.get_or_insert(error);
        }
    }

    /// Returns the row of a place, if it is in memory.
    #[inline]
    pub(crate) fn in_memory(&mut self, place: u64) -> Option<&mut T> {
        let at = place.checked_sub(self.left)? as usize;
        match at.checked_sub(self.older.len()) {
            Some(at) => self.window.get_mut(at),
            None => self.older.get_mut(at),
        }
    }

    /// Returns contiguous rows in memory from an index.
    fn inside(&self, at: usize) -> &[T] {
        match at.checked_sub(self.older.len()) {
            Some(at) => self.window.get(at..).unwrap_or_default(),
            None => &self.older[at..],
        }
    }

    /// Writes the older rows to the file; the rows of the window become the older ones.
    fn flush(&mut self) {
        if !self.older.is_empty() {
            let written = match &mut self.file {
                Some(file) => Ok(file),
                none => tempfile::tempfile().map(|file| none.insert(file)),
            }
            .and_then(|file| {
                bytemuck::cast_slice(&self.older).chunks(WRITTEN).try_for_each(|part| file.write_all(part))
            });
            if let Err(error) = written {
                self.failed.get_or_insert(error);
            }
            self.left += self.older.len() as u64;
            self.older.clear();
        }
        std::mem::swap(&mut self.older, &mut self.window);
    }

    /// Replaces `out` by the next filled rows, in order; returns `false` if there are no more.
    pub(crate) fn next(&self, cursor: &mut Cursor, out: &mut Vec<T>) -> Result<bool> {
        self.check()?;
        if cursor.first < self.first.len() {
            out.clear();
            let rest = &self.first[cursor.first..];
            out.extend_from_slice(&rest[..rest.len().min(BATCH)]);
            cursor.first += out.len();
            return Ok(true);
        }
        let in_file = self.left.saturating_sub(cursor.at).min(BATCH as u64) as usize;
        if let Some(file) = self.file.as_ref().filter(|_| in_file > 0) {
            // Not cleared first, because it is overwritten.
            out.resize(in_file, T::zeroed());
            file.read_exact_at(bytemuck::cast_slice_mut(out), cursor.at * size_of::<T>() as u64)?;
            cursor.at += in_file as u64;
        } else {
            let from = cursor.at.saturating_sub(self.left) as usize;
            let rest = self.inside(from);
            out.clear();
            if rest.is_empty() {
                return Ok(false);
            }
            out.extend_from_slice(&rest[..rest.len().min(BATCH)]);
            cursor.at += out.len() as u64;
        }
        out.retain(Row::is_filled);
        Ok(true)
    }

    /// Reads the rows from a place on.
    pub(crate) fn read_at(&self, place: u64, out: &mut [T]) -> Result<()> {
        let (left, inside) = out.split_at_mut(self.left.saturating_sub(place).min(out.len() as u64) as usize);
        if let (false, Some(file)) = (left.is_empty(), &self.file) {
            file.read_exact_at(bytemuck::cast_slice_mut(left), place * size_of::<T>() as u64)?;
        }
        let from = (place.max(self.left) - self.left) as usize;
        let rows = self.older.iter().chain(&self.window).skip(from);
        inside.iter_mut().zip(rows).for_each(|(out, row)| *out = *row);
        Ok(())
    }

    /// Keeps an error, which is reported at the end.
    pub(crate) fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
    }

    /// Passes on all filled rows in batches, the last batch first, until `each` breaks; each batch is in order.
    pub(crate) fn read_back(&self, mut each: impl FnMut(&[T]) -> ControlFlow<()>) -> Result<()> {
        self.check()?;
        let mut batch = Vec::new();
        let mut pass_on = |rows: &[T]| {
            batch.clear();
            batch.extend(rows.iter().filter(|r| r.is_filled()));
            each(&batch)
        };
        let mut left = vec![T::zeroed(); if self.left > 0 { BATCH } else { 0 }];
        let in_memory = self.window.rchunks(BATCH).chain(self.older.rchunks(BATCH));
        let mut go_on = in_memory.into_iter().try_for_each(&mut pass_on);
        let mut to = self.left;
        while to > 0 && go_on.is_continue() {
            let rows = &mut left[..BATCH.min(to as usize)];
            to -= rows.len() as u64;
            self.read_at(to, rows)?;
            go_on = pass_on(rows);
        }
        if go_on.is_continue() {
            let _ = self.first.rchunks(BATCH).try_for_each(pass_on);
        }
        Ok(())
    }

    /// Returns the first error, if there is one.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |error| Err(Error::new(error.kind(), error.to_string())))
    }

    /// Passes on all filled rows, in order, in batches, until `each` fails.
    pub(crate) fn read(&self, mut each: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
        self.check()?;
        self.first.chunks(BATCH).try_for_each(&mut each)?;
        let mut batch = vec![T::zeroed(); if self.left > 0 { BATCH } else { 0 }];
        let mut at = 0;
        while at < self.left {
            let rows = &mut batch[..BATCH.min((self.left - at) as usize)];
            self.read_at(at, rows)?;
            pass_on(rows, &mut each)?;
            at += rows.len() as u64;
        }
        self.older.chunks(BATCH).chain(self.window.chunks(BATCH)).try_for_each(|rows| pass_on(rows, &mut each))
    }
}

/// Passes on the filled rows. Stretches without length are reserved but never filled.
fn pass_on<T: Row>(rows: &[T], each: &mut impl FnMut(&[T]) -> Result<()>) -> Result<()> {
    rows.chunk_by(|a, b| a.is_filled() == b.is_filled()).filter(|run| run[0].is_filled()).try_for_each(each)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bytemuck::Zeroable;

    #[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
    #[repr(C)]
    struct Number(u64);
    impl Row for Number {
        fn is_filled(&self) -> bool {
            self.0 != 0
        }
    }

    #[test]
    fn rows_filled_late_keep_their_place() {
        let mut rows = Rows::<Number>::new();
        let early = rows.reserve();
        let never = rows.reserve();
        let count = 5 * Rows::<Number>::WINDOW as u64;
        for _ in 0..count {
            let place = rows.reserve();
            rows.fill(place, Number(place + 1));
        }
        rows.fill(early, Number(u64::MAX));
        assert_eq!(never, 1);
        // From before the begin of the window to after it.
        let mut some = vec![Number(0); count as usize];
        rows.read_at(2, &mut some).unwrap();
        assert!(some.iter().zip(3..).all(|(row, number)| row.0 == number));
        let mut seen = Vec::new();
        let read = rows.read(|r| {
            seen.extend_from_slice(r);
            Ok(())
        });
        read.unwrap();
        assert_eq!(seen.len() as u64, count + 1);
        assert_eq!(seen[0], Number(u64::MAX));
        assert!(seen[1..].windows(2).all(|w| w[0].0 + 1 == w[1].0));
        // Backwards: all rows, and the last ones.
        for wanted in [seen.len(), 5] {
            let mut back: Vec<Number> = Vec::new();
            let each = |r: &[Number]| {
                back.extend(r.iter().rev());
                if back.len() < wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            rows.read_back(each).unwrap();
            assert!(wanted <= back.len() && (back.len() < wanted + BATCH));
            assert!(back.iter().eq(seen.iter().rev().take(back.len())));
        }
    }
}
