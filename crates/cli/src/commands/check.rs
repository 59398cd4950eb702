//! `corewise check`: checks tables that other tools printed.

use super::check_printed::{self, PrintedOptions, is_printed};
use super::verify::{self, Form};
use crate::args::Global;
use crate::failure::Failure;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise check counts.csv                  output of perf stat, also of perf stat -x,
  corewise check counts.csv --span 5s        output of perf stat -I 5000
  corewise check on.csv off.csv --smt on/off
  corewise check counters.csv processors.csv --processor i9-12900K
  corewise check grid.csv claims.csv         compare values with the claims of a document

Tables that other tools printed are recognised by their header line (`corewise formats` lists them); several can be checked \
together. Each rule computes a value from the table's own figures, and compares it with the printed value within the rounding \
of the printed digits. Exit code 3 if a printed value contradicts the others. If a rule cannot be evaluated, the reason is printed. \
A table of claims has the columns rule, of, claimed, and tolerance.

`corewise check TRACE` is the former name of `corewise verify TRACE` and still works.";

/// Check tables that other tools printed
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Printed tables
    #[arg(required = true, value_name = "TABLE")]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long, default_value = "text")]
    format: Form,
    #[command(flatten)]
    printed: PrintedOptions,
}

/// Runs the command.
///
/// # Errors
/// A table cannot be read.
#[allow(clippy::print_stderr)] // a note for people, not part of the result
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    if args.files.iter().any(|path| is_printed(path)) {
        return check_printed::run(&args.files, &args.printed, args.format == Form::Json, global);
    }
    let [trace] = args.files.as_slice() else {
        return Err(Failure::usage(
            "only printed tables can be checked together, and none of these files is one: verify traces one by one with corewise verify",
        ));
    };
    if !args.printed.is_empty() {
        let why = format!(
            "{}: is not a printed table; --span, --processor, --compare, --smt and --all apply only to printed tables",
            trace.display()
        );
        return Err(Failure::usage(why));
    }
    eprintln!("note: to verify a trace, use: corewise verify {}", trace.display());
    verify::verify(trace, args.format, None, global)
}
