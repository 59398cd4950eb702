//! `--battery 90-80`: the time that a battery takes for each percent while a command runs again and again.
//!
//! ```text
//!   91 %            90 %         89 %   …   80 %
//!   ───┬──────────────┬────────────┬──────────┬───▶
//!      waits          begin        a step     end      the battery shows whole percents: only their changes have a time
//! ```

use super::machine::{Machine, Work};
use super::outcome::{Drain, Outcome};
use crate::ab::child::pause;
use crate::ab::signals::Signals;
use crate::failure::Failure;
use crate::output::say;
use model::Ns;
use power::battery::{Charge, charge, names};
use power::now;
use std::time::Duration;

/// The time between two looks at the battery while nothing runs.
const LOOK: Duration = Duration::from_secs(1);

/// Two percentages, the higher one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Percents {
    /// Where measuring begins.
    pub high: i64,
    /// Where it ends.
    pub low: i64,
}

impl std::str::FromStr for Percents {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('-').and_then(|(high, low)| {
            let of = |text: &str| text.trim().trim_end_matches('%').parse::<i64>().ok();
            Some(Self { high: of(high)?, low: of(low)? })
        });
        match parsed {
            Some(percents) if 1 <= percents.low && percents.low < percents.high && percents.high <= 99 => Ok(percents),
            _ => Err("expected two percentages from 99 to 1, the higher one first, such as 90-80".to_owned()),
        }
    }
}

/// Reads the battery that supplies the machine.
fn supply(machine: &Machine) -> Result<Charge, Failure> {
    let names = names(&machine.tree).unwrap_or_default();
    let charges: Vec<Charge> = names.iter().filter_map(|name| charge(&machine.tree, name).ok()).collect();
    let first = charges.first().cloned();
    charges.into_iter().find(|charge| charge.discharging).or(first).ok_or_else(|| {
        Failure::new("--battery: this machine has no battery that shows its percents (/sys/class/power_supply): measure without --battery")
    })
}

/// Measures on battery. What there is when the user stops, or the battery is charged, is kept.
///
/// # Errors
/// There is no battery, it does not supply the machine, or it is below the first percentage already.
pub fn on_battery(
    machine: &mut Machine,
    outcome: &mut Outcome,
    percents: Percents,
    work: &Work,
    to_stderr: bool,
) -> Result<(), Failure> {
    let battery = supply(machine)?;
    let name = battery.name.clone();
    let high = percents.high;
    if !battery.discharging {
        return Err(Failure::new(format!(
            "--battery: {name} is {}: unplug the charger",
            battery.status.to_lowercase()
        )));
    }
    if battery.percent <= high {
        return Err(Failure::new(format!(
            "--battery: {name} is at {} %: charge it above {high} %, since the time at which it fell to {high} % is needed",
            battery.percent
        )));
    }
    say(&format!("corewise: {name} is at {} %; waiting for {high} %", battery.percent));
    let mut at = battery.percent;
    while at > high {
        pause(LOOK.min(machine.interval));
        if Signals::stop() {
            return Ok(());
        }
        let now = charge(&machine.tree, &name).map_err(|why| Failure::new(format!("{name}: {why}")))?;
        if !now.discharging {
            let status = now.status.to_lowercase();
            return Err(Failure::new(format!("--battery: {name} is {status}: unplug the charger and begin again")));
        }
        at = now.percent;
    }
    let mut drain = Drain { name: name.clone(), percents, changes: vec![(now(), at)], charged: false };
    let command = outcome.command.clone();
    while !drain.is_complete() && !Signals::stop() && !drain.charged {
        let mut looked_at = Ns::ZERO;
        let mut watch = |machine: &mut Machine| {
            // Not more often than its percents can be of use.
            let at = now();
            if (at - looked_at).0 < LOOK.min(machine.interval).as_nanos() as i64 {
                return false;
            }
            looked_at = at;
            look(machine, &name, &mut drain)
        };
        let run = machine.measure(&command, work, to_stderr, Some(&mut watch))?;
        let failed = run.code != 0;
        look(machine, &name, &mut drain);
        outcome.push(run);
        if failed {
            say("corewise: the command failed; what was measured until then is kept");
            break;
        }
    }
    if drain.charged {
        say(&format!("corewise: {name} was charged; what was measured until then is kept"));
    }
    outcome.drain = Some(drain);
    Ok(())
}

/// Looks at the battery; returns whether measuring is over.
fn look(machine: &Machine, name: &str, drain: &mut Drain) -> bool {
    let Ok(charge) = charge(&machine.tree, name) else { return false };
    drain.charged |= !charge.discharging;
    if drain.changes.last().is_some_and(|(_, last)| charge.percent < *last) {
        drain.changes.push((now(), charge.percent));
    }
    drain.charged || drain.is_complete()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_two_the_higher_one_first() {
        assert_eq!("90-80".parse(), Ok(Percents { high: 90, low: 80 }));
        assert_eq!("90%-80%".parse(), Ok(Percents { high: 90, low: 80 }));
        for bad in ["", "90", "80-90", "90-90", "100-80", "90-0", "a-b"] {
            assert!(bad.parse::<Percents>().is_err(), "{bad}");
        }
    }
}
