//! Heap settings for commands that pass large buffers between threads.

/// Makes all threads allocate from one heap that keeps freed memory. By default, glibc has a heap per thread, maps and unmaps buffers of
/// 128 kB and more one by one, and no thread can use what another one freed; a quarter of an import's page faults come from that.
/// Call it before threads start. Settings that glibc refuses stay unchanged; other C libraries are not affected.
pub fn share_and_keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20); // the maximum that glibc accepts
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 2 << 20);
    }
}
