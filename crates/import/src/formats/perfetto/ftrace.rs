//! A kernel event: `protos/perfetto/trace/ftrace/ftrace_event.proto` (its envelope), `ftrace.proto` (`print`) beside it, and
//! the messages of the tracepoints ([`events::TRACEPOINTS`]) by their fields' numbers.

use super::atrace;
use super::clocks::time;
use super::notes::Note;
use super::states::Numbers;
use super::wire::{Broken, Fields};
use crate::tracepoint::events::{self, NEWTASK, OLD_PID, SWITCH, WAKING};
use crate::tracepoint::table::{FieldDef, FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint};
use crate::tracepoint::{Names, waker};
use model::{Batch, CpuId, Event, LeftOut, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, Tid, Wake, WakeKind, What};
use rustc_hash::FxHashMap;

/// Threads whose process is kept; a hostile file must not fill the memory.
const MOST_THREADS: usize = 1 << 20;
/// `FtraceEvent`'s fields that are no tracepoints: what was written to `trace_marker`, and a tracepoint that Perfetto has no
/// message for.
const PRINT: u32 = 3;
const GENERIC: u32 = 327;

/// Where an event was taken.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) cpu: CpuId,
    pub(super) offset: u64,
    /// What must be added to its time.
    pub(super) shift: i64,
}

impl Place {
    #[inline]
    pub(super) fn time(self, ns: u64) -> Result<Ns, Broken> {
        let Ns(ns) = time(ns).ok_or(Broken)?;
        Ok(Ns(ns + self.shift)) // both are below 2^62
    }

    #[inline]
    pub(super) fn event(self, at: Ns, current: Tid, what: What) -> Event {
        Event { at, offset: self.offset, cpu: self.cpu, current, what }
    }
}

/// What reading kernel events needs to know.
pub(super) struct Kernel {
    /// By the field of `FtraceEvent`.
    messages: Vec<Option<Message>>,
    pub(super) states: Numbers,
    /// The process of each thread, as far as it was told.
    processes: FxHashMap<Tid, Pid>,
    /// The thread that `task_newtask` told of last: `sched_process_fork` follows and says less.
    newest: Tid,
    /// Whether corewise wrote the trace: a field that is absent was not told.
    pub(super) own: bool,
    /// What corewise says of the next switch of the bundle: the bytes of its note.
    noted: Vec<u8>,
    /// The process of the next thread that is made.
    told: Pid,
}

impl Kernel {
    pub(super) fn new(states: Numbers, own: bool) -> Self {
        let (newest, told) = (Tid::UNKNOWN, Pid::UNKNOWN);
        let messages = messages();
        Self { messages, states, processes: FxHashMap::default(), newest, own, noted: Vec::new(), told }
    }

    /// A thread is of a process.
    pub(super) fn belongs(&mut self, tid: Tid, pid: Pid, left_out: &mut LeftOut) {
        if self.processes.len() < MOST_THREADS || self.processes.contains_key(&tid) {
            self.processes.insert(tid, pid);
        } else {
            left_out.threads += 1;
        }
    }

    pub(super) fn process(&self, tid: Tid) -> Pid {
        self.processes.get(&tid).copied().unwrap_or(Pid::UNKNOWN)
    }

    /// What the event says happened; `None` where that was added to `out`, or it has no content at all.
    #[inline]
    pub(super) fn read(
        &mut self,
        message: &[u8],
        place: Place,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<Event>, Broken> {
        let (mut at, mut current, mut flags, mut kind, mut body) = (0, Tid::UNKNOWN, 0, 0, &[][..]);
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => at = value.number(),
                2 => current = Tid(value.int()),
                5 => flags = value.number(),
                3.. => (kind, body) = (field, value.bytes()),
                _ => {}
            }
        }
        if kind == 0 && at == 0 {
            return Ok(None);
        }
        let at = place.time(at)?;
        if kind == GENERIC && self.own {
            let note = Note::of(body);
            let what = match note.name() {
                b"corewise_switch" => {
                    self.noted.clear();
                    self.noted.extend_from_slice(body);
                    return Ok(None);
                }
                b"corewise_process" => {
                    self.told = note.pid("tgid");
                    return Ok(None);
                }
                _ => note.what(names, out),
            };
            return Ok(Some(place.event(at, Tid::UNKNOWN, what)));
        }
        let body = Fields::of(body);
        let own = self.own;
        let by = waker(flags, current);
        let what = match self.messages.get(kind as usize) {
            Some(Some(Message::Switch)) => match self.switch(body, names, out)? {
                Some(switch) => switch,
                None => return Ok(None),
            },
            Some(Some(Message::Wake(kind))) => wake(*kind, own, body, at, by, names, out)?,
            Some(Some(Message::Other(other))) => {
                let (values, what) = (other.values(body, current)?, other.what);
                let event = place.event(at, self.envelope(current), What::Sample);
                what(&values, Output { names, out: &mut *out, event: &event });
                if let Some(Event { what, .. }) = out.events.last_mut() {
                    self.of_processes(kind, what, &values, &mut out.left_out);
                }
                return Ok(None);
            }
            _ if kind == PRINT => atrace::read(body, current, self.process(current), names, out)?,
            _ => What::Sample,
        };
        Ok(Some(place.event(at, self.envelope(current), what)))
    }

    /// The task that was current: in a trace that corewise wrote, the envelope of some events is filled so that viewers show
    /// something.
    #[inline]
    fn envelope(&self, current: Tid) -> Tid {
        if self.own { Tid::UNKNOWN } else { current }
    }

    #[inline]
    fn switch(&mut self, mut fields: Fields<'_>, names: &mut Names, out: &mut Batch) -> Result<Option<What>, Broken> {
        let (mut prev_comm, mut next_comm, mut state) = (&[][..], &[][..], 0);
        let (mut prev, mut next, mut prev_prio, mut next_prio) = (Tid(0), Tid(0), untold(self.own), untold(self.own));
        while let Some((field, value)) = fields.next()? {
            match field {
                switch::PREV_COMM => prev_comm = value.bytes(),
                switch::PREV => prev = Tid(value.int()),
                switch::PREV_PRIO => prev_prio = Prio::new(value.int() as i16),
                switch::PREV_STATE => state = value.number(),
                switch::NEXT_COMM => next_comm = value.bytes(),
                switch::NEXT => next = Tid(value.int()),
                switch::NEXT_PRIO => next_prio = Prio::new(value.int() as i16),
                _ => {}
            }
        }
        let (what, letter) = self.states.meaning(state);
        let mut switch = Switch {
            prev,
            next,
            prev_name: comm(prev, prev_comm, names, out),
            next_name: comm(next, next_comm, names, out),
            stack: StackId::NONE,
            prev_state: state as u32,
            prev_prio,
            next_prio,
            out: what,
            letter,
            prev_exec: MaybeNs::NONE,
        };
        if !self.noted.is_empty() {
            let note = Note::of(&self.noted);
            let shown = note.shown();
            note.amend(&mut switch);
            self.noted.clear();
            if shown {
                return Ok(None);
            }
        }
        Ok(Some(What::Switch(switch)))
    }

    /// The same, with the process of a thread that is made, executed or ended, which other packets tell.
    fn of_processes(&mut self, message: u32, what: &mut What, values: &FieldValues<'_>, left_out: &mut LeftOut) {
        match what {
            What::Fork { parent, tid, pid, .. } if message == NEWTASK.perfetto => {
                *pid = match std::mem::replace(&mut self.told, Pid::UNKNOWN) {
                    told if self.own => told,
                    _ if *pid == Pid::UNKNOWN => self.process(*parent),
                    _ => *pid,
                };
                self.newest = *tid;
                let (tid, pid) = (*tid, *pid);
                self.belongs(tid, pid, left_out);
            }
            What::Fork { tid, .. } if *tid == self.newest => *what = What::Sample,
            What::Exec { pid, .. } if self.own => *pid = Pid(values.number(OLD_PID) as i32),
            What::Exit { tid, pid: pid @ Pid::UNKNOWN } => *pid = self.process(*tid),
            _ => {}
        }
    }
}

/// How a tracepoint's message is read.
enum Message {
    Switch,
    Wake(WakeKind),
    Other(Other),
}

/// By the numbers of its fields, each with its place in the declaration.
struct Other {
    numbers: Vec<(u32, usize)>,
    texts: Vec<(u32, usize)>,
    what: ToEvent,
}

/// The messages of all tracepoints that Perfetto has one for.
fn messages() -> Vec<Option<Message>> {
    let mut messages = Vec::new();
    for tracepoint in events::read_by(Reader::Perfetto).filter(|t| t.perfetto != 0) {
        let at = tracepoint.perfetto as usize;
        if messages.len() <= at {
            messages.resize_with(at + 1, || None);
        }
        messages[at] = Some(Message::of(tracepoint));
    }
    messages
}

impl Message {
    fn of(tracepoint: &Tracepoint) -> Self {
        let places = |fields: &[FieldDef]| {
            let numbered = fields.iter().enumerate().filter(|(_, f)| f.perfetto != 0);
            numbered.map(|(at, f)| (f.perfetto, at)).collect()
        };
        match tracepoint.meaning {
            Meaning::Switch => Self::Switch,
            Meaning::Wake(kind) => Self::Wake(kind),
            Meaning::Of(what) => {
                Self::Other(Other { numbers: places(tracepoint.numbers), texts: places(tracepoint.texts), what })
            }
        }
    }
}

impl Other {
    /// What the fields hold; one that is absent is 0, or empty.
    fn values<'m>(&self, mut fields: Fields<'m>, current: Tid) -> Result<FieldValues<'m>, Broken> {
        let mut values = FieldValues::new(current);
        while let Some((field, value)) = fields.next()? {
            let place = |of: &[(u32, usize)]| of.iter().find(|(number, _)| *number == field).map(|(_, at)| *at);
            if let Some(at) = place(&self.numbers) {
                values.set_number(at, value.number() as i64);
            } else if let Some(at) = place(&self.texts) {
                values.set_text(at, value.bytes());
            }
        }
        Ok(values)
    }
}

/// A priority that is absent: proto's 0, or not told.
fn untold(own: bool) -> Prio {
    if own { Prio::UNKNOWN } else { Prio::new(0) }
}

/// The numbers of a switch's fields.
mod switch {
    use super::SWITCH;

    pub(super) const PREV_COMM: u32 = SWITCH.texts[0].perfetto;
    pub(super) const PREV: u32 = SWITCH.numbers[0].perfetto;
    pub(super) const PREV_PRIO: u32 = SWITCH.numbers[1].perfetto;
    pub(super) const PREV_STATE: u32 = SWITCH.numbers[2].perfetto;
    pub(super) const NEXT_COMM: u32 = SWITCH.texts[1].perfetto;
    pub(super) const NEXT: u32 = SWITCH.numbers[3].perfetto;
    pub(super) const NEXT_PRIO: u32 = SWITCH.numbers[4].perfetto;
}

/// And of a waking's.
mod waking {
    use super::WAKING;

    pub(super) const COMM: u32 = WAKING.texts[0].perfetto;
    pub(super) const TID: u32 = WAKING.numbers[0].perfetto;
    pub(super) const PRIO: u32 = WAKING.numbers[1].perfetto;
    pub(super) const TARGET: u32 = WAKING.numbers[2].perfetto;
}

#[inline]
fn wake(
    kind: WakeKind,
    own: bool,
    mut fields: Fields<'_>,
    at: Ns,
    waker: Tid,
    names: &mut Names,
    out: &mut Batch,
) -> Result<What, Broken> {
    let (mut name, mut tid, mut prio, mut target) =
        (&[][..], Tid(0), untold(own), if own { None } else { Some(CpuId(0)) });
    while let Some((field, value)) = fields.next()? {
        match field {
            waking::COMM => name = value.bytes(),
            waking::TID => tid = Tid(value.int()),
            waking::PRIO => prio = Prio::new(value.int() as i16),
            waking::TARGET => target = Some(CpuId(value.number() as u32)),
            _ => {}
        }
    }
    let name = comm(tid, name, names, out);
    Ok(What::Wake(Wake { tid, name, kind, target, waker, prio, stamp: at }))
}

/// A thread's name, mostly the one that it had before.
#[inline]
fn comm(tid: Tid, name: &[u8], names: &mut Names, out: &mut Batch) -> NameId {
    if name.is_empty() {
        return NameId::NONE;
    }
    let mut field = [0; 16];
    match field.get_mut(..name.len()) {
        Some(place) if name.len() < 16 => place.copy_from_slice(name),
        _ => return names.id(name, out),
    }
    names.comm(tid, field, out)
}
