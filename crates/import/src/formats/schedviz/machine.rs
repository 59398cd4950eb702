//! The topology folder: the CPUs of each node, each with its `topology` folder of sysfs.

use super::text;
use ingest::{Fatal, Folder};
use std::collections::BTreeMap;
use topology::{Machine, cpulist};

/// The files that are needed; the others contain the same as masks.
const FILES: [&str; 6] =
    ["core_id", "physical_package_id", "die_id", "cluster_id", "thread_siblings_list", "core_cpus_list"];

/// Returns the machine; `None` if the collection does not describe it.
pub(super) fn read(folder: &dyn Folder, names: &[String]) -> Result<Option<Machine>, Fatal> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for name in names {
        let Some((node, cpu, file)) = place(name) else { continue };
        if !FILES.contains(&file) {
            continue;
        }
        let at = format!("/sys/devices/system/cpu/cpu{cpu}");
        files.insert(format!("{at}/topology/{file}"), text(folder, name)?);
        // Sysfs has a link to its node in each CPU's folder.
        files.insert(format!("{at}/node{node}/link"), String::new());
    }
    Ok((!files.is_empty()).then(|| Machine::from_sysfs(&files)))
}

/// Returns node, CPU and file of `topology/node0/cpu3/topology/core_id`.
fn place(name: &str) -> Option<(u32, u32, &str)> {
    let (node, rest) = name.strip_prefix("topology/node")?.split_once("/cpu")?;
    let (cpu, file) = rest.split_once("/topology/")?;
    let (node, cpu) = (node.parse().ok()?, cpu.parse().ok()?);
    (node < cpulist::MAX_CPUS && cpu < cpulist::MAX_CPUS).then_some((node, cpu, file))
}
