//! Thread stretches with only the fields that a timeline draws; the other columns are not read.

use crate::error::Error;
use crate::folder::{Folder, stored_columns};
use crate::states_out::THREAD_STORES;
use crate::values::Values;
use model::{Coded, Ns, Span, ThreadKey, ThreadState, tables};

/// A stretch of a thread, reduced to what a timeline draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BriefStretch {
    /// The thread.
    pub thread: ThreadKey,
    /// The time of the stretch.
    pub span: Span,
    /// The state of the thread.
    pub state: ThreadState,
    /// The CPU it is on or was last on; −1 if not recorded.
    pub cpu: i64,
}

const COLUMNS: [&str; 5] = ["thread", "start_ns", "end_ns", "state", "cpu"];

impl Folder {
    /// Passes the stretches of all threads to `each`, in order of start, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// If the folder is damaged, or `each` fails.
    pub fn brief_thread_stretches<E: From<Error>>(
        &self,
        mut each: impl FnMut(&[BriefStretch]) -> Result<(), E>,
    ) -> Result<(), E> {
        let def = &tables::THREAD_STATE;
        let all = stored_columns(def, THREAD_STORES).into_iter();
        let columns: Vec<_> = all.filter(|c| COLUMNS.contains(&c.col.name)).collect();
        self.stretches(def, &columns, None, rows, |stretches| each(&stretches))
    }
}

fn rows(rows: usize, cols: &[Values]) -> Option<Vec<BriefStretch>> {
    let [Values::Key(thread), Values::Long(start), Values::Long(end), Values::Word(state, _), Values::Int(cpu)] = cols
    else {
        return None;
    };
    let row = |i: usize| {
        Some(BriefStretch {
            thread: ThreadKey(*thread.get(i)?),
            span: Span { start: Ns(*start.get(i)?), end: Ns(*end.get(i)?) },
            state: ThreadState::of_code(*state.get(i)?)?,
            cpu: cpu.get(i).filter(|c| **c != i32::MIN).map_or(-1, |c| i64::from(*c)),
        })
    };
    (0..rows).map(row).collect()
}
