//! Parses the columns of a line before an event's own text.
//!
//! ```text
//!        my thread   780/781   [000]  2568.581851001:          1 sched:sched_switch: prev_comm=…
//!   comm (16 wide) process/thread [cpu] seconds.fraction: period event: arguments
//! ```
//!
//! Process, CPU and period are optional, depending on the recording and on `-F`; perf's order never changes. A line is
//! parsed from the CPU's brackets, or from its time if no line has them.

use crate::text::scan::{Stamp, blanks, integer, number, seconds};
use model::{CpuId, Pid, Tid};

/// A parsed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head<'l> {
    /// Empty if perf did not know the name (`:780`), or if it was not requested.
    pub(super) comm: &'l [u8],
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) cpu: CpuId,
    pub(super) stamp: Stamp,
    /// The text after the time and the period.
    pub(super) rest: &'l [u8],
}

/// More CPUs than Linux supports.
const MAX_CPUS: u64 = 1 << 16;
/// A name of 15 bytes has room for this many brackets or colons. Limits the attempts on a line with thousands.
const MAX_PLACES: usize = 16;
/// The flags of `-F flags` and of `-L`.
const MAX_FLAGS: usize = 16;

/// Parses a line with a CPU; `None` if it has another form.
#[inline]
pub(super) fn with_cpu(line: &[u8]) -> Option<Head<'_>> {
    memchr::memchr_iter(b'[', line).take(MAX_PLACES).find_map(|open| parse_around(line, open))
}

#[inline]
fn parse_around(line: &[u8], open: usize) -> Option<Head<'_>> {
    let (cpu, rest) = number(&line[open + 1..])?;
    let rest = rest.strip_prefix(b"]")?;
    let before = &line[..open];
    if cpu >= MAX_CPUS || !matches!(rest.first(), Some(b' ' | b'\t')) || !before.ends_with_blank() {
        return None;
    }
    let (comm, tid, pid) = task(before)?;
    let rest = blanks(rest);
    let (stamp, rest) = match time(rest) {
        Some(found) => found,
        None => {
            let flags = rest.iter().position(|b| *b == b' ').filter(|n| *n <= MAX_FLAGS)?;
            time(blanks(&rest[flags..]))?
        }
    };
    Some(Head { comm, tid, pid, cpu: CpuId(cpu as u32), stamp, rest: skip_period(rest) })
}

/// Parses a line without a CPU.
pub(super) fn without_cpu(line: &[u8]) -> Option<Head<'_>> {
    memchr::memchr_iter(b':', line).take(MAX_PLACES).find_map(|colon| {
        let digits = line[..colon].iter().rev().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
        let at = colon - digits;
        let (stamp, rest) = time(&line[at..])?;
        let before = &line[..at];
        let (comm, tid, pid) = if before.ends_with_blank() { task(before)? } else { return None };
        Some(Head { comm, tid, pid, cpu: CpuId::UNKNOWN, stamp, rest: skip_period(rest) })
    })
}

trait EndsWithBlank {
    fn ends_with_blank(&self) -> bool;
}

impl EndsWithBlank for [u8] {
    #[inline]
    fn ends_with_blank(&self) -> bool {
        matches!(self.last(), Some(b' ' | b'\t'))
    }
}

/// Parses `seconds.fraction:`; perf always prints the point.
#[inline]
fn time(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let (stamp, rest) = seconds(text)?;
    let rest = rest.strip_prefix(b":")?;
    rest.first().is_none_or(|b| matches!(b, b' ' | b'\t')).then_some((stamp, rest))
}

/// Parses `comm thread` or `comm process/thread`.
#[inline]
fn task(before: &[u8]) -> Option<(&[u8], Tid, Pid)> {
    let text = before.trim_ascii_end();
    let start = text.iter().rposition(|b| matches!(b, b' ' | b'\t')).map_or(0, |at| at + 1);
    let (first, rest) = thread(&text[start..])?;
    let (tid, pid) = match rest.strip_prefix(b"/") {
        Some(rest) => {
            let (tid, rest) = thread(rest)?;
            rest.is_empty().then_some((Tid(tid), Pid(first)))?
        }
        None => rest.is_empty().then_some((Tid(first), Pid::UNKNOWN))?,
    };
    let comm = text[..start].trim_ascii();
    let is_placeholder = comm.strip_prefix(b":").is_some_and(|number| thread(number).is_some_and(|(n, _)| n == tid.0));
    Some((if is_placeholder { b"" } else { comm }, tid, pid))
}

#[inline]
fn thread(text: &[u8]) -> Option<(i32, &[u8])> {
    let (number, rest) = integer(text)?;
    let number = i32::try_from(number).ok()?;
    (number >= -1).then_some((number, rest))
}

/// Skips the period: the number of events for which the sample stands.
#[inline]
fn skip_period(text: &[u8]) -> &[u8] {
    let text = blanks(text);
    match number(text) {
        Some((_, rest)) if rest.ends_with_blank() || matches!(rest.first(), Some(b' ' | b'\t')) => blanks(rest),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(head: Option<Head<'_>>) -> Option<String> {
        let h = head?;
        let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
        let numbers = format!("{}|{}|{}|{}", h.tid.0, h.pid.0, h.cpu.0 as i32, h.stamp.at.0);
        Some(format!("{}|{numbers}|{}", text(h.comm), text(h.rest)))
    }

    #[test]
    fn lines_with_a_cpu_are_parsed() {
        for (line, expected) in [
            (
                "            :780   780 [000]  2568.581851: sched:sched_waking: comm=x",
                "|780|-1|0|2568581851000|sched:sched_waking: comm=x",
            ),
            (
                "my th[1] 2 780/781   [001]  2.000000001:          1 sched:x: y",
                "my th[1] 2|781|780|1|2000000001|sched:x: y",
            ),
            ("comm1\t0/0\t\t[000] 0.0:\t\t\t1 cpu_clock:", "comm1|0|0|0|0|cpu_clock:"),
            ("   780 [001] 2.5: x: ", "|780|-1|1|2500000000|x: "),
            ("  :-1    -1 [001] 2.5: x:", "|-1|-1|1|2500000000|x:"),
            ("  a-7     8 [001] d..2. 2.5: x:", "a-7|8|-1|1|2500000000|x:"),
            (
                "  stress 5/5 [006] 25717.333413767:   tr strt    _start",
                "stress|5|5|6|25717333413767|tr strt    _start",
            ),
        ] {
            assert_eq!(words(with_cpu(line.as_bytes())).as_deref(), Some(expected), "{line}");
        }
        for other in [
            "",
            "\tffffffff810d47be smp_call ([kernel.kallsyms])",
            "sh-7 [001] 1.0: sched_switch: x",
            "sh 7 [001] 1: x: y",
            "sh 7[001] 1.0: x: y",
            "sh 7/ [001] 1.0: x: y",
            "sh 7/8/9 [001] 1.0: x: y",
        ] {
            assert_eq!(words(with_cpu(other.as_bytes())), None, "{other}");
        }
    }

    #[test]
    fn lines_without_a_cpu_are_parsed() {
        assert_eq!(
            words(without_cpu(b" a:b: 7  780  2568.581851:   1 sched:x: y")).as_deref(),
            Some("a:b: 7|780|-1|-1|2568581851000|sched:x: y")
        );
        assert_eq!(words(without_cpu(b" 12:30:11.5: x: y")), None);
        assert_eq!(words(without_cpu(b"a,b,1.5: c")), None);
    }
}
