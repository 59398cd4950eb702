//! `corewise topo`: the machine, drawn.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::print;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise topo                        this machine
  corewise topo run.cw                 the machine of a trace
  corewise topo laptop.toml            a machine that you describe
  lstopo --of xml > laptop.xml; corewise topo laptop.xml
  ssh board cat /proc/cpuinfo > board; corewise topo board
  corewise topo --json | jq .class_names

Machines are read from hwloc's XML, from lscpu (its summary, -e, -p, with or without -J), /proc/cpuinfo, a folder with a \
sysfs tree or an archive of one (tar, zip, packed by gzip or zstd), LISA's plat_info.yml, pepc's emulated machines, what --json printed, and TOML of your own. What a file is is told \
by its content. --machine takes the same; with both, --machine wins and what it displaces is told.

Every fact says who told it. Which cores are fast and which are slow is judged from the kernel's CPU lists, capacities, CPPC \
and maximum frequencies; where nothing tells, all are `uniform`.";

/// Draw the machine: types of core, SMT siblings, caches, and how each is known
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace, for the machine that it was recorded on; or a file or folder that describes one [default: this machine]
    trace: Option<PathBuf>,
    /// As JSON, with the sources of every fact
    #[arg(long)]
    json: bool,
}

/// Draws.
///
/// # Errors
/// The trace or the machine file cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let machine = match (&args.trace, global.machine()?) {
        (Some(path), told) if engine::is_machine(path) => {
            let machine = Global::machine_of(path)?;
            match told {
                Some(told) => machine.overlay(told),
                None => machine,
            }
        }
        (Some(trace), _) => global.open(trace)?.machine().clone(),
        (None, Some(told)) => told,
        (None, None) => engine::live(),
    };
    if args.json {
        let text = serde_json::to_string_pretty(&machine).map_err(|e| Failure::new(e.to_string()))?;
        print(&format!("{text}\n"))?;
    } else {
        let drawn = engine::draw(&machine);
        print(if drawn.ends_with('\n') { drawn } else { format!("{drawn}\n") }.as_str())?;
    }
    Ok(OK)
}
