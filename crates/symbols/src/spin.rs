//! Code that only waits: loops around a spin-wait hint of the processor.
//!
//! The hint is `pause` on x86 (Intel SDM, volume 2B), and `yield`, `isb` or `wfe` on Arm (Arm ARM, chapter C6). Programs use it in loops
//! that wait for another thread, and in no others. The hint takes most of the time of such a loop, so samples hit it or the next instruction.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How far a sampled instruction may be from the hint, in bytes: the loop also looks at what it waits for, and counts.
const NEAR: u64 = 24;

/// The machine in the header of an ELF file (`e_machine`, elf(5)), and the encodings of its hints.
const HINTS: [(u16, &[&[u8]]); 3] = [
    (3, &[&[0xf3, 0x90]]),
    (62, &[&[0xf3, 0x90]]),
    (183, &[&[0x3f, 0x20, 0x03, 0xd5], &[0xdf, 0x3f, 0x03, 0xd5], &[0x5f, 0x20, 0x03, 0xd5]]),
];

/// Returns whether each of these places of an ELF file (file offsets) is in code that only waits; `false` where the code cannot be read.
pub(crate) fn waits(path: &Path, offsets: &[u64]) -> Vec<bool> {
    let Ok(file) = File::open(path) else { return vec![false; offsets.len()] };
    let mut header = [0; 20];
    let machine = match file.read_exact_at(&mut header, 0) {
        Ok(()) if header.starts_with(b"\x7fELF") => u16::from_le_bytes([header[18], header[19]]),
        _ => 0,
    };
    let Some((_, hints)) = HINTS.iter().find(|(of, _)| *of == machine) else { return vec![false; offsets.len()] };
    offsets.iter().map(|offset| is_near(&file, *offset, hints).unwrap_or(false)).collect()
}

/// Whether one of the hints is near a place.
fn is_near(file: &File, offset: u64, hints: &[&[u8]]) -> std::io::Result<bool> {
    let mut code = [0; 2 * NEAR as usize];
    let from = offset.saturating_sub(NEAR);
    let mut read = 0;
    while read < code.len() {
        match file.read_at(&mut code[read..], from.saturating_add(read as u64))? {
            0 => break,
            more => read += more,
        }
    }
    Ok(hints.iter().any(|hint| code[..read].windows(hint.len()).any(|bytes| bytes == *hint)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An ELF header of a machine, and code with a hint at 4096.
    fn program(machine: u16, hint: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
        bytes.extend(machine.to_le_bytes());
        bytes.resize(4096, 0x90);
        bytes.extend(hint);
        bytes.resize(8192, 0x90);
        bytes
    }

    #[test]
    fn places_near_a_hint_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let of = |bytes: &[u8], offsets: &[u64]| {
            std::fs::write(&path, bytes).unwrap();
            waits(&path, offsets)
        };
        let places = [4098, 4096 + NEAR, 4097 + NEAR, 4098 - NEAR, 4097 - NEAR, 0, 8191, u64::MAX];
        let expected = [true, true, false, true, false, false, false, false];
        assert_eq!(of(&program(62, &[0xf3, 0x90]), &places), expected);
        assert_eq!(of(&program(183, &[0x3f, 0x20, 0x03, 0xd5]), &[4100, 4500]), [true, false]);
        assert_eq!(of(&program(183, &[0xf3, 0x90]), &[4098]), [false], "another machine's hint");
        assert_eq!(of(b"#!/bin/sh\n", &[4]), [false]);
        assert_eq!(waits(&folder.path().join("nowhere"), &[0]), [false]);
    }
}
