//! Parses the columns of a line before an event's arguments.
//!
//! ```text
//!            <...>-19161 (-----) [001] d..3. 683201.354908: sched_switch: prev_comm=…
//!   comm (16 wide)-tid   (process) [cpu] flags seconds.fraction: event: arguments
//! ```
//!
//! The columns for process and flags are optional. A name may contain blanks, dashes and brackets, so a line is parsed
//! from the CPU's brackets: the first brackets for which all columns around them are valid.

use super::kernel_log;
use crate::text::scan::{Stamp, blanks, event, integer, number, stamp};
use model::{CpuId, Pid, Tid};

/// A parsed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head<'l> {
    /// Empty if the kernel did not have the name (`<...>`).
    pub(super) comm: &'l [u8],
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) cpu: CpuId,
    /// Whether the flags show a hardware interrupt.
    pub(super) interrupt: bool,
    pub(super) stamp: Stamp,
    pub(super) event: &'l [u8],
    pub(super) args: &'l [u8],
}

/// More CPUs than Linux supports.
pub(super) const MAX_CPUS: u64 = 1 << 16;
/// A name of 15 bytes has room for three (`[0] `). Limits the attempts on a line with thousands.
const MAX_BRACKETS: usize = 8;
/// The length of `d..3.` and columns that newer kernels may add.
pub(super) const MAX_FLAGS: usize = 8;
/// In a hardware interrupt, in one within a softirq, in an NMI. These letters occur in no other column of the flags.
const IN_INTERRUPT: &[u8] = b"hHzZ";

/// Parses a line; `None` if it is not an event.
#[inline]
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    let in_brackets = memchr::memchr_iter(b'[', line).take(MAX_BRACKETS).find_map(|open| parse_around(line, open));
    in_brackets.or_else(|| kernel_log::head(line))
}

#[inline]
fn parse_around(line: &[u8], open: usize) -> Option<Head<'_>> {
    let (cpu, rest) = number(&line[open + 1..])?;
    let rest = rest.strip_prefix(b"]")?;
    // trace-cmd writes no blank before a long bare number.
    if cpu >= MAX_CPUS || !matches!(rest.first(), Some(b' ' | b'\t' | b'0'..=b'9')) {
        return None;
    }
    let (comm, tid, pid) = task(&line[..open])?;
    let rest = blanks(rest);
    let (flags, (stamp, rest)) = match stamp(rest) {
        Some(found) => (&[][..], found),
        None => {
            let flags = rest.iter().position(|b| *b == b' ').filter(|n| *n <= MAX_FLAGS)?;
            (&rest[..flags], stamp(blanks(&rest[flags..]))?)
        }
    };
    let interrupt = shows_interrupt(flags);
    let (event, args) = event(rest);
    Some(Head { comm, tid, pid, cpu: CpuId(cpu as u32), interrupt, stamp, event, args })
}

/// Whether the flags show a hardware interrupt.
#[inline]
pub(super) fn shows_interrupt(flags: &[u8]) -> bool {
    flags.iter().any(|flag| IN_INTERRUPT.contains(flag))
}

/// Parses `comm-tid`, optionally with a process in parentheses.
#[inline]
fn task(before: &[u8]) -> Option<(&[u8], Tid, Pid)> {
    let mut text = before.trim_ascii_end();
    let mut pid = Pid::UNKNOWN;
    if text.len() == before.len() {
        return None; // the brackets are inside a word
    }
    if let Some(inner) = text.strip_suffix(b")") {
        let open = memchr::memrchr(b'(', inner)?;
        let process = inner[open + 1..].trim_ascii();
        pid = match integer(process) {
            Some((pid, b"")) => Pid(i32::try_from(pid).ok()?),
            _ if !process.is_empty() && process.iter().all(|b| *b == b'-') => Pid::UNKNOWN,
            _ => return None,
        };
        text = inner[..open].trim_ascii_end();
    }
    let (comm, tid) = tid(text)?;
    if tid.0 == 1 && comm.ends_with(b" ") {
        return None; // TID −1 of perf script
    }
    let comm = comm.trim_ascii_start();
    let comm = if comm == b"<...>" { b"" } else { comm };
    Some((comm, tid, pid))
}

/// Splits off the number that `comm-tid` ends with.
#[inline]
pub(super) fn tid(text: &[u8]) -> Option<(&[u8], Tid)> {
    let digits = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (comm, tid) = text.split_at(text.len() - digits);
    let (tid, _) = number(tid)?;
    Some((comm.strip_suffix(b"-")?, Tid(i32::try_from(tid).ok()?)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(line: &str) -> Option<String> {
        let h = head(line.as_bytes())?;
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        Some(format!(
            "{}|{}|{}|{}|{}|{}|{}",
            text(h.comm),
            h.tid.0,
            h.pid.0,
            h.cpu.0,
            h.stamp.at.0,
            text(h.event),
            text(h.args)
        ))
    }

    #[test]
    fn flags_show_interrupts() {
        for (flags, interrupt) in
            [("d.h2.", true), ("dNH1", true), ("dN.h3", true), ("d.s2.", false), ("dN.3.", false), ("", false)]
        {
            let line = format!("sh-7 [001] {flags} 2.5: sched_waking: x");
            assert_eq!(head(line.as_bytes()).unwrap().interrupt, interrupt, "{flags}");
        }
    }

    #[test]
    fn lines_with_and_without_optional_columns() {
        for (line, expected) in [
            (
                "          <idle>-0     [000] d..4  1212.465074: sched_wakeup: comm=x",
                "<idle>|0|-1|0|1212465074000|sched_wakeup|comm=x",
            ),
            (
                "           <...>-19161 (-----) [001] ...1 683201.354908: print: B|1|x",
                "|19161|-1|1|683201354908000|print|B|1|x",
            ),
            (" ndroid.systemui-13580 (13580) [001] d..3. 2.5: E: ", "ndroid.systemui|13580|13580|1|2500000000|E|"),
            ("a b-12 (    7) [12] dNh31 1.000000001: x:", "a b|12|7|12|1000000001|x|"),
            (
                "(x) - [0]-5 [003]     76.211513: sched_switch:          prev",
                "(x) - [0]|5|-1|3|76211513000|sched_switch|prev",
            ),
            ("x-1-2     [001]  2225260588988: f <-g", "x-1|2|-1|1|2225260588988||f <-g"),
            ("x-1     [001]2225260588988: e: a", "x|1|-1|1|2225260588988|e|a"),
            ("a [001] 1.0: x-7 [002] 3.0: y: z", "a [001] 1.0: x|7|-1|2|3000000000|y|z"),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
        for other in [
            "",
            "# tracer: nop",
            "cpus=6",
            "CPU:3 [LOST 123 EVENTS]",
            "sh 7 [001] 1.0: sched:sched_switch: x",
            "sh -1 [001] 1.0: sched:sched_switch: x",
            "sh-7[001] 1.0: x: y",
            "sh-7 [001] 1.0 x: y",
            "sh-7 [70000] 1.0: x: y",
            "sh-99999999999 [001] 1.0: x: y",
            "sh-7 (a) [001] 1.0: x: y",
            "sh-7 [001] some words 1.0: x: y",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
