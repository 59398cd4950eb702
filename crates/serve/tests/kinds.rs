//! What is answered of what lies beside threads and CPUs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type};
use engine::{PassOptions, Target};
use serde_json::Value as Json;
use std::path::Path;
use support::{Client, Trace};

/// 5 ms of two CPUs, from 1 s on their clock:
///
/// ```text
///  ms          0    1    2    3    4    5
///  CPU 0       a────────────────────.....     1 GHz, from 1 ms on 3 GHz; idle state 2 from 4 ms on
///  CPU 1       .........b────────────────     awake from 2 ms on
///  a marks          tick      draw─           a tick at 3 ms too; and counts a depth of 7 from 4 ms on
/// ```
fn served() -> (Trace, Client) {
    let trace = Trace::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/beside.txt"));
    let client = trace.served();
    (trace, client)
}

impl Trace {
    /// A file of another tool, imported.
    fn of(file: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = engine::open_source(file).unwrap();
        let folder = dir.path().join("drawn.cw");
        engine::import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| ()).unwrap();
        Self { dir }
    }
}

fn drawn(client: &Client, kind: &str, width: i64) -> RecordBatch {
    let path = format!("/api/slices?kind={kind}&first=0&last=15&from=0&to=5000000&width={width}");
    let answer = client.get(&path);
    assert_eq!(answer.code, 200, "{path}: {}", answer.words());
    arrow_ipc::reader::StreamReader::try_new(&answer.body[..], None).unwrap().next().unwrap().unwrap()
}

/// Track, begin and end in ms, and least, mean and most.
fn values(batch: &RecordBatch) -> Vec<(i32, f64, f64, [f64; 3])> {
    let long = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
    let float = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().values().to_vec();
    let track = batch.column_by_name("track").unwrap().as_primitive::<Int32Type>().values().to_vec();
    let (start, end) = (long("start_ns"), long("end_ns"));
    let (least, mean, most) = (float("least"), float("mean"), float("most"));
    let row = |i: usize| (track[i], start[i] as f64 / 1e6, end[i] as f64 / 1e6, [least[i], mean[i], most[i]]);
    (0..track.len()).map(row).collect()
}

/// Track, begin and end in ms, and the state.
fn states(batch: &RecordBatch) -> Vec<(i32, f64, f64, u8)> {
    let long = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
    let track = batch.column_by_name("track").unwrap().as_primitive::<Int32Type>().values().to_vec();
    let state = batch.column_by_name("state").unwrap().as_primitive::<UInt8Type>().values().to_vec();
    let (start, end) = (long("start_ns"), long("end_ns"));
    (0..track.len()).map(|i| (track[i], start[i] as f64 / 1e6, end[i] as f64 / 1e6, state[i])).collect()
}

#[test]
fn a_kind_is_told_of_only_where_the_trace_has_its_data() {
    let (_trace, client) = served();
    let about: Json = serde_json::from_slice(&client.get("/api/about").body).unwrap();
    let kinds: Vec<&str> = about["kinds"].as_array().unwrap().iter().map(|k| k["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["concurrency", "marks", "moments", "frequency", "idle", "counters"]);
    let labels: Vec<&str> =
        about["kinds"].as_array().unwrap().iter().map(|k| k["lanes"][0]["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["cores", "draw (thread 10)", "tick (thread 10)", "CPU 0", "CPU 0", "depth (process 10)"]);
    let refused = client.get("/api/slices?kind=parking&first=0&last=15&from=0&to=5000000&width=1000");
    assert_eq!((refused.code, refused.words().contains("no tracks of such a kind")), (400, true));
}

#[test]
fn near_by_each_value_and_state_is_told_from_when_to_when_it_held() {
    let (_trace, client) = served();
    let one = |value: f64| [value; 3];
    // Of CPU 1 nobody tells a frequency.
    assert_eq!(values(&drawn(&client, "frequency", 1000)), [(0, 0.0, 1.0, one(1e6)), (0, 1.0, 5.0, one(3e6))]);
    // Before 4 ms and before 2 ms nobody tells; 3 stands for idle state 2, 0 for awake.
    assert_eq!(states(&drawn(&client, "idle", 1000)), [(0, 4.0, 5.0, 3), (1, 2.0, 5.0, 0)]);
    assert_eq!(states(&drawn(&client, "marks", 1000)), [(0, 3.0, 4.0, 1), (0, 4.0, 5.0, 0)]);
    // A moment lasts until the next one of its name.
    assert_eq!(states(&drawn(&client, "moments", 1000)), [(0, 1.0, 3.0, 0), (0, 3.0, 5.0, 0)]);
    assert_eq!(values(&drawn(&client, "counters", 1000)), [(0, 4.0, 5.0, one(7.0))]);
    // Nobody tells of the machine: its cores are of no type, which is the fifth band of the table.
    let busy: Vec<_> = values(&drawn(&client, "concurrency", 1000)).into_iter().filter(|v| v.0 == 4).collect();
    assert_eq!(busy, [(4, 0.0, 2.0, one(1.0)), (4, 2.0, 4.0, one(2.0)), (4, 4.0, 5.0, one(1.0))]);
}

#[test]
fn from_afar_the_least_the_mean_and_the_most_of_their_own_time_are_told() {
    let (_trace, client) = served();
    // 1 GHz for 1 ms and 3 GHz for 4 ms: 13 ∕ 5 = 2.6.
    assert_eq!(values(&drawn(&client, "frequency", 6_000_000)), [(0, 0.0, 5.0, [1e6, 2.6e6, 3e6])]);
    // One for 3 ms, two for 2 ms: 7 ∕ 5 = 1.4.
    let busy: Vec<_> = values(&drawn(&client, "concurrency", 6_000_000)).into_iter().filter(|v| v.0 == 4).collect();
    assert_eq!(busy, [(4, 0.0, 5.0, [1.0, 1.4, 2.0])]);
    // As long marked as not: of equal ones the lower number, 0, is told.
    assert_eq!(states(&drawn(&client, "marks", 6_000_000)), [(0, 3.0, 5.0, 0)]);
}

#[test]
fn what_is_busy_at_once_is_what_the_table_counts() {
    let trace = Trace::drawn("cpu0 A A+ B .\ncpu1 . C C A\nwaking C C . .");
    let client = trace.served();
    let mut expected = 0.0;
    trace
        .session()
        .rows("concurrency_bands", &mut |rows| {
            expected += rows
                .iter()
                .map(|row| {
                    let int =
                        |at: usize| if let model::Value::Int(v) = row[at] { v as f64 } else { panic!("no number") };
                    int(4) * int(7)
                })
                .sum::<f64>();
            Ok(())
        })
        .unwrap();
    let told = values(&drawn(&client, "concurrency", 1000)).into_iter().filter(|v| v.0 == 4);
    let told: f64 = told.map(|(_, start, end, [_, mean, _])| mean * (end - start) * 1e6).sum();
    assert!(expected > 0.0 && told == expected, "{told} is not {expected}");
}

/// Three frames of 10, 20 and 40 ms: their median is 20 ms.
#[test]
fn frames_stand_against_their_median_or_against_the_budget_that_was_said() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("frames.csv");
    let frames = "game.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.010,10\ngame.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.030,20\n\
                  game.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.070,40\n";
    let head = "Application,ProcessID,SwapChainAddress,Runtime,SyncInterval,PresentFlags,AllowsTearing,PresentMode,Dropped,TimeInSeconds,msBetweenPresents\n";
    std::fs::write(&log, [head, frames].concat()).unwrap();
    let trace = Trace::of(&log);
    let line = |client: &Client| {
        let about: Json = serde_json::from_slice(&client.get("/api/about").body).unwrap();
        assert_eq!(about["kinds"].as_array().unwrap().len(), 1, "without CPUs none of them is busy");
        let frames = &about["kinds"][0];
        (frames["line"].as_f64().unwrap(), frames["title"].as_str().unwrap().to_owned())
    };
    let (median, title) = line(&trace.served());
    assert!(median == 20e6 && title.ends_with("line: 20.0 ms, the median"), "{median} {title}");
    let budget = Some(model::Ns(16_700_000));
    let (budget, title) =
        line(&trace.served_as(|session| session.slow(engine::Slow { budget, ..engine::Slow::default() })));
    assert!(budget == 16.7e6 && title.ends_with("line: 16.7 ms, the budget"), "{budget} {title}");
}

#[test]
fn siblings_stand_together_though_nobody_numbers_their_cores() {
    // 0 and 2 share a core, 1 and 3 another, as a machine file tells it.
    let machine = "[[cpus]]\nids = \"0-3\"\nsiblings = [\"0,2\", \"1,3\"]\n";
    let trace = Trace::drawn("cpu0 A\ncpu1 B\ncpu2 C\ncpu3 D");
    let file = trace.dir.path().join("machine.toml");
    std::fs::write(&file, machine).unwrap();
    let options = PassOptions { machine: Some(engine::machine_file(&file).unwrap()), ..PassOptions::default() };
    let session = engine::Session::open(&trace.path(), options).unwrap();
    let client = trace.served_as(|_| session);
    let about: Json = serde_json::from_slice(&client.get("/api/about").body).unwrap();
    let order: Vec<i64> = about["cpus"].as_array().unwrap().iter().map(|cpu| cpu["cpu"].as_i64().unwrap()).collect();
    assert_eq!(order, [0, 2, 1, 3]);
}
