//! Queries that are typed one after the other.

use super::duckdb::on_path;
use super::traces::Traces;
use super::words;
use crate::failure::{Failure, OK};
use crate::output::{pipe_was_closed, say};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Reads a line with a history, where there is a Python.
const READ_LINE: &str = include_str!("read_line.py");
/// Its exit code at the end of the input.
const ENDED: i32 = 5;
/// Its exit code after Ctrl-C.
const CANCELLED: i32 = 6;

/// Answers the queries of standard input, each of which ends with a semicolon, until its end.
///
/// # Errors
/// A query of a file or pipe fails, or standard input cannot be read.
pub fn prompt(
    traces: &mut Traces,
    answer: &mut dyn FnMut(&mut Traces, &str) -> Result<(), Failure>,
) -> Result<u8, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    let mut input = Input::new(traces, is_terminal);
    if is_terminal {
        say("Type a query that ends with a semicolon; SHOW TABLES; lists the tables; Ctrl-D ends.");
    }
    let mut typed = String::new();
    loop {
        let line = input.line(if typed.trim().is_empty() { "sql> " } else { "...> " })?;
        let ended = matches!(line, Typed::End);
        match line {
            Typed::Line(line) => typed.push_str(&line),
            Typed::Cancelled => typed.clear(),
            Typed::End => {}
        }
        let (complete, rest) = words::statements(&typed);
        let last = Some(rest.trim()).filter(|last| ended && !last.is_empty());
        for query in complete.into_iter().chain(last) {
            match answer(traces, query) {
                Err(failure) if is_terminal && !pipe_was_closed() => failure.print(),
                result => result?,
            }
        }
        if ended {
            return Ok(OK);
        }
        typed = rest.to_owned();
    }
}

/// What was typed.
enum Typed {
    Line(String),
    Cancelled,
    End,
}

/// Reads lines from standard input.
struct Input {
    /// On a terminal: a Python that reads the line, and the file that gets it.
    python: Option<(PathBuf, PathBuf)>,
    history: PathBuf,
    is_terminal: bool,
}

impl Input {
    fn new(traces: &Traces, is_terminal: bool) -> Self {
        let python = if is_terminal { on_path("python3") } else { None };
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
        Self {
            python: python.map(|python| (python, traces.folder().join("line.txt"))),
            history: state.map(|state| state.join("corewise/sql_history")).unwrap_or_default(),
            is_terminal,
        }
    }

    fn line(&mut self, prompt: &str) -> Result<Typed, Failure> {
        if let Some((python, file)) = &self.python {
            let mut command = Command::new(python);
            command.args(["-c", READ_LINE]).arg(&self.history).arg(file).arg(prompt);
            // Ctrl-C clears the line.
            // SAFETY: between fork and exec, a call that is safe after a fork; ignoring a signal runs no code.
            let before = unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGINT, libc::SIG_DFL);
                    Ok(())
                });
                libc::signal(libc::SIGINT, libc::SIG_IGN)
            };
            let status = command.status();
            // SAFETY: restores what was there before.
            unsafe { libc::signal(libc::SIGINT, before) };
            match status.ok().and_then(|status| status.code()) {
                Some(0) => {
                    let line = std::fs::read_to_string(file).map_err(Failure::at(file))?;
                    return Ok(Typed::Line(line + "\n"));
                }
                Some(ENDED) => return Ok(Typed::End),
                Some(CANCELLED) => return Ok(Typed::Cancelled),
                // It cannot be used here.
                _ => self.python = None,
            }
        }
        if self.is_terminal {
            let _ = write!(std::io::stderr().lock(), "{prompt}");
        }
        let mut line = String::new();
        Ok(if std::io::stdin().lock().read_line(&mut line)? == 0 { Typed::End } else { Typed::Line(line) })
    }
}
