//! Batteries (the kernel's Documentation/ABI/testing/sysfs-class-power: energy in µWh, charge in µAh, voltage in µV, power in µW).

use crate::source::{Domain, Found, Gauge, Interface, Lack, Part};
use crate::tree::{Tree, ValueFile};

const DIR: &str = "/sys/class/power_supply";

/// The state of a battery.
#[derive(Clone, PartialEq, Debug)]
pub struct Charge {
    /// Its name: `BAT0`.
    pub name: String,
    /// Percent that are left, in steps of 1.
    pub percent: i64,
    /// Whether it supplies the machine now.
    pub discharging: bool,
    /// The kernel's word: `Discharging`, `Charging`, `Full`, `Not charging`.
    pub status: String,
}

/// Returns the names of the batteries.
///
/// # Errors
/// There is no list of power supplies.
pub fn names(tree: &Tree) -> std::io::Result<Vec<String>> {
    let is_battery = |name: &String| {
        // A mouse or a pen has a battery too, with the scope "Device".
        let of = |file: &str| tree.read(&format!("{DIR}/{name}/{file}")).unwrap_or_default();
        of("type") == "Battery" && of("scope") != "Device"
    };
    Ok(tree.list(DIR)?.into_iter().filter(is_battery).collect())
}

/// Reads the state of a battery.
///
/// # Errors
/// Its files cannot be read.
pub fn charge(tree: &Tree, name: &str) -> std::io::Result<Charge> {
    let percent = tree.number(&format!("{DIR}/{name}/capacity"))?;
    let status = tree.read(&format!("{DIR}/{name}/status"))?;
    Ok(Charge { name: name.to_owned(), percent, discharging: status == "Discharging", status })
}

/// Finds the batteries.
pub fn find(tree: &Tree, found: &mut Found) {
    let source = Interface::PowerSupply.as_str();
    let names = match names(tree) {
        Ok(names) => names,
        Err(error) => {
            let absent = "the kernel has no power supplies; measure at the plug instead";
            return found.lacks.push(Lack::of(source, DIR, &error, absent));
        }
    };
    if names.is_empty() {
        let why = format!("{DIR} has no battery: this machine has none, or a guest does not see it");
        found.lacks.push(Lack { source: source.to_owned(), why, rights: false });
    }
    for name in names {
        let value = |file: &str| tree.value(&format!("{DIR}/{name}/{file}"));
        let voltage = || value("voltage_now");
        let energy = energy(value("energy_now"), value("charge_now"), voltage());
        let power = match (value("power_now"), value("current_now"), voltage()) {
            (Ok(power), ..) => Some(Gauge::Power(power)),
            // µA times µV is a millionth of a µW.
            (_, Ok(current), Ok(voltage)) => Some(Gauge::CurrentVoltage(current, voltage, 1e6)),
            _ => None,
        };
        let both = energy.is_some() && power.is_some();
        if energy.is_none() && power.is_none() {
            let why = format!("{DIR}/{name} shows neither energy, charge nor power: only --battery, by its percents");
            found.lacks.push(Lack { source: source.to_owned(), why, rights: false });
        }
        let domain = |gauge: Gauge, name: String, same_as: Option<String>| {
            let place = match &gauge {
                Gauge::Charge(a, b) | Gauge::CurrentVoltage(a, b, _) => format!("{} × {}", a.path(), b.path()),
                Gauge::Left(file) | Gauge::Power(file) | Gauge::Counter(file) => file.path().to_owned(),
                Gauge::Perf(_) => String::new(),
            };
            let (part, interface) = (Part::Battery, Interface::PowerSupply);
            Domain {
                name,
                part,
                parent: None,
                same_as,
                interface,
                place,
                gauge,
                range_uj: None,
                limit: None,
                step: None,
                duplicates: vec![],
            }
        };
        found.domains.extend(energy.map(|gauge| domain(gauge, name.clone(), None)));
        let power_name = if both { format!("{name}/power_now") } else { name.clone() };
        found.domains.extend(power.map(|gauge| domain(gauge, power_name, both.then(|| name.clone()))));
    }
}

type Read = std::io::Result<ValueFile>;

fn energy(energy: Read, charge: Read, voltage: Read) -> Option<Gauge> {
    match (energy, charge, voltage) {
        (Ok(energy), ..) => Some(Gauge::Left(energy)),
        (_, Ok(charge), Ok(voltage)) => Some(Gauge::Charge(charge, voltage)),
        _ => None,
    }
}
