//! `corewise fleet`: a catalogue of many recordings, brought up to date, reported, queried and pruned.
//!
//! The recordings are the simulated runs of testdata/notebooks, each with another host, day and release: on the first day the main thread is kept on
//! efficient cores, on the second it is not.

use crate::support::{Folder, copy_recordings, corewise, good, ran, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const HOSTS: usize = 8;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Makes a recording of a host on a day, with a label.
fn recording(runs: &Path, host: usize, is_later: bool) -> PathBuf {
    let (of, day, release) = if is_later { ("after", "03", "2.0") } else { ("before", "02", "1.0") };
    let to = runs.join(format!("{day}-{host}.cw"));
    copy_recordings(&repository().join(format!("testdata/notebooks/{of}-{}.cw", 1 + host % 4)), &to);
    let manifest = to.join("manifest.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    json["facts"]["about"] = json!([
        ["hostname", format!("web-{host}")],
        ["started", format!("2026-11-{day} 12:00:0{host} UTC")],
        ["kernel_release", "6.18.4"],
        ["label.release", release],
    ]);
    std::fs::write(manifest, json.to_string()).unwrap();
    to
}

/// The recordings of all hosts on both days.
fn runs(folder: &Folder) -> PathBuf {
    let runs = folder.path("runs");
    for host in 0..HOSTS {
        recording(&runs, host, false);
        recording(&runs, host, true);
    }
    runs
}

fn index(runs: &Path) -> Value {
    serde_json::from_str(&good(["fleet", "index", &runs.display().to_string(), "--json"])).unwrap()
}

fn counts(of: &Value) -> [u64; 5] {
    ["recordings", "new", "changed", "unchanged", "removed"].map(|name| of[name].as_u64().unwrap())
}

/// All files of the catalogue with their contents, but not when it was written.
fn files(of: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(of).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|kind| kind == "parquet") {
            found.push((path.clone(), std::fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_catalogue_follows_its_recordings_and_its_report_says_what_changed() {
    let folder = Folder::new();
    let runs = runs(&folder);
    let recorded = files(&runs);
    assert_eq!(counts(&index(&runs)), [16, 16, 0, 0, 0]);
    let left: Vec<_> = files(&runs).into_iter().filter(|(path, _)| !path.starts_with(runs.join("catalogue"))).collect();
    assert!(left == recorded, "indexing changed a recording");
    let catalogue = folder.path("runs/catalogue");
    assert!(catalogue.join("findings/host=web-3/date=2026-11-02/part.parquet").is_file());

    // The golden text, without what differs from run to run.
    let report = good(["fleet", "report", &catalogue.display().to_string(), "--by", "release"]);
    let shown = report.lines().filter(|line| !line.starts_with("  catalogue "));
    let shown: String = shown.map(|line| format!("{line}\n")).collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/report.txt");
    if std::env::var_os("COREWISE_BLESS").is_some() {
        std::fs::write(&golden, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(&golden).unwrap_or_default(), "COREWISE_BLESS=1 writes it");

    let json =
        good(["fleet", "report", &catalogue.display().to_string(), "--format", "json", "--redact", "--by", "release"]);
    let parsed: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["changes"][0]["key"], "date");
    assert!(!json.contains("web-") && !json.contains("/runs") && json.contains("host 1"), "{json}");
    let page = good(["fleet", "report", &catalogue.display().to_string(), "--format", "html"]);
    roxmltree::Document::parse_with_options(&page, roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() })
        .expect("the page is valid XML");
    let ran = run(["fleet", "report", &catalogue.display().to_string(), "--by", "relase"]);
    assert!(ran.code == Some(1) && ran.err.contains("no recording has relase, did you mean release?"), "{}", ran.err);

    // Nothing has changed: no file is written.
    let before = files(&catalogue);
    assert_eq!(counts(&index(&runs)), [16, 0, 0, 16, 0]);
    assert_eq!(files(&catalogue), before);

    // One more, one gone, one with another label, one damaged, one interrupted, one that is nothing.
    recording(&runs, 9, true);
    std::fs::remove_dir_all(runs.join("02-1.cw")).unwrap();
    good(["label", &runs.join("02-2.cw").display().to_string(), "release=1.1"]);
    let states = std::fs::File::options().write(true).open(runs.join("03-0.cw/states/thread.parquet")).unwrap();
    states.set_len(100).unwrap();
    std::fs::create_dir_all(runs.join("killed.cw/spool")).unwrap();
    std::fs::write(runs.join("notes.txt"), "nothing of interest").unwrap();
    let report = good(["fleet", "report", &catalogue.display().to_string()]);
    let caution = report.lines().find(|line| line.contains("older than its recordings")).expect("it is said");
    assert!(caution.contains("(new or changed: 4, gone: 1)"), "{caution}");
    let done = index(&runs);
    assert_eq!(counts(&done), [15, 1, 1, 13, 1]);
    assert_eq!(done["other_files"], 1);
    let errors = done["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0][1].as_str().unwrap().contains("damaged: it has 100 bytes"), "{errors:?}");
    assert!(errors[1][1].as_str().unwrap().contains("run `corewise recover"), "{errors:?}");

    // The same catalogue as one that is made anew.
    let anew = folder.path("anew");
    good(["fleet", "index", &runs.display().to_string(), "--into", &anew.display().to_string()]);
    let contents = |of: &Path| {
        let all = files(of).into_iter().map(|(path, bytes)| (path.strip_prefix(of).unwrap().to_owned(), bytes));
        all.filter(|(path, _)| !path.starts_with("errors")).collect::<Vec<_>>()
    };
    assert_eq!(contents(&catalogue), contents(&anew));
}

#[test]
fn recordings_whose_paths_are_not_utf_8_are_told_apart_and_not_kept() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new();
    let runs = folder.path("runs");
    let made = recording(&runs, 0, false);
    for name in [&b"a\xff.cw"[..], b"a\xfe.cw"] {
        let to = runs.join(std::ffi::OsStr::from_bytes(name));
        copy_recordings(&made, &to);
    }
    let done = index(&runs);
    assert_eq!(counts(&done), [1, 1, 0, 0, 0]);
    let errors: Vec<&str> = done["errors"].as_array().unwrap().iter().map(|of| of[1].as_str().unwrap()).collect();
    assert!(errors.len() == 2 && errors[0].contains("a\\xFE.cw: its path is not UTF-8: rename it"), "{errors:?}");
    // They are known, and not opened again.
    assert_eq!(counts(&index(&runs)), [1, 0, 0, 1, 0]);
    let report = good(["fleet", "report", &runs.join("catalogue").display().to_string()]);
    assert!(!report.contains("older than"), "{report}");
}

#[test]
fn an_interrupted_run_leaves_a_catalogue_that_the_next_one_completes() {
    let folder = Folder::new();
    let runs = folder.path("runs");
    (0..2).for_each(|host| drop(recording(&runs, host, false)));
    index(&runs);
    let catalogue = runs.join("catalogue");
    // Killed after findings were written, and before recordings: rows of a recording that is not in the catalogue.
    let about = catalogue.join("catalogue.json");
    std::fs::write(
        &about,
        std::fs::read_to_string(&about).unwrap().replace("\"complete\": true", "\"complete\": false"),
    )
    .unwrap();
    let part =
        |table: &str, host: usize| catalogue.join(format!("{table}/host=web-{host}/date=2026-11-02/part.parquet"));
    std::fs::remove_file(part("recordings", 1)).unwrap();
    std::fs::write(part("rules", 1).with_file_name("_new"), "cut off").unwrap();
    let report = good(["fleet", "report", &catalogue.display().to_string()]);
    assert!(report.contains("did not come to its end"), "{report}");
    assert_eq!(counts(&index(&runs)), [2, 1, 0, 1, 0]);
    assert!(!part("rules", 1).with_file_name("_new").exists());
    let report = good(["fleet", "report", &catalogue.display().to_string()]);
    assert!(!report.contains("did not come to its end") && !report.contains("older"), "{report}");
    // Opening all again gives the same rows.
    let recordings = std::fs::read(part("recordings", 0)).unwrap();
    good(["fleet", "index", &runs.display().to_string(), "--again"]);
    assert_eq!(std::fs::read(part("recordings", 0)).unwrap(), recordings);
    // A damaged file of the catalogue is named.
    for file in [part("rules", 0), catalogue.join("_packed/rules.parquet")] {
        std::fs::write(file, "PAR1 no more").unwrap();
    }
    for name in ["_packed/rules.parquet", "part.parquet"] {
        let damaged = run(["fleet", "report", &catalogue.display().to_string()]);
        assert!(damaged.code == Some(1) && damaged.err.contains("damaged"), "{}", damaged.err);
        assert!(damaged.err.contains(name), "{}", damaged.err);
        assert!(damaged.err.contains("remove the catalogue and index the recordings again"), "{}", damaged.err);
        // Partitions are read where no packed tables are.
        std::fs::remove_dir_all(catalogue.join("_packed")).ok();
    }
    // Another version's catalogue is refused, and a folder with other files is not made one.
    std::fs::write(&about, r#"{"catalogue": 2}"#).unwrap();
    assert!(run(["fleet", "report", &catalogue.display().to_string()]).err.contains("please update corewise"));
    let into = run(["fleet", "index", &runs.display().to_string(), "--into", &runs.display().to_string()]);
    assert!(into.code == Some(1) && into.err.contains("has other files"), "{}", into.err);
}

/// A trial that helped: 2 s of 8 were saved.
fn trial() -> model::Tried {
    let s = |s: i64| model::Ns(s * 1_000_000_000);
    model::Tried {
        rule: "pinned-to-one-cpu".to_owned(),
        thread: "worker".to_owned(),
        fix: "affinity".to_owned(),
        verdict: model::TrialVerdict::Helped,
        pairs: 10,
        change: Some(-0.25),
        interval: Some([-0.3, -0.2]),
        predicted_ns: s(2),
        predicted_range_ns: [s(1), s(3)],
        saved_ns: Some(s(2)),
        saved_range_ns: Some([s(1), s(3)]),
        found: [10, 0],
        at_unix_s: 1_764_547_200,
        corewise: "0.2.0".to_owned(),
    }
}

#[test]
#[ignore = "needs DuckDB"]
fn sql_reads_a_catalogue() {
    let folder = Folder::new();
    let runs = folder.path("runs");
    let first = recording(&runs, 1, false);
    recording(&runs, 1, true);
    engine::add_trial(&first, trial()).unwrap();
    index(&runs);
    let sql = |query: &str| {
        let words = ["sql", "runs/catalogue", query, "--format", "csv"];
        let done = ran(corewise(words).current_dir(folder.path("")).output().unwrap());
        assert_eq!(done.code, Some(0), "{query}: {}", done.err);
        done.out.replace("\r\n", "\n")
    };
    let query =
        "SELECT host, date, labels['release'] AS release, kernel, span_s > 0.7 AS long FROM recordings ORDER BY date";
    assert_eq!(
        sql(query),
        "host,date,release,kernel,long\nweb-1,2026-11-02,1.0,6.18.4,true\nweb-1,2026-11-03,2.0,6.18.4,true\n"
    );
    let query = "SELECT r.labels['release'] AS release, f.rule FROM findings AS f JOIN recordings AS r USING (path)";
    assert_eq!(sql(query), "release,rule\n1.0,critical-thread-on-efficient-core\n");
    let tables = sql("SELECT table_name FROM information_schema.tables ORDER BY 1");
    assert_eq!(tables, "table_name\nerrors\nfindings\nlabels\nready\nrecordings\nrules\nsums\ntrials\n");
    let query = "SELECT core_type, sums.cpus, running_ns + sums.idle_ns + sums.unknown_ns = sums.cpus * r.span_ns AS whole FROM sums JOIN recordings AS r USING (path) \
                 WHERE sums.date = '2026-11-02' ORDER BY core_type";
    assert_eq!(sql(query), "core_type,cpus,whole\nefficient,6,true\nperformance,6,true\n");
    assert_eq!(sql("SELECT count(*) AS n FROM errors"), "n\n0\n");
    let trials = sql("SELECT rule, fix, verdict, change, saved_s FROM trials");
    assert_eq!(trials, "rule,fix,verdict,change,saved_s\npinned-to-one-cpu,affinity,helped,-25,2\n");
}

#[test]
fn prune_removes_only_what_was_asked_for_and_is_a_recording() {
    let folder = Folder::new();
    let runs = folder.path("runs");
    for host in 0..3 {
        recording(&runs, host, false);
        recording(&runs, host, true);
    }
    good(["label", &runs.join("02-0.cw").display().to_string(), "keep=yes"]);
    std::fs::write(runs.join("02-1.cw/notes.txt"), "mine").unwrap();
    std::fs::write(runs.join("notes.txt"), "mine").unwrap();
    let outside = folder.path("outside.cw");
    copy_recordings(&runs.join("02-2.cw"), &outside);
    std::os::unix::fs::symlink(&outside, runs.join("link.cw")).unwrap();
    index(&runs);
    let runs_name = runs.display().to_string();
    let names = || {
        let mut all: Vec<String> =
            std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    };
    let all = names();
    assert_eq!(run(["fleet", "prune", &runs_name]).code, Some(2), "without a rule, nothing is planned");
    let plan = good(["fleet", "prune", &runs_name, "--keep-last", "1"]);
    assert!(plan.contains("To remove: 2\u{a0}recordings") || plan.contains("To remove: 2 recordings"), "{plan}");
    assert!(plan.contains("labelled keep=yes: 1") && plan.contains("Nothing was removed"), "{plan}");
    assert_eq!(names(), all);
    // A change after the index: it is left alone.
    let removed = run(["fleet", "prune", &runs_name, "--keep-last", "1", "--yes"]);
    assert_eq!(removed.code, Some(1));
    assert!(
        removed.err.contains("02-1.cw: not removed: it has notes.txt, which corewise did not write"),
        "{}",
        removed.err
    );
    let left: Vec<String> = all.iter().filter(|name| *name != "02-2.cw").cloned().collect();
    assert_eq!(names(), left);
    assert!(outside.join("manifest.json").exists());
    // The catalogue knows.
    assert_eq!(counts(&index(&runs)), [5, 0, 0, 5, 0]);
    // What has findings stays, and what changed since it was indexed.
    good(["label", &runs.join("03-1.cw").display().to_string(), "a=b"]);
    let plan = good(["fleet", "prune", &runs_name, "--keep-findings=low", "--json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let paths: Vec<&str> =
        plan["plan"]["remove"].as_array().unwrap().iter().map(|of| of["path"].as_str().unwrap()).collect();
    assert_eq!(paths.iter().map(|path| path.rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["03-0.cw", "03-2.cw"]);
}
