//! `corewise sql`: answers queries over the tables of recordings.

use crate::args::{Global, Redacted, duration};
use crate::failure::{Failure, OK};
use crate::output::{create, stdout};
use crate::sql::{Engine, Form, Limits, Query, READS, Traces, answer, is_query, paths, prompt};
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Examples:
  corewise sql run.cw 'SELECT name, ready_s FROM threads ORDER BY ready_s DESC LIMIT 5'
  corewise sql before.cw after.cw 'SELECT trace, sum(ready_s) FROM threads GROUP BY trace'
  corewise sql 'runs/*.cw' 'SELECT trace, machine, span_s FROM traces' --format csv
  corewise sql perf.data 'SUMMARIZE ready_wait'
  corewise sql run.cw 'FROM wait_objects' --redact -o waits.csv --format csv    without paths, addresses and host names
  corewise sql run.cw                        a prompt; SHOW TABLES; lists the tables, Ctrl-D ends it
  corewise sql run.cw < queries.sql
  corewise sql runs/catalogue 'SELECT host, count(*) FROM findings GROUP BY host'    a fleet's catalogue (corewise fleet index)

Each table of `corewise tables` is a view, with its documentation as comments (FROM duckdb_columns()). For each time there is also a column in \
seconds (running_ns and running_s), and the last column, trace, names the recording. The view traces has one row for each recording. With --redact, recordings are \
called TRACE, or TRACE 1, TRACE 2 and so on. docs/sql.md \
answers twenty questions.

DuckDB answers; it is not part of corewise: run `python3 -m pip install duckdb`, or install its command line. COREWISE_DUCKDB names one, or a \
Python that has it. DuckDB gets copies of the tables that a query names, in a temporary folder (TMPDIR), and can reach no other file and no network.";

/// Query the tables of recordings with SQL
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER, override_usage = "corewise sql [OPTIONS] <TRACE>... [QUERY]")]
pub struct Args {
    /// Trace folders or files of other tools, also as a pattern ('runs/*.cw'), then the query; without a query, queries are read from standard
    /// input
    #[arg(required = true, value_name = "TRACE")]
    words: Vec<String>,
    /// Output format: text (aligned columns), md, csv, json or parquet [default: text on a terminal, otherwise md]
    #[arg(long)]
    format: Option<Form>,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out paths, command lines, host names, labels and addresses, so that the output can be passed on. --redact=names also replaces names of
    /// threads, processes, functions and marks by others, such as `thread A` (docs/security.md)
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "private", hide_possible_values = true)]
    redact: Option<Redacted>,
    /// End a query after this time, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    time_limit: Duration,
    /// Memory that a query may use, in MB; temporary files may have twice as much
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(64..=1 << 30))]
    memory_limit: u64,
}

/// Runs the command.
///
/// # Errors
/// A trace cannot be read, DuckDB is not installed, or the query fails.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let (query, traces) = match args.words.split_last() {
        Some((last, traces)) if is_query(last) && !std::path::Path::new(last).exists() => (Some(last.as_str()), traces),
        _ => (None, &args.words[..]),
    };
    if let (None, Some(last)) = (query, args.words.last())
        && (last.trim().is_empty() || last.contains(char::is_whitespace) && !last.contains(['/', '*', '?']))
        && !std::path::Path::new(last).exists()
    {
        return Err(Failure::new(format!("{last:?} is neither a file nor a query: {READS}")));
    }
    if traces.is_empty() {
        return Err(Failure::usage("name a trace before the query, such as corewise sql run.cw 'SELECT …'"));
    }
    if query.is_none() && args.output.is_some() {
        return Err(Failure::usage("-o needs a query: corewise sql run.cw 'SELECT …' -o FILE"));
    }
    let form = form(args, query.is_some())?;
    let engine = Engine::find()?;
    let mut traces = Traces::open(&paths(traces)?, global, args.redact.map(Into::into))?;
    let limits = Limits { memory_mb: args.memory_limit, time: args.time_limit };
    let to = |traces: &mut Traces, query: &str, out: &mut (dyn Write + Send)| -> Result<(), Failure> {
        let views = traces.views(query)?;
        let (files, folder) = (traces.files()?, traces.folder().to_owned());
        let query = Query { text: query, views: &views, files: &files, folder: &folder, limits };
        answer(form, out, |each| engine.run(&query, each))
    };
    match (query, &args.output) {
        (None, _) => prompt(&mut traces, &mut |traces, query| {
            let mut out = stdout()?;
            to(traces, query, &mut out)?;
            Ok(out.flush()?)
        }),
        (Some(query), None) => {
            let mut out = stdout()?;
            to(&mut traces, query, &mut out)?;
            out.flush()?;
            Ok(OK)
        }
        (Some(query), Some(path)) => {
            let mut out = create(path)?;
            let written = to(&mut traces, query, &mut out).and_then(|()| out.flush().map_err(Failure::at(path)));
            if written.is_err() {
                // Remove the incomplete file.
                let _ = std::fs::remove_file(path);
            }
            written.map(|()| OK)
        }
    }
}

fn form(args: &Args, has_query: bool) -> Result<Form, Failure> {
    let is_shown = args.output.is_none() && std::io::stdout().is_terminal();
    let form = args.format.unwrap_or(if is_shown { Form::Text } else { Form::Md });
    if form == Form::Parquet && (is_shown || !has_query) {
        return Err(Failure::usage("parquet output needs a query and a file: name the file with -o FILE"));
    }
    Ok(form)
}
