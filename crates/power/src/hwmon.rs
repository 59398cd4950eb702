//! Power sensors of hwmon, such as INA chips (the kernel's Documentation/hwmon/sysfs-interface.rst: power in µW, energy in µJ, voltage in mV,
//! current in mA).

use crate::source::{Domain, Found, Gauge, Interface, Lack, Part};
use crate::tree::Tree;
use std::collections::BTreeSet;

const DIR: &str = "/sys/class/hwmon";
/// The maximum number of sensors of a machine.
const MAX_SENSORS: usize = 256;

/// Finds the sensors of power and energy.
pub fn find(tree: &Tree, found: &mut Found) {
    let source = Interface::Hwmon.as_str();
    let absent = "the kernel has no driver for a sensor of this machine (a guest has none)";
    let devices = match tree.list(DIR) {
        Ok(devices) => devices,
        Err(error) => return found.lacks.push(Lack::of(source, DIR, &error, absent)),
    };
    let before = found.domains.len();
    for device in devices {
        device_sensors(tree, &device, found);
        if found.domains.len() > before + MAX_SENSORS {
            found.notes.push(format!("{DIR}: more than {MAX_SENSORS} sensors, the others are ignored"));
            return;
        }
    }
    if found.domains.len() == before && !found.lacks.iter().any(|lack| lack.source == source) {
        let why = format!("{DIR} has no sensor of power or energy: {absent}");
        found.lacks.push(Lack { source: source.to_owned(), why, rights: false });
    }
}

/// The number of a file `power3_input`, for `power` and `_input`.
fn numbers<'a>(names: &'a [String], kind: &'a str, suffix: &'a str) -> impl Iterator<Item = u32> + 'a {
    names.iter().filter_map(move |name| name.strip_prefix(kind)?.strip_suffix(suffix)?.parse().ok())
}

fn device_sensors(tree: &Tree, device: &str, found: &mut Found) {
    let path = format!("{DIR}/{device}");
    let names = tree.list(&path).unwrap_or_default();
    let chip = tree.read(&format!("{path}/name")).unwrap_or_else(|_| device.to_owned());
    let mut sensors: Vec<(String, String, Gauge)> = Vec::new();
    let mut error_at = None;
    let label =
        |kind: &str, n: u32| tree.read(&format!("{path}/{kind}{n}_label")).unwrap_or_else(|_| format!("{kind}{n}"));
    let energies: BTreeSet<u32> = numbers(&names, "energy", "_input").collect();
    for n in &energies {
        let file = format!("{path}/energy{n}_input");
        match tree.value(&file) {
            Ok(value) => sensors.push((label("energy", *n), file, Gauge::Counter(value))),
            Err(error) => error_at = Some((file, error)),
        }
    }
    // A driver may show both; the average misses nothing between two readings.
    let averages: BTreeSet<u32> = numbers(&names, "power", "_average").collect();
    let powers: BTreeSet<u32> = numbers(&names, "power", "_input").chain(averages.iter().copied()).collect();
    for n in &powers {
        let file = format!("{path}/power{n}_{}", if averages.contains(n) { "average" } else { "input" });
        match tree.value(&file) {
            Ok(value) => sensors.push((label("power", *n), file, Gauge::Power(value))),
            Err(error) => error_at = Some((file, error)),
        }
    }
    if powers.is_empty() && energies.is_empty() {
        let currents: BTreeSet<u32> = numbers(&names, "curr", "_input").collect();
        for n in numbers(&names, "in", "_input").filter(|n| currents.contains(n)) {
            let (current, voltage) = (format!("{path}/curr{n}_input"), format!("{path}/in{n}_input"));
            let place = format!("{current} × {voltage}");
            match (tree.value(&current), tree.value(&voltage)) {
                // mA times mV is a µW.
                (Ok(a), Ok(v)) => sensors.push((label("in", n), place, Gauge::CurrentVoltage(a, v, 1.0))),
                (Err(error), _) | (_, Err(error)) => error_at = Some((place, error)),
            }
        }
    }
    if let Some((file, error)) = error_at {
        found.lacks.push(Lack::of(Interface::Hwmon.as_str(), &file, &error, "the sensor does not answer"));
    }
    for (label, place, gauge) in sensors {
        let mut name = format!("{chip}/{label}");
        if found.domains.iter().any(|domain| domain.name == name) {
            name = format!("{chip}/{label} ({device})");
        }
        // The same chip may show the same rail as energy and as power.
        let same_as = gauge
            .is_power()
            .then(|| found.domains.iter().find(|domain| domain.place.starts_with(&format!("{path}/energy"))));
        let same_as = same_as.flatten().map(|domain| domain.name.clone());
        found.domains.push(Domain {
            name,
            part: Part::Sensor,
            parent: None,
            same_as,
            interface: Interface::Hwmon,
            place,
            gauge,
            range_uj: None,
            limit: None,
            step: None,
            duplicates: Vec::new(),
        });
    }
}
