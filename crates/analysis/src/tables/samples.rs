//! The functions in which each thread was when a profiler interrupted it.

use super::smt_threads::{SIBLING_STATES, sibling_state};
use crate::functions::FunctionId;
use crate::source_lines::LineCounts;
use crate::{Analysis, Begins, Context, World};
use model::{Change, CoreType, CpuId, Rows, ThreadKey, Tid, TimelineEvent};
use std::collections::BTreeMap;

/// The key of a row. The sibling is an index into [`SIBLING_STATES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: ThreadKey,
    tid: Tid,
    function: Option<FunctionId>,
    core_type: CoreType,
    sibling: usize,
}

#[derive(Default)]
pub(crate) struct Samples {
    /// The samples in which the function was the innermost one, and those in which it was in the callchain.
    rows: BTreeMap<Key, ([i64; 2], LineCounts)>,
}

/// The state of siblings that the machine does not describe.
const UNKNOWN_SIBLING: usize = 2;

/// The TID of a sample, its core's type by the CPU or else by the source, and the state of siblings (an index into [`SIBLING_STATES`]).
pub(super) fn place(event: &TimelineEvent, (cpu, core): (CpuId, CoreType), world: &World) -> (Tid, CoreType, usize) {
    let of_cpu = world.cpu_now(cpu).map(|now| now.core_type);
    let core_type = of_cpu.filter(|of_cpu| *of_cpu != CoreType::Uniform).unwrap_or(core);
    let sibling = world.core(cpu).map_or(UNKNOWN_SIBLING, sibling_state);
    (event.tid().unwrap_or(Tid::UNKNOWN), core_type, sibling)
}

impl Analysis for Samples {
    fn new(_: &Context<'_>) -> Self {
        Self::default()
    }

    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        let Change::Sampled(cpu, core, _, stack) = event.what else { return };
        if begins == Begins::Before {
            return;
        }
        let (tid, core_type, sibling) = place(event, (cpu, core), world);
        let mut count = |function, line, sums: [i64; 2]| {
            let (row, lines) = self.rows.entry(Key { thread, tid, function, core_type, sibling }).or_default();
            row.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
            lines.add(line, sums);
        };
        let functions = world.functions.of(stack);
        if functions.is_empty() {
            count(None, None, [1, 1]);
        }
        for (depth, (function, line)) in functions.iter().zip(world.functions.lines_of(stack)).enumerate() {
            count(Some(*function), *line, [i64::from(depth == 0), 1]);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for (key, ([own, total], lines)) in &self.rows {
            let (source, line) = world.lines.named(lines.max_counted());
            let (function, file) = key.function.map_or((None, None), |id| world.functions.named(id));
            out.row(&[
                (key.thread != ThreadKey::UNKNOWN).then_some(key.thread).into(),
                i64::from(key.tid.0).into(),
                function.into(),
                file.into(),
                key.core_type.as_str().into(),
                SIBLING_STATES[key.sibling].into(),
                (*own).into(),
                (*total).into(),
                source.into(),
                line.into(),
            ]);
        }
    }
}
