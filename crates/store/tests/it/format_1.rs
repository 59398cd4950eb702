//! Tests that folders of format 1 (`fixtures/format-1`) can be read, and are upgraded when a table is stored in them.

use crate::cells::cells;
use model::tables;
use std::path::{Path, PathBuf};
use store::{ContentHash, FORMAT_VERSION, Folder, MANIFEST};

/// The folders, each with its trace's id, its source's sha256 and its number of events in format 1.
const FOLDERS: [(&str, i64, &str, usize); 2] = [
    ("chains", -949_814_185_733_254_887, "f2d19507c8be1119a3c0cfcbe5e0e0a328faf0cd22c379a47132f7c9eaf172c8", 84),
    ("ftrace", 6_267_102_039_182_712_673, "56f93819a09c9f61a2cf46478f6c97d33795b5068b87e02086068894e206663a", 344),
];

/// For closures that cannot fail.
fn ok<T>(of: T) -> Result<T, store::Error> {
    Ok(of)
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1").join(name)
}

/// Makes a writable copy of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::write(to, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn stored_format(folder: &Path) -> serde_json::Value {
    let manifest = std::fs::read(folder.join(MANIFEST)).unwrap();
    serde_json::from_slice::<serde_json::Value>(&manifest).unwrap()["format_version"].take()
}

#[test]
fn a_folder_of_format_1_is_read_completely_and_keeps_its_id() {
    for (name, trace, sha256, events) in FOLDERS {
        let folder = Folder::open(&fixture(name)).unwrap();
        let manifest = folder.manifest();
        assert_eq!((manifest.trace, manifest.format_version), (trace, FORMAT_VERSION), "{name}");
        assert_eq!(manifest.sources[0].hash, Some(ContentHash::Sha256(sha256.into())), "{name}");
        let (mut read, mut threads, mut cpus, mut offsets) = (0, 0, 0, 0);
        folder
            .events(|some, _| {
                read += some.len();
                offsets += some.iter().filter(|e| e.offset > 0).count();
                ok(())
            })
            .unwrap();
        // Events from a header, such as a snapshot, have no place.
        assert!(read == events && offsets > events / 2, "{name}: {read} events, {offsets} of them with a place");
        folder.thread_stretches(None, |some| ok(threads += some.len())).unwrap();
        folder.cpu_stretches(None, |some| ok(cpus += some.len())).unwrap();
        let rows = |file: &str| manifest.files[file].rows as usize;
        assert_eq!((threads, cpus), (rows("states/thread.parquet"), rows("states/cpu.parquet")), "{name}");
        for def in [&tables::THREAD_STATE, &tables::CPU_STATE] {
            let (mut as_rows, mut as_batches) = (Vec::new(), Vec::new());
            folder.state_rows(def, None, |rows| ok(as_rows.extend_from_slice(rows))).unwrap();
            let each = |batch| ok(as_batches.extend(cells(&batch)));
            folder.state_batches(def, None, None, |batch| batch, each).unwrap();
            assert_eq!(as_batches, as_rows, "{name} {}", def.name);
        }
        assert_eq!(folder.stacks().unwrap().chains.is_empty(), name != "chains");
        for table in ["threads", "cpus", "wakers"] {
            let table = folder.read_table(table).unwrap();
            assert!(table.is_none_or(|t| t.rows.iter().all(|row| row.len() == t.def.cols.len())), "{name}");
        }
        // Reading changes nothing.
        assert_eq!(stored_format(&fixture(name)), 1);
    }
}

/// An earlier corewise would report a table of this format as damaged; with the upgrade it reports a newer format.
#[test]
fn storing_a_table_upgrades_a_folder_of_format_1() {
    let dir = tempfile::tempdir().unwrap();
    for (name, trace, ..) in FOLDERS {
        let path = dir.path().join(name);
        copy(&fixture(name), &path);
        let folder = Folder::open(&path).unwrap();
        let before = folder.manifest().clone();
        let cpus = folder.read_table("cpus").unwrap().unwrap();
        folder.write_table(&cpus).unwrap();
        assert_eq!(stored_format(&path), FORMAT_VERSION);
        let folder = Folder::open(&path).unwrap();
        assert_eq!((folder.manifest(), folder.manifest().trace), (&before, trace));
        assert_eq!(folder.read_table("cpus").unwrap().unwrap().rows, cpus.rows);
        folder.events(|_, _| ok(())).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["events", MANIFEST, "states", "tables"]);
    }
    // A table of another trace is detected by its metadata.
    let [one, other] = ["chains", "ftrace"].map(|name| dir.path().join(name));
    std::fs::copy(one.join("tables/cpus.parquet"), other.join("tables/cpus.parquet")).unwrap();
    let error = Folder::open(&other).unwrap().read_table("cpus").unwrap_err().to_string();
    assert!(error.contains("it belongs to another trace"), "{error}");
}
