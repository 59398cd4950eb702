//! The pager: shows long output of a terminal.

use std::io::{IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// A running pager. Dropping it waits until the user has left it.
pub struct Pager {
    child: Child,
}

impl Pager {
    /// Starts `$PAGER`, by default `less`, if standard output is a terminal. `None`: it is not, the user wants no pager (`PAGER` is empty or
    /// `cat`), or there is none.
    pub fn start() -> Option<Self> {
        if !std::io::stdout().is_terminal() {
            return None;
        }
        let wanted = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        if wanted.trim().is_empty() || wanted.trim() == "cat" {
            return None;
        }
        if wanted == "less" && !is_on_path("less") {
            return None;
        }
        let mut command = Command::new("sh");
        // The variable is a command line.
        command.args(["-c", &wanted]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // F: ends if all fits on the screen; R: colours; S: wide lines are not wrapped but scrolled; X: leaves the text there.
            command.env("LESS", "FRSX");
        }
        let child = command.spawn().ok()?;
        // Ctrl-C is for the pager. SAFETY: it only sets how this process treats a signal.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        Some(Self { child })
    }
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.child.stdin {
            Some(to) => crate::output::note_closed_pipe(to.write(bytes)),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.child.stdin.as_mut().map_or(Ok(()), |to| crate::output::note_closed_pipe(to.flush()))
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The end of its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
