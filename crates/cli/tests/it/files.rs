//! Files of other tools: opened, imported, and their tables in every format.

use crate::support::{Folder, corewise, fixture, good, ran, run};
use serde_json::Value;
use std::process::Stdio;

const FILES: [&str; 4] = ["sched.data", "sched-zstd.data", "sched-pipe.data", "switch.data"];
/// All tables: stored ones, those computed from sums, and those made by analyses on request.
fn all_tables() -> impl Iterator<Item = &'static str> {
    model::tables::ALL.iter().map(|def| def.name)
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&good(words)).expect("JSON")
}

fn sum(rows: &Value, column: &str) -> i64 {
    rows.as_array().expect("rows").iter().map(|r| r[column].as_i64().expect("an integer")).sum()
}

#[test]
fn a_file_and_its_folder_have_the_same_tables() {
    let folder = Folder::new();
    for name in FILES {
        let (file, dir) = (fixture(name), folder.name(&format!("{name}.cw")));
        let output = good(["import", &file, "-o", &dir]);
        assert!(output.contains("next: corewise report"), "{output}");
        for table in all_tables() {
            let (of_file, of_dir) =
                (json(&["table", &file, table, "--format", "json"]), json(&["table", &dir, table, "--format", "json"]));
            assert!(of_file == of_dir, "{name} {table}");
        }
        let (file, dir) = (json(&["verify", &file, "--format", "json"]), json(&["verify", &dir, "--format", "json"]));
        assert_eq!(file, dir, "{name}");
        assert_eq!(file["holds"], true, "{name}");
        assert!(file["residuals"].as_object().unwrap().values().all(|r| r == 0), "{name}");
        assert!(file["events"].as_i64().unwrap() > 1000, "{name}");
    }
}

#[test]
fn inferred_time_is_separate_or_included() {
    let folder = Folder::new();
    let mut total_inferred = 0;
    for name in FILES {
        let (file, dir) = (fixture(name), folder.name(&format!("{name}.cw")));
        good(["import", &file, "-o", &dir]);
        for table in all_tables() {
            let words = |of| json(&["table", of, table, "--format", "json", "--inferred"]);
            assert!(words(&file) == words(&dir), "{name} {table}");
        }
        let check = |of| json(&["verify", of, "--format", "json", "--inferred"]);
        assert_eq!(check(&file), check(&dir), "{name}");
        assert_eq!(check(&file)["holds"], true, "{name}");
        let table = |table| json(&["table", &dir, table, "--format", "json"]);
        let within = |table| json(&["table", &dir, table, "--format", "json", "--inferred"]);
        let apart: i64 = sum(&table("inferred_state"), "end_ns") - sum(&table("inferred_state"), "start_ns");
        assert_eq!(sum(&within("cpus"), "inferred_ns"), apart, "{name}");
        assert_eq!(sum(&table("cpus"), "unknown_ns") - sum(&within("cpus"), "unknown_ns"), apart, "{name}");
        let running = |threads: &Value| sum(threads, "running_ns");
        let of_threads = sum(&within("threads"), "inferred_ns");
        assert_eq!(running(&within("threads")) - running(&table("threads")), of_threads, "{name}");
        assert!(table("threads")[0].get("inferred_ns").is_none(), "{name}");
        // The end of the report lists the names of tables, so it is ignored.
        let says = |report: String| report.split("\nNext steps\n").next().unwrap().contains("inferred");
        assert!(says(good(["report", &dir, "--inferred"])) && !says(good(["report", &dir])), "{name}");
        total_inferred += apart;
    }
    assert!(total_inferred > 0);
}

#[test]
fn sums_are_equal_in_every_format_of_a_table() {
    let file = fixture("sched.data");
    let threads = json(&["table", &file, "threads", "--format", "json"]);
    let cpus = json(&["table", &file, "cpus", "--format", "json"]);
    assert_eq!(sum(&threads, "running_ns"), sum(&cpus, "busy_ns"));
    let csv = good(["table", &file, "threads", "--format", "csv"]);
    let head: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(head[..3], ["thread", "tid", "instance"]);
    let at = head.iter().position(|c| *c == "running_ns").unwrap();
    let running: i64 = csv.lines().skip(1).map(|l| l.split(',').nth(at).unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(running, sum(&cpus, "busy_ns"));
    let md = good(["table", &file, "threads", "--format", "md"]);
    assert!(md.starts_with("| thread |") && md.contains("running_ns (ns)"), "{md}");
    assert_eq!(md.lines().count(), threads.as_array().unwrap().len() + 2);
}

#[test]
fn names_follow_the_keys_of_threads() {
    let file = fixture("sched.data");
    let threads = json(&["table", &file, "threads", "--format", "json"]);
    let name = |key: &Value| {
        let row = threads.as_array().unwrap().iter().find(|t| t["thread"] == *key);
        row.map_or(if *key == 0 { "idle".into() } else { Value::Null }, |t| t["name"].clone())
    };
    for (table, columns) in [
        ("thread_state", &["thread", "waker"][..]),
        ("cpu_state", &["thread"]),
        ("ran_instead", &["thread", "ran_instead"]),
        ("wakers", &["waker", "thread"]),
    ] {
        let rows = json(&["table", &file, table, "--format", "json"]);
        for row in rows.as_array().unwrap() {
            for column in columns {
                assert_eq!(row[format!("{column}_name")], name(&row[column]), "{table} {column} {row}");
            }
        }
        for column in columns {
            let named = |row: &Value| row[format!("{column}_name")].is_string();
            assert!(rows.as_array().unwrap().iter().any(named), "{table} {column}");
        }
        let without = good(["table", &file, table, "--format", "csv", "--no-names"]);
        assert!(!without.lines().next().unwrap().contains("_name"), "{table}");
    }
    let folder = Folder::new();
    let (with, without) = (folder.path("with"), folder.path("without"));
    let export = |to: &std::path::Path, more: &[&str]| {
        let to = to.display().to_string();
        good([&["export", &file, "--to", "csv", "-o", &to, "--table", "wakers"], more].concat());
    };
    export(&with, &[]);
    export(&without, &["--no-names"]);
    let head = |of: &std::path::Path| {
        std::fs::read_to_string(of.join("wakers.csv")).unwrap().lines().next().unwrap().to_owned()
    };
    assert!(head(&with).starts_with("waker,waker_name,thread,thread_name,tid,"), "{}", head(&with));
    assert!(head(&without).starts_with("waker,thread,tid,"), "{}", head(&without));
}

#[test]
fn a_table_goes_into_a_new_file_only() {
    let folder = Folder::new();
    let (file, out) = (fixture("sched.data"), folder.name("threads.parquet"));
    good(["table", &file, "threads", "--format", "parquet", "-o", &out]);
    let bytes = std::fs::read(&out).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let again = run(["table", &file, "threads", "--format", "csv", "-o", &out]);
    assert!(again.code == Some(1) && again.err.contains("already exists"), "{}", again.err);
    assert_eq!(std::fs::read(&out).unwrap(), bytes);
    let other = folder.path("other.csv");
    assert_eq!(run(["table", &file, "dance", "-o", &other.display().to_string()]).code, Some(1));
    assert!(!other.exists());
}

#[test]
fn a_folder_is_never_overwritten() {
    let folder = Folder::new();
    let dir = folder.path("run.cw");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("mine.txt"), "mine").unwrap();
    let ran = run(["import", &fixture("sched.data"), "-o", &dir.display().to_string()]);
    assert!(ran.code == Some(1) && ran.err.contains("not empty"), "{}", ran.err);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
}

#[test]
fn a_pipe_can_be_read_like_a_file() {
    let piped = |words: &[&str]| {
        let from = std::fs::File::open(fixture("sched-pipe.data")).unwrap();
        ran(corewise(words).stdin(Stdio::from(from)).output().unwrap())
    };
    let report = piped(&["report", "-"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    let folder = Folder::new();
    let dir = folder.name("run.cw");
    let import = piped(&["import", "-", "-o", &dir]);
    assert_eq!(import.code, Some(0), "{}", import.err);
    let (of_dir, of_file) = (
        json(&["verify", &dir, "--format", "json"]),
        json(&["verify", &fixture("sched-pipe.data"), "--format", "json"]),
    );
    assert_eq!(of_dir, of_file);
}

#[test]
fn the_report_starts_with_the_answer_and_ends_with_the_quality_of_the_recording() {
    let text = good(["report", &fixture("sched.data"), "--top", "3"]);
    let (head, rest) = text.split_once("\n\nVerdict\n").unwrap();
    // Where lines break depends on the length of the file's path.
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["42.372 ms", "perf record", "2 CPUs", "it is unknown what ran"] {
        assert!(head.contains(word), "{word} in {head}");
    }
    let quality = rest.split_once("\nAbout the data\n").unwrap().1;
    for word in
        ["unknown", "lossy", "inconsistent switches", "missing wakeups", "losses", "Time accounting: consistent"]
    {
        assert!(quality.contains(word), "{word} in {quality}");
    }
    let report = json(&["report", &fixture("sched.data"), "--format", "json"]);
    assert_eq!(sum(&report["threads"], "running_ns"), sum(&report["cpus"], "busy_ns"));
    assert_eq!(run(["report", &fixture("sched.data"), "--process", "no-such-name"]).code, Some(1));
    let one = good(["report", &fixture("sched.data"), "--process", "sched-pipe", "--sort", "name"]);
    assert!(one.contains("Threads of sched-pipe") && !one.contains("sched-messaging"), "{one}");
}

#[test]
fn the_report_can_be_a_page() {
    let folder = Folder::new();
    let (file, out) = (fixture("sched.data"), folder.name("run.html"));
    let output = good(["report", &file, "--html", &out]);
    assert!(output.contains(&out), "{output}");
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert_eq!(good(["report", &file, "--html", "-"]), page);
    let again = run(["report", &file, "--html", &out]);
    assert!(again.code == Some(1) && again.err.contains(&out), "{}", again.err);
    assert_eq!(run(["report", &file, "--html", "-", "--format", "json"]).code, Some(2));
    // The report of the imported folder is the same, except for its path and the next steps.
    let dir = folder.name("sched.data");
    good(["import", &file, "-o", &dir]);
    let of_dir = good(["report", &dir, "--html", "-"]);
    let body = |page: &str| {
        let begin = page.find("<main>").unwrap();
        page[begin..page.rfind(">Next steps<").unwrap()].to_owned()
    };
    assert_eq!(body(&of_dir).replace(&dir, &file), body(&page));
    let redacted = good(["report", &file, "--html", "-", "--redact"]);
    assert!(!redacted.contains(&file) && !redacted.contains("corewise-fixture"), "{redacted}");
    assert!(page.contains("corewise-fixture"));
}

#[test]
fn sections_are_selected_by_name() {
    let file = fixture("sched.data");
    let text = |sections| good(["report", &file, "--sections", sections]);
    assert!(text("waiting").contains("\nWaiting for a CPU") && !text("waiting").contains("\nMigrations"));
    assert!(text("waiting,migrations").contains("\nMigrations") && !text("none").contains("\nWaiting for"));
    assert_eq!(text("all"), good(["report", &file, "--full"]));
    for (wrong, help) in [("dance", "`corewise report --help` lists them"), ("placment", "placement")] {
        let wrong = run(["report", &file, "--sections", wrong]);
        assert!(wrong.code == Some(2) && wrong.err.contains(help), "{}", wrong.err);
    }
    let none = json(&["report", &file, "--format", "json", "--sections", "none"]);
    let some = json(&["report", &file, "--format", "json", "--sections", "waiting"]);
    assert!(none.get("ready_wait").is_none());
    assert_eq!(sum(&some["ready_wait"], "ready_ns"), sum(&none["threads"], "ready_ns"));
    assert!(some["ran_instead"][0].get("ran_instead_name").is_some());
    // Tables made for a folder are stored in it.
    let folder = Folder::new();
    let dir = folder.path("run.cw");
    good(["import", &file, "-o", &dir.display().to_string()]);
    let stored = || dir.join("tables/ready_wait.parquet").exists();
    assert!(!stored());
    let first = good(["report", &dir.display().to_string()]);
    assert!(stored());
    assert_eq!(good(["report", &dir.display().to_string()]), first);
}

#[test]
fn a_machine_description_applies_to_files_and_folders() {
    let folder = Folder::new();
    let (machine, dir) = (folder.name("pe.toml"), folder.name("run.cw"));
    std::fs::write(
        &machine,
        "[[cpus]]\nids = \"0\"\ntype = \"performance\"\n[[cpus]]\nids = \"1\"\ntype = \"efficient\"\n",
    )
    .unwrap();
    good(["import", &fixture("sched.data"), "-o", &dir]);
    for table in ["cpus", "thread_by_core_type", "thread_state"] {
        let of = |trace: &str| good(["table", trace, table, "--machine", &machine, "--format", "csv"]);
        let (of_file, of_dir) = (of(&fixture("sched.data")), of(&dir));
        assert!(of_file == of_dir, "{table}");
        assert!(of_file.contains("performance") && of_file.contains("efficient"), "{table}");
    }
}

#[test]
fn the_critical_path_ends_with_the_thread_that_the_user_names() {
    let file = fixture("sched.data");
    let of = |words: &[&str]| json(&[&["table", &file, "critical_path", "--format", "json"], words].concat());
    let ends = |path: &Value| path.as_array().unwrap().last().unwrap()["tid"].as_i64();
    let part = ["--range", "10ms..20ms"];
    assert_eq!(ends(&of(&["--thread", "782"])), Some(782));
    let path = of(&[&part[..], &["--thread", "782"]].concat());
    assert_eq!((ends(&path), sum(&path, "end_ns") - sum(&path, "start_ns")), (Some(782), 10_000_000));
    let sums = json(&[&["table", &file, "critical_by_thread", "--format", "json"], &part[..]].concat());
    assert_eq!(sum(&sums, "path_ns"), 10_000_000);
    let unknown = run(["table", &file, "critical_path", "--thread", "424242"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("thread 424242 does not exist"), "{}", unknown.err);
    let other = run(["table", &file, "threads", "--thread", "782"]);
    assert!(other.code == Some(2) && other.err.contains("critical_by_thread"), "{}", other.err);
}

#[test]
fn tables_are_described() {
    let output = good(["tables"]);
    for table in all_tables() {
        assert!(output.contains(&format!("{table}: ")), "{table} in {output}");
    }
    assert!(good(["tables", &fixture("sched.data")]).contains("threads (54 rows)"));
}

#[test]
fn verify_reads_what_its_sums_were_made_of() {
    let folder = Folder::new();
    for file in ["states/thread.parquet", "states/cpu.parquet", "events/switch.parquet"] {
        let dir = folder.name(&file.replace('/', "-"));
        good(["import", &fixture("sched.data"), "-o", &dir]);
        good(["verify", &dir]);
        // One byte of a time: the length is as it was.
        let path = std::path::Path::new(&dir).join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.len() / 10;
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let damaged = run(["verify", &dir]);
        assert!(damaged.code == Some(1) && damaged.err.contains(file), "{file}: {}", damaged.err);
    }
}
