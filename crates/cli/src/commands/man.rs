//! `corewise man`: prints the manual page, generated from the same definition as `--help`.

use crate::args::Cli;
use crate::failure::{Failure, OK};
use crate::output::stdout;
use clap::CommandFactory;
use std::io::Write;

const AFTER: &str = "\
Examples:
  corewise man | man -l -
  corewise man record | man -l -
  corewise man > /usr/local/share/man/man1/corewise.1";

/// Print the manual page of corewise or of one command
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The command [default: corewise itself]
    command: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// There is no such command, or the output cannot be written.
pub fn run(args: &Args) -> Result<u8, Failure> {
    // Its pages are those of the version, whichever build prints them.
    let mut all = Cli::command().version(env!("CARGO_PKG_VERSION"));
    all.build();
    let command = match &args.command {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            let found = found.ok_or_else(|| {
                Failure::usage(format!("there is no command {name}: `corewise --help` lists the commands"))
            })?;
            found.display_name(format!("corewise-{name}"))
        }
    };
    let mut out = stdout()?;
    clap_mangen::Man::new(command).render(&mut out)?;
    out.flush()?;
    Ok(OK)
}
