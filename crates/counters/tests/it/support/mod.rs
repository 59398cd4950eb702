//! Machines for the tests, as trees of files in memory.

use counters::{Attr, BadEvent, Plan, Pmu, Pmus, Resolved, expand, parse, plan, resolve};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The files of a machine.
#[derive(Clone, Default)]
pub struct Tree(pub BTreeMap<String, String>);

impl Tree {
    /// A machine with CPUs `0..n` and a processor of Intel.
    pub fn intel(n: u32, model: u32, stepping: u32) -> Self {
        let info = format!("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nstepping\t: {stepping}\n");
        let all = format!("0-{}", n - 1);
        Self::default()
            .file("/proc/cpuinfo", &info)
            .file("/sys/devices/system/cpu/present", &all)
            .file("/sys/devices/system/cpu/online", &all)
    }

    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), format!("{text}\n"));
        self
    }

    /// Adds a PMU: files below its folder, one a word: `type=4 cpus=0-3 format/event=config:0-7`.
    pub fn pmu(self, name: &str, files: &str) -> Self {
        files.split_whitespace().fold(self, |tree, file| {
            let (path, text) = file.split_once('=').unwrap();
            // Core PMUs of hybrid machines are also what the topology reads.
            let tree = match path {
                "cpus" => tree.file(&format!("/sys/devices/{name}/cpus"), text),
                _ => tree,
            };
            tree.file(&format!("/sys/bus/event_source/devices/{name}/{path}"), text)
        })
    }

    pub fn software(self) -> Self {
        self.pmu("software", "type=1").pmu("msr", "type=9 format/event=config:0-63 events/tsc=event=0x00")
    }

    pub fn read(&self) -> Pmus {
        Pmus::read(&self.0)
    }
}

/// The bits of Intel's core PMUs, as kernels up to 6.9 and as later ones show them.
pub const INTEL_BITS: &str = "format/event=config:0-7 format/umask=config:8-15 format/edge=config:18 format/pc=config:19 \
    format/inv=config:23 format/cmask=config:24-31 format/offcore_rsp=config1:0-63 format/ldlat=config1:0-15";
pub const INTEL_BITS_V6: &str = "format/event=config:0-7 format/umask=config:8-15,40-47 format/edge=config:18 format/pc=config:19 \
    format/inv=config:23 format/cmask=config:24-31 format/eq=config:36 format/offcore_rsp=config1:0-63 \
    format/ldlat=config1:0-15 format/snoop_rsp=config1:0-63";

/// Alder Lake: 8 performance cores with two threads, 8 efficient cores.
pub fn alder_lake() -> Tree {
    let core = format!(
        "type=4 cpus=0-15 {INTEL_BITS} format/frontend=config1:0-23 events/cpu-cycles=event=0x3c events/slots=event=0x00,umask=0x4 events/mem-loads=event=0xcd,umask=0x1,ldlat=3 caps/pmu_name=alderlake_hybrid"
    );
    let atom = format!(
        "type=10 cpus=16-23 {INTEL_BITS} events/cpu-cycles=event=0x3c events/mem-loads=event=0xd0,umask=0x5,ldlat=3"
    );
    Tree::intel(24, 0x97, 2)
        .pmu("cpu_core", &core)
        .pmu("cpu_atom", &atom)
        .pmu(
            "uncore_imc_0",
            "type=20 cpumask=0 format/event=config:0-7 events/data_reads=event=0x1 events/data_reads.unit=MiB",
        )
        .software()
}

/// Arrow Lake H: three kinds of core PMU.
pub fn arrow_lake() -> Tree {
    Tree::intel(16, 0xc5, 2)
        .pmu("cpu_core", &format!("type=4 cpus=0-5 {INTEL_BITS_V6} format/frontend=config1:0-23"))
        .pmu("cpu_atom", &format!("type=10 cpus=6-13 {INTEL_BITS_V6}"))
        .pmu("cpu_lowpower", &format!("type=11 cpus=14-15 {INTEL_BITS_V6}"))
        .software()
}

/// A phone's big.LITTLE.
pub fn arm() -> Tree {
    let bits = "format/event=config:0-15 format/long=config1:0";
    let all = "0-5";
    let mut tree = Tree::default()
        .file("/sys/devices/system/cpu/present", all)
        .file("/sys/devices/system/cpu/online", all)
        .file("/proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd05\n");
    for cpu in 0..6 {
        let capacity = if cpu < 4 { "446" } else { "1024" };
        tree = tree.file(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity);
    }
    tree.pmu("armv8_cortex_a55", &format!("type=8 cpus=0-3 {bits} events/cpu_cycles=event=0x0011 events/inst_retired=event=0x0008"))
        .pmu("armv8_cortex_a78", &format!("type=9 cpus=4-5 {bits} events/cpu_cycles=event=0x0011 events/inst_retired=event=0x0008 events/stall_backend=event=0x0024"))
        .pmu("arm_dsu_0", "type=12 cpumask=0 associated_cpus=0-5 events/bus_access=event=0x19")
        .pmu("software", "type=1")
}

/// One event or list on a machine.
pub fn resolved(text: &str, machine: &Pmus) -> Result<Vec<Resolved>, BadEvent> {
    let groups = expand(parse(text)?, machine)?;
    groups.iter().flat_map(|group| &group.events).map(|event| resolve(event, machine)).collect()
}

/// Draws what is asked of the kernel: a line for each event and PMU.
pub fn drawn(text: &str, machine: &Pmus) -> String {
    let mut out = String::new();
    match resolved(text, machine) {
        Ok(all) => {
            for event in all {
                for on in &event.on {
                    let what = match &on.attr {
                        Ok(attr) => attr_drawn(attr),
                        Err(why) => why.to_string(),
                    };
                    let _ = writeln!(out, "{} on {}: {what}", event.event, on.pmu);
                }
            }
        }
        Err(why) => _ = writeln!(out, "{why}"),
    }
    out
}

pub fn attr_drawn(attr: &Attr) -> String {
    let mut out = format!("type {} config {:#x}", attr.kind, attr.config);
    for (name, value) in [("config1", attr.config1), ("config2", attr.config2)] {
        if value != 0 {
            let _ = write!(out, " {name} {value:#x}");
        }
    }
    for (name, is) in [("no user", attr.exclude_user), ("no kernel", attr.exclude_kernel)] {
        if is {
            let _ = write!(out, " {name}");
        }
    }
    out
}

/// A plan for PMUs with a number of counters each.
pub fn planned(text: &str, machine: &Pmus, counters: impl Fn(&Pmu) -> usize) -> Result<Plan, BadEvent> {
    let groups = expand(parse(text)?, machine)?;
    plan(&groups, machine, &mut |pmu, set| pmu.is_none_or(|pmu| set.len() <= counters(pmu)))
}
