//! The analyses of a folder match those of its source.

use crate::cells::cells;
use engine::{
    EngineError, Facts, Fatal, Identity, Opened, PassOptions, Priority, Session, Source, TableRequest, Target, import,
};
use model::{Batch, Ns, Span, Table, TableDef, Value, tables};
use proptest::prelude::*;
use std::path::Path;
use testkit::{Mode, Random, Replay};

/// All tables of analyses that are held in memory.
fn all() -> Vec<&'static str> {
    let held = tables::ALL.iter().filter(|def| Session::is_of_part(def));
    held.map(|def| def.name).collect()
}

/// Cores with one and with two CPUs, of three classes; the trace may have more CPUs.
const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2";

#[derive(Clone)]
struct Drawn(Batch);

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("drawn")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Ok(Replay::all(self.0.clone()).opened(Facts::default()))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 7, files: Vec::new() })
    }
}

/// A source that must not be read.
struct Unread;

impl Source for Unread {
    fn path(&self) -> &Path {
        Path::new("unread")
    }

    fn format(&self) -> &'static str {
        "unread"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Err(Fatal::new("it was read", 0))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Err(EngineError::Bug("it was read".into()))
    }
}

/// Two processes in a PID namespace wait for each other's locks, whose memory has the numbers there: 5 and 6, those of E and F here.
#[test]
fn a_folder_without_samples_has_the_numbers_of_threads_in_pid_namespaces() {
    let drawn = testkit::trace(
        "
cpu0    A  As .  .  .  .
cpu1    .  B  Bs .  .  .
inner   A=5,B=6 . . . . .
futex   .  .  A=M1<F B=M2<E . .
process A,B . . . . .
",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cw");
    import(&Drawn(drawn.batch), Target::New(&path), &PassOptions::default(), &mut |_| ()).unwrap();
    let session = Session::open(&path, PassOptions::default()).unwrap();
    let tables = session.analyse(&["deadlocks"], None).unwrap();
    assert_eq!(tables[0].rows.len(), 2);
}

#[test]
fn an_unwritable_target_is_reported_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (full, file) = (folder.path().join("full"), folder.path().join("file"));
    std::fs::create_dir(&full).unwrap();
    for file in [&full.join("something"), &file] {
        std::fs::write(file, "x").unwrap();
    }
    for (path, why) in [(full, "already"), (file.join("run.cw"), "creating it")] {
        let error = import(&Unread, Target::New(&path), &PassOptions::default(), &mut |_| ()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// The table as stored by an older version.
const OLDER: TableDef = TableDef { version: 0, ..tables::READY_WAIT };

#[test]
fn a_stored_table_of_another_version_is_made_again() {
    let source = || Drawn(Random { mode: Mode::Whole, seed: 1, steps: 200 }.batch());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cw");
    import(&source(), Target::New(&path), &PassOptions::default(), &mut |_| ()).map(|_| ()).unwrap();
    let kept = || store::Folder::open(&path).unwrap();
    kept().write_table(&Table::new(&OLDER)).unwrap();
    assert!(!kept().has(&tables::READY_WAIT));
    let of_source = Session::of_source(Box::new(source()), PassOptions::default()).unwrap();
    let rows = Session::open(&path, PassOptions::default()).unwrap().table("ready_wait").unwrap().rows;
    assert!(!rows.is_empty());
    assert_eq!(rows, of_source.table("ready_wait").unwrap().rows);
    assert!(kept().has(&tables::READY_WAIT));
}

#[test]
fn a_folder_that_is_only_read_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cw");
    let source = Drawn(Random { mode: Mode::Whole, seed: 1, steps: 200 }.batch());
    import(&source, Target::New(&path), &PassOptions::default(), &mut |_| ()).map(|_| ()).unwrap();
    let has = || store::Folder::open(&path).unwrap().has(&tables::READY_WAIT);
    let table = |read_only| {
        let session = Session::open(&path, PassOptions { read_only, ..PassOptions::default() }).unwrap();
        session.prepare(&["ready_wait"]).unwrap();
        session.table("ready_wait").unwrap().rows
    };
    let rows = table(true);
    assert!(!has() && !rows.is_empty());
    assert_eq!(table(false), rows);
    assert!(has());
    assert_eq!(engine::identified(&path).unwrap().trace, 7);
}

/// Copies a trace folder, without its states and with a manifest of the first definitions: only its events can be read.
fn of_first_definitions(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("events")).unwrap();
    for file in std::fs::read_dir(from.join("events")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join("events").join(file.file_name())).unwrap();
    }
    let manifest = std::fs::read(from.join(store::MANIFEST)).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert!(manifest.as_object_mut().unwrap().remove("accounting").is_some());
    std::fs::write(to.join(store::MANIFEST), manifest.to_string()).unwrap();
}

/// The rows of the tables of sums and of stretches.
fn sums_and_states(session: &Session) -> Vec<Vec<Vec<Value>>> {
    let names = ["threads", "cpus", "thread_by_cpu", "thread_state", "cpu_state", "concurrency", "switch_causes"];
    let rows = |name| {
        let mut all = Vec::new();
        let taken = session.rows(name, &mut |rows| {
            all.extend_from_slice(rows);
            Ok(())
        });
        taken.map(|()| all).unwrap()
    };
    names.map(rows).into()
}

#[test]
fn states_of_earlier_definitions_are_made_again_from_the_events() {
    let temporary = tempfile::tempdir().unwrap();
    let [made, earlier, kept] = ["made", "earlier", "kept"].map(|name| temporary.path().join(name));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
    let source = engine::open_source(&file).unwrap();
    import(source.as_ref(), Target::New(&made), &PassOptions::default(), &mut |_| ()).unwrap();
    let session = Session::open(&made, PassOptions::default()).unwrap();
    assert_eq!(session.restated(), None);
    let (expected, summary) = (sums_and_states(&session), session.summary().clone());

    of_first_definitions(&made, &earlier);
    let restated = Session::open(&earlier, PassOptions::default()).unwrap();
    assert!(restated.restated().is_some_and(|words| words.contains("instead of 1")));
    assert_eq!((sums_and_states(&restated), restated.summary()), (expected.clone(), &summary));
    // It is kept: the next opening makes nothing.
    let again = Session::open(&earlier, PassOptions::default()).unwrap();
    assert_eq!(again.restated(), None);
    assert_eq!(sums_and_states(&again), expected);
    again.check_files().unwrap();

    // A folder that is only read stays as it is.
    of_first_definitions(&made, &kept);
    let manifest = std::fs::read(kept.join(store::MANIFEST)).unwrap();
    for _ in 0..2 {
        let only_read = Session::open(&kept, PassOptions { read_only: true, ..PassOptions::default() }).unwrap();
        assert!(only_read.restated().is_some());
        assert_eq!(sums_and_states(&only_read), expected);
    }
    assert_eq!(std::fs::read(kept.join(store::MANIFEST)).unwrap(), manifest);
    assert!(!kept.join("states").exists());
}

#[test]
fn prepared_tables_are_stored_in_the_folder_or_else_kept_in_memory() {
    let names = ["ready_wait", "wakers"];
    let source = || Drawn(Random { mode: Mode::Whole, seed: 1, steps: 200 }.batch());
    let of_source = Session::of_source(Box::new(source()), PassOptions::default()).unwrap();
    for written in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.cw");
        import(&source(), Target::New(&path), &PassOptions::default(), &mut |_| ()).map(|_| ()).unwrap();
        let kept = path.join("tables");
        let session = Session::open(&path, PassOptions::default()).unwrap();
        if !written {
            // Folders with the names of the files, so that not even root can write them.
            names.iter().for_each(|name| std::fs::create_dir(kept.join(format!("{name}.parquet"))).unwrap());
        }
        session.prepare(&names).unwrap();
        for name in names {
            let def = session.definition(name).unwrap();
            let stored = kept.join(format!("{name}.parquet"));
            assert_eq!(stored.is_file(), written, "{name}");
            assert!(session.is_at_hand(def), "{name}");
            let rows = session.table(name).unwrap().rows;
            assert!(!rows.is_empty());
            assert_eq!(rows, of_source.table(name).unwrap().rows, "{name}");
            if written {
                std::fs::remove_file(stored).unwrap();
                assert!(!session.is_at_hand(def), "{name} is also held in memory");
            }
        }
    }
}

/// The rows of a request, one by one and as record batches.
fn both(session: &Session, request: &TableRequest<'_>) -> [Result<Vec<Vec<Value>>, String>; 2] {
    let (mut one_by_one, mut as_batches) = (Vec::new(), Vec::new());
    let rows = request.rows(session, &mut |rows| {
        one_by_one.extend_from_slice(rows);
        Ok(())
    });
    let batches = request.batches(session, &mut |batch| {
        as_batches.extend(cells(&batch));
        Ok(())
    });
    let text = |why: EngineError| why.to_string();
    [rows.map(|()| one_by_one).map_err(text), batches.map(|()| as_batches).map_err(text)]
}

proptest! {
    #![proptest_config(testkit::drawn(24))]
    #[test]
    fn record_batches_have_the_cells_of_the_rows(seed in any::<u64>(), steps in 20usize..400, from in 0i64..300, retyped in any::<bool>()) {
        let source = Drawn(Random { mode: Mode::Deleted, seed, steps }.batch());
        let machine = |text| PassOptions { machine: Some(testkit::machine(text)), ..PassOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.cw");
        prop_assume!(import(&source, Target::New(&path), &machine(MACHINE), &mut |_| ()).is_ok());
        // Core types as the folder has them, or those of another description.
        let options = if retyped { machine("cpu0 E0\ncpu1 E0") } else { PassOptions::default() };
        let session = Session::open(&path, options).unwrap();
        let span = Span { start: Ns(from * 1_000_000), end: Ns((from + 40) * 1_000_000) };
        let mut name = None;
        session.rows("threads", &mut |rows| {
            name = rows.iter().filter_map(|row| tables::threads::NAME.of(row)).next_back().map(str::to_owned);
            Ok(())
        }).unwrap();
        for table in ["thread_state", "cpu_state", "cpus"] {
            for span in [None, Some(span)] {
                for process in [None, name.as_deref(), Some("nobody")] {
                    for names in [true, false] {
                        let request = TableRequest { table, span, process, names };
                        let [one_by_one, as_batches] = both(&session, &request);
                        prop_assert_eq!(one_by_one, as_batches, "{:?}", request);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(testkit::drawn(24))]
    #[test]
    fn analyses_of_a_folder_match_those_of_its_source(seed in any::<u64>(), steps in 20usize..400, whole in any::<bool>()) {
        let mode = if whole { Mode::Whole } else { Mode::Deleted };
        let batch = Random { mode, seed, steps }.batch();
        let options = PassOptions { machine: Some(testkit::machine(MACHINE)), ..PassOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.cw");
        let source = Drawn(batch);
        // A trace without samples cannot be imported.
        prop_assume!(import(&source, Target::New(&path), &options, &mut |_| ()).is_ok());
        let of_source = |options| Session::of_source(Box::new(source.clone()), options).unwrap();
        let kept = of_source(PassOptions { keep: true, ..options.clone() });
        let of_source = of_source(options.clone());
        let of_folder = Session::open(&path, options).unwrap();
        // All tables together are made by several threads, a single one by one thread.
        let together = |session: &Session| session.analyse(&all(), None).unwrap();
        let made = together(&of_source);
        prop_assert_eq!(made.len(), all().len());
        for other in [together(&of_folder), together(&kept), together(&kept)] {
            for (one, other) in made.iter().zip(&other) {
                prop_assert_eq!(one.def.name, other.def.name);
                prop_assert_eq!(&one.rows, &other.rows, "{}", one.def.name);
            }
        }
        for one in &made {
            let alone = kept.analyse(&[one.def.name], None).unwrap();
            prop_assert_eq!(&one.rows, &alone[0].rows, "{}", one.def.name);
        }
        for states in [&tables::THREAD_STATE, &tables::CPU_STATE] {
            let rows = |session: &Session| {
                let mut all = Vec::new();
                session.rows(states.name, &mut |rows| {
                    all.extend_from_slice(rows);
                    Ok(())
                }).unwrap();
                all
            };
            prop_assert_eq!(rows(&of_source), rows(&kept), "{}", states.name);
        }
    }
}
