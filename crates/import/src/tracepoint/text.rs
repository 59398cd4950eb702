//! Decodes a tracepoint's printed arguments into an event.
//!
//! Three printed forms are read: the kernel's own (`prev_comm=sh prev_pid=7 … prev_state=S ==> next_comm=…`; in the raw
//! form of `trace-cmd report -R` without the arrow and with numbers), that of Linux 2.6 (`task sh:7 [120] (S) ==>
//! swapper:0 [140]`), and that of libtraceevent's plugin (`sh:7 [120] S ==> swapper/0:0 [120]`).
//!
//! A name may contain anything, including ` pid=`: each pattern is tried at every place of its first word, until the
//! rest matches.

use super::decode::{Names, Place};
use super::events;
use super::pattern::Pattern;
use super::states::States;
use super::table::{FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint};
use crate::formats::perf_data::losses::Losses;
use crate::text::Line;
use crate::text::scan::{blanks, find, find_last, integer};
use ingest::{Anomaly, Ledger};
use model::{Batch, CpuId, Event, EventKind, MaybeNs, Prio, Switch, SwitchOut, Tid, Wake, WakeKind};
use rustc_hash::FxHashMap;

/// Reads printed arguments.
pub(crate) struct Arguments {
    /// The meanings of numeric states.
    modern: States,
    before_4_14: States,
    /// Whether a number showed that the kernel is older than 4.14.
    old: bool,
    /// Keyed by event name.
    kinds: FxHashMap<&'static [u8], Kind>,
}

/// How an event's arguments are read.
enum Kind {
    Switch,
    Wake(WakeKind),
    Other(Other),
}

/// Reads arguments by the patterns of the tracepoint's declaration.
struct Other {
    patterns: Vec<Pattern>,
    what: ToEvent,
}

impl Kind {
    fn of(tracepoint: &'static Tracepoint) -> Self {
        match tracepoint.meaning {
            Meaning::Switch => Self::Switch,
            Meaning::Wake(kind) => Self::Wake(kind),
            Meaning::Of(what) => {
                // A test ensures that all of them compile.
                let patterns = tracepoint.printed.iter().filter_map(|p| Pattern::compile(p, tracepoint).ok()).collect();
                Self::Other(Other { patterns, what })
            }
        }
    }
}

impl Other {
    #[inline]
    fn read(&self, args: &[u8], place: Place, names: &mut Names, out: &mut Batch) -> Option<EventKind> {
        let (at, current) = (place.at, place.current);
        for pattern in &self.patterns {
            let mut values = FieldValues::new(current);
            if pattern.read(args, &mut values) {
                let event = Event { at, offset: 0, cpu: CpuId::UNKNOWN, current, what: EventKind::Sample };
                (self.what)(&values, Output { names, out, event: &event });
                // Names that a line defines come before its event.
                return out.events.pop().map(|event| event.what);
            }
        }
        None
    }
}

/// Why arguments cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unreadable {
    /// They begin as this event's arguments do, but are cut off or damaged.
    Damaged,
    /// They have another form: the event belongs to another group and has the same name (a probe), or another tool
    /// printed it.
    OtherForm,
}

impl Unreadable {
    /// Records an event of this CPU whose arguments cannot be read. If it may be a lost event, a loss is added too. If it is whole,
    /// the line still shows that the CPU recorded something then: [`EventKind::Sample`].
    pub(crate) fn record(
        self,
        line: &Line<'_>,
        cpu: CpuId,
        losses: &mut Losses,
        bad: &mut dyn Ledger,
    ) -> Option<EventKind> {
        if self == Self::Damaged || line.cut || line.unended {
            bad.anomaly("the arguments of an event are damaged or cut off", line.offset, Anomaly::Lost);
            if cpu == CpuId::UNKNOWN {
                losses.unreadable(line.offset);
            } else {
                losses.lost_uncounted(cpu, line.offset);
            }
            return None;
        }
        let what = "an event has a known name, but arguments of another form: it may be a probe of that name";
        bad.not_understood(what, line.offset, line.bytes);
        Some(EventKind::Sample)
    }
}

/// One side of a switch: name, TID, priority.
type Side<'t> = (&'t [u8], Tid, Prio);
/// A thread that is woken, and the CPU that it is woken for.
type Woken<'t> = (&'t [u8], Tid, Prio, Option<i64>);

impl Arguments {
    pub(crate) fn new(reader: Reader) -> Self {
        let kinds = events::read_by(reader).map(|t| (t.name.as_bytes(), Kind::of(t))).collect();
        Self { modern: States::from_print(""), before_4_14: States::before_4_14(), old: false, kinds }
    }

    /// Looks for a state number that only kernels before 4.14 have (docs/accounting.md), before the first event is read.
    pub(crate) fn learn(&mut self, head: &[u8]) {
        const STATE: &[u8] = b"prev_state=";
        for at in memchr::memmem::find_iter(head, STATE) {
            self.old |= integer(&head[at + STATE.len()..]).is_some_and(|(state, _)| state >= 512);
        }
    }

    /// Whether an event of this name has a meaning here.
    pub(crate) fn knows(&self, event: &[u8]) -> bool {
        self.kinds.contains_key(event)
    }

    /// Returns the event; [`EventKind::Sample`] if it has no meaning here.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        event: &[u8],
        args: &[u8],
        place: Place,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<EventKind, Unreadable> {
        let what = match self.kinds.get(event) {
            Some(Kind::Switch) => self.switch(args, place, names, out),
            Some(Kind::Wake(kind)) => wakeup(*kind, args, place, names, out),
            Some(Kind::Other(other)) => other.read(args, place, names, out),
            None if event.is_empty() => Some(events::called(args, place.current).unwrap_or(EventKind::Sample)),
            None => Some(EventKind::Sample),
        };
        what.ok_or_else(|| if self.begins(event, args) { Unreadable::Damaged } else { Unreadable::OtherForm })
    }

    /// Whether arguments that cannot be read begin as those of this event do.
    #[cold]
    fn begins(&self, event: &[u8], args: &[u8]) -> bool {
        match self.kinds.get(event) {
            Some(Kind::Switch) => args.starts_with(b"prev_comm=") || find(args, ARROW).is_some(),
            Some(Kind::Wake(_)) => args.starts_with(b"comm="),
            Some(Kind::Other(other)) => other.patterns.iter().any(|pattern| pattern.shares_word(args)),
            None => false,
        }
    }

    #[inline]
    fn switch(&mut self, args: &[u8], place: Place, names: &mut Names, out: &mut Batch) -> Option<EventKind> {
        let (mut by_kernel, found) = match args.strip_prefix(b"prev_comm=") {
            Some(args) => (true, keyed_switch(args)),
            None => (false, bare_switch(args)),
        };
        let ((mut prev_comm, prev, prev_prio), mut state, (next_comm, next, next_prio)) = found?;
        if let Some(inside) = state.strip_prefix(b"(").and_then(|state| state.strip_suffix(b")")) {
            (by_kernel, state) = (true, inside);
            prev_comm = without_task(prev_comm);
        }
        let (prev_state, what, state_letter) = self.state(state, by_kernel)?;
        Some(EventKind::Switch(Switch {
            prev,
            next,
            prev_name: names.comm_text(prev, prev_comm, out),
            next_name: names.comm_text(next, next_comm, out),
            stack: place.stack,
            prev_state,
            prev_prio,
            next_prio,
            out: what,
            state_letter,
            prev_exec: MaybeNs::NONE,
        }))
    }

    /// Returns a state's number (0 if only state letters were printed), how it leaves the thread, and the state letter.
    ///
    /// The plugin of older tools has one list of state letters for all kernels: its `x` is 64, which is "dead" before Linux
    /// 4.14 and "parked" since ([`ingest::StateReading`] decides), and its `W` alone is 128, which is "idle" since. The
    /// kernel's own `x` always means "dead".
    #[inline]
    fn state(&mut self, text: &[u8], by_kernel: bool) -> Option<(u32, SwitchOut, u8)> {
        let first = *text.first()?;
        if first.is_ascii_digit() {
            let (number, _) = integer(text)?;
            let (out, state_letter) = self.of_number(number as u64);
            return Some((number as u32, out, state_letter));
        }
        let exits = |b: &&u8| matches!(b, b'X' | b'Z') || by_kernel && **b == b'x';
        Some(match text {
            b"R" => (0, SwitchOut::Runnable, b'R'),
            [.., b'+'] => (0, SwitchOut::Preempted, b'R'),
            b"W" if !by_kernel => (0, SwitchOut::Blocked, b'I'),
            // No thread waits in two of these: they are an index that was printed as bits.
            b"S|D" | b"S|T" | b"D|T" | b"S|D|T" => {
                let bit = |b: &u8| INDEX_BITS.iter().position(|l| l == b).map_or(0, |at| 1 << at);
                let (out, state_letter) = self.modern.meaning(text.iter().map(bit).sum());
                (0, out, state_letter)
            }
            _ => match text.iter().find(exits) {
                Some(state_letter) => (0, SwitchOut::Exited, *state_letter),
                None => (0, SwitchOut::Blocked, first),
            },
        })
    }

    /// Before 4.14 the preempt bit was set alone, above all others: 1024, 2048 or 4096. 1026 is a waiting kernel thread
    /// (D and N).
    fn of_number(&mut self, number: u64) -> (SwitchOut, u8) {
        self.old |= number >= 512;
        match number {
            _ if !self.old => self.modern.meaning(number),
            1024.. if number & 1023 == 0 => (SwitchOut::Preempted, b'R'),
            _ => self.before_4_14.meaning(number),
        }
    }
}

/// Skips a word that must come next.
macro_rules! expect {
    ($rest:expr, $word:expr) => {
        $rest.strip_prefix($word)?
    };
}

/// `NAME prev_pid=… prev_prio=… prev_state=… ==> next_comm=NAME next_pid=… next_prio=…`
#[inline]
fn keyed_switch(args: &[u8]) -> Option<(Side<'_>, &[u8], Side<'_>)> {
    const PID: &[u8] = b" prev_pid=";
    let (prev_comm, (prev, prev_prio, state, rest)) = named(args, PID, |rest| {
        let (prev, rest) = integer(rest)?;
        let (prio, rest) = integer(expect!(rest, b" prev_prio="))?;
        let rest = expect!(rest, b" prev_state=");
        let end = rest.iter().position(|b| *b == b' ')?;
        let (state, rest) = rest.split_at(end);
        // A mail may have lost the blank after the arrow.
        let rest = blanks(rest.strip_prefix(b" ==>").unwrap_or(rest));
        Some((prev, prio, state, expect!(rest, b"next_comm=")))
    })?;
    let (next_comm, (next, next_prio)) = named(rest, b" next_pid=", |rest| {
        let (next, rest) = integer(rest)?;
        let (prio, _) = integer(expect!(rest, b" next_prio="))?;
        Some((next, prio))
    })?;
    Some((
        (prev_comm, Tid(prev as i32), Prio::new(prev_prio as i16)),
        state,
        (next_comm, Tid(next as i32), Prio::new(next_prio as i16)),
    ))
}

/// Splits at the first `word` after which `then` parses the rest: returns the name before it, and the result of `then`.
#[inline]
fn named<'t, T>(text: &'t [u8], word: &[u8], then: impl Fn(&'t [u8]) -> Option<T>) -> Option<(&'t [u8], T)> {
    let mut from = 0;
    loop {
        let at = from + find(&text[from..], word)?;
        if let Some(result) = then(&text[at + word.len()..]) {
            return Some((&text[..at], result));
        }
        from = at + 1;
    }
}

/// Between the two sides of a switch.
const ARROW: &[u8] = b" ==> ";
/// The state letters of the bits of an index.
const INDEX_BITS: &[u8] = b"SDT";

/// The name of a thread after the word with which Linux 2.6 began its arguments.
fn without_task(comm: &[u8]) -> &[u8] {
    comm.strip_prefix(b"task ").unwrap_or(comm)
}

/// `NAME:7 [120] S ==> NAME:0 [120]`
fn bare_switch(args: &[u8]) -> Option<(Side<'_>, &[u8], Side<'_>)> {
    let arrow = find(args, ARROW)?;
    let (left, right) = (&args[..arrow], &args[arrow + ARROW.len()..]);
    let space = memchr::memrchr(b' ', left)?;
    let (prev, _) = bare_side(&left[..space])?;
    let (next, _) = bare_side(right)?;
    Some((prev, &left[space + 1..], next))
}

/// `NAME:7 [120]`, and the rest.
fn bare_side(text: &[u8]) -> Option<(Side<'_>, &[u8])> {
    let open = memchr::memrchr(b'[', text)?;
    let (prio, rest) = integer(&text[open + 1..])?;
    let rest = expect!(rest, b"]");
    let (comm, tid) = colon(text[..open].trim_ascii_end())?;
    Some(((comm, tid, Prio::new(prio as i16)), rest))
}

/// `NAME:7`
fn colon(text: &[u8]) -> Option<(&[u8], Tid)> {
    let at = memchr::memrchr(b':', text)?;
    let (tid, rest) = integer(&text[at + 1..])?;
    rest.is_empty().then_some((&text[..at], Tid(tid as i32)))
}

/// `comm=NAME pid=7 prio=120 success=1 target_cpu=003`, `NAME:7 [120] success=1 CPU:003`, or `task NAME:7 [120] success=1
/// [003]`
#[inline]
fn wakeup(kind: WakeKind, args: &[u8], place: Place, names: &mut Names, out: &mut Batch) -> Option<EventKind> {
    let (comm, tid, prio, target) = match args.strip_prefix(b"comm=") {
        Some(args) => keyed_wake(args)?,
        None => match old_wake(args) {
            Some(old) => old,
            None => {
                let ((comm, tid, prio), rest) = bare_side(args)?;
                (comm, tid, prio, value(rest, b"CPU:"))
            }
        },
    };
    let name = names.comm_text(tid, comm, out);
    let target = target.map(|cpu| CpuId(cpu as u32));
    Some(EventKind::Wake(Wake { tid, name, kind, target, waker: place.current, prio, stamp: place.at }))
}

#[inline]
fn keyed_wake(args: &[u8]) -> Option<Woken<'_>> {
    let (comm, (tid, prio, target)) = named(args, b" pid=", |rest| {
        let (tid, rest) = integer(rest)?;
        let (prio, rest) = integer(expect!(rest, b" prio="))?;
        let target = match rest.strip_prefix(b" target_cpu=") {
            Some(cpu) => integer(cpu).map(|(cpu, _)| cpu),
            None => value(rest, b"target_cpu="),
        };
        Some((tid, prio, target))
    })?;
    Some((comm, Tid(tid as i32), Prio::new(prio as i16), target))
}

/// Reads a wakeup of Linux 2.6.
fn old_wake(args: &[u8]) -> Option<Woken<'_>> {
    let at = find_last(args, b" success=")?;
    let (_, rest) = integer(&args[at + b" success=".len()..])?;
    let (target, rest) = integer(expect!(rest, b" ["))?;
    let ((comm, tid, prio), _) = bare_side(&args[..at])?;
    (rest == b"]").then_some((without_task(comm), tid, prio, Some(target)))
}

/// Returns the number after the last occurrence of a key. An occurrence inside a name comes earlier.
fn value(args: &[u8], key: &[u8]) -> Option<i64> {
    let at = find_last(args, key)?;
    integer(&args[at + key.len()..]).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{IrqKind, NameId, Ns, Pid, StackId};

    /// Returns the event, and the names that its arguments use first.
    fn read(arguments: &mut Arguments, event: &str, args: &str) -> Result<(EventKind, Vec<String>), Unreadable> {
        let (mut names, mut out) = (Names::new(), Batch::default());
        let place = Place { at: Ns(5), current: Tid(3), stack: StackId::NONE };
        let what = arguments.decode(event.as_bytes(), args.as_bytes(), place, &mut names, &mut out)?;
        Ok((what, out.names.into_iter().map(String::from).collect()))
    }

    fn once(event: &str, args: &str) -> Result<(EventKind, Vec<String>), Unreadable> {
        read(&mut Arguments::new(Reader::FtraceText), event, args)
    }

    fn switch(args: &str) -> (String, i32, SwitchOut, char, String, i32) {
        let (what, names) = once("sched_switch", args).unwrap();
        let EventKind::Switch(s) = what else { unreachable!("{what:?}") };
        let name = |id: NameId| names.get(id.0 as usize - 1).cloned().unwrap();
        (name(s.prev_name), s.prev.0, s.out, char::from(s.state_letter), name(s.next_name), s.next.0)
    }

    #[test]
    fn all_forms_of_switches_are_read() {
        use SwitchOut::{Blocked, Exited, Preempted, Runnable};
        let keyed = |state: &str| {
            let args =
                "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=STATE ==> next_comm=c next_pid=0 next_prio=-1";
            let (_, _, out, state_letter, _, _) = switch(&args.replace("STATE", state));
            (out, state_letter)
        };
        for (state, meaning) in [
            ("R", (Runnable, 'R')),
            ("R+", (Preempted, 'R')),
            ("S", (Blocked, 'S')),
            ("D|K", (Blocked, 'D')),
            ("I", (Blocked, 'I')),
            ("P", (Blocked, 'P')),
            ("x", (Exited, 'x')),
            ("X", (Exited, 'X')),
            ("Z", (Exited, 'Z')),
            ("0", (Runnable, 'R')),
            ("256", (Preempted, 'R')),
            ("0x100", (Preempted, 'R')),
            ("64", (Blocked, 'P')),
            ("16", (Exited, 'X')),
            ("4096", (Preempted, 'R')),
            ("1026", (Blocked, 'D')),
        ] {
            assert_eq!(keyed(state), meaning, "{state}");
        }
        let summary = |(prev, p, out, state_letter, next, n): (String, i32, SwitchOut, char, String, i32)| {
            format!("{prev}:{p} {out:?} {state_letter} {next}:{n}")
        };
        for (args, expected) in [
            (
                "prev_comm=x prev_pid=1 prev_pid=7 prev_prio=120 prev_state=S ==> next_comm= next_pid=2 next_pid=8 next_prio=1",
                "x prev_pid=1:7 Blocked S  next_pid=2:8",
            ),
            (
                "prev_comm=sh prev_pid=7 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120",
                "sh:7 Blocked S swapper/1:0",
            ),
            ("kworker/2:1:29 [120] R ==> a [b]:0 [100]", "kworker/2:1:29 Runnable R a [b]:0"),
            ("migration/0:18 [0] x ==> sh:7 [120]", "migration/0:18 Blocked x sh:7"),
        ] {
            assert_eq!(summary(switch(args)), expected, "{args}");
        }
    }

    #[test]
    fn a_state_number_of_an_old_kernel_changes_the_meaning_of_the_others() {
        let mut arguments = Arguments::new(Reader::FtraceText);
        arguments.learn(b"x prev_state=1 y prev_state=1024 ");
        let args = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=64 next_comm=b next_pid=8 next_prio=120";
        let (EventKind::Switch(s), _) = read(&mut arguments, "sched_switch", args).unwrap() else { unreachable!() };
        assert_eq!((s.out, s.state_letter, s.prev_state), (SwitchOut::Exited, b'x', 64));
    }

    #[test]
    fn all_forms_of_sched_yield_calls_are_read() {
        let tid = Tid(3);
        for (event, args, begins) in [
            ("sys_enter_sched_yield", "", true),
            ("sys_exit_sched_yield", "0x0", false),
            ("", "sys_sched_yield()", true),
            ("", "sys_sched_yield -> 0x0", false),
        ] {
            assert_eq!(once(event, args).unwrap().0, EventKind::Yield { tid, begins }, "{event} {args}");
        }
        assert_eq!(once("", "sys_sched_yielding()").unwrap().0, EventKind::Sample);
        assert_eq!(once("", "sys_read(fd: 3)").unwrap().0, EventKind::Sample);
    }

    #[test]
    fn all_forms_of_wakeups_are_read() {
        for (args, expected) in [
            ("comm=a b pid=7 prio=120 target_cpu=003", ("a b", 7, 120, Some(3))),
            ("comm=a pid=7 prio=0 success=1 target_cpu=012", ("a", 7, 0, Some(12))),
            ("comm=a pid=7 prio=-1", ("a", 7, -1, None)),
            ("kworker/0:1:7 [120] success=1 CPU:001", ("kworker/0:1", 7, 120, Some(1))),
            ("sh:7 [120]<CPU:001>", ("sh", 7, 120, Some(1))),
        ] {
            let (what, names) = once("sched_wakeup", args).unwrap();
            let EventKind::Wake(w) = what else { unreachable!("{what:?}") };
            assert_eq!((names[0].as_str(), w.tid.0, w.prio.get().unwrap(), w.target.map(|c| c.0)), expected, "{args}");
            assert_eq!((w.waker, w.stamp, w.kind), (Tid(3), Ns(5), WakeKind::Wakeup));
        }
    }

    #[test]
    fn all_forms_of_the_other_events_are_read() {
        let charge = EventKind::Charge { tid: Tid(7), ns: Ns(42) };
        let fork = EventKind::Fork { parent: Tid(7), tid: Tid(8), pid: Pid::UNKNOWN, name: NameId(1) };
        let irq = |begins, name| EventKind::Irq { kind: IrqKind::Hard, number: 12, begins, name: NameId(name) };
        for (event, args, expected) in [
            ("sched_stat_runtime", "comm=a pid=1 pid=7 runtime=42 [ns] vruntime=9 [ns]", charge),
            ("sched_stat_runtime", "comm=a pid=7 runtime=42", charge),
            ("sched_process_fork", "comm=a pid=7 child_comm=b child_pid=8", fork),
            ("sched_process_fork", "parent_comm=a parent_pid=7 child_comm=b child_pid=8", fork),
            ("cpu_idle", "state=4294967295 cpu_id=2", EventKind::Idle { state: -1 }),
            ("cpu_frequency", "state=850000 cpu_id=1", EventKind::Frequency { of: CpuId(1), khz: 850_000 }),
            ("irq_handler_entry", "irq=12 name=eth0 tx", irq(true, 1)),
            ("irq_handler_exit", "irq=12 ret=handled", irq(false, 0)),
            (
                "hrtimer_expire_entry",
                "hrtimer=00000000f51672ba function=hrtimer_wakeup now=1 softexpires=1",
                EventKind::Irq { kind: IrqKind::Timer, number: -1, begins: true, name: NameId(1) },
            ),
            (
                "timer_expire_entry",
                "timer=0000000012345678 function=ffffffff81421cd4 now=4294937496 baseclk=4294937496",
                EventKind::Irq { kind: IrqKind::Timer, number: -1, begins: true, name: NameId(0) },
            ),
            (
                "ipi_entry",
                "(Rescheduling interrupts)",
                EventKind::Irq { kind: IrqKind::Ipi, number: -1, begins: true, name: NameId(1) },
            ),
            (
                "reschedule_exit",
                "vector=253",
                EventKind::Irq { kind: IrqKind::Ipi, number: -1, begins: false, name: NameId(0) },
            ),
            (
                "softirq_entry",
                "vec=1 [action=TIMER]",
                EventKind::Irq { kind: IrqKind::Soft, number: 1, begins: true, name: NameId::NONE },
            ),
            (
                "sched_migrate_task",
                "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1",
                EventKind::Migrate { tid: Tid(7), from: CpuId(0), to: CpuId(1) },
            ),
            (
                "sched_process_exec",
                "filename=/bin/a b pid=7 old_pid=7",
                EventKind::Exec { tid: Tid(7), pid: Pid(7), file: NameId(1) },
            ),
            ("sched_process_exit", "comm=a pid=7 prio=120", EventKind::Exit { tid: Tid(7), pid: Pid::UNKNOWN }),
            (
                "sched_pi_setprio",
                "comm=a pid=7 oldprio=120 newprio=98",
                EventKind::Inherit {
                    tid: Tid(7),
                    priority: model::InheritedPriority {
                        donor: model::Donor::NotRecorded,
                        old_prio: Prio::new(120),
                        prio: Prio::new(98),
                    },
                },
            ),
            ("thermal_temperature", "anything", EventKind::Sample),
        ] {
            assert_eq!(once(event, args).unwrap().0, expected, "{event}: {args}");
        }
    }

    #[test]
    fn damaged_arguments_are_not_confused_with_those_of_another_form() {
        use Unreadable::{Damaged, OtherForm};
        for (event, args, why) in [
            ("sched_switch", "", OtherForm),
            ("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state= ==> next_comm=b next_pid=8", Damaged),
            ("sched_switch", "a:7 [120] S => b:8 [120]", OtherForm),
            ("sched_switch", "a:7 [120] S ==> b:8 [12", Damaged),
            ("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S", Damaged),
            ("sched_switch", "(__traceiter_sched_switch+0x0/0x60) arg1=0 arg2=0xffff8880 prev_state=1", OtherForm),
            ("sched_wakeup", "comm=a pid=x prio=120", Damaged),
            ("sched_wakeup", "(ttwu_do_activate+0x8/0x1a0) task=0xffff8880", OtherForm),
            ("sched_waking", "[]", OtherForm),
            ("sched_process_fork", "child_pid=8 child_comm=", Damaged),
            ("cpu_idle", "state=x", Damaged),
            ("cpu_idle", "(cpuidle_enter+0x0/0x40) index=2", OtherForm),
            ("softirq_entry", "vec", OtherForm),
        ] {
            assert_eq!(once(event, args).err(), Some(why), "{event}: {args}");
        }
    }

    /// Linux 2.6 printed a state in brackets, the word `task`, and the CPU of a wakeup without a key.
    #[test]
    fn arguments_of_linux_2_6_are_read() {
        for (args, expected) in [
            ("task make:31 [121] (R) ==> cc1:77 [118]", ("make", 31, SwitchOut::Runnable, 'R', "cc1", 77)),
            ("task a b:31 [121] (D) ==> swapper:0 [140]", ("a b", 31, SwitchOut::Blocked, 'D', "swapper", 0)),
            ("task cc1:77 [120] (x) ==> task:8 [120]", ("cc1", 77, SwitchOut::Exited, 'x', "task", 8)),
        ] {
            let (prev, p, out, state_letter, next, n) = switch(args);
            assert_eq!((prev.as_str(), p, out, state_letter, next.as_str(), n), expected, "{args}");
        }
        let (what, names) = once("sched_wakeup", "task a:b:31 [119] success=0 [012]").unwrap();
        let EventKind::Wake(w) = what else { unreachable!("{what:?}") };
        assert_eq!((names[0].as_str(), w.tid, w.prio.get(), w.target), ("a:b", Tid(31), Some(119), Some(CpuId(12))));
        let fork = EventKind::Fork { parent: Tid(7), tid: Tid(8), pid: Pid::UNKNOWN, name: NameId(1) };
        let migrate = EventKind::Migrate { tid: Tid(7), from: CpuId(1), to: CpuId(3) };
        for (event, args, expected) in [
            ("sched_process_fork", "parent sh:7  child sh:8", fork),
            ("sched_migrate_task", "task a:7 [120] from: 1  to: 3", migrate),
            ("sched_process_exit", "task a:7 [120]", EventKind::Exit { tid: Tid(7), pid: Pid::UNKNOWN }),
        ] {
            assert_eq!(once(event, args).unwrap().0, expected, "{event}: {args}");
        }
    }

    /// Some kernels from 4.14 on store an index, which their own table of bits prints as several state letters.
    #[test]
    fn an_index_that_was_printed_as_bits_is_read() {
        for (state, meaning) in [
            ("S|D", (SwitchOut::Blocked, 'T')),
            ("S|T", (SwitchOut::Exited, 'X')),
            ("D|T", (SwitchOut::Exited, 'Z')),
            ("S|D|T", (SwitchOut::Blocked, 'P')),
            ("D|K", (SwitchOut::Blocked, 'D')),
        ] {
            let form = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=STATE ==> next_comm=b next_pid=8 next_prio=120";
            let (_, _, out, state_letter, _, _) = switch(&form.replace("STATE", state));
            assert_eq!((out, state_letter), meaning, "{state}");
        }
    }
}
