//! Which threads lent their priority to which others, and the state times of these at the boosted priority.
//!
//! ```text
//!   waiter     run │ blocked on the lock   │ run
//!   holder     run │ run │ ready │ run     │ run
//!                  ├────── boosted ────────┤          at the waiter's priority, where that is better than its own
//! ```

use crate::by_thread::ByThread;
use crate::{Analysis, Begins, Context, World};
use model::{
    Change, Donor, InheritedPriority, Ns, Rows, SetTo, ThreadKey, ThreadState, ThreadStretch, Tid, TimelineEvent,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub(crate) struct PriorityInheritance {
    threads: ByThread<Of>,
    /// The last instance of every TID, to find donors.
    keys: FxHashMap<Tid, ThreadKey>,
    rows: BTreeMap<(ThreadKey, Option<ThreadKey>), Sums>,
}

#[derive(Clone, Copy, Default)]
struct Of {
    tid: Tid,
    state: Option<ThreadState>,
    /// Its own priority, if recorded.
    own: Option<i16>,
    boost: Option<Boost>,
}

/// A boosted priority, better than the thread's own.
#[derive(Clone, Copy)]
struct Boost {
    donor: Option<ThreadKey>,
    own: i16,
    prio: i16,
    /// The time up to which it is counted.
    since: Ns,
}

#[derive(Default)]
struct Sums {
    /// The best priorities.
    own: Option<i16>,
    prio: Option<i16>,
    boosts: i64,
    boosted: Ns,
    running: Ns,
    ready: Ns,
    blocked: Ns,
}

impl Sums {
    fn take(&mut self, boost: &Boost) {
        let best = |a: Option<i16>, b: i16| Some(a.map_or(b, |a| a.min(b)));
        (self.own, self.prio) = (best(self.own, boost.own), best(self.prio, boost.prio));
    }
}

impl PriorityInheritance {
    /// Counts the state of a thread until now.
    fn advance(&mut self, thread: ThreadKey, now: Ns) {
        let of = self.threads.of(thread);
        let Some(boost) = &mut of.boost else { return };
        let length = now - boost.since;
        if length <= Ns::ZERO {
            return;
        }
        boost.since = now;
        let sums = self.rows.entry((thread, boost.donor)).or_default();
        sums.take(boost);
        sums.boosted += length;
        match of.state {
            Some(ThreadState::Running) => sums.running += length,
            Some(ThreadState::Ready) => sums.ready += length,
            Some(ThreadState::Blocked) => sums.blocked += length,
            _ => {}
        }
    }

    fn inherited(&mut self, thread: ThreadKey, to: &InheritedPriority, begins: Begins, now: Ns) {
        self.advance(thread, now);
        let donor = match to.donor {
            Donor::Thread(tid) => self.keys.get(&tid).copied(),
            Donor::NotRecorded | Donor::None => None,
        };
        let of = self.threads.of(thread);
        // If it is not recorded, it is the priority before the first boost and after the last one.
        let before = of.boost.map(|boost| boost.own);
        let (Some(old_prio), Some(prio)) = (to.old_prio.get(), to.prio.get()) else { return };
        let own = of.own.or(before).unwrap_or_else(|| old_prio.max(prio));
        if to.donor == Donor::None || prio >= own {
            of.boost = None;
            return;
        }
        let is_new = of.boost.is_none_or(|boost| boost.donor != donor);
        let boost = Boost { donor, own, prio, since: now };
        of.boost = Some(boost);
        if begins == Begins::Here {
            let sums = self.rows.entry((thread, donor)).or_default();
            sums.take(&boost);
            sums.boosts += i64::from(is_new);
        }
    }
}

impl Analysis for PriorityInheritance {
    fn new(_: &Context<'_>) -> Self {
        let (threads, keys) = (ByThread::new(), FxHashMap::default());
        Self { threads, keys, rows: BTreeMap::new() }
    }

    fn thread(&mut self, stretch: &ThreadStretch, _: Begins, world: &World) {
        self.advance(stretch.thread, world.now);
        let of = self.threads.of(stretch.thread);
        if of.tid != stretch.tid {
            of.tid = stretch.tid;
            self.keys.insert(stretch.tid, stretch.thread);
        }
        of.state = Some(stretch.state);
        if stretch.state == ThreadState::Exited {
            of.boost = None;
        }
    }

    fn setting(&mut self, thread: ThreadKey, to: &SetTo, _: &World) {
        if let SetTo::Attr { prio, .. } = *to
            && let Some(prio) = prio.get()
        {
            self.threads.of(thread).own = Some(prio);
        }
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        if let Change::Inherited(to) = &event.what
            && thread != ThreadKey::UNKNOWN
            && self.threads.of(thread).state != Some(ThreadState::Exited)
        {
            self.inherited(thread, to, begins, world.now);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        let boosted: Vec<ThreadKey> =
            self.threads.iter().filter(|(_, of)| of.boost.is_some()).map(|(key, _)| key).collect();
        boosted.into_iter().for_each(|thread| self.advance(thread, world.now));
        for ((thread, donor), sums) in &self.rows {
            let tid = self.threads.get(*thread).map_or(0, |of| of.tid.0);
            out.row(&[
                (*thread).into(),
                i64::from(tid).into(),
                (*donor).into(),
                sums.own.map(i64::from).into(),
                sums.prio.map(i64::from).into(),
                sums.boosts.into(),
                sums.boosted.into(),
                sums.running.into(),
                sums.ready.into(),
                sums.blocked.into(),
            ]);
        }
    }
}
