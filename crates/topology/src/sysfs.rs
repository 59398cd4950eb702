//! A machine from the kernel's files: live, from a recorded tree, or drawn in a test.
//!
//! A missing file is a normal answer. Anything else that keeps a fact from us (a permission, a text that is not what the
//! kernel writes) is noted in [`Machine::unknown`] with its path. Nothing read is trusted: numbers and lists are bounded.

use crate::cpuinfo;
use crate::cpulist;
use crate::files::Files;
use crate::header::spread;
use crate::judge::Pmu;
use crate::machine::{Cpu, Fact, IdleState, Machine, Source};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// More notes than a person reads; the rest is counted.
const MAX_NOTES: usize = 50;
/// Entries of all sharing lists together, so that a tree of 8192 CPUs that all claim to share everything stays small.
const MAX_SHARED: usize = 4 << 20;
/// No processor has more hardware threads a core than 8; twice that is not believed.
const MAX_SIBLINGS: usize = 16;
/// The kernel's own bound (`CPUIDLE_STATE_MAX`).
const MAX_IDLE_STATES: usize = 10;

impl Machine {
    /// Describes the machine whose `/sys` and `/proc` are handed in.
    #[must_use]
    pub fn from_sysfs(files: &dyn Files) -> Self {
        let reader = Reader::new(files);
        let online = reader.list(&format!("{CPUS}/online"));
        let mut ids = reader.list(&format!("{CPUS}/present")).unwrap_or_default();
        ids.extend(online.iter().flatten());
        if ids.is_empty() {
            ids.extend(reader.numbered(CPUS, "cpu").into_iter().map(CpuId));
        }
        let mut told = cpuinfo::read(&reader.text("/proc/cpuinfo").unwrap_or_default());
        if ids.is_empty() {
            ids.extend(told.cpus.keys());
        }
        let ids: BTreeSet<CpuId> = ids.into_iter().collect();
        let mut cpus: Vec<Cpu> = ids.iter().map(|id| reader.cpu(*id, online.as_deref(), &ids)).collect();
        reader.policies(&mut cpus);
        reader.nodes(&mut cpus);
        let pmu = reader.pmus(&mut cpus, &told);
        let arch = reader.text("/proc/sys/kernel/arch").or_else(|| told.arch.take()).filter(|a| !a.is_empty());
        let board =
            || reader.text("/proc/device-tree/model").or_else(|| reader.text("/sys/firmware/devicetree/base/model"));
        let model_name = told.model_name.take().or_else(board).filter(|m| !m.is_empty());
        let mut machine = Self { model_name, arch, cpus, unknown: reader.unknown(), ..Self::default() };
        machine.sources = sources(&machine.cpus, !pmu.is_empty());
        machine.complete_from(&mut told);
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
    /// Packages, cores and threads from `/proc/cpuinfo`, each where no file of sysfs tells it of any CPU; where both do and
    /// differ, that is noted.
    fn complete_from(&mut self, told: &mut cpuinfo::Told) {
        let threads = told.siblings();
        let mut by_info: Vec<Cpu> = told.cpus.keys().map(|id| Cpu::new(*id)).collect();
        spread(&mut by_info, &threads, |c| &mut c.siblings);
        for (cpu, told) in by_info.iter_mut().zip(told.cpus.values()) {
            (cpu.package, cpu.core) = (told.package, told.core);
        }
        for fact in [Fact::Package, Fact::Core, Fact::Siblings] {
            if !by_info.iter().any(|c| c.knows(fact)) {
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
                } else if cpu.knows(fact) && with.knows(fact) && was != (with.package, with.core, with.siblings) {
                    differ.push(cpu.id);
                }
            }
            if !known {
                self.sources.insert(fact, Source::CpuInfo);
            } else if !differ.is_empty() {
                let of = cpulist::format(differ);
                self.notes.push(format!("{} of CPU {of}: cpu_info differs from sysfs, which counts", fact.as_str()));
            }
        }
        if !self.sources.contains_key(&Fact::Siblings) {
            self.unknown.extend(told.unknown.take());
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
    let known = |fact: &Fact| cpus.iter().any(|c| c.knows(*fact));
    Fact::ALL.into_iter().filter(known).map(|fact| (fact, source(fact))).collect()
}

/// Reads, and keeps what could not be read. Looks are by `&self`, as many of them are made while others are held.
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

    /// A file's text without the blanks (and the device tree's NUL) around it.
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

    /// A number; the kernel's ways of saying "none" (-1, also as 16 or 32 bits) are `None` without a note.
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

    /// The numbers of `cpu0`, `cpu1`, … in a folder.
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

    /// Those who share something with `id`: a list that names it, of CPUs that the machine has.
    fn shared(&self, path: &str, id: CpuId, ids: &BTreeSet<CpuId>, most: usize) -> Vec<CpuId> {
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
            self.note(path, &format_args!("does not name CPU {} itself", id.0));
        } else if list.len() > most {
            self.note(path, &format_args!("names {} CPUs, too many to be believed", list.len()));
        } else {
            self.shared.set(all);
            if all <= MAX_SHARED {
                return list;
            }
            self.note(path, &"this and all further lists of sharers are left out: together they are too long");
        }
        Vec::new()
    }

    fn cpu(&self, id: CpuId, online: Option<&[CpuId]>, ids: &BTreeSet<CpuId>) -> Cpu {
        let at = format!("{CPUS}/cpu{}", id.0);
        let number = |name: &str| self.number(&format!("{at}/{name}"));
        let shared = |name: &str, most| self.shared(&format!("{at}/{name}"), id, ids, most);
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
            // The name before Linux 5.3, still there.
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

    /// Those that stand there without a gap from 0 on.
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

    /// Maximum frequencies by policy, for recorded trees without the links `cpu0/cpufreq`.
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

    /// What the hybrid PMUs say of each CPU, by place; empty where there are none. Also the vendor's words.
    fn pmus(&self, cpus: &mut [Cpu], told: &cpuinfo::Told) -> Vec<Option<Pmu>> {
        let mut pmus = vec![None; cpus.len()];
        let mut lists = 0;
        for (name, pmu) in Pmu::ALL {
            let path = format!("/sys/devices/{name}/cpus");
            let list = self.list(&path).or_else(|| self.list(&format!("/sys/bus/event_source/devices/{name}/cpus")));
            let Some(list) = list else { continue };
            lists += 1;
            for (cpu, slot) in cpus.iter_mut().zip(&mut pmus).filter(|(c, _)| list.binary_search(&c.id).is_ok()) {
                if slot.is_some() {
                    self.note(&path, &format_args!("CPU {} stands in another type's list too", cpu.id.0));
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
            cpu.vendor_type = told.cpus.get(&cpu.id).and_then(|c| c.core_name.clone());
        }
        pmus
    }
}
