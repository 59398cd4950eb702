//! What version 7 packs with zstd or zlib.

use flate2::{Decompress, FlushDecompress, Status};
use ingest::Fatal;
use zstd::bulk::Decompressor;

/// How a file's sections are packed.
pub(super) enum Codec {
    /// Not at all.
    Plain,
    Zstd(Decompressor<'static>),
    Zlib(Decompress),
}

impl Codec {
    /// By the name in the file's head.
    pub(super) fn of_name(name: &[u8], at: u64) -> Result<Self, Fatal> {
        match name {
            b"none" | b"" => Ok(Self::Plain),
            b"zstd" => {
                let unpack = Decompressor::new().map_err(|e| Fatal::new(format!("cannot unpack zstd: {e}"), at))?;
                Ok(Self::Zstd(unpack))
            }
            b"zlib" => Ok(Self::Zlib(Decompress::new(true))),
            other => {
                let name = String::from_utf8_lossy(other).into_owned();
                let what = format!("packed with \"{name}\": unpack it with `trace-cmd convert --compression none`");
                Err(Fatal::new(what, at))
            }
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Unpacks into `out` (emptied first) what must be `size` bytes; says whether it was.
    pub(super) fn unpack(&mut self, packed: &[u8], out: &mut Vec<u8>, size: usize) -> bool {
        out.clear();
        out.reserve_exact(size);
        match self {
            Self::Plain => false,
            Self::Zstd(unpack) => unpack.decompress_to_buffer(packed, out).is_ok() && out.len() == size,
            Self::Zlib(unpack) => {
                unpack.reset(true);
                let done = unpack.decompress_vec(packed, out, FlushDecompress::Finish);
                matches!(done, Ok(Status::StreamEnd)) && out.len() == size
            }
        }
    }
}
