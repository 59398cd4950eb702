//! The command that is measured: its output, its end, and the CPU time that it used.

use crate::ab::signals::Signals;
use crate::failure::Failure;
use capture::CaptureError;
use std::io::{Error, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// The maximum length of the output in which the units of work are looked for, bytes: the last ones.
const MAX_OUTPUT: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The exit code as a shell has it.
    pub code: i32,
    /// CPU time in user mode and in the kernel, s, with that of its children that it waited for.
    pub cpu_s: [f64; 2],
}

/// A running command.
pub struct Child {
    pid: i32,
    fd: OwnedFd,
    output: Option<JoinHandle<Vec<u8>>>,
}

impl Child {
    /// Starts a command. `keep`: its standard output is kept as well as passed on. `to_stderr`: it is passed on to standard error.
    ///
    /// # Errors
    /// The command cannot be run.
    pub fn start(command: &[String], keep: bool, to_stderr: bool) -> Result<Self, Failure> {
        let (name, arguments) = command.split_first().ok_or_else(|| Failure::usage("no command was given"))?;
        let cannot = |why: Error| Failure::from(CaptureError::Command { command: name.clone(), why });
        let mut child = Command::new(name);
        child.args(arguments);
        if keep {
            child.stdout(Stdio::piped());
        } else if to_stderr {
            child.stdout(std::io::stderr().as_fd().try_clone_to_owned().map_err(cannot)?);
        }
        let mut child = child.spawn().map_err(cannot)?;
        let pid = child.id().cast_signed();
        let output = child.stdout.take().map(|pipe| std::thread::spawn(move || passed_on(pipe, to_stderr)));
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(Error::last_os_error).map_err(cannot)?;
        // SAFETY: fresh and ours.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { pid, fd, output })
    }

    /// Waits for a time, or until the command ends or a signal arrives. A signal that only this process got is passed on.
    pub fn wait(&self, time: Duration) -> Option<Ended> {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let ms = i32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
        // SAFETY: one valid pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, ms) };
        for _ in 0..Signals::take_sent() {
            self.send(libc::SIGINT);
        }
        if ready > 0 { self.ended() } else { None }
    }

    /// Sends a signal.
    pub fn send(&self, signal: i32) {
        // SAFETY: no memory is involved; the child was not waited for, so its PID is not reused.
        unsafe { libc::kill(self.pid, signal) };
    }

    fn ended(&self) -> Option<Ended> {
        let mut status = 0;
        // SAFETY: all-zero is a valid rusage, and the call writes only to it and to the status.
        let (done, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(self.pid, &raw mut status, libc::WNOHANG, &raw mut usage), usage)
        };
        if done != self.pid {
            return None;
        }
        let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
        Some(Ended { code, cpu_s: [seconds(usage.ru_utime), seconds(usage.ru_stime)] })
    }

    /// Returns the end of what the command printed, if it was kept.
    pub fn output(&mut self) -> Option<String> {
        let bytes = self.output.take()?.join().ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

/// Passes output on as it comes, and returns the end of it.
fn passed_on(mut pipe: impl Read, to_stderr: bool) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut block = [0; 1 << 14];
    while let Ok(n @ 1..) = pipe.read(&mut block) {
        let bytes = block.get(..n).unwrap_or_default();
        let _ = if to_stderr {
            std::io::stderr().write_all(bytes)
        } else {
            std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush())
        };
        kept.extend_from_slice(bytes);
        if kept.len() > 2 * MAX_OUTPUT {
            kept.drain(..kept.len() - MAX_OUTPUT);
        }
    }
    kept
}

/// Returns the CPU time of this process so far, s.
pub fn own_cpu_s() -> f64 {
    // SAFETY: all-zero is a valid rusage, and the call writes only to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
