//! The locks that threads waited for.

use crate::World;
use crate::waited_for::{Basis, EachWait, MAX_KEPT, MAX_OBJECTS, Object, OfWaits, Wait};
use model::{Coded, Ns, Rows, ThreadKey, WaitKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(crate) type Locks = EachWait<Table>;

#[derive(Default)]
pub(crate) struct Table(FxHashMap<(Object, WaitKind), Lock>);

#[derive(Default)]
struct Lock {
    waits: i64,
    waited: Ns,
    longest: Ns,
    waiters: BTreeMap<ThreadKey, ()>,
    /// How long each thread held it while others waited, and was blocked meanwhile.
    holders: BTreeMap<ThreadKey, (Ns, Ns)>,
    releasers: BTreeMap<ThreadKey, i64>,
    /// How the holder is known, in the last wait.
    basis: Option<Basis>,
}

impl Table {
    /// Takes the locks with the longest waits.
    fn longest(&mut self) -> Vec<((Object, WaitKind), Lock)> {
        let mut locks: Vec<_> = self.0.drain().collect();
        locks.sort_by_key(|((object, kind), lock)| (Reverse(lock.waited), *object, *kind));
        locks.truncate(MAX_OBJECTS);
        locks
    }
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, _: &World) {
        let Some(of) = wait.object.filter(|(_, kind)| kind.is_lock()) else { return };
        let lock = self.0.entry(of).or_default();
        let waited = wait.span.len();
        lock.waits += 1;
        lock.waited += waited;
        lock.longest = lock.longest.max(waited);
        lock.waiters.insert(wait.thread, ());
        lock.basis = wait.basis;
        if let Some(holder) = wait.holder {
            let (held, blocked) = lock.holders.entry(holder).or_default();
            *held += wait.held;
            *blocked += wait.holder_times[3];
        }
        if let Some(by) = wait.released_by.filter(|by| *by > ThreadKey::IDLE) {
            *lock.releasers.entry(by).or_default() += 1;
        }
        if self.0.len() > MAX_KEPT {
            self.0 = self.longest().into_iter().collect();
        }
    }

    fn finish(&mut self, _: &World, out: &mut dyn Rows) {
        for ((object, kind), mut lock) in self.longest() {
            // A condition variable of Rust may look the same for one wait.
            if lock.waits == 1 && lock.basis == Some(Basis::Release) {
                lock.holders.clear();
            }
            let longest = lock.holders.iter().max_by_key(|(key, (held, _))| (*held, Reverse(**key)));
            let most = lock.releasers.iter().max_by_key(|(key, waits)| (**waits, Reverse(**key)));
            out.row(&[
                object.process(),
                object.text().into(),
                WaitKind::word(kind).into(),
                lock.waits.into(),
                lock.waited.into(),
                lock.longest.into(),
                (lock.waiters.len() as i64).into(),
                (lock.holders.len() as i64).into(),
                lock.holders.values().map(|(held, _)| *held).sum::<Ns>().into(),
                longest.map(|(key, _)| *key).into(),
                longest.map(|(_, (held, _))| *held).into(),
                longest.map(|(_, (_, blocked))| *blocked).into(),
                most.map(|(key, _)| *key).into(),
            ]);
        }
    }
}
