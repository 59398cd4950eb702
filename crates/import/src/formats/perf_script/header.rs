//! What `perf script --header` says of the recording, in lines that begin with `#`.

use crate::text::scan::number;
use model::CpuId;

/// The header's facts.
#[derive(Default)]
pub(super) struct Header {
    pub(super) about: Vec<(String, String)>,
    /// The events recorded, without their systems; empty where there is no header.
    pub(super) events: Vec<String>,
    /// The CPUs online, where their number says which.
    pub(super) online: Vec<CpuId>,
    /// Version of the kernel.
    pub(super) kernel: Option<(u64, u64)>,
}

/// More CPUs than Linux can have.
const MOST_CPUS: u64 = 1 << 16;
/// A longer value is cut.
const LONGEST: usize = 4096;
/// What perf calls a fact, and what we do.
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
    pub(super) fn read(begin: &[u8]) -> Self {
        let mut header = Self::default();
        let (mut online, mut available) = (None, None);
        for line in begin.split(|b| *b == b'\n').take_while(|l| l.is_empty() || l.starts_with(b"#")) {
            let line = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]);
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
        // Where none is offline, their numbers are known.
        if let Some(count) = online.filter(|count| Some(*count) == available && *count < MOST_CPUS) {
            header.online = (0..count).map(|cpu| CpuId(cpu as u32)).collect();
        }
        header
    }

    /// Whether an event was recorded; `None`: the text does not say.
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
