//! Temperature, throttling and frequency while something runs.

use crate::idle::online;
use crate::meters::now;
use crate::perf::PerfCount;
use crate::source::Lack;
use crate::tree::{Tree, ValueFile};
use model::Ns;

const CPUS: &str = "/sys/devices/system/cpu";
const THERMAL: &str = "/sys/class/thermal";
const HWMON: &str = "/sys/class/hwmon";
/// The maximum number of sensors of temperature.
const MAX_SENSORS: usize = 128;
/// Readings of one kind take at most this part of the time: some drivers interrupt each CPU when its frequency is read.
const MAX_COST: i64 = 100;

/// The least, mean and greatest of values, each reading weighing the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span3 {
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
    /// How many readings.
    pub readings: u64,
}

#[derive(Debug, Default)]
struct Sum {
    min: f64,
    sum: f64,
    max: f64,
    n: u64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        (self.min, self.max) = if self.n == 0 { (value, value) } else { (self.min.min(value), self.max.max(value)) };
        (self.sum, self.n) = (self.sum + value, self.n + 1);
    }

    fn take(&mut self) -> Option<Span3> {
        let Self { min, sum, max, n: readings } = std::mem::take(self);
        (readings > 0).then(|| Span3 { min, mean: sum / readings as f64, max, readings })
    }
}

/// Values that are read now and then.
#[derive(Debug, Default)]
struct Sampled {
    files: Vec<(String, ValueFile, Sum)>,
    scale: f64,
    /// When they may be read next.
    next: Ns,
}

impl Sampled {
    fn read(&mut self) {
        let begin = now();
        if begin < self.next {
            return;
        }
        for (_, file, sum) in &mut self.files {
            // A CPU that is idle has no frequency of the last moment (EAGAIN).
            if let Ok(value) = file.read() {
                sum.add(value as f64 * self.scale);
            }
        }
        self.next = Ns(begin.0 + (now() - begin).0.saturating_mul(MAX_COST));
    }

    fn take(&mut self) -> Vec<(String, Span3)> {
        self.next = Ns::ZERO;
        self.files.iter_mut().filter_map(|(name, _, sum)| Some((name.clone(), sum.take()?))).collect()
    }
}

/// Counts of cycles of a CPU, and where they began.
#[derive(Debug)]
struct Cycles {
    counts: [PerfCount; 3],
    begin: Option<[u64; 3]>,
    at: Ns,
}

/// A count of throttling and where it began.
#[derive(Debug)]
struct Throttle {
    of: &'static str,
    file: ValueFile,
    begin: Option<i64>,
}

/// What a machine's state is read from.
#[derive(Debug, Default)]
pub struct Condition {
    temperatures: Sampled,
    frequencies: Sampled,
    throttles: Vec<Throttle>,
    cycles: Vec<(u32, Cycles)>,
    /// What is lacking.
    pub lacks: Vec<Lack>,
}

/// What was read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conditions {
    /// Degrees Celsius, by sensor.
    pub temperatures: Vec<(String, Span3)>,
    /// MHz, by cpufreq policy.
    pub frequencies: Vec<(String, Span3)>,
    /// MHz while not idle, by CPU: from APERF and MPERF.
    pub effective: Vec<(u32, f64)>,
    /// How often cores and packages were throttled for their temperature; `None`: not counted by this machine.
    pub throttled: Vec<(&'static str, i64)>,
}

impl Condition {
    /// Finds what there is.
    #[must_use]
    pub fn find(tree: &Tree) -> Self {
        let with_sum = |(name, file)| (name, file, Sum::default());
        let temperatures = |tree: &Tree| sensors(tree).into_iter().map(with_sum).collect();
        let sampled = |files| Sampled { files, scale: 1e-3, next: Ns::ZERO };
        let (temperatures, frequencies) = (sampled(temperatures(tree)), sampled(frequencies(tree)));
        let mut condition = Self { temperatures, frequencies, ..Self::default() };
        if condition.temperatures.files.is_empty() {
            condition.lack("temperature", format!("{THERMAL} and {HWMON} have no sensor (a guest has none)"));
        }
        condition.find_cycles(tree);
        if condition.frequencies.files.is_empty() && condition.cycles.is_empty() {
            let why =
                format!("{CPUS}/cpufreq has no policy, and the PMU msr has no aperf and mperf (a guest has neither)");
            condition.lack("frequency", why);
        }
        condition.find_throttles(tree);
        if condition.throttles.is_empty() {
            condition.lack(
                "throttling",
                format!("{CPUS}/cpu*/thermal_throttle does not exist (only Intel's processors have it)"),
            );
        }
        condition
    }

    fn lack(&mut self, source: &str, why: String) {
        self.lacks.push(Lack { source: source.to_owned(), why, rights: false });
    }

    fn find_cycles(&mut self, tree: &Tree) {
        for cpu in online(tree) {
            let open = |event: &str| PerfCount::open(tree, "msr", event, cpu);
            let (Ok(aperf), Ok(mperf), Ok(tsc)) = (open("aperf"), open("mperf"), open("tsc")) else { return };
            self.cycles.push((cpu, Cycles { counts: [aperf, mperf, tsc], begin: None, at: Ns::ZERO }));
        }
    }

    fn find_throttles(&mut self, tree: &Tree) {
        let mut packages = Vec::new();
        for cpu in online(tree) {
            let dir = format!("{CPUS}/cpu{cpu}");
            let mut add = |of, file: &str| {
                let file = tree.value(&format!("{dir}/thermal_throttle/{file}"));
                self.throttles.extend(file.ok().map(|file| Throttle { of, file, begin: None }));
            };
            // Siblings show the count of their core, and all CPUs that of their package.
            let place = |file: &str| tree.number(&format!("{dir}/topology/{file}")).unwrap_or(-1);
            let (package, core) = (place("physical_package_id"), place("core_id"));
            if !packages.contains(&(package, Some(core))) {
                packages.push((package, Some(core)));
                add("cores", "core_throttle_count");
            }
            if !packages.contains(&(package, None)) {
                packages.push((package, None));
                add("packages", "package_throttle_count");
            }
        }
    }

    /// Begins.
    pub fn begin(&mut self) {
        let _ = (self.temperatures.take(), self.frequencies.take());
        for throttle in &mut self.throttles {
            throttle.begin = throttle.file.read().ok();
        }
        for (_, cycles) in &mut self.cycles {
            (cycles.begin, cycles.at) = (cycles.read(), now());
        }
        self.read();
    }

    /// Reads temperatures and frequencies.
    pub fn read(&mut self) {
        self.temperatures.read();
        self.frequencies.read();
    }

    /// Ends, and returns what was read since [`Self::begin`].
    pub fn end(&mut self) -> Conditions {
        self.read();
        let mut throttled: Vec<(&'static str, i64)> = Vec::new();
        for throttle in &self.throttles {
            let (Some(begin), Ok(end)) = (throttle.begin, throttle.file.read()) else { continue };
            let count = (end - begin).max(0);
            match throttled.iter_mut().find(|(of, _)| *of == throttle.of) {
                Some((_, sum)) => *sum += count,
                None => throttled.push((throttle.of, count)),
            }
        }
        Conditions {
            temperatures: self.temperatures.take(),
            frequencies: self.frequencies.take(),
            effective: self.cycles.iter().filter_map(|(cpu, cycles)| Some((*cpu, cycles.mhz()?))).collect(),
            throttled,
        }
    }
}

impl Cycles {
    fn read(&self) -> Option<[u64; 3]> {
        let [aperf, mperf, tsc] = &self.counts;
        Some([aperf.read().ok()?, mperf.read().ok()?, tsc.read().ok()?])
    }

    /// APERF counts the cycles of a CPU while it is not idle, MPERF at the rate of the time-stamp counter (Intel SDM, volume 3, "IA32_MPERF and
    /// IA32_APERF"); the rate is measured.
    fn mhz(&self) -> Option<f64> {
        let (begin, end, ns) = (self.begin?, self.read()?, (now() - self.at).0);
        let [aperf, mperf, tsc] = std::array::from_fn(|at| end[at].saturating_sub(begin[at]) as f64);
        (mperf > 0.0 && ns > 0).then(|| aperf / mperf * tsc / ns as f64 * 1e3)
    }
}

/// Finds the sensors of temperature, thousandths of a degree Celsius, with their names, which need not be unique.
#[must_use]
pub fn sensors(tree: &Tree) -> Vec<(String, ValueFile)> {
    let mut found = Vec::new();
    for zone in tree.list(THERMAL).unwrap_or_default().iter().filter(|name| name.starts_with("thermal_zone")) {
        let name = tree.read(&format!("{THERMAL}/{zone}/type")).unwrap_or_else(|_| zone.clone());
        found.extend(tree.value(&format!("{THERMAL}/{zone}/temp")).ok().map(|file| (name, file)));
    }
    for device in tree.list(HWMON).unwrap_or_default() {
        let path = format!("{HWMON}/{device}");
        let chip = tree.read(&format!("{path}/name")).unwrap_or_else(|_| device.clone());
        for file in tree.list(&path).unwrap_or_default() {
            let Some(number) = file.strip_prefix("temp").and_then(|rest| rest.strip_suffix("_input")) else { continue };
            let label = tree.read(&format!("{path}/temp{number}_label")).unwrap_or_else(|_| format!("temp{number}"));
            let value = tree.value(&format!("{path}/{file}")).ok();
            found.extend(value.map(|file| (format!("{chip}/{label}"), file)));
        }
    }
    found.truncate(MAX_SENSORS);
    found
}

/// The frequency of each policy: the average of the last milliseconds where the driver has it, or else what it sets.
fn frequencies(tree: &Tree) -> Vec<(String, ValueFile, Sum)> {
    let dir = format!("{CPUS}/cpufreq");
    let policies = tree.list(&dir).unwrap_or_default();
    let file = |policy: &String| {
        let files = ["cpuinfo_avg_freq", "scaling_cur_freq"].map(|file| format!("{dir}/{policy}/{file}"));
        let exists = |path: &&String| tree.read(path).map_or_else(|e| e.raw_os_error() == Some(libc::EAGAIN), |_| true);
        let path = files.iter().find(exists)?;
        Some((policy.clone(), tree.value_later(path).ok()?, Sum::default()))
    };
    policies.iter().filter(|name| name.starts_with("policy")).filter_map(file).collect()
}
