//! `corewise check` for tables that other tools printed.

use crate::args::{Global, duration, positive};
use crate::failure::{Failure, INCOMPLETE, OK};
use crate::output::{print, stdout};
use printed::{MAX_BYTES, Pair, Request, Sheet, Statement, Verdict};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options that apply to printed tables only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options for printed tables")]
pub struct PrintedOptions {
    /// Duration that the tables cover, such as 20.8s or 500ms, if they do not state it (a trace, the interval of perf stat -I)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    span: Option<Duration>,
    /// Processor model of the tables: a row of a table of processors that is also given. Without it, the maximum frequency comes
    /// from --machine
    #[arg(long, value_name = "MODEL")]
    processor: Option<String>,
    /// Nominal power of the processor package (TDP) in watts: power far above it contradicts
    #[arg(long, value_name = "WATTS", value_parser = positive)]
    tdp: Option<f64>,
    /// Show the ratio of each value of run or table A to that of B
    #[arg(long, value_name = "A/B", value_parser = pair)]
    compare: Vec<Pair>,
    /// Show the ratio of each value of a run with SMT on to one with SMT off, and the gain from SMT
    #[arg(long, value_name = "ON/OFF", value_parser = pair)]
    smt: Vec<Pair>,
    /// Also show values that agree
    #[arg(long)]
    all: bool,
}

fn pair(text: &str) -> Result<Pair, String> {
    match text.split_once('/') {
        Some((over, under)) if !over.is_empty() && !under.is_empty() => {
            Ok(Pair { over: over.to_owned(), under: under.to_owned() })
        }
        _ => Err("expected two names of runs or tables separated by a slash, such as on/off".to_owned()),
    }
}

impl PrintedOptions {
    /// Returns whether none of these options is set.
    pub fn is_empty(&self) -> bool {
        let (no_pairs, no_machine) = (self.compare.is_empty() && self.smt.is_empty(), self.processor.is_none());
        no_pairs && no_machine && self.span.is_none() && self.tdp.is_none() && !self.all
    }

    fn request(&self, global: &Global) -> Result<Request, Failure> {
        let machine = global.machine()?;
        let fastest = machine.iter().flat_map(|m| &m.cpus).filter_map(|c| c.max_khz).max();
        let widest = machine.iter().flat_map(|m| &m.cpus).map(|c| c.siblings.len()).max();
        Ok(Request {
            span_s: self.span.map(|s| s.as_secs_f64()),
            processor: self.processor.clone(),
            tdp_w: self.tdp,
            max_ghz: fastest.map(|khz| f64::from(khz) / 1e6),
            compare: self.compare.clone(),
            smt: self.smt.clone(),
            // The description of a machine with SMT off lacks the number of siblings with SMT on.
            siblings: widest.filter(|n| *n > 1),
        })
    }
}

/// Returns whether a file begins like a printed table. Pipes can be read only once, so they always count as traces.
pub fn is_printed(path: &Path) -> bool {
    let mut head = Vec::new();
    let mut begin = || File::open(path)?.take(1 << 13).read_to_end(&mut head);
    path.is_file() && begin().is_ok() && printed::is_printed(&String::from_utf8_lossy(&head))
}

/// Checks printed tables.
///
/// # Errors
/// A file is not a printed table, or a run or table to compare does not exist.
pub fn run(paths: &[PathBuf], options: &PrintedOptions, as_json: bool, global: &Global) -> Result<u8, Failure> {
    let sheets: Vec<Sheet> = paths.iter().map(|path| open(path, paths)).collect::<Result<_, _>>()?;
    let request = options.request(global)?;
    let names = printed::names(&sheets, &request);
    for name in request.compare.iter().chain(&request.smt).flat_map(|p| [&p.over, &p.under]) {
        if !names.contains(name) {
            let why = format!("no run or table is named {name}; the names are {}", names.join(", "));
            return Err(Failure::usage(why));
        }
    }
    let all = printed::check(&sheets, &request);
    match as_json {
        true => write_json(&sheets, &all)?,
        false => print(&text_of(&sheets, &all, options.all))?,
    }
    Ok(if count(&all, &Verdict::Contradicts) > 0 { INCOMPLETE } else { OK })
}

fn open(path: &Path, all: &[PathBuf]) -> Result<Sheet, Failure> {
    let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().replace(char::is_control, "\u{fffd}"));
    let alone = all.iter().filter(|p| stem(p) == stem(path)).count() == 1;
    let name = stem(path).filter(|_| alone).unwrap_or_else(|| path.display().to_string());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Failure::at(path))?;
    // One byte more than the limit, so that a longer file is detected.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(Failure::at(path))?;
    printed::read(&name, &String::from_utf8_lossy(&bytes))
        .map_err(|why| Failure::new(format!("{}: {why}", path.display())))
}

fn count(all: &[Statement], verdict: &Verdict) -> usize {
    all.iter().filter(|s| s.verdict == *verdict).count()
}

/// Writes one statement at a time: all of them as JSON values would take several times their memory.
fn write_json(sheets: &[Sheet], all: &[Statement]) -> Result<(), Failure> {
    let mut out = stdout()?;
    let tables = sheets.iter().map(|s| json!({"name": s.name, "kind": s.kind.id(), "rows": s.len()}));
    let tables = Value::from(tables.collect::<Vec<_>>());
    let holds = count(all, &Verdict::Contradicts) == 0;
    write!(out, "{{\n\"holds\": {holds},\n\"tables\": {tables},\n\"statements\": [")?;
    for (at, s) in all.iter().enumerate() {
        let (verdict, why) = match &s.verdict {
            Verdict::Agrees => ("agrees", None),
            Verdict::Contradicts => ("contradicts", None),
            Verdict::NoClaim => ("no_claim", None),
            Verdict::NotEvaluated(why) => ("not_evaluated", Some(why)),
        };
        let statement = json!({
            "table": s.table, "rule": s.rule.id, "of": s.of, "unit": s.rule.unit, "formula": s.rule.formula, "verdict": verdict,
            "why": why, "computed": s.computed, "printed": s.printed, "difference": s.difference(), "tolerance": s.tolerance,
        });
        write!(out, "{}\n{statement}", if at > 0 { "," } else { "" })?;
    }
    writeln!(out, "\n]}}")?;
    Ok(out.flush()?)
}

fn text_of(sheets: &[Sheet], all: &[Statement], with_agreeing: bool) -> String {
    let mut out = String::new();
    for sheet in sheets {
        let _ = writeln!(out, "{}: {}, rows {}", sheet.name, sheet.kind.id(), sheet.len());
    }
    let several = sheets.len() > 1;
    let mut part = |title: &str, wanted: fn(&Verdict) -> bool| {
        let of: Vec<&Statement> = all.iter().filter(|s| wanted(&s.verdict)).collect();
        // By rule and unit, in the order of the first of each.
        let mut done = Vec::new();
        for first in &of {
            if !done.contains(&first.rule) {
                let same: Vec<&Statement> = of.iter().copied().filter(|s| s.rule == first.rule).collect();
                let _ = write!(out, "\n{title}: {}\n", first.rule.id);
                if !done.iter().any(|before| before.formula == first.rule.formula) {
                    let _ = writeln!(out, "  {}", first.rule.formula);
                }
                done.push(first.rule);
                rows(&mut out, &same, several);
            }
        }
    };
    part("CONTRADICTS", |v| *v == Verdict::Contradicts);
    part("not evaluated", |v| matches!(v, Verdict::NotEvaluated(_)));
    part("value", |v| *v == Verdict::NoClaim);
    if with_agreeing {
        part("agrees", |v| *v == Verdict::Agrees);
    }
    let (wrong, right, values) =
        (count(all, &Verdict::Contradicts), count(all, &Verdict::Agrees), count(all, &Verdict::NoClaim));
    let rest = all.len() - wrong - right - values;
    let hint = if with_agreeing || right == 0 { "" } else { " (--all shows them)" };
    let _ = writeln!(
        out,
        "\n{wrong} contradict, {right} agree{hint}, {rest} could not be evaluated, {values} have no printed value to compare with"
    );
    out
}

fn rows(out: &mut String, same: &[&Statement], several: bool) {
    let of = |s: &Statement| if several && s.table != s.of { format!("{}: {}", s.table, s.of) } else { s.of.clone() };
    let unit = same.first().map_or("", |s| s.rule.unit);
    if let Some(Verdict::NotEvaluated(_)) = same.first().map(|s| &s.verdict) {
        for s in same {
            if let Verdict::NotEvaluated(why) = &s.verdict {
                let _ = writeln!(out, "  {}: {why}", of(s));
            }
        }
    } else if same.iter().all(|s| s.printed.is_none()) {
        let _ = writeln!(out, "  {:>14}  of", unit);
        for s in same {
            let _ = writeln!(out, "  {:>14}  {}", number(s.computed), of(s));
        }
    } else {
        let _ = writeln!(
            out,
            "  {:>14}  {:>14}  {:>12}  {:>10}  of ({unit})",
            "printed", "computed", "difference", "tolerance"
        );
        for s in same {
            let cells = [s.printed, s.computed, s.difference(), Some(s.tolerance)].map(number);
            let _ =
                writeln!(out, "  {:>14}  {:>14}  {:>12}  {:>10}  {}", cells[0], cells[1], cells[2], cells[3], of(s));
        }
    }
}

/// Formats a number with seven digits, the precision of printed tables.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "–".to_owned() };
    let whole = value.abs().max(1.0).log10().floor() as usize + 1;
    let places = if value != 0.0 && value.abs() < 1e-3 { 7 } else { 7_usize.saturating_sub(whole) };
    let text = format!("{value:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
