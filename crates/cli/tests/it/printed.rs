//! `corewise check` for tables that other tools printed.

use crate::support::{Folder, fixture, good, run};
use serde_json::Value;

/// Output of perf stat -x, for two seconds on two CPUs. The second one states a miss rate of 3 % of branches instead of 2 %.
const RIGHT: &str = "4000.00,msec,cpu-clock,4000000000,100.00,2.000,CPUs utilized\n\
                     100,,branches,4000000000,100.00,25.000,/sec\n\
                     2,,branch-misses,4000000000,100.00,2.00,of all branches\n";
const WRONG: &str = "100,,branches,4000000000,100.00,,\n2,,branch-misses,4000000000,100.00,3.00,of all branches\n";

fn written(folder: &Folder, name: &str, text: &str) -> String {
    std::fs::write(folder.path(name), text).unwrap();
    folder.name(name)
}

#[test]
fn contradictions_are_shown_and_set_the_exit_code() {
    let folder = Folder::new();
    // The format is recognised by the content, not by the name.
    let (right, wrong) = (written(&folder, "right.dat", RIGHT), written(&folder, "wrong", WRONG));
    let text = good(["check", &right, "--span", "2s"]);
    assert!(text.contains("0 contradict, 5 agree (--all shows them), 0 could not be evaluated"), "{text}");
    let text = good(["check", &right, "--all"]);
    assert!(text.contains("this run has no elapsed time (--span sets it)") && text.contains("agrees: "), "{text}");
    let ran = run(["check", &right, &wrong, "--span", "2"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let line = ran.out.lines().find(|l| l.contains("wrong branch-misses")).unwrap();
    assert_eq!(
        line.split_whitespace().collect::<Vec<_>>(),
        ["3", "2", "1", "0.005", "wrong:", "wrong", "branch-misses"]
    );
    let ran = run(["check", &wrong, "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &json["holds"], &json["tables"][0]["kind"]), (Some(3), &false.into(), &"perf_stat".into()));
    let first = &json["statements"][0];
    assert_eq!(
        (&first["verdict"], &first["computed"], &first["printed"]),
        (&"contradicts".into(), &2.0.into(), &3.0.into())
    );
}

#[test]
fn runs_are_compared_by_name() {
    let folder = Folder::new();
    let count = |n: u32| format!("{n},,instructions,1000,100.00,,\n{n},,cycles,1000,100.00,,\n");
    let (on, off) = (written(&folder, "on.csv", &count(130)), written(&folder, "off.csv", &count(100)));
    let text = good(["check", &on, &off, "--smt", "on/off"]);
    let gain = text.lines().find(|l| l.contains("on: on/off instructions")).unwrap();
    assert_eq!(gain.split_whitespace().next(), Some("1.3"), "{text}");
    // 1 / 1.3.
    assert!(text.contains("76.92308"), "{text}");
    let ran = run(["check", &on, &off, "--compare", "on/of"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no run or table is named of; the names are on, off"), "{}", ran.err);
}

#[test]
fn the_machine_description_provides_the_maximum_frequency() {
    let folder = Folder::new();
    let table = written(&folder, "counters.csv", "metric,unit,a\nfrequency,ghz,5.05\n");
    let machine = written(&folder, "machine.toml", "[[cpus]]\nids = \"0\"\nmax_khz = 5000000\n");
    assert!(good(["check", &table]).contains("the processor is unknown"));
    assert_eq!(run(["check", &table, "--machine", &machine]).code, Some(3));
}

#[test]
fn tables_and_traces_are_not_mixed() {
    let folder = Folder::new();
    let (right, trace) = (written(&folder, "right.csv", RIGHT), fixture("sched-pipe.data"));
    let unknown = written(&folder, "unknown.csv", "a,b\n1,2\n");
    for (words, code, why) in [
        (vec!["check", &trace, &trace], 2, "printed tables"),
        (vec!["check", &trace, "--span", "2s"], 2, "is not a printed table"),
        (vec!["check", &right, &trace], 1, "sched-pipe.data: "),
        (vec!["check", &right, &unknown], 1, "unknown.csv: unknown columns"),
        (vec!["check", &right, "/no/such/file"], 1, "/no/such/file: No such file"),
        (vec!["check", &right, "--smt", "on"], 2, "separated by a slash"),
        (vec!["check"], 2, "<TABLE>"),
    ] {
        let ran = run(&words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(why), "{words:?}: {}", ran.err);
    }
}

#[test]
fn check_of_a_trace_still_verifies_it() {
    let trace = fixture("sched-pipe.data");
    let (former, current) = (run(["check", &trace]), run(["verify", &trace]));
    assert_eq!((former.code, &former.out), (current.code, &current.out));
    assert!(former.err.contains("use: corewise verify") && !current.err.contains("corewise verify"), "{}", former.err);
}

/// The nominal power of a part shows that a power is not possible; without it, it is a value.
#[test]
fn power_is_compared_with_the_nominal_power() {
    let folder = Folder::new();
    let text = "run,elapsed_s,cpu_s,instructions,thread_clk,energy_package_uj_printed\na,2.0,1.0,1000,1000,240000000\n";
    let totals = written(&folder, "totals.csv", text);
    let text = good(["check", &totals]);
    assert!(text.contains("value: package_power") && text.contains("0 contradict"), "{text}");
    let ran = run(["check", &totals, "--tdp", "17"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    // 120 W; a quarter of it would be possible.
    let line = |end: &str| ran.out.lines().find(|l| l.trim_end().ends_with(end)).unwrap().split_whitespace().next();
    assert_eq!(line("a / 4"), Some("30"), "{}", ran.out);
    assert_eq!(line(" a").map(str::to_owned), Some("42.5".to_owned()), "{}", ran.out);
    let ran = run(["check", &totals, "--tdp", "0"]);
    assert!(ran.code == Some(2) && ran.err.contains("expected a number above 0"), "{}", ran.err);
}
