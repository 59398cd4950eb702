//! The periods of threads that a timer wakes at a steady distance.

use crate::by_thread::ByThread;
use crate::period_grid::{Grid, Wakeups, Woken};
use crate::{Analysis, Begins, Context, World};
use model::{Ns, Reason, Rows, ThreadKey, ThreadState, ThreadStretch, Tid, Value};

pub(crate) struct Periods {
    threads: ByThread<Thread>,
    /// The periods that are over and were not written yet.
    over: Vec<Period>,
}

#[derive(Clone, Default)]
struct Thread {
    /// Its times until now: running, ready, blocked, unknown.
    times: Times,
    /// Since when it is blocked, if it is, and its times until then.
    blocked: Option<(Ns, Times)>,
    wakeups: Wakeups<Wakeup>,
    current: Option<(Grid, Wakeup)>,
}

type Times = [Ns; 4];

/// A wakeup, and the wait that it ended.
#[derive(Clone, Copy)]
struct Wakeup {
    at: Ns,
    times: Times,
    waited_since: Ns,
    times_before_wait: Times,
}

struct Period {
    thread: ThreadKey,
    tid: Tid,
    due: Ns,
    end: Ns,
    length: i64,
    late: Ns,
    times: Times,
    done: Ns,
    missed: i64,
    steady: f64,
}

impl Thread {
    /// Takes a stretch; returns the wakeup that begins it, if an interrupt woke the thread.
    fn stretch(&mut self, stretch: &ThreadStretch, begins: Begins) -> Option<Wakeup> {
        let waited = self.blocked.take();
        let times = self.times;
        let column = match stretch.state {
            ThreadState::Running => 0,
            ThreadState::Ready => 1,
            ThreadState::Blocked => 2,
            ThreadState::Unknown | ThreadState::Exited => 3,
        };
        self.times[column] = times[column] + stretch.span.len();
        if stretch.state == ThreadState::Blocked && stretch.reason != Reason::State(b'D') {
            self.blocked = Some((stretch.span.start, times));
        }
        let (waited_since, times_before_wait) = waited?;
        let is_woken = stretch.state == ThreadState::Ready && stretch.reason == Reason::Woken;
        let by_interrupt = stretch.waker_thread == ThreadKey::IDLE && begins == Begins::Here;
        (is_woken && by_interrupt).then_some(Wakeup { at: stretch.span.start, times, waited_since, times_before_wait })
    }
}

impl Periods {
    fn woken(&mut self, thread: ThreadKey, tid: Tid, wakeup: Wakeup) {
        let woken = Woken { at: wakeup.at, slept: wakeup.at - wakeup.waited_since };
        let of = self.threads.of(thread);
        let Some((grid, last)) = &mut of.current else {
            let Some((grid, kept)) = of.wakeups.push(woken, wakeup) else { return };
            let mut kept = kept.into_iter().map(|(_, wakeup)| wakeup);
            of.current = kept.next().map(|first| (grid, first));
            kept.for_each(|wakeup| self.woken(thread, tid, wakeup));
            return;
        };
        let due = grid.due;
        if let Some(next) = grid.woken_at(woken) {
            let length = grid.period;
            let done = wakeup.waited_since;
            let missed = ((done - due).0 / length).clamp(0, next.periods);
            // A thread that slept through due times was not woken for them: these periods are not its own.
            let end = if missed + 1 < next.periods { due + Ns(length * (missed + 1)) } else { next.due };
            self.over.push(Period {
                thread,
                tid,
                due,
                end,
                length,
                late: last.at - due,
                times: std::array::from_fn(|n| wakeup.times_before_wait[n] - last.times[n]),
                done,
                missed,
                steady: grid.steady(),
            });
            *last = wakeup;
        }
        if grid.is_lost() {
            of.current = None;
            of.wakeups = Wakeups::default();
        }
    }
}

impl Analysis for Periods {
    fn new(_: &Context<'_>) -> Self {
        Self { threads: ByThread::new(), over: Vec::new() }
    }

    fn weight() -> usize {
        4
    }

    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, _: &World) {
        let of = self.threads.of(stretch.thread);
        if stretch.state == ThreadState::Exited {
            // Nothing follows, and the wakeups take room.
            *of = Thread::default();
        } else if let Some(wakeup) = of.stretch(stretch, begins) {
            self.woken(stretch.thread, stretch.tid, wakeup);
        }
    }

    fn drain(&mut self, _: &World, out: &mut dyn Rows) {
        for period in self.over.drain(..) {
            let mut row: Vec<Value> = vec![
                period.thread.into(),
                i64::from(period.tid.0).into(),
                period.due.into(),
                period.end.into(),
                period.length.into(),
                period.late.into(),
            ];
            row.extend(period.times.map(Value::from));
            row.extend([
                (period.done - period.due).into(),
                (period.end - period.done).into(),
                period.missed.into(),
                period.steady.into(),
            ]);
            out.row(&row);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.drain(world, out);
    }
}
