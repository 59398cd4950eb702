//! Stage two: what stage one finished, in order of start.

use crate::cut::{Cut, Cutter, Knife};
use crate::rows::{Row, Rows};
use crate::steps::{AllowedRow, BlockedRow, Kinds, MarkRow, MoveRow, PowerRow, SettingRow, Steps, ThrottleRow};
use crate::{InferredIndex, LossIndex, Sink};
use bytemuck::{Pod, Zeroable};
use model::{
    Allowed, BlockedAt, CpuId, CpuState, CpuStretch, Marked, Move, Ns, PowerChange, Reason, Setting, Span, ThreadKey,
    ThreadState, ThreadStretch, Throttle, Tid, Together,
};
use std::ops::ControlFlow;

/// Collects finished stretches, in bounded memory.
pub struct Collector {
    threads: Rows<ThreadRow>,
    cpus: Rows<CpuRow>,
    moves: Rows<MoveRow>,
    marks: Rows<MarkRow>,
    power: Rows<PowerRow>,
    allowed: Rows<AllowedRow>,
    throttles: Rows<ThrottleRow>,
    blocked: Rows<BlockedRow>,
    settings: Rows<SettingRow>,
}

/// All stretches of a recording, in order of start.
pub struct Stretches {
    threads: Rows<ThreadRow>,
    cpus: Rows<CpuRow>,
    moves: Rows<MoveRow>,
    marks: Rows<MarkRow>,
    power: Rows<PowerRow>,
    allowed: Rows<AllowedRow>,
    throttles: Rows<ThrottleRow>,
    blocked: Rows<BlockedRow>,
    settings: Rows<SettingRow>,
    knife: Knife,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            threads: Rows::new(),
            cpus: Rows::new(),
            moves: Rows::new(),
            marks: Rows::new(),
            power: Rows::new(),
            allowed: Rows::new(),
            throttles: Rows::new(),
            blocked: Rows::new(),
            settings: Rows::new(),
        }
    }
}

impl Collector {
    /// No more will come.
    #[must_use]
    pub fn finish(self) -> Stretches {
        Stretches {
            threads: self.threads,
            cpus: self.cpus,
            moves: self.moves,
            marks: self.marks,
            power: self.power,
            allowed: self.allowed,
            throttles: self.throttles,
            blocked: self.blocked,
            settings: self.settings,
            knife: Knife::default(),
        }
    }
}

impl Sink for Collector {
    #[inline]
    fn begin_thread(&mut self) -> u64 {
        self.threads.reserve()
    }
    #[inline]
    fn begin_cpu(&mut self) -> u64 {
        self.cpus.reserve()
    }
    #[inline]
    fn thread(&mut self, place: u64, stretch: &ThreadStretch) {
        self.threads.fill(place, ThreadRow::of(stretch));
    }
    #[inline]
    fn cpu(&mut self, place: u64, stretch: &CpuStretch) {
        self.cpus.fill(place, CpuRow::of(stretch));
    }
    #[inline]
    fn moved(&mut self, moved: Move) {
        let place = self.moves.reserve();
        self.moves.fill(place, MoveRow::of(&moved));
    }
    #[inline]
    fn marked(&mut self, mark: Marked) {
        let place = self.marks.reserve();
        self.marks.fill(place, MarkRow::of(&mark));
    }
    #[inline]
    fn power(&mut self, change: PowerChange) {
        let place = self.power.reserve();
        self.power.fill(place, PowerRow::of(&change));
    }
    #[inline]
    fn allowed(&mut self, allowed: Allowed) {
        let place = self.allowed.reserve();
        self.allowed.fill(place, AllowedRow::of(&allowed));
    }
    #[inline]
    fn throttle(&mut self, throttle: Throttle) {
        let place = self.throttles.reserve();
        self.throttles.fill(place, ThrottleRow::of(&throttle));
    }
    #[inline]
    fn blocked_at(&mut self, blocked: BlockedAt) {
        let place = self.blocked.reserve();
        self.blocked.fill(place, BlockedRow::of(&blocked));
    }
    #[inline]
    fn setting(&mut self, setting: Setting) {
        let place = self.settings.reserve();
        self.settings.fill(place, SettingRow::of(&setting));
    }
}

impl Stretches {
    /// Lossy time counts as unknown, as it does in sums made with [`crate::Rules::strict`].
    #[must_use]
    pub fn strict(self, losses: LossIndex) -> Self {
        let losses = Some(losses).filter(|l| !l.is_empty());
        Self { knife: Knife { losses, ..self.knife }, ..self }
    }

    /// What was inferred stands in place of the unknown time that it fills, as in [`crate::Totals::with_inferred`].
    #[must_use]
    pub fn with_inferred(self, inferred: InferredIndex) -> Self {
        Self { knife: Knife { inferred: Some(inferred), ..self.knife }, ..self }
    }

    /// Cut by this knife.
    #[must_use]
    pub fn knife(self, knife: Knife) -> Self {
        Self { knife, ..self }
    }

    /// With the stretches of CPUs that another collector has.
    #[must_use]
    pub fn with_cpus(self, of: Collector) -> Self {
        Self { cpus: of.cpus, ..self }
    }

    /// Hands on all that began up to the same time, some thousands at a time.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn steps(&mut self, each: impl FnMut(&Together<'_>)) -> std::io::Result<()> {
        let kinds = Kinds {
            threads: Steps::cut(&mut self.threads, &self.knife, ThreadRow::stretch),
            cpus: Steps::cut(&mut self.cpus, &self.knife, CpuRow::stretch),
            moves: Steps::whole(&mut self.moves, MoveRow::moved),
            marks: Steps::whole(&mut self.marks, MarkRow::marked),
            power: Steps::whole(&mut self.power, PowerRow::change),
            allowed: Steps::whole(&mut self.allowed, AllowedRow::allowed),
            throttles: Steps::whole(&mut self.throttles, ThrottleRow::throttle),
            blocked: Steps::whole(&mut self.blocked, BlockedRow::blocked),
            settings: Steps::whole(&mut self.settings, SettingRow::setting),
        };
        kinds.together(each)
    }

    /// [`Self::steps`] with the threads' stretches that another collector has, in place of its own.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn steps_along(&mut self, path: Collector, each: impl FnMut(&Together<'_>)) -> std::io::Result<()> {
        let own = std::mem::replace(&mut self.threads, path.threads);
        let read = self.steps(each);
        self.threads = own;
        read
    }

    /// Hands on the threads' stretches, some thousands at a time.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn threads(&mut self, each: impl FnMut(&[ThreadStretch])) -> std::io::Result<()> {
        read(&mut self.threads, &self.knife, ThreadRow::stretch, each)
    }

    /// Hands on the threads' stretches from the last to the first, each whole, until `each` breaks off; those with which the
    /// recording begins in any order.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn threads_back(&self, mut each: impl FnMut(&ThreadStretch) -> ControlFlow<()>) -> std::io::Result<()> {
        self.threads.read_back(|rows| rows.iter().rev().try_for_each(|row| each(&row.stretch())))
    }

    /// The pieces of a stretch that was handed on whole, in order.
    #[must_use]
    pub fn pieces(&self, whole: &ThreadStretch) -> Vec<ThreadStretch> {
        self.knife.pieces(*whole)
    }

    /// Hands on the CPUs' stretches.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn cpus(&mut self, each: impl FnMut(&[CpuStretch])) -> std::io::Result<()> {
        read(&mut self.cpus, &self.knife, CpuRow::stretch, each)
    }
}

fn read<R: Row, S: Cut>(
    rows: &mut Rows<R>,
    knife: &Knife,
    stretch: impl Fn(&R) -> S,
    mut each: impl FnMut(&[S]),
) -> std::io::Result<()> {
    let mut batch = Vec::new();
    let mut cutter = knife.cuts().then(|| Cutter::new(knife));
    rows.read(|rows| {
        batch.clear();
        batch.extend(rows.iter().map(&stretch));
        match &mut cutter {
            Some(cutter) => cutter.push(&batch, &mut each),
            None => each(&batch),
        }
    })?;
    if let Some(cutter) = cutter {
        cutter.finish(each);
    }
    Ok(())
}

/// A thread's stretch in 48 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ThreadRow {
    start: i64,
    end: i64,
    exec: i64,
    thread: i32,
    waker_thread: i32,
    tid: i32,
    waker: i32,
    /// −1: none.
    cpu: i32,
    prio: i16,
    state: u8,
    /// A letter of the kernel's, or a number below any letter.
    reason: u8,
}

impl Row for ThreadRow {
    fn is_filled(&self) -> bool {
        self.end > self.start
    }
    fn is_first(&self) -> bool {
        self.start == 0
    }
}

/// The reasons that are no letters, by number.
const REASONS: [Reason; 15] = [
    Reason::None,
    Reason::Preempted,
    Reason::Yielded,
    Reason::Woken,
    Reason::New,
    Reason::WokenBefore,
    Reason::Snapshot,
    Reason::BeforeFirst,
    Reason::Broken,
    Reason::NoWaking,
    Reason::LifeLost,
    Reason::Undecided,
    Reason::Untold,
    Reason::Lossy,
    Reason::Inferred,
];

impl ThreadRow {
    #[inline]
    fn of(s: &ThreadStretch) -> Self {
        Self {
            start: s.span.start.0,
            end: s.span.end.0,
            exec: s.exec.0,
            thread: s.thread.0 as i32,
            waker_thread: s.waker_thread.0 as i32,
            tid: s.tid.0,
            waker: s.waker.0,
            cpu: s.cpu.map_or(-1, |c| c.0 as i32),
            prio: s.prio,
            state: s.state as u8,
            reason: match s.reason {
                Reason::State(letter) => letter.max(REASONS.len() as u8),
                Reason::None => 0,
                Reason::Preempted => 1,
                Reason::Yielded => 2,
                Reason::Woken => 3,
                Reason::New => 4,
                Reason::WokenBefore => 5,
                Reason::Snapshot => 6,
                Reason::BeforeFirst => 7,
                Reason::Broken => 8,
                Reason::NoWaking => 9,
                Reason::LifeLost => 10,
                Reason::Undecided => 11,
                Reason::Untold => 12,
                Reason::Lossy => 13,
                Reason::Inferred => 14,
            },
        }
    }

    #[inline]
    fn stretch(&self) -> ThreadStretch {
        ThreadStretch {
            span: Span { start: Ns(self.start), end: Ns(self.end) },
            thread: ThreadKey(i64::from(self.thread)),
            tid: Tid(self.tid),
            state: ThreadState::ALL.get(usize::from(self.state)).copied().unwrap_or(ThreadState::Unknown),
            reason: REASONS.get(usize::from(self.reason)).copied().unwrap_or(Reason::State(self.reason)),
            cpu: u32::try_from(self.cpu).ok().map(CpuId),
            waker: Tid(self.waker),
            waker_thread: ThreadKey(i64::from(self.waker_thread)),
            exec: Ns(self.exec),
            prio: self.prio,
        }
    }
}

/// A CPU's stretch in 32 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct CpuRow {
    start: i64,
    end: i64,
    thread: i64,
    cpu: u32,
    state: u32,
}

impl Row for CpuRow {
    fn is_filled(&self) -> bool {
        self.end > self.start
    }
    fn is_first(&self) -> bool {
        self.start == 0
    }
}

impl CpuRow {
    #[inline]
    fn of(s: &CpuStretch) -> Self {
        Self { start: s.span.start.0, end: s.span.end.0, thread: s.thread.0, cpu: s.cpu.0, state: s.state as u32 }
    }

    #[inline]
    fn stretch(&self) -> CpuStretch {
        CpuStretch {
            span: Span { start: Ns(self.start), end: Ns(self.end) },
            cpu: CpuId(self.cpu),
            state: CpuState::ALL.get(self.state as usize).copied().unwrap_or(CpuState::Unknown),
            thread: ThreadKey(self.thread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_comes_back() {
        let letters = [b'S', b'D', b'?'].map(Reason::State);
        for reason in REASONS.into_iter().chain(letters) {
            let stretch = ThreadStretch {
                span: Span::new(Ns(1), Ns(2)),
                thread: ThreadKey(7),
                tid: Tid(9),
                state: ThreadState::Ready,
                reason,
                cpu: Some(CpuId(3)),
                waker: Tid(-1),
                waker_thread: ThreadKey(5),
                exec: Ns::MIN,
                prio: 120,
            };
            assert_eq!(ThreadRow::of(&stretch).stretch(), stretch);
        }
    }
}
