//! What a trace says of itself before, or among, its first events: `TraceConfig`, `SystemInfo`, `CpuInfo`,
//! `ClockSnapshot.primary_trace_clock` (`protos/perfetto/{config,trace/system_info}`).

use super::clocks::BOOTTIME;
use super::notes::Own;
use super::packets::Packets;
use super::wire::{Broken, Fields};
use model::CpuId;
use topology::{Cpu, Machine};

/// Text fields, and CPUs, that are kept; a hostile file must not fill the memory.
const MOST: usize = 1 << 12;
/// Data sources that tell nothing of programs.
const NO_PROGRAMS: [&str; 6] = [
    "linux.",
    "android.log",
    "android.power",
    "android.packages_list",
    "android.polled_state",
    "android.system_property",
];

/// What was found.
pub(super) struct Preface {
    /// The kernel's release; empty where not told.
    pub(super) release: String,
    /// The clock that the trace's times are on.
    pub(super) clock: u32,
    /// Whether programs' own events may be in it.
    pub(super) programs: bool,
    /// The kernel events asked for; `None` where not told, or told in other words than their names.
    pub(super) asked: Option<Vec<String>>,
    pub(super) about: Vec<(String, String)>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) arch: Option<String>,
    /// Whether any kernel event was met.
    pub(super) kernel: bool,
    /// What corewise says of a trace that it wrote.
    pub(super) own: Option<Own>,
    config: bool,
}

impl Preface {
    /// Reads the first packets; what is damaged among them is told when it is read again.
    pub(super) fn read(mut packets: Packets<'_>) -> Self {
        let mut preface = Self {
            release: String::new(),
            clock: BOOTTIME,
            programs: false,
            asked: None,
            about: Vec::new(),
            cpus: Vec::new(),
            arch: None,
            kernel: false,
            own: None,
            config: false,
        };
        while let Ok(Some(packet)) = packets.next(&mut ingest::Troubles::default()) {
            // The parts before a damaged one were good.
            let _ = preface.learn(packet.body);
        }
        preface.programs |= !preface.config;
        preface
    }

    fn learn(&mut self, packet: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(packet);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => self.kernel = true,
                6 => self.primary_clock(value.bytes())?,
                11 if self.own.is_none() => {
                    self.own = Own::of(value.bytes())?;
                    self.programs |= self.own.is_none();
                }
                11 | 76 => self.programs = true,
                33 => self.config(value.bytes())?,
                45 => self.system(value.bytes())?,
                67 if self.cpus.is_empty() => self.cpu_info(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn primary_clock(&mut self, snapshot: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(snapshot);
        while let Some((field, value)) = fields.next()? {
            if field == 2 && value.number() != 0 {
                self.clock = value.number() as u32;
            }
        }
        Ok(())
    }

    /// `TraceConfig.data_sources[].config`.
    fn config(&mut self, config: &[u8]) -> Result<(), Broken> {
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

    /// `DataSourceConfig`.
    fn data_source(&mut self, config: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(config);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => {
                    let name = text(value.bytes());
                    self.programs |= !NO_PROGRAMS.iter().any(|known| name.starts_with(known));
                }
                100 => self.ftrace_config(value.bytes())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// `FtraceConfig`: events by name; atrace's categories (2) stand for others that no one names here.
    fn ftrace_config(&mut self, config: &[u8]) -> Result<(), Broken> {
        let mut names = self.asked.take().unwrap_or_default();
        let mut plain = true;
        let mut fields = Fields::of(config);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 if names.len() < MOST => names.push(text(value.bytes())),
                2 => plain = false,
                _ => {}
            }
        }
        if plain && !names.iter().any(|n| n.contains('*')) {
            self.asked = Some(names);
        }
        Ok(())
    }

    fn system(&mut self, info: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(info);
        while let Some((field, value)) = fields.next()? {
            let (name, told) = match field {
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
            self.tell(name, told);
        }
        Ok(())
    }

    fn utsname(&mut self, names: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(names);
        while let Some((field, value)) = fields.next()? {
            let told = text(value.bytes());
            match field {
                2 => self.tell("kernel_version", told),
                3 => {
                    self.release.clone_from(&told);
                    self.tell("kernel_release", told);
                }
                4 => {
                    self.arch = Some(told.clone());
                    self.tell("arch", told);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, told: String) {
        if !told.is_empty() && !self.about.iter().any(|(n, _)| n == name) {
            self.about.push((name.to_owned(), told));
        }
    }

    /// `CpuInfo`: its CPUs stand in the order of their numbers.
    fn cpu_info(&mut self, info: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields::of(info);
        while let Some((field, value)) = fields.next()? {
            if field == 1 && self.cpus.len() < MOST {
                let id = CpuId(u32::try_from(self.cpus.len()).unwrap_or(u32::MAX));
                self.cpus.push(cpu(id, value.bytes())?);
            }
        }
        Ok(())
    }

    /// The machine, where the trace describes its CPUs.
    pub(super) fn machine(&self) -> Option<Machine> {
        (!self.cpus.is_empty()).then(|| Machine::of_trace(self.cpus.clone(), self.arch.clone()))
    }
}

fn cpu(id: CpuId, message: &[u8]) -> Result<Cpu, Broken> {
    let mut cpu = Cpu::new(id);
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            2 => super::marks::each(value, |khz| cpu.max_khz = cpu.max_khz.max(u32::try_from(khz).ok())),
            3 => cpu.capacity = u32::try_from(value.number()).ok(),
            4 => cpu.vendor_type = arm_identifier(value.bytes())?,
            _ => {}
        }
    }
    Ok(cpu)
}

/// `ArmCpuIdentifier`, in the words of `/proc/cpuinfo`.
fn arm_identifier(message: &[u8]) -> Result<Option<String>, Broken> {
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
    String::from_utf8_lossy(bytes.get(..MOST).unwrap_or(bytes)).into_owned()
}
