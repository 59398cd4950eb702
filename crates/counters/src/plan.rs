//! Which events are counted at the same time, on each PMU.
//!
//! A PMU has few counters. What fits is known by the kernel only (fixed counters, events for one counter only, a counter taken by the NMI
//! watchdog), so the caller tries it. Each event is a set of its own, and a group in braces is one set, which is never divided. If not all sets
//! fit, they rotate: each is counted for a part of the time.
//!
//! Single events are not put together into larger sets, although fewer sets would rotate in longer turns: a set of six events is off its
//! PMU whenever any other program takes one of six counters. (Measured in a guest whose load counts too: such a set was counted for 0.5 % of
//! the time, six single events for 50 %.)

use crate::event::{AskedGroup, Attr, BadEvent};
use crate::pmu::{Pmu, Pmus};
use crate::resolve::{Absent, OnPmu, Resolved, resolve};
use std::fmt;

/// Which sets of events fit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Fitting {
    /// Sets that fit, by index.
    sets: Vec<usize>,
    /// Sets that do not, and how many of their events, from the first, do.
    too_large: Vec<(usize, usize)>,
}

/// Tries each set that has events.
fn fitting(sets: &[Vec<Attr>], fits: &mut dyn FnMut(&[Attr]) -> bool) -> Fitting {
    let mut found = Fitting::default();
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
        if fits(set) {
            found.sets.push(at);
        } else {
            // The longest beginning that fits.
            let most = (1..set.len()).rev().find(|n| set.get(..*n).is_some_and(&mut *fits)).unwrap_or(0);
            found.too_large.push((at, most));
        }
    }
    found
}

/// The events of one core PMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorePlan {
    /// The PMU.
    pub pmu: String,
    /// Sets of events that are counted at the same time, as indices of [`Plan::events`]. If not all fit, they rotate.
    pub sets: Vec<Vec<usize>>,
    /// Events that the kernel refuses on this PMU even alone.
    pub refused: Vec<usize>,
    /// Events that are not on this PMU.
    pub absent: Vec<(usize, Absent)>,
}

/// What is counted where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The events, in the order in which they were asked for.
    pub events: Vec<Resolved>,
    /// The events of each core PMU, fastest cores first.
    pub cores: Vec<CorePlan>,
    /// Events that are counted on every CPU and never rotate: of software and dynamic PMUs, as indices of [`Self::events`].
    pub everywhere: Vec<usize>,
    /// Of those, the ones that the kernel refuses.
    pub refused: Vec<usize>,
}

/// A group in braces that has more events than a PMU has counters for.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TooLarge {
    /// The group, as it was written.
    group: String,
    /// Where it stands in the text, characters from 0.
    at: usize,
    /// For each core PMU: its description, the number of the group's events on it, and how many of them fit.
    of: Vec<(String, usize, usize)>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the group {} is too large: ", self.group)?;
        for (at, (pmu, asked, fit)) in self.of.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{fit} of its {asked} events fit on {pmu}")?;
        }
        f.write_str("; write it as several groups, which rotate")
    }
}

/// Looks up all events and plans which are counted at the same time. `fits` says whether events can be counted together on a PMU (`None`:
/// on any CPU, for software and dynamic PMUs).
///
/// # Errors
/// An event is unknown, or a group in braces does not fit on a PMU.
pub fn plan(
    groups: &[AskedGroup],
    machine: &Pmus,
    fits: &mut dyn FnMut(Option<&Pmu>, &[Attr]) -> bool,
) -> Result<Plan, BadEvent> {
    let mut plan = Plan::default();
    // The indices of each group's events.
    let mut members: Vec<Vec<usize>> = Vec::new();
    for group in groups {
        let mut of = Vec::new();
        for event in &group.events {
            of.push(plan.events.len());
            plan.events.push(resolve(event, machine)?);
        }
        members.push(of);
    }
    for (at, event) in plan.events.iter().enumerate() {
        if let Some(attr) = event.on.iter().filter(|on| !on.core).find_map(|on| on.attr.clone().ok()) {
            if fits(None, &[attr]) { plan.everywhere.push(at) } else { plan.refused.push(at) }
        }
    }
    let mut too_large: Vec<Option<TooLarge>> = vec![None; groups.len()];
    for pmu in machine.core() {
        let mut of = CorePlan { pmu: pmu.name.clone(), sets: Vec::new(), refused: Vec::new(), absent: Vec::new() };
        let mut items: Vec<Vec<(usize, Attr)>> = Vec::new();
        for group in &members {
            let mut item = Vec::new();
            for at in group {
                let on = plan.events.get(*at).and_then(|event| event.on.iter().find(|on| on.pmu == pmu.name));
                match on {
                    Some(OnPmu { attr: Ok(attr), .. }) if fits(Some(pmu), &[*attr]) => item.push((*at, *attr)),
                    Some(OnPmu { attr: Ok(_), .. }) => of.refused.push(*at),
                    Some(OnPmu { attr: Err(why), .. }) => of.absent.push((*at, why.clone())),
                    None => {}
                }
            }
            items.push(item);
        }
        let attrs: Vec<Vec<Attr>> = items.iter().map(|item| item.iter().map(|(_, attr)| *attr).collect()).collect();
        let found = fitting(&attrs, &mut |set| fits(Some(pmu), set));
        for (group, asked) in groups.iter().enumerate().filter(|(_, group)| group.together) {
            let n = attrs.get(group).map_or(0, Vec::len);
            let fit = found.too_large.iter().find(|(at, _)| *at == group).map_or(n, |(_, fit)| *fit);
            let Some(slot) = too_large.get_mut(group) else { continue };
            let large = slot.get_or_insert_with(|| TooLarge {
                group: asked.to_string(),
                at: asked.events.first().map_or(0, |event| event.at),
                of: Vec::new(),
            });
            let what = format!("{} ({}, CPU {})", pmu.name, pmu.core_type_names(), pmu.cpu_list());
            large.of.push((what, n, fit));
        }
        let members = |set: &usize| items.get(*set).map(|set| set.iter().map(|(at, _)| *at).collect());
        of.sets = found.sets.iter().filter_map(members).collect();
        plan.cores.push(of);
    }
    let too_large = too_large.into_iter().flatten().find(|group| group.of.iter().any(|(_, asked, fit)| fit < asked));
    match too_large {
        Some(group) => Err(BadEvent::new(group.at, group.to_string())),
        None => Ok(plan),
    }
}
