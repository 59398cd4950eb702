//! The tables of `events/`, declared once: columns, units, words; and the rows of those kinds that are not many, written and read back.
//!
//! A new kind is its declaration, and three lines: which kind it is, how it is written, how it is read.

use crate::events_in::Cursor;
use crate::sheet::{Column, Disk, Sheet, Store};
use crate::words as w;
use model::{
    BlockOperation, BlockRequest, Col, Device, Donor, Event, Frame, FrameTime, FrameToken, InheritedPriority, Kind,
    LossSpan, MadeFrom, Mark, MaybeCount, MaybeNs, NameId, Ns, Present, Prio, TableDef, Tid, What,
};
use std::num::NonZeroI32;

const fn int(name: &'static str, unit: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, unit, doc)
}
const fn ns(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, "ns", doc)
}
const fn text(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Text, "", doc)
}

const EVENT: Col = int("event", "", "The event's identity: its place in the merged order, over all kinds.");
const AT: Col = ns("at_ns", "When, from the start of the recording.");
const CPU: Col = int("cpu", "", "The CPU that the event was written on.");
const TID: Col = int("tid", "", "The kernel's number of the thread.");
const PRIO_DOC: &str = "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair).";

/// Where in its source an event was read; only where the trace is imported.
pub(crate) const fn origin(sources: usize) -> [Column; 2] {
    let source = int("source", "", "Which of the manifest's sources, counted from 0.");
    let offset = int("offset", "byte", "Where in that source the event was read; of a folder, in its CPU's file.");
    let store = if sources > 1 { Store::Int } else { Store::Key };
    [Column { col: source, store }, Column { col: offset, store: Store::Long }]
}

/// A kind of event: its table, and how each column is stored.
pub(crate) struct EventTable {
    pub(crate) def: &'static TableDef,
    pub(crate) stores: &'static [Store],
}

macro_rules! event_tables {
    ($($place:ident, $def:ident, $name:literal, $doc:literal, [$($col:expr => $store:expr),* $(,)?];)+) => {
        /// The kinds of event, in the order of [`EVENT_TABLES`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum EventKind { $($place),+ }

        $(const $def: EventTable = EventTable {
            def: &TableDef {
                name: $name,
                version: 1,
                made_from: MadeFrom::Elsewhere,
                large: true,
                doc: $doc,
                key: &["event"],
                cols: &[EVENT, AT, CPU, $($col),*],
            },
            stores: &[Store::Long, Store::Long, Store::Int, $($store),*],
        };)+

        pub(crate) const TABLES: &[EventTable] = &[$($def),+];

        /// The tables of `events/`, each with its columns (imported traces also have `source` and `offset` at the end).
        pub const EVENT_TABLES: &[&TableDef] = &[$($def.def),+];
    };
}

event_tables! {
    Switch, SWITCH, "switch", "A CPU left one thread for another.", [
        int("prev_tid", "", "Who was switched out; 0 is idle, −1 untold.") => Store::Int,
        int("next_tid", "", "Who was switched in; 0 is idle, −1 untold.") => Store::Int,
        int("prev_state", "", "The state number as the source recorded it.") => Store::Int,
        text("prev_letter", "The state's letter (R, S, D, …).") => Store::Word(w::letter_word),
        text("prev_out", "What it means: runnable (nobody says why it left), preempted, preempted_to_user (on its way back to \
            user mode), yielded, throttled, gave_way (a kernel thread), blocked, exited or untold.")
             => Store::Word(w::switch_out_word),
        int("prev_prio", "", PRIO_DOC) => Store::Int,
        int("next_prio", "", PRIO_DOC) => Store::Int,
        ns("prev_exec_ns", "What the kernel has charged prev for running in its whole life, at the first switch of a \
            thread number in this trace that tells it.").or_null() => Store::Key,
        ns("prev_ran_ns", "What it charged prev since the last switch of this thread number that tells it.").or_null()
            => Store::Long,
        int("prev_stack", "", "The callchain of prev (table stack), where it was recorded.").or_null() => Store::Int,
    ];
    Wake, WAKE, "wake", "A thread was woken.", [
        TID => Store::Int,
        text("kind", "The kernel's event: waking, wakeup, new, or wakeup_told (told with the switch-in after it).")
            => Store::Word(w::wake_kind_word),
        int("target_cpu", "", "The CPU chosen for it.").or_null() => Store::Int,
        int("waker_tid", "", "The task that was current where the waking happened; 0: none, or it was in an interrupt.").or_null() => Store::Int,
        int("prio", "", PRIO_DOC).or_null() => Store::Int,
        ns("stamp_ns", "When it happened, where that is not at_ns.").or_null() => Store::Long,
    ];
    Migrate, MIGRATE, "migrate", "A thread that does not run was moved to another CPU's run queue.", [
        TID => Store::Int,
        int("from_cpu", "", "The CPU it left.") => Store::Int,
        int("to_cpu", "", "The CPU it goes to.") => Store::Int,
    ];
    Thread, THREAD, "thread", "What is told of threads: made, renamed, ended, seen in a snapshot.", [
        TID => Store::Int,
        text("what", "fork, exec, exit, name, called (the name that a switch or wake gives it, from there on), seen (a \
            row of a snapshot), inner (its numbers in its own pid namespace), current (it runs on this CPU), yields (it calls \
            sched_yield) or yielded (it returns from it).")
            => Store::Word(w::thread_note_word),
        int("pid", "", "Its process.").or_null() => Store::Int,
        int("parent_tid", "", "fork: who made it.").or_null() => Store::Int,
        text("name", "Its name; exec: the file.").or_null() => Store::Text,
        text("state", "seen: running, ready, blocked or exited.").or_null() => Store::Word(w::seen_state_word),
        text("letter", "seen: the state's letter.").or_null() => Store::Word(w::letter_word),
        int("on_cpu", "", "seen: the CPU it was on, or was on last.").or_null() => Store::Int,
        ns("exec_ns", "seen: what the kernel has charged it for running in its whole life.").or_null() => Store::Long,
        int("inner_tid", "", "inner: as it numbers itself.").or_null() => Store::Int,
        int("inner_pid", "", "inner: its process, as it numbers itself.").or_null() => Store::Int,
    ];
    Priority, PRIORITY, "priority", "A thread's priority, policy and nice value are these from now on.", [
        TID => Store::Int,
        int("prio", "", PRIO_DOC) => Store::Int,
        int("policy", "", "SCHED_* policy number; −1 where not told.") => Store::Int,
        int("nice", "", "−20 to 19.") => Store::Int,
    ];
    Inherit, INHERIT, "inherit", "A lock's waiter lends a thread its priority from now on, or no longer.", [
        TID => Store::Int,
        int("donor_tid", "", "The waiter; 0: none lends any more; null where it was not recorded.").or_null() => Store::Int,
        int("old_prio", "", "The thread's dynamic priority until now.") => Store::Int,
        int("prio", "", PRIO_DOC) => Store::Int,
    ];
    Affinity, AFFINITY, "affinity", "The CPUs a thread may use from now on.", [
        TID => Store::Int,
        text("cpus", "As a kernel CPU list (0-3,8); null: not known until it is told again.").or_null() => Store::Text,
    ];
    Cgroup, CGROUP, "cgroup", "A thread is in this cgroup from now on.", [
        TID => Store::Int,
        int("cgroup", "", "The kernel's id (inode number of the v2 hierarchy).") => Store::Key,
        text("path", "Its path, where known.").or_null() => Store::Text,
    ];
    CgroupLimits, CGROUP_LIMITS, "cgroup_limits", "What a cgroup's CPU controller is set to from now on.", [
        int("cgroup", "", "The kernel's id: its folder's inode number.") => Store::Key,
        text("path", "Its path; behind cpu: in the CPU controller's own hierarchy (v1), where the id counts too.").or_null()
            => Store::Text,
        ns("quota_ns", "How long its threads may run in a period (cpu.max); null: as long as they want.").or_null()
            => Store::Key,
        ns("period_ns", "How long a period is.") => Store::Key,
        int("weight", "", "Its share beside its siblings (cpu.weight), 100 by default; null where not told, as in v1.")
            .or_null() => Store::Int,
        text("cpus", "The CPUs that it may use (cpuset.cpus.effective), where its hierarchy tells.").or_null()
            => Store::Text,
    ];
    CgroupStat, CGROUP_STAT, "cgroup_stat", "What the kernel counted of a cgroup's quota (cpu.stat).", [
        int("cgroup", "", "The cgroup, as in cgroup_limits.") => Store::Key,
        int("periods", "count", "Periods in which it had something to run, since it was made (nr_periods).")
            => Store::Long,
        int("throttled_periods", "count", "Those in which its quota was used up (nr_throttled).") => Store::Long,
        ns("throttled_ns", "For how long it was, summed over CPUs (throttled_usec).") => Store::Long,
    ];
    Throttle, THROTTLE, "throttle", "A thread is held by its cgroup's CPU quota from now on, or no longer.", [
        int("tid", "", "The kernel's number of the thread; 0: all of them, and from here on every change is told.")
            => Store::Int,
        text("edge", "begin or end.") => Store::Word(edge_word),
    ];
    SchedAttr, SCHED_ATTR, "sched_attr", "What a thread is set to from now on, whatever it inherits.", [
        TID => Store::Int,
        int("prio", "", "Its own priority, on the kernel's scale.").or_null() => Store::Int,
        int("uclamp_min", "", "The capacity that it asks for at least, of 1024.").or_null() => Store::Int,
        int("uclamp_max", "", "At most.").or_null() => Store::Int,
    ];
    IdealCpu, IDEAL_CPU, "ideal_cpu", "A thread would best run on this CPU from now on.", [
        TID => Store::Int,
        int("ideal_cpu", "", "The CPU; null: none any more.").or_null() => Store::Int,
    ];
    Idle, IDLE, "idle", "A CPU entered an idle state, or left it.", [
        int("state", "", "The state's number; −1 on leaving.") => Store::Int,
    ];
    Frequency, FREQUENCY, "frequency", "A CPU's frequency is this from now on.", [
        int("of_cpu", "", "The CPU meant.") => Store::Int,
        int("freq_khz", "kHz", "Its frequency.") => Store::Key,
    ];
    Parking, PARKING, "parking", "A CPU is parked from now on, or no longer.", [
        int("of_cpu", "", "The CPU meant.") => Store::Int,
        text("edge", "begin or end.") => Store::Word(edge_word),
    ];
    Irq, IRQ, "irq", "An interrupt handler began or ended.", [
        text("kind", "hard, soft, timer or ipi.") => Store::Word(w::irq_kind_word),
        int("number", "", "Interrupt number or softirq vector; −1: it has none.") => Store::Int,
        text("edge", "begin or end.") => Store::Word(edge_word),
        text("name", "The handler's name.").or_null() => Store::Text,
    ];
    Block, BLOCK, "block", "A request to a block device was issued, or is done.", [
        int("tid", "", "The thread that issued it; null once it is done, or where that is not known.").or_null() => Store::Int,
        int("device", "", "The device: its major number times 2^20, and its minor number.") => Store::Key,
        int("sector", "", "Its first sector, of 512 bytes.") => Store::Long,
        int("bytes", "byte", "How much of the device it is about.") => Store::Key,
        text("operation", "read, write, flush, discard or other.") => Store::Word(block_word),
        text("edge", "begin (issued) or end (done).") => Store::Word(edge_word),
    ];
    Charge, CHARGE, "charge", "The kernel charged a thread for running.", [
        TID => Store::Int,
        ns("charged_ns", "Since its last charge.") => Store::Long,
    ];
    Counter, COUNTER, "counter", "A running total was read.", [
        text("counter", "steal: time the hypervisor gave to others.") => Store::Word(counter_word),
        ns("total_ns", "Since boot.") => Store::Long,
    ];
    Clock, CLOCK, "clock", "A reading of another clock at the event's time.", [
        text("clock", "monotonic, boottime, realtime, tsc or perf.") => Store::Word(w::clock_word),
        int("reading", "ns", "What it showed (ticks for the tsc).") => Store::Long,
    ];
    Mark, MARK, "mark", "A program marked a moment, or an end of a stretch of its own.", [
        int("tid", "", "The thread that it is about.").or_null() => Store::Int,
        int("pid", "", "Its process.").or_null() => Store::Int,
        int("track", "", "0: the thread's own track; else the source's number of another.") => Store::Key,
        text("name", "What the program calls it; null at most ends.").or_null() => Store::Text,
        text("edge", "begin, end (of the last begin of this track) or instant.") => Store::Word(w::mark_edge_word),
    ];
    Value, VALUE, "value", "What a program or the kernel measures was this from now on.", [
        int("pid", "", "Whose.").or_null() => Store::Int,
        text("name", "What is measured, with its unit where the source tells one.").or_null() => Store::Text,
        Col::new("value", Kind::Float, "", "How much, in the unit that its name tells.") => Store::Float,
    ];
    Frame, FRAME, "frame", "A picture's way to the screen began or ended.", [
        int("cookie", "", "Joins begin and end.") => Store::Long,
        int("token", "", "Joins what was expected with what came; −1 where not told.") => Store::Long,
        int("pid", "", "The process that draws, or shows.").or_null() => Store::Int,
        text("layer", "The layer or window.").or_null() => Store::Text,
        text("stretch", "expected_surface, actual_surface, expected_display or actual_display.")
            => Store::Word(w::frame_stretch_word),
        text("edge", "begin or end.") => Store::Word(edge_word),
        int("jank", "", "Why it was late, as the source's bits say; 0 where not told.") => Store::Int,
    ];
    Present, PRESENT, "present", "A program handed in a frame to be shown.", [
        int("frame", "", "Which row of the log, from 0.") => Store::Long,
        int("swap_chain", "", "The swap chain's address, its bits as they are; 0 where not told.") => Store::Key,
        int("pid", "", "The process.").or_null() => Store::Int,
        text("application", "The program.").or_null() => Store::Text,
        text("mode", "How it came to the screen, in the log's words.").or_null() => Store::Text,
        text("displayed", "yes or no: whether it was shown; untold.") => Store::Word(displayed_word),
    ];
    FrameTime, FRAME_TIME, "frame_time", "What a frame log tells of a frame.", [
        int("frame", "", "Which row of the log, from 0.") => Store::Long,
        text("part", "whole, until_present, cpu_busy, in_present, between_presents, until_render_start, \
            until_render_complete, gpu_busy, until_displayed, between_display_change or displayed_for.")
            => Store::Word(w::frame_part_word),
        ns("took_ns", "How long.") => Store::Long,
    ];
    Loss, LOSS, "loss", "The source reports that it lost events.", [
        ns("from_ns", "The last event that the buffer delivered before.").or_null() => Store::Long,
        ns("to_ns", "The first event that it delivered after.").or_null() => Store::Long,
        int("of_cpu", "", "Whose buffer; null: any CPU's.").or_null() => Store::Int,
        int("events", "count", "How many; −1 where the source does not count them.") => Store::Key,
    ];
    Sample, SAMPLE, "sample", "Any other sample: it only shows that the recording ran.", [];
}

/// The callchains that events name; not a kind of event, but beside them.
pub const STACKS: TableDef = TableDef {
    name: "stack",
    version: 2,
    made_from: MadeFrom::Elsewhere,
    large: true,
    doc: "The frames of each callchain, each chain once.",
    key: &["stack", "depth"],
    cols: &[
        int("stack", "", "The callchain's number, from 1."),
        int("depth", "", "0 is the innermost frame."),
        int("address", "", "The frame's address; the two's complement where it is above 2^63, in the kernel."),
        text("function", "The function, by its symbol.").or_null(),
        text("file", "What was mapped there: a path, or a name in brackets ([kernel], [vdso], a module's).").or_null(),
        text("build_id", "The file's GNU build id, in hexadecimal.").or_null(),
        int("file_offset", "byte", "The byte of the file that lay there.").or_null(),
    ],
};
pub(crate) const STACK_STORES: &[Store] =
    &[Store::Long, Store::Int, Store::Key, Store::Text, Store::Text, Store::Text, Store::Key];

pub(crate) fn block_word(code: u8) -> String {
    BlockOperation::ALL.get(usize::from(code)).map_or("?", |operation| operation.as_str()).to_owned()
}

pub(crate) fn edge_word(code: u8) -> String {
    if code == 0 { "begin" } else { "end" }.to_owned()
}

pub(crate) fn displayed_word(code: u8) -> String {
    ["no", "yes", "untold"].get(usize::from(code)).copied().unwrap_or("?").to_owned()
}

pub(crate) fn counter_word(_: u8) -> String {
    "steal".to_owned()
}

/// A number that is not there.
const NONE: i32 = i32::MIN;

/// The kind of an event; `None`: a note on a thread, a switch or a waking, which share their tables' rows with others.
pub(crate) fn kind_of(what: &What) -> Option<EventKind> {
    Some(match what {
        What::Migrate { .. } => EventKind::Migrate,
        What::Priority { .. } => EventKind::Priority,
        What::Inherit { .. } => EventKind::Inherit,
        What::Affinity { .. } => EventKind::Affinity,
        What::Cgroup { .. } => EventKind::Cgroup,
        What::CgroupLimits { .. } => EventKind::CgroupLimits,
        What::CgroupStat { .. } => EventKind::CgroupStat,
        What::Throttle { .. } => EventKind::Throttle,
        What::SchedAttr { .. } => EventKind::SchedAttr,
        What::IdealCpu { .. } => EventKind::IdealCpu,
        What::Idle { .. } => EventKind::Idle,
        What::Frequency { .. } => EventKind::Frequency,
        What::Parking { .. } => EventKind::Parking,
        What::Irq { .. } => EventKind::Irq,
        What::Block { .. } => EventKind::Block,
        What::Charge { .. } => EventKind::Charge,
        What::Steal { .. } => EventKind::Counter,
        What::Clock { .. } => EventKind::Clock,
        What::Mark(_) => EventKind::Mark,
        What::Value { .. } => EventKind::Value,
        What::Frame(_) => EventKind::Frame,
        What::Present(_) => EventKind::Present,
        What::FrameTime(_) => EventKind::FrameTime,
        What::Loss(_) => EventKind::Loss,
        What::Sample => EventKind::Sample,
        _ => return None,
    })
}

/// Writes one.
pub(crate) fn write(to: &mut Sheet<Disk>, e: &Event) {
    let int = |to: &mut Sheet<Disk>, at, v: i32| to.ints(at, std::iter::once(v));
    let long = |to: &mut Sheet<Disk>, at, v: i64| to.longs(at, std::iter::once(v));
    let word = |to: &mut Sheet<Disk>, at, v: u8| to.words(at, std::iter::once(v));
    let text = |to: &mut Sheet<Disk>, at, v: NameId| to.texts(at, std::iter::once(v.0));
    let known = |id: i32| if id == Tid::UNKNOWN.0 { NONE } else { id };
    match e.what {
        What::Migrate { tid, from, to: target } => {
            int(to, 3, tid.0);
            int(to, 4, from.0 as i32);
            int(to, 5, target.0 as i32);
        }
        What::Priority { tid, prio, policy, nice } => {
            int(to, 3, tid.0);
            int(to, 4, prio.to_word().into());
            int(to, 5, policy.map_or(-1, i32::from));
            int(to, 6, nice.unwrap_or(i8::MIN).into());
        }
        What::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } } => {
            int(to, 3, tid.0);
            let donor = match donor {
                Donor::NotRecorded => NONE,
                Donor::None => Tid::IDLE.0,
                Donor::Thread(tid) => tid.0,
            };
            int(to, 4, donor);
            int(to, 5, old_prio.to_word().into());
            int(to, 6, prio.to_word().into());
        }
        What::Affinity { tid, cpus } => {
            int(to, 3, tid.0);
            text(to, 4, cpus);
        }
        What::Cgroup { tid, id, path } => {
            int(to, 3, tid.0);
            long(to, 4, id as i64);
            text(to, 5, path);
        }
        What::CgroupLimits { id, path, quota, period, weight, cpus } => {
            long(to, 3, id.cast_signed());
            text(to, 4, path);
            long(to, 5, quota.to_word());
            long(to, 6, period.into());
            int(to, 7, weight.map_or(NONE, i32::from));
            text(to, 8, cpus);
        }
        What::CgroupStat { id, periods, throttled, time } => {
            long(to, 3, id.cast_signed());
            long(to, 4, periods);
            long(to, 5, throttled);
            long(to, 6, time.0);
        }
        What::Throttle { tid, begins } => {
            int(to, 3, tid.unwrap_or(Tid::IDLE).0);
            word(to, 4, u8::from(!begins));
        }
        What::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
            int(to, 3, tid.0);
            int(to, 4, prio.get().map_or(NONE, i32::from));
            int(to, 5, uclamp_min.map_or(NONE, i32::from));
            int(to, 6, uclamp_max.map_or(NONE, i32::from));
        }
        What::IdealCpu { tid, cpu } => {
            int(to, 3, tid.0);
            int(to, 4, cpu.map_or(NONE, |cpu| cpu.0.cast_signed()));
        }
        What::Idle { state } => int(to, 3, state),
        What::Frequency { of, khz } => {
            int(to, 3, of.0 as i32);
            long(to, 4, khz.into());
        }
        What::Parking { of, parked } => {
            int(to, 3, of.0 as i32);
            word(to, 4, u8::from(!parked));
        }
        What::Irq { kind, number, begins, name } => {
            word(to, 3, w::irq_kind_code(kind));
            int(to, 4, number);
            word(to, 5, u8::from(!begins));
            text(to, 6, name);
        }
        What::Block { tid, request } => {
            let BlockRequest { device, sector, bytes, operation, done } = request;
            int(to, 3, known(tid.0));
            long(to, 4, device.0.into());
            long(to, 5, sector.cast_signed());
            long(to, 6, bytes.cast_signed());
            word(to, 7, operation as u8);
            word(to, 8, u8::from(done));
        }
        What::Steal { total } => {
            word(to, 3, 0);
            long(to, 4, total.0);
        }
        What::Clock { which, reading } => {
            word(to, 3, w::clock_code(which));
            long(to, 4, reading);
        }
        What::Mark(m) => {
            int(to, 3, known(m.tid.0));
            int(to, 4, known(m.pid.0));
            long(to, 5, m.track);
            text(to, 6, m.name);
            word(to, 7, w::mark_edge_code(m.edge));
        }
        What::Value { pid, name, value } => {
            int(to, 3, known(pid.0));
            text(to, 4, name);
            to.floats(5, std::iter::once(value));
        }
        What::Frame(f) => {
            long(to, 3, f.cookie);
            long(to, 4, f.token.0);
            int(to, 5, known(f.pid.0));
            text(to, 6, f.layer);
            word(to, 7, w::frame_stretch_code(f.stretch));
            word(to, 8, u8::from(!f.begins));
            int(to, 9, f.jank.map_or(0, NonZeroI32::get));
        }
        What::Present(p) => {
            long(to, 3, p.frame);
            long(to, 4, p.swap_chain);
            int(to, 5, known(p.pid.0));
            text(to, 6, p.application);
            text(to, 7, p.mode);
            word(to, 8, p.displayed.map_or(2, u8::from));
        }
        What::FrameTime(t) => {
            long(to, 3, t.frame);
            word(to, 4, w::frame_part_code(t.of));
            long(to, 5, t.took.0);
        }
        What::Loss(l) => {
            long(to, 3, l.from.to_word());
            long(to, 4, l.to.to_word());
            int(to, 5, l.cpu.map_or(NONE, |c| c.0 as i32));
            long(to, 6, l.events.to_word());
        }
        _ => {}
    }
}

/// Reads one; `None`: a word or a number that this corewise does not know.
pub(crate) fn read(kind: usize, c: &Cursor) -> Option<What> {
    let tid = c.tid(3);
    Some(match kind {
        k if k == EventKind::Migrate as usize => What::Migrate { tid, from: c.cpu(4)?, to: c.cpu(5)? },
        k if k == EventKind::Priority as usize => {
            let policy = Some(c.int(5) as i8).filter(|policy| *policy != -1);
            let nice = Some(c.int(6) as i8).filter(|nice| *nice != i8::MIN);
            What::Priority { tid, prio: Prio::of_word(c.int(4) as i16), policy, nice }
        }
        k if k == EventKind::Inherit as usize => {
            let donor = match c.int(4) {
                NONE => Donor::NotRecorded,
                0 => Donor::None,
                donor => Donor::Thread(Tid(donor)),
            };
            let [old_prio, prio] = [5, 6].map(|at| Prio::of_word(c.int(at) as i16));
            What::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } }
        }
        k if k == EventKind::Affinity as usize => What::Affinity { tid, cpus: c.name(4) },
        k if k == EventKind::Cgroup as usize => What::Cgroup { tid, id: c.long(4).cast_unsigned(), path: c.name(5) },
        k if k == EventKind::CgroupLimits as usize => What::CgroupLimits {
            id: c.long(3).cast_unsigned(),
            path: c.name(4),
            quota: MaybeNs::of_word(c.long(5)),
            period: u32::try_from(c.long(6)).unwrap_or(0),
            weight: u16::try_from(c.int(7)).ok().filter(|weight| *weight > 0),
            cpus: c.name(8),
        },
        k if k == EventKind::CgroupStat as usize => What::CgroupStat {
            id: c.long(3).cast_unsigned(),
            periods: c.long(4),
            throttled: c.long(5),
            time: Ns(c.long(6)),
        },
        k if k == EventKind::Throttle as usize => {
            What::Throttle { tid: (tid != Tid::IDLE).then_some(tid), begins: c.word(4) == 0 }
        }
        k if k == EventKind::SchedAttr as usize => {
            let clamp = |at| u16::try_from(c.int(at)).ok();
            What::SchedAttr { tid, prio: c.prio(4), uclamp_min: clamp(5), uclamp_max: clamp(6) }
        }
        k if k == EventKind::IdealCpu as usize => What::IdealCpu { tid, cpu: c.cpu(4) },
        k if k == EventKind::Idle as usize => What::Idle { state: c.int(3) },
        k if k == EventKind::Frequency as usize => {
            What::Frequency { of: c.cpu(3)?, khz: u32::try_from(c.long(4)).ok()? }
        }
        k if k == EventKind::Parking as usize => What::Parking { of: c.cpu(3)?, parked: c.word(4) == 0 },
        k if k == EventKind::Irq as usize => {
            What::Irq { kind: w::irq_kind(c.word(3))?, number: c.int(4), begins: c.word(5) == 0, name: c.name(6) }
        }
        k if k == EventKind::Block as usize => What::Block {
            tid,
            request: BlockRequest {
                device: Device(u32::try_from(c.long(4)).ok()?),
                sector: c.long(5).cast_unsigned(),
                bytes: c.long(6).cast_unsigned(),
                operation: *BlockOperation::ALL.get(usize::from(c.word(7)))?,
                done: c.word(8) == 1,
            },
        },
        k if k == EventKind::Charge as usize => What::Charge { tid, ns: Ns(c.long(4)) },
        k if k == EventKind::Counter as usize => What::Steal { total: Ns(c.long(4)) },
        k if k == EventKind::Clock as usize => What::Clock { which: w::clock(c.word(3))?, reading: c.long(4) },
        k if k == EventKind::Mark as usize => {
            let edge = w::mark_edge(c.word(7))?;
            What::Mark(Mark { tid, pid: c.pid(4), track: c.long(5), name: c.name(6), edge })
        }
        k if k == EventKind::Value as usize => What::Value { pid: c.pid(3), name: c.name(4), value: c.float(5) },
        k if k == EventKind::Frame as usize => What::Frame(Frame {
            cookie: c.long(3),
            token: FrameToken(c.long(4)),
            pid: c.pid(5),
            layer: c.name(6),
            stretch: w::frame_stretch(c.word(7))?,
            begins: c.word(8) == 0,
            jank: NonZeroI32::new(c.int(9)),
        }),
        k if k == EventKind::Present as usize => What::Present(Present {
            frame: c.long(3),
            swap_chain: c.long(4),
            pid: c.pid(5),
            application: c.name(6),
            mode: c.name(7),
            displayed: [Some(false), Some(true), None].get(usize::from(c.word(8))).copied()?,
        }),
        k if k == EventKind::FrameTime as usize => {
            What::FrameTime(FrameTime { frame: c.long(3), of: w::frame_part(c.word(4))?, took: Ns(c.long(5)) })
        }
        k if k == EventKind::Loss as usize => What::Loss(LossSpan {
            from: MaybeNs::of_word(c.long(3)),
            to: MaybeNs::of_word(c.long(4)),
            cpu: c.cpu(5),
            events: MaybeCount::new(c.long(6)),
        }),
        k if k == EventKind::Sample as usize => What::Sample,
        _ => return None,
    })
}
