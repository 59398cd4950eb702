//! The lines of a kernel's callchain, which stand behind the event at which it was taken:
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
use model::{Batch, CpuId, Event, NameId, StackFrame, StackId, Switch, Tid, What};

/// Between a switch and its callchain, other CPUs' events may stand: so many are looked through.
const BETWEEN: usize = 64;
/// A batch ends where none of the last so many events is a switch whose callchain may still come.
const SETTLED: usize = 16;

/// The callchains of a text.
#[derive(Default)]
pub(super) struct StackTraces {
    callchains: Callchains,
    /// The one whose lines are coming: whose it is; `None`: nobody's that counts.
    of: Option<Option<(CpuId, Tid)>>,
    /// The text has them.
    any: bool,
}

impl StackTraces {
    /// An event that may say that a callchain follows; a program's own does not count.
    pub(super) fn begin(&mut self, head: &Head<'_>) {
        let kernel = head.args.starts_with(b"<stack trace");
        if kernel || head.args.starts_with(b"<user stack trace") {
            self.any |= kernel;
            self.of = Some(kernel.then_some((head.cpu, head.tid)));
        }
    }

    /// A line of a callchain; `false`: it is none.
    pub(super) fn line(&mut self, line: &[u8], names: &mut Names, out: &mut Batch) -> bool {
        let Some(of) = self.of else { return false };
        let Some(frame) = frame(line) else { return false };
        if of.is_some() {
            let (function, address) = frame_of(frame);
            self.callchains.push(address, || function.map_or(NameId::NONE, |name| names.id(name, out)));
        }
        true
    }

    /// The callchain is over: it is of the last switch on its CPU, if that thread left there.
    pub(super) fn end(&mut self, out: &mut Batch) {
        let Some(Some((cpu, tid))) = self.of.take() else { return };
        let last = out.events.iter().rposition(|e| e.cpu == cpu && matches!(e.what, What::Switch(_)));
        match last.filter(|at| out.events.len() - at <= BETWEEN).and_then(|at| switch(&out.events[at]).map(|s| (at, s)))
        {
            Some((at, left)) if left.prev == tid && left.stack == StackId::NONE => {
                let stack = self.callchains.end(out);
                out.events[at].what = What::Switch(Switch { stack, ..left });
            }
            // Of a waking, or where the switch cannot be read.
            _ => self.callchains.clear(),
        }
    }

    /// Whether a batch may end before this line: neither does a callchain go on in it, nor may one still come of a switch that was
    /// just told. Where that never ends, it may.
    pub(super) fn may_end(&mut self, line: &[u8], out: &mut Batch) -> bool {
        if self.of.is_some() && frame(line).is_some() {
            return false;
        }
        self.end(out);
        let tail = &out.events[out.events.len().saturating_sub(SETTLED)..];
        let lacks = |(at, e): (usize, &Event)| {
            switch(e).is_some_and(|s| s.stack == StackId::NONE) && tail[at + 1..].iter().all(|later| later.cpu != e.cpu)
        };
        !(self.any && tail.iter().enumerate().any(lacks)) || out.events.len() >= 2 * BATCH
    }
}

/// What a line of a callchain says.
fn frame(line: &[u8]) -> Option<&[u8]> {
    line.trim_ascii_start().strip_prefix(b"=> ")
}

fn switch(event: &Event) -> Option<Switch> {
    if let What::Switch(switch) = event.what { Some(switch) } else { None }
}

/// `schedule+0x27/0xe0 <ffffffff821fb643>`: the function, where it has a name, and its address, where that is told.
fn frame_of(text: &[u8]) -> (Option<&[u8]>, u64) {
    let text = text.trim_ascii();
    let (symbol, rest) = text.split_at(text.iter().position(|b| *b == b' ').unwrap_or(text.len()));
    let bare = symbol.strip_prefix(b"0x");
    let within = rest.trim_ascii().strip_prefix(b"(").or_else(|| rest.trim_ascii().strip_prefix(b"<"));
    let told = within.or(bare).and_then(hexadecimal).map(|(address, _)| address);
    let address = told.filter(|a| StackFrame::at(*a).in_kernel()).unwrap_or(StackFrame::SOMEWHERE_IN_KERNEL);
    let name = symbol.split(|b| *b == b'+').next().unwrap_or(symbol);
    // `[FTRACE TRAMPOLINE]`
    let named = bare.is_none() && !name.is_empty() && !name.starts_with(b"[");
    (named.then_some(name), address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let of = |text: &'static str| frame_of(text.as_bytes());
        let untold = StackFrame::SOMEWHERE_IN_KERNEL;
        assert_eq!(of("__schedule"), (Some(&b"__schedule"[..]), untold));
        assert_eq!(of("schedule (ffffffff821fb643)"), (Some(&b"schedule"[..]), 0xffff_ffff_821f_b643));
        assert_eq!(of("kthread+0x27/0xe0 <ffffffff821fb643>"), (Some(&b"kthread"[..]), 0xffff_ffff_821f_b643));
        assert_eq!(of("0xffffffffc0a01234"), (None, 0xffff_ffff_c0a0_1234));
        // No address of the kernel's.
        assert_eq!(of("schedule (1234)"), (Some(&b"schedule"[..]), untold));
        assert_eq!(of("[FTRACE TRAMPOLINE]"), (None, untold));
        assert_eq!(of(""), (None, untold));
    }
}
