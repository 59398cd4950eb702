//! The state of the machine while a run is recorded: what a recording does not have.

use std::path::{Path, PathBuf};

/// Values at the start of a run.
pub struct Watch {
    frequencies: Vec<PathBuf>,
    /// The sum and the number of frequencies read, kHz.
    read: (f64, u32),
    throttled: Option<u64>,
    waited_us: Option<u64>,
    started: std::time::Instant,
    /// The load average of one minute at the start.
    pub load_average: Option<f64>,
}

/// What changed during a run.
pub struct Watched {
    /// The mean frequency, kHz.
    pub frequency_khz: Option<f64>,
    /// How often cores and packages were throttled.
    pub throttled: Option<u64>,
    /// The share of the time in which some thread waited for a CPU, 0 to 1.
    pub cpu_pressure: Option<f64>,
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns what exists of a file in each folder below `folder` whose name begins with `prefix`.
fn files(folder: &str, prefix: &str, file: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)));
    let mut all: Vec<PathBuf> = of.map(|entry| entry.path().join(file)).filter(|path| path.exists()).collect();
    all.sort();
    all
}

/// Returns the sum of all counters of thermal throttling; `None` if there are none. Those of packages are in every CPU's folder, so the
/// sum is not a number of events, but it grows with each.
fn throttled() -> Option<u64> {
    let counters = ["core_throttle_count", "package_throttle_count"]
        .into_iter()
        .flat_map(|name| files("/sys/devices/system/cpu", "cpu", &format!("thermal_throttle/{name}")));
    counters.filter_map(|path| number::<u64>(&path)).reduce(|a, b| a.saturating_add(b))
}

/// Returns for how long some thread waited for a CPU since boot, us (`total=` of the line `some`).
fn waited_us(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

fn pressure() -> Option<u64> {
    waited_us(&std::fs::read_to_string("/proc/pressure/cpu").ok()?)
}

impl Watch {
    /// Reads the values at the start.
    pub fn start() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        Self {
            frequencies: files("/sys/devices/system/cpu/cpufreq", "policy", "scaling_cur_freq"),
            read: (0.0, 0),
            throttled: throttled(),
            waited_us: pressure(),
            started: std::time::Instant::now(),
            load_average: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }

    /// Reads the frequencies.
    pub fn tick(&mut self) {
        for khz in self.frequencies.iter().filter_map(|path| number::<f64>(path)) {
            self.read = (self.read.0 + khz, self.read.1 + 1);
        }
    }

    /// Reads the values at the end.
    pub fn end(self) -> Watched {
        let grown = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let us = self.started.elapsed().as_secs_f64() * 1e6;
        Watched {
            frequency_khz: (self.read.1 > 0).then(|| self.read.0 / f64::from(self.read.1)),
            throttled: grown(self.throttled, throttled()),
            cpu_pressure: grown(self.waited_us, pressure()).map(|waited| (waited as f64 / us).clamp(0.0, 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pressure_is_that_of_some_threads() {
        let text =
            "some avg10=1.53 avg60=2.11 avg300=3.00 total=8123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(waited_us(text), Some(8_123_456));
        assert_eq!(waited_us("full avg10=0.00 total=7\n"), None);
    }
}
