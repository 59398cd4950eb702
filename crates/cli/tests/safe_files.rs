//! Who may read what is written, and what somebody can do whose folder it is written into.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Folder, Ran, ran};

/// Who calls sudo here: a user that is on every machine.
const NOBODY: u32 = 65534;

/// Everything in a folder and itself: type and permissions, and whose it is.
fn all(path: &Path) -> BTreeMap<PathBuf, (u32, u32)> {
    let mut found = BTreeMap::new();
    let about = std::fs::symlink_metadata(path).unwrap();
    found.insert(path.to_owned(), (about.mode(), about.uid()));
    if about.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            found.extend(all(&entry.unwrap().path()));
        }
    }
    found
}

fn are(path: &Path, folder: u32, file: u32, owner: u32) {
    let found = all(path);
    assert!(found.len() > 8, "{found:?}");
    for (path, (mode, uid)) in found {
        let right = if mode & libc::S_IFMT == libc::S_IFDIR { folder } else { file };
        assert_eq!((format!("{:o}", mode & 0o7777), uid), (format!("{right:o}"), owner), "{}", path.display());
    }
}

/// corewise under an umask that takes nothing, so that what is closed was closed by it.
fn with_umask(mask: libc::mode_t, words: &[&str]) -> Ran {
    let mut command = support::corewise(words);
    // SAFETY: umask may be called after fork.
    unsafe {
        command.pre_exec(move || {
            libc::umask(mask);
            Ok(())
        })
    };
    ran(command.output().unwrap())
}

fn me() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() }
}

#[test]
fn an_import_is_its_owners_alone_unless_it_is_shared() {
    let folder = Folder::new();
    let file = folder.path("drawn.txt");
    std::fs::write(&file, testkit_trace()).unwrap();
    for (name, more, dir_mode, file_mode) in
        [("own.cw", &[][..], 0o700, 0o600), ("shared.cw", &["--shared"], 0o755, 0o644)]
    {
        let dir = folder.name(name);
        let words = [&["import", file.to_str().unwrap(), "-o", &dir], more].concat();
        let imported = with_umask(0, &words);
        assert_eq!(imported.code, Some(0), "{}", imported.err);
        // Tables that are kept when they are asked for, too.
        let kept = with_umask(0, &["table", &dir, "ready_wait"]);
        assert_eq!(kept.code, Some(0), "{}", kept.err);
        assert!(folder.path(name).join("tables/ready_wait.parquet").exists());
        are(&folder.path(name), dir_mode, file_mode, me());
    }
}

/// A minute's beginning as perf script prints it.
fn testkit_trace() -> &'static str {
    "a 10 [000] 1.000000000: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120\n\
     b 11 [000] 1.001000000: sched:sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120\n\
     a 10 [000] 1.002000000: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120\n"
}

#[test]
#[ignore = "needs root"]
fn a_recording_is_its_owners_alone_unless_it_is_shared() {
    let folder = Folder::new();
    for (name, more, dir_mode, file_mode) in
        [("own.cw", &[][..], 0o700, 0o600), ("shared.cw", &["--shared"], 0o755, 0o644)]
    {
        let dir = folder.name(name);
        let words = [&["record", "-o", &dir, "--stacks", "--keep-spool"], more, &["--", "true"]].concat();
        let recorded = with_umask(0, &words);
        assert_eq!(recorded.code, Some(0), "{}", recorded.err);
        assert!(
            folder.path(name).join("spool/places.json").exists() && folder.path(name).join("processes.json").exists()
        );
        are(&folder.path(name), dir_mode, file_mode, 0);
        // What is recovered elsewhere is private again.
        let other = folder.name(&format!("other-{name}"));
        let recovered = with_umask(0, &["recover", &dir, "-o", &other]);
        assert_eq!(recovered.code, Some(0), "{}", recovered.err);
        are(&folder.path(&format!("other-{name}")), 0o700, 0o600, 0);
    }
}

/// A folder of nobody's with the program in it, which nobody may not reach where it was built.
fn nobodys() -> Folder {
    let folder = Folder::new();
    std::fs::copy(env!("CARGO_BIN_EXE_corewise"), folder.path("corewise")).unwrap();
    std::fs::set_permissions(folder.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.path("home")).unwrap();
    std::os::unix::fs::chown(folder.path("home"), Some(NOBODY), Some(NOBODY)).unwrap();
    folder
}

/// As nobody calls it by sudo.
fn sudo(words: &[&str]) -> Command {
    let mut command = support::corewise(words);
    command.env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
    command
}

fn as_nobody(folder: &Folder, words: &[&str]) -> Ran {
    let mut command = Command::new(folder.path("corewise"));
    let command = command.args(words).uid(NOBODY).gid(NOBODY).current_dir(folder.path("home"));
    ran(command.env("HOME", folder.path("home")).stdin(Stdio::null()).output().unwrap())
}

#[test]
#[ignore = "needs root"]
fn under_sudo_the_folder_is_the_users_who_called_it() {
    let folder = nobodys();
    std::fs::create_dir(folder.path("home/made.cw")).unwrap();
    std::os::unix::fs::chown(folder.path("home/made.cw"), Some(NOBODY), Some(NOBODY)).unwrap();
    for (name, more) in [("run.cw", &[][..]), ("made.cw", &[]), ("kept.cw", &["--keep-spool"]), ("a/b.cw", &[])] {
        let path = folder.path("home").join(name);
        let words = [&["record", "-o", path.to_str().unwrap()], more, &["--", "sleep", "0.2"]].concat();
        let recorded = ran(sudo(&words).output().unwrap());
        assert_eq!(recorded.code, Some(0), "{}", recorded.err);
        are(&path, 0o700, 0o600, NOBODY);
        assert_eq!(path.join("spool").exists(), name == "kept.cw");
        // The user reads it, and has what is kept of it in the folder.
        let report = as_nobody(&folder, &["report", name]);
        assert!(report.code == Some(0) && report.out.contains("sleep"), "{} {}", report.out, report.err);
        let checked = as_nobody(&folder, &["check", name]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
        let view = as_nobody(&folder, &["view", name, "--no-open", "--idle", "0"]);
        let built = !view.err.contains("built without the viewer's pages");
        assert!(view.code == Some(0) && view.out.starts_with("http://127.0.0.1:") || !built, "{}", view.err);
        assert_eq!(path.join("levels/thread.levels").exists(), built);
        // What root keeps in it later is theirs too.
        let table = ran(sudo(&["table", path.to_str().unwrap(), "run_lengths"]).output().unwrap());
        assert_eq!(table.code, Some(0), "{}", table.err);
        are(&path, 0o700, 0o600, NOBODY);
    }
    assert_eq!(std::fs::metadata(folder.path("home/a")).unwrap().uid(), NOBODY);
    // In a folder of root's it stays root's.
    let path = folder.path("roots.cw");
    assert_eq!(ran(sudo(&["record", "-o", path.to_str().unwrap(), "--", "true"]).output().unwrap()).code, Some(0));
    are(&path, 0o700, 0o600, 0);
}

#[test]
#[ignore = "needs root"]
fn an_import_under_sudo_is_the_users_too() {
    let folder = nobodys();
    let file = folder.path("drawn.txt");
    std::fs::write(&file, testkit_trace()).unwrap();
    let path = folder.path("home/run.cw");
    let imported = ran(sudo(&["import", file.to_str().unwrap(), "-o", path.to_str().unwrap()]).output().unwrap());
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    are(&path, 0o700, 0o600, NOBODY);
}

#[test]
#[ignore = "needs root"]
fn a_folder_of_a_third_user_is_refused() {
    let folder = nobodys();
    let theirs = folder.path("theirs.cw");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(4711), Some(4711)).unwrap();
    let file = folder.path("drawn.txt");
    std::fs::write(&file, testkit_trace()).unwrap();
    let (theirs, file) = (theirs.to_str().unwrap(), file.to_str().unwrap());
    for words in [&["record", "-o", theirs, "--", "true"][..], &["import", file, "-o", theirs]] {
        for mut command in [sudo(words), support::corewise(words)] {
            let refused = ran(command.output().unwrap());
            let words = "it belongs to another user (uid 4711): choose a folder of your own";
            assert!(refused.code == Some(1) && refused.err.contains(words), "{:?} {}", refused.code, refused.err);
        }
    }
    assert_eq!(std::fs::read_dir(theirs).unwrap().count(), 0);
}

/// Until it is told to end: puts links where the recorder writes, and takes away what it wrote.
fn swap(folder: &Path, victim: &Path, done: &AtomicBool) -> u64 {
    let mut swapped = 0;
    for n in 0u64.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        for name in [
            "run.cw",
            "run.cw/spool",
            "run.cw/.part",
            "run.cw/events",
            "run.cw/tables",
            "run.cw/manifest.json",
            "run.cw/processes.json",
            "run.cw/processes.json.new",
        ] {
            let path = folder.join(name);
            let is_link = std::fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink());
            if is_link && n % 2 == 1 {
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::rename(path.with_extension("was"), &path);
            } else if !is_link {
                let _ = std::fs::rename(&path, path.with_extension("was"));
                // To a folder, or to a file in it.
                let to = if name.contains("json") { victim.join("secret") } else { victim.to_owned() };
                swapped += u64::from(symlink(to, &path).is_ok());
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    swapped
}

/// The owner of the folder around it, and of the folder itself, swaps what is there for links to a folder of root's.
#[test]
#[ignore = "needs root"]
fn nothing_is_written_through_links_that_are_put_there_meanwhile() {
    let folder = nobodys();
    let victim = folder.path("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("secret"), "secret").unwrap();
    let before = all(&victim);
    for made in [false, true] {
        for round in 0..3 {
            let home = folder.path(&format!("home/{made}{round}"));
            std::fs::create_dir(&home).unwrap();
            let run = home.join("run.cw");
            if made {
                std::fs::create_dir(&run).unwrap();
                std::os::unix::fs::chown(&run, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            std::os::unix::fs::chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
            let done = AtomicBool::new(false);
            let swapped = std::thread::scope(|scope| {
                let swapper = scope.spawn(|| {
                    // SAFETY: of this thread alone (the system call, not the library's).
                    unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
                    swap(&home, &victim, &done)
                });
                let recorded =
                    ran(sudo(&["record", "-o", run.to_str().unwrap(), "--", "sleep", "0.3"]).output().unwrap());
                // It may fail, in a sentence.
                assert!(recorded.code == Some(0) || recorded.err.starts_with("corewise: "), "{}", recorded.err);
                done.store(true, Ordering::Relaxed);
                swapper.join().unwrap()
            });
            assert!(swapped > 0, "nothing was swapped");
            assert_eq!(all(&victim), before);
            assert_eq!(std::fs::read_to_string(victim.join("secret")).unwrap(), "secret");
        }
    }
}

/// Of each thread of a process: its effective capabilities, as bits.
fn rights(process: u32) -> Vec<u64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let status = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let rights = status.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    rights.collect()
}

#[test]
#[ignore = "needs root"]
fn all_threads_give_up_what_recording_no_longer_needs() {
    let folder = nobodys();
    // DAC_READ_SEARCH and SYS_PTRACE; under sudo CHOWN, to hand the folder over.
    let (kept, under_sudo) = (1 << 2 | 1 << 19, 1 << 2 | 1 << 19 | 1);
    // PERFMON and IPC_LOCK: of a CPU that comes online, perf events are opened later.
    let opens = 1 << 38 | 1 << 14;
    let runs = [
        ("bpf", "home/a.cw", under_sudo),
        ("perf", "home/b.cw", under_sudo | opens),
        ("bpf", "c.cw", kept),
        ("perf", "d.cw", kept | opens),
    ];
    for (backend, name, allowed) in runs {
        let path = folder.path(name);
        let go = folder.path("go");
        let _ = std::fs::remove_file(&go);
        let load = format!("touch {}; i=0; while [ $i -lt 300 ]; do sleep 0.002; i=$((i+1)); done", go.display());
        let words = ["record", "-o", path.to_str().unwrap(), "--backend", backend, "--", "sh", "-c", &load];
        let mut child = sudo(&words).stderr(Stdio::piped()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while !go.exists() {
            assert!(Instant::now() < end, "the command does not begin");
            std::thread::sleep(Duration::from_millis(5));
        }
        // While it records and while it converts, with its threads.
        let (mut seen, mut most) = (0, 0);
        while child.try_wait().unwrap().is_none() {
            let all = rights(child.id());
            most = most.max(all.len());
            seen += all.len();
            // Of one that has ended the system tells none.
            assert!(all.iter().all(|has| has & !allowed == 0), "{backend}: {all:x?}");
            std::thread::sleep(Duration::from_millis(2));
        }
        let ended = ran(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(seen > 50 && most > 1, "{backend}: {seen} looks, {most} threads at once");
        assert!(!ended.err.contains("kept"), "{}", ended.err);
        let checked = support::run(["check", path.to_str().unwrap()]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
    }
}

/// A process of this number, once nobody has it any more.
fn reused(number: i32) -> std::process::Child {
    let end = Instant::now() + Duration::from_secs(30);
    while Instant::now() < end {
        if !Path::new(&format!("/proc/{number}")).exists() {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).unwrap();
            let mut child = Command::new("sleep").arg("60").spawn().unwrap();
            if child.id().cast_signed() == number {
                return child;
            }
            // Another process was quicker.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no process gets the number {number}");
}

/// The command has ended, and what it started goes on: Ctrl-C that is passed on to the command reaches nobody.
#[test]
#[ignore = "needs root"]
fn ctrl_c_does_not_reach_who_has_the_commands_number_later() {
    let folder = Folder::new();
    let told = folder.path("number");
    let load = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 8 & exit 0", told.display());
    let mut recorder = support::corewise(["record", "-o", &folder.name("run.cw"), "--", "sh", "-c", &load]);
    let recorder = recorder.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    while !told.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let number = std::fs::read_to_string(&told).unwrap().trim().parse().unwrap();
    let mut other = reused(number);
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(recorder.id().cast_signed(), libc::SIGINT) }, 0);
    std::thread::sleep(Duration::from_millis(500));
    assert!(other.try_wait().unwrap().is_none(), "a process that is not the recorder's got its signal");
    other.kill().unwrap();
    other.wait().unwrap();
    let ended = ran(recorder.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}
