//! `corewise bench`: what this machine's cores cost.

use crate::support::{Folder, Ran, corewise, good, machine_with_costs, ran, run};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Runs `bench` with a folder of settings of its own, whatever else runs on the machine.
fn bench(folder: &Folder, words: &[&str]) -> Ran {
    let mut command = corewise(["bench", "--max-load", "100%", "--ignore-quota"].iter().chain(words));
    ran(command.env("XDG_CONFIG_HOME", folder.path("settings")).output().expect("corewise runs"))
}

/// The machine files that are stored.
fn stored(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("settings/corewise/machines")).into_iter().flatten().flatten();
    entries.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
}

#[test]
fn without_a_probe_the_probes_are_listed() {
    let text = good(["bench"]);
    for probe in bench::PROBES {
        let line = text.lines().find(|line| line.trim_start().starts_with(probe.name()));
        let begin: Vec<&str> = probe.about().split(' ').take(3).collect();
        assert!(line.is_some_and(|line| line.contains(&begin.join(" "))), "{}: {text}", probe.name());
    }
}

#[test]
fn what_cannot_be_measured_is_said_before_the_first_round() {
    let folder = Folder::new();
    for (words, code, said) in [
        (&["swich"][..], 2, "switch"),
        (&["switch", "--cpus", "4000"], 1, "there is no CPU 4000"),
        (&["switch", "--cpus", "a"], 2, "0-3,8"),
        (&["switch", "--precision", "0%"], 2, "above 0"),
        (&["switch", "--compare", "none.toml"], 1, "none.toml"),
        (&["--show"], 1, "corewise bench all"),
        (&["switch", "--show"], 2, "--show"),
    ] {
        let ran = bench(&folder, words);
        assert!(ran.code == Some(code) && ran.err.contains(said), "{words:?}: {:?} {}", ran.code, ran.err);
        assert!(ran.out.is_empty() && !ran.err.contains("Measuring"), "{words:?}: {}", ran.out);
    }
    std::fs::write(folder.path("there.toml"), "mine").unwrap();
    let ran = bench(&folder, &["switch", "--out", &folder.name("there.toml")]);
    assert!(ran.code == Some(1) && ran.err.contains("not overwritten"), "{}", ran.err);
}

#[test]
fn a_busy_machine_is_refused_with_the_busiest_process() {
    let mut busy: Vec<_> =
        (0..2).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect();
    let ran = run(["bench", "--ignore-quota", "--max-load", "1%", "switch"]);
    for child in &mut busy {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for part in ["other programs use", "PID", "--cpus", "--max-load"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn a_measurement_is_printed_stored_and_shown_again() {
    let folder = Folder::new();
    let words =
        ["--quick", "--budget", "3s", "--no-record", "--format", "json", "--out", &folder.name("m.toml"), "switch"];
    let ran = bench(&folder, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(json["complete"], true);
    let costs: Vec<&Value> =
        json["probes"].as_array().unwrap().iter().flat_map(|of| of["costs"].as_array().unwrap()).collect();
    if costs.is_empty() {
        // A machine on which nothing runs undisturbed.
        assert!(ran.err.contains("nothing was stored") && stored(&folder).is_empty(), "{}", ran.err);
        return;
    }
    for cost in &costs {
        let [value, low, high] = ["value", "low", "high"].map(|key| cost["estimate"][key].as_f64().unwrap());
        assert!(low <= value && value <= high && cost["repetitions"].as_u64().unwrap() >= 6, "{cost}");
    }
    let files = stored(&folder);
    assert_eq!(files.len(), 1);
    for file in [&files[0], &std::fs::read_to_string(folder.path("m.toml")).unwrap()] {
        assert_eq!(file.matches("[[costs]]").count(), costs.len(), "{file}");
        assert!(file.contains("kernel_release"), "{file}");
    }
    let shown = bench(&folder, &["--show", "--format", "csv"]);
    assert_eq!(shown.out.lines().count(), 1 + costs.len(), "{}{}", shown.out, shown.err);
    let again = bench(&folder, &["--compare", &folder.name("m.toml")]);
    assert!(again.out.contains(&format!("0 of {} figures differ", costs.len())), "{}{}", again.out, again.err);
}

/// As soon as it says that it measures: what was requested is not complete, however little of it has begun.
#[test]
fn ctrl_c_ends_a_measurement_and_stores_nothing_of_it() {
    let folder = Folder::new();
    let words = [
        "bench",
        "--max-load",
        "100%",
        "--ignore-quota",
        "--no-record",
        "--precision",
        "0.01%",
        "--budget",
        "60s",
        "switch",
    ];
    let mut command = corewise(words);
    command.env("XDG_CONFIG_HOME", folder.path("settings")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("Measuring switch") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it measured");
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        rest
    });
    let ran = ran(child.wait_with_output().unwrap());
    let err = rest.join().unwrap();
    assert_eq!(ran.code, Some(3), "{}{err}", ran.out);
    assert!(err.contains("nothing was stored") && stored(&folder).is_empty(), "{err}");
}

/// Each move that was requested is in the recording, and each thread ran only where it should.
#[test]
#[ignore = "needs BPF rights"]
fn moves_are_found_one_by_one_in_the_recording() {
    let folder = Folder::new();
    let ran = bench(&folder, &["--quick", "--budget", "6s", "--format", "json", "migrate"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let probe = json["runs"].as_array().unwrap().iter().find(|run| run["probe"] == "migrate").unwrap();
    let placement = &probe["placement"];
    let count = |key: &str| placement[key].as_u64().unwrap_or_else(|| panic!("{key}: {json}"));
    assert!(count("threads") > 0 && count("moves_requested") > 0, "{placement}");
    assert_eq!(
        (count("as_expected"), count("moves_found")),
        (count("threads"), count("moves_requested")),
        "{placement}"
    );
    assert_eq!(count("missing"), 0, "{placement}");
}

#[test]
fn a_machine_file_is_shown_in_each_format_and_compared() {
    let folder = Folder::new();
    let (here, there) = (folder.name("here.toml"), folder.name("there.toml"));
    std::fs::write(&here, machine_with_costs(2300)).unwrap();
    std::fs::write(&there, machine_with_costs(1900)).unwrap();
    let show = |more: &[&str]| good(["bench", "--show", "--machine", &here].iter().chain(more));
    let text = show(&[]);
    for part in [
        "Costs of Laptop (2 CPUs)",
        "same CPU (CPU 0)",
        "2.30 us",
        "[2.25, 2.35]",
        "11.5 us",
        "no siblings",
        "In short",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(show(&["--format", "md"]).contains("| pipe | other core, CPU 0 to 1 | 11.5 us |"));
    assert!(show(&["--format", "csv"]).lines().nth(1).unwrap().starts_with("switch,pipe,same_cpu,0,"));
    let page = folder.name("page.html");
    show(&["--format", "html", "-o", &page]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("pipe from one CPU to another"));
    let compared = show(&["--compare", &there]);
    assert!(compared.contains("1.21") && compared.contains("2 of 2 figures differ"), "{compared}");
}
