//! `corewise sql`: the queries of docs/sql.md, several recordings, invalid input, and queries that try to do harm.

use crate::support::recording::recording;
use crate::support::{Folder, Ran, corewise, fixture, good, ran, run};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Folders of one recording under two names.
fn recordings() -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.path("recording.txt"), recording()).unwrap();
    for name in ["before.cw", "after.cw"] {
        good(["import", &folder.name("recording.txt"), "-o", &folder.name(name)]);
    }
    folder
}

/// Runs a query in a folder.
fn sql(folder: &Folder, words: &[&str]) -> Ran {
    ran(corewise(["sql"].iter().chain(words)).current_dir(folder.path("")).output().expect("corewise runs"))
}

fn csv(folder: &Folder, words: &[&str]) -> String {
    let done = sql(folder, &[words, &["--format", "csv"]].concat());
    assert_eq!(done.code, Some(0), "{words:?}: {}", done.err);
    done.out.replace("\r\n", "\n")
}

/// The files below a folder with their contents.
fn files(of: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(of).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), std::fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The queries of the page, each with its question.
fn cookbook() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut queries, mut question, mut query) = (Vec::new(), String::new(), None::<String>);
    for line in page.lines() {
        match &mut query {
            None if line == "```sql" => query = Some(String::new()),
            None if !line.is_empty() => question = line.to_owned(),
            None => {}
            Some(text) if line == "```" => queries.push((question.clone(), std::mem::take(text))),
            Some(text) => *text += &format!("{line}\n"),
        }
        if line == "```" {
            query = None;
        }
    }
    queries
}

#[test]
fn the_cookbook_asks_twenty_questions() {
    let queries = cookbook();
    assert!(queries.len() >= 20, "{} queries", queries.len());
    for (question, query) in queries {
        assert!(question.ends_with('?') && !query.is_empty(), "{question}: {query}");
    }
}

#[test]
#[ignore = "needs DuckDB"]
fn each_query_of_the_cookbook_has_an_answer() {
    // In this recording, no thread is preempted, migrates, or waits while a CPU is idle.
    let may_be_empty =
        ["idle and another thread waited", "left the CPU while they could have run on", "more than one CPU"];
    let folder = recordings();
    let mut empty = Vec::new();
    for (question, query) in cookbook() {
        let answer = csv(&folder, &["before.cw", "after.cw", &query]);
        if answer.lines().count() < 2 && !may_be_empty.iter().any(|part| question.contains(part)) {
            empty.push(question);
        }
    }
    assert!(empty.is_empty(), "no rows: {empty:?}");
}

#[test]
#[ignore = "needs DuckDB"]
fn rows_name_their_recording_and_times_are_also_in_seconds() {
    let folder = recordings();
    let answer =
        csv(&folder, &["*.cw", "SELECT trace, running_ns, running_s FROM threads WHERE name = 'game' ORDER BY trace"]);
    let lines: Vec<&str> = answer.lines().collect();
    let cells: Vec<&str> = lines[1].split(',').collect();
    let ns: f64 = cells[1].parse().unwrap();
    let seconds: f64 = cells[2].parse().unwrap();
    assert!(ns > 0.0 && (seconds - ns / 1e9).abs() < 1e-12, "{answer}");
    assert!(lines.len() == 3 && cells[0] == "after.cw" && lines[2].starts_with("before.cw,"), "{answer}");
    let traces =
        csv(&folder, &["*.cw", "SELECT trace, cpus, core_types['uniform'] AS uniform FROM traces ORDER BY trace"]);
    assert_eq!(traces, "trace,cpus,uniform\nafter.cw,2,2\nbefore.cw,2,2\n");
    // Labels are among the facts of a recording.
    let manifest = folder.path("after.cw/manifest.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    json["facts"]["about"].as_array_mut().unwrap().push(serde_json::json!(["label.os", "it's new"]));
    std::fs::write(&manifest, json.to_string()).unwrap();
    let labels = csv(
        &folder,
        &["*.cw", "SELECT trace, labels['os'] AS os, about['label.os'] AS about FROM traces ORDER BY trace"],
    );
    assert_eq!(labels, "trace,os,about\nafter.cw,it's new,\nbefore.cw,,\n");
    // The docs and units of all columns, without making the tables.
    let comments = csv(
        &folder,
        &[
            "before.cw",
            "SELECT count(*) AS n FROM duckdb_columns() WHERE table_name = 'threads' AND comment LIKE '%Unit: ns.'",
        ],
    );
    assert!(comments.lines().nth(1).unwrap().parse::<u32>().unwrap() > 5, "{comments}");
}

#[test]
#[ignore = "needs DuckDB"]
fn redacted_rows_have_no_paths() {
    let folder = recordings();
    let query = "SELECT DISTINCT trace FROM threads UNION ALL SELECT trace FROM traces ORDER BY 1";
    assert_eq!(csv(&folder, &["before.cw", query, "--redact"]), "trace\nTRACE\nTRACE\n");
    let both = csv(&folder, &["before.cw", "after.cw", query, "--redact"]);
    assert_eq!(both, "trace\nTRACE 1\nTRACE 1\nTRACE 2\nTRACE 2\n");
    let states = "SELECT count(*) > 0 AS any FROM thread_state";
    assert_eq!(csv(&folder, &["before.cw", states, "--redact"]), "any\ntrue\n");
}

#[test]
#[ignore = "needs DuckDB"]
fn files_of_other_tools_are_queried_as_they_are() {
    let folder = Folder::new();
    let answer = csv(&folder, &[&fixture("sched.data"), "SELECT count(*) AS n FROM thread_state"]);
    let rows = good(["table", &fixture("sched.data"), "thread_state", "--format", "csv"]).lines().count() - 1;
    assert_eq!(answer, format!("n\n{rows}\n"));
}

#[test]
#[ignore = "needs DuckDB"]
fn all_formats_are_written() {
    let folder = recordings();
    let query = "SELECT 1 AS i, 0.5 AS f, true AS b, 'a,b' AS t, NULL AS n, [1, 2] AS l, sum(tid) AS tids_ns FROM threads WHERE name = 'game'";
    assert_eq!(csv(&folder, &["before.cw", query]), "i,f,b,t,n,l,tids_ns\n1,0.5,true,\"a,b\",,\"[1, 2]\",4321\n");
    let json = sql(&folder, &["before.cw", query, "--format", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["i"], 1);
    assert_eq!(json[0]["n"], serde_json::Value::Null);
    let text = sql(&folder, &["before.cw", query, "--format", "text"]).out;
    assert!(text.contains("4 321"), "times have groups of digits: {text}");
    let written = sql(&folder, &["before.cw", query, "--format", "parquet", "-o", "answer.parquet"]);
    assert_eq!(written.code, Some(0), "{}", written.err);
    assert!(std::fs::read(folder.path("answer.parquet")).unwrap().starts_with(b"PAR1"));
    let many = sql(&folder, &["before.cw", "SELECT 9e18::HUGEINT * 10 AS big"]);
    assert!(many.code == Some(1) && many.err.contains("not an integer of 64 bits"), "{}", many.err);
}

#[test]
#[ignore = "needs DuckDB"]
fn mistakes_are_answered_in_one_sentence() {
    let folder = recordings();
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (words, expected) in [
        (
            vec!["before.cw", "SELECT redy_ns FROM threads"],
            "there is no column redy_ns in the tables of this query, did you mean ready_ns?",
        ),
        (vec!["before.cw", "SELECT * FROM thread"], "there is no table thread, did you mean threads?"),
        (vec!["before.cw", "SELECT FROM WHERE"], "the query fails: Parser Error: syntax error"),
        (vec!["before.cw", "SELEC name"], "\"SELEC name\" is neither a file nor a query: only queries that read"),
        (vec!["before.cw", ""], "\"\" is neither a file nor a query"),
        (vec!["before.cw", "SELECT 1; SELECT 2"], "only one query is answered at a time"),
        (vec!["empty", "SELECT * FROM threads"], "neither a trace folder"),
        (vec!["nothing.cw", "SELECT * FROM threads"], "there is no such file or folder"),
        (vec!["x*.cw", "SELECT * FROM threads"], "no file or folder matches this pattern"),
    ] {
        let done = sql(&folder, &words);
        assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{words:?}: {}", done.err);
        assert!(done.err.starts_with("corewise: ") && done.err.contains(expected), "{words:?}: {}", done.err);
        assert_eq!(done.err.trim_end().lines().count(), 1, "{words:?}: {}", done.err);
    }
}

#[test]
#[ignore = "needs DuckDB"]
fn recordings_of_a_newer_format_are_refused_by_name() {
    let folder = recordings();
    let manifest = folder.path("after.cw/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json["format_version"] = 1000.into();
    std::fs::write(&manifest, json.to_string()).unwrap();
    let done = sql(&folder, &["*.cw", "SELECT * FROM threads"]);
    assert!(
        done.code == Some(1) && done.err.contains("after.cw") && done.err.contains("newer corewise"),
        "{}",
        done.err
    );
}

#[test]
fn arguments_are_checked_before_anything_is_read() {
    for (words, expected) in [
        (&["sql", "SELECT 1"][..], "name a trace before the query"),
        (&["sql", "run.cw", "-o", "x.csv"], "-o needs a query"),
        (&["sql", "run.cw", "--format", "parquet"], "needs a query and a file"),
    ] {
        let done = run(words);
        assert!(done.code == Some(2) && done.err.contains(expected), "{words:?}: {}", done.err);
    }
}

#[test]
fn without_duckdb_the_command_to_get_it_is_named() {
    let folder = Folder::new();
    let mut command = corewise(["sql", "run.cw", "SELECT 1"]);
    let done = ran(command
        .env("PATH", folder.path(""))
        .env_remove("VIRTUAL_ENV")
        .env_remove("COREWISE_DUCKDB")
        .output()
        .unwrap());
    assert!(done.code == Some(1) && done.err.contains("python3 -m pip install duckdb"), "{}", done.err);
}

#[test]
#[ignore = "needs DuckDB"]
fn a_query_writes_nothing_and_reads_nothing_else() {
    let folder = recordings();
    std::fs::write(folder.path("secret.csv"), "a\nsecret-content\n").unwrap();
    std::fs::write(folder.path("duckdb.py"), "open('imported', 'w')").unwrap();
    // corewise itself stores tables in a trace folder when it makes them first.
    csv(&folder, &["before.cw", "SELECT count(*) FROM threads, thread_state"]);
    let before = files(&folder.path(""));
    let outside = folder.name("outside.parquet");
    let own = folder.name("before.cw/states/thread.parquet");
    for query in [
        format!("COPY threads TO '{outside}'"),
        format!("COPY threads TO '{own}' (FORMAT parquet, USE_TMP_FILE false)"),
        format!("WITH x AS (COPY (SELECT 1) TO '{outside}') SELECT * FROM x, threads"),
        format!(
            "WITH x AS (COPY (SELECT 1) TO '{own}' (FORMAT parquet, USE_TMP_FILE false)) SELECT * FROM x, thread_state"
        ),
        format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{outside}'"),
        format!("SELECT * FROM query('COPY (SELECT 1) TO ''{outside}''')"),
        format!("ATTACH '{}' AS other", folder.name("other.db")),
        format!("EXPORT DATABASE '{}'", folder.name("exported")),
        "INSTALL httpfs".to_owned(),
        "LOAD httpfs".to_owned(),
        "SELECT * FROM read_csv('https://example.org/x.csv')".to_owned(),
        "SELECT * FROM read_csv('secret.csv')".to_owned(),
        format!("SELECT * FROM read_text('{}')", folder.name("secret.csv")),
        "SELECT * FROM 'secret.csv'".to_owned(),
        format!("SELECT * FROM glob('{}')", folder.name("*")),
        "SELECT * FROM read_text('/proc/self/environ')".to_owned(),
        format!("SELECT * FROM read_parquet('{own}')"),
        "SET enable_external_access = true".to_owned(),
        "SET memory_limit = '100GB'".to_owned(),
        "PRAGMA enable_profiling".to_owned(),
        "CREATE TABLE x AS SELECT 1".to_owned(),
        "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')".to_owned(),
        "DROP VIEW threads".to_owned(),
        "SELECT 1; COPY (SELECT 1) TO 'x.csv'".to_owned(),
    ] {
        let done = sql(&folder, &["before.cw", &query]);
        assert_eq!(done.code, Some(1), "{query}: {}{}", done.out, done.err);
        assert!(!format!("{}{}", done.out, done.err).contains("secret-content"), "{query}: {}{}", done.out, done.err);
        assert_eq!(done.err.trim_end().lines().count(), 1, "{query}: {}", done.err);
        let changed: Vec<_> = files(&folder.path("")).into_iter().filter(|file| !before.contains(file)).collect();
        let changed: Vec<_> = changed.iter().map(|(path, _)| path.display()).collect();
        assert!(changed.is_empty(), "{query} changed {changed:?}");
    }
}

#[test]
#[ignore = "needs DuckDB"]
fn queries_that_grow_are_bounded_in_time_and_memory() {
    let folder = recordings();
    let begin = Instant::now();
    let endless = "WITH RECURSIVE t(a) AS (SELECT 1::BIGINT UNION ALL SELECT a + 1 FROM t) SELECT count(*) FROM t";
    let done = sql(&folder, &["before.cw", endless, "--time-limit", "2s"]);
    assert!(done.code == Some(1) && done.err.contains("ended after 2 s"), "{}", done.err);
    assert!(begin.elapsed() < Duration::from_secs(30));
    for query in [
        "WITH RECURSIVE t(a) AS (SELECT 'x' UNION ALL SELECT a || a FROM t) SELECT max(length(a)) FROM t",
        "SELECT a.range, b.range FROM range(100000000) AS a, range(100000000) AS b ORDER BY hash(a.range + b.range)",
    ] {
        let done = sql(&folder, &["before.cw", query, "--memory-limit", "100", "--time-limit", "60s"]);
        assert!(done.code == Some(1) && done.err.contains("--"), "{query}: {}", done.err);
    }
}

#[test]
#[ignore = "needs DuckDB"]
fn queries_are_also_read_from_standard_input() {
    let folder = recordings();
    let typed = std::fs::File::create(folder.path("queries.sql"));
    std::io::Write::write_all(&mut typed.unwrap(), b"SELECT 1 AS a; -- a comment;\nSELECT ';' AS b\n").unwrap();
    let mut command = corewise(["sql", "before.cw", "--format", "csv"]);
    let input = std::fs::File::open(folder.path("queries.sql")).unwrap();
    let done = ran(command.current_dir(folder.path("")).stdin(input).output().unwrap());
    assert_eq!((done.code, done.out.as_str()), (Some(0), "a\r\n1\r\nb\r\n;\r\n"), "{}", done.err);
}

/// Two threads of CPU 0 take turns every 10 us.
fn long_recording(switches: u64) -> String {
    let mut text =
        String::from("# tracer: nop\n#\n#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION\n");
    for at in 0..switches {
        let [(name, tid), (next, next_tid)] =
            if at % 2 == 0 { [("a", 101), ("b", 102)] } else { [("b", 102), ("a", 101)] };
        let us = 1_000_000 + at * 10;
        text += &format!(
            "{name:>16}-{tid:<7} ({tid:>5}) [000] d..2. {}.{:06}: sched_switch: prev_comm={name} prev_pid={tid} prev_prio=120 prev_state=R \
             ==> next_comm={next} next_pid={next_tid} next_prio=120\n",
            us / 1_000_000,
            us % 1_000_000
        );
    }
    text
}

#[test]
fn ctrl_c_while_tables_are_made_leaves_no_temporary_folder() {
    let folder = Folder::new();
    std::fs::write(folder.path("long.txt"), long_recording(100_000)).unwrap();
    let temporary = folder.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let left = || std::fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut command = corewise(["sql", "long.txt", "SELECT count(*) FROM thread_state, ready_wait"]);
        // Nothing is asked before the tables are made.
        command.current_dir(folder.path("")).env("TMPDIR", &temporary).env("COREWISE_DUCKDB", "/nowhere/duckdb");
        // A shell lets commands in its background ignore Ctrl-C, and so what they start.
        // SAFETY: an async-signal-safe call.
        unsafe {
            command.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            })
        };
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        // Since the tables are made next, one file is there or the folder is empty.
        while left().is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!left().is_empty(), "no temporary folder was made");
        // SAFETY: the child is not waited for yet, so its number is its own.
        unsafe { libc::kill(child.id().cast_signed(), signal) };
        assert_eq!(child.wait().unwrap().signal(), Some(signal), "it ended otherwise");
        assert_eq!(left(), Vec::<std::path::PathBuf>::new());
    }
}
