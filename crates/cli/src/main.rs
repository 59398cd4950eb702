//! The command line of corewise. The crates below it do the work.

mod ab;
mod aligned;
mod args;
mod bench;
mod built;
mod commands;
mod cores;
mod costs;
mod counting;
mod demo;
mod failure;
mod fleet_copy;
mod folder_name;
mod frame_marks;
mod heap;
mod known_names;
mod output;
mod pager;
mod period;
mod power;
mod progress;
mod spool;
mod sql;
mod store_copies;
mod temporary;
mod trying;
mod view_changes;
mod view_source;
mod watch_listen;
mod watching;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse_from(commands::arguments(std::env::args_os()));
    let done = cli.command.run(&cli.global);
    store_copies::remove();
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader closed the pipe early (`| head`).
        Err(_) if output::pipe_was_closed() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code)
        }
    }
}
