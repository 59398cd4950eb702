//! DuckDB's errors as one sentence.

use super::duckdb::Limits;
use crate::failure::Failure;
use engine::did_you_mean;
use model::tables;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// The exit code of a command that Ctrl-C ended, as a shell has it.
const INTERRUPTED: u8 = 130;

/// Returns the failure of a DuckDB process by what it wrote to its standard error.
pub fn of(said: &str, status: ExitStatus, limits: &Limits) -> Failure {
    if status.signal() == Some(libc::SIGINT) || said.is_empty() && status.code() == Some(4) {
        return Failure { message: "interrupted".to_owned(), code: INTERRUPTED };
    }
    let json: Option<serde_json::Value> = said.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let field = |name: &str| json.as_ref().and_then(|json| json.get(name)?.as_str().map(str::to_owned));
    let (kind, message) = (field("kind").unwrap_or_default(), field("message").unwrap_or_else(|| said.to_owned()));
    let why = match kind.as_str() {
        "empty" => "the query is empty".to_owned(),
        "several" => "only one query is answered at a time: remove what follows the first semicolon".to_owned(),
        "writes" => READS.to_owned(),
        "missing" => format!(
            "the DuckDB package cannot be used: {message}: run `python3 -m pip install --force-reinstall duckdb`"
        ),
        _ if message.trim().is_empty() => {
            format!("DuckDB ended ({status}) without a message: it may have run out of memory")
        }
        _ => sentence(&message, limits),
    };
    Failure::new(why)
}

/// Which statements are answered.
pub const READS: &str = "only queries that read are answered (SELECT, FROM, WITH, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)";

/// Rewrites an error of DuckDB: what, and what to do, without the text of the query.
fn sentence(message: &str, limits: &Limits) -> String {
    let end = message.find("\n\nLINE ").or_else(|| message.find("\nLINE ")).unwrap_or(message.len());
    let message: String = message[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    let between = |begin: &str, end: &str| {
        let from = message.find(begin)? + begin.len();
        Some(message[from..from + message[from..].find(end)?].to_owned())
    };
    if let Some(table) = between("Table with name ", " does not exist") {
        let of_fleets = fleet::tables::ALL.iter().map(|def| def.name);
        let known = tables::ALL.iter().map(|def| def.name).chain([super::words::TRACES]).chain(of_fleets);
        return format!("there is no table {table}{} `corewise tables` lists them", did_you_mean(&table, known));
    }
    let column = between("Referenced column \"", "\" not found")
        .or_else(|| between("does not have a column named \"", "\""))
        .or_else(|| between("Referenced column \"", "\" was not found"));
    if let Some(column) = column {
        let candidates = message.split_once("Candidate bindings:").map_or("", |(_, rest)| rest);
        let named: Vec<&str> = candidates.split('"').skip(1).step_by(2).collect();
        let known = super::views::column_names(tables::ALL);
        let meant = match did_you_mean(&column, named.iter().copied()) {
            none if none == "." => match named.as_slice() {
                [] => did_you_mean(&column, known.iter().map(String::as_str)),
                some => format!(", the nearest are {}:", some.join(", ")),
            },
            meant => meant,
        };
        return format!(
            "there is no column {column} in the tables of this query{meant} `corewise tables` describes the columns"
        );
    }
    if message.contains("Expected a single SELECT statement") {
        return READS.to_owned();
    }
    if message.contains("file system operations are disabled")
        || message.contains("disabled by configuration")
        || message.contains("disabled through configuration")
    {
        return format!(
            "a query can read only the tables of the recordings, no other file and no extension: {message}"
        );
    }
    if message.contains("the configuration has been locked") {
        return format!("a query cannot change the configuration: {message}");
    }
    if message.contains("Out of Memory Error") || message.contains("max_temp_directory_size") {
        return format!(
            "the query needs more than {} MB of memory: narrow it, or allow more with --memory-limit: {message}",
            limits.memory_mb
        );
    }
    format!("the query fails: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn shown(message: &str) -> String {
        sentence(message, &Limits { memory_mb: 100, time: Duration::from_secs(1) })
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let column = "Binder Error: Referenced column \"redy_ns\" not found in FROM clause!\nCandidate bindings: \"ready_ns\", \"running_ns\"\n\nLINE 1: select redy_ns\n  ^^";
        assert!(
            shown(column)
                .starts_with("there is no column redy_ns in the tables of this query, did you mean ready_ns? "),
            "{}",
            shown(column)
        );
        let table = "Catalog Error: Table with name thread does not exist!\nDid you mean \"pg_x\"?\n\nLINE 1: x";
        assert!(shown(table).starts_with("there is no table thread, did you mean threads? "), "{}", shown(table));
        let unlike = shown(
            "Binder Error: Table \"t\" does not have a column named \"zzz\"\n\nCandidate bindings: : \"tid\"\n\nLINE 1: x",
        );
        assert!(unlike.contains("the nearest are tid:"), "{unlike}");
    }

    #[test]
    fn a_message_is_one_line_without_the_query() {
        let shown = shown("Parser Error: syntax error at or near \"selec\"\n\nLINE 1: selec 1\n        ^^^^^");
        assert_eq!(shown, "the query fails: Parser Error: syntax error at or near \"selec\"");
    }
}
