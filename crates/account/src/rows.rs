//! Rows in order of their begin, filled at their end, in bounded memory.
//!
//! A stretch is known when it ends, but tables want stretches in order of their start. Stretches begin in the order in
//! which events are met, so a row's place is known from the first: it is reserved at the begin and filled at the end. A
//! window of rows lies in memory; what leaves it goes to a temporary file; a row that is filled after it left (a thread
//! that slept long) is written into its place there. No sorting, no merging.
//!
//! ```text
//!   file:  r r r r _ r r r │ r r _ r _ r _ _   :window       _ reserved, not filled yet
//!                  ▲ patched when its thread wakes
//! ```

use bytemuck::Pod;
use std::fs::File;
use std::io::{Result, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// Rows in memory: some MiB.
const WINDOW: usize = 128 * 1024;
/// Rows handed on at once.
const BATCH: usize = 4096;

/// A row, and how one that was never filled looks.
pub(crate) trait Row: Pod {
    fn is_filled(&self) -> bool;
    /// Whether it begins with the recording: nobody may have heard of its thread or CPU until later, so such rows (one a
    /// thread or CPU at most) are kept apart and come first.
    fn is_first(&self) -> bool;
}

/// How far rows have been read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor {
    first: usize,
    at: u64,
}

pub(crate) struct Rows<T> {
    window: Vec<T>,
    first: Vec<T>,
    /// Rows that left the window.
    left: u64,
    file: Option<File>,
    /// The first thing that went wrong; told once, at the end.
    failed: Option<std::io::Error>,
}

impl<T: Row> Rows<T> {
    pub(crate) fn new() -> Self {
        Self { window: Vec::new(), first: Vec::new(), left: 0, file: None, failed: None }
    }

    /// A place for a row that begins now.
    #[inline]
    pub(crate) fn reserve(&mut self) -> u64 {
        if self.window.len() >= 2 * WINDOW {
            self.flush();
        }
        self.window.push(T::zeroed());
        self.left + self.window.len() as u64 - 1
    }

    #[inline]
    pub(crate) fn fill(&mut self, place: u64, row: T) {
        if row.is_first() {
            self.first.push(row);
        } else if let Some(slot) = place.checked_sub(self.left).and_then(|at| self.window.get_mut(at as usize)) {
            *slot = row;
        } else if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(bytemuck::bytes_of(&row), place * size_of::<T>() as u64)
        {
            self.failed.get_or_insert(error);
        }
    }

    /// Moves the older half of the window to the file.
    fn flush(&mut self) {
        let older = WINDOW.min(self.window.len());
        let written = match &mut self.file {
            Some(file) => Ok(file),
            none => tempfile::tempfile().map(|file| none.insert(file)),
        }
        .and_then(|file| file.write_all(bytemuck::cast_slice(&self.window[..older])));
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
        self.window.drain(..older);
        self.left += older as u64;
    }

    /// The next filled rows, in order, in place of what `out` held; `false`: there are no more.
    pub(crate) fn next(&mut self, cursor: &mut Cursor, out: &mut Vec<T>) -> Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        out.clear();
        if cursor.first < self.first.len() {
            let rest = &self.first[cursor.first..];
            out.extend_from_slice(&rest[..rest.len().min(BATCH)]);
            cursor.first += out.len();
            return Ok(true);
        }
        let in_file = self.left.saturating_sub(cursor.at).min(BATCH as u64) as usize;
        if let Some(file) = self.file.as_ref().filter(|_| in_file > 0) {
            out.resize(in_file, T::zeroed());
            file.read_exact_at(bytemuck::cast_slice_mut(out), cursor.at * size_of::<T>() as u64)?;
            cursor.at += in_file as u64;
        } else {
            let from = cursor.at.saturating_sub(self.left) as usize;
            let rest = self.window.get(from..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(false);
            }
            out.extend_from_slice(&rest[..rest.len().min(BATCH)]);
            cursor.at += out.len() as u64;
        }
        out.retain(Row::is_filled);
        Ok(true)
    }

    /// Hands all filled rows on, in order, in batches.
    pub(crate) fn read(&mut self, mut each: impl FnMut(&[T])) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.first.chunks(BATCH).for_each(&mut each);
        let mut batch = [T::zeroed(); BATCH];
        if let Some(file) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            let mut at = 0;
            while at < self.left {
                let count = BATCH.min((self.left - at) as usize);
                file.read_exact_at(bytemuck::cast_slice_mut(&mut batch[..count]), at * size_of::<T>() as u64)?;
                hand_on(&batch[..count], &mut each);
                at += count as u64;
            }
            file.seek(SeekFrom::End(0))?;
        }
        self.window.chunks(BATCH).for_each(|rows| hand_on(rows, &mut each));
        Ok(())
    }
}

/// A stretch without length was reserved, but never filled.
fn hand_on<T: Row>(rows: &[T], each: &mut impl FnMut(&[T])) {
    rows.chunk_by(|a, b| a.is_filled() == b.is_filled()).filter(|run| run[0].is_filled()).for_each(each);
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
        fn is_first(&self) -> bool {
            false
        }
    }

    #[test]
    fn rows_filled_late_keep_their_place() {
        let mut rows = Rows::new();
        let early = rows.reserve();
        let never = rows.reserve();
        let count = 5 * WINDOW as u64;
        for _ in 0..count {
            let place = rows.reserve();
            rows.fill(place, Number(place + 1));
        }
        rows.fill(early, Number(u64::MAX));
        assert_eq!(never, 1);
        let mut seen = Vec::new();
        rows.read(|r| seen.extend_from_slice(r)).unwrap();
        assert_eq!(seen.len() as u64, count + 1);
        assert_eq!(seen[0], Number(u64::MAX));
        assert!(seen[1..].windows(2).all(|w| w[0].0 + 1 == w[1].0));
    }
}
