//! `corewise ab --cores` and `corewise record --cores`: a command that is bound to CPUs.

use crate::support::{Folder, good, run};
use compare::ab::{AbFolder, Binding, Manifest};

/// Whatever else runs on the machine of a test, nothing is repeated.
const ANY_LOAD: [&str; 4] = ["--max-load", "100%", "--max-steal", "100%"];

/// CPU 0 is performance, CPU 1 efficient, as is a CPU that no machine of a test has.
const HYBRID: &str =
    "[[cpus]]\nids = \"0\"\ntype = \"performance\"\n\n[[cpus]]\nids = \"1,8000\"\ntype = \"efficient\"\n";

/// Counts to a number in a shell.
fn count(to: u32) -> String {
    format!("i=0; while [ $i -lt {to} ]; do i=$((i+1)); done")
}

fn list(folder: &Folder) -> Manifest {
    AbFolder::read(&folder.path("ab")).expect("a list of runs").manifest
}

#[test]
fn choices_without_use_are_refused_before_the_first_run() {
    let folder = Folder::new();
    std::fs::write(folder.path("uniform.toml"), "[[cpus]]\nids = \"0-8191\"\ntype = \"uniform\"\n").unwrap();
    let dir = folder.name("ab");
    let uniform = format!("--machine={}", folder.name("uniform.toml"));
    for (words, part) in [
        (&["--cores", "P", "true"][..], "all cores of this machine have one type: choose among the available CPU"),
        (&["--cores", "E", "true"], "all cores of this machine have one type"),
        (&["--cores", "8191", "true"], "CPU 8191 is not available to this process"),
        (&["--cores", "all", "true"], "which are all that are available"),
        (&["--cores", "0", "--cores", "0", "true"], "both sides would be CPU 0"),
        (&["--cores", "0", "--cores", "all", "--cores", "0", "true"], "at most two sides"),
        (&["--cores", "fast", "true"], "is not P, E, no-siblings or all"),
        (&["--cores", "0", "true", "true"], "cannot be used with"),
    ] {
        let ran = run(["ab", "-o", &dir, &uniform].iter().chain(words));
        assert!(ran.code == Some(2) && ran.err.contains(part), "{words:?}: {:?} {}", ran.code, ran.err);
        assert!(!folder.path("ab").exists(), "{words:?} made a folder");
    }
    let ran = run(["record", "-o", &dir, "--cores", "0", "--duration", "1"]);
    assert!(ran.code == Some(2) && ran.err.contains("add -- COMMAND"), "{}", ran.err);
}

#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn two_processes_on_one_cpu_are_compared_with_two_on_all() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    let load = format!("({}) & ({}); wait", count(300_000), count(300_000));
    let words = ["ab", "-o", &dir, "-n", "6", "--cores", "0", &load];
    let ran = run(words.into_iter().chain(ANY_LOAD));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("Bound to CPU 0: ") && ran.out.contains(" times the time ["), "{}", ran.out);
    let list = list(&folder);
    let cores = list.sides.each_ref().map(|side| side.cores.as_ref().expect("CPUs"));
    assert_eq!(cores.map(|of| (of.choice.as_str(), of.is_bound)), [("all", false), ("0", true)]);
    assert_eq!(cores[1].cpus, "0");
    let of = Binding::of(&list).expect("a binding");
    // How large it is depends on what else runs.
    assert!(of.effect.and_then(|effect| effect.interval).is_some(), "{of:?}");
    assert!(of.elsewhere == [None, Some(0.0)] && !of.is_defeated(), "{of:?}");
}

#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn a_described_machine_says_which_cpus_are_fast() {
    let folder = Folder::new();
    std::fs::write(folder.path("hybrid.toml"), HYBRID).unwrap();
    let (dir, machine) = (folder.name("ab"), format!("--machine={}", folder.name("hybrid.toml")));
    let load = count(20_000);
    let words = ["ab", &machine, "-o", &dir, "-n", "1", "--warm-up", "0", "--cores", "P", "--cores", "E", &load];
    let ran = run(words.into_iter().chain(ANY_LOAD));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("--cores E is CPU 1 here: CPU 8000 is not available"), "{}", ran.err);
    let list = list(&folder);
    let sides =
        list.sides.each_ref().map(|side| (side.name.as_str(), side.cores.as_ref().expect("CPUs").cpus.as_str()));
    assert_eq!(sides, [("P", "0"), ("E", "1")]);
    for run in &list.runs {
        assert_eq!(run.elsewhere_share, Some(0.0), "{run:?}");
    }
    assert!(ran.out.contains("Bound to E (CPU 1): too few pairs for an interval: "), "{}", ran.out);
}

#[test]
#[ignore = "needs BPF rights, two CPUs"]
fn a_command_that_sets_its_own_affinity_is_said_not_to_be_bound() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    let load = format!("taskset -c 1 sh -c '{}'", count(50_000));
    let words = ["ab", "-o", &dir, "-n", "2", "--warm-up", "0", "--cores", "0", &load];
    let ran = run(words.into_iter().chain(ANY_LOAD));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("outside CPUs 0: the command sets its own CPU affinity"), "{}", ran.out);
    assert!(Binding::of(&list(&folder)).expect("a binding").is_defeated());
}

#[test]
#[ignore = "needs BPF rights"]
fn a_recorded_command_and_its_children_stay_on_their_cpus() {
    let folder = Folder::new();
    let dir = folder.name("bound.cw");
    let (one, other) = (count(20_000), count(20_000));
    // A name that no other program of the machine has.
    let shell = folder.name("cw-bound-shell");
    std::fs::copy("/bin/sh", &shell).unwrap();
    let load = format!("({one}) & ({other}); wait; echo");
    let ran = run(["record", "-o", &dir, "--cores", "0", "--", &shell, "-c", &load]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let rows = good(["table", &dir, "thread_by_cpu", "--format", "csv"]);
    let threads = good(["table", &dir, "threads", "--format", "csv"]);
    let tids: Vec<&str> = threads
        .lines()
        .filter(|line| line.contains(",cw-bound-shell,"))
        .filter_map(|line| line.split(',').nth(1))
        .collect();
    assert!(tids.len() >= 2, "{threads}");
    let head: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    let at = |name: &str| head.iter().position(|column| *column == name).expect("a column");
    let (tid, cpu) = (at("tid"), at("cpu"));
    for row in rows.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()) {
        assert!(!tids.contains(&row[tid]) || row[cpu] == "0", "{row:?}");
    }
}
