//! Makes the states and sums of a trace folder again, if an earlier version of the definitions made them.
//!
//! The events of a folder are what was recorded; its states, sums and tables follow from them. So no two folders are read by different
//! definitions.

use crate::import::{set_summary, stage_two, write_sums};
use crate::read::folder::account_events;
use crate::{EngineError, Infer, PassOptions, Summary};
use account::{Collector, Laws};
use model::Ns;
use safefs::Dir;
use std::path::Path;
use store::{Folder, FolderWriter, Manifest};
use tempfile::TempDir;

/// A folder whose states and sums are of the current definitions.
pub(crate) struct Current {
    pub(crate) folder: Folder,
    /// The version of the definitions by which they were made before.
    pub(crate) before: u32,
    /// The copy that has them, if the folder itself cannot be written.
    pub(crate) copy: Option<TempDir>,
}

/// Opens a folder, and makes its states and sums again if they are of an earlier version: in the folder itself, or in a temporary copy that
/// shares its events.
///
/// # Errors
/// The folder is damaged, or its events cannot be read.
pub(crate) fn open(path: &Path, may_write: bool) -> Result<Current, EngineError> {
    let folder = Folder::open(path)?;
    let before = folder.manifest().accounting;
    if before >= account::VERSION || !path.join("events").is_dir() {
        return Ok(Current { folder, before, copy: None });
    }
    let dir = if may_write { Dir::open_for_writing(path).ok() } else { None };
    if let Some(writer) = dir.and_then(|dir| FolderWriter::restate(&dir, folder.manifest()).ok()) {
        write(&folder, writer)?;
        return Ok(Current { folder: Folder::open(path)?, before, copy: None });
    }
    let copy = copy_of(path).map_err(EngineError::temporary)?;
    let writer =
        FolderWriter::restate(&Dir::open_for_writing(copy.path()).map_err(EngineError::temporary)?, folder.manifest())?;
    write(&folder, writer)?;
    Ok(Current { folder: Folder::open(copy.path())?, before, copy: Some(copy) })
}

/// Makes a temporary folder with what a trace folder has besides states and tables. Its events are not copied.
fn copy_of(path: &Path) -> std::io::Result<TempDir> {
    let copy = tempfile::tempdir()?;
    let path = path.canonicalize()?;
    std::os::unix::fs::symlink(path.join("events"), copy.path().join("events"))?;
    for entry in std::fs::read_dir(&path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name()))?;
        }
    }
    Ok(copy)
}

/// Accounts for the events of a folder, and writes the states and sums.
fn write(folder: &Folder, mut writer: FolderWriter) -> Result<(), EngineError> {
    let (before, facts) = (folder.manifest(), folder.manifest().all_facts());
    let options = PassOptions { infer: Infer::Apart, ..PassOptions::default() };
    let (totals, collector) = account_events(folder, &facts, &options, Collector::default)?;
    write_sums(&totals, &before.machine, &mut writer)?;
    let stretches = collector.finish();
    // The tables that are made here need no names.
    let tables = stage_two(&stretches, &totals, &before.machine, Vec::new(), &mut writer)?;
    for table in &tables {
        writer.table(table)?;
    }
    let mut summary = Summary::of_manifest(folder)?;
    summary.set_whole(&totals, &Laws::check(&totals)?);
    let mut manifest = Manifest { accounting: account::VERSION, end_ns: totals.end.max(Ns::ZERO).0, ..before.clone() };
    set_summary(&mut manifest, &summary)?;
    writer.finish(manifest)?;
    Ok(())
}
