//! The command `corewise view`.

use crate::support::{Folder, Ran, corewise, fixture, good, ran, run};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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

/// Runs the command with a cache of its own.
fn view(cache: &Path, words: &[&str]) -> Ran {
    ran(corewise(words).env("XDG_CACHE_HOME", cache).output().unwrap())
}

/// The files of a folder and those in it, with their permissions, apart from folders.
fn files(folder: &Path) -> Vec<(PathBuf, u32)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    let files = entries.flat_map(|entry| {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        if entry.metadata().unwrap().is_dir() {
            assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
            files(&entry.path())
        } else {
            vec![(entry.path(), mode)]
        }
    });
    files.collect()
}

#[test]
#[ignore = "needs the viewer"]
fn a_recording_of_another_tool_is_imported_into_the_private_cache_once() {
    let folder = Folder::new();
    let (source, cache) = (folder.path("source"), folder.path("cache"));
    std::fs::create_dir(&source).unwrap();
    let file = source.join("chains.data");
    std::fs::copy(fixture("chains.data"), &file).unwrap();
    let file = file.to_str().unwrap();
    let once = ["view", file, "--no-open", "--idle", "1"];
    // Everyone may read new files, but not those in the cache.
    let words = format!("umask 0; exec \"$0\" view '{file}' --no-open --idle 1");
    let mut first = std::process::Command::new("sh");
    first.args(["-c", &words, env!("CARGO_BIN_EXE_corewise")]).env("XDG_CACHE_HOME", &cache);
    let first = ran(first.output().unwrap());
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.err.contains("Imported ") && first.err.contains("Prepared the timeline"), "{}", first.err);
    assert_eq!(std::fs::read_dir(&source).unwrap().count(), 1, "nothing is written next to the source");
    let kept = files(&cache);
    assert!(kept.iter().any(|(path, _)| path.ends_with("chains.data/manifest.json")), "{kept:?}");
    assert!(kept.iter().all(|(_, mode)| *mode == 0o600), "{kept:?}");
    let again = view(&cache, &once);
    assert!(again.code == Some(0) && !again.err.contains("Imported"), "{}", again.err);
    assert_eq!(files(&cache).len(), kept.len());
    // Another content of the same name and length.
    std::fs::copy(fixture("sched.data"), file).unwrap();
    let changed = view(&cache, &once);
    assert!(changed.code == Some(0) && changed.err.contains("Imported "), "{}", changed.err);
    // Other options are another import.
    let strict = view(&cache, &["view", file, "--strict-loss", "--no-open", "--idle", "1"]);
    assert!(strict.code == Some(0) && strict.err.contains("Imported "), "{}", strict.err);
}

#[test]
#[ignore = "needs the viewer"]
fn recordings_of_all_formats_can_be_viewed() {
    let folder = Folder::new();
    let cache = folder.path("cache");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures");
    let mut viewed = std::collections::BTreeSet::new();
    for of in std::fs::read_dir(fixtures).unwrap() {
        let of = of.unwrap().path();
        if !of.is_dir() {
            continue;
        }
        // One recording per folder of fixtures: the first that can be imported.
        let mut names: Vec<_> = std::fs::read_dir(&of).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let imported = |path: &&PathBuf| {
            let to = folder.path("try.cw");
            let _ = std::fs::remove_dir_all(&to);
            run(["import", path.to_str().unwrap(), "-o", to.to_str().unwrap()]).code == Some(0)
        };
        let Some(path) = names.iter().find(imported) else { continue };
        let page = folder.path("page.html");
        let _ = std::fs::remove_file(&page);
        let ran = view(&cache, &["view", path.to_str().unwrap(), "--html", page.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}: {}", path.display(), ran.err);
        viewed.insert(of.file_name().unwrap().to_str().unwrap().to_owned());
    }
    for format in [
        "perf_data",
        "trace_dat",
        "ctf",
        "perfetto",
        "schedviz",
        "present_mon",
        "mango_hud",
        "cap_frame_x",
        "ftrace_text",
        "perf_script",
    ] {
        assert!(viewed.contains(format), "{format} is not among {viewed:?}");
    }
}

#[test]
fn what_cannot_be_viewed_is_an_error_that_says_what_to_do() {
    let folder = Folder::new();
    let cache = folder.path("cache");
    let readme = folder.path("notes.txt");
    std::fs::write(&readme, "no recording").unwrap();
    let missing = folder.name("missing.data");
    for (path, why) in [(readme.to_str().unwrap(), "format"), (missing.as_str(), "missing.data: ")] {
        let ran = view(&cache, &["view", path, "--no-open", "--idle", "1"]);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.err.contains(why) || ran.err.contains("run `make`"), "{}", ran.err);
        assert!(files(&cache).is_empty());
    }
    // The cache is a file.
    std::fs::write(&cache, "").unwrap();
    let ran = view(&cache, &["view", &fixture("chains.data"), "--no-open", "--idle", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("set XDG_CACHE_HOME") || ran.err.contains("run `make`"), "{}", ran.err);
}

#[test]
#[ignore = "needs the viewer"]
fn a_shared_address_is_the_second_line() {
    let folder = Folder::new();
    let cache = folder.path("cache");
    let words = ["view", &fixture("chains.data"), "--no-open", "--idle", "1", "--share", "2h"];
    let ran = view(&cache, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    let tokens = [0, 1].map(|at| lines[at].split_once("/?token=").unwrap());
    assert!(tokens[0].0 == tokens[1].0 && tokens[0].0.starts_with("http://127.0.0.1:"), "{}", ran.out);
    assert!(tokens[0].1.len() == 32 && tokens[1].1.len() == 32 && tokens[0].1 != tokens[1].1, "{}", ran.out);
    assert!(ran.err.contains("allows only reading and ends in 2 h; only this machine can reach it"), "{}", ran.err);
    for wrong in ["0", "-1h", "soon"] {
        let refused = view(&cache, &["view", "run.cw", &format!("--share={wrong}")]);
        assert_eq!(refused.code, Some(2), "{wrong}: {}", refused.err);
    }
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
