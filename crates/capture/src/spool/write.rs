//! Writes segments. A flight recorder also removes the oldest ones.

use super::frame;
use safefs::Dir;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;

/// Approximate size up to which frames are buffered before they are written.
const BUFFER: usize = 1 << 20;

/// The file that reserves disk space.
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
    /// Bytes in the current segment, including buffered ones.
    in_segment: u64,
    /// Bytes written in total.
    pub bytes: u64,
    /// Complete segments: number, start time.
    done: VecDeque<(u64, u64)>,
    began: u64,
    /// Whether disk space is reserved, so that the metadata can be written even when the disk is full.
    reserve: bool,
}

impl Writer {
    /// Returns a writer into an existing spool folder.
    ///
    /// # Errors
    /// If the reserve file cannot be written.
    pub fn new(spool: &Dir) -> std::io::Result<Self> {
        spool.create(RESERVE)?.write_all(&vec![0; 256 << 10])?;
        Ok(Self {
            spool: spool.clone(),
            file: None,
            number: 0,
            buffer: Vec::with_capacity(BUFFER + (64 << 10)),
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
    /// If the segment cannot be written.
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

    /// The start time of the current segment, ns on the trace's clock.
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
    /// If the segment cannot be written.
    pub fn frame(&mut self, parts: &[&[u8]]) -> std::io::Result<()> {
        let before = self.buffer.len();
        frame::push(&mut self.buffer, parts);
        self.in_segment += (self.buffer.len() - before) as u64;
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer to the file. From then on the data survives a crash of this process.
    ///
    /// # Errors
    /// If the segment cannot be written; the buffered data is dropped then.
    pub fn flush(&mut self) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let done = file.write_all(&self.buffer);
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        done
    }

    /// Removes segments that end before `until` (the next segment had begun by then).
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

    /// Frees the reserved disk space.
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
