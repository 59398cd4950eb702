//! The chain of wakeups that led to a thread: its waker, the waker of that thread, and so on.

use crate::answer;
use crate::queries::QueryError;
use crate::query::Chain;
use engine::Session;
use model::tables::thread_state::{END_NS, START_NS, STATE, THREAD, WAKER};
use model::{Col, Kind, MadeFrom, Ns, Row, Span, TableDef, ThreadKey, ThreadState, tables};
use std::time::{Duration, Instant};

/// The wakeups of a chain, the last one first.
pub(crate) const COLUMNS: TableDef = TableDef {
    name: "wake_chain",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "The chain of wakeups that led to a thread's state, the last one first.",
    key: &["at_ns", "thread"],
    cols: &[
        Col::new("thread", Kind::Int, "", "The thread that was woken.").thread_key(),
        Col::new("waker", Kind::Int, "", "The waker; 0 for an interrupt.").thread_key(),
        Col::new("at_ns", Kind::Int, "ns", "The time of the wakeup."),
        Col::new("ready_ns", Kind::Int, "ns", "How long the thread was then ready."),
    ],
};

/// The maximum length of a chain.
const MAX_CHAIN: usize = 8;
/// The length of the first step of the search backwards; each further step is [`WIDER`] times longer.
const FIRST: Ns = Ns(1_000_000);
const WIDER: i64 = 16;
const STEPS: usize = 4;
/// The time limit; what was found by then is returned.
const BUDGET: Duration = Duration::from_secs(2);

/// Finds the chain that led to a thread's state at a time.
pub(crate) fn chain(session: &Session, query: &Chain, cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, QueryError> {
    let ends = Instant::now() + BUDGET;
    let stop = || cancelled() || Instant::now() > ends;
    let mut found = Vec::new();
    let (mut thread, mut at) = (query.thread, Ns(query.at.clamp(0, session.summary().span_ns)));
    while found.len() < MAX_CHAIN {
        let wakeup = last_wakeup(session, thread, at, &stop).map_err(QueryError::Failed)?;
        let Some(Wakeup { waker, start, end }) = wakeup else { break };
        found.push(vec![thread.into(), waker.into(), start.into(), (end - start).into()]);
        // Woken by an interrupt, or by the thread's own timer.
        if waker == ThreadKey::IDLE || waker == thread {
            break;
        }
        (thread, at) = (waker, start);
    }
    answer::rows(&COLUMNS, &found).map_err(|e| QueryError::Failed(e.to_string()))
}

struct Wakeup {
    waker: ThreadKey,
    start: Ns,
    end: Ns,
}

/// Finds the last wakeup of a thread at a time or before.
fn last_wakeup(
    session: &Session,
    thread: ThreadKey,
    at: Ns,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Wakeup>, String> {
    let (mut last, mut back, mut to) = (None, FIRST, at + Ns(1));
    for _ in 0..STEPS {
        let from = (to - back).max(Ns::ZERO);
        if from >= to {
            break;
        }
        let span = Span { start: from, end: to };
        let mut stopped = false;
        let read = session.rows_within(tables::THREAD_STATE.name, Some(span), &mut |rows| {
            for cells in rows {
                let row = Row::new(cells);
                let ready = row.get(THREAD) == thread && row.get(STATE) == ThreadState::Ready.as_str();
                let [start, end] = row.all([START_NS, END_NS]);
                // Rows come in order of their start.
                if let (true, Some(waker)) = (ready && start <= at, row.get(WAKER)) {
                    last = Some(Wakeup { waker, start, end });
                }
            }
            stopped = stop();
            if stopped { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        if last.is_some() || stopped {
            // If reading was stopped, the one found may not be the last.
            return Ok(last.filter(|_| !stopped));
        }
        read.map_err(|e| e.to_string())?;
        (to, back) = (from, back * WIDER);
    }
    Ok(None)
}
