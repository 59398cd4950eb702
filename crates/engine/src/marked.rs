//! Stretches that programs marked, found by what they are called.

use crate::{EngineError, Session};
use analysis::frames::Marked;
use model::{Ns, Pid, Span, TableDef, ThreadKey, Value, tables};

/// So many names are told where the one that was asked for is not there.
const MOST_TOLD: usize = 12;

/// Whether a row of a table of marks is of a name, or of one that begins so where that ends in `*`: programs number their
/// frames.
#[must_use]
pub fn is_named(name: &str, def: &TableDef, row: &[Value]) -> bool {
    let fits = |of: &str| name.strip_suffix('*').map_or(of == name, |begin| of.starts_with(begin));
    matches!(def.col("name").and_then(|at| row.get(at)), Some(Value::Text(of)) if fits(of))
}

impl Session {
    /// The stretches marked so ([`is_named`]) that ended, in order of end.
    ///
    /// # Errors
    /// The trace cannot be read, or nothing is marked so: which marks there are is told.
    pub(crate) fn marked(&self, name: &str, each: &mut dyn FnMut(&Marked)) -> Result<(), EngineError> {
        let def = &tables::MARK_STRETCHES;
        let mut found = false;
        self.rows(def.name, &mut |rows| {
            for row in rows.iter().filter(|row| is_named(name, def, row)) {
                found = true;
                let cell = |col: &str| def.col(col).and_then(|at| row.get(at));
                let int = |col: &str| if let Some(Value::Int(v)) = cell(col) { Some(*v) } else { None };
                if let (Some(start), Some(end), Some(Value::Bool(true))) =
                    (int("start_ns"), int("end_ns"), cell("ended"))
                {
                    each(&Marked {
                        span: Span { start: Ns(start), end: Ns(end) },
                        thread: int("thread").map_or(ThreadKey::UNKNOWN, ThreadKey),
                        pid: int("pid").and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid),
                        name: if let Some(Value::Text(text)) = cell("name") { Some((&**text).into()) } else { None },
                    });
                }
            }
            Ok(())
        })?;
        if found { Ok(()) } else { Err(self.not_marked(name)?) }
    }

    /// A sentence on which marks there are.
    fn not_marked(&self, name: &str) -> Result<EngineError, EngineError> {
        let marks = self.table(tables::MARKS.name)?;
        let mut names: Vec<&str> = (0..marks.rows.len()).filter_map(|row| marks.text(row, "name")).collect();
        names.sort_unstable();
        names.dedup();
        let (path, told) = (self.path().display(), names.len().min(MOST_TOLD));
        let there = match names.len() {
            0 => "it has no marks".to_owned(),
            all if all > told => format!("of {all} marks there are {}, …", names[..told].join(", ")),
            _ => format!("there are {}", names.join(", ")),
        };
        let list = "lists what is marked";
        Ok(EngineError::Other(format!(
            "{path}: no stretch of it is marked {name}; {there} (`corewise table {path} marks` {list})"
        )))
    }
}
