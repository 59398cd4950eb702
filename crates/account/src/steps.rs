//! All kinds of rows up to the same time, for those who follow threads and CPUs at once.

use crate::cut::{Cut, Cutter, Knife};
use crate::rows::{Cursor, Row, Rows};
use crate::stretch_rows::{Narrow, StretchRows};
use bytemuck::{Pod, Zeroable};
use model::{
    Allowed, BlockedAt, CpuId, CpuStretch, Interrupt, IrqKind, Mark, MarkEdge, Marked, Move, NameId, Ns, Pid, Power,
    PowerChange, SetTo, Setting, StackId, ThreadStretch, Throttle, Tid, Together,
};
use std::io::Result;

/// A move in 16 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MoveRow {
    at: i64,
    tid: i32,
    cpu: u32,
}

impl Row for MoveRow {
    fn is_filled(&self) -> bool {
        self.tid != 0
    }
}

impl MoveRow {
    pub(crate) fn of(moved: &Move) -> Self {
        Self { at: moved.at.0, tid: moved.tid.0, cpu: moved.to.0 }
    }

    pub(crate) fn moved(&self) -> Move {
        Move { at: Ns(self.at), tid: Tid(self.tid), to: CpuId(self.cpu) }
    }
}

/// What was marked, in 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MarkRow {
    at: i64,
    track: i64,
    tid: i32,
    pid: i32,
    name: u32,
    /// From 1 on.
    edge: u32,
}

impl Row for MarkRow {
    fn is_filled(&self) -> bool {
        self.edge != 0
    }
}

impl MarkRow {
    pub(crate) fn of(m: &Marked) -> Self {
        let (at, Mark { tid, pid, track, name, edge }) = (m.at.0, m.mark);
        let edge = match edge {
            MarkEdge::Begin => 1,
            MarkEdge::End => 2,
            MarkEdge::Instant => 3,
        };
        Self { at, track, tid: tid.0, pid: pid.0, name: name.0, edge }
    }

    pub(crate) fn marked(&self) -> Marked {
        let edge = match self.edge {
            1 => MarkEdge::Begin,
            2 => MarkEdge::End,
            _ => MarkEdge::Instant,
        };
        let (tid, pid, name) = (Tid(self.tid), Pid(self.pid), NameId(self.name));
        Marked { at: Ns(self.at), mark: Mark { tid, pid, track: self.track, name, edge } }
    }
}

/// One of a [`PowerChange`].
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PowerRow {
    at: i64,
    cpu: u32,
    /// From 1 on.
    kind: u32,
    /// The state's number, kHz, or 1 where it is parked; of an interrupt its number and, in the upper half, its name.
    value: u64,
}

/// As a row numbers them.
const INTERRUPTS: [IrqKind; 4] = [IrqKind::Hard, IrqKind::Soft, IrqKind::Timer, IrqKind::Ipi];
/// The first number of an interrupt's begin, and of its end.
const BEGINS: u32 = 5;
const ENDS: u32 = BEGINS + INTERRUPTS.len() as u32;

impl Row for PowerRow {
    fn is_filled(&self) -> bool {
        self.kind != 0
    }
}

impl PowerRow {
    pub(crate) fn of(change: &PowerChange) -> Self {
        let kind = |of: Interrupt| INTERRUPTS.iter().position(|kind| *kind == of.kind).map_or(0, |at| at as u32);
        let value = |of: Interrupt| u64::from(of.number.cast_unsigned()) | u64::from(of.name.0) << 32;
        let (kind, value) = match change.to {
            Power::Awake => (1, 0),
            Power::Idle(state) => (2, state.into()),
            Power::Frequency(khz) => (3, khz.into()),
            Power::Parked(parked) => (4, parked.into()),
            Power::Interrupt(of) => (BEGINS + kind(of), value(of)),
            Power::Interrupted(of) => (ENDS + kind(of), value(of)),
        };
        Self { at: change.at.0, cpu: change.cpu.0, kind, value }
    }

    pub(crate) fn change(&self) -> PowerChange {
        let value = self.value as u32;
        let interrupt = |kind: u32| Interrupt {
            kind: INTERRUPTS.get(kind as usize).copied().unwrap_or(IrqKind::Hard),
            number: value.cast_signed(),
            name: NameId((self.value >> 32) as u32),
        };
        let to = match self.kind {
            1 => Power::Awake,
            2 => Power::Idle(value),
            3 => Power::Frequency(value),
            4 => Power::Parked(value != 0),
            kind if kind < ENDS => Power::Interrupt(interrupt(kind - BEGINS)),
            kind => Power::Interrupted(interrupt(kind - ENDS)),
        };
        PowerChange { at: Ns(self.at), cpu: CpuId(self.cpu), to }
    }
}

/// Where a thread is allowed from now on, in 16 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct AllowedRow {
    at: i64,
    tid: i32,
    cpus: u32,
}

impl Row for AllowedRow {
    fn is_filled(&self) -> bool {
        self.tid != 0
    }
}

impl AllowedRow {
    pub(crate) fn of(a: &Allowed) -> Self {
        Self { at: a.at.0, tid: a.tid.0, cpus: a.cpus.0 }
    }

    pub(crate) fn allowed(&self) -> Allowed {
        Allowed { at: Ns(self.at), tid: Tid(self.tid), cpus: NameId(self.cpus) }
    }
}

/// A change of a thread's being throttled, in 16 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ThrottleRow {
    at: i64,
    tid: i32,
    /// From 1 on.
    edge: u32,
}

impl Row for ThrottleRow {
    fn is_filled(&self) -> bool {
        self.edge != 0
    }
}

impl ThrottleRow {
    pub(crate) fn of(t: &Throttle) -> Self {
        Self { at: t.at.0, tid: t.tid.0, edge: 1 + u32::from(t.begins) }
    }

    pub(crate) fn throttle(&self) -> Throttle {
        Throttle { at: Ns(self.at), tid: Tid(self.tid), begins: self.edge == 2 }
    }
}

/// Where in its code a thread went to wait, in 16 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BlockedRow {
    at: i64,
    tid: i32,
    stack: u32,
}

impl Row for BlockedRow {
    fn is_filled(&self) -> bool {
        self.stack != 0
    }
}

impl BlockedRow {
    pub(crate) fn of(b: &BlockedAt) -> Self {
        Self { at: b.at.0, tid: b.tid.0, stack: b.stack.0 }
    }

    pub(crate) fn blocked(&self) -> BlockedAt {
        BlockedAt { at: Ns(self.at), tid: Tid(self.tid), stack: StackId(self.stack) }
    }
}

/// A [`Setting`] in 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SettingRow {
    at: i64,
    /// Of a cgroup.
    id: u64,
    tid: i32,
    /// From 1 on.
    kind: u32,
    /// The rest, as each kind has it.
    values: [i32; 2],
}

impl Row for SettingRow {
    fn is_filled(&self) -> bool {
        self.kind != 0
    }
}

impl SettingRow {
    pub(crate) fn of(s: &Setting) -> Self {
        let (kind, id, values) = match s.to {
            SetTo::Policy { policy, nice } => (1, 0, [policy.into(), nice.into()]),
            SetTo::Attr { prio, uclamp_min, uclamp_max } => {
                (2, 0, [prio.into(), i32::from(uclamp_max) << 16 | i32::from(uclamp_min.cast_unsigned())])
            }
            SetTo::Cgroup { id, path } => (3, id, [path.0.cast_signed(), 0]),
            SetTo::Weight { id, path, weight } => (4, id, [path.0.cast_signed(), weight.into()]),
            SetTo::IdealCpu(cpu) => (5, 0, [cpu.0.cast_signed(), 0]),
        };
        Self { at: s.at.0, id, tid: s.tid.0, kind, values }
    }

    pub(crate) fn setting(&self) -> Setting {
        let (id, [first, second]) = (self.id, self.values);
        // Each as wide as it was when it was put in.
        let to = match self.kind {
            1 => SetTo::Policy { policy: first as i8, nice: second as i8 },
            2 => SetTo::Attr { prio: first as i16, uclamp_min: second as i16, uclamp_max: (second >> 16) as i16 },
            3 => SetTo::Cgroup { id, path: NameId(first.cast_unsigned()) },
            4 => SetTo::Weight { id, path: NameId(first.cast_unsigned()), weight: second as u16 },
            _ => SetTo::IdealCpu(CpuId(first.cast_unsigned())),
        };
        Setting { at: Ns(self.at), tid: Tid(self.tid), to }
    }
}

/// Something that begins at a time.
pub(crate) trait Timed {
    fn begin(&self) -> Ns;
}

impl Timed for ThreadStretch {
    fn begin(&self) -> Ns {
        self.span.start
    }
}

impl Timed for CpuStretch {
    fn begin(&self) -> Ns {
        self.span.start
    }
}

impl Timed for Move {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for Marked {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for PowerChange {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for Allowed {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for Throttle {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for BlockedAt {
    fn begin(&self) -> Ns {
        self.at
    }
}

impl Timed for Setting {
    fn begin(&self) -> Ns {
        self.at
    }
}

/// Adds the next ones; `false`: there are no more.
type More<'a, S> = Box<dyn FnMut(&mut Vec<S>) -> Result<bool> + 'a>;

/// One kind of rows, read as they are asked for.
pub(crate) struct Steps<'a, S> {
    more: More<'a, S>,
    /// Read, of which so many were handed on.
    read: Vec<S>,
    done: usize,
    ended: bool,
}

impl<'a, S: Timed + 'a> Steps<'a, S> {
    /// Rows as they are.
    pub(crate) fn whole<R: Row>(rows: &'a mut Rows<R>, make: fn(&R) -> S) -> Self {
        let (mut cursor, mut read) = (Cursor::default(), Vec::new());
        Self::new(Box::new(move |out| {
            let more = rows.next(&mut cursor, &mut read)?;
            out.extend(read.iter().map(make));
            Ok(more)
        }))
    }

    /// Stretches, cut.
    pub(crate) fn cut<R: Narrow<Stretch = S>>(rows: &'a mut StretchRows<R>, knife: &'a Knife) -> Self
    where
        S: Cut,
    {
        let (mut cursor, mut read) = (Cursor::default(), Vec::new());
        if !knife.cuts() {
            return Self::new(Box::new(move |out| rows.next(&mut cursor, &mut read, out)));
        }
        let (mut whole, mut cutter) = (Vec::new(), Some(Cutter::new(knife)));
        Self::new(Box::new(move |out| {
            whole.clear();
            let more = rows.next(&mut cursor, &mut read, &mut whole)?;
            if more && let Some(cutter) = &mut cutter {
                cutter.push(&whole, |pieces| out.extend_from_slice(pieces));
            } else if let Some(cutter) = cutter.take() {
                cutter.finish(|pieces| out.extend_from_slice(pieces));
            }
            Ok(more)
        }))
    }

    fn new(more: More<'a, S>) -> Self {
        Self { more, read: Vec::new(), done: 0, ended: false }
    }

    /// Those that wait.
    fn waiting(&self) -> &[S] {
        &self.read[self.done..]
    }

    /// Reads on.
    fn read_on(&mut self) -> Result<()> {
        self.read.drain(..std::mem::take(&mut self.done));
        self.ended = !(self.more)(&mut self.read)?;
        Ok(())
    }

    /// Has something waiting, if there is any left; up to when all is read: later ones may begin there.
    fn reach(&mut self) -> Result<Ns> {
        while self.waiting().is_empty() && !self.ended {
            self.read_on()?;
        }
        Ok(if self.ended { Ns::MAX } else { self.waiting().last().map_or(Ns::MAX, Timed::begin) })
    }

    /// How many of those that wait begin by then.
    fn until(&self, time: Ns) -> usize {
        self.waiting().partition_point(|s| s.begin() <= time)
    }

    /// How many begin before then, all of which are read for it. At the end of time, all.
    fn before(&mut self, time: Ns) -> Result<usize> {
        while !self.ended && self.waiting().last().is_none_or(|s| s.begin() < time) {
            self.read_on()?;
        }
        Ok(self.waiting().partition_point(|s| s.begin() < time || time == Ns::MAX))
    }
}

/// Every kind of rows, each in order.
pub(crate) struct Kinds<'a> {
    pub(crate) threads: Steps<'a, ThreadStretch>,
    pub(crate) cpus: Steps<'a, CpuStretch>,
    pub(crate) moves: Steps<'a, Move>,
    pub(crate) marks: Steps<'a, Marked>,
    pub(crate) power: Steps<'a, PowerChange>,
    pub(crate) allowed: Steps<'a, Allowed>,
    pub(crate) throttles: Steps<'a, Throttle>,
    pub(crate) blocked: Steps<'a, BlockedAt>,
    pub(crate) settings: Steps<'a, Setting>,
}

impl Kinds<'_> {
    /// Hands on what began up to the same time, some thousands at a time.
    pub(crate) fn together(mut self, mut each: impl FnMut(&Together<'_>)) -> Result<()> {
        loop {
            let until = self.threads.reach()?.min(self.cpus.reach()?);
            // What happens at the instant at which a stretch begins comes behind all that begin there.
            let counts = [
                self.threads.until(until),
                self.cpus.until(until),
                self.moves.before(until)?,
                self.marks.before(until)?,
                self.power.before(until)?,
                self.allowed.before(until)?,
                self.throttles.before(until)?,
                self.blocked.before(until)?,
                self.settings.before(until)?,
            ];
            let [threads, cpus, moves, marks, power, allowed, throttles, blocked, settings] = counts;
            if counts != [0; 9] {
                each(&Together {
                    threads: &self.threads.waiting()[..threads],
                    cpus: &self.cpus.waiting()[..cpus],
                    moves: &self.moves.waiting()[..moves],
                    marks: &self.marks.waiting()[..marks],
                    power: &self.power.waiting()[..power],
                    allowed: &self.allowed.waiting()[..allowed],
                    throttles: &self.throttles.waiting()[..throttles],
                    blocked: &self.blocked.waiting()[..blocked],
                    settings: &self.settings.waiting()[..settings],
                });
                self.threads.done += threads;
                self.cpus.done += cpus;
                self.moves.done += moves;
                self.marks.done += marks;
                self.power.done += power;
                self.allowed.done += allowed;
                self.throttles.done += throttles;
                self.blocked.done += blocked;
                self.settings.done += settings;
            }
            if until == Ns::MAX {
                return Ok(());
            }
        }
    }
}
