//! Text that programs write to `trace_marker`: a `print` event.

use super::wire::{Fields, Malformed};
use crate::tracepoint::{Names, marker};
use model::{Batch, EventKind, Mark, MarkEdge, Pid, Tid};

/// Reads a `print` event of this thread: a mark in atrace's syntax, or an instant mark with this text.
pub(super) fn read(
    mut fields: Fields<'_>,
    tid: Tid,
    process: Pid,
    names: &mut Names,
    out: &mut Batch,
) -> Result<EventKind, Malformed> {
    let mut text = &[][..];
    while let Some((field, value)) = fields.next()? {
        if field == 2 {
            text = value.bytes();
        }
    }
    Ok(marker(text, tid, process, &mut |name| names.id(name, out)).unwrap_or_else(|| {
        let name = names.id(text.trim_ascii_end(), out);
        EventKind::Mark(Mark { tid, pid: process, track: 0, name, edge: MarkEdge::Instant })
    }))
}
