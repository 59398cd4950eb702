//! Writes `events/<kind>.parquet`: the events, split by kind.
//!
//! In some sources each switch has the names of both threads. A name is stored once, as a row of `thread`, when it first appears
//! or changes (`called`). Each switch also has the total runtime charged to a thread. From one switch to the next the total belongs
//! to another thread and would take more bytes than all other columns, so the difference to the thread's previous total is stored.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::event_tables::{self, Cells, NONE, STACK_STORES, origin};
use crate::named::Named;
use crate::sheet::{Disk, Done, Sheet, columns};
use crate::states_out::{GROUP_NS, GROUP_ROWS, MIN_GROUP_ROWS, ROWS_AT_ONCE};
use crate::values::{NO_WORD, Values};
use crate::words as w;
use crate::writer::PART_SHIFT;
use model::{
    Coded, Event, EventKind, EventTableId, MaybeNs, NameId, Ns, Pid, STACKS, StackFrame, StackId, Switch, ThreadNote,
    Tid, Wake,
};
use rustc_hash::FxHashMap;
use safefs::Dir;

/// The last recorded name and runtime of a TID.
#[derive(Clone, Copy)]
struct ThreadLast {
    name: NameId,
    exec: i64,
}

/// The last recorded values of all TIDs.
#[derive(Default)]
struct LastByTid {
    /// Indexed by TID, for those below [`LOW_TIDS`], since nearly every event looks one up.
    low: Vec<ThreadLast>,
    high: FxHashMap<i32, ThreadLast>,
}

/// Twice the default of `kernel.pid_max`. Larger TIDs are looked up in a map.
const LOW_TIDS: usize = 1 << 16;

impl LastByTid {
    #[inline]
    fn get_mut(&mut self, tid: Tid) -> &mut ThreadLast {
        const NOTHING: ThreadLast = ThreadLast { name: NameId::NONE, exec: i64::MIN };
        let at = tid.0 as usize;
        if at >= LOW_TIDS {
            return self.high.entry(tid.0).or_insert(NOTHING);
        }
        if self.low.len() <= at {
            self.low.resize((at + 1).next_power_of_two(), NOTHING);
        }
        &mut self.low[at]
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
    state_letter: u8,
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
            state_letter: NO_WORD,
            on_cpu: NONE,
            exec: i64::MIN,
            inner,
        }
    }
}

/// The files of `events/`; each is created with its first row.
pub(crate) struct EventSheets {
    folder: Dir,
    sources: usize,
    sheets: Vec<Option<Sheet<Disk>>>,
    /// For each table, the positions in the batch of its events.
    picks: Vec<Vec<u32>>,
    notes: Vec<Note>,
    /// The batch's switches, and their `prev_exec_ns` and `prev_ran_ns`.
    switches: Vec<Switch>,
    execs: Vec<(i64, i64)>,
    /// The batch's wakeups, with their times.
    wakes: Vec<(Ns, Wake)>,
    last: LastByTid,
    named: Named,
    /// All texts so far.
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
            sheets: EventTableId::ALL.iter().map(|_| None).collect(),
            picks: EventTableId::ALL.iter().map(|_| Vec::new()).collect(),
            notes: Vec::new(),
            switches: Vec::new(),
            execs: Vec::new(),
            wakes: Vec::new(),
            last: LastByTid::default(),
            named: Named::default(),
            names: Vec::new(),
            stacks: None,
            next_stack: 1,
            next: 0,
        }
    }

    /// Adds texts; their numbers continue after the last one.
    pub(crate) fn names(&mut self, more: Vec<Box<str>>) {
        self.names.extend(more);
    }

    /// Adds callchains; their numbers continue after the last one.
    pub(crate) fn stacks(&mut self, more: &[Box<[StackFrame]>], with: &mut Encoder) -> Result<(), Error> {
        self.stacks_named("stack.parquet", more, with)
    }

    /// Like [`Self::stacks`]; `file`: the name of the file, if these are the first.
    pub(crate) fn stacks_named(
        &mut self,
        file: &str,
        more: &[Box<[StackFrame]>],
        with: &mut Encoder,
    ) -> Result<(), Error> {
        let mut sheet = match self.stacks.take() {
            Some(sheet) => sheet,
            None => Sheet::create(&self.folder, file, &STACKS, &columns(&STACKS, STACK_STORES, &[]))?,
        };
        for stack in more {
            sheet.longs(0, std::iter::repeat_n(self.next_stack, stack.len()));
            sheet.ints(1, (0i32..).take(stack.len()));
            sheet.longs(2, stack.iter().map(|f| f.address.cast_signed()));
            sheet.texts(3, stack.iter().map(|f| f.function.0));
            sheet.texts(4, stack.iter().map(|f| f.file.0));
            sheet.texts(5, stack.iter().map(|f| f.build_id.0));
            sheet.longs(6, stack.iter().map(|f| i64::try_from(f.offset).unwrap_or(i64::MIN)));
            sheet.texts(7, stack.iter().map(|f| f.source.0));
            sheet.ints(8, stack.iter().map(|f| i32::try_from(f.line).ok().filter(|line| *line > 0).unwrap_or(NONE)));
            sheet.bools(9, stack.iter().map(|f| f.inlined));
            self.next_stack += 1;
        }
        if sheet.rows() >= GROUP_ROWS {
            sheet.flush(with, &self.names)?;
        }
        self.stacks = Some(sheet);
        Ok(())
    }

    /// Adds events, in the merged order.
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
            if kind != EventTableId::Thread
                && let Some(pick) = self.picks.get_mut(kind as usize)
            {
                pick.push(i);
            }
        }
        if let Some(pick) = self.picks.get_mut(EventTableId::Thread as usize) {
            pick.extend(self.notes.iter().map(|n| n.event));
        }
        for table in EventTableId::ALL {
            let picks = std::mem::take(&mut self.picks[*table as usize]);
            if !picks.is_empty() {
                self.write_table(*table, events, &picks, with)?;
            }
            self.picks[*table as usize] = picks;
        }
        self.next += events.len() as i64;
        Ok(())
    }

    /// Returns the table of an event, and collects the facts about threads in it.
    fn pick(&mut self, i: u32, e: &Event) -> EventTableId {
        let note = |tid, what| Note::new(i, tid, what);
        let pid_or_none = |p: Pid| if p == Pid::UNKNOWN { NONE } else { p.0 };
        if let Some(tid) = self.named.of(e) {
            self.notes.push(note(tid, ThreadNote::Named));
        }
        if let EventKind::CpuSample { tid, name, .. } = e.what {
            self.note_name(i, tid, name);
        }
        match e.what {
            EventKind::Switch(s) => {
                self.note_name(i, s.prev, s.prev_name);
                self.note_name(i, s.next, s.next_name);
                let exec = self.runtime_columns(s.prev, s.prev_exec);
                self.execs.push(exec);
                self.switches.push(s);
            }
            EventKind::Wake(wake) => {
                self.note_name(i, wake.tid, wake.name);
                self.wakes.push((e.at, wake));
            }
            EventKind::Fork { parent, tid, pid, name } => {
                self.set_name(tid, name);
                self.notes.push(Note { parent: parent.0, pid: pid_or_none(pid), name, ..note(tid, ThreadNote::Fork) });
            }
            EventKind::Exec { tid, pid, file } => {
                self.notes.push(Note { pid: pid_or_none(pid), name: file, ..note(tid, ThreadNote::Exec) });
            }
            EventKind::Exit { tid, pid } => {
                self.notes.push(Note { pid: pid_or_none(pid), ..note(tid, ThreadNote::Exit) })
            }
            EventKind::Name { tid, pid, name } => {
                self.set_name(tid, name);
                self.notes.push(Note { pid: pid_or_none(pid), name, ..note(tid, ThreadNote::Name) });
            }
            EventKind::Snapshot(s) => {
                self.set_name(s.tid, s.name);
                self.notes.push(Note {
                    pid: pid_or_none(s.pid),
                    name: s.name,
                    state: s.state.code(),
                    state_letter: w::state_letter_code(s.state_letter),
                    on_cpu: s.cpu.0 as i32,
                    exec: s.exec.to_word(),
                    ..note(s.tid, ThreadNote::Snapshot)
                });
            }
            EventKind::Inner { tid, inner_tid, inner_pid } => {
                self.notes.push(Note { inner: (inner_tid.0, inner_pid.0), ..note(tid, ThreadNote::Inner) });
            }
            EventKind::Current { tid } => self.notes.push(note(tid, ThreadNote::Current)),
            EventKind::Yield { tid, begins } => {
                self.notes.push(note(tid, if begins { ThreadNote::Yields } else { ThreadNote::Yielded }));
            }
            // These have a table of their own.
            _ => {}
        }
        e.what.table()
    }

    /// Sets the name of a thread that a `thread` row of its own records.
    fn set_name(&mut self, tid: Tid, name: NameId) {
        if name != NameId::NONE {
            self.last.get_mut(tid).name = name;
        }
    }

    /// Notes the name of a thread in a switch, wakeup or sample. Idle has another name on each CPU, and needs none.
    #[inline]
    fn note_name(&mut self, event: u32, tid: Tid, name: NameId) {
        if tid.0 <= 0 || name == NameId::NONE {
            return;
        }
        let last = self.last.get_mut(tid);
        if last.name == name {
            return;
        }
        let before = std::mem::replace(&mut last.name, name);
        // The same text may have several numbers.
        let text = |id: NameId| self.names.get((id.0 as usize).wrapping_sub(1));
        if before == NameId::NONE || text(before) != text(name) {
            self.notes.push(Note { name, ..Note::new(event, tid, ThreadNote::Called) });
        }
    }

    /// Returns the columns for the charged runtime: the total at first, then the difference.
    #[inline]
    fn runtime_columns(&mut self, tid: Tid, exec: MaybeNs) -> (i64, i64) {
        let Some(exec) = exec.get() else { return (i64::MIN, i64::MIN) };
        let last = &mut self.last.get_mut(tid).exec;
        match std::mem::replace(last, exec.0) {
            i64::MIN => (exec.0, i64::MIN),
            before => (i64::MIN, exec.0.wrapping_sub(before)),
        }
    }

    /// Adds the picked events to the file of their table.
    fn write_table(
        &mut self,
        id: EventTableId,
        events: &[Event],
        picks: &[u32],
        with: &mut Encoder,
    ) -> Result<(), Error> {
        let table = id.table();
        let mut sheet = match self.sheets[id as usize].take() {
            Some(sheet) => sheet,
            None => {
                let origin = origin(self.sources);
                let more = if self.sources > 0 { &origin[..] } else { &[] };
                let all: Vec<_> = event_tables::columns(table).chain(more.iter().copied()).collect();
                let name = format!("{}.parquet", table.def.name);
                Sheet::create(&self.folder, &name, table.def, &all)?
            }
        };
        let to = &mut sheet;
        let own = picks.iter().map(|i| &events[*i as usize]);
        to.longs(0, picks.iter().map(|i| self.next + i64::from(*i)));
        to.longs(1, own.clone().map(|e| e.at.0));
        to.ints(2, own.clone().map(|e| e.cpu.0 as i32));
        match id {
            EventTableId::Switch => switches(to, &self.switches, &self.execs),
            EventTableId::Wake => wakes(to, &self.wakes),
            EventTableId::Thread => note_rows(to, &self.notes),
            EventTableId::Charge => charges(to, own.clone()),
            _ => {
                let mut cells = Cells { sheet: to, columns: table.columns };
                own.clone().for_each(|e| e.what.write_cells(&mut cells));
            }
        }
        if self.sources > 0 {
            let place = (1u64 << PART_SHIFT) - 1;
            let width = event_tables::width(table);
            if self.sources > 1 {
                to.ints(width, own.clone().map(|e| (e.offset >> PART_SHIFT) as i32));
            } else {
                to.longs(width, std::iter::repeat_n(0, picks.len()));
            }
            to.longs(width + 1, own.map(|e| (e.offset & place) as i64));
        }
        let span = match to.col(1) {
            Values::Long(at) => at.last().zip(at.first()).map_or(0, |(l, f)| l.saturating_sub(*f)),
            _ => 0,
        };
        if to.rows() >= GROUP_ROWS || (to.rows() >= MIN_GROUP_ROWS && span >= GROUP_NS) {
            to.flush(with, &self.names)?;
        }
        self.sheets[id as usize] = Some(sheet);
        Ok(())
    }

    /// Writes the remaining rows after the last event, and frees the memory.
    pub(crate) fn flush_all(&mut self, with: &mut Encoder) -> Result<(), Error> {
        let mut sheets: Vec<_> = self.sheets.iter_mut().chain([&mut self.stacks]).flatten().collect();
        // Encoding of all starts before the first wait.
        sheets.iter_mut().try_for_each(|s| s.flush(with, &self.names))?;
        sheets.into_iter().try_for_each(Sheet::flush_pending)
    }

    /// Writes the remaining rows and closes the files; returns the name, rows and bytes of each.
    pub(crate) fn close(self, trace: i64, with: &mut Encoder) -> Result<Vec<(&'static str, Done)>, Error> {
        let stacks = self.stacks.map(|s| (STACKS.name, s));
        let sheets = EventTableId::ALL.iter().zip(self.sheets);
        let sheets = sheets.filter_map(|(id, s)| Some((id.table().def.name, s?))).chain(stacks);
        sheets.map(|(name, s)| Ok((name, s.close_file(trace, with, &self.names)?))).collect()
    }
}

fn switches(to: &mut Sheet<Disk>, all: &[Switch], execs: &[(i64, i64)]) {
    to.ints(3, all.iter().map(|s| s.prev.0));
    to.ints(4, all.iter().map(|s| s.next.0));
    to.ints(5, all.iter().map(|s| s.prev_state as i32));
    to.words(6, all.iter().map(|s| w::state_letter_code(s.state_letter)));
    to.words(7, all.iter().map(|s| s.out.code()));
    to.ints(8, all.iter().map(|s| s.prev_prio.to_word().into()));
    to.ints(9, all.iter().map(|s| s.next_prio.to_word().into()));
    to.longs(10, execs.iter().map(|e| e.0));
    to.longs(11, execs.iter().map(|e| e.1));
    to.ints(12, all.iter().map(|s| if s.stack == StackId::NONE { NONE } else { s.stack.0 as i32 }));
}

fn wakes(to: &mut Sheet<Disk>, all: &[(Ns, Wake)]) {
    to.ints(3, all.iter().map(|(_, w)| w.tid.0));
    to.words(4, all.iter().map(|(_, v)| v.kind.code()));
    to.ints(5, all.iter().map(|(_, w)| w.target.map_or(NONE, |c| c.0 as i32)));
    to.ints(6, all.iter().map(|(_, w)| if w.waker == Tid::UNKNOWN { NONE } else { w.waker.0 }));
    to.ints(7, all.iter().map(|(_, w)| w.prio.get().map_or(NONE, i32::from)));
    to.longs(8, all.iter().map(|(at, w)| if w.stamp == *at { i64::MIN } else { w.stamp.0 }));
}

fn charges<'a>(to: &mut Sheet<Disk>, all: impl Iterator<Item = &'a Event> + Clone) {
    let all = all.map(|e| if let EventKind::Charge { tid, ns } = e.what { (tid.0, ns.0) } else { (NONE, i64::MIN) });
    to.ints(3, all.clone().map(|(tid, _)| tid));
    to.longs(4, all.map(|(_, ns)| ns));
}

fn note_rows(to: &mut Sheet<Disk>, notes: &[Note]) {
    to.ints(3, notes.iter().map(|n| n.tid.0));
    to.words(4, notes.iter().map(|n| n.what.code()));
    to.ints(5, notes.iter().map(|n| n.pid));
    to.ints(6, notes.iter().map(|n| n.parent));
    to.texts(7, notes.iter().map(|n| n.name.0));
    to.words(8, notes.iter().map(|n| n.state));
    to.words(9, notes.iter().map(|n| n.state_letter));
    to.ints(10, notes.iter().map(|n| n.on_cpu));
    to.longs(11, notes.iter().map(|n| n.exec));
    to.ints(12, notes.iter().map(|n| n.inner.0));
    to.ints(13, notes.iter().map(|n| n.inner.1));
}
