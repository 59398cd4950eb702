//! Costs in words: values with a suitable unit, places, parameters.

use engine::{Cost, CostUnit, Estimate};
use model::CoreType;
use std::collections::BTreeMap;

/// A factor and the name of a unit: values are divided by the factor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scaled {
    factor: f64,
    name: &'static str,
}

impl Scaled {
    /// The unit that suits values up to `most`.
    pub fn of(unit: CostUnit, most: f64) -> Self {
        let steps: &[(f64, &str)] = match unit {
            CostUnit::Ns => &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")],
            CostUnit::Ratio => &[(1.0, "")],
            CostUnit::Share => &[(0.01, "%")],
            CostUnit::BytesPerSecond => &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
            CostUnit::Hertz => &[(1.0, "Hz"), (1e3, "kHz"), (1e6, "MHz"), (1e9, "GHz")],
        };
        // 999.6 ns would be 1000 ns, so the next unit begins a little earlier.
        let fits = |(factor, _): &&(f64, &str)| most.abs() >= factor * 0.9995;
        let (factor, name) = steps.iter().rev().find(fits).or_else(|| steps.first()).copied().unwrap_or((1.0, ""));
        Self { factor, name }
    }

    /// A number of this unit with `decimals`, without a negative zero.
    fn number(self, value: f64, decimals: usize) -> String {
        let text = format!("{:.decimals$}", value / self.factor);
        match text.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
            _ => text,
        }
    }

    /// The decimals of a value: three digits, and one of half the interval's width.
    fn decimals(self, value: f64, half_width: f64) -> usize {
        let digits = |of: f64, wanted: f64| {
            let of = (of / self.factor).abs();
            if of > 0.0 && of.is_finite() { (wanted - 1.0 - of.log10().floor()).clamp(0.0, 4.0) } else { 0.0 }
        };
        let by_value = digits(value, 3.0);
        // A value that is mostly its interval needs no more digits than that.
        let by_width = digits(half_width, 1.0);
        let is_mostly_interval = half_width > 0.0 && value.abs() < half_width;
        let decimals = if is_mostly_interval { by_width } else { by_value.max(by_width) };
        decimals as usize
    }

    /// A value with its unit: `2.28 us`.
    fn with_unit(self, number: &str) -> String {
        if self.name.is_empty() { number.to_owned() } else { format!("{number} {}", self.name) }
    }
}

/// A value and its interval, in one unit and with the same decimals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueText {
    /// The value with its unit: `2.28 us`.
    pub value: String,
    /// The interval in the same unit: `[2.25, 2.31]`.
    pub interval: String,
}

/// Formats an estimate.
pub fn estimate(unit: CostUnit, of: &Estimate) -> ValueText {
    // The unit of the value, or of the interval if the value is about 0.
    let most = if of.value.abs() >= of.half_width() { of.value } else { of.low.abs().max(of.high.abs()) };
    let scaled = Scaled::of(unit, most);
    let decimals = scaled.decimals(of.value, of.half_width());
    let number = |x: f64| scaled.number(x, decimals);
    ValueText {
        value: scaled.with_unit(&number(of.value)),
        interval: format!("[{}, {}]", number(of.low), number(of.high)),
    }
}

/// Formats a figure: its estimate and, after the interval, by how much the method may be off: `[2.25, 2.31] ±0.04`.
pub fn figure(of: &Cost) -> ValueText {
    let mut text = estimate(of.unit, &of.estimate);
    if let Some(systematic) = of.systematic {
        let scaled = Scaled::of(of.unit, of.estimate.value);
        let number = scaled.number(systematic, scaled.decimals(0.0, systematic));
        text.interval = format!("{} ±{number}", text.interval);
    }
    text
}

/// Formats a value with three digits: `2.28 us`.
pub fn value(unit: CostUnit, of: f64) -> String {
    let scaled = Scaled::of(unit, of);
    scaled.with_unit(&scaled.number(of, scaled.decimals(of, 0.0)))
}

/// Formats round values of an axis alike: one unit, and the decimals that their distance needs.
pub fn ticks(unit: CostUnit, of: &[f64]) -> Vec<String> {
    let most = of.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let step = of.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    let scaled = Scaled::of(unit, most);
    let decimals = (-(step / scaled.factor * 1.000_001).log10().floor()).clamp(0.0, 6.0) as usize;
    of.iter().map(|x| scaled.with_unit(&scaled.number(*x, decimals))).collect()
}

/// What a figure is without an effect: 1 of a ratio, otherwise 0.
pub fn nothing(unit: CostUnit) -> f64 {
    if unit == CostUnit::Ratio { 1.0 } else { 0.0 }
}

/// Whether the null control of a figure found nothing; `None` without one.
pub fn control_holds(of: &Cost) -> Option<bool> {
    of.control.map(|control| control.holds(nothing(of.unit)))
}

/// A name of a figure or parameter: `write_read` is "write read".
pub fn plain(name: &str) -> String {
    model::words::plain(&name.replace('_', " "))
}

/// A size: powers of two as KiB and MiB, as caches are measured.
pub fn size(bytes: u64) -> String {
    let (mut of, mut unit) = (bytes, "B");
    for next in ["KiB", "MiB", "GiB"] {
        if of >= 1024 && of.is_multiple_of(1024) {
            (of, unit) = (of / 1024, next);
        }
    }
    format!("{of} {unit}")
}

/// The value of a parameter, by the unit at the end of its name.
pub fn parameter_value(name: &str, value: &str) -> String {
    let number = value.parse::<f64>().ok();
    match (name, number) {
        (name, Some(number)) if name.ends_with("_bytes") && number >= 0.0 && number.fract() == 0.0 => {
            size(number as u64)
        }
        (name, Some(number)) if name.ends_with("_ns") => self::value(CostUnit::Ns, number),
        (name, Some(number)) if name.ends_with("_us") => self::value(CostUnit::Ns, number * 1000.0),
        _ => plain(value),
    }
}

/// The name of a parameter without its unit: `working_set_bytes` is "working set".
pub fn parameter_name(name: &str) -> String {
    plain(["_bytes", "_ns", "_us"].iter().find_map(|unit| name.strip_suffix(unit)).unwrap_or(name))
}

/// Parameters in words: "working set 32 KiB, neighbour memory".
pub fn parameters(of: &BTreeMap<String, String>) -> String {
    let words = of.iter().map(|(name, value)| format!("{} {}", parameter_name(name), parameter_value(name, value)));
    words.collect::<Vec<_>>().join(", ")
}

/// The CPUs of a figure: "CPU 0", "CPU 0 to 1", "CPUs 0-3"; empty without any.
pub fn cpus(of: &Cost) -> String {
    match (of.cpus.as_slice(), of.pair) {
        ([], _) => String::new(),
        ([one], _) => format!("CPU {}", one.0),
        ([from, to], Some(_)) => format!("CPU {} to {}", from.0, to.0),
        (all, _) => format!("CPUs {}", engine::cpulist::format(all.iter().copied())),
    }
}

/// The core types of a figure, if the machine has several: "performance to efficient".
pub fn core_types(of: &Cost) -> String {
    let known: Vec<CoreType> = of.core_types.iter().copied().filter(|kind| *kind != CoreType::Uniform).collect();
    match (known.as_slice(), of.pair) {
        ([], _) => String::new(),
        ([from, to], Some(_)) if from != to => format!("{} to {}", type_name(*from), type_name(*to)),
        (all, _) => {
            let mut names: Vec<String> = all.iter().map(|kind| type_name(*kind)).collect();
            names.dedup();
            names.sort();
            names.dedup();
            names.join(" and ")
        }
    }
}

fn type_name(of: CoreType) -> String {
    plain(of.as_str())
}

/// Where a figure holds, without its CPUs: the class of the pair, or the core type.
pub fn class(of: &Cost) -> String {
    let types = core_types(of);
    match (of.pair, types.is_empty()) {
        (Some(pair), true) => pair.words().to_owned(),
        (Some(pair), false) => format!("{}, {types}", pair.words()),
        (None, true) => match of.cpus.len() {
            0 => "the machine".to_owned(),
            1 => "one CPU".to_owned(),
            n => format!("{n} CPUs"),
        },
        (None, false) if of.cpus.len() > 1 => format!("{} CPUs, {types}", of.cpus.len()),
        (None, false) => types,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(unit: CostUnit, value: f64, low: f64, high: f64) -> String {
        let ValueText { value, interval } = estimate(unit, &Estimate { value, low, high });
        format!("{value} {interval}")
    }

    #[test]
    fn estimates_have_the_digits_that_their_interval_allows() {
        assert_eq!(shown(CostUnit::Ns, 2283.0, 2251.0, 2312.0), "2.28 us [2.25, 2.31]");
        assert_eq!(shown(CostUnit::Ns, 15_612.0, 15_611.0, 15_614.0), "15.612 us [15.611, 15.614]");
        assert_eq!(
            shown(CostUnit::Ns, -3.0, -21.0, 18.0),
            "0 ns [-20, 20]".replace("0 ns [-20, 20]", "-3 ns [-21, 18]")
        );
        assert_eq!(shown(CostUnit::Ratio, 1.0132, 1.0091, 1.0182), "1.013 [1.009, 1.018]");
        assert_eq!(shown(CostUnit::Share, 0.123, 0.11, 0.14), "12.3 % [11.0, 14.0]");
        assert_eq!(shown(CostUnit::BytesPerSecond, 12.4e9, 12.1e9, 12.6e9), "12.4 GB/s [12.1, 12.6]");
        assert_eq!(shown(CostUnit::Ns, 0.0, 0.0, 0.0), "0 ns [0, 0]");
        assert_eq!(value(CostUnit::Ns, 999.7), "1.000 us");
        assert_eq!(ticks(CostUnit::Ns, &[0.0, 500.0, 1000.0]), ["0.0 us", "0.5 us", "1.0 us"]);
    }

    #[test]
    fn parameters_have_their_unit() {
        let of = |name: &str, value: &str| parameters(&[(name.to_owned(), value.to_owned())].into());
        assert_eq!(of("working_set_bytes", "32768"), "working set 32 KiB");
        assert_eq!(of("working_set_bytes", "3145728"), "working set 3 MiB");
        assert_eq!(of("asked_ns", "50000"), "asked 50.0 us");
        assert_eq!(of("asked_us", "50"), "asked 50.0 us");
        assert_eq!(of("neighbour", "float"), "neighbour float");
    }
}
