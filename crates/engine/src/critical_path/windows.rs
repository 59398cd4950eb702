//! The critical paths of several windows at once: one reading backwards finds them all, one forwards tells what each was.
//!
//! They are held, a bounded number of stretches in all; a path that is longer is found by itself, by way of a temporary file.

use super::rest_of_timeline;
use crate::read::inferred::WithInferred;
use crate::session::Kind;
use crate::tables::totals::{followed, followed_of};
use crate::{EngineError, Session};
use account::{Collector, Stretches};
use analysis::critical::{Causes, End, LastRan, Piece, Pieces, Walk, Window};
use analysis::frames::Marked;
use analysis::{Begins, Context};
use model::{CpuId, CpuStretch, Pid, Span, ThreadKey, ThreadStretch, Timeline, tables};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use store::Folder;

/// So many stretches of all paths are held at most.
const MOST_HELD: usize = 1 << 19;

/// A window, and its path as it is found.
struct Lane {
    /// Which of the frames.
    of: usize,
    span: Span,
    /// Where it leads; none: nobody can say.
    end: Option<End>,
    walk: Walk,
    path: VecDeque<ThreadStretch>,
    /// It is too long to be held.
    is_long: bool,
}

impl Lane {
    fn new(of: usize, span: Span, end: Option<End>) -> Self {
        let walk = Walk::new(span, end.unwrap_or(End::Thread(ThreadKey::UNKNOWN)));
        Self { of, span, end, walk, path: VecDeque::new(), is_long: false }
    }

    /// Nothing more comes.
    fn finish(&mut self) {
        // A number that is no thread's in this time leaves all of it unknown.
        let nobody = || Walk::new(self.span, End::Thread(ThreadKey::UNKNOWN)).finish().ok().flatten();
        let rest = self.walk.finish().unwrap_or_else(|_| nobody());
        rest.into_iter().for_each(|rest| self.path.push_front(rest));
    }

    /// The last that are before all that came; how many more stretches are held.
    fn take(&mut self, whole: &ThreadStretch, pieces: impl FnOnce() -> Vec<ThreadStretch>, room: usize) -> usize {
        if !self.walk.wants(whole) {
            return 0;
        }
        let before = self.path.len();
        for piece in pieces().iter().rev() {
            if self.walk.wants(piece) {
                let begins = if piece.span.start == whole.span.start { Begins::Here } else { Begins::Before };
                let path = &mut self.path;
                self.walk.take(piece, begins, |stretch| path.push_front(*stretch));
            }
        }
        self.is_long = self.path.len() - before > room;
        self.path.len() - before
    }

    fn is_done(&self) -> bool {
        self.is_long || self.walk.is_done()
    }
}

/// Windows whose paths are sought.
struct Lanes {
    /// By end: those that begin to be sought last come first.
    lanes: Vec<Lane>,
    /// So many from the first on are not sought yet.
    waiting: usize,
    active: Vec<usize>,
    held: usize,
    most: usize,
}

impl Lanes {
    /// At most so many stretches are held.
    fn new(mut lanes: Vec<Lane>, most: usize) -> Self {
        lanes.sort_by_key(|lane| lane.span.end);
        Self { waiting: lanes.len(), lanes, active: Vec::new(), held: 0, most }
    }

    /// The next stretch, from the last to the first.
    fn take(
        &mut self,
        whole: &ThreadStretch,
        pieces: impl Fn(&ThreadStretch) -> Vec<ThreadStretch>,
    ) -> ControlFlow<()> {
        while self.waiting > 0 && whole.span.start < self.lanes[self.waiting - 1].span.end {
            self.waiting -= 1;
            self.active.push(self.waiting);
        }
        let Self { lanes, active, held, most, .. } = self;
        active.retain(|at| {
            let lane = &mut lanes[*at];
            *held += lane.take(whole, || pieces(whole), *most - *held);
            if lane.is_long {
                *held -= std::mem::take(&mut lane.path).len();
            }
            !lane.is_done()
        });
        if self.waiting == 0 && self.active.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(mut self) -> Vec<Lane> {
        self.lanes.iter_mut().filter(|lane| !lane.is_long).for_each(Lane::finish);
        self.lanes
    }
}

/// Who ran last in each window whose end is a process's.
struct LastOf {
    windows: Vec<(usize, Span, Pid, LastRan)>,
    /// The threads of these processes.
    threads: HashMap<ThreadKey, Pid>,
}

impl LastOf {
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

impl Session {
    /// What happened on the path to the end of each frame, and whose end that is; unknown, where none of its threads ran or
    /// nobody can say which they are.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn causes(&self, frames: &[&Marked]) -> Result<Vec<(ThreadKey, Causes)>, EngineError> {
        let last = self.last_of(frames)?;
        let starts = frames.iter().map(|f| f.span.start).min().unwrap_or_default();
        let hull = Span::new(starts, frames.iter().map(|f| f.span.end).max().unwrap_or_default());
        let mut told = vec![(ThreadKey::UNKNOWN, Causes::default()); frames.len()];
        let ready_known = self.summary().ready_known;
        let forwards = |stretches: &Stretches, lanes: Vec<Lane>, followed: &[CpuId]| {
            let (long, held): (Vec<Lane>, Vec<Lane>) = lanes.into_iter().partition(|lane| lane.is_long);
            let context = Context { machine: self.machine(), span: hull, followed, ready_known };
            let mut rows: Vec<Row> = in_rows(held).into_iter().map(|lanes| Row::new(&context, lanes)).collect();
            stretches.timeline_with(&Collector::default(), |timeline| {
                rows.iter_mut().for_each(|row| row.push(timeline));
                Ok::<_, EngineError>(())
            })?;
            Ok((rows, long))
        };
        let (rows, long) = match self.kind() {
            Kind::Folder(folder, filled) => {
                let (lanes, rest) = self.lanes_of_folder(folder, filled.as_deref(), (frames, last, hull))?;
                forwards(&rest, lanes, &followed_of(&self.table_of_whole(&tables::CPUS)?))?
            }
            Kind::Source(of) => of.stretches(self.options(), |all| {
                let lanes = self.lanes_of_source(all, frames, last)?;
                forwards(all, lanes, &followed(&of.accounted.totals))
            })?,
        };
        for (of, ends, causes) in rows.into_iter().flat_map(Row::finish) {
            told[of] = (ends, causes);
        }
        for lane in long {
            let (ends, causes) = &mut told[lane.of];
            self.path_to(lane.end, lane.span, |piece| {
                *ends = piece.thread;
                causes.push(piece);
            })?;
        }
        Ok(told)
    }

    /// The windows whose end is that of the thread of a process which ran last.
    fn last_of(&self, frames: &[&Marked]) -> Result<LastOf, EngineError> {
        let mut last = LastOf { windows: Vec::new(), threads: HashMap::new() };
        if self.ends.is_some() {
            return Ok(last);
        }
        for (of, frame) in frames.iter().enumerate().filter(|(_, f)| f.thread == ThreadKey::UNKNOWN) {
            // Of nobody knows which process: its end is that of nobody known.
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
            last.threads.extend(of.map(|pid| (ThreadKey(t.thread), pid)));
        })?;
        Ok(last)
    }

    /// Where each window's path leads.
    fn lanes(&self, frames: &[&Marked], last: &LastOf) -> Lanes {
        let end = |of: usize, frame: &Marked| match self.ends {
            Some(tid) => Some(End::Tid(tid)),
            None if frame.thread != ThreadKey::UNKNOWN => Some(End::Thread(frame.thread)),
            None => last.windows.iter().find(|w| w.0 == of).and_then(|w| w.3.thread()).map(End::Thread),
        };
        let lane = |(of, frame): (usize, &&Marked)| Lane::new(of, frame.span, end(of, frame));
        Lanes::new(frames.iter().enumerate().map(lane).collect(), MOST_HELD)
    }

    fn lanes_of_source(&self, all: &Stretches, frames: &[&Marked], mut last: LastOf) -> Result<Vec<Lane>, EngineError> {
        if !last.windows.is_empty() {
            all.cpus(|cpus| last.push(cpus))?;
        }
        let mut lanes = self.lanes(frames, &last);
        all.threads_back(|whole| Ok::<_, EngineError>(lanes.take(whole, |w| all.pieces(w))))?;
        Ok(lanes.finish())
    }

    fn lanes_of_folder(
        &self,
        folder: &Folder,
        filled: Option<&WithInferred>,
        (frames, mut last, hull): (&[&Marked], LastOf, Span),
    ) -> Result<(Vec<Lane>, Stretches), EngineError> {
        let knife = filled.map(|f| f.knife.clone()).unwrap_or_default();
        match filled {
            _ if last.windows.is_empty() => {}
            Some(filled) => filled.cpus(folder, Some(hull), |cpus| last.push(cpus))?,
            None => folder.cpu_stretches(Some(hull), |cpus| last.push(cpus))?,
        }
        let mut lanes = self.lanes(frames, &last);
        folder
            .thread_stretches_back(Some(hull), |whole| Ok::<_, EngineError>(lanes.take(whole, |w| knife.pieces(*w))))?;
        let lanes = lanes.finish();
        let begin = lanes.iter().filter_map(|lane| lane.path.front()).map(|s| s.span.start).min();
        let rest = rest_of_timeline(folder, hull, begin.unwrap_or(hull.start))?;
        Ok((lanes, rest.finish().knife(knife)))
    }
}

/// Windows that do not overlap, in order of time, and what happens on their paths.
struct Row {
    pieces: Pieces,
    told: Told,
}

/// The sums of windows that do not overlap.
struct Told(Vec<(Span, usize, ThreadKey, Causes)>);

impl Told {
    fn push(&mut self, piece: &Piece) {
        let at = self.0.partition_point(|(span, ..)| span.end <= piece.span.start);
        if let Some((.., ends, causes)) = self.0.get_mut(at) {
            *ends = piece.thread;
            causes.push(piece);
        }
    }
}

impl Row {
    fn new(context: &Context<'_>, lanes: Vec<Lane>) -> Self {
        let told = lanes.iter().map(|l| (l.span, l.of, ThreadKey::UNKNOWN, Causes::default())).collect();
        let windows = lanes.into_iter().map(|l| Window::new(l.span, l.path)).collect();
        Self { pieces: Pieces::of(context, windows), told: Told(told) }
    }

    /// The threads on the paths are at hand; the timeline has none.
    fn push(&mut self, timeline: &Timeline<'_>) {
        let Self { pieces, told } = self;
        pieces.push(timeline, |piece| told.push(piece));
    }

    fn finish(self) -> Vec<(usize, ThreadKey, Causes)> {
        let Self { pieces, mut told } = self;
        pieces.finish(|piece| told.push(piece));
        told.0.into_iter().map(|(_, of, ends, causes)| (of, ends, causes)).collect()
    }
}

/// As few rows of windows that do not overlap as there can be.
fn in_rows(mut lanes: Vec<Lane>) -> Vec<Vec<Lane>> {
    lanes.sort_by_key(|lane| lane.span.start);
    let mut rows: Vec<Vec<Lane>> = Vec::new();
    for lane in lanes {
        match rows.iter_mut().find(|row| row.last().is_none_or(|last| last.span.end <= lane.span.start)) {
            Some(row) => row.push(lane),
            None => rows.push(vec![lane]),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MaybeNs, Ns, Prio, Reason, ThreadState, Tid};

    /// Thread 1 runs and waits by turns, a nanosecond each.
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

    /// Windows of 10, 20 and 10 stretches, sought in this order, and room for 20: that of 20 must be found by itself, and what it
    /// held makes room for the last. A window without a thread is unknown.
    #[test]
    fn what_is_too_long_is_left_and_gives_its_room_back() {
        let end = Some(End::Thread(ThreadKey(1)));
        let lane = |of, from, to, end| Lane::new(of, Span::new(Ns(from), Ns(to)), end);
        let windows = [(0, 30, 40, end), (1, 10, 30, end), (2, 0, 10, end), (3, 0, 10, None)];
        let mut lanes = Lanes::new(windows.map(|(of, from, to, end)| lane(of, from, to, end)).into(), 20);
        for stretch in stretches().iter().rev() {
            _ = lanes.take(stretch, |s| vec![*s]);
        }
        let mut told: Vec<_> = lanes.finish().iter().map(|l| (l.of, l.is_long, l.path.len())).collect();
        told.sort_unstable();
        assert_eq!(told, [(0, false, 10), (1, true, 0), (2, false, 10), (3, false, 1)]);
    }

    #[test]
    fn windows_that_overlap_are_in_rows_of_their_own() {
        let lane = |(of, from, to)| Lane::new(of, Span::new(Ns(from), Ns(to)), None);
        let rows = in_rows([(0, 5, 9), (1, 0, 5), (2, 4, 6), (3, 9, 10)].map(lane).into());
        let told: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().map(|l| l.of).collect()).collect();
        assert_eq!(told, [vec![1, 0, 3], vec![2]]);
    }
}
