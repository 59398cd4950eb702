//! Requests to block devices, and how long the threads that issued them were blocked at the same time.
//!
//! ```text
//!   thread   run │ blocked               │ ready │ run
//!   read 1       ├────────── io ────┤                    blocked_ns: counted once while at least one of its
//!   read 2          ├──────── io ───────┤                requests was pending and it was blocked
//! ```

use crate::{Analysis, Begins, Context, World};
use model::{
    BlockOperation, BlockRequest, Change, Device, Ns, Rows, ThreadKey, ThreadState, ThreadStretch, TimelineEvent, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of pending requests, many times the size of device queues.
const MAX_PENDING: usize = 1 << 16;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The key of a row.
type Key = (Device, BlockOperation, ThreadKey);

/// The key to find the request of a completion.
type Place = (Device, u64, BlockOperation);

/// A flush has no data, and before Linux 4.8 it completes as a write of none, at any sector.
fn place(request: &BlockRequest) -> Place {
    let without_data = request.bytes == 0 && request.operation != BlockOperation::Other;
    let (sector, operation) =
        if without_data { (u64::MAX, BlockOperation::Flush) } else { (request.sector, request.operation) };
    (request.device, sector, operation)
}

pub(crate) struct BlockIo {
    rows: BTreeMap<Key, Sums>,
    under_way: FxHashMap<Place, VecDeque<Request>>,
    count: usize,
    /// The rows of each thread that issued a request.
    issued_by: FxHashMap<ThreadKey, Vec<Key>>,
    /// The threads that are blocked now.
    blocked: FxHashSet<ThreadKey>,
}

struct Request {
    of: Key,
    since: Ns,
    begins: Begins,
    /// The remaining length.
    bytes: u64,
}

#[derive(Default)]
struct Sums {
    requests: i64,
    bytes: i64,
    completed: i64,
    io: Ns,
    longest: Option<Ns>,
    blocked: Ns,
    missing_issues: i64,
    under_way: usize,
    /// The time up to which `blocked` is counted.
    since: Ns,
}

impl Sums {
    fn advance(&mut self, now: Ns, blocked: bool) {
        if blocked && self.under_way > 0 {
            self.blocked += now - self.since;
        }
        self.since = now;
    }
}

impl BlockIo {
    fn is_blocked(&self, thread: ThreadKey) -> bool {
        self.blocked.contains(&thread)
    }

    fn issued(&mut self, request: &BlockRequest, thread: ThreadKey, begins: Begins, world: &World) {
        let place = place(request);
        // A request that the driver could not take is issued again (`block_rq_requeue`). It is still the same one.
        let same = |pending: &Request| request.bytes > 0 && pending.bytes == request.bytes;
        if self.under_way.get(&place).is_some_and(|pending| pending.iter().any(same)) {
            return;
        }
        let of = (request.device, request.operation, thread);
        let blocked = self.is_blocked(thread);
        let sums = self.rows.entry(of).or_insert_with(|| {
            self.issued_by.entry(thread).or_default().push(of);
            Sums::default()
        });
        sums.advance(world.now, blocked);
        if begins == Begins::Here {
            sums.requests += 1;
            sums.bytes = sums.bytes.saturating_add_unsigned(request.bytes);
        }
        if self.count < MAX_PENDING {
            sums.under_way += 1;
            self.count += 1;
            let request = Request { of, since: world.now, begins, bytes: request.bytes };
            self.under_way.entry(place).or_default().push_back(request);
        }
    }

    fn done(&mut self, request: &BlockRequest, begins: Begins, world: &World) {
        let place = place(request);
        let Some(first) = self.under_way.get_mut(&place).and_then(VecDeque::pop_front) else {
            if begins == Begins::Here {
                let of = (request.device, request.operation, ThreadKey::UNKNOWN);
                self.rows.entry(of).or_default().missing_issues += 1;
            }
            return;
        };
        if self.under_way.get(&place).is_some_and(VecDeque::is_empty) {
            self.under_way.remove(&place);
        }
        if request.bytes > 0 && request.bytes < first.bytes {
            // The rest of the request is still pending.
            let rest = (place.0, place.1.saturating_add(request.bytes / SECTOR), place.2);
            let bytes = first.bytes - request.bytes;
            self.under_way.entry(rest).or_default().push_back(Request { bytes, ..first });
            return;
        }
        self.count -= 1;
        self.over(&first, world);
        let took = world.now - first.since;
        if let Some(sums) = self.rows.get_mut(&first.of)
            && begins == Begins::Here
        {
            sums.completed += 1;
            if first.begins == Begins::Here {
                sums.longest = sums.longest.max(Some(took));
            }
        }
    }

    /// Handles a request that is no longer pending.
    fn over(&mut self, request: &Request, world: &World) {
        let blocked = self.is_blocked(request.of.2);
        if let Some(sums) = self.rows.get_mut(&request.of) {
            sums.advance(world.now, blocked);
            sums.under_way = sums.under_way.saturating_sub(1);
            sums.io += world.now - request.since;
        }
    }
}

impl Analysis for BlockIo {
    fn new(_: &Context<'_>) -> Self {
        let (under_way, issued_by) = (FxHashMap::default(), FxHashMap::default());
        Self { rows: BTreeMap::new(), under_way, count: 0, issued_by, blocked: FxHashSet::default() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        let thread = stretch.thread;
        let blocks = stretch.state == ThreadState::Blocked;
        let changed = if blocks { self.blocked.insert(thread) } else { self.blocked.remove(&thread) };
        if changed {
            for of in self.issued_by.get(&thread).into_iter().flatten() {
                if let Some(sums) = self.rows.get_mut(of) {
                    sums.advance(world.now, !blocks);
                }
            }
        }
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Change::Block(request) = &event.what else { return };
        if request.done {
            self.done(request, begins, world);
        } else {
            self.issued(request, thread, begins, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let left: Vec<Request> = self.under_way.drain().flat_map(|(_, all)| all).collect();
        left.iter().for_each(|request| self.over(request, world));
        for ((device, operation, thread), sums) in &self.rows {
            let of_thread = *thread != ThreadKey::UNKNOWN;
            out.row(&[
                device.to_string().into(),
                operation.as_str().into(),
                of_thread.then_some(*thread).into(),
                sums.requests.into(),
                sums.bytes.into(),
                sums.completed.into(),
                sums.io.into(),
                sums.longest.into(),
                Value::from(of_thread.then_some(sums.blocked)),
                sums.missing_issues.into(),
            ]);
        }
    }
}
