//! Without room for temporary files there is no result: what came before was not in order.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ingest::{Facts, Limits, RunError, run};
use std::ops::ControlFlow;
use testkit::{Mode, Random, Replay};

/// By itself: the folder of temporary files is the process's.
#[test]
fn sorting_on_disk_without_room_is_an_error() {
    tempfile::env::override_temp_dir(std::path::Path::new("/no/such/folder")).unwrap();
    let batch = Random { mode: Mode::Whole, seed: 7, steps: 300 }.batch();
    let limits = Limits { pending: 10, ..Limits::default() };
    let opened = Replay::all(batch).opened(Facts::default());
    let read = run(opened, true, limits, |_| Ok::<_, ()>(ControlFlow::Continue(())));
    assert!(matches!(&read, Err(RunError::Reader(fatal)) if fatal.what.contains("set TMPDIR")), "{read:?}");
}
