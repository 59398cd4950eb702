//! What is private, and left out of every row or replaced in it.
//!
//! ```text
//!   kind    object    name                kind    object    name
//!   pipe    81234                         pipe    #1
//!   socket  81240     10.0.0.1:80   ──▶   socket  #2
//!   pipe    81234                         pipe    #1
//! ```

use model::{Coded, Kind, StandIns, TableDef, Value, WaitKind};
use std::sync::Mutex;

/// The stand-ins of a session. They are the same in all of its tables.
#[derive(Default)]
pub(crate) struct Redaction(Mutex<StandIns<String>>);

/// A column that needs a change.
enum Private {
    /// It becomes null.
    Removed(usize),
    /// It becomes a stand-in; of an object, unless the kind in the other column shows nothing private.
    Replaced(usize, Option<usize>),
}

/// The columns of a table that need a change.
pub(crate) struct PrivateColumns(Vec<Private>);

impl PrivateColumns {
    pub(crate) fn of(def: &TableDef) -> Self {
        let columns = def.cols.iter().enumerate().filter_map(|(at, col)| match col.kind {
            Kind::Text if col.shows.is_replaced() => Some(Private::Replaced(at, kind_of(def, col.name))),
            _ if col.shows.is_redacted() && col.nullable => Some(Private::Removed(at)),
            _ => None,
        });
        Self(columns.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the column with the kind of the object in a column: `ready_kind` of `ready_object`, `kind` of `object` and `lock`.
fn kind_of(def: &TableDef, object: &str) -> Option<usize> {
    let kind = object.replace("object", "kind").replace("lock", "kind");
    def.cols.iter().position(|col| col.name == kind && kind != object)
}

impl Redaction {
    /// Returns what stands for the address or the number of an object: `#1`, `#2`, …; `#` for all beyond the first million.
    pub(crate) fn stand_in(&self, object: &str) -> String {
        // It is only added to, so it is whole after a panic, too.
        let mut of = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match of.number(object) {
            0 => "#".to_owned(),
            number => format!("#{number}"),
        }
    }

    /// Changes a row.
    pub(crate) fn row(&self, columns: &PrivateColumns, row: &mut [Value]) {
        for column in &columns.0 {
            match *column {
                Private::Removed(at) => row[at] = Value::Null,
                Private::Replaced(at, kind) => {
                    let kind = kind.and_then(|at| match &row[at] {
                        Value::Text(word) => WaitKind::of_word(word.as_bytes()),
                        _ => None,
                    });
                    if let Value::Text(object) = &row[at]
                        && kind.is_none_or(WaitKind::is_private)
                    {
                        row[at] = self.stand_in(object).into();
                    }
                }
            }
        }
    }
}
