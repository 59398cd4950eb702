//! The process or command to record: started once everything is attached, watched until it ends.

use crate::handlers::StopHandlers;
use crate::options::{CaptureError, Target};
use model::CpuId;
use std::ffi::CString;
use std::io::{Error, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

static STOPS: AtomicU32 = AtomicU32::new(0);
static TERMS: AtomicU32 = AtomicU32::new(0);
/// The command's pidfd, for a SIGINT that did not come from its terminal. (Its PID may be reused once it has ended.) -1: none.
static CHILD: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if signal == libc::SIGTERM {
        TERMS.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let before = STOPS.fetch_add(1, Ordering::Relaxed);
    let child = CHILD.load(Ordering::Relaxed);
    // The terminal sends the signal to every process of the foreground group; `kill` sends it only to us.
    // SAFETY: the kernel passes a valid siginfo; a bare system call may be made in a handler.
    unsafe {
        if before == 0 && child >= 0 && !info.is_null() && (*info).si_code <= 0 {
            let errno = *libc::__errno_location();
            libc::syscall(libc::SYS_pidfd_send_signal, child, signal, std::ptr::null::<libc::siginfo_t>(), 0);
            *libc::__errno_location() = errno;
        }
    }
}

/// Handles SIGINT and SIGTERM until it is dropped.
pub struct Signals {
    _handlers: StopHandlers,
}

impl Signals {
    /// Begins to handle them.
    pub fn take() -> Self {
        STOPS.store(0, Ordering::Relaxed);
        TERMS.store(0, Ordering::Relaxed);
        Self { _handlers: StopHandlers::install(on_signal) }
    }

    /// Whether the user stopped the recording: with the first Ctrl-C, or with the second while a command runs (the first goes to
    /// the command).
    pub fn stop(&self) -> bool {
        let needed = if CHILD.load(Ordering::Relaxed) >= 0 { 2 } else { 1 };
        TERMS.load(Ordering::Relaxed) > 0 || STOPS.load(Ordering::Relaxed) >= needed
    }
}

/// The running target.
pub struct Running {
    kind: Kind,
    /// The command's exit code.
    pub exit_code: Option<i32>,
}

enum Kind {
    All,
    Process(OwnedFd, i32),
    Command {
        pid: i32,
        watch: Option<OwnedFd>,
        /// The forked child waits for a byte from this pipe.
        go: Option<std::fs::File>,
        /// The child writes an error number to this pipe if it cannot run the command.
        failed: std::fs::File,
        name: String,
    },
}

fn pipe() -> std::io::Result<(std::fs::File, std::fs::File)> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written to `ends`.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: both are fresh and ours.
    Ok(unsafe { (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1])) })
}

/// Waits for our own child, and retries when a signal interrupts the wait.
fn reap(pid: i32) {
    // SAFETY: no memory is involved.
    let wait = || unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    while wait() < 0 && Error::last_os_error().raw_os_error() == Some(libc::EINTR) {}
}

/// Returns a descriptor that becomes readable when the process ends.
fn watch(pid: i32) -> Option<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: fresh and ours.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl Running {
    /// Finds the process, or forks a child for the command. The child waits for [`Running::go`] before it calls exec, and has the
    /// capabilities that this process has now.
    ///
    /// # Errors
    /// If the process does not exist, or the fork fails.
    pub fn prepare(target: &Target) -> Result<Self, CaptureError> {
        let kind = match target {
            Target::All => Kind::All,
            Target::Pid(pid) => Kind::Process(watch(*pid).ok_or(CaptureError::NoProcess(*pid))?, *pid),
            Target::Command(words) => Self::fork(words)?,
        };
        Ok(Self { kind, exit_code: None })
    }

    fn fork(words: &[String]) -> Result<Kind, CaptureError> {
        let name = words.first().cloned().unwrap_or_default();
        let failed = |why: Error| CaptureError::Command { command: name.clone(), why };
        let texts: Result<Vec<CString>, _> = words.iter().map(|w| CString::new(w.as_str())).collect();
        let texts = texts.map_err(|e| failed(e.into()))?;
        let mut pointers: Vec<*const libc::c_char> = texts.iter().map(|t| t.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let (wait, go) = pipe().map_err(failed)?;
        let (error_read, error_write) = pipe().map_err(failed)?;
        // SAFETY: the child calls only functions that are allowed after fork in a program with threads.
        let pid = unsafe {
            // Grandchildren whose parent ends become our children, so that we can wait for them.
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            let pid = libc::fork();
            if pid == 0 {
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::signal(libc::SIGTERM, libc::SIG_DFL);
                libc::close(go.as_raw_fd());
                let (mut byte, mut got) = (0u8, -1);
                while got < 0 {
                    got = libc::read(wait.as_raw_fd(), (&raw mut byte).cast(), 1);
                    if got < 0 && *libc::__errno_location() != libc::EINTR {
                        break;
                    }
                }
                if got == 1 {
                    libc::execvp(pointers[0], pointers.as_ptr());
                    let errno: i32 = *libc::__errno_location();
                    libc::write(error_write.as_raw_fd(), (&raw const errno).cast(), 4);
                }
                libc::_exit(127);
            }
            pid
        };
        if pid < 0 {
            return Err(failed(Error::last_os_error()));
        }
        // Only this process reaps it, so its PID is not reused before.
        let watch = watch(pid);
        CHILD.store(watch.as_ref().map_or(-1, AsRawFd::as_raw_fd), Ordering::Relaxed);
        Ok(Kind::Command { pid, watch, go: Some(go), failed: error_read, name })
    }

    /// Binds the command, which has not begun, to CPUs. Whatever it starts inherits this. Does nothing if there are no CPUs or no command.
    ///
    /// # Errors
    /// The kernel refuses it: none of the CPUs is online and allowed.
    pub fn bind(&self, cpus: &[CpuId]) -> Result<(), CaptureError> {
        let Kind::Command { pid, .. } = &self.kind else { return Ok(()) };
        if cpus.is_empty() {
            return Ok(());
        }
        // An own mask, since `cpu_set_t` ends at 1024 CPUs.
        let bits = u64::BITS as usize;
        let mut mask = vec![0u64; cpus.iter().map(|cpu| cpu.0 as usize / bits + 1).max().unwrap_or(1)];
        for cpu in cpus {
            mask[cpu.0 as usize / bits] |= 1 << (cpu.0 as usize % bits);
        }
        // SAFETY: the kernel reads as many bytes as the mask has; the child was not waited for, so its PID is not reused.
        let done = unsafe {
            libc::syscall(libc::SYS_sched_setaffinity, *pid, std::mem::size_of_val(&mask[..]), mask.as_ptr())
        };
        if done < 0 {
            return Err(CaptureError::Bind { cpus: topology::named_cpus(cpus), why: Error::last_os_error() });
        }
        Ok(())
    }

    /// The process to record; `None`: the whole machine.
    pub fn focus(&self) -> Option<i32> {
        match &self.kind {
            Kind::All => None,
            Kind::Process(_, pid) | Kind::Command { pid, .. } => Some(*pid),
        }
    }

    /// Starts the command. Returns its process, which has the command's program by then.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn go(&mut self) -> Result<Option<i32>, CaptureError> {
        let Kind::Command { pid, go, failed, name, .. } = &mut self.kind else { return Ok(None) };
        let started = go.take().map(|mut pipe| pipe.write_all(&[1]));
        if let Some(Err(why)) = started {
            return Err(CaptureError::Command { command: name.clone(), why });
        }
        // Exec closes the pipe. If exec fails, the pipe contains an error number.
        let mut errno = [0; 4];
        if failed.read_exact(&mut errno).is_ok() {
            reap(*pid);
            let why = Error::from_raw_os_error(i32::from_ne_bytes(errno));
            return Err(CaptureError::Command { command: name.clone(), why });
        }
        Ok(Some(*pid))
    }

    /// Waits until the target ends, a signal arrives, or the time has passed.
    pub fn wait(&self, time: std::time::Duration) {
        let fd = match &self.kind {
            Kind::Process(fd, _) => Some(fd),
            Kind::Command { watch, .. } if self.exit_code.is_none() => watch.as_ref(),
            _ => None,
        };
        let mut poll = libc::pollfd { fd: fd.map_or(-1, AsRawFd::as_raw_fd), events: libc::POLLIN, revents: 0 };
        let ms = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid pollfd; a negative descriptor is ignored.
        unsafe { libc::poll(&raw mut poll, 1, ms) };
    }

    /// Whether the target has ended.
    pub fn ended(&mut self) -> bool {
        match &self.kind {
            Kind::All => false,
            Kind::Process(fd, _) => {
                let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one valid pollfd.
                unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
            }
            Kind::Command { pid, .. } => loop {
                let mut status = 0;
                // SAFETY: reaps children of this process; the status is written.
                let got = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
                if got == *pid {
                    self.exit_code = Some(if libc::WIFSIGNALED(status) {
                        128 + libc::WTERMSIG(status)
                    } else {
                        libc::WEXITSTATUS(status)
                    });
                }
                if got == 0 {
                    return false;
                }
                if got < 0 {
                    return Error::last_os_error().raw_os_error() != Some(libc::EINTR);
                }
            },
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Kind::Command { pid, go, .. } = &mut self.kind {
            CHILD.store(-1, Ordering::Relaxed);
            // SAFETY: no memory is involved.
            unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) };
            if go.take().is_some() {
                // The command was never started: our end of the pipe is closed now, so the child exits.
                reap(*pid);
            }
        }
    }
}
