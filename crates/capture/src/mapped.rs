//! Memory of a BPF map, mapped into this process.

use std::io::{Error, Result};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A mapping of a map's memory.
pub struct Mapped {
    at: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to the value, and its words are accessed atomically.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps `len` bytes of a map at an offset.
    ///
    /// # Errors
    /// If mmap fails.
    pub fn new(fd: RawFd, offset: usize, len: usize, write: bool) -> Result<Self> {
        let rights = libc::PROT_READ | if write { libc::PROT_WRITE } else { 0 };
        let offset = i64::try_from(offset).map_err(|_| Error::from(std::io::ErrorKind::InvalidInput))?;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, libc::MAP_SHARED, fd, offset) };
        if at == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(Self { at: at.cast(), len }) }
    }

    /// Returns a word of 8 bytes. Panics if it is not aligned or outside: a defect of the caller.
    #[must_use]
    pub fn u64_at(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len);
        // SAFETY: inside the mapping, which is valid as long as self; shared with the kernel, hence atomic.
        unsafe { &*self.at.add(at).cast::<AtomicU64>() }
    }

    /// Returns a word of 4 bytes. Panics if it is not aligned or outside: a defect of the caller.
    #[must_use]
    pub fn u32_at(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len);
        // SAFETY: as above.
        unsafe { &*self.at.add(at).cast::<AtomicU32>() }
    }

    /// Returns the number of bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.at
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no longer used.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Returns the page size, bytes.
#[must_use]
pub fn page() -> usize {
    // SAFETY: no memory is involved.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
