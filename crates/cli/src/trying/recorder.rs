//! Records one run of a trial, with this program as a child process.

use crate::ab::child;
use crate::args::Global;
use crate::failure::Failure;
use model::Ns;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Load {
    /// A command, until it ends.
    Command(Vec<String>),
    /// A process that runs, for a time.
    Process(i32, Ns),
    /// The machine, for a time.
    Machine(Ns),
}

/// How a recorder ended.
pub struct Recorded {
    /// Its exit code, which is that of the command.
    pub code: i32,
    /// What it and the command printed.
    pub log: String,
}

/// Records a run into `folder`; what is printed goes to `log`. Calls `tick` each second.
///
/// # Errors
/// It cannot be recorded.
pub fn record(
    load: &Load,
    variables: &[(&'static str, &str)],
    arguments: &[String],
    [folder, log]: [&Path; 2],
    global: &Global,
    tick: impl FnMut(),
) -> Result<Recorded, Failure> {
    let program = std::env::current_exe().map_err(|why| Failure::new(format!("cannot find this program: {why}")))?;
    let mut recorder = Command::new(program);
    recorder.arg("record").arg("-o").arg(folder);
    if let Some(machine) = &global.machine {
        let mut option = OsString::from("--machine=");
        option.push(machine);
        recorder.arg(option);
    }
    recorder.args(arguments);
    let seconds = |time: &Ns| format!("{}ns", time.0);
    match load {
        Load::Command(words) => {
            recorder.arg("--");
            // The recorder itself does not get the variables.
            if !variables.is_empty() {
                recorder.arg("env").args(variables.iter().map(|(name, value)| format!("{name}={value}")));
            }
            recorder.args(words);
        }
        Load::Process(pid, time) => {
            recorder.args(["--pid", &pid.to_string(), "--duration", &seconds(time)]);
        }
        Load::Machine(time) => {
            recorder.args(["--all", "--duration", &seconds(time)]);
        }
    }
    let file = File::create(log).map_err(Failure::at(log))?;
    let other = file.try_clone().map_err(Failure::at(log))?;
    recorder.stdin(Stdio::null()).stdout(file).stderr(other);
    let cannot = |why: std::io::Error| Failure::new(format!("cannot run corewise record: {why}"));
    let mut child = recorder.spawn().map_err(cannot)?;
    let code = child::code(child::wait(&mut child, tick).map_err(cannot)?);
    let log = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    if !folder.join("manifest.json").exists() {
        let message = log.lines().rev().find_map(|line| line.strip_prefix("corewise: "));
        let why = message.map_or_else(|| format!("it exited with code {code}"), ToOwned::to_owned);
        return Err(Failure::new(format!("cannot record: {why}")));
    }
    Ok(Recorded { code, log })
}
