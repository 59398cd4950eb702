//! Reads `/proc/cpuinfo`: the model, the architecture, on x86 each CPU's package and core, on Arm the name of its core.

use crate::cpulist::MAX_CPUS;
use model::CpuId;
use std::collections::BTreeMap;

/// The contents of `/proc/cpuinfo`.
#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    pub model_name: Option<String>,
    pub arch: Option<String>,
    /// The listed CPUs: those online.
    pub cpus: BTreeMap<CpuId, CpuInfoEntry>,
    /// Why [`CpuInfo::siblings`] cannot determine the threads of each core, if so.
    pub unknown: Option<String>,
}

/// The facts about a CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuInfoEntry {
    /// The vendor's name for the core.
    pub core_name: Option<String>,
    /// `physical id`.
    pub package: Option<u32>,
    /// `core id`.
    pub core: Option<u32>,
    /// `cpu cores`: the number of cores of its package.
    pub cores: Option<u32>,
}

impl CpuInfo {
    fn cpu(&mut self, id: Option<CpuId>) -> Option<&mut CpuInfoEntry> {
        self.cpus.get_mut(&id?)
    }

    /// Returns the threads of each core: the CPUs with the same package and core number. Older kernels may use a core number in
    /// several dies of a package. The package then has more cores than numbers, and the result is empty.
    pub(crate) fn siblings(&mut self) -> Vec<Vec<CpuId>> {
        let mut cores: BTreeMap<(u32, u32), Vec<CpuId>> = BTreeMap::new();
        let mut counts: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
        for (id, cpu) in &self.cpus {
            let (Some(package), Some(core)) = (cpu.package, cpu.core) else { return Vec::new() };
            let threads = cores.entry((package, core)).or_default();
            let count = counts.entry(package).or_insert((0, cpu.cores.unwrap_or(0)));
            count.0 += usize::from(threads.is_empty());
            threads.push(*id);
        }
        for (package, (numbers, cores)) in counts {
            if numbers < cores as usize {
                self.unknown = Some(format!(
                    "/proc/cpuinfo: package {package} has {cores} cores but only {numbers} core numbers, so the threads of \
                     each core are unknown"
                ));
                return Vec::new();
            }
        }
        cores.into_values().collect()
    }
}

/// Part numbers of Arm Ltd's own cores (implementer 0x41): MIDR_EL1.PartNum from each core's Technical Reference Manual, checked
/// against the output of util-linux's `lscpu`.
const ARM_PARTS: [(u32, &str); 52] = [
    (0xc05, "Cortex-A5"),
    (0xc07, "Cortex-A7"),
    (0xc08, "Cortex-A8"),
    (0xc09, "Cortex-A9"),
    (0xc0d, "Cortex-A12"),
    (0xc0e, "Cortex-A17"),
    (0xc0f, "Cortex-A15"),
    (0xd01, "Cortex-A32"),
    (0xd02, "Cortex-A34"),
    (0xd03, "Cortex-A53"),
    (0xd04, "Cortex-A35"),
    (0xd05, "Cortex-A55"),
    (0xd06, "Cortex-A65"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd09, "Cortex-A73"),
    (0xd0a, "Cortex-A75"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd0d, "Cortex-A77"),
    (0xd0e, "Cortex-A76AE"),
    (0xd13, "Cortex-R52"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd42, "Cortex-A78AE"),
    (0xd43, "Cortex-A65AE"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4a, "Neoverse-E1"),
    (0xd4b, "Cortex-A78C"),
    (0xd4c, "Cortex-X1C"),
    (0xd4d, "Cortex-A715"),
    (0xd4e, "Cortex-X3"),
    (0xd4f, "Neoverse-V2"),
    (0xd80, "Cortex-A520"),
    (0xd81, "Cortex-A720"),
    (0xd82, "Cortex-X4"),
    (0xd83, "Neoverse-V3AE"),
    (0xd84, "Neoverse-V3"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
    (0xd88, "Cortex-A520AE"),
    (0xd89, "Cortex-A720AE"),
    (0xd8a, "C1-Nano"),
    (0xd8b, "C1-Pro"),
    (0xd8c, "C1-Ultra"),
    (0xd8e, "Neoverse-N3"),
    (0xd8f, "Cortex-A320"),
    (0xd90, "C1-Premium"),
];

/// Parts of other implementers, with the names that util-linux's `lscpu` prints.
const OTHER_PARTS: [(u32, u32, &str); 47] = [
    (0x42, 0x0516, "Vulcan"),
    (0x43, 0x0a1, "ThunderX-88XX"),
    (0x43, 0x0af, "ThunderX2-99xx"),
    (0x46, 0x001, "A64FX"),
    (0x46, 0x003, "MONAKA"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0x48, 0xd02, "TaiShan-v120"),
    (0x48, 0xd40, "Cortex-A76"),
    (0x48, 0xd41, "Cortex-A77"),
    (0x4e, 0x000, "Denver"),
    (0x4e, 0x003, "Denver 2"),
    (0x4e, 0x004, "Carmel"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0x201, "Kryo"),
    (0x51, 0x205, "Kryo"),
    (0x51, 0x211, "Kryo"),
    (0x51, 0x800, "Falkor-V1/Kryo"),
    (0x51, 0x801, "Kryo-V2"),
    (0x51, 0x802, "Kryo-3XX-Gold"),
    (0x51, 0x803, "Kryo-3XX-Silver"),
    (0x51, 0x804, "Kryo-4XX-Gold"),
    (0x51, 0x805, "Kryo-4XX-Silver"),
    (0x51, 0xc00, "Falkor"),
    (0x51, 0xc01, "Saphira"),
    (0x53, 0x001, "exynos-m1"),
    (0x53, 0x002, "exynos-m3"),
    (0x53, 0x003, "exynos-m4"),
    (0x53, 0x004, "exynos-m5"),
    (0x61, 0x020, "Icestorm-A14"),
    (0x61, 0x021, "Firestorm-A14"),
    (0x61, 0x022, "Icestorm-M1"),
    (0x61, 0x023, "Firestorm-M1"),
    (0x61, 0x024, "Icestorm-M1-Pro"),
    (0x61, 0x025, "Firestorm-M1-Pro"),
    (0x61, 0x028, "Icestorm-M1-Max"),
    (0x61, 0x029, "Firestorm-M1-Max"),
    (0x61, 0x030, "Blizzard-A15"),
    (0x61, 0x031, "Avalanche-A15"),
    (0x61, 0x032, "Blizzard-M2"),
    (0x61, 0x033, "Avalanche-M2"),
    (0x61, 0x034, "Blizzard-M2-Pro"),
    (0x61, 0x035, "Avalanche-M2-Pro"),
    (0x61, 0x036, "Sawtooth-A16"),
    (0x61, 0x037, "Everest-A16"),
    (0x61, 0x038, "Blizzard-M2-Max"),
    (0x61, 0x039, "Avalanche-M2-Max"),
    (0xc0, 0xac3, "Ampere-1"),
];

/// Implementers whose other parts are named by number: `Apple 0x050`.
const IMPLEMENTERS: [(u32, &str); 9] = [
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x61, "Apple"),
    (0xc0, "Ampere"),
];

/// Parses the file; unknown lines are ignored.
pub(crate) fn read(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut cpu = None;
    let mut implementer = None;
    let mut hardware = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "processor" => {
                // 32-bit Arm kernels also print `Processor : ARMv7 …`, which is not a number.
                cpu = processor(line).filter(|n| *n < MAX_CPUS).map(CpuId);
                implementer = None;
                if let Some(id) = cpu {
                    info.cpus.entry(id).or_default();
                }
            }
            "model name" | "cpu model" if !value.is_empty() => {
                info.model_name.get_or_insert_with(|| value.to_owned());
            }
            "Hardware" | "Model" if !value.is_empty() => hardware = Some(value.to_owned()),
            "vendor_id" if value.starts_with("IBM/S390") => info.arch = Some("s390x".to_owned()),
            "vendor_id" => info.arch = info.arch.or_else(|| Some("x86".to_owned())),
            "flags" if info.arch.as_deref() == Some("x86") && value.split(' ').any(|f| f == "lm") => {
                info.arch = Some("x86_64".to_owned());
            }
            "Features" if info.arch.is_none() => {
                // The 64-bit kernel prints "asimd", the 32-bit one "neon".
                let wide = value.split(' ').any(|f| f == "asimd");
                info.arch = Some(if wide { "aarch64" } else { "arm" }.to_owned());
            }
            "isa" if info.arch.is_none() => info.arch = value.get(..4).map(|rv| rv.replace("rv", "riscv")),
            "CPU implementer" => implementer = hex(value),
            "CPU part" => {
                // An emulated CPU has implementer 0, "reserved for software use".
                let implementer = implementer.filter(|n| *n != 0);
                if let (Some(cpu), Some(implementer), Some(part)) = (info.cpu(cpu), implementer, hex(value)) {
                    cpu.core_name = Some(core_name(implementer, part));
                }
            }
            "physical id" => info.cpu(cpu).into_iter().for_each(|c| c.package = value.parse().ok()),
            "core id" => info.cpu(cpu).into_iter().for_each(|c| c.core = value.parse().ok()),
            "cpu cores" => info.cpu(cpu).into_iter().for_each(|c| c.cores = value.parse().ok()),
            _ => {}
        }
    }
    info.model_name = info.model_name.or(hardware);
    info
}

/// Returns the number in a line `processor : 3`.
pub(crate) fn processor(line: &str) -> Option<u32> {
    let (key, value) = line.split_once(':')?;
    (key.trim() == "processor").then_some(())?;
    value.trim().parse().ok()
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn core_name(implementer: u32, part: u32) -> String {
    let of = |list: &[(u32, &'static str)], number| list.iter().find(|(n, _)| *n == number).map(|(_, name)| *name);
    if let Some((.., name)) = OTHER_PARTS.iter().find(|(i, p, _)| (*i, *p) == (implementer, part)) {
        return (*name).to_owned();
    }
    match (implementer, of(&ARM_PARTS, part), of(&IMPLEMENTERS, implementer)) {
        (0x41, Some(name), _) => name.to_owned(),
        (_, _, Some(vendor)) => format!("{vendor} {part:#05x}"),
        _ => format!("{implementer:#04x}/{part:#05x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_cores_have_names() {
        let info = read(
            "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nprocessor : 1\n\
            CPU implementer : 0x61\nCPU part : 0x032\nprocessor : 2\nCPU implementer : 0xff\nCPU part : 0x1\n",
        );
        assert_eq!(info.arch.as_deref(), Some("aarch64"));
        let names: Vec<_> = info.cpus.values().filter_map(|c| c.core_name.clone()).collect();
        assert_eq!(names, ["Cortex-A55", "Blizzard-M2", "0xff/0x001"]);
    }

    #[test]
    fn x86_has_one_model() {
        let info = read("processor : 0\nvendor_id : GenuineIntel\nmodel name : A CPU\nflags : fpu lm\n");
        assert_eq!((info.model_name.as_deref(), info.arch.as_deref()), (Some("A CPU"), Some("x86_64")));
        assert_eq!(info.cpus.len(), 1);
    }

    #[test]
    fn threads_of_x86_cores_are_found() {
        let cpu = |id, core, cores| {
            format!(
                "processor : {id}\nvendor_id : AuthenticAMD\nphysical id : 0\ncore id : {core}\ncpu cores : {cores}\n"
            )
        };
        let mut info = read(&[cpu(0, 0, 2), cpu(1, 4, 2), cpu(2, 0, 2), cpu(3, 4, 2)].concat());
        assert_eq!(info.siblings(), [[CpuId(0), CpuId(2)], [CpuId(1), CpuId(3)]]);
        // Two dies with the same core numbers: four cores with two numbers.
        let mut info = read(&[cpu(0, 0, 4), cpu(1, 4, 4), cpu(2, 0, 4), cpu(3, 4, 4)].concat());
        assert!(info.siblings().is_empty() && info.unknown.is_some());
    }

    #[test]
    fn garbage_is_ignored() {
        let info = read("processor : 4294967295\nCPU part : 0xd05\nprocessor : x\n: :\nisa : \u{e9}\u{e9}\u{e9}\n");
        assert!(info.cpus.is_empty());
    }
}
