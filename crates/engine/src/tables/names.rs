//! ThreadNames of threads, looked up by their keys.

use crate::{EngineError, Session};
use analysis::ThreadGroups;
use model::tables::{self, threads};
use model::{Pid, ThreadKey, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The last name of each thread instance of a trace: 16 bytes per instance, and each distinct name once.
pub struct ThreadNames {
    /// Keys in order, and the index of the text.
    instances: Vec<(ThreadKey, u32)>,
    texts: Vec<Arc<str>>,
}

/// The name of key 0.
const IDLE: &str = "idle";

impl ThreadNames {
    fn read(session: &Session) -> Result<Self, EngineError> {
        let (mut instances, mut texts, mut known) = (Vec::new(), Vec::new(), HashMap::<Arc<str>, u32>::new());
        session.rows_of(tables::THREADS.name, None, &mut |rows| {
            for row in rows {
                let Some(name) = threads::NAME.of(row) else { continue };
                let at = known.get(name).copied().unwrap_or_else(|| {
                    let (text, at) = (Arc::<str>::from(name), u32::try_from(texts.len()).unwrap_or(u32::MAX));
                    texts.push(Arc::clone(&text));
                    known.insert(text, at);
                    at
                });
                instances.push((threads::THREAD.of(row), at));
            }
            Ok(())
        })?;
        instances.sort_unstable();
        Ok(Self { instances, texts })
    }

    /// Returns the name of a key, if known.
    #[must_use]
    pub fn get(&self, key: ThreadKey) -> Option<&str> {
        let at = self.instances.binary_search_by_key(&key, |instance| instance.0).ok();
        let text = at.and_then(|at| self.texts.get(self.instances.get(at)?.1 as usize));
        text.map(|text| &**text).or_else(|| (key == ThreadKey::IDLE).then_some(IDLE))
    }

    /// Inserts names after the cells with thread keys; `cells` is the resulting row as [`tables::named`] declares it.
    fn insert_into(&self, of_thread: &[bool], row: &[Value], cells: &mut Vec<Value>) {
        cells.clear();
        for (cell, of_thread) in row.iter().zip(of_thread) {
            cells.push(cell.clone());
            if *of_thread {
                cells.push(if let Value::Int(key) = cell { self.get(ThreadKey(*key)).into() } else { Value::Null });
            }
        }
    }
}

impl Session {
    /// Groups the threads by their names and processes.
    pub(crate) fn thread_groups(&self) -> Result<ThreadGroups, EngineError> {
        let names = self.names()?;
        let mut all = Vec::new();
        self.rows_of(tables::THREADS.name, None, &mut |rows| {
            all.extend(rows.iter().map(|row| {
                let process = threads::PID.of(row).and_then(|pid| i32::try_from(pid).ok()).map_or(Pid::UNKNOWN, Pid);
                (threads::THREAD.of(row), threads::TID.of(row), process)
            }));
            Ok(())
        })?;
        Ok(ThreadGroups::new(all.iter().map(|(key, of, process)| (*key, *of, names.get(*key), *process))))
    }

    /// Returns the names of threads; reads them on first use.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn names(&self) -> Result<&ThreadNames, EngineError> {
        match self.names.get() {
            Some(names) => Ok(names),
            None => {
                let names = ThreadNames::read(self)?;
                Ok(self.names.get_or_init(|| names))
            }
        }
    }

    /// Returns a callback that inserts thread names after their keys and passes the rows to `each`, as [`tables::named`] declares them.
    pub(crate) fn with_names<'a>(
        &'a self,
        of_thread: Vec<bool>,
        each: crate::RowCallback<'a>,
    ) -> Result<impl FnMut(&[Vec<Value>]) -> std::io::Result<()> + 'a, EngineError> {
        let names = self.names()?;
        let mut named: Vec<Vec<Value>> = Vec::new();
        Ok(move |rows: &[Vec<Value>]| {
            named.resize_with(rows.len().max(named.len()), Vec::new);
            rows.iter().zip(&mut named).for_each(|(row, cells)| names.insert_into(&of_thread, row, cells));
            each(&named[..rows.len()])
        })
    }
}
