//! Separate debug files: by build id, by the link in a file, and within the file itself.
//!
//! A file is used only if its build id is that of the program. Files without build ids are compared by the checksum in the link.

use crate::{build_id, path::split};
use object::read::ReadRef;
use object::{File, Object, ReadCache};
use std::ffi::OsStr;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The size of the largest debug file whose checksum is calculated, and how long that may take.
const MAX_CHECKED: u64 = 8 << 30;
const CHECKED_FOR: Duration = Duration::from_secs(30);
/// The most bytes of symbols that a file has in itself, compressed and not.
const MAX_MINI: u64 = 256 << 20;
/// The most memory for decompressing them, KiB.
const MINI_MEMORY: u32 = 128 << 10;

/// Returns the build id of an ELF file by its sections, as debug files have it; `None` if it has none.
pub(crate) fn id_of(path: &Path) -> Option<String> {
    let data = open(path)?;
    let file = File::parse(&data).ok()?;
    file.build_id().ok().flatten().map(build_id::hexadecimal)
}

/// Opens a regular file: others might be endless.
pub(crate) fn open(path: &Path) -> Option<ReadCache<BufReader<std::fs::File>>> {
    use std::os::unix::fs::OpenOptionsExt;
    // A pipe would wait for its writer.
    let file = std::fs::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(ReadCache::new(BufReader::new(file)))
}

/// `O_NONBLOCK` of Linux on all machines but MIPS, Alpha, PA-RISC and SPARC.
const NONBLOCK: i32 = 0o4000;

/// Finds the debug file of a program or library: `file` has been parsed from `path`, and `named` is its path when it was recorded.
pub(crate) fn find<'d, R: ReadRef<'d>>(
    file: &File<'d, R>,
    named: &Path,
    id: Option<&str>,
    folders: &[PathBuf],
) -> Option<PathBuf> {
    let found = id.and_then(|id| by_id(id, folders));
    found.or_else(|| {
        let (name, crc) = file.gnu_debuglink().ok()??;
        by_link(OsStr::from_bytes(name), crc, named, id, folders)
    })
}

/// Finds the debug file for a build id.
pub(crate) fn by_id(id: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let (first, rest) = split(id)?;
    folders.iter().find_map(|folder| {
        // As distributions and perf have them, and as debuginfod's cache does.
        let places = [
            folder.join(".build-id").join(first).join(format!("{rest}.debug")),
            folder.join(first).join(format!("{rest}.debug")),
            folder.join(".build-id").join(first).join(rest).join("debug"),
            folder.join(id).join("debuginfo"),
        ];
        places.into_iter().find(|path| path.is_file() && id_of(path).as_deref() == Some(id))
    })
}

/// Finds the debug file that a link in a file names.
fn by_link(name: &OsStr, crc: u32, named: &Path, id: Option<&str>, folders: &[PathBuf]) -> Option<PathBuf> {
    // A name, not a path: the link is a part of a file that need not be trusted.
    if name.is_empty() || name.as_bytes().contains(&b'/') || name == ".." || name == "." {
        return None;
    }
    let own = named.parent().filter(|folder| folder.is_absolute())?;
    let inside = own.strip_prefix("/").unwrap_or(own);
    let near = [own.join(name), own.join(".debug").join(name)];
    let places = near.into_iter().chain(folders.iter().flat_map(|f| [f.join(inside).join(name), f.join(name)]));
    places.filter(|path| path != named).find(|path| {
        let same = || match (id, id_of(path)) {
            (Some(id), Some(of)) => id == of,
            (Some(_), None) | (None, _) => true,
        };
        path.is_file() && same() && checksum(path) == Some(crc)
    })
}

/// Returns the CRC-32 of a file; `None` if it cannot be read in time.
fn checksum(path: &Path) -> Option<u32> {
    let mut file = std::fs::File::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_CHECKED {
        return None;
    }
    let (mut hash, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 18]);
    let until = Instant::now() + CHECKED_FOR;
    while Instant::now() < until {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hash.finalize()),
            read => hash.update(&buffer[..read]),
        }
    }
    None
}

/// Returns the symbols that a file has in itself, as an ELF file (MiniDebugInfo: a section that xz compressed).
pub(crate) fn mini<'d, R: ReadRef<'d>>(file: &File<'d, R>) -> Option<Vec<u8>> {
    use object::ObjectSection;
    let section = file.section_by_name(".gnu_debugdata")?;
    let data = (section.size() <= MAX_MINI).then(|| section.data().ok())??;
    decompressed(data)
}

/// Decompresses the content of `.gnu_debugdata`; `None` if it is damaged or too large.
#[must_use]
pub fn decompressed(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader = lzma_rust2::XzReader::new_mem_limit(data, false, MINI_MEMORY);
    reader.take(MAX_MINI + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_MINI).then_some(bytes)
}

/// Finds the file with what several debug files have in common (`.gnu_debugaltlink`, made by dwz).
pub(crate) fn common<'d, R: ReadRef<'d>>(file: &File<'d, R>, debug: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let (name, id) = file.gnu_debugaltlink().ok()??;
    let (name, id) = (Path::new(OsStr::from_bytes(name)), build_id::hexadecimal(id));
    // The link of a debug file in /usr/lib/debug/.build-id/ab is relative to that folder, or absolute.
    let linked = [debug.parent().map(|folder| folder.join(name))].into_iter().flatten();
    let last = name.file_name();
    let moved = folders.iter().filter_map(|folder| Some(folder.join(".dwz").join(last?)));
    let places = linked.chain(moved).find(|path| path.is_file() && id_of(path).as_ref() == Some(&id));
    places.or_else(|| by_id(&id, folders))
}
