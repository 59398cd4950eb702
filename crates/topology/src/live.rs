//! The only file of this crate that touches the machine it runs on, and files that the user names.

use crate::files::Files;
use crate::machine::Machine;
use crate::user::BadMachine;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More than any file of the kernel's that we read (`/proc/cpuinfo` of 8192 CPUs is about 12 MB).
const MAX_BYTES: u64 = 32 << 20;

/// A folder with `sys` and `proc` in it: `/`, or a recorded tree.
#[derive(Debug)]
pub struct Root {
    dir: PathBuf,
    /// The folder is itself what `/sys` is.
    is_sys: bool,
}

impl Root {
    /// This machine.
    #[must_use]
    pub fn live() -> Self {
        Self { dir: PathBuf::from("/"), is_sys: false }
    }

    /// A recorded tree: a folder with `sys/devices/system/cpu` in it, or `devices/system/cpu`.
    #[must_use]
    pub fn recorded(dir: &Path) -> Option<Self> {
        let has = |below: &str| dir.join(below).is_dir();
        // Links in a recording that lead out of it would describe this machine instead: see `path`.
        let dir_itself = || dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        if has("sys/devices/system/cpu") {
            Some(Self { dir: dir_itself(), is_sys: false })
        } else if has("devices/system/cpu") {
            Some(Self { dir: dir_itself(), is_sys: true })
        } else {
            None
        }
    }

    fn path(&self, path: &str) -> io::Result<PathBuf> {
        let below = if self.is_sys { path.strip_prefix("/sys/") } else { path.strip_prefix('/') };
        let path = self.dir.join(below.ok_or(io::ErrorKind::NotFound)?);
        if self.dir == Path::new("/") {
            return Ok(path);
        }
        let path = path.canonicalize()?;
        if path.starts_with(&self.dir) { Ok(path) } else { Err(io::Error::other("leads out of the recorded tree")) }
    }
}

impl Files for Root {
    fn read(&self, path: &str) -> io::Result<String> {
        let path = self.path(path)?;
        // A pipe in a recorded tree would be waited on for ever.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("not a plain file"));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.path(path)?)?;
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

/// The machine that this program runs on.
#[must_use]
pub fn live() -> Machine {
    let mut machine = Machine::from_sysfs(&Root::live());
    machine.arch.get_or_insert_with(|| std::env::consts::ARCH.to_owned());
    machine
}

/// What the user names with `--machine`: a TOML file (see [`Machine::from_user`]) or a folder with a sysfs tree.
///
/// # Errors
/// With the line and what to write instead, or what the folder lacks.
pub fn machine_file(path: &Path) -> Result<Machine, BadMachine> {
    if path.is_dir() {
        let root = Root::recorded(path).ok_or_else(|| BadMachine {
            line: None,
            what: format!(
                "{} is a folder without sys/devices/system/cpu or devices/system/cpu: give a sysfs tree or a TOML file",
                path.display()
            ),
        })?;
        return Ok(Machine::from_sysfs(&root));
    }
    let unreadable = |why: io::Error| BadMachine { line: None, what: format!("{}: {why}", path.display()) };
    let mut text = String::new();
    std::fs::File::open(path).map_err(unreadable)?.take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Machine::from_user(&text)
}
