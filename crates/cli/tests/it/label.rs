//! `corewise label` on a trace folder and on a file of another tool.

use crate::support::{Folder, fixture, good, run};

/// Everything that a recording consists of, except edited labels.
fn content(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for part in ["manifest.json", "states/thread.parquet", "events/switch.parquet"] {
        all.push((part.to_owned(), std::fs::read(folder.join(part)).unwrap()));
    }
    all
}

#[test]
fn labels_are_edited_and_every_reader_sees_them() {
    let folder = Folder::new();
    let (run_cw, other) = (folder.name("run.cw"), folder.name("other.cw"));
    let source = fixture(FIXTURE);
    for to in [&run_cw, &other] {
        good(["import", &source, "-o", to]);
        assert_eq!(good(["label", to]), "");
    }
    let (before, id) = (content(&folder.path("run.cw")), good(["table", &run_cw, "threads", "--format", "csv"]));
    assert_eq!(good(["label", &run_cw, "os=new", "plug=no"]), "os=new\nplug=no\n");
    good(["label", &other, "os=old", "plug=no"]);
    assert_eq!(good(["label", &run_cw, "os=newer", "--remove", "plug", "--json"]), "{\"os\":\"newer\"}\n");
    assert_eq!(content(&folder.path("run.cw")), before);
    assert_eq!(good(["table", &run_cw, "threads", "--format", "csv"]), id);
    let compared = good(["compare", "--by", "os", &run_cw, &other]);
    assert!(compared.contains("os=newer") && compared.contains("os=old"), "{compared}");
}

#[test]
fn a_file_of_another_tool_has_its_labels_beside_it() {
    let folder = Folder::new();
    let file = folder.name("perf.data");
    std::fs::copy(fixture(FIXTURE), &file).unwrap();
    assert_eq!(good(["label", &file, "release=2.0"]), "release=2.0\n");
    assert!(folder.path("perf.data.labels.json").exists());
    assert_eq!(std::fs::read(&file).unwrap(), std::fs::read(fixture(FIXTURE)).unwrap());
    let ran = run(["label", &file, "--remove", "relaese"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("has no label relaese, did you mean release"), "{}", ran.err);
    // An import takes them along, unless they are damaged.
    let to = folder.name("run.cw");
    good(["import", &file, "-o", &to]);
    assert_eq!(good(["label", &to]), "release=2.0\n");
    std::fs::write(folder.path("perf.data.labels.json"), "{").unwrap();
    let ran = run(["import", &file, "-o", &folder.name("other.cw")]);
    assert!(ran.code == Some(1) && ran.err.contains("perf.data.labels.json"), "{}", ran.err);
    assert!(!folder.path("other.cw").exists());
    let ran = run(["label", &file, "a=b"]);
    assert!(ran.code == Some(1) && ran.err.contains("damaged") && ran.err.contains("remove this file"), "{}", ran.err);
    assert_eq!(run(["label", &folder.name("none.cw"), "a=b"]).code, Some(1));
    assert_eq!(run(["label", &file, "a"]).code, Some(2));
}

const FIXTURE: &str = "sched.data";
