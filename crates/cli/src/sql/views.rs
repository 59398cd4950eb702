//! The statements that declare a view for each table, with its documentation.

use super::traces::Trace;
use super::words::TRACES;
use engine::LABEL;
use model::{Col, Kind, TableDef, tables};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The column that names the recording of a row.
const TRACE: &str = "trace";

/// The rows of a table of one recording.
pub struct Part {
    /// The name of the recording.
    pub trace: String,
    /// A Parquet file.
    pub file: PathBuf,
    /// Of a file without the names of threads: a Parquet file with the table `threads`.
    pub names: Option<PathBuf>,
}

/// A text as SQL.
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn path(path: &Path) -> String {
    text(&path.display().to_string())
}

/// A name as SQL.
pub fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The columns in seconds: one for each column of nanoseconds.
fn seconds(def: &TableDef) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let of_time = def.cols.iter().filter(|col| col.unit == "ns");
    of_time.map(|col| (col.name, format!("{}_s", col.name.strip_suffix("_ns").unwrap_or(col.name))))
}

/// The type of a column's values in SQL.
pub fn sql_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "BIGINT",
        Kind::Float => "DOUBLE",
        Kind::Text => "VARCHAR",
        Kind::Bool => "BOOLEAN",
    }
}

/// Declares the view of a table: its columns, its times in seconds, and the recording of each row.
pub fn view(def: &'static TableDef, parts: &[Part]) -> Vec<String> {
    let rows = |part: &Part| {
        let columns = def.cols.iter().scan(None, |key, col| {
            // A column of names follows its column of keys.
            let of_key: Option<&str> = std::mem::replace(key, Some(col.name).filter(|_| col.is_thread_key));
            Some(match (of_key, &part.names) {
                (Some(key), Some(names)) if col.name.strip_suffix("_name") == Some(key) => format!(
                    "coalesce((SELECT n.name FROM read_parquet({}) AS n WHERE n.thread = s.{key}), \
                     CASE WHEN s.{key} = 0 THEN 'idle' END) AS {}",
                    path(names),
                    name(col.name),
                    key = name(key),
                ),
                _ => format!("s.{0}::{1} AS {0}", name(col.name), sql_type(col.kind)),
            })
        });
        let columns: Vec<String> = columns.collect();
        let (columns, file, trace) = (columns.join(", "), path(&part.file), text(&part.trace));
        format!("SELECT {columns}, {trace} AS {TRACE} FROM read_parquet({file}) AS s")
    };
    let rows: Vec<String> = parts.iter().map(rows).collect();
    let rows = match rows.is_empty() {
        true => {
            let columns: Vec<String> =
                def.cols.iter().map(|col| format!("NULL::{} AS {}", sql_type(col.kind), name(col.name))).collect();
            format!("SELECT {}, NULL::VARCHAR AS {TRACE} WHERE false", columns.join(", "))
        }
        false => rows.join(" UNION ALL "),
    };
    declared(def, &[], &rows, Some((TRACE, "The recording, as named on the command line.")))
}

/// Declares a view over rows that have some other columns, those of a table and perhaps a last one: with times in seconds, and documentation.
pub fn declared(def: &TableDef, others: &[Col], rows: &str, last: Option<(&str, &str)>) -> Vec<String> {
    let columns: Vec<String> = others.iter().chain(def.cols).map(|col| name(col.name)).collect();
    let times: String = seconds(def).fold(String::new(), |mut all, (ns, s)| {
        let _ = write!(all, ", {} / 1e9 AS {}", name(ns), name(&s));
        all
    });
    let view = name(def.name);
    let end = last.map_or_else(String::new, |(column, _)| format!(", {}", name(column)));
    let mut made = vec![format!("CREATE VIEW {view} AS SELECT {}{times}{end} FROM ({rows})", columns.join(", "))];
    made.push(format!("COMMENT ON VIEW {view} IS {}", text(def.doc)));
    let comment = |column: &str, doc: &str, more: [(&str, &str); 2]| {
        let more = more.iter().filter(|(_, of)| !of.is_empty()).map(|(what, of)| format!(" {what}: {of}."));
        let about = format!("{doc}{}", more.collect::<String>());
        format!("COMMENT ON COLUMN {view}.{} IS {}", name(column), text(&about))
    };
    let of_col = |col: &Col| comment(col.name, col.doc, [("Unit", col.unit), ("Shows", col.shows.as_str())]);
    made.extend(others.iter().chain(def.cols).map(of_col));
    made.extend(seconds(def).map(|(ns, s)| comment(&s, &format!("{ns} in seconds."), [("Unit", "s"), ("", "")])));
    made.extend(last.map(|(column, doc)| comment(column, doc, [("", ""); 2])));
    made
}

/// The columns of the view of recordings: name, type, unit and documentation.
const COLUMNS: [(&str, &str, &str); 20] = [
    (TRACE, "VARCHAR", "The recording, as named on the command line."),
    ("id", "BIGINT", "The ID of the trace; null for a file that was not imported."),
    ("format", "VARCHAR", "The format of its source."),
    ("span_ns", "BIGINT", "Its length. Unit: ns."),
    ("span_s", "DOUBLE", "Its length. Unit: s."),
    ("events", "BIGINT", "Number of events."),
    ("switches", "BIGINT", "Number of context switches."),
    ("wakes", "BIGINT", "Number of wakeups."),
    ("frames", "BIGINT", "Number of frames of a frame log."),
    ("threads", "BIGINT", "Number of thread instances."),
    ("cpus", "BIGINT", "Number of CPUs."),
    ("busy_ns", "BIGINT", "Time that CPUs ran a thread, summed over the CPUs. Unit: ns."),
    ("busy_s", "DOUBLE", "busy_ns in seconds. Unit: s."),
    ("lost_events", "BIGINT", "Number of events that the source reports as lost."),
    ("machine", "VARCHAR", "The processor model; null if not recorded."),
    ("arch", "VARCHAR", "The architecture of the machine; null if not recorded."),
    ("core_types", "MAP(VARCHAR, BIGINT)", "Number of CPUs of each core type."),
    ("conditions", "MAP(VARCHAR, VARCHAR)", "The known conditions at the start: conditions['governor.cpu0']."),
    ("labels", "MAP(VARCHAR, VARCHAR)", "The labels of `corewise record --label`: labels['os']."),
    ("about", "MAP(VARCHAR, VARCHAR)", "Other facts about the source: about['kernel_release']."),
];

/// Declares the view with a row for each recording.
pub fn traces(all: &[Trace]) -> Vec<String> {
    let rows: Vec<String> = all.iter().map(row).collect();
    let columns: Vec<&str> = COLUMNS.iter().map(|col| col.0).collect();
    let types: Vec<String> = COLUMNS.iter().map(|(name, kind, _)| format!("{name}::{kind} AS {name}")).collect();
    let mut made = vec![
        format!(
            "CREATE VIEW {TRACES} AS SELECT {} FROM (VALUES {}) AS t({})",
            types.join(", "),
            rows.join(", "),
            columns.join(", ")
        ),
        format!("COMMENT ON VIEW {TRACES} IS 'The recordings.'"),
    ];
    made.extend(COLUMNS.iter().map(|(name, _, doc)| format!("COMMENT ON COLUMN {TRACES}.{name} IS {}", text(doc))));
    made
}

fn row(trace: &Trace) -> String {
    let session = &trace.session;
    let (sums, machine, facts) = (session.full_summary(), session.machine(), session.facts());
    let optional = |value: Option<&String>| value.map_or("NULL".to_owned(), |value| text(value));
    let id = if session.is_folder() { session.trace().ok() } else { None };
    let mut types = std::collections::BTreeMap::<&str, u64>::new();
    for cpu in &machine.cpus {
        *types.entry(machine.core_type(cpu.id).as_str()).or_default() += 1;
    }
    let types: Vec<(String, String)> = types.iter().map(|(name, count)| (text(name), count.to_string())).collect();
    let conditions = facts
        .conditions
        .iter()
        .filter_map(|condition| Some((text(&condition.name), text(condition.start.as_ref().ok()?))));
    let labels = facts.about.iter().filter_map(|(name, value)| Some((text(name.strip_prefix(LABEL)?), text(value))));
    let about = facts.about.iter().filter(|(name, _)| !name.starts_with(LABEL));
    let about = about.map(|(name, value)| (text(name), text(value)));
    let cells = [
        text(&trace.name),
        id.map_or("NULL".to_owned(), |id| id.to_string()),
        text(&facts.format),
        sums.span_ns.to_string(),
        format!("{}::DOUBLE / 1e9", sums.span_ns),
        sums.events.to_string(),
        sums.switches.to_string(),
        sums.wakes.to_string(),
        sums.frames.to_string(),
        sums.threads.to_string(),
        sums.cpus.to_string(),
        sums.busy_ns.to_string(),
        format!("{}::DOUBLE / 1e9", sums.busy_ns),
        sums.lost_events.to_string(),
        optional(machine.model_name.as_ref()),
        optional(machine.arch.as_ref()),
        map("VARCHAR, BIGINT", types.into_iter()),
        map("VARCHAR, VARCHAR", conditions),
        map("VARCHAR, VARCHAR", labels),
        map("VARCHAR, VARCHAR", about),
    ];
    format!("({})", cells.join(", "))
}

/// A map; of entries with the same key, the first.
fn map(types: &str, entries: impl Iterator<Item = (String, String)>) -> String {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (key, value) in entries {
        if !keys.contains(&key) {
            keys.push(key);
            values.push(value);
        }
    }
    format!("MAP([{}], [{}])::MAP({types})", keys.join(", "), values.join(", "))
}

/// The names of all columns of these tables, for messages.
pub fn column_names(of: &[&'static TableDef]) -> Vec<String> {
    let all = of.iter().map(|def| tables::named(def));
    let names = all.chain(fleet::tables::ALL.iter().copied()).flat_map(|def| {
        def.cols.iter().map(|col| col.name.to_owned()).chain(seconds(def).map(|(_, name)| name)).collect::<Vec<_>>()
    });
    names.chain(COLUMNS.iter().map(|col| col.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_of_a_table_is_hidden_by_one_of_seconds() {
        for def in tables::ALL.iter().map(|def| tables::named(def)) {
            let mut names: Vec<String> = def.cols.iter().map(|col| col.name.to_owned()).collect();
            names.extend(seconds(def).map(|(_, name)| name));
            names.push(TRACE.to_owned());
            let all = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), all, "{}", def.name);
        }
        assert!(tables::ALL.iter().all(|def| def.name != TRACES));
    }

    #[test]
    fn quotes_end_no_text_and_no_name() {
        assert_eq!((text("it's"), name("a\"b")), ("'it''s'".to_owned(), "\"a\"\"b\"".to_owned()));
    }
}
