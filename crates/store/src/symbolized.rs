//! Names of callchains that were found after the recording: kept in a file next to the recorded callchains, which stay as they are.

use crate::Folder;
use crate::encoder::Encoder;
use crate::error::Error;
use crate::events_out::EventSheets;
use crate::manifest::{FORMAT_VERSION, FileInfo, MANIFEST, Manifest};
use model::{Stacks, TableDef};
use safefs::Dir;
use std::sync::atomic::Ordering;

/// The names of the file, in turn: the one in use is replaced by the other.
const NAMES: [&str; 2] = ["stack_symbolized.parquet", "stack_symbolized_2.parquet"];

impl Folder {
    /// Stores the callchains with the names that were found, instead of those stored before. `nameless`: what has no name, a sentence each;
    /// `made`: the tables that are made from callchains, of which stored ones are removed.
    ///
    /// At every moment, the manifest names a complete file.
    ///
    /// # Errors
    /// If the folder belongs to another user, or cannot be written.
    pub fn store_symbolized(
        &mut self,
        stacks: &Stacks,
        nameless: Vec<String>,
        made: &[&TableDef],
    ) -> Result<(), Error> {
        let path = self.path().to_owned();
        let io = |what: &'static str| Error::io(&path, what);
        let folder = Dir::open_for_writing(&path).map_err(io("writing into it"))?;
        folder.check_owner().map_err(io("writing into it"))?;
        let events = folder.open_dir("events").map_err(io("writing into its folder events"))?;
        let before = self.manifest().symbolized.clone();
        let is_free = |name: &&str| before.as_deref() != Some(&format!("events/{name}"));
        let name = NAMES.into_iter().find(is_free).unwrap_or(NAMES[0]);
        let _ = events.remove(name);
        let mut encoder = Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")))?;
        let mut sheets = EventSheets::new(events.clone(), 0);
        sheets.names(stacks.names.clone());
        sheets.stacks_named(name, &stacks.chains, &mut encoder)?;
        sheets.flush_all(&mut encoder)?;
        let done = sheets.close(self.manifest().trace, &mut encoder)?;
        let Some((_, done)) = done.into_iter().next() else { return Ok(()) };
        events.sync_all().map_err(io("syncing it to disk"))?;
        if let Ok(tables) = folder.open_dir("tables") {
            for def in made {
                let _ = tables.remove(format!("{}.parquet", def.name));
            }
        }
        let info = FileInfo { rows: done.rows, bytes: done.bytes, footer_crc32: done.footer };
        let mut manifest = Manifest { symbolized: Some(format!("events/{name}")), ..self.manifest().clone() };
        manifest.facts.nameless = nameless;
        if let Some(before) = &before {
            manifest.files.remove(before);
        }
        manifest.files.insert(format!("events/{name}"), info);
        manifest.format_version = FORMAT_VERSION;
        let file = folder.replace(MANIFEST, &manifest.to_json()?).map_err(io("writing its manifest"))?;
        self.set_manifest(manifest);
        for old in NAMES.into_iter().filter(|other| *other != name) {
            let _ = events.remove(old);
        }
        let given = events.hand_over().and_then(|()| folder.hand_over_file(&file));
        given.map_err(io("giving it to the user who ran sudo"))
    }

    fn set_manifest(&mut self, manifest: Manifest) {
        self.manifest = manifest;
        self.stored_format.store(FORMAT_VERSION, Ordering::Relaxed);
    }
}
