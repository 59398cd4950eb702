//! The critical paths of several windows. One backward pass finds all paths, one forward pass classifies their pieces.
//!
//! The paths are held in memory, with a limit on the total number of stretches. A path that exceeds it is found separately, with a
//! temporary file.

use super::rest_of_timeline;
use crate::read::inferred::WithInferred;
use crate::session::Kind;
use crate::tables::rows::Batches;
use crate::tables::totals::{followed, followed_of};
use crate::{EngineError, RowCallback, Session};
use account::{Collector, Stretches};
use analysis::critical::{Causes, End, LastRan, Outside, Piece, Pieces, Walk, Window};
use analysis::frames::TimedFrame;
use analysis::{Begins, Context};
use model::{CpuId, CpuStretch, Pid, Span, ThreadKey, ThreadStretch, Timeline, tables};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use store::Folder;

/// The maximum number of stretches held in memory, over all paths.
const MAX_HELD: usize = 1 << 19;

/// A window and the part of its path found so far.
struct WindowPath {
    /// The index of the frame.
    frame: usize,
    span: Span,
    /// The end of the path; `None` if unknown.
    end: Option<End>,
    walk: Walk,
    stretches: VecDeque<ThreadStretch>,
    /// Whether the path is too long to be held.
    is_long: bool,
}

impl WindowPath {
    fn new(frame: usize, span: Span, end: Option<End>) -> Self {
        let walk = Walk::new(span, end.unwrap_or(End::Thread(ThreadKey::UNKNOWN)));
        Self { frame, span, end, walk, stretches: VecDeque::new(), is_long: false }
    }

    /// Completes the path after the last stretch.
    fn finish(&mut self) {
        // If no thread has this TID in the window, the whole window is unknown.
        let unknown = || Walk::new(self.span, End::Thread(ThreadKey::UNKNOWN)).finish().ok().flatten();
        let rest = self.walk.finish().unwrap_or_else(|_| unknown());
        rest.into_iter().for_each(|rest| self.stretches.push_front(rest));
    }

    /// Takes the next earlier stretch; returns how many more stretches are held.
    fn take(&mut self, whole: &ThreadStretch, pieces: impl FnOnce() -> Vec<ThreadStretch>, room: usize) -> usize {
        if !self.walk.wants(whole) {
            return 0;
        }
        let before = self.stretches.len();
        for piece in pieces().iter().rev() {
            if self.walk.wants(piece) {
                let begins = if piece.span.start == whole.span.start { Begins::Here } else { Begins::Before };
                let stretches = &mut self.stretches;
                self.walk.take(piece, begins, |stretch| stretches.push_front(*stretch));
            }
        }
        self.is_long = self.stretches.len() - before > room;
        self.stretches.len() - before
    }

    fn is_done(&self) -> bool {
        self.is_long || self.walk.is_done()
    }
}

/// The windows whose paths are being found.
struct WindowPaths {
    /// Sorted by end: the backward pass reaches the last ones first.
    paths: Vec<WindowPath>,
    /// The number of windows, from the first on, that the pass has not reached.
    waiting: usize,
    active: Vec<usize>,
    held: usize,
    max_held: usize,
}

impl WindowPaths {
    fn new(mut paths: Vec<WindowPath>, max_held: usize) -> Self {
        paths.sort_by_key(|path| path.span.end);
        Self { waiting: paths.len(), paths, active: Vec::new(), held: 0, max_held }
    }

    /// Takes the next stretch, from the last to the first.
    fn take(
        &mut self,
        whole: &ThreadStretch,
        pieces: impl Fn(&ThreadStretch) -> Vec<ThreadStretch>,
    ) -> ControlFlow<()> {
        while self.waiting > 0 && whole.span.start < self.paths[self.waiting - 1].span.end {
            self.waiting -= 1;
            self.active.push(self.waiting);
        }
        let Self { paths, active, held, max_held, .. } = self;
        active.retain(|at| {
            let path = &mut paths[*at];
            *held += path.take(whole, || pieces(whole), *max_held - *held);
            if path.is_long {
                *held -= std::mem::take(&mut path.stretches).len();
            }
            !path.is_done()
        });
        if self.waiting == 0 && self.active.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self) -> Vec<WindowPath> {
        self.paths.iter_mut().filter(|path| !path.is_long).for_each(WindowPath::finish);
        self.paths
    }
}

/// Finds the thread that ran last in each window for which only the process is known.
struct LastThreads {
    windows: Vec<(usize, Span, Pid, LastRan)>,
    /// The threads of these processes.
    threads: HashMap<ThreadKey, Pid>,
}

impl LastThreads {
    fn push(&mut self, cpus: &[CpuStretch]) -> Result<(), EngineError> {
        let Self { windows, threads } = self;
        for stretch in cpus {
            let Some(of) = threads.get(&stretch.thread) else { continue };
            for (_, span, pid, last) in windows.iter_mut() {
                if pid == of && stretch.span.overlap(*span).is_some() {
                    last.push(std::slice::from_ref(stretch));
                }
            }
        }
        Ok(())
    }
}

/// A span, and the thread with which its critical path ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathWindow {
    /// The span.
    pub span: Span,
    /// The thread.
    pub thread: ThreadKey,
}

impl Session {
    /// Passes on the rows of [`tables::CRITICAL_PATH`] of some windows.
    ///
    /// # Errors
    /// The trace cannot be read, or `each` failed.
    pub fn path_rows(&self, windows: &[PathWindow], each: RowCallback<'_>) -> Result<(), EngineError> {
        let mut each = self.redacting(&tables::CRITICAL_PATH, each);
        let mut out = Batches::new(&mut each);
        self.pieces_of_windows(windows, &Outside::default(), &mut |_, piece| {
            piece.row(&mut out);
            out.check()
        })?;
        out.finish()
    }

    /// Passes on the pieces of the paths of some windows, each with the index of its window; of windows that do not overlap, in order
    /// of time.
    pub(super) fn pieces_of_windows(
        &self,
        windows: &[PathWindow],
        outside: &Outside,
        each: PieceCallback<'_>,
    ) -> Result<(), EngineError> {
        let frames: Vec<TimedFrame> = windows.iter().map(|of| TimedFrame::of(of.span, of.thread)).collect();
        self.pieces_without(&frames.iter().collect::<Vec<_>>(), outside, each)
    }

    /// Returns, for each frame, the causes on its critical path and the thread with which that path ends. The thread is unknown if
    /// none of the frame's threads ran, or if they are not known.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn causes(&self, frames: &[&TimedFrame]) -> Result<Vec<(ThreadKey, Causes)>, EngineError> {
        let mut causes_of_frames = vec![(ThreadKey::UNKNOWN, Causes::default()); frames.len()];
        self.pieces(frames, &mut |frame, piece| {
            let (ends, causes) = &mut causes_of_frames[frame];
            *ends = piece.thread;
            causes.push(piece);
            Ok(())
        })?;
        Ok(causes_of_frames)
    }

    /// Passes on the pieces of the critical path of each frame, with the index of the frame.
    pub(crate) fn pieces(&self, frames: &[&TimedFrame], each: PieceCallback<'_>) -> Result<(), EngineError> {
        self.pieces_without(frames, &Outside::default(), each)
    }

    /// [`Self::pieces`]; a thread is alone while only `outside` threads run.
    fn pieces_without(
        &self,
        frames: &[&TimedFrame],
        outside: &Outside,
        each: PieceCallback<'_>,
    ) -> Result<(), EngineError> {
        if frames.is_empty() {
            return Ok(());
        }
        let last = self.last_threads(frames)?;
        let starts = frames.iter().map(|f| f.span.start).min().unwrap_or_default();
        let hull = Span::new(starts, frames.iter().map(|f| f.span.end).max().unwrap_or_default());
        let ready_known = self.summary().ready_known;
        let mut forwards = |stretches: &Stretches, paths: Vec<WindowPath>, followed: &[CpuId]| {
            let (long, held): (Vec<WindowPath>, Vec<WindowPath>) = paths.into_iter().partition(|path| path.is_long);
            let context = Context { machine: self.machine(), span: hull, to_end: false, followed, ready_known };
            let mut groups: Vec<Group> =
                disjoint_groups(held).into_iter().map(|paths| Group::new(&context, paths, outside)).collect();
            stretches.timeline_with(&Collector::default(), |timeline| {
                groups.iter_mut().try_for_each(|group| group.push(timeline, each))
            })?;
            groups.into_iter().try_for_each(|group| group.finish(each))?;
            Ok(long)
        };
        let long = match self.kind() {
            Kind::Folder(folder, filled) => {
                let (paths, rest) = self.paths_of_folder((folder, filled.as_deref()), (frames, last, hull), outside)?;
                forwards(&rest, paths, &followed_of(&self.table_of_whole(&tables::CPUS)?))?
            }
            Kind::Source(of) => of.stretches(self.options(), |all| {
                let paths = self.paths_of_source(all, (frames, last), outside)?;
                forwards(all, paths, &followed(&of.accounted.totals))
            })?,
        };
        for path in long {
            let mut result = Ok(());
            self.path_to(path.end, path.span, outside, |piece| {
                if result.is_ok() {
                    result = each(path.frame, piece);
                }
            })?;
            result?;
        }
        Ok(())
    }

    /// Returns the windows whose path ends with the thread of a process that ran last.
    fn last_threads(&self, frames: &[&TimedFrame]) -> Result<LastThreads, EngineError> {
        let mut last = LastThreads { windows: Vec::new(), threads: HashMap::new() };
        if self.ends.is_some() {
            return Ok(last);
        }
        for (of, frame) in frames.iter().enumerate().filter(|(_, f)| f.thread == ThreadKey::UNKNOWN) {
            // Without a known process, the end of the path is unknown.
            if frame.pid == Pid::UNKNOWN {
                continue;
            }
            last.windows.push((of, frame.span, frame.pid, LastRan::new(frame.span)));
        }
        if last.windows.is_empty() {
            return Ok(last);
        }
        self.each_thread(&mut |t| {
            let of = last.windows.iter().map(|w| w.2).find(|pid| t.is_of(i64::from(pid.0)));
            last.threads.extend(of.map(|pid| (t.thread, pid)));
        })?;
        Ok(last)
    }

    /// Returns the windows, each with the end of its path.
    fn paths(&self, frames: &[&TimedFrame], last: &LastThreads) -> WindowPaths {
        let end = |of: usize, frame: &TimedFrame| match self.ends {
            Some(end) => Some(end),
            None if frame.thread != ThreadKey::UNKNOWN => Some(End::Thread(frame.thread)),
            None => last.windows.iter().find(|w| w.0 == of).and_then(|w| w.3.thread()).map(End::Thread),
        };
        let path = |(at, frame): (usize, &&TimedFrame)| WindowPath::new(at, frame.span, end(at, frame));
        WindowPaths::new(frames.iter().enumerate().map(path).collect(), MAX_HELD)
    }

    fn paths_of_source(
        &self,
        all: &Stretches,
        (frames, mut last): (&[&TimedFrame], LastThreads),
        outside: &Outside,
    ) -> Result<Vec<WindowPath>, EngineError> {
        if !last.windows.is_empty() {
            all.cpus(|cpus| last.push(cpus))?;
        }
        let mut paths = self.paths(frames, &last);
        all.threads_back(|whole| {
            Ok::<_, EngineError>(paths.take(&outside.without_interrupted(whole), |w| all.pieces(w)))
        })?;
        Ok(paths.finish())
    }

    fn paths_of_folder(
        &self,
        (folder, filled): (&Folder, Option<&WithInferred>),
        (frames, mut last, hull): (&[&TimedFrame], LastThreads, Span),
        outside: &Outside,
    ) -> Result<(Vec<WindowPath>, Stretches), EngineError> {
        let clipper = filled.map(|f| f.clipper.clone()).unwrap_or_default();
        match filled {
            _ if last.windows.is_empty() => {}
            Some(filled) => filled.cpus(folder, Some(hull), |cpus| last.push(cpus))?,
            None => folder.cpu_stretches(Some(hull), |cpus| last.push(cpus))?,
        }
        let mut paths = self.paths(frames, &last);
        folder.thread_stretches_back(Some(hull), |whole| {
            Ok::<_, EngineError>(paths.take(&outside.without_interrupted(whole), |w| clipper.pieces(*w)))
        })?;
        let paths = paths.finish();
        let begin = paths.iter().filter_map(|path| path.stretches.front()).map(|s| s.span.start).min();
        let rest = rest_of_timeline(folder, hull, begin.unwrap_or(hull.start))?;
        Ok((paths, rest.finish().with_clipper(clipper)))
    }
}

/// Gets the index of a window and a piece of its path; `Err` ends the reading.
pub(crate) type PieceCallback<'a> = &'a mut dyn FnMut(usize, &Piece) -> Result<(), EngineError>;

/// Windows that do not overlap, in order of time, and the pieces of their paths.
struct Group {
    pieces: Pieces,
    /// Each window, and the index of its frame.
    windows: Vec<(Span, usize)>,
}

impl Group {
    fn new(context: &Context<'_>, paths: Vec<WindowPath>, outside: &Outside) -> Self {
        let of_frames = paths.iter().map(|l| (l.span, l.frame)).collect();
        let windows = paths.into_iter().map(|l| Window::new(l.span, l.stretches)).collect();
        Self { pieces: Pieces::of(context, windows).with_outside(outside.clone()), windows: of_frames }
    }

    /// Adds CPU stretches and events; the thread stretches are those of the paths.
    fn push(&mut self, timeline: &Timeline<'_>, each: PieceCallback<'_>) -> Result<(), EngineError> {
        let (windows, mut result) = (&self.windows, Ok(()));
        self.pieces.push(timeline, |piece| passed_on(windows, piece, each, &mut result));
        result
    }

    fn finish(self, each: PieceCallback<'_>) -> Result<(), EngineError> {
        let Self { pieces, windows } = self;
        let mut result = Ok(());
        pieces.finish(|piece| passed_on(&windows, piece, each, &mut result));
        result
    }
}

/// Passes a piece on with the index of its frame, until an error occurs.
fn passed_on(windows: &[(Span, usize)], piece: &Piece, each: PieceCallback<'_>, result: &mut Result<(), EngineError>) {
    let at = windows.partition_point(|(span, _)| span.end <= piece.span.start);
    if let (Some((_, frame)), true) = (windows.get(at), result.is_ok()) {
        *result = each(*frame, piece);
    }
}

/// Divides windows into the smallest number of groups without overlaps.
fn disjoint_groups(mut paths: Vec<WindowPath>) -> Vec<Vec<WindowPath>> {
    paths.sort_by_key(|path| path.span.start);
    let mut groups: Vec<Vec<WindowPath>> = Vec::new();
    for path in paths {
        match groups.iter_mut().find(|group| group.last().is_none_or(|last| last.span.end <= path.span.start)) {
            Some(group) => group.push(path),
            None => groups.push(vec![path]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MaybeNs, Ns, Prio, Reason, ThreadState, Tid};

    /// Thread 1 alternates between running and blocked, one nanosecond each.
    fn stretches() -> Vec<ThreadStretch> {
        let state = |at: i64| if at % 2 == 0 { ThreadState::Running } else { ThreadState::Blocked };
        let stretch = |at| ThreadStretch {
            span: Span::new(Ns(at), Ns(at + 1)),
            thread: ThreadKey(1),
            tid: Tid(1),
            state: state(at),
            reason: Reason::None,
            cpu: None,
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::UNKNOWN,
        };
        (0..40).map(stretch).collect()
    }

    /// Windows of 10, 20 and 10 stretches are found in this order, with room for 20 stretches. The window of 20 must be found
    /// separately; its room is then free for the last one. A window without a thread is unknown.
    #[test]
    fn a_path_that_is_too_long_is_dropped_and_frees_its_room() {
        let end = Some(End::Thread(ThreadKey(1)));
        let path = |frame, from, to, end| WindowPath::new(frame, Span::new(Ns(from), Ns(to)), end);
        let windows = [(0, 30, 40, end), (1, 10, 30, end), (2, 0, 10, end), (3, 0, 10, None)];
        let mut paths = WindowPaths::new(windows.map(|(frame, from, to, end)| path(frame, from, to, end)).into(), 20);
        for stretch in stretches().iter().rev() {
            _ = paths.take(stretch, |s| vec![*s]);
        }
        let mut found: Vec<_> = paths.finish().iter().map(|l| (l.frame, l.is_long, l.stretches.len())).collect();
        found.sort_unstable();
        assert_eq!(found, [(0, false, 10), (1, true, 0), (2, false, 10), (3, false, 1)]);
    }

    #[test]
    fn overlapping_windows_are_in_separate_groups() {
        let path = |(frame, from, to)| WindowPath::new(frame, Span::new(Ns(from), Ns(to)), None);
        let groups = disjoint_groups([(0, 5, 9), (1, 0, 5), (2, 4, 6), (3, 9, 10)].map(path).into());
        let frames: Vec<Vec<usize>> = groups.iter().map(|group| group.iter().map(|l| l.frame).collect()).collect();
        assert_eq!(frames, [vec![1, 0, 3], vec![2]]);
    }
}
