//! What a trace is known by.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The sha256 and length of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceId {
    /// In hexadecimal.
    pub sha256: String,
    /// How long the source is.
    pub bytes: i64,
}

/// Reads a file through and tells its sha256: 1 to 2 GB/s where the processor has SHA instructions, so a large file is
/// worth a thread of its own beside the import.
///
/// # Errors
/// Where it cannot be read.
pub fn source_id(path: &Path) -> Result<SourceId, Error> {
    let mut file = File::open(path).map_err(Error::io(path, "opening it"))?;
    source_id_of(&mut file).map_err(Error::io(path, "reading it"))
}

/// [`source_id`] of anything that can be read once.
///
/// # Errors
/// Where it cannot be read.
pub fn source_id_of(from: &mut dyn Read) -> std::io::Result<SourceId> {
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hash.update(&buffer[..n]);
        bytes += n as i64;
    }
    Ok(SourceId { sha256: hex(&hash.finalize()), bytes })
}

/// A folder's files as one source: the sha256 of their sha256s.
#[must_use]
pub fn source_id_of_files(files: &[SourceId]) -> SourceId {
    let mut hash = Sha256::new();
    files.iter().for_each(|f| hash.update(f.sha256.as_bytes()));
    SourceId { sha256: hex(&hash.finalize()), bytes: files.iter().map(|f| f.bytes).sum() }
}

/// The id of a trace made from these sources, in their order: the same files have the same id everywhere.
#[must_use]
pub fn trace_id_of_sources(sources: &[SourceId]) -> i64 {
    match sources {
        // Of one file, the beginning of its own sha256, so that it can be told with the tools at hand.
        [one] => first_bytes(&one.sha256),
        all => {
            let mut hash = Sha256::new();
            all.iter().for_each(|s| hash.update(s.sha256.as_bytes()));
            first_bytes(&hex(&hash.finalize()))
        }
    }
}

/// The id of a recording of corewise's own, which has no source file.
#[must_use]
pub fn trace_id_of_recording(boot_id: &str, start_ns: i64) -> i64 {
    let mut hash = Sha256::new();
    hash.update(boot_id.trim().as_bytes());
    hash.update([0]);
    hash.update(start_ns.to_be_bytes());
    first_bytes(&hex(&hash.finalize()))
}

/// The first 64 bits of a sha256, as a signed number.
fn first_bytes(sha256: &str) -> i64 {
    let digits = sha256.get(..16).unwrap_or_default();
    u64::from_str_radix(digits, 16).map_or(0, u64::cast_signed)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = |b: &u8| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]];
    bytes.iter().flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sha256_is_that_of_the_standard() {
        let id = source_id_of(&mut &b"abc"[..]).unwrap();
        assert_eq!(id.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(id.bytes, 3);
        assert_eq!(trace_id_of_sources(std::slice::from_ref(&id)), 0xba78_16bf_8f01_cfeau64.cast_signed());
        assert_ne!(trace_id_of_sources(&[id.clone(), id.clone()]), trace_id_of_sources(&[id]));
        assert_ne!(trace_id_of_recording("a", 1), trace_id_of_recording("a", 2));
    }
}
