//! Stretches as rows of 32 bytes (threads) and 16 bytes (CPUs). All stretches of a recording are written and read once between the
//! two stages, so they need to be small. Rare large values (such as a sleep of more than four seconds) do not fit.

use crate::rows::Row;
use crate::stretch_rows::Narrow;
use bytemuck::{Pod, Zeroable};
use model::{CpuId, CpuState, CpuStretch, MaybeNs, Ns, Prio, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};

/// The first time that cannot be packed with a CPU number: three days.
const LATE: i64 = 1 << 48;
/// Stands for no CPU in 16 bits; larger numbers do not fit.
const NO_CPU: u16 = u16::MAX;
/// Stand for no value in 32 bits and in 8 bits.
const NONE: u32 = u32::MAX;
const NO_PRIO: u8 = u8::MAX;
/// Stands for the priority −1 of deadline threads.
const DEADLINE: u8 = u8::MAX - 1;

/// Packs a time and a number below 2¹⁶.
#[inline]
fn pack(time: i64, number: u16) -> u64 {
    (time as u64) << 16 | u64::from(number)
}

/// Returns a thread key in 32 bits, [`NONE`] if unknown; `None` if it does not fit.
#[inline]
fn key(thread: ThreadKey) -> Option<u32> {
    if thread == ThreadKey::UNKNOWN { Some(NONE) } else { u32::try_from(thread.0).ok().filter(|key| *key != NONE) }
}

#[inline]
fn from_key(key: u32) -> ThreadKey {
    if key == NONE { ThreadKey::UNKNOWN } else { ThreadKey(i64::from(key)) }
}

/// A stretch of a thread in 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ThreadRow {
    /// The begin packed with the CPU, [`NO_CPU`] if there is none.
    start: u64,
    length: u32,
    /// [`NONE`]: unknown.
    exec: u32,
    thread: u32,
    waker_thread: u32,
    tid: i32,
    prio: u8,
    state: u8,
    reason: u8,
    kind: u8,
}

/// Values of [`ThreadRow::kind`]: a stretch, or a reference to a wide row. 0: not filled.
const NARROW: u8 = 1;
const WIDE: u8 = 2;

impl Row for ThreadRow {
    fn is_filled(&self) -> bool {
        self.kind != 0
    }
    fn is_first(&self) -> bool {
        self.start >> 16 == 0
    }
}

impl Narrow for ThreadRow {
    type Stretch = ThreadStretch;
    type Wide = WideThread;

    #[inline(always)]
    fn try_narrow(s: &ThreadStretch) -> Option<Self> {
        let Span { start, end } = s.span;
        let length = u32::try_from(end.0.checked_sub(start.0)?).ok()?;
        let cpu = s.cpu.map_or(Some(NO_CPU), |cpu| u16::try_from(cpu.0).ok().filter(|cpu| *cpu != NO_CPU))?;
        let exec = match s.exec.get() {
            None => NONE,
            Some(exec) => u32::try_from(exec.0).ok().filter(|exec| *exec != NONE)?,
        };
        let prio = match s.prio.get() {
            None => NO_PRIO,
            Some(-1) => DEADLINE,
            Some(prio) => u8::try_from(prio).ok().filter(|prio| *prio < DEADLINE)?,
        };
        (0..LATE).contains(&start.0).then_some(Self {
            start: pack(start.0, cpu),
            length,
            exec,
            thread: key(s.thread)?,
            waker_thread: key(s.waker_thread)?,
            tid: s.tid.0,
            prio,
            state: s.state as u8,
            reason: reason_byte(s.reason),
            kind: NARROW,
        })
    }

    #[inline(always)]
    fn stretch(&self) -> ThreadStretch {
        let start = (self.start >> 16) as i64;
        let cpu = self.start as u16;
        ThreadStretch {
            span: Span { start: Ns(start), end: Ns(start + i64::from(self.length)) },
            thread: from_key(self.thread),
            tid: Tid(self.tid),
            state: state_of(self.state),
            reason: Reason::from_number(self.reason),
            cpu: (cpu != NO_CPU).then_some(CpuId(cpu.into())),
            waker_thread: from_key(self.waker_thread),
            exec: if self.exec == NONE { MaybeNs::NONE } else { MaybeNs::new(Ns(self.exec.into())) },
            prio: match self.prio {
                NO_PRIO => Prio::UNKNOWN,
                DEADLINE => Prio::new(-1),
                prio => Prio::new(prio.into()),
            },
        }
    }

    fn wide_marker(s: &ThreadStretch, number: u64) -> Self {
        let start = pack(s.span.start.0.clamp(0, LATE - 1), 0);
        let [thread, waker_thread] = [number as u32, (number >> 32) as u32];
        Self { start, thread, waker_thread, kind: WIDE, ..Self::zeroed() }
    }

    #[inline]
    fn wide_number(&self) -> Option<u64> {
        (self.kind == WIDE).then(|| u64::from(self.waker_thread) << 32 | u64::from(self.thread))
    }

    fn to_wide(s: &ThreadStretch) -> WideThread {
        WideThread {
            start: s.span.start.0,
            end: s.span.end.0,
            exec: s.exec.to_word(),
            thread: s.thread.0,
            waker_thread: s.waker_thread.0,
            cpu: s.cpu.map_or(-1, |cpu| i64::from(cpu.0)),
            tid: s.tid.0,
            prio: s.prio.to_word(),
            state: s.state as u8,
            reason: reason_byte(s.reason),
        }
    }

    fn from_wide(wide: &WideThread) -> ThreadStretch {
        ThreadStretch {
            span: Span { start: Ns(wide.start), end: Ns(wide.end) },
            thread: ThreadKey(wide.thread),
            tid: Tid(wide.tid),
            state: state_of(wide.state),
            reason: Reason::from_number(wide.reason),
            cpu: u32::try_from(wide.cpu).ok().map(CpuId),
            waker_thread: ThreadKey(wide.waker_thread),
            exec: MaybeNs::from_word(wide.exec),
            prio: Prio::from_word(wide.prio),
        }
    }
}

/// A stretch of a thread with any values.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct WideThread {
    start: i64,
    end: i64,
    exec: i64,
    thread: i64,
    waker_thread: i64,
    /// −1: none.
    cpu: i64,
    tid: i32,
    prio: i16,
    state: u8,
    reason: u8,
}

/// Found by index, not by order.
impl Row for WideThread {
    fn is_filled(&self) -> bool {
        true
    }
}

/// A stretch of a CPU in 16 bytes; the thread determines its state.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CpuRow {
    /// The begin packed with the CPU.
    start: u64,
    /// 0: not filled. [`NONE`]: a reference to a wide row.
    length: u32,
    thread: u32,
}

impl Row for CpuRow {
    fn is_filled(&self) -> bool {
        self.length != 0
    }
    fn is_first(&self) -> bool {
        self.start >> 16 == 0
    }
}

impl CpuRow {
    /// Returns the state of a CPU that ran this thread.
    fn state(thread: ThreadKey) -> CpuState {
        match thread {
            ThreadKey::UNKNOWN => CpuState::Unknown,
            ThreadKey::IDLE => CpuState::Idle,
            _ => CpuState::Busy,
        }
    }
}

impl Narrow for CpuRow {
    type Stretch = CpuStretch;
    type Wide = WideCpu;

    #[inline(always)]
    fn try_narrow(s: &CpuStretch) -> Option<Self> {
        let Span { start, end } = s.span;
        let length =
            u32::try_from(end.0.checked_sub(start.0)?).ok().filter(|length| *length != NONE && *length != 0)?;
        let (cpu, thread) = (u16::try_from(s.cpu.0).ok()?, key(s.thread)?);
        let fits = (0..LATE).contains(&start.0) && s.state == Self::state(s.thread);
        fits.then_some(Self { start: pack(start.0, cpu), length, thread })
    }

    #[inline(always)]
    fn stretch(&self) -> CpuStretch {
        let (start, thread) = ((self.start >> 16) as i64, from_key(self.thread));
        CpuStretch {
            span: Span { start: Ns(start), end: Ns(start + i64::from(self.length)) },
            cpu: CpuId(self.start as u16 as u32),
            state: Self::state(thread),
            thread,
        }
    }

    fn wide_marker(s: &CpuStretch, number: u64) -> Self {
        // 48 bits suffice: so many rows would fill any disk.
        let start = pack(s.span.start.0.clamp(0, LATE - 1), (number >> 32) as u16);
        Self { start, length: NONE, thread: number as u32 }
    }

    #[inline]
    fn wide_number(&self) -> Option<u64> {
        (self.length == NONE).then(|| u64::from(self.start as u16) << 32 | u64::from(self.thread))
    }

    fn to_wide(s: &CpuStretch) -> WideCpu {
        WideCpu { start: s.span.start.0, end: s.span.end.0, thread: s.thread.0, cpu: s.cpu.0, state: s.state as u32 }
    }

    fn from_wide(wide: &WideCpu) -> CpuStretch {
        CpuStretch {
            span: Span { start: Ns(wide.start), end: Ns(wide.end) },
            cpu: CpuId(wide.cpu),
            state: CpuState::ALL.get(wide.state as usize).copied().unwrap_or(CpuState::Unknown),
            thread: ThreadKey(wide.thread),
        }
    }
}

/// A stretch of a CPU with any values.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct WideCpu {
    start: i64,
    end: i64,
    thread: i64,
    cpu: u32,
    state: u32,
}

/// Found by index, not by order.
impl Row for WideCpu {
    fn is_filled(&self) -> bool {
        true
    }
}

fn state_of(byte: u8) -> ThreadState {
    ThreadState::ALL.get(usize::from(byte)).copied().unwrap_or(ThreadState::Unknown)
}

fn reason_byte(reason: Reason) -> u8 {
    reason.number().unwrap_or_else(|state| state.max(Reason::NUMBERED.len() as u8))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rows::Cursor;
    use crate::stretch_rows::StretchRows;
    use std::ops::ControlFlow;

    const THREAD: ThreadStretch = ThreadStretch {
        span: Span { start: Ns(1), end: Ns(2) },
        thread: ThreadKey(7),
        tid: Tid(9),
        state: ThreadState::Ready,
        reason: Reason::Woken,
        cpu: Some(CpuId(3)),
        waker_thread: ThreadKey(5),
        exec: MaybeNs::NONE,
        prio: Prio::new(120),
    };

    /// Checks that stretches round-trip through rows, in order. Returns how many needed a wide row.
    fn assert_round_trip<R: Narrow>(all: &[R::Stretch]) -> u64
    where
        R::Stretch: PartialEq + std::fmt::Debug,
    {
        let mut rows = StretchRows::<R>::default();
        let places: Vec<u64> = all.iter().map(|_| rows.reserve()).collect();
        places.iter().zip(all).rev().for_each(|(place, stretch)| rows.fill(*place, stretch));
        let (mut cursor, mut read, mut out) = (Cursor::default(), Vec::new(), Vec::new());
        while rows.next(&mut cursor, &mut read, &mut out).unwrap() {}
        assert_eq!(out, all);
        let mut back = Vec::new();
        let each = |batch: &[R::Stretch]| {
            back.extend(batch.iter().rev().copied());
            ControlFlow::Continue(())
        };
        rows.read_back(each).unwrap();
        back.reverse();
        assert_eq!(back, all);
        rows.wide_count()
    }

    #[test]
    fn every_reason_round_trips() {
        let states = [b'S', b'D', b'?'].map(Reason::State);
        let all: Vec<_> =
            Reason::NUMBERED.into_iter().chain(states).map(|reason| ThreadStretch { reason, ..THREAD }).collect();
        assert_eq!(assert_round_trip::<ThreadRow>(&all), 0);
    }

    #[test]
    fn large_values_round_trip_through_wide_rows() {
        let s = THREAD;
        let max = i64::from(u32::MAX);
        let until = |end| Span { start: Ns(1), end: Ns(end) };
        let narrow = [
            s,
            ThreadStretch { span: until(1 + max), ..s },
            ThreadStretch { span: Span { start: Ns(LATE - 1), end: Ns(LATE) }, ..s },
            ThreadStretch { cpu: None, exec: MaybeNs::new(Ns(0)), ..s },
            ThreadStretch { cpu: Some(CpuId(0xfffe)), exec: MaybeNs::new(Ns(max - 1)), prio: Prio::new(-1), ..s },
            ThreadStretch { waker_thread: ThreadKey::UNKNOWN, prio: Prio::UNKNOWN, tid: Tid(i32::MIN), ..s },
            ThreadStretch { waker_thread: ThreadKey::IDLE, prio: Prio::new(139), thread: ThreadKey(max - 1), ..s },
        ];
        assert_eq!(assert_round_trip::<ThreadRow>(&narrow), 0);
        let wide = [
            ThreadStretch { span: until(2 + max), ..s },
            ThreadStretch { span: until(i64::MAX), ..s },
            ThreadStretch { span: Span { start: Ns(LATE), end: Ns(LATE + 1) }, ..s },
            ThreadStretch { cpu: Some(CpuId(0xffff)), ..s },
            ThreadStretch { exec: MaybeNs::new(Ns(max)), ..s },
            ThreadStretch { exec: MaybeNs::new(Ns(-1)), ..s },
            ThreadStretch { prio: Prio::new(254), ..s },
            ThreadStretch { prio: Prio::new(-2), ..s },
            ThreadStretch { thread: ThreadKey(max), ..s },
            ThreadStretch { waker_thread: ThreadKey(-2), ..s },
        ];
        assert_eq!(assert_round_trip::<ThreadRow>(&wide), wide.len() as u64);

        let c = CpuStretch { span: until(2), cpu: CpuId(0xffff), state: CpuState::Busy, thread: ThreadKey(1) };
        let narrow = [
            c,
            CpuStretch { span: until(max), state: CpuState::Idle, thread: ThreadKey::IDLE, ..c },
            CpuStretch { state: CpuState::Unknown, thread: ThreadKey::UNKNOWN, ..c },
        ];
        assert_eq!(assert_round_trip::<CpuRow>(&narrow), 0);
        let wide = [
            CpuStretch { span: until(1 + max), ..c },
            CpuStretch { span: until(i64::MAX), ..c },
            CpuStretch { cpu: CpuId(1 << 16), ..c },
            CpuStretch { state: CpuState::Unknown, ..c },
            CpuStretch { thread: ThreadKey(max), ..c },
        ];
        assert_eq!(assert_round_trip::<CpuRow>(&wide), wide.len() as u64);
    }

    /// Wide rows at the begin come first too.
    #[test]
    fn wide_rows_at_the_begin_come_first() {
        let long = ThreadStretch { span: Span { start: Ns(0), end: Ns(i64::MAX) }, ..THREAD };
        let mut rows = StretchRows::<ThreadRow>::default();
        let [early, late] = [rows.reserve(), rows.reserve()];
        rows.fill(early, &THREAD);
        rows.fill(late, &long);
        let (mut cursor, mut read, mut out) = (Cursor::default(), Vec::new(), Vec::new());
        while rows.next(&mut cursor, &mut read, &mut out).unwrap() {}
        assert_eq!(out, [long, THREAD]);
    }
}
