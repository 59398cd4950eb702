//! For which locks each thread waited, by the thread that held them.

use crate::waited_for::{Basis, EachWait, MAX_KEPT, MAX_OBJECTS, Object, OfWaits, Wait};
use crate::{ReasonId, World};
use model::{Coded, Ns, Rows, ThreadKey, Tid, Value, WaitKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(crate) type LockHolders = EachWait<Table>;

#[derive(Default)]
pub(crate) struct Table {
    rows: FxHashMap<Key, Sums>,
    /// How many waits each lock had.
    waits: FxHashMap<Object, i64>,
}

/// The thread that waited, the lock, and its holder.
type Key = (ThreadKey, Object, WaitKind, Option<(ThreadKey, Basis)>);

#[derive(Default)]
struct Sums {
    tid: Tid,
    holder_tid: Tid,
    waits: i64,
    waited: Ns,
    held: Ns,
    longest: Ns,
    /// In the order of [`Wait::holder_times`].
    holder: [Ns; 4],
    /// How long the holder was blocked in waits in which it waited for this longest.
    reasons: BTreeMap<ReasonId, Ns>,
}

impl Table {
    /// Takes the rows with the longest waits.
    fn longest(&mut self) -> Vec<(Key, Sums)> {
        let mut rows: Vec<_> = self.rows.drain().collect();
        rows.sort_by_key(|(key, sums)| (Reverse(sums.waited), *key));
        rows.truncate(MAX_OBJECTS);
        rows
    }
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, _: &World) {
        let Some((object, kind)) = wait.object.filter(|(_, kind)| kind.is_lock()) else { return };
        *self.waits.entry(object).or_default() += 1;
        let holder = wait.holder.zip(wait.basis);
        let sums = self.rows.entry((wait.thread, object, kind, holder)).or_default();
        (sums.tid, sums.holder_tid) = (wait.tid, wait.holder_tid);
        sums.waits += 1;
        sums.waited += wait.span.len();
        sums.held += wait.held;
        sums.longest = sums.longest.max(wait.held);
        for (sum, time) in sums.holder.iter_mut().zip(wait.holder_times) {
            *sum += time;
        }
        if let Some(reason) = wait.holder_reason {
            *sums.reasons.entry(reason).or_default() += wait.holder_times[3];
        }
        if self.rows.len() > MAX_KEPT {
            self.rows = self.longest().into_iter().collect();
            let kept: FxHashSet<Object> = self.rows.keys().map(|(_, object, ..)| *object).collect();
            self.waits.retain(|object, _| kept.contains(object));
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for ((thread, object, kind, holder), sums) in self.longest() {
            // A condition variable of Rust may look the same for one wait.
            let is_lock = self.waits.get(&object).is_some_and(|waits| *waits > 1);
            let holder = holder.filter(|(_, basis)| is_lock || *basis == Basis::Memory);
            let [running, preempted, ready, blocked] = sums.holder;
            let of_holder = |ns: Ns| Value::from(holder.map(|_| ns));
            let most = sums.reasons.iter().max_by_key(|(reason, blocked)| (**blocked, Reverse(**reason)));
            out.row(&[
                thread.into(),
                i64::from(sums.tid.0).into(),
                object.process(),
                object.text().into(),
                WaitKind::word(kind).into(),
                holder.map(|(key, _)| key).into(),
                holder.map(|(_, basis)| basis.word()).into(),
                holder.map(|_| i64::from(sums.holder_tid.0)).into(),
                sums.waits.into(),
                sums.waited.into(),
                of_holder(sums.held),
                of_holder(sums.longest),
                of_holder(running),
                of_holder(preempted + ready),
                of_holder(blocked),
                most.filter(|_| holder.is_some()).and_then(|(reason, _)| world.reason(*reason)).into(),
            ]);
        }
    }
}
