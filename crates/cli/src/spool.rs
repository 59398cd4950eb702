//! A recording's spool: read as a source and converted to a trace folder.

use crate::failure::Failure;
use crate::output::say;
use crate::progress::{Line, show_import};
use capture::{Meta, SPOOL};
use engine::{Accounted, EngineError, Fatal, Identity, Opened, PassOptions, Priority, Source, SourceFile, Target};
use model::PROCESSES;
use safefs::{Access, Dir};
use std::io::ErrorKind;
use std::path::Path;

/// The spool in a trace folder.
pub struct Spool {
    folder: Dir,
    spool: Dir,
    meta: Meta,
}

impl Spool {
    /// Opens the spool in the folder `dir`.
    ///
    /// # Errors
    /// The folder has no spool.
    pub fn in_path(dir: &Path) -> Result<Self, Failure> {
        let folder = Dir::open(dir).map_err(|why| match why.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                Failure::new(format!("{}: folder not found", dir.display()))
            }
            _ => Failure::at(dir)(why),
        })?;
        Self::in_folder(folder)
    }

    /// Opens the spool in an open folder.
    ///
    /// # Errors
    /// The folder has no spool.
    pub fn in_folder(folder: Dir) -> Result<Self, Failure> {
        let dir = folder.path().display();
        let spool = capture::spool_of(&folder).map_err(|_| {
            Failure::new(match folder.has("manifest.json") {
                true => format!("{dir}: is already a complete trace folder: use `corewise report {dir}`"),
                false => format!("{dir}: contains no spool of an unfinished recording"),
            })
        })?;
        let meta = Meta::load(&spool).map_err(Failure::new)?;
        Ok(Self { folder, spool, meta })
    }

    /// Describes how the recorder ended.
    pub fn ended(&self) -> String {
        match (&self.meta.error, self.meta.finished) {
            (Some(error), _) => format!("{error}; all complete data was kept"),
            (None, true) => "the recording was complete".to_owned(),
            (None, false) => "the recorder was killed; all complete data was kept".to_owned(),
        }
    }

    /// Converts the spool to a trace folder in place. The spool is removed once the trace is on disk, unless `keep` is set. Under
    /// sudo, the folder is then given to the user who called it.
    ///
    /// # Errors
    /// The spool cannot be read, or the folder cannot be written.
    pub fn convert(&self, keep: bool, options: &PassOptions) -> Result<Accounted, Failure> {
        let dir = self.folder.path();
        if self.folder.has("manifest.json") {
            let shown = dir.display();
            return Err(Failure::new(format!(
                "{shown}: is already a complete trace folder: use `corewise report {shown}`; its spool is no longer needed"
            )));
        }
        // In another user's folder nothing is written.
        self.folder.check_owner().map_err(Failure::at(dir))?;
        // Before the manifest, which marks the folder as complete.
        let copied = self.copy_processes(&self.folder);
        let accounted = self.import(Target::InPlace(&self.folder), options)?;
        // If the list could not be copied, the spool has the only one.
        let done = match keep || !copied {
            true => self.spool.hand_over(),
            false => self.spool.clear().and_then(|()| self.folder.remove_dir(SPOOL)).or_else(|why| {
                let path = self.spool.path().display();
                say(&format!("corewise: {path} is no longer needed but cannot be removed: {why}"));
                Ok(())
            }),
        };
        done.and_then(|()| self.folder.hand_over_folder()).map_err(Failure::at(dir))?;
        Ok(accounted)
    }

    /// Converts the spool to a trace folder at another path.
    ///
    /// # Errors
    /// The spool cannot be read, or the folder cannot be written.
    pub fn convert_to(&self, other: &Path, access: Access, options: &PassOptions) -> Result<Accounted, Failure> {
        let target = if access == Access::Shared { Target::Shared(other) } else { Target::New(other) };
        let accounted = self.import(target, options)?;
        match Dir::open_for_writing(other) {
            Ok(other) => _ = self.copy_processes(&other),
            Err(why) => say(&format!("corewise: {}: {why}", other.display())),
        }
        Ok(accounted)
    }

    fn import(&self, target: Target<'_>, options: &PassOptions) -> Result<Accounted, Failure> {
        let mut line = Line::new();
        Ok(engine::import(self, target, options, &mut |p| show_import(&mut line, p))?)
    }

    /// Copies the list of processes of the recording into the trace folder. Returns whether that succeeded.
    fn copy_processes(&self, to: &Dir) -> bool {
        let copy = || -> std::io::Result<()> {
            let file = to.replace(PROCESSES, &self.spool.read(PROCESSES)?)?;
            to.hand_over_file(&file)
        };
        if let Err(error) = copy()
            && error.kind() != ErrorKind::NotFound
        {
            say(&format!("corewise: {}: {error}", to.path().join(PROCESSES).display()));
            return false;
        }
        true
    }
}

impl Source for Spool {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn format(&self) -> &'static str {
        "corewise"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        capture::open_spool_folder(&self.spool)
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        let trace = engine::trace_id_of_recording(&self.meta.boot_id, self.meta.started_ns);
        let names = self.spool.names().map_err(EngineError::io(self.folder.path()))?;
        let size = |name| Some(self.spool.open_file(name).ok()?.metadata().ok()?.len().cast_signed());
        let bytes = names.into_iter().filter_map(size).sum();
        let path = self.folder.path().display().to_string();
        let file = SourceFile { path, hash: None, bytes, format: self.format().to_owned() };
        Ok(Identity { trace, files: vec![file] })
    }
}
