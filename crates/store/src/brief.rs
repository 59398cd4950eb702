//! Threads' stretches with no more than a picture shows of them: the columns that it does not need are not read.

use crate::error::Error;
use crate::folder::{Folder, all_of};
use crate::states_out::THREAD_STORES;
use crate::values::Values;
use crate::words as w;
use model::{Ns, Span, ThreadKey, ThreadState, tables};

/// A stretch of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brief {
    /// Whose.
    pub thread: ThreadKey,
    /// From when to when.
    pub span: Span,
    /// In which state.
    pub state: ThreadState,
    /// On which CPU, or last on which; −1: not told.
    pub cpu: i64,
}

const COLUMNS: [&str; 5] = ["thread", "start_ns", "end_ns", "state", "cpu"];

impl Folder {
    /// The stretches of all threads, in order of start, some thousands at a time, until `each` fails.
    ///
    /// # Errors
    /// The folder is damaged, or `each` failed.
    pub fn threads_in_brief<E: From<Error>>(&self, mut each: impl FnMut(&[Brief]) -> Result<(), E>) -> Result<(), E> {
        let def = &tables::THREAD_STATE;
        let all = all_of(def, THREAD_STORES).into_iter();
        let columns: Vec<_> = all.filter(|c| COLUMNS.contains(&c.col.name)).collect();
        self.stretches(def, &columns, None, rows, |stretches| each(&stretches))
    }
}

fn rows(rows: usize, cols: &[Values]) -> Option<Vec<Brief>> {
    let [Values::Key(thread), Values::Long(start), Values::Long(end), Values::Word(state, _), Values::Int(cpu)] = cols
    else {
        return None;
    };
    let row = |i: usize| {
        Some(Brief {
            thread: ThreadKey(*thread.get(i)?),
            span: Span { start: Ns(*start.get(i)?), end: Ns(*end.get(i)?) },
            state: w::thread_state(*state.get(i)?)?,
            cpu: cpu.get(i).filter(|c| **c != i32::MIN).map_or(-1, |c| i64::from(*c)),
        })
    };
    (0..rows).map(row).collect()
}
