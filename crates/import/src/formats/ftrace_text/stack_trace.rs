//! The lines of a kernel callchain, which follow the event at which it was recorded:
//!
//! ```text
//!   bash-1517  [000] d..2. 46721.047780: <stack trace>     of trace-cmd: kernel_stack:   <stack trace >
//!  => __schedule                                            => __schedule (ffffffff821facd8)
//!  => schedule+0x27/0xe0 <ffffffff821fb643>                 the options sym-offset, sym-addr
//! ```

use super::head::Head;
use crate::callchains::Callchains;
use crate::text::scan::hexadecimal;
use crate::tracepoint::Names;
use ingest::BATCH;
use model::{Batch, CpuId, Event, EventKind, NameId, StackFrame, StackId, Switch, Tid};

/// Events of other CPUs may be between a switch and its callchain; at most this many events are searched.
const MAX_BETWEEN: usize = 64;
/// A batch ends only if none of its last events is a switch whose callchain may still follow; this many are checked.
const CHECKED_AT_END: usize = 16;

/// The callchains of a text.
#[derive(Default)]
pub(super) struct StackTraces {
    callchains: Callchains,
    /// The thread of the callchain whose lines follow; `Some(None)` if the callchain is ignored.
    of: Option<Option<(CpuId, Tid)>>,
    /// Whether the text contains callchains.
    has_callchains: bool,
}

impl StackTraces {
    /// Handles an event that may announce a callchain. Callchains of user-space code are ignored.
    pub(super) fn begin(&mut self, head: &Head<'_>) {
        let kernel = head.args.starts_with(b"<stack trace");
        if kernel || head.args.starts_with(b"<user stack trace") {
            self.has_callchains |= kernel;
            self.of = Some(kernel.then_some((head.cpu, head.tid)));
        }
    }

    /// Handles a line of a callchain; `false` if it is not one.
    pub(super) fn line(&mut self, line: &[u8], names: &mut Names, out: &mut Batch) -> bool {
        let Some(of) = self.of else { return false };
        let Some(frame) = frame(line) else { return false };
        if of.is_some() {
            let (function, address) = parse_frame(frame);
            self.callchains.push(address, || function.map_or(NameId::NONE, |name| names.id(name, out)));
        }
        true
    }

    /// Ends the callchain. It belongs to the last switch on its CPU, if that switch-out was of the same thread.
    pub(super) fn end(&mut self, out: &mut Batch) {
        let Some(Some((cpu, tid))) = self.of.take() else { return };
        let last = out.events.iter().rposition(|e| e.cpu == cpu && matches!(e.what, EventKind::Switch(_)));
        match last
            .filter(|at| out.events.len() - at <= MAX_BETWEEN)
            .and_then(|at| switch(&out.events[at]).map(|s| (at, s)))
        {
            Some((at, left)) if left.prev == tid && left.stack == StackId::NONE => {
                let stack = self.callchains.end(out);
                out.events[at].what = EventKind::Switch(Switch { stack, ..left });
            }
            // The callchain of a wakeup, or of an unreadable switch.
            _ => self.callchains.clear(),
        }
    }

    /// Whether a batch may end before this line: the line must not continue a callchain, and no recent switch may still
    /// get one. If that never becomes true, the batch ends anyway at twice its size.
    pub(super) fn may_end(&mut self, line: &[u8], out: &mut Batch) -> bool {
        if self.of.is_some() && frame(line).is_some() {
            return false;
        }
        self.end(out);
        let tail = &out.events[out.events.len().saturating_sub(CHECKED_AT_END)..];
        let lacks = |(at, e): (usize, &Event)| {
            switch(e).is_some_and(|s| s.stack == StackId::NONE) && tail[at + 1..].iter().all(|later| later.cpu != e.cpu)
        };
        !(self.has_callchains && tail.iter().enumerate().any(lacks)) || out.events.len() >= 2 * BATCH
    }
}

/// Returns the content of a line of a callchain.
fn frame(line: &[u8]) -> Option<&[u8]> {
    line.trim_ascii_start().strip_prefix(b"=> ")
}

fn switch(event: &Event) -> Option<Switch> {
    if let EventKind::Switch(switch) = event.what { Some(switch) } else { None }
}

/// Parses `schedule+0x27/0xe0 <ffffffff821fb643>`: the function if it has a name, and its address if it was recorded.
fn parse_frame(text: &[u8]) -> (Option<&[u8]>, u64) {
    let text = text.trim_ascii();
    let (symbol, rest) = text.split_at(text.iter().position(|b| *b == b' ').unwrap_or(text.len()));
    let bare = symbol.strip_prefix(b"0x");
    let within = rest.trim_ascii().strip_prefix(b"(").or_else(|| rest.trim_ascii().strip_prefix(b"<"));
    let recorded = within.or(bare).and_then(hexadecimal).map(|(address, _)| address);
    let address = recorded.filter(|a| StackFrame::at(*a).in_kernel()).unwrap_or(StackFrame::UNKNOWN_KERNEL_ADDRESS);
    let name = symbol.split(|b| *b == b'+').next().unwrap_or(symbol);
    // `[FTRACE TRAMPOLINE]`
    let named = bare.is_none() && !name.is_empty() && !name.starts_with(b"[");
    (named.then_some(name), address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_parsed() {
        let parse = |text: &'static str| parse_frame(text.as_bytes());
        let not_recorded = StackFrame::UNKNOWN_KERNEL_ADDRESS;
        assert_eq!(parse("__schedule"), (Some(&b"__schedule"[..]), not_recorded));
        assert_eq!(parse("schedule (ffffffff821fb643)"), (Some(&b"schedule"[..]), 0xffff_ffff_821f_b643));
        assert_eq!(parse("kthread+0x27/0xe0 <ffffffff821fb643>"), (Some(&b"kthread"[..]), 0xffff_ffff_821f_b643));
        assert_eq!(parse("0xffffffffc0a01234"), (None, 0xffff_ffff_c0a0_1234));
        // The address is not in the kernel.
        assert_eq!(parse("schedule (1234)"), (Some(&b"schedule"[..]), not_recorded));
        assert_eq!(parse("[FTRACE TRAMPOLINE]"), (None, not_recorded));
        assert_eq!(parse(""), (None, not_recorded));
    }
}
