//! The tables of `events/`: their columns, units and words. Also writes and reads the rows of the infrequent kinds of event.
//!
//! To add a kind, declare its table and add one case each to [`kind_of`], [`write`] and [`read`].

use crate::events_in::Cursor;
use crate::sheet::{Column, Disk, Sheet, Store};
use crate::words as w;
use model::{
    BlockOperation, BlockRequest, Col, CoreType, Device, Donor, EnergyDomain, EnergyUse, Event, EventKind, Frame,
    FrameTime, FrameToken, InheritedPriority, Kind, LossSpan, MadeFrom, Mark, MaybeCount, MaybeNs, NameId, Ns, Present,
    Prio, Shows, StackId, TableDef, Temperature, Tid,
};
use std::num::NonZeroI32;

const fn int(name: &'static str, unit: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, unit, doc)
}
const fn ns(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Int, "ns", doc)
}
/// A column of words of corewise, of the kernel or of the hardware.
const fn word(name: &'static str, doc: &'static str) -> Col {
    Col::text(name, Shows::Nothing, doc)
}

const EVENT: Col = int("event", "", "The event's identity: its position in the merged order of all kinds.");
const AT: Col = ns("at_ns", "Time since the start of the recording.");
const CPU: Col = int("cpu", "", "The CPU that recorded the event.");
const TID: Col = int("tid", "", "The thread's TID.");
const PRIO_DOC: &str = "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair).";

/// Returns the columns for the place of an event in its source; only imported traces have them.
pub(crate) const fn origin(sources: usize) -> [Column; 2] {
    let source = int("source", "", "Index of the source in the manifest, from 0.");
    let offset = int(
        "offset",
        "byte",
        "Position of the event in that source; if the source is a folder, in the file of the CPU.",
    );
    let store = if sources > 1 { Store::Int } else { Store::Key };
    [Column { col: source, store }, Column { col: offset, store: Store::Long }]
}

/// The table of one kind of event, and how each column is stored.
pub(crate) struct EventTable {
    pub(crate) def: &'static TableDef,
    pub(crate) stores: &'static [Store],
}

impl EventTable {
    /// Returns how many columns a file of this version has, without the place in the source: each version has one more.
    pub(crate) fn columns_in(&self, version: u32) -> usize {
        let missing = self.def.version.saturating_sub(version.max(1));
        self.stores.len().saturating_sub(missing as usize)
    }
}

macro_rules! version {
    () => {
        1
    };
    ($version:literal) => {
        $version
    };
}

macro_rules! event_tables {
    ($($place:ident, $def:ident, $name:literal $(version $version:literal)?, $doc:literal, [$($col:expr => $store:expr),* $(,)?];)+) => {
        /// The tables of events, in the order of [`EVENT_TABLES`].
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum EventTableId { $($place),+ }

        $(const $def: EventTable = EventTable {
            def: &TableDef {
                name: $name,
                version: version!($($version)?),
                made_from: MadeFrom::Elsewhere,
                large: true,
                doc: $doc,
                key: &["event"],
                cols: &[EVENT, AT, CPU, $($col),*],
            },
            stores: &[Store::Long, Store::Long, Store::Int, $($store),*],
        };)+

        pub(crate) const TABLES: &[EventTable] = &[$($def),+];

        /// The tables of `events/` with their columns. Imported traces also have `source` and `offset` at the end.
        pub const EVENT_TABLES: &[&TableDef] = &[$($def.def),+];
    };
}

event_tables! {
    Switch, SWITCH, "switch", "A CPU switched from one thread to another.", [
        int("prev_tid", "", "TID of the thread that was switched out; 0 is idle, −1 if not recorded.") => Store::Int,
        int("next_tid", "", "TID of the thread that was switched in; 0 is idle, −1 if not recorded.") => Store::Int,
        int("prev_state", "", "The state number of prev, as the source recorded it.") => Store::Int,
        word("prev_state_letter", "The state letter of prev (R, S, D, …).") => Store::Word(w::state_letter_word),
        word("prev_out", "How prev left the CPU: runnable (the reason was not recorded), preempted, preempted_to_user (on return to \
            user mode), yielded, throttled, gave_way (a kernel thread), blocked, exited or not_recorded.")
             => Store::Word(w::switch_out_word),
        int("prev_prio", "", PRIO_DOC) => Store::Int,
        int("next_prio", "", PRIO_DOC) => Store::Int,
        ns("prev_exec_ns", "Total runtime that the kernel has charged prev, at the first switch of this TID that \
            records it.").or_null() => Store::Key,
        ns("prev_ran_ns", "Runtime charged to prev since the last switch of this TID that records it.").or_null()
            => Store::Long,
        int("prev_stack", "", "The callchain of prev (table stack); null if not recorded.").or_null() => Store::Int,
    ];
    Wake, WAKE, "wake", "A thread was woken.", [
        TID => Store::Int,
        word("kind", "The kernel's event: waking, wakeup, new, or wakeup_at_switch_in (recorded with the next switch-in).")
            => Store::Word(w::wake_kind_word),
        int("target_cpu", "", "The CPU chosen for the thread.").or_null() => Store::Int,
        int("waker_tid", "", "TID of the thread that ran where the wakeup happened; 0: none, or it happened in an interrupt.").or_null() => Store::Int,
        int("prio", "", PRIO_DOC).or_null() => Store::Int,
        ns("stamp_ns", "Time of the wakeup; null if it is at_ns.").or_null() => Store::Long,
    ];
    Migrate, MIGRATE, "migrate", "A thread that was not running was moved to another CPU's run queue.", [
        TID => Store::Int,
        int("from_cpu", "", "The CPU it left.") => Store::Int,
        int("to_cpu", "", "The CPU it moved to.") => Store::Int,
    ];
    Thread, THREAD, "thread", "Facts about threads: created, renamed, exited, seen in a snapshot.", [
        TID => Store::Int,
        word("what", "fork, exec, exit, name, called (the name that a switch, wakeup or sample records from here on), seen (a \
            row of a snapshot), inner (its IDs in its own PID namespace), current (it runs on this CPU), yields (it calls \
            sched_yield), yielded (it returns from sched_yield) or named (the event of this number names it as the task that its CPU runs, \
            which no switch brought in).")
            => Store::Word(w::thread_note_word),
        int("pid", "", "PID of its process.").or_null() => Store::Int,
        int("parent_tid", "", "fork: TID of the thread that created it.").or_null() => Store::Int,
        Col::text("name", Shows::Path, "The thread's name; exec: the file.").or_null() => Store::Text,
        word("state", "seen: running, ready, blocked or exited.").or_null() => Store::Word(w::seen_state_word),
        word("state_letter", "seen: the state letter.").or_null() => Store::Word(w::state_letter_word),
        int("on_cpu", "", "seen: the CPU it was on, or was last on.").or_null() => Store::Int,
        ns("exec_ns", "seen: total runtime that the kernel has charged it.").or_null() => Store::Long,
        int("inner_tid", "", "inner: TID in its own PID namespace.").or_null() => Store::Int,
        int("inner_pid", "", "inner: PID in its own PID namespace.").or_null() => Store::Int,
    ];
    Priority, PRIORITY, "priority", "A thread's priority, policy and nice value from this time on.", [
        TID => Store::Int,
        int("prio", "", PRIO_DOC) => Store::Int,
        int("policy", "", "SCHED_* policy number; −1 if not recorded.") => Store::Int,
        int("nice", "", "Nice value, −20 to 19.") => Store::Int,
    ];
    Inherit, INHERIT, "inherit", "A thread inherits the priority of a lock's waiter from this time on, or no longer.", [
        TID => Store::Int,
        int("donor_tid", "", "TID of the waiter; 0: the inheritance ended; null if not recorded.").or_null() => Store::Int,
        int("old_prio", "", "The thread's dynamic priority before.") => Store::Int,
        int("prio", "", PRIO_DOC) => Store::Int,
    ];
    Affinity, AFFINITY, "affinity", "The CPUs that a thread may use from this time on.", [
        TID => Store::Int,
        word("cpus", "A kernel CPU list (0-3,8); null: unknown until the next row of this thread.").or_null() => Store::Text,
    ];
    Cgroup, CGROUP, "cgroup", "The cgroup of a thread from this time on.", [
        TID => Store::Int,
        int("cgroup", "", "The kernel's ID (inode number in the v2 hierarchy).") => Store::Key,
        Col::text("path", Shows::Path, "The cgroup's path; null if unknown.").or_null() => Store::Text,
    ];
    CgroupLimits, CGROUP_LIMITS, "cgroup_limits", "The settings of a cgroup's CPU controller from this time on.", [
        int("cgroup", "", "The kernel's ID: the inode number of the cgroup's folder.") => Store::Key,
        Col::text("path", Shows::Path, "The cgroup's path. With the prefix cpu:, path and ID belong to the CPU controller's own hierarchy (v1).").or_null()
            => Store::Text,
        ns("quota_ns", "How long its threads may run in a period (cpu.max); null: no limit.").or_null()
            => Store::Key,
        ns("period_ns", "Length of a period.") => Store::Key,
        int("weight", "", "Its weight relative to its siblings (cpu.weight), 100 by default; null if not recorded, as in v1.")
            .or_null() => Store::Int,
        word("cpus", "The CPUs that it may use (cpuset.cpus.effective); null if its hierarchy does not provide them.").or_null()
            => Store::Text,
    ];
    CgroupStat, CGROUP_STAT, "cgroup_stat", "The kernel's counters for a cgroup's quota (cpu.stat).", [
        int("cgroup", "", "The cgroup, as in cgroup_limits.") => Store::Key,
        int("periods", "count", "Periods in which it had runnable threads, since it was created (nr_periods).")
            => Store::Long,
        int("throttled_periods", "count", "Periods in which its quota was used up (nr_throttled).") => Store::Long,
        ns("throttled_ns", "Throttled time, summed over CPUs (throttled_usec).") => Store::Long,
    ];
    Throttle, THROTTLE, "throttle", "A thread is throttled by its cgroup's CPU quota from this time on, or no longer.", [
        int("tid", "", "The thread's TID; 0: all threads, and every change is recorded from here on.")
            => Store::Int,
        word("edge", "begin or end.") => Store::Word(edge_word),
    ];
    SchedAttr, SCHED_ATTR, "sched_attr", "A thread's own scheduling attributes from this time on, without inherited priority.", [
        TID => Store::Int,
        int("prio", "", "Its own priority, on the kernel's scale.").or_null() => Store::Int,
        int("uclamp_min", "", "The minimum capacity that it requests, of 1024.").or_null() => Store::Int,
        int("uclamp_max", "", "The maximum capacity that it requests, of 1024.").or_null() => Store::Int,
    ];
    IdealCpu, IDEAL_CPU, "ideal_cpu", "The CPU preferred for a thread from this time on.", [
        TID => Store::Int,
        int("ideal_cpu", "", "The CPU; null: none from here on.").or_null() => Store::Int,
    ];
    Idle, IDLE, "idle", "A CPU entered or left an idle state.", [
        int("state", "", "Number of the idle state; −1 when the CPU leaves it.") => Store::Int,
    ];
    Frequency, FREQUENCY, "frequency", "The frequency of a CPU from this time on.", [
        int("of_cpu", "", "The CPU that the event is about.") => Store::Int,
        int("freq_khz", "kHz", "The frequency.") => Store::Key,
    ];
    Parking, PARKING, "parking", "A CPU is parked from this time on, or no longer.", [
        int("of_cpu", "", "The CPU that the event is about.") => Store::Int,
        word("edge", "begin or end.") => Store::Word(edge_word),
    ];
    Irq, IRQ, "irq", "An interrupt handler started or ended.", [
        word("kind", "hard, soft, timer or ipi.") => Store::Word(w::irq_kind_word),
        int("number", "", "Interrupt number or softirq vector; −1 if it has none.") => Store::Int,
        word("edge", "begin or end.") => Store::Word(edge_word),
        word("name", "The handler's name.").or_null() => Store::Text,
    ];
    Block, BLOCK, "block", "A request to a block device was issued or completed.", [
        int("tid", "", "TID of the thread that issued it; null on completion, or if unknown.").or_null() => Store::Int,
        int("device", "", "The device: its major number times 2^20, plus its minor number.") => Store::Key,
        int("sector", "", "The first sector, of 512 bytes.") => Store::Long,
        int("bytes", "byte", "Size of the request.") => Store::Key,
        word("operation", "read, write, flush, discard or other.") => Store::Word(block_word),
        word("edge", "begin (issued) or end (completed).") => Store::Word(edge_word),
    ];
    CpuSample, CPU_SAMPLE, "cpu_sample" version 2, "A profiler interrupted a thread that ran, and recorded where it was.", [
        TID => Store::Int,
        int("stack", "", "Its callchain (table stack), innermost frame first.") => Store::Int,
        word("core_type", "The type of the core by the PMU that counted, where the source says it, with or without the CPU; otherwise \
            uniform.") => Store::Word(w::core_type_word),
    ];
    Count, COUNT, "count", "What an event of a CPU counted while one thread ran there, up to this time.", [
        int("tid", "", "TID of the thread; 0: idle, −1: several, because a switch was not recorded.") => Store::Int,
        word("counter", "The event, as --counters named it.") => Store::Text,
        ns("length_ns", "Time since the reading before, for which the event was enabled.") => Store::Long,
        int("count", "count", "The count.") => Store::Long,
        ns("running_ns", "How long the event counted; less than length_ns if it shared a counter with others.") => Store::Long,
    ];
    CountAtMark, COUNT_AT_MARK, "count_at_mark", "What an event of a CPU had counted at a mark since its last reading. The next row of count contains it.", [
        TID => Store::Int,
        word("counter", "The event, as --counters named it.") => Store::Text,
        ns("length_ns", "Time since the last reading.") => Store::Long,
        int("count", "count", "The count.") => Store::Long,
        ns("running_ns", "How long the event counted.") => Store::Long,
    ];
    Charge, CHARGE, "charge", "The kernel charged runtime to a thread.", [
        TID => Store::Int,
        ns("charged_ns", "Runtime since the thread's last charge.") => Store::Long,
    ];
    Counter, COUNTER, "counter", "A reading of a running total.", [
        word("counter", "steal: time that the hypervisor gave to other guests.") => Store::Word(counter_word),
        ns("total_ns", "Total since boot.") => Store::Long,
    ];
    Clock, CLOCK, "clock", "A reading of another clock at the event's time.", [
        word("clock", "monotonic, boottime, realtime, tsc or perf.") => Store::Word(w::clock_word),
        int("reading", "ns", "The clock's reading (ticks for the tsc).") => Store::Long,
    ];
    Mark, MARK, "mark", "A program marked an instant, or the begin or end of a section.", [
        int("tid", "", "TID of the thread that the mark is about.").or_null() => Store::Int,
        int("pid", "", "PID of its process.").or_null() => Store::Int,
        int("track", "", "0: the thread's own track; else the source's number of another track.") => Store::Key,
        Col::text("name", Shows::Mark, "The name given by the program; null for most ends.").or_null() => Store::Text,
        word("edge", "begin, end (of the last begin on this track) or instant.") => Store::Word(w::mark_edge_word),
    ];
    Value, VALUE, "value", "A value measured by a program or the kernel, from this time on.", [
        int("pid", "", "PID of the process that the value belongs to.").or_null() => Store::Int,
        Col::text("name", Shows::Mark, "What is measured, with its unit if the source provides one.").or_null() => Store::Text,
        Col::new("value", Kind::Float, "", "The value, in the unit in its name.") => Store::Float,
    ];
    EnergyDomain, ENERGY_DOMAIN, "energy_domain", "A source of energy, and what is known of it from this time on.", [
        word("domain", "Its name, unique in the machine (package-0, package-0/core, BAT0).").or_null() => Store::Text,
        word("part", "platform, package, core, uncore, dram, battery, sensor or other.").or_null() => Store::Text,
        word("parent", "The domain that contains it.").or_null() => Store::Text,
        word("same_as", "The domain that is the same by another reading; never to be summed with it.").or_null() => Store::Text,
        word("source", "How it is read.").or_null() => Store::Text,
        word("gauge", "counter, or power: its energy follows from power over time.") => Store::Word(gauge_word),
        ns("update_ns", "Time between two updates of its value, if it was measured.").or_null() => Store::Key,
    ];
    Energy, ENERGY, "energy", "What a domain used up to this time, since its reading before.", [
        word("domain", "The domain (energy_domain).").or_null() => Store::Text,
        ns("length_ns", "Time since the reading before.") => Store::Long,
        int("energy_nj", "nJ", "Energy; null: unknown, which is not 0.").or_null() => Store::Long,
        int("spread_nj", "nJ", "The energy may be so much less or more; 0 if it was counted.") => Store::Key,
        word("unknown", "Why the energy is unknown.").or_null() => Store::Text,
    ];
    Temperature, TEMPERATURE, "temperature", "A sensor of temperature was read.", [
        word("zone", "The sensor: the type of a thermal zone, or the chip and the label of hwmon.").or_null() => Store::Text,
        int("temperature_mc", "m°C", "The temperature, in thousandths of a degree Celsius.") => Store::Int,
    ];
    Frame, FRAME, "frame", "A stage of a frame on its way to the screen began or ended.", [
        int("cookie", "", "Connects begin and end.") => Store::Long,
        int("token", "", "Connects the expected and the actual stretch; −1 if not recorded.") => Store::Long,
        int("pid", "", "PID of the process that draws or displays the frame.").or_null() => Store::Int,
        Col::text("layer", Shows::Name, "The layer or window.").or_null() => Store::Text,
        word("stretch", "expected_surface, actual_surface, expected_display or actual_display.")
            => Store::Word(w::frame_stretch_word),
        word("edge", "begin or end.") => Store::Word(edge_word),
        int("jank", "", "Why the frame was late, as bits defined by the source; 0 if not recorded.") => Store::Int,
    ];
    Present, PRESENT, "present", "A program presented a frame.", [
        int("frame", "", "Row number in the log, from 0.") => Store::Long,
        int("swap_chain", "", "The swap chain's address, with unchanged bits; 0 if not recorded.") => Store::Key,
        int("pid", "", "PID of the process.").or_null() => Store::Int,
        Col::text("application", Shows::Name, "The name of the program.").or_null() => Store::Text,
        word("mode", "The present mode, as the log names it.").or_null() => Store::Text,
        word("displayed", "Whether it was displayed: yes, no, or not_recorded.") => Store::Word(displayed_word),
    ];
    FrameTime, FRAME_TIME, "frame_time", "A time of a frame, as recorded in a frame log.", [
        int("frame", "", "Row number in the log, from 0.") => Store::Long,
        word("part", "whole, until_present, cpu_busy, in_present, between_presents, until_render_start, \
            until_render_complete, gpu_busy, until_displayed, between_display_change or displayed_for.")
            => Store::Word(w::frame_part_word),
        ns("took_ns", "Duration.") => Store::Long,
    ];
    Loss, LOSS, "loss", "The source reported lost events.", [
        ns("from_ns", "Time of the buffer's last event before the loss.").or_null() => Store::Long,
        ns("to_ns", "Time of the buffer's first event after the loss.").or_null() => Store::Long,
        int("of_cpu", "", "The CPU whose buffer lost events; null: any CPU.").or_null() => Store::Int,
        int("events", "count", "Number of lost events; −1 if the source does not count them.") => Store::Key,
    ];
    Sample, SAMPLE, "sample", "Any other sample; it only shows that the recording was running.", [];
}

/// The callchains that events refer to; not a kind of event, but stored with them.
pub const STACKS: TableDef = TableDef {
    name: "stack",
    version: 2,
    made_from: MadeFrom::Elsewhere,
    large: true,
    doc: "The frames of callchains; each distinct chain is stored once.",
    key: &["stack", "depth"],
    cols: &[
        int("stack", "", "The callchain's number, from 1."),
        int("depth", "", "Depth of the frame; 0 is the innermost."),
        int("address", "", "The frame's address; as two's complement if above 2^63 (in the kernel)."),
        Col::text("function", Shows::Name, "The function's symbol.").or_null(),
        Col::text(
            "file",
            Shows::Path,
            "The file mapped at the address: a path, or a name in brackets ([kernel], [vdso], a module).",
        )
        .or_null(),
        word("build_id", "The file's GNU build id, in hexadecimal.").or_null(),
        int("file_offset", "byte", "Offset in the file of the byte at the address.").or_null(),
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

pub(crate) fn gauge_word(code: u8) -> String {
    if code == 0 { "counter" } else { "power" }.to_owned()
}

pub(crate) fn displayed_word(code: u8) -> String {
    ["no", "yes", "not_recorded"].get(usize::from(code)).copied().unwrap_or("?").to_owned()
}

pub(crate) fn counter_word(_: u8) -> String {
    "steal".to_owned()
}

/// The value that stands for null.
const NONE: i32 = i32::MIN;

/// Returns the table of an event; `None` for switches, wakeups and facts about threads, which `EventSheets` sorts.
pub(crate) fn kind_of(what: &EventKind) -> Option<EventTableId> {
    Some(match what {
        EventKind::Migrate { .. } => EventTableId::Migrate,
        EventKind::Priority { .. } => EventTableId::Priority,
        EventKind::Inherit { .. } => EventTableId::Inherit,
        EventKind::Affinity { .. } => EventTableId::Affinity,
        EventKind::Cgroup { .. } => EventTableId::Cgroup,
        EventKind::CgroupLimits { .. } => EventTableId::CgroupLimits,
        EventKind::CgroupStat { .. } => EventTableId::CgroupStat,
        EventKind::Throttle { .. } => EventTableId::Throttle,
        EventKind::SchedAttr { .. } => EventTableId::SchedAttr,
        EventKind::IdealCpu { .. } => EventTableId::IdealCpu,
        EventKind::Idle { .. } => EventTableId::Idle,
        EventKind::Frequency { .. } => EventTableId::Frequency,
        EventKind::Parking { .. } => EventTableId::Parking,
        EventKind::Irq { .. } => EventTableId::Irq,
        EventKind::Block { .. } => EventTableId::Block,
        EventKind::CpuSample { .. } => EventTableId::CpuSample,
        EventKind::Count { .. } => EventTableId::Count,
        EventKind::CountAtMark { .. } => EventTableId::CountAtMark,
        EventKind::Charge { .. } => EventTableId::Charge,
        EventKind::Steal { .. } => EventTableId::Counter,
        EventKind::Clock { .. } => EventTableId::Clock,
        EventKind::Mark(_) => EventTableId::Mark,
        EventKind::Value { .. } => EventTableId::Value,
        EventKind::EnergyDomain(_) => EventTableId::EnergyDomain,
        EventKind::Energy(_) => EventTableId::Energy,
        EventKind::Temperature(_) => EventTableId::Temperature,
        EventKind::Frame(_) => EventTableId::Frame,
        EventKind::Present(_) => EventTableId::Present,
        EventKind::FrameTime(_) => EventTableId::FrameTime,
        EventKind::Loss(_) => EventTableId::Loss,
        EventKind::Sample => EventTableId::Sample,
        _ => return None,
    })
}

/// Writes the row of an event, without the columns that all tables have.
pub(crate) fn write(to: &mut Sheet<Disk>, e: &Event) {
    let int = |to: &mut Sheet<Disk>, at, v: i32| to.ints(at, std::iter::once(v));
    let long = |to: &mut Sheet<Disk>, at, v: i64| to.longs(at, std::iter::once(v));
    let word = |to: &mut Sheet<Disk>, at, v: u8| to.words(at, std::iter::once(v));
    let text = |to: &mut Sheet<Disk>, at, v: NameId| to.texts(at, std::iter::once(v.0));
    let known = |id: i32| if id == Tid::UNKNOWN.0 { NONE } else { id };
    match e.what {
        EventKind::Migrate { tid, from, to: target } => {
            int(to, 3, tid.0);
            int(to, 4, from.0 as i32);
            int(to, 5, target.0 as i32);
        }
        EventKind::Priority { tid, prio, policy, nice } => {
            int(to, 3, tid.0);
            int(to, 4, prio.to_word().into());
            int(to, 5, policy.map_or(-1, i32::from));
            int(to, 6, nice.unwrap_or(i8::MIN).into());
        }
        EventKind::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } } => {
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
        EventKind::Affinity { tid, cpus } => {
            int(to, 3, tid.0);
            text(to, 4, cpus);
        }
        EventKind::Cgroup { tid, id, path } => {
            int(to, 3, tid.0);
            long(to, 4, id as i64);
            text(to, 5, path);
        }
        EventKind::CgroupLimits { id, path, quota, period, weight, cpus } => {
            long(to, 3, id.cast_signed());
            text(to, 4, path);
            long(to, 5, quota.to_word());
            long(to, 6, period.into());
            int(to, 7, weight.map_or(NONE, i32::from));
            text(to, 8, cpus);
        }
        EventKind::CgroupStat { id, periods, throttled, time } => {
            long(to, 3, id.cast_signed());
            long(to, 4, periods);
            long(to, 5, throttled);
            long(to, 6, time.0);
        }
        EventKind::Throttle { tid, begins } => {
            int(to, 3, tid.unwrap_or(Tid::IDLE).0);
            word(to, 4, u8::from(!begins));
        }
        EventKind::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
            int(to, 3, tid.0);
            int(to, 4, prio.get().map_or(NONE, i32::from));
            int(to, 5, uclamp_min.map_or(NONE, i32::from));
            int(to, 6, uclamp_max.map_or(NONE, i32::from));
        }
        EventKind::IdealCpu { tid, cpu } => {
            int(to, 3, tid.0);
            int(to, 4, cpu.map_or(NONE, |cpu| cpu.0.cast_signed()));
        }
        EventKind::Idle { state } => int(to, 3, state),
        EventKind::Frequency { of, khz } => {
            int(to, 3, of.0 as i32);
            long(to, 4, khz.into());
        }
        EventKind::Parking { of, parked } => {
            int(to, 3, of.0 as i32);
            word(to, 4, u8::from(!parked));
        }
        EventKind::Irq { kind, number, begins, name } => {
            word(to, 3, w::irq_kind_code(kind));
            int(to, 4, number);
            word(to, 5, u8::from(!begins));
            text(to, 6, name);
        }
        EventKind::Block { tid, request } => {
            let BlockRequest { device, sector, bytes, operation, done } = request;
            int(to, 3, known(tid.0));
            long(to, 4, device.0.into());
            long(to, 5, sector.cast_signed());
            long(to, 6, bytes.cast_signed());
            word(to, 7, operation as u8);
            word(to, 8, u8::from(done));
        }
        EventKind::CpuSample { tid, stack, core, .. } => {
            int(to, 3, tid.0);
            int(to, 4, stack.0 as i32);
            word(to, 5, w::core_type_code(core));
        }
        EventKind::Count { tid, event, length, count, running }
        | EventKind::CountAtMark { tid, event, length, count, running } => {
            int(to, 3, tid.0);
            text(to, 4, event);
            long(to, 5, length.0);
            long(to, 6, count);
            long(to, 7, running.0);
        }
        EventKind::Steal { total } => {
            word(to, 3, 0);
            long(to, 4, total.0);
        }
        EventKind::Clock { which, reading } => {
            word(to, 3, w::clock_code(which));
            long(to, 4, reading);
        }
        EventKind::Mark(m) => {
            int(to, 3, known(m.tid.0));
            int(to, 4, known(m.pid.0));
            long(to, 5, m.track);
            text(to, 6, m.name);
            word(to, 7, w::mark_edge_code(m.edge));
        }
        EventKind::Value { pid, name, value } => {
            int(to, 3, known(pid.0));
            text(to, 4, name);
            to.floats(5, std::iter::once(value));
        }
        EventKind::EnergyDomain(of) => {
            for (at, name) in (3..).zip([of.domain, of.part, of.parent, of.same_as, of.source]) {
                text(to, at, name);
            }
            word(to, 8, u8::from(of.from_power));
            long(to, 9, of.update.to_word());
        }
        EventKind::Energy(used) => {
            text(to, 3, used.domain);
            long(to, 4, used.length.0);
            long(to, 5, used.nj.get().unwrap_or(i64::MIN));
            long(to, 6, used.spread_nj);
            text(to, 7, used.unknown);
        }
        EventKind::Temperature(read) => {
            text(to, 3, read.zone);
            int(to, 4, read.millicelsius);
        }
        EventKind::Frame(f) => {
            long(to, 3, f.cookie);
            long(to, 4, f.token.0);
            int(to, 5, known(f.pid.0));
            text(to, 6, f.layer);
            word(to, 7, w::frame_stretch_code(f.stretch));
            word(to, 8, u8::from(!f.begins));
            int(to, 9, f.jank.map_or(0, NonZeroI32::get));
        }
        EventKind::Present(p) => {
            long(to, 3, p.frame);
            long(to, 4, p.swap_chain);
            int(to, 5, known(p.pid.0));
            text(to, 6, p.application);
            text(to, 7, p.mode);
            word(to, 8, p.displayed.map_or(2, u8::from));
        }
        EventKind::FrameTime(t) => {
            long(to, 3, t.frame);
            word(to, 4, w::frame_part_code(t.of));
            long(to, 5, t.took.0);
        }
        EventKind::Loss(l) => {
            long(to, 3, l.from.to_word());
            long(to, 4, l.to.to_word());
            int(to, 5, l.cpu.map_or(NONE, |c| c.0 as i32));
            long(to, 6, l.events.to_word());
        }
        _ => {}
    }
}

/// Reads the event of a row; `None` if it has a word or number that this corewise does not know.
pub(crate) fn read(kind: usize, c: &Cursor) -> Option<EventKind> {
    let tid = c.tid(3);
    Some(match kind {
        k if k == EventTableId::Migrate as usize => EventKind::Migrate { tid, from: c.cpu(4)?, to: c.cpu(5)? },
        k if k == EventTableId::Priority as usize => {
            let policy = Some(c.int(5) as i8).filter(|policy| *policy != -1);
            let nice = Some(c.int(6) as i8).filter(|nice| *nice != i8::MIN);
            EventKind::Priority { tid, prio: Prio::from_word(c.int(4) as i16), policy, nice }
        }
        k if k == EventTableId::Inherit as usize => {
            let donor = match c.int(4) {
                NONE => Donor::NotRecorded,
                0 => Donor::None,
                donor => Donor::Thread(Tid(donor)),
            };
            let [old_prio, prio] = [5, 6].map(|at| Prio::from_word(c.int(at) as i16));
            EventKind::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } }
        }
        k if k == EventTableId::Affinity as usize => EventKind::Affinity { tid, cpus: c.name(4) },
        k if k == EventTableId::Cgroup as usize => {
            EventKind::Cgroup { tid, id: c.long(4).cast_unsigned(), path: c.name(5) }
        }
        k if k == EventTableId::CgroupLimits as usize => EventKind::CgroupLimits {
            id: c.long(3).cast_unsigned(),
            path: c.name(4),
            quota: MaybeNs::from_word(c.long(5)),
            period: u32::try_from(c.long(6)).unwrap_or(0),
            weight: u16::try_from(c.int(7)).ok().filter(|weight| *weight > 0),
            cpus: c.name(8),
        },
        k if k == EventTableId::CgroupStat as usize => EventKind::CgroupStat {
            id: c.long(3).cast_unsigned(),
            periods: c.long(4),
            throttled: c.long(5),
            time: Ns(c.long(6)),
        },
        k if k == EventTableId::Throttle as usize => {
            EventKind::Throttle { tid: (tid != Tid::IDLE).then_some(tid), begins: c.word(4) == 0 }
        }
        k if k == EventTableId::SchedAttr as usize => {
            let clamp = |at| u16::try_from(c.int(at)).ok();
            EventKind::SchedAttr { tid, prio: c.prio(4), uclamp_min: clamp(5), uclamp_max: clamp(6) }
        }
        k if k == EventTableId::IdealCpu as usize => EventKind::IdealCpu { tid, cpu: c.cpu(4) },
        k if k == EventTableId::Idle as usize => EventKind::Idle { state: c.int(3) },
        k if k == EventTableId::Frequency as usize => {
            EventKind::Frequency { of: c.cpu(3)?, khz: u32::try_from(c.long(4)).ok()? }
        }
        k if k == EventTableId::Parking as usize => EventKind::Parking { of: c.cpu(3)?, parked: c.word(4) == 0 },
        k if k == EventTableId::Irq as usize => {
            EventKind::Irq { kind: w::irq_kind(c.word(3))?, number: c.int(4), begins: c.word(5) == 0, name: c.name(6) }
        }
        k if k == EventTableId::Block as usize => EventKind::Block {
            tid,
            request: BlockRequest {
                device: Device(u32::try_from(c.long(4)).ok()?),
                sector: c.long(5).cast_unsigned(),
                bytes: c.long(6).cast_unsigned(),
                operation: *BlockOperation::ALL.get(usize::from(c.word(7)))?,
                done: c.word(8) == 1,
            },
        },
        k if k == EventTableId::CpuSample as usize => {
            let core = w::core_type(c.word(5)).unwrap_or(CoreType::Uniform);
            EventKind::CpuSample { tid, stack: StackId(c.int(4) as u32), name: NameId::NONE, core }
        }
        k if k == EventTableId::Count as usize => {
            EventKind::Count { tid, event: c.name(4), length: Ns(c.long(5)), count: c.long(6), running: Ns(c.long(7)) }
        }
        k if k == EventTableId::CountAtMark as usize => EventKind::CountAtMark {
            tid,
            event: c.name(4),
            length: Ns(c.long(5)),
            count: c.long(6),
            running: Ns(c.long(7)),
        },
        k if k == EventTableId::Charge as usize => EventKind::Charge { tid, ns: Ns(c.long(4)) },
        k if k == EventTableId::Counter as usize => EventKind::Steal { total: Ns(c.long(4)) },
        k if k == EventTableId::Clock as usize => EventKind::Clock { which: w::clock(c.word(3))?, reading: c.long(4) },
        k if k == EventTableId::Mark as usize => {
            let edge = w::mark_edge(c.word(7))?;
            EventKind::Mark(Mark { tid, pid: c.pid(4), track: c.long(5), name: c.name(6), edge })
        }
        k if k == EventTableId::Value as usize => {
            EventKind::Value { pid: c.pid(3), name: c.name(4), value: c.float(5) }
        }
        k if k == EventTableId::EnergyDomain as usize => EventKind::EnergyDomain(EnergyDomain {
            domain: c.name(3),
            part: c.name(4),
            parent: c.name(5),
            same_as: c.name(6),
            source: c.name(7),
            from_power: c.word(8) == 1,
            update: MaybeNs::from_word(c.long(9)),
        }),
        k if k == EventTableId::Energy as usize => EventKind::Energy(EnergyUse {
            domain: c.name(3),
            length: Ns(c.long(4)),
            nj: MaybeCount::new(c.long(5)),
            spread_nj: c.long(6),
            unknown: c.name(7),
        }),
        k if k == EventTableId::Temperature as usize => {
            EventKind::Temperature(Temperature { zone: c.name(3), millicelsius: c.int(4) })
        }
        k if k == EventTableId::Frame as usize => EventKind::Frame(Frame {
            cookie: c.long(3),
            token: FrameToken(c.long(4)),
            pid: c.pid(5),
            layer: c.name(6),
            stretch: w::frame_stretch(c.word(7))?,
            begins: c.word(8) == 0,
            jank: NonZeroI32::new(c.int(9)),
        }),
        k if k == EventTableId::Present as usize => EventKind::Present(Present {
            frame: c.long(3),
            swap_chain: c.long(4),
            pid: c.pid(5),
            application: c.name(6),
            mode: c.name(7),
            displayed: [Some(false), Some(true), None].get(usize::from(c.word(8))).copied()?,
        }),
        k if k == EventTableId::FrameTime as usize => {
            EventKind::FrameTime(FrameTime { frame: c.long(3), of: w::frame_part(c.word(4))?, took: Ns(c.long(5)) })
        }
        k if k == EventTableId::Loss as usize => EventKind::Loss(LossSpan {
            from: MaybeNs::from_word(c.long(3)),
            to: MaybeNs::from_word(c.long(4)),
            cpu: c.cpu(5),
            events: MaybeCount::new(c.long(6)),
        }),
        k if k == EventTableId::Sample as usize => EventKind::Sample,
        _ => return None,
    })
}
