//! Commands with a machine's costs.

use crate::support::{self, Folder, corewise, good, ran, run};

/// Hand-written figures, for tests only.
const FIGURES: &str = "
[measured]
at = \"2026-11-26T16:00:00Z\"
corewise = \"0.1.0\"
conditions = { kernel_release = \"0.0-of-a-test\" }

[[costs]]
probe = \"switch\"
figure = \"pipe\"
pair = \"same_cpu\"
unit = \"ns\"
estimate = { value = 2100, low = 2000, high = 2200 }
repetitions = 10

[[costs]]
probe = \"smt\"
figure = \"gain\"
unit = \"ratio\"
estimate = { value = 1.25, low = 1.2, high = 1.3 }
repetitions = 10
";

#[test]
fn topo_shows_the_stored_costs_of_this_machine_and_that_they_are_stale() {
    let folder = Folder::new();
    let machines = folder.path("corewise/machines");
    std::fs::create_dir_all(&machines).unwrap();
    let mut machine = engine::live();
    machine.costs = engine::Machine::from_user(&format!("[[cpus]]\nids = \"0\"\n{FIGURES}")).unwrap().costs;
    let path = machines.join(format!("{}.toml", engine::machine_id(&machine)));
    std::fs::write(&path, engine::machine_text(&machine)).unwrap();
    let topo = |words: &[&str]| {
        ran(corewise(["topo"].iter().chain(words)).env("XDG_CONFIG_HOME", folder.path("")).output().unwrap())
    };
    let shown = topo(&[]).out;
    assert!(shown.contains("measured 2026-11-26 by corewise 0.1.0: 2 figures"), "{shown}");
    assert!(shown.contains("a switch 2.1 us (2.0 to 2.2), two siblings 1.25 times one (1.20 to 1.30)"), "{shown}");
    let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("are stale: measured under kernel 0.0-of-a-test, this machine is of"), "{shown}");
    assert!(topo(&["--json"]).out.contains("\"probe\": \"switch\""));
    std::fs::write(&path, engine::machine_text(&machine).replace("low = 2000.0", "low = nan")).unwrap();
    let shown = topo(&[]).out;
    let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains("the costs of this machine are not used:") && joined.contains("not a finite number"),
        "{shown}"
    );
    assert!(!shown.contains("a switch 2.1 us"), "{shown}");
}

#[test]
fn a_machine_file_gives_a_recording_its_costs() {
    let folder = Folder::new();
    let (demo, machine) = (folder.name("demo.cw"), folder.name("this.toml"));
    std::fs::write(&machine, format!("[[cpus]]\nids = \"0-1\"\n{FIGURES}")).unwrap();
    good(["import", &support::fixture("sched.data"), "-o", &demo]);
    let words =
        ["diagnose", &demo, "--set", "preemption-rate.max_per_second=0", "--set", "preemption-rate.min_share=0"];
    let only = ["--only", "preemption-rate", "--verbose"];
    let without = support::unwrapped(&good(words.iter().chain(&only)));
    let with = support::unwrapped(&good(words.iter().chain(&only).chain(&["--machine", &machine])));
    assert!(without.contains("a switch costs 4.0 us (an assumption from another machine)"), "{without}");
    assert!(with.contains("a switch costs 2.1 us (measured on this machine 2026-11-26"), "{with}");
    let short = good(words.iter().chain(&only[..2]).chain(&["--machine", &machine]));
    assert!(short.contains("Costs: a switch costs 2.1 us (measured on this machine"), "{short}");
    std::fs::write(&machine, format!("[[cpus]]\nids = \"0-1\"\n{}", FIGURES.replace("high = 2200", "high = -1")))
        .unwrap();
    let refused = run(words.iter().chain(&["--machine", &machine]));
    assert!(
        refused.code == Some(1) && refused.err.contains("this.toml: line 9: the estimate of switch pipe"),
        "{}",
        refused.err
    );
}
