//! How a recording's thread states are read: as its table of `sched_switch` says, unless its switches contradict the table.
//!
//! Linux stores how a thread left its CPU as a number, and prints it as state letters. What the numbers mean differs between kernels, and
//! some kernels store other numbers than their own table says:
//!
//! | kernel | stores | R | S | D | T | t | X | Z | P | I |
//! | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
//! | as the tables since 4.14 say | a bit for each state | 0 | 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 |
//! | some of 4.14 to 4.19 | an index ([`StateReading::Index`]) | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
//! | some of 4.14 to 5.0 | the next bit ([`StateReading::Shifted`]) | 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256 |
//! | recorders that read `task->__state` | its bits since 6.1 ([`StateReading::Raw`]) | 0 | 1 | 2 | 4 | 8 | 128 | | 64 | 1026 |
//!
//! (Commits efb40f588b43, 3f5fe9fef5b2 and 3054426dc68e; include/linux/sched.h.) Before 4.14, 64 was dead. What cannot be: the idle task leaves its CPU
//! waiting, a kernel thread is traced, a dead thread runs again.

use model::{Batch, CpuId, EventKind, NameId, Switch, SwitchOut, Tid, WakeKind, is_kernel_thread};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The maximum numbers of CPUs, of threads that left for good, and of names that are followed, so that a hostile source cannot exhaust
/// memory.
const MAX_CPUS: usize = 1 << 14;
const MAX_GONE: usize = 1 << 16;
const MAX_NAMES: usize = 1 << 20;
/// The number of words of the filter of threads that left for good, and the bits of a word.
const FILTER: usize = 1 << 10;
const WORD: usize = u64::BITS as usize;
/// The bits of `task->__state` since Linux 6.1 (include/linux/sched.h) that a switch of `sched_switch` never has.
const FREEZABLE: u32 = 0x2000;
const NOLOAD: u32 = 0x400;
const WAKING: u32 = 0x200;
/// From this many impossible switch-outs on, they are not taken for damaged ones.
const SOME: u64 = 3;

/// Where a source's thread states come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum StateSource {
    /// corewise recorded them, or there are none: nothing is to be decided.
    #[default]
    Certain,
    /// Numbers, and the table that the recording's own `sched_switch` has.
    Table,
    /// Numbers, read as the recorded kernel release does.
    Release,
    /// Numbers without a table and a release, read as Linux 4.14 and later does.
    Assumed,
    /// State letters that the kernel or a tool printed.
    Printed,
}

/// How the states are read.
///
/// ```
/// use ingest::{StateReading, StateSource};
///
/// assert_eq!(StateReading::AsDescribed.sentence(StateSource::Certain), None);
/// let sentence = StateReading::Index.sentence(StateSource::Table);
/// assert!(sentence.is_some_and(|words| words.contains("index")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StateReading {
    /// As the source's table says, or the state letters.
    #[default]
    AsDescribed,
    /// The numbers are an index, not bits.
    Index,
    /// Each number is the bit above that of the table.
    Shifted,
    /// The numbers are the kernel's own `task->__state`, which has more bits than the table.
    Raw,
    /// 64 is dead: the kernel is older than Linux 4.14.
    Dead64,
    /// 64 is parked, although a tool printed it as `x`.
    Parked64,
    /// Whether 64, which a tool printed as `x`, is dead or parked is unknown.
    Unknown64,
    /// The switches contradict the table, and no other fits.
    Unknown,
}

impl StateReading {
    /// Returns whether the states are read in another way than the source describes them.
    #[must_use]
    pub fn is_changed(self) -> bool {
        self != Self::AsDescribed
    }

    /// Says which table was used, and why; `None` if nothing was to be decided.
    #[must_use]
    pub fn sentence(self, source: StateSource) -> Option<&'static str> {
        Some(match (self, source) {
            (_, StateSource::Certain) => return None,
            (Self::AsDescribed, StateSource::Table) => "as in the table of the recording's own sched_switch",
            (Self::AsDescribed, StateSource::Release) => "as in the table of the recorded kernel release",
            (Self::AsDescribed, StateSource::Assumed) => {
                "as in the table of Linux 4.14 and later: the recording has none"
            }
            (Self::AsDescribed, StateSource::Printed) => "as printed",
            (Self::Index, _) => {
                "the kernel stored an index and not the bits of its table, as some of Linux 4.14 to 4.19 do: kernel threads, which are \
                 never traced, leave in \"t\", which is I (idle)"
            }
            (Self::Shifted, _) => {
                "each state is the one before it in the table, as some of Linux 4.14 to 5.0 stored them: the idle task leaves in \"S\", \
                 and it never sleeps, so S is R, D is S and T is D"
            }
            (Self::Raw, _) => {
                "the numbers are the kernel's own task->__state, with bits that sched_switch never has (8192 is freezable): 8193 is S, \
                 1026 is I and 128 is dead, and whether a thread in 0 was preempted is unknown"
            }
            (Self::Dead64, _) => "64 (or x) is dead, as before Linux 4.14, and not parked, as since",
            (Self::Parked64, _) => "x is parked, as 64 is since Linux 4.14, and not dead, as before",
            (Self::Unknown64, _) => {
                "x is dead before Linux 4.14 and parked since, and nothing shows which kernel this is: what these threads did is unknown"
            }
            (Self::Unknown, _) => {
                "they contradict what is possible (the idle task waits, kernel threads are traced, or dead threads run again) and fit no \
                 known kernel: how threads left their CPUs is unknown"
            }
        })
    }

    /// Changes how a switch leaves its thread.
    fn apply(self, switch: &mut Switch, is_kernel: bool) {
        use SwitchOut::{Blocked, Exited, NotRecorded, Preempted, Runnable};
        let number = switch.prev_state;
        (switch.out, switch.state_letter) = match (self, switch.out, switch.state_letter) {
            (Self::Index, _, b't') => (Blocked, b'I'),
            (Self::Index, _, b'T') if number == 4 => (Blocked, b't'),
            (Self::Shifted, _, b'S') => (Runnable, b'R'),
            (Self::Shifted, _, b'D') => (Blocked, b'S'),
            (Self::Shifted, _, b'T') => (Blocked, b'D'),
            (Self::Shifted, _, b't') => (Blocked, b'T'),
            // Printed, these are two states: older tools have X and Z the other way round.
            (Self::Shifted, _, b'X' | b'Z') if number == 0 => (NotRecorded, b'?'),
            (Self::Shifted, _, b'X') => (Blocked, b't'),
            (Self::Shifted, _, b'Z') => (Exited, b'X'),
            (Self::Shifted, _, b'P' | b'x') => (Exited, b'Z'),
            (Self::Shifted, _, b'I') => (Blocked, b'P'),
            // I and R+ have one number; only kernel threads are in I.
            (Self::Shifted, Runnable | Preempted, _) if is_kernel => (NotRecorded, b'?'),
            (Self::Shifted, Runnable | Preempted, _) => (Preempted, b'R'),
            (Self::Raw, _, _) => raw(number),
            (Self::Dead64, Blocked, b'x') => (Exited, b'x'),
            (Self::Dead64, Blocked, b'P') if number == 64 => (Exited, b'x'),
            (Self::Parked64, Blocked, b'x') => (Blocked, b'P'),
            (Self::Unknown64, Blocked, b'x') => (NotRecorded, b'x'),
            (Self::Unknown, _, _) => (NotRecorded, b'?'),
            (_, out, state_letter) => (out, state_letter),
        };
    }
}

/// Returns how a thread leaves by the bits of its `task->__state`.
fn raw(number: u32) -> (SwitchOut, u8) {
    use SwitchOut::{Blocked, Exited, Runnable};
    let has = |bits: u32| number & bits != 0;
    match () {
        // The flag says that it is being woken: it can run.
        () if number == 0 || has(WAKING) => (Runnable, b'R'),
        () if has(0x80) => (Exited, b'X'),
        () if has(0x40) => (Blocked, b'P'),
        () if has(0x08) => (Blocked, b't'),
        () if has(0x04) => (Blocked, b'T'),
        () if has(0x01) => (Blocked, b'S'),
        () if has(NOLOAD) => (Blocked, b'I'),
        () => (Blocked, b'D'),
    }
}

/// Collects what a recording's switches show about its states, and applies what an earlier reading found.
pub(crate) struct States {
    source: StateSource,
    reading: StateReading,
    /// Whose names the names are, in their order.
    names: Vec<NameOf>,
    /// The name of the thread that each CPU's last switch brought in, if switches do not name the thread that leaves.
    running: Vec<NameId>,
    gone: Gone,
    evidence: Evidence,
    /// Whether any switch has a state.
    any: bool,
}

/// What kind of thread has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameOf {
    Idle,
    Kernel,
    Program,
}

impl NameOf {
    fn of(name: &str) -> Self {
        match name {
            idle if idle.starts_with("swapper") => Self::Idle,
            kernel if is_kernel_thread(kernel) => Self::Kernel,
            _ => Self::Program,
        }
    }
}

/// The counts of switch-outs.
#[derive(Default)]
struct Evidence {
    /// Of the idle task: runnable, as it always is; in S; in another state.
    idle_runnable: u64,
    idle_s: u64,
    idle_other: u64,
    /// Of other threads in D, which are those that sleep if the states are shifted.
    waits_d: u64,
    /// In t: of kernel threads and of others.
    traced_kernel: u64,
    traced_others: u64,
    /// Numbers that an index does not have; those that are not a single bit up to 256.
    above_index: u64,
    no_bit: u64,
    /// Numbers with a bit that only `task->__state` has.
    raw: u64,
    /// In X, Z or x, and how many of these threads ran again.
    dead: u64,
    dead_again: u64,
    /// In 64: of threads that are no kernel threads, of any; and how many of them ran again.
    other_64: u64,
    any_64: u64,
    again_64: u64,
    /// Printed as `x` by a tool.
    printed_x: u64,
    /// Numbers that only kernels since 4.14, or only those before, have.
    since_4_14: bool,
    before_4_14: bool,
}

/// The threads that left for good, by what is known so far.
struct Gone {
    /// A bit for each TID modulo its size, since most threads that are switched in never left for good.
    filter: Box<[u64; FILTER]>,
    /// Whether it left in 64.
    threads: FxHashMap<Tid, bool>,
}

impl Gone {
    fn place(tid: Tid) -> (usize, u64) {
        let at = tid.0 as usize % (FILTER * WORD);
        (at / WORD, 1 << (at % WORD))
    }

    fn add(&mut self, tid: Tid, in_64: bool) {
        if self.threads.len() < MAX_GONE {
            let (word, bit) = Self::place(tid);
            self.filter[word] |= bit;
            self.threads.insert(tid, in_64);
        }
    }

    /// Removes a thread; returns whether it had left in 64, if it had left for good.
    #[inline]
    fn take(&mut self, tid: Tid) -> Option<bool> {
        let (word, bit) = Self::place(tid);
        if self.filter[word] & bit == 0 { None } else { self.threads.remove(&tid) }
    }
}

impl States {
    pub(crate) fn new(source: StateSource, reading: StateReading) -> Self {
        Self {
            source,
            reading,
            names: Vec::new(),
            running: Vec::new(),
            gone: Gone { filter: Box::new([0; FILTER]), threads: FxHashMap::default() },
            evidence: Evidence::default(),
            any: false,
        }
    }

    /// Applies the reading to a batch, or collects what it shows.
    pub(crate) fn read(&mut self, batch: &mut Batch) {
        if self.source == StateSource::Certain {
            return;
        }
        let room = MAX_NAMES.saturating_sub(self.names.len());
        self.names.extend(batch.names.iter().take(room).map(|name| NameOf::of(name)));
        for event in &mut batch.events {
            match &mut event.what {
                EventKind::Switch(switch) => {
                    self.any |= switch.out != SwitchOut::NotRecorded;
                    let name = self.leaving(event.cpu, switch);
                    if self.reading.is_changed() {
                        self.reading.apply(switch, self.name_of(name) == Some(NameOf::Kernel));
                    } else {
                        self.switch(switch, name);
                    }
                }
                EventKind::Wake(wake) if wake.kind == WakeKind::New => drop(self.gone.take(wake.tid)),
                EventKind::Fork { tid, .. } => drop(self.gone.take(*tid)),
                _ => {}
            }
        }
    }

    /// Counts a switch; `name`: that of the thread that leaves.
    #[inline]
    fn switch(&mut self, switch: &Switch, name: NameId) {
        match self.gone.take(switch.next) {
            Some(true) => self.evidence.again_64 += 1,
            Some(false) => self.evidence.dead_again += 1,
            None => {}
        }
        let number = switch.prev_state;
        self.evidence.since_4_14 |= number == 256;
        self.evidence.before_4_14 |= number >= 512;
        self.evidence.raw += u64::from(number & FREEZABLE != 0 && number & 3 != 0 && number <= u32::from(u16::MAX));
        if switch.out.is_runnable() {
            self.evidence.idle_runnable += u64::from(switch.prev == Tid::IDLE);
            return;
        }
        if switch.out == SwitchOut::NotRecorded {
            return;
        }
        // A text that a program made up may have a thread 0 of another name.
        if switch.prev == Tid::IDLE && self.name_of(name).is_none_or(|of| of == NameOf::Idle) {
            let is_s = switch.state_letter == b'S';
            self.evidence.idle_s += u64::from(is_s);
            self.evidence.idle_other += u64::from(!is_s);
            return;
        }
        let found = &mut self.evidence;
        found.no_bit += u64::from(number != 0 && (!number.is_power_of_two() || number > 256));
        match switch.state_letter {
            b'S' => {}
            b'D' => found.waits_d += 1,
            _ => self.rare(switch, name),
        }
    }

    /// Returns the name of the thread that leaves. Compact switches of Perfetto name only the thread that comes.
    #[inline]
    fn leaving(&mut self, cpu: CpuId, switch: &Switch) -> NameId {
        if switch.prev_name != NameId::NONE { switch.prev_name } else { self.came_in(cpu, switch) }
    }

    /// Stores the name of the thread that a switch brings in; returns that of the thread that came before.
    fn came_in(&mut self, cpu: CpuId, switch: &Switch) -> NameId {
        let at = cpu.0 as usize;
        if at >= self.running.len() {
            if at >= MAX_CPUS {
                return NameId::NONE;
            }
            self.running.resize(at + 1, NameId::NONE);
        }
        std::mem::replace(&mut self.running[at], switch.next_name)
    }

    /// Counts a switch-out in another state than R, S and D.
    fn rare(&mut self, switch: &Switch, name: NameId) {
        let of = self.name_of(name);
        let found = &mut self.evidence;
        let number = switch.prev_state;
        found.above_index += u64::from(number > 8);
        found.since_4_14 |= switch.state_letter == b'I';
        let in_64 = switch.out == SwitchOut::Blocked
            && (switch.state_letter == b'x' || switch.state_letter == b'P' && number == 64);
        match switch.state_letter {
            b't' if of == Some(NameOf::Kernel) => found.traced_kernel += 1,
            b't' => found.traced_others += 1,
            _ if in_64 => {
                found.any_64 += 1;
                found.other_64 += u64::from(of == Some(NameOf::Program));
                found.printed_x += u64::from(switch.state_letter == b'x');
            }
            _ => {}
        }
        if switch.out == SwitchOut::Exited {
            found.dead += 1;
        }
        if in_64 || switch.out == SwitchOut::Exited {
            self.gone.add(switch.prev, in_64);
        }
    }

    /// Returns whose name it is; `None` if it is unknown.
    fn name_of(&self, name: NameId) -> Option<NameOf> {
        let at = (name.0 as usize).checked_sub(1)?;
        self.names.get(at).copied()
    }

    /// Whether any switch so far has a state.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Returns how the states must be read, as far as the batches so far show it.
    pub(crate) fn reading(&self) -> StateReading {
        if self.source == StateSource::Certain || self.reading.is_changed() {
            return self.reading;
        }
        let found = &self.evidence;
        if found.raw >= SOME {
            return StateReading::Raw;
        }
        if found.idle_s + found.idle_other > found.idle_runnable {
            let none_else = found.idle_other == 0 && found.idle_runnable == 0 && found.no_bit == 0;
            let is_shifted = none_else && found.waits_d > 0;
            return if is_shifted { StateReading::Shifted } else { StateReading::Unknown };
        }
        if found.traced_kernel > found.traced_others {
            if found.above_index == 0 {
                return StateReading::Index;
            }
            if found.traced_kernel >= SOME && found.traced_kernel > found.above_index {
                return StateReading::Unknown;
            }
        }
        if found.dead_again >= SOME && found.dead_again > found.dead / 2 {
            return StateReading::Unknown;
        }
        self.of_64()
    }

    /// Returns what 64 means, if the source itself does not say it.
    fn of_64(&self) -> StateReading {
        let found = &self.evidence;
        if found.any_64 == 0 || matches!(self.source, StateSource::Table | StateSource::Release) {
            return StateReading::AsDescribed;
        }
        let parked = if found.printed_x > 0 { StateReading::Parked64 } else { StateReading::AsDescribed };
        match () {
            () if found.before_4_14 => StateReading::Dead64,
            () if found.since_4_14 || found.again_64 > 0 => parked,
            // Only kernel threads are parked.
            () if found.other_64 > 0 => StateReading::Dead64,
            () if found.printed_x > 0 => StateReading::Unknown64,
            () => StateReading::AsDescribed,
        }
    }
}
