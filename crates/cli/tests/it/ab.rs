//! `corewise ab`: two commands that are recorded in turn.

use crate::support::{Folder, corewise, good, ran, run};
use compare::ab::{AbFolder, Ended, Manifest, Side, Status};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn list(dir: &str) -> Manifest {
    AbFolder::read(std::path::Path::new(dir)).expect("a list of runs").manifest
}

/// Status, side, pair and attempt of each run, in the order in which they ran.
fn runs(of: &Manifest) -> Vec<(Status, Side, usize, usize)> {
    of.runs.iter().map(|run| (run.status, run.side, run.pair, run.attempt)).collect()
}

#[test]
fn arguments_without_use_are_refused() {
    for words in [
        &["ab", "true"][..],
        &["ab", "--until", "0%", "true", "true"],
        &["ab", "--until", "101%", "true", "true"],
        &["ab", "--runs", "0", "true", "true"],
        &["ab", "--runs", "3", "--until", "1%", "true", "true"],
        &["ab", "--max-runs", "5", "--until", "1%", "true", "true"],
        &["ab", "--name-a", "B", "true", "true"],
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.err);
    }
}

#[test]
fn an_existing_folder_is_not_overwritten() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("ab")).unwrap();
    std::fs::write(folder.path("ab/notes.txt"), "mine").unwrap();
    let ran = run(["ab", "-o", &folder.name("ab"), "true", "true"]);
    assert!(ran.code == Some(1) && ran.err.contains("does not overwrite"), "{:?} {}", ran.code, ran.err);
    assert_eq!(std::fs::read_dir(folder.path("ab")).unwrap().count(), 1);
}

#[test]
#[ignore = "needs BPF rights"]
fn pairs_are_recorded_in_the_order_of_the_seed() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    // Whatever else runs on the machine of this test, nothing is repeated.
    let words = ["ab", "-o", &dir, "-n", "2", "--seed", "1", "--max-load", "100%", "--max-steal", "100%"];
    let commands = ["--name-b", "slow", "echo fast; sleep 0.1", "echo slow >&2; sleep 0.3"];
    let ran = run(words.into_iter().chain(commands));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("seed 1") && ran.err.contains(&format!("next: corewise compare {dir}")), "{}", ran.err);
    assert!(ran.out.contains("2 pairs, none disturbed") && ran.out.contains("slow (echo slow"), "{}", ran.out);

    let read = AbFolder::read(&folder.path("ab")).expect("a list of runs");
    let list = &read.manifest;
    assert_eq!((list.seed, list.ended, list.sides[1].name.as_str()), (1, Ended::Complete, "slow"));
    let compared: Vec<_> = runs(list).into_iter().filter(|run| run.0 == Status::Compared).collect();
    // The order that `compare::ab::Order` fixes for this seed: pair 1 begins with B, pair 2 with A.
    let order = [(Side::B, 1), (Side::A, 1), (Side::A, 2), (Side::B, 2)];
    assert_eq!(compared, order.map(|(side, pair)| (Status::Compared, side, pair, 1)));
    assert_eq!(list.runs.iter().filter(|run| run.status == Status::WarmUp).count(), 2);
    assert!(list.runs.iter().enumerate().all(|(at, run)| run.order == at + 1 && run.other_share.is_some()));

    let [fast, slow] = list.wall_ns();
    assert!(fast.iter().all(|ns| *ns >= 100e6) && slow.iter().all(|ns| *ns >= 300e6), "{fast:?} {slow:?}");
    let recordings = read.recordings();
    assert_eq!(recordings.each_ref().map(Vec::len), [2, 2]);
    for path in recordings.into_iter().flatten() {
        good(["verify", &path.display().to_string()]);
    }
    for (log, text) in [("a-02.log", "fast\n"), ("b-01.log", "slow\n")] {
        let log = std::fs::read_to_string(folder.path("ab").join(log)).unwrap();
        assert!(log.starts_with(text), "{log}");
    }
    for (name, bits) in [("ab", 0o700), ("ab/ab.json", 0o600), ("ab/a-01.log", 0o600), ("ab/a-01.cw", 0o700)] {
        let mode = std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, bits, "{name}");
    }
}

#[test]
#[ignore = "needs BPF rights"]
fn a_pair_that_another_program_disturbs_is_repeated() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let words = ["ab", "-o", &dir, "-n", "1", "--repeats", "1", "--warm-up", "0", "--max-load", "1%"];
    let ran = run(words.into_iter().chain(["--max-steal", "100%", "sleep 0.3", "sleep 0.3"]));
    busy.kill().unwrap();
    busy.wait().unwrap();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("disturbed, recorded again") && ran.err.contains("no repeats left"), "{}", ran.err);
    let list = list(&dir);
    let ran: Vec<_> = list.runs.iter().map(|run| (run.status, run.attempt, run.disturbed)).collect();
    let (first, second) = ((Status::Repeated, 1, true), (Status::Compared, 2, true));
    assert_eq!(ran, [first, first, second, second]);
    assert!(list.pairs().len() == 1 && list.pairs()[0].is_disturbed());
    for name in ["a-01.cw", "b-01.cw", "a-01-disturbed-1.cw", "b-01-disturbed-1.cw", "a-01-disturbed-1.log"] {
        assert!(folder.path("ab").join(name).exists(), "{name}");
    }
}

#[test]
#[ignore = "needs BPF rights"]
fn the_load_of_the_command_itself_disturbs_nothing() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    // A shell with a name that no other process has: what else runs on the machine of this test is unknown.
    std::os::unix::fs::symlink("/bin/sh", folder.path("cw-own-load")).unwrap();
    let count = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    // Two processes that the command starts, one of which starts another one.
    let shell = folder.name("cw-own-load");
    let load = format!("{shell} -c '{count}' & {shell} -c '({count}); true'; wait");
    let ran = run(["ab", "-o", &dir, "-n", "1", "--repeats", "0", "--warm-up", "0", &load, &load]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let list = list(&dir);
    assert_eq!(list.runs.len(), 2);
    for run in &list.runs {
        assert_ne!(run.most_of_other, "cw-own-load", "{run:?}");
        // The name is that of the load, so that the line above can fail.
        let recording = folder.path("ab").join(run.folder.as_ref().unwrap()).display().to_string();
        let threads = good(["table", &recording, "threads", "--format", "csv"]);
        assert!(threads.matches("cw-own-load").count() >= 2, "{threads}");
    }
}

#[test]
#[ignore = "needs BPF rights"]
fn a_command_that_fails_ends_the_runs() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    let ran = run(["ab", "-o", &dir, "--name-b", "new", "sleep 0.05", "echo the reason >&2; exit 7"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for part in
        ["new (echo the reason", "failed with exit code 7 in warm-up 1", "ab/b-warm-up-1.log", "\n  the reason\n"]
    {
        assert!(ran.err.contains(part), "{part:?} in {}", ran.err);
    }
    let list = list(&dir);
    assert_eq!((list.ended, list.runs.last().map(|run| run.status)), (Ended::Failed, Some(Status::Failed)));

    let dir = folder.name("on");
    let ran =
        run(["ab", "-o", &dir, "-n", "1", "--warm-up", "0", "--repeats", "0", "--ignore-failure", "exit 7", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("(exit code 7)"), "{}", ran.err);
}

/// The second pair lasts until Ctrl-C: the first one is complete, and no more.
#[test]
#[ignore = "needs BPF rights"]
fn ctrl_c_keeps_the_complete_pairs() {
    let folder = Folder::new();
    let (dir, begun) = (folder.name("ab"), folder.path("begun"));
    let is_second = format!("test -e '{dir}/a-02.cw' -o -e '{dir}/b-02.cw'");
    let command = format!("if {is_second}; then touch '{}'; exec sleep 600; fi; sleep 0.1", begun.display());
    let words = ["ab", "-o", &dir, "--seed", "1", "--warm-up", "0", "--repeats", "0", &command, &command];
    let child = corewise(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("corewise runs");
    let end = Instant::now() + Duration::from_secs(120);
    while !begun.exists() {
        assert!(Instant::now() < end, "no second pair");
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) }, 0);
    let ended = ran(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.err);
    assert!(ended.out.contains("stopped by the user"), "{}", ended.out);
    let list = list(&dir);
    assert_eq!((list.ended, list.pairs().len()), (Ended::Interrupted, 1), "{list:?}");
}

/// What differs is said: the commands, and the build IDs of the programs that they ran.
#[test]
#[ignore = "needs BPF rights"]
fn versions_of_the_programs_are_compared() {
    let folder = Folder::new();
    let dir = folder.name("ab");
    let other = folder.name("sleep");
    std::fs::copy("/bin/sleep", &other).unwrap();
    let options = ["ab", "-o", &dir, "-n", "2", "--max-load", "100%", "--max-steal", "100%"];
    // Long enough for the recorder, which looks at new programs ten times a second.
    let ran = run(options.into_iter().chain(["/bin/sleep 1", &format!("{other} 1")]));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let said = good(["compare", &dir, "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let names: Vec<&str> = said["conditions"].as_array().unwrap().iter().filter_map(|of| of["name"].as_str()).collect();
    assert!(names.contains(&"command") && names.contains(&"program sleep"), "{names:?}");
    assert!(!names.contains(&"program sh"), "the same on both sides: {names:?}");
}
