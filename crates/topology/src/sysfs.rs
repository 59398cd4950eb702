//! Reads a machine from the kernel's files: the live ones, a recorded tree, or a tree in a test.
//!
//! A missing file is normal. Any other failure (no permission, a text that the kernel does not write) is noted in
//! [`Machine::unknown`] with its path. The files are not trusted: numbers and lists are limited.

use crate::cpuinfo;
use crate::cpulist;
use crate::files::Files;
use crate::header::set_groups;
use crate::judge::Pmu;
use crate::machine::{Cpu, Fact, IdleState, Machine, Source};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// The maximum number of notes; further ones are only counted.
const MAX_NOTES: usize = 50;
/// The maximum number of entries of all sharing lists, which limits the memory for 8192 CPUs that all claim to share everything.
const MAX_SHARED: usize = 4 << 20;
/// The maximum number of threads per core; no processor has more than 8.
const MAX_SIBLINGS: usize = 16;
/// The kernel's limit (`CPUIDLE_STATE_MAX`).
const MAX_IDLE_STATES: usize = 10;

impl Machine {
    /// Reads the machine from its `/sys` and `/proc`.
    #[must_use]
    pub fn from_sysfs(files: &dyn Files) -> Self {
        let reader = Reader::new(files);
        let online = reader.list(&format!("{CPUS}/online"));
        let mut ids = reader.list(&format!("{CPUS}/present")).unwrap_or_default();
        ids.extend(online.iter().flatten());
        if ids.is_empty() {
            ids.extend(reader.numbered(CPUS, "cpu").into_iter().map(CpuId));
        }
        let mut info = cpuinfo::read(&reader.text("/proc/cpuinfo").unwrap_or_default());
        if ids.is_empty() {
            ids.extend(info.cpus.keys());
        }
        let ids: BTreeSet<CpuId> = ids.into_iter().collect();
        let mut cpus: Vec<Cpu> = ids.iter().map(|id| reader.cpu(*id, online.as_deref(), &ids)).collect();
        reader.policies(&mut cpus);
        reader.nodes(&mut cpus);
        let pmu = reader.pmus(&mut cpus, &info);
        let arch = reader.text("/proc/sys/kernel/arch").or_else(|| info.arch.take()).filter(|a| !a.is_empty());
        let board =
            || reader.text("/proc/device-tree/model").or_else(|| reader.text("/sys/firmware/devicetree/base/model"));
        let model_name = info.model_name.take().or_else(board).filter(|m| !m.is_empty());
        let mut machine = Self { model_name, arch, cpus, unknown: reader.unknown(), ..Self::default() };
        machine.sources = sources(&machine.cpus, !pmu.is_empty());
        machine.complete_from(&mut info);
        if pmu.iter().any(Option::is_none) && !pmu.is_empty() {
            let none = machine.cpus.iter().zip(&pmu).filter(|(c, p)| c.online && p.is_none()).map(|(c, _)| c.id);
            let none = cpulist::format(none);
            if !none.is_empty() {
                machine.unknown.push(format!("type of CPU {none}: no hybrid PMU lists it"));
            }
        }
        machine.judged(&pmu)
    }
}

impl Machine {
    /// Adds packages, cores and threads from `/proc/cpuinfo`, each only if sysfs has it for no CPU. Notes differences if both have it.
    fn complete_from(&mut self, info: &mut cpuinfo::CpuInfo) {
        let threads = info.siblings();
        let mut by_info: Vec<Cpu> = info.cpus.keys().map(|id| Cpu::new(*id)).collect();
        set_groups(&mut by_info, &threads, |c| &mut c.siblings);
        for (cpu, info) in by_info.iter_mut().zip(info.cpus.values()) {
            (cpu.package, cpu.core) = (info.package, info.core);
        }
        for fact in [Fact::Package, Fact::Core, Fact::Siblings] {
            if !by_info.iter().any(|c| c.has(fact)) {
                continue;
            }
            let known = self.sources.contains_key(&fact);
            let mut differ = Vec::new();
            for theirs in &by_info {
                let Ok(at) = self.cpus.binary_search_by_key(&theirs.id, |c| c.id) else { continue };
                let Some(cpu) = self.cpus.get_mut(at) else { continue };
                let was = (cpu.package, cpu.core, cpu.siblings.clone());
                let mut with = cpu.clone();
                match fact {
                    Fact::Package => with.package = theirs.package,
                    Fact::Core => with.core = theirs.core,
                    _ => with.siblings.clone_from(&theirs.siblings),
                }
                if !known {
                    *cpu = with;
                } else if cpu.has(fact) && with.has(fact) && was != (with.package, with.core, with.siblings) {
                    differ.push(cpu.id);
                }
            }
            if !known {
                self.sources.insert(fact, Source::CpuInfo);
            } else if !differ.is_empty() {
                let of = cpulist::format(differ);
                self.notes.push(format!("{} of CPU {of}: cpu_info differs from sysfs; sysfs is used", fact.as_str()));
            }
        }
        if !self.sources.contains_key(&Fact::Siblings) {
            self.unknown.extend(info.unknown.take());
        }
    }
}

fn sources(cpus: &[Cpu], hybrid: bool) -> BTreeMap<Fact, Source> {
    let source = |fact| match fact {
        Fact::Capacity => Source::CpuCapacity,
        Fact::HighestPerf => Source::CppcHighestPerf,
        Fact::MaxKhz => Source::MaxFrequency,
        Fact::VendorType if hybrid => Source::PmuCpuList,
        Fact::VendorType => Source::CpuInfo,
        _ => Source::Sysfs,
    };
    let known = |fact: &Fact| cpus.iter().any(|c| c.has(*fact));
    Fact::ALL.into_iter().filter(known).map(|fact| (fact, source(fact))).collect()
}

/// Reads files and records what could not be read. Methods take `&self`, because closures of several of them are in use at the same
/// time.
struct Reader<'a> {
    files: &'a dyn Files,
    unknown: std::cell::RefCell<Vec<String>>,
    shared: std::cell::Cell<usize>,
}

impl<'a> Reader<'a> {
    fn new(files: &'a dyn Files) -> Self {
        Self { files, unknown: Vec::new().into(), shared: 0.into() }
    }

    fn note(&self, path: &str, why: &dyn std::fmt::Display) {
        self.unknown.borrow_mut().push(format!("{path}: {why}"));
    }

    fn unknown(&self) -> Vec<String> {
        let mut all = self.unknown.take();
        let more = all.len().saturating_sub(MAX_NOTES);
        all.truncate(MAX_NOTES);
        if more > 0 {
            all.push(format!("and {more} more"));
        }
        all
    }

    /// Returns a file's text without surrounding blanks (and the device tree's NUL).
    fn text(&self, path: &str) -> Option<String> {
        match self.files.read(path) {
            Ok(text) => Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned()),
            Err(why) => {
                if why.kind() != ErrorKind::NotFound {
                    self.note(path, &why);
                }
                None
            }
        }
    }

    /// Returns a number; the kernel's values for "none" (-1, also as 16 or 32 bits) are `None` without a note.
    fn number(&self, path: &str) -> Option<u32> {
        let text = self.text(path)?;
        match text.as_str() {
            "" | "-1" | "65535" | "4294967295" => return None,
            _ => {}
        }
        let number = text.parse::<u32>().ok();
        if number.is_none() {
            self.note(path, &format_args!("`{}` is not a number", cpulist::shortened(&text)));
        }
        number
    }

    fn list(&self, path: &str) -> Option<Vec<CpuId>> {
        match cpulist::parse(&self.text(path)?) {
            Ok(list) => Some(list),
            Err(why) => {
                self.note(path, &why);
                None
            }
        }
    }

    /// Returns the numbers of `cpu0`, `cpu1`, … in a folder.
    fn numbered(&self, folder: &str, stem: &str) -> Vec<u32> {
        let names = self.names(folder);
        let of = |name: &String| name.strip_prefix(stem)?.parse().ok().filter(|n| *n < cpulist::MAX_CPUS);
        names.iter().filter_map(of).collect()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.files.list(folder).unwrap_or_else(|why| {
            if why.kind() != ErrorKind::NotFound {
                self.note(folder, &why);
            }
            Vec::new()
        })
    }

    /// Returns the CPUs that share something with `id`: a list that includes it, limited to CPUs that the machine has.
    fn shared(&self, path: &str, id: CpuId, ids: &BTreeSet<CpuId>, max: usize) -> Vec<CpuId> {
        if self.shared.get() > MAX_SHARED {
            return Vec::new();
        }
        let mut list = self.list(path).unwrap_or_default();
        if list.is_empty() {
            return list;
        }
        list.retain(|c| ids.contains(c));
        let all = self.shared.get().saturating_add(list.len());
        if !list.contains(&id) {
            self.note(path, &format_args!("does not include CPU {} itself", id.0));
        } else if list.len() > max {
            self.note(path, &format_args!("lists {} CPUs, more than possible", list.len()));
        } else {
            self.shared.set(all);
            if all <= MAX_SHARED {
                return list;
            }
            self.note(path, &"this and all further sharing lists are ignored: together they are too long");
        }
        Vec::new()
    }

    fn cpu(&self, id: CpuId, online: Option<&[CpuId]>, ids: &BTreeSet<CpuId>) -> Cpu {
        let at = format!("{CPUS}/cpu{}", id.0);
        let number = |name: &str| self.number(&format!("{at}/{name}"));
        let shared = |name: &str, max| self.shared(&format!("{at}/{name}"), id, ids, max);
        let mut cpu = Cpu::new(id);
        cpu.online = match online {
            Some(list) => list.binary_search(&id).is_ok(),
            // CPU 0 often cannot go offline and then has no such file.
            None => number("online") != Some(0),
        };
        cpu.package = number("topology/physical_package_id");
        cpu.die = number("topology/die_id");
        cpu.cluster = number("topology/cluster_id");
        cpu.core = number("topology/core_id");
        cpu.siblings = shared("topology/core_cpus_list", MAX_SIBLINGS);
        if cpu.siblings.is_empty() {
            // The name before Linux 5.3, which still exists.
            cpu.siblings = shared("topology/thread_siblings_list", MAX_SIBLINGS);
        }
        for index in self.names(&format!("{at}/cache")).iter().filter(|n| n.starts_with("index")).take(16) {
            if self.text(&format!("{at}/cache/{index}/type")).as_deref() == Some("Instruction") {
                continue;
            }
            let list = || shared(&format!("cache/{index}/shared_cpu_list"), usize::MAX);
            match number(&format!("cache/{index}/level")) {
                Some(2) => cpu.l2 = list(),
                Some(3) => cpu.l3 = list(),
                _ => {}
            }
        }
        cpu.capacity = number("cpu_capacity");
        cpu.highest_perf = number("acpi_cppc/highest_perf");
        cpu.max_khz = number("cpufreq/cpuinfo_max_freq");
        cpu.idle_states = self.idle_states(&format!("{at}/cpuidle"));
        cpu
    }

    /// Returns the idle states, numbered from 0 without a gap.
    fn idle_states(&self, at: &str) -> Vec<IdleState> {
        let count = self.numbered(at, "state").len().min(MAX_IDLE_STATES);
        let state = |number: usize| {
            let at = format!("{at}/state{number}");
            let name = self.text(&format!("{at}/name"))?;
            let (target, exit) = (self.number(&format!("{at}/residency")), self.number(&format!("{at}/latency")));
            Some(IdleState { name, target_residency_us: target, exit_latency_us: exit })
        };
        (0..count).map_while(state).collect()
    }

    /// Sets maximum frequencies from the policies, for recorded trees without the links `cpu0/cpufreq`.
    fn policies(&self, cpus: &mut [Cpu]) {
        if cpus.iter().all(|c| c.max_khz.is_some() || !c.online) {
            return;
        }
        for policy in self.numbered(&format!("{CPUS}/cpufreq"), "policy") {
            let at = format!("{CPUS}/cpufreq/policy{policy}");
            let Some(khz) = self.number(&format!("{at}/cpuinfo_max_freq")) else { continue };
            let of = self.list(&format!("{at}/related_cpus")).unwrap_or_default();
            for cpu in cpus.iter_mut().filter(|c| c.max_khz.is_none() && of.binary_search(&c.id).is_ok()) {
                cpu.max_khz = Some(khz);
            }
        }
    }

    fn nodes(&self, cpus: &mut [Cpu]) {
        for node in self.numbered(NODES, "node") {
            let of = self.list(&format!("{NODES}/node{node}/cpulist")).unwrap_or_default();
            for cpu in cpus.iter_mut().filter(|c| of.binary_search(&c.id).is_ok()) {
                cpu.node = Some(node);
            }
        }
        for cpu in cpus.iter_mut().filter(|c| c.node.is_none()) {
            cpu.node = self.numbered(&format!("{CPUS}/cpu{}", cpu.id.0), "node").first().copied();
        }
    }

    /// Returns the hybrid PMU of each CPU, by index; empty if there are none. Also sets the vendor's names.
    fn pmus(&self, cpus: &mut [Cpu], info: &cpuinfo::CpuInfo) -> Vec<Option<Pmu>> {
        let mut pmus = vec![None; cpus.len()];
        let mut lists = 0;
        for (name, pmu) in Pmu::ALL {
            let path = format!("/sys/devices/{name}/cpus");
            let list = self.list(&path).or_else(|| self.list(&format!("/sys/bus/event_source/devices/{name}/cpus")));
            let Some(list) = list else { continue };
            lists += 1;
            for (cpu, slot) in cpus.iter_mut().zip(&mut pmus).filter(|(c, _)| list.binary_search(&c.id).is_ok()) {
                if slot.is_some() {
                    self.note(&path, &format_args!("CPU {} is also in another type's list", cpu.id.0));
                    continue;
                }
                *slot = Some(pmu);
                cpu.vendor_type = Some(name.to_owned());
            }
        }
        if lists == 0 {
            pmus.clear();
        }
        for cpu in cpus.iter_mut().filter(|c| c.vendor_type.is_none()) {
            cpu.vendor_type = info.cpus.get(&cpu.id).and_then(|c| c.core_name.clone());
        }
        pmus
    }
}
