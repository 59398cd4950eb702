//! The data that `corewise export --to perfetto` adds to the kernel's events, so that a trace can be read back without
//! loss. The header of `crates/export/src/formats/perfetto/mod.rs` is the specification. Other programs' traces do not
//! contain it.

use super::wire::{Fields, Malformed};
use crate::tracepoint::Names;
use ingest::{Facts, Sampled};
use model::{
    Batch, Coded, CpuId, EnergyUse, EventColumn, EventKind, EventTableId, IrqKind, MaybeNs, NameId, Ns, Pid, Prio,
    ReadCells, SnapshotEntry, SnapshotState, StackId, Switch, SwitchOut, Tid, Wake, WakeKind,
};
use rustc_hash::FxHashMap;
use topology::Machine;

/// The name of the instant whose annotations describe the trace.
const ABOUT: &[u8] = b"about this trace";
/// The maximum number of CPUs.
const MAX_CPUS: usize = 1 << 14;
/// The prefix of the annotations' names.
const PREFIX: &[u8] = b"corewise.";

/// The facts about a trace that corewise wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    begin: Option<Ns>,
    clock: String,
    has_waking: Option<bool>,
    has_yields: bool,
    has_wakeup: Option<bool>,
    has_charges: bool,
    whole_machine: bool,
    online: Vec<CpuId>,
    recorded: Vec<CpuId>,
    cpu_count: Option<u32>,
    focus: Option<i32>,
    machine: Option<Machine>,
    sampled: Option<Sampled>,
}

impl Own {
    /// Reads a track event, if it is the one that describes the trace.
    pub(super) fn of(track_event: &[u8]) -> Result<Option<Self>, Malformed> {
        let (mut own, mut is_about, mut found) = (Self::default(), false, false);
        let mut fields = Fields::of(track_event);
        while let Some((field, value)) = fields.next()? {
            match field {
                4 => found |= own.annotation(value.bytes())?,
                23 => is_about = value.bytes() == ABOUT,
                _ => {}
            }
        }
        Ok((is_about && found).then_some(own))
    }

    fn annotation(&mut self, message: &[u8]) -> Result<bool, Malformed> {
        let (mut name, mut flag, mut number, mut text) = (&[][..], false, 0, &[][..]);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                2 => flag = value.number() == 1,
                4 => number = value.number().cast_signed(),
                6 => text = value.bytes(),
                10 => name = value.bytes(),
                _ => {}
            }
        }
        let Some(name) = name.strip_prefix(PREFIX) else { return Ok(false) };
        match name {
            b"begin" => self.begin = Some(Ns(number)),
            b"clock" => self.clock = String::from_utf8_lossy(text).into_owned(),
            b"has_waking" => self.has_waking = Some(flag),
            b"has_wakeup" => self.has_wakeup = Some(flag),
            b"has_charges" => self.has_charges = flag,
            b"has_yields" => self.has_yields = flag,
            b"whole_machine" => self.whole_machine = flag,
            b"focus" => self.focus = i32::try_from(number).ok(),
            b"machine" => self.machine = serde_json::from_slice(text).ok(),
            b"sampled" => self.sampled = serde_json::from_slice(text).ok(),
            b"online" => self.online = cpus(text),
            b"recorded" => self.recorded = cpus(text),
            b"cpu_count" => self.cpu_count = u32::try_from(number).ok(),
            _ => {}
        }
        Ok(true)
    }

    /// Replaces the facts that are derived from the format alone.
    pub(super) fn apply(self, facts: &mut Facts) {
        (facts.begin, facts.clock, facts.focus) = (self.begin, self.clock, self.focus);
        (facts.has_waking, facts.has_wakeup) = (self.has_waking, self.has_wakeup);
        (facts.has_charges, facts.whole_machine) = (self.has_charges, self.whole_machine);
        facts.has_yields = self.has_yields;
        (facts.online, facts.recorded, facts.cpu_count) = (self.online, self.recorded, self.cpu_count);
        facts.machine = self.machine.or(facts.machine.take());
        facts.sampled = self.sampled;
    }
}

/// Reads CPU numbers with commas.
fn cpus(text: &[u8]) -> Vec<CpuId> {
    let text = String::from_utf8_lossy(text);
    text.split(',').filter_map(|number| number.parse().ok()).map(CpuId).take(MAX_CPUS).collect()
}

/// A generic kernel event (`ftrace/generic.proto`) with corewise's data.
#[derive(Clone, Copy)]
pub(super) struct Note<'a>(&'a [u8]);

/// The value of a field.
enum FieldValue<'a> {
    Int(i64),
    Text(&'a [u8]),
}

impl<'a> Note<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    pub(super) fn name(self) -> &'a [u8] {
        let mut fields = Fields::of(self.0);
        while let Ok(Some((field, value))) = fields.next() {
            if field == 1 {
                return value.bytes();
            }
        }
        &[]
    }

    fn field(self, wanted: &str) -> Option<FieldValue<'a>> {
        let mut fields = Fields::of(self.0);
        while let Ok(Some((field, value))) = fields.next() {
            let (mut name, mut found) = (&[][..], None);
            let mut inner = Fields::of(if field == 2 { value.bytes() } else { &[] });
            while let Ok(Some((field, value))) = inner.next() {
                match field {
                    1 => name = value.bytes(),
                    3 => found = Some(FieldValue::Text(value.bytes())),
                    4 => found = Some(FieldValue::Int(value.number().cast_signed())),
                    _ => {}
                }
            }
            if name == wanted.as_bytes() {
                return found;
            }
        }
        None
    }

    fn int(self, name: &str) -> Option<i64> {
        if let FieldValue::Int(v) = self.field(name)? { Some(v) } else { None }
    }

    fn text(self, name: &str) -> Option<&'a [u8]> {
        if let FieldValue::Text(v) = self.field(name)? { Some(v) } else { None }
    }

    fn state_letter(self) -> u8 {
        let former = || self.text("letter"); // former name
        self.text("state_letter").or_else(former).and_then(|l| l.first().copied()).unwrap_or(b'?')
    }

    fn out(self) -> Option<SwitchOut> {
        Some(SwitchOut::of_word(self.text("out")?).unwrap_or(SwitchOut::NotRecorded))
    }

    pub(super) fn tid(self, name: &str) -> Tid {
        self.int(name).and_then(|v| i32::try_from(v).ok()).map_or(Tid::UNKNOWN, Tid)
    }

    pub(super) fn pid(self, name: &str) -> Pid {
        Pid(self.tid(name).0)
    }

    fn cpu(self, name: &str) -> Option<CpuId> {
        self.int(name).and_then(|v| u32::try_from(v).ok()).map(CpuId)
    }

    fn prio(self, name: &str) -> Prio {
        self.int(name).and_then(|v| i16::try_from(v).ok()).into()
    }

    fn ns(self, name: &str, absent: Ns) -> Ns {
        self.int(name).map_or(absent, Ns)
    }

    fn exec_time(self) -> MaybeNs {
        self.int("exec").map(Ns).into()
    }

    /// Whether the switch after it is for display only.
    pub(super) fn display_only(self) -> bool {
        self.int("shown") == Some(1)
    }

    /// Completes the switch after it.
    pub(super) fn amend(self, switch: &mut Switch) {
        switch.prev_exec = self.exec_time();
        if let Some(state) = self.int("state") {
            switch.prev_state = state as u32;
        }
        if let Some(out) = self.out() {
            (switch.out, switch.state_letter) = (out, self.state_letter());
        }
        if self.int("prev") == Some(-1) {
            (switch.prev, switch.prev_name) = (Tid::UNKNOWN, NameId::NONE);
        }
        if self.int("next") == Some(-1) {
            (switch.next, switch.next_name) = (Tid::UNKNOWN, NameId::NONE);
        }
    }

    fn switch_without_cpu(self) -> Switch {
        Switch {
            prev: self.tid("prev"),
            next: self.tid("next"),
            prev_name: NameId::NONE,
            next_name: NameId::NONE,
            stack: StackId::NONE,
            prev_state: self.int("state").unwrap_or(0) as u32,
            prev_prio: self.prio("prev_prio"),
            next_prio: self.prio("next_prio"),
            out: self.out().unwrap_or(SwitchOut::NotRecorded),
            state_letter: self.state_letter(),
            prev_exec: self.exec_time(),
        }
    }

    fn snapshot(self, names: &mut Names, out: &mut Batch) -> SnapshotEntry {
        SnapshotEntry {
            tid: self.tid("pid"),
            pid: self.pid("tgid"),
            name: self.text("name").map_or(NameId::NONE, |n| names.id(n, out)),
            state: self.text("state").and_then(SnapshotState::of_word).unwrap_or(SnapshotState::Blocked),
            state_letter: self.state_letter(),
            cpu: self.cpu("cpu").unwrap_or(CpuId::UNKNOWN),
            exec: self.exec_time(),
        }
    }

    /// Returns the event of a note that is not about another event. `stacks`: the callchains of the trace, by their `iid`.
    pub(super) fn event(self, names: &mut Names, stacks: &FxHashMap<u64, StackId>, out: &mut Batch) -> EventKind {
        let tid = || self.tid("pid");
        match self.name() {
            b"corewise_switch_nowhere" => EventKind::Switch(self.switch_without_cpu()),
            b"corewise_woken" => EventKind::Wake(Wake {
                tid: tid(),
                name: NameId::NONE,
                kind: WakeKind::WakeupAtSwitchIn,
                target: self.cpu("target_cpu"),
                waker: self.tid("waker"),
                prio: self.prio("prio"),
                stamp: self.ns("stamp", Ns::MIN),
            }),
            b"corewise_seen" => EventKind::Snapshot(self.snapshot(names, out)),
            b"corewise_current" => EventKind::Current { tid: tid() },
            b"corewise_yield" => EventKind::Yield { tid: tid(), begins: self.int("begins") == Some(1) },
            b"corewise_interrupt" => EventKind::Irq {
                kind: if self.text("kind") == Some(b"timer") { IrqKind::Timer } else { IrqKind::Ipi },
                number: -1,
                begins: self.int("begins") == Some(1),
                name: self.text("name").map_or(NameId::NONE, |n| names.id(n, out)),
            },
            b"corewise_inner" => {
                EventKind::Inner { tid: tid(), inner_tid: self.tid("inner_tid"), inner_pid: self.pid("inner_pid") }
            }
            of_table => {
                let read = |table: EventTableId| {
                    let columns = table.table().columns;
                    EventKind::read_cells(table, &mut Cells { note: self, columns, names, out, stacks })
                };
                // A note of a newer corewise only shows that the recording was running.
                EventTableId::of_note(of_table).and_then(read).map_or(EventKind::Sample, plausible)
            }
        }
    }
}

/// The cells of a note.
struct Cells<'a> {
    note: Note<'a>,
    columns: &'static [EventColumn],
    names: &'a mut Names,
    out: &'a mut Batch,
    stacks: &'a FxHashMap<u64, StackId>,
}

impl<'a> Cells<'a> {
    fn name(&self, at: usize) -> &'static str {
        self.columns.get(at).map_or("", |column| column.note)
    }

    fn filled(&self, at: usize) -> Option<&'a [u8]> {
        self.note.text(self.name(at)).filter(|text| !text.is_empty())
    }
}

impl ReadCells for Cells<'_> {
    fn int(&mut self, at: usize) -> Option<i64> {
        let absent = self.columns.get(at)?.absent;
        self.note.int(self.name(at)).filter(|value| Some(*value) != absent)
    }

    fn number(&mut self, at: usize) -> Option<i64> {
        self.int(at)
    }

    fn float(&mut self, at: usize) -> f64 {
        self.int(at).map_or(f64::NAN, |bits| f64::from_bits(bits.cast_unsigned()))
    }

    fn text(&mut self, at: usize) -> NameId {
        self.filled(at).map_or(NameId::NONE, |text| self.names.id(text, self.out))
    }

    fn stack(&mut self, at: usize) -> StackId {
        self.int(at).and_then(|iid| self.stacks.get(&iid.cast_unsigned())).copied().unwrap_or(StackId::NONE)
    }

    fn word<T: Coded>(&mut self, at: usize) -> Option<T> {
        // Notes leave a word out only if its list has one.
        if self.name(at).is_empty() { T::of_code(0) } else { T::of_word(self.filled(at)?) }
    }

    fn flag(&mut self, at: usize, _: u8) -> bool {
        self.int(at) == Some(1)
    }
}

/// Limits times and counts that a damaged note may have to what is possible.
fn plausible(what: EventKind) -> EventKind {
    match what {
        EventKind::Count { tid, event, length, count, running } => {
            let length = length.max(Ns::ZERO);
            EventKind::Count { tid, event, length, count, running: running.clamp(Ns::ZERO, length) }
        }
        EventKind::CountAtMark { tid, event, length, count, running } => {
            let length = length.max(Ns::ZERO);
            EventKind::CountAtMark { tid, event, length, count, running: running.clamp(Ns::ZERO, length) }
        }
        EventKind::Energy(used) => {
            EventKind::Energy(EnergyUse { length: used.length.max(Ns::ZERO), spread_nj: used.spread_nj.max(0), ..used })
        }
        _ => what,
    }
}
