//! A file through a window that moves forward: packets may be of any size, memory is not.

use ingest::{Fatal, ReadSeek};
use std::io::{ErrorKind, SeekFrom};

pub(super) struct Window {
    file: Box<dyn ReadSeek + Send>,
    buffer: Vec<u8>,
    from: usize,
    filled: usize,
    /// Where the buffer's first byte stands in the file.
    at: u64,
    ended: bool,
    /// What is read at once, and what the window may grow to.
    usual: usize,
    most: usize,
}

impl Window {
    pub(super) fn new(file: Box<dyn ReadSeek + Send>, usual: usize, most: usize) -> Self {
        Self { file, buffer: Vec::new(), from: 0, filled: 0, at: 0, ended: false, usual, most }
    }

    /// What is in the window.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..self.filled).unwrap_or_default()
    }

    /// Where its first byte stands in the file.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.at + self.from as u64
    }

    /// Whether the end of the file is in the window.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Leaves so many bytes behind.
    pub(super) fn consume(&mut self, count: usize) {
        self.from = (self.from + count).min(self.filled);
    }

    /// Goes forward to a place of the file.
    pub(super) fn skip_to(&mut self, offset: u64) -> Result<(), Fatal> {
        match offset.checked_sub(self.offset()).and_then(|n| usize::try_from(n).ok()) {
            Some(count) if count <= self.filled - self.from => self.consume(count),
            _ => {
                self.file.seek(SeekFrom::Start(offset)).map_err(|e| Fatal::new(e.to_string(), offset))?;
                (self.from, self.filled, self.at, self.ended) = (0, 0, offset, false);
            }
        }
        Ok(())
    }

    /// Reads on until the window holds more than `than` bytes; `false` where the file, or the largest window, does not.
    pub(super) fn grow(&mut self, than: usize) -> Result<bool, Fatal> {
        while self.filled - self.from <= than {
            if self.ended || than >= self.most {
                return Ok(false);
            }
            self.buffer.copy_within(self.from..self.filled, 0);
            self.at += self.from as u64;
            (self.from, self.filled) = (0, self.filled - self.from);
            let size = (than + 1).next_power_of_two().clamp(self.usual, self.most.max(self.usual));
            if self.buffer.len() < size {
                self.buffer.resize(size, 0);
            }
            match self.file.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.filled += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Fatal::new(e.to_string(), self.at + self.filled as u64)),
            }
        }
        Ok(true)
    }
}
