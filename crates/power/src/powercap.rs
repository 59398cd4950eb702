//! RAPL by powercap (the kernel's Documentation/power/powercap/powercap.rst). AMD's processors are under the same control type.

use crate::source::{Domain, Found, Gauge, Interface, Lack, Part};
use crate::tree::Tree;
use std::io;

const DIR: &str = "/sys/class/powercap";
/// The maximum number of zones; a machine has a few for each package.
const MAX_ZONES: usize = 256;
/// The maximum number of constraints of a zone.
const MAX_CONSTRAINTS: usize = 8;

/// The control types, the preferred one first. `intel-rapl-mmio` shows the same packages by other registers.
const CONTROL_TYPES: [&str; 3] = ["intel-rapl", "intel-rapl-tpmi", "intel-rapl-mmio"];

/// Finds the zones of RAPL.
pub fn find(tree: &Tree, found: &mut Found) {
    let absent =
        "the kernel has no RAPL driver for this processor (a guest has none; on a host, `modprobe intel_rapl_msr`)";
    let source = Interface::Powercap.as_str();
    let names = match tree.list(DIR) {
        Ok(names) => names,
        Err(error) => return found.lacks.push(Lack::of(source, DIR, &error, absent)),
    };
    // A zone and its control type: `intel-rapl:0:1`, of `intel-rapl`.
    let zones = names.iter().filter_map(|name| {
        let (control, _) = name.split_once(':')?;
        Some((CONTROL_TYPES.iter().position(|known| *known == control)?, name.as_str()))
    });
    let mut zones: Vec<(usize, &str)> = zones.take(MAX_ZONES).collect();
    zones.sort_by_key(|(control, name)| (*control, name.matches(':').count()));
    if zones.is_empty() {
        return found.lacks.push(Lack {
            source: source.to_owned(),
            why: format!("{DIR} has no zone of RAPL: {absent}"),
            rights: false,
        });
    }
    let mut denied: Option<(usize, Lack)> = None;
    for (_, zone) in zones {
        let path = format!("{DIR}/{zone}");
        let name = match full_name(tree, zone) {
            Ok(name) => name,
            Err(error) => {
                found.lacks.push(Lack::of(source, &format!("{path}/name"), &error, "the zone has no name"));
                continue;
            }
        };
        if let Some(known) = found.domains.iter_mut().find(|domain| domain.name == name) {
            known.duplicates.push(format!("powercap {zone}"));
            continue;
        }
        match domain(tree, &path, &name) {
            Ok(domain) => found.domains.push(domain),
            Err(error) => {
                let lack = Lack::of(source, &format!("{path}/energy_uj"), &error, "the zone has no energy counter");
                match &mut denied {
                    Some((count, _)) if lack.rights => *count += 1,
                    None if lack.rights => denied = Some((1, lack)),
                    _ => found.lacks.push(lack),
                }
            }
        }
    }
    // One sentence for all zones of which the same is true.
    found.lacks.extend(denied.map(|(count, mut lack)| {
        if count > 1 {
            lack.why = format!("{} (the same for {} more zones)", lack.why, count - 1);
        }
        lack
    }));
}

/// Returns the name of a zone with the one that contains it: `package-0/core`. Only packages have a number in their name.
fn full_name(tree: &Tree, zone: &str) -> io::Result<String> {
    let name = tree.read(&format!("{DIR}/{zone}/name"))?;
    match zone.rsplit_once(':') {
        Some((parent, _)) if parent.contains(':') => Ok(format!("{}/{name}", full_name(tree, parent)?)),
        _ => Ok(name),
    }
}

fn domain(tree: &Tree, path: &str, name: &str) -> io::Result<Domain> {
    let place = format!("{path}/energy_uj");
    let gauge = Gauge::Counter(tree.value(&place)?);
    let range_uj = tree.number(&format!("{path}/max_energy_range_uj")).ok().filter(|range| *range > 0);
    let (parent, own) = name.rsplit_once('/').map_or((None, name), |(parent, own)| (Some(parent.to_owned()), own));
    Ok(Domain {
        name: name.to_owned(),
        part: Part::of_rapl(own),
        parent,
        same_as: None,
        interface: Interface::Powercap,
        place,
        gauge,
        range_uj: range_uj.map(|range| range as f64),
        limit: limit(tree, path),
        // The unit is in a register that powercap does not show.
        step: None,
        duplicates: Vec::new(),
    })
}

/// Returns the greatest power limit of a zone, and its file.
fn limit(tree: &Tree, path: &str) -> Option<(f64, String)> {
    let files = (0..MAX_CONSTRAINTS).flat_map(|constraint| {
        ["power_limit_uw", "max_power_uw"].map(|what| format!("{path}/constraint_{constraint}_{what}"))
    });
    let limits = files.filter_map(|file| Some((tree.number(&file).ok().filter(|limit| *limit > 0)? as f64, file)));
    limits.max_by(|a, b| a.0.total_cmp(&b.0))
}
