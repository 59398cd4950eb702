//! A kernel event: `protos/perfetto/trace/ftrace/ftrace_event.proto` (its envelope), `ftrace.proto` (`print`), and the
//! messages of the tracepoints ([`events::TRACEPOINTS`]) by the numbers of their fields.

use super::atrace;
use super::clocks::time;
use super::notes::Note;
use super::states::Numbers;
use super::wire::{Fields, Malformed, OtherType, Unreadable, Value};
use crate::tracepoint::events::{self, NEWTASK, OLD_PID, SWITCH, WAKING};
use crate::tracepoint::table::{FieldDef, FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint};
use crate::tracepoint::{Names, waker};
use ingest::{Anomaly, Ledger};
use model::{
    Batch, CpuId, Event, EventKind, LeftOut, MaybeNs, NameId, Ns, Pid, Prio, StackId, Switch, Tid, Wake, WakeKind,
};
use rustc_hash::FxHashMap;

/// The maximum number of threads whose process is kept, so that a hostile file cannot exhaust memory.
const MAX_THREADS: usize = 1 << 20;
/// Fields of `FtraceEvent` that are not tracepoints with a message: text written to `trace_marker`, and tracepoints for
/// which Perfetto has no message.
const PRINT: u32 = 3;
const GENERIC: u32 = 327;
/// The field of `FtraceEvent` with the kernel's `common_flags`.
const FLAGS: u32 = 5;
/// The number of switches and wakeups that decide whether events have the numbers of the public schema.
const MANY: u64 = 1000;

/// Where an event was recorded.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) cpu: CpuId,
    pub(super) offset: u64,
    /// The difference to add to its time.
    pub(super) shift: i64,
}

impl Place {
    #[inline]
    pub(super) fn time(self, ns: u64) -> Result<Ns, Malformed> {
        let Ns(ns) = time(ns).ok_or(Malformed)?;
        Ok(Ns(ns + self.shift)) // both are below 2^62
    }

    #[inline]
    pub(super) fn event(self, at: Ns, current: Tid, what: EventKind) -> Event {
        Event { at, offset: self.offset, cpu: self.cpu, current, what }
    }
}

/// The state for reading kernel events.
pub(super) struct Kernel {
    /// Indexed by the field of `FtraceEvent`.
    messages: Vec<Option<Message>>,
    pub(super) states: Numbers,
    /// The process of each thread, as far as it is known.
    processes: FxHashMap<Tid, Pid>,
    /// The thread of the last `task_newtask`. The `sched_process_fork` that follows contains less.
    newest: Tid,
    /// Whether corewise wrote the trace. A field that is absent was then not recorded.
    pub(super) own: bool,
    /// The callchains to which corewise's notes refer, by their `iid`.
    pub(super) own_stacks: FxHashMap<u64, StackId>,
    /// The bytes of corewise's note about the next switch of the bundle.
    switch_note: Vec<u8>,
    /// The process of the next thread that is created.
    next_process: Pid,
    /// Whether events have other numbers than in the public schema ([`Numbering`]).
    foreign: bool,
    /// Whether the last event was whole, but not understood.
    not_understood: bool,
    /// The field of `FtraceEvent` of the first such event; 0 after it was reported.
    first: Option<u32>,
}

impl Kernel {
    /// `own`: corewise wrote the trace; `foreign`: its events have other numbers than in the public schema.
    pub(super) fn new(states: Numbers, own: bool, foreign: bool) -> Self {
        Self {
            messages: if foreign { Vec::new() } else { messages() },
            states,
            processes: FxHashMap::default(),
            newest: Tid::UNKNOWN,
            own,
            own_stacks: FxHashMap::default(),
            switch_note: Vec::new(),
            next_process: Pid::UNKNOWN,
            foreign,
            not_understood: false,
            first: None,
        }
    }

    fn set_not_understood(&mut self, field: u32) {
        self.not_understood = true;
        self.first.get_or_insert(field);
    }

    /// Records that the last event was not understood, if so. The first one is recorded by the number of its field.
    pub(super) fn report(&mut self, offset: u64, bad: &mut dyn Ledger) {
        if !std::mem::take(&mut self.not_understood) {
            return;
        }
        let code = if self.foreign {
            "kernel events have other numbers than in Perfetto's public schema (a vendor numbered its own events), so \
             switches and wakeups cannot be read"
        } else {
            "a kernel event has a field of another type than in Perfetto's public schema"
        };
        match self.first.replace(0) {
            None | Some(0) => bad.anomaly(code, offset, Anomaly::NotUnderstood),
            Some(field) => bad.not_understood(code, offset, format!("field {field} of FtraceEvent").as_bytes()),
        }
    }

    /// Stores the process of a thread.
    pub(super) fn set_process(&mut self, tid: Tid, pid: Pid, left_out: &mut LeftOut) {
        if self.processes.len() < MAX_THREADS || self.processes.contains_key(&tid) {
            self.processes.insert(tid, pid);
        } else {
            left_out.threads += 1;
        }
    }

    pub(super) fn process(&self, tid: Tid) -> Pid {
        self.processes.get(&tid).copied().unwrap_or(Pid::UNKNOWN)
    }

    /// Reads an event; `None` if the event was added to `out`, or has no content. An event that is whole, but not
    /// understood, still shows that its CPU recorded something then ([`EventKind::Sample`]).
    #[inline]
    pub(super) fn read(
        &mut self,
        message: &[u8],
        place: Place,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<Event>, Malformed> {
        let (mut at, mut current, mut flags, mut kind, mut body) = (0, Tid::UNKNOWN, 0, 0, &[][..]);
        let mut other_type = false;
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match (field, value) {
                (1, Value::Number(number)) => at = number,
                (2, Value::Number(number)) => current = Tid(number as i32),
                (FLAGS, Value::Number(number)) => flags = number,
                (1 | 2 | FLAGS, Value::Bytes(_)) => other_type = true,
                (_, value) => (kind, body) = (field, value.bytes()),
            }
        }
        if kind == 0 && at == 0 && !other_type {
            return Ok(None);
        }
        let at = place.time(at)?;
        if other_type || self.foreign && kind != PRINT {
            self.set_not_understood(kind);
            return Ok(Some(place.event(at, current, EventKind::Sample)));
        }
        match self.content(kind, body, (at, current, flags), place, names, out) {
            Ok(event) => Ok(event),
            Err(Unreadable::Malformed) => Err(Malformed),
            Err(Unreadable::OtherType) => {
                self.set_not_understood(kind);
                Ok(Some(place.event(at, self.current_task(current), EventKind::Sample)))
            }
        }
    }

    /// Reads the message of an event at a time, of the current task and with the flags of its envelope.
    #[inline]
    fn content(
        &mut self,
        kind: u32,
        body: &[u8],
        (at, current, flags): (Ns, Tid, u64),
        place: Place,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<Event>, Unreadable> {
        if kind == GENERIC && self.own {
            let note = Note::of(body);
            let what = match note.name() {
                b"corewise_switch" => {
                    self.switch_note.clear();
                    self.switch_note.extend_from_slice(body);
                    return Ok(None);
                }
                b"corewise_process" => {
                    self.next_process = note.pid("tgid");
                    return Ok(None);
                }
                b"corewise_named" => return Ok(Some(place.event(at, note.tid("pid"), EventKind::Sample))),
                _ => note.event(names, &self.own_stacks, out),
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
                let event = place.event(at, self.current_task(current), EventKind::Sample);
                what(&values, Output { names, out: &mut *out, event: &event });
                if let Some(Event { what, .. }) = out.events.last_mut() {
                    self.complete_process(kind, what, &values, &mut out.left_out);
                }
                return Ok(None);
            }
            _ if kind == PRINT => atrace::read(body, current, self.process(current), names, out)?,
            _ => EventKind::Sample,
        };
        Ok(Some(place.event(at, self.current_task(current), what)))
    }

    /// Returns the current task. In a trace that corewise wrote, the envelope of some events contains a task only for
    /// display in viewers.
    #[inline]
    fn current_task(&self, current: Tid) -> Tid {
        if self.own { Tid::UNKNOWN } else { current }
    }

    #[inline]
    fn switch(
        &mut self,
        mut fields: Fields<'_>,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<EventKind>, Unreadable> {
        let (mut prev_comm, mut next_comm, mut state) = (&[][..], &[][..], 0);
        let (mut prev, mut next, mut prev_prio, mut next_prio) =
            (Tid(0), Tid(0), absent_prio(self.own), absent_prio(self.own));
        while let Some((field, value)) = fields.next()? {
            match field {
                switch::PREV_COMM => prev_comm = value.as_bytes()?,
                switch::PREV => prev = Tid(value.as_int()?),
                switch::PREV_PRIO => prev_prio = Prio::new(value.as_int()? as i16),
                switch::PREV_STATE => state = value.as_number()?,
                switch::NEXT_COMM => next_comm = value.as_bytes()?,
                switch::NEXT => next = Tid(value.as_int()?),
                switch::NEXT_PRIO => next_prio = Prio::new(value.as_int()? as i16),
                _ => {}
            }
        }
        let (what, state_letter) = self.states.meaning(state);
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
            state_letter,
            prev_exec: MaybeNs::NONE,
        };
        if !self.switch_note.is_empty() {
            let note = Note::of(&self.switch_note);
            let display_only = note.display_only();
            note.amend(&mut switch);
            self.switch_note.clear();
            if display_only {
                return Ok(None);
            }
        }
        Ok(Some(EventKind::Switch(switch)))
    }

    /// Completes the event with the process of a thread that is created, executed or ended; other packets contain it.
    fn complete_process(
        &mut self,
        message: u32,
        what: &mut EventKind,
        values: &FieldValues<'_>,
        left_out: &mut LeftOut,
    ) {
        match what {
            EventKind::Fork { parent, tid, pid, .. } if message == NEWTASK.perfetto => {
                *pid = match std::mem::replace(&mut self.next_process, Pid::UNKNOWN) {
                    recorded if self.own => recorded,
                    _ if *pid == Pid::UNKNOWN => self.process(*parent),
                    _ => *pid,
                };
                self.newest = *tid;
                let (tid, pid) = (*tid, *pid);
                self.set_process(tid, pid, left_out);
            }
            EventKind::Fork { tid, .. } if *tid == self.newest => *what = EventKind::Sample,
            EventKind::Exec { pid, .. } if self.own => *pid = Pid(values.number(OLD_PID) as i32),
            EventKind::Exit { tid, pid: pid @ Pid::UNKNOWN } => *pid = self.process(*tid),
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

/// The fields by number, each with its index in the declaration.
struct Other {
    numbers: Vec<(u32, usize)>,
    texts: Vec<(u32, usize)>,
    what: ToEvent,
}

/// Returns the messages of all tracepoints for which Perfetto has one.
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
    /// Returns the values of the fields; absent ones are 0 or empty.
    fn values<'m>(&self, mut fields: Fields<'m>, current: Tid) -> Result<FieldValues<'m>, Unreadable> {
        let mut values = FieldValues::new(current);
        while let Some((field, value)) = fields.next()? {
            let place = |of: &[(u32, usize)]| of.iter().find(|(number, _)| *number == field).map(|(_, at)| *at);
            if let Some(at) = place(&self.numbers) {
                values.set_number(at, value.as_number()? as i64);
            } else if let Some(at) = place(&self.texts) {
                values.set_text(at, value.as_bytes()?);
            }
        }
        Ok(values)
    }
}

/// Counts switches and wakeups by the public schema whose fields have its types, and those whose fields do not. A vendor's
/// build that numbers its own events differently has nearly all of its events under the numbers of others.
#[derive(Default)]
pub(super) struct Numbering {
    fitting: u64,
    other: u64,
}

impl Numbering {
    /// Reads the first events of a bundle.
    pub(super) fn learn(&mut self, bundle: &[u8]) -> Result<(), Malformed> {
        let mut events = Fields::of(bundle);
        while self.fitting + self.other < MANY {
            let Some((field, value)) = events.next()? else { break };
            let mut fields = Fields::of(if field == 2 { value.bytes() } else { &[] });
            while let Some((field, value)) = fields.next()? {
                let fits = match (field, value) {
                    (FLAGS, value) => value.as_number().map(|_| ()),
                    (kind, Value::Bytes(body)) if kind == SWITCH.perfetto => has_types(body, &SWITCH)?,
                    (kind, Value::Bytes(body)) if WAKEUPS.contains(&kind) => has_types(body, &WAKING)?,
                    _ => continue,
                };
                match fits {
                    // Flags with the right type show nothing: not every event has them.
                    Ok(()) => self.fitting += u64::from(field != FLAGS),
                    Err(OtherType) => self.other += 1,
                }
            }
        }
        Ok(())
    }

    /// Whether events have other numbers than in the public schema.
    pub(super) fn is_foreign(&self) -> bool {
        self.other > self.fitting
    }
}

/// The fields of `FtraceEvent` with wakeups: waking, wakeup, new.
const WAKEUPS: [u32; 3] = [20, 17, 114];

/// Whether the fields of a message have the types of a tracepoint's.
fn has_types(body: &[u8], tracepoint: &Tracepoint) -> Result<Result<(), OtherType>, Malformed> {
    let has = |fields: &[FieldDef], number| fields.iter().any(|f| f.perfetto == number);
    let mut fields = Fields::of(body);
    while let Some((field, value)) = fields.next()? {
        let is_other = match value {
            Value::Number(_) => has(tracepoint.texts, field),
            Value::Bytes(_) => has(tracepoint.numbers, field),
        };
        if is_other {
            return Ok(Err(OtherType));
        }
    }
    Ok(Ok(()))
}

/// Returns the value of an absent priority: proto's default 0, or unknown.
fn absent_prio(own: bool) -> Prio {
    if own { Prio::UNKNOWN } else { Prio::new(0) }
}

/// The field numbers of a switch.
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

/// The field numbers of a wakeup.
mod wakeup {
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
) -> Result<EventKind, Unreadable> {
    let (mut name, mut tid, mut prio, mut target) =
        (&[][..], Tid(0), absent_prio(own), if own { None } else { Some(CpuId(0)) });
    while let Some((field, value)) = fields.next()? {
        match field {
            wakeup::COMM => name = value.as_bytes()?,
            wakeup::TID => tid = Tid(value.as_int()?),
            wakeup::PRIO => prio = Prio::new(value.as_int()? as i16),
            wakeup::TARGET => target = Some(CpuId(value.as_number()? as u32)),
            _ => {}
        }
    }
    let name = comm(tid, name, names, out);
    Ok(EventKind::Wake(Wake { tid, name, kind, target, waker, prio, stamp: at }))
}

/// Returns the ID of a thread's name, which is usually its previous name.
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
