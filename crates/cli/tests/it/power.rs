//! `corewise power` on trees of files, as a machine would have them. acceptance/power_truth.py compares its figures with simulated machines.

use crate::support::{Folder, Ran, corewise, good, ran, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

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

/// Runs `f` while the package uses 100 W, with an update each `every`: returns its result and by how much the file was late at most, J,
/// as the writer measures it.
fn at_100_watts<R>(folder: &Folder, every: Duration, f: impl FnOnce() -> R) -> (R, f64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let begin = Instant::now();
            let (mut before, mut late) = (begin, Duration::ZERO);
            while !stop.load(Relaxed) {
                let looked = Instant::now();
                let uj = 1_000_000 + (looked - begin).as_micros() * 100;
                write(folder, ENERGY, &uj.to_string());
                late = late.max(before.elapsed());
                before = looked;
                std::thread::sleep(every);
            }
            late.max(before.elapsed()).as_secs_f64() * 100.0
        });
        let ran = f();
        stop.store(true, Relaxed);
        (ran, writer.join().unwrap())
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

/// The range has the true energy, except for what the file was late at both ends. The power is far above the limit, and the command takes
/// long enough that late updates are little of it.
#[test]
fn energy_has_a_range_its_work_and_doubts() {
    let folder = machine();
    let words = ["--format", "json", "--label", "os=new", "--interval", "500ms"];
    let work = ["--work-from-output", "([0-9]+) frames", "--", "sh", "-c", "echo 3 frames; sleep 4; echo 50 frames"];
    let (ran, late) = at_100_watts(&folder, Duration::from_millis(2), || power(&folder, &[&words[..], &work].concat()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), "3 frames\n50 frames\n"));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let (run, domain) = (&json["runs"][0], &json["runs"][0]["domains"][0]);
    let number = |of: &serde_json::Value, key: &str| of[key].as_f64().unwrap_or_else(|| panic!("{key}: {of}"));
    let [joules, low, high] = ["joules", "low", "high"].map(|key| number(domain, key));
    assert!(low <= joules && joules <= high, "{domain}");
    let truth = 100.0 * number(run, "elapsed_s");
    assert!(low - 3.0 * late <= truth && truth <= high + 3.0 * late, "{truth} J, {late} J late: {domain}");
    assert!((number(domain, "watts") * number(domain, "known_s") - joules).abs() < 1e-6, "{domain}");
    assert_eq!((number(domain, "known_s"), &domain["unknown"]), (number(run, "elapsed_s"), &serde_json::json!([])));
    assert!(number(run, "elapsed_s") >= 4.0 && number(run, "work") == 50.0, "{run}");
    assert!((number(domain, "joules_per_unit") * 50.0 - joules).abs() < 1e-9, "{domain}");
    assert_eq!(json["labels"]["os"], "new");
    let doubt = json["doubts"][0].as_str().unwrap();
    assert!(doubt.contains("above its limit of 15.0 W"), "{doubt}");
}

#[test]
fn power_above_the_nominal_one_is_doubted() {
    let folder = machine();
    let words = ["--tdp", "5", "--interval", "500ms", "--", "sleep", "3"];
    let (ran, _) = at_100_watts(&folder, Duration::from_millis(2), || power(&folder, &words));
    assert!(ran.out.contains("times the nominal power of 5 W"), "{}", ran.out);
}

#[test]
fn results_have_each_format() {
    let folder = machine();
    let formats = |format: &str, seconds: &str| {
        let words = ["--format", format, "--label", "plug=a,b", "--repeat", "2", "--work", "4"];
        let command = ["--interval", "500ms", "--", "sleep", seconds];
        at_100_watts(&folder, Duration::from_millis(2), || power(&folder, &[&words[..], &command].concat())).0.out
    };
    let csv = formats("csv", "0.3");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("run,elapsed_s,") && lines[0].ends_with(",why,plug"), "{csv}");
    assert!(lines[2].contains(",package-0,package,") && lines[2].ends_with(",\"a,b\""), "{csv}");
    let cells: Vec<&str> = lines[2].split(',').collect();
    assert!(cells[0] == "2" && cells[1].parse::<f64>().is_ok_and(|elapsed| elapsed >= 0.3), "{csv}");
    let md = formats("md", "0.3");
    assert!(md.contains("| domain | J | W | J a unit | ± by readings | source |"), "{md}");
    let text = formats("text", "3");
    assert!(text.contains("package-0") && text.contains("of 2)") && text.contains("Doubtful"), "{text}");
}

/// At both ends a step of 40 ms is uncertain, so a tenth of a time below 0.8 s.
#[test]
fn a_time_that_is_too_short_for_the_source_is_refused() {
    let folder = machine();
    let (ran, _) = at_100_watts(&folder, Duration::from_millis(40), || power(&folder, &["--", "true"]));
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

/// The first run ends by itself, and the second one only by the signal, which arrives in it.
#[test]
fn what_was_measured_before_a_signal_is_kept() {
    let folder = machine();
    let (root, first, second) = (folder.name(""), folder.name("first"), folder.name("second"));
    let script = "[ -e \"$1\" ] && touch \"$2\" && exec sleep 600; touch \"$1\"";
    let words = ["power", "--root", &root, "--repeat", "50", "--format", "json", "--", "sh", "-c", script, "sh"];
    let child = corewise(words.iter().copied().chain([first.as_str(), &second]))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until(|| Path::new(&second).exists());
    // SAFETY: no memory is involved; the child was not waited for.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    let ran = ran(child.wait_with_output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}", ran.err));
    let runs = json["runs"].as_array().unwrap();
    let interrupted: Vec<bool> = runs.iter().filter_map(|run| run["interrupted"].as_bool()).collect();
    assert_eq!(interrupted, [false, true]);
    assert!(ran.err.contains("stopped in run 2 of 50"), "{}", ran.err);
}

/// Waits for something that happens.
fn until(mut it: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !it() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The time of a battery is that between the changes of its percents: between the moments before the last and after the first one that this
/// test made, and those after and before them.
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
    let (root, begun) = (folder.name(""), folder.name("begun"));
    let words = ["power", "--root", &root, "--battery", "90-88", "--interval", "20ms", "--", "sh", "-c"];
    let mut child = corewise(words.iter().copied().chain(["touch \"$1\"; sleep 0.2", "sh", &begun]))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(line.ends_with("BAT0 is at 91 %; waiting for 90 %\n"), "{line}");
    let before = Instant::now();
    set("capacity", "90");
    until(|| Path::new(&begun).exists());
    let after = Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    set("capacity", "89");
    std::thread::sleep(Duration::from_secs(2));
    let least = after.elapsed();
    set("capacity", "88");
    let ran = ran(child.wait_with_output().unwrap());
    let most = before.elapsed();
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let line = ran
        .out
        .lines()
        .find(|line| line.starts_with("BAT0: from 90 % to 88 %: "))
        .unwrap_or_else(|| panic!("{}", ran.out));
    let whole = line.rsplit_once("so ").and_then(|(_, whole)| whole.strip_suffix(" minutes for 100 %"));
    let minutes: f64 = whole.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    // 2 % in this time, rounded to minutes.
    let [least, most] = [least, most].map(|time| time.as_secs_f64() * 50.0 / 60.0);
    assert!(least - 0.51 < minutes && minutes < most + 0.51, "{minutes}, not from {least} to {most}: {line}");
}

#[test]
fn this_machine_is_measured_whatever_it_has() {
    let out = good(["power", "--", "sleep", "0.2"]);
    let elapsed = out.strip_prefix("sleep 0.2: 1 run, ").and_then(|out| out.split(' ').next());
    assert!(elapsed.and_then(|elapsed| elapsed.parse::<f64>().ok()).is_some_and(|elapsed| elapsed >= 0.2), "{out}");
    assert!(out.contains("Energy: ") || out.contains("domain"), "{out}");
}
