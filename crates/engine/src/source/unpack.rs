//! Packed traces, as people send them: gzip, zstd, zip and tar, one around the other, unpacked into temporary files.

use super::{HEAD, head, unknown};
use crate::EngineError;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// So many packings may lie around each other.
const LAYERS: usize = 4;
/// What unpacks to more than this, and to more than [`MOST_RATIO`] times its size, is no trace: those shrink by 5 to 30.
const LARGE: u64 = 1 << 30;
const MOST_RATIO: u64 = 200;
/// More files than any trace has.
const MOST_FILES: usize = 100_000;

pub(super) enum Unpacked {
    File(File),
    Folder(TempDir),
}

/// Unpacks a file until an importer knows what is in it.
pub(super) fn unpack(path: &Path, mut file: File) -> Result<Unpacked, EngineError> {
    for _ in 0..LAYERS {
        let head = head(&file, path)?;
        if import::detect(&head).is_some() {
            return Ok(Unpacked::File(file));
        }
        let bad = |e: std::io::Error| EngineError::Other(format!("{}: {e}", path.display()));
        file = match head.as_slice() {
            [0x1f, 0x8b, ..] => {
                let (counted, read) = counted(file);
                copied(path, &mut flate2::read::MultiGzDecoder::new(counted), &read)?
            }
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let (counted, read) = counted(file);
                copied(path, &mut zstd::stream::read::Decoder::new(counted).map_err(bad)?, &read)?
            }
            [b'P', b'K', 3, 4, ..] => match zip(path, file)? {
                Unpacked::File(file) => file,
                folder @ Unpacked::Folder(_) => return Ok(folder),
            },
            [0xfd, b'7', b'z', b'X', b'Z', ..] => return Err(by_hand(path, "xz", "xz -dk")),
            [b'B', b'Z', b'h', ..] => return Err(by_hand(path, "bzip2", "bzip2 -dk")),
            h if h.get(257..262) == Some(b"ustar") => return tar(path, file).map(Unpacked::Folder),
            _ => return Err(unknown(path)),
        };
    }
    Err(EngineError::Other(format!("{}: packed more than {LAYERS} times", path.display())))
}

fn by_hand(path: &Path, packer: &str, command: &str) -> EngineError {
    let path = path.display();
    EngineError::Other(format!(
        "{path}: packed by {packer}, which corewise does not undo: run `{command} {path}` first"
    ))
}

/// Counts what is read of a packed file, to compare with what comes out.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

fn counted(file: File) -> (Counted, Rc<Cell<u64>>) {
    let read = Rc::new(Cell::new(0));
    (Counted { file, read: read.clone() }, read)
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let got = self.file.read(into)?;
        self.read.set(self.read.get() + got as u64);
        Ok(got)
    }
}

/// Watches what comes out of a packed file.
struct Bound<'a> {
    path: &'a Path,
    written: u64,
}

impl Bound<'_> {
    fn more(&mut self, bytes: usize, packed: u64) -> Result<(), EngineError> {
        self.written += bytes as u64;
        if self.written > LARGE && self.written / MOST_RATIO > packed {
            return Err(EngineError::Other(format!(
                "{}: unpacks to more than {MOST_RATIO} times its size ({} GiB so far): this is no trace. If it is one, unpack it yourself",
                self.path.display(),
                self.written >> 30
            )));
        }
        Ok(())
    }
}

/// All that a reader gives, in a temporary file.
fn copied(path: &Path, from: &mut dyn Read, packed: &Cell<u64>) -> Result<File, EngineError> {
    let mut to = tempfile::tempfile().map_err(EngineError::temporary)?;
    copy(path, from, &mut to, &|| packed.get(), &mut Bound { path, written: 0 })?;
    to.seek(SeekFrom::Start(0)).map_err(EngineError::temporary)?;
    Ok(to)
}

fn copy(
    path: &Path,
    from: &mut dyn Read,
    to: &mut File,
    packed: &dyn Fn() -> u64,
    bound: &mut Bound<'_>,
) -> Result<(), EngineError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let got = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(got) => got,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => {
                let (path, good) = (path.display(), bound.written);
                let advice = "what comes before can be had by unpacking it yourself";
                return Err(EngineError::Other(format!(
                    "{path}: damaged behind byte {good} of what is packed in it ({e}); {advice}"
                )));
            }
        };
        bound.more(got, packed())?;
        to.write_all(&buffer[..got]).map_err(EngineError::temporary)?;
    }
}

/// The first file in an archive that an importer knows; else all of them, as a folder.
fn zip(path: &Path, file: File) -> Result<Unpacked, EngineError> {
    let size = file.metadata().map_err(EngineError::io(path))?.len();
    let bad = |e: zip::result::ZipError| EngineError::Other(format!("{}: a damaged zip archive: {e}", path.display()));
    let mut archive = zip::ZipArchive::new(file).map_err(bad)?;
    for at in 0..archive.len().min(MOST_FILES) {
        let mut first = Vec::new();
        let entry = archive.by_index(at).map_err(bad)?;
        if !entry.is_file() || entry.take(HEAD).read_to_end(&mut first).is_err() {
            continue;
        }
        if import::detect(&first).is_some() {
            let mut entry = archive.by_index(at).map_err(bad)?;
            return copied(path, &mut entry, &Cell::new(size)).map(Unpacked::File);
        }
    }
    let folder = tempfile::tempdir().map_err(EngineError::temporary)?;
    let mut bound = Bound { path, written: 0 };
    for at in 0..archive.len().min(MOST_FILES) {
        let mut entry = archive.by_index(at).map_err(bad)?;
        let Some(name) = entry.enclosed_name().filter(|_| entry.is_file()) else { continue };
        let mut to = create(folder.path(), &name)?;
        copy(path, &mut entry, &mut to, &|| size, &mut bound)?;
    }
    Ok(Unpacked::Folder(folder))
}

/// The regular files of an archive, and links between them; devices are left out.
fn tar(path: &Path, file: File) -> Result<TempDir, EngineError> {
    let size = file.metadata().map_err(EngineError::io(path))?.len();
    let bad = |e: std::io::Error| EngineError::Other(format!("{}: a damaged tar archive: {e}", path.display()));
    let folder = tempfile::tempdir().map_err(EngineError::temporary)?;
    let mut bound = Bound { path, written: 0 };
    let mut links = Vec::new();
    let mut archive = tar::Archive::new(file);
    for entry in archive.entries().map_err(bad)?.take(MOST_FILES) {
        let mut entry = entry.map_err(bad)?;
        let name = entry.path().map_err(bad)?.into_owned();
        if entry.header().entry_type().is_file()
            && let Some(name) = inside(&name)
        {
            let mut to = create(folder.path(), &name)?;
            copy(path, &mut entry, &mut to, &|| size, &mut bound)?;
        } else if entry.header().entry_type().is_symlink()
            && let (Some(name), Ok(Some(to))) = (inside(&name), entry.link_name())
        {
            links.push((name, to.into_owned()));
        }
    }
    // Only now: no file of the archive is written through a link of it.
    links.iter().for_each(|(name, to)| link(folder.path(), name, to));
    Ok(folder)
}

/// Makes a link as those of a sysfs tree are (`cpu0/cpufreq -> ../cpufreq/policy0`); none that leads out of the folder. What
/// cannot be made is missing, as devices are.
fn link(folder: &Path, name: &Path, to: &Path) {
    let up = to.components().take_while(|part| *part == Component::ParentDir).count();
    let down = to.components().skip(up).all(|part| matches!(part, Component::Normal(_)));
    let at = name.parent().unwrap_or(Path::new(""));
    // A folder that is none by itself, but another link, would be left by another way than the one counted here.
    let real = || folder.canonicalize().ok().zip(folder.join(at).canonicalize().ok());
    if down && up <= at.components().count() && real().is_some_and(|(root, there)| root.join(at) == there) {
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink(to, folder.join(name));
    }
}

/// A name that stays inside the folder that it is unpacked to.
fn inside(name: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!clean.as_os_str().is_empty()).then_some(clean)
}

fn create(folder: &Path, name: &Path) -> Result<File, EngineError> {
    let path = folder.join(name);
    let make = || {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        File::create(&path)
    };
    make().map_err(EngineError::temporary)
}
