//! Decodes a tracepoint's binary record into an event.

use super::events;
use super::format::{EventFormat, Field};
use super::states::States;
use super::table::{Calls, FieldDef, FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint, recorded};
use ftrace::ByteOrder;
use model::{Batch, CpuId, Event, EventKind, MaybeNs, NameId, Ns, Prio, StackId, Switch, Tid, Wake, WakeKind};
use rustc_hash::FxHashMap;

/// Thread names in the kernel have 16 bytes, including the closing NUL.
const COMM: usize = 16;
/// The maximum number of texts that a source may define, so that a hostile source cannot exhaust memory.
const MAX_NAMES: usize = 1 << 20;
/// The maximum number of their bytes; each text is stored twice.
const MAX_NAME_BYTES: usize = 32 << 20;

/// Assigns IDs to texts in the order of their first use ([`Batch::names`]).
pub(crate) struct Names {
    ids: FxHashMap<Box<str>, NameId>,
    /// The number of bytes of all texts.
    bytes: usize,
    /// A cache of thread names by TID, each name's field as one word: most events repeat the last name of their thread.
    /// Empty before the first name: each CPU of some formats has a cache of its own.
    recent: Vec<(u128, NameId)>,
}

/// The number of places in the cache of thread names.
const RECENT: usize = 4096;

impl Names {
    pub(crate) fn new() -> Self {
        Self { ids: FxHashMap::default(), bytes: 0, recent: Vec::new() }
    }

    /// Returns the ID of a text.
    pub(crate) fn id(&mut self, text: &[u8], out: &mut Batch) -> NameId {
        if text.is_empty() {
            return NameId::NONE;
        }
        let text = String::from_utf8_lossy(text);
        if let Some(id) = self.ids.get(text.as_ref()) {
            return *id;
        }
        if self.ids.len() >= MAX_NAMES || self.bytes + text.len() > MAX_NAME_BYTES {
            out.left_out.texts += 1;
            return NameId::NONE;
        }
        self.bytes += text.len();
        let id = NameId(u32::try_from(self.ids.len() + 1).unwrap_or(0));
        let text: Box<str> = text.into();
        out.names.push(text.clone());
        self.ids.insert(text, id);
        id
    }

    /// Returns the ID of a thread's name given as text.
    #[inline]
    pub(crate) fn comm_text(&mut self, tid: Tid, comm: &[u8], out: &mut Batch) -> NameId {
        match padded(comm) {
            Some(field) => self.comm(tid, field, out),
            None => self.id(comm, out),
        }
    }

    /// Returns the ID of a thread's name given as the kernel's fixed field of 16 bytes.
    #[inline]
    pub(crate) fn comm(&mut self, tid: Tid, field: [u8; COMM], out: &mut Batch) -> NameId {
        let slot = tid.0 as usize % RECENT;
        let word = u128::from_ne_bytes(field);
        match self.recent.get(slot) {
            Some((known, id)) if *known == word && *id != NameId::NONE => *id,
            _ => self.new_comm(slot, field, out),
        }
    }

    /// Handles a name that is not in its cache slot.
    #[cold]
    fn new_comm(&mut self, slot: usize, field: [u8; COMM], out: &mut Batch) -> NameId {
        let text = field.split(|b| *b == 0).next().unwrap_or(&field);
        let id = self.id(text, out);
        self.recent.resize(RECENT, (0, NameId::NONE));
        if let Some(place) = self.recent.get_mut(slot) {
            *place = (u128::from_ne_bytes(field), id);
        }
        id
    }
}

/// Pads a name of 1 to 15 bytes to the kernel's field. It works on whole words, since a copy byte by byte would have to
/// reach memory before it could be compared.
#[inline]
fn padded(comm: &[u8]) -> Option<[u8; COMM]> {
    let length = comm.len();
    let (low, high) = match (comm.first_chunk::<8>(), comm.last_chunk::<8>()) {
        // The last eight bytes overlap the first ones, which are shifted out.
        (Some(first), Some(last)) if length < COMM => {
            let high = u64::from_le_bytes(*last).checked_shr(8 * (COMM - length) as u32).unwrap_or(0);
            (u64::from_le_bytes(*first), high)
        }
        (None, None) if length > 0 => (comm.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b)), 0),
        _ => return None,
    };
    Some((u128::from(high) << 64 | u128::from(low)).to_le_bytes())
}

/// The kinds of records, with the places of the fields that are read.
enum Kind {
    Switch {
        prev_comm: Field,
        prev: Field,
        prev_prio: Field,
        prev_state: Field,
        next_comm: Field,
        next: Field,
        next_prio: Field,
    },
    Wake {
        kind: WakeKind,
        comm: Field,
        tid: Field,
        prio: Field,
        target: Option<Field>,
        flags: Option<Field>,
    },
    Other(Box<Other>),
}

/// The fields of a record, each with its index in the tracepoint's declaration.
struct Other {
    recorded: u8,
    numbers: Vec<(usize, Field)>,
    texts: Vec<(usize, Field)>,
    what: ToEvent,
}

impl Kind {
    /// Returns `None` if the recording's own description lacks a field that the tracepoint needs.
    fn of(tracepoint: &Tracepoint, format: &EventFormat) -> Option<Self> {
        let places = |fields: &[FieldDef]| -> Option<Vec<(usize, Field)>> {
            let mut places = Vec::new();
            for (at, field) in fields.iter().enumerate() {
                let place = field.in_record(|name| format.field(name));
                let element = |place: Field| field.element.map_or(Some(place), |(n, of)| place.element(n, of));
                match place.and_then(element) {
                    Some(place) => places.push((at, place)),
                    None if field.optional => {}
                    None => return None,
                }
            }
            Some(places)
        };
        let (numbers, texts) = (places(tracepoint.numbers)?, places(tracepoint.texts)?);
        let place = |at: usize| numbers.iter().find(|(field, _)| *field == at).map(|(_, place)| *place);
        Some(match (tracepoint.meaning, texts.as_slice()) {
            (Meaning::Switch, [(_, prev_comm), (_, next_comm)]) => Self::Switch {
                prev_comm: *prev_comm,
                prev: place(0)?,
                prev_prio: place(1)?,
                prev_state: place(2)?,
                next_comm: *next_comm,
                next: place(3)?,
                next_prio: place(4)?,
            },
            (Meaning::Wake(kind), [(_, comm)]) => {
                Self::Wake { kind, comm: *comm, tid: place(0)?, prio: place(1)?, target: place(2), flags: place(3) }
            }
            (Meaning::Of(what), _) => {
                let recorded = recorded(numbers.iter().map(|(at, _)| *at));
                Self::Other(Box::new(Other { recorded, numbers, texts, what }))
            }
            _ => return None,
        })
    }
}

impl Other {
    #[inline]
    fn read(&self, raw: &[u8], order: ByteOrder, calls: Calls, out: Output<'_>) -> Result<(), TooShort> {
        let mut values = FieldValues::new(out.event.current);
        values.calls = calls;
        let number = |(at, field): &(usize, Field)| field.int(raw, order).map(|value| (*at, value)).ok_or(TooShort);
        values.set_numbers(self.recorded, self.numbers.iter().map(number))?;
        for (at, field) in &self.texts {
            values.set_text(*at, field.bytes(raw, order).ok_or(TooShort)?);
        }
        (self.what)(&values, out);
        Ok(())
    }
}

/// Returns the waker, from a record's `common_flags` and the current task. A task that an interrupt interrupted is not
/// the waker.
#[inline]
pub(crate) fn waker(flags: u64, current: Tid) -> Tid {
    if ftrace::in_interrupt(flags) { Tid::IDLE } else { current }
}

/// Where a record was taken.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at: Ns,
    /// The current task; [`Tid::IDLE`] if a text states that it was in an interrupt.
    pub(crate) current: Tid,
    /// The callchain recorded with it.
    pub(crate) stack: StackId,
}

/// Decodes records of the tracepoints that a recording describes.
pub(crate) struct Decoder {
    reader: Reader,
    order: ByteOrder,
    /// Indexed by the record's `common_type`.
    kinds: Vec<Option<Kind>>,
    states: States,
    calls: Calls,
}

/// The record is shorter than its description requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooShort;

impl Decoder {
    pub(crate) fn new(reader: Reader, order: ByteOrder) -> Self {
        Self { reader, order, kinds: Vec::new(), states: States::from_print(""), calls: Calls::Unknown }
    }

    /// Sets the recorded machine's architecture, as `uname` names it.
    pub(crate) fn set_machine(&mut self, machine: Option<&str>) {
        self.calls = Calls::of(machine);
    }

    /// Adds a tracepoint.
    pub(crate) fn learn(&mut self, format: &EventFormat) {
        // `common_type` is 16 bits wide, so a larger number never occurs.
        let kind = events::named(self.reader, &format.name).and_then(|tracepoint| Kind::of(tracepoint, format));
        if let (Some(kind), Ok(id)) = (kind, u16::try_from(format.id)) {
            // A probe of that name does not have the fields.
            if matches!(kind, Kind::Switch { .. }) {
                self.states = States::from_print(&format.print);
            }
            let id = usize::from(id);
            if self.kinds.len() <= id {
                self.kinds.resize_with(id + 1, || None);
            }
            self.kinds[id] = Some(kind);
        }
    }

    /// Adds the record's event to `out`: `event` with its `what` filled in. `what` stays [`EventKind::Sample`] if the
    /// tracepoint has no meaning here. `stack` is the callchain recorded with it.
    ///
    /// The event is built in its final place. Returning `what` would read back as a whole what was just written field
    /// by field, and stall on that each time.
    #[inline]
    pub(crate) fn decode(
        &self,
        raw: &[u8],
        event: Event,
        stack: StackId,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<(), TooShort> {
        let order = self.order;
        let id = order.u16_at(raw, 0).ok_or(TooShort)?;
        let Some(Some(kind)) = self.kinds.get(usize::from(id)) else {
            out.events.push(Event { what: EventKind::Sample, ..event });
            return Ok(());
        };
        let int = |f: Field| f.int(raw, order).ok_or(TooShort);
        let tid = |f: Field| int(f).map(|v| Tid(v as i32));
        let cpu = |f: Field| int(f).map(|v| CpuId(v as u32));
        match kind {
            Kind::Switch { prev_comm, prev, prev_prio, prev_state, next_comm, next, next_prio } => {
                let (prev, next) = (tid(*prev)?, tid(*next)?);
                let state = int(*prev_state)? as u64;
                let (what, state_letter) = self.states.meaning(state);
                let switch = Switch {
                    prev,
                    next,
                    prev_name: comm(prev, *prev_comm, raw, order, names, out)?,
                    next_name: comm(next, *next_comm, raw, order, names, out)?,
                    stack,
                    prev_state: state as u32,
                    prev_prio: Prio::new(int(*prev_prio)? as i16),
                    next_prio: Prio::new(int(*next_prio)? as i16),
                    out: what,
                    state_letter,
                    prev_exec: MaybeNs::NONE,
                };
                out.events.push(Event { what: EventKind::Switch(switch), ..event });
            }
            Kind::Wake { kind, comm: name, tid: tid_field, prio, target, flags } => {
                let tid = tid(*tid_field)?;
                let flags = flags.map(int).transpose()?.unwrap_or(0);
                let wake = Wake {
                    tid,
                    name: comm(tid, *name, raw, order, names, out)?,
                    kind: *kind,
                    target: target.map(cpu).transpose()?,
                    waker: waker(flags as u64, event.current),
                    prio: Prio::new(int(*prio)? as i16),
                    stamp: event.at,
                };
                out.events.push(Event { what: EventKind::Wake(wake), ..event });
            }
            Kind::Other(other) => return other.read(raw, order, self.calls, Output { names, out, event: &event }),
        }
        Ok(())
    }
}

fn text(field: Field, raw: &[u8], order: ByteOrder, names: &mut Names, out: &mut Batch) -> Result<NameId, TooShort> {
    Ok(names.id(field.bytes(raw, order).ok_or(TooShort)?, out))
}

#[inline]
fn comm(
    tid: Tid,
    field: Field,
    raw: &[u8],
    order: ByteOrder,
    names: &mut Names,
    out: &mut Batch,
) -> Result<NameId, TooShort> {
    if field.size == COMM && !field.is_data_loc {
        let bytes = raw.get(field.offset..).and_then(|b| b.first_chunk()).ok_or(TooShort)?;
        return Ok(names.comm(tid, *bytes, out));
    }
    text(field, raw, order, names, out)
}

impl Decoder {
    /// Whether the record is a `sched_switch`.
    pub(crate) fn is_switch(&self, raw: &[u8]) -> bool {
        let id = self.order.u16_at(raw, 0).map(usize::from);
        matches!(id.and_then(|i| self.kinds.get(i)), Some(Some(Kind::Switch { .. })))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn sched_yield_is_attributed_to_the_current_thread() {
        for (name, begins) in [("sys_enter_sched_yield", true), ("sys_exit_sched_yield", false)] {
            let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
            let mut decoder = Decoder::new(Reader::PerfData, ByteOrder::Little);
            let format = format!("name: {name}\nID: 3\nformat:\n{common}\nprint fmt: \"\"\n");
            decoder.learn(&EventFormat::parse(&format).unwrap());
            let event = Event { at: Ns(5), offset: 0, cpu: CpuId(0), current: Tid(7), what: EventKind::Sample };
            let mut out = Batch::default();
            decoder.decode(&[3, 0], event, StackId::NONE, &mut Names::new(), &mut out).unwrap();
            assert_eq!(out.events[0].what, EventKind::Yield { tid: Tid(7), begins }, "{name}");
        }
    }

    /// Records of all system calls have their numbers, which depend on the machine, and their arguments as an array.
    #[test]
    fn system_calls_are_read_by_their_numbers() {
        let format = |name: &str, fields: &str| {
            let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
            let id = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n";
            EventFormat::parse(&format!("name: {name}\nID: 3\nformat:\n{common}{id}{fields}\nprint fmt: \"\"\n"))
                .unwrap()
        };
        let enter = format("sys_enter", "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n");
        let exit = format("sys_exit", "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
        let read = |format: &EventFormat, machine: Option<&str>, words: &[u64]| {
            let mut decoder = Decoder::new(Reader::TraceDat, ByteOrder::Little);
            decoder.learn(format);
            decoder.set_machine(machine);
            let raw: Vec<u8> = [3].iter().chain(words).flat_map(|word: &u64| word.to_le_bytes()).collect();
            let event = Event { at: Ns(5), offset: 0, cpu: CpuId(0), current: Tid(7), what: EventKind::Sample };
            let mut out = Batch::default();
            let read = decoder.decode(&raw, event, StackId::NONE, &mut Names::new(), &mut out);
            read.map(|()| out.events[0].what)
        };
        let (tid, address) = (Tid(7), 0x7f00_0000_1000);
        let call = [address, 128, 2, 0, 0, 0];
        let of = |number: u64| [&[number], &call[..]].concat();
        let futex = Ok(EventKind::FutexCall { tid, address, operation: 128, value: 2 });
        assert_eq!(read(&enter, Some("x86_64"), &of(202)), futex);
        assert_eq!(read(&enter, Some("aarch64"), &of(98)), futex);
        assert_eq!(read(&enter, Some("x86_64"), &of(98)), Ok(EventKind::Sample), "getrusage");
        assert_eq!(read(&enter, Some("riscv64"), &of(98)), Ok(EventKind::Sample));
        assert_eq!(read(&enter, None, &of(202)), Ok(EventKind::Sample));
        assert_eq!(read(&enter, Some("x86_64"), &of(202)[..3]), Err(TooShort));
        let yields = |begins| Ok(EventKind::Yield { tid, begins });
        assert_eq!(read(&enter, Some("x86_64"), &of(24)), yields(true));
        assert_eq!(read(&exit, Some("aarch64"), &[124, 0]), yields(false));
        assert_eq!(read(&exit, Some("x86_64"), &[202, 0]), Ok(EventKind::FutexReturn { tid }));
        assert_eq!(read(&exit, Some("x86_64"), &[u64::MAX, 0]), Ok(EventKind::Sample), "no call");
        let short = format("sys_enter", "\tfield:unsigned long args[6];\toffset:16;\tsize:5;\tsigned:0;\n");
        assert_eq!(read(&short, Some("x86_64"), &of(202)), Ok(EventKind::Sample), "not six arguments");
    }

    /// Each use of a text beyond the limit is counted. The other texts keep their IDs.
    #[test]
    fn texts_beyond_the_limit_are_counted() {
        let (mut names, mut out) = (Names::new(), Batch::default());
        let text = |n: u8| vec![b'A' + n; 1 << 20];
        let mut ids =
            |numbers: std::ops::Range<u8>| numbers.map(|n| names.id(&text(n), &mut out).0).collect::<Vec<_>>();
        assert_eq!(ids(0..32), (1..=32).collect::<Vec<_>>());
        assert_eq!(ids(30..36), [31, 32, 0, 0, 0, 0]);
        assert_eq!(ids(35..36), [0]);
        assert_eq!((out.names.len(), out.left_out.texts), (32, 5));
    }

    /// A softirq usually runs in the context of the interrupted task; a hard interrupt, or one within a softirq, does
    /// not.
    #[test]
    fn the_interrupted_task_is_not_the_waker() {
        let field = |what: &str, offset: usize, size: usize| {
            format!("\tfield:{what};\toffset:{offset};\tsize:{size};\tsigned:0;\n")
        };
        let format = |flags: &str| {
            let fields = [field("char comm[16]", 8, 16), field("pid_t pid", 24, 4), field("int prio", 28, 4)].concat();
            let common = field("unsigned short common_type", 0, 2);
            format!("name: sched_waking\nID: 3\nformat:\n{common}{flags}\n{fields}\nprint fmt: \"\"\n")
        };
        let waker = |format: &str, flags: u8| {
            let mut decoder = Decoder::new(Reader::TraceDat, ByteOrder::Little);
            decoder.learn(&EventFormat::parse(format).unwrap());
            let mut raw = [0; 32];
            (raw[0], raw[2], raw[24]) = (3, flags, 9);
            let event = Event { at: Ns(5), offset: 0, cpu: CpuId(0), current: Tid(7), what: EventKind::Sample };
            let mut out = Batch::default();
            decoder.decode(&raw, event, StackId::NONE, &mut Names::new(), &mut out).unwrap();
            match out.events.as_slice() {
                [Event { what: EventKind::Wake(wake), .. }] => wake.waker,
                other => panic!("{other:?}"),
            }
        };
        let with_flags = format(&field("unsigned char common_flags", 2, 1));
        for (flags, by) in [(0, 7), (0x01, 7), (0x10, 7), (0x08, 0), (0x19, 0), (0x40, 0)] {
            assert_eq!(waker(&with_flags, flags), Tid(by), "{flags:#x}");
        }
        assert_eq!(waker(&format(""), 0x08), Tid(7), "a format without flags has no interrupt flag");
    }

    #[test]
    fn names_are_padded_like_the_kernel_pads_them() {
        for length in 0..20 {
            let name = &b"abcdefghijklmnopqrst"[..length];
            let mut field = [0; 16];
            let fits = (1..16).contains(&length);
            if fits {
                field[..length].copy_from_slice(name);
            }
            assert_eq!(padded(name), fits.then_some(field), "{length}");
        }
    }
}
