//! The compression of version 7: zstd or zlib.

use flate2::{Decompress, FlushDecompress, Status};
use ingest::Fatal;
use zstd::bulk::Decompressor;

/// The compression of a file's sections.
pub(super) enum Codec {
    /// Not compressed.
    Plain,
    Zstd(Decompressor<'static>),
    Zlib(Decompress),
}

impl Codec {
    /// Returns the codec with the name in the file's head.
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
                let what = format!(
                    "the file is packed with \"{name}\", which is not supported: \
                     unpack it with `trace-cmd convert --compression none`"
                );
                Err(Fatal::new(what, at))
            }
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Unpacks into `out`, which is cleared first. Returns whether the result has `size` bytes.
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
