//! Turns the fields of an event into its meaning, by LTTng's names or by the kernel's, which perf keeps
//! (`sched:sched_switch`).

use super::compile::Found;
use super::program::{Slot, text};
use super::ust;
use crate::tracepoint::table::{FieldDef, FieldValues, Meaning, Output, Reader, ToEvent, Tracepoint, recorded};
use crate::tracepoint::{Names, States, events, waker};
use model::{
    Batch, CpuId, Event, EventKind, Mark, MarkEdge, MaybeNs, Ns, Pid, Prio, StackId, Switch, Tid, Wake, WakeKind,
};
use std::convert::Infallible;

/// Fields outside an event's own: LTTng's contexts, and what perf writes into each event.
const CONTEXT_FIELDS: &[&str] = &["tid", "pid", "procname", "vtid", "vpid"];
const PERF_FIELDS: &[&str] = &["perf_tid", "perf_pid", "perf_cpu"];

/// Whether this field, in this part of an event with this name, is read.
pub(super) fn wants(event: &str, part: &str, field: &str) -> bool {
    match part {
        "fields" => {
            PERF_FIELDS.contains(&field)
                || tracepoint(event).is_some_and(|t| has_field(t, field))
                || thread_entry_fields(event).is_some_and(|fields| fields.contains(&field))
                || ust::is_text(event, field)
        }
        _ => CONTEXT_FIELDS.contains(&field),
    }
}

/// Finds the tracepoint of an event's name in LTTng's or perf's form, without the subsystem that perf puts before it.
fn tracepoint(event: &str) -> Option<&'static Tracepoint> {
    let name = event.rsplit_once(':').map_or(event, |(_, name)| name);
    events::read_by(Reader::Ctf).find(|t| t.name == name || !t.lttng.is_empty() && t.lttng == name)
}

fn has_field(tracepoint: &Tracepoint, field: &str) -> bool {
    let has_name = |f: &FieldDef| f.lttng == field || f.in_records && (f.name == field || f.older == field);
    tracepoint.numbers.iter().chain(tracepoint.texts).any(has_name)
}

/// Returns the fields of an entry of a list of existing threads, or of perf's record of one.
fn thread_entry_fields(event: &str) -> Option<&'static [&'static str]> {
    match event.rsplit_once(':').map_or(event, |(_, name)| name) {
        "lttng_statedump_process_state" => Some(&["tid", "pid", "name"]),
        "perf_comm" => Some(&["tid", "pid", "comm"]),
        "perf_fork" => Some(&["tid", "pid"]),
        _ => None,
    }
}

/// Whether it is a record that perf writes in addition to the events of CPUs (`perf data convert --all`). It does not
/// show that the recording was running; records of the state before the recording have the time 0.
pub(super) fn is_side_band(event: &str) -> bool {
    matches!(event, "perf_comm" | "perf_fork" | "perf_exit" | "perf_mmap" | "perf_mmap2")
}

/// Whether these events include one with this kernel name.
pub(super) fn has<'n>(mut events: impl Iterator<Item = &'n str>, name: &str) -> bool {
    events.any(|e| tracepoint(e).is_some_and(|t| t.name == name))
}

/// The meaning of an event, with the slots of the fields that are read.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Switch {
        prev_comm: Slot,
        prev: Slot,
        prev_prio: Slot,
        state: Slot,
        next_comm: Slot,
        next: Slot,
        next_prio: Slot,
        nice: i64,
    },
    Wake {
        kind: WakeKind,
        comm: Slot,
        tid: Slot,
        prio: Slot,
        target: Option<Slot>,
        /// perf keeps the kernel's `common_flags`.
        flags: Option<Slot>,
        nice: i64,
    },
    Other(Box<Other>),
    /// An entry of a list of existing threads, or perf's record of one.
    Named {
        tid: Slot,
        pid: Slot,
        name: Option<Slot>,
    },
    /// A program's mark: a text, or else the event's name.
    Mark {
        name: Box<str>,
        text: Option<Slot>,
        tid: Option<Slot>,
        pid: Option<Slot>,
    },
}

/// The fields of an event, each with its index in the declaration.
#[derive(Clone, Debug)]
pub(super) struct Other {
    recorded: u8,
    /// (index in the declaration, slot, number to add)
    numbers: Vec<(usize, Slot, i64)>,
    texts: Vec<(usize, Slot)>,
    what: ToEvent,
}

impl Kind {
    /// `nice` is added to a priority to get the kernel's: LTTng subtracts 100, so that nice 0 is 20 and not 120.
    pub(super) fn of(event: &str, field: &dyn Fn(&str) -> Option<Slot>, nice: i64) -> Option<Self> {
        if let Some(fields) = thread_entry_fields(event) {
            let [tid, pid, rest @ ..] = fields else { return None };
            let name = rest.first().and_then(|name| field(name));
            return Some(Self::Named { tid: field(tid)?, pid: field(pid)?, name });
        }
        let tracepoint = tracepoint(event)?;
        let by_lttng = |f: &FieldDef| Some(f.lttng).filter(|name| !name.is_empty()).and_then(field);
        // A field that only LTTng names this way has this meaning only in LTTng's events.
        let of_lttng = nice != 0 || tracepoint.numbers.iter().any(|f| f.in_records && by_lttng(f).is_some());
        let slot = |f: &FieldDef| {
            let lttng = by_lttng(f).filter(|_| f.in_records || of_lttng);
            lttng.or_else(|| f.in_record(field))
        };
        let slots = |fields: &[FieldDef]| -> Option<Vec<(usize, Slot)>> {
            let has = |(at, f): (usize, &FieldDef)| match slot(f) {
                None if f.optional => None,
                slot => Some(slot.map(|slot| (at, slot))),
            };
            fields.iter().enumerate().filter_map(has).collect()
        };
        let (numbers, texts) = (slots(tracepoint.numbers)?, slots(tracepoint.texts)?);
        let number = |at: usize| numbers.iter().find(|(field, _)| *field == at).map(|(_, slot)| *slot);
        Some(match (tracepoint.meaning, texts.as_slice()) {
            (Meaning::Switch, [(_, prev_comm), (_, next_comm)]) => Self::Switch {
                prev_comm: *prev_comm,
                prev: number(0)?,
                prev_prio: number(1)?,
                state: number(2)?,
                next_comm: *next_comm,
                next: number(3)?,
                next_prio: number(4)?,
                nice,
            },
            (Meaning::Wake(kind), [(_, comm)]) => Self::Wake {
                kind,
                comm: *comm,
                tid: number(0)?,
                prio: number(1)?,
                target: number(2),
                flags: number(3),
                nice,
            },
            (Meaning::Of(what), _) => {
                let added = |at: usize| tracepoint.numbers.get(at).filter(|f| f.priority).map_or(0, |_| nice);
                let recorded = recorded(numbers.iter().map(|(at, _)| *at));
                let numbers = numbers.iter().map(|(at, slot)| (*at, *slot, added(*at))).collect();
                Self::Other(Box::new(Other { recorded, numbers, texts, what }))
            }
            _ => return None,
        })
    }
}

/// Returns the slot of a field of a part.
pub(super) fn slot(found: &[Found], scope: &str, name: &str) -> Option<Slot> {
    found.iter().find(|f| f.scope == scope && f.name == name).map(|f| f.slot)
}

/// A record that was just read.
pub(super) struct Record<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) values: &'r [u64],
    pub(super) at: Ns,
    /// The current task.
    pub(super) current: Tid,
}

impl Record<'_> {
    #[inline]
    pub(super) fn value(&self, slot: Slot) -> u64 {
        self.values.get(slot).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn tid(&self, slot: Slot) -> Tid {
        Tid(self.value(slot) as i32)
    }

    #[inline]
    fn cpu(&self, slot: Slot) -> CpuId {
        CpuId(self.value(slot) as u32)
    }

    #[inline]
    fn prio(&self, slot: Slot, nice: i64) -> Prio {
        Prio::new((self.value(slot) as i64).saturating_add(nice) as i16)
    }

    pub(super) fn text(&self, slot: Slot) -> &[u8] {
        let text = text(self.bytes, self.value(slot));
        text.split(|b| *b == 0).next().unwrap_or(text)
    }

    /// Returns the ID of a thread's name.
    #[inline]
    pub(super) fn comm(&self, tid: Tid, slot: Slot, names: &mut Names, out: &mut Batch) -> model::NameId {
        let name = text(self.bytes, self.value(slot));
        if let Ok(field) = name.try_into() {
            return names.comm(tid, field, out); // already the kernel's field
        }
        let name = self.text(slot);
        let mut field = [0; 16];
        match field.get_mut(..name.len()) {
            Some(place) => {
                place.copy_from_slice(name);
                names.comm(tid, field, out)
            }
            None => names.id(name, out),
        }
    }

    #[inline]
    fn other(&self, other: &Other, out: Output<'_>) {
        let mut values = FieldValues::new(self.current);
        let number = |(at, slot, added): &(usize, Slot, i64)| (*at, (self.value(*slot) as i64).saturating_add(*added));
        let Ok(()) = values.set_numbers(other.recorded, other.numbers.iter().map(|n| Ok::<_, Infallible>(number(n))));
        for (at, slot) in &other.texts {
            values.set_text(*at, self.text(*slot));
        }
        (other.what)(&values, out);
    }

    /// Adds the event with its `what` filled in. It is built in its final place, like in
    /// [`crate::tracepoint::Decoder`].
    #[inline]
    pub(super) fn add(&self, kind: &Kind, event: Event, states: &States, names: &mut Names, out: &mut Batch) {
        let what = match *kind {
            Kind::Switch { prev_comm, prev, prev_prio, state, next_comm, next, next_prio, nice } => {
                let (prev, next, number) = (self.tid(prev), self.tid(next), self.value(state));
                let (switched_out, state_letter) = states.meaning(number);
                let switch = Switch {
                    prev,
                    next,
                    prev_name: self.comm(prev, prev_comm, names, out),
                    next_name: self.comm(next, next_comm, names, out),
                    stack: StackId::NONE,
                    prev_state: number as u32,
                    prev_prio: self.prio(prev_prio, nice),
                    next_prio: self.prio(next_prio, nice),
                    out: switched_out,
                    state_letter,
                    prev_exec: MaybeNs::NONE,
                };
                return out.events.push(Event { what: EventKind::Switch(switch), ..event });
            }
            Kind::Wake { kind, comm, tid, prio, target, flags, nice } => {
                let tid = self.tid(tid);
                let wake = Wake {
                    tid,
                    name: self.comm(tid, comm, names, out),
                    kind,
                    target: target.map(|slot| self.cpu(slot)),
                    waker: waker(flags.map_or(0, |slot| self.value(slot)), self.current),
                    prio: self.prio(prio, nice),
                    stamp: self.at,
                };
                return out.events.push(Event { what: EventKind::Wake(wake), ..event });
            }
            // The other kinds are rare.
            Kind::Other(ref other) => return self.other(other, Output { names, out, event: &event }),
            Kind::Named { tid, pid, name } => {
                let tid = self.tid(tid);
                let name = name.map(|slot| self.comm(tid, slot, names, out)).unwrap_or_default();
                EventKind::Name { tid, pid: Pid(self.value(pid) as i32), name }
            }
            Kind::Mark { ref name, text, tid, pid } => {
                let label = text.map(|slot| self.text(slot)).filter(|text| !text.is_empty());
                let label = label.unwrap_or(name.as_bytes());
                EventKind::Mark(Mark {
                    tid: tid.map_or(Tid::UNKNOWN, |slot| self.tid(slot)),
                    pid: pid.map_or(Pid::UNKNOWN, |slot| Pid(self.value(slot) as i32)),
                    track: 0,
                    name: names.id(&label[..label.len().min(ust::MAX_LABEL)], out),
                    edge: MarkEdge::Instant,
                })
            }
        };
        out.events.push(Event { what, ..event });
    }
}
