//! `corewise power` on trees of files, as a machine would have them. acceptance/power_truth.py compares its figures with simulated machines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use support::{Folder, Ran, corewise, good, ran, run};

const ENERGY: &str = "sys/class/powercap/intel-rapl:0/energy_uj";

fn write(folder: &Folder, path: &str, text: &str) {
    let path = folder.path(path);
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
    // As a whole: corewise may read meanwhile.
    let new = folder.path(".new");
    std::fs::write(&new, format!("{text}\n")).unwrap();
    std::fs::rename(new, path).unwrap();
}

fn machine() -> Folder {
    let folder = Folder::new();
    write(&folder, "sys/class/powercap/intel-rapl:0/name", "package-0");
    write(&folder, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850");
    write(&folder, "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "15000000");
    write(&folder, ENERGY, "1000000");
    folder
}

/// Runs `f` while the package uses 20 W, with an update each `every`.
fn at_20_watts(folder: &Folder, every: Duration, f: impl FnOnce() -> Ran) -> Ran {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            while !stop.load(Relaxed) {
                let uj = 1_000_000 + begin.elapsed().as_micros() * 20;
                write(folder, ENERGY, &uj.to_string());
                std::thread::sleep(every);
            }
        });
        let ran = f();
        stop.store(true, Relaxed);
        ran
    })
}

fn power(folder: &Folder, words: &[&str]) -> Ran {
    let root = folder.name("");
    run(["power", "--root", &root].iter().chain(words))
}

#[test]
fn a_machine_without_a_source_says_so_in_a_sentence_and_shows_the_rest() {
    let folder = Folder::new();
    write(&folder, "sys/devices/system/cpu/online", "0");
    for (file, text) in [("name", "haltpoll idle"), ("time", "5"), ("usage", "1"), ("residency", "1")] {
        write(&folder, &format!("sys/devices/system/cpu/cpu0/cpuidle/state1/{file}"), text);
    }
    let out = power(&folder, &["--", "true"]).out;
    assert_eq!(out.matches("Energy: this machine has no source").count(), 1, "{out}");
    assert!(out.starts_with("true: 1 run, ") && out.contains("s CPU time"), "{out}");
    assert!(out.contains("haltpoll idle") && out.contains("idle periods a second"), "{out}");
}

#[test]
fn energy_has_a_range_its_work_and_doubts_in_each_format() {
    let folder = machine();
    let words = ["--format", "json", "--label", "os=new", "--work-from-output", "([0-9]+) frames", "--", "sh", "-c"];
    let command = "echo 3 frames; sleep 0.7; echo 50 frames";
    let ran = at_20_watts(&folder, Duration::from_millis(2), || {
        power(&folder, &words.iter().copied().chain([command]).collect::<Vec<_>>())
    });
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), "3 frames\n50 frames\n"));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let domain = &json["runs"][0]["domains"][0];
    let number = |key: &str| domain[key].as_f64().unwrap_or_else(|| panic!("{key}: {domain}"));
    assert!((number("watts") - 20.0).abs() < 1.0, "{domain}");
    assert!(number("low") <= number("joules") && number("joules") <= number("high"), "{domain}");
    assert!((number("joules_per_unit") * 50.0 - number("joules")).abs() < 1e-9, "{domain}");
    assert_eq!(json["labels"]["os"], "new");
    let doubt = json["doubts"][0].as_str().unwrap();
    assert!(doubt.contains("above its limit of 15.0 W"), "{doubt}");

    let words = ["--tdp", "5", "--", "sleep", "0.3"];
    let out = at_20_watts(&folder, Duration::from_millis(2), || power(&folder, &words)).out;
    assert!(out.contains("times the nominal power of 5 W"), "{out}");

    let formats = |format: &str| {
        let words = ["--format", format, "--label", "plug=a,b", "--repeat", "2", "--work", "4", "--", "sleep", "0.3"];
        at_20_watts(&folder, Duration::from_millis(2), || power(&folder, &words)).out
    };
    let csv = formats("csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("run,elapsed_s,") && lines[0].ends_with(",why,plug"), "{csv}");
    assert!(
        lines[2].starts_with("2,0.3") && lines[2].contains(",package-0,package,") && lines[2].ends_with(",\"a,b\""),
        "{csv}"
    );
    let md = formats("md");
    assert!(md.contains("| domain | J | W | J a unit | ± by readings | source |"), "{md}");
    let text = formats("text");
    assert!(text.contains("package-0") && text.contains("of 2)") && text.contains("Doubtful:"), "{text}");
}

#[test]
fn a_time_that_is_too_short_for_the_source_is_refused() {
    let folder = machine();
    let ran = at_20_watts(&folder, Duration::from_millis(40), || power(&folder, &["--", "true"]));
    assert!(
        ran.out.contains("the time is too short for this source: ") && ran.out.contains("would be needed"),
        "{}",
        ran.out
    );
    let ran = power(&folder, &["--", "sleep", "0.1"]);
    assert!(ran.out.contains("package-0: its value did not change"), "{}", ran.out);
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let folder = machine();
    assert_eq!(power(&folder, &["--", "sh", "-c", "exit 3"]).code, Some(3));
    let missing = power(&folder, &["--", "no-such-program-here"]);
    assert_eq!(missing.code, Some(127), "{}", missing.err);
    for bad in [["--work", "0"], ["--label", "x"], ["--battery", "80-90"], ["--work-from-output", "("]] {
        let ran = power(&folder, &[bad[0], bad[1], "--", "true"]);
        assert_eq!(ran.code, Some(2), "{bad:?}: {}", ran.err);
    }
}

#[test]
fn what_was_measured_before_a_signal_is_kept() {
    let folder = machine();
    let root = folder.name("");
    let words = ["power", "--root", &root, "--repeat", "50", "--format", "json", "--", "sleep", "0.3"];
    let child =
        corewise(words).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    // SAFETY: no memory is involved; the child was not waited for.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let ran = ran(child.wait_with_output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}", ran.err));
    let runs = json["runs"].as_array().unwrap();
    assert!((1..50).contains(&runs.len()), "{}", runs.len());
    assert_eq!(runs.last().unwrap()["interrupted"], true);
    assert!(runs.iter().rev().skip(1).all(|run| run["interrupted"] == false));
    assert!(ran.err.contains("stopped in run"), "{}", ran.err);
}

#[test]
fn a_battery_is_measured_by_the_times_of_its_percents() {
    let folder = Folder::new();
    let err = |folder: &Folder| power(folder, &["--battery", "90-88", "--", "true"]).err;
    assert!(err(&folder).contains("no battery"), "{}", err(&folder));
    let set = |file: &str, text: &str| write(&folder, &format!("sys/class/power_supply/BAT0/{file}"), text);
    set("type", "Battery");
    set("capacity", "91");
    set("status", "Charging");
    assert!(err(&folder).contains("BAT0 is charging: unplug"), "{}", err(&folder));
    set("status", "Discharging");
    set("capacity", "90");
    assert!(err(&folder).contains("charge it above 90 %"), "{}", err(&folder));
    set("capacity", "91");
    let words = ["--battery", "90-88", "--interval", "20ms", "--", "sleep", "0.2"];
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| power(&folder, &words));
        for percent in ["90", "89", "88"] {
            std::thread::sleep(Duration::from_millis(1000));
            set("capacity", percent);
        }
        run.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let line = ran.out.lines().nth(1).unwrap();
    assert!(line.starts_with("BAT0: from 90 % to 88 %: "), "{}", ran.out);
    assert!(line.ends_with("so 2 minutes for 100 %"), "{}", ran.out);
}

#[test]
fn this_machine_is_measured_whatever_it_has() {
    let out = good(["power", "--", "sleep", "0.2"]);
    assert!(out.starts_with("sleep 0.2: 1 run, 0.2"), "{out}");
    assert!(out.contains("Energy: ") || out.contains("domain"), "{out}");
}
