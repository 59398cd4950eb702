//! Lines of the tracer `sched_switch`, which Linux had up to 3.16 (`kernel/trace/trace_output.c`, `trace_ctxwake_print`): a switch, or a
//! wakeup, by thread number, priority and state letter.
//!
//! ```text
//!   bash-1408  [000] 26208.816921:   1408:120:R   + [000]     9:120:R events/0       wakes thread 9 on CPU 0
//!   bash-1408  [000] 26208.816939:   1408:120:R ==> [000]     9:120:R events/0       switches to it
//! ```

use super::head::Head;
use crate::text::scan::number;
use crate::tracepoint::Names;
use model::{Batch, CpuId, EventKind, MaybeNs, NameId, Prio, StackId, Switch, SwitchOut, Tid, Wake, WakeKind};

/// Returns the event of a line, if it is one of this tracer.
pub(super) fn event(head: &Head<'_>, names: &mut Names, out: &mut Batch) -> Option<EventKind> {
    let (from, rest) = side(head.args)?;
    let rest = rest.trim_ascii_start();
    let (is_switch, rest) = match rest.strip_prefix(b"==>") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(b"+")?),
    };
    let rest = rest.trim_ascii_start();
    let (cpu, rest) = match rest.strip_prefix(b"[") {
        Some(rest) => {
            let (cpu, rest) = number(rest)?;
            (Some(CpuId(u32::try_from(cpu).ok()?)), rest.strip_prefix(b"]")?)
        }
        None => (None, rest),
    };
    let (to, name) = side(rest)?;
    let name = match name.trim_ascii() {
        b"" => NameId::NONE,
        name => names.id(name, out),
    };
    if !is_switch {
        let (tid, target, waker) = (to.tid, cpu.or(Some(head.cpu)), from.tid);
        let kind = WakeKind::Wakeup;
        return Some(EventKind::Wake(Wake { tid, name, kind, target, waker, prio: to.prio, stamp: head.stamp.at }));
    }
    let out_of = match from.state_letter {
        b'R' => SwitchOut::Runnable,
        b'X' | b'Z' => SwitchOut::Exited,
        b'?' => SwitchOut::NotRecorded,
        _ => SwitchOut::Blocked,
    };
    Some(EventKind::Switch(Switch {
        prev: from.tid,
        next: to.tid,
        prev_name: if from.tid == head.tid && from.tid != Tid::IDLE { names.id(head.comm, out) } else { NameId::NONE },
        next_name: name,
        stack: StackId::NONE,
        prev_state: 0,
        prev_prio: from.prio,
        next_prio: to.prio,
        out: out_of,
        state_letter: from.state_letter,
        prev_exec: MaybeNs::NONE,
    }))
}

/// A thread in a line.
struct Side {
    tid: Tid,
    prio: Prio,
    state_letter: u8,
}

/// Reads `9:120:R`, and returns what follows.
fn side(text: &[u8]) -> Option<(Side, &[u8])> {
    let (tid, rest) = number(text.trim_ascii_start())?;
    let (prio, rest) = number(rest.strip_prefix(b":")?)?;
    let (state_letter, rest) = rest.strip_prefix(b":")?.split_first()?;
    let is_state_letter = state_letter.is_ascii_alphabetic() || *state_letter == b'?';
    let tid = Tid(i32::try_from(tid).ok()?);
    is_state_letter
        .then_some((Side { tid, prio: Prio::new(i16::try_from(prio).ok()?), state_letter: *state_letter }, rest))
}

#[cfg(test)]
mod tests {
    use super::super::head::head;
    use super::*;

    fn read(line: &str) -> Option<EventKind> {
        event(&head(line.as_bytes())?, &mut Names::new(), &mut Batch::default())
    }

    #[test]
    fn switches_and_wakeups_are_read() {
        let Some(EventKind::Switch(switch)) = read("bash-8  [001] 26.816939:   8:120:S ==> [001]     9:98:R events/0 ")
        else {
            panic!("a switch");
        };
        assert_eq!(
            (switch.prev, switch.next, switch.out, switch.state_letter),
            (Tid(8), Tid(9), SwitchOut::Blocked, b'S')
        );
        assert_eq!((switch.prev_prio, switch.next_prio), (Prio::new(120), Prio::new(98)));
        let Some(EventKind::Wake(wake)) = read("bash-8  [001] 26.816058:   8:120:R   + [002]  9:120:S bash") else {
            panic!("a wakeup");
        };
        assert_eq!((wake.tid, wake.waker, wake.target), (Tid(9), Tid(8), Some(CpuId(2))));
        // Linux 2.6.2x printed no CPU and no name.
        let Some(EventKind::Switch(switch)) = read("fon-6  [000] 4154504638.932214:  6:120:? ==> 7:120:R") else {
            panic!("a switch");
        };
        assert_eq!((switch.next, switch.out), (Tid(7), SwitchOut::NotRecorded));
    }

    #[test]
    fn other_lines_are_not() {
        for line in ["x-1 [001] 2.5: f <-g", "x-1 [001] 2.5: 8:120 ==> 9:120:R", "x-1 [001] 2.5: 8:120:S => 9:120:R"] {
            assert!(read(line).is_none(), "{line}");
        }
    }
}
