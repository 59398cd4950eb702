//! What the catalogue keeps of one recording.

use crate::dates;
use crate::partition::Partition;
use crate::walk::{Found, Kind};
use diagnose::{Diagnosis, Finding, Options, Severity, Subject};
use engine::{EngineError, LABEL, PassOptions, Session};
use model::tables::{cpus, ready_wait, threads};
use model::{Column, Ns, Value};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// The version of this corewise.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The rows of a recording, by table, and where they belong.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) partition: Partition,
    pub(crate) rows: BTreeMap<&'static str, Vec<Vec<Value>>>,
}

/// What came of a place that may be a recording.
pub(crate) enum Outcome {
    Recording(Box<Measured>),
    /// A file of no known format.
    Other,
    /// It is a recording, or should be, and cannot be read.
    Error(String),
    /// It could not be read now. The next run tries again.
    Unreachable {
        why: String,
        /// Whether its store did not answer, which may be so for all others too.
        is_down: bool,
    },
}

/// Opens and diagnoses the recording `at` this path, which is `path` in the catalogue.
pub(crate) fn measure(found: &Found, at: &Path, path: &str) -> Outcome {
    match measured(found, at, path) {
        Ok(measured) => Outcome::Recording(Box::new(measured)),
        Err(EngineError::UnknownFormat { .. }) if found.kind == Kind::File => Outcome::Other,
        Err(why) if may_pass(&why) => Outcome::Unreachable { why: why.to_string(), is_down: false },
        Err(why) => Outcome::Error(why.to_string()),
    }
}

/// Whether the system refused, which can change without the recording: rights, a full disk, a file system that does not answer.
fn may_pass(error: &EngineError) -> bool {
    let mut inner: Option<&(dyn std::error::Error + 'static)> = match error {
        EngineError::Io { error, .. } | EngineError::Temporary { error, .. } => Some(error),
        _ => Some(error),
    };
    while let Some(error) = inner {
        if let Some(of_system) = error.downcast_ref::<std::io::Error>() {
            // Without a number it is an error of a reader, such as data that end too early.
            return of_system.raw_os_error().is_some() && of_system.kind() != ErrorKind::NotFound;
        }
        inner = error.source();
    }
    false
}

fn text(of: impl Into<String>) -> Value {
    Value::Text(of.into())
}

fn count(of: u64) -> Value {
    Value::Int(i64::try_from(of).unwrap_or(i64::MAX))
}

fn or_null<T>(of: Option<T>, value: impl FnOnce(T) -> Value) -> Value {
    of.map_or(Value::Null, value)
}

fn measured(found: &Found, at: &Path, path: &str) -> Result<Measured, EngineError> {
    // Stored tables of thousands of recordings would fill the disk, and are not read again.
    let session = Session::open(at, PassOptions { keep: true, read_only: true, ..PassOptions::default() })?;
    let diagnosis = diagnose::diagnose(&session, &Options::default())?;
    let mut rows = BTreeMap::new();
    rows.insert("labels", labels(&session, path));
    rows.insert("trials", trials(&session, path));
    rows.insert("sums", sums(&session, path)?);
    rows.insert("ready", ready(&session, path)?);
    rows.insert("rules", rules(&diagnosis, path));
    rows.insert("findings", findings(&diagnosis, path));
    let started = started(&session);
    rows.insert("recordings", vec![recording(found, &session, &diagnosis, path, started)?]);
    let host = about(&session, "hostname").filter(|host| !host.is_empty() && *host != "(none)");
    let partition = Partition { host: host.map(str::to_owned), date: started.map(dates::date) };
    Ok(Measured { partition, rows })
}

fn about<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
    session.facts().about.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn condition<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
    let found = session.facts().conditions.iter().find(|of| of.name == name);
    found.and_then(|of| of.start.as_deref().ok())
}

fn started(session: &Session) -> Option<i64> {
    ["started", "captured_on", "trace_creation_datetime"].iter().find_map(|name| dates::time(about(session, name)?))
}

fn recording(
    found: &Found,
    session: &Session,
    diagnosis: &Diagnosis,
    path: &str,
    started: Option<i64>,
) -> Result<Vec<Value>, EngineError> {
    let (sums, machine, facts) = (session.full_summary(), session.machine(), session.facts());
    let mut ready = None;
    if sums.ready_known && !sums.is_of_frames() {
        session.each(threads::Table, |row| {
            ready = Some(ready.unwrap_or(Ns::ZERO) + row.get(threads::READY_NS));
        })?;
    }
    let mut types = BTreeMap::<&str, usize>::new();
    for cpu in &machine.cpus {
        *types.entry(machine.core_type(cpu.id).as_str()).or_default() += 1;
    }
    let types: Vec<String> = types.iter().map(|(name, cpus)| format!("{cpus} {name}")).collect();
    let id = if session.is_folder() { Some(session.trace()?) } else { None };
    let kernel = condition(session, "kernel_release").or_else(|| about(session, "kernel_release"));
    let severity = diagnosis.findings.iter().map(|of| of.severity).max();
    let program = diagnosis.findings.iter().filter(|of| of.subject == Subject::Program);
    let saving = program.map(Finding::counted_ns).max().unwrap_or_default().max(Ns::ZERO);
    let objective = diagnosis.objective.as_ref().map(|of| {
        let kind = serde_json::to_value(of.kind).ok().and_then(|kind| Some(kind.as_str()?.to_owned()));
        let name = of.name.as_ref().map_or_else(String::new, |name| format!(":{name}"));
        format!("{}{name}", kind.unwrap_or_default())
    });
    Ok(vec![
        text(path),
        or_null(id, Value::Int),
        text(&facts.format),
        or_null(started, Value::Int),
        Value::Int(sums.span_ns),
        count(sums.events),
        count(sums.switches),
        count(sums.wakes),
        count(sums.frames),
        count(sums.threads),
        count(sums.cpus),
        Value::Int(sums.busy_ns),
        Value::Int(sums.idle_ns),
        Value::Int(sums.unknown_ns),
        Value::Int(sums.lossy_ns),
        ready.into(),
        Value::Int(sums.lost_events),
        count(sums.losses),
        Value::Bool(sums.laws_hold()),
        or_null(sums.stopped.clone(), text),
        or_null(machine.model_name.clone(), text),
        or_null(machine.arch.clone(), text),
        text(types.join(", ")),
        or_null(kernel, text),
        or_null(condition(session, "corewise_version"), text),
        or_null(objective, text),
        count(diagnosis.findings.len() as u64),
        or_null(severity, |of| text(of.as_str())),
        saving.into(),
        Value::Int(found.bytes),
        Value::Int(found.modified_ns),
        text(VERSION),
    ])
}

fn labels(session: &Session, path: &str) -> Vec<Vec<Value>> {
    let label = |(name, value): &(String, String)| Some(vec![text(path), text(name.strip_prefix(LABEL)?), text(value)]);
    session.facts().about.iter().filter_map(label).collect()
}

fn trials(session: &Session, path: &str) -> Vec<Vec<Value>> {
    let percent = |share: Option<f64>| or_null(share, |share| Value::Float(share * 100.0));
    let rows = session.facts().tried.iter().map(|of| {
        vec![
            text(path),
            text(&of.rule),
            text(&of.thread),
            text(&of.fix),
            text(of.verdict.as_str()),
            count(of.pairs.into()),
            percent(of.change),
            percent(of.interval.map(|[low, _]| low)),
            percent(of.interval.map(|[_, high]| high)),
            of.predicted_ns.into(),
            of.predicted_range_ns[0].into(),
            of.predicted_range_ns[1].into(),
            or_null(of.saved_ns, Value::from),
            count(of.found[0].into()),
            count(of.found[1].into()),
            Value::Int(of.at_unix_s.saturating_mul(1_000_000_000)),
            text(&of.corewise),
        ]
    });
    rows.collect()
}

fn sums(session: &Session, path: &str) -> Result<Vec<Vec<Value>>, EngineError> {
    let mut types = BTreeMap::<String, [i64; 6]>::new();
    if session.full_summary().is_of_frames() {
        return Ok(Vec::new());
    }
    session.each(cpus::Table, |row| {
        let of = types.entry(row.get(cpus::CORE_TYPE).to_owned()).or_default();
        let add = [
            1,
            row.get(cpus::BUSY_NS).0,
            row.get(cpus::IDLE_NS).0,
            row.get(cpus::UNKNOWN_NS).0,
            row.get(cpus::LOSSY_NS).0,
            row.get(cpus::SWITCHES),
        ];
        of.iter_mut().zip(add).for_each(|(sum, add)| *sum = sum.saturating_add(add));
    })?;
    let row = |(name, of): (String, [i64; 6])| [text(path), text(name)].into_iter().chain(of.map(Value::Int)).collect();
    Ok(types.into_iter().map(row).collect())
}

fn ready(session: &Session, path: &str) -> Result<Vec<Vec<Value>>, EngineError> {
    use ready_wait::{
        READY_GAVE_WAY_NS, READY_NEW_NS, READY_OTHER_NS, READY_PREEMPTED_NS, READY_THROTTLED_NS, READY_UNKNOWN_NS,
        READY_WOKEN_NS, READY_YIELDED_NS,
    };
    type Cause = (&'static str, Column<ready_wait::Table, Option<Ns>>);
    const CAUSES: [Cause; 8] = [
        ("woken", READY_WOKEN_NS),
        ("preempted", READY_PREEMPTED_NS),
        ("yielded", READY_YIELDED_NS),
        ("throttled", READY_THROTTLED_NS),
        ("gave_way", READY_GAVE_WAY_NS),
        ("new", READY_NEW_NS),
        ("other", READY_OTHER_NS),
        ("unknown", READY_UNKNOWN_NS),
    ];
    let mut all = [None::<Ns>; CAUSES.len()];
    if session.full_summary().is_of_frames() {
        return Ok(Vec::new());
    }
    session.each(ready_wait::Table, |row| {
        for (sum, (_, column)) in all.iter_mut().zip(CAUSES) {
            if let Some(ns) = row.get(column) {
                *sum = Some(sum.unwrap_or_default() + ns);
            }
        }
    })?;
    let row = |(sum, (cause, _)): (Option<Ns>, Cause)| Some(vec![text(path), text(cause), sum?.into()]);
    Ok(all.into_iter().zip(CAUSES).filter_map(row).collect())
}

/// A finding and those that its fix resolves.
fn with_nested(finding: &Finding) -> impl Iterator<Item = &Finding> {
    std::iter::once(finding).chain(&finding.also)
}

fn rules(diagnosis: &Diagnosis, path: &str) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for rule in &diagnosis.checked {
        let of_rule = || diagnosis.findings.iter().flat_map(with_nested).filter(|of| of.rule == *rule);
        let found = of_rule().count() as u64;
        let severity: Option<Severity> = of_rule().map(|of| of.severity).max();
        let saving = of_rule().map(Finding::counted_ns).max().unwrap_or_default().max(Ns::ZERO);
        let outcome = if found > 0 { "found" } else { "nothing" };
        let severity = or_null(severity, |of| text(of.as_str()));
        rows.push(vec![text(path), text(*rule), text(outcome), count(found), severity, saving.into()]);
    }
    let lacking = diagnosis
        .not_checked
        .iter()
        .map(|of| vec![text(path), text(of.rule), text("no data"), Value::Int(0), Value::Null, Value::Int(0)]);
    rows.extend(lacking);
    rows
}

fn findings(diagnosis: &Diagnosis, path: &str) -> Vec<Vec<Value>> {
    let row = |(number, of): (i64, &Finding)| {
        let thread = of.threads.first();
        let also: Vec<&str> = of.also.iter().map(|of| of.rule).collect();
        let subject = match of.subject {
            Subject::Program => "program",
            Subject::Outside => "outside",
            Subject::Recording => "recording",
            Subject::Conditions => "conditions",
        };
        vec![
            text(path),
            Value::Int(number),
            text(of.rule),
            text(subject),
            text(of.severity.as_str()),
            text(of.confidence.as_str()),
            // Words of one line, as in JSON.
            text(model::words::plain(&of.title)),
            of.recoverable_ns.into(),
            of.range_ns[0].into(),
            of.range_ns[1].into(),
            of.delay_ns.into(),
            of.cpu_ns.into(),
            or_null(thread, |of| text(&of.name)),
            or_null(thread, |of| of.tid.into()),
            count(of.threads.len() as u64),
            or_null(Some(also).filter(|of| !of.is_empty()), |of| text(of.join(","))),
            text(serde_json::to_string(&of.evidence).unwrap_or_default()),
        ]
    };
    (1..).zip(&diagnosis.findings).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;

    #[test]
    fn what_the_system_refuses_may_pass() {
        let io = |error| EngineError::Io { path: "run.cw".into(), error };
        // No rights, and a full disk.
        assert!(may_pass(&io(Error::from_raw_os_error(13))) && may_pass(&io(Error::from_raw_os_error(28))));
        assert!(!may_pass(&io(Error::from_raw_os_error(2))) && !may_pass(&io(ErrorKind::UnexpectedEof.into())));
        assert!(!may_pass(&EngineError::Damaged("damaged".to_owned())));
    }
}
