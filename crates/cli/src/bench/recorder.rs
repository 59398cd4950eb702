//! Records this process while rounds are measured: `corewise record` as a child process.

use bench::{Run, Runs};
use engine::{PassOptions, Session};
use model::CpuId;
use model::tables::thread_state::{CPU, END_NS, START_NS, STATE, TID, Table};
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The most time until everything is attached.
const ATTACH: Duration = Duration::from_secs(20);
/// The most time until the recording is converted.
const CONVERT: Duration = Duration::from_secs(120);
/// How often the state of the child is read.
const POLL: Duration = Duration::from_millis(20);

/// The name of the trace folder in the temporary folder, and of the log.
const FOLDER: &str = "bench.cw";
const LOG: &str = "log";

/// Records this process with a child process.
#[derive(Default)]
pub struct Recorder {
    running: Option<Running>,
    /// Why nothing can be recorded, once it is known: then no further attempt is made.
    failed: Option<String>,
}

/// A recording in progress. Its folder is removed with it.
struct Running {
    child: Child,
    folder: TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without effect on a child that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Recorder {
    /// Why nothing can be recorded; `None` if nothing has failed.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    fn begin() -> Result<Running, String> {
        let program = std::env::current_exe().map_err(|why| format!("cannot find this program: {why}"))?;
        let folder = tempfile::tempdir().map_err(|why| format!("cannot make a temporary folder: {why}"))?;
        let log =
            File::create(folder.path().join(LOG)).map_err(|why| format!("cannot write a temporary file: {why}"))?;
        let mut command = Command::new(program);
        // Samples wake idle CPUs, and the counts of moves need no interrupts.
        command.args(["record", "--no-sample", "--no-irq", "--pid", &std::process::id().to_string(), "-o"]);
        command.arg(folder.path().join(FOLDER)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C of the terminal is for this process, which then ends the recording.
        command.process_group(0);
        let child = command.spawn().map_err(|why| format!("cannot run corewise record: {why}"))?;
        let mut running = Running { child, folder };
        running.attached()?;
        Ok(running)
    }

    fn end(mut running: Running) -> Result<Runs, String> {
        // SAFETY: no memory is involved; the child was not waited for, so its PID is not reused.
        unsafe { libc::kill(running.child.id().cast_signed(), libc::SIGINT) };
        let code = running.ended(CONVERT)?;
        let path = running.folder.path().join(FOLDER);
        if code != Some(0) {
            return Err(running.message());
        }
        runs(&path)
    }
}

impl Running {
    /// Waits until the recording has begun. Everything is attached earlier, when the first segment is made; but what a thread does before the
    /// first snapshot of all threads is complete lies before the begin, and is not in the tables.
    fn attached(&mut self) -> Result<(), String> {
        let folder = self.folder.path().join(FOLDER);
        let begin = Instant::now();
        loop {
            if capture::has_begun(&folder) {
                return Ok(());
            }
            if self.child.try_wait().map_err(|why| why.to_string())?.is_some() {
                return Err(self.message());
            }
            if begin.elapsed() > ATTACH {
                return Err(format!("the recorder was not ready after {} s", ATTACH.as_secs()));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Waits until the child has ended; returns its exit code.
    fn ended(&mut self, most: Duration) -> Result<Option<i32>, String> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().map_err(|why| why.to_string())? {
                return Ok(status.code());
            }
            if begin.elapsed() > most {
                return Err(format!("the recording was not converted after {} s", most.as_secs()));
            }
            std::thread::sleep(POLL);
        }
    }

    /// The error that the child printed.
    fn message(&self) -> String {
        let log = std::fs::read(self.folder.path().join(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let message = log.lines().rev().find_map(|line| line.strip_prefix("corewise: "));
        message.map_or_else(|| "the recorder ended early".to_owned(), ToOwned::to_owned)
    }
}

impl bench::Recorder for Recorder {
    fn start(&mut self) -> Result<(), String> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        let begun = Self::begin().inspect_err(|why| self.failed = Some(why.clone()))?;
        self.running = Some(begun);
        Ok(())
    }

    fn finish(&mut self) -> Result<Runs, String> {
        let running = self.running.take().ok_or("nothing was recorded")?;
        Self::end(running).inspect_err(|why| self.failed = Some(why.clone()))
    }
}

/// Reads where each thread ran. The times of a recording of this machine are those of `CLOCK_MONOTONIC`, less the origin.
fn runs(path: &std::path::Path) -> Result<Runs, String> {
    let session = Session::open(path, PassOptions::default()).map_err(|why| why.to_string())?;
    let origin = session.origin();
    let mut runs = Runs::default();
    let read = session.each(Table, |row| {
        let (Some(cpu), "running") = (row.get(CPU), row.get(STATE)) else { return };
        let Ok(cpu) = u32::try_from(cpu) else { return };
        let [start, end] = row.all([START_NS, END_NS]).map(|at| at + origin);
        let run = Run { start_ns: start.0, end_ns: end.0, cpu: CpuId(cpu) };
        runs.0.entry(row.get(TID).0).or_default().push(run);
    });
    read.map_err(|why| why.to_string())?;
    Ok(runs)
}
