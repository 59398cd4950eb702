//! From bytes to lines, without a copy and without an allocation each.

use ingest::Fatal;
use std::io::{ErrorKind, Read};

/// Bytes held at once.
const CHUNK: usize = 1 << 20;
/// Bytes read at once: they are read again while they are still near.
const PART: usize = 1 << 17;
/// So much is moved to the front rather than go on behind it.
const SMALL: usize = 1 << 12;
/// A longer line is cut: marks of programs take some hundred bytes, the kernel's own lines fewer.
const LONGEST: usize = 1 << 18;
/// What editors of other systems put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line without its end.
#[derive(Clone, Copy)]
pub(crate) struct Line<'b> {
    pub(crate) bytes: &'b [u8],
    /// Where it begins in the text.
    pub(crate) offset: u64,
    /// It was longer than any line that means something; the rest is left out.
    pub(crate) cut: bool,
}

/// The lines of a text.
pub(crate) struct Lines<'a> {
    from: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// What was not read yet: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Where `buffer[0]` stands in the text.
    offset: u64,
    ended: bool,
    peeked: Option<Peeked>,
    /// The rest of a line that was cut is to be left out.
    in_cut: bool,
}

#[derive(Clone, Copy)]
struct Peeked {
    /// Its length without its end, and with it.
    length: usize,
    taken: usize,
    cut: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(from: Box<dyn Read + Send + 'a>) -> Self {
        Self { from, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, ended: false, peeked: None, in_cut: false }
    }

    /// What comes next, up to a MiB of it, without going past it.
    pub(crate) fn head(&mut self) -> Result<&[u8], Fatal> {
        while self.end - self.start < CHUNK && !self.ended {
            self.more()?;
        }
        if self.offset == 0 && self.start == 0 && self.buffer[..self.end].starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// The input from `at` bytes behind what was read so far.
    pub(crate) fn into_input(mut self, at: usize) -> impl Read + Send + 'a {
        self.buffer.truncate(self.end);
        let rest = self.buffer.split_off((self.start + at).min(self.end));
        std::io::Cursor::new(rest).chain(self.from)
    }

    /// The next line, without going past it; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<Line<'_>>, Fatal> {
        if self.peeked.is_none() {
            self.find()?;
        }
        let Some(peeked) = self.peeked else { return Ok(None) };
        let bytes = &self.buffer[self.start..self.start + peeked.length];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        Ok(Some(Line { bytes, offset: self.offset + self.start as u64, cut: peeked.cut }))
    }

    /// Goes past the line that was peeked.
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
            } else if rest.len() >= LONGEST {
                self.peeked = Some(Peeked { length: LONGEST, taken: LONGEST, cut: true });
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

    /// Reads on, behind what is there.
    fn more(&mut self) -> Result<(), Fatal> {
        let full = self.end == self.buffer.len();
        if self.start > 0 && (full || self.end - self.start <= SMALL) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.offset += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        let read = loop {
            let room = self.buffer.len().min(self.end + PART);
            match self.from.read(&mut self.buffer[self.end..room]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let at = self.offset + self.end as u64;
        let read = read.map_err(|error| Fatal::new(format!("cannot read on: {error}"), at))?;
        self.ended = read == 0;
        self.end += read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Gives a few bytes at a time.
    struct Drops(Vec<u8>, usize);
    impl Read for Drops {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    fn all(text: Vec<u8>, step: usize) -> Vec<(u64, String, bool)> {
        let mut lines = Lines::new(Box::new(Drops(text, step)));
        let mut all = Vec::new();
        while let Some(line) = lines.peek().unwrap() {
            let text = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(20)]).into_owned();
            all.push((line.offset, text, line.cut));
            lines.take();
        }
        all
    }

    #[test]
    fn lines_of_any_end() {
        for step in [1, 2, 100] {
            let got = all(b"a b\n\nc\r\nlast".to_vec(), step);
            let texts: Vec<_> = got.iter().map(|(at, text, _)| (*at, text.as_str())).collect();
            assert_eq!(texts, [(0, "a b"), (4, ""), (5, "c"), (8, "last")]);
        }
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_the_next_one_read() {
        let mut text = vec![b'x'; 3 * CHUNK];
        text.extend(b"\nnext\n");
        let got = all(text, 1 << 16);
        assert_eq!(got.len(), 2);
        assert!(got[0].2 && got[1].1 == "next" && got[1].0 == 3 * CHUNK as u64 + 1);
    }

    #[test]
    fn the_head_is_seen_twice() {
        let mut lines = Lines::new(Box::new(Drops(b"\xef\xbb\xbfab\ncd".to_vec(), 1)));
        assert_eq!(lines.head().unwrap(), b"ab\ncd");
        assert_eq!(lines.peek().unwrap().unwrap().bytes, b"ab");
        let mut rest = Vec::new();
        lines.into_input(1).read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"b\ncd");
    }
}
