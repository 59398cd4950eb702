//! The pump: streams are read and put in order on a thread of their own, while the caller works on what came before.

use crate::{Fatal, Limits, Opened, Ordered, Troubles};
use model::{Batch, Ns};
use std::sync::mpsc::{TrySendError, sync_channel};

/// Batches between the two threads: enough to even out their paces, few enough to stay in the caches.
const AHEAD: usize = 8;

/// What is known of a source when all of it was read.
#[derive(Clone, Debug)]
pub struct Ingested {
    /// Time 0, on the source's own clock; `None` where it had no event.
    pub origin: Option<Ns>,
    /// Trouble on the way.
    pub troubles: Troubles,
    /// Events that came after their time had passed and were left out: see [`Ordered::late`].
    pub late: u64,
    /// Why reading stopped before the end, if it did; what came before is good.
    pub stopped: Option<Fatal>,
}

/// Reads all of a source, handing its events on in order, in batches whose memory is used again.
pub fn run(opened: Opened<'_>, sort_all: bool, limits: Limits, mut each: impl FnMut(&Batch)) -> Ingested {
    let mut ordered = Ordered::new(opened, sort_all, limits);
    let (full, filled) = sync_channel::<Batch>(AHEAD);
    let (empty, emptied) = sync_channel::<Batch>(AHEAD + 2);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                if !ordered.next(&mut batch) || full.send(batch).is_err() {
                    break;
                }
            }
            let (origin, late) = (ordered.origin(), ordered.late());
            Ingested { origin, troubles: ordered.troubles, late, stopped: ordered.stopped }
        });
        for batch in filled {
            each(&batch);
            // A full return channel only means that the reader has spares enough.
            if let Err(TrySendError::Full(spare) | TrySendError::Disconnected(spare)) = empty.try_send(batch) {
                drop(spare);
            }
        }
        match reader.join() {
            Ok(ingested) => ingested,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
