//! `perf.data`, as files and as pipes (`perf record -o -`).
//!
//! Spec: `tools/perf/Documentation/perf.data-file-format.txt` and `include/uapi/linux/perf_event.h` of the Linux source.
//! Clock: perf's own (`sched_clock`) unless the recording chose another (`-k`), which the file then says.
//!
//! What the format cannot tell: which CPUs a thread may use; the run queue of a preempted thread; who ran where the kernel
//! delivered no event. Recordings without tracepoints (`--switch-events`) tell no wakings, so ready time is not known.
//!
//! Our own reader rather than the crate `linux-perf-data`: that one hands out 2.2–2.6 million records a second before any
//! field is decoded, and `perf sched timehist`, which we must keep up with, does 4–7 in all (DESIGN.md).
//!
//! ```text
//!   mod     open: what stands before the events      header    magic, attributes, where the sections lie
//!   frames  bytes → records (also compressed ones)   features  the header's facts about the machine
//!   stream  records → events, losses                 tracing   the tracepoints' descriptions
//!   sample  where a record's fields lie              stacks    callchains, by number
//!   reach   how far everything has been told         mappings  what lay at their addresses
//! ```

mod features;
mod frames;
mod header;
pub(crate) mod losses;
mod mappings;
mod reach;
mod sample;
mod stacks;
mod stream;
mod tracing;

use crate::tracepoint::EventFormat;
use frames::Frames;
use header::Header;
use ingest::{Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sniff, Tells};
use model::CpuId;
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
            tells: &[
                (Capability::Switches, Tells::If("-e sched:sched_switch, or --switch-events")),
                (Capability::Waking, Tells::If("-e sched:sched_waking, as perf sched record does")),
                (Capability::Wakeup, Tells::If("-e sched:sched_wakeup")),
                (Capability::Processes, Tells::Yes),
                (Capability::Priority, Tells::If("with switches as tracepoints")),
                (Capability::Idle, Tells::If("-e power:cpu_idle")),
                (Capability::Frequency, Tells::If("-e power:cpu_frequency")),
                (Capability::Irq, Tells::If("-e irq:*")),
                (Capability::Charges, Tells::If("-e sched:sched_stat_runtime, as perf sched record does")),
                (Capability::Stacks, Tells::If("-g")),
                (Capability::Yields, Tells::If("-e syscalls:sys_enter_sched_yield")),
                (Capability::Losses, Tells::Yes),
                (Capability::Topology, Tells::If("made by perf record on the machine itself (siblings, hybrid PMUs)")),
            ],
            cannot: &[
                "which CPUs a thread may use",
                "which CPUs are offline (perf records nothing more of a CPU that was)",
                "who ran where the kernel delivered no event (broken links are counted)",
                "how long a thread was ready, in recordings without tracepoints",
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
                let what = "a perf.data directory (perf record --threads) is not read yet; record without --threads";
                return Err(Fatal::new(what, 0));
            }
        };
        open_events(header, frames)
    }
}

/// Everything that the recording says before its first event.
struct Preamble {
    header: Header,
    /// Whether `ID_INDEX` says that the events are of CPUs (true) or of threads (false), where it stands in the file.
    of_cpus: Option<bool>,
}

fn open_events<'a>(header: Header, mut frames: Frames<'a>) -> Result<Opened<'a>, Fatal> {
    let mut before = Preamble { header, of_cpus: None };
    // Pipes tell attributes and features as records before the first event; files tell which CPU an id is of.
    while let Some(record) = frames.peek()? {
        if record.kind < header::FIRST_SYNTHETIC || !before.learn(record.kind, record.body) {
            break;
        }
        let kind = record.kind;
        frames.take();
        if kind == header::TRACING_DATA {
            let size = before.header.tracing_size;
            let bytes = frames.take_aside(size)?;
            before.header.tracing = bytes;
        }
    }
    let Preamble { header, of_cpus } = before;
    if header.attrs.is_empty() {
        return Err(Fatal::new(
            "perf.data without any event description: nothing was recorded, or the file is cut off",
            0,
        ));
    }
    let formats = tracing::formats(&header.tracing)?;
    let facts = facts(&header, &formats, of_cpus);
    let stream = PerfStream::new(frames, header, &formats)?;
    Ok(Opened { facts, streams: vec![Box::new(stream)] })
}

impl Preamble {
    /// Reads a record that stands before the events; `false` where it is none of those.
    fn learn(&mut self, kind: u32, body: &[u8]) -> bool {
        let order = self.header.order;
        match kind {
            header::HEADER_ATTR => {
                if let Some(attr) = header::attr_of_record(body, order) {
                    self.header.add_attr(attr);
                }
            }
            header::TRACING_DATA => self.header.tracing_size = order.u32_at(body, 0).unwrap_or(0) as usize,
            header::HEADER_FEATURE => {
                if let Some(id) = order.u64_at(body, 0) {
                    self.header.add_feature(id as u32, body.get(8..).unwrap_or_default());
                }
            }
            header::ID_INDEX => {
                // nr, then (id, idx, cpu, tid) each; a CPU's events have thread −1.
                for entry in body.get(8..).unwrap_or_default().chunks_exact(32) {
                    let (id, cpu, tid) = (order.u64_at(entry, 0), order.u64_at(entry, 16), order.u64_at(entry, 24));
                    if let (Some(id), Some(cpu), Some(tid)) = (id, cpu, tid) {
                        self.of_cpus = Some(self.of_cpus.unwrap_or(true) && tid as i64 == -1);
                        self.header.add_id(id, u32::try_from(cpu).ok().map(CpuId));
                    }
                }
            }
            header::FINISHED_ROUND => return false,
            _ => {}
        }
        true
    }
}

/// The tracepoints that were enabled, by the attributes' own numbers.
fn enabled<'f>(header: &Header, formats: &'f [EventFormat]) -> Vec<&'f str> {
    let traced = |f: &&EventFormat| header.attrs.iter().any(|a| a.is_tracepoint() && a.config == u64::from(f.id));
    formats.iter().filter(traced).map(|f| f.name.as_str()).collect()
}

fn facts(header: &Header, formats: &[EventFormat], of_cpus: Option<bool>) -> Facts {
    let names = enabled(header, formats);
    let has = |name: &str| names.contains(&name);
    let told = features::read(header);
    let mut cpus: Vec<CpuId> = header.cpu_of_id.values().copied().collect();
    cpus.sort_unstable();
    cpus.dedup();
    let whole = of_cpus.unwrap_or_else(|| header.attrs.iter().all(|a| !a.inherit && !a.enable_on_exec));
    let mut lacks = vec!["Which CPUs a thread may use is not in perf.data.".to_owned()];
    if !has("sched_switch") {
        lacks.push(if header.attrs.iter().any(|a| a.context_switch) {
            "Recorded with --switch-events, without tracepoints: wakings are unknown, so ready time is unknown."
                .to_owned()
        } else {
            "No context switches were recorded: record with `perf sched record`, or `perf record --switch-events`."
                .to_owned()
        });
    } else if !has("sched_waking") && !has("sched_wakeup") {
        lacks
            .push("Neither sched_waking nor sched_wakeup was recorded: ready time after a wait is unknown.".to_owned());
    }
    if !whole {
        lacks.push("Only single threads were recorded: CPU time outside them is unknown.".to_owned());
    }
    if !header.attrs.iter().map(sample::Layout::of).any(|l| l.tells_cpu()) {
        lacks.push("On which CPU anything ran was not recorded: record with -a, or with --sample-cpu.".to_owned());
    }
    Facts {
        format: PerfData.id().to_owned(),
        clock: header.attrs.iter().find_map(|a| a.clock()).unwrap_or("perf (sched_clock)").to_owned(),
        has_waking: Some(has("sched_waking")),
        has_wakeup: Some(has("sched_wakeup")),
        has_yields: has("sys_enter_sched_yield"),
        has_charges: has("sched_stat_runtime"),
        whole_machine: whole,
        online: if told.online.is_empty() && whole { cpus } else { told.online },
        machine: told.machine,
        about: told.about,
        lacks,
        ..Facts::default()
    }
}
