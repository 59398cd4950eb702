//! The frames of a segment: `length | checksum | payload`, so that truncated and damaged data is detected.

use std::io::Read;

/// First bytes of a segment.
pub const MAGIC: [u8; 8] = *b"CWSPOOL\n";
/// Version of the segments' format.
pub const VERSION: u32 = 4;
/// Shows the byte order.
pub const ORDER: u32 = 0x0102_0304;
/// Bytes of a segment's header: magic, version, byte order, number, start time.
pub const HEADER: usize = 32;
/// Bytes before a frame's payload.
pub const FRAME_HEAD: usize = 8;
/// Maximum length of a payload; a longer one means a damaged length.
pub const PAYLOAD_MAX: usize = 1 << 20;

// The kinds of payload that the recorder itself writes, in addition to the kernel side's three.

/// A snapshot begins: [`OPENING`] or [`CLOSING`].
pub const SNAP_BEGIN: u8 = 10;
/// A snapshot is complete: `at`.
pub const SNAP_DONE: u8 = 11;
/// Everything before `at` has been written.
pub const MARK: u8 = 12;
/// The recording ended at `at`; then, per CPU, the losses that no block reported.
pub const END: u8 = 13;
/// Steal time per CPU.
pub const STEAL: u8 = 14;
/// Readings of the clocks.
pub const CLOCK: u8 = 15;
/// A cgroup's path.
pub const CGROUP_PATH: u8 = 16;
/// An interrupt's name.
pub const IRQ_NAME: u8 = 17;
/// Lost events that no CPU's buffer accounts for: from, to, number (all ones: unknown), and the CPU if it is of one CPU.
pub const LOSS: u8 = 18;
/// A mark's number and name, and whether it has an end.
pub const MARK_NAME: u8 = 19;
/// The number and the name of an event that is counted.
pub const COUNTER_NAME: u8 = 24;
/// A source of energy: `at`, its number, what is known of it.
pub const ENERGY_DOMAIN: u8 = 25;
/// What a domain used between two readings.
pub const ENERGY: u8 = 26;
/// The number and the name of a sensor of temperature.
pub const TEMPERATURE_ZONE: u8 = 27;
/// A reading of a sensor of temperature.
pub const TEMPERATURE: u8 = 28;
/// A callchain: address space, process, number, how it ended, then the addresses.
pub const STACK: u8 = 30;

/// From `at` on, the beginning and end of throttling by a CPU quota is recorded for every thread.
pub const THROTTLES: u8 = 20;
/// The settings of a cgroup's CPU controller.
pub const CGROUP_LIMITS: u8 = 21;
/// The kernel's statistics of cgroups' quotas.
pub const CGROUP_STAT: u8 = 22;

/// Which CPUs are parked: `at`, then each CPU's number and a byte. From here on every change is recorded.
pub const PARKING: u8 = 23;

/// The opening snapshot of a segment ([`SNAP_BEGIN`]).
pub const OPENING: u8 = 0;
/// The closing snapshot of a recording.
pub const CLOSING: u8 = 1;

/// Returns a fast checksum, which does not protect against deliberate changes.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = (bytes.len() as u64).wrapping_mul(K) ^ 0x5bd1_e995;
    let (words, rest) = bytes.as_chunks::<8>();
    for w in words {
        h = (h ^ u64::from_ne_bytes(*w)).wrapping_mul(K).rotate_left(29);
    }
    for b in rest {
        h = (h ^ u64::from(*b)).wrapping_mul(K).rotate_left(29);
    }
    (h ^ (h >> 32)) as u32
}

/// Appends a frame with the concatenated `parts` as payload.
pub fn push(buffer: &mut Vec<u8>, parts: &[&[u8]]) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; FRAME_HEAD]);
    for part in parts {
        buffer.extend_from_slice(part);
    }
    let (head, payload) = buffer[start..].split_at_mut(FRAME_HEAD);
    head[..4].copy_from_slice(&(payload.len() as u32).to_ne_bytes());
    head[4..].copy_from_slice(&checksum(payload).to_ne_bytes());
}

/// Returns a segment's header.
#[must_use]
pub fn header(number: u64, at: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_ne_bytes());
    bytes[12..16].copy_from_slice(&ORDER.to_ne_bytes());
    bytes[16..24].copy_from_slice(&number.to_ne_bytes());
    bytes[24..].copy_from_slice(&at.to_ne_bytes());
    bytes
}

/// Why a segment has no more frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It ends at the end of a frame.
    Whole,
    /// It ends in the middle of a frame.
    Torn,
    /// A frame's checksum or length is wrong.
    Damaged,
}

/// Reads frames from a segment.
pub struct Frames<R> {
    from: R,
    /// Byte offset of the next frame.
    pub offset: u64,
}

impl<R: Read> Frames<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// A sentence, if this is not a segment of this version.
    pub fn open(mut from: R) -> Result<Self, &'static str> {
        let mut head = [0; HEADER];
        let length = fill(&mut from, &mut head).unwrap_or_default();
        if length < HEADER {
            return Err("a segment of the spool ends before its first event");
        }
        if head[..8] != MAGIC {
            return Err("a segment file is not from a corewise spool");
        }
        if head[12..16] != ORDER.to_ne_bytes() {
            return Err("a segment of the spool was written on a machine with the other byte order");
        }
        if head[8..12] != VERSION.to_ne_bytes() {
            return Err("a segment of the spool was written by another version of corewise");
        }
        Ok(Self { from, offset: HEADER as u64 })
    }

    /// Reads the next payload into `payload`.
    ///
    /// # Errors
    /// Why there is no next frame.
    pub fn next(&mut self, payload: &mut Vec<u8>) -> Result<(), Stop> {
        let mut head = [0; FRAME_HEAD];
        match fill(&mut self.from, &mut head) {
            Ok(0) => return Err(Stop::Whole),
            Ok(FRAME_HEAD) => {}
            Ok(_) => return Err(Stop::Torn),
            Err(_) => return Err(Stop::Damaged),
        }
        let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = word(0) as usize;
        if length == 0 || length > PAYLOAD_MAX {
            return Err(Stop::Damaged);
        }
        payload.resize(length, 0);
        match fill(&mut self.from, payload) {
            Ok(n) if n == length => {}
            Ok(_) => return Err(Stop::Torn),
            Err(_) => return Err(Stop::Damaged),
        }
        if checksum(payload) != word(4) {
            return Err(Stop::Damaged);
        }
        self.offset += (FRAME_HEAD + length) as u64;
        Ok(())
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes read.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn segment() -> Vec<u8> {
        let mut bytes = header(3, 7).to_vec();
        push(&mut bytes, &[&[MARK], &[1, 2, 3]]);
        push(&mut bytes, &[&[END], &[9; 100]]);
        bytes
    }

    fn read(bytes: &[u8]) -> (usize, Option<Stop>) {
        let Ok(mut frames) = Frames::open(bytes) else { return (0, None) };
        let (mut n, mut payload) = (0, Vec::new());
        loop {
            match frames.next(&mut payload) {
                Ok(()) => n += 1,
                Err(stop) => return (n, Some(stop)),
            }
        }
    }

    #[test]
    fn round_trip() {
        let bytes = segment();
        let mut frames = Frames::open(&bytes[..]).unwrap();
        let mut payload = Vec::new();
        frames.next(&mut payload).unwrap();
        assert_eq!(payload, [MARK, 1, 2, 3]);
        frames.next(&mut payload).unwrap();
        assert_eq!(payload.len(), 101);
        assert_eq!(frames.next(&mut payload), Err(Stop::Whole));
        assert_eq!(frames.offset as usize, bytes.len());
    }

    #[test]
    fn cut_at_any_byte() {
        let bytes = segment();
        let first = HEADER + FRAME_HEAD + 4;
        for end in 0..bytes.len() {
            let (n, stop) = read(&bytes[..end]);
            assert_eq!(n, usize::from(end >= first));
            if end > HEADER && end != first {
                assert_eq!(stop, Some(Stop::Torn));
            }
        }
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let bytes = segment();
        for bit in HEADER * 8..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let (n, stop) = read(&bad);
            assert!(n < 2 && matches!(stop, Some(Stop::Torn | Stop::Damaged)), "bit {bit}");
        }
    }
}
