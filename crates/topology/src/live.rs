//! The only file of this crate that reads the machine it runs on, and files that the user names.

use crate::files::Files;
use crate::machine::Machine;
use crate::user::BadMachine;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The maximum length of a file; no kernel file that we read is longer (`/proc/cpuinfo` of 8192 CPUs is about 12 MB).
const MAX_BYTES: u64 = 32 << 20;

/// A folder that contains `sys` and `proc`: `/`, or a recorded tree.
#[derive(Debug)]
pub struct Root {
    dir: PathBuf,
    /// Whether the folder is `/sys` itself.
    is_sys: bool,
}

impl Root {
    /// Returns the root of this machine.
    #[must_use]
    pub fn live() -> Self {
        Self { dir: PathBuf::from("/"), is_sys: false }
    }

    /// Returns a recorded tree: a folder that contains `sys/devices/system/cpu` or `devices/system/cpu`.
    #[must_use]
    pub fn recorded(dir: &Path) -> Option<Self> {
        let has = |below: &str| dir.join(below).is_dir();
        // A link out of the recorded tree would describe this machine instead: `path` refuses it.
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
        // Reading a pipe in a recorded tree would block.
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

/// Returns the machine that this program runs on.
#[must_use]
pub fn live() -> Machine {
    let mut machine = Machine::from_sysfs(&Root::live());
    machine.arch.get_or_insert_with(|| std::env::consts::ARCH.to_owned());
    machine
}

/// Reads the argument of `--machine`: a file that describes a machine ([`Machine::from_text`]), a folder with a sysfs tree, or one of
/// pepc's emulated machines.
///
/// # Errors
/// If the description is invalid (with the line and the correction), or the folder contains no machine. The caller names the path.
pub fn machine_file(path: &Path) -> Result<Machine, BadMachine> {
    if path.is_dir() {
        return folder(path);
    }
    let bytes = bytes(path, MAX_BYTES).map_err(|why| bad(why.to_string()))?;
    if packed(&bytes) {
        let what = "this is an archive: unpack it (`mkdir machine && tar -xf FILE -C machine`) and name the folder";
        return Err(bad(what.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|why| {
        bad(format!("this is not a text file (byte {} is not UTF-8)", why.utf8_error().valid_up_to()))
    })?;
    Machine::from_text(&text)
}

/// Returns whether the contents of a path describe a machine, see [`machine_file`], rather than a trace.
#[must_use]
pub fn is_machine(path: &Path) -> bool {
    if path.is_dir() {
        return recorded(path).is_some() || path.join(PEPC).is_file();
    }
    beginning(path, 64 << 10)
        .is_ok_and(|head| !head.contains(&0) && crate::is_description(&String::from_utf8_lossy(&head)))
}

/// The sysfs file of pepc's emulated machines.
const PEPC: &str = "sys/inlinefiles.txt";

/// Returns a recorded tree. It may be the only subfolder, as unpacked archives have it.
fn recorded(dir: &Path) -> Option<Root> {
    let below = || {
        let entries = std::fs::read_dir(dir).ok()?.take(1000);
        let mut found = entries.filter_map(|e| Root::recorded(&e.ok()?.path()));
        found.next().filter(|_| found.next().is_none())
    };
    Root::recorded(dir).or_else(below)
}

fn folder(dir: &Path) -> Result<Machine, BadMachine> {
    if let Some(root) = recorded(dir) {
        return Ok(Machine::from_sysfs(&root));
    }
    if let Ok(inline) = beginning(&dir.join(PEPC), MAX_BYTES) {
        let cpuinfo = beginning(&dir.join("proc/cpuinfo"), MAX_BYTES).ok();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        return Ok(Machine::from_pepc(&text(inline), cpuinfo.map(text)));
    }
    let what = "this is a folder without sys/devices/system/cpu or devices/system/cpu: give a sysfs tree, or a file that describes \
                a machine";
    Err(bad(what.to_owned()))
}

fn bad(what: String) -> BadMachine {
    BadMachine { line: None, what }
}

/// Returns the beginning of a plain file. A pipe is refused: reading it would block, and take its contents.
fn beginning(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    bytes(path, max_bytes)
}

fn bytes(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether it is gzip, bzip2, xz, zstd, zip, or any tar.
fn packed(bytes: &[u8]) -> bool {
    let magic: [&[u8]; 5] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];
    magic.iter().any(|m| bytes.starts_with(m)) || bytes.get(257..262) == Some(b"ustar")
}
