//! `corewise export`: every format, from a file and from its folder.

use crate::support::{Folder, fixture, good, run};

const FILES: [&str; 3] = ["perfetto", "firefox", "chrome"];

#[test]
fn a_file_and_its_folder_give_the_same_bytes() {
    let folder = Folder::new();
    let (file, dir) = (fixture("sched.data"), folder.name("run.cw"));
    good(["import", &file, "-o", &dir]);
    for form in FILES {
        // The path of the trace differs, so it is redacted.
        let of = |trace: &str, name: &str| {
            let to = folder.name(name);
            assert!(good(["export", trace, "--to", form, "-o", &to, "--redact"]).contains(&to));
            std::fs::read(to).unwrap()
        };
        let (of_file, of_dir) = (of(&file, &format!("{form}-file")), of(&dir, &format!("{form}-dir")));
        // A folder has the names at each time, recorded or not; only Perfetto's switches show the difference.
        assert!(form == "perfetto" || of_file == of_dir, "{form}");
        assert!(of_file.len() > 10_000, "{form}");
    }
    let csv = folder.name("csv");
    good(["export", &dir, "--to", "csv", "-o", &csv]);
    let table = good(["table", &file, "threads", "--format", "csv"]);
    assert_eq!(std::fs::read_to_string(folder.path("csv").join("threads.csv")).unwrap(), table);
}

/// Formats of tables leave out columns of paths and addresses. The recording is that of the viewer's test of waits.
#[test]
fn tables_are_redacted() {
    let folder = Folder::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../viewer/test/browser/waits.pftrace");
    for (name, options) in [("open", &[][..]), ("redacted", &["--redact"][..])] {
        let to = folder.name(name);
        good([&["export", file, "--to", "csv", "-o", &to, "--table", "wait_objects"], options].concat());
        let table = std::fs::read_to_string(folder.path(name).join("wait_objects.csv")).unwrap();
        assert_eq!(table.contains("10.0.0.1"), name == "open", "{name}: {table}");
        assert!(table.contains("socket"));
    }
}

#[test]
fn an_export_can_go_to_a_pipe() {
    let piped = good(["export", &fixture("sched.data"), "--to", "chrome", "-o", "-"]);
    let trace: serde_json::Value = serde_json::from_str(&piped).expect("JSON");
    assert!(trace["traceEvents"].as_array().unwrap().len() > 1000);
}

#[test]
fn a_part_is_smaller() {
    let length = |more: &[&str]| {
        let file = fixture("sched.data");
        good([&["export", &file, "--to", "chrome", "-o", "-"], more].concat()).len()
    };
    assert!(length(&["--range", "10ms..20ms"]) < length(&[]) / 2);
}

#[test]
fn invalid_arguments_are_reported() {
    let folder = Folder::new();
    let (file, existing) = (fixture("sched.data"), folder.name("existing"));
    std::fs::write(&existing, "mine").unwrap();
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--to", "csv", "-o", "-"], 2, "-o DIR"),
        (&["--to", "dance", "-o", "x"], 2, "perfetto"),
        (&["--to", "chrome", "-o", "x", "--table", "threads"], 2, "--table"),
        (&["--to", "chrome", "-o", "x", "--range", "5"], 2, "separated by two dots"),
        (&["--to", "chrome", "-o", &existing], 1, "--force"),
    ];
    for (words, code, message) in cases {
        let ran = run([&["export", &file], words].concat());
        assert!(ran.code == Some(code) && ran.err.contains(message), "{words:?}: {:?} {}", ran.code, ran.err);
    }
    assert_eq!(std::fs::read_to_string(&existing).unwrap(), "mine");
    assert!(!folder.path("new").exists());
}

/// For a part, each table is the same as that of `corewise table`, and sums cover the part only.
#[test]
fn a_part_has_its_own_sums() {
    let folder = Folder::new();
    let file = fixture("sched.data");
    let export = |file: &str, part: [&str; 2], to: &str| {
        let csv = folder.name(to);
        good(["export", file, "--to", "csv", "-o", &csv, part[0], part[1]]);
        let read = |table: &str| std::fs::read_to_string(folder.path(to).join(format!("{table}.csv"))).unwrap();
        for table in ["threads", "cpus", "loss", "ready_wait", "thread_state", "marks", "frame_sums"] {
            assert_eq!(read(table), good(["table", file, table, "--format", "csv", part[0], part[1]]), "{table}");
        }
        read("cpus")
    };
    let whole = good(["table", &file, "cpus", "--format", "csv"]);
    let part = export(&file, ["--range", "10ms..20ms"], "range");
    assert_ne!(part, whole);
    // The busy, idle and unknown time of each CPU add up to ten milliseconds.
    for line in part.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[2..5].iter().map(|ns| ns.parse::<i64>().unwrap()).sum::<i64>(), 10_000_000, "{line}");
    }
    export(&fixture("../ftrace_text/trace.txt"), ["--mark", "draw frame: 1"], "mark");
    export(&fixture("../present_mon/v2.csv"), ["--frame", "1"], "frame");
}
