//! What programs write into `trace_marker`, as Android's atrace has it: `B|pid|name`, `E`, `C|pid|name|value`,
//! `S|pid|name|cookie`, `F|pid|name|cookie`, `I|pid|name`, and the tracks of their own `G`, `H` and `N`.

use super::decode::Names;
use crate::text::scan::integer;
use model::{Batch, Mark, MarkEdge, Pid, Tid, What};

/// What a text says; `None` where it is not of this form. `tid` wrote it, and `pid_default` is its process, where known.
pub(crate) fn marker(text: &[u8], tid: Tid, pid_default: Pid, names: &mut Names, out: &mut Batch) -> Option<What> {
    let mut parts = text.trim_ascii_end().splitn(2, |b| *b == b'|');
    let kind = parts.next()?;
    let [kind] = kind else { return None };
    let rest = parts.next();
    let (pid, rest) = match rest.map(process) {
        Some((pid, rest)) => (if pid == Pid::UNKNOWN { pid_default } else { pid }, rest),
        None => (pid_default, None),
    };
    let own = |name, edge| What::Mark(Mark { tid, pid, track: 0, name, edge });
    Some(match kind {
        b'E' => own(names.id(b"", out), MarkEdge::End),
        b'B' => own(names.id(rest?, out), MarkEdge::Begin),
        b'I' => own(names.id(rest?, out), MarkEdge::Instant),
        b'C' => {
            let (name, value) = last(rest?)?;
            let value: f64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
            What::Value { pid, name: names.id(name, out), value }
        }
        b'S' | b'F' => asynchronous(pid, last(rest?)?, *kind == b'S', names, out)?,
        b'G' => {
            let (_, behind) = first(rest?)?; // the track, then as above
            asynchronous(pid, last(behind)?, true, names, out)?
        }
        b'H' => asynchronous(pid, (b"", rest?.rsplit(|b| *b == b'|').next()?), false, names, out)?,
        b'N' => {
            let (_, name) = last(rest?)?;
            What::Mark(Mark { tid: Tid::UNKNOWN, pid, track: 0, name: names.id(name, out), edge: MarkEdge::Instant })
        }
        _ => return None,
    })
}

/// `pid|rest`, or a pid alone.
fn process(text: &[u8]) -> (Pid, Option<&[u8]>) {
    let (number, rest) = match memchr::memchr(b'|', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let pid = integer(number).filter(|(_, behind)| behind.is_empty()).and_then(|(pid, _)| i32::try_from(pid).ok());
    (pid.map_or(Pid::UNKNOWN, Pid), rest)
}

/// A stretch of a process, named by a number of its own.
fn asynchronous(
    pid: Pid,
    (name, cookie): (&[u8], &[u8]),
    begins: bool,
    names: &mut Names,
    out: &mut Batch,
) -> Option<What> {
    let (track, _) = integer(cookie)?;
    let edge = if begins { MarkEdge::Begin } else { MarkEdge::End };
    Some(What::Mark(Mark { tid: Tid::UNKNOWN, pid, track, name: names.id(name, out), edge }))
}

/// `first|rest`
fn first(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'|', text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// `name|last`; a category or arguments that some systems write behind are left out.
fn last(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, behind) = first(text)?;
    Some((name, first(behind).map_or(behind, |(last, _)| last)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::NameId;

    #[test]
    fn marks_of_every_kind() {
        let (mut names, mut out) = (Names::new(), Batch::default());
        let mut read = |text: &str| marker(text.as_bytes(), Tid(8), Pid(7), &mut names, &mut out);
        let mark = |tid, pid, track, name, edge| {
            Some(What::Mark(Mark { tid: Tid(tid), pid: Pid(pid), track, name: NameId(name), edge }))
        };
        assert_eq!(read("B|5|draw"), mark(8, 5, 0, 1, MarkEdge::Begin));
        assert_eq!(read("E"), mark(8, 7, 0, 0, MarkEdge::End));
        assert_eq!(read("E|5"), mark(8, 5, 0, 0, MarkEdge::End));
        assert_eq!(read("S|5|load|99"), mark(-1, 5, 99, 2, MarkEdge::Begin));
        assert_eq!(read("F|5|load|99"), mark(-1, 5, 99, 2, MarkEdge::End));
        assert_eq!(read("G|5|track|load|4"), mark(-1, 5, 4, 2, MarkEdge::Begin));
        assert_eq!(read("H|5|track|4"), mark(-1, 5, 4, 0, MarkEdge::End));
        assert_eq!(read("I|5|now"), mark(8, 5, 0, 3, MarkEdge::Instant));
        assert_eq!(read("C|5|depth|-3"), Some(What::Value { pid: Pid(5), name: NameId(4), value: -3.0 }));
        for wrong in ["", "hello", "B", "B|5", "C|5|depth|x", "S|5|load", "Q|5|x"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
