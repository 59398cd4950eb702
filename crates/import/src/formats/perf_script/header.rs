//! The facts that `perf script --header` prints about the recording, in lines that start with `#`.

use crate::text::scan::number;
use model::CpuId;

/// The header's facts.
#[derive(Default)]
pub(super) struct Header {
    pub(super) about: Vec<(String, String)>,
    /// The recorded events without their subsystems; empty if there is no header.
    pub(super) events: Vec<String>,
    /// The online CPUs, if their number identifies them.
    pub(super) online: Vec<CpuId>,
    /// The version of the kernel.
    pub(super) kernel: Option<(u64, u64)>,
}

/// More CPUs than Linux supports.
const MAX_CPUS: u64 = 1 << 16;
/// The maximum length of a value; longer ones are cut.
const MAX_VALUE: usize = 4096;
/// perf's names of facts, and ours.
const NAMES: [(&str, &str); 6] = [
    ("hostname", "hostname"),
    ("os release", "kernel_release"),
    ("perf version", "perf_version"),
    ("arch", "arch"),
    ("cpudesc", "cpu_model"),
    ("cmdline", "command_line"),
];

impl Header {
    /// Reads the lines before the first event.
    pub(super) fn read(start: &[u8]) -> Self {
        let mut header = Self::default();
        let (mut online, mut available) = (None, None);
        for line in start.split(|b| *b == b'\n').take_while(|l| l.is_empty() || l.starts_with(b"#")) {
            let line = String::from_utf8_lossy(&line[..line.len().min(MAX_VALUE)]);
            let Some((name, value)) = line.trim_start_matches(['#', ' ']).split_once(':') else { continue };
            let (name, value) = (name.trim(), value.trim());
            if let Some((_, ours)) = NAMES.iter().find(|(theirs, _)| *theirs == name) {
                header.about.push(((*ours).to_owned(), value.to_owned()));
            }
            match name {
                "event" => header.events.extend(event_name(value)),
                "os release" => header.kernel = version(value),
                "nrcpus online" => online = value.parse().ok(),
                "nrcpus avail" => available = value.parse().ok(),
                _ => {}
            }
        }
        // If no CPU is offline, their numbers are known.
        if let Some(count) = online.filter(|count| Some(*count) == available && *count < MAX_CPUS) {
            header.online = (0..count).map(|cpu| CpuId(cpu as u32)).collect();
        }
        header
    }

    /// Whether an event was recorded; `None` if the text does not state it.
    pub(super) fn has(&self, event: &str) -> Option<bool> {
        (!self.events.is_empty()).then(|| self.events.iter().any(|e| e == event))
    }
}

/// `name = sched:sched_switch, , id = { 1, 2 }, …`
fn event_name(value: &str) -> Option<String> {
    let name = value.strip_prefix("name = ")?.split(',').next()?.trim();
    Some(name.strip_prefix("sched:").unwrap_or(name).to_owned())
}

/// `6.1.0-13-amd64`
fn version(text: &str) -> Option<(u64, u64)> {
    let (major, rest) = number(text.as_bytes())?;
    let (minor, _) = number(rest.strip_prefix(b".")?)?;
    Some((major, minor))
}
