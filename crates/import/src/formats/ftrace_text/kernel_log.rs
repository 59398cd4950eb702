//! A dump of the ring buffers in the kernel log (`ftrace_dump_on_oops`, SysRq-Z; `ftrace_dump` in `kernel/trace/trace.c`). Its lines have
//! the columns of the latency format (`trace_print_lat_context` in `trace_output.c`), after what printk and the log's writer put before
//! a message.
//!
//! ```text
//! [   86.218500] kill_chi-300545    2d.... 79990136us : sched_switch: prev_comm=…
//! printk's time  comm-tid         CPU, flags    time, mark : event: arguments
//! ```
//!
//! The name is cut to 8 bytes, so one of 8 bytes is not used.

use super::head::{Head, MAX_CPUS, MAX_FLAGS, shows_interrupt, tid};
use crate::text::scan::{Stamp, blanks, event, number, seconds};
use memchr::memmem;
use model::{CpuId, Ns, Pid};

/// The width of the name.
const COMM: usize = 8;
/// The places of `us` that are tried: a name and flags have room for a few.
const MAX_TRIED: usize = 8;
/// What stands after the unit of a time: how long it is until the next event.
const MARKS: &[u8] = b" +!#*@$";

/// Parses a line; `None` if it is not an event of a dump.
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    memmem::find_iter(line, b"us").take(MAX_TRIED).find_map(|unit| parse_around(line, unit))
}

fn parse_around(line: &[u8], unit: usize) -> Option<Head<'_>> {
    let [mark, b':', rest @ ..] = &line[unit + 2..] else { return None };
    if !MARKS.contains(mark) || !matches!(rest.first(), None | Some(b' ')) {
        return None;
    }
    let (before, us) = last_word(&line[..unit])?;
    let (us, b"") = number(us)? else { return None };
    let at = i64::try_from(us).ok()?.checked_mul(1000)?;
    let (before, place) = last_word(before)?;
    let (cpu, flags) = number(place).filter(|(cpu, _)| *cpu < MAX_CPUS)?;
    if flags.is_empty() || flags.len() > MAX_FLAGS {
        return None;
    }
    let (comm, tid) = tid(before.trim_ascii_end())?;
    let comm = comm[comm.len().saturating_sub(COMM)..].trim_ascii_start();
    let comm = if comm.len() == COMM || comm == b"<...>" { b"" } else { comm };
    let (event, args) = event(rest);
    let stamp = Stamp { at: Ns(at), digits: Some(6) };
    let (cpu, interrupt) = (CpuId(cpu as u32), shows_interrupt(flags));
    Some(Head { comm, tid, pid: Pid::UNKNOWN, cpu, interrupt, stamp, event, args })
}

/// Splits off the last word.
fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let blank = memchr::memrchr(b' ', text)?;
    Some((&text[..blank], &text[blank + 1..]))
}

/// Returns what follows printk's time, and the number of the CPU or thread that newer kernels may add: `[   86.218488][   T12] `.
/// `None` if the line does not begin with such a time.
pub(super) fn message(line: &[u8]) -> Option<&[u8]> {
    let (_, rest) = seconds(blanks(line.strip_prefix(b"[")?))?;
    let rest = rest.strip_prefix(b"]")?;
    let rest = match rest.strip_prefix(b"[") {
        Some(caller) => &caller[memchr::memchr(b']', caller)? + 1..],
        None => rest,
    };
    rest.strip_prefix(b" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_dump_are_read() {
        let read = |line: &str| {
            let h = head(line.as_bytes())?;
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            let (comm, event, args) = (text(h.comm), text(h.event), text(h.args));
            Some(format!("{comm}|{}|{}|{}|{}|{event}|{args}", h.tid.0, h.cpu.0, h.interrupt, h.stamp.at.0))
        };
        for (line, expected) in [
            (
                "[   86.218500] kill_chi-300545    2d.... 79990136us : sched_switch: prev_comm=x",
                "|300545|2|false|79990136000|sched_switch|prev_comm=x",
            ),
            ("[   86.218515][    C6]   <idle>-0         6dNh.. 79990140us+: a: b", "<idle>|0|6|true|79990140000|a|b"),
            ("   us us-7      12d.h213   12us!: <stack trace>", "us us|7|12|true|12000||<stack trace>"),
            ("<...>-7   0.... 0us#:", "|7|0|false|0||"),
        ] {
            assert_eq!(read(line).as_deref(), Some(expected), "{line}");
        }
        for other in [
            "",
            "[   86.218488] usb 1-1: new device after 12us : ok",
            "[   86.218488] took 5 x 12us : ok",
            "sh-7 3 12us : x",
            "sh-7 99999d 12us : x",
            "sh-7 3d... 99999999999999999us : x",
            "sh-7 3d... 12us x",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn printks_columns_are_skipped() {
        let text = |line: &'static str| message(line.as_bytes()).map(|m| String::from_utf8_lossy(m).into_owned());
        assert_eq!(text("[   86.218488] CPU:2 [LOST 1 EVENTS]").as_deref(), Some("CPU:2 [LOST 1 EVENTS]"));
        assert_eq!(text("[86.218488][ T12] x").as_deref(), Some("x"));
        assert_eq!([text("[x] y"), text("CPU:2 [LOST 1 EVENTS]"), text("[86.2188")], [None, None, None]);
    }
}
