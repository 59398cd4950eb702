//! Machines that are handed in as trees of files.

use power::{Condition, Found, Idle, Interface, Meters, Part, Tree, find};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

struct Machine(tempfile::TempDir);

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| machine.write(path, text));
        machine
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn tree(&self) -> Tree {
        Tree::open(self.0.path()).unwrap()
    }

    fn found(&self) -> Found {
        find(&self.tree())
    }
}

fn names(found: &Found) -> Vec<&str> {
    found.domains.iter().map(|domain| domain.name.as_str()).collect()
}

const CAP: &str = "/sys/class/powercap";

fn zone(machine: &Machine, zone: &str, name: &str) {
    // Flat, as in /sys/class; the links there lead to folders within folders.
    let device = format!("/sys/devices/virtual/powercap/{zone}");
    machine.write(&format!("{device}/name"), name);
    machine.write(&format!("{device}/energy_uj"), "1000000");
    machine.write(&format!("{device}/max_energy_range_uj"), "262143328850");
    std::fs::create_dir_all(machine.path(CAP)).unwrap();
    symlink(format!("../../devices/virtual/powercap/{zone}"), machine.path(&format!("{CAP}/{zone}"))).unwrap();
}

#[test]
fn zones_of_powercap_are_domains_and_a_package_that_two_control_types_show_is_one() {
    let machine = Machine::new(&[]);
    for (id, name) in [
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "uncore"),
        ("intel-rapl:1", "package-1"),
        ("intel-rapl:1:0", "dram"),
        ("intel-rapl:2", "psys"),
        ("intel-rapl-mmio:0", "package-0"),
    ] {
        zone(&machine, id, name);
    }
    machine.write("/sys/devices/virtual/powercap/intel-rapl:0/constraint_0_power_limit_uw", "28000000");
    machine.write("/sys/devices/virtual/powercap/intel-rapl:0/constraint_1_power_limit_uw", "64000000");
    machine.write("/sys/devices/virtual/powercap/intel-rapl:0/constraint_0_max_power_uw", "28000000");
    let found = machine.found();
    let expected = ["package-0", "package-0/core", "package-0/uncore", "package-1", "package-1/dram", "psys"];
    assert_eq!(names(&found), expected);
    let package = &found.domains[0];
    assert_eq!(package.duplicates, ["powercap intel-rapl-mmio:0"]);
    let (limit, file) = package.limit.clone().unwrap();
    assert_eq!((limit, file.rsplit('/').next().unwrap()), (64e6, "constraint_1_power_limit_uw"));
    assert_eq!(package.range_uj, Some(262_143_328_850.0));
    assert_eq!(found.domains[1].parent.as_deref(), Some("package-0"));
    let parts: Vec<Part> = found.domains.iter().map(|domain| domain.part).collect();
    assert_eq!(parts, [Part::Package, Part::Core, Part::Uncore, Part::Package, Part::Dram, Part::Platform]);
}

#[test]
fn the_power_pmu_replaces_what_powercap_lacks_and_repeats_nothing() {
    let pmu = "/sys/bus/event_source/devices/power";
    let machine = Machine::new(&[]);
    zone(&machine, "intel-rapl:0", "package-0");
    machine.write(&format!("{pmu}/cpumask"), "0");
    machine.write("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
    for (event, count) in [("energy-pkg", "4294967296"), ("energy-cores", "8589934592")] {
        machine.write(&format!("{pmu}/events/{event}"), "event=0x02");
        machine.write(&format!("{pmu}/events/{event}.scale"), "2.3283064365386962890625e-10");
        machine.write(&format!("{pmu}/events/{event}.unit"), "Joules");
        machine.write(&format!("{pmu}/counts/cpu0/{event}"), count);
    }
    let found = machine.found();
    assert_eq!(names(&found), ["package-0", "package-0/core"]);
    assert_eq!(found.domains[0].duplicates, ["power/energy-pkg/ on CPU 0"]);
    assert_eq!(found.domains[1].interface, Interface::PowerPmu);
    assert_eq!(found.domains[1].gauge.read().unwrap(), power::Value::Used(2e6));
    machine.write(&format!("{pmu}/events/energy-cores.unit"), "Watts");
    let found = machine.found();
    assert_eq!(names(&found), ["package-0"]);
    assert!(found.lacks.iter().any(|lack| lack.why.contains("instead of Joules")), "{:?}", found.lacks);
}

#[test]
fn batteries_show_energy_or_charge_and_their_power_is_the_same_domain() {
    let dir = "/sys/class/power_supply";
    let machine = Machine::new(&[]);
    for (file, text) in [("type", "Battery"), ("energy_now", "40000000"), ("power_now", "9000000")] {
        machine.write(&format!("{dir}/BAT0/{file}"), text);
    }
    for (file, text) in
        [("type", "Battery"), ("charge_now", "3000000"), ("voltage_now", "11500000"), ("current_now", "-800000")]
    {
        machine.write(&format!("{dir}/BAT1/{file}"), text);
    }
    machine.write(&format!("{dir}/AC/type"), "Mains");
    for (file, text) in [("type", "Battery"), ("scope", "Device"), ("energy_now", "1")] {
        machine.write(&format!("{dir}/mouse/{file}"), text);
    }
    let found = machine.found();
    assert_eq!(names(&found), ["BAT0", "BAT0/power_now", "BAT1", "BAT1/power_now"]);
    let values: Vec<power::Value> = found.domains.iter().map(|domain| domain.gauge.read().unwrap()).collect();
    use power::Value::{Charge, Left, Power};
    assert_eq!(values, [Left(144_000e6), Power(9e6), Charge(3e6, 11.5), Power(9.2e6)]);
    assert_eq!(found.domains[1].same_as.as_deref(), Some("BAT0"));
}

#[test]
fn sensors_prefer_energy_then_power_then_voltage_times_current() {
    let machine = Machine::new(&[
        ("/sys/class/hwmon/hwmon0/name", "ina226"),
        ("/sys/class/hwmon/hwmon0/power1_input", "5000000"),
        ("/sys/class/hwmon/hwmon0/in1_input", "5000"),
        ("/sys/class/hwmon/hwmon0/curr1_input", "900"),
        ("/sys/class/hwmon/hwmon1/name", "ina3221"),
        ("/sys/class/hwmon/hwmon1/in1_label", "VDD_CPU"),
        ("/sys/class/hwmon/hwmon1/in1_input", "5000"),
        ("/sys/class/hwmon/hwmon1/curr1_input", "900"),
        ("/sys/class/hwmon/hwmon1/in2_input", "5000"),
        ("/sys/class/hwmon/hwmon2/name", "power_meter"),
        ("/sys/class/hwmon/hwmon2/power1_average", "150000000"),
        ("/sys/class/hwmon/hwmon2/energy1_input", "123000000"),
        ("/sys/class/hwmon/hwmon3/name", "ina226"),
        ("/sys/class/hwmon/hwmon3/power1_input", "6000000"),
    ]);
    let found = machine.found();
    let expected =
        ["ina226/power1", "ina3221/VDD_CPU", "power_meter/energy1", "power_meter/power1", "ina226/power1 (hwmon3)"];
    assert_eq!(names(&found), expected);
    assert_eq!(found.domains[1].gauge.read().unwrap(), power::Value::Power(4.5e6));
    assert_eq!(found.domains[3].same_as.as_deref(), Some("power_meter/energy1"));
}

#[test]
fn a_machine_without_sources_has_a_sentence_for_each() {
    let found = Machine::new(&[]).found();
    assert!(found.domains.is_empty());
    let sources: Vec<&str> = found.lacks.iter().map(|lack| lack.source.as_str()).collect();
    assert_eq!(
        sources,
        ["RAPL by powercap", "RAPL by the power PMU", "battery by power_supply", "sensors by hwmon"],
        "{:?}",
        found.lacks
    );
    assert!(found.lacks.iter().all(|lack| !lack.rights && lack.why.contains("does not exist")));
}

#[test]
fn counters_that_only_root_may_read_are_said_with_what_to_do() {
    let machine = Machine::new(&[]);
    zone(&machine, "intel-rapl:0", "package-0");
    zone(&machine, "intel-rapl:0:0", "core");
    for zone in ["intel-rapl:0", "intel-rapl:0:0"] {
        let path = machine.path(&format!("/sys/devices/virtual/powercap/{zone}/energy_uj"));
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    std::fs::set_permissions(machine.0.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let tree = machine.tree();
    // Root may read everything. The system call itself, unlike libc's function, changes the user of this thread only.
    let as_user = move || {
        const NOBODY: i32 = 65534;
        // SAFETY: no memory is involved.
        let done = unsafe { libc::geteuid() != 0 || libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0 };
        assert!(done);
        find(&tree)
    };
    let found = std::thread::spawn(as_user).join().unwrap();
    assert_eq!(found.lacks[0].why.matches("run as root").count(), 1, "{:?}", found.lacks);
    assert!(found.lacks[0].rights && found.lacks[0].why.contains("1 more zones"), "{:?}", found.lacks);
}

#[test]
fn filtered_energy_is_noted_by_sgx() {
    let machine = Machine::new(&[("/proc/cpuinfo", "flags\t\t: fpu sgx sgx_lc")]);
    assert!(machine.found().notes.is_empty(), "without RAPL it has no meaning");
    zone(&machine, "intel-rapl:0", "package-0");
    assert!(machine.found().notes[0].contains("50 %"), "{:?}", machine.found().notes);
    machine.write("/proc/cpuinfo", "flags\t\t: fpu sgx_lc");
    assert!(machine.found().notes.is_empty());
}

#[test]
fn idle_states_are_summed_over_cpus_and_compared_with_the_hardware() {
    let machine = Machine::new(&[("/sys/devices/system/cpu/online", "0-1")]);
    let state = |cpu: u32, n: u32, file: &str, text: &str| {
        machine.write(&format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{n}/{file}"), text);
    };
    for cpu in 0..2 {
        for (n, name, residency) in [(0, "POLL", "0"), (1, "C6", "600")] {
            for (file, text) in
                [("name", name), ("residency", residency), ("time", "1000"), ("usage", "10"), ("above", "1")]
            {
                state(cpu, n, file, text);
            }
        }
    }
    let pmus = "/sys/bus/event_source/devices";
    machine.write(&format!("{pmus}/cstate_core/cpumask"), "0-1");
    machine.write(&format!("{pmus}/cstate_core/events/c6-residency"), "event=0x02");
    machine.write(&format!("{pmus}/msr/events/tsc"), "event=0x00");
    let counts = |tsc: &str, c6: [&str; 2]| {
        machine.write(&format!("{pmus}/msr/counts/cpu0/tsc"), tsc);
        machine.write(&format!("{pmus}/cstate_core/counts/cpu0/c6-residency"), c6[0]);
        machine.write(&format!("{pmus}/cstate_core/counts/cpu1/c6-residency"), c6[1]);
    };
    counts("1000", ["50", "60"]);
    let mut idle = Idle::find(&machine.tree());
    idle.begin();
    state(0, 1, "time", "901000");
    state(0, 1, "usage", "110");
    state(0, 1, "above", "31");
    state(1, 1, "time", "801000");
    counts("2000", ["550", "360"]);
    let states = idle.since_begin();
    let c6 = &states[1];
    assert_eq!((c6.name.as_str(), c6.time_us, c6.usage, c6.above, c6.rejected), ("C6", 1_700_000, 100, Some(30), None));
    assert_eq!((c6.residency_us, c6.cpus, states[0].time_us), (Some(600), 2, 0));
    assert_eq!(idle.resident(), [power::Resident { event: "cstate_core/c6-residency/".into(), share: 0.4 }]);
}

#[test]
fn conditions_have_the_least_the_mean_and_the_greatest() {
    let cpu = "/sys/devices/system/cpu";
    let machine = Machine::new(&[("/sys/devices/system/cpu/online", "0-3")]);
    machine.write("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp");
    machine.write("/sys/class/thermal/thermal_zone0/temp", "40000");
    machine.write(&format!("{cpu}/cpufreq/policy0/scaling_cur_freq"), "800000");
    for (n, core, count) in [(0, 0, 5), (1, 0, 5), (2, 1, 7), (3, 1, 7)] {
        machine.write(&format!("{cpu}/cpu{n}/topology/core_id"), &core.to_string());
        machine.write(&format!("{cpu}/cpu{n}/topology/physical_package_id"), "0");
        machine.write(&format!("{cpu}/cpu{n}/thermal_throttle/core_throttle_count"), &count.to_string());
    }
    let mut condition = Condition::find(&machine.tree());
    let begin = Instant::now();
    condition.begin();
    // Readings take at most a hundredth of the time, so the next one is due after 100 times what this one took.
    let due = begin + begin.elapsed() * 101;
    machine.write("/sys/class/thermal/thermal_zone0/temp", "60000");
    machine.write(&format!("{cpu}/cpufreq/policy0/scaling_cur_freq"), "2400000");
    for n in 0..2 {
        machine.write(&format!("{cpu}/cpu{n}/thermal_throttle/core_throttle_count"), "8");
    }
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
    let read = condition.end();
    let (name, span) = &read.temperatures[0];
    assert_eq!((name.as_str(), span.min, span.mean, span.max), ("x86_pkg_temp", 40.0, 50.0, 60.0));
    assert_eq!((read.frequencies[0].1.min, read.frequencies[0].1.max), (800.0, 2400.0));
    assert_eq!(read.throttled, [("cores", 3)], "siblings show the same count");
}

/// A counter that rises by 20 W, in steps of 5 ms, as long as this exists.
struct Rising {
    stop: Arc<AtomicBool>,
    /// The longest time by which the file was late, ns: from a look at the clock to the end of the writing that follows the next look.
    late: Arc<AtomicI64>,
    writer: Option<JoinHandle<()>>,
}

impl Rising {
    fn new(path: PathBuf, next: PathBuf) -> Self {
        let (stop, late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
        let (stopped, longest) = (Arc::clone(&stop), Arc::clone(&late));
        let writer = std::thread::spawn(move || {
            let begin = power::now();
            let mut before = begin;
            while !stopped.load(Relaxed) {
                let looked = power::now();
                let updates = (looked - begin).0 / 5_000_000;
                std::fs::write(&next, format!("{}\n", 1_000_000 + updates * 100_000)).unwrap();
                std::fs::rename(&next, &path).unwrap();
                longest.fetch_max((power::now() - before).0 + 5_000_000, Relaxed);
                before = looked;
                let left = begin.0 + (updates + 1) * 5_000_000 - power::now().0;
                std::thread::sleep(Duration::from_nanos(left.max(0).unsigned_abs()));
            }
        });
        Self { stop, late, writer: Some(writer) }
    }

    fn late(&self) -> i64 {
        self.late.load(Relaxed)
    }
}

impl Drop for Rising {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

/// The range of an energy contains the true one, except for what the writer of the file was late at the two readings at its ends, which
/// the writer measures itself. The readings last as long as that is little of their time.
#[test]
fn readings_are_aligned_to_updates_and_the_range_has_the_true_energy() {
    let machine = Machine::new(&[]);
    zone(&machine, "intel-rapl:0", "package-0");
    let domains = machine.found().domains;
    let rising =
        Rising::new(machine.path("/sys/devices/virtual/powercap/intel-rapl:0/energy_uj"), machine.path("/next"));
    let mut meters = Meters::new(domains);
    assert!(meters.domains[0].meter.spec().update_ns.is_some(), "it was watched for several updates");
    meters.begin();
    let begin = power::now();
    while (power::now() - begin).0 < (100 * rising.late()).clamp(3_000_000_000, 60_000_000_000) {
        std::thread::sleep(Duration::from_millis(200));
        meters.read();
    }
    let end = power::now();
    meters.end();
    let package = &meters.domains[0];
    let estimate = package.estimate(model::Span::new(begin, end)).unwrap();
    assert_eq!((estimate.whole_ns, estimate.known_ns), ((end - begin).0, (end - begin).0));
    assert!(estimate.low <= estimate.joules && estimate.joules <= estimate.high, "{estimate:?}");
    assert!((estimate.watts * estimate.known_ns as f64 * 1e-9 - estimate.joules).abs() < 1e-6, "{estimate:?}");
    let (truth, late) = (20e-9 * (end - begin).0 as f64, 20e-9 * rising.late() as f64);
    assert!(estimate.low - 3.0 * late <= truth && truth <= estimate.high + 3.0 * late, "{truth} J: {estimate:?}");
}

#[test]
fn parts_above_their_whole_are_doubted() {
    let machine = Machine::new(&[]);
    for (id, name) in [
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "dram"),
        ("intel-rapl:1", "psys"),
    ] {
        zone(&machine, id, name);
    }
    let found = machine.found();
    let of = |name: &str| found.domains.iter().find(|domain| domain.name == name).unwrap();
    let used = |joules: f64| power::Estimate {
        joules,
        low: joules * 0.999,
        high: joules * 1.001,
        watts: joules,
        whole_ns: 1_000_000_000,
        known_ns: 1_000_000_000,
        unknown: vec![],
    };
    let doubts = |package: f64, core: f64, dram: f64, psys: f64| {
        let used = [used(package), used(core), used(dram), used(psys)];
        let names = ["package-0", "package-0/core", "package-0/dram", "psys"];
        let figures: Vec<_> = names.iter().zip(&used).map(|(name, used)| (of(name), used)).collect();
        power::doubtful_parts(&figures)
    };
    assert!(doubts(10.0, 7.0, 30.0, 15.0).is_empty(), "memory is apart");
    assert!(doubts(10.0, 10.1, 1.0, 15.0).is_empty(), "within the slack");
    assert!(doubts(10.0, 12.0, 1.0, 15.0)[0].1.starts_with("package-0/core used at least"));
    assert!(doubts(10.0, 7.0, 1.0, 8.0)[0].1.contains("more than psys"));
}
