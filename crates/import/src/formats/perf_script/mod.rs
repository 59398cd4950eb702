//! The text of `perf script`.
//!
//! Spec: `tools/perf/Documentation/perf-script.txt` and `builtin-script.c` of the Linux source. Clock: perf's own
//! (`sched_clock`) unless the recording chose another, which the text does not say. Times are microseconds, or nanoseconds
//! (`--ns`). perf.data itself tells more, and corewise reads it ten times as fast: this is for texts that people keep.
//!
//! What the format cannot tell: as for perf.data; and, without `--header`, which events were recorded and the machine;
//! without `-F +pid`, the processes; without `--show-lost-events`, losses.
//!
//! ```text
//!   mod     open: what the begin says       head     a line's columns       stream  lines → events, callchains
//!   header  the lines of `--header`         records  perf's own records
//! ```

mod head;
mod header;
mod records;
mod stream;

use crate::text::Lines;
use crate::text::scan::event;
use crate::tracepoint::table::Reader;
use crate::tracepoint::{Arguments, Names, Place};
use head::{Head, with_cpu, without_cpu};
use header::Header;
use ingest::{Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sniff, Tells};
use model::{Batch, CpuId, StackId, Tid, What};
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
            tells: &[
                (Capability::Switches, Tells::If("-e sched:sched_switch was recorded, or --show-switch-events")),
                (Capability::Waking, Tells::If("-e sched:sched_waking was recorded")),
                (Capability::Wakeup, Tells::If("-e sched:sched_wakeup was recorded")),
                (Capability::Processes, Tells::If("-F +pid")),
                (Capability::Priority, Tells::If("with switches as tracepoints")),
                (Capability::Idle, Tells::If("-e power:cpu_idle was recorded")),
                (Capability::Frequency, Tells::If("-e power:cpu_frequency was recorded")),
                (Capability::Irq, Tells::If("-e irq:* was recorded")),
                (Capability::Charges, Tells::If("-e sched:sched_stat_runtime was recorded")),
                (Capability::Stacks, Tells::If("recorded with -g")),
                (Capability::Yields, Tells::If("recorded with -e syscalls:sys_enter_sched_yield")),
                (Capability::Losses, Tells::If("--show-lost-events")),
            ],
            cannot: &[
                "which CPUs a thread may use",
                "which CPUs are offline (perf records nothing more of a CPU that was)",
                "who ran where the kernel delivered no event (broken links are counted)",
                "the order of what happened on two CPUs within a microsecond, without --ns",
                "which events were recorded, without --header",
                "which file an address of a callchain is in (perf prints those of programs counted from their files' begins)",
            ],
        }
    }

    fn sniff(&self, begin: &[u8]) -> Sniff {
        let lines = || begin.split(|b| *b == b'\n');
        if lines().any(|line| with_cpu(line).is_some_and(|head| !head.rest.is_empty())) {
            return Sniff::Yes;
        }
        if begin.starts_with(b"# ========") && lines().any(|line| line.starts_with(b"# hostname :")) {
            return Sniff::Yes;
        }
        let named = |head: Head<'_>| !event(head.rest).0.is_empty() || head.rest.starts_with(b"PERF_RECORD_");
        if lines().filter_map(without_cpu).any(named) { Sniff::Maybe } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = Lines::new(match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => return Err(Fatal::new("a folder, not a text of perf script", 0)),
        });
        let begin = lines.head()?;
        let header = Header::read(begin);
        let seen = Seen::of(begin);
        if !seen.heads {
            let what =
                "no line of this text has a time: run perf script with -F comm,pid,tid,cpu,time,event,trace --ns";
            return Err(Fatal::new(what, 0));
        }
        let mut arguments = Arguments::new(Reader::PerfScript);
        arguments.learn(begin);
        let known = Known {
            arguments,
            tells_cpu: seen.cpus,
            switch_records: !header.has("sched_switch").unwrap_or(seen.switches > 0),
            preempt_told: seen.preempt || header.kernel.is_some_and(|version| version >= (4, 17)),
        };
        let facts = facts(header, &seen);
        Ok(Opened { facts, streams: vec![Box::new(ScriptStream::new(lines, known))] })
    }
}

/// What the begin of a text shows.
#[derive(Default)]
struct Seen {
    heads: bool,
    cpus: bool,
    digits: u8,
    /// Switches, and those of them whose previous thread is the one that the CPU's switch before brought in.
    switches: u64,
    linked: u64,
    /// Switches to the idle task, and from it.
    to_idle: u64,
    from_idle: u64,
    switch_records: bool,
    preempt: bool,
    charges: bool,
    idle_line: bool,
}

impl Seen {
    fn of(begin: &[u8]) -> Self {
        let lines = || begin.split(|b| *b == b'\n');
        let mut seen = Self { cpus: lines().any(|line| with_cpu(line).is_some()), ..Self::default() };
        let read = if seen.cpus { with_cpu } else { without_cpu };
        let (mut arguments, mut names, mut out) = (Arguments::new(Reader::PerfScript), Names::new(), Batch::default());
        let mut current: FxHashMap<CpuId, Tid> = FxHashMap::default();
        for head in lines().filter_map(read) {
            seen.heads = true;
            seen.digits = seen.digits.max(head.stamp.digits.unwrap_or(0));
            if let Some(record) = record(head.rest) {
                seen.switch_records |= matches!(record, Record::Switch { .. });
                seen.preempt |= matches!(record, Record::Switch { preempted: true, .. });
                seen.idle_line |= head.tid == Tid::IDLE && matches!(record, Record::Switch { .. });
                continue;
            }
            let (name, args) = event(head.rest);
            seen.charges |= name == b"sched_stat_runtime";
            seen.idle_line |= head.tid == Tid::IDLE;
            if name != b"sched_switch" {
                continue;
            }
            let place = Place { at: head.stamp.at, current: head.tid, stack: StackId::NONE };
            if let Ok(What::Switch(switch)) = arguments.decode(name, args, place, &mut names, &mut out) {
                seen.switches += 1;
                seen.to_idle += u64::from(switch.next == Tid::IDLE);
                seen.from_idle += u64::from(switch.prev == Tid::IDLE);
                seen.linked += u64::from(current.insert(head.cpu, switch.next) == Some(switch.prev));
            }
        }
        seen
    }

    /// Whether the switches are those of whole CPUs. Where only some threads were recorded, one that goes to another thread
    /// is mostly not followed by that one's own, and never where that is the idle task.
    fn whole_machine(&self) -> bool {
        let follow = self.linked * 2 >= self.switches && (self.from_idle > 0 || self.to_idle < 2);
        self.cpus && if self.switches > 1 { follow } else { self.idle_line }
    }
}

fn facts(header: Header, seen: &Seen) -> Facts {
    let (has_waking, has_wakeup) = (header.has("sched_waking"), header.has("sched_wakeup"));
    let (whole, has_yields) = (seen.whole_machine(), header.has("sys_enter_sched_yield") == Some(true));
    let mut about = header.about;
    about.push(("resolution".to_owned(), if seen.digits > 6 { "1 ns" } else { "1 µs" }.to_owned()));
    let mut lacks = vec!["Which CPUs a thread may use is not in perf script's text.".to_owned()];
    let mut lack = |what: &str| lacks.push(what.to_owned());
    if seen.digits <= 6 {
        lack("Times are rounded to microseconds: `perf script --ns` writes them whole.");
    }
    if seen.switches == 0 && !header.events.iter().any(|e| e == "sched_switch") {
        lack(if seen.switch_records {
            "Recorded with --switch-events, without tracepoints: wakings are unknown, so ready time is unknown."
        } else {
            "No context switches are in the begin of this text: record with `perf sched record`."
        });
    }
    if !whole {
        lack("Only single threads seem to have been recorded: CPU time outside them is unknown.");
    }
    if !seen.cpus {
        lack("On which CPU anything ran is not in this text: record with -a, and print with -F +cpu.");
    }
    Facts {
        format: PerfScript.id().to_owned(),
        clock: "perf (sched_clock, unless the recording chose another)".to_owned(),
        has_waking,
        has_wakeup,
        has_yields,
        has_charges: seen.charges,
        whole_machine: whole,
        online: header.online,
        about,
        lacks,
        ..Facts::default()
    }
}
