//! The command `corewise view`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use support::{Folder, fixture, good, run};

#[test]
#[ignore = "needs the viewer"]
fn the_address_is_the_only_output() {
    let folder = Folder::new();
    let trace = folder.name("run.cw");
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--no-open", "--idle", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let token = ran.out.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split_once("/?token="));
    let (port, token) = token.unwrap_or_else(|| panic!("no address: {}", ran.out));
    assert!(port.parse::<u16>().is_ok_and(|port| port > 0));
    assert!(token.len() == 33 && token.ends_with('\n'), "{token:?}");
    // The levels are built the first time only.
    assert!(ran.err.contains("Prepared the timeline"), "{}", ran.err);
    let again = run(["view", &trace, "--no-open", "--idle", "1", "--listen", "0.0.0.0"]);
    assert!(again.code == Some(0) && !again.err.contains("Prepared"), "{}", again.err);
    assert!(again.err.contains("warning: other hosts can reach the viewer on 0.0.0.0"), "{}", again.err);
}

#[test]
#[ignore = "needs a build without the viewer"]
fn a_build_without_the_viewer_says_how_to_build_it() {
    let folder = Folder::new();
    let trace = folder.name("run.cw");
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--no-open", "--idle", "1"]);
    assert!(ran.code == Some(1) && ran.out.is_empty() && ran.err.contains("run `make`"), "{}", ran.err);
}

#[test]
fn a_file_must_be_imported_first() {
    let ran = run(["view", &fixture("chains.data"), "--no-open", "--idle", "1"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("corewise import") || ran.err.contains("run `make`"), "{}", ran.err);
}

#[test]
#[ignore = "needs the viewer"]
fn a_page_contains_the_trace_and_overwrites_nothing() {
    let folder = Folder::new();
    let (trace, page) = (folder.name("run.cw"), folder.name("run.html"));
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--html", &page]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with(&format!("{page}: trace as one HTML page of ")), "{}", ran.out);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.starts_with("<!doctype html>") && text.contains("id=\"data-slices-cpu-"),
        "the page contains the levels"
    );
    let again = run(["view", &trace, "--html", &page]);
    assert!(again.code != Some(0) && again.err.contains("already exists"), "{}", again.err);
    // A page that begins with a view is another one.
    let begun = run(["view", &trace, "--html", "-", "--at", "http://127.0.0.1:1/#t=0..5000&notes=7:here"]);
    assert!(begun.code == Some(0) && begun.out.contains("id=\"data-start\"") && !text.contains("data-start"));
    // On standard output, the same page and nothing else.
    assert_eq!(run(["view", &trace, "--html", "-"]).out, text);
    for (words, why) in [
        (&["--html-limit", "0"][..], "megabytes"),
        (&["--port", "80"], "cannot be used with"),
        (&["--at", "t=0..5"], "its part from # on"),
        (&["--html-limit", "0.01"], "too few for the coarsest view"),
    ] {
        let other = folder.name("other.html");
        let refused = run([&["view", &trace, "--html", &other][..], words].concat());
        assert!(refused.code != Some(0) && refused.err.contains(why), "{words:?}: {}", refused.err);
        assert!(!std::path::Path::new(&other).exists(), "{words:?}");
    }
}
