//! Tests that a folder reads back as it was written, and that damage is reported.

use crate::cells::cells;
use ingest::Facts;
use model::{
    Col, CpuId, CpuState, CpuStretch, Event, EventKind, EventTableId, Kind, Mark, MarkEdge, MaybeNs, NameId, Ns, Pid,
    Prio, Reason, SnapshotEntry, SnapshotState, Span, StackFrame, StackId, Stacks, Switch, SwitchOut, Table, TableDef,
    ThreadKey, ThreadState, ThreadStretch, Tid, Value, Wake, WakeKind, tables,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use safefs::{Access, Dir};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use store::{ContentHash, Folder, FolderWriter, Manifest, SourceFile, TRACE_KEY, WriterOptions};
use topology::Machine;

const NAMES: usize = 20;

/// A random generator with the same numbers in every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
    fn ns(&mut self) -> i64 {
        self.below(1 << 40) as i64
    }
    fn tid(&mut self) -> Tid {
        Tid(1 + self.below(300) as i32)
    }
    fn cpu(&mut self) -> CpuId {
        CpuId(self.below(8) as u32)
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// For closures that cannot fail.
fn ok<T>(of: T) -> Result<T, store::Error> {
    Ok(of)
}

/// Returns the name of a thread, which follows from its TID, so that the names that the reader fills in are the written ones.
fn name(tid: Tid) -> NameId {
    NameId(1 + tid.0 as u32 % NAMES as u32)
}

fn what(r: &mut Rng, at: Ns) -> EventKind {
    let (tid, pid) = (r.tid(), Pid(r.below(50) as i32 - 1));
    let row_tables = [EventTableId::Switch, EventTableId::Wake, EventTableId::Thread];
    match r.below(45) {
        0 => EventKind::Fork { parent: r.tid(), tid, pid, name: name(tid) },
        1 => EventKind::Exec { tid, pid, file: NameId(3) },
        2 => EventKind::Exit { tid, pid },
        3 => EventKind::Name { tid, pid, name: name(tid) },
        4 => EventKind::Snapshot(SnapshotEntry {
            tid,
            pid,
            name: name(tid),
            state: r.one(&[
                SnapshotState::Running,
                SnapshotState::Ready,
                SnapshotState::Blocked,
                SnapshotState::Exited,
            ]),
            state_letter: b'S',
            cpu: r.cpu(),
            exec: MaybeNs::new(Ns(r.ns())),
        }),
        5 => EventKind::Inner { tid, inner_tid: r.tid(), inner_pid: Pid(7) },
        6 => EventKind::Current { tid },
        7 => EventKind::Yield { tid, begins: r.below(2) == 0 },
        8..13 => EventKind::Wake(Wake {
            tid,
            name: name(tid),
            kind: r.one(&[WakeKind::Waking, WakeKind::Wakeup, WakeKind::New, WakeKind::WakeupAtSwitchIn]),
            target: r.one(&[None, Some(CpuId(1))]),
            waker: r.one(&[Tid::UNKNOWN, Tid(4), Tid::IDLE]),
            prio: r.one(&[Prio::UNKNOWN, Prio::new(120)]),
            stamp: r.one(&[at, Ns(at.0 - 500)]),
        }),
        13..19 => {
            let next = r.tid();
            EventKind::Switch(Switch {
                prev: tid,
                next,
                prev_name: name(tid),
                next_name: name(next),
                stack: StackId(r.below(3) as u32),
                prev_state: r.below(1 << 32) as u32,
                prev_prio: Prio::new(120),
                next_prio: Prio::new(r.below(140) as i16),
                out: r.one(&[
                    SwitchOut::Runnable,
                    SwitchOut::Preempted,
                    SwitchOut::Blocked,
                    SwitchOut::Exited,
                    SwitchOut::NotRecorded,
                    SwitchOut::PreemptedToUser,
                    SwitchOut::Yielded,
                    SwitchOut::Throttled,
                    SwitchOut::GaveWay,
                ]),
                state_letter: r.one(b"RSDX?"),
                prev_exec: if r.below(3) == 0 { MaybeNs::NONE } else { MaybeNs::new(Ns(r.ns())) },
            })
        }
        // All others, as they are declared.
        _ => loop {
            let table = r.one(EventTableId::ALL);
            if !row_tables.contains(&table) {
                return testkit::random_event(table, &mut testkit::Rng(r.below(u64::MAX)), NAMES, 2);
            }
        },
    }
}

fn random_events(n: usize, seed: u64) -> Vec<Event> {
    let mut r = Rng(seed);
    let mut at = 0;
    let event = |_| {
        at += r.below(3000) as i64;
        let (cpu, what) = (r.cpu(), what(&mut r, Ns(at)));
        Event { at: Ns(at), offset: r.below(1 << 48), cpu, current: Tid::UNKNOWN, what }
    };
    (0..n).map(event).collect()
}

fn random_stretches(n: usize, seed: u64) -> (Vec<ThreadStretch>, Vec<CpuStretch>) {
    let mut r = Rng(seed);
    let mut start = 0;
    let mut threads = Vec::new();
    let mut cpus = Vec::new();
    for _ in 0..n {
        start += r.below(2000) as i64;
        // Some last very long, over many row groups.
        let length = if r.below(500) == 0 { r.below(1 << 32) } else { r.below(100_000) };
        let span = Span { start: Ns(start), end: Ns(start + length as i64) };
        let state = r.one(&ThreadState::ALL);
        let reasons = [
            Reason::None,
            Reason::Woken,
            Reason::State(b'S'),
            Reason::State(b'D'),
            Reason::InconsistentSwitch,
            Reason::Lossy,
        ];
        threads.push(ThreadStretch {
            span,
            thread: ThreadKey(r.below(400) as i64 + 1),
            tid: r.tid(),
            state,
            reason: r.one(&reasons),
            cpu: r.one(&[None, Some(CpuId(0)), Some(CpuId(7))]),
            waker_thread: r.one(&[ThreadKey::UNKNOWN, ThreadKey::IDLE, ThreadKey(9)]),
            exec: r.one(&[MaybeNs::NONE, MaybeNs::new(Ns(12_345))]),
            prio: r.one(&[Prio::UNKNOWN, Prio::new(120), Prio::new(-1)]),
        });
        let state = r.one(&CpuState::ALL);
        let thread = match state {
            CpuState::Busy => ThreadKey(5),
            CpuState::Idle => ThreadKey::IDLE,
            CpuState::Unknown => ThreadKey::UNKNOWN,
        };
        cpus.push(CpuStretch { span, cpu: r.cpu(), state, thread });
    }
    (threads, cpus)
}

fn names() -> Vec<Box<str>> {
    (0..NAMES).map(|i| format!("name \"{i}\", é").into()).collect()
}

fn manifest(imported: bool) -> Manifest {
    let mut manifest = Manifest::new(-0x0123_4567_89ab_cdef, Facts::default());
    let hash = imported.then(|| ContentHash::Blake3("ab".repeat(32)));
    manifest.sources = vec![SourceFile { path: "perf.data".into(), hash, bytes: 9, format: "perf".into() }];
    manifest
}

/// Returns a chain with a known and an unknown frame, and a second chain.
fn chains() -> [Box<[StackFrame]>; 2] {
    let (function, file, build_id) = (NameId(2), NameId(3), NameId(1));
    let (source, line) = (NameId(4), 17);
    let known = StackFrame { address: 1, function, file, build_id, offset: 0x1234, source, line, inlined: false };
    let inlined = StackFrame { function: NameId(5), inlined: true, ..known };
    [[inlined, known, StackFrame::at(u64::MAX)].into(), [StackFrame { function: NameId::NONE, ..known }].into()]
}

fn threads_table() -> Table {
    let mut table = Table::new(&tables::THREADS);
    for i in 0..3i64 {
        let cell = |(at, c): (usize, &Col)| match (c.kind, c.nullable && i == 1) {
            (_, true) => Value::Null,
            (Kind::Text, _) => Value::Text(format!("a \"b\",\n|{i}")),
            _ => Value::Int(i * 1000 + at as i64),
        };
        table.rows.push(tables::THREADS.cols.iter().enumerate().map(cell).collect());
    }
    table
}

fn write(at: &Path, events: &[Event], threads: &[ThreadStretch], cpus: &[CpuStretch], imported: bool) {
    let machine = Machine::default();
    let mut w =
        FolderWriter::create(at, Access::Private, WriterOptions { machine: &machine, sources: usize::from(imported) })
            .unwrap();
    let all = names();
    w.names(&all[..7]).unwrap();
    w.names(&all[7..]).unwrap();
    w.stacks(&chains()).unwrap();
    events.chunks(1000).for_each(|e| w.events(&mut e.to_vec()).unwrap());
    threads.chunks(777).for_each(|s| w.thread_stretches(&mut s.to_vec()).unwrap());
    cpus.chunks(10_000).for_each(|s| w.cpu_stretches(s).unwrap());
    w.table(&threads_table()).unwrap();
    w.finish(manifest(imported)).unwrap();
}

fn small_folder(dir: &Path) -> PathBuf {
    let at = dir.join("run.cw");
    let (threads, cpus) = random_stretches(3000, 5);
    write(&at, &random_events(3000, 6), &threads, &cpus, true);
    at
}

#[test]
fn events_round_trip_in_order() {
    for imported in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("run.cw");
        let mut events = random_events(700_000, 1);
        if !imported {
            events.iter_mut().for_each(|e| e.offset = 0);
        }
        write(&at, &events, &[], &[], imported);
        let folder = Folder::open(&at).unwrap();
        let all = names();
        let text = |id: NameId, of: &[Box<str>]| (id != NameId::NONE).then(|| of[id.0 as usize - 1].clone());
        // Texts have other numbers in the folder, so compare names as texts and everything else unchanged.
        let split = |e: &Event, of: &[Box<str>]| {
            let mut e = *e;
            let mut texts = Vec::new();
            let mut take = |id: &mut NameId, _| texts.push(text(std::mem::take(id), of));
            e.what.ids(&mut take, &mut |_| ());
            (e, texts)
        };
        let mut n = 0;
        folder
            .events(|batch, of| {
                for e in batch {
                    assert_eq!(split(e, of), split(&events[n], &all), "event {n}");
                    n += 1;
                }
                ok(())
            })
            .unwrap();
        assert_eq!(n, events.len());
        let stacks = folder.stacks().unwrap();
        let fields = |frame: &StackFrame, of: &Stacks| {
            let names = [frame.function, frame.file, frame.build_id, frame.source];
            let lines = (frame.line, frame.inlined);
            (frame.address, names.map(|id| of.name(id).map(str::to_owned)), frame.offset, lines)
        };
        let written = Stacks { chains: chains().into(), names: all.clone() };
        assert_eq!(stacks.chains.len(), 2);
        for (read, expected) in stacks.chains.iter().flatten().zip(written.chains.iter().flatten()) {
            assert_eq!(fields(read, &stacks), fields(expected, &written));
        }
        assert_eq!(stacks.chains.iter().map(|c| c.len()).collect::<Vec<_>>(), [3, 1]);
    }
}

/// Writes 40,000 marks with two names, one every 4 ms. A row group is closed after 60 s if it has 16,384 rows (65.5 s here), so
/// there are three. Sums by name need the same number for a name in all of them.
#[test]
fn a_text_has_one_number_in_all_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("run.cw");
    let mark = |n: i64| {
        let name = NameId(1 + (n % 2) as u32);
        let mark = Mark { tid: Tid(7), pid: Pid(5), track: 0, name, edge: MarkEdge::Instant };
        let at = Ns(n * 4_000_000);
        Event { at, offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what: EventKind::Mark(mark) }
    };
    write(&at, &(0..40_000).map(mark).collect::<Vec<_>>(), &[], &[], false);
    let mut seen = std::collections::BTreeMap::new();
    let read = Folder::open(&at).unwrap().events(|batch, texts| {
        for e in batch {
            let EventKind::Mark(m) = e.what else { panic!("{e:?}") };
            *seen.entry((texts[m.name.0 as usize - 1].clone(), m.name)).or_insert(0) += 1;
        }
        ok(())
    });
    read.unwrap();
    assert_eq!(seen.into_values().collect::<Vec<_>>(), [20_000, 20_000]);
}

#[test]
fn stretches_round_trip_and_a_range_returns_all_that_overlap_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("run.cw");
    let (threads, cpus) = random_stretches(500_000, 2);
    write(&at, &[], &threads, &cpus, false);
    let folder = Folder::open(&at).unwrap();
    let end = threads.last().unwrap().span.start.0;
    let spans = [
        None,
        Some((0, 1)),
        Some((end / 2, end / 2 + 1000)),
        Some((end - 5, end + 5)),
        Some((end / 3, end)),
        Some((end * 20, end * 30)),
    ];
    for span in spans.map(|s| s.map(|(a, b)| Span { start: Ns(a), end: Ns(b) })) {
        let overlaps = |s: Span| span.is_none_or(|w| s.start < w.end && s.end > w.start);
        let mut read = Vec::new();
        folder.thread_stretches(span, |s| ok(read.extend_from_slice(s))).unwrap();
        let want: Vec<_> = threads.iter().filter(|s| overlaps(s.span)).copied().collect();
        assert!(read == want, "{span:?}: {} of {} threads' stretches", read.len(), want.len());
        // Backwards: all, or only the last ones.
        for max in [want.len() + 1, 1000] {
            let mut read = Vec::new();
            let each = |s: &_| {
                read.push(*s);
                ok(if read.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            };
            folder.thread_stretches_back(span, each).unwrap();
            assert!(read.iter().eq(want.iter().rev().take(max)), "{span:?}: the last {max} of {}", want.len());
        }
        let mut read = Vec::new();
        folder.cpu_stretches(span, |s| ok(read.extend_from_slice(s))).unwrap();
        let want: Vec<_> = cpus.iter().filter(|s| overlaps(s.span)).copied().collect();
        assert!(read == want, "{span:?}: {} of {} CPUs' stretches", read.len(), want.len());
    }
}

/// Reads stretches as record batches, and returns their cells.
fn batched(
    folder: &Folder,
    def: &'static TableDef,
    span: Option<Span>,
    threads: Option<&HashSet<ThreadKey>>,
) -> Result<Vec<Vec<Value>>, store::Error> {
    let mut all = Vec::new();
    folder.state_batches(def, span, threads, |batch| batch, |batch| ok(all.extend(cells(&batch))))?;
    Ok(all)
}

/// Reads stretches as rows.
fn as_rows(folder: &Folder, def: &'static TableDef, span: Option<Span>) -> Result<Vec<Vec<Value>>, store::Error> {
    let mut all = Vec::new();
    folder.state_rows(def, span, |rows| ok(all.extend_from_slice(rows)))?;
    Ok(all)
}

#[test]
fn record_batches_have_the_cells_of_the_rows() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("run.cw");
    let (threads, cpus) = random_stretches(200_000, 2);
    write(&at, &[], &threads, &cpus, false);
    let folder = Folder::open(&at).unwrap();
    let end = threads.last().unwrap().span.start.0;
    // Key 5 is that of all busy CPUs.
    let keys: HashSet<ThreadKey> = threads.iter().map(|s| s.thread).step_by(7).take(20).chain([ThreadKey(5)]).collect();
    let spans = [None, Some((end / 2, end / 2 + 1000)), Some((end * 20, end * 30))];
    for span in spans.map(|s| s.map(|(a, b)| Span { start: Ns(a), end: Ns(b) })) {
        for def in [&tables::THREAD_STATE, &tables::CPU_STATE] {
            let rows = as_rows(&folder, def, span).unwrap();
            assert!(batched(&folder, def, span, None).unwrap() == rows, "{} {span:?}", def.name);
            let key = def.col("thread").unwrap();
            let of_keys = |row: &&Vec<Value>| matches!(row[key], Value::Int(of) if keys.contains(&ThreadKey(of)));
            let rows: Vec<Vec<Value>> = rows.iter().filter(of_keys).cloned().collect();
            assert!(batched(&folder, def, span, Some(&keys)).unwrap() == rows, "{} {span:?}", def.name);
            assert!(span.is_some() || !rows.is_empty(), "{}", def.name);
        }
    }
    // A caller that fails ends the reading.
    let mut calls = 0;
    let failed = folder.state_batches(
        &tables::THREAD_STATE,
        None,
        None,
        |batch| batch,
        |_| {
            calls += 1;
            Err(store::Error::Bug("enough".into()))
        },
    );
    assert!(failed.is_err() && calls == 1);
}

#[test]
fn each_row_is_in_one_row_group() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("run.cw");
    let (threads, cpus) = random_stretches(200_000, 3);
    write(&at, &[], &threads, &cpus, false);
    let folder = Folder::open(&at).unwrap();
    let keys: HashSet<ThreadKey> = threads.iter().map(|s| s.thread).step_by(7).take(20).collect();
    for def in [&tables::THREAD_STATE, &tables::CPU_STATE] {
        for keys in [None, Some(&keys)] {
            let read = |groups: std::ops::Range<usize>| {
                let mut all = Vec::new();
                let each = |batch| ok(all.extend(cells(&batch)));
                folder.state_batches_of_groups(def, &groups, keys, |batch| batch, each).unwrap();
                all
            };
            let whole = batched(&folder, def, None, keys).unwrap();
            let parts = [read(0..1), read(1..2), read(2..1000), read(1000..2000)];
            let several = keys.is_some() || def.name != tables::THREAD_STATE.name || !parts[1].is_empty();
            assert!(several && parts[3].is_empty(), "{}", def.name);
            assert!(parts.concat() == whole, "{}", def.name);
        }
    }
}

#[test]
fn files_have_the_columns_of_their_definitions() {
    let dir = tempfile::tempdir().unwrap();
    let at = small_folder(dir.path());
    let mut files = vec![
        ("states/thread.parquet".to_owned(), &tables::THREAD_STATE, 0),
        ("states/cpu.parquet".to_owned(), &tables::CPU_STATE, 0),
        ("tables/threads.parquet".to_owned(), &tables::THREADS, 0),
    ];
    let events = EventTableId::ALL.iter().map(|id| id.table().def);
    files.extend(events.map(|def| (format!("events/{}.parquet", def.name), def, 2)));
    for (name, def, more) in files {
        let file = std::fs::File::open(at.join(&name)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let found: Vec<_> = schema.columns().iter().map(|c| (c.name().to_owned(), c.max_def_level() == 1)).collect();
        let want: Vec<_> = def.cols.iter().map(|c| (c.name.to_owned(), c.nullable)).collect();
        assert_eq!(found.len(), want.len() + more, "{name}");
        assert_eq!(found[..want.len()], want, "{name}");
        let about = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let trace = about.iter().find(|kv| kv.key == TRACE_KEY).and_then(|kv| kv.value.as_deref());
        assert_eq!(trace, Some("-81985529216486895"), "{name}");
    }
}

#[test]
fn a_table_is_read_only_with_its_current_version() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(&small_folder(dir.path())).unwrap();
    let table = folder.read_table("threads").unwrap().unwrap();
    assert_eq!(table.rows, threads_table().rows);
    assert!(folder.read_table("cpus").unwrap().is_none());
    let error = folder.read_table("nonsense").unwrap_err().to_string();
    assert!(error.contains("has no table nonsense; it has: threads"), "{error}");
    static OLD: model::TableDef = model::TableDef { version: 0, ..tables::THREADS };
    folder.write_table(&Table { def: &OLD, rows: threads_table().rows }).unwrap();
    assert!(folder.read_table("threads").unwrap().is_none());
    let names: Vec<_> = folder.tables().iter().map(|d| d.name).collect();
    assert_eq!(names, ["threads", "thread_state", "cpu_state"]);
}

#[test]
fn nothing_is_overwritten_and_no_partial_folder_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let at = small_folder(dir.path());
    let machine = Machine::default();
    let options = WriterOptions { machine: &machine, sources: 1 };
    let error = FolderWriter::create(&at, Access::Private, options).err().unwrap().to_string();
    assert!(error.contains("already exists and is not empty"), "{error}");
    assert_eq!(FolderWriter::can_create(&at, Access::Private).unwrap_err().to_string(), error);
    assert!(FolderWriter::create_in_place(&Dir::open(&at).unwrap(), options).is_err());
    FolderWriter::can_create(&dir.path().join("could be"), Access::Private).unwrap();
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    drop(FolderWriter::create(&dir.path().join("dropped"), Access::Private, options).unwrap());
    FolderWriter::create(&empty, Access::Private, options).unwrap().finish(manifest(true)).unwrap();
    let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["empty", "run.cw"]);
    // In the folder of a spool.
    let spool = dir.path().join("spool");
    std::fs::create_dir(&spool).unwrap();
    std::fs::write(spool.join("segment"), "x").unwrap();
    FolderWriter::create_in_place(&Dir::open(&spool).unwrap(), options).unwrap().finish(manifest(false)).unwrap();
    assert!(Folder::open(&spool).is_ok() && spool.join("segment").exists() && !spool.join(".part").exists());
}

/// Reads the whole folder.
fn read_all(at: &Path) -> Result<u64, store::Error> {
    let folder = Folder::open(at)?;
    let mut sum = 0;
    folder.events(|e, _| ok(sum += e.len() as u64))?;
    folder.stacks()?;
    folder.thread_stretches(None, |s| ok(sum += s.len() as u64))?;
    folder.cpu_stretches(None, |s| ok(sum += s.len() as u64))?;
    folder.thread_stretches(Some(Span { start: Ns(1000), end: Ns(2000) }), |_| ok(()))?;
    sum += batched(&folder, &tables::THREAD_STATE, None, None)?.len() as u64;
    sum += batched(&folder, &tables::CPU_STATE, None, None)?.len() as u64;
    folder.read_table("threads")?;
    Ok(sum)
}

#[test]
fn a_damaged_folder_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = small_folder(dir.path());
    let undamaged = read_all(&at).unwrap();
    let files = [
        "states/thread.parquet",
        "states/cpu.parquet",
        "events/switch.parquet",
        "events/thread.parquet",
        "tables/threads.parquet",
    ];
    let mut r = Rng(77);
    for name in files {
        let file = at.join(name);
        let good = std::fs::read(&file).unwrap();
        let check = |what: &str| match read_all(&at) {
            Ok(sum) => assert_eq!(sum, undamaged, "{name} {what}"),
            Err(e) => {
                let text = e.to_string();
                assert!(text.contains(name) && text.contains("damaged"), "{what}: {text}");
            }
        };
        for n in [0, 3, 8, good.len() / 2, good.len() - 1] {
            std::fs::write(&file, &good[..n]).unwrap();
            assert!(read_all(&at).is_err(), "{name} cut to {n}");
            check("cut");
        }
        for _ in 0..150 {
            let mut bad = good.clone();
            let place = r.below(good.len() as u64) as usize;
            bad[place] ^= 1 << r.below(8);
            std::fs::write(&file, &bad).unwrap();
            check(&format!("with byte {place} flipped"));
        }
        std::fs::remove_file(&file).unwrap();
        if !name.starts_with("tables") {
            let text = read_all(&at).unwrap_err().to_string();
            assert!(text.contains("missing"), "{text}");
        }
        std::fs::write(&file, &good).unwrap();
    }
    std::fs::write(at.join("manifest.json"), "{\"format_version\": 99}").unwrap();
    assert!(Folder::open(&at).unwrap_err().to_string().contains("please update"));
    std::fs::remove_file(at.join("manifest.json")).unwrap();
    assert!(Folder::open(&at).unwrap_err().to_string().contains("no manifest.json"));
}

#[test]
#[ignore = "needs python3 with pyarrow"]
fn other_engines_read_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let at = small_folder(dir.path());
    let script = r#"
import sys, glob, pyarrow.parquet as pq
for f in sorted(glob.glob(sys.argv[1] + "/*/*.parquet")):
    t = pq.read_table(f, page_checksum_verification=True)
    t.validate(full=True)
    assert "trace" not in t.schema.names, f
    for metadata in pq.read_metadata(f).metadata, t.schema.metadata:
        assert metadata[b"corewise.trace"] == b"%d" % -0x0123456789abcdef, f
t = pq.read_table(sys.argv[1] + "/states/thread.parquet")
assert t.schema.field("start_ns").metadata[b"unit"] == b"ns"
print(t.num_rows, sum(t["end_ns"].to_pylist()) - sum(t["start_ns"].to_pylist()))
"#;
    let out = std::process::Command::new("python3").args(["-c", script]).arg(&at).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let sum: i64 = random_stretches(3000, 5).0.iter().map(|s| s.span.len().0).sum();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), format!("3000 {sum}"));
}

/// A folder of format 1 stored "yielded" for every thread that left its CPU runnable without a preemption mark (here R of a and R+
/// of b), although it may have been preempted.
#[test]
fn false_yields_of_an_old_folder_are_corrected() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/before_yields");
    let folder = Folder::open(&path).unwrap();
    let wanted = [(7, 1, Reason::LeftRunnable), (8, 2, Reason::Preempted), (7, 3, Reason::LeftRunnable)];
    for span in [None, Some(Span::new(Ns(0), Ns(10_000_000)))] {
        let mut ready = Vec::new();
        let of = |s: &ThreadStretch| (s.tid.0, s.span.start.0 / 1_000_000, s.reason);
        let each = |all: &[ThreadStretch]| {
            ready.extend(all.iter().filter(|s| s.state == ThreadState::Ready).map(of));
            ok(())
        };
        folder.thread_stretches(span, each).unwrap();
        assert_eq!(ready, wanted);
    }
    let mut words = Vec::new();
    let each = |rows: &[Vec<Value>]| {
        let word = |row: &Vec<Value>| if let Value::Text(word) = &row[7] { Some(word.clone()) } else { None };
        words.extend(rows.iter().filter_map(word));
        Ok(())
    };
    folder.state_rows(&tables::THREAD_STATE, None, each).unwrap();
    assert_eq!(words, ["before_first_event", "left_runnable", "preempted", "left_runnable"]);
    let rows = as_rows(&folder, &tables::THREAD_STATE, None).unwrap();
    assert_eq!(batched(&folder, &tables::THREAD_STATE, None, None).unwrap(), rows);
}
