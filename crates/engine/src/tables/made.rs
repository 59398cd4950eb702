//! Tables that were made once, for the next time.

use model::Table;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tables that were made of all of a trace. Who asks for a second one will want more: then all are made, in one pass.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) asked: AtomicBool,
    /// Shared with who reads them: one may have a million rows.
    tables: Mutex<Vec<Arc<Table>>>,
}

impl Made {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Vec<Arc<Table>>> {
        // Whoever panicked while it held them left them whole: tables are only added.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.tables().iter().find(|t| t.def.name == name).cloned()
    }
}
