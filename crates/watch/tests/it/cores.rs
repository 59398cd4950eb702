//! Cores of several hardware threads: the programs, compiled for this machine's processor, with switches that are drawn at known times. On a
//! real machine, two readings are never of one moment, so the sums could only be compared roughly.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the program to a folder.
fn compiled(to: &Path) -> PathBuf {
    let (folder, program) = (Path::new(env!("CARGO_MANIFEST_DIR")), to.join("host"));
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let mut command = Command::new(clang);
    command.args(["-O1", "-w", "-I"]).arg(folder.join("../capture/src/bpf")).arg("-o").arg(&program);
    let compiled = command.arg(folder.join("tests/cores_host/host.c")).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// What the program prints: busy time and the part with a busy sibling, each by the sums and as drawn, of each CPU; then the time with
/// several busy.
fn sums(program: &Path, seed: u32, cpus: u32, is_several: bool) -> Vec<u64> {
    let words = [seed, cpus, u32::from(is_several)].map(|word| word.to_string());
    let ran = Command::new(program).args(words).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "seed {seed}, {cpus} CPUs, several: {is_several}: {text}");
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// The sums are those of what was drawn, to the nanosecond. Two CPUs have the same sums as a core of two, and as two of a core of several
/// whose other hardware threads do not exist.
#[test]
fn a_core_of_several_threads_has_the_times_of_a_core_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path());
    for seed in 1..=20 {
        let two = sums(&program, seed, 2, false);
        assert_eq!(two, sums(&program, seed, 2, true), "seed {seed}");
        for sums in [two, sums(&program, seed, 3, true), sums(&program, seed, 4, true)] {
            for (at, pair) in sums.chunks(2).enumerate() {
                assert!(pair[0] > 0 && pair[0] == pair[1], "seed {seed}, pair {at}: {sums:?}");
            }
        }
    }
}
