//! Bytes that went through a terminal: `adb shell` of old Androids put a carriage return before each line feed, and Windows'
//! adb another, in packed data too. Taking as many away again gives back every byte, since none was put anywhere else.

use std::io::{BufRead, BufReader, Read, Result};

/// Takes `added` carriage returns away from before each line feed.
pub(super) struct Mended<R> {
    from: BufReader<R>,
    added: usize,
    /// Carriage returns met that may be among those.
    held: usize,
    ready: Vec<u8>,
    given: usize,
}

impl<R: Read> Mended<R> {
    pub(super) fn new(from: R, added: usize) -> Self {
        Self { from: BufReader::new(from), added, held: 0, ready: Vec::new(), given: 0 }
    }

    /// Reads on; `false` at the end.
    fn more(&mut self) -> Result<bool> {
        self.given = 0;
        self.ready.clear();
        let met = self.from.fill_buf()?;
        for byte in met {
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
        if met.is_empty() {
            self.ready.extend(std::iter::repeat_n(b'\r', std::mem::take(&mut self.held)));
        }
        let length = met.len();
        self.from.consume(length);
        Ok(length > 0)
    }
}

impl<R: Read> Read for Mended<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.given == self.ready.len() && self.more()? {}
        let rest = &self.ready[self.given..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_terminal_added_is_taken_away() {
        let plain = b"\n\ra\r\nb\r\r\n\n\rc\r";
        for added in 1..=2 {
            let through: Vec<u8> = plain
                .iter()
                .flat_map(|b| if *b == b'\n' { [vec![b'\r'; added], vec![b'\n']].concat() } else { vec![*b] })
                .collect();
            for step in [1, 2, 3, 100] {
                let (mut all, mut part) = (Vec::new(), vec![0; step]);
                let mut mended = Mended::new(through.as_slice(), added);
                loop {
                    match mended.read(&mut part).unwrap() {
                        0 => break,
                        n => all.extend_from_slice(&part[..n]),
                    }
                }
                assert_eq!(all, plain, "{added} {step}");
            }
        }
    }
}
