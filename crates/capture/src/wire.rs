//! Decodes the records of the kernel side. `src/bpf/wire.h` defines the format.
//!
//! The bytes are read from files that may be truncated or corrupt, so no length or number is trusted.

use crate::objects;
use model::{
    CallchainEnd, Clock, CpuId, Event, EventKind, FutexWait, IrqKind, NameId, Ns, Prio, StackId, Switch, SwitchOut,
    Tid, Wake, WakeKind,
};

/// Several frequent events of one CPU.
pub const KIND_BLOCK: u8 = 1;
/// One rare event.
pub const KIND_RARE: u8 = 2;
/// A row of a snapshot.
pub const KIND_ROW: u8 = 3;
/// Number of blocks of each CPU, for programs that interrupt each other.
pub const LEVELS: usize = 4;
/// Number of pending wakeups of each CPU.
pub const PENDING: u32 = 32;
/// Bytes of a block's head.
pub const BLOCK_HEAD: usize = 32;

pub const FORK: u8 = 1;
pub const EXEC: u8 = 2;
pub const EXIT: u8 = 3;
pub const RENAME: u8 = 4;
pub const PRIORITY: u8 = 5;
pub const AFFINITY: u8 = 6;
pub const CGROUP: u8 = 7;
pub const CURRENT: u8 = 8;
pub const INFERRED_SWITCH: u8 = 10;
pub const MISSED_WAKING: u8 = 11;
pub const MARKER: u8 = 12;
pub const ENTERED: u8 = 13;
pub const RETURNED: u8 = 14;
pub const THROTTLED: u8 = 20;
pub const UNTHROTTLED: u8 = 21;
pub const PARKED: u8 = 22;
pub const UNPARKED: u8 = 23;
pub const FUNCTION: u8 = 24;
pub const MASK_CHANGED: u8 = 25;
pub const COUNTED_AT_MARK: u8 = 29;
pub const OBJECT: u8 = 30;

/// Reads numbers one after another. After the end it returns zeros and clears `complete`.
pub struct Bytes<'a> {
    from: &'a [u8],
    at: usize,
    /// Whether all bytes that were read existed.
    pub complete: bool,
}

impl<'a> Bytes<'a> {
    pub fn new(from: &'a [u8]) -> Self {
        Self { from, at: 0, complete: true }
    }

    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let bytes = self.from.get(self.at..self.at.saturating_add(n));
        self.complete &= bytes.is_some();
        self.at = self.at.saturating_add(n).min(self.from.len());
        bytes.unwrap_or_default()
    }

    pub fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    pub fn u16(&mut self) -> u16 {
        self.take(2).try_into().map(u16::from_ne_bytes).unwrap_or_default()
    }

    pub fn u32(&mut self) -> u32 {
        self.take(4).try_into().map(u32::from_ne_bytes).unwrap_or_default()
    }

    pub fn i32(&mut self) -> i32 {
        self.u32().cast_signed()
    }

    pub fn u64(&mut self) -> u64 {
        self.take(8).try_into().map(u64::from_ne_bytes).unwrap_or_default()
    }

    pub fn ns(&mut self) -> Ns {
        ns(self.u64())
    }

    /// Reads a field of `n` bytes as a text that ends at its first zero byte.
    pub fn text(&mut self, n: usize) -> String {
        let bytes = self.take(n);
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.from.get(self.at..).unwrap_or_default()
    }
}

/// Converts a kernel time stamp. Stamps beyond 292 years are invalid and become the maximum.
pub fn ns(stamp: u64) -> Ns {
    Ns(i64::try_from(stamp).unwrap_or(i64::MAX))
}

/// The head of a block, before its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockHead {
    pub level: usize,
    pub cpu: u16,
    pub events: u32,
    pub base: u64,
    pub last: u64,
    pub lost: u64,
}

/// Decodes a block's head (`bytes` begins with the kind).
pub fn block_head(bytes: &[u8]) -> Option<BlockHead> {
    let mut b = Bytes::new(bytes);
    let kind = b.u8();
    let level = usize::from(b.u8());
    let head = BlockHead { level, cpu: b.u16(), events: b.u32(), base: b.u64(), last: b.u64(), lost: b.u64() };
    (b.complete && kind == KIND_BLOCK && level < LEVELS).then_some(head)
}

/// Decodes a dynamic priority from a byte; 255 is −1.
fn prio(byte: u32) -> Prio {
    Prio::new(if byte & 255 == 255 { -1 } else { (byte & 255) as i16 })
}

/// Returns the state letter, class and number of a state code, as the kernel's `sched_switch` prints them.
pub fn state(code: u8) -> (u8, SwitchOut, u32) {
    match code {
        0 => (b'R', SwitchOut::Runnable, 0),
        9 => (b'R', SwitchOut::Preempted, 0x100),
        5 | 6 => (b"XZ"[usize::from(code) - 5], SwitchOut::Exited, 1 << (code - 1)),
        1..=8 => (b"RSDTtXZPI"[usize::from(code)], SwitchOut::Blocked, 1 << (code - 1)),
        10 => (b'?', SwitchOut::NotRecorded, 0),
        11 => (b'R', SwitchOut::PreemptedToUser, 0),
        12 => (b'R', SwitchOut::Yielded, 0),
        13 => (b'R', SwitchOut::Throttled, 0),
        14 => (b'R', SwitchOut::GaveWay, 0),
        15 => (b'R', SwitchOut::Throttled, 0x100),
        _ => (b'?', SwitchOut::Blocked, 0),
    }
}

/// Returns the state code of a task's raw state, as the kernel calculates it (`__task_state_index`).
pub fn state_code(raw: u32, exit_state: u32) -> u8 {
    let mut bits = (raw | exit_state) & 0x7f;
    if raw & 0x402 == 0x402 {
        bits = 0x80; // TASK_IDLE
    }
    if raw & 0x9000 != 0 {
        bits = 2; // TASK_RTLOCK_WAIT, TASK_FROZEN
    }
    (u32::BITS - bits.leading_zeros()) as u8
}

/// The target of a wakeup known from the kernel's queue only: its waking, and the migration after it, record the target.
const NO_TARGET: u32 = 0xffff;

/// Returns a wakeup that is reported later: `word` contains how long ago it was, and its target.
fn late_wakeup(tid: Tid, now: u64, word: u64) -> EventKind {
    let target = (word & 0xffff) as u32;
    EventKind::Wake(Wake {
        tid,
        name: NameId::NONE,
        kind: WakeKind::WakeupAtSwitchIn,
        target: (target != NO_TARGET).then_some(CpuId(target)),
        waker: Tid::UNKNOWN,
        prio: Prio::UNKNOWN,
        stamp: ns(now.saturating_sub(word >> 16)),
    })
}

/// Flag of an event's kind: callchains follow.
const WITH_STACKS: u8 = 0x80;
/// Flag of an event's kind: the number of a system call follows.
const WITH_CALL: u8 = 0x40;
/// Flag of an event's kind: what a futex call waits for follows.
const WITH_FUTEX: u8 = 0x20;
/// The number of the futex call on x86-64, as which all calls are recorded.
pub const FUTEX: i32 = 202;
/// The bits of a futex's address. Above them are three bits, which say that the words could be read, that the thread has the word to itself,
/// and that the words follow, and then the operation.
const FUTEX_ADDRESS_BITS: u32 = 52;
/// Stands for a page fault, in place of a system call.
pub const PAGE_FAULT: i32 = 0xff_ffff;
/// The bits of a system call's number. Above them is the number of what it waits for.
const CALL_BITS: u32 = 12;
/// The number of a kernel callchain of which only the system call is known: this plus the call's number.
pub const CALLS: i32 = 1 << 30;

/// The type of a record of counts, as in bpf/wire.h.
pub const COUNTED: u8 = 16;

/// The type of a wakeup by a call that does not wake the futex, as in bpf/wire.h.
const WOKEN_BY_CALL: u8 = 18;

/// The type of a wait for a lock of the kernel, as in bpf/wire.h.
const KERNEL_LOCK: u8 = 19;
const READY: u8 = 20;

/// The type of a sample, as in bpf/profile.h. In the spool, numbers of callchains replace the addresses.
pub const CPU_SAMPLE: u8 = 28;

/// The most addresses in the callchains of a sample, as in bpf/wire.h.
const SAMPLE_DEPTHS: [usize; 2] = [127, USER_DEPTH];

/// The most addresses of a callchain in a program, as in bpf/wire.h.
pub const USER_DEPTH: usize = 128;

/// The numbers of user callchains that BPF unwound, as in bpf/wire.h, from this one on.
pub const FIRST_WALKED: i32 = 1 << 20;

/// Reads a sample as the kernel side wrote it, after its head: the process, the addresses in the kernel and in the program, and how these
/// end.
pub fn sample(b: &mut Bytes<'_>) -> (i32, [Vec<u64>; 2], CallchainEnd) {
    let pid = b.i32();
    let ended = ended(b.u32());
    let lengths = [b.i32(), b.i32()];
    let mut part = |at: usize| {
        let all: Vec<u64> = (0..SAMPLE_DEPTHS[at]).map(|_| b.u64()).collect();
        let length = usize::try_from(lengths[at]).unwrap_or(0) / 8;
        all[..length.min(all.len())].to_vec()
    };
    (pid, [part(0), part(1)], ended)
}

/// Returns how a callchain ended by its number in recordings.
pub fn ended(number: u32) -> CallchainEnd {
    CallchainEnd::ALL.get(number as usize).copied().unwrap_or(CallchainEnd::Unknown)
}

/// Returns a sample as the spool has it.
pub fn numbered_sample(head: &[u8], chain: Chain) -> Vec<u8> {
    let numbers = [chain.kernel, chain.user, chain.pid, 0].map(i32::to_ne_bytes);
    [head, numbers.as_flattened()].concat()
}

/// Reads the callchains of a sample of the spool, after its head.
pub fn sample_chain(b: &mut Bytes<'_>) -> Chain {
    let (kernel, user, pid) = (b.i32(), b.i32(), b.i32());
    Chain { pid, kernel, user }
}

/// The callchains of a switch-out or a sample: their numbers in the kernel's maps; negative: none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chain {
    /// The process of the thread.
    pub pid: i32,
    /// The kernel callchain.
    pub kernel: i32,
    /// The user callchain.
    pub user: i32,
}

/// Returns the address by which a frame of a callchain is looked up: for a caller, the byte before its return address.
pub fn code_at(address: u64, innermost: bool) -> u64 {
    if innermost { address } else { address.wrapping_sub(1) }
}

/// Decodes a block's events in order. `chain` returns the id of a callchain, with the event's time. Stops at the first invalid record and
/// returns `false`.
pub fn decode_block(
    head: &BlockHead,
    data: &[u8],
    offset: u64,
    chain: &mut impl FnMut(Chain, Ns) -> StackId,
    out: &mut impl FnMut(Event),
) -> bool {
    let mut b = Bytes::new(data);
    let cpu = CpuId(u32::from(head.cpu));
    let mut last = head.base;
    for _ in 0..head.events {
        let at_byte = (data.len() - b.rest().len()) as u64;
        let time = head.base.saturating_add(u64::from(b.u32()));
        let (kind, a, wide) = (b.u8(), b.u8(), b.u16());
        if time < last {
            return false;
        }
        last = time;
        let at = ns(time);
        let mut waits_for = None;
        let base = kind & !(WITH_STACKS | WITH_CALL | WITH_FUTEX);
        let what = match if matches!(base, 1 | 2) { base } else { kind } {
            1 | 2 => {
                let (prev, next, exec) = (Tid(b.i32()), Tid(b.i32()), b.ns());
                if base == 2 {
                    out(Event {
                        at,
                        offset: offset + at_byte,
                        cpu,
                        current: Tid::UNKNOWN,
                        what: late_wakeup(next, time, b.u64()),
                    });
                }
                let mut stack = StackId::NONE;
                if kind & WITH_STACKS != 0 {
                    let (kernel, user, pid) = (b.i32(), b.i32(), b.i32());
                    if b.complete {
                        stack = chain(Chain { pid, kernel, user }, at);
                    }
                }
                if kind & WITH_CALL != 0 {
                    let (call, object) = call(b.u32());
                    if b.complete && kind & WITH_STACKS == 0 {
                        stack = chain(Chain { pid: 0, kernel: CALLS + call, user: -libc::EFAULT }, at);
                    }
                    waits_for = object.map(|number| EventKind::ObjectWait(objects::of_number(prev, number)));
                }
                if kind & WITH_FUTEX != 0 {
                    waits_for = Some(futex_wait(&mut b, prev));
                    if b.complete && kind & WITH_STACKS == 0 {
                        stack = chain(Chain { pid: 0, kernel: CALLS + FUTEX, user: -libc::EFAULT }, at);
                    }
                }
                let (state_letter, class, number) = state(a);
                EventKind::Switch(Switch {
                    prev,
                    next,
                    prev_name: NameId::NONE,
                    next_name: NameId::NONE,
                    prev_state: number,
                    prev_prio: prio(u32::from(wide)),
                    next_prio: prio(u32::from(wide) >> 8),
                    out: class,
                    state_letter,
                    stack,
                    prev_exec: Some(exec).filter(|exec| prev != Tid::IDLE && *exec != Ns::MAX).into(),
                })
            }
            3..=5 => EventKind::Wake(Wake {
                tid: Tid(b.i32()),
                name: NameId::NONE,
                kind: [WakeKind::Waking, WakeKind::Wakeup, WakeKind::New][usize::from(kind) - 3],
                target: Some(CpuId(u32::from(wide))),
                waker: Tid(b.i32()),
                prio: prio(u32::from(a)),
                stamp: at,
            }),
            6 => EventKind::Migrate { tid: Tid(b.i32()), from: CpuId(u32::from(wide)), to: CpuId(b.u32()) },
            7 => EventKind::Idle { state: if a == 255 { -1 } else { i32::from(a) } },
            8 => EventKind::Frequency { of: CpuId(b.u32()), khz: b.u32() },
            9 | 10 => {
                // The reader adds the names, here and below, from the spool's tables of interrupts and functions.
                EventKind::Irq { kind: IrqKind::Hard, number: b.i32(), begins: kind == 9, name: NameId::NONE }
            }
            11 | 12 => {
                EventKind::Irq { kind: IrqKind::Soft, number: i32::from(a), begins: kind == 11, name: NameId::NONE }
            }
            13 => {
                let (tid, _) = (Tid(b.i32()), b.u32());
                late_wakeup(tid, time, b.u64())
            }
            14 => EventKind::Irq { kind: IrqKind::Timer, number: b.i32(), begins: true, name: NameId::NONE },
            17 => EventKind::Irq { kind: IrqKind::Timer, number: 0, begins: false, name: NameId::NONE },
            COUNTED => {
                counted(&mut b, usize::from(a), wide, &mut |what| {
                    out(Event { at, offset: offset + at_byte, cpu, current: Tid::UNKNOWN, what });
                });
                if !b.complete {
                    return false;
                }
                continue;
            }
            15 => EventKind::Irq { kind: IrqKind::Ipi, number: i32::from(a), begins: true, name: NameId::NONE },
            WOKEN_BY_CALL => {
                // The reader adds the name of the call, as with interrupts.
                EventKind::WokenByCall { tid: Tid(b.i32()), call: NameId(b.u32()), argument: b.u64() }
            }
            KERNEL_LOCK => {
                let (tid, holder) = (Tid(b.i32()), b.i32());
                EventKind::ObjectWait(objects::of_lock(tid, a, holder, b.u64()))
            }
            READY => objects::ready(Tid(b.i32()), b.u32()),
            _ => return false,
        };
        if !b.complete {
            return false;
        }
        for what in std::iter::once(what).chain(waits_for) {
            out(Event { at, offset: offset + at_byte, cpu, current: Tid::UNKNOWN, what });
        }
    }
    true
}

/// Returns a system call's number, or [`PAGE_FAULT`], and the number of what it waits for, if that is known.
fn call(word: u32) -> (i32, Option<u32>) {
    if word == PAGE_FAULT.cast_unsigned() {
        return (PAGE_FAULT, None);
    }
    let object = word >> CALL_BITS;
    ((word & ((1 << CALL_BITS) - 1)).cast_signed(), Some(object).filter(|number| *number > 0))
}

/// Decodes what a thread waits for in a futex call.
fn futex_wait(b: &mut Bytes<'_>, tid: Tid) -> EventKind {
    let (expected, packed) = (b.u32(), b.u64());
    let follow = packed >> (FUTEX_ADDRESS_BITS + 2) & 1 == 1;
    let words = follow.then(|| std::array::from_fn(|_| b.u32()));
    futex_of(tid, expected, packed, words)
}

/// Returns a wait for a futex from the expected value, the address with the operation and its bits, and the words of memory.
fn futex_of(tid: Tid, expected: u32, packed: u64, words: Option<[u32; 4]>) -> EventKind {
    let address = packed & ((1 << FUTEX_ADDRESS_BITS) - 1);
    let [read, own] = std::array::from_fn(|bit| packed >> (FUTEX_ADDRESS_BITS + bit as u32) & 1 == 1);
    let operation = (packed >> (FUTEX_ADDRESS_BITS + 3)) as u16;
    let [word, at_8, at_12, at_16] = words.unwrap_or_default();
    let words = [word, at_8, if address.is_multiple_of(8) { at_16 } else { at_12 }];
    EventKind::FutexWait(FutexWait { tid, address, operation, expected, read, own, words })
}

/// How many events a record of counts has at most, as in bpf/wire.h.
pub const COUNTS: usize = 8;
/// Bit of a record of counts: an event counted for only a part of the time.
pub const COUNTS_SHARED: u16 = 1 << COUNTS;
/// From this bit on: how many events a record of counts has.
pub const COUNTS_MANY: usize = COUNTS + 1;

/// Decodes what the events from number `first` on counted. [`EventKind::Count::event`] is the event's number; the spool has its name.
fn counted(b: &mut Bytes<'_>, first: usize, bits: u16, out: &mut impl FnMut(EventKind)) {
    let (tid, _) = (Tid(b.i32()), b.u32());
    counts(b, first, bits, &mut |event, length, count, running| {
        out(EventKind::Count { tid, event, length, count, running });
    });
}

/// Decodes what the events had counted at a mark, after the record's head, like [`counted`].
pub fn counted_at_mark(b: &mut Bytes<'_>, tid: Tid, out: &mut impl FnMut(EventKind)) {
    let (first, bits) = (b.u32() as usize, b.u32() as u16);
    counts(b, first, bits, &mut |event, length, count, running| {
        out(EventKind::CountAtMark { tid, event, length, count, running });
    });
}

/// Decodes the time since the reading before and the counts. Passes on each event's number, that time, the count and how long it counted.
fn counts(b: &mut Bytes<'_>, first: usize, bits: u16, out: &mut impl FnMut(NameId, Ns, i64, Ns)) {
    let length = b.ns();
    let (shared, many) = (bits & COUNTS_SHARED != 0, usize::from(bits >> COUNTS_MANY).min(COUNTS));
    let (mut counts, mut ran) = ([0; COUNTS], [length; COUNTS]);
    counts.iter_mut().take(many).for_each(|count| *count = b.u64());
    if shared {
        ran.iter_mut().take(many).for_each(|time| *time = b.ns());
    }
    if !b.complete {
        return;
    }
    for n in (0..many).filter(|n| bits >> n & 1 == 1) {
        let event = NameId((first.saturating_add(n)) as u32);
        // Its two clocks may differ a little.
        out(event, length, u64::cast_signed(counts[n]), ran[n].min(length));
    }
}

/// The head of a rare event or a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RareHead {
    pub kind: u8,
    pub of: u8,
    pub cpu: u16,
    pub tid: i32,
    pub at: Ns,
}

/// Bytes of a [`RareHead`].
pub const RARE_HEAD: usize = 16;

pub fn rare_head(b: &mut Bytes<'_>) -> RareHead {
    RareHead { kind: b.u8(), of: b.u8(), cpu: b.u16(), tid: b.i32(), at: b.ns() }
}

/// A row of a snapshot.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub tid: i32,
    pub at: Ns,
    pub cpu: u16,
    pub pid: i32,
    pub inner_tid: i32,
    pub inner_pid: i32,
    pub level: u32,
    pub prio: i32,
    pub policy: i32,
    pub nice: i32,
    pub on_cpu: bool,
    pub on_rq: u32,
    pub delayed: bool,
    pub state: u32,
    pub exit_state: u32,
    pub exec: Ns,
    pub cgroup: u64,
    pub comm: String,
    /// See [`attr`].
    pub attr: u32,
    pub mask: Vec<u64>,
    /// What it waits for, if that is known.
    pub waits_for: Option<EventKind>,
}

/// Bytes of a row.
pub const ROW: usize = RARE_HEAD + 48 + 16 + 16 + 8 + MASK_WORDS * 8 + 16;
/// In place of a call: none is known.
pub const NO_CALL: u32 = u32::MAX;
/// Bytes of a row before its name.
pub const ROW_COMM: usize = RARE_HEAD + 48 + 16;
const MASK_WORDS: usize = 16;

/// Decodes a row.
pub fn row(bytes: &[u8]) -> Option<Row> {
    let mut b = Bytes::new(bytes);
    let head = rare_head(&mut b);
    let row = Row {
        tid: head.tid,
        at: head.at,
        cpu: head.cpu,
        pid: b.i32(),
        inner_tid: b.i32(),
        inner_pid: b.i32(),
        level: b.u32(),
        prio: b.i32(),
        policy: b.i32(),
        nice: b.i32(),
        on_cpu: b.u32() != 0,
        on_rq: b.u32(),
        delayed: b.u32() != 0,
        state: b.u32(),
        exit_state: b.u32(),
        exec: b.ns(),
        cgroup: b.u64(),
        comm: b.text(16),
        attr: bytes.get(ROW_COMM + 20..).map_or(0, |rest| Bytes::new(rest).u32()),
        mask: mask(&mut b),
        waits_for: wait_of(Tid(head.tid), b.rest()),
    };
    (b.complete && head.kind == KIND_ROW).then_some(row)
}

/// Decodes what a row's thread waits for.
fn wait_of(tid: Tid, bytes: &[u8]) -> Option<EventKind> {
    let mut b = Bytes::new(bytes);
    let (word, expected, packed) = (b.u32(), b.u32(), b.u64());
    if !b.complete || word == NO_CALL {
        return None;
    }
    if packed != 0 {
        return Some(futex_of(tid, expected, packed, None));
    }
    call(word).1.map(|number| EventKind::ObjectWait(objects::of_number(tid, number)))
}

/// Decodes a thread's own priority and its utilisation clamps (minimum, maximum; `None` if not recorded), encoded as in
/// `struct rare_priority` of bpf/wire.h. `None`: not recorded.
pub fn attr(word: u32) -> Option<(Prio, Option<u16>, Option<u16>)> {
    let bits = |from: u32| Some((word >> from & 2047) as u16);
    let clamps = if word >> 30 & 1 == 1 { (bits(8), bits(19)) } else { (None, None) };
    (word >> 31 == 1).then_some((prio(word), clamps.0, clamps.1))
}

/// Decodes a CPU mask: the number of words, then the words.
pub fn mask(b: &mut Bytes<'_>) -> Vec<u64> {
    let words = (b.u32() as usize).min(MASK_WORDS);
    let _pad = b.u32();
    let mut all: Vec<u64> = (0..MASK_WORDS).map(|_| b.u64()).collect();
    all.truncate(words);
    all
}

/// Formats a mask as a kernel CPU list ("0-3,8").
pub fn cpu_list(mask: &[u64]) -> String {
    let mut text = String::new();
    let set = |cpu: usize| mask.get(cpu / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1);
    let mut cpu = 0;
    while cpu < mask.len() * 64 {
        if !set(cpu) {
            cpu += 1;
            continue;
        }
        let first = cpu;
        while set(cpu + 1) {
            cpu += 1;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if cpu > first {
            text.push('-');
            text.push_str(&cpu.to_string());
        }
        cpu += 1;
    }
    text
}

/// Returns the number of a clock in the spool.
pub fn clock_number(which: Clock) -> u8 {
    match which {
        Clock::Monotonic => 0,
        Clock::Boottime => 1,
        Clock::Realtime => 2,
        Clock::Tsc => 3,
        Clock::Perf => 4,
    }
}

/// Returns the clock with a number.
pub fn clock_of(number: u8) -> Option<Clock> {
    Some(match number {
        0 => Clock::Monotonic,
        1 => Clock::Boottime,
        2 => Clock::Realtime,
        3 => Clock::Tsc,
        4 => Clock::Perf,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_match_the_kernels() {
        // Interruptible, uninterruptible, idle kernel thread, dead and reaped, zombie, parked, frozen.
        let codes = [(0, 0), (1, 0), (2, 0), (0x402, 0), (0x80, 0x10), (0x80, 0x20), (0x40, 0), (0x8001, 0)];
        let state_letters: Vec<u8> = codes.iter().map(|(s, e)| state(state_code(*s, *e)).0).collect();
        assert_eq!(state_letters, b"RSDIXZPD");
        assert_eq!(state(9), (b'R', SwitchOut::Preempted, 0x100));
        assert_eq!(state(6).2, 0x20);
        // The kernel prints R for all of these.
        for code in [0, 11, 12, 13, 14] {
            let (state_letter, out, raw) = state(code);
            assert!((state_letter, raw) == (b'R', 0) && out.is_runnable(), "{code}: {out:?}");
        }
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list(&[0b1_0000_1111]), "0-3,8");
        assert_eq!(cpu_list(&[1 << 63, 1]), "63-64");
        assert_eq!(cpu_list(&[]), "");
    }

    #[test]
    fn invalid_blocks_are_rejected() {
        let head = BlockHead { level: 0, cpu: 1, events: u32::MAX, base: u64::MAX, last: 0, lost: 0 };
        for kind in 0..=255u8 {
            let mut data = vec![255u8; 40];
            data[4] = kind;
            assert!(!decode_block(&head, &data, 0, &mut |_, _| StackId::NONE, &mut |_| ()));
        }
    }
}
