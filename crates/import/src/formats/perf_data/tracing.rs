//! The tracepoint descriptions, as `perf record` copies them from tracefs (`tools/perf/util/trace-event-info.c`):
//! magic, version, byte order, two headers, ftrace's own formats, then subsystems with the formats of their events.

use crate::tracepoint::{ByteOrder, EventFormat};
use ingest::Fatal;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Returns the formats of all events; none if the recording has no tracepoints.
pub(super) fn formats(bytes: &[u8]) -> Result<Vec<EventFormat>, Fatal> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut cursor = Cursor { bytes, at: 0, order: ByteOrder::Little };
    cursor.read().ok_or_else(|| {
        let what = format!("the tracepoint descriptions are damaged (at byte {} within them): record again", cursor.at);
        Fatal::new(what, 0)
    })
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    fn read(&mut self) -> Option<Vec<EventFormat>> {
        if self.take(MAGIC.len())? != MAGIC {
            return None;
        }
        self.text()?; // version
        self.order = if self.take(1)? == [0] { ByteOrder::Little } else { ByteOrder::Big };
        self.take(1 + 4)?; // size of a long, of a page
        for _ in 0..2 {
            self.text()?; // "header_page", "header_event"
            self.sized()?;
        }
        for _ in 0..self.u32()? {
            self.sized()?; // ftrace's own events: functions, prints
        }
        let mut formats = Vec::new();
        for _ in 0..self.u32()? {
            self.text()?; // system
            for _ in 0..self.u32()? {
                let text = String::from_utf8_lossy(self.sized()?);
                // If a description cannot be read, the tracepoint's records count as plain samples.
                formats.extend(EventFormat::parse(&text).ok());
            }
        }
        Some(formats)
    }

    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(size)?)?;
        self.at += size;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(self.order.u32(*self.take(4)?.first_chunk()?))
    }

    fn sized(&mut self) -> Option<&'a [u8]> {
        let size = self.order.u64(*self.take(8)?.first_chunk()?);
        self.take(usize::try_from(size).ok()?)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.bytes.get(self.at..)?.iter().position(|b| *b == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }
}
