//! `corewise topo`: shows the CPU topology of a machine.

use crate::args::Global;
use crate::costs;
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

Machine descriptions can be hwloc XML, the output of lscpu (its summary, -e, -p, with or without -J), /proc/cpuinfo, a folder with a \
sysfs tree or an archive of one (tar, zip, packed with gzip or zstd), LISA's plat_info.yml, pepc's emulated machines, the output of \
--json, or TOML that you write. The format is detected from the content. --machine takes the same formats; if both are given, \
--machine takes precedence and the facts it replaces are listed.

If `corewise bench` has measured what the cores cost, the main figures are shown; the machine files that it writes contain all of them.

Every fact names its source. Core types (fast or slow) are derived from the kernel's CPU lists, capacities, CPPC and maximum \
frequencies; without any of these, all cores are `uniform`.";

/// Show the CPU topology and the source of each fact
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace, to show the machine it was recorded on, or a file or folder that describes a machine [default: this machine]
    trace: Option<PathBuf>,
    /// Print JSON, with all sources of every fact
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// The trace or the machine file cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let machine = match (&args.trace, global.machine()?) {
        (Some(path), described) if engine::is_machine(path) => {
            let machine = Global::machine_of(path)?;
            match described {
                Some(described) => machine.overlay(described),
                None => machine,
            }
        }
        (Some(trace), _) => of_trace(&global.open(trace)?),
        (None, Some(described)) => described,
        (None, None) => with_note(costs::live()),
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

/// The machine of a trace, with a note if its costs are of another state of the machine.
fn of_trace(session: &engine::Session) -> engine::Machine {
    let machine = session.machine().clone();
    let stale = machine.costs.as_ref().and_then(|costs| engine::stale_costs(costs, &session.facts().conditions));
    with_note((machine, stale.map(|why| format!("the costs are stale: {why}"))))
}

fn with_note((mut machine, note): (engine::Machine, Option<String>)) -> engine::Machine {
    machine.notes.extend(note);
    machine
}
