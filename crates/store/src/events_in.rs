//! Reads the stored events in the merged order, to run an analysis again.

use crate::error::Error;
use crate::event_tables::{self, STACK_STORES, origin};
use crate::folder::Folder;
use crate::read::{Reader, Texts};
use crate::sheet::{Column, columns};
use crate::values::{NO_WORD, Values};
use model::{
    Coded, CpuId, Event, EventKind, EventTableId, MaybeNs, NameId, Ns, Pid, Prio, STACKS, SnapshotEntry, SnapshotState,
    StackFrame, StackId, Stacks, Switch, SwitchOut, ThreadNote, Tid, Wake, WakeKind,
};
use rustc_hash::FxHashMap;

/// The number of callchain columns that all folders have; older ones have no more.
const ADDRESS_COLUMNS: usize = 3;
/// The columns of callchains in version 2, which had no lines.
const NAMED_COLUMNS: usize = 7;

/// The number of events passed on at a time.
const BATCH: usize = 4096;

/// The reading position in the file of one kind of event.
pub(crate) struct Cursor {
    kind: EventTableId,
    reader: Reader,
    /// The number of its columns without the place in the source. Earlier versions have fewer.
    own: usize,
    group: usize,
    rows: usize,
    row: usize,
    cols: Vec<Values>,
    /// Row groups that end before this time are skipped.
    from: Ns,
    /// The event of the row; `None` after the last.
    event: Option<i64>,
}

impl Cursor {
    /// Moves to the next row, and reads the next group if this one ends.
    fn step(&mut self, texts: &mut Texts) -> Result<(), Error> {
        self.row += 1;
        while self.row >= self.rows {
            if self.group >= self.reader.groups() {
                self.event = None;
                return Ok(());
            }
            // In all tables, column 1 is the time.
            if self.reader.range(self.group, 1).is_some_and(|(_, max)| max < self.from.0) {
                self.group += 1;
                continue;
            }
            (self.rows, self.cols) = self.reader.group(self.group, texts)?;
            self.group += 1;
            self.row = 0;
        }
        self.event = Some(self.long(0));
        Ok(())
    }

    pub(crate) fn long(&self, at: usize) -> i64 {
        match self.cols.get(at) {
            Some(Values::Long(v) | Values::Key(v)) => v.get(self.row).copied().unwrap_or(i64::MIN),
            _ => i64::MIN,
        }
    }

    pub(crate) fn int(&self, at: usize) -> i32 {
        match self.cols.get(at) {
            Some(Values::Int(v)) => v.get(self.row).copied().unwrap_or(i32::MIN),
            _ => i32::MIN,
        }
    }

    /// Returns the code of a word.
    pub(crate) fn code(&self, at: usize) -> u8 {
        match self.cols.get(at) {
            Some(Values::Word(v, _)) => v.get(self.row).copied().unwrap_or(NO_WORD),
            _ => NO_WORD,
        }
    }

    /// Returns a number of 32 or 64 bits; `None` is null.
    pub(crate) fn number_at(&self, at: usize) -> Option<i64> {
        let null = if let Some(Values::Int(_)) = self.cols.get(at) { i32::MIN.into() } else { i64::MIN };
        Some(self.whole_number_at(at)).filter(|number| *number != null)
    }

    /// Returns a number of 32 or 64 bits of a column without nulls, where the number that stands for null is one as any other.
    pub(crate) fn whole_number_at(&self, at: usize) -> i64 {
        if let Some(Values::Int(_)) = self.cols.get(at) { self.int(at).into() } else { self.long(at) }
    }

    pub(crate) fn float_at(&self, at: usize) -> f64 {
        match self.cols.get(at) {
            Some(Values::Float(v)) => v.get(self.row).copied().flatten().unwrap_or(f64::NAN),
            _ => f64::NAN,
        }
    }

    pub(crate) fn name(&self, at: usize) -> NameId {
        match self.cols.get(at) {
            Some(Values::Text(v)) => NameId(v.get(self.row).copied().unwrap_or(0)),
            _ => NameId::NONE,
        }
    }

    pub(crate) fn tid(&self, at: usize) -> Tid {
        Tid(if self.int(at) == i32::MIN { -1 } else { self.int(at) })
    }

    pub(crate) fn pid(&self, at: usize) -> Pid {
        Pid(self.tid(at).0)
    }

    pub(crate) fn cpu(&self, at: usize) -> Option<CpuId> {
        (self.int(at) != i32::MIN).then(|| CpuId(self.int(at) as u32))
    }

    /// Returns a priority, which may be unknown.
    pub(crate) fn prio(&self, at: usize) -> Prio {
        i16::try_from(self.int(at)).ok().into()
    }
}

/// The last name and total runtime of each thread, to restore what the writer left out.
#[derive(Default)]
struct ThreadHistory {
    /// Whether the recording says what its samples are of. Older ones do not have the names of their threads.
    names_samples: bool,
    names: FxHashMap<i32, NameId>,
    execs: FxHashMap<i32, i64>,
    /// The number of an event that follows, and the task that it names.
    named: Option<(i64, Tid)>,
}

impl Folder {
    /// Passes all events to `each` in the merged order, some thousands at a time, with all texts so far (the first is [`NameId`] 1),
    /// until `each` fails. Switches, wakeups and samples have the names of the threads at that time, whether or not the source recorded
    /// them there.
    ///
    /// # Errors
    /// If the folder is damaged, or was written without events, or `each` fails.
    pub fn events<E: From<Error>>(&self, each: impl FnMut(&[Event], &[Box<str>]) -> Result<(), E>) -> Result<(), E> {
        self.merged(|_| Some(Ns::MIN), each)
    }

    /// Like [`Self::events`], without the events that are only needed to compute stretches, which are most of them. Switches are
    /// included if any was recorded with a callchain; threads have names, and their numbers in PID namespaces, only if there are samples or
    /// waits for futexes, which need them. `wakes`: wakeups are included, too.
    ///
    /// # Errors
    /// As [`Self::events`].
    pub fn events_without_stretches<E: From<Error>>(
        &self,
        wakes: bool,
        each: impl FnMut(&[Event], &[Box<str>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let chains = self.manifest().files.contains_key("events/stack.parquet");
        let named = self.manifest().facts.sampled.is_some();
        let numbered = self.manifest().files.contains_key("events/futex_wait.parquet");
        let wanted = |kind| match kind {
            EventTableId::Wake => wakes,
            EventTableId::Switch => chains,
            EventTableId::Thread => named || numbered,
            kind => kind != EventTableId::Charge,
        };
        self.merged(|kind| wanted(kind).then_some(Ns::MIN), each)
    }

    /// Passes the events that a critical path needs: migrations (from a given time on), and CPU frequencies, parking and throttling
    /// (from the start of the recording). None if the folder was written without events.
    ///
    /// # Errors
    /// As [`Self::events`].
    pub fn events_of_path<E: From<Error>>(
        &self,
        from: Ns,
        mut each: impl FnMut(&[Event]) -> Result<(), E>,
    ) -> Result<(), E> {
        let wanted = |kind| match kind {
            EventTableId::Migrate => Some(from),
            EventTableId::Frequency | EventTableId::Parking | EventTableId::Throttle => Some(Ns::MIN),
            _ => None,
        };
        self.merged(wanted, |events, _| each(events))
    }

    /// Passes the events of the requested kinds in the merged order. `wanted` returns the time from which to read a kind.
    fn merged<E: From<Error>>(
        &self,
        wanted: impl Fn(EventTableId) -> Option<Ns>,
        mut each: impl FnMut(&[Event], &[Box<str>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut texts = Texts::default();
        let imported = self.manifest().sources.iter().any(|s| s.hash.is_some());
        let mut cursors = Vec::new();
        for (kind, from) in EventTableId::ALL.iter().filter_map(|kind| Some((*kind, wanted(*kind)?))) {
            let table = kind.table();
            let name = format!("events/{}.parquet", table.def.name);
            let open = |own: usize| {
                let all = event_tables::columns(table).take(own).chain(imported.then_some(origin(1)[1]));
                self.reader(&name, &all.collect::<Vec<Column>>())
            };
            let mut own = event_tables::width_in(table, 1);
            let Some(mut reader) = open(own)? else { continue };
            let version = reader.about("corewise.version").and_then(|version| version.parse().ok());
            let known = event_tables::width_in(table, version.unwrap_or(1));
            if known > own
                && let Some(all) = open(known)?
            {
                (reader, own) = (all, known);
            }
            let (cols, event) = (Vec::new(), None);
            let mut cursor = Cursor { kind, reader, own, group: 0, rows: 0, row: 0, cols, from, event };
            cursor.step(&mut texts)?;
            cursors.push(cursor);
        }
        let names_samples = self.manifest().facts.sampled.is_some();
        let mut history = ThreadHistory { names_samples, ..ThreadHistory::default() };
        let mut out: Vec<Event> = Vec::with_capacity(BATCH);
        // Rows of `thread` come before the event of the same number, since they may have its thread's name.
        let thread_first = |c: &Cursor| c.kind != EventTableId::Thread;
        while let Some(at) = (0..cursors.len())
            .filter_map(|i| Some((cursors[i].event?, thread_first(&cursors[i]), i)))
            .min()
            .map(|(.., i)| i)
        {
            // Take all events of this kind that come before the next of any other kind.
            let others = cursors.iter().enumerate().filter(|(i, _)| *i != at);
            let until = others.filter_map(|(_, c)| Some((c.event?, thread_first(c)))).min();
            let first = thread_first(&cursors[at]);
            let cursor = &mut cursors[at];
            while let Some(event) = cursor.event
                && until.is_none_or(|u| (event, first) <= u)
            {
                let bad = || cursor.reader.damaged(format!("event {event}: a word that this corewise does not know"));
                out.extend(history.event(cursor).ok_or_else(bad)?);
                cursor.step(&mut texts)?;
                if out.len() >= BATCH {
                    each(&out, &texts.names)?;
                    out.clear();
                }
            }
        }
        if out.is_empty() { Ok(()) } else { each(&out, &texts.names) }
    }

    /// Returns all callchains; only addresses in older folders, which have no names, and no lines in the next older ones. Empty if none were
    /// recorded.
    ///
    /// # Errors
    /// If the folder is damaged.
    pub fn stacks(&self) -> Result<Stacks, Error> {
        let path = self.manifest().symbolized.as_deref().unwrap_or("events/stack.parquet");
        let all = columns(&STACKS, STACK_STORES, &[]);
        let Some(mut reader) = self.reader(path, &all[..ADDRESS_COLUMNS])? else { return Ok(Stacks::default()) };
        let more = match reader.about("corewise.version").as_deref() {
            Some("1") => ADDRESS_COLUMNS,
            Some("2") => NAMED_COLUMNS,
            _ => all.len(),
        };
        if more > ADDRESS_COLUMNS
            && let Some(with_names) = self.reader(path, &all[..more])?
        {
            reader = with_names;
        }
        let mut texts = Texts::default();
        let mut stacks: Vec<Box<[StackFrame]>> = Vec::new();
        let mut frames: Vec<StackFrame> = Vec::new();
        let mut now = 1;
        for group in 0..reader.groups() {
            let (_, cols) = reader.group(group, &mut texts)?;
            let Some(([Values::Long(ids), _, Values::Key(addresses)], more)) =
                cols.split_first_chunk::<ADDRESS_COLUMNS>()
            else {
                continue;
            };
            for (row, (id, address)) in ids.iter().zip(addresses).enumerate() {
                // An empty chain has a number but no rows. A number far ahead would allocate too much memory.
                if *id < now || *id - now > 1 << 20 {
                    return Err(reader.damaged(format!("callchain {id} after {now}")));
                }
                while now < *id {
                    stacks.push(std::mem::take(&mut frames).into());
                    now += 1;
                }
                let text = |id: &[u32]| NameId(id.get(row).copied().unwrap_or(0));
                let mut frame = StackFrame::at(address.cast_unsigned());
                if let [Values::Text(function), Values::Text(file), Values::Text(build_id), Values::Key(offset), ..] =
                    more
                {
                    [frame.function, frame.file, frame.build_id] = [text(function), text(file), text(build_id)];
                    frame.offset = offset.get(row).and_then(|o| u64::try_from(*o).ok()).unwrap_or(u64::MAX);
                }
                if let [.., Values::Text(source), Values::Int(line), Values::Bool(inlined)] = more {
                    frame.source = text(source);
                    frame.line = line.get(row).and_then(|line| u32::try_from(*line).ok()).unwrap_or(0);
                    frame.inlined = inlined.get(row).copied().flatten().unwrap_or(false);
                }
                frames.push(frame);
            }
        }
        if !frames.is_empty() {
            stacks.push(frames.into());
        }
        Ok(Stacks { chains: stacks, names: texts.names })
    }
}

impl ThreadHistory {
    /// Returns the event of a cursor's row: `Some(None)` for a row that only has a name, `None` for an invalid row.
    #[allow(clippy::option_option)]
    fn event(&mut self, c: &Cursor) -> Option<Option<Event>> {
        let at = Ns(c.long(1));
        let cpu = CpuId(c.int(2) as u32);
        let origin = c.long(c.own);
        let offset = if origin == i64::MIN { 0 } else { origin as u64 };
        let what = match c.kind {
            EventTableId::Switch => self.switch(c)?,
            EventTableId::Thread => match self.note(c)? {
                Some(what) => what,
                None => return Some(None),
            },
            EventTableId::Wake => EventKind::Wake(Wake {
                tid: c.tid(3),
                name: self.name(c.tid(3)),
                kind: WakeKind::of_code(c.code(4))?,
                target: c.cpu(5),
                waker: c.tid(6),
                prio: c.prio(7),
                stamp: if c.long(8) == i64::MIN { at } else { Ns(c.long(8)) },
            }),
            table => match EventKind::read_cells(table, &mut &*c)? {
                EventKind::CpuSample { tid, stack, core, .. } if self.names_samples => {
                    EventKind::CpuSample { tid, stack, name: self.name(tid), core }
                }
                what => what,
            },
        };
        let current = self.named.take().filter(|(event, _)| *event == c.long(0)).map_or(Tid::UNKNOWN, |(_, tid)| tid);
        Some(Some(Event { at, offset, cpu, current, what }))
    }

    fn name(&self, tid: Tid) -> NameId {
        self.names.get(&tid.0).copied().unwrap_or(NameId::NONE)
    }

    fn switch(&mut self, c: &Cursor) -> Option<EventKind> {
        let (prev, next) = (c.tid(3), c.tid(4));
        let prev_exec = match (c.long(10), c.long(11)) {
            (i64::MIN, i64::MIN) => i64::MIN,
            (i64::MIN, more) => self.execs.get(&prev.0).copied().unwrap_or(0).wrapping_add(more),
            (all, _) => all,
        };
        if prev_exec != i64::MIN {
            self.execs.insert(prev.0, prev_exec);
        }
        Some(EventKind::Switch(Switch {
            prev,
            next,
            prev_name: self.name(prev),
            next_name: self.name(next),
            stack: StackId(if c.int(12) == i32::MIN { 0 } else { c.int(12) as u32 }),
            prev_state: c.int(5) as u32,
            prev_prio: Prio::from_word(c.int(8) as i16),
            next_prio: Prio::from_word(c.int(9) as i16),
            out: SwitchOut::of_code(c.code(7))?,
            state_letter: c.code(6),
            prev_exec: MaybeNs::from_word(prev_exec),
        }))
    }

    #[allow(clippy::option_option)]
    fn note(&mut self, c: &Cursor) -> Option<Option<EventKind>> {
        let (tid, pid, name) = (c.tid(3), c.pid(5), c.name(7));
        let note = ThreadNote::of_code(c.code(4))?;
        if name != NameId::NONE && note != ThreadNote::Exec {
            self.names.insert(tid.0, name);
        }
        Some(Some(match note {
            ThreadNote::Called => return Some(None),
            ThreadNote::Named => {
                self.named = Some((c.long(0), tid));
                return Some(None);
            }
            ThreadNote::Fork => EventKind::Fork { parent: c.tid(6), tid, pid, name },
            ThreadNote::Exec => EventKind::Exec { tid, pid, file: name },
            ThreadNote::Exit => EventKind::Exit { tid, pid },
            ThreadNote::Name => EventKind::Name { tid, pid, name },
            ThreadNote::Snapshot => EventKind::Snapshot(SnapshotEntry {
                tid,
                pid,
                name,
                state: SnapshotState::of_code(c.code(8))?,
                state_letter: c.code(9),
                cpu: CpuId(c.int(10) as u32),
                exec: MaybeNs::from_word(c.long(11)),
            }),
            ThreadNote::Inner => EventKind::Inner { tid, inner_tid: c.tid(12), inner_pid: c.pid(13) },
            ThreadNote::Current => EventKind::Current { tid },
            ThreadNote::Yields => EventKind::Yield { tid, begins: true },
            ThreadNote::Yielded => EventKind::Yield { tid, begins: false },
        }))
    }
}
