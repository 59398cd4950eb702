//! The critical path of a part of a trace. A backward pass over the threads' stretches finds those on the path; a forward pass over
//! these and the rest of the timeline classifies each piece. Between the two passes, the path is kept in a temporary file.

mod accounted;
mod windows;

pub use accounted::{AccountedPaths, FindObjective, PathObjective, PathWindows};
pub use windows::PathWindow;

use crate::read::inferred::WithInferred;
use crate::session::Kind;
use crate::tables::totals::{followed, followed_of};
use crate::{EngineError, Session};
use account::{Collector, Sink as _, Stretches};
use analysis::critical::{End, LastRan, Outside, Piece, Pieces, Sums, Walk};
use analysis::{Begins, Context};
use model::{
    CpuId, CpuStretch, MadeFrom, Ns, Row, Rows, Span, TableDef, ThreadKey, ThreadStretch, Tid, TimelineEvent, tables,
};
use std::collections::HashSet;
use std::ops::ControlFlow;
use store::Folder;

impl Session {
    /// Returns whether a table is made from the critical path, which ends with the thread set by [`Self::with_path_end`].
    #[must_use]
    pub fn is_critical(def: &TableDef) -> bool {
        def.made_from == MadeFrom::CriticalPath
    }

    /// Sets the thread with which the critical path ends: the last instance of this TID that began before the end of the range. By
    /// default, it is the first thread of the recorded program, if its exit ends that; else the thread that ran last ([`LastRan`]), in the
    /// recorded program if that is known.
    #[must_use]
    pub fn with_path_end(mut self, thread: Tid) -> Self {
        self.ends = Some(End::Tid(thread));
        self
    }

    /// Sets the thread with which the critical path ends, unless its TID is set already or the thread is unknown.
    #[must_use]
    pub fn or_path_end(mut self, thread: ThreadKey) -> Self {
        self.ends = self.ends.or((thread != ThreadKey::UNKNOWN).then_some(End::Thread(thread)));
        self
    }

    /// Returns the part of `span` that lies within the recording.
    pub(crate) fn within(&self, span: Option<Span>) -> Option<Span> {
        let end = match self.kind() {
            Kind::Folder(folder, _) => Ns(folder.manifest().end_ns),
            Kind::Source(of) => of.accounted.totals.end,
        };
        Span::new(Ns::ZERO, end).overlap(span.unwrap_or(Span { start: Ns::ZERO, end: Ns::MAX }))
    }

    /// Writes the rows of a table of the critical path.
    pub(crate) fn critical(&self, def: &TableDef, span: Option<Span>, out: &mut dyn Rows) -> Result<(), EngineError> {
        let Some(within) = self.within(span) else { return Ok(()) };
        if def.name == tables::OBJECTIVE_TIME.name {
            return self.objective_time(span, out);
        }
        let mut sums = (def.name == tables::CRITICAL_BY_THREAD.name).then(Sums::default);
        let ran = self.path_to(self.ends, within, &Outside::default(), |piece| match &mut sums {
            Some(sums) => sums.push(piece),
            None => piece.row(out),
        })?;
        if let (Some(mut sums), true) = (sums, ran) {
            self.rows_of(tables::OBJECT_WAITS.name, span, &mut |rows| {
                rows.iter().for_each(|cells| sums.wait(&Row::new(cells)));
                Ok(())
            })?;
            sums.all_waits();
            sums.finish(within, out);
        }
        Ok(())
    }

    /// Passes on the pieces of a path in order of time. It leads to `end`, or by default to the thread that ran last; a thread is alone while
    /// only `outside` threads run. Returns whether any thread ran.
    pub(crate) fn path_to(
        &self,
        end: Option<End>,
        span: Span,
        outside: &Outside,
        mut each: impl FnMut(&Piece),
    ) -> Result<bool, EngineError> {
        let ready_known = self.summary().ready_known;
        let mut forwards = |stretches: &Stretches, path: &Collector, followed: &[CpuId]| {
            let mut pieces =
                Pieces::new(&Context { machine: self.machine(), span, to_end: false, followed, ready_known })
                    .with_outside(outside.clone());
            stretches.timeline_with(path, |timeline| {
                pieces.push(timeline, &mut each);
                Ok::<_, EngineError>(())
            })?;
            pieces.finish(&mut each);
            Ok(true)
        };
        match self.kind() {
            Kind::Folder(folder, filled) => {
                match self.path_of_folder((folder, filled.as_deref()), end, span, outside)? {
                    Some((path, rest)) => forwards(&rest, &path, &followed_of(&self.table_of_whole(&tables::CPUS)?)),
                    None => Ok(false),
                }
            }
            Kind::Source(of) => {
                of.stretches(self.options(), |all| match self.path_of_source(all, end, span, outside)? {
                    Some(path) => forwards(all, &path, &followed(&of.accounted.totals)),
                    None => Ok(false),
                })
            }
        }
    }

    /// Finds the stretches on the path in a file; `None` if no thread ran.
    fn path_of_source(
        &self,
        all: &Stretches,
        end: Option<End>,
        span: Span,
        outside: &Outside,
    ) -> Result<Option<Collector>, EngineError> {
        let mut last = Last::new(self, span)?;
        if end.is_none() {
            all.cpus(|cpus| last.push(cpus))?;
        }
        let Some(end) = end.or_else(|| last.thread().map(End::Thread)) else { return Ok(None) };
        let mut path = Path::new(Walk::new(span, end));
        all.threads_back(|whole| {
            Ok::<_, EngineError>(path.take(&outside.without_interrupted(whole), |w| all.pieces(w)))
        })?;
        let mut kept = Collector::default();
        path.in_order(self, |stretch| {
            push(&mut kept, stretch);
            Ok(())
        })?;
        Ok(Some(kept))
    }

    /// Finds the stretches on the path in a folder, with the rest of the timeline. Only the row groups of that time are read.
    fn path_of_folder(
        &self,
        (folder, filled): (&Folder, Option<&WithInferred>),
        end: Option<End>,
        span: Span,
        outside: &Outside,
    ) -> Result<Option<(Collector, Stretches)>, EngineError> {
        let clipper = filled.map(|f| f.clipper.clone()).unwrap_or_default();
        let mut last = Last::new(self, span)?;
        match filled {
            _ if end.is_some() => {}
            Some(filled) => filled.cpus(folder, Some(span), |cpus| last.push(cpus))?,
            None => folder.cpu_stretches(Some(span), |cpus| last.push(cpus))?,
        }
        let Some(end) = end.or_else(|| last.thread().map(End::Thread)) else { return Ok(None) };
        let mut path = Path::new(Walk::new(span, end));
        folder.thread_stretches_back(Some(span), |whole| {
            Ok::<_, EngineError>(path.take(&outside.without_interrupted(whole), |w| clipper.pieces(*w)))
        })?;
        let rest = rest_of_timeline(folder, span, path.begin())?;
        let mut kept = Collector::default();
        path.in_order(self, |stretch| {
            push(&mut kept, stretch);
            Ok(())
        })?;
        Ok(Some((kept, rest.finish().with_clipper(clipper))))
    }
}

/// The first thread of the recorded program ends it if it exits in this last part (1/20) of the range.
const LAST_PART: i64 = 20;

/// Finds the thread that ran last: in the recorded program, and of all threads. The first thread of the program comes before both, if its exit
/// ends the program.
struct Last {
    main: Option<ThreadKey>,
    focus: HashSet<ThreadKey>,
    of_focus: LastRan,
    of_all: LastRan,
}

impl Last {
    fn new(session: &Session, span: Span) -> Result<Self, EngineError> {
        let (mut focus, mut main, end) = (HashSet::new(), None, Ns(session.full_summary().span_ns));
        if let Some(pid) = session.facts().focus.map(i64::from) {
            session.each_thread(&mut |t| {
                let exit = end - t.exited;
                if t.tid == pid && t.exited > Ns::ZERO && exit <= span.end && exit >= span.end - span.len() / LAST_PART
                {
                    main = Some(t.thread);
                }
                focus.extend(t.is_of(pid).then_some(t.thread));
            })?;
        }
        Ok(Self { main, focus, of_focus: LastRan::new(span), of_all: LastRan::new(span) })
    }

    fn push(&mut self, cpus: &[CpuStretch]) -> Result<(), EngineError> {
        self.of_all.push(cpus);
        let of_focus = cpus.iter().filter(|s| self.focus.contains(&s.thread));
        of_focus.for_each(|s| self.of_focus.push(std::slice::from_ref(s)));
        Ok(())
    }

    fn thread(&self) -> Option<ThreadKey> {
        self.main.or(self.of_focus.thread()).or(self.of_all.thread())
    }
}

/// Reads a folder's events and CPU stretches that a critical path needs. `begin` is the start of the first path.
pub(crate) fn rest_of_timeline(folder: &Folder, span: Span, begin: Ns) -> Result<Collector, EngineError> {
    let mut rest = Collector::default();
    folder.events_of_path(begin, |events| {
        let events = events.iter().filter(|event| event.at < span.end).filter_map(TimelineEvent::from_event);
        events.for_each(|event| rest.event(event));
        rest.check().map_err(EngineError::from)
    })?;
    folder.cpu_stretches(Some(span), |cpus| {
        for stretch in cpus {
            let place = rest.begin_cpu();
            rest.cpu(place, stretch);
        }
        rest.check().map_err(EngineError::from)
    })?;
    Ok(rest)
}

fn push(to: &mut Collector, stretch: &ThreadStretch) {
    let place = to.begin_thread();
    to.thread(place, stretch);
}

/// The stretches on the path, collected during the backward pass.
struct Path {
    walk: Walk,
    /// All but the earliest, from the last to the first.
    later: Collector,
    first: Option<ThreadStretch>,
}

impl Path {
    fn new(walk: Walk) -> Self {
        Self { walk, later: Collector::default(), first: None }
    }

    /// Takes the next earlier stretch and the pieces into which it is cut.
    fn take(
        &mut self,
        whole: &ThreadStretch,
        pieces: impl FnOnce(&ThreadStretch) -> Vec<ThreadStretch>,
    ) -> ControlFlow<()> {
        if self.walk.wants(whole) {
            for piece in pieces(whole).iter().rev() {
                if self.walk.wants(piece) {
                    let is_first = piece.span.start == whole.span.start;
                    let begins = if is_first { Begins::Here } else { Begins::Before };
                    let Self { walk, later, first } = self;
                    walk.take(piece, begins, |stretch| keep(later, first, *stretch));
                }
            }
        }
        if self.walk.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The begin of the earliest stretch so far.
    fn begin(&self) -> Ns {
        self.first.map_or(Ns::ZERO, |s| s.span.start)
    }

    /// Passes on all stretches in order of time.
    fn in_order(
        mut self,
        session: &Session,
        mut each: impl FnMut(&ThreadStretch) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let rest = self.walk.finish().map_err(|tid| {
            let path = session.path().display();
            EngineError::NotFound(format!(
                "{path}: thread {} does not exist in this range; `corewise table {path} threads` lists all threads by TID",
                tid.0
            ))
        })?;
        if let Some(rest) = rest {
            keep(&mut self.later, &mut self.first, rest);
        }
        self.first.as_ref().map_or(Ok(()), &mut each)?;
        self.later.finish().threads_back(|stretch| each(stretch).map(ControlFlow::Continue))
    }
}

/// Adds a stretch, but holds the earliest back: a collector puts a stretch that begins with the recording before all others,
/// whenever it is added.
fn keep(later: &mut Collector, first: &mut Option<ThreadStretch>, stretch: ThreadStretch) {
    if let Some(before) = first.replace(stretch) {
        push(later, &before);
    }
}
