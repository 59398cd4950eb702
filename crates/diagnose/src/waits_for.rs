//! What threads waited for, as far as that was recorded.

use crate::context::{RuleContext, add};
use engine::EngineError;
use model::tables::wait_objects::{self, BLOCKED_NS, KIND, NAME, OBJECT, THREAD};
use model::words::percent;
use model::{Coded, Ns, ThreadKey, WaitKind};
use std::collections::BTreeMap;

/// How long each thread waited for each object.
#[derive(Default)]
pub(crate) struct WaitsFor(BTreeMap<ThreadKey, BTreeMap<Object, Ns>>);

/// An object: its kind, which one, and its name or nothing.
type Object = (WaitKind, String, String);

/// The object for which some threads waited longest.
pub(crate) struct Longest {
    kind: WaitKind,
    /// Its path or addresses; empty if it has none.
    pub(crate) name: String,
    waited: Ns,
    of: Ns,
}

impl Longest {
    /// Whether it is most of what the threads waited for.
    pub(crate) fn is_most(&self) -> bool {
        self.waited * 2 >= self.of
    }

    /// Returns the words to put after a time that was waited: which part of it was for this object, if that is most.
    pub(crate) fn words(&self) -> String {
        if !self.is_most() {
            return String::new();
        }
        let kind = self.kind.word().replace('_', " ");
        format!(" ({} of it for one {kind})", percent(self.waited, self.of))
    }
}

impl WaitsFor {
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let mut all = Self::default();
        ctx.each_row(wait_objects::Table, |row| {
            let Some(kind) = WaitKind::of_word(row.get(KIND).as_bytes()) else { return };
            let [object, name] = [row.get(OBJECT.or_empty()), row.get(NAME.or_empty())].map(str::to_owned);
            add(all.0.entry(row.get(THREAD)).or_default(), (kind, object, name), row.get(BLOCKED_NS));
        })?;
        Ok(all)
    }

    /// Returns the object of a kind that `is` accepts for which threads waited longest, relative to their time for all kinds that `of`
    /// accepts; `None` if that was not recorded.
    pub(crate) fn longest(
        &self,
        threads: impl Iterator<Item = ThreadKey>,
        of: impl Fn(WaitKind) -> bool,
        is: impl Fn(WaitKind) -> bool,
    ) -> Option<Longest> {
        let (mut sums, mut all) = (BTreeMap::<&Object, Ns>::new(), Ns::ZERO);
        for (object, waited) in threads.filter_map(|thread| self.0.get(&thread)).flatten() {
            if of(object.0) {
                all += *waited;
                *sums.entry(object).or_default() += if is(object.0) { *waited } else { Ns::ZERO };
            }
        }
        let ((kind, _, name), waited) = sums.into_iter().max_by_key(|(_, waited)| *waited)?;
        Some(Longest { kind: *kind, name: name.clone(), waited, of: all })
    }

    /// The lock for which threads waited longest, relative to all that other threads bring about.
    pub(crate) fn longest_lock(&self, threads: impl Iterator<Item = ThreadKey>) -> Option<Longest> {
        let by_thread = |kind: WaitKind| kind.is_lock() || matches!(kind, WaitKind::Signal | WaitKind::Parker);
        self.longest(threads, by_thread, WaitKind::is_lock)
    }
}
