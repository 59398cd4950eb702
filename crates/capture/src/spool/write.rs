//! Writes segments, and drops the oldest where only the last seconds are wanted.

use super::frame;
use safefs::Dir;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;

/// Frames are gathered up to about this size before they are written.
const GATHER: usize = 1 << 20;

/// The room held back.
const RESERVE: &str = "reserve";

fn segment(number: u64) -> String {
    format!("{number:06}.seg")
}

/// Writes a spool's segments.
pub struct Writer {
    spool: Dir,
    file: Option<File>,
    number: u64,
    buffer: Vec<u8>,
    /// Bytes in the current segment, those still gathered included.
    in_segment: u64,
    /// Bytes written in all.
    pub bytes: u64,
    /// Segments that are complete: number, begin.
    done: VecDeque<(u64, u64)>,
    began: u64,
    /// Held back so that a full disk still has room for the last word.
    reserve: bool,
}

impl Writer {
    /// A writer into a spool folder that exists.
    ///
    /// # Errors
    /// As the file system says.
    pub fn new(spool: &Dir) -> std::io::Result<Self> {
        spool.create(RESERVE)?.write_all(&vec![0; 256 << 10])?;
        Ok(Self {
            spool: spool.clone(),
            file: None,
            number: 0,
            buffer: Vec::with_capacity(GATHER + (64 << 10)),
            in_segment: 0,
            bytes: 0,
            done: VecDeque::new(),
            began: 0,
            reserve: true,
        })
    }

    /// Begins the next segment, at `at` on the trace's clock, ns.
    ///
    /// # Errors
    /// As the file system says.
    pub fn begin_segment(&mut self, at: u64) -> std::io::Result<()> {
        if self.file.is_some() {
            self.flush()?;
            self.done.push_back((self.number, self.began));
            self.number += 1;
        }
        let mut file = self.spool.create(segment(self.number))?;
        file.write_all(&frame::header(self.number, at))?;
        self.file = Some(file);
        self.began = at;
        self.in_segment = frame::HEADER as u64;
        self.bytes += frame::HEADER as u64;
        Ok(())
    }

    /// Begin of the current segment, ns on the trace's clock.
    #[must_use]
    pub fn segment_began(&self) -> u64 {
        self.began
    }

    /// Bytes in the current segment.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.in_segment
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// As the file system says.
    pub fn frame(&mut self, parts: &[&[u8]]) -> std::io::Result<()> {
        let before = self.buffer.len();
        frame::push(&mut self.buffer, parts);
        self.in_segment += (self.buffer.len() - before) as u64;
        if self.buffer.len() >= GATHER { self.flush() } else { Ok(()) }
    }

    /// Hands everything gathered to the kernel: from then on the death of this process cannot take it away.
    ///
    /// # Errors
    /// As the file system says; nothing is kept of what could not be written.
    pub fn flush(&mut self) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let done = file.write_all(&self.buffer);
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        done
    }

    /// Removes segments that lie wholly before `until` (their successor had begun by then).
    pub fn drop_before(&mut self, until: u64) {
        loop {
            let next_began = self.done.get(1).map_or(self.began, |s| s.1);
            match self.done.front() {
                Some((number, _)) if next_began <= until => {
                    let _ = self.spool.remove(segment(*number));
                    self.done.pop_front();
                }
                _ => return,
            }
        }
    }

    /// Frees the room held back for the last word.
    pub fn free_reserve(&mut self) {
        if std::mem::take(&mut self.reserve) {
            let _ = self.spool.remove(RESERVE);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.free_reserve();
    }
}
