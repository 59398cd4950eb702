//! Unpacks traces (gzip, zstd, zip and tar, also nested) into temporary files.

use super::archive::{tar, zip};
use super::{head, unknown};
use crate::EngineError;
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;
use tempfile::TempDir;

/// The maximum nesting of packed formats.
const MAX_LAYERS: usize = 4;
/// Files that unpack to more than this, and to more than [`MAX_RATIO`] times their size, are refused: traces compress by a factor
/// of 5 to 30.
const LARGE: u64 = 1 << 30;
const MAX_RATIO: u64 = 200;
pub(super) enum Unpacked {
    File(File),
    Folder(TempDir),
}

/// Unpacks a file until an importer recognises its content.
pub(super) fn unpack(path: &Path, mut file: File) -> Result<Unpacked, EngineError> {
    for _ in 0..MAX_LAYERS {
        let head = head(&file, path)?;
        if import::detect(&head).is_some() {
            return Ok(Unpacked::File(file));
        }
        let bad = |e: std::io::Error| EngineError::Damaged(format!("{}: {e}", path.display()));
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
    Err(EngineError::NotOpened(format!("{}: packed more than {MAX_LAYERS} times", path.display())))
}

/// Whether a file is packed, also in a way that is not read.
pub(super) fn is_packed(head: &[u8]) -> bool {
    const STARTS: [&[u8]; 5] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd], b"PK\x03\x04", b"\xfd7zXZ", b"BZh"];
    STARTS.iter().any(|start| head.starts_with(start)) || head.get(257..262) == Some(b"ustar")
}

fn by_hand(path: &Path, packer: &str, command: &str) -> EngineError {
    let path = path.display();
    EngineError::NotOpened(format!(
        "{path}: packed with {packer}, which corewise does not read: run `{command} {path}` first"
    ))
}

/// Counts the bytes read of a packed file, to compare with the unpacked size.
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
        let count = self.file.read(into)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

/// Limits the unpacked size of a file.
pub(super) struct Bound<'a> {
    path: &'a Path,
    written: u64,
}

impl<'a> Bound<'a> {
    pub(super) fn of(path: &'a Path) -> Self {
        Self { path, written: 0 }
    }

    fn more(&mut self, bytes: usize, packed: u64) -> Result<(), EngineError> {
        self.written += bytes as u64;
        if self.written > LARGE && self.written / MAX_RATIO > packed {
            return Err(EngineError::NotOpened(format!(
                "{}: unpacks to more than {MAX_RATIO} times its size ({} GiB so far): this is not expected of a trace. If it is one, unpack it yourself",
                self.path.display(),
                self.written >> 30
            )));
        }
        Ok(())
    }
}

/// Copies all bytes of a reader to a temporary file.
pub(super) fn copied(path: &Path, from: &mut dyn Read, packed: &Cell<u64>) -> Result<File, EngineError> {
    let mut to = tempfile::tempfile().map_err(EngineError::temporary)?;
    copy(path, from, &mut to, &|| packed.get(), &mut Bound::of(path))?;
    to.seek(SeekFrom::Start(0)).map_err(EngineError::temporary)?;
    Ok(to)
}

pub(super) fn copy(
    path: &Path,
    from: &mut dyn Read,
    to: &mut File,
    packed: &dyn Fn() -> u64,
    bound: &mut Bound<'_>,
) -> Result<(), EngineError> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => {
                let (path, good) = (path.display(), bound.written);
                let advice = "to read the part before that, unpack it yourself";
                return Err(EngineError::Damaged(format!(
                    "{path}: damaged after byte {good} of its unpacked content ({e}); {advice}"
                )));
            }
        };
        bound.more(count, packed())?;
        to.write_all(&buffer[..count]).map_err(EngineError::temporary)?;
    }
}
