//! What the threads of the path waited for, before the path came to them.
//!
//! ```text
//!   A   run │ waits for a mutex           │ ready, run      B holds the mutex until it wakes A. The path has B until then, and A from
//!   B             run                     ▲ …               then on. The wait ends where the path comes to A: it is why A comes after B.
//! ```

use super::Piece;
use model::tables::object_waits;
use model::{Ns, Row, Span, ThreadKey, Value};
use std::collections::BTreeMap;

/// The maximum number of visits of threads that are kept. What the threads of a longer path waited for is left out.
const MAX_VISITS: usize = 1 << 20;

/// The maximum number of objects, with their holders, that are kept.
const MAX_OBJECTS: usize = 40_000;

/// The number of columns.
pub(super) const COLUMNS: usize = 8;

/// When the path was with each thread, and what that thread waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited {
    threads: BTreeMap<ThreadKey, Thread>,
    visits: usize,
    objects: usize,
    /// Whether [`Waited::wait`] got all waits.
    is_known: bool,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// In order of time.
    visits: Vec<Span>,
    waited: Ns,
    objects: BTreeMap<Object, BTreeMap<By, Ns>>,
}

/// What a thread waits for: the call, the kind, which one, and its name.
type Object = (Option<Box<str>>, Box<str>, Option<Box<str>>, Option<Box<str>>);

/// The thread that held it, and the one that ended the wait.
type By = (Option<ThreadKey>, Option<ThreadKey>);

impl Waited {
    /// Takes the next piece of the path.
    pub(super) fn push(&mut self, piece: &Piece) {
        if self.visits > MAX_VISITS {
            return;
        }
        let visits = &mut self.threads.entry(piece.thread).or_default().visits;
        match visits.last_mut() {
            Some(last) if last.end == piece.span.start => last.end = piece.span.end,
            _ => {
                visits.push(piece.span);
                self.visits += 1;
            }
        }
    }

    /// Takes a wait of any thread.
    pub(super) fn wait(&mut self, row: &Row<'_, object_waits::Table>) {
        let Some(thread) = self.threads.get_mut(&row.get(object_waits::THREAD)) else { return };
        let end = row.get(object_waits::END_NS);
        let at = thread.visits.partition_point(|visit| visit.end < end);
        if thread.visits.get(at).is_none_or(|visit| visit.start > end) {
            return;
        }
        let waited = row.get(object_waits::WAITED_NS);
        thread.waited += waited;
        let text = |text: Option<&str>| text.map(Box::from);
        let object = (
            text(row.get(object_waits::REASON)),
            row.get(object_waits::KIND).into(),
            text(row.get(object_waits::OBJECT)),
            text(row.get(object_waits::NAME)),
        );
        let by = (row.get(object_waits::HOLDER), row.get(object_waits::RELEASED_BY));
        let is_kept = thread.objects.get(&object).is_some_and(|of| of.contains_key(&by));
        if is_kept || self.objects < MAX_OBJECTS {
            self.objects += usize::from(!is_kept);
            *thread.objects.entry(object).or_default().entry(by).or_default() += waited;
        }
    }

    /// Says that all waits were passed on.
    pub(super) fn complete(&mut self) {
        self.is_known = self.visits <= MAX_VISITS;
    }

    /// Returns the cells of a thread.
    pub(super) fn cells(&self, thread: ThreadKey) -> [Value; COLUMNS] {
        const NONE: Value = Value::Null;
        let Some(of) = self.threads.get(&thread).filter(|_| self.is_known) else { return [NONE; COLUMNS] };
        let time = |by: &BTreeMap<By, Ns>| by.values().copied().sum::<Ns>();
        // Of two with the same time, the first in order.
        let mut most: Option<(&Object, &BTreeMap<By, Ns>)> = None;
        for (object, by) in &of.objects {
            if most.is_none_or(|(_, other)| time(by) > time(other)) {
                most = Some((object, by));
            }
        }
        let Some(((reason, kind, object, name), by)) = most else {
            return [of.waited.into(), NONE, NONE, NONE, NONE, NONE, NONE, NONE];
        };
        let text = |text: &Option<Box<str>>| text.as_deref().into();
        [
            of.waited.into(),
            text(reason),
            (&**kind).into(),
            text(object),
            text(name),
            time(by).into(),
            longest(by.iter().map(|((holder, _), ns)| (*holder, *ns))).into(),
            longest(by.iter().map(|((_, released_by), ns)| (*released_by, *ns))).into(),
        ]
    }
}

/// Returns the thread with the most time; of several, the first.
fn longest(times: impl Iterator<Item = (Option<ThreadKey>, Ns)>) -> Option<ThreadKey> {
    let mut sums = BTreeMap::<ThreadKey, Ns>::new();
    times
        .filter_map(|(thread, ns)| Some((thread?, ns)))
        .for_each(|(thread, ns)| *sums.entry(thread).or_default() += ns);
    sums.into_iter().rev().max_by_key(|(_, ns)| *ns).map(|(thread, _)| thread)
}
