//! Waits for a child process without using CPU time meanwhile.

use super::signals::Signals;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// How long one wait takes at most: signals that arrive just before it are passed on after it.
const WAIT: Duration = Duration::from_secs(1);

/// Waits until a child ends. Calls `tick` each second. A signal that only this process got is passed on.
///
/// # Errors
/// The error of the system.
pub fn wait(child: &mut Child, mut tick: impl FnMut()) -> Result<ExitStatus> {
    let pid = child.id().cast_signed();
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(Error::last_os_error)?;
    // SAFETY: fresh and ours.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    loop {
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, WAIT.as_millis() as i32) };
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for _ in 0..Signals::take_sent() {
            // The recorder passes it on to its command.
            // SAFETY: no memory is involved; the child was not waited for, so its PID is not reused.
            unsafe { libc::kill(pid, libc::SIGINT) };
        }
        if ready == 0 {
            tick();
        }
    }
}

/// Waits for a time, or until a signal arrives.
pub fn pause(time: Duration) {
    let ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: no descriptors.
    unsafe { libc::poll(std::ptr::null_mut(), 0, ms) };
}

/// Returns the exit code as a shell does: 128 + the signal's number if a signal ended it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
