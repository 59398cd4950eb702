//! The names of threads, found by their keys.

use crate::{EngineError, Session};
use model::Value;
use model::tables::{self, threads};
use std::collections::HashMap;
use std::sync::Arc;

/// The last name of each life of a trace: 16 bytes a life, and each text once.
pub struct Names {
    /// Keys in order, and the place of the text.
    lives: Vec<(i64, u32)>,
    texts: Vec<Arc<str>>,
}

/// What key 0 is called.
const IDLE: &str = "idle";

impl Names {
    fn of(session: &Session) -> Result<Self, EngineError> {
        let (mut lives, mut texts, mut known) = (Vec::new(), Vec::new(), HashMap::<Arc<str>, u32>::new());
        session.rows_of(tables::THREADS.name, None, &mut |rows| {
            for row in rows {
                let Some(name) = threads::NAME.of(row) else { continue };
                let at = known.get(name).copied().unwrap_or_else(|| {
                    let (text, at) = (Arc::<str>::from(name), u32::try_from(texts.len()).unwrap_or(u32::MAX));
                    texts.push(Arc::clone(&text));
                    known.insert(text, at);
                    at
                });
                lives.push((threads::THREAD.of(row), at));
            }
            Ok(())
        })?;
        lives.sort_unstable();
        Ok(Self { lives, texts })
    }

    /// The name of a key, where one is known.
    #[must_use]
    pub fn get(&self, key: i64) -> Option<&str> {
        let at = self.lives.binary_search_by_key(&key, |life| life.0).ok();
        let text = at.and_then(|at| self.texts.get(self.lives.get(at)?.1 as usize));
        text.map(|text| &**text).or_else(|| (key == 0).then_some(IDLE))
    }

    /// Puts names behind the cells of a row that hold keys; `cells` is the row as [`tables::named`] declares it.
    fn beside(&self, of_thread: &[bool], row: &[Value], cells: &mut Vec<Value>) {
        cells.clear();
        for (cell, of_thread) in row.iter().zip(of_thread) {
            cells.push(cell.clone());
            if *of_thread {
                cells.push(if let Value::Int(key) = cell { self.get(*key).into() } else { Value::Null });
            }
        }
    }
}

impl Session {
    /// The names of threads; read when they are first asked for.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn names(&self) -> Result<&Names, EngineError> {
        match self.names.get() {
            Some(names) => Ok(names),
            None => {
                let names = Names::of(self)?;
                Ok(self.names.get_or_init(|| names))
            }
        }
    }

    /// Rows with the names of threads beside their keys, on their way to `each`: as [`tables::named`] declares them.
    pub(crate) fn with_names<'a>(
        &'a self,
        of_thread: Vec<bool>,
        each: crate::EachRows<'a>,
    ) -> Result<impl FnMut(&[Vec<Value>]) -> std::io::Result<()> + 'a, EngineError> {
        let names = self.names()?;
        let mut named: Vec<Vec<Value>> = Vec::new();
        Ok(move |rows: &[Vec<Value>]| {
            named.resize_with(rows.len().max(named.len()), Vec::new);
            rows.iter().zip(&mut named).for_each(|(row, cells)| names.beside(&of_thread, row, cells));
            each(&named[..rows.len()])
        })
    }
}
