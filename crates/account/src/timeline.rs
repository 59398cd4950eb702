//! Reads the stretches of threads, the stretches of CPUs and the events in step, up to the same time.

use crate::SpillError;
use crate::cut::{Clipper, Cut, Cutter};
use crate::event_log::{self, EventLog};
use crate::rows::Cursor;
use crate::stretch_rows::{Narrow, StretchRows};
use model::{CpuStretch, Ns, ThreadStretch, Timeline, TimelineEvent};
use std::io::{Error, Result};

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

impl Timed for TimelineEvent {
    fn begin(&self) -> Ns {
        self.at
    }
}

/// Adds the next entries; returns `false` if there are no more.
type More<'a, S> = Box<dyn FnMut(&mut Vec<S>) -> Result<bool> + 'a>;

/// One stream, read on demand.
pub(crate) struct Lane<'a, S> {
    more: More<'a, S>,
    /// The entries that were read; the first `done` of them were passed on.
    read: Vec<S>,
    done: usize,
    ended: bool,
}

impl<'a, S: Timed + 'a> Lane<'a, S> {
    /// Returns a stream of stretches, cut by a clipper.
    pub(crate) fn cut<R: Narrow<Stretch = S>>(rows: &'a StretchRows<R>, clipper: &'a Clipper) -> Self
    where
        S: Cut,
    {
        let (mut cursor, mut read) = (Cursor::default(), Vec::new());
        if !clipper.is_active() {
            return Self::new(Box::new(move |out| rows.next(&mut cursor, &mut read, out)));
        }
        let (mut whole, mut cutter) = (Vec::new(), Some(Cutter::new(clipper)));
        Self::new(Box::new(move |out| {
            whole.clear();
            let more = rows.next(&mut cursor, &mut read, &mut whole)?;
            let keep = |pieces: &[S]| {
                out.extend_from_slice(pieces);
                Ok::<_, Error>(())
            };
            if more && let Some(cutter) = &mut cutter {
                cutter.push(&whole, keep)?;
            } else if let Some(cutter) = cutter.take() {
                cutter.finish(keep)?;
            }
            Ok(more)
        }))
    }

    fn new(more: More<'a, S>) -> Self {
        Self { more, read: Vec::new(), done: 0, ended: false }
    }

    /// Returns the entries that were read but not passed on.
    fn waiting(&self) -> &[S] {
        &self.read[self.done..]
    }

    /// Reads the next entries.
    fn read_on(&mut self) -> Result<()> {
        self.read.drain(..std::mem::take(&mut self.done));
        self.ended = !(self.more)(&mut self.read)?;
        Ok(())
    }

    /// Reads until an entry is waiting, if there is one. Returns the time up to which all entries were read; later ones may begin
    /// at that time.
    fn reach(&mut self) -> Result<Ns> {
        while self.waiting().is_empty() && !self.ended {
            self.read_on()?;
        }
        Ok(if self.ended { Ns::MAX } else { self.waiting().last().map_or(Ns::MAX, Timed::begin) })
    }

    /// Returns how many waiting entries begin up to a time.
    fn until(&self, time: Ns) -> usize {
        self.waiting().partition_point(|s| s.begin() <= time)
    }

    /// Reads all entries that begin before a time and returns their number; for the maximum time, all entries.
    fn before(&mut self, time: Ns) -> Result<usize> {
        while !self.ended && self.waiting().last().is_none_or(|s| s.begin() < time) {
            self.read_on()?;
        }
        Ok(self.waiting().partition_point(|s| s.begin() < time || time == Ns::MAX))
    }
}

impl<'a> Lane<'a, TimelineEvent> {
    /// Sorts the first `count` waiting events, which are in order of time already, by kind.
    fn sort_events(&mut self, count: usize) {
        let some = &mut self.read[self.done..self.done + count];
        if !some.is_sorted_by_key(TimelineEvent::order) {
            some.sort_by_key(TimelineEvent::order);
        }
    }

    pub(crate) fn events(log: &'a EventLog) -> Self {
        let (mut cursor, mut bytes) = (event_log::Cursor::default(), Vec::new());
        Self::new(Box::new(move |out| log.next(&mut cursor, &mut bytes, out)))
    }
}

/// The three streams.
pub(crate) struct Lanes<'a> {
    pub(crate) threads: Lane<'a, ThreadStretch>,
    pub(crate) cpus: Lane<'a, CpuStretch>,
    pub(crate) events: Lane<'a, TimelineEvent>,
}

impl Lanes<'_> {
    /// Passes on the timeline in parts of some thousand entries, until `each` fails.
    pub(crate) fn timeline<E: From<SpillError>>(
        mut self,
        mut each: impl FnMut(&Timeline<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        loop {
            let until = self.threads.reach().map_err(SpillError)?.min(self.cpus.reach().map_err(SpillError)?);
            let (threads, cpus) = (self.threads.until(until), self.cpus.until(until));
            // Events at the begin of a stretch come after all stretches that begin then. So a part has all events of an
            // instant or none.
            let events = self.events.before(until).map_err(SpillError)?;
            self.events.sort_events(events);
            if threads + cpus + events > 0 {
                each(&Timeline {
                    threads: &self.threads.waiting()[..threads],
                    cpus: &self.cpus.waiting()[..cpus],
                    events: &self.events.waiting()[..events],
                })?;
                self.threads.done += threads;
                self.cpus.done += cpus;
                self.events.done += events;
            }
            if until == Ns::MAX {
                return Ok(());
            }
        }
    }
}
