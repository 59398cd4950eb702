//! Recordings and catalogues in object stores: a small store in this process that can fail. acceptance/fleet_store.py asks others.

mod s3;

use crate::support::{self, Folder, Ran, copy_recordings, corewise, ran};
use s3::Store;
use serde_json::Value;
use std::path::{Path, PathBuf};

const RUNS: &str = "s3://bucket/runs";

/// Copies of eight simulated runs: commands add tables to what they read.
fn recordings(folder: &Folder) -> PathBuf {
    let to = folder.path("recordings");
    if !to.exists() {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/notebooks");
        copy_recordings(&from.canonicalize().unwrap(), &to);
    }
    to
}

fn run<const N: usize>(store: &Store, words: [&str; N]) -> Ran {
    ran(corewise(words).envs(store.environment()).output().unwrap())
}

fn good<const N: usize>(store: &Store, words: [&str; N]) -> String {
    let ran = run(store, words);
    assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
    ran.out
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// A store with eight recordings.
fn filled() -> Store {
    let (store, folder) = (Store::start(), Folder::new());
    good(&store, ["fleet", "copy", &recordings(&folder).display().to_string(), RUNS]);
    store
}

fn counts(done: &Value) -> [u64; 4] {
    ["new", "changed", "unchanged", "removed"].map(|name| done[name].as_u64().unwrap())
}

#[test]
fn a_store_is_indexed_as_a_folder_is() {
    let (store, folder) = (filled(), Folder::new());
    let local = folder.name("catalogue");
    good(&store, ["fleet", "index", &recordings(&folder).display().to_string(), "--into", &local]);
    let done = json(&good(&store, ["fleet", "index", RUNS, "--json"]));
    assert_eq!((counts(&done), &done["errors"]), ([8, 0, 0, 0], &Value::Array(Vec::new())));
    let rules =
        |catalogue: &str| json(&good(&store, ["fleet", "report", catalogue, "--format", "json"]))["rules"].clone();
    let of_store = rules("s3://bucket/runs/catalogue");
    assert_eq!(of_store, rules(&local));
    assert!(!of_store.as_array().unwrap().is_empty());
    // The report has looked whether anything has changed.
    assert!(!good(&store, ["fleet", "report", "s3://bucket/runs/catalogue"]).contains("older"));
    // Packed tables are all that a reader fetches.
    store.state().requests.clear();
    good(&store, ["fleet", "report", "s3://bucket/runs/catalogue"]);
    let fetched: Vec<String> = store
        .state()
        .requests
        .iter()
        .filter(|of| of.contains("catalogue/") && of.ends_with("parquet"))
        .cloned()
        .collect();
    assert!(!fetched.is_empty() && fetched.iter().all(|of| of.contains("/_packed/")), "{fetched:?}");
    // Nothing is read again, but for the labels of one.
    store.state().requests.clear();
    store.state().put("runs/after-1.cw/labels.json", br#"{"version": 1, "labels": {"release": "2.1"}}"#);
    let done = json(&good(&store, ["fleet", "index", RUNS, "--json"]));
    assert_eq!(counts(&done), [0, 1, 7, 0]);
    let read =
        store.state().requests.iter().filter(|of| of.starts_with("GET runs/") && !of.contains("catalogue")).count();
    let of_one = store.state().keys("runs/after-1.cw/").len();
    assert_eq!(read, of_one);
}

#[test]
fn recordings_are_copied_both_ways_and_never_overwritten() {
    let (store, folder) = (filled(), Folder::new());
    let all = recordings(&folder).display().to_string();
    let again = json(&good(&store, ["fleet", "copy", &all, RUNS, "--json"]));
    assert_eq!((again["same"].as_u64(), again["bytes"].as_i64()), (Some(8), Some(0)));
    // The manifest is sent last, and files of the viewer are not.
    let requests = store.state().requests.clone();
    let sent: Vec<&String> = requests.iter().filter(|of| of.starts_with("PUT runs/after-1.cw/")).collect();
    assert_eq!(*sent.last().unwrap(), "PUT runs/after-1.cw/manifest.json");
    good(&store, ["fleet", "copy", "s3://bucket/runs/after-1.cw", &folder.name("")]);
    for file in ["manifest.json", "events/switch.parquet", "tables/threads.parquet"] {
        let (copy, of) = (folder.path("after-1.cw").join(file), recordings(&folder).join("after-1.cw").join(file));
        assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(of).unwrap(), "{file}");
    }
    // Another recording of this name stays.
    store.state().put("runs/after-1.cw/manifest.json", b"{}");
    let other = run(&store, ["fleet", "copy", &all, RUNS]);
    assert_eq!(other.code, Some(1));
    assert!(
        other.err.contains("s3://bucket/runs/after-1.cw: not copied: something else has this name"),
        "{}",
        other.err
    );
    assert_eq!(store.state().objects["runs/after-1.cw/manifest.json"].0, b"{}");
    // A file has its labels with it; a large one is sent in parts.
    let file = folder.path("perf.data");
    std::fs::copy(support::fixture("profile.data"), &file).unwrap();
    good(&store, ["label", &file.display().to_string(), "release=2.0"]);
    good(&store, ["fleet", "copy", &file.display().to_string(), RUNS]);
    assert!(store.state().objects.contains_key("runs/perf.data.labels.json"));
    store.state().ignores_ranges = true;
    good(&store, ["fleet", "index", RUNS]);
    good(&store, ["fleet", "copy", "s3://bucket/runs/perf.data", &folder.name("back")]);
    assert_eq!(std::fs::read(folder.path("back/perf.data")).unwrap(), std::fs::read(&file).unwrap());
    assert_eq!(good(&store, ["label", &folder.name("back/perf.data")]), "release=2.0\n");
}

#[test]
fn commands_read_a_recording_by_its_url() {
    let (store, folder) = (filled(), Folder::new());
    let local = good(&store, ["table", &recordings(&folder).join("after-1.cw").display().to_string(), "threads"]);
    let scratch = folder.name("tmp");
    std::fs::create_dir(&scratch).unwrap();
    let remote = corewise(["table", "s3://bucket/runs/after-1.cw", "threads"])
        .envs(store.environment())
        .env("TMPDIR", &scratch)
        .output()
        .unwrap();
    assert_eq!(ran(remote).out, local);
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "the copy is removed");
    let report = good(&store, ["report", "s3://bucket/runs/after-1.cw"]);
    assert!(report.starts_with("s3://bucket/runs/after-1.cw: "), "{report}");
    // Labels are edited there.
    good(&store, ["label", "s3://bucket/runs/after-1.cw", "release=2.1"]);
    assert_eq!(good(&store, ["label", "s3://bucket/runs/after-1.cw"]), "release=2.1\n");
    for (words, why) in [
        (vec!["report", "s3://bucket/runs/none.cw"], "s3://bucket/runs/none.cw: the store has nothing there"),
        (vec!["report", RUNS], "s3://bucket/runs: has 8 recordings: name one, such as s3://bucket/runs/after-1.cw"),
        (vec!["compare", "s3://bucket/a", "s3://bucket/b"], "run `corewise fleet copy s3://bucket/a .` first"),
        (vec!["report", "ftp://host/a"], "ftp://host/a: this kind of store is not known"),
        (vec!["report", "https://a:secret@host/x"], "a URL with a password"),
    ] {
        let ran = ran(corewise(&words).envs(store.environment()).output().unwrap());
        assert!(ran.code == Some(1) && ran.err.contains(why), "{words:?}: {}", ran.err);
    }
}

#[test]
fn what_a_store_does_not_give_is_a_row_and_the_rest_goes_on() {
    let store = filled();
    {
        let mut state = store.state();
        // Busy twice: repeated. No rights. Gone. Half of it. Damaged.
        state.failing.push(("GET runs/after-1.cw/manifest.json".to_owned(), 503, 2));
        state.failing.push(("GET runs/after-2.cw/events/switch".to_owned(), 403, 100));
        state.failing.push(("GET runs/after-3.cw/states".to_owned(), 404, 100));
        state.truncated.push("runs/after-4.cw/states/thread.parquet".to_owned());
        state.put("runs/before-1.cw/manifest.json", b"{");
    }
    let done = json(&good(&store, ["fleet", "index", RUNS, "--json"]));
    assert_eq!(counts(&done), [4, 0, 0, 0]);
    let errors: Vec<(&str, &str)> = done["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of[0].as_str().unwrap(), of[1].as_str().unwrap()))
        .collect();
    let why = |name: &str| errors.iter().find(|(path, _)| path.ends_with(name)).map_or("no row", |(_, why)| why);
    assert!(why("after-2.cw").contains("refuses access"), "{errors:?}");
    assert!(why("after-3.cw").contains("has no such object or bucket"), "{errors:?}");
    assert!(why("after-4.cw").contains("changed by someone else"), "{errors:?}");
    assert!(why("before-1.cw").starts_with("s3://bucket/runs/before-1.cw"), "{errors:?}");
    // What was not fetched is tried again; what is damaged is not.
    store.state().failing.clear();
    store.state().truncated.clear();
    store.state().requests.clear();
    let done = json(&good(&store, ["fleet", "index", RUNS, "--json"]));
    assert_eq!(counts(&done), [3, 0, 4, 0]);
    assert_eq!(done["errors"].as_array().unwrap().len(), 1);
    assert!(!store.state().requests.iter().any(|of| of.starts_with("GET runs/before-1.cw")));
}

#[test]
fn recordings_without_rights_do_not_end_a_run() {
    let store = filled();
    store.state().failing.push(("GET runs/".to_owned(), 403, 10_000));
    let done = json(&good(&store, ["fleet", "index", RUNS, "--into", "s3://bucket/catalogue", "--json"]));
    assert_eq!((counts(&done), done["errors"].as_array().unwrap().len()), ([0; 4], 8));
}

#[test]
fn pruning_removes_recordings_of_a_store() {
    let store = filled();
    good(&store, ["fleet", "index", RUNS]);
    store.state().put("runs/before-4.cw/notes.txt", b"mine");
    // This one has changed since: it is not in question.
    let plan = json(&good(&store, ["fleet", "prune", RUNS, "--keep-last", "3", "--json"]));
    assert_eq!(plan["plan"]["remove"].as_array().unwrap().len(), 4, "{plan}");
    good(&store, ["fleet", "index", RUNS]);
    let done = run(&store, ["fleet", "prune", RUNS, "--keep-last", "0", "--json", "--yes"]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("s3://bucket/runs/before-4.cw: not removed: it has notes.txt"), "{}", done.err);
    let state = store.state();
    let left: Vec<_> = state.keys("runs/").into_iter().filter(|key| !key.contains("/before-4.cw/")).collect();
    assert!(left.iter().all(|key| key.starts_with("runs/catalogue/")), "{left:?} {}", done.err);
    let removed: Vec<_> = state.requests.iter().filter(|of| of.starts_with("POST")).collect();
    assert!(!removed.is_empty());
    drop(state);
    assert_eq!(counts(&json(&good(&store, ["fleet", "index", RUNS, "--json"]))), [0, 0, 1, 0]);
}

#[test]
fn only_one_writes_a_catalogue_of_a_store() {
    let store = filled();
    good(&store, ["fleet", "index", RUNS]);
    let before: Vec<String> = store.state().keys("runs/catalogue").into_iter().map(str::to_owned).collect();
    // Someone else begins after this run has read it.
    store.state().contended.push("runs/catalogue/catalogue.json".to_owned());
    let other = run(&store, ["fleet", "index", RUNS, "--again"]);
    assert!(other.code == Some(1) && other.err.contains("another `corewise fleet` writes"), "{}", other.err);
    assert_eq!(store.state().keys("runs/catalogue"), before);
    // Someone else is at work.
    store.state().contended.clear();
    let mut about = json(std::str::from_utf8(&store.state().objects["runs/catalogue/catalogue.json"].0).unwrap());
    about["complete"] = Value::Bool(false);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    about["indexed_ns"] = Value::from(u64::try_from(now.as_nanos()).unwrap());
    store.state().put("runs/catalogue/catalogue.json", about.to_string().as_bytes());
    let waiting = run(&store, ["fleet", "index", RUNS]);
    assert!(waiting.code == Some(1) && waiting.err.contains("try again in 5 minutes"), "{}", waiting.err);
    // They were interrupted long ago.
    about["indexed_ns"] = Value::from(1);
    store.state().put("runs/catalogue/catalogue.json", about.to_string().as_bytes());
    assert_eq!(counts(&json(&good(&store, ["fleet", "index", RUNS, "--json"]))), [0, 0, 8, 0]);
    // A catalogue does not go among other objects.
    store.state().put("other/x", b"1");
    let refused = run(&store, ["fleet", "index", RUNS, "--into", "s3://bucket/other"]);
    assert!(refused.code == Some(1) && refused.err.contains("is not a catalogue: it has no"), "{}", refused.err);
}

#[test]
fn keys_that_no_file_can_have_are_refused() {
    let (store, folder) = (filled(), Folder::new());
    store.state().put("runs/evil.cw/manifest.json", b"{}");
    store.state().put("runs/evil.cw/../../../evil", b"1");
    let refused = run(&store, ["fleet", "copy", "s3://bucket/runs/evil.cw", &folder.name("deep/er")]);
    assert!(refused.code == Some(1) && refused.err.contains(".."), "{}", refused.err);
    assert!(!folder.path("evil").exists() && !folder.path("deep/evil").exists());
}
