//! The critical path in files and in their imported folders.

use engine::critical::{Outside, Which};
use engine::{Infer, PassOptions, PathWindow, PathWindows, Session, Target, import, open_source};
use model::{Ns, Row, Span, Tid, Value, tables};
use std::collections::BTreeMap;
use std::path::Path;
use testkit::corpus;
use testkit::{Mode, Random, Rng, perf_script};

const TABLES: [&str; 3] = ["critical_path", "critical_by_thread", "objective_time"];

fn rows(session: &Session, table: &str, span: Option<Span>) -> Result<Vec<Vec<Value>>, String> {
    let mut all = Vec::new();
    let read = session.rows_within(table, span, &mut |rows| {
        all.extend_from_slice(rows);
        Ok(())
    });
    read.map(|()| all).map_err(|e| e.to_string())
}

fn open(path: &Path, infer: Infer, ends: Option<Tid>) -> Session {
    let session = Session::open(path, PassOptions { infer, ..PassOptions::default() }).unwrap();
    match ends {
        Some(tid) => session.with_path_end(tid),
        None => session,
    }
}

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_data/sched.data");

/// A recording and random traces, some with missing events; for whole traces and parts, and for many end threads.
#[test]
fn a_file_and_its_folder_have_the_same_path() {
    let place = tempfile::tempdir().unwrap();
    let (mut compared, mut inferred) = (0, 0);
    for seed in 0..12 {
        let mode = if seed % 2 == 0 { Mode::Whole } else { Mode::Deleted };
        let recorded = seed == 0;
        let file = place.path().join(format!("{seed}.txt"));
        let folder = place.path().join(format!("{seed}.cw"));
        if recorded {
            std::fs::copy(RECORDED, &file).unwrap();
        } else {
            std::fs::write(&file, perf_script::render(&Random { mode, seed, steps: 400 }.batch())).unwrap();
        }
        let source = open_source(&file).unwrap();
        let accounted = import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| ()).unwrap();
        let (end, mut rng) = (accounted.totals.end.0, Rng(seed));
        for turn in 0..if recorded { 30 } else { 6 } {
            let infer = if turn % 3 == 2 { Infer::Within } else { Infer::No };
            let ends = (turn % 2 == 0).then(|| Tid(if recorded { 779 } else { 1 } + rng.below(6) as i32));
            let (a, b) = (rng.below(end as usize) as i64, rng.below(end as usize) as i64);
            let span = (turn > 1).then(|| Span::new(Ns(a.min(b)), Ns(a.max(b) + 1)));
            let [of_file, of_folder] = [&file, &folder].map(|path| open(path, infer, ends));
            for table in TABLES {
                let (one, other) = (rows(&of_file, table, span), rows(&of_folder, table, span));
                match (&one, &other) {
                    (Ok(one), Ok(other)) => {
                        assert_eq!(one, other, "{seed} {infer:?} {ends:?} {span:?}");
                        compared += one.len();
                        inferred += one.iter().filter(|row| row.contains(&"inferred".into())).count();
                    }
                    _ => assert!(one.unwrap_err().contains("does not exist") && other.is_err()),
                }
            }
        }
    }
    assert!(compared > 500 && inferred > 0, "{compared} rows, {inferred} inferred");
}

/// The sums of windows that are followed in one pass are those of each window followed alone.
#[test]
fn windows_have_the_sums_of_their_own_paths() {
    use tables::critical_by_thread::{PATH_NS, READY_NS, THREAD};
    let mut compared = 0;
    for seed in 1..9 {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("random.txt");
        std::fs::write(&file, perf_script::render(&Random { mode: Mode::Whole, seed, steps: 400 }.batch())).unwrap();
        let session = open(&file, Infer::No, None);
        let (end, mut rng) = (session.summary().span_ns as usize, Rng(seed));
        let mut threads = Vec::new();
        session
            .each(tables::threads::Table, |row| {
                let (thread, tid, begin) =
                    row.all((tables::threads::THREAD, tables::threads::TID, tables::threads::BEGIN_NS));
                threads.push((thread, tid, begin));
            })
            .unwrap();
        let mut windows = Vec::new();
        for _ in 0..6 {
            let (a, b) = (rng.below(end) as i64, rng.below(end) as i64);
            let span = Span::new(Ns(a.min(b)), Ns(a.max(b) + 1));
            // A path by TID ends with the last instance that began before the end.
            let tid = threads[rng.below(threads.len())].1;
            let instances = threads.iter().filter(|(_, of, begin)| *of == tid && *begin < span.end);
            if let Some((thread, ..)) = instances.max_by_key(|(.., begin)| *begin) {
                windows.push((PathWindow { span, thread: *thread }, tid));
            }
        }
        let (mut path, mut ready, mut by_window) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        windows.retain(|(window, tid)| {
            let alone = open(&file, Infer::No, Some(*tid));
            let Ok(rows) = rows(&alone, "critical_by_thread", Some(window.span)) else { return false };
            let mut of_window = BTreeMap::new();
            for row in rows.iter().map(|row| Row::<tables::critical_by_thread::Table>::new(row)) {
                *path.entry(row.get(THREAD)).or_insert(Ns::ZERO) += row.get(PATH_NS);
                *ready.entry(row.get(THREAD)).or_insert(Ns::ZERO) += row.get(READY_NS);
                of_window.insert(row.get(THREAD), row.get(PATH_NS));
            }
            by_window.push(of_window);
            true
        });
        let windows: Vec<PathWindow> = windows.into_iter().map(|(window, _)| window).collect();
        let all = windows.iter().map(|window| (*window, Some(Which::Slow))).collect();
        let of = PathWindows { all, own: windows.len() };
        let sums = session.account(Some(&of), None, &Outside::default()).unwrap();
        let by_node = |of: &BTreeMap<usize, Ns>| of.values().copied().sum::<Ns>();
        let accounted: Vec<Ns> = sums.account.windows.iter().map(by_node).collect();
        let lengths: Vec<Ns> = windows.iter().map(|window| window.span.len()).collect();
        assert_eq!(accounted, lengths, "{seed}: the account of each window sums to it");
        assert_eq!(sums.windows, by_window, "{seed}");
        let column = |of| {
            sums.by_thread
                .rows_of(tables::critical_by_thread::Table)
                .map(|row| (row.get(THREAD), row.get(of)))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!((column(PATH_NS), column(READY_NS)), (path, ready), "{seed}");
        let mut pieces = 0;
        session
            .path_rows(&windows, &mut |rows| {
                pieces += rows.len();
                Ok(())
            })
            .unwrap();
        assert!(pieces >= windows.len(), "{seed}: every window has a path");
        compared += windows.len();
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn an_unknown_thread_is_reported() {
    let file = Path::new(RECORDED);
    let why = rows(&open(file, Infer::No, Some(Tid(424_242))), "critical_path", None).unwrap_err();
    assert!(why.contains("thread 424242 does not exist") && why.contains("corewise table"), "{why}");
    let after_end = Span::new(Ns(i64::MAX - 1), Ns::MAX);
    assert_eq!(rows(&open(file, Infer::No, None), "critical_path", Some(after_end)), Ok(Vec::new()));
}

/// Recordings by others. In addition, `guests` has a folder for each recording by this project on machines with different core types and
/// with SMT.
const COLLECTED: [&str; 7] = [
    "trace-dat/lisa__sched_load_trace.dat",
    "trace-dat/trappy__trace_idle.dat",
    "perfetto/Microsoft-Performance-Tools-Linux-Android__test_trace.perfetto-trace",
    "ctf/tracecompass__many-threads",
    "schedviz/schedviz__test.tar.gz",
    "systrace/catapult__android_systrace.html",
    "systrace/extracted__catapult__android_systrace.ftrace.txt.gz",
];

#[test]
#[ignore = "needs ../shared"]
fn paths_of_real_recordings_add_up_to_the_requested_range() {
    let guests = corpus::list("guests").into_iter().map(|guest| guest.join("trace.dat")).filter(|g| g.exists());
    let files: Vec<_> = COLLECTED.iter().map(|file| corpus::path(file)).chain(guests.take(5)).collect();
    assert!(files.len() >= 10, "{}", files.len());
    let (mut handovers, mut frequencies) = (0, 0);
    for file in files {
        let mut session = open(&file, Infer::No, None);
        let end = session.summary().span_ns;
        for (from, to) in [(0, end), (end / 3, end / 2)] {
            let path = rows(&session, TABLES[0], Some(Span::new(Ns(from), Ns(to)))).unwrap();
            let int = |row: &[Value], at: usize| if let Value::Int(v) = row[at] { Some(v) } else { None };
            let mut at = from;
            for row in &path {
                assert_eq!(int(row, 0), Some(at), "{}", file.display());
                at = int(row, 1).unwrap();
            }
            assert_eq!(at, to, "{}", file.display());
            handovers += path.windows(2).filter(|w| w[0][2] != w[1][2]).count();
            frequencies += path.iter().filter(|row| int(row, 8).is_some()).count();
            let sums = rows(&session, TABLES[1], Some(Span::new(Ns(from), Ns(to)))).unwrap();
            assert_eq!(sums.iter().map(|row| int(row, 2).unwrap()).sum::<i64>(), to - from, "{}", file.display());
            // The second path ends with the thread with which the first path began.
            session = session.with_path_end(Tid(i32::try_from(int(&path[0], 3).unwrap()).unwrap()));
        }
    }
    assert!(handovers > 100 && frequencies > 10, "{handovers} handovers, {frequencies} pieces with a known frequency");
}
