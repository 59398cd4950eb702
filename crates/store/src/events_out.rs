//! `events/<kind>.parquet`: events split by kind.
//!
//! A switch has two names in some sources, the same ones over and over: they are kept once, as a row of `thread` where a
//! name first appears or changes (`called`). What the kernel has charged a thread in its whole life stands with each
//! switch; between the switches of different threads it jumps to and fro and would take more bytes than all the rest, so
//! it is kept as the difference to the same thread's last.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::event_tables::{self, EventKind, STACK_STORES, STACKS, TABLES, origin};
use crate::sheet::{Disk, Done, Sheet, columns};
use crate::states_out::{GROUP_LEAST, GROUP_NS, GROUP_ROWS, ROWS_AT_ONCE};
use crate::values::{NO_WORD, Values};
use crate::words::{self as w, ThreadNote};
use crate::writer::PART_SHIFT;
use model::{Event, MaybeNs, NameId, Ns, Pid, StackFrame, StackId, Switch, Tid, Wake, What};
use rustc_hash::FxHashMap;
use safefs::Dir;

const NONE: i32 = i32::MIN;

/// What was told of a thread number last.
#[derive(Clone, Copy)]
struct Last {
    name: NameId,
    exec: i64,
}

/// That of all thread numbers.
#[derive(Default)]
struct Lasts {
    /// By place, for numbers below [`NEAR`]: nearly every event asks.
    near: Vec<Last>,
    far: FxHashMap<i32, Last>,
}

/// Twice as many numbers as Linux gives out where nobody raised `kernel.pid_max`; larger ones are looked up in a map.
const NEAR: usize = 1 << 16;

impl Lasts {
    #[inline]
    fn of(&mut self, tid: Tid) -> &mut Last {
        const NOTHING: Last = Last { name: NameId::NONE, exec: i64::MIN };
        let at = tid.0 as usize;
        if at >= NEAR {
            return self.far.entry(tid.0).or_insert(NOTHING);
        }
        if self.near.len() <= at {
            self.near.resize((at + 1).next_power_of_two(), NOTHING);
        }
        &mut self.near[at]
    }
}

/// A row of `thread`.
#[derive(Clone, Copy)]
struct Note {
    event: u32,
    tid: Tid,
    what: ThreadNote,
    pid: i32,
    parent: i32,
    name: NameId,
    state: u8,
    letter: u8,
    on_cpu: i32,
    exec: i64,
    inner: (i32, i32),
}

impl Note {
    fn new(event: u32, tid: Tid, what: ThreadNote) -> Self {
        let (name, inner) = (NameId::NONE, (NONE, NONE));
        Self {
            event,
            tid,
            what,
            pid: NONE,
            parent: NONE,
            name,
            state: NO_WORD,
            letter: NO_WORD,
            on_cpu: NONE,
            exec: i64::MIN,
            inner,
        }
    }
}

/// The files of `events/`, made when their first row comes.
pub(crate) struct EventSheets {
    folder: Dir,
    sources: usize,
    sheets: Vec<Option<Sheet<Disk>>>,
    /// Places in the batch of the events of each kind.
    picks: Vec<Vec<u32>>,
    notes: Vec<Note>,
    /// The batch's switches, and their `prev_exec_ns` and `prev_ran_ns`.
    switches: Vec<Switch>,
    execs: Vec<(i64, i64)>,
    /// The batch's wakings, with their times.
    wakes: Vec<(Ns, Wake)>,
    last: Lasts,
    /// All texts told so far.
    names: Vec<Box<str>>,
    stacks: Option<Sheet<Disk>>,
    next_stack: i64,
    next: i64,
}

impl EventSheets {
    pub(crate) fn new(folder: Dir, sources: usize) -> Self {
        Self {
            folder,
            sources,
            sheets: TABLES.iter().map(|_| None).collect(),
            picks: TABLES.iter().map(|_| Vec::new()).collect(),
            notes: Vec::new(),
            switches: Vec::new(),
            execs: Vec::new(),
            wakes: Vec::new(),
            last: Lasts::default(),
            names: Vec::new(),
            stacks: None,
            next_stack: 1,
            next: 0,
        }
    }

    /// More texts, numbered on from the last.
    pub(crate) fn names(&mut self, more: Vec<Box<str>>) {
        self.names.extend(more);
    }

    /// More callchains, numbered on from the last.
    pub(crate) fn stacks(&mut self, more: &[Box<[StackFrame]>], with: &mut Encoder) -> Result<(), Error> {
        let mut sheet = match self.stacks.take() {
            Some(sheet) => sheet,
            None => Sheet::create(&self.folder, "stack.parquet", &STACKS, &columns(&STACKS, STACK_STORES, &[]))?,
        };
        for stack in more {
            sheet.longs(0, std::iter::repeat_n(self.next_stack, stack.len()));
            sheet.ints(1, (0i32..).take(stack.len()));
            sheet.longs(2, stack.iter().map(|f| f.address.cast_signed()));
            sheet.texts(3, stack.iter().map(|f| f.function.0));
            sheet.texts(4, stack.iter().map(|f| f.file.0));
            sheet.texts(5, stack.iter().map(|f| f.build_id.0));
            sheet.longs(6, stack.iter().map(|f| i64::try_from(f.offset).unwrap_or(i64::MIN)));
            self.next_stack += 1;
        }
        if sheet.rows() >= GROUP_ROWS {
            sheet.flush(with, &self.names)?;
        }
        self.stacks = Some(sheet);
        Ok(())
    }

    /// Some events, in the merged order.
    pub(crate) fn take(&mut self, events: &[Event], with: &mut Encoder) -> Result<(), Error> {
        events.chunks(ROWS_AT_ONCE).try_for_each(|events| self.take_some(events, with))
    }

    fn take_some(&mut self, events: &[Event], with: &mut Encoder) -> Result<(), Error> {
        self.picks.iter_mut().for_each(Vec::clear);
        self.notes.clear();
        self.switches.clear();
        self.execs.clear();
        self.wakes.clear();
        for (i, e) in (0u32..).zip(events) {
            let kind = self.pick(i, e);
            if kind != EventKind::Thread
                && let Some(pick) = self.picks.get_mut(kind as usize)
            {
                pick.push(i);
            }
        }
        if let Some(pick) = self.picks.get_mut(EventKind::Thread as usize) {
            pick.extend(self.notes.iter().map(|n| n.event));
        }
        for kind in 0..TABLES.len() {
            let picks = std::mem::take(&mut self.picks[kind]);
            if !picks.is_empty() {
                self.kind(kind, events, &picks, with)?;
            }
            self.picks[kind] = picks;
        }
        self.next += events.len() as i64;
        Ok(())
    }

    /// The kind of an event, and what it tells of threads.
    fn pick(&mut self, i: u32, e: &Event) -> EventKind {
        let note = |tid, what| Note::new(i, tid, what);
        let told = |p: Pid| if p == Pid::UNKNOWN { NONE } else { p.0 };
        if let Some(kind) = event_tables::kind_of(&e.what) {
            return kind;
        }
        match e.what {
            What::Switch(s) => {
                self.called(i, s.prev, s.prev_name);
                self.called(i, s.next, s.next_name);
                let exec = self.ran(s.prev, s.prev_exec);
                self.execs.push(exec);
                self.switches.push(s);
                return EventKind::Switch;
            }
            What::Wake(wake) => {
                self.called(i, wake.tid, wake.name);
                self.wakes.push((e.at, wake));
                return EventKind::Wake;
            }
            What::Fork { parent, tid, pid, name } => {
                self.named(tid, name);
                self.notes.push(Note { parent: parent.0, pid: told(pid), name, ..note(tid, ThreadNote::Fork) });
            }
            What::Exec { tid, pid, file } => {
                self.notes.push(Note { pid: told(pid), name: file, ..note(tid, ThreadNote::Exec) });
            }
            What::Exit { tid, pid } => self.notes.push(Note { pid: told(pid), ..note(tid, ThreadNote::Exit) }),
            What::Name { tid, pid, name } => {
                self.named(tid, name);
                self.notes.push(Note { pid: told(pid), name, ..note(tid, ThreadNote::Name) });
            }
            What::Seen(s) => {
                self.named(s.tid, s.name);
                self.notes.push(Note {
                    pid: told(s.pid),
                    name: s.name,
                    state: w::seen_state_code(s.state),
                    letter: w::letter_code(s.letter),
                    on_cpu: s.cpu.0 as i32,
                    exec: s.exec.to_word(),
                    ..note(s.tid, ThreadNote::Seen)
                });
            }
            What::Inner { tid, inner_tid, inner_pid } => {
                self.notes.push(Note { inner: (inner_tid.0, inner_pid.0), ..note(tid, ThreadNote::Inner) });
            }
            What::Current { tid } => self.notes.push(note(tid, ThreadNote::Current)),
            What::Yield { tid, begins } => {
                self.notes.push(note(tid, if begins { ThreadNote::Yields } else { ThreadNote::Yielded }));
            }
            // They have a table of their own.
            _ => {}
        }
        EventKind::Thread
    }

    /// A row that tells a name of its own.
    fn named(&mut self, tid: Tid, name: NameId) {
        if name != NameId::NONE {
            self.last.of(tid).name = name;
        }
    }

    /// A name told by the way. Idle has another name on each CPU, and needs none.
    #[inline]
    fn called(&mut self, event: u32, tid: Tid, name: NameId) {
        if tid.0 <= 0 || name == NameId::NONE {
            return;
        }
        let last = self.last.of(tid);
        if last.name == name {
            return;
        }
        let before = std::mem::replace(&mut last.name, name);
        // The same text may have come again under another number.
        let text = |id: NameId| self.names.get((id.0 as usize).wrapping_sub(1));
        if before == NameId::NONE || text(before) != text(name) {
            self.notes.push(Note { name, ..Note::new(event, tid, ThreadNote::Called) });
        }
    }

    /// What to store of the kernel's charge: in all at first, then the difference.
    #[inline]
    fn ran(&mut self, tid: Tid, exec: MaybeNs) -> (i64, i64) {
        let Some(exec) = exec.get() else { return (i64::MIN, i64::MIN) };
        let last = &mut self.last.of(tid).exec;
        match std::mem::replace(last, exec.0) {
            i64::MIN => (exec.0, i64::MIN),
            before => (i64::MIN, exec.0.wrapping_sub(before)),
        }
    }

    /// Adds the picked events to their kind's file.
    fn kind(&mut self, kind: usize, events: &[Event], picks: &[u32], with: &mut Encoder) -> Result<(), Error> {
        let table = &TABLES[kind];
        let mut sheet = match self.sheets[kind].take() {
            Some(sheet) => sheet,
            None => {
                let origin = origin(self.sources);
                let more = if self.sources > 0 { &origin[..] } else { &[] };
                let name = format!("{}.parquet", table.def.name);
                Sheet::create(&self.folder, &name, table.def, &columns(table.def, table.stores, more))?
            }
        };
        let to = &mut sheet;
        let own = picks.iter().map(|i| &events[*i as usize]);
        to.longs(0, picks.iter().map(|i| self.next + i64::from(*i)));
        to.longs(1, own.clone().map(|e| e.at.0));
        to.ints(2, own.clone().map(|e| e.cpu.0 as i32));
        match kind {
            k if k == EventKind::Switch as usize => switches(to, &self.switches, &self.execs),
            k if k == EventKind::Wake as usize => wakes(to, &self.wakes),
            k if k == EventKind::Thread as usize => note_rows(to, &self.notes),
            k if k == EventKind::Charge as usize => charges(to, own.clone()),
            _ => own.clone().for_each(|e| event_tables::write(to, e)),
        }
        if self.sources > 0 {
            let place = (1u64 << PART_SHIFT) - 1;
            if self.sources > 1 {
                to.ints(table.stores.len(), own.clone().map(|e| (e.offset >> PART_SHIFT) as i32));
            } else {
                to.longs(table.stores.len(), std::iter::repeat_n(0, picks.len()));
            }
            to.longs(table.stores.len() + 1, own.map(|e| (e.offset & place) as i64));
        }
        let span = match to.col(1) {
            Values::Long(at) => at.last().zip(at.first()).map_or(0, |(l, f)| l.saturating_sub(*f)),
            _ => 0,
        };
        if to.rows() >= GROUP_ROWS || (to.rows() >= GROUP_LEAST && span >= GROUP_NS) {
            to.flush(with, &self.names)?;
        }
        self.sheets[kind] = Some(sheet);
        Ok(())
    }

    /// Writes what is left, since no more will come; others may use its memory then.
    pub(crate) fn rest(&mut self, with: &mut Encoder) -> Result<(), Error> {
        let mut sheets: Vec<_> = self.sheets.iter_mut().chain([&mut self.stacks]).flatten().collect();
        // All are begun before any is waited for.
        sheets.iter_mut().try_for_each(|s| s.flush(with, &self.names))?;
        sheets.into_iter().try_for_each(Sheet::rest)
    }

    /// Writes what is left; name, rows and bytes of each file.
    pub(crate) fn close(self, trace: i64, with: &mut Encoder) -> Result<Vec<(&'static str, Done)>, Error> {
        let stacks = self.stacks.map(|s| (STACKS.name, s));
        let sheets = TABLES.iter().zip(self.sheets).filter_map(|(t, s)| Some((t.def.name, s?))).chain(stacks);
        sheets.map(|(name, s)| Ok((name, s.close_file(trace, with, &self.names)?))).collect()
    }
}

fn switches(to: &mut Sheet<Disk>, all: &[Switch], execs: &[(i64, i64)]) {
    to.ints(3, all.iter().map(|s| s.prev.0));
    to.ints(4, all.iter().map(|s| s.next.0));
    to.ints(5, all.iter().map(|s| s.prev_state as i32));
    to.words(6, all.iter().map(|s| w::letter_code(s.letter)));
    to.words(7, all.iter().map(|s| w::switch_out_code(s.out)));
    to.ints(8, all.iter().map(|s| s.prev_prio.to_word().into()));
    to.ints(9, all.iter().map(|s| s.next_prio.to_word().into()));
    to.longs(10, execs.iter().map(|e| e.0));
    to.longs(11, execs.iter().map(|e| e.1));
    to.ints(12, all.iter().map(|s| if s.stack == StackId::NONE { NONE } else { s.stack.0 as i32 }));
}

fn wakes(to: &mut Sheet<Disk>, all: &[(Ns, Wake)]) {
    to.ints(3, all.iter().map(|(_, w)| w.tid.0));
    to.words(4, all.iter().map(|(_, v)| w::wake_kind_code(v.kind)));
    to.ints(5, all.iter().map(|(_, w)| w.target.map_or(NONE, |c| c.0 as i32)));
    to.ints(6, all.iter().map(|(_, w)| if w.waker == Tid::UNKNOWN { NONE } else { w.waker.0 }));
    to.ints(7, all.iter().map(|(_, w)| w.prio.get().map_or(NONE, i32::from)));
    to.longs(8, all.iter().map(|(at, w)| if w.stamp == *at { i64::MIN } else { w.stamp.0 }));
}

fn charges<'a>(to: &mut Sheet<Disk>, all: impl Iterator<Item = &'a Event> + Clone) {
    let all = all.map(|e| if let What::Charge { tid, ns } = e.what { (tid.0, ns.0) } else { (NONE, i64::MIN) });
    to.ints(3, all.clone().map(|(tid, _)| tid));
    to.longs(4, all.map(|(_, ns)| ns));
}

fn note_rows(to: &mut Sheet<Disk>, notes: &[Note]) {
    to.ints(3, notes.iter().map(|n| n.tid.0));
    to.words(4, notes.iter().map(|n| w::thread_note_code(n.what)));
    to.ints(5, notes.iter().map(|n| n.pid));
    to.ints(6, notes.iter().map(|n| n.parent));
    to.texts(7, notes.iter().map(|n| n.name.0));
    to.words(8, notes.iter().map(|n| n.state));
    to.words(9, notes.iter().map(|n| n.letter));
    to.ints(10, notes.iter().map(|n| n.on_cpu));
    to.longs(11, notes.iter().map(|n| n.exec));
    to.ints(12, notes.iter().map(|n| n.inner.0));
    to.ints(13, notes.iter().map(|n| n.inner.1));
}
