//! DuckDB in a process of its own: its Python package, or its command line.

use super::{message, views};
use crate::failure::Failure;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Runs a query with the Python package.
const WORKER: &str = include_str!("worker.py");
/// The variable that names a DuckDB command line, or a Python that has its package.
const VARIABLE: &str = "COREWISE_DUCKDB";
/// An error message is read up to this length, bytes.
const MAX_MESSAGE: u64 = 1 << 16;
/// Between the columns and the rows in the output of the command line.
const ROWS_FOLLOW: &str = "corewise: rows follow";

/// What a query may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory, in MB; twice as much in temporary files.
    pub memory_mb: u64,
    /// The time until it is ended.
    pub time: Duration,
}

/// A DuckDB that is installed here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Engine {
    /// A Python that has the package `duckdb`.
    Python(PathBuf),
    /// DuckDB's command line.
    Cli(PathBuf),
}

/// A query, and what it needs.
pub struct Query<'a> {
    /// The text.
    pub text: &'a str,
    /// The statements that declare its views.
    pub views: &'a [String],
    /// The files that it may read.
    pub files: &'a [PathBuf],
    /// For temporary files.
    pub folder: &'a Path,
    pub limits: Limits,
}

/// A line of an answer.
pub enum Line {
    /// The columns: names and types of DuckDB.
    Columns(Vec<(String, String)>),
    /// The cells of a row as texts.
    Row(Vec<Option<String>>),
}

impl Engine {
    /// Finds a DuckDB: the one that `COREWISE_DUCKDB` names; the package of the active virtual environment or of `python3`; `duckdb`.
    ///
    /// # Errors
    /// There is none; the message has the command that gets it.
    pub fn find() -> Result<Self, Failure> {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let is_python = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
            return match is_python {
                true if has_package(&path) => Ok(Self::Python(path)),
                true => Err(Failure::new(format!(
                    "{VARIABLE}={path}: this Python has no DuckDB: run `{path} -m pip install duckdb`",
                    path = path.display()
                ))),
                false => Ok(Self::Cli(path)),
            };
        }
        let of_environment = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin/python3"));
        let pythons = of_environment.into_iter().chain(on_path("python3"));
        if let Some(python) = pythons.into_iter().find(|python| has_package(python)) {
            return Ok(Self::Python(python));
        }
        on_path("duckdb").map(Self::Cli).ok_or_else(|| {
            Failure::new(format!(
                "DuckDB, which answers queries, is not installed: run `python3 -m pip install duckdb` (in a virtual environment: python3 -m venv \
                 venv), or set {VARIABLE} to its command line or to a Python that has it"
            ))
        })
    }

    /// Runs a query and passes on its answer, line by line.
    ///
    /// # Errors
    /// The query fails, exceeds a limit or writes, or `each` fails.
    pub fn run(&self, query: &Query<'_>, each: &mut dyn FnMut(Line) -> Result<(), Failure>) -> Result<(), Failure> {
        let errors = query.folder.join("errors.txt");
        let (mut command, mut lines) = match self {
            Self::Python(python) => (worker(python, query)?, Lines::OfWorker { begun: false }),
            Self::Cli(duckdb) => (script(duckdb, query)?, Lines::OfCli { columns: Vec::new(), begun: false }),
        };
        let stderr = File::create(&errors).map_err(Failure::at(&errors))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let signals = PassedOn::start(&mut command);
        let program = command.get_program().to_owned();
        let failed = |why| Failure::new(format!("cannot run {}: {why}", program.display()));
        let mut running = Running::start(command.spawn().map_err(failed)?, query.limits.time)?;
        let read = running.output().map_or(Ok(()), |out| {
            BufReader::new(out).lines().try_for_each(|line| lines.take(&line.map_err(cannot_read)?, each))
        });
        let ended = running.end(read.is_err())?;
        drop(signals);
        read?;
        match ended {
            Ended::Late => Err(Failure::new(format!(
                "the query was ended after {} s: narrow it, or give it more time with --time-limit",
                query.limits.time.as_secs()
            ))),
            Ended::With(status) if status.success() => Ok(()),
            Ended::With(status) => Err(message::of(&said(&errors), status, &query.limits)),
        }
    }

    /// The statements that close DuckDB against everything but the files of a query.
    fn settings(query: &Query<'_>) -> Vec<String> {
        let path = |path: &Path| views::text(&path.display().to_string());
        let files: Vec<String> = query.files.iter().map(|file| path(file)).collect();
        let memory = query.limits.memory_mb;
        let mut all: Vec<String> = [
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "allow_community_extensions = false",
            "allow_persistent_secrets = false",
            // It would be written between the rows.
            "enable_progress_bar = false",
        ]
        .map(|setting| format!("SET {setting}"))
        .to_vec();
        all.push(format!("SET allowed_paths = [{}]", files.join(", ")));
        all.push(format!("SET temp_directory = {}", path(&query.folder.join("spill"))));
        all.push(format!("SET max_temp_directory_size = '{}MB'", 2 * memory));
        all.push(format!("SET memory_limit = '{memory}MB'"));
        all.push("SET enable_external_access = false".to_owned());
        all.push("SET lock_configuration = true".to_owned());
        all
    }
}

/// The settings and views of a query, in order. Once the configuration is locked, nothing can be opened that is not in the list of files.
fn statements(query: &Query<'_>) -> Vec<String> {
    let mut all = Engine::settings(query);
    all.extend(query.views.iter().cloned());
    all
}

fn worker(python: &Path, query: &Query<'_>) -> Result<Command, Failure> {
    let request = query.folder.join("request.json");
    let json = serde_json::json!({ "statements": statements(query), "query": query.text }).to_string();
    std::fs::write(&request, json).map_err(Failure::at(&request))?;
    let mut command = Command::new(python);
    command.args(["-c", WORKER]).arg(request);
    Ok(command)
}

fn script(duckdb: &Path, query: &Query<'_>) -> Result<Command, Failure> {
    let file = query.folder.join("query.sql");
    // The function takes a single statement that reads.
    let of_query = format!("query({})", views::text(query.text));
    let text = format!(
        "{};\n.headers off\n.mode jsonlines\nDESCRIBE FROM {of_query};\n.print {ROWS_FOLLOW}\nSELECT COLUMNS(*)::VARCHAR FROM {of_query};\n",
        statements(query).join(";\n")
    );
    std::fs::write(&file, text).map_err(Failure::at(&file))?;
    let mut command = Command::new(duckdb);
    command.args(["-init", "/dev/null", "-batch", "-bail", "-f"]).arg(file);
    Ok(command)
}

/// Reads the lines of an answer.
enum Lines {
    OfWorker { begun: bool },
    OfCli { columns: Vec<(String, String)>, begun: bool },
}

impl Lines {
    fn take(&mut self, line: &str, each: &mut dyn FnMut(Line) -> Result<(), Failure>) -> Result<(), Failure> {
        let damaged = |why: serde_json::Error| Failure::new(format!("cannot read DuckDB's answer: {why}"));
        match self {
            Self::OfWorker { begun: false } => {
                *self = Self::OfWorker { begun: true };
                each(Line::Columns(serde_json::from_str(line).map_err(damaged)?))
            }
            Self::OfWorker { begun: true } => each(Line::Row(serde_json::from_str(line).map_err(damaged)?)),
            Self::OfCli { columns, begun: begun @ false } if line == ROWS_FOLLOW => {
                *begun = true;
                each(Line::Columns(columns.clone()))
            }
            Self::OfCli { columns, begun } => {
                let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).map_err(damaged)?;
                let cell = |name: &str| object.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
                if *begun {
                    return each(Line::Row(columns.iter().map(|(name, _)| cell(name)).collect()));
                }
                columns.push((cell("column_name").unwrap_or_default(), cell("column_type").unwrap_or_default()));
                Ok(())
            }
        }
    }
}

fn cannot_read(why: std::io::Error) -> Failure {
    Failure::new(format!("cannot read DuckDB's answer: {why}"))
}

fn said(errors: &Path) -> String {
    let mut said = Vec::new();
    let read = File::open(errors).and_then(|file| file.take(MAX_MESSAGE).read_to_end(&mut said));
    read.map_or_else(|why| why.to_string(), |_| String::from_utf8_lossy(&said).into_owned())
}

/// Finds a program on PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn has_package(python: &Path) -> bool {
    const FINDS: &str = "import sys; sys.path[:] = [p for p in sys.path if p]; import importlib.util as u; sys.exit(u.find_spec('duckdb') is None)";
    let run = Command::new(python)
        .args([OsStr::new("-c"), OsStr::new(FINDS)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success())
}

/// How a process ended.
enum Ended {
    With(ExitStatus),
    Late,
}

/// A process that is ended after a time.
struct Running {
    child: Child,
    over: Sender<()>,
    watch: JoinHandle<bool>,
}

impl Running {
    fn start(child: Child, time: Duration) -> Result<Self, Failure> {
        let (over, wait) = channel();
        let pid = child.id();
        GROUP.store(i32::try_from(pid).unwrap_or_default(), Ordering::Relaxed);
        let watch = move || {
            let late = matches!(wait.recv_timeout(time), Err(RecvTimeoutError::Timeout));
            if late {
                kill(pid);
            }
            late
        };
        let watch = std::thread::Builder::new().name("time limit".into()).spawn(watch);
        Ok(Self { child, over, watch: watch.map_err(|why| Failure::new(format!("cannot start a thread: {why}")))? })
    }

    fn output(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for its end.
    fn end(mut self, now: bool) -> Result<Ended, Failure> {
        let pid = self.child.id();
        if now {
            kill(pid);
        }
        // The process keeps its number until its status is taken, which is after the end of the thread: another one is never killed.
        wait_for_exit(pid);
        drop(self.over);
        let late = self.watch.join().unwrap_or(false);
        let status = self.child.wait().map_err(cannot_read)?;
        Ok(if late { Ended::Late } else { Ended::With(status) })
    }
}

/// Ends the process group of a child.
fn kill(pid: u32) {
    if let Ok(pid) = libc::pid_t::try_from(pid) {
        // SAFETY: the call has no memory arguments; the group is that of a child whose status was not taken.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
    }
}

/// Waits until a child has ended, and leaves its status to be taken.
fn wait_for_exit(pid: u32) {
    loop {
        // SAFETY: all-zero is a valid siginfo, and the call writes only to it.
        let done = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid, &raw mut info, libc::WEXITED | libc::WNOWAIT)
        };
        let interrupted = done != 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if !interrupted {
            return;
        }
    }
}

/// The process group that gets the signals of this process; 0: none runs.
static GROUP: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(signal: libc::c_int) {
    let group = GROUP.load(Ordering::Relaxed);
    if group > 0 {
        // SAFETY: the call may be used in a handler, and has no memory arguments.
        unsafe { libc::kill(-group, signal) };
    }
}

/// While a child runs, Ctrl-C and SIGTERM end only the child, so that temporary files are removed.
struct PassedOn([(libc::c_int, libc::sighandler_t); 2]);

impl PassedOn {
    /// Starts to pass them on. The child, which is not started yet, gets a process group of its own, since DuckDB's command line may be started by a
    /// script, and ends with this process.
    fn start(command: &mut Command) -> Self {
        command.process_group(0);
        // SAFETY: between fork and exec, only a call that is safe after a fork.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        GROUP.store(0, Ordering::Relaxed);
        let handler = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler only makes a call that is allowed in handlers.
        Self([libc::SIGINT, libc::SIGTERM].map(|signal| (signal, unsafe { libc::signal(signal, handler) })))
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        for (signal, before) in self.0 {
            // SAFETY: restores what was there before.
            unsafe { libc::signal(signal, before) };
        }
        GROUP.store(0, Ordering::Relaxed);
    }
}
