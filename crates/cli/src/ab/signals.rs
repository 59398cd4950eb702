//! Ctrl-C while commands run: the running command ends, and what was recorded is kept.

use capture::StopHandlers;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of signals that arrived.
static ARRIVED: AtomicU32 = AtomicU32::new(0);
/// The number of signals that another process sent, so that the running command did not get them.
static SENT: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_signal(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    ARRIVED.fetch_add(1, Ordering::Relaxed);
    // The terminal (the kernel) sends the signal to every process of the foreground group; `kill` sends it only to this one.
    // SAFETY: the kernel passes a valid siginfo.
    if !info.is_null() && unsafe { (*info).si_code } <= 0 {
        SENT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Handles SIGINT and SIGTERM until it is dropped.
pub struct Signals {
    _handlers: StopHandlers,
}

impl Signals {
    /// Starts to handle them.
    pub fn take() -> Self {
        Self { _handlers: StopHandlers::install(on_signal) }
    }

    /// Whether the user wants to stop.
    pub fn stop() -> bool {
        ARRIVED.load(Ordering::Relaxed) > 0
    }

    /// Returns how many signals the running command must still get.
    pub fn take_sent() -> u32 {
        SENT.swap(0, Ordering::Relaxed)
    }
}
