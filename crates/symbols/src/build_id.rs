//! GNU build ids: the hash with which a linker identifies a program.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The maximum size of notes.
const MAX_NOTES_SIZE: u64 = 64 << 10;

/// Reads a number in this machine's byte order.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut value = [0; 8];
    let from = bytes.get(at..at.checked_add(size)?)?;
    if cfg!(target_endian = "little") {
        value[..size].copy_from_slice(from);
    } else {
        value[8 - size..].copy_from_slice(from);
    }
    Some(u64::from_ne_bytes(value))
}

/// Returns the build id in the notes of an ELF file, in hexadecimal.
#[must_use]
pub fn of_file(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut head = [0; 64];
    file.read_exact(&mut head).ok()?;
    let native = if cfg!(target_endian = "little") { 1 } else { 2 };
    if head[..4] != *b"\x7fELF" || head[5] != native {
        return None;
    }
    let wide = head[4] == 2;
    let word = if wide { 8 } else { 4 };
    let table = number(&head, if wide { 32 } else { 28 }, word)?;
    let size = number(&head, if wide { 54 } else { 42 }, 2)? as usize;
    let count = number(&head, if wide { 56 } else { 44 }, 2)? as usize;
    if !(32..=256).contains(&size) || count > 256 {
        return None;
    }
    let mut headers = vec![0; size * count];
    file.seek(SeekFrom::Start(table)).ok()?;
    file.read_exact(&mut headers).ok()?;
    for header in headers.chunks_exact(size) {
        if number(header, 0, 4)? != 4 {
            continue; // not PT_NOTE
        }
        let at = number(header, if wide { 8 } else { 4 }, word)?;
        let length = number(header, if wide { 32 } else { 16 }, word)?.min(MAX_NOTES_SIZE) as usize;
        let mut notes = vec![0; length];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut notes).ok()?;
        if let Some(id) = of_notes(&notes) {
            return Some(id);
        }
    }
    None
}

/// Returns the build id of a program, a library or a debug file, whose notes may have another place than its headers say.
#[must_use]
pub fn of_any(path: &Path) -> Option<String> {
    of_file(path).or_else(|| crate::debug_files::id_of(path))
}

/// Returns the build id in ELF notes (those of a running kernel: `/sys/kernel/notes`), in hexadecimal.
#[must_use]
pub fn of_notes(mut rest: &[u8]) -> Option<String> {
    while rest.len() >= 12 {
        let (name, text) = (number(rest, 0, 4)? as usize, number(rest, 4, 4)? as usize);
        let kind = number(rest, 8, 4)?;
        let text_at = 12 + name.checked_next_multiple_of(4)?;
        let id = rest.get(text_at..text_at.checked_add(text)?)?;
        if kind == 3 && rest.get(12..16) == Some(b"GNU\0") {
            return Some(hexadecimal(id));
        }
        rest = rest.get(text_at + text.checked_next_multiple_of(4)?..)?;
    }
    None
}

/// Formats a build id.
#[must_use]
pub fn hexadecimal(id: &[u8]) -> String {
    id.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_have_no_build_id() {
        assert_eq!(of_file(Path::new("/proc/self/status")), None);
        assert_eq!(of_file(Path::new("/nowhere")), None);
    }

    #[test]
    fn the_build_id_is_found_after_other_notes() {
        let note = |kind: u32, name: &[u8; 4], text: &[u8]| {
            let sizes = [4, text.len() as u32, kind].map(u32::to_ne_bytes).concat();
            [&sizes[..], name, text].concat()
        };
        let all = [note(6, b"Linu", &[9; 4]), note(3, b"GNU\0", &[0xab, 0, 1, 2])].concat();
        assert_eq!(of_notes(&all).as_deref(), Some("ab000102"));
        assert_eq!(of_notes(&all[..all.len() - 1]), None);
        assert_eq!(of_notes(&[0xff; 40]), None);
    }
}
