//! The commands, one file each.

mod ab;
mod bench;
mod check;
mod check_printed;
mod compare;
mod completions;
mod counters;
mod demo;
mod diagnose;
mod doctor;
mod explain;
mod export;
mod fleet;
mod formats;
mod import;
mod label;
mod man;
mod power;
mod record;
mod recover;
mod report;
mod sql;
mod symbolize;
mod table;
mod tables;
mod topo;
mod r#try;
mod verify;
mod view;
mod watch;

use crate::args::Global;
use crate::failure::Failure;
use clap::CommandFactory as _;
use std::ffi::OsString;

/// The commands, in the order of `--help`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Record(record::Args),
    Ab(ab::Args),
    Watch(watch::Args),
    Import(import::Args),
    Report(report::Args),
    View(view::Args),
    Diagnose(diagnose::Args),
    Try(r#try::Args),
    Explain(explain::Args),
    Compare(compare::Args),
    Verify(verify::Args),
    Check(check::Args),
    Formats(formats::Args),
    Tables(tables::Args),
    Table(table::Args),
    Sql(sql::Args),
    Label(label::Args),
    Fleet(fleet::Args),
    Export(export::Args),
    Topo(topo::Args),
    Doctor(doctor::Args),
    Counters(counters::Args),
    Bench(bench::Args),
    Power(power::Args),
    Recover(recover::Args),
    Symbolize(symbolize::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The arguments as clap gets them: `help` is `--help`, and options of `compare` may follow the runs of B.
pub fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    // Global options and their values may stand before the command.
    let commands = crate::args::Cli::command();
    let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    // `help` and `help COMMAND`, as many programs have it.
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push(OsString::from("--help"));
        return arguments;
    }
    let command = arguments.iter().skip(1).find(|argument| names.iter().any(|name| *argument == name));
    if command.is_some_and(|command| command == "compare")
        && let Some(sides) = arguments.iter_mut().find(|argument| *argument == "--")
    {
        *sides = OsString::from(format!("--{}", compare::SECOND_SIDE));
    }
    arguments
}

/// Runs a command and returns the exit code.
///
/// # Errors
/// The command failed; the failure has the message and the exit code.
pub fn run(command: Command, global: &Global) -> Result<u8, Failure> {
    match command {
        Command::Record(args) => record::run(args, global),
        Command::Ab(args) => ab::run(&args, global),
        Command::Watch(args) => watch::run(&args, global),
        Command::Import(args) => import::run(&args, global),
        Command::Report(args) => report::run(&args, global),
        Command::View(args) => view::run(&args, global),
        Command::Diagnose(args) => diagnose::run(&args, global),
        Command::Try(args) => r#try::run(&args, global),
        Command::Explain(args) => explain::run(&args),
        Command::Compare(args) => compare::run(&args, global),
        Command::Verify(args) => verify::run(&args, global),
        Command::Check(args) => check::run(&args, global),
        Command::Formats(args) => formats::run(&args),
        Command::Tables(args) => tables::run(&args, global),
        Command::Table(args) => table::run(&args, global),
        Command::Sql(args) => sql::run(&args, global),
        Command::Label(args) => label::run(&args, global),
        Command::Fleet(args) => fleet::run(&args, global),
        Command::Export(args) => export::run(&args, global),
        Command::Topo(args) => topo::run(&args, global),
        Command::Doctor(args) => doctor::run(&args, global),
        Command::Counters(args) => counters::run(&args, global),
        Command::Bench(args) => bench::run(&args, global),
        Command::Power(args) => power::run(&args),
        Command::Recover(args) => recover::run(&args, global),
        Command::Symbolize(args) => symbolize::run(&args, global),
        Command::Demo(args) => demo::run(&args, global),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn options_of_compare_may_follow_the_runs_of_b() {
        let of = |line: &str| {
            let given = arguments(line.split(' ').map(Into::into));
            given.iter().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("corewise compare a -- b --format json"), "corewise compare a --with b --format json");
        assert_eq!(of("corewise --machine m.toml compare a -- b"), "corewise --machine m.toml compare a --with b");
        assert_eq!(of("corewise help report"), "corewise report --help");
        assert_eq!(of("corewise help"), "corewise --help");
        let record = "corewise record -o compare -- compare -- x";
        assert_eq!(of(record), record);
    }
}
