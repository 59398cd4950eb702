//! The report as one object, for scripts.

use crate::{Options, select};
use engine::{EngineError, Session};
use model::{Table, Value};
use serde_json::{Map, Value as Json, json as object};
use std::collections::HashSet;

/// Everything that the text tells, and all threads. Names are those of the tables.
///
/// # Errors
/// The trace cannot be read, or no thread is of the process that was asked for.
pub fn json(session: &Session, options: &Options) -> Result<Json, EngineError> {
    let bad = |e: serde_json::Error| EngineError::Other(e.to_string());
    let facts = session.facts();
    let about: Map<String, Json> = facts.about.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    let mut summary = serde_json::to_value(session.summary()).map_err(bad)?;
    if let Json::Object(summary) = &mut summary {
        summary.insert("laws_hold".to_owned(), session.summary().laws_hold().into());
    }
    let mut of: Option<HashSet<i64>> = None;
    if options.process.is_some() {
        let all = Options { top: usize::MAX, ..options.clone() };
        let groups = select::groups(session, &all)?;
        of = Some(groups.iter().flat_map(|g| g.shown.iter().map(|t| t.key)).collect());
    }
    let mut whole = object!({
        "path": session.path().display().to_string(),
        "corewise": env!("CARGO_PKG_VERSION"),
        "summary": summary,
        "source": {
            "format": facts.format,
            "clock": facts.clock,
            "about": about,
            "whole_machine": facts.whole_machine,
            "lacks": facts.lacks,
            "focus": facts.focus,
            "cost": serde_json::to_value(facts.cost).map_err(bad)?,
            "conditions": serde_json::to_value(&facts.conditions).map_err(bad)?,
        },
        "machine": serde_json::to_value(session.machine()).map_err(bad)?,
    });
    let mut names = vec!["threads", "thread_by_cpu", "thread_by_core_type", "cpus", "loss"];
    if options.concurrency {
        names.push("concurrency");
    }
    for name in names {
        whole[name] = rows(&session.table(name)?, of.as_ref());
    }
    Ok(whole)
}

fn rows(table: &Table, of: Option<&HashSet<i64>>) -> Json {
    let shown = |i: &usize| of.is_none_or(|of| table.int(*i, "thread").is_none_or(|t| of.contains(&t)));
    let row = |i: usize| -> Json {
        let cells = table.def.cols.iter().zip(&table.rows[i]);
        cells.map(|(col, value)| (col.name.to_owned(), cell(value))).collect::<Map<_, _>>().into()
    };
    (0..table.rows.len()).filter(shown).map(row).collect::<Vec<_>>().into()
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
