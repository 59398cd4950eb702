//! The heap of a command that hands large buffers from thread to thread.

/// From now on, all threads allocate from one heap, which keeps what it has. Otherwise glibc has a heap for each thread, maps buffers of
/// 128 kB and more one by one and hands them back, and what one thread frees no other can use: of an import's pages, a quarter are
/// made for that. To be called before threads start; what is refused stays as it was, and other C libraries are left alone.
pub fn share_and_keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: numbers only.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20); // the most that glibc takes
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 2 << 20);
    }
}
