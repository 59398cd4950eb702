//! `trace.dat` of trace-cmd, versions 6 and 7.
//!
//! Spec: `trace-cmd.dat.v6(5)` and `trace-cmd.dat.v7(5)`; the pages of a CPU are the kernel's ring buffer
//! (`Documentation/trace/ring-buffer-map.rst`, `include/linux/ring_buffer.h`, and `events/header_page` in each file).
//! Clock: the one that the recording selected (`trace_clock`; by default `local`), which the file states. x86-tsc is
//! converted to ns with the file's factor, and rejected without one.
//!
//! What the format does not contain: the enabled events (it describes all that exist); the processes of threads; thread
//! affinity; the machine. Of several instances only one is read, the top one if it has events: two instances may
//! contain the same switch, which would make the CPU's switches inconsistent.
//!
//! ```text
//!   mod      open: facts of the file             head     heads of both versions    options  common to both versions
//!   stream   pages → events, losses              blocks   a CPU's pages in turn     packed   zstd and zlib
//!   kernel_stack  callchains and their names     reader   numbers and texts, checked
//! ```

mod blocks;
mod head;
mod kernel_stack;
mod options;
mod packed;
mod reader;
mod stream;

use crate::tracepoint::{EventFormat, state_source};
use blocks::{Blocks, MAX_PAGE, Region};
use head::Head;
use ingest::{Availability, Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sniff, StateSource};
use kernel_stack::KernelStacks;
use model::CpuId;
use options::{Buffer, CpuData};
use stream::{DatStream, Parts, Records, Scale};

/// The importer.
pub struct TraceDat;

impl Importer for TraceDat {
    fn id(&self) -> &'static str {
        "trace.dat"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "trace-cmd record, trace-cmd extract, KernelShark; versions 6 and 7, packed or not, both byte orders",
            provides: &[
                (Capability::Switches, Availability::If("-e sched:sched_switch")),
                (Capability::Waking, Availability::If("-e sched:sched_waking")),
                (Capability::Wakeup, Availability::If("-e sched:sched_wakeup")),
                (Capability::Priority, Availability::If("with switches")),
                (Capability::Idle, Availability::If("-e power:cpu_idle")),
                (Capability::Frequency, Availability::If("-e power:cpu_frequency")),
                (Capability::Parking, Availability::If("-e cpuhp")),
                (Capability::Irq, Availability::If("-e irq")),
                (Capability::Charges, Availability::If("-e sched:sched_stat_runtime")),
                (Capability::Marks, Availability::If("programs write to trace_marker in atrace's format")),
                (
                    Capability::Stacks,
                    Availability::If("-e sched:sched_switch -R 'stacktrace if prev_state != 0' (the kernel's part)"),
                ),
                (
                    Capability::Yields,
                    Availability::If(
                        "-e syscalls:sys_enter_sched_yield, or -e raw_syscalls; known from the first call",
                    ),
                ),
                (
                    Capability::FutexCalls,
                    Availability::If(
                        "-e syscalls:sys_enter_futex -e syscalls:sys_exit_futex, or -e raw_syscalls (x86-64 and arm64); known from the \
                         first return",
                    ),
                ),
                (Capability::Losses, Availability::Yes),
            ],
            cannot: &[
                "the processes of threads",
                "thread affinity",
                "the machine (core types, siblings)",
                "which events were enabled (all existing events are described)",
                "the content of instances other than the one that is read",
            ],
        }
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        if head.starts_with(head::MAGIC) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let Input::File(mut file) = from else {
            let what =
                "a trace.dat cannot be read from a pipe, because its parts refer to offsets: give the file itself";
            return Err(Fatal::new(what, 0));
        };
        let start = head::start(&mut *file)?;
        let mut described = Described::default();
        let mut records = Records::new(start.order, start.long);
        let mut learn = |format: EventFormat| {
            described.learn(&format);
            records.learn(&format);
        };
        let head = head::read(&mut *file, start, &mut learn)?;
        let chosen = choose(&head)?;
        let scale = scale(&head, &chosen)?;
        let page_size = page_size(&head, &chosen)?;
        check_places(&chosen)?;
        let facts = facts(&head, &chosen, &described);
        if let Some((_, machine)) = facts.about.iter().find(|(what, _)| what == "arch") {
            records.set_machine(machine);
        }
        let packed = !head.codec.is_plain();
        let regions: Vec<_> = with_data(&chosen).map(|d| (d.cpu, Region::new(d, start.length, packed))).collect();
        let stream = DatStream::new(Parts {
            blocks: Blocks::new(file, start.order, head.codec, page_size, regions.len()),
            layout: head.layout,
            page_size: page_size as usize,
            scale,
            records,
            stacks: KernelStacks::new(head.symbols),
            regions,
            stats: head.options.stats.into_iter().filter(|s| s.buffer == chosen.name).collect(),
            cmdlines: head.cmdlines,
            tgids: head.options.tgids,
        });
        Ok(Opened { facts, streams: vec![Box::new(stream)] })
    }
}

/// Which of the scheduler events a recording describes. An event that is not described was not recorded; one that is
/// described may have been recorded.
#[derive(Default)]
struct Described {
    switch: bool,
    waking: bool,
    wakeup: bool,
    charges: bool,
    states: StateSource,
}

impl Described {
    fn learn(&mut self, format: &EventFormat) {
        match format.name.as_str() {
            "sched_switch" => {
                self.switch = true;
                self.states = state_source(std::iter::once(format));
            }
            "sched_waking" => self.waking = true,
            "sched_wakeup" => self.wakeup = true,
            "sched_stat_runtime" => self.charges = true,
            _ => {}
        }
    }
}

fn with_data(buffer: &Buffer) -> impl Iterator<Item = &CpuData> {
    buffer.cpus.iter().filter(|c| c.size > 0)
}

/// Returns the instance to read: the top one if it has events, otherwise the one with most data.
fn choose(head: &Head) -> Result<Buffer, Fatal> {
    let size = |b: &Buffer| b.cpus.iter().fold(0_u64, |sum, c| sum.saturating_add(c.size));
    let top = head.buffers.iter().find(|b| b.name.is_empty() && size(b) > 0);
    let chosen = top.or_else(|| head.buffers.iter().rev().max_by_key(|b| size(b)));
    chosen.cloned().ok_or_else(|| Fatal::new("this trace.dat contains no events: the recording was not completed", 0))
}

fn clock_name<'h>(head: &'h Head, chosen: &'h Buffer) -> &'h str {
    [chosen.clock.as_str(), head.options.clock.as_str()].into_iter().find(|c| !c.is_empty()).unwrap_or("")
}

/// Returns how times are converted to nanoseconds.
fn scale(head: &Head, chosen: &Buffer) -> Result<Scale, Fatal> {
    let clock = clock_name(head, chosen);
    let ticks = head.options.tsc.filter(|(by, _)| *by > 0);
    let counts = match clock {
        "counter" => Some("events"),
        "uptime" => Some("kernel ticks"),
        "x86-tsc" | "ppc-tb" if ticks.is_none() => Some("processor ticks of unknown length"),
        _ => None,
    };
    if let Some(what) = counts {
        let what = format!("the clock \"{clock}\" counts {what}, not time: record with `trace-cmd record -C mono`");
        return Err(Fatal::new(what, 0));
    }
    Ok(Scale { ticks, offset: head.options.offset })
}

/// Returns the page size. Version 7 contains it for each instance. A kernel with larger sub-buffers states it in the
/// page description.
fn page_size(head: &Head, chosen: &Buffer) -> Result<u64, Fatal> {
    let size = if chosen.page_size > 0 { chosen.page_size } else { head.page_size.max(head.layout.size() as u64) };
    if !(64..=MAX_PAGE).contains(&size) {
        return Err(Fatal::new(format!("a page size of {size} bytes is invalid: the file is damaged"), 0));
    }
    Ok(size)
}

/// Checks that no two CPUs share data. Otherwise a hostile file would be read many times.
fn check_places(chosen: &Buffer) -> Result<(), Fatal> {
    let mut places: Vec<_> = with_data(chosen).collect();
    places.sort_by_key(|c| c.at);
    for (a, b) in places.iter().zip(places.iter().skip(1)) {
        if a.at.saturating_add(a.size) > b.at {
            let what = format!("the events of CPU {} and CPU {} overlap here: the file is damaged", a.cpu.0, b.cpu.0);
            return Err(Fatal::new(what, b.at));
        }
    }
    Ok(())
}

fn facts(head: &Head, chosen: &Buffer, described: &Described) -> Facts {
    let mut online: Vec<CpuId> = with_data(chosen).map(|c| c.cpu).collect();
    online.sort_unstable();
    online.dedup();
    // If nothing is described, it is unknown what was recorded.
    let has = |is_described| if is_described || !described.switch { None } else { Some(false) };
    Facts {
        format: TraceDat.id().to_owned(),
        clock: clock(head, chosen),
        has_waking: has(described.waking),
        has_wakeup: has(described.wakeup),
        has_charges: described.charges,
        whole_machine: true,
        states: described.states,
        online,
        cpu_count: u32::try_from(chosen.cpus.len()).ok().filter(|count| *count > 0),
        about: about(head, chosen),
        lacks: lacks(head, chosen, described),
        ..Facts::default()
    }
}

fn clock(head: &Head, chosen: &Buffer) -> String {
    let mut clock = match clock_name(head, chosen) {
        "" => "ftrace (trace_clock not recorded)".to_owned(),
        "mono" => "CLOCK_MONOTONIC (mono)".to_owned(),
        "mono_raw" => "CLOCK_MONOTONIC_RAW (mono_raw)".to_owned(),
        "boot" => "CLOCK_BOOTTIME (boot)".to_owned(),
        "tai" => "CLOCK_TAI (tai)".to_owned(),
        name => format!("ftrace {name}"),
    };
    if head.options.tsc.is_some() {
        clock += ", as ns";
    }
    if head.options.dated {
        clock += ", shifted to the time of day";
    } else if head.options.offset != 0 {
        clock += ", shifted by the file's own offset";
    }
    clock
}

fn about(head: &Head, chosen: &Buffer) -> Vec<(String, String)> {
    let mut about = Vec::new();
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            about.push((name.to_owned(), value.to_owned()));
        }
    };
    // "Linux host 6.12.1 x86_64"
    let words: Vec<&str> = head.options.uname.split_whitespace().collect();
    if let [_, host, release, .., arch] = words.as_slice() {
        add("hostname", host);
        add("kernel_release", release);
        add("arch", arch);
    }
    add("trace_cmd_version", &head.options.version);
    add("file_version", &head.version.to_string());
    add("instance", &chosen.name);
    about
}

fn lacks(head: &Head, chosen: &Buffer, described: &Described) -> Vec<String> {
    let mut lacks = vec!["A trace.dat does not contain thread affinity.".to_owned()];
    if head.options.tgids.is_empty() {
        lacks.push("A trace.dat does not contain the processes of threads.".to_owned());
    }
    if !described.switch {
        lacks.push("No context switches were recorded: record with `trace-cmd record -e sched`.".to_owned());
    } else if !described.waking && !described.wakeup {
        lacks.push("Neither sched_waking nor sched_wakeup was recorded.".to_owned());
    }
    let name = |b: &Buffer| if b.name.is_empty() { "top".to_owned() } else { format!("\"{}\"", b.name) };
    let others: Vec<String> =
        head.buffers.iter().filter(|b| b.name != chosen.name && with_data(b).next().is_some()).map(name).collect();
    if !others.is_empty() {
        let read = if chosen.name.is_empty() { "top".to_owned() } else { name(chosen) };
        lacks.push(format!("Only the {read} instance was read. Instances not read: {}.", others.join(", ")));
    }
    if head.options.shifted {
        lacks.push("It was recorded in a guest: times are on the guest's clock, not its host's.".to_owned());
    }
    lacks
}
