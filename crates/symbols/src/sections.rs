//! Sections of ELF files, decompressed, within a limit.

use crate::NoLines;
use object::read::{CompressionFormat, ReadRef};
use object::{File, Object, ObjectSection};
use std::borrow::Cow;
use std::io::Read;

/// How many bytes may still be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(pub(crate) u64);

impl Budget {
    /// The debug information of one file: its bytes lie in memory while it is read.
    pub(crate) const OF_LINES: Self = Self(2 << 30);

    fn take(&mut self, bytes: u64) -> Result<(), NoLines> {
        self.0 = self.0.checked_sub(bytes).ok_or(NoLines::TooLarge)?;
        Ok(())
    }
}

/// Returns the content of a section; empty if there is none.
pub(crate) fn content<'d, R: ReadRef<'d>>(
    file: &File<'d, R>,
    name: &str,
    budget: &mut Budget,
) -> Result<Cow<'d, [u8]>, NoLines> {
    let Some(section) = file.section_by_name(name) else { return Ok(Cow::Borrowed(&[])) };
    let range = section.compressed_file_range().map_err(|_| NoLines::Unreadable)?;
    // The bytes in the file remain in the cache of the file's reader.
    budget.take(range.compressed_size)?;
    let data = section.compressed_data().map_err(|_| NoLines::Unreadable)?;
    let size = data.uncompressed_size;
    let reader: Box<dyn Read> = match data.format {
        CompressionFormat::None => return Ok(Cow::Borrowed(data.data)),
        CompressionFormat::Zlib => Box::new(flate2::read::ZlibDecoder::new(data.data)),
        CompressionFormat::Zstandard => {
            Box::new(zstd::stream::read::Decoder::with_buffer(data.data).map_err(|_| NoLines::Unreadable)?)
        }
        _ => return Err(NoLines::Unreadable),
    };
    budget.take(size)?;
    all(reader, size).map(Cow::Owned).ok_or(NoLines::Unreadable)
}

/// Reads a stream of a known size; `None` if it has another one.
fn all(reader: impl Read, size: u64) -> Option<Vec<u8>> {
    // Grows with what is read: a header may claim any size.
    let mut bytes = Vec::new();
    reader.take(size.checked_add(1)?).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}
