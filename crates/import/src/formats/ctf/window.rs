//! Reads a file through a window that moves forward: packets may have any size, but memory is bounded.

use ingest::{Fatal, ReadSeek};
use std::io::{ErrorKind, SeekFrom};

pub(super) struct Window {
    file: Box<dyn ReadSeek + Send>,
    buffer: Vec<u8>,
    from: usize,
    filled: usize,
    /// The offset of the buffer's first byte in the file.
    at: u64,
    ended: bool,
    /// The number of bytes read in one call, and the maximum size of the window.
    read_size: usize,
    max_size: usize,
}

impl Window {
    pub(super) fn new(file: Box<dyn ReadSeek + Send>, read_size: usize, max_size: usize) -> Self {
        Self { file, buffer: Vec::new(), from: 0, filled: 0, at: 0, ended: false, read_size, max_size }
    }

    /// Returns the bytes in the window.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.from..self.filled).unwrap_or_default()
    }

    /// Returns the offset of the window's first byte in the file.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.at + self.from as u64
    }

    /// Whether the window extends to the end of the file.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Removes bytes from the start of the window.
    pub(super) fn consume(&mut self, count: usize) {
        self.from = (self.from + count).min(self.filled);
    }

    /// Skips forward to an offset of the file.
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

    /// Reads until the window holds more than `than` bytes; `false` if the file ends or the maximum size is reached
    /// first.
    pub(super) fn grow(&mut self, than: usize) -> Result<bool, Fatal> {
        while self.filled - self.from <= than {
            if self.ended || than >= self.max_size {
                return Ok(false);
            }
            self.buffer.copy_within(self.from..self.filled, 0);
            self.at += self.from as u64;
            (self.from, self.filled) = (0, self.filled - self.from);
            let size = (than + 1).next_power_of_two().clamp(self.read_size, self.max_size.max(self.read_size));
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
