//! From a tracepoint's printed arguments to what happened.
//!
//! Two ways of printing are read: the kernel's own (`prev_comm=sh prev_pid=7 … prev_state=S ==> next_comm=…`; raw, as
//! `trace-cmd report -R` has it, without the arrow and with numbers), and that of libtraceevent's plugin
//! (`sh:7 [120] S ==> swapper/0:0 [120]`).
//!
//! A name may hold anything, ` pid=` too: each pattern is tried where its first word stands, until all that follows fits.

use super::decode::{Names, Place, UNNUMBERED, unnumbered};
use super::parking::Point as ParkingPoint;
use super::states::States;
use crate::text::scan::{find, find_last, integer};
use model::{Batch, CpuId, IrqKind, NameId, Ns, Pid, Switch, SwitchOut, Tid, Wake, WakeKind, What};

/// A call of `sched_yield()`, or what it returned: ` -> 0x0`.
fn called(rest: &[u8], tid: Tid) -> Option<What> {
    match rest.trim_ascii() {
        b"()" => Some(What::Yield { tid, begins: true }),
        rest if rest.starts_with(b"->") => Some(What::Yield { tid, begins: false }),
        _ => Some(What::Sample),
    }
}

/// Reads printed arguments.
pub(crate) struct Arguments {
    /// What numbers mean, where a state is one.
    modern: States,
    before_4_14: States,
    /// A number showed that the kernel is older than 4.14.
    old: bool,
    /// What is told of parking is told to the end.
    parking: bool,
}

/// The arguments are not those of this event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unreadable;

/// One side of a switch: name, number, priority.
type Side<'t> = (&'t [u8], Tid, i16);

impl Arguments {
    pub(crate) fn new() -> Self {
        Self { modern: States::from_print(""), before_4_14: States::before_4_14(), old: false, parking: false }
    }

    /// Of a recorder that goes on with CPUs that come back: with what they tell of parking.
    pub(crate) fn with_parking() -> Self {
        Self { parking: true, ..Self::new() }
    }

    /// Looks for a state's number that only kernels before 4.14 have (ACCOUNTING.md), before the first event is read.
    pub(crate) fn learn(&mut self, head: &[u8]) {
        const STATE: &[u8] = b"prev_state=";
        for at in memchr::memmem::find_iter(head, STATE) {
            self.old |= integer(&head[at + STATE.len()..]).is_some_and(|(state, _)| state >= 512);
        }
    }

    /// What the event says happened; [`What::Sample`] where it tells nothing here.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        event: &[u8],
        args: &[u8],
        place: Place,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<What, Unreadable> {
        let wake = |kind, names: &mut Names, out: &mut Batch| woken(kind, args, place, names, out);
        let what = match event {
            b"sched_switch" => self.switch(args, place, names, out),
            b"sched_waking" => wake(WakeKind::Waking, names, out),
            b"sched_wakeup" => wake(WakeKind::Wakeup, names, out),
            b"sched_wakeup_new" => wake(WakeKind::New, names, out),
            b"sched_stat_runtime" => charge(args),
            b"sched_migrate_task" => migrate(args),
            b"cpu_idle" => value(args, b"state=").map(|state| What::Idle { state: state as i32 }),
            b"cpu_frequency" => frequency(args),
            b"sched_process_fork" => fork(args, names, out),
            b"sched_process_exec" => exec(args, names, out),
            b"sched_process_exit" => pid(args).map(|tid| What::Exit { tid, pid: Pid::UNKNOWN }),
            b"sched_pi_setprio" => priority(args),
            b"sys_enter_sched_yield" => Some(What::Yield { tid: place.current, begins: true }),
            b"sys_exit_sched_yield" => Some(What::Yield { tid: place.current, begins: false }),
            // So the kernel's own text has them, without a name before them.
            b"" if args.starts_with(b"sys_sched_yield") => called(&args[b"sys_sched_yield".len()..], place.current),
            b"irq_handler_entry" => irq(IrqKind::Hard, true, args, names, out),
            b"irq_handler_exit" => irq(IrqKind::Hard, false, args, names, out),
            b"softirq_entry" => irq(IrqKind::Soft, true, args, names, out),
            b"softirq_exit" => irq(IrqKind::Soft, false, args, names, out),
            _ => match std::str::from_utf8(event).ok().and_then(ParkingPoint::named) {
                Some(point) if self.parking => point.read(args),
                _ => Some(unnumbered_irq(event, args, names, out).unwrap_or(What::Sample)),
            },
        };
        what.ok_or(Unreadable)
    }

    #[inline]
    fn switch(&mut self, args: &[u8], place: Place, names: &mut Names, out: &mut Batch) -> Option<What> {
        let (keyed, found) = match args.strip_prefix(b"prev_comm=") {
            Some(args) => (true, keyed_switch(args)),
            None => (false, bare_switch(args)),
        };
        let ((prev_comm, prev, prev_prio), state, (next_comm, next, next_prio)) = found?;
        let (prev_state, what, letter) = self.state(state, keyed)?;
        Some(What::Switch(Switch {
            prev,
            next,
            prev_name: names.comm_text(prev, prev_comm, out),
            next_name: names.comm_text(next, next_comm, out),
            stack: place.stack,
            prev_state,
            prev_prio,
            next_prio,
            out: what,
            letter,
            prev_exec: Ns::MIN,
        }))
    }

    /// A state's number (0 where only letters are left), what it makes of the thread, and its letter.
    #[inline]
    fn state(&mut self, text: &[u8], keyed: bool) -> Option<(u32, SwitchOut, u8)> {
        let first = *text.first()?;
        if first.is_ascii_digit() {
            let (number, _) = integer(text)?;
            let (out, letter) = self.of_number(number as u64);
            return Some((number as u32, out, letter));
        }
        // The plugin prints an x for 64, which is "parked" since 4.14; the kernel's own x is always "dead".
        let exits = |b: &&u8| matches!(b, b'X' | b'Z') || keyed && **b == b'x';
        Some(match text {
            b"R" => (0, SwitchOut::Runnable, b'R'),
            [.., b'+'] => (0, SwitchOut::Preempted, b'R'),
            _ => match text.iter().find(exits) {
                Some(letter) => (0, SwitchOut::Exited, *letter),
                None => (0, SwitchOut::Blocked, first),
            },
        })
    }

    /// Before 4.14 the preempt bit stood alone above all others: 1024, 2048 or 4096. 1026 is a kernel thread that waits (D
    /// and N).
    fn of_number(&mut self, number: u64) -> (SwitchOut, u8) {
        self.old |= number >= 512;
        match number {
            _ if !self.old => self.modern.meaning(number),
            1024.. if number & 1023 == 0 => (SwitchOut::Preempted, b'R'),
            _ => self.before_4_14.meaning(number),
        }
    }
}

/// Goes past a word that must stand here.
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
        let rest = rest.strip_prefix(b" ==>").unwrap_or(rest);
        Some((prev, prio, state, expect!(rest, b" next_comm=")))
    })?;
    let (next_comm, (next, next_prio)) = named(rest, b" next_pid=", |rest| {
        let (next, rest) = integer(rest)?;
        let (prio, _) = integer(expect!(rest, b" next_prio="))?;
        Some((next, prio))
    })?;
    Some(((prev_comm, Tid(prev as i32), prev_prio as i16), state, (next_comm, Tid(next as i32), next_prio as i16)))
}

/// A name, and what `then` makes of what follows `word`, at the first place where it makes something.
#[inline]
fn named<'t, T>(text: &'t [u8], word: &[u8], then: impl Fn(&'t [u8]) -> Option<T>) -> Option<(&'t [u8], T)> {
    let mut from = 0;
    loop {
        let at = from + find(&text[from..], word)?;
        if let Some(made) = then(&text[at + word.len()..]) {
            return Some((&text[..at], made));
        }
        from = at + 1;
    }
}

/// `NAME:7 [120] S ==> NAME:0 [120]`
fn bare_switch(args: &[u8]) -> Option<(Side<'_>, &[u8], Side<'_>)> {
    const ARROW: &[u8] = b" ==> ";
    let arrow = find(args, ARROW)?;
    let (left, right) = (&args[..arrow], &args[arrow + ARROW.len()..]);
    let space = memchr::memrchr(b' ', left)?;
    let (prev, _) = bare_side(&left[..space])?;
    let (next, _) = bare_side(right)?;
    Some((prev, &left[space + 1..], next))
}

/// `NAME:7 [120]`, and what follows.
fn bare_side(text: &[u8]) -> Option<(Side<'_>, &[u8])> {
    let open = memchr::memrchr(b'[', text)?;
    let (prio, rest) = integer(&text[open + 1..])?;
    let rest = expect!(rest, b"]");
    let (comm, tid) = colon(text[..open].trim_ascii_end())?;
    Some(((comm, tid, prio as i16), rest))
}

/// `NAME:7`
fn colon(text: &[u8]) -> Option<(&[u8], Tid)> {
    let at = memchr::memrchr(b':', text)?;
    let (tid, rest) = integer(&text[at + 1..])?;
    rest.is_empty().then_some((&text[..at], Tid(tid as i32)))
}

/// `comm=NAME pid=7 prio=120 success=1 target_cpu=003`, or `NAME:7 [120] success=1 CPU:003`
#[inline]
fn woken(kind: WakeKind, args: &[u8], place: Place, names: &mut Names, out: &mut Batch) -> Option<What> {
    let (comm, tid, prio, target) = match args.strip_prefix(b"comm=") {
        Some(args) => keyed_wake(args)?,
        None => {
            let ((comm, tid, prio), rest) = bare_side(args)?;
            (comm, tid, prio, value(rest, b"CPU:"))
        }
    };
    let name = names.comm_text(tid, comm, out);
    let target = target.map(|cpu| CpuId(cpu as u32));
    Some(What::Wake(Wake { tid, name, kind, target, waker: place.current, prio, stamp: place.at }))
}

#[inline]
fn keyed_wake(args: &[u8]) -> Option<(&[u8], Tid, i16, Option<i64>)> {
    let (comm, (tid, prio, target)) = named(args, b" pid=", |rest| {
        let (tid, rest) = integer(rest)?;
        let (prio, rest) = integer(expect!(rest, b" prio="))?;
        let target = match rest.strip_prefix(b" target_cpu=") {
            Some(cpu) => integer(cpu).map(|(cpu, _)| cpu),
            None => value(rest, b"target_cpu="),
        };
        Some((tid, prio, target))
    })?;
    Some((comm, Tid(tid as i32), prio as i16, target))
}

/// The number behind a key where that stands last: what a name holds stands before it.
fn value(args: &[u8], key: &[u8]) -> Option<i64> {
    let at = find_last(args, key)?;
    integer(&args[at + key.len()..]).map(|(value, _)| value)
}

/// The text behind a key, up to the next key or the end.
fn text<'t>(args: &'t [u8], key: &[u8], until: &[u8]) -> Option<&'t [u8]> {
    let rest = &args[find(args, key)? + key.len()..];
    let end = find_last(rest, until).filter(|_| !until.is_empty()).unwrap_or(rest.len());
    Some(&rest[..end])
}

fn pid(args: &[u8]) -> Option<Tid> {
    value(args, b" pid=").map(|tid| Tid(tid as i32))
}

/// `comm=NAME pid=7 runtime=4287 [ns] vruntime=…`
#[inline]
fn charge(args: &[u8]) -> Option<What> {
    let (_, (tid, ns)) = named(args, b" pid=", |rest| {
        let (tid, rest) = integer(rest)?;
        let (ns, _) = integer(expect!(rest, b" runtime="))?;
        Some((tid, ns))
    })?;
    Some(What::Charge { tid: Tid(tid as i32), ns: Ns(ns) })
}

/// `comm=NAME pid=7 prio=120 orig_cpu=0 dest_cpu=1`
#[inline]
fn migrate(args: &[u8]) -> Option<What> {
    let (_, (tid, from, to)) = named(args, b" pid=", |rest| {
        let (tid, rest) = integer(rest)?;
        let (_, rest) = integer(expect!(rest, b" prio="))?;
        let (from, rest) = integer(expect!(rest, b" orig_cpu="))?;
        let (to, _) = integer(expect!(rest, b" dest_cpu="))?;
        Some((tid, from, to))
    })?;
    Some(What::Migrate { tid: Tid(tid as i32), from: CpuId(from as u32), to: CpuId(to as u32) })
}

/// `state=850000 cpu_id=1`
pub(crate) fn frequency(args: &[u8]) -> Option<What> {
    let (khz, of) = (value(args, b"state=")?, value(args, b"cpu_id=")?);
    Some(What::Frequency { of: CpuId(of as u32), khz: khz as u32 })
}

/// `comm=NAME pid=7 child_comm=NAME child_pid=8`; raw: `parent_comm=NAME parent_pid=7 …`
fn fork(args: &[u8], names: &mut Names, out: &mut Batch) -> Option<What> {
    let child = Tid(value(args, b" child_pid=")? as i32);
    let comm = text(args, b" child_comm=", b" child_pid=")?;
    let before = &args[..find(args, b" child_comm=")?];
    let parent = value(before, b" parent_pid=").or_else(|| value(before, b" pid="))?;
    let name = names.comm_text(child, comm, out);
    Some(What::Fork { parent: Tid(parent as i32), tid: child, pid: Pid::UNKNOWN, name })
}

/// `filename=/bin/sh pid=7 old_pid=7`
fn exec(args: &[u8], names: &mut Names, out: &mut Batch) -> Option<What> {
    let tid = pid(args)?;
    let file = names.id(text(args, b"filename=", b" pid=")?, out);
    Some(What::Exec { tid, pid: Pid(tid.0), file })
}

/// `comm=NAME pid=7 oldprio=120 newprio=98`
fn priority(args: &[u8]) -> Option<What> {
    let prio = value(args, b" newprio=")? as i16;
    Some(What::Priority { tid: pid(args)?, prio, policy: -1, nice: i8::MIN })
}

/// `irq=12 name=eth0`, `irq=12 ret=handled`, `vec=1 [action=TIMER]`
fn irq(kind: IrqKind, begins: bool, args: &[u8], names: &mut Names, out: &mut Batch) -> Option<What> {
    let key: &[u8] = if kind == IrqKind::Hard { b"irq=" } else { b"vec=" };
    let (number, _) = integer(args.strip_prefix(key)?)?;
    let name = text(args, b" name=", b"").map_or(NameId::NONE, |name| names.id(name, out));
    Some(What::Irq { kind, number: number as i32, begins, name })
}

/// The word behind a key.
fn word<'t>(args: &'t [u8], key: &[u8]) -> Option<&'t [u8]> {
    args.get(find(args, key)? + key.len()..)?.split(|b| *b == b' ').next().filter(|word| !word.is_empty())
}

/// `hrtimer=0000000012345678 function=hrtimer_wakeup now=12 softexpires=12`, `(Rescheduling interrupts)`, `vector=236`
fn unnumbered_irq(event: &[u8], args: &[u8], names: &mut Names, out: &mut Batch) -> Option<What> {
    let (kind, begins, name) = unnumbered(std::str::from_utf8(event).ok()?)?;
    let told = match kind {
        IrqKind::Timer => word(args, b" function="),
        _ => args.strip_prefix(b"(").and_then(|reason| reason.strip_suffix(b")")),
    };
    // An address is no name.
    let told = told.filter(|t| begins && !t.starts_with(b"0x") && !t.iter().all(u8::is_ascii_hexdigit)).unwrap_or(name);
    Some(What::Irq { kind, number: UNNUMBERED, begins, name: names.id(told, out) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::StackId;

    /// What the arguments say, with the names that they are the first to use.
    fn read(arguments: &mut Arguments, event: &str, args: &str) -> Result<(What, Vec<String>), Unreadable> {
        let (mut names, mut out) = (Names::new(), Batch::default());
        let place = Place { at: Ns(5), current: Tid(3), stack: StackId::NONE };
        let what = arguments.decode(event.as_bytes(), args.as_bytes(), place, &mut names, &mut out)?;
        Ok((what, out.names.into_iter().map(String::from).collect()))
    }

    fn once(event: &str, args: &str) -> Result<(What, Vec<String>), Unreadable> {
        read(&mut Arguments::new(), event, args)
    }

    fn switch(args: &str) -> (String, i32, SwitchOut, char, String, i32) {
        let (what, names) = once("sched_switch", args).unwrap();
        let What::Switch(s) = what else { unreachable!("{what:?}") };
        let name = |id: NameId| names.get(id.0 as usize - 1).cloned().unwrap();
        (name(s.prev_name), s.prev.0, s.out, char::from(s.letter), name(s.next_name), s.next.0)
    }

    #[test]
    fn switches_in_all_their_forms() {
        use SwitchOut::{Blocked, Exited, Preempted, Runnable};
        let keyed = |state: &str| {
            let args =
                "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=STATE ==> next_comm=c next_pid=0 next_prio=-1";
            let (_, _, out, letter, _, _) = switch(&args.replace("STATE", state));
            (out, letter)
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
        let whole = |(prev, p, out, letter, next, n): (String, i32, SwitchOut, char, String, i32)| {
            format!("{prev}:{p} {out:?} {letter} {next}:{n}")
        };
        for (args, told) in [
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
            assert_eq!(whole(switch(args)), told, "{args}");
        }
    }

    #[test]
    fn a_number_that_only_old_kernels_have_changes_the_others() {
        let mut arguments = Arguments::new();
        arguments.learn(b"x prev_state=1 y prev_state=1024 ");
        let args = "prev_comm=a prev_pid=7 prev_prio=120 prev_state=64 next_comm=b next_pid=8 next_prio=120";
        let (What::Switch(s), _) = read(&mut arguments, "sched_switch", args).unwrap() else { unreachable!() };
        assert_eq!((s.out, s.letter, s.prev_state), (SwitchOut::Exited, b'x', 64));
    }

    #[test]
    fn calls_of_sched_yield_in_all_their_forms() {
        let tid = Tid(3);
        for (event, args, begins) in [
            ("sys_enter_sched_yield", "", true),
            ("sys_exit_sched_yield", "0x0", false),
            ("", "sys_sched_yield()", true),
            ("", "sys_sched_yield -> 0x0", false),
        ] {
            assert_eq!(once(event, args).unwrap().0, What::Yield { tid, begins }, "{event} {args}");
        }
        assert_eq!(once("", "sys_sched_yielding()").unwrap().0, What::Sample);
        assert_eq!(once("", "sys_read(fd: 3)").unwrap().0, What::Sample);
    }

    #[test]
    fn wakings_in_all_their_forms() {
        for (args, told) in [
            ("comm=a b pid=7 prio=120 target_cpu=003", ("a b", 7, 120, Some(3))),
            ("comm=a pid=7 prio=0 success=1 target_cpu=012", ("a", 7, 0, Some(12))),
            ("comm=a pid=7 prio=-1", ("a", 7, -1, None)),
            ("kworker/0:1:7 [120] success=1 CPU:001", ("kworker/0:1", 7, 120, Some(1))),
            ("sh:7 [120]<CPU:001>", ("sh", 7, 120, Some(1))),
        ] {
            let (what, names) = once("sched_wakeup", args).unwrap();
            let What::Wake(w) = what else { unreachable!("{what:?}") };
            assert_eq!((names[0].as_str(), w.tid.0, w.prio, w.target.map(|c| c.0)), told, "{args}");
            assert_eq!((w.waker, w.stamp, w.kind), (Tid(3), Ns(5), WakeKind::Wakeup));
        }
    }

    #[test]
    fn the_others() {
        let charge = What::Charge { tid: Tid(7), ns: Ns(42) };
        let fork = What::Fork { parent: Tid(7), tid: Tid(8), pid: Pid::UNKNOWN, name: NameId(1) };
        let irq = |begins, name| What::Irq { kind: IrqKind::Hard, number: 12, begins, name: NameId(name) };
        for (event, args, told) in [
            ("sched_stat_runtime", "comm=a pid=1 pid=7 runtime=42 [ns] vruntime=9 [ns]", charge),
            ("sched_stat_runtime", "comm=a pid=7 runtime=42", charge),
            ("sched_process_fork", "comm=a pid=7 child_comm=b child_pid=8", fork),
            ("sched_process_fork", "parent_comm=a parent_pid=7 child_comm=b child_pid=8", fork),
            ("cpu_idle", "state=4294967295 cpu_id=2", What::Idle { state: -1 }),
            ("cpu_frequency", "state=850000 cpu_id=1", What::Frequency { of: CpuId(1), khz: 850_000 }),
            ("irq_handler_entry", "irq=12 name=eth0 tx", irq(true, 1)),
            ("irq_handler_exit", "irq=12 ret=handled", irq(false, 0)),
            (
                "hrtimer_expire_entry",
                "hrtimer=00000000f51672ba function=hrtimer_wakeup now=1 softexpires=1",
                What::Irq { kind: IrqKind::Timer, number: -1, begins: true, name: NameId(1) },
            ),
            (
                "timer_expire_entry",
                "timer=0000000012345678 function=ffffffff81421cd4 now=4294937496 baseclk=4294937496",
                What::Irq { kind: IrqKind::Timer, number: -1, begins: true, name: NameId(0) },
            ),
            (
                "ipi_entry",
                "(Rescheduling interrupts)",
                What::Irq { kind: IrqKind::Ipi, number: -1, begins: true, name: NameId(1) },
            ),
            (
                "reschedule_exit",
                "vector=253",
                What::Irq { kind: IrqKind::Ipi, number: -1, begins: false, name: NameId(0) },
            ),
            (
                "softirq_entry",
                "vec=1 [action=TIMER]",
                What::Irq { kind: IrqKind::Soft, number: 1, begins: true, name: NameId::NONE },
            ),
            (
                "sched_migrate_task",
                "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1",
                What::Migrate { tid: Tid(7), from: CpuId(0), to: CpuId(1) },
            ),
            (
                "sched_process_exec",
                "filename=/bin/a b pid=7 old_pid=7",
                What::Exec { tid: Tid(7), pid: Pid(7), file: NameId(1) },
            ),
            ("sched_process_exit", "comm=a pid=7 prio=120", What::Exit { tid: Tid(7), pid: Pid::UNKNOWN }),
            (
                "sched_pi_setprio",
                "comm=a pid=7 oldprio=120 newprio=98",
                What::Priority { tid: Tid(7), prio: 98, policy: -1, nice: i8::MIN },
            ),
            ("thermal_temperature", "anything", What::Sample),
        ] {
            assert_eq!(once(event, args).unwrap().0, told, "{event}: {args}");
        }
    }

    #[test]
    fn what_does_not_fit_is_unreadable() {
        for (event, args) in [
            ("sched_switch", ""),
            ("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state= ==> next_comm=b next_pid=8"),
            ("sched_switch", "a:7 [120] S => b:8 [120]"),
            ("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S"),
            ("sched_wakeup", "comm=a pid=x prio=120"),
            ("sched_waking", "[]"),
            ("sched_process_fork", "child_pid=8 child_comm="),
            ("cpu_idle", "state=x"),
            ("softirq_entry", "vec"),
        ] {
            assert_eq!(once(event, args), Err(Unreadable), "{event}: {args}");
        }
    }
}
