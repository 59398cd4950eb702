//! The two sides of `corewise ab --cores`: one command on two sets of CPUs.

use crate::args::Global;
use crate::cores::Available;
use crate::failure::Failure;
use compare::ab::Cores;
use engine::{Chosen, CpuChoice};

/// Returns the name and the CPUs of each side. With one choice, the other side is not bound.
///
/// # Errors
/// The machine has no such CPUs, or both sides have the same ones.
pub fn sides(choices: &[CpuChoice], global: &Global) -> Result<[(String, Cores); 2], Failure> {
    let available = Available::read(global)?;
    let chosen: [CpuChoice; 2] = match choices {
        [only] => [CpuChoice::All, only.clone()],
        [a, b] => [a.clone(), b.clone()],
        _ => return Err(Failure::usage("--cores: at most two sides can be compared: give it once or twice")),
    };
    let [a, b] = [available.choose(&chosen[0])?, available.choose(&chosen[1])?];
    if a.cpus == b.cpus {
        let cpus = engine::named_cpus(&a.cpus);
        let all = if a.cpus == available.cpus { ", which are all that are available" } else { "" };
        return Err(Failure::usage(format!(
            "--cores: both sides would be {cpus}{all}: choose fewer of them for one side, for example --cores {}",
            a.cpus.first().map_or(0, |cpu| cpu.0)
        )));
    }
    let side = |choice: &CpuChoice, of: &Chosen| {
        let named = engine::named_cpus(&of.cpus);
        let cpus = named.split_once(' ').map_or_else(String::new, |(_, list)| list.to_owned());
        let name = match choice {
            CpuChoice::All => "all CPUs".to_owned(),
            CpuChoice::List(_) => named,
            word => word.to_string(),
        };
        (name, Cores { choice: choice.to_string(), cpus, is_bound: *choice != CpuChoice::All })
    };
    Ok([side(&chosen[0], &a), side(&chosen[1], &b)])
}
