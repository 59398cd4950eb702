//! Reads perf's clock (`sched_clock`). No system call returns it, but the kernel stamps perf records with it, so the recorder creates a
//! record: it maps a page of data, which has no other effect.

use crate::mapped::page;
use crate::perf_events::{Attr, FLAG_SAMPLE_ID_ALL, SAMPLE_TIME};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;
const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
const FLAG_EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const FLAG_MMAP_DATA: u64 = 1 << 17;
/// Offsets of the counters of written and read bytes in the control page (`struct perf_event_mmap_page`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// Reads perf's clock in the thread that opened it.
pub struct PerfClock {
    _fd: OwnedFd,
    control: *mut u8,
}

impl PerfClock {
    /// Needs no capabilities if users may count their own threads; `None` if they may not.
    pub fn open() -> Option<Self> {
        let attr = Attr {
            kind: SOFTWARE,
            size: u32::try_from(size_of::<Attr>()).ok()?,
            config: DUMMY,
            sample_type: SAMPLE_TIME,
            flags: FLAG_MMAP_DATA | FLAG_SAMPLE_ID_ALL | FLAG_EXCLUDE_KERNEL | FLAG_EXCLUDE_HYPERVISOR,
            ..Attr::default()
        };
        let cloexec = 8u64;
        // SAFETY: the attributes are as long as they say.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, 0, -1, -1, cloexec) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: fresh and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page(), rights, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        (at != libc::MAP_FAILED).then(|| Self { _fd: fd, control: at.cast() })
    }

    /// Returns the current time of the clock, ns.
    pub fn read(&mut self) -> Option<u64> {
        // SAFETY: both counters lie aligned in the control page, which is mapped until this is dropped.
        let (head, tail) =
            unsafe { (&*self.control.add(HEAD).cast::<AtomicU64>(), &*self.control.add(TAIL).cast::<AtomicU64>()) };
        tail.store(head.load(Ordering::Acquire), Ordering::Release);
        let (private, anonymous) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1);
        // SAFETY: a fresh page, unmapped immediately.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), page(), libc::PROT_READ, private, anonymous, 0);
            if at != libc::MAP_FAILED {
                libc::munmap(at, page());
            }
        }
        let end = head.load(Ordering::Acquire);
        // The record ends with its time stamp: no other sample data was requested.
        let from = end.checked_sub(8).filter(|from| *from >= tail.load(Ordering::Relaxed))?;
        let mut bytes = [0; 8];
        for (n, byte) in bytes.iter_mut().enumerate() {
            let place = (from as usize + n) % page();
            // SAFETY: inside the one page of data after the control page.
            *byte = unsafe { *self.control.add(page() + place) };
        }
        Some(u64::from_ne_bytes(bytes))
    }
}

impl Drop for PerfClock {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.control.cast(), 2 * page()) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    /// Between two readings it advances by at least what was slept, and at most by what passed around them. The rates of the two clocks
    /// differ by less than 1 %.
    #[test]
    #[ignore = "needs perf events"]
    fn it_advances_like_the_monotonic_clock() {
        let mut clock = super::PerfClock::open().unwrap();
        let (before, first) = (crate::samples::now(), clock.read().unwrap());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (second, after) = (clock.read().unwrap(), crate::samples::now());
        let (passed, max) = (second - first, after - before);
        assert!(passed >= 19_800_000 && passed <= max / 100 * 101 + 1_000, "{passed} ns of {max}");
    }
}
