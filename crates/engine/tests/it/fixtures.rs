//! The recorded fixtures hold nothing of the machine but the load: an allow-list of thread names (also in the kernel's list in
//! the header of perf.data), and no build paths.

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

/// Returns whether a name is in `names.txt`.
fn is_allowed() -> impl Fn(&str) -> bool {
    let list = std::fs::read_to_string(Path::new(FIXTURES).join("names.txt")).unwrap();
    move |name| list.lines().any(|line| line.strip_suffix('*').map_or(name == line, |begin| name.starts_with(begin)))
}

/// The kernel's list of names (saved_cmdlines) in the header of a perf.data file: the longest run of lines `PID NAME`.
fn saved_cmdlines(bytes: &[u8]) -> Vec<&str> {
    let name = |line| {
        let (pid, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let is_pid = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
        (is_pid && (1..=15).contains(&name.len())).then_some(name)
    };
    // The first line follows the length of the list, which ends with zeros.
    let lines = bytes.split(|&byte| byte == b'\n').map(|line| line.rsplit(|&byte| byte == 0).next().and_then(name));
    let lines: Vec<_> = lines.collect();
    let runs = lines.split(Option::is_none).max_by_key(|run| run.len());
    runs.into_iter().flatten().flatten().copied().collect()
}

#[test]
fn only_threads_of_the_load_have_names() {
    let is_allowed = is_allowed();
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
fn the_kernels_list_has_no_other_names() {
    let is_allowed = is_allowed();
    let mut all = Vec::new();
    files(Path::new(FIXTURES), &mut all);
    let (mut lists, mut others) = (0, Vec::new());
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        let has_list = bytes.starts_with(b"PERFILE2") && bytes.windows(10).any(|part| part == b"\x17\x08\x44tracing");
        if !has_list {
            continue;
        }
        lists += 1;
        let names = saved_cmdlines(&bytes);
        assert!(names.len() > 100, "{}: {} names", path.display(), names.len());
        let names = names.into_iter().filter(|name| !is_allowed(name) && name.bytes().any(|byte| byte != b'x'));
        others.extend(names.map(|name| format!("{}: {name}", path.display())));
    }
    assert_eq!(lists, 4, "recordings with tracepoints");
    assert!(others.is_empty(), "not in names.txt, overwrite them (perf_data/names.py):\n{}", others.join("\n"));
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
