//! `perf.data`, as files and as pipes (`perf record -o -`).
//!
//! Spec: `tools/perf/Documentation/perf.data-file-format.txt` and `include/uapi/linux/perf_event.h` of the Linux
//! source. Clock: perf's own (`sched_clock`), unless the recording selected another (`-k`), which the file states.
//!
//! What the format does not contain: thread affinity; the run queue of a preempted thread; which thread ran if the
//! kernel delivered no event. Recordings without tracepoints (`--switch-events`) contain no wakeups, so ready time is
//! unknown.
//!
//! The reader is our own rather than the crate `linux-perf-data`: that crate returns 2.2–2.6 million records a second
//! before any field is decoded, while `perf sched timehist`, which we must match, processes 4–7 in total.
//!
//! ```text
//!   mod     open: what precedes the events           header    magic, attributes, places of the sections
//!   frames  bytes → records (also compressed ones)   features  the header's facts about the machine
//!   stream  records → events, losses                 tracing   the tracepoint descriptions
//!   sample  the fields of a record                   stacks    callchains and their IDs
//!   reach   the time up to which all is read         mappings  what their addresses refer to
//!   profile the event whose samples are shown        throttling  when the kernel did not sample
//!   user_stack  copies of stacks, and records of calls
//! ```

mod cpu_map;
mod features;
mod frames;
mod header;
pub(crate) mod losses;
mod mappings;
mod profile;
mod reach;
mod sample;
mod stacks;
mod stream;
mod throttling;
mod tracing;
mod user_stack;

use crate::sampled;
use crate::tracepoint::{EventFormat, state_source};
use features::Metadata;
use frames::Frames;
use header::{Header, TracingData};
use ingest::{Availability, Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sampled, Sniff};
use model::CpuId;
use rustc_hash::FxHashSet;
use stream::PerfStream;

/// The importer.
pub struct PerfData;

impl Importer for PerfData {
    fn id(&self) -> &'static str {
        "perf.data"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "perf record, perf sched record; files and pipes, compressed (-z) or not",
            provides: &[
                (Capability::Switches, Availability::If("-e sched:sched_switch, or --switch-events")),
                (Capability::Waking, Availability::If("-e sched:sched_waking, as perf sched record does")),
                (Capability::Wakeup, Availability::If("-e sched:sched_wakeup")),
                (Capability::Processes, Availability::Yes),
                (Capability::Priority, Availability::If("with switches as tracepoints")),
                (Capability::Idle, Availability::If("-e power:cpu_idle")),
                (Capability::Frequency, Availability::If("-e power:cpu_frequency")),
                (Capability::Irq, Availability::If("-e irq:*")),
                (Capability::Charges, Availability::If("-e sched:sched_stat_runtime, as perf sched record does")),
                (
                    Capability::Stacks,
                    Availability::If(
                        "-g; of --call-graph dwarf and lbr, too (dwarf: on the recorded machine, or elsewhere with --buildid-mmap and the files)",
                    ),
                ),
                (
                    Capability::Yields,
                    Availability::If("-e syscalls:sys_enter_sched_yield; with raw_syscalls:* from the first call"),
                ),
                (
                    Capability::FutexCalls,
                    Availability::If(
                        "-e syscalls:sys_enter_futex -e syscalls:sys_exit_futex, or -e raw_syscalls:*, as perf trace record does \
                         (x86-64 and arm64); known from the first return",
                    ),
                ),
                (Capability::Losses, Availability::Yes),
                (
                    Capability::Topology,
                    Availability::If("made by perf record on the machine itself (siblings, hybrid PMUs)"),
                ),
            ],
            cannot: &[
                "thread affinity",
                "which CPUs are offline (perf stops recording a CPU that goes offline)",
                "which thread ran if the kernel delivered no event (inconsistent switches are counted)",
                "how long a thread was ready, without tracepoints",
            ],
        }
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        match head.first_chunk::<8>() {
            Some(magic) if header::byte_order(*magic).is_some() => Sniff::Yes,
            _ => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let (header, frames) = match from {
            Input::File(file) => header::read_file(file)?,
            Input::Pipe(pipe) => header::read_pipe(pipe)?,
            Input::Folder(_) => {
                let what = "perf.data directories (perf record --threads) are not supported: record without --threads";
                return Err(Fatal::new(what, 0));
            }
        };
        open_events(header, frames)
    }
}

/// What the recording contains before its first event.
struct Preamble {
    header: Header,
    /// Whether `ID_INDEX`, if the file has one, shows that the events are of CPUs (true) or of threads (false).
    of_cpus: Option<bool>,
    /// The CPUs that perf records, by its options; empty if not stated, or if it recorded single threads.
    cpu_map: Vec<CpuId>,
    /// The size of the tracepoint descriptions that follow the record just read.
    payload: usize,
}

fn open_events<'a>(header: Header, mut frames: Frames<'a>) -> Result<Opened<'a>, Fatal> {
    let mut before = Preamble { header, of_cpus: None, cpu_map: Vec::new(), payload: 0 };
    // Pipes contain attributes and features as records before the first event; files contain the CPU of each ID.
    while let Some(record) = frames.peek()? {
        if record.kind < header::FIRST_SYNTHETIC || !before.learn(record.kind, record.body) {
            break;
        }
        frames.take();
        if before.payload > 0 {
            before.header.tracing = frames.take_payload(std::mem::take(&mut before.payload))?;
        }
    }
    let Preamble { mut header, of_cpus, cpu_map, .. } = before;
    if header.attrs.is_empty() {
        return Err(Fatal::new(
            "perf.data contains no event descriptions: nothing was recorded, or the file is cut off",
            0,
        ));
    }
    let formats = tracing::formats(&header.tracing)?;
    let metadata = features::read(&header);
    let sampled = profile::select(&mut header, metadata.machine.as_ref());
    let facts = facts(&header, &formats, (of_cpus, cpu_map), metadata, sampled);
    let stream = PerfStream::new(frames, header, &formats, facts.whole_machine)?;
    Ok(Opened { facts, streams: vec![Box::new(stream)] })
}

impl Preamble {
    /// Reads a record that precedes the events; `false` if it is not one.
    fn learn(&mut self, kind: u32, body: &[u8]) -> bool {
        let order = self.header.order;
        match kind {
            header::HEADER_ATTR => {
                if let Some(attr) = header::attr_of_record(body, order) {
                    self.header.add_attr(attr);
                }
            }
            header::TRACING_DATA => match header::tracing_data(body, order) {
                TracingData::Within(bytes) => self.header.tracing = bytes.to_vec(),
                TracingData::After(size) => self.payload = size,
            },
            header::HEADER_FEATURE => {
                if let Some(id) = order.u64_at(body, 0) {
                    self.header.add_feature(id as u32, body.get(8..).unwrap_or_default());
                }
            }
            header::ID_INDEX => {
                // nr, then (id, idx, cpu, tid) each; the events of a CPU have TID −1. Of several events, those with switch
                // records count: perf records them of all CPUs even if it samples one program.
                let switching = self.header.attrs.iter().filter(|attr| attr.context_switch);
                let switching: FxHashSet<u64> = switching.flat_map(|attr| attr.ids.iter().copied()).collect();
                for entry in body.get(8..).unwrap_or_default().chunks_exact(32) {
                    let (id, cpu, tid) = (order.u64_at(entry, 0), order.u64_at(entry, 16), order.u64_at(entry, 24));
                    if let (Some(id), Some(cpu), Some(tid)) = (id, cpu, tid) {
                        if switching.is_empty() || switching.contains(&id) {
                            self.of_cpus = Some(self.of_cpus.unwrap_or(true) && tid as i64 == -1);
                        }
                        self.header.add_id(id, u32::try_from(cpu).ok().map(CpuId));
                    }
                }
            }
            header::CPU_MAP => self.cpu_map = cpu_map::read(body, order).unwrap_or_default(),
            header::FINISHED_ROUND => return false,
            _ => {}
        }
        true
    }
}

/// Returns the enabled tracepoints, according to the attributes.
fn enabled<'f>(header: &Header, formats: &'f [EventFormat]) -> Vec<&'f str> {
    let traced = |f: &&EventFormat| header.attrs.iter().any(|a| a.is_tracepoint() && a.config == u64::from(f.id));
    formats.iter().filter(traced).map(|f| f.name.as_str()).collect()
}

fn facts(
    header: &Header,
    formats: &[EventFormat],
    (of_cpus, cpu_map): (Option<bool>, Vec<CpuId>),
    metadata: Metadata,
    sampled: Option<Sampled>,
) -> Facts {
    let names = enabled(header, formats);
    let has = |name: &str| names.contains(&name);
    let mut cpus: Vec<CpuId> = header.cpu_of_id.values().copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    let whole_machine = of_cpus.unwrap_or_else(|| header.attrs.iter().all(|a| !a.inherit && !a.enable_on_exec));
    let mut lacks = vec!["perf.data does not contain thread affinity.".to_owned()];
    // Of samples alone, the report says first of all that there are no switches.
    let of_samples = sampled.is_some() && !header.attrs.iter().any(|a| a.context_switch);
    if !has("sched_switch") && !of_samples {
        lacks.push(if header.attrs.iter().any(|a| a.context_switch) {
            "Recorded with --switch-events, without tracepoints, so without wakeups.".to_owned()
        } else {
            "No context switches were recorded: record with `perf sched record`, or `perf record --switch-events`."
                .to_owned()
        });
    } else if has("sched_switch") && !has("sched_waking") && !has("sched_wakeup") {
        lacks.push("Neither sched_waking nor sched_wakeup was recorded.".to_owned());
    }
    let has_switches = has("sched_switch") || header.attrs.iter().any(|a| a.context_switch);
    if !whole_machine && has_switches {
        lacks.push("Only single threads were recorded: CPU time outside them is unknown.".to_owned());
    }
    if header.attrs.iter().any(header::Attr::records_calls) {
        lacks.push(
            "Callchains of programs are the processor's records of calls (--call-graph lbr): the last 8 to 32 of each thread, which need not \
             reach the root."
                .to_owned(),
        );
    }
    let traces = || header.attrs.iter().filter(|attr| sampled::is_hardware_trace(&attr.name));
    if traces().next().is_some() {
        let names: Vec<&str> = traces().map(|attr| attr.name.as_str()).collect();
        lacks.push(format!(
            "corewise does not decode traces of the hardware ({}): `perf script --itrace` does.",
            names.join(", ")
        ));
    }
    if !header.attrs.iter().map(sample::Layout::of).any(|l| l.has_cpu()) {
        lacks.push("The CPUs of events were not recorded: record with -a, or with --sample-cpu.".to_owned());
    }
    Facts {
        format: PerfData.id().to_owned(),
        clock: header.attrs.iter().find_map(|a| a.clock()).unwrap_or("perf (sched_clock)").to_owned(),
        has_waking: Some(has("sched_waking")),
        has_wakeup: Some(has("sched_wakeup")),
        has_yields: has("sys_enter_sched_yield"),
        has_charges: has("sched_stat_runtime"),
        whole_machine,
        recorded: match of_cpus {
            Some(true) => cpus.clone(),
            None if whole_machine => cpu_map,
            // Of single threads, on whatever CPU they ran.
            _ => Vec::new(),
        },
        cpu_count: metadata.cpu_count,
        states: state_source(formats.iter()),
        online: if metadata.online.is_empty() && whole_machine { cpus } else { metadata.online },
        machine: metadata.machine,
        about: metadata.about,
        sampled,
        lacks,
        ..Facts::default()
    }
}
