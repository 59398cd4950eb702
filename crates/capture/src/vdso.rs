//! The code that the kernel maps into every process (vdso(7)), which is in no file: the recorder has the same.

use crate::mappings;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use symbols::Function;

/// Its name among the mappings of a process.
pub const NAME: &str = "[vdso]";
/// The largest image that is read; it has two pages.
const MAX_SIZE: u64 = 1 << 20;
/// It has no debug information, so that this never matters.
const READ_FOR: Duration = Duration::from_secs(1);

/// Whether an address can be in that of a 64-bit program: those of 32 bits have another one.
pub fn is_ours(address: u64) -> bool {
    address > u64::from(u32::MAX)
}

/// Returns the functions at some offsets; nothing, if it cannot be read.
pub fn functions(offsets: &[u64]) -> Vec<Vec<Function>> {
    let image = image().unwrap_or_default();
    let named = symbols::functions::of_image(&image, offsets, Instant::now() + READ_FOR);
    named.map_or_else(|| vec![Vec::new(); offsets.len()], |named| named.functions)
}

/// Reads the image; `None` if it cannot be read.
pub fn image() -> Option<Vec<u8>> {
    let own = mappings::of_process(std::process::id().cast_signed())?;
    let mapping = own.iter().find(|mapping| mapping.name == NAME)?;
    let size = mapping.to.checked_sub(mapping.from).filter(|size| *size <= MAX_SIZE)?;
    let mut image = vec![0; usize::try_from(size).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut image, mapping.from).ok()?;
    Some(image)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn its_functions_have_names() {
        let size = image().unwrap().len() as u64;
        let offsets: Vec<u64> = (0..size).step_by(16).collect();
        let found = functions(&offsets);
        let names: Vec<&str> = found.iter().filter_map(|of| of.last()?.name.as_deref()).collect();
        assert!(names.iter().any(|name| name.contains("clock_gettime")), "{names:?}");
        assert_eq!(functions(&[u64::MAX]), [Vec::new()]);
    }
}
