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

/// What the user names with `--machine`: a file that describes a machine ([`Machine::from_text`]), or a folder with a sysfs
/// tree, or one of pepc's emulated machines.
///
/// # Errors
/// With the line and what to write instead, or what the folder lacks.
pub fn machine_file(path: &Path) -> Result<Machine, BadMachine> {
    if path.is_dir() {
        return folder(path);
    }
    let bytes = bytes(path, MAX_BYTES).map_err(|why| bad(format!("{}: {why}", path.display())))?;
    if packed(&bytes) {
        return Err(bad(format!(
            "{} is an archive: unpack it (`mkdir machine && tar -xf FILE -C machine`) and name the folder",
            path.display()
        )));
    }
    let text = String::from_utf8(bytes).map_err(|why| {
        bad(format!("{} is no text (byte {} is not UTF-8)", path.display(), why.utf8_error().valid_up_to()))
    })?;
    Machine::from_text(&text)
}

/// Whether a path names a description of a machine rather than a trace, by its content: see [`machine_file`].
#[must_use]
pub fn is_machine(path: &Path) -> bool {
    if path.is_dir() {
        return recorded(path).is_some() || path.join(PEPC).is_file();
    }
    beginning(path, 64 << 10)
        .is_ok_and(|head| !head.contains(&0) && crate::is_description(&String::from_utf8_lossy(&head)))
}

/// Where pepc's emulated machines keep their sysfs.
const PEPC: &str = "sys/inlinefiles.txt";

/// A tree, also where it is the only folder in the one named, as archives of trees unpack.
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
        return Ok(Machine::from_sysfs(&crate::described::pepc_files(&text(inline), cpuinfo.map(text))));
    }
    Err(bad(format!(
        "{} is a folder without sys/devices/system/cpu or devices/system/cpu: give a sysfs tree, or a file that describes a \
         machine",
        dir.display()
    )))
}

fn bad(what: String) -> BadMachine {
    BadMachine { line: None, what }
}

/// The beginning of a plain file; a pipe in a recorded tree would be waited on for ever, and one that is only looked at
/// would be empty afterwards.
fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    bytes(path, most)
}

fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// gzip, bzip2, xz, zstd, zip, or a tar of any kind.
fn packed(bytes: &[u8]) -> bool {
    let magic: [&[u8]; 5] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"];
    magic.iter().any(|m| bytes.starts_with(m)) || bytes.get(257..262) == Some(b"ustar")
}
