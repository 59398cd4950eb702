//! What each piece of the path was: on which kind of core, beside whom, behind whom.

use crate::{Context, World};
use model::{
    Change, CoreType, CpuId, CpuState, Ns, Reason, Rows, Span, Subject, ThreadKey, ThreadState, ThreadStretch, Tid,
    Timeline, TimelineEvent, Value,
};
use std::collections::{BTreeMap, VecDeque};

/// A part of the time to whose end there is a path.
#[derive(Clone, Debug)]
pub struct Window {
    /// When.
    pub span: Span,
    /// What of its path is at hand, in order of time; the first may begin before. More may come with [`Pieces::push`].
    pub path: VecDeque<ThreadStretch>,
    /// On whose run queue the first is by now, where it was moved there.
    queue: Option<CpuId>,
}

impl Window {
    /// With what is at hand of its path.
    #[must_use]
    pub fn new(span: Span, path: VecDeque<ThreadStretch>) -> Self {
        Self { span, path, queue: None }
    }

    /// The first of its path is ready since before the window: whose run queue it is on must be known when that opens.
    fn moved(&mut self, at: Ns, tid: Tid, to: CpuId) {
        let first = self.path.front().filter(|s| s.state == ThreadState::Ready && s.tid == tid);
        if first.is_some_and(|s| s.span.start <= at) {
            self.queue = Some(to);
        }
    }
}

/// A part of the path in which nothing changes that the table tells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// When.
    pub span: Span,
    /// Who.
    pub thread: ThreadKey,
    /// Its number, where told.
    pub tid: Tid,
    /// What it did.
    pub state: ThreadState,
    /// Running: where. Ready: on whose run queue.
    pub cpu: Option<CpuId>,
    /// Of that CPU's core.
    pub core_type: Option<CoreType>,
    /// Running: what the other CPUs of the core did; busy, if one was. `None`: there are none that anybody told.
    pub sibling: Option<CpuState>,
    /// Running: that CPU's frequency in kHz, where told.
    pub khz: Option<u32>,
    /// Ready, and not throttled: what that CPU did, and whom it ran; of a parked one, nobody knows what it would have done.
    pub queue: Option<(CpuState, ThreadKey)>,
    /// Ready: its cgroup's CPU quota held it, so that it waited for no CPU.
    pub throttled: bool,
    /// Why.
    pub reason: Reason,
    /// Ready since a waking: who woke it; blocked: who ended that.
    pub waker: ThreadKey,
    /// Its dynamic priority, where told.
    pub prio: Option<i16>,
}

impl Piece {
    /// The word in tables.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.state {
            _ if self.throttled => "throttled",
            _ if self.is_latency() => "wakeup_latency",
            state => state.as_str(),
        }
    }

    /// Ready, while the CPU of its run queue was idle, and nothing but its waking up kept it from there.
    #[must_use]
    pub fn is_latency(&self) -> bool {
        matches!(self.queue, Some((CpuState::Idle, _)))
    }

    /// Ready: who ran on the CPU of its run queue; unknown where nobody can say, or nobody did.
    #[must_use]
    pub fn behind(&self) -> ThreadKey {
        match self.queue {
            Some((CpuState::Busy, thread)) => thread,
            _ => ThreadKey::UNKNOWN,
        }
    }

    /// A row of [`model::tables::CRITICAL_PATH`].
    pub fn row(&self, out: &mut dyn Rows) {
        let known = |thread: &ThreadKey| *thread != ThreadKey::UNKNOWN;
        out.row(&[
            self.span.start.into(),
            self.span.end.into(),
            self.thread.0.into(),
            tid(self.tid),
            self.state().into(),
            self.cpu.map(|c| i64::from(c.0)).into(),
            self.core_type.map(CoreType::as_str).into(),
            self.sibling.map(CpuState::as_str).into(),
            self.khz.map(i64::from).into(),
            Some(self.behind()).filter(known).map(|t| t.0).into(),
            self.reason.word().into(),
            Some(self.waker).filter(known).map(|t| t.0).into(),
            self.prio.map(i64::from).into(),
        ]);
    }
}

/// Null where nobody told.
pub(super) fn tid(tid: Tid) -> Value {
    Some(tid).filter(|t| *t != Tid::UNKNOWN).map(|t| i64::from(t.0)).into()
}

/// A fold over the path and what happened beside it, in order of time, to its pieces.
pub struct Pieces {
    /// The one that is open or opens next, and those after it.
    windows: VecDeque<Window>,
    world: World,
    /// Whom a quota holds, by number, and since when; `None`: not every change is told yet.
    throttled: Option<BTreeMap<Tid, Ns>>,
    /// Who came to run since anybody is held, and when last: whoever runs is not held, even where nobody told that it was let go.
    ran: BTreeMap<ThreadKey, Ns>,
    /// Who is on the path now, and on whose run queue it is, if it is ready.
    on_path: Option<(ThreadStretch, Option<CpuId>)>,
    /// What was before has been told, or stands in `open`.
    since: Ns,
    open: Option<Piece>,
}

impl Pieces {
    /// Before anything happened; the path of the whole span.
    #[must_use]
    pub fn new(context: &Context<'_>) -> Self {
        Self::of(context, [Window::new(context.span, VecDeque::new())].into())
    }

    /// The paths of several windows, which come in order of time and do not overlap.
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
        }
    }

    /// Goes on; `each` gets the pieces that are over. The timeline's threads are what a [`Walk`](crate::critical::Walk) kept.
    pub fn push(&mut self, timeline: &Timeline<'_>, mut each: impl FnMut(&Piece)) {
        let Timeline { threads: mut path, mut cpus, mut events } = *timeline;
        loop {
            let on_path = path.first().map_or(Ns::MAX, |s| s.span.start);
            let cpu = cpus.first().map_or(Ns::MAX, |s| s.span.start);
            let event = events.first().map_or(Ns::MAX, |e| e.at);
            let now = on_path.min(cpu).min(event);
            // After the last of what is at hand more may come before the end of a window.
            if now < Ns::MAX {
                self.until(now, &mut each);
            }
            // Of one instant only this counts: a thread that is moved as it becomes ready is ready first.
            if let (true, Some((first, rest))) = (on_path == now, path.split_first()) {
                path = rest;
                self.open.take().iter().for_each(&mut each);
                self.on_path = Some((*first, first.cpu));
            } else if let (true, Some((first, rest))) = (cpu == now, cpus.split_first()) {
                cpus = rest;
                self.world.cpu(first);
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

    /// The windows are over.
    pub fn finish(mut self, mut each: impl FnMut(&Piece)) {
        if let Some(end) = self.windows.back().map(|w| w.span.end) {
            self.until(end, &mut each);
        }
    }

    /// Nothing changed until now but what is at hand of the path.
    fn until(&mut self, now: Ns, each: &mut impl FnMut(&Piece)) {
        while let Some(window) = self.windows.front_mut() {
            let end = window.span.end;
            let next = window.path.front().map_or(Ns::MAX, |s| s.span.start);
            let to = now.min(end).min(next.max(self.since));
            let taken = if next <= now && next < end { window.path.pop_front() } else { None };
            let queue = taken.and_then(|s| window.queue.take().or(s.cpu));
            self.tell(to, each);
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

    /// What was on the path until now.
    fn tell(&mut self, to: Ns, each: &mut impl FnMut(&Piece)) {
        if let Some((stretch, queue)) = &self.on_path
            && self.since < to
        {
            let piece = self.piece(stretch, *queue, Span::new(self.since, to));
            match &mut self.open {
                Some(open) if (Piece { span: piece.span, ..*open }) == piece => open.span.end = to,
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
        }
    }

    fn is_throttled(&self, stretch: &ThreadStretch) -> bool {
        let since = self.throttled.as_ref().and_then(|held| held.get(&stretch.tid));
        since.is_some_and(|since| self.ran.get(&stretch.thread).is_none_or(|ran| ran <= since))
    }

    /// What the other CPUs of a CPU's core do.
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
