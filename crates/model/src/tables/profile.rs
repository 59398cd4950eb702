//! The tables of a profiler's samples.

use super::columns::{CoreType, Count, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// The functions in which each thread was when a profiler interrupted it.
    SAMPLES: samples {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often a profiler found each thread in each function, by the type of the core on which it ran and \
              the state of its SMT siblings. The samples of a thread estimate its running time: with the sampling \
              period, or as shares. Rows with an unknown function count all such functions of a file together. No \
              rows if the source has no samples.",
        key: [THREAD, TID, FUNCTION, FILE, CORE_TYPE, SIBLING],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if the source has nothing but samples of it.",
            TID: Tid,
            FUNCTION: Option<Text> = "Name of the function; null if its symbol is unknown.",
            FILE: Option<Text> = "The mapping that contains it: a file, or `[kernel]`, `[vdso]`, a module; null if unknown.",
            CORE_TYPE: CoreType,
            SIBLING: Text =
                "What the SMT siblings of its CPU did: `idle`, `busy` (at least one), `unknown`, or `none`: it has none.",
            SELF_SAMPLES: Count = "Number of samples in this function.",
            TOTAL_SAMPLES: Count = "Number of samples in this function or in functions that it called.",
        }
    }
}

table! {
    /// The callchains in which each thread was when a profiler interrupted it.
    FOLDED_STACKS: folded_stacks {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often a profiler found each thread in each callchain, by the type of the core on which it ran and the \
              state of its SMT siblings: the folded stacks of a flame graph. Callchains that differ only in addresses within \
              functions are one. At most 100,000 rows are kept apart; of each thread, the samples of further ones are counted as `[other]`.",
        key: [THREAD, TID, CORE_TYPE, SIBLING, CALLCHAIN],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if the source has nothing but samples of it.",
            TID: Tid,
            CORE_TYPE: CoreType,
            SIBLING: Text =
                "What the SMT siblings of its CPU did: `idle`, `busy` (at least one), `unknown`, or `none`: it has none.",
            CALLCHAIN: Option<Text> =
                "The functions, outermost first, with semicolons in between. Functions of the kernel end with `_[k]`; one without \
                 a known symbol is its file in brackets. Null if the callchain is unknown.",
            SAMPLES: Count = "Number of samples with this callchain.",
        }
    }
}
