//! Records a thread that its cgroup's CPU quota throttles.

use crate::support::{Folder, good, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The quota period, in ns.
const PERIOD_NS: i64 = 100_000_000;

/// The time of a reading on the recordings' clock, and the throttled time that the kernel had counted, in ns.
type Reading = (i64, i64);

/// A temporary cgroup that may run for 20 ms of each 100 ms.
struct Group {
    folder: PathBuf,
    unified: bool,
}

impl Group {
    /// Creates the group: in v2, below the root if its CPU controller is enabled; in v1, in the hierarchy of that controller.
    fn new() -> Result<Self, String> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mount = |of: fn(&str, &str) -> bool| {
            mounts.lines().find_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                of(words.get(2)?, words.get(3)?).then(|| PathBuf::from(words[1]))
            })
        };
        let enabled = |root: &PathBuf| {
            let on = std::fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
            on.split_whitespace().any(|c| c == "cpu")
        };
        let v2 = mount(|kind, _| kind == "cgroup2").filter(enabled);
        let v1 = || mount(|kind, options| kind == "cgroup" && options.split(',').any(|o| o == "cpu"));
        let unified = v2.is_some();
        let root = v2.or_else(v1).ok_or("no cgroup hierarchy has the CPU controller enabled")?;
        let folder = root.join(format!("corewise-test-{}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        let group = Self { folder, unified };
        let set = |file: &str, text: &str| {
            std::fs::write(group.folder.join(file), text).map_err(|why| format!("{file}: {why}"))
        };
        // A high weight, so that the group uses its quota on a busy machine too.
        let files: &[_] = if unified {
            &[("cpu.max", "20000 100000"), ("cpu.weight", "10000")]
        } else {
            &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000"), ("cpu.shares", "102400")]
        };
        files.iter().try_for_each(|(file, text)| set(file, text))?;
        Ok(group)
    }

    /// Reads the kernel's counter; `None` if that fails.
    fn reading(&self) -> Option<Reading> {
        let stat = std::fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        let (name, unit) = if self.unified { ("throttled_usec ", 1000) } else { ("throttled_time ", 1) };
        let count: i64 = stat.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()?;
        // SAFETY: all-zero is a valid time, and it is written to.
        let now = unsafe {
            let mut now: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
            now
        };
        Some((now.tv_sec * 1_000_000_000 + now.tv_nsec, count * unit))
    }

    /// Starts a shell that joins the group and spins.
    fn spin(&self) -> Child {
        let script = format!("echo $$ > {}/cgroup.procs && while :; do :; done", self.folder.display());
        Command::new("sh").args(["-c", &script]).stdout(Stdio::null()).spawn().expect("sh runs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel removes a killed thread from the group a little later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The thread is held for the time that the kernel counts. It counts throttled time when that ends, so at each end of the recording one
/// throttling is counted as a whole or not at all, and the test reads the counter only from time to time.
#[test]
#[ignore = "needs BPF rights, CPU quotas, Linux 6.18"]
fn a_thread_over_its_quota_is_throttled() {
    let group = Group::new().unwrap();
    let folder = Folder::new();
    let (dir, begun, over) = (folder.name("run.cw"), folder.path("begun"), folder.path("over"));
    let script = format!("touch '{}'; while ! test -e '{}'; do sleep 0.02; done", begun.display(), over.display());
    let mut spins = group.spin();
    let (recorded, readings) = std::thread::scope(|scope| {
        let words = ["record", "-o", &dir, "--", "sh", "-c", &script];
        let recorder = scope.spawn(move || run(words));
        let mut readings: Vec<Reading> = Vec::new();
        let mut first = None;
        let end = Instant::now() + Duration::from_secs(120);
        // The recording lasts until it contains some throttled time.
        while !recorder.is_finished() {
            readings.extend(group.reading());
            let counted = readings.last().map_or(0, |(_, counted)| *counted);
            if begun.exists() && counted - *first.get_or_insert(counted) > 6 * PERIOD_NS || Instant::now() > end {
                std::fs::write(&over, "").unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Until what was held at the end is counted.
        for _ in 0..40 {
            readings.extend(group.reading());
            std::thread::sleep(Duration::from_millis(10));
        }
        (recorder.join().unwrap(), readings)
    });
    let tid = i64::from(spins.id());
    spins.kill().and_then(|()| spins.wait()).unwrap();
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);

    let rows: Vec<Value> =
        serde_json::from_str(&good(["table", &dir, "ready_wait", "--format", "json"])).expect("JSON");
    let row = rows.iter().find(|row| row["tid"] == tid).unwrap_or_else(|| panic!("no thread {tid} in {rows:?}"));
    let ns = |column: &str| row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"));
    let classes = ["no_cpu_free_ns", "free_same_type_ns", "free_other_type_ns", "wakeup_latency_ns", "free_unknown_ns"];
    let free = classes.iter().map(|column| ns(column)).sum::<i64>() + row["free_not_allowed_ns"].as_i64().unwrap_or(0);
    assert_eq!(free + ns("throttled_ns"), ns("ready_ns"), "{row}");
    let checked: Value = serde_json::from_str(&good(["verify", &dir, "--format", "json"])).expect("JSON");
    assert_eq!(checked["holds"], true, "{checked}");

    let manifest = std::fs::read_to_string(Path::new(&dir).join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let (begin, length) = (manifest["origin_ns"].as_i64().unwrap(), manifest["end_ns"].as_i64().unwrap());
    // The readings around a time.
    let before = |time: i64| readings.iter().rfind(|(at, _)| *at <= time).map_or(0, |(_, counted)| *counted);
    let after = |time: i64| readings.iter().find(|(at, _)| *at >= time).expect("a later reading").1;
    let (least, most) = (before(begin + length) - after(begin), after(begin + length) - before(begin));
    assert!(least > 4 * PERIOD_NS, "{least} ns were counted as throttled in {length} ns: {row}");
    // The longest throttling, as far as the readings show it. The thread is held a moment after its group, when it returns to its program.
    let longest = readings.windows(2).map(|two| two[1].1 - two[0].1).max().unwrap();
    let slack = longest + PERIOD_NS;
    let throttled = ns("throttled_ns");
    assert!(
        (least - slack..=most + slack).contains(&throttled),
        "{least} to {most} ns were counted as throttled, one of {longest}: {row}"
    );
    for table in ["cgroup_limits", "cgroup_stat", "throttle"] {
        assert!(Path::new(&dir).join(format!("events/{table}.parquet")).exists(), "{table}");
    }

    let rows: Vec<Value> =
        serde_json::from_str(&good(["table", &dir, "thread_scheduling", "--format", "json"])).expect("JSON");
    let prefix = if group.unified { "/" } else { "cpu:/" };
    let path = format!("{prefix}{}", group.folder.file_name().unwrap().display());
    let is_set = |row: &&Value| row["tid"] == tid && row["cgroup"] == *path && row["cgroup_quota_ns"] == 20_000_000;
    let set = rows.iter().find(is_set).unwrap_or_else(|| panic!("{path} of thread {tid} in {rows:?}"));
    assert_eq!(set["cgroup_period_ns"], PERIOD_NS, "{set}");
}
