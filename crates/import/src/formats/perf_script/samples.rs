//! Lines of samples, and the frames of callchains.
//!
//! ```text
//!   game 781 12.345678:     250000 cycles:u:          the callchain follows, a frame in each line
//!           401a2b draw+0x1f (/opt/game)               address, function and file; the innermost frame first
//!           401a2b clip+0x3 (inlined)
//!   game 781 12.345678:     250000 cycles:u:  401a2b draw+0x1f (/opt/game)         recorded without callchains
//! ```
//!
//! A tracepoint has its subsystem before its name, and text after it.

use crate::sampled::{plain_event, pmu};
use crate::text::scan::{blanks, hexadecimal};
use model::{CoreType, StackFrame};
use topology::core_type_of_pmu;

/// The text that a sample's line has after its time.
pub(super) struct SampleLine<'l> {
    /// The event without its PMU and its modifiers; empty if it was not printed.
    pub(super) event: &'l str,
    /// The event as it was printed.
    pub(super) printed: &'l str,
    /// The only frame, if it is in the same line.
    pub(super) frame: Option<Frame<'l>>,
}

/// A frame of a callchain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame<'l> {
    pub(super) address: u64,
    /// `None` if perf knows no function.
    pub(super) function: Option<&'l [u8]>,
    /// `None` if perf knows no file, or did not print it.
    pub(super) file: Option<&'l [u8]>,
}

/// Reads the text after the time of a line; `None` if the line is not that of a sample.
pub(super) fn sample(text: &[u8]) -> Option<SampleLine<'_>> {
    let text = text.trim_ascii();
    let end = text.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(text.len());
    let (printed, rest) = match text[..end].strip_suffix(b":") {
        Some(event) => (std::str::from_utf8(event).ok()?, blanks(&text[end..])),
        None => ("", text),
    };
    let (event, frame) = (plain_event(printed), frame(rest));
    let is_sample = !event.contains(':') && (rest.is_empty() || frame.is_some());
    is_sample.then_some(SampleLine { event, printed, frame })
}

impl SampleLine<'_> {
    /// The type of the core, if the PMU in the event's name says it.
    pub(super) fn core(&self) -> CoreType {
        pmu(self.printed).and_then(core_type_of_pmu).unwrap_or(CoreType::Uniform)
    }
}

/// Reads a frame without what precedes it; `None` if it is not one.
pub(super) fn frame(text: &[u8]) -> Option<Frame<'_>> {
    let (address, rest) = hexadecimal(text).filter(|(_, rest)| rest.starts_with(b" "))?;
    let (function, file) = function_and_file(rest.trim_ascii());
    Some(Frame { address, function, file })
}

/// Reads `name+0x12 (file)`, in which `+0x12` and the file are optional.
fn function_and_file(text: &[u8]) -> (Option<&[u8]>, Option<&[u8]>) {
    let begin = begin_of_file(text);
    let (before, file) = begin.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..text.len() - 1])));
    let before = before.trim_ascii_end();
    let plus = (0..before.len()).rev().find(|at| before[*at..].starts_with(b"+0x")).unwrap_or(before.len());
    let function = Some(&before[..plus]).filter(|name| !name.is_empty() && *name != b"[unknown]");
    let file = match file {
        Some(b"[unknown]" | b"inlined") => None,
        Some(file) if file.starts_with(b"[kernel.") => Some(StackFrame::KERNEL.as_bytes()),
        file => file,
    };
    (function, file)
}

/// Returns the place of the parenthesis that begins the file at the end of a text, whose name may have parentheses.
fn begin_of_file(text: &[u8]) -> Option<usize> {
    let mut depth = 0;
    let closes = text.iter().enumerate().rev().take_while(|_| text.ends_with(b")")).find(|(_, byte)| {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    closes.map(|(at, _)| at).filter(|at| *at == 0 || text[at - 1] == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<&[u8]>) -> Option<String> {
        bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    #[test]
    fn functions_and_files_of_frames_are_read() {
        for (line, function, file) in [
            ("1 __schedule+0x2b1 ([kernel.kallsyms])", Some("__schedule"), Some("[kernel]")),
            ("1 schedule", Some("schedule"), None),
            ("1 read+0x10 (/usr/lib/libc.so.6)", Some("read"), Some("/usr/lib/libc.so.6")),
            ("1 do_it+0x10 (/memfd:a (deleted))", Some("do_it"), Some("/memfd:a (deleted)")),
            (
                "1 game::frame(int, char const*)+0x7 (/opt/a game)",
                Some("game::frame(int, char const*)"),
                Some("/opt/a game"),
            ),
            ("1 game::frame(int)", Some("game::frame(int)"), None),
            ("1 clip+0x3 (inlined)", Some("clip"), None),
            ("1 nf_hook+0x3 ([nf_tables])", Some("nf_hook"), Some("[nf_tables]")),
            ("1 [unknown] (/x)", None, Some("/x")),
            ("1 [unknown] ([unknown])", None, None),
            ("1 [unknown]", None, None),
            ("1 a)", Some("a)"), None),
        ] {
            let read = frame(line.as_bytes()).unwrap();
            let of = (text(read.function), text(read.file));
            assert_eq!(of, (function.map(str::to_owned), file.map(str::to_owned)), "{line}");
        }
        for other in ["", "11bd", "spin+0x4 (/x)", "11bdz a"] {
            assert_eq!(frame(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn samples_are_distinguished_from_tracepoints() {
        for (line, expected) in [
            ("cycles:u: ", Some(("cycles", None))),
            ("cpu_core/cycles/P:", Some(("cycles", None))),
            (
                "cpu-clock:  ffffffff8156eee6 perf_event_alloc+0xc06 ([kernel.kallsyms])",
                Some(("cpu-clock", Some("perf_event_alloc"))),
            ),
            ("  11bd spin (/x)", Some(("", Some("spin")))),
            ("", Some(("", None))),
            ("sched:sched_switch: prev_comm=a", None),
            ("sched_switch: prev_comm=a", None),
            ("probe:main: (401136)", None),
            ("tr strt    _start", None),
        ] {
            let read = sample(line.as_bytes());
            let read = read.map(|line| (line.event.to_owned(), line.frame.and_then(|frame| text(frame.function))));
            let expected = expected.map(|(event, function)| (event.to_owned(), function.map(str::to_owned)));
            assert_eq!(read, expected, "{line}");
        }
    }
}
