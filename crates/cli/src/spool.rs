//! A recording's spool: opened as a source, made into a trace folder.

use crate::failure::Failure;
use crate::output::say;
use crate::progress::{Line, of_import};
use capture::Meta;
use engine::{Accounted, EngineError, Fatal, Identity, Opened, PassOptions, Priority, Source, SourceFile, Target};
use std::path::{Path, PathBuf};

/// What a recording leaves beside its tables: the programs that ran, for who reads the folder.
const PROCESSES: &str = "processes.json";

/// The spool in a trace folder.
pub struct Spool {
    dir: PathBuf,
    meta: Meta,
}

impl Spool {
    /// Looks for one.
    ///
    /// # Errors
    /// There is none.
    pub fn of(dir: &Path) -> Result<Self, Failure> {
        if !dir.is_dir() {
            return Err(Failure::new(format!("{}: there is no such folder", dir.display())));
        }
        if !capture::is_spool(dir) {
            return Err(Failure::new(if dir.join("manifest.json").is_file() {
                format!("{0}: is a whole trace folder already: `corewise report {0}`", dir.display())
            } else {
                format!("{}: holds no spool that a recorder left", dir.display())
            }));
        }
        let meta = Meta::load(dir).map_err(Failure::new)?;
        Ok(Self { dir: dir.to_owned(), meta })
    }

    /// How its recorder ended.
    pub fn ended(&self) -> String {
        match (&self.meta.error, self.meta.finished) {
            (Some(error), _) => format!("{error}; all that is whole was kept"),
            (None, true) => "the recording was whole".to_owned(),
            (None, false) => "the recorder was killed; all that is whole was kept".to_owned(),
        }
    }

    /// Makes a trace folder of it: in place, or elsewhere.
    ///
    /// # Errors
    /// It cannot be read, or the folder cannot be written.
    pub fn convert(&self, other: Option<&Path>, options: &PassOptions) -> Result<Accounted, Failure> {
        let mut line = Line::new();
        let target = other.map_or(Target::InPlace(&self.dir), Target::New);
        let accounted = engine::import(self, target, options, &mut |p| of_import(&mut line, p))?;
        drop(line);
        let (from, to) = (self.dir.join("spool").join(PROCESSES), other.unwrap_or(&self.dir).join(PROCESSES));
        if let Err(error) = std::fs::copy(&from, &to)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            say(&format!("corewise: {}: {error}", to.display()));
        }
        Ok(accounted)
    }

    /// Removes it once it was converted in place.
    pub fn remove(&self) {
        let path = self.dir.join("spool");
        if let Err(error) = std::fs::remove_dir_all(&path) {
            say(&format!("corewise: {} is no longer needed, but cannot be removed: {error}", path.display()));
        }
    }
}

impl Source for Spool {
    fn path(&self) -> &Path {
        &self.dir
    }

    fn format(&self) -> &'static str {
        "corewise"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        capture::open_spool(&self.dir)
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        let trace = engine::trace_id_of_recording(&self.meta.boot_id, self.meta.started_ns);
        let bytes = std::fs::read_dir(self.dir.join("spool")).map_err(EngineError::io(&self.dir))?;
        let bytes = bytes.filter_map(|e| e.ok()?.metadata().ok()).map(|m| m.len().cast_signed()).sum();
        let path = self.dir.display().to_string();
        let file = SourceFile { path, hash: None, bytes, format: self.format().to_owned() };
        Ok(Identity { trace, files: vec![file] })
    }
}
