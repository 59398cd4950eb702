//! How a thread came to run: who woke it, who woke that one before, and so on.

use crate::answer;
use crate::asked::Chain;
use crate::questions::Unanswered;
use engine::Session;
use model::tables::thread_state::{END_NS, START_NS, STATE, THREAD, WAKER};
use model::{Col, Kind, MadeFrom, Ns, Row, Span, TableDef, ThreadState, tables};
use std::time::{Duration, Instant};

/// The wakings of a chain, the last first.
pub(crate) const COLUMNS: TableDef = TableDef {
    name: "wake_chain",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "The wakings that led to where a thread was, the last first.",
    key: &["at_ns", "thread"],
    cols: &[
        Col::new("thread", Kind::Int, "", "Who was woken.").of_thread(),
        Col::new("waker", Kind::Int, "", "Who woke it; 0: an interrupt did.").of_thread(),
        Col::new("at_ns", Kind::Int, "ns", "When."),
        Col::new("ready_ns", Kind::Int, "ns", "How long it was then ready."),
    ],
};

/// More arrows than these nobody follows.
const MOST: usize = 8;
/// A waking is looked for so far back, in steps of which each is [`WIDER`] times the one before.
const FIRST: i64 = 1_000_000;
const WIDER: i64 = 16;
const STEPS: usize = 4;
/// What is found by then is told.
const BUDGET: Duration = Duration::from_secs(2);

/// The chain that led a thread to a time.
pub(crate) fn chain(session: &Session, asked: &Chain, left: &dyn Fn() -> bool) -> Result<Vec<u8>, Unanswered> {
    let ends = Instant::now() + BUDGET;
    let stop = || left() || Instant::now() > ends;
    let mut found = Vec::new();
    let (mut thread, mut at) = (asked.thread, asked.at.clamp(0, session.summary().span_ns));
    while found.len() < MOST {
        let waking = waking(session, thread, at, &stop).map_err(Unanswered::Failed)?;
        let Some(Waking { waker, start, end }) = waking else { break };
        found.push(vec![thread.into(), waker.into(), start.into(), (end - start).into()]);
        // An interrupt, or the thread itself by a timer of its own.
        if waker == 0 || waker == thread {
            break;
        }
        (thread, at) = (waker, start);
    }
    answer::rows(&COLUMNS, &found).map_err(|e| Unanswered::Failed(e.to_string()))
}

struct Waking {
    waker: i64,
    start: i64,
    end: i64,
}

/// The last waking of a thread at a time or before.
fn waking(session: &Session, thread: i64, at: i64, stop: &dyn Fn() -> bool) -> Result<Option<Waking>, String> {
    let (mut last, mut back, mut to) = (None, FIRST, at.saturating_add(1));
    for _ in 0..STEPS {
        let from = to.saturating_sub(back).max(0);
        if from >= to {
            break;
        }
        let span = Span { start: Ns(from), end: Ns(to) };
        let mut stopped = false;
        let read = session.rows_within(tables::THREAD_STATE.name, Some(span), &mut |rows| {
            for cells in rows {
                let row = Row::new(cells);
                let ready = row.get(THREAD) == thread && row.get(STATE) == ThreadState::Ready.as_str();
                let [start, end] = row.all([START_NS, END_NS]);
                // Rows come in order of their start.
                if let (true, Some(waker)) = (ready && start <= at, row.get(WAKER)) {
                    last = Some(Waking { waker, start, end });
                }
            }
            stopped = stop();
            if stopped { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        if last.is_some() || stopped {
            // What was stopped has not seen all of that time: it may not be the last.
            return Ok(last.filter(|_| !stopped));
        }
        read.map_err(|e| e.to_string())?;
        (to, back) = (from, back.saturating_mul(WIDER));
    }
    Ok(None)
}
