//! `corewise view` as it is called.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use support::{Folder, fixture, good, run};

#[test]
#[ignore = "needs the viewer"]
fn the_address_stands_alone() {
    let folder = Folder::new();
    let trace = folder.name("run.cw");
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--no-open", "--idle", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let token = ran.out.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split_once("/?token="));
    let (port, token) = token.unwrap_or_else(|| panic!("no address: {}", ran.out));
    assert!(port.parse::<u16>().is_ok_and(|port| port > 0));
    assert!(token.len() == 33 && token.ends_with('\n'), "{token:?}");
    // The levels are made the first time only.
    assert!(ran.err.contains("prepared"), "{}", ran.err);
    let again = run(["view", &trace, "--no-open", "--idle", "1", "--listen", "0.0.0.0"]);
    assert!(again.code == Some(0) && !again.err.contains("prepared"), "{}", again.err);
    assert!(again.err.contains("warning: on 0.0.0.0 other machines can reach it"), "{}", again.err);
}

#[test]
#[ignore = "needs a build without the viewer"]
fn without_its_pages_it_says_how_to_get_them() {
    let folder = Folder::new();
    let trace = folder.name("run.cw");
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--no-open", "--idle", "1"]);
    assert!(ran.code == Some(1) && ran.out.is_empty() && ran.err.contains("run `make`"), "{}", ran.err);
}

#[test]
fn a_file_that_is_no_folder_is_to_be_imported_first() {
    let ran = run(["view", &fixture("chains.data"), "--no-open", "--idle", "1"]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("corewise import") || ran.err.contains("run `make`"), "{}", ran.err);
}

#[test]
#[ignore = "needs the viewer"]
fn one_page_has_the_trace_in_it_and_is_written_only_where_nothing_is() {
    let folder = Folder::new();
    let (trace, page) = (folder.name("run.cw"), folder.name("run.html"));
    good(["import", &fixture("chains.data"), "-o", &trace]);
    let ran = run(["view", &trace, "--html", &page]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with(&format!("{page}: the trace as one page of ")), "{}", ran.out);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>") && text.contains("id=\"data-slices-cpu-"), "the levels are in it");
    let again = run(["view", &trace, "--html", &page]);
    assert!(again.code != Some(0) && again.err.contains("nothing is overwritten"), "{}", again.err);
    // On standard output it is the same page, and nothing else.
    assert_eq!(run(["view", &trace, "--html", "-"]).out, text);
    for (words, why) in [
        (&["--html-limit", "0"][..], "megabytes"),
        (&["--port", "80"], "cannot be used with"),
        (&["--html-limit", "0.01"], "too few for the coarsest picture"),
    ] {
        let other = folder.name("other.html");
        let refused = run([&["view", &trace, "--html", &other][..], words].concat());
        assert!(refused.code != Some(0) && refused.err.contains(why), "{words:?}: {}", refused.err);
        assert!(!std::path::Path::new(&other).exists(), "{words:?}");
    }
}
