//! RAPL by the power PMU. It needs perf's rights instead of those of powercap's files; the kernel extends its counts to 64 bits, so they do
//! not wrap.

use crate::perf::{PerfCount, events, readers};
use crate::source::{Domain, Found, Gauge, Interface, Lack, Part, is_rights};
use crate::tree::Tree;
use std::io;

const PMU: &str = "power";
const PATH: &str = "/sys/bus/event_source/devices/power/events";

/// Finds the events of the power PMU. Domains that powercap shows too are not counted again.
pub fn find(tree: &Tree, found: &mut Found) {
    let source = Interface::PowerPmu.as_str();
    let names = match events(tree, PMU) {
        Ok(names) => names,
        Err(error) => {
            let absent =
                "the kernel has no power PMU for this processor (a guest has none; on a host, `modprobe rapl`)";
            return found.lacks.push(Lack::of(source, PATH, &error, absent));
        }
    };
    let mut refused = None;
    for cpu in readers(tree, PMU) {
        let package =
            tree.number(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")).unwrap_or(0);
        for event in names.iter().filter(|name| name.starts_with("energy-")) {
            let part = Part::of_rapl(event);
            let (name, parent) = name(part, event, package);
            if let Some(known) = found.domains.iter_mut().find(|domain| domain.name == name) {
                known.duplicates.push(format!("{PMU}/{event}/ on CPU {cpu}"));
                continue;
            }
            match open(tree, event, cpu) {
                Ok(gauge) => {
                    let step = if let Gauge::Perf(count) = &gauge { Some(count.step_uj()) } else { None };
                    found.domains.push(Domain {
                        name,
                        part,
                        parent,
                        same_as: None,
                        interface: Interface::PowerPmu,
                        place: format!("{PMU}/{event}/ on CPU {cpu}"),
                        gauge,
                        range_uj: None,
                        limit: None,
                        step,
                        duplicates: Vec::new(),
                    });
                }
                Err(error) => refused = Some(error),
            }
        }
    }
    found.lacks.extend(refused.map(|error| {
        let why = if is_rights(&error) {
            "its events may not be counted: run as root, with CAP_PERFMON, or with kernel.perf_event_paranoid at most 0"
                .to_owned()
        } else {
            format!("its events cannot be opened: {error}")
        };
        Lack { source: source.to_owned(), why, rights: is_rights(&error) }
    }));
}

/// The name of the domain as powercap has it, and the domain that contains it.
fn name(part: Part, event: &str, package: i64) -> (String, Option<String>) {
    let whole = format!("package-{package}");
    let below = |part: &str| (format!("{whole}/{part}"), Some(whole.clone()));
    match part {
        Part::Package => (whole, None),
        Part::Platform => ("psys".to_owned(), None),
        Part::Core => below("core"),
        Part::Uncore => below("uncore"),
        Part::Dram => below("dram"),
        _ => below(event.trim_start_matches("energy-")),
    }
}

fn open(tree: &Tree, event: &str, cpu: u32) -> io::Result<Gauge> {
    let unit = tree.read(&format!("{PATH}/{event}.unit")).unwrap_or_default();
    if unit.trim() != "Joules" {
        return Err(io::Error::other(format!("{PATH}/{event}.unit is \"{unit}\" instead of Joules")));
    }
    let count = PerfCount::open(tree, PMU, event, cpu)?;
    count.read()?;
    Ok(Gauge::Perf(count))
}
