//! Help, errors, exit codes, colours, closed pipes.

use crate::support::{Folder, corewise, fixture, good, ran, run};
use std::io::Read;
use std::process::Stdio;

#[test]
fn help_lists_every_command_and_each_has_its_help() {
    let help = good(["--help"]);
    assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
    let block = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let listed: Vec<&str> = block.lines().filter_map(command_of).collect();
    assert!(listed.len() >= 18 && ["view", "formats", "export"].iter().all(|c| listed.contains(c)), "{block}");
    for command in listed {
        let own = good([command, "--help"]);
        assert!(own.contains("Usage: corewise") && own.contains("Example"), "{own}");
        assert!(own.lines().all(|l| l.chars().count() <= 100), "{own}");
    }
}

/// The command that a line of the help describes; none if the line continues the previous description or is `help` itself.
fn command_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix("  ")?.split(' ').next()?;
    (!name.is_empty() && name != "help").then_some(name)
}

#[test]
fn invalid_arguments_exit_with_code_2() {
    for words in
        [&["dance"][..], &["report"], &[], &["report", "--top", "x", "a"], &["record", "--pid", "1", "--", "ls"]]
    {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("Usage") || ran.err.contains("error"), "{}", ran.err);
    }
    assert_eq!(run(["record", "--only-focus"]).code, Some(2));
    assert_eq!(run(["man", "dance"]).code, Some(2));
}

#[test]
fn errors_are_short_and_name_the_place() {
    let folder = Folder::new();
    let text = folder.path("a.txt");
    std::fs::write(&text, "not a recording").unwrap();
    std::fs::create_dir(folder.path("empty")).unwrap();
    let (text, empty) = (text.display().to_string(), folder.name("empty"));
    let cases = [
        (vec!["report", "/no/such/file"], "/no/such/file"),
        (vec!["report", &text], "perf.data"),
        (vec!["verify", &empty], "neither a trace folder"),
        (vec!["recover", &empty], "contains no spool"),
        (vec!["recover", "/no/such/folder"], "folder not found"),
        (vec!["topo", "--machine", "/no/such/file"], "/no/such/file"),
        (vec!["topo", "--machine", &text], "line 1"),
    ];
    for (words, wanted) in cases {
        let ran = run(&words);
        assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{words:?}: {}", ran.out);
        assert!(ran.err.starts_with("corewise: ") && ran.err.contains(wanted), "{words:?}: {}", ran.err);
        assert!(ran.err.trim_end().lines().count() <= 4, "{words:?}: {}", ran.err);
    }
    let ran = run(["table", &fixture("sched.data"), "dance"]);
    assert!(ran.code == Some(1) && ran.err.contains("thread_by_cpu"), "{}", ran.err);
    let ran = run(["table", &fixture("sched.data"), "threads", "--format", "xml"]);
    assert!(ran.code == Some(2) && ran.err.contains("parquet"), "{}", ran.err);
}

#[test]
fn damage_is_reported_with_its_place() {
    let folder = Folder::new();
    let complete = std::fs::read(fixture("sched.data")).unwrap();
    let cut = folder.path("cut.data");
    std::fs::write(&cut, &complete[..complete.len() / 2]).unwrap();
    let ran = run(["report", &cut.display().to_string()]);
    let output = format!("{}{}", ran.out, ran.err);
    assert!(output.contains("byte ") && ran.code.is_some_and(|c| c <= 1), "{:?} {output}", ran.code);
}

#[test]
fn colours_are_used_only_when_wanted() {
    let file = fixture("sched.data");
    assert!(!good(["report", &file]).contains('\u{1b}'));
    assert!(good(["report", &file, "--color", "always"]).contains('\u{1b}'));
    let none = corewise(["report", &file]).env("NO_COLOR", "1").output().unwrap();
    assert!(!ran(none).out.contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = corewise(["table", &fixture("sched.data"), "thread_state", "--format", "csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let ended = ran(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn completions_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(good(["completions", shell]).contains("corewise"), "{shell}");
    }
    assert!(good(["man"]).contains(".TH"));
    assert!(good(["man", "record"]).contains("Flight recorder"));
}

#[test]
fn the_machine_is_shown() {
    assert!(good(["topo"]).contains("CPU"));
    let json: serde_json::Value = serde_json::from_str(&good(["topo", "--json"])).unwrap();
    assert!(json["cpus"].as_array().is_some_and(|c| !c.is_empty()));
    let folder = Folder::new();
    let machine = folder.path("pe.toml");
    std::fs::write(
        &machine,
        "[[cpus]]\nids = \"0-1\"\ntype = \"performance\"\n[[cpus]]\nids = \"2\"\ntype = \"efficient\"\n",
    )
    .unwrap();
    let drawn = good(["topo", "--machine", &machine.display().to_string()]);
    assert_eq!(good(["topo", &machine.display().to_string()]), drawn, "a file that describes a machine is not a trace");
    assert!(drawn.contains("performance") && drawn.contains("efficient"), "{drawn}");
}
