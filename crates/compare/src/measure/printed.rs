//! Runs made of printed tables: `perf stat`, WPA's threads, VTune's totals.

use crate::Run;
use engine::EngineError;
use printed::{MAX_BYTES, Measured};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// After the path, the name of the run in the table: `power_totals.csv#w7p`.
const RUN_SIGN: char = '#';
/// Instead of a name: all runs in the table are runs of one side.
const ALL: &str = "*";
/// The length of the begin of a file by which it is recognised, bytes.
const HEAD: u64 = 1 << 13;

/// Reads the runs in a printed table, each with its name. `None`: the file is not a printed table.
///
/// `PATH#RUN` selects a run of a table with several, `PATH#RUN,RUN` some of them, and `PATH#*` all of them.
///
/// # Errors
/// The file cannot be read; it has several runs and none is selected, or no run of that name (the message lists them); or tables of
/// its kind cannot be compared.
pub fn read(path: &Path) -> Result<Option<Vec<(String, Run)>>, EngineError> {
    let (path, wanted) = split(path);
    // Pipes can be read only once: they are traces.
    if !path.is_file() || !begins_like_a_table(&path)? {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes(&path, MAX_BYTES as u64 + 1)?).into_owned();
    let shown = path.display();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let sheet = printed::read(&stem, &text).map_err(|why| EngineError::Damaged(format!("{shown}: {why}")))?;
    let kind = sheet.kind.id();
    let Some(all) = sheet.kind.measured(&sheet) else {
        return Err(EngineError::Unfit(format!(
            "{shown}: tables of the kind {kind} cannot be compared; `corewise check` verifies them"
        )));
    };
    let runs = select(all, wanted.as_deref(), &shown.to_string())?;
    Ok(Some(runs.into_iter().map(|measured| run(&path, kind, measured)).collect()))
}

/// Splits the name of the run from a path. A file with that name is a file.
fn split(path: &Path) -> (PathBuf, Option<String>) {
    let selected = path.to_str().filter(|_| !path.exists()).and_then(|text| text.rsplit_once(RUN_SIGN));
    match selected {
        Some((file, run)) => (file.into(), Some(run.to_owned())),
        None => (path.to_owned(), None),
    }
}

fn begins_like_a_table(path: &Path) -> Result<bool, EngineError> {
    Ok(printed::is_printed(&String::from_utf8_lossy(&bytes(path, HEAD)?)))
}

/// Reads at most so many bytes of a file.
fn bytes(path: &Path, max: u64) -> Result<Vec<u8>, EngineError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes));
    read.map_err(|error| EngineError::Io { path: path.to_owned(), error })?;
    Ok(bytes)
}

fn select(all: Vec<Measured>, wanted: Option<&str>, shown: &str) -> Result<Vec<Measured>, EngineError> {
    let names = || all.iter().map(|m| m.run.as_str()).collect::<Vec<_>>().join(", ");
    match wanted {
        _ if all.is_empty() => Err(EngineError::NotFound(format!("{shown}: the table has no rows"))),
        None if all.len() == 1 => Ok(all),
        None => Err(EngineError::Unfit(format!(
            "{shown} has several runs: select one with {shown}#RUN, or all as runs of one side with '{shown}#*'; the runs are {}",
            names()
        ))),
        Some(ALL) => Ok(all),
        Some(wanted) => {
            let mut out = Vec::new();
            for name in wanted.split(',').map(str::trim) {
                let found = all.iter().find(|m| m.run == name);
                let unknown = || EngineError::NotFound(format!("{shown} has no run {name}; the runs are {}", names()));
                out.push(found.ok_or_else(unknown)?.clone());
            }
            Ok(out)
        }
    }
}

fn run(path: &Path, kind: &str, measured: Measured) -> (String, Run) {
    let path = path.display().to_string();
    let path = if measured.run.is_empty() { path } else { format!("{path}{RUN_SIGN}{}", measured.run) };
    let run = Run {
        path,
        format: kind.to_owned(),
        lacks: measured.lacks,
        values: measured.values,
        rows: measured.rows,
        ..Run::default()
    };
    (measured.run, run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    const TOTALS: &str = "run,elapsed_s,cpu_s,instructions,thread_clk\na,1,2,3,4\nb,2,2,3,4\nc,3,2,3,4\n";

    fn selected(path: &Path, run: &str) -> Result<Vec<f64>, String> {
        let path = PathBuf::from(format!("{}{run}", path.display()));
        let runs = read(&path).map_err(|e| e.to_string())?.unwrap();
        Ok(runs.iter().map(|(_, run)| run.values["elapsed"] / 1e9).collect())
    }

    #[test]
    fn runs_are_selected_by_name() {
        let (_dir, path) = file("totals.csv", TOTALS);
        assert_eq!(selected(&path, "#b").unwrap(), [2.0]);
        assert_eq!(selected(&path, "#c,a").unwrap(), [3.0, 1.0]);
        assert_eq!(selected(&path, "#*").unwrap(), [1.0, 2.0, 3.0]);
        let why = selected(&path, "").unwrap_err();
        assert!(why.contains("several runs") && why.ends_with("the runs are a, b, c"), "{why}");
        let why = selected(&path, "#d").unwrap_err();
        assert!(why.ends_with("has no run d; the runs are a, b, c"), "{why}");
    }

    #[test]
    fn other_files_are_not_tables() {
        let (_dir, path) = file("a#b.csv", TOTALS);
        // A file whose own name has the sign.
        assert!(selected(&path, "").unwrap_err().contains("several runs"));
        let (_dir, path) = file("notes.txt", "nothing, to, see\n");
        assert!(read(&path).unwrap().is_none());
        assert!(read(Path::new("/nowhere")).unwrap().is_none());
        let (_dir, path) = file("claims.csv", "rule,of,claimed,tolerance\na,b,1,1\n");
        assert!(read(&path).unwrap_err().to_string().contains("cannot be compared"));
    }
}
