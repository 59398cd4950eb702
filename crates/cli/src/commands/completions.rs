//! `corewise completions`: prints a shell's completion script.

use crate::args::Cli;
use crate::failure::{Failure, OK};
use crate::output::stdout;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

const AFTER: &str = "\
Examples:
  corewise completions bash > /etc/bash_completion.d/corewise
  corewise completions zsh > ~/.zfunc/_corewise
  corewise completions fish > ~/.config/fish/completions/corewise.fish";

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// The output cannot be written.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "corewise", &mut text);
    let mut out = stdout()?;
    out.write_all(&text)?;
    out.flush()?;
    Ok(OK)
}
