//! Machines for the tests: written by hand, or unpacked from the trace collection.

use model::{CoreType, CpuId};
use std::collections::BTreeMap;
use std::path::Path;
use topology::{Machine, Root, Source, cpulist};

/// A `/sys` in memory.
#[derive(Clone, Debug, Default)]
pub struct Tree(pub BTreeMap<String, String>);

impl Tree {
    /// Returns a tree with CPUs `0..n`, all present and online, and no other files.
    pub fn of(n: u32) -> Self {
        let all = if n == 1 { "0".to_owned() } else { format!("0-{}", n - 1) };
        Self::default().file("/sys/devices/system/cpu/present", &all).file("/sys/devices/system/cpu/online", &all)
    }

    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), format!("{text}\n"));
        self
    }

    /// Adds a file for each CPU of a list.
    pub fn each(self, list: &str, name: &str, text: &str) -> Self {
        let ids = cpulist::parse(list).unwrap();
        ids.iter().fold(self, |tree, id| tree.file(&format!("/sys/devices/system/cpu/cpu{}/{name}", id.0), text))
    }

    /// Adds the threads of a core.
    pub fn core(self, list: &str) -> Self {
        self.each(list, "topology/core_cpus_list", list)
    }

    /// Adds a cache and the CPUs that share it.
    pub fn cache(self, level: u32, list: &str) -> Self {
        let at = format!("cache/index{level}");
        self.each(list, &format!("{at}/level"), &level.to_string()).each(list, &format!("{at}/type"), "Unified").each(
            list,
            &format!("{at}/shared_cpu_list"),
            list,
        )
    }

    pub fn machine(&self) -> Machine {
        Machine::from_sysfs(&self.0)
    }
}

/// Returns the CPUs of a type, as a list.
pub fn of_type(machine: &Machine, kind: CoreType) -> String {
    cpulist::format(machine.cpus.iter().map(|c| c.id).filter(|id| machine.core_type(*id) == kind))
}

/// Returns the sources of the types of the online CPUs.
pub fn type_sources(machine: &Machine) -> Vec<Source> {
    let online = machine.cpus.iter().zip(&machine.class).filter(|(c, _)| c.online);
    let mut all: Vec<Source> = online.map(|(_, j)| j.best.source).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the distinct groups, in order.
pub fn groups(machine: &Machine, of: impl Fn(&topology::Cpu) -> &[CpuId]) -> Vec<String> {
    let mut all: Vec<&[CpuId]> = machine.cpus.iter().map(of).filter(|g| !g.is_empty()).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(|g| cpulist::format(g.iter().copied())).collect()
}

/// Unpacks an archive of the collection; returns the folder and the machine in it.
pub fn unpacked(archive: &Path) -> (tempfile::TempDir, Machine) {
    // In memory if possible: twenty times faster than a busy disk.
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    // Skip thousands of files that are never read.
    let unread =
        ["cpuidle", "power", "debug", "device-tree", "hotplug", "index0", "index1", "microcode", "regs", "rq-stats"];
    let unread = unread.iter().map(|name| format!("--exclude=*/{name}"));
    let mut tar = std::process::Command::new("tar");
    tar.arg("-x").args(unread).args(["--exclude=*_map", "--exclude=*/uevent", "-C"]);
    let done = tar.arg(dir.path()).arg("-f").arg(archive).status().unwrap();
    assert!(done.success(), "{}", archive.display());
    // The archive contains the tree itself, or one folder with it.
    let below = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path());
    let root = std::iter::once(dir.path().to_owned()).chain(below).find_map(|p| Root::recorded(&p)).unwrap();
    let machine = Machine::from_sysfs(&root);
    (dir, machine)
}
