//! Any bytes, to every importer that recognises them, as a file and as a pipe, on through ingest and the accounting: a
//! result or an error, never a panic or a hang, and the laws hold of whatever was read. The inputs to begin with are
//! crates/import/fixtures.
#![no_main]

use account::{Accountant, Collector, Laws, Rules};
use import::FORMATS;
use ingest::{Fatal, Input, Limits, Opened, Ordered, Sniff};
use libfuzzer_sys::fuzz_target;
use model::Batch;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let head = &bytes[..bytes.len().min(4096)];
    for format in FORMATS.iter().filter(|f| f.sniff(head) != Sniff::No) {
        let file = || format.open(Input::File(Box::new(Cursor::new(bytes))));
        let pipe = || format.open(Input::Pipe(Box::new(bytes)));
        // What came too late asks for a second reading, that sorts everything.
        if account(file(), false) > 0 {
            account(file(), true);
        }
        account(pipe(), false);
    }
});

/// Gives the number of events that came after their time had passed.
fn account(opened: Result<Opened<'_>, Fatal>, sort_all: bool) -> u64 {
    let Ok(opened) = opened else { return 0 };
    let has_waking = opened.facts.has_waking.unwrap_or(true);
    let has_wakes = has_waking || opened.facts.has_wakeup.unwrap_or(true);
    let rules = Rules { has_waking, has_wakes, online: opened.facts.online.clone(), ..Rules::default() };
    // Little may wait in memory, so that the way over the disk is met.
    let limits = Limits { pending: 2_000, ..Limits::default() };
    let mut ordered = Ordered::new(opened, sort_all, limits);
    let (mut accountant, mut sink, mut batch) = (Accountant::new(rules), Collector::default(), Batch::default());
    while ordered.next(&mut batch) {
        accountant.push(&batch, &mut sink);
    }
    let totals = accountant.finish(&mut sink);
    let laws = Laws::of(&totals);
    assert!(laws.hold(), "{laws:?}");
    ordered.late()
}
