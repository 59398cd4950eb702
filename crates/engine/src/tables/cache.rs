//! The cache of analysis tables.

use model::Table;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tables of the whole trace that were made before. The second request makes all tables in one pass, as more requests are likely.
#[derive(Default)]
pub(crate) struct TableCache {
    /// Whether a table was requested before.
    pub(crate) requested: AtomicBool,
    /// Shared with readers: a table may have a million rows.
    tables: Mutex<Vec<Arc<Table>>>,
}

impl TableCache {
    pub(crate) fn tables(&self) -> MutexGuard<'_, Vec<Arc<Table>>> {
        // After a panic the list is still valid: tables are only added.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.tables().iter().find(|t| t.def.name == name).cloned()
    }
}
