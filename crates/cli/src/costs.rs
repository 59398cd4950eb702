//! The costs of this machine, as `corewise bench` measured them.

use engine::Machine;

/// Returns this machine with its stored costs, and what is wrong with these: one sentence.
#[must_use]
pub fn live() -> (Machine, Option<String>) {
    let mut machine = engine::live();
    let note = match engine::stored_costs(&machine) {
        Ok(costs) => {
            machine.costs = costs;
            note(&machine)
        }
        Err(why) => Some(format!("the costs of this machine are not used: {why}")),
    };
    (machine, note)
}

/// Says that costs do not describe the machine as it is now.
fn note(machine: &Machine) -> Option<String> {
    let now = capture::cost_conditions();
    let why = machine.costs.as_ref()?.stale("this machine", |name| now.get(name).map(String::as_str))?;
    Some(format!("the costs of this machine are stale: {why}"))
}
