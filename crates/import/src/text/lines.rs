//! Splits bytes into lines without copying them and without an allocation for each line.

use ingest::Fatal;
use std::io::{ErrorKind, Read};

/// The maximum size of the buffer in bytes.
const CHUNK: usize = 1 << 20;
/// The number of bytes read in one call: small enough to be still in the cache when they are parsed.
const READ_SIZE: usize = 1 << 17;
/// If no more than this many bytes are left, they are moved to the front of the buffer instead of reading on after
/// them.
const MAX_MOVE: usize = 1 << 12;
/// Longer lines are cut. Marks of programs take some hundred bytes, and the kernel's own lines take less.
const MAX_LINE: usize = 1 << 18;
/// The mark that some editors put at the start of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line without its end.
#[derive(Clone, Copy)]
pub(crate) struct Line<'b> {
    pub(crate) bytes: &'b [u8],
    /// The offset of the line in the text.
    pub(crate) offset: u64,
    /// Whether the line was longer than the maximum. The rest is left out.
    pub(crate) cut: bool,
    /// Whether the text ends within the line, which may have been longer.
    pub(crate) unended: bool,
}

/// The lines of a text.
pub(crate) struct Lines<'a> {
    from: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// The bytes not yet consumed: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// The offset of `buffer[0]` in the text.
    offset: u64,
    ended: bool,
    peeked: Option<Peeked>,
    /// Whether the rest of a cut line is still to be skipped.
    in_cut: bool,
}

#[derive(Clone, Copy)]
struct Peeked {
    /// The line's length without and with its line end.
    length: usize,
    taken: usize,
    cut: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(from: Box<dyn Read + Send + 'a>) -> Self {
        Self { from, buffer: Vec::new(), start: 0, end: 0, offset: 0, ended: false, peeked: None, in_cut: false }
    }

    /// Returns the next bytes, up to 1 MiB, without consuming them.
    pub(crate) fn head(&mut self) -> Result<&[u8], Fatal> {
        while self.end - self.start < CHUNK && !self.ended {
            self.more()?;
        }
        if self.offset == 0 && self.start == 0 && self.buffer[..self.end].starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Returns the input from `at` bytes after the current position.
    pub(crate) fn into_input(mut self, at: usize) -> impl Read + Send + 'a {
        self.buffer.truncate(self.end);
        let rest = self.buffer.split_off((self.start + at).min(self.end));
        std::io::Cursor::new(rest).chain(self.from)
    }

    /// Returns the next line without consuming it; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<Line<'_>>, Fatal> {
        if self.peeked.is_none() {
            self.find()?;
        }
        let Some(peeked) = self.peeked else { return Ok(None) };
        let bytes = &self.buffer[self.start..self.start + peeked.length];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let (offset, unended) = (self.offset + self.start as u64, peeked.length == peeked.taken && !peeked.cut);
        Ok(Some(Line { bytes, offset, cut: peeked.cut, unended }))
    }

    /// Consumes the line that was peeked.
    #[inline]
    pub(crate) fn take(&mut self) {
        if let Some(peeked) = self.peeked.take() {
            self.start += peeked.taken;
            self.in_cut = peeked.cut;
        }
    }

    /// Finds the end of the next line.
    fn find(&mut self) -> Result<(), Fatal> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &rest[searched..]) {
                let length = searched + at;
                if !std::mem::take(&mut self.in_cut) {
                    self.peeked = Some(Peeked { length, taken: length + 1, cut: false });
                    return Ok(());
                }
                self.start += length + 1;
                searched = 0;
                continue;
            }
            if self.in_cut {
                self.start = self.end;
            } else if rest.len() >= MAX_LINE {
                self.peeked = Some(Peeked { length: MAX_LINE, taken: MAX_LINE, cut: true });
                return Ok(());
            } else if self.ended && !rest.is_empty() {
                self.peeked = Some(Peeked { length: rest.len(), taken: rest.len(), cut: false });
                return Ok(());
            }
            if self.ended {
                return Ok(());
            }
            searched = self.end - self.start;
            self.more()?;
        }
    }

    /// Reads more bytes, after those that are there.
    fn more(&mut self) -> Result<(), Fatal> {
        let full = self.end == self.buffer.len();
        if self.start > 0 && (full || self.end - self.start <= MAX_MOVE) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.offset += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        // A short text needs no large buffer.
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.end).clamp(READ_SIZE, CHUNK.max(self.end)), 0);
        }
        let read = loop {
            let room = self.buffer.len().min(self.end + READ_SIZE);
            match self.from.read(&mut self.buffer[self.end..room]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let at = self.offset + self.end as u64;
        let read = read.map_err(|error| Fatal::new(format!("cannot read the file: {error}"), at))?;
        self.ended = read == 0;
        self.end += read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A reader that returns a few bytes at a time.
    struct ShortReads(Vec<u8>, usize);
    impl Read for ShortReads {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    fn all(text: Vec<u8>, step: usize) -> Vec<(u64, String, bool)> {
        let mut lines = Lines::new(Box::new(ShortReads(text, step)));
        let mut all = Vec::new();
        while let Some(line) = lines.peek().unwrap() {
            let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(20)]).into_owned();
            all.push((line.offset, text, line.cut));
            lines.take();
        }
        all
    }

    #[test]
    fn a_short_text_takes_a_small_buffer() {
        for (length, size) in [(0, READ_SIZE), (100, READ_SIZE), (READ_SIZE, 2 * READ_SIZE), (3 * CHUNK, CHUNK)] {
            let mut lines = Lines::new(Box::new(ShortReads(vec![b'x'; length], CHUNK)));
            assert_eq!(lines.head().unwrap().len(), length.min(CHUNK));
            assert_eq!(lines.buffer.len(), size, "{length}");
        }
    }

    #[test]
    fn lines_with_any_line_end() {
        for step in [1, 2, 100] {
            let mut last = Lines::new(Box::new(ShortReads(b"cut".to_vec(), step)));
            assert!(last.peek().unwrap().unwrap().unended, "the text ends within the line");
            let mut first = Lines::new(Box::new(ShortReads(b"whole\n".to_vec(), step)));
            assert!(!first.peek().unwrap().unwrap().unended);
            let lines = all(b"a b\n\nc\r\nlast".to_vec(), step);
            let texts: Vec<_> = lines.iter().map(|(at, text, _)| (*at, text.as_str())).collect();
            assert_eq!(texts, [(0, "a b"), (4, ""), (5, "c"), (8, "last")]);
        }
    }

    #[test]
    fn an_overlong_line_is_cut_and_the_next_line_is_read() {
        let mut text = vec![b'x'; 3 * CHUNK];
        text.extend(b"\nnext\n");
        let lines = all(text, 1 << 16);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].2 && lines[1].1 == "next" && lines[1].0 == 3 * CHUNK as u64 + 1);
    }

    #[test]
    fn peeking_the_head_consumes_nothing() {
        let mut lines = Lines::new(Box::new(ShortReads(b"\xef\xbb\xbfab\ncd".to_vec(), 1)));
        assert_eq!(lines.head().unwrap(), b"ab\ncd");
        assert_eq!(lines.peek().unwrap().unwrap().bytes, b"ab");
        let mut rest = Vec::new();
        lines.into_input(1).read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"b\ncd");
    }
}
