//! The pump: a source is read and put in order beside the caller, who works on what came before; on two threads, where there are
//! CPUs for them ([`Limits::ahead`]).

use crate::{Fatal, Fault, Ledger, Limits, Opened, Ordered, Reach, Stream, Trouble, Troubles};
use model::{Batch, Ns};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

/// Batches in order between two threads: as many as one makes while the other's CPU is another's, so that they seldom wait for each
/// other.
const AHEAD: usize = 16;
/// The same of batches as they are read, which are smaller.
const READ_AHEAD: usize = 64;

/// What is known of a source when all of it was read, or as much as was wanted.
#[derive(Clone, Debug)]
#[must_use]
pub struct Ingested {
    /// Time 0, on the source's own clock; `None` where it had no event.
    pub origin: Option<Ns>,
    /// Trouble on the way.
    pub troubles: Troubles,
    /// Events that came after their time had passed and were left out: see [`Ordered::late`].
    pub late: u64,
    /// How reading ended.
    pub ending: Ending,
}

/// How a reading ended. Two readings of a source that nobody writes end alike, whether or not it was sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// Events read, those that came late among them.
    pub events: u64,
    /// Why reading stopped before the end of the source, if it did; what came before is what the source holds.
    pub stopped: Option<Fatal>,
    /// Whether nobody wanted more.
    pub broken_off: bool,
}

/// Why there is no result.
#[derive(Debug)]
pub enum RunError<E> {
    /// The reader failed ([`Fault::Reader`]).
    Reader(Fatal),
    /// The closure that takes the events failed.
    Taker(E),
}

impl<E> RunError<E> {
    /// Both as one error.
    pub fn either(self, of_reader: impl FnOnce(Fatal) -> E) -> E {
        match self {
            Self::Reader(fatal) => of_reader(fatal),
            Self::Taker(error) => error,
        }
    }
}

/// Reads a source, handing its events on in order, in batches whose memory is used again; a closure that keeps some of it leaves
/// other memory in its place. `Break` and `Err` end the reading at the next batch.
///
/// # Errors
/// `each` failed, a reader panicked on whichever thread, or what waits could not be kept in temporary files. A source that is
/// cut off is no error, but an [`Ending::stopped`].
pub fn run<E>(
    mut opened: Opened<'_>,
    sort_all: bool,
    limits: Limits,
    mut each: impl FnMut(&mut Batch) -> Result<ControlFlow<()>, E>,
) -> Result<Ingested, RunError<E>> {
    std::thread::scope(|scope| {
        // Most sources are one stream. Where there are many, their order tells which is read: one thread does both.
        if limits.ahead && opened.streams.len() == 1 {
            opened.streams = opened.streams.drain(..).map(|s| Ahead::start(scope, s)).collect();
        }
        let (full, filled) = sync_channel(AHEAD);
        let (empty, emptied) = sync_channel::<Batch>(AHEAD + 2);
        let ordering = scope.spawn(move || {
            let mut ordered = Ordered::new(opened, sort_all, limits);
            let mut ending = Ending::default();
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                if !ordered.next(&mut batch) {
                    break;
                }
                ending.events += batch.events.len() as u64;
                if full.send(batch).is_err() {
                    ending.broken_off = true;
                    break;
                }
            }
            let (origin, late) = (ordered.origin(), ordered.late());
            ending.events += late;
            ending.stopped = ordered.stopped;
            Ingested { origin, troubles: ordered.troubles, late, ending }
        });
        let mut taken = Ok(ControlFlow::Continue(()));
        for mut batch in &filled {
            taken = each(&mut batch);
            if !matches!(taken, Ok(ControlFlow::Continue(()))) {
                break;
            }
            // A full channel only means that there are spares enough.
            let _ = empty.try_send(batch);
        }
        // The reader finds nobody who takes its next batch, and ends.
        drop(filled);
        let read = ordering.join();
        let broken_off = taken.map_err(RunError::Taker)?.is_break();
        let mut ingested = read.map_err(|_| RunError::Reader(Fatal::of_reader(FAILED)))?;
        ingested.ending.broken_off |= broken_off;
        match ingested.ending.stopped {
            Some(fatal) if fatal.fault == Fault::Reader => Err(RunError::Reader(fatal)),
            _ => Ok(ingested),
        }
    })
}

/// What a reader's panic is called.
const FAILED: &str = "the reader of this format failed: please report it";

/// A stream that is read ahead on another thread.
struct Ahead {
    filled: Receiver<Filled>,
    emptied: SyncSender<Batch>,
    ended: bool,
}

/// What the other thread read.
struct Filled {
    batch: Batch,
    reach: Result<Reach, Fatal>,
    troubles: Vec<(&'static str, u64, Trouble)>,
}

impl Ledger for Vec<(&'static str, u64, Trouble)> {
    fn trouble(&mut self, code: &'static str, offset: u64, what: Trouble) {
        self.push((code, offset, what));
    }
}

impl Ahead {
    fn start<'scope, 'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        mut stream: Box<dyn Stream + Send + 'a>,
    ) -> Box<dyn Stream + Send + 'a> {
        let (full, filled) = sync_channel(READ_AHEAD);
        let (empty, emptied) = sync_channel::<Batch>(READ_AHEAD + 2);
        scope.spawn(move || {
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                batch.clear();
                let mut troubles = Vec::new();
                // A stream that panicked is not asked again.
                let next = AssertUnwindSafe(|| stream.next(&mut batch, &mut troubles));
                let reach = catch_unwind(next).unwrap_or_else(|_| Err(Fatal::of_reader(FAILED)));
                let goes_on = matches!(reach, Ok(Reach::Until(_)));
                if full.send(Filled { batch, reach, troubles }).is_err() || !goes_on {
                    break;
                }
            }
        });
        Box::new(Self { filled, emptied: empty, ended: false })
    }
}

impl Stream for Ahead {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        if self.ended {
            return Ok(Reach::End);
        }
        let Ok(Filled { mut batch, reach, troubles }) = self.filled.recv() else {
            // The thread ends only after it has sent an end or an error.
            return Err(Fatal::of_reader(FAILED));
        };
        self.ended = !matches!(reach, Ok(Reach::Until(_)));
        for (code, offset, what) in troubles {
            bad.trouble(code, offset, what);
        }
        if out.events.is_empty() && out.names.is_empty() && out.stacks.is_empty() {
            std::mem::swap(out, &mut batch);
        } else {
            out.events.append(&mut batch.events);
            out.names.append(&mut batch.names);
            out.stacks.append(&mut batch.stacks);
            out.left_out.take(&mut batch.left_out);
        }
        // A full return channel only means that the reader has spares enough.
        let _ = self.emptied.try_send(batch);
        reach
    }
}
