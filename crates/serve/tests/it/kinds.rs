//! Answers about additional tracks.

use crate::support::{Client, Trace};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt8Type};
use engine::{PassOptions, Target};
use serde_json::Value as Json;
use std::path::Path;

/// 5 ms of two CPUs, from 1 s on their clock:
///
/// ```text
///  ms          0    1    2    3    4    5
///  CPU 0       a────────────────────.....     1 GHz, from 1 ms on 3 GHz; idle state 2 from 4 ms on
///  CPU 1       .........b────────────────     awake from 2 ms on
///  marks of a       tick      draw─           a tick at 3 ms too; and a counter depth of 7 from 4 ms on
/// ```
fn served() -> (Trace, Client) {
    let trace = Trace::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tracks.txt"));
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
    assert_eq!(answer.code, 200, "{path}: {}", answer.text());
    arrow_ipc::reader::StreamReader::try_new(&answer.body[..], None).unwrap().next().unwrap().unwrap()
}

/// Track, begin and end in ms, and minimum, mean and maximum.
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
fn a_kind_is_listed_only_if_the_trace_has_its_data() {
    let (_trace, client) = served();
    let about: Json = serde_json::from_slice(&client.get("/api/about").body).unwrap();
    let kinds: Vec<&str> = about["kinds"].as_array().unwrap().iter().map(|k| k["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["concurrency", "marks", "moments", "frequency", "idle_types", "idle", "counters", "groups"]);
    let labels: Vec<&str> =
        about["kinds"].as_array().unwrap().iter().map(|k| k["lanes"][0]["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        [
            "cores",
            "draw (thread 10)",
            "tick (thread 10)",
            "CPU 0",
            "CPUs (2)",
            "CPU 0",
            "depth (process 10)",
            "running"
        ]
    );
    let refused = client.get("/api/slices?kind=parking&first=0&last=15&from=0&to=5000000&width=1000");
    assert_eq!((refused.code, refused.text().contains("no tracks of this kind")), (400, true));
}

#[test]
fn at_a_narrow_width_each_value_and_state_has_its_exact_time() {
    let (_trace, client) = served();
    let one = |value: f64| [value; 3];
    // CPU 1 has no recorded frequency.
    assert_eq!(values(&drawn(&client, "frequency", 1000)), [(0, 0.0, 1.0, one(1e6)), (0, 1.0, 5.0, one(3e6))]);
    // Not recorded before 4 ms and before 2 ms; 3 is idle state 2, 0 is awake.
    assert_eq!(states(&drawn(&client, "idle", 1000)), [(0, 4.0, 5.0, 3), (1, 2.0, 5.0, 0)]);
    // None while only CPU 1 had an event, which was awake; then CPU 0 is in state 2.
    let idle = values(&drawn(&client, "idle_types", 1000));
    assert_eq!(
        idle.iter().filter(|v| v.0 == 2).copied().collect::<Vec<_>>(),
        [(2, 2.0, 4.0, one(0.0)), (2, 4.0, 5.0, one(1.0))]
    );
    assert_eq!(states(&drawn(&client, "marks", 1000)), [(0, 3.0, 4.0, 1), (0, 4.0, 5.0, 0)]);
    // A moment lasts until the next one of its name.
    assert_eq!(states(&drawn(&client, "moments", 1000)), [(0, 1.0, 3.0, 0), (0, 3.0, 5.0, 0)]);
    assert_eq!(values(&drawn(&client, "counters", 1000)), [(0, 4.0, 5.0, one(7.0))]);
    // The machine is unknown: its cores have no type, which is the fifth band of the table.
    let busy: Vec<_> = values(&drawn(&client, "concurrency", 1000)).into_iter().filter(|v| v.0 == 4).collect();
    assert_eq!(busy, [(4, 0.0, 2.0, one(1.0)), (4, 2.0, 4.0, one(2.0)), (4, 4.0, 5.0, one(1.0))]);
}

#[test]
fn at_a_wide_width_values_have_minimum_mean_and_maximum() {
    let (_trace, client) = served();
    // 1 GHz for 1 ms and 3 GHz for 4 ms: 13 ∕ 5 = 2.6.
    assert_eq!(values(&drawn(&client, "frequency", 6_000_000)), [(0, 0.0, 5.0, [1e6, 2.6e6, 3e6])]);
    // One for 3 ms, two for 2 ms: 7 ∕ 5 = 1.4.
    let busy: Vec<_> = values(&drawn(&client, "concurrency", 6_000_000)).into_iter().filter(|v| v.0 == 4).collect();
    assert_eq!(busy, [(4, 0.0, 5.0, [1.0, 1.4, 2.0])]);
    // As long marked as not marked: the lower number, 0, wins.
    assert_eq!(states(&drawn(&client, "marks", 6_000_000)), [(0, 3.0, 5.0, 0)]);
}

#[test]
fn parked_cpus_have_tracks() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("more.txt");
    let mut text = "cpus=2\n".to_owned();
    let events = [
        "0000: sched_switch:         swapper/0:0 [120] R ==> a:10 [120]",
        "2000: sched_cpu_hotplug:    cpu 1 offline error=0",
        "4000: sched_cpu_hotplug:    cpu 1 online error=0",
        "5000: sched_switch:         a:10 [120] S ==> swapper/0:0 [120]",
    ];
    for event in events {
        text += &format!("               a-10    [000]     1.00{event}\n");
    }
    std::fs::write(&file, text).unwrap();
    let trace = Trace::of(&file);
    let client = trace.served();
    // 1 is parked.
    assert_eq!(states(&drawn(&client, "parking", 1000)), [(1, 2.0, 4.0, 1), (1, 4.0, 5.0, 0)]);
}

#[test]
fn concurrency_is_the_same_as_in_the_table() {
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
                        |at: usize| if let model::Value::Int(v) = row[at] { v as f64 } else { panic!("not a number") };
                    int(4) * int(7)
                })
                .sum::<f64>();
            Ok(())
        })
        .unwrap();
    let steps = values(&drawn(&client, "concurrency", 1000)).into_iter().filter(|v| v.0 == 4);
    let sum: f64 = steps.map(|(_, start, end, [_, mean, _])| mean * (end - start) * 1e6).sum();
    assert!(expected > 0.0 && sum == expected, "{sum} is not {expected}");
}

/// Three frames of 10, 20 and 40 ms: their median is 20 ms.
#[test]
fn frames_have_a_line_at_their_median_or_at_the_budget() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("frames.csv");
    let frames = "game.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.010,10\ngame.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.030,20\n\
                  game.exe,7,0x1,DXGI,1,512,0,Composed: Flip,0,0.070,40\n";
    let head = "Application,ProcessID,SwapChainAddress,Runtime,SyncInterval,PresentFlags,AllowsTearing,PresentMode,Dropped,TimeInSeconds,msBetweenPresents\n";
    std::fs::write(&log, [head, frames].concat()).unwrap();
    let trace = Trace::of(&log);
    let line = |client: &Client| {
        let about: Json = serde_json::from_slice(&client.get("/api/about").body).unwrap();
        assert_eq!(about["kinds"].as_array().unwrap().len(), 1, "a frame log has no CPU tracks");
        let frames = &about["kinds"][0];
        assert_eq!(frames["kind"], "frames");
        (frames["line"].as_f64().unwrap(), frames["title"].as_str().unwrap().to_owned())
    };
    let (median, title) = line(&trace.served());
    assert!(median == 20e6 && title.ends_with("line: 20.0 ms, the median"), "{median} {title}");
    let budget = Some(model::Ns(16_700_000));
    let (budget, title) = line(&trace.served_as(|session| {
        session.with_slow_frames(engine::SlowFrameOptions { budget, ..engine::SlowFrameOptions::default() })
    }));
    assert!(budget == 16.7e6 && title.ends_with("line: 16.7 ms, the budget"), "{budget} {title}");
}

#[test]
fn siblings_are_adjacent_even_without_core_numbers() {
    // A machine file in which 0 and 2 share a core, and 1 and 3 another.
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
