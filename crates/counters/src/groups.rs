//! The named groups, for users who do not want to name events.

use crate::event::{AskedGroup, BadEvent, EventName};
use crate::parse::parse;
use crate::pmu::{Pmus, Role};

/// A named group of events.
#[derive(PartialEq, Eq, Debug)]
pub struct NamedGroup {
    /// The name.
    pub name: &'static str,
    /// Its events, as a user would write them, on a machine with core PMUs.
    pub events: &'static str,
    /// What it is for.
    pub doc: &'static str,
}

/// What `default` and `software` count of the kernel's own events.
const OF_KERNEL: &str = "minor-faults,major-faults,cpu-migrations";

/// The named groups.
pub const GROUPS: &[NamedGroup] = &[
    NamedGroup {
        name: "default",
        events: "{cycles,instructions}",
        doc: "Instructions per cycle and frequency. Without a core PMU: the time-stamp counter, if the machine has the PMU \
              `msr`, and the group `software`.",
    },
    NamedGroup {
        name: "branch",
        events: "{instructions,branches,branch-misses}",
        doc: "How many branches are mispredicted.",
    },
    NamedGroup {
        name: "cache",
        events: "{instructions,cache-references,cache-misses}",
        doc: "How many accesses miss the last level of cache.",
    },
    NamedGroup { name: "software", events: OF_KERNEL, doc: "The kernel's own counts; they need no PMU." },
];

/// Replaces the names of groups by their events.
///
/// # Errors
/// A name of a group stands in braces.
pub fn expand(asked: Vec<AskedGroup>, machine: &Pmus) -> Result<Vec<AskedGroup>, BadEvent> {
    let mut out = Vec::new();
    for asked in asked {
        let named = asked.events.iter().find_map(|event| match &event.name {
            EventName::Named(name) => GROUPS.iter().find(|group| group.name == name).map(|group| (group, event)),
            _ => None,
        });
        let Some((group, by)) = named else {
            out.push(asked);
            continue;
        };
        if asked.together {
            return Err(BadEvent::new(
                by.at,
                format!("{} is a group of its own: write it outside the braces", group.name),
            ));
        }
        let mut text = group.events.to_owned();
        if group.name == "default" && machine.core().next().is_none() {
            let tsc = machine.named("msr").filter(|pmu| pmu.role != Role::Shared && pmu.events.contains_key("tsc"));
            text = if tsc.is_some() { format!("msr/tsc/,{OF_KERNEL}") } else { OF_KERNEL.to_owned() };
        }
        for mut part in parse(&text)? {
            for event in &mut part.events {
                (event.at, event.user, event.kernel) = (by.at, by.user, by.kernel);
            }
            out.push(part);
        }
    }
    Ok(out)
}
