//! The recorded fixtures hold nothing of the machine but the load: an allow-list of thread names, and no build paths.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

use engine::{PassOptions, Session};
use model::Value;
use std::path::{Path, PathBuf};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures");

/// All files below a folder.
fn files(folder: &Path, to: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files(&path, to) } else { to.push(path) }
    }
}

/// The traces: files, and folders with the metadata of a CTF trace.
fn traces() -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(Path::new(FIXTURES), &mut all);
    let trace = |path: PathBuf| match path.file_name() {
        Some(name) if name == "metadata" => path.parent().map(Path::to_path_buf),
        _ => Some(path),
    };
    all.into_iter().filter_map(trace).collect()
}

#[test]
fn only_threads_of_the_load_have_names() {
    let list = std::fs::read_to_string(Path::new(FIXTURES).join("names.txt")).unwrap();
    let is_allowed = |name: &str| {
        list.lines().any(|line| line.strip_suffix('*').map_or(name == line, |begin| name.starts_with(begin)))
    };
    let (mut opened, mut others) = (0, Vec::new());
    for path in traces() {
        let Ok(session) = Session::open(&path, PassOptions::default()) else { continue };
        opened += 1;
        let Ok(threads) = session.table("threads") else { continue };
        let name = threads.def.col("name").expect("a column");
        let names =
            threads.rows.iter().filter_map(|row| if let Value::Text(name) = &row[name] { Some(name) } else { None });
        others.extend(names.filter(|name| !is_allowed(name)).map(|name| format!("{}: {name}", path.display())));
    }
    assert!(opened > 20, "{opened} traces opened");
    assert!(others.is_empty(), "not in names.txt:\n{}", others.join("\n"));
}

#[test]
fn no_fixture_has_paths_of_the_machine() {
    let mut all = Vec::new();
    files(Path::new(FIXTURES), &mut all);
    let found = all.iter().filter(|path| {
        let bytes = std::fs::read(path).unwrap();
        let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        [&b"/work/"[..], b"/home/", b"/root/", b"/check/", b"/github/"].into_iter().any(has)
    });
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "{found:?}");
}
