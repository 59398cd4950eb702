//! Pages of the kernel's ring buffer, as returned by `trace_pipe_raw`.
//!
//! Spec: `kernel/trace/ring_buffer.c` and `include/linux/ring_buffer.h` of the Linux source; `events/header_page` describes the
//! fields of a page.
//!
//! ```text
//!   page    time (u64) │ commit (long): bytes used, "events were lost before" (bit 31), "and here is how many" (bit 30) │ data
//!   record  type_len:5 delta:27 │ …
//!           1–28  a record of 4 × type_len bytes             30  delta += the next word << 27
//!           0     the next word is its length, itself included   31  time = delta + the next word << 27
//!           29    delta 0: the rest of the page is empty; else the next word is the length of a discarded record
//! ```

use crate::ByteOrder;

/// The maximum size of a sub-buffer in Linux: 128 pages of 64 KiB.
const MAX_SIZE: usize = 8 << 20;
/// Bits of `commit`.
const USED: u64 = (1 << 27) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// The bits of a time that an absolute timestamp (type 31) does not have.
const HIGH: u64 = 0xf8 << 56;

/// The layout of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLayout {
    order: ByteOrder,
    commit: usize,
    /// 4 or 8: the size of the kernel's `long`.
    long: usize,
    data: usize,
    size: usize,
}

/// An error in a page; reading continues with the next page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPage(
    /// The message.
    pub &'static str,
);

impl PageLayout {
    /// Returns the layout of 64-bit kernels with pages of 4 KiB.
    #[must_use]
    pub fn usual(order: ByteOrder) -> Self {
        Self { order, commit: 8, long: 8, data: 16, size: 4096 }
    }

    /// Parses `header_page`.
    ///
    /// # Errors
    /// The description is invalid.
    pub fn parse(text: &str, order: ByteOrder) -> Result<Self, BadPage> {
        let field = |name: &str| {
            let line = text.lines().find(|l| l.split(';').next().is_some_and(|d| d.trim_end().ends_with(name)))?;
            let number = |key: &str| line.split(';').find_map(|p| p.trim().strip_prefix(key)?.trim().parse().ok());
            Some((number("offset:")?, number("size:")?))
        };
        let (commit, data): ((usize, usize), (usize, usize)) =
            field(" commit").zip(field(" data")).ok_or(BadPage("header_page has no `commit` or `data`"))?;
        let fits = commit.0 >= 8 && matches!(commit.1, 4 | 8) && data.0 >= commit.0 + commit.1 && data.0 <= 64;
        let size = data.0.checked_add(data.1).filter(|size| fits && data.1 >= 64 && *size <= MAX_SIZE);
        let size = size.ok_or(BadPage("header_page has invalid sizes"))?;
        Ok(Self { order, commit: commit.0, long: commit.1, data: data.0, size })
    }

    /// Returns the same layout in another byte order.
    #[must_use]
    pub fn with_order(self, order: ByteOrder) -> Self {
        Self { order, ..self }
    }

    /// Returns the byte order.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Whether a buffer that begins with these bytes has this layout: its first page must not exceed its size.
    #[must_use]
    pub fn is_first(&self, head: &[u8]) -> bool {
        let commit = self.long_at(head, self.commit);
        let used = commit.filter(|commit| commit & !(USED | MISSED | MISSED_STORED) == 0).map(|commit| commit & USED);
        used.is_some_and(|used| used <= (self.size - self.data) as u64)
    }

    /// Returns the size of a page in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Opens a page.
    ///
    /// # Errors
    /// The page is shorter than its header says.
    #[inline]
    pub fn open<'p>(&self, page: &'p [u8]) -> Result<Page<'p>, BadPage> {
        const SHORT: BadPage = BadPage("a ring-buffer page that is cut off");
        let time = self.order.u64_at(page, 0).ok_or(SHORT)?;
        let commit = self.long_at(page, self.commit).ok_or(SHORT)?;
        let data = page.get(self.data..).ok_or(SHORT)?;
        let used = usize::try_from(commit & USED).ok().filter(|used| *used <= data.len());
        let used = used.ok_or(BadPage("a ring-buffer page whose header says more data than it can hold"))?;
        let count = || self.long_at(data, used).and_then(|n| i64::try_from(n).ok());
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => None,
            (true, true) => Some(count().unwrap_or(-1)),
            (true, false) => Some(-1),
        };
        let data = data.get(..used).unwrap_or_default();
        Ok(Page { missed, records: Records { order: self.order, data, at: 0, time } })
    }

    fn long_at(&self, bytes: &[u8], at: usize) -> Option<u64> {
        if self.long == 8 { self.order.u64_at(bytes, at) } else { self.order.u32_at(bytes, at).map(u64::from) }
    }

    /// Returns the offset of a page's records.
    #[must_use]
    pub fn data(&self) -> usize {
        self.data
    }
}

/// A page.
pub struct Page<'p> {
    /// The number of events lost before its first one, −1 if the kernel did not count them.
    pub missed: Option<i64>,
    /// Its records.
    pub records: Records<'p>,
}

/// A position in a page.
#[derive(Clone, Copy)]
pub struct Position {
    at: usize,
    time: u64,
}

/// A record of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRecord<'p> {
    /// The time on the buffer's clock.
    pub time: u64,
    /// The offset in the page's data.
    pub at: usize,
    /// The bytes of the tracepoint's record.
    pub raw: &'p [u8],
}

/// An iterator over the records of a page.
pub struct Records<'p> {
    order: ByteOrder,
    data: &'p [u8],
    at: usize,
    time: u64,
}

impl<'p> Iterator for Records<'p> {
    /// An error ends the page.
    type Item = Result<PageRecord<'p>, BadPage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            let word = self.order.u32_at(self.data, at)?;
            // Bit fields begin at the lowest bit on little-endian machines, at the highest on big-endian ones.
            let (kind, delta) = match self.order {
                ByteOrder::Little => (word & 31, word >> 5),
                ByteOrder::Big => (word >> 27, word & ((1 << 27) - 1)),
            };
            let delta = u64::from(delta);
            let (begin, length) = match kind {
                1..=28 => (at + 4, kind as usize * 4),
                29 if delta == 0 => return None,
                _ => {
                    let Some(next) = self.order.u32_at(self.data, at + 4) else { return self.fail() };
                    match kind {
                        30 => {
                            self.time = self.time.wrapping_add(delta + (u64::from(next) << 27));
                            self.at = at + 8;
                            continue;
                        }
                        31 => {
                            self.time = absolute(self.time, delta + (u64::from(next) << 27));
                            self.at = at + 8;
                            continue;
                        }
                        // The kernel writes 1 into a discarded record that had no time of its own (rb_event_discard).
                        29 if delta == 1 && next >= 4 => {
                            let Some(end) = self.next_record(at + 8, next as usize - 4) else { return self.fail() };
                            self.at = end;
                            continue;
                        }
                        // The length includes its own word.
                        _ if next < 4 => return self.fail(),
                        _ => (at + 8, next as usize - 4),
                    }
                }
            };
            let Some(next) = self.next_record(begin, length) else { return self.fail() };
            self.time = self.time.wrapping_add(delta);
            self.at = next;
            if kind != 29 {
                let raw = self.data.get(begin..begin + length);
                return raw.map(|raw| Ok(PageRecord { time: self.time, at, raw }));
            }
        }
    }
}

impl<'p> Records<'p> {
    /// Returns the begin of the next record, at a multiple of four; `None` if this one exceeds the page.
    fn next_record(&self, begin: usize, length: usize) -> Option<usize> {
        let end = begin.checked_add(length).filter(|end| *end <= self.data.len())?;
        Some(end.saturating_add(3) & !3)
    }

    /// Returns the current position.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { at: self.at, time: self.time }
    }

    /// Continues at a position.
    pub fn resume(&mut self, position: Position) {
        (self.at, self.time) = (position.at, position.time);
    }

    fn fail(&mut self) -> Option<<Self as Iterator>::Item> {
        self.at = self.data.len();
        Some(Err(BadPage("a record that exceeds its ring-buffer page")))
    }
}

/// Returns an absolute time, which has 59 bits; the other bits are those of the time before it.
fn absolute(before: u64, stamp: u64) -> u64 {
    let time = stamp | (before & HIGH);
    if before & HIGH != 0 && time < before { time.wrapping_add(1 << 59) } else { time }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn page(order: ByteOrder, time: u64, commit: u64, words: &[u32]) -> Vec<u8> {
        let u32s = |n: u32| if order == ByteOrder::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        let u64s = |n: u64| if order == ByteOrder::Little { n.to_le_bytes() } else { n.to_be_bytes() };
        let mut page: Vec<u8> = u64s(time).into_iter().chain(u64s(commit)).collect();
        words.iter().for_each(|w| page.extend(u32s(*w)));
        page
    }

    /// Returns the first word of a record.
    fn head(order: ByteOrder, kind: u32, delta: u32) -> u32 {
        if order == ByteOrder::Little { kind | delta << 5 } else { kind << 27 | delta }
    }

    #[test]
    fn records_of_every_kind_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let h = |kind, delta| head(order, kind, delta);
            let words = [
                h(1, 5),
                7, // four bytes, 5 ns later
                h(30, 1),
                2, // 1 + (2 << 27) later
                h(0, 3),
                12,
                8,
                9, // eight bytes after a length
                h(29, 4),
                8,
                0, // discarded, but its time counts
                h(31, 6),
                40, // the time is 6 + (40 << 27)
                h(1, 0),
                10,
                h(29, 0),
                99,
            ];
            let bytes = page(order, 100, words.len() as u64 * 4, &words);
            let mut opened = PageLayout::usual(order).open(&bytes).unwrap();
            assert_eq!(opened.missed, None);
            let mut records = vec![];
            for record in opened.records.by_ref() {
                let record = record.unwrap();
                let first = order.u32_at(record.raw, 0).unwrap();
                records.push((record.time, record.raw.len(), first));
            }
            assert_eq!(records, [(105, 4, 7), (109 + (2 << 27), 8, 8), (6 + (40 << 27), 4, 10)]);
        }
    }

    #[test]
    fn losses_are_counted_if_the_kernel_counted_them() {
        let order = ByteOrder::Little;
        let of = |commit: u64| PageLayout::usual(order).open(&page(order, 1, commit, &[33, 0, 17, 0])).unwrap().missed;
        assert_eq!(of(8), None);
        assert_eq!(of(8 | MISSED), Some(-1));
        assert_eq!(of(8 | MISSED | MISSED_STORED), Some(17));
    }

    #[test]
    fn data_beyond_the_page_is_an_error() {
        let order = ByteOrder::Little;
        let layout = PageLayout::usual(order);
        assert!(layout.open(&page(order, 1, 12, &[1, 2])).is_err());
        assert!(layout.open(&[0; 15]).is_err());
        for words in [[head(order, 3, 0), 0], [head(order, 0, 0), u32::MAX], [head(order, 0, 0), 3]] {
            let bytes = page(order, 1, 8, &words);
            let mut records = layout.open(&bytes).unwrap().records;
            assert!(records.next().unwrap().is_err());
            assert!(records.next().is_none());
        }
    }

    #[test]
    fn header_pages() {
        let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
        let layout = PageLayout::parse(text, ByteOrder::Little).unwrap();
        assert_eq!(layout, PageLayout { order: ByteOrder::Little, commit: 8, long: 4, data: 12, size: 4096 });
        assert!(PageLayout::parse(&text.replace("4084", "99999999999"), ByteOrder::Little).is_err());
        assert!(PageLayout::parse("", ByteOrder::Little).is_err());
    }

    #[test]
    fn absolute_times_keep_the_high_bits() {
        assert_eq!(absolute(5, 7), 7);
        assert_eq!(absolute(1 << 60 | 5, 7), 1 << 60 | 7);
        assert_eq!(absolute(1 << 60 | 9, 7), (1 << 60) + (1 << 59) + 7);
    }
}
