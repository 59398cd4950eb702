//! Handlers of the signals with which a user stops a recording.

/// A function that the kernel calls with a signal, what is known about it, and a context.
pub type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Handles SIGINT and SIGTERM until it is dropped. A signal ends a `poll` that waits.
pub struct StopHandlers {
    before: [(i32, libc::sigaction); 2],
}

impl StopHandlers {
    /// Starts to handle them. `handler` does only what signal handlers may do.
    #[must_use]
    pub fn install(handler: Handler) -> Self {
        let before = [libc::SIGINT, libc::SIGTERM].map(|signal| {
            // SAFETY: all-zero is a valid sigaction, and both are ours.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = handler as *const () as usize;
                // Without SA_RESTART.
                new.sa_flags = libc::SA_SIGINFO;
                libc::sigaction(signal, &raw const new, &raw mut old);
                (signal, old)
            }
        });
        Self { before }
    }
}

impl Drop for StopHandlers {
    fn drop(&mut self) {
        for (signal, old) in &self.before {
            // SAFETY: puts back what was there.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
    }
}
