//! From a tracepoint's raw record to what happened.

use super::events;
use super::format::{EventFormat, Field};
use super::states::States;
use super::table::{FieldDef, FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint, recorded};
use ftrace::ByteOrder;
use model::{Batch, CpuId, Event, MaybeNs, NameId, Ns, Prio, StackId, Switch, Tid, Wake, WakeKind, What};
use rustc_hash::FxHashMap;

/// The kernel's thread names are 16 bytes with the closing NUL.
const COMM: usize = 16;
/// Texts that a source may define in all; a hostile one must not fill the memory.
const MOST_NAMES: usize = 1 << 20;
/// And their bytes, each text standing twice.
const MOST_BYTES: usize = 32 << 20;

/// Numbers texts in the order of their first use ([`Batch::names`]).
pub(crate) struct Names {
    ids: FxHashMap<Box<str>, NameId>,
    /// Bytes of the texts.
    bytes: usize,
    /// Thread names by thread number, the field of each as one word: most events repeat the name that this thread had before.
    recent: Vec<(u128, NameId)>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self { ids: FxHashMap::default(), bytes: 0, recent: vec![(0, NameId::NONE); 4096] }
    }

    /// The number of a text.
    pub(crate) fn id(&mut self, text: &[u8], out: &mut Batch) -> NameId {
        if text.is_empty() {
            return NameId::NONE;
        }
        let text = String::from_utf8_lossy(text);
        if let Some(id) = self.ids.get(text.as_ref()) {
            return *id;
        }
        if self.ids.len() >= MOST_NAMES || self.bytes + text.len() > MOST_BYTES {
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

    /// The number of a thread's name in a text.
    #[inline]
    pub(crate) fn comm_text(&mut self, tid: Tid, comm: &[u8], out: &mut Batch) -> NameId {
        match padded(comm) {
            Some(field) => self.comm(tid, field, out),
            None => self.id(comm, out),
        }
    }

    /// The number of a thread's name, as the kernel's fixed field of 16 bytes.
    #[inline]
    pub(crate) fn comm(&mut self, tid: Tid, field: [u8; COMM], out: &mut Batch) -> NameId {
        let slot = tid.0 as usize % 4096;
        let word = u128::from_ne_bytes(field);
        match self.recent.get(slot) {
            Some((known, id)) if *known == word && *id != NameId::NONE => *id,
            _ => self.new_comm(slot, field, out),
        }
    }

    /// Of a name that the slot's last thread did not have.
    #[cold]
    fn new_comm(&mut self, slot: usize, field: [u8; COMM], out: &mut Batch) -> NameId {
        let text = field.split(|b| *b == 0).next().unwrap_or(&field);
        let id = self.id(text, out);
        if let Some(place) = self.recent.get_mut(slot) {
            *place = (u128::from_ne_bytes(field), id);
        }
        id
    }
}

/// A name of 1 to 15 bytes as the kernel's field; in whole words, since a copy byte by byte would have to reach the memory
/// before it could be compared.
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

/// What a record may be, with the places of the fields that are read.
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

/// The fields that a record has, each with its place in the declaration.
struct Other {
    recorded: u8,
    numbers: Vec<(usize, Field)>,
    texts: Vec<(usize, Field)>,
    what: ToEvent,
}

impl Kind {
    /// `None`: the recording's own description lacks a field that the tracepoint needs.
    fn of(tracepoint: &Tracepoint, format: &EventFormat) -> Option<Self> {
        let places = |fields: &[FieldDef]| -> Option<Vec<(usize, Field)>> {
            let mut places = Vec::new();
            for (at, field) in fields.iter().enumerate() {
                match field.in_record(|name| format.field(name)) {
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
    fn read(&self, raw: &[u8], order: ByteOrder, out: Output<'_>) -> Result<(), TooShort> {
        let mut values = FieldValues::new(out.event.current);
        let number = |(at, field): &(usize, Field)| field.int(raw, order).map(|value| (*at, value)).ok_or(TooShort);
        values.set_numbers(self.recorded, self.numbers.iter().map(number))?;
        for (at, field) in &self.texts {
            values.set_text(*at, field.bytes(raw, order).ok_or(TooShort)?);
        }
        (self.what)(&values, out);
        Ok(())
    }
}

/// Who woke, by a record's `common_flags` and the task that was current: whom an interrupt came upon woke nobody.
#[inline]
pub(crate) fn waker(flags: u64, current: Tid) -> Tid {
    if ftrace::in_interrupt(flags) { Tid::IDLE } else { current }
}

/// Where a record was taken, as its source says.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) at: Ns,
    /// The task that was current; of a text that tells that it was in an interrupt, [`Tid::IDLE`].
    pub(crate) current: Tid,
    /// The callchain that was recorded with it.
    pub(crate) stack: StackId,
}

/// Reads records of the tracepoints that a recording describes.
pub(crate) struct Decoder {
    reader: Reader,
    order: ByteOrder,
    /// By the record's `common_type`.
    kinds: Vec<Option<Kind>>,
    states: States,
}

/// The record is shorter than its description says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooShort;

impl Decoder {
    pub(crate) fn new(reader: Reader, order: ByteOrder) -> Self {
        Self { reader, order, kinds: Vec::new(), states: States::from_print("") }
    }

    /// Learns a tracepoint.
    pub(crate) fn learn(&mut self, format: &EventFormat) {
        if format.name == "sched_switch" {
            self.states = States::from_print(&format.print);
        }
        // `common_type` is 16 bits wide; a larger number can never be met.
        let kind = events::named(self.reader, &format.name).and_then(|tracepoint| Kind::of(tracepoint, format));
        if let (Some(kind), Ok(id)) = (kind, u16::try_from(format.id)) {
            let id = usize::from(id);
            if self.kinds.len() <= id {
                self.kinds.resize_with(id + 1, || None);
            }
            self.kinds[id] = Some(kind);
        }
    }

    /// Adds to `out` what the record says happened: the event handed in with its `what`, which stays [`What::Sample`] where the
    /// tracepoint tells nothing here. `stack` is the callchain that was recorded with it.
    ///
    /// The event is made in its place: to hand `what` back would read as a whole what was just written field by field, and wait for
    /// that each time.
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
            out.events.push(Event { what: What::Sample, ..event });
            return Ok(());
        };
        let int = |f: Field| f.int(raw, order).ok_or(TooShort);
        let tid = |f: Field| int(f).map(|v| Tid(v as i32));
        let cpu = |f: Field| int(f).map(|v| CpuId(v as u32));
        match kind {
            Kind::Switch { prev_comm, prev, prev_prio, prev_state, next_comm, next, next_prio } => {
                let (prev, next) = (tid(*prev)?, tid(*next)?);
                let state = int(*prev_state)? as u64;
                let (what, letter) = self.states.meaning(state);
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
                    letter,
                    prev_exec: MaybeNs::NONE,
                };
                out.events.push(Event { what: What::Switch(switch), ..event });
            }
            Kind::Wake { kind, comm: name, tid: who, prio, target, flags } => {
                let tid = tid(*who)?;
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
                out.events.push(Event { what: What::Wake(wake), ..event });
            }
            Kind::Other(other) => return other.read(raw, order, Output { names, out, event: &event }),
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
    if field.size == COMM && !field.elsewhere {
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
    fn who_is_current_calls_sched_yield() {
        for (name, begins) in [("sys_enter_sched_yield", true), ("sys_exit_sched_yield", false)] {
            let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
            let mut decoder = Decoder::new(Reader::PerfData, ByteOrder::Little);
            let format = format!("name: {name}\nID: 3\nformat:\n{common}\nprint fmt: \"\"\n");
            decoder.learn(&EventFormat::parse(&format).unwrap());
            let event = Event { at: Ns(5), offset: 0, cpu: CpuId(0), current: Tid(7), what: What::Sample };
            let mut out = Batch::default();
            decoder.decode(&[3, 0], event, StackId::NONE, &mut Names::new(), &mut out).unwrap();
            assert_eq!(out.events[0].what, What::Yield { tid: Tid(7), begins }, "{name}");
        }
    }

    /// Each use of a text that there is no room for; the others stay as they are.
    #[test]
    fn texts_beyond_those_that_are_kept_are_counted() {
        let (mut names, mut out) = (Names::new(), Batch::default());
        let of = |n: u8| vec![b'A' + n; 1 << 20];
        let mut ids = |numbers: std::ops::Range<u8>| numbers.map(|n| names.id(&of(n), &mut out).0).collect::<Vec<_>>();
        assert_eq!(ids(0..32), (1..=32).collect::<Vec<_>>());
        assert_eq!(ids(30..36), [31, 32, 0, 0, 0, 0]);
        assert_eq!(ids(35..36), [0]);
        assert_eq!((out.names.len(), out.left_out.texts), (32, 5));
    }

    /// A softirq mostly runs in the name of whom it came upon; an interrupt, and one within a softirq, does not.
    #[test]
    fn who_was_interrupted_woke_nobody() {
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
            let event = Event { at: Ns(5), offset: 0, cpu: CpuId(0), current: Tid(7), what: What::Sample };
            let mut out = Batch::default();
            decoder.decode(&raw, event, StackId::NONE, &mut Names::new(), &mut out).unwrap();
            match out.events.as_slice() {
                [Event { what: What::Wake(wake), .. }] => wake.waker,
                other => panic!("{other:?}"),
            }
        };
        let told = format(&field("unsigned char common_flags", 2, 1));
        for (flags, by) in [(0, 7), (0x01, 7), (0x10, 7), (0x08, 0), (0x19, 0), (0x40, 0)] {
            assert_eq!(waker(&told, flags), Tid(by), "{flags:#x}");
        }
        assert_eq!(waker(&format(""), 0x08), Tid(7), "a format without flags tells of none");
    }

    #[test]
    fn names_are_padded_as_the_kernel_does() {
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
