//! A page of the kernel's ring buffer (`kernel/trace/ring_buffer.c`, `include/linux/ring_buffer.h`).
//!
//! ```text
//!   u64 time │ long commit │ event event event …            commit: bytes of events; bit 31: events were lost before
//!   event: 5 bits type, 27 bits time since the last one     them; bit 30: how many stands behind the last one
//!     1–28   a record of type × 4 bytes     29  padding; without a time: the rest of the page
//!     0      its length stands first        30  more bits of time      31  a time of its own, 59 bits
//! ```

use crate::tracepoint::{ByteOrder, EventFormat};

/// Where a page's fields lie: `events/header_page` of the recording's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    commit: usize,
    /// A `long` of the kernel.
    commit_size: usize,
    data: usize,
    /// All of a page, as the kernel describes it.
    pub(super) size: u64,
}

const LOST: u64 = 1 << 31;
const LOST_COUNTED: u64 = 1 << 30;
const COMMITTED: u64 = (1 << 27) - 1;
/// An absolute time has 59 bits; the others are those of the time before it.
const BEYOND: u64 = 0xf8 << 56;

impl Layout {
    /// Reads the description; `None` where it is of no page that there is.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = format!("name: header_page\nID: 0\n{}", String::from_utf8_lossy(text));
        let fields = EventFormat::parse(&text).ok()?;
        let (time, commit, data) = (fields.field("timestamp")?, fields.field("commit")?, fields.field("data")?);
        let fits = time.offset == 0 && time.size == 8 && matches!(commit.size, 4 | 8) && commit.offset >= 8;
        let ordered = commit.offset.checked_add(commit.size)? <= data.offset && data.offset <= 64;
        let size = u64::try_from(data.offset.checked_add(data.size)?).ok()?;
        (fits && ordered).then_some(Self { commit: commit.offset, commit_size: commit.size, data: data.offset, size })
    }
}

/// A page that is being read.
pub(super) struct Page<'p> {
    bytes: &'p [u8],
    order: ByteOrder,
    at: usize,
    time: u64,
    /// Events were lost before this page's: how many, where that is told.
    pub(super) lost: Option<Option<u64>>,
}

/// A place on a page.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    at: usize,
    time: u64,
}

/// What comes next on a page.
pub(super) enum Step<'p> {
    /// A record, its time on the recording's clock, and where on the page it begins.
    Record(&'p [u8], u64, usize),
    /// Nothing more.
    End,
    /// From here on it cannot be read.
    Torn(usize),
}

impl<'p> Page<'p> {
    /// Opens a page; `None` where its head says what cannot be.
    pub(super) fn open(bytes: &'p [u8], layout: Layout, order: ByteOrder) -> Option<Self> {
        let time = order.u64_at(bytes, 0)?;
        let long = |at| match layout.commit_size {
            4 => order.u32_at(bytes, at).map(u64::from),
            _ => order.u64_at(bytes, at),
        };
        let commit = long(layout.commit)?;
        let end = layout.data.checked_add((commit & COMMITTED) as usize)?;
        let events = bytes.get(..end)?;
        let lost = (commit & LOST != 0).then(|| if commit & LOST_COUNTED != 0 { long(end) } else { None });
        Some(Self { bytes: events, order, at: layout.data, time, lost })
    }

    /// How far it was read.
    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.at, time: self.time }
    }

    /// Goes on there.
    pub(super) fn go_on(&mut self, mark: Mark) {
        (self.at, self.time) = (mark.at, mark.time);
    }

    /// The next record.
    #[inline]
    pub(super) fn next(&mut self) -> Step<'p> {
        loop {
            let begin = self.at;
            if begin >= self.bytes.len() {
                return Step::End;
            }
            let Some(head) = self.order.u32_at(self.bytes, begin) else { return Step::Torn(begin) };
            let (kind, delta) = match self.order {
                ByteOrder::Little => (head & 31, u64::from(head >> 5)),
                ByteOrder::Big => (head >> 27, u64::from(head & ((1 << 27) - 1))),
            };
            if let 1..=28 = kind {
                let size = kind as usize * 4;
                let Some(raw) = self.bytes.get(begin + 4..begin + 4 + size) else { return Step::Torn(begin) };
                self.at = begin + 4 + size;
                self.time = self.time.wrapping_add(delta);
                return Step::Record(raw, self.time, begin);
            }
            if kind == 29 && delta == 0 {
                return Step::End;
            }
            let Some(word) = self.order.u32_at(self.bytes, begin + 4) else { return Step::Torn(begin) };
            match kind {
                0 | 29 => {
                    // A length counts itself, and the next event begins at a multiple of 4.
                    let size = word as usize;
                    let raw = (size >= 4).then(|| self.bytes.get(begin + 8..begin + 4 + size)).flatten();
                    let Some(raw) = raw else { return Step::Torn(begin) };
                    self.at = begin + 4 + size.next_multiple_of(4);
                    // The kernel writes 1 into a discarded record that had no time of its own (rb_event_discard).
                    if kind == 0 || delta != 1 {
                        self.time = self.time.wrapping_add(delta);
                    }
                    if kind == 0 {
                        return Step::Record(raw, self.time, begin);
                    }
                }
                _ => {
                    let time = (u64::from(word) << 27) + delta;
                    self.time = if kind == 30 { self.time.wrapping_add(time) } else { absolute(time, self.time) };
                    self.at = begin + 8;
                }
            }
        }
    }
}

/// All 64 bits of a time of 59, by the time before it (the kernel's `rb_fix_abs_ts`).
fn absolute(time: u64, before: u64) -> u64 {
    if before & BEYOND == 0 {
        return time;
    }
    let time = time | before & BEYOND;
    if time < before { time.wrapping_add(1 << 59) } else { time }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LONG_8: &[u8] = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

    #[test]
    fn the_kernel_says_where_a_page_s_fields_lie() {
        let layout = Layout::parse(LONG_8).unwrap();
        assert_eq!(layout, Layout { commit: 8, commit_size: 8, data: 16, size: 4096 });
        let text = String::from_utf8_lossy(LONG_8);
        assert_eq!(Layout::parse(text.replace("size:8;\tsigned:1", "size:3;\tsigned:1").as_bytes()), None);
        assert_eq!(Layout::parse(b""), None);
    }

    #[test]
    fn a_time_of_59_bits_goes_on_where_the_last_one_was() {
        assert_eq!(absolute(5, 3), 5);
        assert_eq!(absolute(5, 7), 5, "without higher bits nothing is known to have wrapped");
        let high = 3 << 59;
        assert_eq!(absolute(5, high | 3), high | 5);
        assert_eq!(absolute(5, high | 7), (4 << 59) | 5, "it wrapped");
    }
}
