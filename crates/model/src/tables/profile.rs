//! The tables of a profiler's samples.

use super::columns::{Chain, CoreType, Count, FilePath, FunctionName, Int, MappedFile, Thread, ThreadName, Tid, Word};
use crate::column::table;

table! {
    /// The functions in which each thread was when a profiler interrupted it.
    SAMPLES: samples {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How often a profiler found each thread in each function, by the type of the core on which it ran (by the CPU, or \
              else by the PMU that counted) and the state of its SMT siblings. The samples of a thread estimate its running time: with the sampling \
              period, or as shares. Rows with an unknown function count all such functions of a file together. No \
              rows if the source has no samples.",
        key: [THREAD, TID, FUNCTION, FILE, CORE_TYPE, SIBLING],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if its TID is unknown.",
            TID: Tid,
            FUNCTION: Option<FunctionName> = "Name of the function; null if its symbol is unknown.",
            FILE: Option<MappedFile> = "The mapping that contains it: a file, or `[kernel]`, `[vdso]`, a module; null if unknown.",
            CORE_TYPE: CoreType,
            SIBLING: Word =
                "What the SMT siblings of its CPU did: `idle`, `busy` (at least one), `unknown`, or `none`: it has none.",
            SELF_SAMPLES: Count = "Number of samples in this function.",
            TOTAL_SAMPLES: Count = "Number of samples in this function or in functions that it called.",
            SOURCE_FILE: Option<FilePath> =
                "Path of the source file in which most of `self_samples` were found, or, if there are none, most of its calls; null without debug \
                 information.",
            LINE: Option<Int> = "The line in it with the most of them; null without debug information.",
        }
    }
}

table! {
    /// The callchains in which each thread was when a profiler interrupted it.
    FOLDED_STACKS: folded_stacks {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "How often a profiler found each thread in each callchain, under each of its names, by the type of the core on which it ran (by \
              the CPU, or else by the PMU that counted) and the state of its SMT siblings: the folded stacks of a flame graph. Callchains that differ only in addresses within \
              functions are one. At most 100,000 rows are kept apart; of each thread, the samples of further ones are counted as `[other]`.",
        key: [THREAD, TID, COMM, CORE_TYPE, SIBLING, CALLCHAIN],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if its TID is unknown.",
            TID: Tid,
            COMM: Option<ThreadName> = "Name of the thread when it was sampled, which an exec changes; null if not recorded.",
            CORE_TYPE: CoreType,
            SIBLING: Word =
                "What the SMT siblings of its CPU did: `idle`, `busy` (at least one), `unknown`, or `none`: it has none.",
            CALLCHAIN: Option<Chain> =
                "The functions, outermost first, with semicolons in between. Functions of the kernel end with `_[k]`, inlined \
                 functions with `_[i]`; one without a known symbol is its file in brackets. Null if the callchain is unknown.",
            SAMPLES: Count = "Number of samples with this callchain.",
        }
    }
}
