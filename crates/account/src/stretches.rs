//! Stage two: what stage one finished, in order of start.

use crate::cut::{Cutter, Knife};
use crate::event_log::EventLog;
use crate::narrow::{CpuRow, ThreadRow};
use crate::rows::Cursor;
use crate::stretch_rows::{Narrow, StretchRows};
use crate::timeline::{Lane, Lanes, Timed};
use crate::{InferredIndex, LossIndex, Sink, SpillError};
use model::{CpuStretch, Ns, ThreadStretch, Timeline, TimelineEvent};
use std::ops::ControlFlow;

/// Collects finished stretches and timeline events, in bounded memory.
#[derive(Default)]
pub struct Collector {
    threads: StretchRows<ThreadRow>,
    cpus: StretchRows<CpuRow>,
    events: EventLog,
}

/// All stretches of a recording, in order of start, and its timeline events.
pub struct Stretches {
    threads: StretchRows<ThreadRow>,
    cpus: StretchRows<CpuRow>,
    events: EventLog,
    knife: Knife,
}

impl Collector {
    /// No more will come.
    #[must_use]
    pub fn finish(self) -> Stretches {
        Stretches { threads: self.threads, cpus: self.cpus, events: self.events, knife: Knife::default() }
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
    fn event(&mut self, event: TimelineEvent) {
        self.events.push(event);
    }
    fn check(&self) -> Result<(), SpillError> {
        let checks = [self.threads.check(), self.cpus.check(), self.events.check()];
        checks.into_iter().collect::<std::io::Result<()>>().map_err(SpillError)
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

    /// Hands on all that began up to the same time, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// The temporary file cannot be written or read, or `each` failed.
    pub fn timeline<E: From<SpillError>>(&self, each: impl FnMut(&Timeline<'_>) -> Result<(), E>) -> Result<(), E> {
        self.timeline_of(&self.threads, each)
    }

    /// [`Self::timeline`] with the threads' stretches that another collector has, in place of its own.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn timeline_with<E: From<SpillError>>(
        &self,
        threads: &Collector,
        each: impl FnMut(&Timeline<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.timeline_of(&threads.threads, each)
    }

    fn timeline_of<E: From<SpillError>>(
        &self,
        threads: &StretchRows<ThreadRow>,
        each: impl FnMut(&Timeline<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let lanes = Lanes {
            threads: Lane::cut(threads, &self.knife),
            cpus: Lane::cut(&self.cpus, &self.knife),
            events: Lane::events(&self.events),
        };
        lanes.timeline(each)
    }

    /// Hands on the threads' stretches, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn threads<E: From<SpillError>>(&self, each: impl FnMut(&[ThreadStretch]) -> Result<(), E>) -> Result<(), E> {
        Reading::new(&self.threads, &self.knife).all(each)
    }

    /// Hands on the stretches of threads and those of CPUs, some thousands at a time, in turn: those of which the first begins
    /// earlier. The threads' come with their memory, for who passes them on: other memory may be left in its place.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn in_turn<E: From<SpillError>>(&self, mut each: impl FnMut(InTurn<'_>) -> Result<(), E>) -> Result<(), E> {
        let (mut threads, mut cpus) = (Reading::new(&self.threads, &self.knife), Reading::new(&self.cpus, &self.knife));
        let (mut more_threads, mut more_cpus) = (threads.next()?, cpus.next()?);
        while more_threads || more_cpus {
            if more_threads && !(more_cpus && cpus.begin() < threads.begin()) {
                each(InTurn::Threads(&mut threads.batch))?;
                more_threads = threads.next()?;
            } else {
                each(InTurn::Cpus(&cpus.batch))?;
                more_cpus = cpus.next()?;
            }
        }
        Ok(())
    }

    /// Hands on the threads' stretches from the last to the first, each whole, until `each` breaks off or fails; those with
    /// which the recording begins in any order.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn threads_back<E: From<SpillError>>(
        &self,
        mut each: impl FnMut(&ThreadStretch) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut failed = Ok(());
        let read = self.threads.read_back(|batch| {
            for stretch in batch.iter().rev() {
                match each(stretch) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(done) => return done,
                    Err(error) => {
                        failed = Err(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        });
        failed.and(read.map_err(|error| SpillError(error).into()))
    }

    /// The pieces of a stretch that was handed on whole, in order.
    #[must_use]
    pub fn pieces(&self, whole: &ThreadStretch) -> Vec<ThreadStretch> {
        self.knife.pieces(*whole)
    }

    /// Hands on the CPUs' stretches, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn cpus<E: From<SpillError>>(&self, each: impl FnMut(&[CpuStretch]) -> Result<(), E>) -> Result<(), E> {
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
    fn next(&mut self) -> Result<bool, SpillError> {
        self.batch.clear();
        if self.cutter.is_none() {
            return self.rows.next(&mut self.cursor, &mut self.read, &mut self.batch).map_err(SpillError);
        }
        self.whole.clear();
        let more = self.rows.next(&mut self.cursor, &mut self.read, &mut self.whole).map_err(SpillError)?;
        let batch = &mut self.batch;
        let keep = |pieces: &[R::Stretch]| {
            batch.extend_from_slice(pieces);
            Ok::<_, SpillError>(())
        };
        if !more && let Some(cutter) = self.cutter.take() {
            cutter.finish(keep)?;
        } else if let Some(cutter) = &mut self.cutter {
            cutter.push(&self.whole, keep)?;
        }
        Ok(more || !self.batch.is_empty())
    }

    /// When the first of them begins; of none, at once, since others follow.
    fn begin(&self) -> Ns {
        self.batch.first().map_or(Ns::MIN, Timed::begin)
    }

    fn all<E: From<SpillError>>(mut self, mut each: impl FnMut(&[R::Stretch]) -> Result<(), E>) -> Result<(), E> {
        while self.next()? {
            each(&self.batch)?;
        }
        Ok(())
    }
}
