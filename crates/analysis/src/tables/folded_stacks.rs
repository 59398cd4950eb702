//! The callchains in which each thread was when a profiler interrupted it: what a flame graph draws.

use super::smt_threads::SIBLING_STATES;
use crate::folded_chains::FoldedId;
use crate::tables::samples::place;
use crate::{Analysis, Begins, Context, World};
use model::{Change, CoreType, NameId, Rows, ThreadKey, Tid, TimelineEvent};
use rustc_hash::FxHashMap;

/// The maximum number of rows; the samples of further callchains are counted together.
const MAX_ROWS: usize = 100_000;

/// The key of a row. The sibling is an index into [`SIBLING_STATES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    thread: ThreadKey,
    tid: Tid,
    comm: NameId,
    core_type: CoreType,
    sibling: usize,
    stack: FoldedId,
}

#[derive(Default)]
pub(crate) struct FoldedStacks {
    samples: FxHashMap<Key, i64>,
}

impl FoldedStacks {
    fn count(&mut self, mut key: Key, max_rows: usize) {
        if self.samples.len() >= max_rows && !self.samples.contains_key(&key) {
            key.stack = FoldedId::OTHER;
        }
        *self.samples.entry(key).or_default() += 1;
    }
}

impl Analysis for FoldedStacks {
    fn new(_: &Context<'_>) -> Self {
        Self::default()
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Change::Sampled(cpu, core, comm, stack) = event.what else { return };
        if begins == Begins::Before {
            return;
        }
        let (tid, core_type, sibling) = place(event, (cpu, core), world);
        self.count(Key { thread, tid, comm, core_type, sibling, stack: world.folded.of(stack) }, MAX_ROWS);
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        // The same name may have several numbers.
        let mut names = FxHashMap::default();
        let mut by_name = FxHashMap::<Key, i64>::default();
        for (mut key, samples) in self.samples.drain() {
            let name = world.name(key.comm).unwrap_or_default();
            key.comm = *names.entry(name).or_insert(key.comm);
            *by_name.entry(key).or_default() += samples;
        }
        let mut rows: Vec<(Key, i64)> = by_name.into_iter().collect();
        rows.sort_unstable_by_key(|(key, samples)| {
            let of = (key.thread, key.tid, world.name(key.comm));
            (of, key.core_type, key.sibling, -samples, key.stack)
        });
        for (key, samples) in rows {
            out.row(&[
                (key.thread != ThreadKey::UNKNOWN).then_some(key.thread).into(),
                i64::from(key.tid.0).into(),
                world.name(key.comm).into(),
                key.core_type.as_str().into(),
                SIBLING_STATES[key.sibling].into(),
                world.folded.text(key.stack).into(),
                samples.into(),
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::StackId;

    #[test]
    fn samples_beyond_the_limit_are_counted_together() {
        let chain =
            |function: u32| vec![model::StackFrame { function: model::NameId(function), ..model::StackFrame::at(1) }];
        let stacks = model::Stacks {
            chains: (1..=4).map(|n| chain(n).into()).collect(),
            names: ["a", "b", "c", "d"].map(Into::into).into(),
        };
        let folded = crate::folded_chains::FoldedChains::new(&stacks);
        let (mut table, core_type) = (FoldedStacks::default(), CoreType::Uniform);
        for stack in [1, 2, 3, 1, 4, 2, 0] {
            let stack = folded.of(StackId(stack));
            let (thread, tid, comm) = (ThreadKey(1), Tid(1), NameId::NONE);
            table.count(Key { thread, tid, comm, core_type, sibling: 0, stack }, 2);
        }
        let mut counts: Vec<_> = table.samples.iter().map(|(key, count)| (folded.text(key.stack), *count)).collect();
        counts.sort();
        assert_eq!(counts, [(Some("[other]".into()), 3), (Some("a".into()), 2), (Some("b".into()), 2)]);
    }
}
