//! Perfetto's own format (ui.perfetto.dev, trace_processor), written event by event, so that its viewer shows the kernel's
//! scheduling as it shows a recording of its own; and so that nothing is lost on the way back:
//!
//! **trace → export → import gives the same `thread_state` and `cpu_state`, to the nanosecond.**
//!
//! Field numbers are those of perfetto/protos/perfetto/trace: `trace.proto`, `trace_packet.proto`, `clock_snapshot.proto`,
//! `system_info.proto`, `ps/process_tree.proto`, `ftrace/*.proto`, `track_event/*.proto`, `android/frame_timeline_event.proto`.
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
//! `irq_handler_*`, `softirq_*`, `task_newtask` with `sched_process_fork` (one fork), `sched_process_exec` (`old_pid` holds
//! the process), `sched_process_exit`. A field that is absent was not told; an event's own `pid`, of a waking the waker,
//! likewise. States are numbered as Linux does since 4.14. Marks on a thread's own track are `print` as atrace writes them.
//!
//! # What they cannot carry
//!
//! Two legitimate places, which other readers show or ignore:
//!
//! - an instant on the track `corewise` (uuid 0x636f726577697365) named `about this trace`, whose debug annotations
//!   `corewise.…` are: `version` (1), `clock`, `begin` (ns, where the recording begins; what is earlier only tells states),
//!   `has_waking`, `has_wakeup` (absent: not told), `has_charges`, `has_yields`, `whole_machine`, `online` (CPU numbers with commas),
//!   `focus`, `machine` (JSON, as `corewise topo --json`). Annotations without that prefix are for people;
//! - **notes**: generic events of the kernel (`GenericFtraceEvent`), in order within their CPU's bundle; a bundle without
//!   `cpu` holds what names no CPU. Times in fields are absolute, as the events' own.
//!
//! | note | fields (those not told are absent) |
//! | --- | --- |
//! | `corewise_switch` | on the `sched_switch` that follows on this CPU: `exec` (ns charged to prev in its life), `state` (the number as recorded), `out` and `letter` (where the number cannot tell them), `prev` −1, `next` −1 (that side was not told), `shown` 1 (no event, but drawn for viewers where a part begins: what it shows stands in notes) |
//! | `corewise_switch_nowhere` | a switch without a CPU: `prev`, `next`, `out`, `letter`, `state`, `exec`, `prev_prio`, `next_prio` |
//! | `corewise_woken` | a `sched_wakeup` told with the switch-in behind it: `pid`, `stamp`, `target_cpu`, `prio`, `waker` |
//! | `corewise_seen` | a row of a snapshot: `pid`, `tgid`, `name`, `state` (running, ready, blocked, exited), `letter`, `cpu`, `exec` |
//! | `corewise_current` | a CPU ran this then: `pid` |
//! | `corewise_process` | before a `sched_process_fork`: the new thread `pid` is of process `tgid` |
//! | `corewise_charge` | `pid`, `ns` |
//! | `corewise_priority` | `pid`, `prio`, `policy`, `nice` |
//! | `corewise_inherit` | `pid` is lent a priority by a lock's waiter, or no longer: `prio`, `old_prio` (−32768: not told), `donor` (absent: not recorded; 0: none any more) |
//! | `corewise_affinity` | `pid`, `cpus` |
//! | `corewise_cgroup` | `pid`, `id`, `path` |
//! | `corewise_cgroup_limits` | `id`, `path`, `quota` (ns in a period; the largest number: none), `period`, `weight` (0: not told), `cpus` |
//! | `corewise_cgroup_stat` | `id`, `periods`, `throttled` (periods), `time` |
//! | `corewise_yield` | `pid` calls `sched_yield`, or returns from it: `begins` |
//! | `corewise_throttle` | `pid` (0: every change is told from here on), `begins` |
//! | `corewise_sched_attr` | `pid`, `prio` (−32768: not told), `uclamp_min`, `uclamp_max` (−1: not told) |
//! | `corewise_ideal_cpu` | `pid`, `cpu` (−1: none any more) |
//! | `corewise_parking` | `cpu_id`, `parked` |
//! | `corewise_inner` | `pid`, `inner_tid`, `inner_pid` |
//! | `corewise_steal` | `total` |
//! | `corewise_clock` | `which` (monotonic, boottime, realtime, tsc, perf), `reading` |
//! | `corewise_loss` | `from`, `to`, `cpu`, `events`; a slice on a track of its own shows the same |
//! | `corewise_sample` | the last sample of a CPU: the recording ran until then |
//!
//! Timestamps are the source's own numbers (origin + time), declared as its clock by `primary_trace_clock`.

mod bundles;
mod kernel;
mod opening;
mod programs;
mod proto;
mod snapshot;

use crate::{ExportError, Exporter, Job, Offer, Options, Outputs, Shape};
use bundles::Bundles;
use bundles::Told::{Int, Text};
use kernel::text;
use model::{Clock, CpuId, Donor, Event, InheritedPriority, NameId, Ns, Tid, What};
use programs::packet;
use proto::Proto;
use rustc_hash::{FxHashMap, FxHashSet};
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
                "Every event: switches, wakings, migrations, idle, frequencies, interrupts, lives, marks, values, frames of Android's timeline.",
                "What Perfetto does not know (snapshots, charges, losses, the machine), so that importing it again gives \
                 the same states.",
            ],
            cannot: &[
                "Callchains, frame logs and sums; unknown time is not drawn by Perfetto's viewer, which shows the last state on.",
            ],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        let begin = job.session.origin() + job.options.span.map_or(Ns::ZERO, |s| s.start.max(Ns::ZERO));
        let mut pen = Pen::new(job, to.next("trace.pftrace")?);
        pen.opening(job, begin)?;
        pen.flush()?;
        // A part from the very begin has what told the states there; any other is told them.
        let part = job.options.span.filter(|s| s.start > Ns::ZERO);
        if let Some(span) = part {
            pen.states_at(job, span.start)?;
        }
        let until = job.options.span.map_or(Ns::MAX, |s| s.end);
        let from = part.map_or(Ns::MIN, |s| s.start);
        let (mut failed, mut written) = (Ok(()), 0);
        let read = job.session.events(&mut |events, names| {
            for event in events.iter().filter(|e| from <= e.at && (e.at < until || until == Ns::MAX)) {
                pen.event(event, names, job.options);
            }
            written += events.len() as u64;
            (job.progress)(written);
            failed = pen.flush();
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        failed?;
        read?;
        pen.ends(job.options);
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
    /// Who runs on each CPU, as far as switches tell.
    runs: FxHashMap<CpuId, i32>,
    /// The last sample of each CPU.
    last: FxHashMap<CpuId, Ns>,
    /// Tracks told of.
    tracks: FxHashSet<u64>,
    words: String,
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
            last: FxHashMap::default(),
            tracks: FxHashSet::default(),
            words: String::new(),
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

    fn event(&mut self, e: &Event, names: &[Box<str>], options: &Options) {
        let at = self.absolute(e.at);
        if e.is_sample() {
            self.last.insert(e.cpu, at);
        }
        let name = |id: NameId| text(names, id);
        match &e.what {
            What::Switch(s) => self.switch(e, at, s, names),
            What::Wake(w) => self.wake(e, at, w, names),
            What::Migrate { tid, from, to } => self.migrate(e, at, *tid, *from, *to),
            What::Fork { parent, tid, pid, name: of } => self.fork(e, at, *parent, *tid, *pid, name(*of)),
            What::Exec { tid, pid, file } => {
                let file = name(*file).filter(|_| !options.redact).unwrap_or_default();
                self.exec(e, at, *tid, *pid, file);
            }
            What::Exit { tid, pid } => self.exit(e, at, *tid, *pid),
            What::Name { tid, pid, name: of } => self.name(at, *tid, *pid, name(*of)),
            What::Seen(seen) => self.seen(e.cpu, at, seen, name(seen.name)),
            What::Idle { state } => self.idle(e, at, *state),
            What::Frequency { of, khz } => self.frequency(e, at, *of, *khz),
            What::Irq { kind, number, begins, name: of } => {
                self.irq(e, at, *kind, *number, begins.then(|| name(*of)));
            }
            What::Mark(mark) => self.mark(e, at, mark, name(mark.name)),
            What::Value { pid, name: of, value } => {
                self.value(e, at, *pid, *of, name(*of).unwrap_or_default(), *value);
            }
            What::Frame(frame) => self.frame(at, frame, name(frame.layer)),
            What::Loss(loss) => self.loss(e, at, loss),
            What::Sample => {}
            _ => self.rare(e, at, names, options),
        }
    }

    /// What is told by a note alone.
    fn rare(&mut self, e: &Event, at: Ns, names: &[Box<str>], options: &Options) {
        let mut note = |what: &str, fields: &[(&str, bundles::Told<'_>)]| self.bundles.note(e.cpu, at, what, fields);
        match e.what {
            What::Current { tid } => note("corewise_current", &[("pid", Int(tid.0.into()))]),
            What::Charge { tid, ns } => note("corewise_charge", &[("pid", Int(tid.0.into())), ("ns", Int(ns.0))]),
            What::Priority { tid, prio, policy, nice } => {
                let (policy, nice) = (Int(policy.unwrap_or(-1).into()), Int(nice.unwrap_or(i8::MIN).into()));
                let prio = Int(prio.to_word().into());
                let fields = [("pid", Int(tid.0.into())), ("prio", prio), ("policy", policy), ("nice", nice)];
                note("corewise_priority", &fields);
            }
            What::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } } => {
                let [prio, old_prio] = [prio, old_prio].map(|prio| Int(prio.to_word().into()));
                let mut fields = vec![("pid", Int(tid.0.into())), ("prio", prio), ("old_prio", old_prio)];
                match donor {
                    Donor::NotRecorded => {}
                    Donor::None => fields.push(("donor", Int(0))),
                    Donor::Thread(of) => fields.push(("donor", Int(of.0.into()))),
                }
                note("corewise_inherit", &fields);
            }
            What::Affinity { tid, cpus } => {
                let cpus = Text(text(names, cpus).unwrap_or_default());
                note("corewise_affinity", &[("pid", Int(tid.0.into())), ("cpus", cpus)]);
            }
            What::Cgroup { tid, id, path } => {
                let path = text(names, path).filter(|_| !options.redact).unwrap_or_default();
                let fields = [("pid", Int(tid.0.into())), ("id", Int(id.cast_signed())), ("path", Text(path))];
                note("corewise_cgroup", &fields);
            }
            What::CgroupLimits { id, path, quota, period, weight, cpus } => {
                let path = text(names, path).filter(|_| !options.redact).unwrap_or_default();
                let cpus = text(names, cpus).unwrap_or_default();
                let fields = [
                    ("id", Int(id.cast_signed())),
                    ("path", Text(path)),
                    ("quota", Int(quota.get().unwrap_or(Ns::MAX).0)),
                    ("period", Int(period.into())),
                    ("weight", Int(weight.unwrap_or(0).into())),
                    ("cpus", Text(cpus)),
                ];
                note("corewise_cgroup_limits", &fields);
            }
            What::CgroupStat { id, periods, throttled, time } => {
                let (id, periods) = (Int(id.cast_signed()), Int(periods));
                let fields = [("id", id), ("periods", periods), ("throttled", Int(throttled)), ("time", Int(time.0))];
                note("corewise_cgroup_stat", &fields);
            }
            What::Throttle { tid, begins } => {
                let tid = tid.unwrap_or(Tid::IDLE);
                note("corewise_throttle", &[("pid", Int(tid.0.into())), ("begins", Int(begins.into()))]);
            }
            What::Yield { tid, begins } => {
                note("corewise_yield", &[("pid", Int(tid.0.into())), ("begins", Int(begins.into()))]);
            }
            What::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
                let clamp = |told: Option<u16>| Int(told.map_or(-1, i64::from));
                let (min, max) = (clamp(uclamp_min), clamp(uclamp_max));
                let fields = [
                    ("pid", Int(tid.0.into())),
                    ("prio", Int(prio.to_word().into())),
                    ("uclamp_min", min),
                    ("uclamp_max", max),
                ];
                note("corewise_sched_attr", &fields);
            }
            What::IdealCpu { tid, cpu } => {
                let cpu = cpu.map_or(-1, |cpu| cpu.0.into());
                note("corewise_ideal_cpu", &[("pid", Int(tid.0.into())), ("cpu", Int(cpu))]);
            }
            What::Parking { of, parked } => {
                note("corewise_parking", &[("cpu_id", Int(of.0.into())), ("parked", Int(parked.into()))]);
            }
            What::Inner { tid, inner_tid, inner_pid } => {
                let (inner_tid, inner_pid) = (Int(inner_tid.0.into()), Int(inner_pid.0.into()));
                let fields = [("pid", Int(tid.0.into())), ("inner_tid", inner_tid), ("inner_pid", inner_pid)];
                note("corewise_inner", &fields);
            }
            What::Steal { total } => note("corewise_steal", &[("total", Int(total.0))]),
            What::Clock { which, reading } => {
                note("corewise_clock", &[("which", Text(word(which))), ("reading", Int(reading))]);
                if which == Clock::Realtime {
                    self.clocks(at, Some(reading));
                }
            }
            _ => {}
        }
    }

    /// The recording ran until the last sample of each CPU, whether or not that was of a kind that is told; a part runs to
    /// its end.
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

    /// What a thread is called, and its process.
    fn name(&mut self, at: Ns, tid: model::Tid, pid: model::Pid, name: Option<&str>) {
        self.packet(Some(at), packet::PROCESS_TREE, |p| {
            let one = p.begin(2);
            p.int(1, tid.0.into());
            if let Some(name) = name {
                p.text(2, name);
            }
            if pid != model::Pid::UNKNOWN {
                p.int(3, pid.0.into());
            }
            p.end(one);
        });
    }
}

fn word(clock: Clock) -> &'static str {
    match clock {
        Clock::Monotonic => "monotonic",
        Clock::Boottime => "boottime",
        Clock::Realtime => "realtime",
        Clock::Tsc => "tsc",
        Clock::Perf => "perf",
    }
}
