//! Gives any bytes to every importer that recognises them, as a file and as a pipe, and then to ingest and the
//! accounting. The result is a trace or an error, never a panic or a hang, and the invariants hold for whatever was
//! read. The seed inputs are crates/import/fixtures.
#![no_main]

use account::{Accountant, Collector, Laws, Rules};
use import::FORMATS;
use ingest::{Fatal, Folder, Input, Limits, Opened, Ordered, ReadSeek, Sniff};
use libfuzzer_sys::fuzz_target;
use model::Batch;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// The files of a folder in an archive.
struct Archived(BTreeMap<String, Vec<u8>>);

impl Archived {
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes).entries().ok()?.take(64) {
            let mut entry = entry.ok()?;
            let name = entry.path().ok()?.to_string_lossy().trim_start_matches("./").to_owned();
            let mut content = Vec::new();
            // A sparse entry has the length that its header states.
            entry.by_ref().take(1 << 20).read_to_end(&mut content).ok()?;
            files.insert(name, content);
        }
        Some(Self(files))
    }
}

impl Folder for Archived {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        let file = self.0.get(name).ok_or(std::io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(file.clone())))
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(names) = Archived::of(bytes).map(|folder| folder.names()) {
        for format in FORMATS.iter().filter(|f| f.sniff_folder(&names) != Sniff::No) {
            let folder = || match Archived::of(bytes) {
                Some(folder) => format.open(Input::Folder(Box::new(folder))),
                None => Err(Fatal::new("no archive", 0)),
            };
            if account(folder(), false) > 0 {
                account(folder(), true);
            }
        }
    }
    let head = &bytes[..bytes.len().min(4096)];
    for format in FORMATS.iter().filter(|f| f.sniff(head) != Sniff::No) {
        let file = || format.open(Input::File(Box::new(Cursor::new(bytes))));
        let pipe = || format.open(Input::Pipe(Box::new(bytes)));
        // Late events require a second reading that sorts everything.
        if account(file(), false) > 0 {
            account(file(), true);
        }
        account(pipe(), false);
    }
});

/// Returns the number of late events.
fn account(opened: Result<Opened<'_>, Fatal>, sort_all: bool) -> u64 {
    let Ok(opened) = opened else { return 0 };
    let has_waking = opened.facts.has_waking.unwrap_or(true);
    let has_wakes = has_waking || opened.facts.has_wakeup.unwrap_or(true);
    let rules = Rules { has_waking, has_wakes, online: opened.facts.online.clone(), ..Rules::default() };
    // A small limit in memory, so that events are also sorted on disk.
    let limits = Limits { pending: 2_000, ..Limits::default() };
    let mut ordered = Ordered::new(opened, sort_all, limits);
    let (mut accountant, mut sink, mut batch) = (Accountant::new(rules), Collector::default(), Batch::default());
    while ordered.next(&mut batch) {
        accountant.push(&batch, &mut sink);
    }
    let totals = accountant.finish(&mut sink);
    let laws = Laws::check(&totals);
    // An error would come from the temporary file, not from the input.
    assert!(laws.as_ref().is_ok_and(Laws::all_hold), "{laws:?}");
    ordered.late()
}
