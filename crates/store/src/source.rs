//! What a trace is known by.

use sha2::{Digest, Sha256};
use std::io::Read;

/// The sha256 and length of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceId {
    /// In hexadecimal.
    pub sha256: String,
    /// How long the source is.
    pub bytes: i64,
}

/// So much is read at once: it stays in the cache until it is part of the checksum.
const READ: usize = 1 << 18;

/// A source's checksum while the source is read: 1 to 2 GB/s where the processor has SHA instructions, so a large file is worth a
/// thread of its own beside the import.
#[derive(Default)]
pub struct Checksum {
    hash: Sha256,
    bytes: i64,
    buffer: Vec<u8>,
}

impl Checksum {
    /// Reads on from where the last call stopped: to the end (then it says so), or for as long as it is to go on.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn read(&mut self, from: &mut dyn Read, go_on: impl Fn() -> bool) -> std::io::Result<bool> {
        self.buffer.resize(READ, 0);
        while go_on() {
            match from.read(&mut self.buffer) {
                Ok(0) => return Ok(true),
                Ok(n) => {
                    self.hash.update(&self.buffer[..n]);
                    self.bytes += n as i64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(false)
    }

    /// Of all that was read.
    #[must_use]
    pub fn finish(self) -> SourceId {
        SourceId { sha256: hex(&self.hash.finalize()), bytes: self.bytes }
    }
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
        let mut checksum = Checksum::default();
        assert!(checksum.read(&mut &b"abc"[..], || true).unwrap());
        let id = checksum.finish();
        assert_eq!(id.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(id.bytes, 3);
        assert_eq!(trace_id_of_sources(std::slice::from_ref(&id)), 0xba78_16bf_8f01_cfeau64.cast_signed());
        assert_ne!(trace_id_of_sources(&[id.clone(), id.clone()]), trace_id_of_sources(&[id]));
        assert_ne!(trace_id_of_recording("a", 1), trace_id_of_recording("a", 2));
    }

    #[test]
    fn a_checksum_that_was_interrupted_goes_on() {
        let bytes: Vec<u8> = (0..3 * READ + 5).map(|n| (n % 251) as u8).collect();
        let (mut at_once, mut in_parts) = (Checksum::default(), Checksum::default());
        assert!(at_once.read(&mut &bytes[..], || true).unwrap());
        let (mut rest, mut parts) = (&bytes[..], 0);
        loop {
            let asked = std::cell::Cell::new(0);
            let twice = || asked.replace(asked.get() + 1) < 2;
            if in_parts.read(&mut rest, twice).unwrap() {
                break;
            }
            parts += 1;
        }
        assert_eq!((in_parts.finish(), parts), (at_once.finish(), 2));
    }
}
