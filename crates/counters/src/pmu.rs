//! The PMUs of a machine, from `/sys/bus/event_source/devices`. The files are not trusted: sizes and numbers are limited.

use crate::bits::TermBits;
use crate::parse::of_name;
use model::{CoreType, CpuId};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use topology::{Files, Machine, Root, cpulist};

const DEVICES: &str = "/sys/bus/event_source/devices";

/// The maximum number of PMUs; servers have several hundred outside the cores.
const MAX_PMUS: usize = 1024;
/// The maximum number of files of a PMU's folder; core PMUs of Arm have about 150 events.
const MAX_ENTRIES: usize = 1024;
/// The maximum number of files of all folders.
const MAX_FILES: usize = 64 << 10;
/// The maximum length of a file except lists of CPUs, bytes: sysfs writes at most a page.
const MAX_TEXT: usize = 4096;
/// The maximum length of a list of CPUs, bytes: every second of 8192 CPUs.
const MAX_LIST: usize = 64 << 10;
/// The maximum number of notes.
const MAX_NOTES: usize = 50;

/// What a PMU counts for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The cores of one kind: counts what a CPU executes.
    Core,
    /// The kernel itself.
    Software,
    /// Each CPU, by other means than the core's counters (`msr`).
    Dynamic,
    /// Several CPUs together, such as a package: what it counts belongs to no thread.
    Shared,
}

/// A PMU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pmu {
    /// The name.
    pub name: String,
    /// The kernel's number of it, `type` of `perf_event_attr`.
    pub number: u32,
    /// What it counts for.
    pub role: Role,
    /// The CPUs: those that it is part of (core PMUs), or on which it is read (others). `None`: no list, so all.
    pub cpus: Option<Vec<CpuId>>,
    /// The types of its CPUs' cores, slowest first; empty except for core PMUs.
    pub core_types: Vec<CoreType>,
    /// The bits of each term.
    pub formats: BTreeMap<String, TermBits>,
    /// Its events: name and terms (`event=0x3c`).
    pub events: BTreeMap<String, String>,
    /// What else the kernel says of it (`pmu_name`, `branches`).
    pub caps: BTreeMap<String, String>,
}

impl Pmu {
    /// Returns its CPUs in the kernel's format, or `all`.
    #[must_use]
    pub fn cpu_list(&self) -> String {
        match &self.cpus {
            Some(cpus) => cpulist::format(cpus.iter().copied()),
            None => "all".to_owned(),
        }
    }

    /// Returns the types of its cores, for people: `performance`, or `efficient and low_power`.
    #[must_use]
    pub fn core_type_names(&self) -> String {
        self.core_types.iter().map(|t| t.as_str()).collect::<Vec<_>>().join(" and ")
    }
}

/// The processor, from the first CPU of `/proc/cpuinfo`. Intel's lists of events go by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processor {
    /// `GenuineIntel`, `AuthenticAMD`.
    pub vendor: String,
    /// The family.
    pub family: u32,
    /// The model.
    pub model: u32,
    /// The stepping.
    pub stepping: u32,
}

/// What a machine can count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pmus {
    /// The PMUs: first those of cores, fastest first, then by name.
    pub all: Vec<Pmu>,
    /// The processor, if it has a family and a model (x86).
    pub processor: Option<Processor>,
    /// Whether the processor says that it runs under a hypervisor.
    pub is_virtual: bool,
    /// Whether the kernel's NMI watchdog runs, which takes a counter of each core; `None`: unknown.
    pub nmi_watchdog: Option<bool>,
    /// `kernel.perf_event_paranoid`; `None`: unknown.
    pub paranoid: Option<i64>,
    /// What could not be read or is not as the kernel writes it, a sentence each.
    pub notes: Vec<String>,
}

impl Pmus {
    /// Reads those of the machine that this program runs on.
    #[must_use]
    pub fn live() -> Self {
        Self::read(&Root::live())
    }

    /// Reads those of a recorded tree: a folder with `sys/devices/system/cpu`; `None` if it is not one.
    #[must_use]
    pub fn recorded(dir: &Path) -> Option<Self> {
        Root::recorded(dir).map(|root| Self::read(&root))
    }

    /// Reads a machine's PMUs from its `/sys` and `/proc`.
    #[must_use]
    pub fn read(files: &dyn Files) -> Self {
        let mut reader = Reader { files, notes: Vec::new(), left: MAX_FILES };
        let machine = Machine::from_sysfs(files);
        let names = match files.list(DEVICES) {
            Ok(names) => names,
            Err(why) => {
                reader.note_error(DEVICES, &why);
                Vec::new()
            }
        };
        if names.len() > MAX_PMUS {
            reader.note(format!("{DEVICES}: more than {MAX_PMUS} PMUs, the others are ignored"));
        }
        let mut all: Vec<Pmu> = names.iter().take(MAX_PMUS).filter_map(|name| reader.pmu(name, &machine)).collect();
        let class = |pmu: &Pmu| {
            let cpus = pmu.cpus.iter().flatten().filter(|_| pmu.role == Role::Core);
            std::cmp::Reverse(cpus.map(|cpu| machine.core_class(*cpu)).max())
        };
        all.sort_by_cached_key(|pmu| (pmu.role != Role::Core, class(pmu), pmu.name.clone()));
        let cpuinfo = files.read("/proc/cpuinfo").unwrap_or_default();
        let (processor, is_virtual) = processor(&cpuinfo);
        let nmi_watchdog = reader.number("/proc/sys/kernel/nmi_watchdog").map(|n| n != 0);
        let paranoid = reader.number("/proc/sys/kernel/perf_event_paranoid");
        Self { all, processor, is_virtual, nmi_watchdog, paranoid, notes: reader.notes }
    }

    /// Returns the core PMUs, fastest cores first.
    pub fn core(&self) -> impl Iterator<Item = &Pmu> {
        self.all.iter().filter(|pmu| pmu.role == Role::Core)
    }

    /// Returns the PMU of a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Pmu> {
        self.all.iter().find(|pmu| pmu.name == name)
    }

    /// Returns why no hardware event can be counted; `None` if there is a core PMU.
    #[must_use]
    pub fn why_no_core(&self) -> Option<&'static str> {
        if self.core().next().is_some() {
            None
        } else if self.is_virtual {
            Some("no core PMU: this is a virtual machine whose hypervisor passes on no counters")
        } else {
            Some("no core PMU: the kernel has no driver for this processor's counters, or it is disabled")
        }
    }
}

struct Reader<'a> {
    files: &'a dyn Files,
    notes: Vec<String>,
    /// How many more files may be read.
    left: usize,
}

impl Reader<'_> {
    fn note(&mut self, note: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        }
    }

    fn note_error(&mut self, path: &str, why: &std::io::Error) {
        if why.kind() != ErrorKind::NotFound {
            self.note(format!("{path}: {why}"));
        }
    }

    /// Returns a file without the blanks at its ends.
    fn text(&mut self, path: &str, max: usize) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        match self.files.read(path) {
            Ok(text) if text.len() > max => {
                self.note(format!("{path}: longer than the kernel writes, ignored"));
                None
            }
            Ok(text) => Some(text.trim().to_owned()),
            Err(why) => {
                self.note_error(path, &why);
                None
            }
        }
    }

    fn number(&mut self, path: &str) -> Option<i64> {
        self.text(path, MAX_TEXT)?.parse().ok()
    }

    fn pmu(&mut self, name: &str, machine: &Machine) -> Option<Pmu> {
        let dir = format!("{DEVICES}/{name}");
        if !is_name(name) {
            self.note(format!("{DEVICES}: a PMU whose name is not one, ignored"));
            return None;
        }
        let number = self.text(&format!("{dir}/type"), MAX_TEXT).unwrap_or_default();
        let Ok(number) = number.parse::<u32>() else {
            self.note(format!("{dir}/type: not a number, the PMU is ignored"));
            return None;
        };
        let own = self.cpus(&format!("{dir}/cpus"));
        let mask = self.cpus(&format!("{dir}/cpumask"));
        // Core PMUs have a list `cpus`, except that of x86 with one kind of core. Other PMUs have a list `cpumask` of the CPUs that
        // read for all, or none.
        let role = match (&own, &mask) {
            (Some(_), _) => Role::Core,
            _ if name == "cpu" => Role::Core,
            _ if number == crate::names::TYPE_SOFTWARE => Role::Software,
            (None, Some(_)) => Role::Shared,
            (None, None) => Role::Dynamic,
        };
        let online = || machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
        let cpus = own.or(mask).or_else(|| (role == Role::Core).then(online));
        let mut classes: Vec<(u32, CoreType)> = match role {
            Role::Core => {
                cpus.iter().flatten().map(|cpu| (machine.core_class(*cpu), machine.core_type(*cpu))).collect()
            }
            _ => Vec::new(),
        };
        classes.sort_unstable_by_key(|(class, _)| *class);
        classes.dedup();
        let mut formats = BTreeMap::new();
        for (term, text) in self.folder(&format!("{dir}/format")) {
            match TermBits::parse(&text) {
                Some(bits) => _ = formats.insert(term, bits),
                None => self.note(format!("{dir}/format/{term}: bits that corewise cannot set, ignored")),
            }
        }
        let mut events = self.folder(&format!("{dir}/events"));
        // Files about an event are next to it: `energy-pkg.unit`.
        events.retain(|event, _| ![".unit", ".scale", ".snapshot", ".per-pkg"].iter().any(|end| event.ends_with(end)));
        let caps = self.folder(&format!("{dir}/caps"));
        let core_types = classes.into_iter().map(|(_, core_type)| core_type).collect();
        Some(Pmu { name: name.to_owned(), number, role, cpus, core_types, formats, events, caps })
    }

    fn cpus(&mut self, path: &str) -> Option<Vec<CpuId>> {
        let text = self.text(path, MAX_LIST)?;
        match cpulist::parse(&text) {
            Ok(cpus) => Some(cpus),
            Err(why) => {
                self.note(format!("{path}: {why}"));
                None
            }
        }
    }

    /// Returns the files of a folder.
    fn folder(&mut self, dir: &str) -> BTreeMap<String, String> {
        let names = match self.files.list(dir) {
            Ok(names) => names,
            Err(why) => {
                self.note_error(dir, &why);
                return BTreeMap::new();
            }
        };
        if names.len() > MAX_ENTRIES {
            self.note(format!("{dir}: more than {MAX_ENTRIES} files, the others are ignored"));
        }
        let mut found = BTreeMap::new();
        for name in names.into_iter().take(MAX_ENTRIES).filter(|name| is_name(name)) {
            if let Some(text) = self.text(&format!("{dir}/{name}"), MAX_TEXT) {
                found.insert(name, text);
            }
        }
        found
    }
}

/// Whether a name has only the characters that names of PMUs, terms and events have.
fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.chars().all(of_name)
}

/// Returns the processor, and whether it runs under a hypervisor.
fn processor(cpuinfo: &str) -> (Option<Processor>, bool) {
    let first = cpuinfo.split("\n\n").next().unwrap_or_default();
    let field = |name: &str| {
        let mut lines = first.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    let number = |name: &str| field(name).and_then(|text| text.parse::<u32>().ok());
    let found = || {
        Some(Processor {
            vendor: field("vendor_id").filter(|v| is_name(v))?.to_owned(),
            family: number("cpu family")?,
            model: number("model")?,
            stepping: number("stepping").unwrap_or(0),
        })
    };
    let is_virtual = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    (found(), is_virtual)
}
