//! Each kind of event: its table, with the columns, and which field of the event each column is.
//!
//! Everything that stores or passes on events follows from these declarations: trace folders (`store`), the notes of an exported
//! Perfetto trace (`export`, and `import`, which reads them back), and the numbers of texts and callchains (`ingest`). Switches, wakeups
//! and facts about threads are the exception: their rows depend on each other, and `store` writes and reads them itself.
//!
//! To add a kind, declare it in [`event_kinds!`], and give it a place in [`EventTableId`], by which tables are listed.

use super::cells::{
    Begins, Chain, Clamp, CoreTypeOrUniform, CountKey, Cpu, Displayed, Ends, Field, Float, FromPower, Id, Int, Jank,
    Key, KnownCount, KnownPriority, KnownProcess, KnownThread, LentBy, Long, MaybeCpu, MaybeTime, MaybeTimeKey, Name,
    Nice, Own, Policy, Priority, Read, ReadCells, Short, SmallKey, Storage, Thread, ThreadOrAll, Time, Token, Total,
    Unsigned, Weight, Word, WriteCells, word,
};
use super::{
    BlockOperation, BlockRequest, Clock, Device, EventKind, Frame, FrameStretch, FutexWait, InheritedPriority, IrqKind,
    LossSpan, Mark, MarkEdge, NameId, ObjectWait, SnapshotState, SwitchOut, WaitKind, WakeKind,
};
use crate::coded;
use crate::{
    Col, EnergyDomain, EnergyUse, FramePart, FrameTime, Kind, MadeFrom, Present, Shows, StackId, TableDef, Temperature,
};

/// A column of a kind of event.
#[derive(Clone, Copy)]
pub struct EventColumn {
    /// Its name, unit and documentation.
    pub col: Col,
    /// How it is stored.
    pub storage: Storage,
    /// The name of the field in a note of an exported Perfetto trace; empty if notes have no such field.
    pub note: &'static str,
    /// The number that stands for null in a note; without one, the field is absent.
    pub absent: Option<i64>,
}

/// The table of a kind of event.
#[derive(Clone, Copy)]
pub struct EventTable {
    /// Its declaration, with the columns that all kinds have: the event's number, its time and its CPU.
    pub def: &'static TableDef,
    /// The name of its notes in an exported Perfetto trace.
    pub note: &'static str,
    /// Its own columns.
    pub columns: &'static [EventColumn],
}

impl EventTable {
    /// The number of columns that all kinds have.
    pub const COMMON: usize = 3;

    /// How these are stored.
    pub const COMMON_STORAGE: [Storage; Self::COMMON] = [Storage::Long, Storage::Long, Storage::Int];
}

/// A declared column, before it is known of which field.
#[derive(Clone, Copy)]
struct Declared {
    col: Col,
    note: &'static str,
    absent: Option<i64>,
}

impl Declared {
    const fn new(col: Col) -> Self {
        Self { note: col.name, col, absent: None }
    }

    const fn or_null(self) -> Self {
        Self { col: self.col.or_null(), ..self }
    }

    /// The name of its field in notes, if that is not the column's.
    const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// The number that stands for null in notes.
    const fn absent(self, number: i64) -> Self {
        Self { absent: Some(number), ..self }
    }

    /// Not in notes.
    const fn table_only(self) -> Self {
        self.note("")
    }

    const fn stored(self, storage: Storage) -> EventColumn {
        EventColumn { col: self.col, storage, note: self.note, absent: self.absent }
    }
}

const fn int(name: &'static str, unit: &'static str, doc: &'static str) -> Declared {
    Declared::new(Col::new(name, Kind::Int, unit, doc))
}

const fn ns(name: &'static str, doc: &'static str) -> Declared {
    int(name, "ns", doc)
}

const fn float(name: &'static str, unit: &'static str, doc: &'static str) -> Declared {
    Declared::new(Col::new(name, Kind::Float, unit, doc))
}

const fn text(name: &'static str, shows: Shows, doc: &'static str) -> Declared {
    Declared::new(Col::text(name, shows, doc))
}

/// A column of words of corewise, of the kernel or of the hardware.
const fn word_column(name: &'static str, doc: &'static str) -> Declared {
    text(name, Shows::Nothing, doc)
}

const EVENT: Declared = int("event", "", "The event's identity: its position in the merged order of all kinds.");
const AT: Declared = ns("at_ns", "Time since the start of the recording.");
const CPU: Declared = int("cpu", "", "The CPU that recorded the event.");
const TID: Declared = int("tid", "", "The thread's TID.").note("pid");
const PRIO_DOC: &str = "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair).";

/// What a row of the table `thread` records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The table's documentation describes them.
pub enum ThreadNote {
    Fork,
    Exec,
    Exit,
    Name,
    Called,
    Snapshot,
    Inner,
    Current,
    Yields,
    Yielded,
    Named,
}

coded!(ThreadNote:
    ThreadNote::Fork => "fork", ThreadNote::Exec => "exec", ThreadNote::Exit => "exit", ThreadNote::Name => "name",
    ThreadNote::Called => "called", ThreadNote::Snapshot => "seen", ThreadNote::Inner => "inner",
    ThreadNote::Current => "current", ThreadNote::Yields => "yields", ThreadNote::Yielded => "yielded",
    ThreadNote::Named => "named",
);

/// The code of a state letter is the letter itself.
fn letter_word(code: u8) -> String {
    char::from(code).to_string()
}

/// Declares the tables in the order in which they are listed.
macro_rules! listed {
    ($($id:ident $def:ident),+ $(,)?) => {
        /// The tables of events.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)] // Each table has its documentation.
        pub enum EventTableId { $($id),+ }

        impl EventTableId {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$id),+];

            /// Returns the table whose notes have this name, if there is one.
            #[must_use]
            pub fn of_note(name: &[u8]) -> Option<Self> {
                Self::ALL.iter().copied().find(|id| id.table().note.as_bytes() == name)
            }

            /// Returns the declaration.
            #[must_use]
            pub const fn table(self) -> &'static EventTable {
                match self { $(Self::$id => &$def),+ }
            }
        }
    };
}

listed! {
    Switch SWITCH, Wake WAKE, Migrate MIGRATE, Thread THREAD, Priority PRIORITY, Inherit INHERIT, Affinity AFFINITY,
    Cgroup CGROUP, CgroupLimits CGROUP_LIMITS, CgroupStat CGROUP_STAT, Throttle THROTTLE, SchedAttr SCHED_ATTR,
    IdealCpu IDEAL_CPU, Idle IDLE, Frequency FREQUENCY, Parking PARKING, Irq IRQ, Block BLOCK, CpuSample CPU_SAMPLE,
    Count COUNT, CountAtMark COUNT_AT_MARK, Charge CHARGE, Counter COUNTER, Clock CLOCK, Mark MARK, Value VALUE,
    EnergyDomain ENERGY_DOMAIN, Energy ENERGY, Temperature TEMPERATURE, Frame FRAME, Present PRESENT,
    FrameTime FRAME_TIME, Loss LOSS, Sample SAMPLE, FutexWait FUTEX_WAIT, WokenByCall WOKEN_BY_CALL,
    ObjectWait OBJECT_WAIT, ObjectReady OBJECT_READY, FutexCall FUTEX_CALL, FutexReturn FUTEX_RETURN,
}

/// Declares a table. Notes have the first of the names in brackets.
macro_rules! table {
    (
        $def:ident, $name:literal, [$note:literal $($unless_named:literal)?], $version:expr, $doc:literal,
        [$($col:expr => $storage:expr),*]
    ) => {
        const $def: EventTable = EventTable {
            def: &TableDef {
                name: $name,
                version: $version,
                made_from: MadeFrom::Elsewhere,
                large: true,
                doc: $doc,
                key: &["event"],
                cols: &[EVENT.col, AT.col, CPU.col, $($col.col),*],
            },
            note: concat!("corewise_", $note),
            columns: &[$($col.stored($storage)),*],
        };
    };
}

/// Declares tables whose rows `store` makes itself.
macro_rules! row_tables {
    ($($def:ident $name:literal $doc:literal [$($col:expr => $storage:expr),* $(,)?];)+) => {
        $(table!($def, $name, [$name], 1, $doc, [$($col => $storage),*]);)+
    };
}

/// The first of the given values.
macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// Declares kinds of events: the table's place and name, its version if it is not 1, its documentation; the event, as a pattern that
/// names the fields; and for each field its conversion and its column. `without` is a field that is not stored, with the value that it
/// has when it is read; `with` a column that is no field, with its value.
macro_rules! event_kinds {
    ($(
        $id:ident $def:ident $name:literal $(note $note:literal)? $(version $version:literal)? $doc:literal
        { $($what:tt)+ }
        $(without $without:ident: $without_field:ident = $without_value:expr;)?
        $(with $with:ident = $with_value:expr;)?
        [$($field:ident: $conversion:ty = $col:expr),* $(,)?];
    )+) => {
        $(table!($def, $name, [$($note)? $name], first!($($version,)? 1), $doc,
            [$($col => <$conversion as Field>::STORAGE),*]);)+

        #[allow(unused_variables, unused_assignments, unused_mut)] // Not all kinds have fields.
        impl EventKind {
            /// Returns the table of its kind.
            #[inline]
            #[must_use]
            pub const fn table(&self) -> EventTableId {
                match self {
                    Self::Switch(_) => EventTableId::Switch,
                    Self::Wake(_) => EventTableId::Wake,
                    Self::Fork { .. }
                    | Self::Exec { .. }
                    | Self::Exit { .. }
                    | Self::Name { .. }
                    | Self::Snapshot(_)
                    | Self::Inner { .. }
                    | Self::Current { .. }
                    | Self::Yield { .. } => EventTableId::Thread,
                    $($($what)+ => EventTableId::$id,)+
                }
            }

            /// Writes its cells, one of each of the table's own columns; nothing for a switch, a wakeup or a fact about a thread.
            pub fn write_cells(&self, to: &mut impl WriteCells) {
                let mut at = 0;
                match *self {
                    $($($what)+ => {
                        $(let $with = $with_value;)?
                        $(
                            <$conversion as Field>::write($field, at, to);
                            at += 1;
                        )*
                    })+
                    // Those that `table` lists by hand.
                    _ => {}
                }
            }

            /// Returns the event that a row of a table is; `None` if a cell is invalid, or if `store` reads the table itself.
            pub fn read_cells(table: EventTableId, from: &mut impl ReadCells) -> Option<Self> {
                let mut at = 0;
                Some(match table {
                    EventTableId::Switch | EventTableId::Wake | EventTableId::Thread => return None,
                    $(EventTableId::$id => {
                        $(let $without = $without_value;)?
                        $(
                            let $field = <$conversion as Field>::read(at, from)?;
                            at += 1;
                        )*
                        $($what)+
                    })+
                })
            }

            /// Passes the ids of its texts, with what they show, and of its callchains. Each stream numbers both itself.
            pub fn ids(&mut self, names: &mut impl FnMut(&mut NameId, Shows), stacks: &mut impl FnMut(&mut StackId)) {
                let mut at = 0;
                match self {
                    Self::Switch(switch) => {
                        names(&mut switch.prev_name, Shows::Name);
                        names(&mut switch.next_name, Shows::Name);
                        stacks(&mut switch.stack);
                    }
                    Self::Wake(wake) => names(&mut wake.name, Shows::Name),
                    Self::Fork { name, .. } | Self::Name { name, .. } => names(name, Shows::Name),
                    Self::Exec { file, .. } => names(file, Shows::Path),
                    Self::Snapshot(entry) => names(&mut entry.name, Shows::Name),
                    Self::Exit { .. } | Self::Inner { .. } | Self::Current { .. } | Self::Yield { .. } => {}
                    $($($what)+ => {
                        $(<$without_field as Field>::ids($without, &mut |id: &mut NameId| names(id, Shows::Name), stacks);)?
                        $(let mut $with = $with_value; let $with = &mut $with;)?
                        $(
                            let shows = $def.columns[at].col.shows;
                            <$conversion as Field>::ids($field, &mut |id: &mut NameId| names(id, shows), stacks);
                            at += 1;
                        )*
                    })+
                }
            }
        }
    };
}

row_tables! {
    SWITCH "switch" "A CPU switched from one thread to another." [
        int("prev_tid", "", "TID of the thread that was switched out; 0 is idle, −1 if not recorded.") => Storage::Int,
        int("next_tid", "", "TID of the thread that was switched in; 0 is idle, −1 if not recorded.") => Storage::Int,
        int("prev_state", "", "The state number of prev, as the source recorded it.") => Storage::Int,
        word_column("prev_state_letter", "The state letter of prev (R, S, D, …).") => Storage::Word(letter_word),
        word_column("prev_out", "How prev left the CPU: runnable (the reason was not recorded), preempted, preempted_to_user (on return to \
            user mode), yielded, throttled, gave_way (a kernel thread), blocked, exited or not_recorded.") => Storage::Word(word::<SwitchOut>),
        int("prev_prio", "", PRIO_DOC) => Storage::Int,
        int("next_prio", "", PRIO_DOC) => Storage::Int,
        ns("prev_exec_ns", "Total runtime that the kernel has charged prev, at the first switch of this TID that \
            records it.").or_null() => Storage::Key,
        ns("prev_ran_ns", "Runtime charged to prev since the last switch of this TID that records it.").or_null() => Storage::Long,
        int("prev_stack", "", "The callchain of prev (table stack); null if not recorded.").or_null() => Storage::Int,
    ];
    WAKE "wake" "A thread was woken." [
        TID => Storage::Int,
        word_column("kind", "The kernel's event: waking, wakeup, new, or wakeup_at_switch_in (recorded with the next switch-in).") => Storage::Word(word::<WakeKind>),
        int("target_cpu", "", "The CPU chosen for the thread.").or_null() => Storage::Int,
        int("waker_tid", "", "TID of the thread that ran where the wakeup happened; 0: none, or it happened in an interrupt.").or_null() => Storage::Int,
        int("prio", "", PRIO_DOC).or_null() => Storage::Int,
        ns("stamp_ns", "Time of the wakeup; null if it is at_ns.").or_null() => Storage::Long,
    ];
    THREAD "thread" "Facts about threads: created, renamed, exited, seen in a snapshot." [
        TID => Storage::Int,
        word_column("what", "fork, exec, exit, name, called (the name that a switch, wakeup or sample records from here on), seen (a \
            row of a snapshot), inner (its IDs in its own PID namespace), current (it runs on this CPU), yields (it calls \
            sched_yield), yielded (it returns from sched_yield) or named (the event of this number names it as the task that its CPU runs, \
            which no switch brought in).") => Storage::Word(word::<ThreadNote>),
        int("pid", "", "PID of its process.").or_null() => Storage::Int,
        int("parent_tid", "", "fork: TID of the thread that created it.").or_null() => Storage::Int,
        text("name", Shows::Path, "The thread's name; exec: the file.").or_null() => Storage::Text,
        word_column("state", "seen: running, ready, blocked or exited.").or_null() => Storage::Word(word::<SnapshotState>),
        word_column("state_letter", "seen: the state letter.").or_null() => Storage::Word(letter_word),
        int("on_cpu", "", "seen: the CPU it was on, or was last on.").or_null() => Storage::Int,
        ns("exec_ns", "seen: total runtime that the kernel has charged it.").or_null() => Storage::Long,
        int("inner_tid", "", "inner: TID in its own PID namespace.").or_null() => Storage::Int,
        int("inner_pid", "", "inner: PID in its own PID namespace.").or_null() => Storage::Int,
    ];
}

event_kinds! {
    Migrate MIGRATE "migrate" "A thread that was not running was moved to another CPU's run queue."
        { EventKind::Migrate { tid, from, to } } [
        tid: Thread = TID,
        from: Cpu = int("from_cpu", "", "The CPU it left."),
        to: Cpu = int("to_cpu", "", "The CPU it moved to."),
    ];
    Priority PRIORITY "priority" "A thread's priority, policy and nice value from this time on."
        { EventKind::Priority { tid, prio, policy, nice } } [
        tid: Thread = TID,
        prio: Priority = int("prio", "", PRIO_DOC),
        policy: Policy = int("policy", "", "SCHED_* policy number; −1 if not recorded."),
        nice: Nice = int("nice", "", "Nice value, −20 to 19."),
    ];
    Inherit INHERIT "inherit" "A thread inherits the priority of a lock's waiter from this time on, or no longer."
        { EventKind::Inherit { tid, priority: InheritedPriority { donor, old_prio, prio } } } [
        tid: Thread = TID,
        donor: LentBy = int("donor_tid", "", "TID of the waiter; 0: the inheritance ended; null if not recorded.").or_null().note("donor"),
        old_prio: Priority = int("old_prio", "", "The thread's dynamic priority before."),
        prio: Priority = int("prio", "", PRIO_DOC),
    ];
    Affinity AFFINITY "affinity" "The CPUs that a thread may use from this time on."
        { EventKind::Affinity { tid, cpus } } [
        tid: Thread = TID,
        cpus: Name = word_column("cpus", "A kernel CPU list (0-3,8); null: unknown until the next row of this thread.").or_null(),
    ];
    Cgroup CGROUP "cgroup" "The cgroup of a thread from this time on."
        { EventKind::Cgroup { tid, id, path } } [
        tid: Thread = TID,
        id: Id = int("cgroup", "", "The kernel's ID: an inode number of the hierarchy that has the CPU controller.").note("id"),
        path: Name = text("path", Shows::Path, "The cgroup's path, in v1 with the prefix cpu:; null if unknown.").or_null(),
    ];
    CgroupLimits CGROUP_LIMITS "cgroup_limits" "The settings of a cgroup's CPU controller from this time on."
        { EventKind::CgroupLimits { id, path, quota, period, weight, cpus } } [
        id: Id = int("cgroup", "", "The kernel's ID: the inode number of the cgroup's folder.").note("id"),
        path: Name = text("path", Shows::Path, "The cgroup's path. With the prefix cpu:, path and ID belong to the CPU controller's own hierarchy (v1).").or_null(),
        quota: MaybeTimeKey = ns("quota_ns", "How long its threads may run in a period (cpu.max); null: no limit.").or_null().note("quota").absent(i64::MAX),
        period: SmallKey = ns("period_ns", "Length of a period.").note("period"),
        weight: Weight = int("weight", "", "Its weight relative to its siblings (cpu.weight), 100 by default; null if not recorded, as in v1.").or_null().absent(0),
        cpus: Name = word_column("cpus", "The CPUs that it may use (cpuset.cpus.effective); null if its hierarchy does not provide them.").or_null(),
    ];
    CgroupStat CGROUP_STAT "cgroup_stat" "The kernel's counters for a cgroup's quota (cpu.stat)."
        { EventKind::CgroupStat { id, periods, throttled, time } } [
        id: Id = int("cgroup", "", "The cgroup, as in cgroup_limits.").note("id"),
        periods: Long = int("periods", "count", "Periods in which it had runnable threads, since it was created (nr_periods)."),
        throttled: Long = int("throttled_periods", "count", "Periods in which its quota was used up (nr_throttled).").note("throttled"),
        time: Time = ns("throttled_ns", "Throttled time, summed over CPUs (throttled_usec).").note("time"),
    ];
    Throttle THROTTLE "throttle" "A thread is throttled by its cgroup's CPU quota from this time on, or no longer."
        { EventKind::Throttle { tid, begins } } [
        tid: ThreadOrAll = int("tid", "", "The thread's TID; 0: all threads, and every change is recorded from here on.").note("pid"),
        begins: Begins = word_column("edge", "begin or end.").note("begins"),
    ];
    SchedAttr SCHED_ATTR "sched_attr" "A thread's own scheduling attributes from this time on, without inherited priority."
        { EventKind::SchedAttr { tid, prio, uclamp_min, uclamp_max } } [
        tid: Thread = TID,
        prio: KnownPriority = int("prio", "", "Its own priority, on the kernel's scale.").or_null().absent(-32_768),
        uclamp_min: Clamp = int("uclamp_min", "", "The minimum capacity that it requests, of 1024.").or_null().absent(-1),
        uclamp_max: Clamp = int("uclamp_max", "", "The maximum capacity that it requests, of 1024.").or_null().absent(-1),
    ];
    IdealCpu IDEAL_CPU "ideal_cpu" "The CPU preferred for a thread from this time on."
        { EventKind::IdealCpu { tid, cpu } } [
        tid: Thread = TID,
        cpu: MaybeCpu = int("ideal_cpu", "", "The CPU; null: none from here on.").or_null().note("cpu").absent(-1),
    ];
    Idle IDLE "idle" "A CPU entered or left an idle state."
        { EventKind::Idle { state } } [
        state: Int = int("state", "", "Number of the idle state; −1 when the CPU leaves it."),
    ];
    Frequency FREQUENCY "frequency" "The frequency of a CPU from this time on."
        { EventKind::Frequency { of, khz } } [
        of: Cpu = int("of_cpu", "", "The CPU that the event is about."),
        khz: SmallKey = int("freq_khz", "kHz", "The frequency."),
    ];
    Parking PARKING "parking" "A CPU is parked from this time on, or no longer."
        { EventKind::Parking { of, parked } } [
        of: Cpu = int("of_cpu", "", "The CPU that the event is about.").note("cpu_id"),
        parked: Begins = word_column("edge", "begin or end.").note("parked"),
    ];
    Irq IRQ "irq" "An interrupt handler started or ended."
        { EventKind::Irq { kind, number, begins, name } } [
        kind: Word<IrqKind> = word_column("kind", "hard, soft, timer or ipi."),
        number: Int = int("number", "", "Interrupt number or softirq vector; −1 if it has none."),
        begins: Begins = word_column("edge", "begin or end."),
        name: Name = word_column("name", "The handler's name.").or_null(),
    ];
    Block BLOCK "block" "A request to a block device was issued or completed."
        { EventKind::Block { tid, request: BlockRequest { device: Device(device), sector, bytes, operation, done } } } [
        tid: KnownThread = int("tid", "", "TID of the thread that issued it; null on completion, or if unknown.").or_null(),
        device: SmallKey = int("device", "", "The device: its major number times 2^20, plus its minor number."),
        sector: Unsigned = int("sector", "", "The first sector, of 512 bytes."),
        bytes: Id = int("bytes", "byte", "Size of the request."),
        operation: Word<BlockOperation> = word_column("operation", "read, write, flush, discard or other."),
        done: Ends = word_column("edge", "begin (issued) or end (completed)."),
    ];
    CpuSample CPU_SAMPLE "cpu_sample" version 2 "A profiler interrupted a thread that ran, and recorded where it was."
        { EventKind::CpuSample { tid, stack, name, core } } without name: Name = NameId::NONE; [
        tid: Thread = TID,
        stack: Chain = int("stack", "", "Its callchain (table stack), innermost frame first."),
        core: CoreTypeOrUniform = word_column("core_type", "The type of the core by the PMU that counted, where the source says it, with or without the CPU; otherwise \
            uniform."),
    ];
    Count COUNT "count" "What an event of a CPU counted while one thread ran there, up to this time."
        { EventKind::Count { tid, event, length, count, running } } [
        tid: Thread = int("tid", "", "TID of the thread; 0: idle, −1: several, because a switch was not recorded.").note("pid"),
        event: Name = word_column("counter", "The event, as --counters named it.").note("event"),
        length: Time = ns("length_ns", "Time since the reading before, for which the event was enabled.").note("length"),
        count: Long = int("count", "count", "The count."),
        running: Time = ns("running_ns", "How long the event counted; less than length_ns if it shared a counter with others.").note("running"),
    ];
    CountAtMark COUNT_AT_MARK "count_at_mark" "What an event of a CPU had counted at a mark since its last reading. The next row of count contains it."
        { EventKind::CountAtMark { tid, event, length, count, running } } [
        tid: Thread = TID,
        event: Name = word_column("counter", "The event, as --counters named it."),
        length: Time = ns("length_ns", "Time since the last reading."),
        count: Long = int("count", "count", "The count."),
        running: Time = ns("running_ns", "How long the event counted."),
    ];
    Charge CHARGE "charge" "The kernel charged runtime to a thread."
        { EventKind::Charge { tid, ns } } [
        tid: Thread = TID,
        ns: Time = ns("charged_ns", "Runtime since the thread's last charge.").note("ns"),
    ];
    Counter COUNTER "counter" note "steal" "A reading of a running total."
        { EventKind::Steal { total } } with of = Total::Steal; [
        of: Word<Total> = word_column("counter", "steal: time that the hypervisor gave to other guests.").table_only(),
        total: Time = ns("total_ns", "Total since boot.").note("total"),
    ];
    Clock CLOCK "clock" "A reading of another clock at the event's time."
        { EventKind::Clock { which, reading } } [
        which: Word<Clock> = word_column("clock", "monotonic, boottime, realtime, tsc or perf.").note("which"),
        reading: Long = int("reading", "ns", "The clock's reading (ticks for the tsc)."),
    ];
    Mark MARK "mark" "A program marked an instant, or the begin or end of a section."
        { EventKind::Mark(Mark { tid, pid, track, name, edge }) } [
        tid: KnownThread = int("tid", "", "TID of the thread that the mark is about.").or_null(),
        pid: KnownProcess = int("pid", "", "PID of its process.").or_null(),
        track: Key = int("track", "", "0: the thread's own track; else the source's number of another track."),
        name: Name = text("name", Shows::Mark, "The name given by the program; null for most ends.").or_null(),
        edge: Word<MarkEdge> = word_column("edge", "begin, end (of the last begin on this track) or instant."),
    ];
    Value VALUE "value" "A value measured by a program or the kernel, from this time on."
        { EventKind::Value { pid, name, value } } [
        pid: KnownProcess = int("pid", "", "PID of the process that the value belongs to.").or_null(),
        name: Name = text("name", Shows::Mark, "What is measured, with its unit if the source provides one.").or_null(),
        value: Float = float("value", "", "The value, in the unit in its name."),
    ];
    EnergyDomain ENERGY_DOMAIN "energy_domain" "A source of energy, and what is known of it from this time on."
        { EventKind::EnergyDomain(EnergyDomain { domain, part, parent, same_as, source, from_power, update }) } [
        domain: Name = word_column("domain", "Its name, unique in the machine (package-0, package-0/core, BAT0).").or_null(),
        part: Name = word_column("part", "platform, package, core, uncore, dram, battery, sensor or other.").or_null(),
        parent: Name = word_column("parent", "The domain that contains it.").or_null(),
        same_as: Name = word_column("same_as", "The domain that is the same by another reading; never to be summed with it.").or_null(),
        source: Name = word_column("source", "How it is read.").or_null(),
        from_power: FromPower = word_column("gauge", "counter, or power: its energy follows from power over time.").note("from_power"),
        update: MaybeTimeKey = ns("update_ns", "Time between two updates of its value, if it was measured.").or_null().note("update").absent(-1),
    ];
    Energy ENERGY "energy" "What a domain used up to this time, since its reading before."
        { EventKind::Energy(EnergyUse { domain, length, nj, spread_nj, unknown }) } [
        domain: Name = word_column("domain", "The domain (energy_domain).").or_null(),
        length: Time = ns("length_ns", "Time since the reading before.").note("length"),
        nj: KnownCount = int("energy_nj", "nJ", "Energy; null: unknown, which is not 0.").or_null().note("nj").absent(-1),
        spread_nj: Key = int("spread_nj", "nJ", "The energy may be so much less or more; 0 if it was counted."),
        unknown: Name = word_column("unknown", "Why the energy is unknown.").or_null(),
    ];
    Temperature TEMPERATURE "temperature" "A sensor of temperature was read."
        { EventKind::Temperature(Temperature { zone, millicelsius }) } [
        zone: Name = word_column("zone", "The sensor: the type of a thermal zone, or the chip and the label of hwmon.").or_null(),
        millicelsius: Int = int("temperature_mc", "m°C", "The temperature, in thousandths of a degree Celsius.").note("mc"),
    ];
    Frame FRAME "frame" "A stage of a frame on its way to the screen began or ended."
        { EventKind::Frame(Frame { cookie, token, pid, layer, stretch, begins, jank }) } [
        cookie: Long = int("cookie", "", "Connects begin and end."),
        token: Token = int("token", "", "Connects the expected and the actual stretch; −1 if not recorded."),
        pid: KnownProcess = int("pid", "", "PID of the process that draws or displays the frame.").or_null(),
        layer: Name = text("layer", Shows::Program, "The layer or window.").or_null(),
        stretch: Word<FrameStretch> = word_column("stretch", "expected_surface, actual_surface, expected_display or actual_display."),
        begins: Begins = word_column("edge", "begin or end."),
        jank: Jank = int("jank", "", "Why the frame was late, as bits defined by the source; 0 if not recorded."),
    ];
    Present PRESENT "present" "A program presented a frame."
        { EventKind::Present(Present { frame, swap_chain, pid, application, mode, displayed }) } [
        frame: Long = int("frame", "", "Row number in the log, from 0."),
        swap_chain: Key = int("swap_chain", "", "The swap chain's address, with unchanged bits; 0 if not recorded."),
        pid: KnownProcess = int("pid", "", "PID of the process.").or_null(),
        application: Name = text("application", Shows::Program, "The name of the program.").or_null(),
        mode: Name = word_column("mode", "The present mode, as the log names it.").or_null(),
        displayed: Displayed = word_column("displayed", "Whether it was displayed: yes, no, or not_recorded."),
    ];
    FrameTime FRAME_TIME "frame_time" "A time of a frame, as recorded in a frame log."
        { EventKind::FrameTime(FrameTime { frame, of, took }) } [
        frame: Long = int("frame", "", "Row number in the log, from 0."),
        of: Word<FramePart> = word_column("part", "whole, until_present, cpu_busy, in_present, between_presents, until_render_start, \
            until_render_complete, gpu_busy, until_displayed, between_display_change or displayed_for."),
        took: Time = ns("took_ns", "Duration."),
    ];
    Loss LOSS "loss" "The source reported lost events."
        { EventKind::Loss(LossSpan { from, to, cpu, events }) } [
        from: MaybeTime = ns("from_ns", "Time of the buffer's last event before the loss.").or_null().note("from"),
        to: MaybeTime = ns("to_ns", "Time of the buffer's first event after the loss.").or_null().note("to"),
        cpu: MaybeCpu = int("of_cpu", "", "The CPU whose buffer lost events; null: any CPU.").or_null().note("cpu"),
        events: CountKey = int("events", "count", "Number of lost events; −1 if the source does not count them."),
    ];
    FutexWait FUTEX_WAIT "futex_wait" "A thread left its CPU to wait in a futex call: the call's arguments, and the memory at its address."
        { EventKind::FutexWait(FutexWait { tid, address, operation, expected, read, own, words: [word, at_8, writer] }) } [
        tid: Thread = TID,
        address: Id = int("address", "", "The address of the word in its process, with unchanged bits."),
        operation: Short = int("operation", "", "The operation, with its flags."),
        expected: SmallKey = int("expected", "", "The value that the word has to have."),
        read: Read = word_column("read", "Whether the memory was read: yes or no. A thread's memory is read 10,000 times a second on average at most, and not for the value 0; the words are 0 then."),
        own: Own = word_column("own", "Whether the word lies in the thread's own stack or among its variables: yes or no."),
        word: SmallKey = int("word", "", "The word at the address."),
        at_8: SmallKey = int("word_at_8", "", "The word 8 bytes after it."),
        writer: SmallKey = int("word_of_writer", "", "The word 16 bytes after an address that is divisible by 8, otherwise 12 bytes: where a rwlock of glibc has its writer."),
    ];
    WokenByCall WOKEN_BY_CALL "woken_by_call" "A thread that waited in a futex call was woken by a thread that did not wake that futex."
        { EventKind::WokenByCall { tid, call, argument } } [
        tid: Thread = int("tid", "", "TID of the thread that was woken.").note("pid"),
        call: Name = word_column("call", "The system call of the waker; null: it was in none.").or_null(),
        argument: Id = int("argument", "", "The first argument of that call, with unchanged bits."),
    ];
    ObjectWait OBJECT_WAIT "object_wait" "A thread left its CPU to wait in a system call other than futex, or for a lock of the kernel: what for."
        { EventKind::ObjectWait(ObjectWait { tid, kind, id, name, holder }) } [
        tid: Thread = TID,
        kind: Word<WaitKind> = word_column("kind", "What it is, as in the column kind of the table wait_objects."),
        id: Id = int("object", "", "Which one of its kind: the inode of a pipe or a socket, the device and the inode of a file (32 bits each), a PID, a \
            System V number, how many descriptors, or a number of the recording's own."),
        name: Name = text("name", Shows::Path, "A path, or the addresses of a connection.").or_null(),
        holder: Thread = int("holder_tid", "", "TID of the thread that holds the lock of the kernel; −1 if unknown.").or_null(),
    ];
    ObjectReady OBJECT_READY "object_ready" "Of the descriptors in the epoll set for which a thread waited, this one became ready and ended the wait."
        { EventKind::ObjectReady { tid, kind, id, name } } [
        tid: Thread = TID,
        kind: Word<WaitKind> = word_column("kind", "What it is, as in the column kind of the table wait_objects."),
        id: Id = int("object", "", "Which one of its kind, as in the event object_wait."),
        name: Name = text("name", Shows::Path, "A path, or the addresses of a connection.").or_null(),
    ];
    FutexCall FUTEX_CALL "futex_call" "A thread called futex."
        { EventKind::FutexCall { tid, address, operation, value } } [
        tid: Thread = TID,
        address: Id = int("address", "", "The address of the word in its process, with unchanged bits."),
        operation: Short = int("operation", "", "The operation, with its flags."),
        value: SmallKey = int("value", "", "The value that the word has to have, or how many threads to wake."),
    ];
    FutexReturn FUTEX_RETURN "futex_return" "A thread returned from futex."
        { EventKind::FutexReturn { tid } } [
        tid: Thread = TID,
    ];
    Sample SAMPLE "sample" "Any other sample; it only shows that the recording was running."
        { EventKind::Sample } [];
}

/// The callchains that events refer to; not a kind of event, but stored with them.
pub const STACKS: TableDef = TableDef {
    name: "stack",
    version: 3,
    made_from: MadeFrom::Elsewhere,
    large: true,
    doc: "The frames of callchains; each distinct chain is stored once.",
    key: &["stack", "depth"],
    cols: &[
        int("stack", "", "The callchain's number, from 1.").col,
        int("depth", "", "Depth of the frame; 0 is the innermost.").col,
        int("address", "", "The frame's address; as two's complement if above 2^63 (in the kernel).").col,
        text("function", Shows::Function, "The function's symbol.").or_null().col,
        text(
            "file",
            Shows::File,
            "The file mapped at the address: a path, or a name in brackets ([kernel], [vdso], a module).",
        )
        .or_null()
        .col,
        word_column("build_id", "The file's GNU build id, in hexadecimal.").or_null().col,
        int("file_offset", "byte", "Offset in the file of the byte at the address.").or_null().col,
        text("source_file", Shows::Path, "Path of the source file, from the debug information.").or_null().col,
        int(
            "line",
            "",
            "The line in it: of the code, or of the call in a function that called the one of the frame before.",
        )
        .or_null()
        .col,
        Col::new(
            "inlined",
            Kind::Bool,
            "",
            "Whether the function is inlined into that of the next frame; all of these have the same address.",
        ),
    ],
};
