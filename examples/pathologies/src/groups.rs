//! Control groups with the CPU controller. Creating them needs root.

use crate::{leave, skip};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A group that this program created.
#[derive(Debug)]
pub struct Group {
    /// The group to which this process returns.
    home: PathBuf,
    own: PathBuf,
}

impl Group {
    /// Creates an empty group. If that is not possible, the program is skipped.
    #[must_use]
    pub fn new() -> Group {
        let home = home();
        let own = home.join(format!("corewise-pathology-{}", std::process::id()));
        if let Err(why) = fs::create_dir(&own) {
            skip(&format!("cannot create a control group in {}: {why}", home.display()));
        }
        Group { home, own }
    }

    /// Creates a group within this one, which must have no processes.
    #[must_use]
    pub fn within(&self, name: &str) -> Group {
        let own = self.own.join(name);
        // In v2, the CPU controller must be enabled for the groups within.
        let shares = self.own.join("cgroup.subtree_control");
        let shared = if shares.exists() { fs::write(shares, "+cpu") } else { Ok(()) };
        if let Err(why) = shared.and_then(|()| fs::create_dir(&own)) {
            self.remove();
            skip(&format!("cannot create the control group {}: {why}", own.display()));
        }
        Group { home: self.home.clone(), own }
    }

    /// Whether it has this file, which distinguishes v1 and v2.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.own.join(file).exists()
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.own.join(file), value)
    }

    /// Moves a process into it.
    ///
    /// # Errors
    /// If the kernel refuses the move.
    pub fn take(&self, pid: u32) -> io::Result<()> {
        self.set("cgroup.procs", &pid.to_string())
    }

    /// Moves this process back to its original group, and removes this group, which must be empty.
    pub fn remove(&self) {
        // An error does not matter: the process may not be in this group.
        let _ = fs::write(self.home.join("cgroup.procs"), std::process::id().to_string());
        if let Err(why) = fs::remove_dir(&self.own) {
            leave(1, &format!("cannot remove {}: {why}", self.own.display()));
        }
    }
}

impl Default for Group {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the folder in which groups with a quota can be created: in v1 that of our own group, in v2 the root, since a group with
/// processes must not contain groups with controllers.
fn home() -> PathBuf {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let v1 = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let cpu = controllers.split(',').any(|c| c == "cpu");
        cpu.then(|| Path::new("/sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/')))
    });
    v1.unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
}
