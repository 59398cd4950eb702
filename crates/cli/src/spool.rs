//! A recording's spool: opened as a source, made into a trace folder.

use crate::failure::Failure;
use crate::output::say;
use crate::progress::{Line, of_import};
use capture::{Meta, PROCESSES, SPOOL};
use engine::{Accounted, EngineError, Fatal, Identity, Opened, PassOptions, Priority, Source, SourceFile, Target};
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
    /// Looks for one.
    ///
    /// # Errors
    /// There is none.
    pub fn of(dir: &Path) -> Result<Self, Failure> {
        let folder = Dir::open(dir).map_err(|why| match why.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                Failure::new(format!("{}: there is no such folder", dir.display()))
            }
            _ => Failure::at(dir)(why),
        })?;
        Self::within(folder)
    }

    /// Looks for one in a folder that is held open.
    ///
    /// # Errors
    /// There is none.
    pub fn within(folder: Dir) -> Result<Self, Failure> {
        let dir = folder.path().display();
        let spool = capture::spool_of(&folder).map_err(|_| {
            Failure::new(match folder.has("manifest.json") {
                true => format!("{dir}: is a whole trace folder already: `corewise report {dir}`"),
                false => format!("{dir}: holds no spool that a recorder left"),
            })
        })?;
        let meta = Meta::load(&spool).map_err(Failure::new)?;
        Ok(Self { folder, spool, meta })
    }

    /// How its recorder ended.
    pub fn ended(&self) -> String {
        match (&self.meta.error, self.meta.finished) {
            (Some(error), _) => format!("{error}; all that is whole was kept"),
            (None, true) => "the recording was whole".to_owned(),
            (None, false) => "the recorder was killed; all that is whole was kept".to_owned(),
        }
    }

    /// Makes a trace folder of it in its place, where it goes unless it is to be kept: the trace is on disk by then. Under sudo, the
    /// folder then goes to who called it.
    ///
    /// # Errors
    /// It cannot be read, or the folder cannot be written.
    pub fn convert(&self, keep: bool, options: &PassOptions) -> Result<Accounted, Failure> {
        let dir = self.folder.path();
        if self.folder.has("manifest.json") {
            let shown = dir.display();
            return Err(Failure::new(format!(
                "{shown}: is a whole trace folder already: `corewise report {shown}`; its spool is no longer needed"
            )));
        }
        // In another user's, nothing is written at all.
        self.folder.ours().map_err(Failure::at(dir))?;
        // Before the manifest, which makes the folder whole.
        let copied = self.copy_processes(&self.folder);
        let accounted = self.import(Target::InPlace(&self.folder), options)?;
        // Where they could not be copied, the spool has the only ones.
        let done = match keep || !copied {
            true => self.spool.hand_over(),
            false => self.spool.clear().and_then(|()| self.folder.remove_dir(SPOOL)).or_else(|why| {
                let path = self.spool.path().display();
                say(&format!("corewise: {path} is no longer needed, but cannot be removed: {why}"));
                Ok(())
            }),
        };
        done.and_then(|()| self.folder.hand_over_itself()).map_err(Failure::at(dir))?;
        Ok(accounted)
    }

    /// Makes a trace folder of it elsewhere.
    ///
    /// # Errors
    /// It cannot be read, or the folder cannot be written.
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
        Ok(engine::import(self, target, options, &mut |p| of_import(&mut line, p))?)
    }

    /// What a recording leaves beside its tables: the programs that ran, for who reads the folder. `false`: it could not be copied.
    fn copy_processes(&self, to: &Dir) -> bool {
        let copy = || -> std::io::Result<()> {
            let file = to.replace(PROCESSES, &self.spool.read(PROCESSES)?)?;
            file.sync_all()?;
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
