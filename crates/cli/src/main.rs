//! The command line of corewise: words in, words out. What it does is done by the crates below.

mod args;
mod commands;
mod demo;
mod failure;
mod folder_name;
mod heap;
mod output;
mod period;
mod progress;
mod spool;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    match cli.command.run(&cli.global) {
        Ok(code) => ExitCode::from(code),
        // Who reads our output has seen enough (`| head`).
        Err(_) if output::reader_left() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code)
        }
    }
}
