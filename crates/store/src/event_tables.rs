//! The tables of `events/`, declared once: columns, units, words.

use crate::sheet::{Column, Store};
use crate::words as w;
use model::{BlockOperation, Col, Kind, MadeFrom, TableDef};

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
