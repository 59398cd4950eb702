//! Collections of Google's SchedViz: `trace.tar.gz`, handed in as the folder that it unpacks to; and the bare output of its
//! bpftrace program, `sched.bt`.
//!
//! Spec: `util/trace.sh`, `ebpf/collect.sh` and `ebpf/sched.bt` of github.com/google/schedviz. A folder has
//! `metadata.textproto` (`trace_type: FTRACE` or `EBPF`), `topology/node0/cpu0/topology/…` (files of sysfs), and either
//! `formats/…` with the descriptions of the tracepoints that were enabled and `traces/cpu0` … with each CPU's ring-buffer
//! pages, or one text, `ebpf_trace`.
//!
//! Clock: ftrace's, which the collection does not name (`local`, that is `sched_clock`, unless somebody chose another); of
//! the eBPF flavour bpftrace's `nsecs` (CLOCK_MONOTONIC, in newer versions CLOCK_BOOTTIME).
//!
//! What the format cannot tell: `sched_waking`, which its collectors do not record; processes; and where a CPU's buffer
//! overflowed at its begin or end: only losses within a buffer are marked in its pages.
//!
//! ```text
//!   mod   recognises, opens      machine  the topology folder
//!   ring  pages → events         ebpf     lines → events
//! ```

mod ebpf;
mod machine;
mod ring;

use crate::tracepoint::{ByteOrder, EventFormat, PageLayout};
use ingest::{Facts, Fatal, Folder, Importer, Input, Offer, Opened, ReadSeek, Sniff, Stream, Tells};
use model::CpuId;
use ring::RingStream;
use std::io::Read;
use std::sync::Arc;

/// A description of a tracepoint is some kilobytes.
const LARGEST_TEXT: u64 = 256 << 10;
/// Descriptions in a collection; a whole kernel has some 3,000 tracepoints.
const MOST_FORMATS: usize = 8192;
/// Collectors save what they enabled; with more descriptions than this somebody saved all there are.
const ENABLED_AT_MOST: usize = 64;
/// CPUs with a buffer, and bytes of one page of each: both cost memory while the collection is read.
const MOST_CPUS: usize = 1024;
const MOST_PAGES: usize = 32 << 20;

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
            made_by: "SchedViz's trace.sh or ebpf/collect.sh (trace.tar.gz, also unpacked), and sched.bt's own output",
            switches: Tells::Yes,
            waking: Tells::If("sched:sched_waking is added to the events of trace.sh"),
            wakeup: Tells::Yes,
            processes: Tells::No,
            priority: Tells::Yes,
            settings: Tells::No,
            ideal_cpu: Tells::No,
            idle: Tells::If("power:cpu_idle is added to the events of trace.sh"),
            frequency: Tells::If("power:cpu_frequency is added to the events of trace.sh"),
            parking: Tells::If("cpuhp events are added to the events of trace.sh"),
            irq: Tells::If("irq events are added to the events of trace.sh"),
            charges: Tells::If("sched:sched_stat_runtime is added to the events of trace.sh"),
            marks: Tells::No,
            frames: Tells::No,
            stacks: Tells::No,
            yields: Tells::No,
            losses: Tells::Yes,
            topology: Tells::Yes,
            cannot: &[
                "which process a thread belongs to",
                "core types: the collection has siblings and packages, but no capacities or frequencies",
                "that a CPU's buffer overflowed before the first or behind the last event it kept",
                "in the eBPF flavour: the first wakeup of a thread's life from any other",
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

/// The CPU of `traces/cpu3`.
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
            let what = format!("a SchedViz collection of trace_type {other}: only FTRACE and EBPF are read");
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
        // A CPU that was offline, or recorded nothing.
        if head.is_empty() {
            continue;
        }
        if buffers.len() >= MOST_CPUS {
            return Err(Fatal::new(format!("more than {MOST_CPUS} CPUs with events"), 0));
        }
        buffers.push((CpuId(cpu), file, head));
    }
    if buffers.is_empty() {
        return Err(Fatal::new("a SchedViz collection without any event: all files traces/cpu* are empty", 0));
    }
    buffers.sort_by_key(|(cpu, ..)| *cpu);
    let layout = layout(folder, names, buffers.iter().map(|(_, _, head)| head.as_slice()))?;
    if layout.size() * buffers.len() > MOST_PAGES {
        return Err(Fatal::new("formats/header_page tells pages that are too large for so many CPUs", 0));
    }
    let decoder = Arc::new(ring::decoder(&formats, layout.order()));
    let count = buffers.len();
    let stream = |(cpu, file, head)| {
        Box::new(RingStream::new(cpu, file, head, layout, Arc::clone(&decoder), count)) as Box<dyn Stream + Send + 'a>
    };
    Ok(Opened { facts: facts(&formats), streams: buffers.into_iter().map(stream).collect() })
}

/// The enabled tracepoints.
fn formats(folder: &dyn Folder, names: &[String]) -> Result<Vec<EventFormat>, Fatal> {
    let mut formats = Vec::new();
    for name in names.iter().filter(|n| is_format(n)).take(MOST_FORMATS) {
        let text = text(folder, name)?;
        formats.push(EventFormat::parse(&text).map_err(|why| Fatal::new(format!("{name}: {}", why.0), 0))?);
    }
    if !formats.iter().any(|f| f.name == "sched_switch") {
        let what = "no formats/sched/sched_switch/format in the collection: its events cannot be read";
        return Err(Fatal::new(what, 0));
    }
    Ok(formats)
}

/// The pages' layout, and the order of their bytes: the one in which the first pages of all CPUs make sense.
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
    let good = |layout: PageLayout| heads.clone().filter(|head| layout.is_first(head)).count();
    let big = little.with_order(ByteOrder::Big);
    Ok(if good(big) > good(little) { big } else { little })
}

fn facts(formats: &[EventFormat]) -> Facts {
    let saved = |name: &str| formats.iter().any(|f| f.name == name);
    let told = |name| match (saved(name), formats.len() <= ENABLED_AT_MOST) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    };
    let (has_waking, has_wakeup) = (told("sched_waking"), told("sched_wakeup"));
    let mut lacks = vec![
        "Which process a thread belongs to is not in a SchedViz collection.".to_owned(),
        "Where a CPU's buffer overflowed before its first or behind its last event is not told.".to_owned(),
    ];
    if has_waking == Some(false) && has_wakeup == Some(false) {
        lacks
            .push("Neither sched_waking nor sched_wakeup was recorded: ready time after a wait is unknown.".to_owned());
    }
    Facts {
        format: SchedViz.id().to_owned(),
        clock: "ftrace (trace_clock not told; local by default)".to_owned(),
        has_waking,
        has_wakeup,
        has_charges: saved("sched_stat_runtime"),
        whole_machine: true,
        about: vec![("trace_type".to_owned(), "FTRACE".to_owned())],
        lacks,
        ..Facts::default()
    }
}

fn file(folder: &dyn Folder, name: &str) -> Result<Box<dyn ReadSeek + Send>, Fatal> {
    folder.open(name).map_err(|why| Fatal::new(format!("{name}: {why}"), 0))
}

/// A small file.
fn text(folder: &dyn Folder, name: &str) -> Result<String, Fatal> {
    let mut bytes = Vec::new();
    let read = file(folder, name)?.take(LARGEST_TEXT).read_to_end(&mut bytes);
    read.map_err(|why| Fatal::new(format!("{name}: {why}"), 0))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first bytes of a buffer.
fn head(file: &mut Box<dyn ReadSeek + Send>, name: &str) -> Result<Vec<u8>, Fatal> {
    let mut head = Vec::new();
    let read = file.take(32).read_to_end(&mut head);
    read.map_err(|why| Fatal::new(format!("{name}: {why}"), 0))?;
    Ok(head)
}
