//! Reads numbers, texts and sections of a file. Sizes are checked against the file's before memory is allocated.

use crate::tracepoint::ByteOrder;
use ingest::Fatal;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// Reads from an offset of the file, or in an unpacked section of it.
pub(super) struct Reader<R> {
    from: BufReader<R>,
    pub(super) order: ByteOrder,
    at: u64,
    end: u64,
    /// The offset in the file, for [`Fatal`]. In a packed section it stays at its start.
    base: u64,
    packed: bool,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the file from `at`, up to its `length`.
    pub(super) fn of_file(mut file: R, at: u64, length: u64, order: ByteOrder) -> Result<Self, Fatal> {
        file.seek(SeekFrom::Start(at)).map_err(|e| read_error(&e, at))?;
        Ok(Self { from: BufReader::new(file), order, at, end: length, base: 0, packed: false })
    }

    /// Reads a section's content, which is at `base` of the file.
    pub(super) fn of_section(content: R, size: u64, base: u64, packed: bool, order: ByteOrder) -> Self {
        Self { from: BufReader::new(content), order, at: 0, end: size, base, packed }
    }

    /// Returns the offset of the next byte in the file.
    pub(super) fn place(&self) -> u64 {
        if self.packed { self.base } else { self.base + self.at }
    }

    /// Returns the file.
    pub(super) fn into_inner(self) -> R {
        self.from.into_inner()
    }

    pub(super) fn order(&self) -> ByteOrder {
        self.order
    }

    pub(super) fn set_order(&mut self, order: ByteOrder) {
        self.order = order;
    }

    pub(super) fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Creates an error at this offset.
    pub(super) fn fatal(&self, what: impl Into<String>) -> Fatal {
        Fatal::new(what, self.place())
    }

    fn check(&self, size: u64) -> Result<(), Fatal> {
        if size > self.left() {
            let what = format!(
                "expected {size} bytes here, but only {} are left: the file is damaged or cut off",
                self.left()
            );
            return Err(self.fatal(what));
        }
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Fatal> {
        self.check(bytes.len() as u64)?;
        self.from.read_exact(bytes).map_err(|e| read_error(&e, self.place()))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Reads bytes; fails if there are more than `most`.
    pub(super) fn take(&mut self, size: u64, max: u64) -> Result<Vec<u8>, Fatal> {
        self.check(size)?;
        if size > max {
            return Err(
                self.fatal(format!("{size} bytes exceed the limit of {max} for this part: the file is damaged"))
            );
        }
        let mut bytes = vec![0; size as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn skip(&mut self, size: u64) -> Result<(), Fatal> {
        self.check(size)?;
        self.from.seek_relative(size as i64).map_err(|e| read_error(&e, self.place()))?;
        self.at += size;
        Ok(())
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fatal> {
        let mut bytes = [0];
        self.fill(&mut bytes).map(|()| bytes[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fatal> {
        let mut bytes = [0; 2];
        self.fill(&mut bytes).map(|()| self.order.u16(bytes))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fatal> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes).map(|()| self.order.u32(bytes))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fatal> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes).map(|()| self.order.u64(bytes))
    }

    /// Reads a text that ends with a NUL, of up to `most` bytes.
    pub(super) fn text(&mut self, max: u64) -> Result<Vec<u8>, Fatal> {
        let mut text = Vec::new();
        let room = max.min(self.left());
        let count = self.from.by_ref().take(room).read_until(0, &mut text).map_err(|e| read_error(&e, self.place()))?;
        self.at += count as u64;
        match text.pop() {
            Some(0) => Ok(text),
            _ => Err(self.fatal("a text has no closing NUL here: the file is damaged or cut off")),
        }
    }
}

pub(super) fn read_error(error: &std::io::Error, at: u64) -> Fatal {
    Fatal::new(format!("cannot read the trace.dat: {error}"), at)
}
