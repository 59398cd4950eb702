//! Output: standard output, which may be closed early, new files, and the terminal's colours and width.

use crate::failure::Failure;
use clap::ValueEnum;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static PIPE_CLOSED: AtomicBool = AtomicBool::new(false);

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Color {
    // On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    // Also in files and pipes.
    Always,
    // Never.
    Never,
}

impl Color {
    /// Returns whether standard output is coloured.
    pub fn wanted(self) -> bool {
        let allowed = || std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let capable = || std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::io::stdout().is_terminal() && allowed() && capable(),
        }
    }
}

/// Returns whether the reader of standard output closed the pipe.
pub fn pipe_was_closed() -> bool {
    PIPE_CLOSED.load(Ordering::Relaxed)
}

/// A writer that notices a closed pipe.
struct PipeWatcher<W>(W);

impl<W: Write> Write for PipeWatcher<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        note_closed_pipe(self.0.write(bytes))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        note_closed_pipe(self.0.flush())
    }
}

/// Notes that the reader of the output has closed the pipe, if the result says so.
pub fn note_closed_pipe<T>(result: std::io::Result<T>) -> std::io::Result<T> {
    if result.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) {
        PIPE_CLOSED.store(true, Ordering::Relaxed);
    }
    result
}

/// Returns standard output, buffered. Call [`Write::flush`] at the end, so that errors are not lost.
///
/// # Errors
/// Standard output is closed.
pub fn stdout() -> std::io::Result<impl Write + Send> {
    let file = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok(BufWriter::with_capacity(1 << 16, PipeWatcher(file)))
}

/// Prints a text to standard output.
///
/// # Errors
/// The text cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout()?;
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a message to standard error: where files are, what to do next.
pub fn say(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Creates a file; an existing one is never overwritten.
///
/// # Errors
/// The file exists or cannot be created.
pub fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::options().write(true).create_new(true).open(path).map_err(Failure::at(path))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Writes a page into a new file and prints its path with `what`; prints the page itself if the path is `-`.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write_page(path: &Path, page: &str, what: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print(page);
    }
    let mut out = create(path)?;
    if let Err(why) = out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        // Remove the incomplete page.
        let _ = std::fs::remove_file(path);
        return Err(Failure::at(path)(why));
    }
    print(&format!("{}: {what}\n", path.display()))
}

/// Returns the width of the terminal in columns: COLUMNS if set, 100 without a terminal.
pub fn width() -> usize {
    let from_env = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    // SAFETY: all-zero is a valid winsize, and the call writes only to it.
    let from_terminal = || unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let done = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size);
        (done == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
    };
    from_env.or_else(from_terminal).unwrap_or(100).clamp(60, 200)
}
