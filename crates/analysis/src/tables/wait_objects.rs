//! What each thread waited for: all its blocked time, by system call and object.

use crate::call_site::CallSites;
use crate::waited_for::{EachWait, MAX_KEPT, MAX_OBJECTS, Object, OfWaits, Ready, Wait};
use crate::{ReasonId, World};
use model::{CallWaits, Coded, NameId, Ns, Rows, ThreadKey, Tid, Value, WaitKind, call_waits};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(crate) type WaitObjects = EachWait<Table>;

#[derive(Default)]
pub(crate) struct Table {
    rows: FxHashMap<Key, Sums>,
    /// How many of the rows have an object.
    objects: usize,
    tids: FxHashMap<ThreadKey, Tid>,
    /// The last wait for each object that a thread ended.
    last: FxHashMap<Object, Last>,
}

/// The time within which the wakeups of one thread are one: those of a broadcast follow each other within a few microseconds.
const TOGETHER: Ns = Ns(100_000);

/// A wait for an object that a thread ended.
#[derive(Clone, Copy)]
struct Last {
    at: Ns,
    by: ThreadKey,
    key: Key,
    /// Whether it counts as ended together with another one.
    together: bool,
}

/// Returns the word for what a thread waits for in a call whose object was not recorded.
pub(crate) fn of_call(call: Option<&str>) -> &'static str {
    match call.and_then(call_waits) {
        Some(CallWaits::Time) => WaitKind::Sleep.word(),
        _ => "unknown",
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Of {
    /// With its name: numbers of inodes are reused. Of an epoll set, with what became ready.
    Object(WaitKind, Object, NameId, Option<Ready>),
    Unknown,
    Other,
}

type Key = (ThreadKey, Option<ReasonId>, Of);

#[derive(Default)]
struct Sums {
    waits: i64,
    together: i64,
    blocked: Ns,
    longest: Ns,
    cut: Ns,
    /// How long the waits were that each thread ended.
    released_by: BTreeMap<ThreadKey, Ns>,
    call_sites: CallSites,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.waits += other.waits;
        self.together += other.together;
        self.blocked += other.blocked;
        self.longest = self.longest.max(other.longest);
        self.cut += other.cut;
        for (by, blocked) in other.released_by {
            *self.released_by.entry(by).or_default() += blocked;
        }
        self.call_sites.extend(other.call_sites);
    }
}

impl Table {
    /// Keeps the `most` objects with the longest waits, and sums up the others of each thread.
    fn keep(&mut self, most: usize) {
        let objects = self.rows.iter().filter(|((.., of), _)| matches!(of, Of::Object(..)));
        let mut objects: Vec<(Reverse<Ns>, Key)> = objects.map(|(key, sums)| (Reverse(sums.blocked), *key)).collect();
        self.objects = objects.len().min(most);
        if objects.len() <= most {
            return;
        }
        objects.sort_unstable();
        for (_, key) in objects.drain(most..) {
            if let Some(sums) = self.rows.remove(&key) {
                self.rows.entry((key.0, key.1, Of::Other)).or_default().add(sums);
            }
        }
    }
}

impl Table {
    /// A thread ended a wait for an object: together with the one before, if that is of another thread and not long ago.
    fn ended(&mut self, object: Object, mut this: Last) {
        if self.last.len() >= MAX_KEPT {
            self.last.clear();
        }
        let before = self
            .last
            .get(&object)
            .filter(|last| last.by == this.by && last.key.0 != this.key.0 && this.at - last.at <= TOGETHER);
        if let Some(before) = before.copied() {
            this.together = true;
            let both = [(this.key, true), (before.key, !before.together)];
            for (key, _) in both.into_iter().filter(|(_, counts)| *counts) {
                if let Some(sums) = self.rows.get_mut(&key) {
                    sums.together += 1;
                }
            }
        }
        self.last.insert(object, this);
    }
}

impl OfWaits for Table {
    fn wait(&mut self, wait: &Wait, world: &World) {
        self.tids.insert(wait.thread, wait.tid);
        let of = wait.object.map_or(Of::Unknown, |(object, kind)| Of::Object(kind, object, wait.name, wait.ready));
        let blocked = wait.span.len();
        let cut = if wait.is_whole { Ns::ZERO } else { blocked };
        let released_by = wait.released_by.map(|by| (by, blocked)).into_iter().collect();
        let key = (wait.thread, wait.reason, of);
        let sums = self.rows.entry(key).or_default();
        self.objects += usize::from(sums.waits == 0 && matches!(of, Of::Object(..)));
        let mut call_sites = CallSites::default();
        call_sites.add(world.functions.call_site(wait.stack), blocked);
        sums.add(Sums { waits: 1, together: 0, blocked, longest: blocked, cut, released_by, call_sites });
        if let (Some((object, _)), Some(by)) = (wait.object, wait.released_by.filter(|by| *by > ThreadKey::IDLE)) {
            self.ended(object, Last { at: wait.span.end, by, key, together: false });
        }
        if self.objects > MAX_KEPT {
            self.keep(MAX_OBJECTS);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.keep(MAX_OBJECTS);
        let mut rows: Vec<_> = self.rows.drain().collect();
        rows.sort_by_key(|((thread, reason, of), sums)| (*thread, Reverse(sums.blocked), *reason, *of));
        for ((thread, reason, of), sums) in rows {
            let by = reason.and_then(|by| world.reason(by));
            let (kind, object, name, ready) = match of {
                Of::Object(kind, object, name, ready) => {
                    (WaitKind::word(kind), Some(object.text()), world.name(name), ready)
                }
                Of::Unknown => (of_call(by), None, None, None),
                Of::Other => ("other", None, None, None),
            };
            let interrupted = sums.released_by.get(&ThreadKey::IDLE).copied();
            let threads = sums.released_by.iter().filter(|(by, _)| **by > ThreadKey::IDLE);
            let most = threads.max_by_key(|(key, blocked)| (**blocked, Reverse(**key)));
            out.row(&[
                thread.into(),
                Value::from(self.tids.get(&thread).map(|tid| i64::from(tid.0))),
                by.into(),
                kind.into(),
                object.into(),
                name.into(),
                ready.map(|ready| ready.kind.word()).into(),
                ready.map(Ready::text).into(),
                ready.and_then(|ready| world.name(ready.name)).into(),
                sums.waits.into(),
                sums.blocked.into(),
                sums.longest.into(),
                sums.cut.into(),
                most.map(|(key, _)| *key).or(interrupted.map(|_| ThreadKey::IDLE)).into(),
                interrupted.unwrap_or(Ns::ZERO).into(),
                world.functions.of_site(sums.call_sites.longest()),
                sums.together.into(),
            ]);
        }
    }
}
