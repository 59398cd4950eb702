//! Temporary folders, which Ctrl-C and SIGTERM remove too.

use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Where the handler writes the number of a signal; below 0: nowhere.
static SIGNALS: AtomicI32 = AtomicI32::new(-1);

/// How often the removal is tried: another thread may write a file meanwhile.
const TRIES: u32 = 20;

extern "C" fn on_signal(signal: libc::c_int) {
    let to = SIGNALS.load(Ordering::Relaxed);
    let number = signal as u8;
    // SAFETY: the call may be used in a handler, and reads one byte of this frame.
    unsafe { libc::write(to, (&raw const number).cast(), 1) };
}

/// The folders that exist, and what handles signals meanwhile.
static FOLDERS: Mutex<Folders> = Mutex::new(Folders { paths: Vec::new(), handlers: None });

struct Folders {
    paths: Vec<PathBuf>,
    handlers: Option<Handlers>,
}

/// A temporary folder. While one exists, SIGINT and SIGTERM remove all of them and then end the process, whatever its threads do.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
}

/// The handlers of signals, and what was there before.
struct Handlers {
    before: [(libc::c_int, libc::sighandler_t); 2],
    /// When it is dropped, the thread that waits for signals ends.
    _signals: UnixStream,
}

/// Handles a signal, unless it is ignored; returns what was there before.
fn handle(signal: libc::c_int) -> libc::sighandler_t {
    let handler = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler only makes a call that is allowed in handlers.
    unsafe {
        let before = libc::signal(signal, handler);
        if before == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_IGN);
        }
        before
    }
}

fn folders() -> MutexGuard<'static, Folders> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handlers {
    fn install() -> std::io::Result<Self> {
        let (signals, mut arrived) = UnixStream::pair()?;
        std::thread::Builder::new().name("temporary folder".into()).spawn(move || {
            let mut number = [0];
            if arrived.read_exact(&mut number).is_ok() {
                end(number[0].into());
            }
        })?;
        SIGNALS.store(signals.as_raw_fd(), Ordering::Relaxed);
        let before = [libc::SIGINT, libc::SIGTERM].map(|signal| (signal, handle(signal)));
        Ok(Self { before, _signals: signals })
    }
}

impl TemporaryFolder {
    /// Creates it, with a name that begins so.
    ///
    /// # Errors
    /// It cannot be created, or there are no descriptors or threads left.
    pub fn create(prefix: &str) -> std::io::Result<Self> {
        let mut all = folders();
        // Signals are handled before the folder exists; one that arrives meanwhile waits for the lock.
        if all.handlers.is_none() {
            all.handlers = Some(Handlers::install()?);
        }
        let made = tempfile::Builder::new().prefix(prefix).tempdir();
        match &made {
            Ok(folder) => all.paths.push(folder.path().to_owned()),
            Err(_) if all.paths.is_empty() => all.handlers = None,
            Err(_) => {}
        }
        Ok(Self { folder: made? })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.path());
        let mut all = folders();
        all.paths.retain(|path| path != self.folder.path());
        if all.paths.is_empty() {
            all.handlers = None;
        }
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, before) in self.before {
            // SAFETY: restores what was there before.
            unsafe { libc::signal(signal, before) };
        }
        SIGNALS.store(-1, Ordering::Relaxed);
    }
}

/// Removes the folders and ends the process by the signal.
fn end(signal: libc::c_int) {
    for folder in &folders().paths {
        for _ in 0..TRIES {
            let _ = std::fs::remove_dir_all(folder);
            if !folder.exists() {
                break;
            }
        }
    }
    // SAFETY: the calls have no memory arguments.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
    }
}
