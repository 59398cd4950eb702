//! The report as one JSON object, for scripts. All threads may not fit in memory twice, so tables are written while they
//! are read.

use crate::{Options, frames, select};
use diagnose::Diagnosis;
use engine::{EngineError, Session, TableRequest};
use model::{TableDef, ThreadKey, Value, tables};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json, json as object};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// Writes everything that the text has, and all threads. The names are those of the tables.
///
/// # Errors
/// The trace cannot be read, no thread is of the requested process, or the output cannot be written.
pub fn json(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), EngineError> {
    let mut of: Option<HashSet<ThreadKey>> = None;
    if options.process.is_some() && !session.full_summary().is_of_frames() {
        let all = Options { top: usize::MAX, ..options.clone() };
        let groups = select::groups(session, &all)?;
        of = Some(groups.iter().flat_map(|g| g.shown.iter().map(|t| t.key)).collect());
    }
    let chosen = crate::prepare_sections(session, options)?;
    let diagnosis = chosen.diagnosis(session)?;
    let head = head(session, diagnosis.as_ref()).map_err(|e| EngineError::Bug(e.to_string()))?;
    let mut parts: BTreeMap<&str, Part<'_>> =
        head.iter().map(|(name, part)| (name.as_str(), Part::Json(part))).collect();
    let mut names = vec![
        tables::THREADS.name,
        tables::THREAD_BY_CPU.name,
        tables::THREAD_BY_CORE_TYPE.name,
        tables::CPUS.name,
        tables::LOSS.name,
    ];
    if chosen.concurrency {
        names.push(tables::CONCURRENCY.name);
    }
    names.extend(chosen.shown_tables());
    if session.summary().frames > 0 {
        names.extend([tables::FRAME_SUMS.name, tables::FRAMES.name]);
    }
    if options.frames_of.is_some() {
        names.extend([tables::MARKS.name, tables::MARK_STRETCHES.name]);
    }
    let (process, frames_of) = (options.process.as_deref(), options.frames_of.as_deref());
    for name in names {
        let request = TableRequest::whole(name);
        let def = request.definition(session)?;
        parts.insert(name, Part::Table(Table { session, request, def, of: of.as_ref(), process, frames_of }));
    }
    let error = |e: serde_json::Error| {
        if e.is_io() { EngineError::Output(e.into()) } else { EngineError::Bug(e.to_string()) }
    };
    parts.serialize(&mut serde_json::Serializer::pretty(out)).map_err(error)
}

/// Everything except the tables.
/// The version of the JSON: it increases when a name is removed or changes its meaning (docs/renamed.md).
const VERSION: u32 = 2;

fn head(session: &Session, diagnosis: Option<&Diagnosis>) -> serde_json::Result<Map<String, Json>> {
    let facts = session.facts();
    let about: Map<String, Json> = facts.about.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    let mut summary = serde_json::to_value(session.summary())?;
    if let Json::Object(summary) = &mut summary {
        summary.insert("laws_hold".to_owned(), session.summary().laws_hold().into());
    }
    let source = object!({
        "format": facts.format,
        "clock": facts.clock,
        "about": about,
        "whole_machine": facts.whole_machine,
        "lacks": facts.lacks,
        "focus": facts.focus,
        "sampled": serde_json::to_value(&facts.sampled)?,
        "callchain_ends": serde_json::to_value(facts.callchain_ends)?,
        "cost": serde_json::to_value(facts.cost)?,
        "conditions": serde_json::to_value(&facts.conditions)?,
    });
    let parts = [
        ("version", VERSION.into()),
        ("path", session.path().display().to_string().into()),
        ("corewise", env!("CARGO_PKG_VERSION").into()),
        ("part", session.range().map_or(Json::Null, |p| object!({"from_ns": p.start.0, "to_ns": p.end.0}))),
        ("summary", summary),
        ("source", source),
        ("machine", serde_json::to_value(session.machine())?),
    ];
    let diagnosis = diagnosis.map(serde_json::to_value).transpose()?.map(|diagnosis| ("diagnosis", diagnosis));
    Ok(parts.into_iter().chain(diagnosis).map(|(name, part)| (name.to_owned(), part)).collect())
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Json(&'a Json),
    Table(Table<'a>),
}

/// The rows of a table: all, or only those of some threads; of frames, those of a process; of marks,
/// those with a name.
struct Table<'a> {
    session: &'a Session,
    request: TableRequest<'a>,
    def: &'static TableDef,
    of: Option<&'a HashSet<ThreadKey>>,
    process: Option<&'a str>,
    frames_of: Option<&'a str>,
}

impl Table<'_> {
    fn shows(&self, row: &[Value]) -> bool {
        let cell = |col: &str| self.def.col(col).and_then(|at| row.get(at));
        let of_threads = match (self.of, cell(tables::threads::THREAD.name())) {
            (Some(of), Some(Value::Int(thread))) => of.contains(&ThreadKey(*thread)),
            _ => true,
        };
        let of_process =
            |process| cell(tables::frames::APPLICATION.name()).is_none() || frames::is_of(process, self.def, row);
        let of_marks = [tables::MARKS.name, tables::MARK_STRETCHES.name].contains(&self.def.name);
        let of_name = |name| !of_marks || engine::mark_row_matches(name, self.def, row);
        of_threads && self.process.is_none_or(of_process) && self.frames_of.is_none_or(of_name)
    }

    fn object(&self, row: &[Value]) -> BTreeMap<&'static str, Json> {
        self.def.cols.iter().zip(row).map(|(col, value)| (col.name, cell(value))).collect()
    }
}

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(None)?;
        let mut refused = Ok(());
        let read = self.request.rows(self.session, &mut |rows| {
            let mut shown = rows.iter().filter(|row| self.shows(row));
            refused = shown.try_for_each(|row| all.serialize_element(&self.object(row)));
            if refused.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        refused?;
        read.map_err(S::Error::custom)?;
        all.end()
    }
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(v) => (*v).into(),
        Value::Float(v) => (*v).into(),
        Value::Text(v) => v.clone().into(),
        Value::Bool(v) => (*v).into(),
    }
}
