//! Where cgroups are mounted, and in which one a process is (cgroups(7)).

use std::path::{Path, PathBuf};

/// The mount point of the hierarchy with a controller, and whether it is of version 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hierarchy {
    pub mount: PathBuf,
    pub is_v1: bool,
    controller: &'static str,
}

/// The controller of weights and quotas.
pub(crate) const CPU: &str = "cpu";
/// The controller of the CPUs on which threads may run.
pub(crate) const CPUSET: &str = "cpuset";

impl Hierarchy {
    /// The hierarchy of this machine; `None` if none has the controller.
    pub(crate) fn of_this_machine(controller: &'static str) -> Option<Self> {
        Self::of(&std::fs::read_to_string("/proc/self/mounts").ok()?, controller)
    }

    fn of(mounts: &str, controller: &'static str) -> Option<Self> {
        let mut unified = None;
        for line in mounts.lines() {
            let mut words = line.split(' ').skip(1);
            let (mount, kind, options) = (words.next()?, words.next()?, words.next()?);
            if kind == "cgroup" && options.split(',').any(|option| option == controller) {
                return Some(Self { mount: mount.into(), is_v1: true, controller });
            }
            if kind == "cgroup2" {
                unified = Some(Self { mount: mount.into(), is_v1: false, controller });
            }
        }
        unified
    }

    /// The folder of a cgroup.
    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// The folder of the cgroup of a process; `None` for the root, which has no limits of its own.
    pub(crate) fn of_process(&self, pid: i32) -> Option<PathBuf> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let path = path_in(&text, self.is_v1.then_some(self.controller))?;
        (path != "/").then(|| self.folder(path))
    }

    /// The file with the CPU weight, and a weight of cgroup v2 as it stands there.
    pub(crate) fn weight(&self, folder: &Path, weight: u32) -> (PathBuf, String) {
        if self.is_v1 {
            (folder.join("cpu.shares"), (u64::from(weight) * 1024 / 100).max(2).to_string())
        } else {
            (folder.join("cpu.weight"), weight.to_string())
        }
    }
}

/// The path of the cgroup in `/proc/PID/cgroup`: in the hierarchy of version 1 with this controller, else in that of version 2.
fn path_in<'a>(text: &'a str, of_v1: Option<&str>) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, path) = (words.next()?, words.next()?);
        let fits = match of_v1 {
            Some(controller) => controllers.split(',').any(|name| name == controller),
            None => controllers.is_empty(),
        };
        fits.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_with_the_controller_comes_first() {
        let hybrid = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n";
        let of = Hierarchy::of(hybrid, CPU).unwrap();
        assert!(of.is_v1);
        assert_eq!(of.weight(&of.folder("/a"), 50), ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.shares".into(), "512".into()));
        let unified = Hierarchy::of("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", CPU).unwrap();
        assert_eq!(unified.weight(&unified.folder("/a"), 50), ("/sys/fs/cgroup/a/cpu.weight".into(), "50".into()));
        assert_eq!(Hierarchy::of("proc /proc proc rw 0 0\n", CPU), None);
    }

    #[test]
    fn the_path_of_a_process_depends_on_the_version() {
        let text = "7:cpuset:/set\n5:cpu,cpuacct:/docker/1\n1:name=systemd:/x\n0::/unified\n";
        assert_eq!(
            [Some(CPU), Some(CPUSET), None].map(|of| path_in(text, of)),
            ["/docker/1", "/set", "/unified"].map(Some)
        );
    }
}
