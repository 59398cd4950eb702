//! `corewise recover`: converts the spool of an interrupted recording to a trace.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::print;
use crate::spool::Spool;
use model::words::noun;
use safefs::Access;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise recover run.cw                  in place
  corewise recover run.cw -o /big/run.cw   onto another disk, if this one is full

The last events may be incomplete on some CPUs; the trace ends at the last moment that is complete on all CPUs. Without \
--output, the raw events are removed once the trace is written, unless --keep-spool.";

/// Recover the trace of a recording that was killed or filled the disk
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The folder that `corewise record` wrote
    dir: PathBuf,
    /// Write the trace to this new folder instead of in place
    #[arg(short, long, value_name = "OTHER")]
    output: Option<PathBuf>,
    /// Let all users of this machine read OTHER; in place, permissions do not change
    #[arg(long, requires = "output")]
    shared: bool,
    /// Keep the raw events in DIR/spool
    #[arg(long)]
    keep_spool: bool,
}

/// Runs the command.
///
/// # Errors
/// There is nothing to recover, or the trace cannot be written.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let spool = Spool::in_path(&args.dir)?;
    let how = spool.ended();
    let options = global.pass_options()?;
    let accounted = match &args.output {
        Some(other) => spool.convert_to(other, Access::shared(args.shared), &options)?,
        None => spool.convert(args.keep_spool, &options)?,
    };
    let dir = args.output.as_ref().unwrap_or(&args.dir).display();
    let events = accounted.totals.events;
    print(&format!(
        "{dir}: {events} {}, {:.3} s ({how})\nnext: corewise report {dir}, corewise diagnose {dir}\n",
        noun(events, "event"),
        accounted.totals.end.0 as f64 / 1e9
    ))?;
    Ok(OK)
}
