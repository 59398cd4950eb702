//! Texts that programs write to `trace_marker`, in the format of Android's atrace, which others use too:
//!
//! ```text
//!   B|pid|name    E|pid              a stretch of the writing thread: begin, end (the last one begun)
//!   S|pid|name|cookie   F|pid|name|cookie   a stretch of the process, which may end on another thread
//!   G|pid|track|name|cookie   H|pid|track|cookie   the same on a track of its own
//!   I|pid|name    N|pid|track|name   an instant
//!   C|pid|name|value                 a value
//!   trace_event_clock_sync: parent_ts=1.5 | realtime_ts=1500000000000      a reading of another clock
//! ```

use model::{Clock, EventKind, Mark, MarkEdge, NameId, Pid, Tid};

/// Parses a text written to `trace_marker` by thread `tid`; `None` if the format is unknown. `pid_default` is the thread's process,
/// for texts without one; `id` returns the ids of names.
#[must_use]
pub fn marker(text: &[u8], tid: Tid, pid_default: Pid, id: &mut dyn FnMut(&[u8]) -> NameId) -> Option<EventKind> {
    let text = text.split(|b| *b == 0).next().unwrap_or_default().trim_ascii_end();
    let (kind, rest) = text.split_first()?;
    let rest = match rest.split_first() {
        None if *kind == b'E' => &[],
        Some((b'|', rest)) => rest,
        _ => return clock(text),
    };
    let (pid, rest) = part(rest);
    let pid = match integer(pid) {
        Some(pid) => Pid(i32::try_from(pid).ok()?),
        None if pid.is_empty() => pid_default,
        None => return None,
    };
    let of_thread = |name, edge| EventKind::Mark(Mark { tid, pid, track: 0, name, edge });
    let of_process = |track, name, edge| EventKind::Mark(Mark { tid: Tid::UNKNOWN, pid, track, name, edge });
    Some(match kind {
        b'B' => of_thread(id(rest), MarkEdge::Begin),
        b'E' => of_thread(NameId::NONE, MarkEdge::End),
        b'I' => of_thread(id(rest), MarkEdge::Instant),
        b'S' | b'F' => {
            let (name, cookie) = last_part(rest)?;
            let edge = if *kind == b'S' { MarkEdge::Begin } else { MarkEdge::End };
            of_process(integer(cookie)?, id(name), edge)
        }
        b'G' => {
            let (track, rest) = part(rest);
            let (name, cookie) = last_part(rest)?;
            of_process(track_of(track, integer(cookie)?), id(name), MarkEdge::Begin)
        }
        b'H' => {
            let (track, rest) = part(rest);
            let cookie = last_part(rest).map_or(rest, |(_, cookie)| cookie);
            of_process(track_of(track, integer(cookie)?), NameId::NONE, MarkEdge::End)
        }
        b'N' => {
            let (track, name) = part(rest);
            of_process(track_of(track, 0), id(name), MarkEdge::Instant)
        }
        b'C' => {
            let (name, rest) = part(rest);
            let value = std::str::from_utf8(part(rest).0).ok()?.trim().parse::<f64>().ok()?;
            EventKind::Value { pid, name: id(name), value }
        }
        _ => return None,
    })
}

/// Splits at the first bar.
fn part(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|b| *b == b'|') {
        Some(bar) => (&text[..bar], &text[bar + 1..]),
        None => (text, &[]),
    }
}

/// Splits at the last bar, because names may contain bars.
fn last_part(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let bar = text.iter().rposition(|b| *b == b'|')?;
    Some((&text[..bar], &text[bar + 1..]))
}

fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Returns a number for a track with a name and a cookie, the same in every stream (FNV-1a).
fn track_of(name: &[u8], cookie: i64) -> i64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    name.iter().chain(&cookie.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, step) as i64
}

/// Parses atrace's readings of other clocks: seconds with a fraction, or milliseconds since 1970.
fn clock(text: &[u8]) -> Option<EventKind> {
    let text = std::str::from_utf8(text.strip_prefix(b"trace_event_clock_sync: ")?).ok()?;
    if let Some(seconds) = text.strip_prefix("parent_ts=") {
        let (whole, fraction) = seconds.trim().split_once('.').unwrap_or((seconds.trim(), ""));
        let fraction = fraction.get(..fraction.len().min(9))?;
        let nanos = format!("{fraction:0<9}").parse::<i64>().ok()?;
        let reading = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        return Some(EventKind::Clock { which: Clock::Monotonic, reading });
    }
    let reading = text.strip_prefix("realtime_ts=")?.trim().parse::<i64>().ok()?.checked_mul(1_000_000)?;
    Some(EventKind::Clock { which: Clock::Realtime, reading })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Option<EventKind>, Vec<String>) {
        let mut names = Vec::new();
        let what = marker(text.as_bytes(), Tid(7), Pid(5), &mut |name| {
            names.push(String::from_utf8_lossy(name).into_owned());
            NameId(names.len() as u32)
        });
        (what, names)
    }

    fn mark(tid: Tid, pid: i32, track: i64, name: u32, edge: MarkEdge) -> Option<EventKind> {
        Some(EventKind::Mark(Mark { tid, pid: Pid(pid), track, name: NameId(name), edge }))
    }

    #[test]
    fn stretches_of_the_thread() {
        let names = vec!["draw | frame".to_owned()];
        assert_eq!(parse("B|42|draw | frame\n"), (mark(Tid(7), 42, 0, 1, MarkEdge::Begin), names));
        assert_eq!(parse("E|42\n").0, mark(Tid(7), 42, 0, 0, MarkEdge::End));
        assert_eq!(parse("E").0, mark(Tid(7), 5, 0, 0, MarkEdge::End));
        assert_eq!(parse("E|").0, mark(Tid(7), 5, 0, 0, MarkEdge::End));
        assert_eq!(parse("I|42|vsync").0, mark(Tid(7), 42, 0, 1, MarkEdge::Instant));
    }

    #[test]
    fn stretches_of_the_process() {
        let names = vec!["a|b".to_owned()];
        assert_eq!(parse("S|42|a|b|-9").0, mark(Tid::UNKNOWN, 42, -9, 1, MarkEdge::Begin));
        assert_eq!(parse("F|42|a|b|-9"), (mark(Tid::UNKNOWN, 42, -9, 1, MarkEdge::End), names));
        let track = |what| match what {
            Some(EventKind::Mark(m)) => (m.track, m.edge),
            other => (0, if other.is_none() { MarkEdge::Instant } else { MarkEdge::Begin }),
        };
        let (begun, edge) = track(parse("G|42|Track|step|3").0);
        assert_eq!(edge, MarkEdge::Begin);
        assert_eq!(track(parse("H|42|Track|3").0), (begun, MarkEdge::End));
        assert_eq!(track(parse("H|42|Track|step|3").0), (begun, MarkEdge::End));
        assert_ne!(track(parse("G|42|Other|step|3").0).0, begun);
        assert_eq!(parse("N|42|Track|now").1, ["now"]);
    }

    #[test]
    fn values_and_clocks() {
        let value = |value| Some(EventKind::Value { pid: Pid(42), name: NameId(1), value });
        assert_eq!(parse("C|42|queue|17\n").0, value(17.0));
        assert_eq!(parse("C|42|queue|-0.5|category").0, value(-0.5));
        let reading = |which, reading| Some(EventKind::Clock { which, reading });
        assert_eq!(parse("trace_event_clock_sync: parent_ts=14.25\n").0, reading(Clock::Monotonic, 14_250_000_000));
        assert_eq!(parse("trace_event_clock_sync: realtime_ts=1500").0, reading(Clock::Realtime, 1_500_000_000));
    }

    #[test]
    fn other_texts_are_ignored() {
        for text in ["", "hello", "B", "Z|1|x", "B|pid|x", "S|1|x", "C|1|x|much", "E|99999999999", "\0B|1|x"] {
            assert_eq!(parse(text), (None, vec![]), "{text:?}");
        }
    }
}
