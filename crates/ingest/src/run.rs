//! Reads a source and orders its events in parallel with the caller, which processes earlier batches. Uses two threads if there are
//! enough CPUs ([`Limits::ahead`]).

use crate::states::States;
use crate::{Anomalies, Anomaly, Fatal, Fault, Ledger, Limits, Opened, Ordered, Reach, StateReading, Stream};
use model::{Batch, Ns, SamplingOff};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

/// The number of ordered batches between two threads: enough that one thread can go on while the other is preempted.
const AHEAD: usize = 16;
/// The same for batches before ordering, which are smaller.
const READ_AHEAD: usize = 64;

/// How a source is read. A first reading may show that another one is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Ignore the horizons of the streams and sort everything, for a source with late events ([`Ingested::late`]).
    pub sort_all: bool,
    /// How the states of threads are read ([`Ingested::states`]).
    pub states: StateReading,
}

/// The result of reading a source.
#[derive(Clone, Debug)]
#[must_use]
pub struct Ingested {
    /// Time 0 on the source's own clock; `None` if it has no event.
    pub origin: Option<Ns>,
    /// The anomalies.
    pub anomalies: Anomalies,
    /// For how long events were not sampled.
    pub sampling_off: Vec<SamplingOff>,
    /// The number of late events that were dropped: see [`Ordered::late`].
    pub late: u64,
    /// How the states of threads must be read, as far as the events show it. If it is not how they were read, read the source again.
    pub states: StateReading,
    /// Whether any switch has a state that was to be read.
    pub has_states: bool,
    /// How the reading ended.
    pub ending: Ending,
}

/// How a reading ended. Two readings of an unchanged source end in the same way, whether or not it was sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ending {
    /// The number of events read, including late ones.
    pub events: u64,
    /// Why reading stopped before the end of the source, if it did; what came before is what the source holds.
    pub stopped: Option<Fatal>,
    /// Whether the caller stopped the reading.
    pub stopped_by_caller: bool,
}

/// Why there is no result.
#[derive(Debug)]
pub enum RunError<E> {
    /// The reader failed ([`Fault::Reader`]).
    Reader(Fatal),
    /// The closure that takes the events failed.
    Consumer(E),
}

impl<E> RunError<E> {
    /// Converts both kinds to one error type.
    pub fn either(self, of_reader: impl FnOnce(Fatal) -> E) -> E {
        match self {
            Self::Reader(fatal) => of_reader(fatal),
            Self::Consumer(error) => error,
        }
    }
}

/// Reads a source and passes on its events in order, in batches whose memory is reused. A closure that keeps a vector leaves another
/// one in its place. `Break` and `Err` end the reading at the next batch.
///
/// ```
/// use ingest::{Facts, Limits, Opened, Reading, RunError, run};
/// use std::ops::ControlFlow;
///
/// let opened = Opened { facts: Facts::default(), streams: Vec::new() };
/// let mut events = 0;
/// let ingested = run(opened, Reading::default(), Limits::default(), |batch| {
///     events += batch.events.len();
///     Ok::<_, std::io::Error>(ControlFlow::Continue(()))
/// })?;
/// assert_eq!((events, ingested.ending.events, ingested.ending.stopped), (0, 0, None));
/// # Ok::<(), RunError<std::io::Error>>(())
/// ```
///
/// # Errors
/// `each` failed, a reader panicked on any thread, or temporary files could not be written. A source that is cut off is not an error
/// but an [`Ending::stopped`].
pub fn run<E>(
    mut opened: Opened<'_>,
    reading: Reading,
    limits: Limits,
    mut each: impl FnMut(&mut Batch) -> Result<ControlFlow<()>, E>,
) -> Result<Ingested, RunError<E>> {
    std::thread::scope(|scope| {
        // Most sources are one stream. With several streams, the order determines which one is read, so one thread does both.
        if limits.ahead && opened.streams.len() == 1 {
            opened.streams = opened.streams.drain(..).map(|s| Ahead::start(scope, s)).collect();
        }
        let (full, filled) = sync_channel(AHEAD);
        let (empty, emptied) = sync_channel::<Batch>(AHEAD + 2);
        let ordering = scope.spawn(move || {
            let mut states = States::new(opened.facts.states, reading.states);
            let mut ordered = Ordered::new(opened, reading.sort_all, limits);
            let mut ending = Ending::default();
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                if !ordered.next(&mut batch) {
                    break;
                }
                states.read(&mut batch);
                ending.events += batch.events.len() as u64;
                if full.send(batch).is_err() {
                    ending.stopped_by_caller = true;
                    break;
                }
            }
            let (origin, late) = (ordered.origin(), ordered.late());
            ending.events += late;
            ending.stopped = ordered.stopped;
            let (has_states, states) = (states.any(), states.reading());
            let (anomalies, sampling_off) = (ordered.anomalies, ordered.sampling_off);
            Ingested { origin, anomalies, sampling_off, late, states, has_states, ending }
        });
        let mut taken = Ok(ControlFlow::Continue(()));
        for mut batch in &filled {
            taken = each(&mut batch);
            if !matches!(taken, Ok(ControlFlow::Continue(()))) {
                break;
            }
            // If the channel is full, there are enough spare batches.
            let _ = empty.try_send(batch);
        }
        // Ends the reader at its next batch.
        drop(filled);
        let read = ordering.join();
        let stopped_by_caller = taken.map_err(RunError::Consumer)?.is_break();
        let mut ingested = read.map_err(|_| RunError::Reader(Fatal::in_reader(FAILED)))?;
        ingested.ending.stopped_by_caller |= stopped_by_caller;
        match ingested.ending.stopped {
            Some(fatal) if fatal.fault == Fault::Reader => Err(RunError::Reader(fatal)),
            _ => Ok(ingested),
        }
    })
}

/// The message for a reader's panic.
const FAILED: &str = "the reader of this format failed: please report it";

/// A stream that another thread reads in advance.
struct Ahead {
    filled: Receiver<Filled>,
    emptied: SyncSender<Batch>,
    ended: bool,
}

/// A batch from the other thread.
struct Filled {
    batch: Batch,
    reach: Result<Reach, Fatal>,
    anomalies: Vec<(&'static str, u64, Anomaly)>,
}

impl Ledger for Vec<(&'static str, u64, Anomaly)> {
    fn anomaly(&mut self, code: &'static str, offset: u64, what: Anomaly) {
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
                let mut anomalies = Vec::new();
                // A stream that panicked is not read again.
                let next = AssertUnwindSafe(|| stream.next(&mut batch, &mut anomalies));
                let reach = catch_unwind(next).unwrap_or_else(|_| Err(Fatal::in_reader(FAILED)));
                let goes_on = matches!(reach, Ok(Reach::Until(_)));
                if full.send(Filled { batch, reach, anomalies }).is_err() || !goes_on {
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
        let Ok(Filled { mut batch, reach, anomalies }) = self.filled.recv() else {
            // The thread ends only after it has sent an end or an error.
            return Err(Fatal::in_reader(FAILED));
        };
        self.ended = !matches!(reach, Ok(Reach::Until(_)));
        for (code, offset, what) in anomalies {
            bad.anomaly(code, offset, what);
        }
        if out.events.is_empty() && out.names.is_empty() && out.stacks.is_empty() {
            std::mem::swap(out, &mut batch);
        } else {
            out.events.append(&mut batch.events);
            out.names.append(&mut batch.names);
            out.stacks.append(&mut batch.stacks);
            out.left_out.take(&mut batch.left_out);
        }
        // If the channel is full, the reader has enough spare batches.
        let _ = self.emptied.try_send(batch);
        reach
    }
}
