//! The pieces of the path: the type of core, the SMT sibling's state, the thread that ran instead.

use super::Outside;
use crate::{Context, World};
use model::{
    Change, CoreType, CpuId, CpuState, Ns, Reason, Rows, Span, Subject, ThreadKey, ThreadState, ThreadStretch, Tid,
    Timeline, TimelineEvent, Value,
};
use std::collections::{BTreeMap, VecDeque};

/// A span with a path to its end.
#[derive(Clone, Debug)]
pub struct Window {
    /// The span.
    pub span: Span,
    /// The available part of its path, in order of time; the first stretch may begin before the span. [`Pieces::push`]
    /// can add more.
    pub path: VecDeque<ThreadStretch>,
    /// The current run queue of the first stretch, if the thread was moved.
    queue: Option<CpuId>,
}

impl Window {
    /// Creates a window with the available part of its path.
    #[must_use]
    pub fn new(span: Span, path: VecDeque<ThreadStretch>) -> Self {
        Self { span, path, queue: None }
    }

    /// Handles a move before the window. The first stretch may be ready since before the window, and its run queue at
    /// the window's begin must be known.
    fn moved(&mut self, at: Ns, tid: Tid, to: CpuId) {
        let first = self.path.front().filter(|s| s.state == ThreadState::Ready && s.tid == tid);
        if first.is_some_and(|s| s.span.start <= at) {
            self.queue = Some(to);
        }
    }
}

/// A part of the path in which no column of the table changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// The span.
    pub span: Span,
    /// The thread.
    pub thread: ThreadKey,
    /// Its TID, if recorded.
    pub tid: Tid,
    /// Its state.
    pub state: ThreadState,
    /// Running: the CPU. Ready: the CPU of its run queue.
    pub cpu: Option<CpuId>,
    /// The type of that CPU's core.
    pub core_type: Option<CoreType>,
    /// Running: the state of the core's other CPUs; busy, if one was. `None`: no siblings are known.
    pub sibling: Option<CpuState>,
    /// Running: the CPU's frequency in kHz, if recorded.
    pub khz: Option<u32>,
    /// Ready and not throttled: the state of that CPU and the thread it ran. Unknown for a parked CPU.
    pub queue: Option<(CpuState, ThreadKey)>,
    /// Ready: throttled by its cgroup's CPU quota, so that it waited for no CPU.
    pub throttled: bool,
    /// The reason for its state.
    pub reason: Reason,
    /// Ready since a wakeup: the waker. Blocked: the thread that ended the wait.
    pub waker: ThreadKey,
    /// Its dynamic priority, if recorded.
    pub prio: Option<i16>,
    /// What the other CPUs did meanwhile.
    pub others: Others,
}

/// What the CPUs did on which the thread of the path did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Others {
    /// The part of the span in which no other thread of the program ran.
    pub alone: Ns,
    /// The idle time of these CPUs, over all of them.
    pub idle: Ns,
}

impl Others {
    /// Adds those of the following span.
    pub fn add(&mut self, next: Self) {
        self.alone += next.alone;
        self.idle += next.idle;
    }
}

impl Piece {
    /// Returns the state's name in tables.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.state {
            _ if self.throttled => "throttled",
            _ if self.is_latency() => "wakeup_latency",
            state => state.as_str(),
        }
    }

    /// Returns whether the thread was ready while the CPU of its run queue was idle, so that only wakeup latency kept
    /// it from running.
    #[must_use]
    pub fn is_latency(&self) -> bool {
        matches!(self.queue, Some((CpuState::Idle, _)))
    }

    /// Returns the thread that ran on the CPU of a ready thread's run queue, or [`ThreadKey::UNKNOWN`] if unknown or
    /// none.
    #[must_use]
    pub fn ran_instead(&self) -> ThreadKey {
        match self.queue {
            Some((CpuState::Busy, thread)) => thread,
            _ => ThreadKey::UNKNOWN,
        }
    }

    /// Writes a row of [`model::tables::CRITICAL_PATH`].
    pub fn row(&self, out: &mut dyn Rows) {
        let known = |thread: &ThreadKey| *thread != ThreadKey::UNKNOWN;
        out.row(&[
            self.span.start.into(),
            self.span.end.into(),
            self.thread.into(),
            tid(self.tid),
            self.state().into(),
            self.cpu.map(|c| i64::from(c.0)).into(),
            self.core_type.map(CoreType::as_str).into(),
            self.sibling.map(CpuState::as_str).into(),
            self.khz.map(i64::from).into(),
            Some(self.ran_instead()).filter(known).map(|t| t.0).into(),
            self.reason.word().into(),
            Some(self.waker).filter(known).map(|t| t.0).into(),
            self.prio.map(i64::from).into(),
        ]);
    }
}

/// Returns the cell of a TID, null if not recorded.
pub(super) fn tid(tid: Tid) -> Value {
    Some(tid).filter(|t| *t != Tid::UNKNOWN).map(|t| i64::from(t.0)).into()
}

/// A fold over the path and the timeline, in order of time, that cuts the path into pieces.
pub struct Pieces {
    /// The window that is open or opens next, and those after it.
    windows: VecDeque<Window>,
    world: World,
    /// The throttled TIDs, and since when; `None`: not every change is recorded yet.
    throttled: Option<BTreeMap<Tid, Ns>>,
    /// The threads that ran since the first throttling, with their last begin. A running thread is not throttled, even
    /// if the end of its throttling was not recorded.
    ran: BTreeMap<ThreadKey, Ns>,
    /// The thread on the path now, and its run queue if it is ready.
    on_path: Option<(ThreadStretch, Option<CpuId>)>,
    /// Everything before this time was emitted or is in `open`.
    since: Ns,
    open: Option<Piece>,
    outside: Outside,
    /// The number of CPUs that are idle, and of those that run a thread of the program.
    idle: i64,
    busy: i64,
}

impl Pieces {
    /// Starts before anything happened, with the path of the whole span.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        Self::of(context, [Window::new(context.span, VecDeque::new())].into())
    }

    /// Starts with the paths of several windows, which are ordered by time and do not overlap.
    #[must_use]
    pub fn of(context: &Context<'_>, windows: VecDeque<Window>) -> Self {
        let since = windows.front().map_or(Ns::MAX, |w| w.span.start);
        Self {
            windows,
            world: World::new(context),
            throttled: None,
            ran: BTreeMap::new(),
            on_path: None,
            since,
            open: None,
            outside: Outside::default(),
            idle: 0,
            busy: 0,
        }
    }

    /// Sets the threads that are not of the program: a thread is alone while only these run.
    #[must_use]
    pub fn with_outside(self, outside: Outside) -> Self {
        Self { outside, ..self }
    }

    /// Handles a timeline; `each` gets the completed pieces. The timeline's threads are those that a
    /// [`Walk`](crate::critical::Walk) kept.
    pub fn push(&mut self, timeline: &Timeline<'_>, mut each: impl FnMut(&Piece)) {
        let Timeline { threads: mut path, mut cpus, mut events } = *timeline;
        loop {
            let on_path = path.first().map_or(Ns::MAX, |s| s.span.start);
            let cpu = cpus.first().map_or(Ns::MAX, |s| s.span.start);
            let event = events.first().map_or(Ns::MAX, |e| e.at);
            let now = on_path.min(cpu).min(event);
            // More of the path may come after the available part and before the end of a window.
            if now < Ns::MAX {
                self.until(now, &mut each);
            }
            // At one instant the order is: a thread becomes ready before it is moved.
            if let (true, Some((first, rest))) = (on_path == now, path.split_first()) {
                path = rest;
                self.open.take().iter().for_each(&mut each);
                self.on_path = Some((*first, first.cpu));
            } else if let (true, Some((first, rest))) = (cpu == now, cpus.split_first()) {
                cpus = rest;
                self.counted(first.cpu, -1);
                self.world.cpu(first);
                self.counted(first.cpu, 1);
                if self.holds_any() && first.state == CpuState::Busy {
                    self.ran.insert(first.thread, first.span.start);
                }
            } else if let Some((first, rest)) = events.split_first() {
                events = rest;
                self.event(first);
            } else {
                return;
            }
        }
    }

    fn event(&mut self, event: &TimelineEvent) {
        match (event.who, event.what) {
            (Subject::Cpu(cpu), Change::Power(to)) => self.world.power(cpu, to),
            (who, Change::Throttled(begins)) => self.throttled(event.at, who, begins),
            (Subject::Thread(tid), Change::Queue(to)) => {
                if let Some((stretch, queue)) = &mut self.on_path
                    && stretch.tid == tid
                {
                    *queue = Some(to);
                }
                self.windows.iter_mut().skip(1).for_each(|w| w.moved(event.at, tid, to));
            }
            _ => {}
        }
    }

    fn throttled(&mut self, at: Ns, who: Subject, begins: bool) {
        match (who, &mut self.throttled) {
            (Subject::AllThreads, throttled) => *throttled = Some(BTreeMap::new()),
            (Subject::Thread(tid), Some(throttled)) => {
                if begins {
                    throttled.insert(tid, at);
                } else {
                    throttled.remove(&tid);
                }
            }
            _ => {}
        }
        if !self.holds_any() {
            self.ran.clear();
        }
    }

    fn holds_any(&self) -> bool {
        self.throttled.as_ref().is_some_and(|held| !held.is_empty())
    }

    /// Handles the end of the windows.
    pub fn finish(mut self, mut each: impl FnMut(&Piece)) {
        if let Some(end) = self.windows.back().map(|w| w.span.end) {
            self.until(end, &mut each);
        }
    }

    /// Advances to `now`; only the available path changes on the way.
    fn until(&mut self, now: Ns, each: &mut impl FnMut(&Piece)) {
        while let Some(window) = self.windows.front_mut() {
            let end = window.span.end;
            let next = window.path.front().map_or(Ns::MAX, |s| s.span.start);
            let to = now.min(end).min(next.max(self.since));
            let taken = if next <= now && next < end { window.path.pop_front() } else { None };
            let queue = taken.and_then(|s| window.queue.take().or(s.cpu));
            self.emit(to, each);
            if let Some(stretch) = taken {
                self.open.take().iter().for_each(&mut *each);
                self.on_path = Some((stretch, queue));
            } else if now < end {
                return;
            } else {
                self.open.take().iter().for_each(&mut *each);
                self.windows.pop_front();
                self.on_path = None;
                self.since = self.windows.front().map_or(Ns::MAX, |w| w.span.start);
            }
        }
    }

    /// Emits the piece that was on the path until now.
    fn emit(&mut self, to: Ns, each: &mut impl FnMut(&Piece)) {
        if let Some((stretch, queue)) = &self.on_path
            && self.since < to
        {
            let piece = self.piece(stretch, *queue, Span::new(self.since, to));
            match &mut self.open {
                Some(open) if (Piece { span: piece.span, others: piece.others, ..*open }) == piece => {
                    open.span.end = to;
                    open.others.add(piece.others);
                }
                open => open.replace(piece).iter().for_each(each),
            }
        }
        self.since = self.since.max(to);
    }

    fn piece(&self, stretch: &ThreadStretch, queue: Option<CpuId>, span: Span) -> Piece {
        let running = stretch.state == ThreadState::Running;
        let ready = stretch.state == ThreadState::Ready;
        let cpu = if ready { queue } else { stretch.cpu.filter(|_| running) };
        let throttled = ready && self.is_throttled(stretch);
        let place = cpu.and_then(|c| self.world.place(c));
        let now = place.map(|p| &self.world.cpus[p]);
        Piece {
            span,
            thread: stretch.thread,
            tid: stretch.tid,
            state: stretch.state,
            cpu,
            core_type: now.map(|c| c.core_type),
            sibling: place.filter(|_| running).and_then(|p| self.sibling(p)),
            khz: place.filter(|_| running).and_then(|p| self.world.cpus[p].khz),
            queue: now.filter(|_| ready && !throttled).map(|c| match c.parked {
                Some(true) => (CpuState::Unknown, ThreadKey::UNKNOWN),
                _ => (c.state, c.thread),
            }),
            throttled,
            reason: stretch.reason,
            waker: stretch.waker_thread,
            prio: stretch.prio.get(),
            others: self.others(running.then_some(stretch.thread), span.len()),
        }
    }

    /// Adds a CPU's present state to the numbers of CPUs, or takes it from them.
    fn counted(&mut self, cpu: CpuId, by: i64) {
        let Some(now) = self.world.cpu_now(cpu) else { return };
        match now.state {
            CpuState::Idle => self.idle += by,
            CpuState::Busy if !self.outside.contains(now.thread) => self.busy += by,
            CpuState::Busy | CpuState::Unknown => {}
        }
    }

    /// What the other CPUs do for this long. `runs`: the thread of the path, if it runs.
    fn others(&self, runs: Option<ThreadKey>, time: Ns) -> Others {
        let own = i64::from(runs.is_some_and(|thread| !self.outside.contains(thread)));
        let alone = if self.busy <= own { time } else { Ns::ZERO };
        Others { alone, idle: time * self.idle }
    }

    fn is_throttled(&self, stretch: &ThreadStretch) -> bool {
        let since = self.throttled.as_ref().and_then(|held| held.get(&stretch.tid));
        since.is_some_and(|since| self.ran.get(&stretch.thread).is_none_or(|ran| ran <= since))
    }

    /// Returns the state of the other CPUs of a CPU's core.
    fn sibling(&self, place: usize) -> Option<CpuState> {
        let core = &self.world.cores[self.world.cpus[place].core];
        let others = core.cpus.iter().filter(|p| **p != place).map(|p| self.world.cpus[*p].state);
        others.min_by_key(|state| match state {
            CpuState::Busy => 0,
            CpuState::Unknown => 1,
            CpuState::Idle => 2,
        })
    }
}
