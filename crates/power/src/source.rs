//! What a source of energy is, and why one is lacking.

use crate::perf::PerfCount;
use crate::tree::ValueFile;
use std::io;

/// What part of a machine a domain is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The whole platform, as the power supply sees it (`psys`).
    Platform,
    /// A processor package.
    Package,
    /// The cores of a package.
    Core,
    /// What of a package is not core: on client processors, the graphics.
    Uncore,
    /// The memory.
    Dram,
    /// A battery, so all that it supplies.
    Battery,
    /// A sensor of a rail or a device.
    Sensor,
    /// A domain with another name.
    Other,
}

impl Part {
    /// Returns the part for RAPL's name of a domain, in powercap (`package-0`, `core`, `uncore`, `dram`, `psys`; `package-0-die-1` on
    /// processors with several dies) or in the power PMU (`energy-pkg`, `energy-cores`, `energy-gpu`, `energy-ram`, `energy-psys`).
    #[must_use]
    pub fn of_rapl(name: &str) -> Self {
        match name.strip_prefix("energy-").unwrap_or(name) {
            "core" | "cores" => Self::Core,
            "uncore" | "gpu" => Self::Uncore,
            "dram" | "ram" => Self::Dram,
            "psys" => Self::Platform,
            "pkg" => Self::Package,
            name if name.starts_with("package") => Self::Package,
            _ => Self::Other,
        }
    }

    /// Returns its name in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Package => "package",
            Self::Core => "core",
            Self::Uncore => "uncore",
            Self::Dram => "dram",
            Self::Battery => "battery",
            Self::Sensor => "sensor",
            Self::Other => "other",
        }
    }
}

/// The interface by which a domain is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Interface {
    /// RAPL, `/sys/class/powercap`.
    Powercap,
    /// RAPL, the power PMU.
    PowerPmu,
    /// `/sys/class/power_supply`.
    PowerSupply,
    /// `/sys/class/hwmon`.
    Hwmon,
}

impl Interface {
    /// Returns its name in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Powercap => "RAPL by powercap",
            Self::PowerPmu => "RAPL by the power PMU",
            Self::PowerSupply => "battery by power_supply",
            Self::Hwmon => "sensors by hwmon",
        }
    }
}

/// Files or a counter from which energy follows.
#[derive(Debug)]
pub enum Gauge {
    /// Energy used so far, in µJ.
    Counter(ValueFile),
    /// Energy used so far, as the kernel counts it.
    Perf(PerfCount),
    /// Energy left in a battery, in µWh.
    Left(ValueFile),
    /// Charge left in a battery in µAh, and its voltage in µV.
    Charge(ValueFile, ValueFile),
    /// Power in µW.
    Power(ValueFile),
    /// Current and voltage, and how many of their products are a µW: 1 for mA and mV, 1e6 for µA and µV.
    CurrentVoltage(ValueFile, ValueFile, f64),
}

/// What was read of a gauge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Energy used so far, in µJ.
    Used(f64),
    /// Energy left, in µJ.
    Left(f64),
    /// Charge left in µAh, and the voltage in V.
    Charge(f64, f64),
    /// Power in µW.
    Power(f64),
}

/// How often a value of two files is read again, if one of them changes meanwhile.
const ATTEMPTS: usize = 4;
/// A watt-hour is 3,600 J.
const UJ_PER_UWH: f64 = 3600.0;

impl Gauge {
    /// Reads it.
    ///
    /// # Errors
    /// A file cannot be read, or a value of two files changed in the middle of each attempt.
    pub fn read(&self) -> io::Result<Value> {
        Ok(match self {
            Self::Counter(file) => Value::Used(file.read()? as f64),
            Self::Perf(count) => Value::Used(count.microjoules()?),
            Self::Left(file) => Value::Left(file.read()? as f64 * UJ_PER_UWH),
            Self::Charge(charge, voltage) => {
                let (charge, voltage) = pair(charge, voltage)?;
                Value::Charge(charge, voltage * 1e-6)
            }
            // Negative while a battery is discharged, by some drivers.
            Self::Power(file) => Value::Power((file.read()? as f64).abs()),
            Self::CurrentVoltage(current, voltage, per_uw) => {
                let (current, voltage) = pair(current, voltage)?;
                Value::Power((current * voltage / per_uw).abs())
            }
        })
    }

    /// Whether energy follows from its power over time, rather than from a counter.
    #[must_use]
    pub fn is_power(&self) -> bool {
        matches!(self, Self::Power(_) | Self::CurrentVoltage(..))
    }
}

/// Reads two files of one value twice, until both readings agree: an update in between would pair the old charge with the new voltage.
fn pair(a: &ValueFile, b: &ValueFile) -> io::Result<(f64, f64)> {
    let mut last = (a.read()?, b.read()?);
    for _ in 0..ATTEMPTS {
        let next = (a.read()?, b.read()?);
        if next == last {
            return Ok((next.0 as f64, next.1 as f64));
        }
        last = next;
    }
    let what = format!("{} and {} changed while they were read, {ATTEMPTS} times", a.path(), b.path());
    Err(io::Error::new(io::ErrorKind::Interrupted, what))
}

/// A domain whose energy can be measured.
#[derive(Debug)]
pub struct Domain {
    /// Its name, unique among the domains of a machine: `package-0`, `package-0/core`, `BAT0`, `ina226/VDD_CPU`.
    pub name: String,
    /// What part of the machine it is.
    pub part: Part,
    /// The domain that contains it.
    pub parent: Option<String>,
    /// The domain that is the same by another reading (a battery's power, compared with its energy): never to be summed with it.
    pub same_as: Option<String>,
    /// The interface.
    pub interface: Interface,
    /// The file or event that is read.
    pub place: String,
    /// How it is read.
    pub gauge: Gauge,
    /// The value at which the counter wraps to 0, µJ.
    pub range_uj: Option<f64>,
    /// The greatest power limit that the machine states for it (µW), and the file.
    pub limit: Option<(f64, String)>,
    /// The step of its values, µJ or µW, where the interface states it.
    pub step: Option<f64>,
    /// The other interfaces that show the same domain, which are not counted again.
    pub duplicates: Vec<String>,
}

/// A source that this machine lacks, or that may not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lack {
    /// The source: `RAPL by powercap`.
    pub source: String,
    /// Why, and what to do: one sentence.
    pub why: String,
    /// Whether it exists, but this process may not read it.
    pub rights: bool,
}

impl Lack {
    /// Describes a source that could not be read at `path`. `absent`: the sentence if it does not exist.
    #[must_use]
    pub fn of(source: &str, path: &str, error: &io::Error, absent: &str) -> Self {
        let rights = is_rights(error);
        let why = match error.kind() {
            io::ErrorKind::NotFound => format!("{path} does not exist: {absent}"),
            _ if rights => format!(
                "{path} may only be read by root: run as root, or let root permit it (`chmod a+r`, which has a risk, see docs/power.md)"
            ),
            _ => format!("{path}: {error}"),
        };
        Self { source: source.to_owned(), why, rights }
    }
}

/// Whether an error is a lack of rights.
pub(crate) fn is_rights(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied || error.raw_os_error() == Some(libc::EPERM)
}

/// The sources of a machine.
#[derive(Debug, Default)]
pub struct Found {
    /// The domains that can be read.
    pub domains: Vec<Domain>,
    /// What is lacking.
    pub lacks: Vec<Lack>,
    /// What is notable about the sources, a sentence each.
    pub notes: Vec<String>,
}
