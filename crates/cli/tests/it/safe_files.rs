//! The permissions of written files, and protection against the owner of the folder into which they are written.

use crate::support::{self, Folder, Ran, ran};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The user who calls sudo in these tests; it exists on every machine.
const USER: u32 = 65534;

/// Lists a folder and everything in it: type, permissions and owner.
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

fn assert_permissions(path: &Path, folder: u32, file: u32, owner: u32) {
    let found = all(path);
    assert!(found.len() > 8, "{found:?}");
    for (path, (mode, uid)) in found {
        let right = if mode & libc::S_IFMT == libc::S_IFDIR { folder } else { file };
        assert_eq!((format!("{:o}", mode & 0o7777), uid), (format!("{right:o}"), owner), "{}", path.display());
    }
}

/// Runs corewise with a umask; 0 shows which permissions corewise sets itself.
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
fn an_import_is_private_unless_it_is_shared() {
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
        // Also tables that are stored later.
        let kept = with_umask(0, &["table", &dir, "ready_wait"]);
        assert_eq!(kept.code, Some(0), "{}", kept.err);
        assert!(folder.path(name).join("tables/ready_wait.parquet").exists());
        assert_permissions(&folder.path(name), dir_mode, file_mode, me());
    }
}

/// A short trace as perf script output.
fn testkit_trace() -> &'static str {
    "a 10 [000] 1.000000000: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120\n\
     b 11 [000] 1.001000000: sched:sched_switch: prev_comm=b prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=a next_pid=10 next_prio=120\n\
     a 10 [000] 1.002000000: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=b next_pid=11 next_prio=120\n"
}

#[test]
#[ignore = "needs root"]
fn a_recording_is_private_unless_it_is_shared() {
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
        assert_permissions(&folder.path(name), dir_mode, file_mode, 0);
        // A trace recovered to another folder is private again.
        let other = folder.name(&format!("other-{name}"));
        let recovered = with_umask(0, &["recover", &dir, "-o", &other]);
        assert_eq!(recovered.code, Some(0), "{}", recovered.err);
        assert_permissions(&folder.path(&format!("other-{name}")), 0o700, 0o600, 0);
    }
}

/// A folder with a home folder of the user, and a copy of the program, which the user cannot reach in the build folder.
fn folder_of_user() -> Folder {
    let folder = Folder::new();
    std::fs::copy(env!("CARGO_BIN_EXE_corewise"), folder.path("corewise")).unwrap();
    std::fs::set_permissions(folder.path("."), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.path("home")).unwrap();
    std::os::unix::fs::chown(folder.path("home"), Some(USER), Some(USER)).unwrap();
    folder
}

/// Runs corewise as if the user called it with sudo.
fn sudo(words: &[&str]) -> Command {
    let mut command = support::corewise(words);
    command.env("SUDO_UID", USER.to_string()).env("SUDO_GID", USER.to_string());
    command
}

fn as_user(folder: &Folder, words: &[&str]) -> Ran {
    let mut command = Command::new(folder.path("corewise"));
    let command = command.args(words).uid(USER).gid(USER).current_dir(folder.path("home"));
    ran(command.env("HOME", folder.path("home")).stdin(Stdio::null()).output().unwrap())
}

#[test]
#[ignore = "needs root"]
fn under_sudo_the_folder_belongs_to_the_calling_user() {
    let folder = folder_of_user();
    std::fs::create_dir(folder.path("home/made.cw")).unwrap();
    std::os::unix::fs::chown(folder.path("home/made.cw"), Some(USER), Some(USER)).unwrap();
    for (name, more) in [("run.cw", &[][..]), ("made.cw", &[]), ("kept.cw", &["--keep-spool"]), ("a/b.cw", &[])] {
        let path = folder.path("home").join(name);
        let words = [&["record", "-o", path.to_str().unwrap()], more, &["--", "sleep", "0.2"]].concat();
        let recorded = ran(sudo(&words).output().unwrap());
        assert_eq!(recorded.code, Some(0), "{}", recorded.err);
        assert_permissions(&path, 0o700, 0o600, USER);
        assert_eq!(path.join("spool").exists(), name == "kept.cw");
        // The user can read it, and store tables in it.
        let report = as_user(&folder, &["report", name]);
        assert!(report.code == Some(0) && report.out.contains("sleep"), "{} {}", report.out, report.err);
        let checked = as_user(&folder, &["verify", name]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
        let view = as_user(&folder, &["view", name, "--no-open", "--idle", "0"]);
        let built = !view.err.contains("has no viewer");
        assert!(view.code == Some(0) && view.out.starts_with("http://127.0.0.1:") || !built, "{}", view.err);
        assert_eq!(path.join("levels/thread.levels").exists(), built);
        // Files that root adds later belong to the user too.
        let table = ran(sudo(&["table", path.to_str().unwrap(), "run_lengths"]).output().unwrap());
        assert_eq!(table.code, Some(0), "{}", table.err);
        assert_permissions(&path, 0o700, 0o600, USER);
    }
    assert_eq!(std::fs::metadata(folder.path("home/a")).unwrap().uid(), USER);
    // In a folder of root, the trace belongs to root.
    let path = folder.path("roots.cw");
    assert_eq!(ran(sudo(&["record", "-o", path.to_str().unwrap(), "--", "true"]).output().unwrap()).code, Some(0));
    assert_permissions(&path, 0o700, 0o600, 0);
}

#[test]
#[ignore = "needs root"]
fn an_import_under_sudo_belongs_to_the_calling_user() {
    let folder = folder_of_user();
    let file = folder.path("drawn.txt");
    std::fs::write(&file, testkit_trace()).unwrap();
    let path = folder.path("home/run.cw");
    let imported = ran(sudo(&["import", file.to_str().unwrap(), "-o", path.to_str().unwrap()]).output().unwrap());
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    assert_permissions(&path, 0o700, 0o600, USER);
}

#[test]
#[ignore = "needs root"]
fn a_folder_of_a_third_user_is_refused() {
    let folder = folder_of_user();
    let theirs = folder.path("theirs.cw");
    std::fs::create_dir(&theirs).unwrap();
    std::os::unix::fs::chown(&theirs, Some(4711), Some(4711)).unwrap();
    let file = folder.path("drawn.txt");
    std::fs::write(&file, testkit_trace()).unwrap();
    let (theirs, file) = (theirs.to_str().unwrap(), file.to_str().unwrap());
    for words in [&["record", "-o", theirs, "--", "true"][..], &["import", file, "-o", theirs]] {
        for mut command in [sudo(words), support::corewise(words)] {
            let refused = ran(command.output().unwrap());
            let message = "it belongs to another user (uid 4711): choose a folder of your own";
            assert!(refused.code == Some(1) && refused.err.contains(message), "{:?} {}", refused.code, refused.err);
        }
    }
    assert_eq!(std::fs::read_dir(theirs).unwrap().count(), 0);
}

/// Replaces what the recorder writes by links, until `done`. The file `swapped` in the folder shows that it has begun.
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
                // A link to a folder, or to a file in it.
                let to = if name.contains("json") { victim.join("secret") } else { victim.to_owned() };
                swapped += u64::from(symlink(to, &path).is_ok());
            }
        }
        if n == 0 {
            let _ = std::fs::write(folder.join("swapped"), "");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    swapped
}

/// The owner of the folder, or of its parent, replaces its contents by links to a folder of root. The command ends some time after that has
/// begun.
#[test]
#[ignore = "needs root"]
fn nothing_is_written_through_links_created_meanwhile() {
    let folder = folder_of_user();
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
                std::os::unix::fs::chown(&run, Some(USER), Some(USER)).unwrap();
            }
            std::os::unix::fs::chown(&home, Some(USER), Some(USER)).unwrap();
            let done = AtomicBool::new(false);
            let swapped = std::thread::scope(|scope| {
                let swapper = scope.spawn(|| {
                    // SAFETY: the system call, unlike the library's function, affects this thread only.
                    unsafe { libc::syscall(libc::SYS_setresuid, USER, USER, USER) };
                    swap(&home, &victim, &done)
                });
                let load = "for i in $(seq 3000); do [ -e \"$1\" ] && break; sleep 0.02; done; sleep 0.3";
                let (swapped, run) = (home.join("swapped"), run.to_str().unwrap());
                let words = ["record", "-o", run, "--", "sh", "-c", load, "sh", swapped.to_str().unwrap()];
                let recorded = ran(sudo(&words).output().unwrap());
                // It may fail, with a message.
                assert!(recorded.code == Some(0) || recorded.err.starts_with("corewise: "), "{}", recorded.err);
                done.store(true, Ordering::Relaxed);
                swapper.join().unwrap()
            });
            assert!(swapped > 0, "nothing was replaced");
            assert_eq!(all(&victim), before);
            assert_eq!(std::fs::read_to_string(victim.join("secret")).unwrap(), "secret");
        }
    }
}

/// Returns the effective capabilities of each thread of a process, as bits.
fn capabilities(process: u32) -> Vec<u64> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let status = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
    let all = status.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        u64::from_str_radix(line.trim(), 16).ok()
    });
    all.collect()
}

#[test]
#[ignore = "needs root, BPF rights"]
fn all_threads_drop_capabilities_that_are_no_longer_needed_with_bpf() {
    // BPF, of the thread that creates tables for unwinding.
    capabilities_are_dropped("bpf", 1 << 39);
}

#[test]
#[ignore = "needs root, perf events"]
fn all_threads_drop_capabilities_that_are_no_longer_needed_with_perf() {
    // PERFMON and IPC_LOCK, to open perf events of a CPU that comes online later.
    capabilities_are_dropped("perf", 1 << 38 | 1 << 14);
}

/// Records with this backend, and checks that no thread has other capabilities than reading needs, and these. The recording lasts until
/// enough readings were made, and has so many switches that its conversion, which has more threads, takes many times as long as a reading.
fn capabilities_are_dropped(backend: &str, needed: u64) {
    let folder = folder_of_user();
    let pipes = support::compiled(&folder, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/safe_files/pipes.c"), &["-O1"]);
    // DAC_READ_SEARCH and SYS_PTRACE; under sudo also CHOWN, to give the folder to the user.
    let (kept, under_sudo) = (1 << 2 | 1 << 19, 1 << 2 | 1 << 19 | 1);
    for (name, allowed) in [("home/a.cw", under_sudo | needed), ("c.cw", kept | needed)] {
        let path = folder.path(name);
        let [go, over] = ["go", "over"].map(|name| folder.path(name));
        let _ = (std::fs::remove_file(&go), std::fs::remove_file(&over));
        let load = "touch \"$2\"; \"$1\" 50000; while [ ! -e \"$3\" ]; do sleep 0.02; done";
        let words =
            ["record", "-o", path.to_str().unwrap(), "--backend", backend, "--", "sh", "-c", load, "sh", &pipes];
        let mut recorder = sudo(&words);
        let mut child = recorder.args([&go, &over]).stderr(Stdio::piped()).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !go.exists() {
            assert!(child.try_wait().unwrap().is_none(), "{}", ran(child.wait_with_output().unwrap()).err);
            assert!(Instant::now() < end, "the command does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        // During recording and conversion.
        let (mut seen, mut max_threads) = (0, 0);
        while child.try_wait().unwrap().is_none() {
            let all = capabilities(child.id());
            max_threads = max_threads.max(all.len());
            seen += all.len();
            // Threads that have ended have no entry.
            assert!(all.iter().all(|has| has & !allowed == 0), "{backend}: {all:x?}");
            if seen > 50 && !over.exists() {
                std::fs::write(&over, "").unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = ran(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(seen > 50 && max_threads > 1, "{backend}: {seen} readings, {max_threads} threads at the same time");
        assert!(!ended.err.contains("kept"), "{}", ended.err);
        let checked = support::run(["verify", path.to_str().unwrap()]);
        assert_eq!(checked.code, Some(0), "{}", checked.err);
    }
}

/// Starts a process with this PID, once it is free.
fn reused(number: i32) -> std::process::Child {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if !Path::new(&format!("/proc/{number}")).exists() {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).unwrap();
            let mut child = Command::new("sleep").arg("600").spawn().unwrap();
            if child.id().cast_signed() == number {
                return child;
            }
            // Another process took the PID.
            child.kill().unwrap();
            child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no process gets the PID {number}");
}

/// The command has ended while its child goes on, until this test lets it end. Ctrl-C must not be passed on to another process that reuses
/// the command's PID.
#[test]
#[ignore = "needs root"]
fn ctrl_c_does_not_reach_a_process_that_reuses_the_commands_pid() {
    let folder = Folder::new();
    let (pid_file, over) = (folder.path("number"), folder.path("over"));
    assert!(Command::new("mkfifo").arg(&over).status().unwrap().success());
    let load = "echo $$ > \"$1.new\"; mv \"$1.new\" \"$1\"; timeout 300 cat \"$2\" & exit 0";
    let mut recorder = support::corewise(["record", "-o", &folder.name("run.cw"), "--", "sh", "-c", load, "sh"]);
    let recorder = recorder.args([&pid_file, &over]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !pid_file.exists() {
        assert!(Instant::now() < end, "the command does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let number = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let mut other = reused(number);
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(recorder.id().cast_signed(), libc::SIGINT) }, 0);
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(&over, "").unwrap();
    let ended = ran(recorder.wait_with_output().unwrap());
    let reached = other.try_wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(reached.is_none(), "an unrelated process got the signal: {reached:?}");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}
