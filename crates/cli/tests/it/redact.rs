//! `--redact`: what threads wait for appears in no output.

use crate::support::{Folder, good, run};
use engine::{EngineError, Fatal, Identity, Opened, PassOptions, Priority, Source, Target};
use std::path::Path;
use testkit::Replay;

/// Mutexes, one of them deadlocked, a lock of the kernel, a pipe, a file, a connection, and an epoll set in which another one becomes ready. The
/// addresses of words are numbers times 0x1000.
const DRAWN: &str = "
cpu0    As .  .  A  As .  .  A  As .  .  A  As .  .  A  As .  .  A  As .  .  A  As . . .
cpu1    .  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  B  Bs . . .
waking  .  .  A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . A<B@1 . . . . .
futex   .  A=m48271<B . . . . . . . . . . . . . . . . . . . . . . . A=m48272<B,B=m48273<A . .
object  .  .  .  . . A=pipe7654321 . . . A=kernel_mutex8654321<B . . . A=socket9654321:10.98.7.6:54321 . . . A=epoll6654321 . . . A=file5654321:/secret/file . . . . . .
readied .  .  .  . . . . . . . . . . . . . . . A=socket4654321:/secret/sock . . . . . . . . .
mark    .  A( . A) . A( . A) . A( . A) . A( . A) . A( . A) . A( . A) . . . .
process A  B<A . . . . . . . . . . . . . . . . . . . . . . . . . .
";

/// What must not appear: names, numbers and addresses.
const SECRETS: [&str; 12] = [
    "10.98.7.6",
    "54321",
    "secret",
    "7654321",
    "8654321",
    "9654321",
    "6654321",
    "5654321",
    "4654321",
    "0xbc8f000",
    "0xbc90000",
    "0xbc91000",
];

struct Drawn(engine::Facts, model::Batch);

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("drawn")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Ok(Replay::all(self.1.clone()).opened(self.0.clone()))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 7, files: Vec::new() })
    }
}

/// Returns the secrets that a text has.
fn secrets(text: &str) -> Vec<&'static str> {
    SECRETS.into_iter().filter(|secret| text.contains(secret)).collect()
}

#[test]
fn what_threads_wait_for_is_in_no_redacted_output() {
    let folder = Folder::new();
    let (trace, path) = (testkit::trace(DRAWN), folder.path("drawn.cw"));
    let options = PassOptions::default();
    engine::import(&Drawn(trace.facts, trace.batch), Target::New(&path), &options, &mut |_| ()).unwrap();
    let dir = folder.name("drawn.cw");
    let of = |name: &str, redact: &[&str]| -> String {
        let report = |more: &[&str]| good([&["report", &dir, "--full", "--frames-of", "A"], more, redact].concat());
        let to = |file: &str| folder.name(&format!("{name}-{file}"));
        good([&["export", &dir, "--to", "csv", "-o", &to("csv")], redact].concat());
        for format in ["perfetto", "chrome", "firefox"] {
            good([&["export", &dir, "--to", format, "-o", &to(format)], redact].concat());
        }
        let tables = std::fs::read_dir(to("csv")).unwrap();
        let mut all: Vec<_> = tables.map(|table| std::fs::read(table.unwrap().path()).unwrap()).collect();
        all.extend(["perfetto", "chrome", "firefox"].map(|format| std::fs::read(to(format)).unwrap()));
        // What it has in binary is shown as tables again.
        for table in ["object_waits", "wait_objects", "lock_waits", "locks", "deadlocks"] {
            all.push(good(["table", &to("perfetto"), table, "--format", "csv"]).into());
        }
        // Queries need DuckDB.
        for table in ["object_waits", "wait_objects", "lock_waits", "locks", "deadlocks", "thread_state"] {
            let done = run([&["sql", &dir, &format!("FROM {table}"), "--format", "csv"], redact].concat());
            all.push(if done.code == Some(0) { done.out.into_bytes() } else { Vec::new() });
        }
        all.extend([&[][..], &["--format", "json"], &["--html", "-"]].map(|more| report(more).into()));
        all.iter().map(|output| String::from_utf8_lossy(output)).collect()
    };
    let (open, redacted) = (of("open", &[]), of("redacted", &["--redact"]));
    assert_eq!(secrets(&open), SECRETS, "the test sees what is there");
    assert_eq!(secrets(&redacted), [""; 0]);
    // Equal objects stay equal, and what kind they are is shown.
    assert!(redacted.contains("mutex,#") && redacted.contains("socket,#"));
}
