//! Destinations of exports, and redaction.

use crate::support::{exported, session};
use engine::Facts;
use export::{EXPORTS, ExportError, Exporter, Job, Offer, Options, Outputs, Place, Shape};
use model::{CpuId, Event, EventKind, MaybeNs, NameId, Ns, Pid, Span, Tid};
use std::path::Path;

fn drawn() -> engine::Session {
    let trace = testkit::trace("cpu0 A B .\ncpu1 . C C\nsample . B=main");
    session(trace.facts, trace.batch)
}

fn to(exporter: &dyn Exporter, path: &Path, force: bool) -> Result<(), String> {
    let session = drawn();
    let mut job = Job { session: &session, options: &Options::default(), progress: &mut |_| () };
    export::write(exporter, &mut job, Place::Named(path, force)).map_err(|e| e.to_string())
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = tempfile::tempdir().unwrap();
    for exporter in EXPORTS {
        let path = folder.path().join(exporter.id());
        to(*exporter, &path, false).unwrap();
        let refused = to(*exporter, &path, false).unwrap_err();
        assert!(refused.contains("--force"), "{refused}");
        to(*exporter, &path, true).unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), EXPORTS.len(), "no temporary file is left");
}

#[test]
fn only_an_export_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let csv = export::named("csv").unwrap();
    std::fs::write(folder.path().join("other.txt"), "dear").unwrap();
    assert!(to(csv, folder.path(), true).unwrap_err().contains("not an earlier export"));
    let chrome = export::named("chrome").unwrap();
    assert!(to(chrome, folder.path(), true).unwrap_err().contains("not an earlier export"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An exporter that fails halfway.
struct Fails;

impl Exporter for Fails {
    fn id(&self) -> &'static str {
        "fails"
    }
    fn about(&self) -> &'static str {
        "nothing"
    }
    fn shape(&self) -> Shape {
        Shape::File
    }
    fn suffix(&self) -> &'static str {
        ".x"
    }
    fn offer(&self) -> Offer {
        Offer { read_by: "", carries: &[], cannot: &[] }
    }
    fn write(&self, _: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        to.next("x")?.write_all(b"half")?;
        Err(ExportError::Words("no more".into()))
    }
}

#[test]
fn a_failure_leaves_the_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    std::fs::write(&path, "whole").unwrap();
    assert_eq!(to(&Fails, &path, true).unwrap_err(), "no more");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_part_has_every_table() {
    let session = drawn();
    let span = Some(Span::new(Ns(0), Ns(1_000_000)));
    let names = |options: Options| Ok(options.tables(&session)?.iter().map(|d| d.name).collect::<Vec<&str>>());
    let whole: Result<_, ExportError> = names(Options::default());
    let part: Result<_, ExportError> = names(Options { span, ..Options::default() });
    assert_eq!(part.unwrap(), whole.unwrap());
    let options = Options { tables: vec!["thread".into()], ..Options::default() };
    assert!(options.tables(&session).unwrap_err().to_string().contains("there is no table"));
}

#[test]
fn redacted_text_is_not_in_any_export() {
    let mut trace = testkit::trace("cpu0 A B .\ncpu1 . C C\nsample . B=main");
    let about = [
        ("hostname", "secrethost"),
        ("command_line", "secretgame --fast"),
        ("note", "made on secrethost"),
        ("binary", "/opt/secret"),
        ("kernel_release", "6.18"),
    ];
    let lacks = vec!["/home/secret was not recorded".into(), "Ready time is not recorded.".into()];
    let about = about.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
    let facts = Facts { about, lacks, ..trace.facts };
    trace.batch.names.push("/opt/secretgame".into());
    let file = NameId(trace.batch.names.len() as u32);
    let event = |what| Event { at: Ns(2_500_000), offset: 0, cpu: CpuId(1), current: Tid::UNKNOWN, what };
    trace.batch.events.push(event(EventKind::Exec { tid: Tid(3), pid: Pid(3), file }));
    trace.batch.events.push(event(EventKind::Cgroup { tid: Tid(3), id: 7, path: file }));
    let limits = EventKind::CgroupLimits {
        id: 7,
        path: file,
        quota: MaybeNs::new(Ns(20_000_000)),
        period: 100_000_000,
        weight: Some(100),
        cpus: NameId::NONE,
    };
    trace.batch.events.push(event(limits));
    let drawn = |redact: bool| {
        let mut session = session(facts.clone(), trace.batch.clone());
        if redact {
            session.redact(engine::Redact::Private);
        }
        session
    };
    let (open, redacted) = (drawn(false), drawn(true));
    let has = |bytes: &[u8], words: &[u8]| bytes.windows(words.len()).any(|w| w == words);
    for exporter in EXPORTS.iter().filter(|e| e.shape() == Shape::File && e.id() != "xlsx") {
        let redacted = exported(*exporter, &redacted, &Options::default());
        assert!(!has(&redacted, b"secret") && !has(&redacted, b"a_user"), "{}", exporter.id());
        // The others have no metadata, or none about the machine.
        if ["perfetto", "chrome", "firefox"].contains(&exporter.id()) {
            assert!(has(&redacted, b"6.18"), "{}", exporter.id());
        }
        if ["perfetto", "chrome"].contains(&exporter.id()) {
            assert!(has(&exported(*exporter, &open, &Options::default()), b"secrethost"), "{}", exporter.id());
        }
    }
}
