//! Stretches as rows of 32 bytes (a thread's) and 16 (a CPU's): all that a recording has are written and read once more between the two
//! stages, and found free memory for. Numbers that nearly none has (a sleep of more than four seconds) have no room in them.

use crate::rows::Row;
use crate::stretch_rows::Narrow;
use bytemuck::{Pod, Zeroable};
use model::{CpuId, CpuState, CpuStretch, MaybeNs, Ns, Prio, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};

/// Times from here on have no room beside a CPU's number: three days.
const LATE: i64 = 1 << 48;
/// What has no number, where numbers have 16 bits; larger ones have no room.
const NO_CPU: u16 = u16::MAX;
/// The same of 32 bits, and of 8.
const NONE: u32 = u32::MAX;
const NO_PRIO: u8 = u8::MAX;
/// The priority −1 of deadline threads.
const DEADLINE: u8 = u8::MAX - 1;

/// A time and a number below 2¹⁶.
#[inline]
fn beside(time: i64, number: u16) -> u64 {
    (time as u64) << 16 | u64::from(number)
}

/// A key of a thread, or of none, whose row would be [`NONE`].
#[inline]
fn key(thread: ThreadKey) -> Option<u32> {
    if thread == ThreadKey::UNKNOWN { Some(NONE) } else { u32::try_from(thread.0).ok().filter(|key| *key != NONE) }
}

#[inline]
fn of_key(key: u32) -> ThreadKey {
    if key == NONE { ThreadKey::UNKNOWN } else { ThreadKey(i64::from(key)) }
}

/// A thread's stretch in 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ThreadRow {
    /// Its begin beside its CPU, [`NO_CPU`] where there is none.
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

/// [`ThreadRow::kind`]: a stretch, or one that lies apart. 0: not filled.
const HERE: u8 = 1;
const APART: u8 = 2;

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
    type Whole = WholeThread;

    #[inline(always)]
    fn of(s: &ThreadStretch) -> Option<Self> {
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
            start: beside(start.0, cpu),
            length,
            exec,
            thread: key(s.thread)?,
            waker_thread: key(s.waker_thread)?,
            tid: s.tid.0,
            prio,
            state: s.state as u8,
            reason: reason_byte(s.reason),
            kind: HERE,
        })
    }

    #[inline(always)]
    fn stretch(&self) -> ThreadStretch {
        let start = (self.start >> 16) as i64;
        let cpu = self.start as u16;
        ThreadStretch {
            span: Span { start: Ns(start), end: Ns(start + i64::from(self.length)) },
            thread: of_key(self.thread),
            tid: Tid(self.tid),
            state: state_of(self.state),
            reason: Reason::of_number(self.reason),
            cpu: (cpu != NO_CPU).then_some(CpuId(cpu.into())),
            waker_thread: of_key(self.waker_thread),
            exec: if self.exec == NONE { MaybeNs::NONE } else { MaybeNs::new(Ns(self.exec.into())) },
            prio: match self.prio {
                NO_PRIO => Prio::UNKNOWN,
                DEADLINE => Prio::new(-1),
                prio => Prio::new(prio.into()),
            },
        }
    }

    fn apart(s: &ThreadStretch, number: u64) -> Self {
        let start = beside(s.span.start.0.clamp(0, LATE - 1), 0);
        let [thread, waker_thread] = [number as u32, (number >> 32) as u32];
        Self { start, thread, waker_thread, kind: APART, ..Self::zeroed() }
    }

    #[inline]
    fn number(&self) -> Option<u64> {
        (self.kind == APART).then(|| u64::from(self.waker_thread) << 32 | u64::from(self.thread))
    }

    fn whole(s: &ThreadStretch) -> WholeThread {
        WholeThread {
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

    fn of_whole(whole: &WholeThread) -> ThreadStretch {
        ThreadStretch {
            span: Span { start: Ns(whole.start), end: Ns(whole.end) },
            thread: ThreadKey(whole.thread),
            tid: Tid(whole.tid),
            state: state_of(whole.state),
            reason: Reason::of_number(whole.reason),
            cpu: u32::try_from(whole.cpu).ok().map(CpuId),
            waker_thread: ThreadKey(whole.waker_thread),
            exec: MaybeNs::of_word(whole.exec),
            prio: Prio::of_word(whole.prio),
        }
    }
}

/// A thread's stretch, whatever its numbers.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct WholeThread {
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

/// Found by its number, never by its order.
impl Row for WholeThread {
    fn is_filled(&self) -> bool {
        true
    }
}

/// A CPU's stretch in 16 bytes: whom it ran tells its state.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct CpuRow {
    /// Its begin beside the CPU.
    start: u64,
    /// 0: not filled. [`NONE`]: it lies apart.
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
    /// The state of a CPU that ran this one.
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
    type Whole = WholeCpu;

    #[inline(always)]
    fn of(s: &CpuStretch) -> Option<Self> {
        let Span { start, end } = s.span;
        let length =
            u32::try_from(end.0.checked_sub(start.0)?).ok().filter(|length| *length != NONE && *length != 0)?;
        let (cpu, thread) = (u16::try_from(s.cpu.0).ok()?, key(s.thread)?);
        let fits = (0..LATE).contains(&start.0) && s.state == Self::state(s.thread);
        fits.then_some(Self { start: beside(start.0, cpu), length, thread })
    }

    #[inline(always)]
    fn stretch(&self) -> CpuStretch {
        let (start, thread) = ((self.start >> 16) as i64, of_key(self.thread));
        CpuStretch {
            span: Span { start: Ns(start), end: Ns(start + i64::from(self.length)) },
            cpu: CpuId(self.start as u16 as u32),
            state: Self::state(thread),
            thread,
        }
    }

    fn apart(s: &CpuStretch, number: u64) -> Self {
        // 2⁴⁸ of them would fill any disk.
        let start = beside(s.span.start.0.clamp(0, LATE - 1), (number >> 32) as u16);
        Self { start, length: NONE, thread: number as u32 }
    }

    #[inline]
    fn number(&self) -> Option<u64> {
        (self.length == NONE).then(|| u64::from(self.start as u16) << 32 | u64::from(self.thread))
    }

    fn whole(s: &CpuStretch) -> WholeCpu {
        WholeCpu { start: s.span.start.0, end: s.span.end.0, thread: s.thread.0, cpu: s.cpu.0, state: s.state as u32 }
    }

    fn of_whole(whole: &WholeCpu) -> CpuStretch {
        CpuStretch {
            span: Span { start: Ns(whole.start), end: Ns(whole.end) },
            cpu: CpuId(whole.cpu),
            state: CpuState::ALL.get(whole.state as usize).copied().unwrap_or(CpuState::Unknown),
            thread: ThreadKey(whole.thread),
        }
    }
}

/// A CPU's stretch, whatever its numbers.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct WholeCpu {
    start: i64,
    end: i64,
    thread: i64,
    cpu: u32,
    state: u32,
}

/// Found by its number, never by its order.
impl Row for WholeCpu {
    fn is_filled(&self) -> bool {
        true
    }
}

fn state_of(byte: u8) -> ThreadState {
    ThreadState::ALL.get(usize::from(byte)).copied().unwrap_or(ThreadState::Unknown)
}

fn reason_byte(reason: Reason) -> u8 {
    reason.number().unwrap_or_else(|letter| letter.max(Reason::NUMBERED.len() as u8))
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

    /// Each as it was, in order, through rows; how many of them lay apart.
    fn there_and_back<R: Narrow>(all: &[R::Stretch]) -> u64
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
        rows.lie_apart()
    }

    #[test]
    fn every_reason_comes_back() {
        let letters = [b'S', b'D', b'?'].map(Reason::State);
        let all: Vec<_> =
            Reason::NUMBERED.into_iter().chain(letters).map(|reason| ThreadStretch { reason, ..THREAD }).collect();
        assert_eq!(there_and_back::<ThreadRow>(&all), 0);
    }

    #[test]
    fn what_has_no_room_lies_apart_and_comes_back() {
        let s = THREAD;
        let most = i64::from(u32::MAX);
        let until = |end| Span { start: Ns(1), end: Ns(end) };
        let narrow = [
            s,
            ThreadStretch { span: until(1 + most), ..s },
            ThreadStretch { span: Span { start: Ns(LATE - 1), end: Ns(LATE) }, ..s },
            ThreadStretch { cpu: None, exec: MaybeNs::new(Ns(0)), ..s },
            ThreadStretch { cpu: Some(CpuId(0xfffe)), exec: MaybeNs::new(Ns(most - 1)), prio: Prio::new(-1), ..s },
            ThreadStretch { waker_thread: ThreadKey::UNKNOWN, prio: Prio::UNKNOWN, tid: Tid(i32::MIN), ..s },
            ThreadStretch { waker_thread: ThreadKey::IDLE, prio: Prio::new(139), thread: ThreadKey(most - 1), ..s },
        ];
        assert_eq!(there_and_back::<ThreadRow>(&narrow), 0);
        let wide = [
            ThreadStretch { span: until(2 + most), ..s },
            ThreadStretch { span: until(i64::MAX), ..s },
            ThreadStretch { span: Span { start: Ns(LATE), end: Ns(LATE + 1) }, ..s },
            ThreadStretch { cpu: Some(CpuId(0xffff)), ..s },
            ThreadStretch { exec: MaybeNs::new(Ns(most)), ..s },
            ThreadStretch { exec: MaybeNs::new(Ns(-1)), ..s },
            ThreadStretch { prio: Prio::new(254), ..s },
            ThreadStretch { prio: Prio::new(-2), ..s },
            ThreadStretch { thread: ThreadKey(most), ..s },
            ThreadStretch { waker_thread: ThreadKey(-2), ..s },
        ];
        assert_eq!(there_and_back::<ThreadRow>(&wide), wide.len() as u64);

        let c = CpuStretch { span: until(2), cpu: CpuId(0xffff), state: CpuState::Busy, thread: ThreadKey(1) };
        let narrow = [
            c,
            CpuStretch { span: until(most), state: CpuState::Idle, thread: ThreadKey::IDLE, ..c },
            CpuStretch { state: CpuState::Unknown, thread: ThreadKey::UNKNOWN, ..c },
        ];
        assert_eq!(there_and_back::<CpuRow>(&narrow), 0);
        let wide = [
            CpuStretch { span: until(1 + most), ..c },
            CpuStretch { span: until(i64::MAX), ..c },
            CpuStretch { cpu: CpuId(1 << 16), ..c },
            CpuStretch { state: CpuState::Unknown, ..c },
            CpuStretch { thread: ThreadKey(most), ..c },
        ];
        assert_eq!(there_and_back::<CpuRow>(&wide), wide.len() as u64);
    }

    /// They come first, whatever their numbers.
    #[test]
    fn those_of_the_begin_are_known_though_they_lie_apart() {
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
