//! What programs write to `trace_marker`: a `print` event.

use super::wire::{Broken, Fields};
use crate::tracepoint::{Names, marker};
use model::{Batch, Mark, MarkEdge, Pid, Tid, What};

/// What a `print` event says, written by this thread: atrace's words, or a moment of that text.
pub(super) fn read(
    mut fields: Fields<'_>,
    tid: Tid,
    process: Pid,
    names: &mut Names,
    out: &mut Batch,
) -> Result<What, Broken> {
    let mut text = &[][..];
    while let Some((field, value)) = fields.next()? {
        if field == 2 {
            text = value.bytes();
        }
    }
    Ok(marker(text, tid, process, &mut |name| names.id(name, out)).unwrap_or_else(|| {
        let name = names.id(text.trim_ascii_end(), out);
        What::Mark(Mark { tid, pid: process, track: 0, name, edge: MarkEdge::Instant })
    }))
}
