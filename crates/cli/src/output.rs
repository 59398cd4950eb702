//! Where words go: standard output, that may be closed early, a terminal's colours and width.

use crate::failure::Failure;
use clap::ValueEnum;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static LEFT: AtomicBool = AtomicBool::new(false);

/// When to colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Color {
    // On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    // Also into files and pipes.
    Always,
    // Not at all.
    Never,
}

impl Color {
    /// Whether standard output is coloured.
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

/// Whether somebody closed the pipe that we write to.
pub fn reader_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// Takes note of a closed pipe.
struct Noting<W>(W);

impl<W: Write> Write for Noting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        noted(self.0.write(bytes))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        noted(self.0.flush())
    }
}

fn noted<T>(result: std::io::Result<T>) -> std::io::Result<T> {
    if result.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) {
        LEFT.store(true, Ordering::Relaxed);
    }
    result
}

/// Standard output, buffered: [`Write::flush`] at the end, so that an error is seen.
///
/// # Errors
/// Where it is closed.
pub fn stdout() -> std::io::Result<impl Write + Send> {
    let file = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    Ok(BufWriter::with_capacity(1 << 16, Noting(file)))
}

/// Prints a text.
///
/// # Errors
/// Where it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout()?;
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Says something beside the output: where things are, what comes next.
pub fn say(words: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{words}");
}

/// A new file; an old one is never overwritten.
///
/// # Errors
/// Where it is there, or cannot be made.
pub fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::options().write(true).create_new(true).open(path).map_err(Failure::at(path))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Writes a page into a new file and says what it is, or prints it.
///
/// # Errors
/// Where the file is there, or cannot be written.
pub fn write_page(path: &Path, page: &str, what: &str) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print(page);
    }
    let mut out = create(path)?;
    if let Err(why) = out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        // Half a page is of no use, and the file is ours.
        let _ = std::fs::remove_file(path);
        return Err(Failure::at(path)(why));
    }
    print(&format!("{}: {what}\n", path.display()))
}

/// Columns of the terminal; 100 where there is none, or as COLUMNS says.
pub fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    // SAFETY: all-zero is a valid winsize, and the call writes only to it.
    let asked = || unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let done = libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size);
        (done == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col))
    };
    told.or_else(asked).unwrap_or(100).clamp(60, 200)
}
