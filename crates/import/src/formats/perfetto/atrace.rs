//! What programs write to `trace_marker`, as Android's `atrace` does: `B|pid|name`, `E`, `C|pid|name|value`,
//! `S|pid|name|cookie`, `F|pid|name|cookie`, `I|pid|name`. Anything else is a moment of that text.

use super::wire::{Broken, Fields};
use crate::tracepoint::Names;
use model::{Batch, Mark, MarkEdge, NameId, Pid, Tid, What};

/// What a `print` event says, written by this thread.
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
    let text = text.trim_ascii_end();
    Ok(marked(text, tid, process, names, out).unwrap_or_else(|| {
        let name = names.id(text, out);
        What::Mark(Mark { tid, pid: process, track: 0, name, edge: MarkEdge::Instant })
    }))
}

fn marked(text: &[u8], tid: Tid, process: Pid, names: &mut Names, out: &mut Batch) -> Option<What> {
    let mut parts = text.splitn(3, |b| *b == b'|');
    let kind = parts.next().filter(|k| k.len() == 1)?;
    let pid = parts.next().and_then(number).map_or(process, |n| Pid(n as i32));
    let rest = parts.next();
    let mut mark = |track, name, edge| {
        let tid = if track == 0 { tid } else { Tid::UNKNOWN };
        What::Mark(Mark { tid, pid, track, name: names.id(name, out), edge })
    };
    Some(match (kind, rest) {
        (b"B", Some(name)) => mark(0, name, MarkEdge::Begin),
        (b"I", Some(name)) => mark(0, name, MarkEdge::Instant),
        (b"E", _) => What::Mark(Mark { tid, pid, track: 0, name: NameId::NONE, edge: MarkEdge::End }),
        (b"S" | b"F", Some(rest)) => {
            let (name, cookie) = split_last(rest)?;
            let edge = if kind == b"S" { MarkEdge::Begin } else { MarkEdge::End };
            mark(cookie, name, edge)
        }
        (b"C", Some(rest)) => {
            let (name, value) = split_last(rest)?;
            What::Value { pid, name: names.id(name, out), value: value as f64 }
        }
        _ => return None,
    })
}

/// `name|number`; a name may hold bars itself.
fn split_last(text: &[u8]) -> Option<(&[u8], i64)> {
    let bar = text.iter().rposition(|b| *b == b'|')?;
    let (name, rest) = text.split_at(bar);
    Some((name, number(rest.get(1..)?)?))
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
