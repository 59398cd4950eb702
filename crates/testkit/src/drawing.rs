//! Traces drawn as text: one column is one millisecond, one row a CPU or a kind of event.
//!
//! ```text
//!   cpu0    A A As .  B        A to Z: this thread runs          .  idle
//!   cpu1    .  w B B+ C        w: idle, and the next thread in this row is woken
//!   cpu2    A A ? d D          ? or lower case: idle (or that thread) runs, but the switch to it was not recorded
//!   waking  .  .  A
//! ```
//!
//! **Rows of CPUs**, `cpu0`, `cpu1`, …, optionally with a core (`cpu0 P0`, see [`crate::machine`]). There is a switch at the begin of
//! each cell that differs from the one before. A suffix of a thread is the state of its switch-out at the end of the cell: `As`
//! sleeps, `Ad`, `At`, … have that state, `Ax` and `Az` exit, `A+` is preempted (R+), `Ar` is runnable (R) without a recorded cause.
//! With a recorded cause, `Au` is preempted on its way back to user mode, `Ay` yields, `Aq` is throttled, and `Ak` is a kernel thread
//! that gives way. Without a suffix, it is preempted if another thread follows, and sleeps if the CPU becomes idle. A thread in the
//! first column is switched in at 0 from idle; idle in the first column has no event. The recording ends with the last column.
//!
//! **Rows of events**: each cell is `.` or an event at its begin. Threads may be followed by `@1`, the CPU of the event (which is also
//! recorded there; otherwise, on the first CPU), and by `!`, which puts a wakeup after the switches at the same time. Several events
//! are separated by commas: `A,B@1`. A wakeup or migration to a CPU of which nothing is recorded is written `A>9`.
//!
//! | row | cell |
//! | --- | --- |
//! | `waking`, `wakeup`, `new` | the threads woken: `sched_waking`, `sched_wakeup`, `sched_wakeup_new`; `A<B`: by B |
//! | `migrate` | `A@1`: A is moved to the run queue of CPU 1 |
//! | `charge` | `A=3`: the kernel charges A 3 ms |
//! | `exec` | `A=3`: the switch-out of A records that it was charged 3 ms since its creation |
//! | `mark` | `A(`, `A)`: A marks the begin or end of a stretch with the name of A; `A`: an instant; `B(=1`: with the name of the first thread |
//! | `cstate` | `2@1`: CPU 1 enters idle state 2; `-@1`: it leaves it |
//! | `irq` | `disk@1`: a device's interrupt of this name begins on CPU 1; `soft:3@1` a softirq, `timer:f@1` a timer, `ipi:r@1`; `disk)@1` ends |
//! | `io` | `Ar=8`: A issues a read of 4 KiB at sector 8 of device 8:0; `Aw=8` a write, `Af=8` a flush, `Ad=8` a discard; `r=8`: that read is completed |
//! | `freq` | `=2@1`: the frequency of CPU 1 is 2 GHz from now on |
//! | `parked` | `(@1`, `)@1`: CPU 1 is parked from now on, or no longer |
//! | `prio` | `A=98`: from now on, switches and wakeups record 98 as A's dynamic priority; the default is 120 |
//! | `inherit` | `A<B=98`: from now on, A inherits priority 98 from B; `A=98`: the donor is not recorded; `A<.=120`: no longer inherited. Below the row `prio` |
//! | `seen` | `As@1`: a snapshot shows A sleeping, last on CPU 1; `A@1` running, `A+@1` ready |
//! | `current` | `A@1`, `.@1`: a snapshot shows that CPU 1 runs A, or its idle task |
//! | `named` | `A@1`: an event on CPU 1, after the switches at the same time, names A as the current task; `.@1` the idle task |
//! | `process` | `A`: A is the first thread of a process; `B<A`: B is a thread of its process |
//! | `inner` | `B=4`: in its own PID namespace, which is another than that of the recording, B has the TID 4 |
//! | `lost`, `lost0` | `x`: lost events are reported, on any CPU or on CPU 0, from the begin of the first `x` of a run to the end of the last one |
//! | `allowed` | `A=0-1+3`: A is allowed on CPUs 0, 1 and 3 from now on; `A=`: unknown |
//! | `throttle` | `A(`, `A)`: A is throttled from now on, or no longer; with this row, every change is recorded |
//! | `yield` | `A(`, `A)`: A calls sched_yield just before the switches at the same time, or returns from it |
//! | `nice` | `A=7`: A has the default policy with this nice value from now on |
//! | `fifo` | `A=10`: A has the policy fifo with this real-time priority (99 is the highest) |
//! | `uclamp` | `A=512`: the utilisation clamps of A are 512 and 1024, of 1024 |
//! | `cgroup` | `A=7`: A is in cgroup 7 |
//! | `weight` | `7=200`: the weight of cgroup 7 is 200, and its path `/7` |
//! | `quota` | `7=20/100`: cgroup 7, whose path is `/7`, may use 20 ms in each 100 ms; `cpu:7=20/100`: its path is `cpu:/7` (cgroup v1) |
//! | `ideal` | `A@1`: the ideal CPU of A is CPU 1; `A`: unknown |
//! | `sample` | `A=spin<main@1`: a profiler interrupts A on CPU 1 and records its callchain, innermost first |
//! | `count` | `A=cycles:300/2@1`: the event `cycles` of CPU 1 counted 300 while A ran there for the last 2 ms; `A=cycles:300/2:1@1`: in 1 ms of them; `.` for A: the idle task, `?`: several threads; `A^cycles:100/1@1`: at a mark, `cycles` had counted 100 since the last reading, 1 ms before |
//! | `domain` | `pkg=package:1`: a source of energy, a package, is updated every 1 ms; `core=core:1<pkg`: it is part of `pkg`; `fan=sensor~`: its energy follows from power |
//! | `energy` | `pkg=30/2`: `pkg` used 30 mJ since its last reading, 2 ms before; `pkg=30^4/2`: 26 to 34 mJ; `pkg=?back/2`: unknown, because `back` |
//! | `temp` | `cpu=45.5`: the sensor `cpu` reads 45.5 °C |
//! | `stack` | `A=schedule<__x64_sys_read`: the switch-out of A records its callchain in the kernel, innermost first. `read~a.c:7`: at line 7 of a.c; `^read`: an inlined function; `~main`: a function of the program |
//! | `futex` | `A=m1<B`: A leaves its CPU to wait for word 1, a mutex whose memory names B; `A=m1`: it names no thread, as with Rust's; `M`: one that processes share. `p` for a mutex with priority inheritance, `r` for a rwlock, `t` for the end of B, `j` for the same with an older glibc, `s` for a condition variable, `k` for a word of its own |
//! | `object` | `A=pipe7`: A leaves its CPU to wait for pipe 7 (the kinds of the table wait_objects); `A=socket5:a.b`: with a name; `A=kernel_mutex3<B`: for a lock of the kernel that B holds |
//! | `futexes` | `A=m1`: A calls futex to wait for word 1, as in row `futex`; `A=w1`: to wake it; `A`: it returns |
//! | `readied` | `A=socket5:a.b`: in the epoll set for which A waits, this became ready, and A is woken |
//! | `called` | `A=tgkill`: the thread that wakes A does not wake the futex for which A waits, but is in this call; `A=`: in none |
//! | `begin` | `x`: the recording begins here; earlier events only set the states at its begin |
//!
//! **`source`** and words: `no_waking` (only `sched_wakeup` is recorded), `no_wakes`, `one_sided` (each side of a switch is an event of
//! its own, as in PERF_RECORD_SWITCH), `yields` (calls of sched_yield are recorded), `no_state` (the state at a switch-out is not
//! recorded, as before Linux 4.17), `strict` (lossy time is unknown), `inferred` (the tables include inferred time). `#` begins a
//! comment.

use crate::{Replay, cpu, machine, ms, tid};
use ingest::{Facts, Opened, Sampled};
use model::{
    Batch, BlockOperation, BlockRequest, Coded, CoreType, CpuId, Device, Donor, EnergyDomain, EnergyUse, Event,
    EventKind, FutexWait, InheritedPriority, IrqKind, LossSpan, Mark, MarkEdge, MaybeCount, MaybeNs, NameId, Ns,
    ObjectWait, Pid, Prio, SnapshotEntry, SnapshotState, StackFrame, StackId, Switch, SwitchOut, Temperature, Tid,
    WaitKind, Wake, WakeKind,
};

/// A drawn trace.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Its metadata.
    pub facts: Facts,
    /// Its events, in order of time, and the names of threads.
    pub batch: Batch,
    /// The words after `source`.
    pub words: Vec<String>,
}

impl Drawn {
    /// Returns the trace as a source with one batch.
    #[must_use]
    pub fn opened(&self) -> Opened<'static> {
        Replay::all(self.batch.clone()).opened(self.facts.clone())
    }

    /// Whether `source` has this word.
    #[must_use]
    pub fn says(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
}

/// Reads a drawing.
///
/// # Panics
/// If a row is invalid.
#[must_use]
pub fn trace(text: &str) -> Drawn {
    let mut pen = Pen::default();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().split_whitespace().collect())
        .filter(|row: &Vec<&str>| !row.is_empty())
        .collect();
    // The kind of switches must be known before any is drawn, and charges and priorities before the switches that record them.
    let rank = |row: &[&str]| match row[0] {
        "source" => 0,
        "exec" | "prio" | "stack" => 1,
        _ => 2,
    };
    let mut in_order: Vec<&Vec<&str>> = rows.iter().collect();
    in_order.sort_by_key(|row| rank(row));
    for row in in_order {
        pen.row(row[0], &row[1..]);
    }
    pen.finish()
}

/// The names of threads.
const THREAD_NAMES: std::ops::RangeInclusive<char> = 'A'..='Z';

/// The order of events at the same time: before wakeups, wakeups, switches, all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Phase {
    Before,
    Wake,
    Switch,
    After,
}

#[derive(Default)]
struct Pen {
    drawn: Drawn,
    events: Vec<(Phase, Event)>,
    cpus: Vec<CpuId>,
    columns: usize,
    /// Cumulative charges: the column of the switch, and the thread.
    charged: Vec<(usize, Tid, Ns)>,
    /// Dynamic priorities: the first column, and the thread.
    prios: Vec<(usize, Tid, i16)>,
    /// Callchains: the column of the switch, and the thread; they are numbered as they are drawn.
    stacks: Vec<(usize, Tid)>,
    /// CPU lists and functions; their names follow those of the threads.
    texts: Vec<String>,
}

/// A thread in a cell, with its suffix.
struct Cell {
    tid: Tid,
    suffix: Option<char>,
    /// Whether its switch-in was not recorded.
    unrecorded: bool,
}

impl Cell {
    const IDLE: Self = Self { tid: Tid::IDLE, suffix: None, unrecorded: false };

    fn read(text: &str) -> Self {
        let mut signs = text.chars();
        let (first, suffix) = (signs.next().unwrap_or('.'), signs.next());
        assert!(signs.next().is_none(), "a cell has two characters at most, not {text:?}");
        match first {
            '.' | 'w' => Self::IDLE,
            '?' => Self { unrecorded: true, ..Self::IDLE },
            c => Self { tid: tid(c), suffix, unrecorded: c.is_ascii_lowercase() },
        }
    }
}

impl Pen {
    fn row(&mut self, name: &str, cells: &[&str]) {
        if let Some(number) = name.strip_prefix("cpu") {
            let number = cpu(number.parse().unwrap_or_else(|_| panic!("invalid CPU number: {name}")));
            let cells = if cells.first().is_some_and(|w| machine::is_core(w)) { &cells[1..] } else { cells };
            return self.cpu(number, cells);
        }
        match name {
            "source" => self.drawn.words = cells.iter().map(ToString::to_string).collect(),
            "lost" => self.lost(None, cells),
            _ if name.starts_with("lost") => {
                let number = name[4..].parse().unwrap_or_else(|_| panic!("invalid CPU number: {name}"));
                self.lost(Some(cpu(number)), cells);
            }
            "begin" => self.drawn.facts.begin = cells.iter().position(|c| *c == "x").map(|at| ms(at as i64)),
            _ => {
                if name == "throttle" {
                    let all = EventKind::Throttle { tid: None, begins: false };
                    self.push(Phase::Before, Ns::ZERO, cpu(0), all);
                }
                for (column, cell) in cells.iter().enumerate().filter(|(_, c)| **c != ".") {
                    cell.split(',').for_each(|word| self.happens(name, column, word));
                }
            }
        }
    }

    fn push(&mut self, phase: Phase, at: Ns, cpu: CpuId, what: EventKind) {
        self.push_of(Tid::UNKNOWN, phase, at, cpu, what);
    }

    fn push_of(&mut self, current: Tid, phase: Phase, at: Ns, cpu: CpuId, what: EventKind) {
        self.events.push((phase, Event { at, offset: 0, cpu, current, what }));
    }

    /// Adds a request to a block device, issued or completed.
    fn block(&mut self, column: usize, word: &str, on: CpuId) {
        let (who, sector) = word.split_once('=').unwrap_or_else(|| panic!("which sector? {word}"));
        let (thread, operation) = who.split_at(who.len() - 1);
        let operation = BlockOperation::from_rwbs(operation.to_uppercase().as_bytes());
        let (done, tid) = if thread.is_empty() { (true, Tid::UNKNOWN) } else { (false, Cell::read(thread).tid) };
        let (device, sector) = (Device::new(8, 0), sector.parse().unwrap_or_else(|_| panic!("no sector: {word}")));
        let request = BlockRequest { device, sector, bytes: 4096, operation, done };
        self.push_of(tid, Phase::After, ms(column as i64), on, EventKind::Block { tid, request });
    }

    fn cpu(&mut self, on: CpuId, cells: &[&str]) {
        self.cpus.push(on);
        self.columns = self.columns.max(cells.len());
        let mut before = Cell::IDLE;
        for (column, text) in cells.iter().enumerate() {
            if *text == "w" {
                let next = cells[column..]
                    .iter()
                    .find(|c| **c != "w")
                    .unwrap_or_else(|| panic!("no thread to wake: {cells:?}"));
                self.wake(WakeKind::Waking, column, Cell::read(next).tid, (on, Some(on)), Tid::UNKNOWN, false);
            }
            let now = Cell::read(text);
            if before.tid != now.tid && !now.unrecorded {
                self.switch(column, on, &before, &now);
            }
            before = now;
        }
    }

    fn switch(&mut self, column: usize, on: CpuId, before: &Cell, now: &Cell) {
        let usual = if now.tid == Tid::IDLE { 's' } else { '+' };
        let sign = if before.tid == Tid::IDLE { 'r' } else { before.suffix.unwrap_or(usual) };
        let (out, prev_state) = match sign {
            'r' => (SwitchOut::Runnable, 0),
            'u' => (SwitchOut::PreemptedToUser, 0),
            'y' => (SwitchOut::Yielded, 0),
            'q' => (SwitchOut::Throttled, 0),
            'k' => (SwitchOut::GaveWay, 0),
            '+' => (SwitchOut::Preempted, 256),
            'x' => (SwitchOut::Exited, 16),
            'z' => (SwitchOut::Exited, 32),
            'd' => (SwitchOut::Blocked, 2),
            _ => (SwitchOut::Blocked, 1),
        };
        let state_letter = if out.is_runnable() { b'R' } else { sign.to_ascii_uppercase() as u8 };
        let charged = self.charged.iter().find(|(at, tid, _)| *at == column && *tid == before.tid);
        let mut switch = Switch {
            prev: before.tid,
            next: now.tid,
            prev_name: name(before.tid),
            next_name: name(now.tid),
            stack: self.stack(column, before.tid),
            prev_state,
            prev_prio: self.prio(column, before.tid),
            next_prio: self.prio(column, now.tid),
            out,
            state_letter,
            prev_exec: charged.map(|t| t.2).into(),
        };
        if self.drawn.says("no_state") {
            (switch.out, switch.state_letter, switch.prev_state) = (SwitchOut::NotRecorded, b'?', 0);
        }
        let at = ms(column as i64);
        if self.drawn.says("one_sided") {
            self.push(
                Phase::Switch,
                at,
                on,
                EventKind::Switch(Switch { next: Tid::UNKNOWN, next_name: NameId::NONE, ..switch }),
            );
            self.push(
                Phase::Switch,
                at,
                on,
                EventKind::Switch(Switch { prev: Tid::UNKNOWN, prev_name: NameId::NONE, ..switch }),
            );
        } else {
            self.push(Phase::Switch, at, on, EventKind::Switch(switch));
        }
    }

    fn text(&mut self, text: String) -> NameId {
        self.texts.push(text);
        NameId(THREAD_NAMES.count() as u32 + self.texts.len() as u32)
    }

    /// Adds a callchain, and returns its thread.
    fn callchain(&mut self, column: usize, word: &str) -> Tid {
        let (thread, functions) = word.split_once('=').unwrap_or_else(|| panic!("which callchain? {word}"));
        let mut frame = |word: &str| {
            let (text, address) = word.strip_prefix('~').map_or((word, 1 << 63), |text| (text, 1));
            let (name, place) = text.split_once('~').map_or((text, None), |(name, place)| (name, Some(place)));
            let (name, inlined) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
            let (source, line) = place.map_or((NameId::NONE, 0), |place| {
                let (file, line) = place.split_once(':').unwrap_or_else(|| panic!("which line? {word}"));
                (self.text(file.to_owned()), line.parse().unwrap())
            });
            let function = self.text(name.to_owned());
            StackFrame { function, source, line, inlined, ..StackFrame::at(address) }
        };
        let chain = functions.split('<').map(&mut frame).collect();
        self.drawn.batch.stacks.push(chain);
        let tid = Cell::read(thread).tid;
        self.stacks.push((column, tid));
        tid
    }

    fn sample(&mut self, column: usize, word: &str) {
        let (word, on) = word.split_once('@').map_or((word, cpu(0)), |(w, n)| (w, cpu(n.parse().unwrap())));
        let tid = self.callchain(column, word);
        // Not that of a switch-out.
        self.stacks.pop();
        self.stacks.push((usize::MAX, tid));
        let stack = StackId(self.drawn.batch.stacks.len() as u32);
        self.drawn.facts.sampled = Some(Sampled { event: "cpu-clock".to_owned(), of_time: true, ..Sampled::default() });
        self.push_of(
            tid,
            Phase::After,
            ms(column as i64),
            on,
            EventKind::CpuSample { tid, stack, name: NameId::NONE, core: CoreType::Uniform },
        );
    }

    fn count(&mut self, column: usize, word: &str) {
        let (word, on) = word.split_once('@').map_or((word, cpu(0)), |(w, n)| (w, cpu(n.parse().unwrap())));
        let at_mark = word.contains('^');
        let parts = word.split_once(['=', '^']).and_then(|(thread, rest)| Some((thread, rest.split_once(':')?)));
        let Some((thread, (event, rest))) = parts else { panic!("what is counted? {word}") };
        let (count, times) = rest.split_once('/').unwrap_or((rest, "1"));
        let (length, running) = times.split_once(':').unwrap_or((times, times));
        let tid = if thread == "?" { Tid::UNKNOWN } else { Cell::read(thread).tid };
        let time = |text: &str| ms(text.parse().unwrap());
        let (length, running, count) = (time(length), time(running), count.parse().unwrap());
        let event = self.same_text(event);
        let what = if at_mark {
            EventKind::CountAtMark { tid, event, length, count, running }
        } else {
            EventKind::Count { tid, event, length, count, running }
        };
        self.push(Phase::After, ms(column as i64), on, what);
    }

    /// Returns the id of a text, the same one for the same text.
    fn same_text(&mut self, text: &str) -> NameId {
        let known = self.texts.iter().position(|known| known == text).map(|at| at as u32 + 1);
        let known = known.map(|at| NameId(THREAD_NAMES.count() as u32 + at));
        known.unwrap_or_else(|| self.text(text.to_owned()))
    }

    fn domain(&mut self, column: usize, word: &str) {
        let (name, rest) = word.split_once('=').unwrap_or_else(|| panic!("what part is it? {word}"));
        let (rest, parent) = rest.split_once('<').map_or((rest, None), |(rest, parent)| (rest, Some(parent)));
        let (rest, from_power) = rest.strip_suffix('~').map_or((rest, false), |rest| (rest, true));
        let (part, update) = rest.split_once(':').map_or((rest, None), |(part, update)| (part, Some(update)));
        let update = update.map(|update| ms(update.parse().unwrap())).into();
        let [domain, part, source] = [name, part, "drawn"].map(|text| self.same_text(text));
        let parent = parent.map_or(NameId::NONE, |parent| self.same_text(parent));
        let what = EnergyDomain { domain, part, parent, same_as: NameId::NONE, source, from_power, update };
        self.push(Phase::After, ms(column as i64), CpuId::UNKNOWN, EventKind::EnergyDomain(what));
    }

    fn energy(&mut self, column: usize, word: &str) {
        const NJ: i64 = 1_000_000;
        let parts = word.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once('/')?)));
        let Some((name, (used, length))) = parts else { panic!("which energy, in what time? {word}") };
        let domain = self.same_text(name);
        let (unknown, nj, spread_nj) = if let Some(why) = used.strip_prefix('?') {
            (self.same_text(why), MaybeCount::UNKNOWN, 0)
        } else {
            let (mj, spread) = used.split_once('^').unwrap_or((used, "0"));
            let nj = |mj: &str| mj.parse::<i64>().unwrap_or_else(|_| panic!("how many mJ? {word}")) * NJ;
            (NameId::NONE, MaybeCount::new(nj(mj)), nj(spread))
        };
        let what = EnergyUse { domain, unknown, length: ms(length.parse().unwrap()), nj, spread_nj };
        self.push(Phase::After, ms(column as i64), CpuId::UNKNOWN, EventKind::Energy(what));
    }

    fn temperature(&mut self, column: usize, word: &str) {
        let (zone, degrees) = word.split_once('=').unwrap_or_else(|| panic!("how hot is it? {word}"));
        let degrees: f64 = degrees.parse().unwrap_or_else(|_| panic!("no temperature: {word}"));
        let what = Temperature { zone: self.same_text(zone), millicelsius: (degrees * 1e3).round() as i32 };
        self.push(Phase::After, ms(column as i64), CpuId::UNKNOWN, EventKind::Temperature(what));
    }

    fn futex_call(&mut self, column: usize, word: &str) {
        let tid = Cell::read(word.split('=').next().unwrap_or_default()).tid;
        let what = match word.split_once('=') {
            None => EventKind::FutexReturn { tid },
            Some((thread, of)) => {
                let wake = of.strip_prefix('w').map(|word| format!("{thread}=m{word}"));
                let wait = self.futex_wait(wake.as_deref().unwrap_or(word));
                // FUTEX_WAKE of one thread, and as glibc waits for a mutex; both private.
                let (operation, value) = match wake {
                    Some(_) => (129, 1),
                    None if of.starts_with('m') => (128, wait.expected),
                    None => (wait.operation, wait.expected),
                };
                EventKind::FutexCall { tid, address: wait.address, operation, value }
            }
        };
        self.push(Phase::Before, ms(column as i64), cpu(0), what);
    }

    fn futex(&mut self, column: usize, word: &str) {
        let what = self.futex_wait(word);
        self.push(Phase::After, ms(column as i64), cpu(0), EventKind::FutexWait(what));
    }

    fn futex_wait(&self, word: &str) -> FutexWait {
        let (thread, of) = word.split_once('=').unwrap_or_else(|| panic!("which futex? {word}"));
        let (of, owner) = of.split_once('<').map_or((of, 0), |(of, by)| (of, Cell::read(by).tid.0.cast_unsigned()));
        let (kind, number) = of.split_at(1);
        // FUTEX_WAIT and FUTEX_WAIT_BITSET, both private, FUTEX_WAIT_BITSET with FUTEX_CLOCK_REALTIME, and FUTEX_LOCK_PI; those
        // for the end of a thread are not private.
        let (operation, expected, words) = match kind {
            "m" if owner == 0 => (137, 2, [2, 0, 0]),
            "m" => (128, 2, [2, owner, 0]),
            "M" => (0, 2, [2, owner, 0]),
            "p" => (128 + 6, 0, [owner | 1 << 31, 0, 0]),
            "r" => (393, 3, [3, 0, owner]),
            "t" => (265, owner, [owner, 0, 0]),
            "j" => (0, owner, [owner, 0, 0]),
            "k" => (137, u32::MAX, [u32::MAX, 0, 0]),
            "s" => (393, 0, [0; 3]),
            _ => panic!("no kind of futex: {word}"),
        };
        let address = 0x1000 * number.parse::<u64>().unwrap_or_else(|_| panic!("which futex? {word}"));
        let tid = Cell::read(thread).tid;
        FutexWait { tid, address, operation, expected, read: true, own: false, words }
    }

    fn object(&mut self, column: usize, word: &str) {
        let (thread, of) = word.split_once('=').unwrap_or_else(|| panic!("which object? {word}"));
        let (of, holder) = of.split_once('<').map_or((of, Tid::UNKNOWN), |(of, by)| (of, Cell::read(by).tid));
        let (kind, id, name) = self.which_object(of);
        let what = ObjectWait { tid: Cell::read(thread).tid, kind, id, name, holder };
        self.push(Phase::After, ms(column as i64), cpu(0), EventKind::ObjectWait(what));
    }

    fn readied(&mut self, column: usize, word: &str) {
        let (thread, of) = word.split_once('=').unwrap_or_else(|| panic!("what is ready? {word}"));
        let (kind, id, name) = self.which_object(of);
        let what = EventKind::ObjectReady { tid: Cell::read(thread).tid, kind, id, name };
        self.push(Phase::Before, ms(column as i64), cpu(0), what);
    }

    fn which_object(&mut self, word: &str) -> (WaitKind, u64, NameId) {
        let (of, name) = word.split_once(':').map_or((word, NameId::NONE), |(of, name)| (of, self.same_text(name)));
        let (kind, id) = of.split_at(of.find(|c: char| c.is_ascii_digit()).unwrap_or(of.len()));
        let kind = WaitKind::of_word(kind.as_bytes()).unwrap_or_else(|| panic!("no kind of object: {word}"));
        let id = id.parse().unwrap_or_else(|_| panic!("which object? {word}"));
        (kind, id, name)
    }

    fn woken_by_call(&mut self, column: usize, word: &str) {
        let (thread, call) = word.split_once('=').unwrap_or_else(|| panic!("in which call is the waker? {word}"));
        let call = if call.is_empty() { NameId::NONE } else { self.same_text(call) };
        let what = EventKind::WokenByCall { tid: Cell::read(thread).tid, call, argument: 0 };
        self.push(Phase::Before, ms(column as i64), cpu(0), what);
    }

    fn stack(&self, column: usize, of: Tid) -> StackId {
        let at = self.stacks.iter().position(|drawn| *drawn == (column, of));
        at.map_or(StackId::NONE, |at| StackId(at as u32 + 1))
    }

    fn allowed(&mut self, column: usize, word: &str) {
        let (thread, list) = word.split_once('=').unwrap_or_else(|| panic!("allowed where? {word}"));
        let cpus = if list.is_empty() { NameId::NONE } else { self.text(list.replace('+', ",")) };
        self.push(Phase::After, ms(column as i64), cpu(0), EventKind::Affinity { tid: Cell::read(thread).tid, cpus });
    }

    /// Adds the settings of a cgroup: a weight, or a quota in a period.
    fn limits(&mut self, column: usize, word: &str) {
        let (of, value) = word.split_once('=').unwrap_or_else(|| panic!("what weight or quota? {word}"));
        let (prefix, number) = of.split_once(':').map_or(("", of), |(_, number)| ("cpu:", number));
        let (path, id) = (self.text(format!("{prefix}/{number}")), number.parse().unwrap());
        let mut limits = (MaybeNs::NONE, 100_000_000, None);
        match value.split_once('/') {
            None => limits.2 = Some(value.parse().unwrap()),
            Some((quota, period)) => {
                limits.0 = MaybeNs::new(ms(quota.parse().unwrap()));
                limits.1 = ms(period.parse().unwrap()).0 as u32;
            }
        }
        let (quota, period, weight) = limits;
        let limits = EventKind::CgroupLimits { id, path, quota, period, weight, cpus: NameId::NONE };
        self.push(Phase::After, ms(column as i64), cpu(0), limits);
    }

    fn interrupt(&mut self, column: usize, word: &str, on: CpuId) {
        let (word, begins) = word.strip_suffix(')').map_or((word, true), |word| (word, false));
        let (kind, name) = word.split_once(':').unwrap_or(("", word));
        let (kind, number, name) = match kind {
            "soft" => (IrqKind::Soft, name.parse().unwrap_or_else(|_| panic!("no softirq: {word}")), ""),
            "timer" => (IrqKind::Timer, -1, name),
            "ipi" => (IrqKind::Ipi, -1, name),
            _ => (IrqKind::Hard, 9, name),
        };
        let name = if name.is_empty() { NameId::NONE } else { self.text(name.to_owned()) };
        self.push(Phase::After, ms(column as i64), on, EventKind::Irq { kind, number, begins, name });
    }

    fn happens(&mut self, row: &str, column: usize, word: &str) {
        if row == "allowed" {
            return self.allowed(column, word);
        }
        if row == "stack" {
            self.callchain(column, word);
            return;
        }
        if row == "sample" {
            return self.sample(column, word);
        }
        if row == "count" {
            return self.count(column, word);
        }
        match row {
            "domain" => return self.domain(column, word),
            "energy" => return self.energy(column, word),
            "temp" => return self.temperature(column, word),
            "futex" => return self.futex(column, word),
            "object" => return self.object(column, word),
            "readied" => return self.readied(column, word),
            "futexes" => return self.futex_call(column, word),
            "called" => return self.woken_by_call(column, word),
            _ => {}
        }
        if row == "weight" || row == "quota" {
            return self.limits(column, word);
        }
        let (word, late) = word.strip_suffix('!').map_or((word, false), |w| (w, true));
        let (word, place) = word.split_once('@').map_or((word, None), |(w, n)| (w, Some(cpu(n.parse().unwrap()))));
        let (word, elsewhere) = word.split_once('>').map_or((word, None), |(w, n)| (w, Some(cpu(n.parse().unwrap()))));
        if row == "cstate" {
            let state = if word == "-" { -1 } else { word.parse().unwrap_or_else(|_| panic!("no state: {word}")) };
            return self.push(Phase::After, ms(column as i64), place.unwrap_or(cpu(0)), EventKind::Idle { state });
        }
        if row == "irq" {
            return self.interrupt(column, word, place.unwrap_or(cpu(0)));
        }
        if row == "io" {
            return self.block(column, word, place.unwrap_or(cpu(0)));
        }
        if row == "parked" {
            let of = place.unwrap_or_else(|| panic!("which CPU is parked? {word}"));
            assert!(matches!(word, "(" | ")"), "use ( or ) for parked: {word}");
            return self.push(Phase::After, ms(column as i64), of, EventKind::Parking { of, parked: word == "(" });
        }
        let (word, number) = word.split_once('=').map_or((word, 0), |(w, n)| (w, n.parse().unwrap()));
        let amount = ms(number);
        let (word, waker) = word.split_once('<').map_or((word, Tid::UNKNOWN), |(w, by)| (w, Cell::read(by).tid));
        let Cell { tid, suffix, .. } = Cell::read(word);
        let (at, on) = (ms(column as i64), place.unwrap_or(cpu(0)));
        match row {
            "waking" => self.wake(WakeKind::Waking, column, tid, (on, elsewhere.or(place)), waker, late),
            "wakeup" => self.wake(WakeKind::Wakeup, column, tid, (on, elsewhere.or(place)), waker, late),
            "new" => self.wake(WakeKind::New, column, tid, (on, elsewhere.or(place)), waker, late),
            "migrate" => {
                let to = elsewhere.unwrap_or(on);
                self.push(Phase::Before, at, on, EventKind::Migrate { tid, from: cpu(0), to });
            }
            "charge" => self.push_of(tid, Phase::Before, at, on, EventKind::Charge { tid, ns: amount }),
            "freq" => {
                let khz = u32::try_from(number * 1_000_000).unwrap();
                self.push(Phase::Before, at, on, EventKind::Frequency { of: on, khz });
            }
            "exec" => self.charged.push((column, tid, amount)),
            "mark" => {
                let edge = match suffix {
                    Some('(') => MarkEdge::Begin,
                    Some(')') => MarkEdge::End,
                    _ => MarkEdge::Instant,
                };
                let name = if number > 0 { NameId(u32::try_from(number).unwrap()) } else { name(tid) };
                let mark = Mark { tid, pid: Pid::UNKNOWN, track: 0, name, edge };
                // Without a place, the event is not one of the CPU that runs the thread.
                let current = if place.is_some() { tid } else { Tid::UNKNOWN };
                self.push_of(current, Phase::After, at, on, EventKind::Mark(mark));
            }
            "prio" => self.prios.push((column, tid, number.try_into().unwrap())),
            "inherit" => {
                let donor = match waker {
                    Tid::UNKNOWN => Donor::NotRecorded,
                    Tid::IDLE => Donor::None,
                    donor => Donor::Thread(donor),
                };
                let (old_prio, prio) = (self.prio(column, tid), Prio::new(number.try_into().unwrap()));
                self.prios.push((column, tid, number.try_into().unwrap()));
                let priority = InheritedPriority { donor, old_prio, prio };
                self.push(Phase::After, at, on, EventKind::Inherit { tid, priority });
            }
            "inner" => {
                let number = number as i32;
                let what = EventKind::Inner { tid, inner_tid: Tid(number), inner_pid: Pid(number) };
                self.push(Phase::Before, at, on, what);
            }
            "nice" | "fifo" => {
                let is_fair = row == "nice";
                let base = if is_fair { 120 + number } else { 99 - number };
                let (prio, policy) = (Prio::new(base.try_into().unwrap()), i8::from(!is_fair));
                let nice = if is_fair { i8::try_from(number).unwrap() } else { 0 };
                self.push(
                    Phase::After,
                    at,
                    on,
                    EventKind::Priority { tid, prio, policy: Some(policy), nice: Some(nice) },
                );
                self.push(Phase::After, at, on, EventKind::SchedAttr { tid, prio, uclamp_min: None, uclamp_max: None });
            }
            "uclamp" => {
                let uclamp_min = Some(u16::try_from(number).unwrap());
                let attr = EventKind::SchedAttr { tid, prio: Prio::UNKNOWN, uclamp_min, uclamp_max: Some(1024) };
                self.push(Phase::After, at, on, attr);
            }
            "cgroup" => {
                let id = u64::try_from(number).unwrap();
                // The kernel's id of the root is 1.
                let path = if id == 1 { self.text("/".to_owned()) } else { NameId::NONE };
                self.push(Phase::After, at, on, EventKind::Cgroup { tid, id, path });
            }
            "ideal" => {
                self.push(Phase::After, at, cpu(0), EventKind::IdealCpu { tid, cpu: place });
            }
            "throttle" => {
                let begins = suffix == Some('(');
                self.push(Phase::After, at, on, EventKind::Throttle { tid: Some(tid), begins });
            }
            "yield" => self.push(Phase::Before, at, on, EventKind::Yield { tid, begins: suffix == Some('(') }),
            "process" => {
                let pid = Pid(if waker == Tid::UNKNOWN { tid.0 } else { waker.0 });
                self.push_of(tid, Phase::Before, at, on, EventKind::Name { tid, pid, name: name(tid) });
            }
            "named" => self.push_of(tid, Phase::After, at, on, EventKind::Sample),
            "current" => self.push(Phase::After, at, on, EventKind::Current { tid }),
            "seen" => {
                let (state, state_letter) = match suffix {
                    None => (SnapshotState::Running, b'R'),
                    Some('+' | 'r') => (SnapshotState::Ready, b'R'),
                    Some(c @ ('x' | 'z')) => (SnapshotState::Exited, c.to_ascii_uppercase() as u8),
                    Some(c) => (SnapshotState::Blocked, c.to_ascii_uppercase() as u8),
                };
                let entry = SnapshotEntry {
                    tid,
                    pid: Pid::UNKNOWN,
                    name: name(tid),
                    state,
                    state_letter,
                    cpu: on,
                    exec: MaybeNs::new(amount),
                };
                self.push(Phase::After, at, on, EventKind::Snapshot(entry));
            }
            _ => panic!("no row is called {row}"),
        }
    }

    fn prio(&self, column: usize, of: Tid) -> Prio {
        let set = self.prios.iter().filter(|(from, tid, _)| *from <= column && *tid == of);
        Prio::new(set.max_by_key(|(from, ..)| *from).map_or(120, |(.., prio)| *prio))
    }

    /// `place`: the CPU of the event, and the CPU for which the thread is woken.
    fn wake(&mut self, kind: WakeKind, column: usize, tid: Tid, place: (CpuId, Option<CpuId>), waker: Tid, late: bool) {
        let (on, target) = place;
        let (at, phase) = (ms(column as i64), if late { Phase::After } else { Phase::Wake });
        let prio = self.prio(column, tid);
        let wake = Wake { tid, name: name(tid), kind, target, waker, prio, stamp: at };
        self.push(phase, at, on, EventKind::Wake(wake));
    }

    fn lost(&mut self, of: Option<CpuId>, cells: &[&str]) {
        for (column, _) in cells.iter().enumerate().filter(|(_, c)| **c == "x") {
            if column > 0 && cells[column - 1] == "x" {
                continue;
            }
            let run = cells[column..].iter().take_while(|c| **c == "x").count();
            let (from, to) = (ms(column as i64), ms((column + run) as i64));
            let (from, events) = (MaybeNs::new(from), MaybeCount::UNKNOWN);
            let span = LossSpan { from, to: MaybeNs::new(to), cpu: of, events };
            self.push(Phase::After, to, of.unwrap_or(cpu(0)), EventKind::Loss(span));
        }
    }

    fn finish(mut self) -> Drawn {
        assert!(!self.cpus.is_empty(), "a trace has at least one row of a CPU");
        self.cpus.sort_unstable();
        self.push(Phase::After, ms(self.columns as i64), self.cpus[0], EventKind::Sample);
        self.events.sort_by_key(|(phase, event)| (event.at, *phase, event.cpu));
        let mut drawn = self.drawn;
        drawn.batch.events = self.events.into_iter().map(|(_, event)| event).collect();
        drawn.batch.names =
            THREAD_NAMES.map(|c| c.to_string().into()).chain(self.texts.into_iter().map(Into::into)).collect();
        let wakes = !drawn.says("no_wakes") && !drawn.says("one_sided");
        drawn.facts.has_waking = Some(wakes && !drawn.says("no_waking"));
        drawn.facts.has_wakeup = Some(wakes);
        drawn.facts.has_yields = drawn.says("yields");
        drawn.facts.whole_machine = true;
        drawn.facts.recorded.clone_from(&self.cpus);
        drawn.facts.online = self.cpus;
        drawn
    }
}

/// Returns the name of a thread; names are numbered like the threads.
fn name(tid: Tid) -> NameId {
    NameId(u32::try_from(tid.0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(drawn: &Drawn) -> Vec<(i64, u32, i32, i32, SwitchOut)> {
        let of = |e: &Event| match e.what {
            EventKind::Switch(s) => Some((e.at.0 / 1_000_000, e.cpu.0, s.prev.0, s.next.0, s.out)),
            _ => None,
        };
        drawn.batch.events.iter().filter_map(of).collect()
    }

    #[test]
    fn switches_wakeups_and_losses() {
        let t = trace(
            "cpu0 P0  A A B .
             cpu1 P0  . w C Cx .
             cpu2 E1  . D ? E
             lost1    . x x .",
        );
        assert_eq!(
            switches(&t),
            [
                (0, 0, 0, 1, SwitchOut::Runnable),
                (1, 2, 0, 4, SwitchOut::Runnable),
                (2, 0, 1, 2, SwitchOut::Preempted),
                (2, 1, 0, 3, SwitchOut::Runnable),
                (3, 0, 2, 0, SwitchOut::Blocked),
                (3, 2, 0, 5, SwitchOut::Runnable),
                (4, 1, 3, 0, SwitchOut::Exited),
            ]
        );
        let wakes: Vec<_> = t.batch.events.iter().filter(|e| matches!(e.what, EventKind::Wake(_))).collect();
        assert!(matches!(wakes[..], [Event { at: Ns(1_000_000), cpu: CpuId(1), .. }]));
        let (from, to) = (MaybeNs::new(ms(1)), MaybeNs::new(ms(3)));
        let span = LossSpan { from, to, cpu: Some(cpu(1)), events: MaybeCount::UNKNOWN };
        assert!(t.batch.events.iter().any(|e| e.what == EventKind::Loss(span) && e.at == ms(3)));
        assert_eq!(t.batch.events.last().map(|e| (e.at, e.what)), Some((ms(5), EventKind::Sample)));
    }

    #[test]
    fn one_sided_switches() {
        let t = trace("source one_sided\ncpu0 A B");
        assert_eq!(switches(&t)[2..], [(1, 0, 1, -1, SwitchOut::Preempted), (1, 0, -1, 2, SwitchOut::Preempted)]);
    }
}
