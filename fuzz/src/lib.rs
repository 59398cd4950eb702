//! What the fuzz targets share. A target passes its bytes to one reader; the result is a trace, a machine or an error,
//! never a panic or a hang, and the invariants hold for whatever was read.

mod archive;
mod tables;

use account::{Accountant, Collector, Laws, Rules};
use archive::Archive;
use ingest::{Fatal, Fault, Importer, Input, Limits, Opened, Ordered, Sniff};
use model::{Batch, EventKind, Ns};
use std::io::Cursor;
use std::sync::Arc;
use topology::Machine;
use unwind::Tables;

/// The number of first bytes by which a format is recognised.
const HEAD: usize = 4096;
/// One in so many lengths of input is sorted on disk.
const ON_DISK: usize = 16;

/// Reads a recording that is a file, if its format is recognised. An input of odd length is read as a pipe if it can be, another one
/// as a file: most mutations do not change the length, so that what they reach is compared with the same way of reading.
pub fn file(format: &dyn Importer, bytes: &[u8]) {
    if format.sniff(&bytes[..bytes.len().min(HEAD)]) == Sniff::No {
        return;
    }
    let pipe = || account(format.open(Input::Pipe(Box::new(bytes))), false, limits(bytes.len()));
    if bytes.len() % 2 == 0 || pipe().is_none() {
        read(bytes.len(), || format.open(Input::File(Box::new(Cursor::new(bytes)))));
    }
}

/// Reads a recording that is a folder, given as an archive, if its format is recognised; other bytes are read as a file.
pub fn folder(format: &dyn Importer, bytes: &[u8]) {
    let archive = Archive::of(bytes);
    let names = ingest::Folder::names(&archive);
    if names.is_empty() {
        file(format, bytes);
    } else if format.sniff_folder(&names) != Sniff::No {
        read(bytes.len(), || format.open(Input::Folder(Box::new(archive.clone()))));
    }
}

/// Reads a machine from a text, in whatever format it is recognised.
pub fn machine_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = topology::is_description(&text);
    if let Ok(machine) = Machine::from_text(&text) {
        check_machine(&machine);
    }
}

/// Reads a machine from files of sysfs and procfs, given as an archive, or from those of pepc.
pub fn machine_folder(bytes: &[u8]) {
    let archive = Archive::of(bytes);
    check_machine(&match archive.text("sys/inlinefiles.txt") {
        Some(inline) => Machine::from_pepc(&inline, archive.text("proc/cpuinfo")),
        None => Machine::from_sysfs(&archive.texts()),
    });
}

/// Draws a machine, and writes it to a machine file, which has the same CPUs.
fn check_machine(machine: &Machine) {
    let _ = topology::draw(machine);
    let text = topology::machine_text(machine);
    let same = Machine::from_user(&text).map(|m| m.cpus.iter().map(|c| c.id).eq(machine.cpus.iter().map(|c| c.id)));
    assert!(machine.cpus.is_empty() || same.as_ref().is_ok_and(|same| *same), "{same:?}: {text}");
}

/// Limits by the length of the input.
fn limits(length: usize) -> Limits {
    // The default would look up the number of CPUs each time, which reads files.
    Limits { pending: if length / 2 % ON_DISK == 0 { 8 } else { 2_000 }, batch: 4096, ahead: false }
}

/// Reads a source that can be opened again. Late events require a second reading, which sorts everything and ends in the same way.
fn read<'a>(length: usize, open: impl Fn() -> Result<Opened<'a>, Fatal>) {
    let Some(first) = account(open(), false, limits(length)) else { return };
    if first.late > 0 {
        let sorted = account(open(), true, limits(length)).map(|sorted| Reading { late: first.late, ..sorted });
        assert_eq!(sorted, Some(first));
    }
}

/// How a reading ended.
#[derive(PartialEq, Eq, Debug)]
struct Reading {
    /// The number of events, including late ones, which are dropped.
    events: usize,
    late: u64,
    stopped: Option<Fatal>,
}

/// Reads the events, and checks their order and the invariants of their accounting; `None` if nothing can be read.
fn account(opened: Result<Opened<'_>, Fatal>, sort_all: bool, limits: Limits) -> Option<Reading> {
    let mut opened = opened.ok()?;
    let tables: Arc<dyn Tables> = Arc::new(tables::Any);
    opened.streams.iter_mut().for_each(|stream| stream.unwind_by(&tables));
    let has_waking = opened.facts.has_waking.unwrap_or(true);
    let has_wakes = has_waking || opened.facts.has_wakeup.unwrap_or(true);
    let rules = Rules { has_waking, has_wakes, online: opened.facts.online.clone(), ..Rules::default() };
    let mut ordered = Ordered::new(opened, sort_all, limits);
    let (mut accountant, mut sink, mut batch) = (Accountant::new(rules), Collector::default(), Batch::default());
    let (mut events, mut latest, mut names, mut stacks) = (0, Ns::MIN, 0, 0);
    while ordered.next(&mut batch) {
        (events, names, stacks) = (events + batch.events.len(), names + batch.names.len(), stacks + batch.stacks.len());
        for event in &batch.events {
            assert!(event.at >= latest, "{event:?} after {latest:?}");
            latest = event.at;
            if let EventKind::Switch(switch) = event.what {
                let name = switch.prev_name.0.max(switch.next_name.0);
                assert!(name as usize <= names && switch.stack.0 as usize <= stacks, "{switch:?}");
            }
        }
        accountant.push(&batch, &mut sink);
    }
    let totals = accountant.finish(&mut sink);
    let laws = Laws::check(&totals);
    // An error would come from the temporary file, not from the input.
    assert!(laws.as_ref().is_ok_and(Laws::all_hold), "{laws:?}");
    let (late, stopped) = (ordered.late(), ordered.stopped);
    assert!(stopped.as_ref().is_none_or(|why| why.fault == Fault::Source), "{stopped:?}");
    Some(Reading { events: events + late as usize, late, stopped })
}
