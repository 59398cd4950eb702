//! Perfetto's own format (ui.perfetto.dev, trace_processor), written event by event, so that its viewer shows the kernel's
//! scheduling as it shows a recording of its own; and so that nothing is lost on the way back:
//!
//! **trace → export → import gives the same `thread_state` and `cpu_state`, to the nanosecond.**
//!
//! Field numbers are those of perfetto/protos/perfetto/trace: `trace.proto`, `trace_packet.proto`, `clock_snapshot.proto`,
//! `system_info.proto`, `ps/process_tree.proto`, `ftrace/*.proto`, `track_event/*.proto`, `android/frame_timeline_event.proto`,
//! `profiling/*.proto`.
//!
//! ```text
//!   clock_snapshot   system_info   process_tree   track_event "about this trace"
//!   ftrace_events { cpu 0: … }   ftrace_events { cpu 1: … }   …        a round: some thousands of events, of each CPU in
//!   ftrace_events { cpu 0: … }   …                                     order; nothing in a round is earlier than the last
//! ```
//!
//! # The kernel's events
//!
//! `sched_switch`, `sched_waking`, `sched_wakeup`, `sched_wakeup_new`, `sched_migrate_task`, `cpu_idle`, `cpu_frequency`,
//! `irq_handler_*`, `softirq_*`, `block_rq_issue`, `block_rq_complete`, `task_newtask` with `sched_process_fork` (one fork), `sched_process_exec` (`old_pid` holds
//! the process), `sched_process_exit`. An absent field was not recorded. The same holds for an event's own `pid` (of a
//! waking: the waker). States are numbered as Linux does since 4.14. Marks on a thread's own track are `print` as atrace writes them.
//!
//! # What they cannot carry
//!
//! Two legitimate places, which other readers show or ignore:
//!
//! - an instant on the track `corewise` (uuid 0x636f726577697365) named `about this trace`, whose debug annotations
//!   `corewise.…` are: `version` (1), `clock`, `begin` (ns, where the recording begins; earlier events only set the initial states),
//!   `has_waking`, `has_wakeup` (absent: not known), `has_charges`, `has_yields`, `whole_machine`, `online` and `recorded` (CPU numbers with commas), `cpu_count`,
//!   `focus`, `machine` (JSON, as `corewise topo --json`), `sampled` (JSON: the event of the samples). Annotations without that prefix are for people;
//! - **notes**: generic events of the kernel (`GenericFtraceEvent`), in order within their CPU's bundle; a bundle without
//!   `cpu` holds what names no CPU. Times in fields are absolute, as the events' own.
//!
//! | note | fields (absent: not recorded) |
//! | --- | --- |
//! | `corewise_switch` | on the `sched_switch` that follows on this CPU: `exec` (ns charged to prev so far), `state` (the number as recorded), `out` and `state_letter` (if `state` does not imply them), `prev` −1, `next` −1 (that side was not recorded), `shown` 1 (not an event: drawn for viewers at the begin of a part; its content is in notes) |
//! | `corewise_switch_nowhere` | a switch without a CPU: `prev`, `next`, `out`, `state_letter`, `state`, `exec`, `prev_prio`, `next_prio` |
//! | `corewise_woken` | a `sched_wakeup` reported together with the switch-in after it: `pid`, `stamp`, `target_cpu`, `prio`, `waker` |
//! | `corewise_seen` | a row of a snapshot: `pid`, `tgid`, `name`, `state` (running, ready, blocked, exited), `state_letter`, `cpu`, `exec` |
//! | `corewise_current` | a CPU ran this then: `pid` |
//! | `corewise_named` | the event that follows on this CPU names `pid` as the task that runs, which no switch brought in |
//! | `corewise_process` | before a `sched_process_fork`: the new thread `pid` is of process `tgid` |
//! | `corewise_yield` | `pid` calls `sched_yield`, or returns from it: `begins` |
//! | `corewise_interrupt` | `kind` (timer, ipi), `begins`, `name` (on begin, if recorded) |
//! | `corewise_inner` | `pid`, `inner_tid`, `inner_pid` |
//! | `corewise_sample` | the last sample of a CPU: the recording ran until then |
//! | `corewise_<kind>` | an event of any other kind: the columns of its table, by the names that `model` declares for notes (`event/kinds.rs`). Words and texts are texts, truth values 0 or 1, doubles their bits; a callchain is the `iid` of an interned callstack. A column that is null has the number declared for it, or no field |
//!
//! `corewise_count` is also shown as counter tracks (uuid 0x63776374…), and `corewise_loss` as slices on tracks of their own. With `--redact`,
//! `corewise_energy` and `corewise_temperature` are over at least a second, the objects of `corewise_object_wait` and `corewise_object_ready` are
//! numbers that stand for them, and there are no events of futexes.
//!
//! Timestamps are the source's own numbers (origin + time), declared as its clock by `primary_trace_clock`.

mod bundles;
mod counts;
mod energy;
mod kernel;
mod notes;
mod opening;
mod programs;
mod proto;
mod samples;
mod snapshot;

use crate::{ExportError, Exporter, Job, Offer, Options, Outputs, Shape};
use bundles::Bundles;
use bundles::FieldValue::Int;
use kernel::text;
use model::{BlockOperation, BlockRequest, Clock, CpuId, Event, EventKind, NameId, Ns, Pid, Tid, WakeKind};
use programs::packet;
use proto::Proto;
use rustc_hash::{FxHashMap, FxHashSet};
use samples::Samples;
use std::io::Write;

/// A file of packets.
pub struct Perfetto;

impl Exporter for Perfetto {
    fn id(&self) -> &'static str {
        "perfetto"
    }

    fn about(&self) -> &'static str {
        "a trace for ui.perfetto.dev and trace_processor"
    }

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn suffix(&self) -> &'static str {
        ".pftrace"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "ui.perfetto.dev, trace_processor, corewise import",
            carries: &[
                "Every event: switches, wakeups, migrations, idle, frequencies, interrupts, forks and exits, marks, values, frames of Android's timeline.",
                "Samples of profilers with their callchains, inlined functions and source lines.",
                "Counts of events, and their sums as counter tracks.",
                "Data without Perfetto events (snapshots, charges, losses, the machine), so that importing the file again gives \
                 the same states.",
            ],
            cannot: &[
                "Callchains of switches, frame logs and sums; Perfetto's viewer does not draw unknown time: it extends the last state.",
            ],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        let begin = job.session.origin() + job.options.span.map_or(Ns::ZERO, |s| s.start.max(Ns::ZERO));
        let mut pen = Pen::new(job, to.next("trace.pftrace")?);
        pen.samples = Samples::new(job.session.stacks()?);
        pen.averages = energy::Averages::new(job)?;
        pen.opening(job, begin)?;
        pen.flush()?;
        // A part that does not start at the begin of the recording needs the states at its start.
        let part = job.options.span.filter(|s| s.start > Ns::ZERO);
        if let Some(span) = part {
            pen.states_at(job, span.start)?;
        }
        let until = job.session.events_until(job.options.span);
        let from = part.map_or(Ns::MIN, |s| s.start);
        let (mut failed, mut written, mut known) = (Ok(()), 0, Vec::new());
        let read = job.session.events(&mut |events, names| {
            for event in events.iter().filter(|e| e.at < until || until == Ns::MAX) {
                if from <= event.at {
                    pen.event(event, names);
                } else if matches!(event.what, EventKind::EnergyDomain(_)) {
                    pen.event(&Event { at: from, ..*event }, names);
                }
            }
            written += events.len() as u64;
            (job.progress)(written);
            if pen.averages.are_made {
                known.extend_from_slice(names.get(known.len()..).unwrap_or_default());
            }
            failed = pen.flush();
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        failed?;
        read?;
        pen.energy_rest(&known);
        pen.ends(job.options);
        pen.symbols();
        Ok(pen.flush()?)
    }
}

/// The trace being written.
struct Pen<'a> {
    out: &'a mut (dyn Write + Send),
    /// Packets of corewise's own sequence that are not written yet.
    packets: Proto,
    bundles: Bundles,
    /// Time 0, on the source's clock.
    origin: Ns,
    /// The recording's end, from its start.
    end: Ns,
    clock: String,
    /// The thread on each CPU, from its last switch.
    runs: FxHashMap<CpuId, i32>,
    /// The CPUs on which an event has named another thread since.
    refuted: FxHashSet<CpuId>,
    /// The last sample of each CPU.
    last: FxHashMap<CpuId, Ns>,
    /// Tracks that have been declared.
    tracks: FxHashSet<u64>,
    words: String,
    /// The processes of threads.
    pids: FxHashMap<i32, i32>,
    samples: Samples,
    counts: counts::Counts,
    averages: energy::Averages,
    /// Whether corewise's own sequence has a packet.
    begun: bool,
}

impl<'a> Pen<'a> {
    fn new(job: &Job<'_>, out: &'a mut (dyn Write + Send)) -> Self {
        Self {
            out,
            packets: Proto::default(),
            bundles: Bundles::default(),
            origin: job.session.origin(),
            end: Ns(job.session.summary().span_ns),
            clock: job.session.facts().clock.clone(),
            runs: FxHashMap::default(),
            refuted: FxHashSet::default(),
            last: FxHashMap::default(),
            tracks: FxHashSet::default(),
            words: String::new(),
            pids: FxHashMap::default(),
            samples: Samples::default(),
            counts: counts::Counts::default(),
            averages: energy::Averages::default(),
            begun: false,
        }
    }

    /// A time of the trace on the source's clock.
    fn absolute(&self, at: Ns) -> Ns {
        self.origin + at
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.bundles.flush(&mut self.packets);
        self.out.write_all(&self.packets.bytes)?;
        self.packets.bytes.clear();
        Ok(())
    }

    fn event(&mut self, e: &Event, names: &[Box<str>]) {
        let at = self.absolute(e.at);
        if e.is_sample() {
            self.last.insert(e.cpu, at);
        }
        let name = |id: NameId| text(names, id);
        let process = match &e.what {
            EventKind::Fork { tid, pid, .. } | EventKind::Exec { tid, pid, .. } | EventKind::Name { tid, pid, .. } => {
                Some((*tid, *pid))
            }
            EventKind::Snapshot(seen) => Some((seen.tid, seen.pid)),
            _ => None,
        };
        if let Some((tid, pid)) = process.filter(|(_, pid)| *pid != Pid::UNKNOWN) {
            self.pids.insert(tid.0, pid.0);
        }
        // Another task than the last switch brought in: its switch-in was not recorded.
        let is_switch = matches!(e.what, EventKind::Switch(_));
        if is_switch {
            self.refuted.remove(&e.cpu);
        }
        let is_other = self.runs.get(&e.cpu) != Some(&e.current.0) || self.refuted.contains(&e.cpu);
        if e.current.0 > 0 && is_other && !is_switch && !matches!(e.what, EventKind::CpuSample { .. }) {
            self.refuted.insert(e.cpu);
            self.bundles.note(e.cpu, at, "corewise_named", &[("pid", Int(e.current.0.into()))]);
        }
        match &e.what {
            EventKind::Switch(s) => self.switch(e, at, s, names),
            EventKind::Wake(w) => {
                if w.kind == WakeKind::New {
                    // What ran with this number before was another thread.
                    self.runs.retain(|_, tid| *tid != w.tid.0);
                }
                self.wake(e, at, w, names);
            }
            EventKind::Migrate { tid, from, to } => self.migrate(e, at, *tid, *from, *to),
            EventKind::Fork { parent, tid, pid, name: of } => self.fork(e, at, *parent, *tid, *pid, name(*of)),
            EventKind::Exec { tid, pid, file } => {
                let file = name(*file).unwrap_or_default();
                self.exec(e, at, *tid, *pid, file);
            }
            EventKind::Exit { tid, pid } => self.exit(e, at, *tid, *pid),
            EventKind::Name { tid, pid, name: of } => self.name(at, *tid, *pid, name(*of)),
            EventKind::Snapshot(seen) => self.seen(e.cpu, at, seen, name(seen.name)),
            EventKind::Idle { state } => self.idle(e, at, *state),
            EventKind::Frequency { of, khz } => self.frequency(e, at, *of, *khz),
            EventKind::Irq { kind, number, begins, name: of } => {
                self.irq(e, at, *kind, *number, begins.then(|| name(*of)));
            }
            EventKind::Mark(mark) => self.mark(e, at, mark, name(mark.name)),
            EventKind::Value { pid, name: of, value } => {
                self.value(e, at, *pid, *of, name(*of).unwrap_or_default(), *value);
            }
            EventKind::Frame(frame) => self.frame(at, frame, name(frame.layer)),
            EventKind::Loss(loss) => self.loss(e, at, loss),
            EventKind::Block { tid, request } => self.block(e, at, *tid, request),
            EventKind::Count { event, count, .. } => {
                self.note(e.cpu, at, &e.what, names);
                self.count(e, at, *event, name(*event).unwrap_or_default(), *count);
            }
            EventKind::CpuSample { tid, stack, .. } => self.sample(e.cpu, at, *tid, *stack),
            EventKind::Energy(_) | EventKind::Temperature(_) if self.averages.are_made => {
                if let Some(what) = self.averages.of(e, names) {
                    self.note(e.cpu, at, &what, names);
                }
            }
            EventKind::Current { tid } => self.fact(e, at, "corewise_current", &[("pid", *tid)]),
            EventKind::Yield { tid, begins } => {
                self.bundles.note(
                    e.cpu,
                    at,
                    "corewise_yield",
                    &[("pid", Int(tid.0.into())), ("begins", Int((*begins).into()))],
                );
            }
            EventKind::Inner { tid, inner_tid, inner_pid } => {
                let fields = [("pid", *tid), ("inner_tid", *inner_tid), ("inner_pid", Tid(inner_pid.0))];
                self.fact(e, at, "corewise_inner", &fields);
            }
            EventKind::Sample | EventKind::Present(_) | EventKind::FrameTime(_) => {}
            what => {
                self.note(e.cpu, at, what, names);
                if let EventKind::Clock { which: Clock::Realtime, reading } = what {
                    self.clocks(at, Some(*reading));
                }
            }
        }
    }

    /// Writes a note whose fields are threads.
    fn fact(&mut self, e: &Event, at: Ns, name: &str, threads: &[(&str, Tid)]) {
        let fields: Vec<_> = threads.iter().map(|(field, tid)| (*field, Int(tid.0.into()))).collect();
        self.bundles.note(e.cpu, at, name, &fields);
    }

    /// Writes a request to a block device (`ftrace/block.proto`).
    fn block(&mut self, e: &Event, at: Ns, tid: Tid, request: &BlockRequest) {
        const ISSUE: u32 = 45;
        const COMPLETE: u32 = 125;
        const SECTOR: u64 = 512;
        let rwbs = match request.operation {
            BlockOperation::Read => "R",
            BlockOperation::Write => "W",
            BlockOperation::Flush => "FF",
            BlockOperation::Discard => "D",
            BlockOperation::Other => "N",
        };
        // Perfetto records device numbers as `makedev(3)` composes them.
        let (major, minor) = (u64::from(request.device.major()), u64::from(request.device.minor()));
        let dev = (major & 0xfff) << 8 | (major & !0xfff) << 32 | minor & 0xff | (minor & !0xff) << 12;
        let current = Some(tid.0).filter(|_| tid != Tid::UNKNOWN);
        self.bundles.event(e.cpu, at, current, if request.done { COMPLETE } else { ISSUE }, |p| {
            p.uint(1, dev);
            p.uint(2, request.sector);
            p.uint(3, request.bytes / SECTOR);
            p.text(5, rwbs);
        });
    }

    /// Notes that the recording ran until the last sample of each CPU, even if samples of its kind are not exported. A part runs
    /// to its end.
    fn ends(&mut self, options: &Options) {
        if let Some(span) = options.span {
            self.last.insert(CpuId::UNKNOWN, self.absolute(span.end.min(self.end)));
        }
        let mut last: Vec<(CpuId, Ns)> = self.last.drain().collect();
        last.sort_unstable();
        for (cpu, at) in last {
            self.bundles.note(cpu, at, "corewise_sample", &[]);
        }
    }

    /// Writes a thread's name and process.
    fn name(&mut self, at: Ns, tid: Tid, pid: Pid, name: Option<&str>) {
        self.packet(Some(at), packet::PROCESS_TREE, |p| {
            let one = p.begin(2);
            p.int(1, tid.0.into());
            if let Some(name) = name {
                p.text(2, name);
            }
            if pid != Pid::UNKNOWN {
                p.int(3, pid.0.into());
            }
            p.end(one);
        });
    }
}
