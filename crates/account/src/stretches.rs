//! Stage two: finished stretches, in order of start.

use crate::cut::{Clipper, Cutter};
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
    clipper: Clipper,
}

impl Collector {
    /// Ends the collection.
    #[must_use]
    pub fn finish(self) -> Stretches {
        Stretches { threads: self.threads, cpus: self.cpus, events: self.events, clipper: Clipper::default() }
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
    /// Makes lossy time unknown, as in the sums with [`crate::Rules::strict`].
    #[must_use]
    pub fn strict(self, losses: LossIndex) -> Self {
        let losses = Some(losses).filter(|l| !l.is_empty());
        Self { clipper: Clipper { losses, ..self.clipper }, ..self }
    }

    /// Replaces unknown time by inferred stretches, as in [`crate::Totals::with_inferred`].
    #[must_use]
    pub fn with_inferred(self, inferred: InferredIndex) -> Self {
        Self { clipper: Clipper { inferred: Some(inferred), ..self.clipper }, ..self }
    }

    /// Cuts stretches by this clipper.
    #[must_use]
    pub fn with_clipper(self, clipper: Clipper) -> Self {
        Self { clipper, ..self }
    }

    /// Replaces the stretches of CPUs by those of another collector.
    #[must_use]
    pub fn with_cpus(self, of: Collector) -> Self {
        Self { cpus: of.cpus, ..self }
    }

    /// Passes on the timeline in parts of some thousand entries, until `each` fails.
    ///
    /// # Errors
    /// The temporary file cannot be written or read, or `each` failed.
    pub fn timeline<E: From<SpillError>>(&self, each: impl FnMut(&Timeline<'_>) -> Result<(), E>) -> Result<(), E> {
        self.timeline_of(&self.threads, each)
    }

    /// Like [`Self::timeline`], with the threads' stretches of another collector.
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
            threads: Lane::cut(threads, &self.clipper),
            cpus: Lane::cut(&self.cpus, &self.clipper),
            events: Lane::events(&self.events),
        };
        lanes.timeline(each)
    }

    /// Passes on the stretches of threads, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn threads<E: From<SpillError>>(&self, each: impl FnMut(&[ThreadStretch]) -> Result<(), E>) -> Result<(), E> {
        Reading::new(&self.threads, &self.clipper).all(each)
    }

    /// Passes on batches of stretches of threads and of CPUs, some thousands at a time; the batch that begins earlier comes first.
    /// `each` may take the vector of threads' stretches and leave another one in its place.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn in_turn<E: From<SpillError>>(
        &self,
        mut each: impl FnMut(StretchBatch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut threads, mut cpus) =
            (Reading::new(&self.threads, &self.clipper), Reading::new(&self.cpus, &self.clipper));
        let (mut more_threads, mut more_cpus) = (threads.next()?, cpus.next()?);
        while more_threads || more_cpus {
            if more_threads && !(more_cpus && cpus.begin() < threads.begin()) {
                each(StretchBatch::Threads(&mut threads.batch))?;
                more_threads = threads.next()?;
            } else {
                each(StretchBatch::Cpus(&cpus.batch))?;
                more_cpus = cpus.next()?;
            }
        }
        Ok(())
    }

    /// Passes on the uncut stretches of threads from the last to the first, until `each` breaks or fails. Stretches that begin with
    /// the recording come in any order.
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

    /// Returns the pieces of an uncut stretch, in order.
    #[must_use]
    pub fn pieces(&self, whole: &ThreadStretch) -> Vec<ThreadStretch> {
        self.clipper.pieces(*whole)
    }

    /// Passes on the stretches of CPUs, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// As [`Self::timeline`].
    pub fn cpus<E: From<SpillError>>(&self, each: impl FnMut(&[CpuStretch]) -> Result<(), E>) -> Result<(), E> {
        Reading::new(&self.cpus, &self.clipper).all(each)
    }
}

/// A batch from [`Stretches::in_turn`].
pub enum StretchBatch<'a> {
    /// Stretches of threads.
    Threads(&'a mut Vec<ThreadStretch>),
    /// Stretches of CPUs.
    Cpus(&'a [CpuStretch]),
}

/// Reads stretches of one kind, cut if there is a clipper.
struct Reading<'a, R: Narrow> {
    rows: &'a StretchRows<R>,
    cursor: Cursor,
    cutter: Option<Cutter<'a, R::Stretch>>,
    read: Vec<R>,
    whole: Vec<R::Stretch>,
    /// The last batch.
    batch: Vec<R::Stretch>,
}

impl<'a, R: Narrow> Reading<'a, R> {
    fn new(rows: &'a StretchRows<R>, clipper: &'a Clipper) -> Self {
        let cutter = clipper.is_active().then(|| Cutter::new(clipper));
        Self { rows, cursor: Cursor::default(), cutter, read: Vec::new(), whole: Vec::new(), batch: Vec::new() }
    }

    /// Reads the next batch; returns `false` if there are no more.
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

    /// Returns the begin of the first stretch of the batch; the earliest time for an empty batch, because others follow.
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
