//! Limits for JSON that is read as a stream.
//!
//! A parser keeps a string, and the brackets that are open, in memory until they end, and most of what it keeps of numbers is larger than their text.
//! [`Limited`] ends the reading before any of this can exhaust memory.

use std::cell::Cell;
use std::io::{Error, ErrorKind, Read};
use std::rc::Rc;

/// The number of bytes read in one call.
const READ_SIZE: usize = 1 << 16;
/// The maximum length of a string, and of a word or number, in bytes.
const MAX_STRING: u64 = 1 << 20;
const MAX_WORD: u64 = 1 << 10;
/// The maximum number of brackets that are open at a time.
const MAX_DEPTH: u32 = 64;

/// What a text may have.
#[derive(Clone, Copy)]
pub(crate) struct JsonLimits {
    /// The maximum number of bytes.
    pub(crate) bytes: u64,
    /// The maximum number of commas: of the elements of all arrays and objects.
    pub(crate) elements: u64,
}

/// A JSON text whose size is limited. What is too large is an error of the kind [`ErrorKind::FileTooLarge`].
pub(crate) struct Limited<R> {
    from: R,
    limits: JsonLimits,
    buffer: Vec<u8>,
    used: usize,
    end: usize,
    scan: Scan,
    /// The number of bytes that were passed on.
    passed: Rc<Cell<u64>>,
}

/// The state of the text up to the end of the buffer.
#[derive(Default)]
struct Scan {
    bytes: u64,
    elements: u64,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The length of the string or word so far.
    length: u64,
}

impl<R: Read> Limited<R> {
    /// Also returns the number of bytes that are passed on, as a place for errors.
    pub(crate) fn new(from: R, limits: JsonLimits) -> (Self, Rc<Cell<u64>>) {
        let passed = Rc::new(Cell::new(0));
        let (buffer, scan) = (vec![0; READ_SIZE], Scan::default());
        (Self { from, limits, buffer, used: 0, end: 0, scan, passed: Rc::clone(&passed) }, passed)
    }

    fn refill(&mut self) -> std::io::Result<()> {
        (self.used, self.end) = (0, 0);
        self.end = loop {
            match self.from.read(&mut self.buffer) {
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        self.scan.add(&self.buffer[..self.end], &self.limits).map_err(|what| Error::new(ErrorKind::FileTooLarge, what))
    }
}

impl Scan {
    fn add(&mut self, bytes: &[u8], limits: &JsonLimits) -> Result<(), &'static str> {
        self.bytes += bytes.len() as u64;
        for byte in bytes {
            self.length += 1;
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => (self.in_string, self.length) = (false, 0),
                    _ => {}
                }
                if self.length > MAX_STRING {
                    return Err("a text in it has more than 1 MiB");
                }
                continue;
            }
            match byte {
                b'"' => (self.in_string, self.length) = (true, 0),
                b',' => (self.elements, self.length) = (self.elements + 1, 0),
                b'[' | b'{' => (self.depth, self.length) = (self.depth + 1, 0),
                b']' | b'}' => (self.depth, self.length) = (self.depth.saturating_sub(1), 0),
                b':' | b' ' | b'\n' | b'\r' | b'\t' => self.length = 0,
                _ => {}
            }
            if self.length > MAX_WORD {
                return Err("a number in it has more than 1,024 digits");
            }
            if self.depth > MAX_DEPTH {
                return Err("more than 64 brackets are open in it");
            }
        }
        match () {
            () if self.bytes > limits.bytes => Err("it is too long"),
            () if self.elements > limits.elements => Err("it has too many elements"),
            () => Ok(()),
        }
    }
}

impl<R: Read> Read for Limited<R> {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.end {
            self.refill()?;
        }
        let count = into.len().min(self.end - self.used);
        into[..count].copy_from_slice(&self.buffer[self.used..self.used + count]);
        self.used += count;
        self.passed.set(self.passed.get() + count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<u64, String> {
        let (mut limited, passed) = Limited::new(text.as_bytes(), JsonLimits { bytes: 4 << 20, elements: 1 << 20 });
        let mut sink = Vec::new();
        limited.read_to_end(&mut sink).map_err(|why| why.to_string())?;
        assert_eq!(sink, text.as_bytes());
        Ok(passed.get())
    }

    #[test]
    fn texts_within_the_limits_are_passed_on() {
        for text in ["", "{\"a\": [1, 2.5e3, \"\\\"]]]\"]}", "not JSON"] {
            assert_eq!(read(text), Ok(text.len() as u64), "{text}");
        }
        let long = format!("[\"{}\"]", "\\\"".repeat(1 << 18));
        assert_eq!(read(&long), Ok(long.len() as u64));
    }

    #[test]
    fn what_a_parser_would_keep_in_memory_is_limited() {
        for (text, what) in [
            (format!("[\"{}\"]", "a".repeat(2 << 20)), "a text in it has more than 1 MiB"),
            (format!("[\"{}\"]", "\\u0041".repeat(1 << 18)), "a text in it has more than 1 MiB"),
            ("[".repeat(65), "more than 64 brackets are open in it"),
            ("{\"a\":".repeat(65), "more than 64 brackets are open in it"),
            (format!("[{}]", "1".repeat(2000)), "a number in it has more than 1,024 digits"),
            (format!("[{}]", "1,".repeat(1 << 20)) + ",", "it has too many elements"),
            (" ".repeat(5 << 20), "it is too long"),
        ] {
            assert_eq!(read(&text), Err(what.to_owned()), "{}", &text[..20]);
        }
    }
}
