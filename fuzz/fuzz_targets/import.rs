//! Any bytes, to every importer that recognises them, as a file and as a pipe: a result or an error, never a panic or a
//! hang. The inputs to begin with are crates/import/fixtures.
#![no_main]

use import::FORMATS;
use ingest::{Input, Ledger, Reach, Sniff, Trouble};
use libfuzzer_sys::fuzz_target;
use model::Batch;
use std::io::Cursor;

/// Trouble is expected here.
struct Unmoved;

impl Ledger for Unmoved {
    fn trouble(&mut self, _code: &'static str, _offset: u64, _what: Trouble) {}
}

fuzz_target!(|bytes: &[u8]| {
    let head = &bytes[..bytes.len().min(4096)];
    for format in FORMATS.iter().filter(|f| f.sniff(head) != Sniff::No) {
        drain(format.open(Input::File(Box::new(Cursor::new(bytes)))));
        drain(format.open(Input::Pipe(Box::new(bytes))));
    }
});

fn drain(opened: Result<ingest::Opened<'_>, ingest::Fatal>) {
    let Ok(opened) = opened else { return };
    for mut stream in opened.streams {
        let mut batch = Batch::default();
        while let Ok(Reach::Until(_)) = stream.next(&mut batch, &mut Unmoved) {
            batch = Batch::default();
        }
    }
}
