//! A kernel event: `protos/perfetto/trace/ftrace/ftrace_event.proto` (its envelope), `sched.proto`, `power.proto`,
//! `task.proto`, `irq.proto` and `ftrace.proto` (`print`) beside it.

use super::atrace;
use super::clocks::time;
use super::notes::Note;
use super::states::Numbers;
use super::wire::{Broken, Fields};
use crate::tracepoint::{Names, ParkingPoint, waker};
use model::{Batch, CpuId, Event, IrqKind, NameId, Ns, Pid, StackId, Switch, Tid, Wake, WakeKind, What};
use rustc_hash::FxHashMap;

/// Threads whose process is kept; a hostile file must not fill the memory.
const MOST_THREADS: usize = 1 << 20;
/// `CLONE_THREAD`: the new thread is of its maker's process.
const CLONE_THREAD: u64 = 0x1_0000;

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
        Self { states, processes: FxHashMap::default(), newest, own, noted: Vec::new(), told }
    }

    /// A thread is of a process.
    pub(super) fn belongs(&mut self, tid: Tid, pid: Pid, out: &mut Batch) {
        if self.processes.len() < MOST_THREADS || self.processes.contains_key(&tid) {
            self.processes.insert(tid, pid);
        } else {
            out.left_out.threads += 1;
        }
    }

    pub(super) fn process(&self, tid: Tid) -> Pid {
        self.processes.get(&tid).copied().unwrap_or(Pid::UNKNOWN)
    }

    /// What the event says happened; `None` where it has no content at all.
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
        let what = match kind {
            4 => match self.switch(body, names, out)? {
                Some(switch) => switch,
                None => return Ok(None),
            },
            17 => wake(WakeKind::Wakeup, own, body, at, by, names, out)?,
            20 => wake(WakeKind::Waking, own, body, at, by, names, out)?,
            114 => wake(WakeKind::New, own, body, at, by, names, out)?,
            13 => What::Idle { state: Numbered::of(body)?.first as i32 },
            11 => {
                let n = Numbered::of(body)?;
                What::Frequency { of: CpuId(n.second as u32), khz: n.first as u32 }
            }
            345 => parking("cpuhp_enter", [1, 4, 3, 3], body)?,
            343 => parking("cpuhp_exit", [1, 4, 2, 3], body)?,
            19 => parking("sched_cpu_hotplug", [1, 3, 2, 2], body)?,
            24 | 25 => irq(IrqKind::Soft, kind == 24, body, names, out)?,
            36 | 37 => irq(IrqKind::Hard, kind == 36, body, names, out)?,
            3 => atrace::read(body, current, self.process(current), names, out)?,
            491 => migrate(body)?,
            353 => priority(body)?,
            235..=239 => self.task(kind, body, current, names, out)?,
            _ => What::Sample,
        };
        // In a trace that corewise wrote, the envelope of some events is filled so that viewers show something.
        let current = if own { Tid::UNKNOWN } else { current };
        Ok(Some(place.event(at, current, what)))
    }

    #[inline]
    fn switch(&mut self, mut fields: Fields<'_>, names: &mut Names, out: &mut Batch) -> Result<Option<What>, Broken> {
        let (mut prev_comm, mut next_comm, mut state) = (&[][..], &[][..], 0);
        let (mut prev, mut next, mut prev_prio, mut next_prio) = (Tid(0), Tid(0), untold(self.own), untold(self.own));
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => prev_comm = value.bytes(),
                2 => prev = Tid(value.int()),
                3 => prev_prio = value.int() as i16,
                4 => state = value.number(),
                5 => next_comm = value.bytes(),
                6 => next = Tid(value.int()),
                7 => next_prio = value.int() as i16,
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
            prev_exec: Ns::MIN,
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

    /// Threads that are made, renamed, executed, ended.
    fn task(
        &mut self,
        kind: u32,
        fields: Fields<'_>,
        current: Tid,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<What, Broken> {
        let task = Task::of(kind, fields)?;
        let name = names.id(task.name, out);
        Ok(match kind {
            NEWTASK => {
                let thread = task.flags & CLONE_THREAD != 0;
                let pid = match std::mem::replace(&mut self.told, Pid::UNKNOWN) {
                    told if self.own => told,
                    _ if thread => self.process(current),
                    _ => Pid(task.tid.0),
                };
                self.belongs(task.tid, pid, out);
                self.newest = task.tid;
                What::Fork { parent: current, tid: task.tid, pid, name }
            }
            RENAME => What::Name { tid: task.tid, pid: Pid::UNKNOWN, name },
            // An exec leaves the process with its first thread, whose number is the process's.
            EXEC => What::Exec { tid: task.tid, pid: Pid(if self.own { task.parent } else { task.tid.0 }), file: name },
            EXIT => {
                let pid = if task.pid > 0 { Pid(task.pid) } else { self.process(task.tid) };
                What::Exit { tid: task.tid, pid }
            }
            _ if task.tid == self.newest => What::Sample,
            _ => What::Fork { parent: Tid(task.parent), tid: task.tid, pid: Pid::UNKNOWN, name },
        })
    }
}

/// A priority that is absent: proto's 0, or not told.
fn untold(own: bool) -> i16 {
    if own { i16::MIN } else { 0 }
}

const GENERIC: u32 = 327;
const NEWTASK: u32 = 235;
const RENAME: u32 = 236;
const EXEC: u32 = 237;
const EXIT: u32 = 238;
const FORK: u32 = 239;

/// What the events about tasks say.
struct Task<'a> {
    tid: Tid,
    name: &'a [u8],
    parent: i32,
    pid: i32,
    flags: u64,
}

impl<'a> Task<'a> {
    fn of(kind: u32, mut fields: Fields<'a>) -> Result<Self, Broken> {
        let mut task = Task { tid: Tid(0), name: &[], parent: 0, pid: 0, flags: 0 };
        while let Some((field, value)) = fields.next()? {
            match (kind, field) {
                (NEWTASK | RENAME, 1) | (EXEC | EXIT, 2) | (FORK, 4) => task.tid = Tid(value.int()),
                (NEWTASK, 2) | (RENAME | FORK, 3) | (EXEC, 1) => task.name = value.bytes(),
                (NEWTASK, 3) => task.flags = value.number(),
                (EXIT, 3) => task.pid = value.int(),
                (FORK, 2) | (EXEC, 3) => task.parent = value.int(),
                _ => {}
            }
        }
        Ok(task)
    }
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
            1 => name = value.bytes(),
            2 => tid = Tid(value.int()),
            3 => prio = value.int() as i16,
            5 => target = Some(CpuId(value.number() as u32)),
            _ => {}
        }
    }
    let name = comm(tid, name, names, out);
    Ok(What::Wake(Wake { tid, name, kind, target, waker, prio, stamp: at }))
}

fn migrate(mut fields: Fields<'_>) -> Result<What, Broken> {
    let (mut tid, mut from, mut to) = (Tid(0), CpuId(0), CpuId(0));
    while let Some((field, value)) = fields.next()? {
        match field {
            2 => tid = Tid(value.int()),
            4 => from = CpuId(value.number() as u32),
            5 => to = CpuId(value.number() as u32),
            _ => {}
        }
    }
    Ok(What::Migrate { tid, from, to })
}

fn priority(mut fields: Fields<'_>) -> Result<What, Broken> {
    let (mut tid, mut prio) = (Tid(0), 0);
    while let Some((field, value)) = fields.next()? {
        match field {
            2 => prio = value.int() as i16,
            4 => tid = Tid(value.int()),
            _ => {}
        }
    }
    Ok(What::Priority { tid, prio, policy: -1, nice: i8::MIN })
}

fn irq(
    kind: IrqKind,
    begins: bool,
    mut fields: Fields<'_>,
    names: &mut Names,
    out: &mut Batch,
) -> Result<What, Broken> {
    let (mut number, mut name) = (0, NameId::NONE);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => number = value.int(),
            2 if begins => name = names.id(value.bytes(), out),
            _ => {}
        }
    }
    Ok(What::Irq { kind, number, begins, name })
}

/// `places`: the fields' numbers in `cpuhp.proto` and `sched.proto`, in the order in which the tracepoint is read.
fn parking(name: &str, places: [u32; 4], mut fields: Fields<'_>) -> Result<What, Broken> {
    let mut told = [0; 4];
    while let Some((field, value)) = fields.next()? {
        for (at, _) in places.iter().enumerate().filter(|(_, place)| **place == field) {
            told[at] = value.int().into();
        }
    }
    Ok(ParkingPoint::named(name).map_or(What::Sample, |point| point.what(told)))
}

/// Events of two numbers.
#[derive(Default)]
struct Numbered {
    first: u64,
    second: u64,
}

impl Numbered {
    fn of(mut fields: Fields<'_>) -> Result<Self, Broken> {
        let mut numbers = Self::default();
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => numbers.first = value.number(),
                2 => numbers.second = value.number(),
                _ => {}
            }
        }
        Ok(numbers)
    }
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
