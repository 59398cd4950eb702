//! If a later reading of a source fails, or ends differently from the first, the caller gets an error.

use engine::{EngineError, Fatal, Identity, Opened, PassOptions, Priority, Session, Source, Target, import};
use ingest::{Ledger, Reach, Stream};
use model::{Batch, MaybeNs, Ns, Span};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The fault of later readings.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The file cannot be opened.
    Gone,
    /// A disk error in the middle.
    Unreadable,
    /// The stream ends early without an error.
    Cut,
    /// The reader panics.
    Panic,
}

const FAULTS: [Fault; 4] = [Fault::Gone, Fault::Unreadable, Fault::Cut, Fault::Panic];

/// A recording whose later readings fail.
struct Failing {
    fault: Fault,
    /// The index of the first reading that fails.
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

/// A stream that delivers half of its events and then fails.
struct Half<'a> {
    stream: Box<dyn Stream + Send + 'a>,
    fault: Fault,
    rest: Option<Batch>,
}

impl Stream for Half<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        if self.rest.take().is_some() {
            return match self.fault {
                Fault::Panic => panic!("a deliberate fault of the reader"),
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

/// All requests for which a file is read again if its stretches were not kept.
#[test]
fn a_failed_later_reading_is_an_error_of_the_request() {
    type Request = fn(&Session) -> Result<(), EngineError>;
    let requests: [(&str, Request); 6] = [
        ("stretches", |s| s.rows("thread_state", &mut |_| Ok(()))),
        ("an analysis", |s| s.rows("ready_wait", &mut |_| Ok(()))),
        ("several in one pass", |s| s.prepare(&["ready_wait", "switch_causes", "migrations", "smt_cores"])),
        ("the critical path", |s| s.rows("critical_path", &mut |_| Ok(()))),
        ("sums of a part", |s| s.rows_within("threads", Some(Span::new(Ns(1), Ns(4_000_000))), &mut |_| Ok(()))),
        ("events", |s| s.events(&mut |_, _| Ok(()))),
    ];
    for fault in FAULTS {
        for (what, request) in requests {
            let session = Session::of_source(Failing::new(fault, 1, false), PassOptions::default()).unwrap();
            let result = request(&session);
            assert!(result.is_err(), "{what} after {fault:?}");
            let message = result.unwrap_err().to_string();
            let expected = match fault {
                Fault::Gone => "No such file",
                Fault::Panic => "please report it",
                Fault::Cut | Fault::Unreadable => "the file changed while it was read",
            };
            assert!(message.contains(expected) && message.contains("run.data"), "{what}: {message}");
        }
    }
}

/// Losses require a second reading for every command.
#[test]
fn a_failed_second_reading_is_an_error_of_opening_and_importing() {
    let folder = tempfile::tempdir().unwrap();
    for fault in FAULTS {
        let opened = Session::of_source(Failing::new(fault, 1, true), PassOptions::default());
        assert!(opened.is_err(), "{fault:?}");
        let to = folder.path().join("run.cw");
        let source = Failing::new(fault, 1, true);
        let imported = import(source.as_ref(), Target::New(&to), &PassOptions::default(), &mut |_| ());
        assert!(imported.is_err(), "{fault:?}");
        assert!(source.readings.load(Ordering::Relaxed) >= 2, "the source was not read again");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{fault:?}: {left:?}");
    }
}

/// The same recording without a fault can be read, so nothing above fails for another reason.
#[test]
fn without_a_fault_everything_can_be_read() {
    for lossy in [false, true] {
        let session = Session::of_source(Failing::new(Fault::Cut, 99, lossy), PassOptions::default()).unwrap();
        for table in ["thread_state", "ready_wait", "critical_path", "threads"] {
            session.rows(table, &mut |_| Ok(())).unwrap();
        }
        session.events(&mut |_, _| Ok(())).unwrap();
    }
}
