//! Restores bytes that passed through a terminal: `adb shell` of old Android versions inserted a carriage return before
//! each line feed, and adb on Windows another, even in packed data. Removing as many restores every byte, since nothing
//! else was inserted.

use std::io::{BufRead, BufReader, Read, Result};

/// Removes `added` carriage returns before each line feed.
pub(super) struct NewlineFixer<R> {
    from: BufReader<R>,
    added: usize,
    /// Carriage returns read that may be among the added ones.
    held: usize,
    ready: Vec<u8>,
    consumed: usize,
}

impl<R: Read> NewlineFixer<R> {
    pub(super) fn new(from: R, added: usize) -> Self {
        Self { from: BufReader::new(from), added, held: 0, ready: Vec::new(), consumed: 0 }
    }

    /// Reads more input; `false` at the end.
    fn more(&mut self) -> Result<bool> {
        self.consumed = 0;
        self.ready.clear();
        let input = self.from.fill_buf()?;
        for byte in input {
            match byte {
                b'\r' if self.held < self.added => self.held += 1,
                b'\r' => self.ready.push(b'\r'),
                b'\n' if self.held == self.added => {
                    self.held = 0;
                    self.ready.push(b'\n');
                }
                other => {
                    self.ready.extend(std::iter::repeat_n(b'\r', std::mem::take(&mut self.held)));
                    self.ready.push(*other);
                }
            }
        }
        if input.is_empty() {
            self.ready.extend(std::iter::repeat_n(b'\r', std::mem::take(&mut self.held)));
        }
        let length = input.len();
        self.from.consume(length);
        Ok(length > 0)
    }
}

impl<R: Read> Read for NewlineFixer<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.consumed == self.ready.len() && self.more()? {}
        let rest = &self.ready[self.consumed..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.consumed += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn carriage_returns_added_by_a_terminal_are_removed() {
        let plain = b"\n\ra\r\nb\r\r\n\n\rc\r";
        for added in 1..=2 {
            let through: Vec<u8> = plain
                .iter()
                .flat_map(|b| if *b == b'\n' { [vec![b'\r'; added], vec![b'\n']].concat() } else { vec![*b] })
                .collect();
            for step in [1, 2, 3, 100] {
                let (mut all, mut part) = (Vec::new(), vec![0; step]);
                let mut fixer = NewlineFixer::new(through.as_slice(), added);
                loop {
                    match fixer.read(&mut part).unwrap() {
                        0 => break,
                        n => all.extend_from_slice(&part[..n]),
                    }
                }
                assert_eq!(all, plain, "{added} {step}");
            }
        }
    }
}
