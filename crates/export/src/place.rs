//! Files and folders that get their name only when they are whole.
//!
//! ```text
//!   run.pftrace.part-4711     while it is written, beside where it will stand
//!   run.pftrace               when it is whole; one that was there is replaced only where that is asked for
//! ```

use crate::{ExportError, Exporter, Job, Outputs, Shape};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where an export goes.
pub enum Place<'a> {
    /// To a file or folder of this name; whether one that is there is replaced.
    Named(&'a Path, bool),
    /// Into a pipe; only what is one file.
    Pipe(&'a mut (dyn Write + Send)),
}

/// Writes an export.
///
/// # Errors
/// In a sentence with where and what to do; then nothing is left behind, and what was there is as it was.
pub fn write(exporter: &dyn Exporter, job: &mut Job<'_>, place: Place<'_>) -> Result<(), ExportError> {
    match place {
        Place::Pipe(out) => {
            if exporter.shape() == Shape::Folder {
                let id = exporter.id();
                return Err(ExportError::Words(format!("{id} is a folder of files: name it with -o DIR")));
            }
            let mut pipe = Pipe(out);
            exporter.write(job, &mut pipe)?;
            Ok(pipe.0.flush()?)
        }
        Place::Named(path, force) => {
            replaceable(exporter, path, force)?;
            let part = beside(path, "part");
            let written = match exporter.shape() {
                Shape::File => to_file(exporter, job, &part),
                Shape::Folder => to_folder(exporter, job, &part),
            };
            let named = written.and_then(|()| {
                replaceable(exporter, path, force)?;
                put(&part, path)
            });
            if named.is_err() {
                remove(&part);
            }
            named
        }
    }
}

struct Pipe<'a>(&'a mut (dyn Write + Send));

impl Outputs for Pipe<'_> {
    fn next(&mut self, _: &str) -> Result<&mut (dyn Write + Send), ExportError> {
        Ok(self.0)
    }
}

/// Files one after the other: one, or all of a folder.
struct Files<'a> {
    path: &'a Path,
    shape: Shape,
    now: Option<(PathBuf, BufWriter<File>)>,
}

impl Files<'_> {
    fn finish(&mut self) -> Result<(), ExportError> {
        match self.now.take() {
            Some((path, mut file)) => file.flush().map_err(ExportError::at(&path)),
            None => Ok(()),
        }
    }
}

impl Outputs for Files<'_> {
    fn next(&mut self, name: &str) -> Result<&mut (dyn Write + Send), ExportError> {
        self.finish()?;
        let path = if self.shape == Shape::File { self.path.to_owned() } else { self.path.join(name) };
        let file = File::options().write(true).create_new(true).open(&path).map_err(ExportError::at(&path))?;
        let (_, file) = self.now.insert((path, BufWriter::with_capacity(1 << 18, file)));
        Ok(file)
    }
}

fn to_file(exporter: &dyn Exporter, job: &mut Job<'_>, part: &Path) -> Result<(), ExportError> {
    let mut files = Files { path: part, shape: Shape::File, now: None };
    exporter.write(job, &mut files)?;
    files.finish()
}

fn to_folder(exporter: &dyn Exporter, job: &mut Job<'_>, part: &Path) -> Result<(), ExportError> {
    std::fs::create_dir(part).map_err(ExportError::at(part))?;
    let mut files = Files { path: part, shape: Shape::Folder, now: None };
    exporter.write(job, &mut files)?;
    files.finish()
}

/// Whether the name is free, or what stands there may go: a file; a folder only of files such as an export writes.
fn replaceable(exporter: &dyn Exporter, path: &Path, force: bool) -> Result<(), ExportError> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let shown = path.display();
    if !force {
        return Err(ExportError::Words(format!(
            "{shown}: is there already: choose another name, or replace it by --force"
        )));
    }
    let fits = match exporter.shape() {
        Shape::File => !there.is_dir(),
        Shape::Folder => there.is_dir() && only_ours(exporter, path).map_err(ExportError::at(path))?,
    };
    let unlike = || ExportError::Words(format!("{shown}: not replaced, since it is no earlier export of this kind"));
    if fits { Ok(()) } else { Err(unlike()) }
}

fn only_ours(exporter: &dyn Exporter, folder: &Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let table = name.to_str().and_then(|n| n.strip_suffix(exporter.suffix()));
        let known = |table: &str| model::tables::ALL.iter().any(|def| def.name == table);
        if !entry.file_type()?.is_file() || !table.is_some_and(known) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a part its name; a folder that is there steps aside first, since no folder is renamed onto a full one.
fn put(part: &Path, path: &Path) -> Result<(), ExportError> {
    if !path.is_dir() {
        return std::fs::rename(part, path).map_err(ExportError::at(path));
    }
    let old = beside(path, "old");
    std::fs::rename(path, &old).map_err(ExportError::at(path))?;
    let done = std::fs::rename(part, path).map_err(ExportError::at(path));
    if done.is_ok() {
        remove(&old);
    } else {
        let _ = std::fs::rename(&old, path);
    }
    done
}

/// A name of this process beside another.
fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}-{}", std::process::id()));
    path.with_file_name(name)
}

/// What is of no use goes; where that fails there is nothing more to be done.
fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}
