//! The pieces of the path, by thread.

use super::Piece;
use super::pieces::tid;
use super::waited::Waited;
use model::tables::object_waits;
use model::{CoreType, CpuState, Ns, Row, Rows, Span, ThreadKey, ThreadState, Tid};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sums of pieces by thread.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    threads: BTreeMap<ThreadKey, Sum>,
    /// The thread of the last piece.
    last: Option<ThreadKey>,
    waited: Waited,
}

#[derive(Clone, Debug)]
struct Sum {
    tid: Tid,
    path: Ns,
    /// In the order of the columns.
    running: [Ns; 5],
    sibling_busy: Ns,
    ready: Ns,
    latency: Ns,
    throttled: Ns,
    blocked: Ns,
    exited: Ns,
    unknown: Ns,
    visits: i64,
}

/// Returns the column index of a core type, in tables that have one column for each.
pub(crate) fn column(core_type: Option<CoreType>) -> usize {
    match core_type {
        Some(CoreType::Performance) => 0,
        Some(CoreType::Middle) => 1,
        Some(CoreType::Efficient) => 2,
        Some(CoreType::LowPower) => 3,
        Some(CoreType::Uniform) | None => 4,
    }
}

impl Sum {
    fn new() -> Self {
        let none = Ns::ZERO;
        Self {
            tid: Tid::UNKNOWN,
            path: none,
            running: [none; 5],
            sibling_busy: none,
            ready: none,
            latency: none,
            throttled: none,
            blocked: none,
            exited: none,
            unknown: none,
            visits: 0,
        }
    }

    fn of(&mut self, piece: &Piece) -> &mut Ns {
        match piece.state {
            ThreadState::Running => &mut self.running[column(piece.core_type)],
            ThreadState::Ready if piece.throttled => &mut self.throttled,
            ThreadState::Ready if piece.is_latency() => &mut self.latency,
            ThreadState::Ready => &mut self.ready,
            ThreadState::Blocked => &mut self.blocked,
            ThreadState::Exited => &mut self.exited,
            ThreadState::Unknown => &mut self.unknown,
        }
    }
}

impl Sums {
    /// Adds the next piece, in order of time.
    pub fn push(&mut self, piece: &Piece) {
        let sum = self.threads.entry(piece.thread).or_insert_with(Sum::new);
        let time = piece.span.len();
        sum.tid = sum.tid.max(piece.tid);
        sum.path += time;
        sum.visits += i64::from(self.last != Some(piece.thread));
        if piece.sibling == Some(CpuState::Busy) {
            sum.sibling_busy += time;
        }
        let of = sum.of(piece);
        *of += time;
        self.last = Some(piece.thread);
        self.waited.push(piece);
    }

    /// Adds a wait of any thread, after all pieces. Without [`Self::all_waits`], what threads waited for is unknown.
    pub fn wait(&mut self, row: &Row<'_, object_waits::Table>) {
        self.waited.wait(row);
    }

    /// Says that all waits were added.
    pub fn all_waits(&mut self) {
        self.waited.complete();
    }

    /// Writes the rows of [`model::tables::CRITICAL_BY_THREAD`].
    pub fn finish(self, span: Span, out: &mut dyn Rows) {
        let Self { threads, waited, .. } = self;
        let mut threads: Vec<(ThreadKey, Sum)> = threads.into_iter().collect();
        threads.sort_by_key(|(thread, sum)| (Reverse(sum.path), *thread));
        for (thread, sum) in threads {
            let mut row = vec![thread.into(), tid(sum.tid), sum.path.into()];
            row.push((sum.path.0 as f64 / span.len().0.max(1) as f64).into());
            row.extend(sum.running.map(Into::into));
            let rest = [sum.sibling_busy, sum.ready, sum.latency, sum.throttled, sum.blocked, sum.exited, sum.unknown];
            row.extend(rest.map(Into::into));
            row.push(sum.visits.into());
            row.extend(waited.cells(thread));
            out.row(&row);
        }
    }
}
