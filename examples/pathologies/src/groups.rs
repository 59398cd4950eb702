//! Control groups of the CPU controller, for programs about them. They want the right to make some (root).

use crate::{leave, skip};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A group that this program made.
#[derive(Debug)]
pub struct Group {
    /// Where this process came from.
    home: PathBuf,
    own: PathBuf,
}

impl Group {
    /// A group with nobody in it. Where none can be made, the program ends: it would show nothing.
    #[must_use]
    pub fn new() -> Group {
        let home = home();
        let own = home.join(format!("corewise-pathology-{}", std::process::id()));
        if let Err(why) = fs::create_dir(&own) {
            skip(&format!("cannot make a control group in {}: {why}", home.display()));
        }
        Group { home, own }
    }

    /// A group within this one, which must be empty itself.
    #[must_use]
    pub fn within(&self, name: &str) -> Group {
        let own = self.own.join(name);
        // Only v2 must be told to share a group's time among those within.
        let shares = self.own.join("cgroup.subtree_control");
        let shared = if shares.exists() { fs::write(shares, "+cpu") } else { Ok(()) };
        if let Err(why) = shared.and_then(|()| fs::create_dir(&own)) {
            self.remove();
            skip(&format!("cannot make a control group within another: {why}"));
        }
        Group { home: self.home.clone(), own }
    }

    /// Whether it has this file, by which v1 and v2 can be told apart.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.own.join(file).exists()
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.own.join(file), value)
    }

    /// Moves a process into it.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn take(&self, pid: u32) -> io::Result<()> {
        self.set("cgroup.procs", &pid.to_string())
    }

    /// Moves this process back to where it came from, and takes the group away: an empty one can be removed.
    pub fn remove(&self) {
        // Not being in it is as good.
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

/// The folder of groups beside which one with a quota may be made: in v1 our own group, in v2 the root, as a group with
/// processes of its own may not have others with controllers below it.
fn home() -> PathBuf {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let v1 = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let cpu = controllers.split(',').any(|c| c == "cpu");
        cpu.then(|| Path::new("/sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/')))
    });
    v1.unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"))
}
