//! Archives (zip and tar), unpacked as a folder or as the one file in them that is a trace.

use super::HEAD;
use super::unpack::{Bound, Unpacked, copied, copy};
use crate::EngineError;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Archives with more files than this are refused: no trace has as many.
const MAX_FILES: usize = 100_000;
/// The maximum number of folders in an archive that are tried as a trace.
const MAX_TRIED: usize = 64;
/// The maximum depth of folders in an archive.
const MAX_DEPTH: usize = 32;

/// Unpacks a zip archive: the folder if it is a trace, else the first file that an importer recognises, else everything.
pub(super) fn zip(path: &Path, mut file: File) -> Result<Unpacked, EngineError> {
    let size = file.metadata().map_err(EngineError::io(path))?.len();
    if members(&mut file).is_some_and(|count| count > MAX_FILES as u64) {
        return Err(too_many(path));
    }
    let bad =
        |e: zip::result::ZipError| EngineError::Damaged(format!("{}: a damaged zip archive: {e}", path.display()));
    let mut archive = zip::ZipArchive::new(file).map_err(bad)?;
    if archive.len() > MAX_FILES {
        return Err(too_many(path));
    }
    let mut names = Vec::new();
    for at in 0..archive.len() {
        let entry = archive.by_index_raw(at).map_err(bad)?;
        let name = inside(path, Path::new(entry.name().map_err(bad)?.as_ref()))?;
        names.push(name.filter(|_| entry.is_file()));
    }
    let (mut first, mut folder, mut tried) = (None, false, 0);
    for at in 0..archive.len() {
        let mut head = Vec::new();
        let Some(name) = &names[at] else { continue };
        if archive.by_index(at).map_err(bad)?.take(HEAD).read_to_end(&mut head).is_err() {
            continue;
        }
        let Some(importer) = import::detect(&head) else { continue };
        // The metadata of a CTF trace is a separate file that is useless without the files next to it.
        if importer.is_folder() && tried < MAX_TRIED {
            tried += 1;
            folder = is_folder_of(importer.id(), name, &names);
        }
        if folder {
            break;
        }
        first.get_or_insert(at);
    }
    if let Some(at) = first.filter(|_| !folder) {
        let mut entry = archive.by_index(at).map_err(bad)?;
        return copied(path, &mut entry, &Cell::new(size)).map(Unpacked::File);
    }
    let folder = tempfile::tempdir().map_err(EngineError::temporary)?;
    let mut bound = Bound::of(path);
    for (at, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        let mut entry = archive.by_index(at).map_err(bad)?;
        let mut to = create(folder.path(), name)?;
        copy(path, &mut entry, &mut to, &|| size, &mut bound)?;
    }
    Ok(Unpacked::Folder(folder))
}

/// Returns whether the folder of a file is a trace of a format, judged by its file names.
fn is_folder_of(format: &str, file: &Path, names: &[Option<PathBuf>]) -> bool {
    let folder = file.parent().unwrap_or(Path::new(""));
    let below = names.iter().flatten().filter_map(|name| name.strip_prefix(folder).ok());
    let mut below: Vec<String> = below.map(|name| name.to_string_lossy().into_owned()).collect();
    below.sort();
    import::detect_folder(&below).is_some_and(|importer| importer.id() == format)
}

/// Returns the number of members that a zip archive states, before its directory is read into memory; `None` if it is not stated.
fn members(file: &mut File) -> Option<u64> {
    const END: [u8; 4] = *b"PK\x05\x06";
    const END_64: [u8; 4] = *b"PK\x06\x06";
    const PLACE_64: [u8; 4] = *b"PK\x06\x07";
    /// The size of the end record with the longest comment, and of the zip64 locator before it.
    const TAIL: u64 = (1 << 16) + 22 + 20;
    let size = file.seek(SeekFrom::End(0)).ok()?;
    let mut bytes = |from: u64, max: u64| -> Option<Vec<u8>> {
        let mut read = Vec::new();
        file.seek(SeekFrom::Start(from)).ok()?;
        file.take(max).read_to_end(&mut read).ok()?;
        Some(read)
    };
    let tail = bytes(size.saturating_sub(TAIL), TAIL)?;
    let end = tail.windows(4).rposition(|bytes| bytes == END)?;
    let few = u16::from_le_bytes(*tail.get(end + 10..)?.first_chunk()?);
    let Some(place) = end.checked_sub(20).and_then(|at| tail.get(at..end)).filter(|p| p.starts_with(&PLACE_64)) else {
        return Some(few.into());
    };
    let end = bytes(u64::from_le_bytes(*place.get(8..)?.first_chunk()?), 56)?;
    let many = u64::from_le_bytes(*end.get(32..)?.first_chunk()?);
    Some(if end.starts_with(&END_64) { many.max(few.into()) } else { few.into() })
}

/// Unpacks a tar archive: regular files and the links between them. Devices are omitted.
pub(super) fn tar(path: &Path, file: File) -> Result<TempDir, EngineError> {
    let size = file.metadata().map_err(EngineError::io(path))?.len();
    let bad = |e: std::io::Error| EngineError::Damaged(format!("{}: a damaged tar archive: {e}", path.display()));
    let folder = tempfile::tempdir().map_err(EngineError::temporary)?;
    let mut bound = Bound::of(path);
    let (mut links, mut same) = (Vec::new(), Vec::new());
    let mut archive = tar::Archive::new(file);
    for (nth, entry) in archive.entries().map_err(bad)?.enumerate() {
        if nth >= MAX_FILES {
            return Err(too_many(path));
        }
        let mut entry = entry.map_err(bad)?;
        let Some(name) = inside(path, &entry.path().map_err(bad)?)? else { continue };
        let kind = entry.header().entry_type();
        if kind.is_file() {
            let mut to = create(folder.path(), &name)?;
            copy(path, &mut entry, &mut to, &|| size, &mut bound)?;
        } else if let (true, Ok(Some(to))) = (kind.is_symlink(), entry.link_name()) {
            links.push((name, to.into_owned()));
        } else if let (true, Ok(Some(to))) = (kind.is_hard_link(), entry.link_name()) {
            same.extend(inside(path, &to)?.map(|to| (name, to)));
        }
    }
    // Links are created last, so that no file of the archive is written through a link.
    for (name, to) in &same {
        let (to, name) = (folder.path().join(to), folder.path().join(name));
        std::fs::create_dir_all(name.parent().unwrap_or(folder.path())).map_err(bad)?;
        match std::fs::hard_link(to, &name) {
            // The archive does not contain the file that it links to.
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            done => done.map_err(bad)?,
        }
    }
    links.iter().for_each(|(name, to)| link(folder.path(), name, to));
    Ok(folder)
}

/// Creates a link like those of a sysfs tree (`cpu0/cpufreq -> ../cpufreq/policy0`), unless it leads out of the folder. Links that
/// cannot be created are omitted.
fn link(folder: &Path, name: &Path, to: &Path) {
    let up = to.components().take_while(|part| *part == Component::ParentDir).count();
    let down = to.components().skip(up).all(|part| matches!(part, Component::Normal(_)));
    let at = name.parent().unwrap_or(Path::new(""));
    // If the parent is itself a link, `..` leads elsewhere than counted here.
    let real = || folder.canonicalize().ok().zip(folder.join(at).canonicalize().ok());
    if down && up <= at.components().count() && real().is_some_and(|(root, parent)| root.join(at) == parent) {
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink(to, folder.join(name));
    }
}

/// Returns a member's path, checked to stay inside the target folder; `None` for that folder itself.
fn inside(archive: &Path, name: &Path) -> Result<Option<PathBuf>, EngineError> {
    let refused = |why: &str| {
        let (archive, name) = (archive.display(), name.display().to_string());
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        EngineError::NotOpened(format!(
            "{archive}: the path of a member, {name}, {why}: this is not expected in a trace. If it is a trace, unpack it yourself"
        ))
    };
    let mut clean = PathBuf::new();
    for part in name.components() {
        match part {
            Component::Normal(part) => clean.push(part),
            Component::CurDir => {}
            _ => return Err(refused("leads out of the archive")),
        }
    }
    if clean.components().count() > MAX_DEPTH {
        return Err(refused(&format!("is deeper than {MAX_DEPTH} folders")));
    }
    Ok(Some(clean).filter(|name| !name.as_os_str().is_empty()))
}

fn too_many(path: &Path) -> EngineError {
    EngineError::NotOpened(format!(
        "{}: the archive has more than {MAX_FILES} files: this is not a trace",
        path.display()
    ))
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
