//! Checks that each crate has one test program, `tests/it`: each program more is linked, and loaded, once more.

use crate::Found;
use crate::repo::Repo;

/// Test programs of their own: the file, and why its tests cannot share a process.
const OWN: &[(&str, &str)] = &[
    ("crates/account/tests/memory.rs", "counts the memory of the process"),
    ("crates/import/tests/memory.rs", "counts the memory of the process"),
    ("crates/import/tests/trace_dat_memory.rs", "counts the memory of the process"),
    ("crates/ingest/tests/no_room.rs", "sets the folder of temporary files of the process"),
];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let wrong = wrongs(&repo.files);
    let crates = repo.files.iter().filter(|file| file.ends_with("/tests/it/main.rs")).count();
    Ok(Found::of(wrong, format!("{crates} crates with one, {} with one of its own", OWN.len())))
}

fn wrongs(files: &[String]) -> Vec<String> {
    let is_program = |file: &&String| match file.split('/').collect::<Vec<_>>()[..] {
        ["crates", _, "tests", name] => name.ends_with(".rs"),
        ["crates", _, "tests", folder, "main.rs"] => folder != "it",
        _ => false,
    };
    let is_own = |file: &&String| OWN.iter().any(|(own, _)| own == file);
    let more = files.iter().filter(is_program).filter(|file| !is_own(file)).map(|file| {
        format!("{file}: make it a module of tests/it/main.rs, or add it to xtask/src/programs.rs with the reason")
    });
    let gone = OWN.iter().filter(|(own, _)| !files.iter().any(|file| file == own));
    more.chain(gone.map(|(own, _)| format!("xtask/src/programs.rs: there is no {own}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_program_needs_a_reason() {
        let mut files: Vec<String> = OWN.iter().map(|(own, _)| (*own).to_owned()).collect();
        files.extend(["crates/a/tests/it/main.rs", "crates/a/tests/it/b.rs", "crates/a/tests/run"].map(str::to_owned));
        assert_eq!(wrongs(&files), [""; 0]);
        files.extend(["crates/a/tests/c.rs", "crates/a/tests/d/main.rs"].map(str::to_owned));
        assert_eq!(wrongs(&files).len(), 2);
        files.remove(0);
        assert!(wrongs(&files)[2].ends_with("there is no crates/account/tests/memory.rs"));
    }
}
