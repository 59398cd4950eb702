//! Stage two: what stage one finished, in order of start.

use crate::cut::{Cutter, Knife};
use crate::narrow::{CpuRow, ThreadRow};
use crate::rows::{Cursor, Rows};
use crate::steps::{AllowedRow, BlockedRow, Kinds, MarkRow, MoveRow, PowerRow, SettingRow, Steps, ThrottleRow, Timed};
use crate::stretch_rows::{Narrow, StretchRows};
use crate::{InferredIndex, LossIndex, Sink};
use model::{
    Allowed, BlockedAt, CpuStretch, Marked, Move, Ns, PowerChange, Setting, ThreadStretch, Throttle, Together,
};
use std::ops::ControlFlow;

/// Collects finished stretches, in bounded memory.
pub struct Collector {
    threads: StretchRows<ThreadRow>,
    cpus: StretchRows<CpuRow>,
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
    threads: StretchRows<ThreadRow>,
    cpus: StretchRows<CpuRow>,
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
            threads: StretchRows::new(),
            cpus: StretchRows::new(),
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
        self.threads.fill(place, stretch);
    }
    #[inline]
    fn cpu(&mut self, place: u64, stretch: &CpuStretch) {
        self.cpus.fill(place, stretch);
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
            threads: Steps::cut(&mut self.threads, &self.knife),
            cpus: Steps::cut(&mut self.cpus, &self.knife),
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
        Reading::new(&self.threads, &self.knife).all(each)
    }

    /// Hands on the stretches of threads and those of CPUs, some thousands at a time, in turn: those of which the first begins
    /// earlier. The threads' come with their memory, for who passes them on: other memory may be left in its place.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn in_turn(&mut self, mut each: impl FnMut(InTurn<'_>)) -> std::io::Result<()> {
        let (mut threads, mut cpus) = (Reading::new(&self.threads, &self.knife), Reading::new(&self.cpus, &self.knife));
        let (mut more_threads, mut more_cpus) = (threads.next()?, cpus.next()?);
        while more_threads || more_cpus {
            if more_threads && !(more_cpus && cpus.begin() < threads.begin()) {
                each(InTurn::Threads(&mut threads.batch));
                more_threads = threads.next()?;
            } else {
                each(InTurn::Cpus(&cpus.batch));
                more_cpus = cpus.next()?;
            }
        }
        Ok(())
    }

    /// Hands on the threads' stretches from the last to the first, each whole, until `each` breaks off; those with which the
    /// recording begins in any order.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub fn threads_back(&self, mut each: impl FnMut(&ThreadStretch) -> ControlFlow<()>) -> std::io::Result<()> {
        self.threads.read_back(|batch| batch.iter().rev().try_for_each(&mut each))
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
        Reading::new(&self.cpus, &self.knife).all(each)
    }
}

/// What [`Stretches::in_turn`] hands on.
pub enum InTurn<'a> {
    /// Of threads.
    Threads(&'a mut Vec<ThreadStretch>),
    /// Of CPUs.
    Cpus(&'a [CpuStretch]),
}

/// Stretches of one kind being read, cut where they are to be cut.
struct Reading<'a, R: Narrow> {
    rows: &'a StretchRows<R>,
    cursor: Cursor,
    cutter: Option<Cutter<'a, R::Stretch>>,
    read: Vec<R>,
    whole: Vec<R::Stretch>,
    /// Those read last.
    batch: Vec<R::Stretch>,
}

impl<'a, R: Narrow> Reading<'a, R> {
    fn new(rows: &'a StretchRows<R>, knife: &'a Knife) -> Self {
        let cutter = knife.cuts().then(|| Cutter::new(knife));
        Self { rows, cursor: Cursor::default(), cutter, read: Vec::new(), whole: Vec::new(), batch: Vec::new() }
    }

    /// Reads the next ones; `false`: there are no more.
    fn next(&mut self) -> std::io::Result<bool> {
        self.batch.clear();
        if self.cutter.is_none() {
            return self.rows.next(&mut self.cursor, &mut self.read, &mut self.batch);
        }
        self.whole.clear();
        let more = self.rows.next(&mut self.cursor, &mut self.read, &mut self.whole)?;
        let batch = &mut self.batch;
        let keep = |pieces: &[R::Stretch]| batch.extend_from_slice(pieces);
        if !more && let Some(cutter) = self.cutter.take() {
            cutter.finish(keep);
        } else if let Some(cutter) = &mut self.cutter {
            cutter.push(&self.whole, keep);
        }
        Ok(more || !self.batch.is_empty())
    }

    /// When the first of them begins; of none, at once, since others follow.
    fn begin(&self) -> Ns {
        self.batch.first().map_or(Ns::MIN, Timed::begin)
    }

    fn all(mut self, mut each: impl FnMut(&[R::Stretch])) -> std::io::Result<()> {
        while self.next()? {
            each(&self.batch);
        }
        Ok(())
    }
}
