//! Without temporary files there is no result, because earlier events are not in order.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ingest::{Facts, Limits, Reach, Reading, RunError, run};
use model::{Batch, MaybeNs};
use std::ops::ControlFlow;
use testkit::{Mode, Random, Replay};

/// The only test in its process, because the folder of temporary files is set for the process.
#[test]
fn sorting_on_disk_without_room_is_an_error() {
    tempfile::env::override_temp_dir(std::path::Path::new("/no/such/folder")).unwrap();
    let whole = Random { mode: Mode::Whole, seed: 7, steps: 300 }.batch();
    let parts = whole.events.chunks(20).map(|events| Batch { events: events.to_vec(), ..Batch::default() });
    let replay = Replay(parts.map(|batch| (batch, Reach::Until(MaybeNs::NONE))).collect());
    let limits = Limits { pending: 10, ..Limits::default() };
    let sorted = Reading { sort_all: true, ..Reading::default() };
    let read = run(replay.opened(Facts::default()), sorted, limits, |_| Ok::<_, ()>(ControlFlow::Continue(())));
    assert!(matches!(&read, Err(RunError::Reader(fatal)) if fatal.what.contains("set TMPDIR")), "{read:?}");
}
