//! A later reading of a source that fails, or ends otherwise than the first, is an error of whatever asked for it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use engine::{EngineError, Fatal, Identity, Opened, PassOptions, Priority, Session, Source, Target, import};
use ingest::{Ledger, Reach, Stream};
use model::{Batch, MaybeNs, Ns, Span};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens from which reading on.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The file cannot be opened.
    Gone,
    /// An error of the disk on the way.
    Unreadable,
    /// It ends early, without a word.
    Cut,
    /// The reader panics.
    Panic,
}

const FAULTS: [Fault; 4] = [Fault::Gone, Fault::Unreadable, Fault::Cut, Fault::Panic];

/// A recording whose later readings fail.
struct Failing {
    fault: Fault,
    /// The first that does.
    from: usize,
    readings: AtomicUsize,
    /// Lost events make a second reading necessary.
    lossy: bool,
}

impl Failing {
    fn new(fault: Fault, from: usize, lossy: bool) -> Box<Self> {
        Box::new(Self { fault, from, readings: AtomicUsize::new(0), lossy })
    }
}

/// The events of a stream, in halves; the second half fails.
struct Half<'a> {
    stream: Box<dyn Stream + Send + 'a>,
    fault: Fault,
    rest: Option<Batch>,
}

impl Stream for Half<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        if self.rest.take().is_some() {
            return match self.fault {
                Fault::Panic => panic!("a fault of the reader, made on purpose"),
                Fault::Cut => Ok(Reach::End),
                Fault::Gone | Fault::Unreadable => Err(Fatal::new("Input/output error (os error 5)", 4096)),
            };
        }
        self.stream.next(out, bad)?;
        let rest = out.events.split_off(out.events.len() / 2);
        self.rest = Some(Batch { events: rest, ..Batch::default() });
        Ok(Reach::Until(MaybeNs::NONE))
    }
}

impl Source for Failing {
    fn path(&self) -> &Path {
        Path::new("run.data")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let lost = if self.lossy { "lost   . . . x x\n" } else { "" };
        let drawn = testkit::trace(&format!("cpu0   A A . A A B B A A A B\ncpu1   . B B . . A A . B B A\n{lost}"));
        let mut opened = drawn.opened();
        if self.readings.fetch_add(1, Ordering::Relaxed) < self.from {
            return Ok(opened);
        }
        if matches!(self.fault, Fault::Gone) {
            return Err(Fatal::new("No such file or directory (os error 2)", 0));
        }
        let fault = self.fault;
        opened.streams =
            opened.streams.into_iter().map(|stream| Box::new(Half { stream, fault, rest: None }) as _).collect();
        Ok(opened)
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 1, files: Vec::new() })
    }
}

/// Everything for which a file whose stretches were not kept is read again.
#[test]
fn a_later_reading_that_fails_is_an_error_of_what_asked_for_it() {
    type Ask = fn(&Session) -> Result<(), EngineError>;
    let asks: [(&str, Ask); 6] = [
        ("stretches", |s| s.rows("thread_state", &mut |_| Ok(()))),
        ("an analysis", |s| s.rows("ready_wait", &mut |_| Ok(()))),
        ("several in one pass", |s| s.prepare(&["ready_wait", "switch_causes", "migrations", "smt_cores"])),
        ("the critical path", |s| s.rows("critical_path", &mut |_| Ok(()))),
        ("sums of a part", |s| s.rows_within("threads", Some(Span::new(Ns(1), Ns(4_000_000))), &mut |_| Ok(()))),
        ("events", |s| s.events(&mut |_, _| Ok(()))),
    ];
    for fault in FAULTS {
        for (what, ask) in asks {
            let session = Session::of_source(Failing::new(fault, 1, false), PassOptions::default()).unwrap();
            let asked = ask(&session);
            assert!(asked.is_err(), "{what} after {fault:?}");
            let says = asked.unwrap_err().to_string();
            let words = match fault {
                Fault::Gone => "No such file",
                Fault::Panic => "please report it",
                Fault::Cut | Fault::Unreadable => "it changed while it was read",
            };
            assert!(says.contains(words) && says.contains("run.data"), "{what}: {says}");
        }
    }
}

/// Losses make every command read twice.
#[test]
fn a_second_reading_that_fails_is_an_error_of_opening_and_of_importing() {
    let folder = tempfile::tempdir().unwrap();
    for fault in FAULTS {
        let opened = Session::of_source(Failing::new(fault, 1, true), PassOptions::default());
        assert!(opened.is_err(), "{fault:?}");
        let to = folder.path().join("run.cw");
        let source = Failing::new(fault, 1, true);
        let imported = import(source.as_ref(), Target::New(&to), &PassOptions::default(), &mut |_| ());
        assert!(imported.is_err(), "{fault:?}");
        assert!(source.readings.load(Ordering::Relaxed) >= 2, "it was not read again");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{fault:?}: {left:?}");
    }
}

/// The same recording without a fault: nothing above fails for another reason.
#[test]
fn without_a_fault_all_of_it_is_read() {
    for lossy in [false, true] {
        let session = Session::of_source(Failing::new(Fault::Cut, 99, lossy), PassOptions::default()).unwrap();
        for table in ["thread_state", "ready_wait", "critical_path", "threads"] {
            session.rows(table, &mut |_| Ok(())).unwrap();
        }
        session.events(&mut |_, _| Ok(())).unwrap();
    }
}
