//! The facts in a trace before or among its first events: `TraceConfig`, `SystemInfo`, `CpuInfo`,
//! `ClockSnapshot.primary_trace_clock` (`protos/perfetto/{config,trace/system_info}`).

use super::clocks::BOOTTIME;
use super::ftrace::Numbering;
use super::notes::Own;
use super::packets::Packets;
use super::sample::{self, ELAPSED};
use super::wire::{Fields, Malformed};
use model::CpuId;
use topology::{Cpu, Machine};

/// The maximum number of bytes of a text, and of CPUs and events kept, so that a hostile file cannot exhaust memory.
const MAX_KEPT: usize = 1 << 12;
/// Data sources that contain no events of programs; `linux.perf` is written whenever its buffers are read, as these are.
const NO_PROGRAMS: [&str; 6] = [
    "linux.",
    "android.log",
    "android.power",
    "android.packages_list",
    "android.polled_state",
    "android.system_property",
];

/// The facts that were found.
pub(super) struct Preface {
    /// The kernel release; empty if not recorded.
    pub(super) release: String,
    /// The clock of the trace's times.
    pub(super) clock: u32,
    /// Whether the trace may contain events of programs.
    pub(super) programs: bool,
    /// Whether samples of callchains were requested.
    pub(super) sampled: bool,
    /// Whether there are callchains.
    pub(super) callchains: bool,
    /// The events of samples; some traces do not say it.
    pub(super) events: Vec<String>,
    /// The requested kernel events; `None` if they were not recorded, or not requested by name.
    pub(super) requested: Option<Vec<String>>,
    pub(super) about: Vec<(String, String)>,
    pub(super) cpus: Vec<Cpu>,
    /// The CPUs whose buffers were read (`FtraceStats`, `protos/perfetto/trace/ftrace/ftrace_stats.proto`).
    pub(super) recorded: Vec<CpuId>,
    pub(super) arch: Option<String>,
    /// Whether there is a kernel event.
    pub(super) kernel: bool,
    /// Whether kernel events have the numbers of the public schema.
    pub(super) numbering: Numbering,
    /// The facts about a trace that corewise wrote.
    pub(super) own: Option<Own>,
    config: bool,
}

impl Preface {
    /// Reads the first packets. Damaged ones are reported when the packets are read again.
    pub(super) fn read(mut packets: Packets<'_>) -> Self {
        let mut preface = Self {
            release: String::new(),
            clock: BOOTTIME,
            programs: false,
            sampled: false,
            callchains: false,
            events: Vec::new(),
            requested: None,
            about: Vec::new(),
            cpus: Vec::new(),
            recorded: Vec::new(),
            arch: None,
            kernel: false,
            numbering: Numbering::default(),
            own: None,
            config: false,
        };
        while let Ok(Some(packet)) = packets.next(&mut ingest::Anomalies::default()) {
            // The parts before a damaged one are valid.
            let _ = preface.learn(packet.body);
        }
        preface.programs |= !preface.config;
        preface
    }

    fn learn(&mut self, packet: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(packet);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => {
                    self.kernel = true;
                    self.numbering.learn(value.bytes())?;
                }
                6 => self.primary_clock(value.bytes())?,
                11 if self.own.is_none() => {
                    self.own = Own::of(value.bytes())?;
                    self.programs |= self.own.is_none();
                }
                11 | 76 => self.programs = true,
                12 => self.callchains |= has_callchain(value.bytes())?,
                // Those of corewise are in order.
                66 => {
                    self.sampled = true;
                    self.programs |= self.own.is_none();
                }
                54 => {
                    self.sampled = true;
                    self.programs = true;
                    self.add_event(ELAPSED.to_owned());
                }
                59 => {
                    if let Some(event) = sample::of_defaults(value.bytes())? {
                        self.add_event(event);
                    }
                }
                33 => self.config(value.bytes())?,
                34 => self.ftrace_stats(value.bytes())?,
                45 => self.system(value.bytes())?,
                67 if self.cpus.is_empty() => self.cpu_info(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_event(&mut self, event: String) {
        if self.events.len() < MAX_KEPT && !self.events.contains(&event) {
            self.events.push(event);
        }
    }

    fn primary_clock(&mut self, snapshot: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(snapshot);
        while let Some((field, value)) = fields.next()? {
            if field == 2 && value.number() != 0 {
                self.clock = value.number() as u32;
            }
        }
        Ok(())
    }

    /// `TraceConfig.data_sources[].config`.
    fn config(&mut self, config: &[u8]) -> Result<(), Malformed> {
        self.config = true;
        let mut fields = Fields::of(config);
        while let Some((field, value)) = fields.next()? {
            if field != 2 {
                continue;
            }
            let mut source = Fields::of(value.bytes());
            while let Some((field, value)) = source.next()? {
                if field == 1 {
                    self.data_source(value.bytes())?;
                }
            }
        }
        Ok(())
    }

    /// `FtraceStats.cpu_stats[].cpu`.
    fn ftrace_stats(&mut self, stats: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(stats);
        while let Some((field, value)) = fields.next()? {
            if field != 2 {
                continue;
            }
            // The field is left out if it is 0.
            let (mut cpu, mut of_cpu) = (CpuId(0), Fields::of(value.bytes()));
            while let Some((field, value)) = of_cpu.next()? {
                if field == 1 {
                    cpu = CpuId(u32::try_from(value.number()).unwrap_or(u32::MAX));
                }
            }
            if self.recorded.len() < MAX_KEPT && !self.recorded.contains(&cpu) {
                self.recorded.push(cpu);
            }
        }
        Ok(())
    }

    /// `DataSourceConfig`.
    fn data_source(&mut self, config: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(config);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => {
                    let name = text(value.bytes());
                    self.sampled |= name == "linux.perf";
                    self.programs |= self.sampled || !NO_PROGRAMS.iter().any(|known| name.starts_with(known));
                }
                100 => self.ftrace_config(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// `FtraceConfig`: events by name; atrace's categories (2) stand for events that are not named.
    fn ftrace_config(&mut self, config: &[u8]) -> Result<(), Malformed> {
        let mut names = self.requested.take().unwrap_or_default();
        let mut by_name = true;
        let mut fields = Fields::of(config);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 if names.len() < MAX_KEPT => names.push(text(value.bytes())),
                2 => by_name = false,
                _ => {}
            }
        }
        if by_name && !names.iter().any(|n| n.contains('*')) {
            self.requested = Some(names);
        }
        Ok(())
    }

    fn system(&mut self, info: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(info);
        while let Some((field, value)) = fields.next()? {
            let (name, value) = match field {
                1 => {
                    self.utsname(value.bytes())?;
                    continue;
                }
                2 => ("android_build", text(value.bytes())),
                4 => ("tracing_service_version", text(value.bytes())),
                8 => ("cpus", value.number().to_string()),
                9 => ("soc_model", text(value.bytes())),
                14 => ("manufacturer", text(value.bytes())),
                16 => ("ram_bytes", value.number().to_string()),
                _ => continue,
            };
            self.add_about(name, value);
        }
        Ok(())
    }

    fn utsname(&mut self, names: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(names);
        while let Some((field, value)) = fields.next()? {
            let text = text(value.bytes());
            match field {
                2 => self.add_about("kernel_version", text),
                3 => {
                    self.release.clone_from(&text);
                    self.add_about("kernel_release", text);
                }
                4 => {
                    self.arch = Some(text.clone());
                    self.add_about("arch", text);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_about(&mut self, name: &str, value: String) {
        if !value.is_empty() && !self.about.iter().any(|(n, _)| n == name) {
            self.about.push((name.to_owned(), value));
        }
    }

    /// `CpuInfo`: its CPUs are in the order of their numbers.
    fn cpu_info(&mut self, info: &[u8]) -> Result<(), Malformed> {
        let mut fields = Fields::of(info);
        while let Some((field, value)) = fields.next()? {
            if field == 1 && self.cpus.len() < MAX_KEPT {
                let id = CpuId(u32::try_from(self.cpus.len()).unwrap_or(u32::MAX));
                self.cpus.push(cpu(id, value.bytes())?);
            }
        }
        Ok(())
    }

    /// Returns the machine, if the trace describes its CPUs.
    pub(super) fn machine(&self) -> Option<Machine> {
        (!self.cpus.is_empty()).then(|| Machine::of_trace(self.cpus.clone(), self.arch.clone()))
    }
}

/// Whether interned data has a callchain.
fn has_callchain(interned: &[u8]) -> Result<bool, Malformed> {
    let mut fields = Fields::of(interned);
    while let Some((field, _)) = fields.next()? {
        if field == 7 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn cpu(id: CpuId, message: &[u8]) -> Result<Cpu, Malformed> {
    let mut cpu = Cpu::new(id);
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            2 => super::marks::for_each_number(value, |khz| cpu.max_khz = cpu.max_khz.max(u32::try_from(khz).ok())),
            3 => cpu.capacity = u32::try_from(value.number()).ok(),
            4 => cpu.vendor_type = arm_identifier(value.bytes())?,
            _ => {}
        }
    }
    Ok(cpu)
}

/// `ArmCpuIdentifier`, in the form of `/proc/cpuinfo`.
fn arm_identifier(message: &[u8]) -> Result<Option<String>, Malformed> {
    let (mut implementer, mut part) = (0, 0);
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => implementer = value.number(),
            4 => part = value.number(),
            _ => {}
        }
    }
    Ok((part != 0).then(|| format!("implementer {implementer:#04x} part {part:#05x}")))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_KEPT).unwrap_or(bytes)).into_owned()
}
