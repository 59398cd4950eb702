//! Collections of Google's SchedViz: `trace.tar.gz`, passed as the folder that it unpacks to; and the plain output of
//! its bpftrace program, `sched.bt`.
//!
//! Spec: `util/trace.sh`, `ebpf/collect.sh` and `ebpf/sched.bt` of github.com/google/schedviz. A folder contains
//! `metadata.textproto` (`trace_type: FTRACE` or `EBPF`), `topology/node0/cpu0/topology/…` (files of sysfs), and either
//! `formats/…` with the descriptions of the enabled tracepoints and `traces/cpu0` … with each CPU's ring-buffer pages,
//! or one text, `ebpf_trace`.
//!
//! Clock: ftrace's, which the collection does not name (`local`, that is `sched_clock`, unless another was selected);
//! for eBPF collections bpftrace's `nsecs` (CLOCK_MONOTONIC, in newer versions CLOCK_BOOTTIME).
//!
//! What the format does not contain: `sched_waking`, which its collectors do not record; processes; and overflows of a
//! CPU's buffer at its start or end: only losses within a buffer are marked in its pages.
//!
//! ```text
//!   mod   detects and opens      machine  the topology folder
//!   ring  pages → events         ebpf     lines → events
//! ```

mod ebpf;
mod machine;
mod ring;

use crate::tracepoint::{ByteOrder, EventFormat, PageLayout, state_source};
use ingest::{Availability, Capability, Facts, Fatal, Folder, Importer, Input, Offer, Opened, ReadSeek, Sniff, Stream};
use model::CpuId;
use ring::RingStream;
use std::io::Read;
use std::sync::Arc;

/// The maximum size of a tracepoint's description, which has some kilobytes.
const MAX_TEXT: u64 = 256 << 10;
/// The maximum number of descriptions in a collection; a whole kernel has some 3,000 tracepoints.
const MAX_FORMATS: usize = 8192;
/// Collectors save the descriptions of the events that they enabled. If there are more than this, all descriptions were
/// saved.
const MAX_ENABLED: usize = 64;
/// The maximum number of CPUs with a buffer, and of bytes of one page of each: both are held in memory.
const MAX_CPUS: usize = 1024;
const MAX_PAGE_BYTES: usize = 32 << 20;

const METADATA: &str = "metadata.textproto";
const EBPF: &str = "ebpf_trace";

/// The importer.
pub struct SchedViz;

impl Importer for SchedViz {
    fn id(&self) -> &'static str {
        "schedviz"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "SchedViz's trace.sh or ebpf/collect.sh (trace.tar.gz, also unpacked), and the output of sched.bt",
            provides: &[
                (Capability::Switches, Availability::Yes),
                (Capability::Waking, Availability::If("sched:sched_waking is added to the events of trace.sh")),
                (Capability::Wakeup, Availability::Yes),
                (Capability::Priority, Availability::Yes),
                (Capability::Idle, Availability::If("power:cpu_idle is added to the events of trace.sh")),
                (Capability::Frequency, Availability::If("power:cpu_frequency is added to the events of trace.sh")),
                (Capability::Parking, Availability::If("cpuhp events are added to the events of trace.sh")),
                (Capability::Irq, Availability::If("irq events are added to the events of trace.sh")),
                (Capability::Charges, Availability::If("sched:sched_stat_runtime is added to the events of trace.sh")),
                (Capability::Losses, Availability::Yes),
                (Capability::Topology, Availability::Yes),
            ],
            cannot: &[
                "the processes of threads",
                "core types (there are siblings and packages, but no capacities or frequencies)",
                "overflows of a CPU's buffer before its first or after its last event",
                "eBPF collections: which wakeup is the first of a new thread",
            ],
        }
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn sniff_folder(&self, names: &[String]) -> Sniff {
        let has = |name: &str| names.iter().any(|n| n == name);
        let pages = names.iter().any(|n| cpu_of(n).is_some());
        let formats = names.iter().any(|n| is_format(n));
        match (has(METADATA), has(EBPF), pages && formats) {
            (true, true, _) | (_, _, true) => Sniff::Yes,
            (false, true, false) => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if ebpf::is_output(head) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        match from {
            Input::File(file) => Ok(ebpf::open(Box::new(file), true)),
            Input::Pipe(pipe) => Ok(ebpf::open(pipe, false)),
            Input::Folder(folder) => open_folder(folder.as_ref()),
        }
    }
}

/// Returns the CPU of `traces/cpu3`.
fn cpu_of(name: &str) -> Option<u32> {
    name.strip_prefix("traces/cpu")?.parse().ok().filter(|n| *n < topology::cpulist::MAX_CPUS)
}

fn is_format(name: &str) -> bool {
    name.starts_with("formats/") && name.ends_with("/format")
}

fn open_folder<'a>(folder: &dyn Folder) -> Result<Opened<'a>, Fatal> {
    let names = folder.names();
    let trace_type = match names.iter().any(|n| n == METADATA) {
        true => trace_type(&text(folder, METADATA)?),
        false => None,
    };
    let mut opened = match trace_type.as_deref() {
        Some("EBPF") => open_ebpf(folder)?,
        Some("FTRACE") => open_ring(folder, &names)?,
        Some(other) => {
            let what = format!("this SchedViz collection has trace_type {other}: only FTRACE and EBPF are supported");
            return Err(Fatal::new(what, 0));
        }
        None if names.iter().any(|n| n == EBPF) => open_ebpf(folder)?,
        None => open_ring(folder, &names)?,
    };
    opened.facts.machine = machine::read(folder, &names)?;
    opened.facts.online = opened.facts.machine.iter().flat_map(|m| &m.cpus).map(|c| c.id).collect();
    if opened.facts.machine.is_none() {
        opened.facts.lacks.push("The collection has no topology: siblings and packages are unknown.".to_owned());
    }
    Ok(opened)
}

/// `trace_type: FTRACE`.
fn trace_type(metadata: &str) -> Option<String> {
    let line = metadata.lines().find_map(|l| l.trim().strip_prefix("trace_type:"))?;
    Some(line.trim().trim_matches('"').chars().take(32).collect())
}

fn open_ebpf<'a>(folder: &dyn Folder) -> Result<Opened<'a>, Fatal> {
    Ok(ebpf::open(Box::new(file(folder, EBPF)?), true))
}

fn open_ring<'a>(folder: &dyn Folder, names: &[String]) -> Result<Opened<'a>, Fatal> {
    let formats = formats(folder, names)?;
    let mut buffers: Vec<(CpuId, Box<dyn ReadSeek + Send>, Vec<u8>)> = Vec::new();
    for (cpu, name) in names.iter().filter_map(|n| Some((cpu_of(n)?, n))) {
        let mut file = file(folder, name)?;
        let head = head(&mut file, name)?;
        // A CPU that was offline, or had no events.
        if head.is_empty() {
            continue;
        }
        if buffers.len() >= MAX_CPUS {
            return Err(Fatal::new(
                format!("the collection has more than the supported {MAX_CPUS} CPUs with events"),
                0,
            ));
        }
        buffers.push((CpuId(cpu), file, head));
    }
    if buffers.is_empty() {
        return Err(Fatal::new("this SchedViz collection contains no events: all files traces/cpu* are empty", 0));
    }
    buffers.sort_by_key(|(cpu, ..)| *cpu);
    let layout = layout(folder, names, buffers.iter().map(|(_, _, head)| head.as_slice()))?;
    if layout.size() * buffers.len() > MAX_PAGE_BYTES {
        return Err(Fatal::new("formats/header_page states pages that are too large for this number of CPUs", 0));
    }
    let decoder = Arc::new(ring::decoder(&formats, layout.order()));
    let count = buffers.len();
    let stream = |(cpu, file, head)| {
        Box::new(RingStream::new(cpu, file, head, layout, Arc::clone(&decoder), count)) as Box<dyn Stream + Send + 'a>
    };
    Ok(Opened { facts: facts(&formats), streams: buffers.into_iter().map(stream).collect() })
}

/// Returns the enabled tracepoints.
fn formats(folder: &dyn Folder, names: &[String]) -> Result<Vec<EventFormat>, Fatal> {
    let mut formats = Vec::new();
    for name in names.iter().filter(|n| is_format(n)).take(MAX_FORMATS) {
        let text = text(folder, name)?;
        formats.push(EventFormat::parse(&text).map_err(|why| Fatal::new(format!("{name}: {}", why.0), 0))?);
    }
    if !formats.iter().any(|f| f.name == "sched_switch") {
        let what = "the collection does not contain formats/sched/sched_switch/format: its events cannot be read";
        return Err(Fatal::new(what, 0));
    }
    Ok(formats)
}

/// Returns the layout of pages, with the byte order in which most CPUs' first pages are valid.
fn layout<'h>(
    folder: &dyn Folder,
    names: &[String],
    heads: impl Iterator<Item = &'h [u8]> + Clone,
) -> Result<PageLayout, Fatal> {
    let little = match names.iter().find(|n| *n == "formats/header_page") {
        Some(name) => {
            let text = text(folder, name)?;
            PageLayout::parse(&text, ByteOrder::Little).map_err(|why| Fatal::new(format!("{name}: {}", why.0), 0))?
        }
        None => PageLayout::usual(ByteOrder::Little),
    };
    let valid_pages = |layout: PageLayout| heads.clone().filter(|head| layout.is_first(head)).count();
    let big = little.with_order(ByteOrder::Big);
    Ok(if valid_pages(big) > valid_pages(little) { big } else { little })
}

fn facts(formats: &[EventFormat]) -> Facts {
    let described = |name: &str| formats.iter().any(|f| f.name == name);
    let recorded = |name| match (described(name), formats.len() <= MAX_ENABLED) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    };
    let (has_waking, has_wakeup) = (recorded("sched_waking"), recorded("sched_wakeup"));
    let mut lacks = vec![
        "A SchedViz collection does not contain the processes of threads.".to_owned(),
        "Overflows of a CPU's buffer before its first or after its last event were not recorded.".to_owned(),
    ];
    if has_waking == Some(false) && has_wakeup == Some(false) {
        lacks.push("Neither sched_waking nor sched_wakeup was recorded.".to_owned());
    }
    Facts {
        format: SchedViz.id().to_owned(),
        clock: "ftrace (trace_clock not recorded; local by default)".to_owned(),
        has_waking,
        has_wakeup,
        has_charges: described("sched_stat_runtime"),
        whole_machine: true,
        states: state_source(formats.iter()),
        about: vec![("trace_type".to_owned(), "FTRACE".to_owned())],
        lacks,
        ..Facts::default()
    }
}

fn file(folder: &dyn Folder, name: &str) -> Result<Box<dyn ReadSeek + Send>, Fatal> {
    folder.open(name).map_err(|why| Fatal::new(format!("{name}: {why}"), 0))
}

/// Reads a small file.
fn text(folder: &dyn Folder, name: &str) -> Result<String, Fatal> {
    let mut bytes = Vec::new();
    let read = file(folder, name)?.take(MAX_TEXT).read_to_end(&mut bytes);
    read.map_err(|why| Fatal::new(format!("{name}: {why}"), 0))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the first bytes of a buffer.
fn head(file: &mut Box<dyn ReadSeek + Send>, name: &str) -> Result<Vec<u8>, Fatal> {
    let mut head = Vec::new();
    let read = file.take(32).read_to_end(&mut head);
    read.map_err(|why| Fatal::new(format!("{name}: {why}"), 0))?;
    Ok(head)
}
