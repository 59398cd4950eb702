//! The text output of `perf script`.
//!
//! Spec: `tools/perf/Documentation/perf-script.txt` and `builtin-script.c` of the Linux source. Clock: perf's own
//! (`sched_clock`), unless the recording selected another, which the text does not state. Times are in microseconds, or
//! in nanoseconds (`--ns`). perf.data contains more, and corewise reads it ten times as fast; this importer is for
//! texts that were kept.
//!
//! What the format does not contain: the same as perf.data; and, without `--header`, the recorded events and the
//! machine; without `-F +pid`, the processes; without `--show-lost-events`, losses.
//!
//! ```text
//!   mod     open: facts from the start     head     a line's columns       stream  lines → events, callchains
//!   header  the lines of `--header`         records  perf's own records     samples samples and their frames
//! ```

mod head;
mod header;
mod records;
mod samples;
mod stream;

use crate::sampled::{by_core, is_of_time, plain_event, select};
use crate::text::Lines;
use crate::text::scan::{blanks, event};
use crate::tracepoint::table::Reader;
use crate::tracepoint::{Arguments, Names, Place};
use head::{Head, with_cpu, without_cpu};
use header::Header;
use ingest::{Availability, Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sampled, Sniff, StateSource};
use model::{Batch, CoreType, CpuId, EventKind, StackId, Tid};
use records::{Record, record};
use rustc_hash::FxHashMap;
use stream::{Known, ScriptStream};

/// The importer.
pub struct PerfScript;

impl Importer for PerfScript {
    fn id(&self) -> &'static str {
        "perf script"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "perf script, best with --ns -F +pid --header --show-lost-events --show-task-events",
            provides: &[
                (Capability::Switches, Availability::If("-e sched:sched_switch was recorded, or --show-switch-events")),
                (Capability::Waking, Availability::If("-e sched:sched_waking was recorded")),
                (Capability::Wakeup, Availability::If("-e sched:sched_wakeup was recorded")),
                (Capability::Processes, Availability::If("-F +pid")),
                (Capability::Priority, Availability::If("with switches as tracepoints")),
                (Capability::Idle, Availability::If("-e power:cpu_idle was recorded")),
                (Capability::Frequency, Availability::If("-e power:cpu_frequency was recorded")),
                (Capability::Irq, Availability::If("-e irq:* was recorded")),
                (Capability::Charges, Availability::If("-e sched:sched_stat_runtime was recorded")),
                (Capability::Stacks, Availability::If("recorded with -g, and printed with ip and sym")),
                (Capability::Yields, Availability::If("recorded with -e syscalls:sys_enter_sched_yield")),
                (Capability::Losses, Availability::If("--show-lost-events")),
            ],
            cannot: &[
                "thread affinity",
                "which CPUs are offline (perf stops recording a CPU that goes offline)",
                "which thread ran if the kernel delivered no event (inconsistent switches are counted)",
                "the order of events on two CPUs within a microsecond, without --ns",
                "which events were recorded, without --header",
                "the build IDs of the files in callchains",
                "of which event samples are, with -F and without event",
            ],
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        let lines = || start.split(|b| *b == b'\n');
        if lines().any(|line| with_cpu(line).is_some_and(|head| !head.rest.is_empty())) {
            return Sniff::Yes;
        }
        if start.starts_with(b"# ========") && lines().any(|line| line.starts_with(b"# hostname :")) {
            return Sniff::Yes;
        }
        let named = |head: &Head<'_>| !event(head.rest).0.is_empty() || head.rest.starts_with(b"PERF_RECORD_");
        // Samples without their event have frames, in the same line or in the next one.
        let has_frame = |head: &Head<'_>, next: &[u8]| {
            samples::sample(head.rest)
                .is_some_and(|line| line.frame.is_some() || samples::frame(blanks(next)).is_some())
        };
        let heads = lines().zip(lines().skip(1).chain([&b""[..]]));
        let is_event =
            |(line, next): (&[u8], &[u8])| without_cpu(line).is_some_and(|h| named(&h) || has_frame(&h, next));
        if heads.into_iter().any(is_event) { Sniff::Maybe } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = Lines::new(match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => {
                return Err(Fatal::new("this is a folder, not perf script text: give the text file itself", 0));
            }
        });
        let start = lines.head()?;
        let header = Header::read(start);
        let summary = StartSummary::of(start);
        if !summary.heads {
            let what =
                "no line of this text has a time: run perf script with -F comm,pid,tid,cpu,time,event,trace --ns";
            return Err(Fatal::new(what, 0));
        }
        let mut arguments = Arguments::new(Reader::PerfScript);
        arguments.learn(start);
        let known = Known {
            arguments,
            has_cpu: summary.cpus,
            switch_records: !header.has("sched_switch").unwrap_or(summary.switches > 0),
            sampled: summary.sampled(&header),
            preempt_recorded: summary.preempt || header.kernel.is_some_and(|version| version >= (4, 17)),
        };
        let facts = Facts { sampled: known.sampled.clone(), ..facts(header, &summary) };
        Ok(Opened { facts, streams: vec![Box::new(ScriptStream::new(lines, known))] })
    }
}

/// The maximum number of events with samples that are listed.
const MAX_SAMPLED: usize = 64;

/// What the start of a text shows.
#[derive(Default)]
struct StartSummary {
    heads: bool,
    cpus: bool,
    digits: u8,
    /// The number of switches, and of those whose previous thread is the one that the CPU's switch before started.
    switches: u64,
    linked: u64,
    /// The number of switches to the idle task, and from it.
    to_idle: u64,
    from_idle: u64,
    switch_records: bool,
    preempt: bool,
    charges: bool,
    idle_line: bool,
    /// The events that have samples, in the order in which they occur first.
    sampled: Vec<String>,
    /// Those of a type of cores: the event, the type, and the event as it was printed.
    by_core: Vec<(String, CoreType, String)>,
}

impl StartSummary {
    fn of(start: &[u8]) -> Self {
        let lines = || start.split(|b| *b == b'\n');
        let mut summary = Self { cpus: lines().any(|line| with_cpu(line).is_some()), ..Self::default() };
        let read = if summary.cpus { with_cpu } else { without_cpu };
        let (mut arguments, mut names, mut out) = (Arguments::new(Reader::PerfScript), Names::new(), Batch::default());
        let mut current: FxHashMap<CpuId, Tid> = FxHashMap::default();
        for head in lines().filter_map(read) {
            summary.heads = true;
            summary.digits = summary.digits.max(head.stamp.digits.unwrap_or(0));
            if let Some(record) = record(head.rest) {
                summary.switch_records |= matches!(record, Record::Switch { .. });
                summary.preempt |= matches!(record, Record::Switch { preempted: true, .. });
                summary.idle_line |= head.tid == Tid::IDLE && matches!(record, Record::Switch { .. });
                continue;
            }
            let (name, args) = event(head.rest);
            summary.charges |= name == b"sched_stat_runtime";
            summary.idle_line |= head.tid == Tid::IDLE;
            if name != b"sched_switch" {
                summary.sees_sample(&head, name, &arguments);
                continue;
            }
            let place = Place { at: head.stamp.at, current: head.tid, stack: StackId::NONE };
            if let Ok(EventKind::Switch(switch)) = arguments.decode(name, args, place, &mut names, &mut out) {
                summary.switches += 1;
                summary.to_idle += u64::from(switch.next == Tid::IDLE);
                summary.from_idle += u64::from(switch.prev == Tid::IDLE);
                summary.linked += u64::from(current.insert(head.cpu, switch.next) == Some(switch.prev));
            }
        }
        summary
    }

    /// Notes the event of a line, if it is a sample.
    fn sees_sample(&mut self, head: &Head<'_>, name: &[u8], arguments: &Arguments) {
        if let Some(line) = samples::sample(head.rest).filter(|_| !arguments.knows(name))
            && self.sampled.len() < MAX_SAMPLED
            && self.sampled.iter().all(|event| *event != line.event)
        {
            self.sampled.push(line.event.to_owned());
        }
        if let Some(line) = samples::sample(head.rest)
            && line.core() != CoreType::Uniform
            && self.by_core.len() < MAX_SAMPLED
            && self.by_core.iter().all(|(.., printed)| *printed != line.printed)
        {
            self.by_core.push((line.event.to_owned(), line.core(), line.printed.to_owned()));
        }
    }

    /// Selects the event whose samples are the profile, of those at the start and those of time or cycles that the header lists.
    fn sampled(&self, header: &Header) -> Option<Sampled> {
        let listed = header.events.iter().map(|event| plain_event(event)).filter(|event| is_of_time(event));
        let all = self.sampled.iter().map(String::as_str).chain(listed.filter(|_| !self.sampled.is_empty()));
        let selected = select(all)?;
        let of_cores = self.by_core.iter().filter(|(event, ..)| *event == selected.event);
        let by_core = by_core(of_cores.map(|(_, core, printed)| (*core, printed.as_str())));
        Some(Sampled { by_core, ..selected })
    }

    /// Whether the switches are those of whole CPUs. If only some threads were recorded, a switch to another thread is
    /// usually not followed by a switch from it, and never if it is the idle task.
    fn whole_machine(&self) -> bool {
        let follow = self.linked * 2 >= self.switches && (self.from_idle > 0 || self.to_idle < 2);
        self.cpus && if self.switches > 1 { follow } else { self.idle_line }
    }
}

fn facts(header: Header, summary: &StartSummary) -> Facts {
    let (has_waking, has_wakeup) = (header.has("sched_waking"), header.has("sched_wakeup"));
    let (whole_machine, has_yields) = (summary.whole_machine(), header.has("sys_enter_sched_yield") == Some(true));
    let mut about = header.about;
    about.push(("resolution".to_owned(), if summary.digits > 6 { "1 ns" } else { "1 µs" }.to_owned()));
    let mut lacks = vec!["perf script text does not contain thread affinity.".to_owned()];
    let mut add_lack = |what: &str| lacks.push(what.to_owned());
    if summary.digits <= 6 {
        add_lack("Times are rounded to microseconds: use `perf script --ns` for nanoseconds.");
    }
    // Of samples alone, the report says first of all that there are no switches.
    let of_samples = !summary.sampled.is_empty() && !summary.switch_records;
    if summary.switches == 0 && !of_samples && !header.events.iter().any(|e| e == "sched_switch") {
        add_lack(if summary.switch_records {
            "Recorded with --switch-events, without tracepoints, so without wakeups."
        } else {
            "There are no context switches at the start of this text: record with `perf sched record`."
        });
    }
    if !whole_machine && (summary.switches > 0 || summary.switch_records) {
        add_lack("Probably only single threads were recorded: CPU time outside them is unknown.");
    }
    if !summary.cpus {
        add_lack("This text does not contain the CPUs of events: record with -a, and print with -F +cpu.");
    }
    Facts {
        format: PerfScript.id().to_owned(),
        clock: "perf (sched_clock, unless the recording selected another)".to_owned(),
        has_waking,
        has_wakeup,
        has_yields,
        has_charges: summary.charges,
        whole_machine,
        states: StateSource::Printed,
        online: header.online,
        about,
        lacks,
        ..Facts::default()
    }
}
