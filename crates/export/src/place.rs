//! Output files and folders, which get their final name only when they are complete.
//!
//! ```text
//!   run.pftrace.part-4711     while it is being written, next to its final place
//!   run.pftrace               when it is complete; an existing file is replaced only on request
//! ```

use crate::{ExportError, Exporter, Job, Outputs, Shape};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The destination of an export.
pub enum Place<'a> {
    /// A file or folder with this name, and whether an existing one is replaced.
    Named(&'a Path, bool),
    /// A pipe, for exports that are one file.
    Pipe(&'a mut (dyn Write + Send)),
}

/// Writes an export.
///
/// # Errors
/// The message says where the error occurred and what to do. Temporary files are removed, and existing files are unchanged.
pub fn write(exporter: &dyn Exporter, job: &mut Job<'_>, place: Place<'_>) -> Result<(), ExportError> {
    match place {
        Place::Pipe(out) => {
            if exporter.shape() == Shape::Folder {
                let id = exporter.id();
                return Err(ExportError::Words(format!("{id} is a folder of files: choose a name with -o DIR")));
            }
            let mut pipe = Pipe(out);
            exporter.write(job, &mut pipe)?;
            Ok(pipe.0.flush()?)
        }
        Place::Named(path, force) => {
            replaceable(exporter, path, force)?;
            let part = neighbour(path, "part");
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

/// The files of an export, written one after another.
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

/// Verifies that the path is free or can be replaced: a file, or a folder that has only files of such an export.
fn replaceable(exporter: &dyn Exporter, path: &Path, force: bool) -> Result<(), ExportError> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let shown = path.display();
    if !force {
        return Err(ExportError::Words(format!(
            "{shown}: already exists; choose another name, or replace it with --force"
        )));
    }
    let fits = match exporter.shape() {
        Shape::File => !there.is_dir(),
        Shape::Folder => there.is_dir() && only_ours(exporter, path).map_err(ExportError::at(path))?,
    };
    let refused =
        || ExportError::Words(format!("{shown}: not replaced, as it is not an earlier export of this format"));
    if fits { Ok(()) } else { Err(refused()) }
}

fn only_ours(exporter: &dyn Exporter, folder: &Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let table = name.to_str().and_then(|n| n.strip_suffix(exporter.suffix()));
        let known = |table: &str| model::tables::renamed::find(table).is_some();
        if !entry.file_type()?.is_file() || !table.is_some_and(known) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Renames the completed part. An existing folder is renamed first, as a folder cannot be renamed onto one that is not empty.
fn put(part: &Path, path: &Path) -> Result<(), ExportError> {
    if !path.is_dir() {
        return std::fs::rename(part, path).map_err(ExportError::at(path));
    }
    let old = neighbour(path, "old");
    std::fs::rename(path, &old).map_err(ExportError::at(path))?;
    let done = std::fs::rename(part, path).map_err(ExportError::at(path));
    if done.is_ok() {
        remove(&old);
    } else {
        let _ = std::fs::rename(&old, path);
    }
    done
}

/// A temporary name of this process next to a path.
fn neighbour(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{what}-{}", std::process::id()));
    path.with_file_name(name)
}

/// Removes a file or folder; errors are ignored.
fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}
