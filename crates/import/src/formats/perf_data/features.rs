//! The header's facts about the machine and the recording (`enum perf_header_feature`, `tools/perf/util/header.c`).

use super::header::{FEATURE_BUILD_ID, Header};
use crate::tracepoint::ByteOrder;
use model::CpuId;
use topology::{HeaderCache, HeaderCpu, HeaderTopology, Machine};

const HOSTNAME: u32 = 3;
const OSRELEASE: u32 = 4;
const VERSION: u32 = 5;
const ARCH: u32 = 6;
const NRCPUS: u32 = 7;
const CPUDESC: u32 = 8;
const CMDLINE: u32 = 11;
const EVENT_DESC: u32 = 12;
const CPU_TOPOLOGY: u32 = 13;
const NUMA_TOPOLOGY: u32 = 14;
const PMU_MAPPINGS: u32 = 16;
const CACHE: u32 = 20;
const SAMPLE_TIME: u32 = 21;
const HYBRID_TOPOLOGY: u32 = 30;
/// The maximum length of a list in a header.
const MAX_COUNT: u32 = 1 << 16;

/// Whether a feature's section is read.
pub(super) fn is_read(feature: u32) -> bool {
    const READ: [u32; 15] = [
        FEATURE_BUILD_ID,
        HOSTNAME,
        OSRELEASE,
        VERSION,
        ARCH,
        NRCPUS,
        CPUDESC,
        CMDLINE,
        EVENT_DESC,
        CPU_TOPOLOGY,
        NUMA_TOPOLOGY,
        PMU_MAPPINGS,
        CACHE,
        SAMPLE_TIME,
        HYBRID_TOPOLOGY,
    ];
    READ.contains(&feature)
}

/// The facts from the features.
#[derive(Default)]
pub(super) struct Metadata {
    pub(super) machine: Option<Machine>,
    pub(super) online: Vec<CpuId>,
    /// The number of online CPUs.
    pub(super) cpu_count: Option<u32>,
    pub(super) about: Vec<(String, String)>,
}

/// Reads the features; damaged ones are left out.
pub(super) fn read(header: &Header) -> Metadata {
    let mut metadata = Metadata::default();
    let mut topology = HeaderTopology::default();
    for (feature, bytes) in &header.features {
        let mut section = Section { bytes, order: header.order };
        let name = match *feature {
            HOSTNAME => "hostname",
            OSRELEASE => "kernel_release",
            VERSION => "perf_version",
            ARCH => "arch",
            CPUDESC => "cpu_model",
            CMDLINE => "command_line",
            _ => {
                // What was read of a damaged section is kept; the rest is unknown.
                let _ = section.topology(*feature, &mut topology);
                continue;
            }
        };
        let text = if *feature == CMDLINE { section.texts().map(|t| t.join(" ")) } else { section.text() };
        metadata.about.extend(text.map(|t| (name.to_owned(), t)));
    }
    let about = |name: &str| metadata.about.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
    (topology.arch, topology.cpudesc) = (about("arch"), about("cpu_model"));
    metadata.cpu_count = topology.online;
    // The counts identify CPUs only if all available CPUs were online.
    if let (Some(online), Some(available)) = (topology.online, topology.available)
        && online == available
        && online <= MAX_COUNT
    {
        metadata.online = (0..online).map(CpuId).collect();
    }
    if topology
        != (HeaderTopology {
            arch: topology.arch.clone(),
            cpudesc: topology.cpudesc.clone(),
            ..HeaderTopology::default()
        })
    {
        metadata.machine = Some(Machine::from_trace_header(&topology));
    }
    metadata
}

/// Returns the names of the events as the user wrote them, in the order of the attributes; none if the recording does not have them.
pub(super) fn event_names(header: &Header) -> Vec<String> {
    let section = header.features.iter().find(|(feature, _)| *feature == EVENT_DESC);
    let names = section.and_then(|(_, bytes)| Section { bytes, order: header.order }.event_names());
    names.filter(|names| names.len() == header.attrs.len()).unwrap_or_default()
}

/// Returns the names of the PMUs by their numbers; none if the recording does not have them.
pub(super) fn pmus(header: &Header) -> Vec<(u32, String)> {
    let section = header.features.iter().find(|(feature, _)| *feature == PMU_MAPPINGS);
    let names = section.and_then(|(_, bytes)| Section { bytes, order: header.order }.pmus());
    names.unwrap_or_default()
}

/// Whether the recording's kernel is known to have at least this version.
pub(super) fn kernel_at_least(header: &Header, major: u32, minor: u32) -> bool {
    let section = header.features.iter().find(|(feature, _)| *feature == OSRELEASE);
    let release = section.and_then(|(_, bytes)| Section { bytes, order: header.order }.text()).unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Returns the recorded machine's architecture, as `uname` names it.
pub(super) fn arch(header: &Header) -> Option<String> {
    let (_, bytes) = header.features.iter().find(|(feature, _)| *feature == ARCH)?;
    Section { bytes, order: header.order }.text()
}

/// Returns the time between the first and the last sample, ns; `None` if perf did not note them.
pub(super) fn lasted(header: &Header) -> Option<u64> {
    let (_, bytes) = header.features.iter().find(|(feature, _)| *feature == SAMPLE_TIME)?;
    let mut section = Section { bytes, order: header.order };
    let (first, last) = (section.u64()?, section.u64()?);
    (first > 0).then(|| last.checked_sub(first)).flatten()
}

struct Section<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl Section<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(self.order.u32(*head))
    }

    fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(self.order.u64(*head))
    }

    fn count(&mut self) -> Option<u32> {
        self.u32().filter(|n| *n <= MAX_COUNT)
    }

    /// Reads a length, then the text, padded with NULs.
    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let text = text.split(|b| *b == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        (0..self.count()?).map(|_| self.text()).collect()
    }

    /// Reads the number and the name of each PMU.
    fn pmus(&mut self) -> Option<Vec<(u32, String)>> {
        (0..self.count()?).map(|_| Some((self.u32()?, self.text()?))).collect()
    }

    /// Reads the attribute, the name and the IDs of each event.
    fn event_names(&mut self) -> Option<Vec<String>> {
        let (count, size) = (self.count()?, self.u32()? as usize);
        let mut names = Vec::new();
        for _ in 0..count {
            self.bytes = self.bytes.get(size..)?;
            let ids = self.u32()? as usize;
            names.push(self.text()?);
            self.bytes = self.bytes.get(ids.checked_mul(8)?..)?;
        }
        Some(names)
    }

    /// Reads a section about the machine into `into`; `None` if it ends too early.
    fn topology(&mut self, feature: u32, into: &mut HeaderTopology) -> Option<()> {
        match feature {
            NRCPUS => {
                into.available = Some(self.u32()?);
                into.online = Some(self.u32()?);
            }
            CPU_TOPOLOGY => {
                into.core_siblings = self.texts()?;
                into.thread_siblings = self.texts()?;
                // For each possible CPU: core and package; then, since Linux 5.3, the dies.
                let known = |n: u32| (n != u32::MAX).then_some(n);
                for _ in 0..into.available.unwrap_or(0).min(MAX_COUNT) {
                    let (core, socket) = (known(self.u32()?), known(self.u32()?));
                    into.cpus.push(HeaderCpu { core, socket, die: None });
                }
                self.texts()?;
                for cpu in &mut into.cpus {
                    cpu.die = known(self.u32()?);
                }
            }
            NUMA_TOPOLOGY => {
                for _ in 0..self.count()? {
                    let node = self.u32()?;
                    self.u64()?; // total memory
                    self.u64()?; // free memory
                    into.nodes.push((node, self.text()?));
                }
            }
            CACHE => {
                self.u32()?; // version
                for _ in 0..self.count()? {
                    let level = self.u32()?;
                    for _ in 0..3 {
                        self.u32()?; // line size, sets, ways
                    }
                    let kind = self.text()?;
                    self.text()?; // size
                    into.caches.push(HeaderCache { level, kind, cpus: self.text()? });
                }
            }
            HYBRID_TOPOLOGY => {
                for _ in 0..self.count()? {
                    into.hybrid_pmus.push((self.text()?, self.text()?));
                }
            }
            _ => {}
        }
        Some(())
    }
}
